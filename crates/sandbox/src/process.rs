//! A server's process, known by its id and by the data directory in its arguments; or a link's, known by the path of its
//! description there.
//!
//! The id alone is not enough: after a reboot, or days later, it may be somebody else's. Nobody is signalled whose
//! arguments do not name that directory or path.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::options;

/// How long a server may take to shut down in order before it is killed.
const STOP_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a killed process may take to go: it must give back its memory and close its files.
const KILL_TIMEOUT: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(5);
/// The data directory comes before all options of the person's own, so this is plenty, in bytes.
const ARGUMENTS_READ: usize = 32 * 1024;

/// How a server ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StopOutcome {
    /// It shut down when asked to.
    Stopped,
    /// It did not shut down within 60 s and was killed.
    Killed,
    /// It did not run.
    WasDead,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProcessState {
    Running,
    /// Between its last instruction and the release of its files, or between `fork` and `exec`.
    Changing,
    Gone,
}

#[derive(Debug, Clone, Copy)]
enum Signal {
    Terminate,
    Kill,
}

#[derive(Debug, Clone)]
pub(crate) struct ServerProcess {
    pid: u32,
    mark: OsString,
}

impl ServerProcess {
    pub(crate) fn new(pid: u32, datadir: &Path) -> Self {
        Self::with_argument(pid, options::mark(datadir))
    }

    /// A process that has this among its arguments, and nobody else's does.
    pub(crate) fn with_argument(pid: u32, mark: OsString) -> Self {
        Self { pid, mark }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    pub(crate) fn state(&self) -> ProcessState {
        match arguments_of(self.pid) {
            Err(error) if no_such_process(&error) => ProcessState::Gone,
            // Out of file handles, say: that tells nothing about the server.
            Err(_) => ProcessState::Changing,
            Ok(arguments) if self.is_ours(&arguments) => ProcessState::Running,
            Ok(arguments) if !arguments.is_empty() => ProcessState::Gone,
            Ok(_) if is_zombie(self.pid) => ProcessState::Gone,
            Ok(_) => ProcessState::Changing,
        }
    }

    pub(crate) fn is_running(&self) -> bool {
        self.state() == ProcessState::Running
    }

    fn is_ours(&self, arguments: &[u8]) -> bool {
        arguments.split(|byte| *byte == 0).any(|argument| argument == self.mark.as_bytes())
    }

    /// Asks the server to shut down and waits; kills it after 60 s.
    pub(crate) fn stop(&self) -> StopOutcome {
        let was_running = self.ask_to_stop();
        self.wait_stopped(was_running)
    }

    /// Asks the server to shut down and does not wait. Says whether it ran.
    pub(crate) fn ask_to_stop(&self) -> bool {
        let was_running = self.is_running();
        self.signal(Signal::Terminate);
        was_running
    }

    /// Waits for a server that was asked to stop; kills it after 60 s. One that ended by itself just before may still
    /// have files to close, so it is waited for too.
    pub(crate) fn wait_stopped(&self, was_running: bool) -> StopOutcome {
        let went = self.wait_gone(STOP_TIMEOUT, || ());
        if !went {
            self.kill();
        }
        match (was_running, went) {
            (false, _) => StopOutcome::WasDead,
            (true, true) => StopOutcome::Stopped,
            (true, false) => StopOutcome::Killed,
        }
    }

    /// Kills the server and waits until its files are closed, so that another may open them.
    pub(crate) fn kill(&self) {
        // In every round: nothing is sent while the process is between `fork` and `exec`.
        self.wait_gone(KILL_TIMEOUT, || self.signal(Signal::Kill));
    }

    fn wait_gone(&self, timeout: Duration, each_round: impl Fn()) -> bool {
        let deadline = Instant::now() + timeout;
        while self.state() != ProcessState::Gone {
            if Instant::now() >= deadline {
                return false;
            }
            each_round();
            sleep(POLL);
        }
        true
    }

    fn signal(&self, signal: Signal) {
        if self.is_running() {
            send(self.pid, signal);
        }
    }
}

/// The arguments of a process, or as many as one `read` gives. With a second `read` an `exec` in between would give
/// the start of one list and the end of another.
fn arguments_of(pid: u32) -> io::Result<Vec<u8>> {
    let mut arguments = vec![0; ARGUMENTS_READ];
    let length = File::open(format!("/proc/{pid}/cmdline"))?.read(&mut arguments)?;
    arguments.truncate(length);
    Ok(arguments)
}

/// Gone before `open`, or between `open` and `read`.
fn no_such_process(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH)
}

/// Whether every thread has ended and only the exit code is waited for. The kernel closes a process's files before
/// its last thread gets there (`do_exit` in kernel/exit.c), but after its arguments can no longer be read.
fn is_zombie(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("").trim();
    field("State:").starts_with(['Z', 'X']) && matches!(field("Threads:"), "0" | "1")
}

/// Sends a signal. That the process may just have ended is no error: it was to end.
#[allow(unsafe_code)]
fn send(pid: u32, signal: Signal) {
    // 0 and negative ids would address whole process groups.
    let Some(pid) = libc::pid_t::try_from(pid).ok().filter(|pid| *pid > 0) else { return };
    let number = match signal {
        Signal::Terminate => libc::SIGTERM,
        Signal::Kill => libc::SIGKILL,
    };
    // SAFETY: kill(2) takes two integers and touches no memory of this process.
    unsafe { libc::kill(pid, number) };
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use super::*;

    fn sleeper(datadir: &str) -> Child {
        let script = "while :; do sleep 0.05; done";
        Command::new("sh").args(["-c", script, "sh"]).arg(format!("--datadir={datadir}")).spawn().unwrap()
    }

    #[test]
    fn only_the_process_with_our_data_directory_is_ended() {
        let mut child = sleeper("/sandbox/a");
        while fs::read(format!("/proc/{}/cmdline", child.id())).unwrap().is_empty() {}
        let stranger = ServerProcess::new(child.id(), Path::new("/sandbox/ab"));
        assert_eq!(stranger.stop(), StopOutcome::WasDead);
        assert!(child.try_wait().unwrap().is_none());
        let ours = ServerProcess::new(child.id(), Path::new("/sandbox/a"));
        assert!(ours.is_running());
        assert_eq!(ours.stop(), StopOutcome::Stopped);
        assert_eq!(ours.state(), ProcessState::Gone, "a zombie counts as gone");
        child.wait().unwrap();
        assert_eq!(ours.stop(), StopOutcome::WasDead);
    }
}
