//! What a server's process has used: CPU time and page faults.
//!
//! `/proc/PID/stat` counts CPU time in ticks of 10 ms; `/proc/PID/schedstat` is that of the first thread only, and those below
//! `/proc/PID/task` are gone with their threads, which is what threads of sessions may do. The CPU clock of the process
//! (clock_getcpuclockid(3)) counts the nanoseconds of all its threads, those that ended too. How much of it the kernel worked for the
//! process is not counted so: two more clocks say what the timer's interrupts found at work, which is right over many of them only
//! (`CPUCLOCK_PROF` and `CPUCLOCK_VIRT` in include/linux/posix-timers.h; kernel/sched/cputime.c).

use std::fs;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::{Error, Result};

/// In the lowest two bits of a process's clock: user and system, as sampled; user, as sampled; both, exact.
const SAMPLED: libc::clockid_t = 0;
const SAMPLED_USER: libc::clockid_t = 1;
const EXACT: libc::clockid_t = 2;
const WHICH: libc::clockid_t = 3;

/// A process of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Process {
    pid: u32,
    clock: libc::clockid_t,
}

/// What it has used up to one moment.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Usage {
    cpu_ns: u64,
    sampled_ns: u64,
    sampled_user_ns: u64,
    faults: u64,
}

/// What it used between two moments.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spent {
    /// CPU time in µs.
    pub(super) cpu_us: f64,
    /// Which part of it was not the kernel's, as the timer's interrupts found it; none if there were none.
    pub(super) user_share: Option<f64>,
    /// Page faults that needed no disk.
    pub(super) faults: u64,
}

impl Process {
    /// The process of this id.
    ///
    /// # Errors
    /// If there is none.
    pub(super) fn of(pid: u32) -> Result<Self> {
        let clock = cpu_clock(pid).ok_or_else(|| gone(pid))?;
        Ok(Self { pid, clock })
    }

    pub(super) fn pid(self) -> u32 {
        self.pid
    }

    /// What it has used by now.
    ///
    /// # Errors
    /// If it has ended.
    pub(super) fn usage(self) -> Result<Usage> {
        let clock = |which| nanoseconds((self.clock & !WHICH) | which).ok_or_else(|| gone(self.pid));
        Ok(Usage {
            cpu_ns: clock(EXACT)?,
            sampled_ns: clock(SAMPLED)?,
            sampled_user_ns: clock(SAMPLED_USER)?,
            faults: self.faults()?,
        })
    }

    fn faults(self) -> Result<u64> {
        let path = PathBuf::from(format!("/proc/{}/stat", self.pid));
        let line = fs::read_to_string(&path).map_err(|_| gone(self.pid))?;
        minor_faults(&line).ok_or_else(|| Error::found(format!("{}: not as proc(5) has it", path.display())))
    }

    /// Waits until it has done what it still does, for at most a tenth of a second: a server closes a connection a little before it
    /// is through with the session.
    ///
    /// # Errors
    /// If it has ended.
    pub(super) fn settle(self) -> Result<()> {
        const STEP: Duration = Duration::from_millis(1);
        const MOST: Duration = Duration::from_millis(100);
        /// Of a step; what threads in the background do is less.
        const IDLE_SHARE: f64 = 0.05;
        let begun = Instant::now();
        while begun.elapsed() < MOST {
            let (before, from) = (self.usage()?, Instant::now());
            sleep(STEP);
            let spent = self.usage()?.since(&before);
            if spent.cpu_us < from.elapsed().as_secs_f64() * 1e6 * IDLE_SHARE {
                break;
            }
        }
        Ok(())
    }
}

impl Usage {
    /// What was used since an earlier moment.
    pub(super) fn since(&self, earlier: &Self) -> Spent {
        let sampled = self.sampled_ns.saturating_sub(earlier.sampled_ns);
        let user = self.sampled_user_ns.saturating_sub(earlier.sampled_user_ns);
        Spent {
            cpu_us: self.cpu_ns.saturating_sub(earlier.cpu_ns) as f64 / 1e3,
            user_share: (sampled > 0).then(|| (user as f64 / sampled as f64).min(1.0)),
            faults: self.faults.saturating_sub(earlier.faults),
        }
    }
}

fn gone(pid: u32) -> Error {
    Error::with_hint(
        format!("the server's process, {pid}, is gone"),
        "its error log says why; --html and --json keep nothing of a run that breaks off",
    )
}

/// The field `minflt` of proc(5). The second field, in parentheses, is a name that may hold anything.
fn minor_faults(line: &str) -> Option<u64> {
    const BEHIND_NAME: usize = 7;
    let (_, behind_name) = line.rsplit_once(')')?;
    behind_name.split_whitespace().nth(BEHIND_NAME)?.parse().ok()
}

#[allow(unsafe_code, reason = "there is no safe way to the CPU clock of another process")]
fn cpu_clock(pid: u32) -> Option<libc::clockid_t> {
    let pid = libc::pid_t::try_from(pid).ok()?;
    let mut clock = 0;
    // SAFETY: clock_getcpuclockid(3) writes one clockid_t.
    let result = unsafe { libc::clock_getcpuclockid(pid, &raw mut clock) };
    (result == 0).then_some(clock)
}

#[allow(unsafe_code, reason = "there is no safe way to the CPU clock of another process")]
fn nanoseconds(clock: libc::clockid_t) -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: clock_gettime(2) writes one timespec, and refuses a clock that is none.
    let result = unsafe { libc::clock_gettime(clock, &raw mut time) };
    let whole = u64::try_from(time.tv_sec).ok()?.checked_mul(1_000_000_000)?;
    (result == 0).then_some(whole + u64::try_from(time.tv_nsec).ok()?)
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::*;

    #[test]
    fn what_this_process_does_is_seen_to_the_microsecond() {
        let process = Process::of(std::process::id()).unwrap();
        let (before, begun) = (process.usage().unwrap(), Instant::now());
        // On a thread that has ended when it is read.
        std::thread::spawn(move || {
            while begun.elapsed() < Duration::from_millis(20) {
                black_box(vec![1_u8; 1 << 20]);
            }
        })
        .join()
        .unwrap();
        let spent = process.usage().unwrap().since(&before);
        assert!(spent.cpu_us > 1000.0 && spent.faults > 0, "{spent:?}");
        assert!(spent.user_share.is_none_or(|share| (0.0..=1.0).contains(&share)), "{spent:?}");
    }

    #[test]
    fn a_process_that_is_none_is_an_error() {
        // Above the kernel's largest (PID_MAX_LIMIT).
        let error = Process::of(1 << 22).unwrap_err();
        assert!(error.to_string().contains("4194304"), "{error}");
    }

    #[test]
    fn a_process_may_be_called_anything() {
        assert_eq!(minor_faults("7 (a) 1 (b)) S 1 7 7 0 -1 4194560 1234 0 8 0"), Some(1234));
        assert_eq!(minor_faults("7 (a) S 1"), None);
    }
}
