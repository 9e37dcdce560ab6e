//! A server's buffers, and which allocator it has.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use drover_db::options::Address;
use drover_db::{Connection, Server};
use serde::Serialize;

use super::allocators::{self, Allocator};
use super::curve::Curve;
use super::jump::Cause;
use super::sweep::cost_name;
use crate::{Error, Result};

/// What of a server is about memory.
#[derive(Debug, Clone, Serialize)]
pub struct ServerMemory {
    /// Vendor and version: `MariaDB 10.11.14`.
    pub server: String,
    /// Whether it is this machine's; none where that cannot be told.
    pub is_local: Option<bool>,
    /// Its process; none where that is unknown.
    pub process: Option<ServerProcess>,
    /// Why the process is unknown.
    pub unknown_because: Option<String>,
    /// The curves that its buffers are laid on: those of its own allocator, if that was measured.
    pub curves_of: String,
    /// Its buffers, the smallest first.
    pub buffers: Vec<Buffer>,
}

/// The process of a server.
#[derive(Debug, Clone, Serialize)]
pub struct ServerProcess {
    /// Its number.
    pub pid: u32,
    /// The allocator that it loaded; none where its memory map holds no library with one.
    pub allocator: Option<Allocator>,
    /// Of its environment, what allocators are set by; none if that may not be read.
    pub tunables: Option<Vec<(String, String)>>,
}

/// A buffer.
#[derive(Debug, Clone, Serialize)]
pub struct Buffer {
    /// The setting.
    pub name: String,
    /// Its value.
    pub bytes: u64,
    /// Whether it is the most that something may grow to, so that a single allocation may be as large, or smaller.
    pub is_limit: bool,
    /// What an allocation of this size costs.
    pub costs: Vec<BufferCost>,
}

/// What a buffer costs on a curve.
#[derive(Debug, Clone, Serialize)]
pub struct BufferCost {
    /// The curve's name.
    pub curve: String,
    /// Whether each page was written to.
    pub is_touched: bool,
    /// Nanoseconds of an allocation.
    pub ns: f64,
    /// Whether the size lies above the curve's jump; none if the curve has none.
    pub is_above_jump: Option<bool>,
}

/// Settings that are sizes of memory which sessions allocate, and whether something grows up to them. Which of them a server has is
/// found out. Sources: MySQL 9 Reference Manual, "Server System Variables" and "Binary Logging Options and Variables"; MariaDB
/// Knowledge Base, "Server System Variables". What is a buffer of fixed size on one vendor and a limit on the other is called a limit.
const BUFFERS: [(&str, bool); 17] = [
    ("aria_sort_buffer_size", true),
    ("binlog_cache_size", false),
    ("binlog_stmt_cache_size", false),
    ("bulk_insert_buffer_size", true),
    ("innodb_sort_buffer_size", false),
    ("join_buffer_size", true),
    ("max_allowed_packet", true),
    ("max_heap_table_size", true),
    ("mrr_buffer_size", true),
    ("myisam_sort_buffer_size", true),
    ("net_buffer_length", false),
    ("query_prealloc_size", false),
    ("read_buffer_size", false),
    ("read_rnd_buffer_size", false),
    ("set_operations_buffer_size", true),
    ("sort_buffer_size", true),
    ("tmp_table_size", true),
];

/// What the process is found by.
const PLACES: [&str; 3] = ["datadir", "hostname", "pid_file"];

impl ServerMemory {
    /// Asks a server, and looks at its process if that is on this machine.
    ///
    /// # Errors
    /// If the server cannot be asked.
    pub(super) fn of(connection: &mut Connection, address: &Address) -> Result<Self> {
        let doing = "reading the server's buffers";
        let server = Server::of(connection).map_err(Error::server(doing))?;
        let names: Vec<_> = BUFFERS.iter().map(|(name, _)| *name).chain(PLACES).collect();
        let statement = format!("SHOW GLOBAL VARIABLES WHERE Variable_name IN ('{}')", names.join("', '"));
        let rows = connection.query(statement).map_err(Error::server(doing))?;
        let settings: Vec<_> = rows.rows.iter().map(|row| (row.string(0), row.string(1))).collect();
        let place = is_here(address, &settings);
        let process = match place {
            Some(false) => Err("it is on another machine".to_owned()),
            Some(true) | None => ServerProcess::find(&settings),
        };
        // What is proven to be a process here is here, by whatever way it was reached.
        let is_local = if process.is_ok() { Some(true) } else { place };
        let unknown_because = process.as_ref().err().cloned();
        let (process, curves_of) = (process.ok(), String::new());
        Ok(Self {
            server: server.to_string(),
            is_local,
            process,
            unknown_because,
            curves_of,
            buffers: buffers(&settings),
        })
    }

    /// Lays the buffers on the curves of the server's own allocator, or of the one that `loaded` names where that was not measured.
    pub(super) fn place(&mut self, curves: &[Curve], loaded: &str) {
        let own = self.process.as_ref().and_then(|process| process.allocator.as_ref());
        let measured = own.filter(|own| curves.iter().any(|curve| curve.allocator == own.name));
        self.curves_of = measured.map_or(loaded, |own| own.name.as_str()).to_owned();
        let as_it_is = |curve: &&Curve| curve.allocator == self.curves_of && !curve.way.is_glibcs();
        let curves: Vec<&Curve> = curves.iter().filter(as_it_is).collect();
        for buffer in &mut self.buffers {
            buffer.costs = curves.iter().filter_map(|curve| BufferCost::of(buffer.bytes, curve)).collect();
        }
    }

    /// The names of the curves that buffers were laid on.
    pub fn curves(&self) -> Vec<String> {
        let most = self.buffers.iter().max_by_key(|buffer| buffer.costs.len());
        most.iter().flat_map(|buffer| &buffer.costs).map(|cost| cost.curve.clone()).collect()
    }

    /// The allocator, as one says it: `glibc`, `unknown`.
    pub fn allocator(&self) -> &str {
        let own = self.process.as_ref().and_then(|process| process.allocator.as_ref());
        own.map_or("unknown", |own| own.name.as_str())
    }

    /// What of its environment sets the allocator, as one says it.
    pub fn tunables(&self) -> String {
        match self.process.as_ref().and_then(|process| process.tunables.as_ref()) {
            None => "unknown".to_owned(),
            Some(tunables) if tunables.is_empty() => "none set".to_owned(),
            Some(tunables) => {
                tunables.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
            }
        }
    }

    /// What about the server makes these curves others than its own.
    pub(super) fn warnings(&self, own: &Allocator, own_tunables: &[(String, String)]) -> Vec<String> {
        let Some(process) = &self.process else { return Vec::new() };
        let mut warnings = Vec::new();
        match &process.allocator {
            Some(servers) if servers.name != self.curves_of => warnings.push(format!(
                "the server allocates with {}, which was not measured: its buffers are laid on the curves of {}",
                servers.name, self.curves_of
            )),
            Some(Allocator { library: Some(servers), name }) if *name == own.name => {
                let resolved = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
                if own.library.as_deref().is_some_and(|own| resolved(own) != resolved(servers)) {
                    warnings.push(format!(
                        "the server has a {name} of its own ({}), which may differ from the one that was measured",
                        servers.display()
                    ));
                }
            }
            _ => {}
        }
        let settings = |tunables: &[(String, String)]| {
            let mut settings: Vec<_> =
                tunables.iter().filter(|(name, _)| name != "LD_PRELOAD").cloned().collect();
            settings.sort();
            settings
        };
        if process.tunables.as_ref().is_some_and(|servers| settings(servers) != settings(own_tunables)) {
            warnings.push(format!(
                "the server's allocator is set otherwise than what was measured ({}): start drover with the same environment",
                self.tunables()
            ));
        }
        warnings
    }
}

impl BufferCost {
    fn of(bytes: u64, curve: &Curve) -> Option<Self> {
        let point = curve.at(bytes)?;
        // The threshold is what people speak of; where there is none, the largest jump counts.
        let threshold = curve.jumps.iter().find(|jump| jump.cause == Cause::MmapThreshold);
        let jump = threshold.or_else(|| curve.jumps.first());
        Some(Self {
            curve: curve.name(),
            is_touched: curve.touched,
            ns: point.median_ns,
            is_above_jump: jump.map(|jump| bytes >= jump.from_bytes),
        })
    }

    /// The cost, and where it lies, as one says it.
    pub fn text(&self) -> String {
        let cost = cost_name(self.ns);
        match self.is_above_jump {
            Some(true) => format!("{cost} (above)"),
            Some(false) => format!("{cost} (below)"),
            None => cost,
        }
    }
}

impl Buffer {
    /// Its cost on the curve of this name.
    pub fn on(&self, curve: &str) -> Option<&BufferCost> {
        self.costs.iter().find(|cost| cost.curve == curve)
    }
}

fn buffers(settings: &[(String, String)]) -> Vec<Buffer> {
    let found = |(name, is_limit): &(&str, bool)| {
        let bytes = value(settings, name)?.parse().ok().filter(|bytes| *bytes > 0)?;
        Some(Buffer { name: (*name).to_owned(), bytes, is_limit: *is_limit, costs: Vec::new() })
    };
    let mut buffers: Vec<_> = BUFFERS.iter().filter_map(found).collect();
    buffers.sort_by_key(|buffer| buffer.bytes);
    buffers
}

fn value<'a>(settings: &'a [(String, String)], name: &str) -> Option<&'a str> {
    settings.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

/// Whether a server is on this machine, as far as its address and its host's name tell.
fn is_here(address: &Address, settings: &[(String, String)]) -> Option<bool> {
    let Address::Tcp { host, .. } = address else { return Some(true) };
    // A port of this machine may lead into a container, or to another machine.
    let is_this_host = host == "localhost" || host == "::1" || host.starts_with("127.");
    let system = rustix::system::uname();
    let differs = value(settings, "hostname").is_some_and(|name| name != system.nodename().to_string_lossy());
    // Machines whose names are the same need not be: the process will prove it.
    (differs && !is_this_host).then_some(false)
}

impl ServerProcess {
    /// The process that these settings lead to, or why it cannot be told.
    fn find(settings: &[(String, String)]) -> std::result::Result<Self, String> {
        let setting = |name: &str| value(settings, name).map(PathBuf::from);
        let (Some(datadir), Some(file)) = (setting("datadir"), setting("pid_file")) else {
            return Err("it does not tell its data directory and its pid file".to_owned());
        };
        let file = datadir.join(file);
        let text = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let pid: u32 = text.trim().parse().map_err(|_| format!("{}: no number in it", file.display()))?;
        let folder = PathBuf::from(format!("/proc/{pid}"));
        let may_not = |error| format!("{}: {error}", folder.display());
        // A pid file may be an old one, or lie in a container. A server's working directory is its data directory.
        let works_in = folder.join("cwd").canonicalize().map_err(may_not)?;
        if datadir.canonicalize().ok().as_ref() != Some(&works_in) {
            return Err(format!("{}: process {pid} is not this server", file.display()));
        }
        let maps = fs::read_to_string(folder.join("maps")).map_err(may_not)?;
        let environment = fs::read(folder.join("environ")).ok();
        let tunables = environment.map(|text| tunables(&String::from_utf8_lossy(&text)));
        Ok(Self { pid, allocator: allocators::in_maps(&maps), tunables })
    }
}

/// Of an environment as /proc/PID/environ has it: what glibc and other allocators are set by.
fn tunables(environment: &str) -> Vec<(String, String)> {
    let variables = environment.split('\0').filter_map(|variable| variable.split_once('='));
    variables
        .filter(|(name, _)| is_tunable(name))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// Whether an environment variable of this name sets an allocator.
fn is_tunable(name: &str) -> bool {
    let beginnings = ["MALLOC_", "MIMALLOC_", "TCMALLOC_", "JE_MALLOC_"];
    ["GLIBC_TUNABLES", "LD_PRELOAD"].contains(&name)
        || beginnings.iter().any(|beginning| name.starts_with(beginning))
}

/// What of this process's environment sets allocators.
pub(super) fn own_tunables() -> Vec<(String, String)> {
    let text =
        |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
    std::env::vars_os().filter_map(text).filter(|(name, _)| is_tunable(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::args::Way;
    use super::super::curve::tests::point;
    use super::super::jump;
    use super::*;

    fn settings(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn buffers_that_a_server_has() {
        let all = buffers(&settings(&[
            ("sort_buffer_size", "262144"),
            ("read_buffer_size", "131072"),
            ("bulk_insert_buffer_size", "0"),
            ("hostname", "x"),
        ]));
        let told: Vec<_> = all.iter().map(|one| (one.name.as_str(), one.bytes, one.is_limit)).collect();
        assert_eq!(told, [("read_buffer_size", 131_072, false), ("sort_buffer_size", 262_144, true)]);
    }

    #[test]
    fn buffers_lie_below_or_above_the_jump() {
        let points = vec![point(1024, &[10.0, 11.0], 0.0), point(2048, &[899.0, 901.0], 1.0)];
        let jumps = jump::find(&points, false);
        let curve = Curve {
            allocator: "glibc".into(),
            way: Way::Cold,
            touched: false,
            points,
            jumps,
            not_measurable: Vec::new(),
        };
        let fixed = Curve { way: Way::Fixed, ..curve.clone() };
        let buffer = |bytes| Buffer { name: "b".into(), bytes, is_limit: false, costs: Vec::new() };
        let mut server = ServerMemory {
            server: "MariaDB".into(),
            is_local: None,
            process: None,
            unknown_because: None,
            curves_of: String::new(),
            buffers: vec![buffer(1024), buffer(2048), buffer(4096)],
        };
        server.place(&[curve, fixed], "glibc");
        let above = |number: usize| {
            let costs = &server.buffers[number].costs;
            costs.iter().map(|cost| cost.is_above_jump).collect::<Vec<_>>()
        };
        assert_eq!([above(0), above(1), above(2)], [vec![Some(false)], vec![Some(true)], vec![]]);
        assert_eq!((server.allocator(), server.tunables().as_str()), ("unknown", "unknown"));
        assert_eq!((server.curves_of.as_str(), server.curves()), ("glibc", vec!["glibc cold".to_owned()]));
        assert_eq!(server.buffers[1].on("glibc cold").unwrap().text(), "900 ns (above)");
    }

    #[test]
    fn what_an_allocator_is_set_by() {
        let all = tunables("PATH=/bin\0GLIBC_TUNABLES=glibc.malloc.mmap_threshold=1\0MALLOC_ARENA_MAX=2\0");
        let names: Vec<_> = all.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["GLIBC_TUNABLES", "MALLOC_ARENA_MAX"]);
        assert_eq!(all[0].1, "glibc.malloc.mmap_threshold=1");
    }

    #[test]
    fn a_process_is_proven_or_unknown() {
        let dir = tempfile::tempdir().unwrap();
        let datadir = dir.path().display().to_string();
        let find =
            |datadir: &str| ServerProcess::find(&settings(&[("datadir", datadir), ("pid_file", "x.pid")]));
        assert!(find(&datadir).unwrap_err().contains("x.pid"));
        // This process, which works elsewhere.
        fs::write(dir.path().join("x.pid"), format!("{}\n", std::process::id())).unwrap();
        assert!(find(&datadir).unwrap_err().contains("is not this server"));
        let here = std::env::current_dir().unwrap();
        let mut with_here = settings(&[("datadir", &here.display().to_string())]);
        with_here.extend(settings(&[("pid_file", &dir.path().join("x.pid").display().to_string())]));
        let process = ServerProcess::find(&with_here).unwrap();
        assert_eq!(process.pid, std::process::id());
        assert!(process.allocator.is_some() && process.tunables.is_some(), "{process:?}");
    }

    #[test]
    fn other_machines_have_other_names() {
        let tcp = Address::Tcp { host: "db".into(), port: 3306 };
        let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
        assert_eq!(is_here(&tcp, &settings(&[("hostname", "no-such-host")])), Some(false));
        assert_eq!(is_here(&tcp, &settings(&[("hostname", &name)])), None);
        assert_eq!(is_here(&tcp, &[]), None);
        let near = Address::Tcp { host: "127.0.0.1".into(), port: 3306 };
        assert_eq!(is_here(&near, &settings(&[("hostname", "no-such-host")])), None);
        assert_eq!(is_here(&Address::Socket("/s".into()), &[]), Some(true));
    }
}
