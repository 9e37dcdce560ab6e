//! One process for each task: exit status 0 says that it is done, 75 that it is to be tried again later, any other that it failed.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::fs::FallocateFlags;

use super::counter::Counter;
use super::line;
use crate::desk::Answer;
use crate::task::{Outcome, Task};
use crate::{Error, Result};

/// EX_TEMPFAIL of sysexits.h.
const LATER: i32 = 75;
/// How long a task waits that said so.
const LATER_MS: u64 = 10_000;
/// So much of what a process says at its end is kept with a task that failed, in bytes.
const LAST_WORDS: u64 = 1000;
/// How often is looked whether a process has ended.
const TICK: Duration = Duration::from_millis(2);

/// Works until there is nothing more.
pub(super) fn work(counter: &Counter<'_>, command: &str) -> Result<()> {
    while let Some(tasks) = counter.desk.take(1, Duration::from_millis(500)) {
        for queued in tasks {
            let lease = queued.task.lease;
            if let Some(outcome) = run(counter, command, &queued.task)? {
                counter.answer([Answer { lease, outcome }]);
            }
        }
    }
    Ok(())
}

/// Runs a process; `None` if the task is given up meanwhile.
fn run(counter: &Counter<'_>, command: &str, task: &Task) -> Result<Option<Outcome>> {
    let failed = |source| Error::found(format!("--exec: cannot run /bin/sh: {source}"));
    if task.object_id.to_string().contains('\0') || task.tenant.contains('\0') {
        let what = "--exec: no environment holds its object id or tenant, for there is a byte 0 in it";
        return Ok(Some(Outcome::Failed(what.into())));
    }
    let mut words = tempfile::tempfile().map_err(failed)?;
    let mut child = Command::new("/bin/sh")
        .args(["-c", command])
        .env("DROVER_ID", task.id.to_string())
        .env("DROVER_KIND", task.kind.to_string())
        .env("DROVER_OBJECT_ID", task.object_id.to_string())
        .env("DROVER_ATTEMPT", task.attempt.to_string())
        .env("DROVER_TENANT", &*task.tenant)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(words.try_clone().map_err(failed)?)
        .process_group(0)
        .spawn()
        .map_err(failed)?;
    feed(&mut child, task);
    let Some(status) = wait(counter, &mut child, &words, task.lease)? else { return Ok(None) };
    Ok(Some(match status.code() {
        Some(0) => Outcome::Done,
        Some(LATER) => Outcome::Postponed(LATER_MS),
        _ => Outcome::Failed(format!("{}{}", ended(status), last_words(&mut words))),
    }))
}

/// The task as a line of JSON on its input; a process that does not read it does not matter.
fn feed(child: &mut Child, task: &Task) {
    let mut text = Vec::new();
    line::push(task, &mut text);
    if let Some(mut input) = child.stdin.take() {
        // A thread, since a large payload may wait for a process that reads late.
        std::thread::spawn(move || drop(input.write_all(&text)));
    }
}

/// Waits for the process's end; ends it if the task is given up.
fn wait(counter: &Counter<'_>, child: &mut Child, words: &File, lease: u64) -> Result<Option<ExitStatus>> {
    let mut ticks = 0u32;
    loop {
        let ended = child
            .try_wait()
            .map_err(|source| Error::found(format!("--exec: waiting for a process: {source}")))?;
        if ended.is_some() {
            return Ok(ended);
        }
        std::thread::sleep(TICK);
        ticks += 1;
        if ticks.is_multiple_of(20) {
            forget(words);
        }
        if ticks.is_multiple_of(20) && !counter.desk.gone([lease].into_iter()).is_empty() {
            end_group(child);
            return Ok(None);
        }
    }
}

/// Ends a process with all that it started.
pub(super) fn end_group(child: &mut Child) {
    kill_group(child.id());
    let _ = child.wait();
}

/// The same, but its end is to be waited for: until then its number is no other's.
pub(super) fn kill_group(process: u32) {
    if let Some(group) = i32::try_from(process).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
}

/// How a process ended, in words.
pub(super) fn ended(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None) => "ended".into(),
    }
}

/// Gives back the disk's space for what was said long before: a process may say any amount. Where that cannot be done it stays.
fn forget(words: &File) {
    const KEPT: u64 = 1 << 20;
    let Ok(about) = words.metadata() else { return };
    if about.blocks() * 512 > 2 * KEPT && about.len() > KEPT {
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        let _ = rustix::fs::fallocate(words, hole, 0, about.len() - KEPT);
    }
}

fn last_words(words: &mut File) -> String {
    let mut text = Vec::new();
    let length = words.seek(SeekFrom::End(0)).unwrap_or(0);
    let from = length.saturating_sub(LAST_WORDS);
    if words.seek(SeekFrom::Start(from)).and_then(|_| words.take(LAST_WORDS).read_to_end(&mut text)).is_err()
    {
        return String::new();
    }
    match String::from_utf8_lossy(&text).trim() {
        "" => String::new(),
        said => format!(": {said}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_long_before_takes_no_space() {
        let mut words = tempfile::tempfile().unwrap();
        let line = [b'x'; 1 << 16];
        (0..320).for_each(|_| words.write_all(&line).unwrap());
        forget(&words);
        assert!(words.metadata().unwrap().blocks() * 512 <= 2 << 20, "{:?}", words.metadata());
        words.write_all(b"the end").unwrap();
        assert!(last_words(&mut words).ends_with("xthe end"));
    }
}
