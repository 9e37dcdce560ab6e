//! Puts a server process into the world: on its own, or tied to the life of this process.
//!
//! Both go through a tiny shell script that starts the server in the background and says its process id. The server
//! is then never a child of this process, so it can neither become a zombie here nor get the terminal's Ctrl-C.
//!
//! An ephemeral server must end even if this process is killed with SIGKILL, which leaves no time for any code of
//! ours. So its script stays as a guard: it reads from a pipe whose other end only this process holds, and the end of
//! that pipe is the end of the server. `PR_SET_PDEATHSIG` would not do: it fires when the *thread* that started the
//! server ends.

use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use crate::Error;
use crate::home::Home;
use crate::process::ServerProcess;

const DETACHED: &str = r#"
log=$1; shift
"$@" </dev/null >>"$log" 2>&1 &
echo $!
"#;

/// Signals are ignored only after the server has started, which would inherit that. A program that a server ran may outlive it for a
/// moment and write into the home while that is removed.
const GUARDED: &str = r#"
log=$1 home=$2 socket_dir=$3; shift 3
"$@" </dev/null >>"$log" 2>&1 &
server=$!
trap '' HUP INT TERM
echo $server
read -r verdict
kill -KILL $server
wait $server
[ "$verdict" != keep ] || exit 0
tries=0
until rm -rf "$home" "$socket_dir" || [ $tries -ge 50 ]; do
  tries=$((tries + 1))
  sleep 0.1
done
"#;

/// The shell that outlives this process long enough to end the server. Dropping it ends the server at once and
/// removes the home.
#[derive(Debug)]
pub(crate) struct Guard {
    shell: Child,
    pipe: Option<ChildStdin>,
}

impl Guard {
    /// Ends the guard and its server, but keeps the home.
    pub(crate) fn dismiss(mut self) {
        if let Some(mut pipe) = self.pipe.take() {
            let _a_dead_guard_removes_nothing = pipe.write_all(b"keep\n");
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.pipe.take());
        let _its_exit_code_says_nothing = self.shell.wait();
    }
}

/// One launched server, which may or may not have come up.
#[derive(Debug)]
pub(crate) struct Launched {
    pub(crate) process: ServerProcess,
    pub(crate) guard: Option<Guard>,
}

impl Launched {
    /// Kills the server, but keeps its home: for a launch that failed.
    pub(crate) fn abandon(self) {
        self.process.kill();
        if let Some(guard) = self.guard {
            guard.dismiss();
        }
    }
}

/// Starts `server`, which writes to the home's error log from its first word on, and returns at once.
pub(crate) fn launch(server: &Command, home: &Home, guarded: bool) -> Result<Launched, Error> {
    let shell = if guarded { guarded_shell(home) } else { detached_shell(&home.error_log()) };
    launch_with(shell, server, home, guarded).map_err(Error::io("start", Path::new(server.get_program())))
}

/// Starts a program of ours that outlives this process and writes to that log, and says its process id at once.
pub(crate) fn detach(program: &Command, log: &Path) -> io::Result<u32> {
    let mut shell = detached_shell(log);
    let mut child = shell.arg(program.get_program()).args(program.get_args()).spawn()?;
    let pid = read_pid(&mut child);
    let _its_exit_code_says_nothing = child.wait();
    pid
}

fn launch_with(mut shell: Command, server: &Command, home: &Home, guarded: bool) -> io::Result<Launched> {
    shell.arg(server.get_program()).args(server.get_args());
    shell.envs(server.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut child = shell.spawn()?;
    let mut guard = Guard { pipe: child.stdin.take(), shell: child };
    let pid = read_pid(&mut guard.shell)?;
    let process = ServerProcess::new(pid, &home.datadir());
    let guard = if guarded { Some(guard) } else { None };
    Ok(Launched { process, guard })
}

fn detached_shell(log: &Path) -> Command {
    let mut shell = shell(DETACHED);
    shell.stdin(Stdio::null()).arg(log);
    shell
}

fn guarded_shell(home: &Home) -> Command {
    let mut shell = shell(GUARDED);
    let socket_dir = home.socket_dir().map_or(OsStr::new(""), Path::as_os_str);
    shell.stdin(Stdio::piped()).arg(home.error_log()).arg(home.dir()).arg(socket_dir);
    shell
}

/// In a process group of its own, out of reach of the terminal's signals, and in no directory that anybody may want
/// to unmount.
fn shell(script: &str) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", script, "drover-sandbox"]);
    shell.current_dir("/").stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
    shell
}

fn read_pid(shell: &mut Child) -> io::Result<u32> {
    let stdout = shell.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line)?;
    line.trim().parse().map_err(|_| io::Error::other(format!("the shell said {line:?} for a process id")))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::Flavour;
    use crate::process::ProcessState;

    /// A stand-in for a server: all that matters here is that it runs on.
    fn idle(home: &Home) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", "echo up; while :; do sleep 0.05; done", "sh"]);
        command.arg(crate::options::mark(&home.datadir()));
        command
    }

    fn guarded() -> (tempfile::TempDir, Home, Launched) {
        let root = tempfile::tempdir().unwrap();
        let home = Home::claim_ephemeral(Some(root.path()), Flavour::MySql).unwrap();
        let launched = launch(&idle(&home), &home, true).unwrap();
        (root, home, launched)
    }

    /// Right after the launch the shell may not have become the server yet.
    fn wait_running(launched: &Launched) {
        while !launched.process.is_running() {
            assert_ne!(launched.process.state(), ProcessState::Gone);
        }
    }

    #[test]
    fn dropping_the_guard_ends_the_server_and_removes_its_home() {
        let (_root, home, launched) = guarded();
        wait_running(&launched);
        drop(launched.guard);
        assert_eq!(launched.process.state(), ProcessState::Gone);
        assert!(!home.dir().exists());
    }

    #[test]
    fn an_abandoned_launch_keeps_the_home() {
        let (_root, home, launched) = guarded();
        let process = launched.process.clone();
        launched.abandon();
        assert_eq!(process.state(), ProcessState::Gone);
        assert!(home.dir().exists());
    }

    #[test]
    fn a_detached_server_outlives_its_shell_and_writes_to_the_log() {
        let root = tempfile::tempdir().unwrap();
        let (_, home) = Home::claim_named(root.path(), None, Flavour::MySql).unwrap();
        let launched = launch(&idle(&home), &home, false).unwrap();
        while fs::read_to_string(home.error_log()).unwrap_or_default() != "up\n" {}
        wait_running(&launched);
        launched.process.kill();
    }
}
