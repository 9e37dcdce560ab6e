//! Where a server spends its time, function by function: `perf` samples it while sessions of each kind are opened.
//!
//! The samples are taken by a timer (`cpu-clock`), since virtual machines often have no counters of the processor's.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io::{self, Read as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use drover_db::Stop;
use rustix::process::{Pid, Signal, kill_process};
use serde::Serialize;

use super::bed::Bed;
use super::drive::Load;
use super::rounds::{Rules, prepare};
use super::variation::Variation;
use crate::{Error, Progress, Result};

/// Where a server spent its time, with sessions of each kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Profile {
    /// For how long each kind was sampled, in seconds.
    pub seconds: f64,
    /// How many samples there are of each kind, in the order of the kinds.
    pub samples: Vec<u64>,
    /// Those of all functions that take the most, the first one most of all.
    pub functions: Vec<Function>,
}

/// A function of the server, of a library or of the kernel.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Function {
    /// Its name, or an address where it has none.
    pub name: String,
    /// The file that it is in; `[kernel.kallsyms]` for the kernel.
    pub object: String,
    /// Which part of each kind's samples it has, from 0 to 1.
    pub shares: Vec<f64>,
    /// What that comes to in µs of CPU time per connect.
    pub microseconds: Vec<f64>,
}

/// How often each function was found at work, by object and name.
type Samples = BTreeMap<(String, String), u64>;

/// For how long each kind is sampled, and how often in a second: at no multiple of what servers do by a clock.
const LENGTH: Duration = Duration::from_secs(3);
const FREQUENCY: &str = "997";
/// So many functions are told.
const MOST: usize = 25;

/// Samples each kind. The inner error says why that cannot be done here.
///
/// # Errors
/// The first that a session meets, or that a stop was asked for.
pub(super) fn profile(
    bed: &mut Bed<'_>,
    variation: &Variation,
    rules: &Rules<'_>,
    cpu: &[f64],
    stop: &Arc<Stop>,
    progress: &Progress,
) -> Result<std::result::Result<Profile, String>> {
    progress.phase("profiling", LENGTH * u32::try_from(variation.variants.len()).unwrap_or(1));
    let temporary = std::env::temp_dir();
    let dir = tempfile::Builder::new().prefix("drover-bench-").tempdir().map_err(Error::file(&temporary))?;
    let mut kinds = Vec::new();
    for (number, variant) in variation.variants.iter().enumerate() {
        prepare(bed, variant)?;
        let Some(process) = bed.sites[variant.site].process else {
            return Ok(Err("it is not certain which process the server is".to_owned()));
        };
        let file = dir.path().join(number.to_string());
        let mut recorder = match Recorder::start(process.pid(), &file) {
            Ok(recorder) => recorder,
            Err(error) => return Ok(Err(format!("perf does not start: {error}"))),
        };
        let load = Load { options: &variant.options, statement: rules.statement, clients: rules.clients };
        load.drive(LENGTH, stop)?;
        match recorder.finish().and_then(|()| samples(&file)) {
            Ok(samples) => kinds.push(samples),
            Err(why) => return Ok(Err(why)),
        }
    }
    Ok(Ok(side_by_side(&kinds, cpu)))
}

/// `perf record` at work. It is ended when this is dropped.
struct Recorder {
    child: Child,
}

impl Recorder {
    /// The program that perf runs meanwhile limits the time, whatever becomes of this process.
    fn start(pid: u32, file: &Path) -> io::Result<Self> {
        let mut command = perf();
        command.args(["record", "-q", "--no-buildid-cache", "-e", "cpu-clock", "-F", FREQUENCY, "-p"]);
        command.arg(pid.to_string()).arg("-o").arg(file);
        command.args(["--", "sleep"]).arg(LENGTH.as_secs().to_string());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        Ok(Self { child: command.spawn()? })
    }

    /// Waits for its end.
    fn finish(&mut self) -> std::result::Result<(), String> {
        const PATIENCE: Duration = Duration::from_secs(20);
        let deadline = Instant::now() + PATIENCE;
        let ended = loop {
            match self.child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if Instant::now() < deadline => sleep(Duration::from_millis(5)),
                Ok(None) => return Err("perf record does not end".to_owned()),
                Err(error) => return Err(error.to_string()),
            }
        };
        let mut said = Vec::new();
        if let Some(stderr) = &mut self.child.stderr {
            let _what_it_said_until_then = stderr.read_to_end(&mut said);
        }
        if ended.success() { Ok(()) } else { Err(format!("perf record: {}", first_line(&said))) }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        if let (Ok(None), Some(pid)) = (self.child.try_wait(), Pid::from_raw(self.child.id().cast_signed())) {
            // A signal that it can handle, so that it ends the program that it runs.
            let _gone_by_then = kill_process(pid, Signal::TERM);
        }
        let _status = self.child.wait();
    }
}

fn perf() -> Command {
    let mut command = Command::new("perf");
    // Names come from the files that are there: nothing is fetched.
    command.env_remove("DEBUGINFOD_URLS").env("LC_ALL", "C");
    command
}

fn samples(file: &Path) -> std::result::Result<Samples, String> {
    let output = perf()
        .args([OsStr::new("report"), OsStr::new("-i"), file.as_os_str()])
        .args(["--stdio", "-q", "-n", "--no-children", "--sort", "dso,symbol", "-t", "\t"])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("perf report: {error}"))?;
    if !output.status.success() {
        return Err(format!("perf report: {}", first_line(&output.stderr)));
    }
    let samples = parse(&String::from_utf8_lossy(&output.stdout));
    if samples.is_empty() { Err("perf found no samples of the server".to_owned()) } else { Ok(samples) }
}

fn first_line(said: &[u8]) -> String {
    let text = String::from_utf8_lossy(said);
    let telling = text.lines().map(str::trim).find(|line| !matches!(*line, "" | "Error:"));
    telling.unwrap_or("it did not say why").to_owned()
}

/// Reads `12.34%  123  mysqld  [.] function`, with tabs between.
fn parse(text: &str) -> Samples {
    let line = |line: &str| {
        let mut fields = line.split('\t').map(str::trim);
        let (_share, count, object, symbol) =
            (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
        let name = symbol.get(3..).filter(|_| symbol.starts_with('[')).map_or(symbol, str::trim_start);
        Some(((object.to_owned(), name.to_owned()), count.parse::<u64>().ok()?))
    };
    let mut samples = Samples::new();
    for (function, count) in text.lines().filter(|line| !line.starts_with('#')).filter_map(line) {
        *samples.entry(function).or_default() += count;
    }
    samples
}

/// The functions that take the most with any kind; `cpu` is what a connect of each kind costs, in µs.
fn side_by_side(kinds: &[Samples], cpu: &[f64]) -> Profile {
    let totals: Vec<u64> = kinds.iter().map(|samples| samples.values().sum()).collect();
    let names: BTreeSet<_> = kinds.iter().flat_map(BTreeMap::keys).collect();
    let mut functions: Vec<Function> = names
        .into_iter()
        .map(|function| {
            let share = |(samples, total): (&Samples, &u64)| {
                samples.get(function).copied().unwrap_or_default() as f64 / (*total).max(1) as f64
            };
            let shares: Vec<f64> = kinds.iter().zip(&totals).map(share).collect();
            let microseconds = shares.iter().zip(cpu).map(|(share, cpu)| share * cpu).collect();
            Function { object: function.0.clone(), name: function.1.clone(), shares, microseconds }
        })
        .collect();
    let most = |function: &Function| function.microseconds.iter().copied().fold(0.0, f64::max);
    functions.sort_by(|one, other| most(other).total_cmp(&most(one)));
    functions.truncate(MOST);
    Profile { seconds: LENGTH.as_secs_f64(), samples: totals, functions }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "# Overhead\n\n    75.00%\t         75\tmariadbd\t[.] THD::init()\n    \
                          20.00%\t20\t[kernel.kallsyms]\t[k] clear_page_erms\n5.00%\t5\tlibc.so.6\t0x00012\n";

    fn function(object: &str, name: &str) -> (String, String) {
        (object.to_owned(), name.to_owned())
    }

    #[test]
    fn what_perf_prints_is_read() {
        let samples = parse(REPORT);
        assert_eq!(samples[&function("mariadbd", "THD::init()")], 75);
        assert_eq!(samples[&function("[kernel.kallsyms]", "clear_page_erms")], 20);
        assert_eq!(samples[&function("libc.so.6", "0x00012")], 5);
        assert_eq!(samples.len(), 3);
    }

    #[test]
    fn kinds_stand_side_by_side_by_what_they_cost() {
        let other = Samples::from([(function("[kernel.kallsyms]", "clear_page_erms"), 10)]);
        let profile = side_by_side(&[parse(REPORT), other], &[100.0, 200.0]);
        assert_eq!(profile.samples, [100, 10]);
        let first = &profile.functions[0];
        assert_eq!((first.name.as_str(), &*first.shares), ("clear_page_erms", &[0.2, 1.0][..]));
        assert_eq!(first.microseconds, [20.0, 200.0]);
        assert_eq!(profile.functions[1].microseconds, [75.0, 0.0]);
    }

    #[test]
    fn what_it_says_first_is_told() {
        assert_eq!(first_line(b"\n  Error:\nNo permission.\nmore"), "No permission.");
        assert_eq!(first_line(b""), "it did not say why");
    }
}
