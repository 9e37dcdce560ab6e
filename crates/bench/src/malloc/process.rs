//! The processes that are started to measure in.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use drover_db::Stop;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::de::DeserializeOwned;

use super::child::{CHILD, Task};
use crate::{Error, Result};

/// An answer, or why there is none: the process ended before it could give one.
pub(super) type Answered<A> = std::result::Result<A, String>;

/// Has a fresh process of this program do a task, with the environment as it is, and with this library loaded first.
///
/// # Errors
/// If no process can be started, or a stop was asked for.
pub(super) fn ask<A: DeserializeOwned>(
    task: &Task,
    preload: Option<&Path>,
    stop: &Stop,
) -> Result<Answered<A>> {
    // Also when its file was replaced meanwhile.
    let program = Path::new("/proc/self/exe");
    let task = serde_json::to_string(task).map_err(|error| Error::found(format!("a task: {error}")))?;
    let mut command = Command::new(program);
    command.args(CHILD).arg(task).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    if let Some(library) = preload {
        command.env("LD_PRELOAD", library);
    }
    let output = command.spawn().and_then(|child| finish(child, stop)).map_err(Error::file(program))?;
    if stop.is_requested() {
        return Err(Error::Stopped);
    }
    Ok(answered(&output))
}

/// Waits for its end, which comes at once if a stop is asked for.
fn finish(child: Child, stop: &Stop) -> std::io::Result<Output> {
    // By this handle no other process can be meant, not even after this one has ended. Kernels before 5.3 have none: then the process
    // ends by itself, in about a second at most.
    let handle = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).ok();
    let _watched = handle.map(|handle| {
        stop.watch_other(move || {
            let _has_ended = pidfd_send_signal(&handle, Signal::KILL);
        })
    });
    child.wait_with_output()
}

fn answered<A: DeserializeOwned>(output: &Output) -> Answered<A> {
    if let Some(signal) = output.status.signal() {
        return Err(format!("signal {signal} ended the process that was to measure it"));
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let first = said.lines().next().unwrap_or("it said nothing");
    match serde_json::from_slice(&output.stdout) {
        Ok(answer) if output.status.success() => Ok(answer),
        _ => Err(format!("the process that was to measure it failed: {first}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(script: &str) -> Output {
        Command::new("sh").args(["-c", script]).output().unwrap()
    }

    #[test]
    fn an_answer_or_why_there_is_none() {
        assert_eq!(answered(&output("echo 42")), Ok(42_u64));
        let why = |script: &str| answered::<u64>(&output(script)).unwrap_err();
        assert!(why("echo 'no memory' >&2; exit 2").contains("failed: no memory"));
        assert!(why("kill -9 $$").contains("signal 9"));
        assert!(why("exit 0").contains("it said nothing"));
    }

    #[test]
    fn a_stop_ends_what_is_waited_for() {
        let stop = Stop::default();
        stop.request();
        let child = Command::new("sleep").arg("60").stdout(Stdio::piped()).spawn().unwrap();
        let begun = std::time::Instant::now();
        let output = finish(child, &stop).unwrap();
        assert_eq!(output.status.signal(), Some(9));
        assert!(begun.elapsed().as_secs() < 30);
    }
}
