//! Puts a host back as it was, whatever becomes of this process.
//!
//! A second process holds the list of what is to be undone. It learns of each step before that is done, through a pipe, and undoes
//! all of them, the last one first, when the pipe closes: at the end of the work, or of this process, also by SIGKILL. It is in a
//! session of its own, so that what is sent to a terminal's processes does not reach it, and ignores SIGTERM and SIGINT.
//!
//! [`Undo::keep`] tells it that all went well and is to stay: one short line, which a pipe takes as a whole or not at all. Before
//! that line is there, all is undone.
//!
//! What it cannot outlive: a SIGKILL of its own, and the loss of power. Nothing that it undoes lasts over a boot but files.

use std::fs;
use std::io::{self, BufRead, BufReader, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// The hidden command of `drover bench` that the second process runs.
pub const COMMAND: &str = "put-back";

/// The line after which nothing is undone.
const KEEP: &str = "keep";

/// What is to be undone, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// A file of the kernel's is to hold this again.
    Write {
        /// The file.
        path: PathBuf,
        /// What it held.
        value: String,
    },
    /// A file system is to be unmounted, as soon as nobody uses it.
    Unmount(PathBuf),
    /// The loop devices that hold this file are to be detached from it.
    Detach(PathBuf),
    /// A file is to be removed.
    RemoveFile(PathBuf),
    /// A directory is to be removed, which is empty by then.
    RemoveDirectory(PathBuf),
    /// A directory that drover made is to be removed with all that is in it.
    RemoveTree(PathBuf),
}

/// The list of what is to be undone. Dropped, it undoes all, and what fails then is not told: use [`Undo::finish`].
#[derive(Debug)]
pub struct Undo {
    child: Child,
    /// Closed to have it begin.
    steps: Option<ChildStdin>,
}

impl Undo {
    /// Starts the second process.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start() -> Result<Self> {
        let mut command = Command::new("/proc/self/exe");
        command.args(["bench", COMMAND]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let child = in_own_session(&mut command).spawn();
        let mut child = child.map_err(Error::file(Path::new("/proc/self/exe")))?;
        let steps = child.stdin.take();
        Ok(Self { child, steps })
    }

    /// Adds a step, before what it undoes is done: undoing what was not done yet does no harm. Only what is to be removed is made
    /// first, as it may turn out to be there already, and somebody else's.
    ///
    /// # Errors
    /// If the second process is gone.
    pub fn add(&mut self, step: &Step) -> Result<()> {
        let line = serde_json::to_string(step).map_err(|error| lost(error.into()))?;
        self.say(&line).map_err(lost)
    }

    /// Has nothing undone: what was done is to stay. Waits until the second process has ended.
    ///
    /// # Errors
    /// If the second process was gone before it heard of it. Nobody undoes anything then.
    pub fn keep(mut self) -> Result<()> {
        self.say(KEEP).map_err(lost)?;
        self.undo().map(drop).map_err(lost)
    }

    fn say(&mut self, line: &str) -> io::Result<()> {
        let steps = self.steps.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        steps.write_all(format!("{line}\n").as_bytes())
    }

    /// Has all undone, and waits for it.
    ///
    /// # Errors
    /// If something could not be undone; it names each.
    pub fn finish(mut self) -> Result<()> {
        match self.undo() {
            Ok(failures) if failures.is_empty() => Ok(()),
            Ok(failures) => Err(Error::with_hint(
                format!("not put back: {}", failures.trim_end().replace('\n', "; ")),
                "put it back by hand",
            )),
            Err(error) => Err(Error::found(format!("the process that puts everything back: {error}"))),
        }
    }

    /// What could not be undone, a line each.
    fn undo(&mut self) -> io::Result<String> {
        drop(self.steps.take());
        let mut failures = String::new();
        if let Some(mut said) = self.child.stdout.take() {
            said.read_to_string(&mut failures)?;
        }
        let status = self.child.wait()?;
        if status.success() || !failures.is_empty() {
            return Ok(failures);
        }
        Err(io::Error::other(format!("it ended with {status}")))
    }
}

fn lost(error: io::Error) -> Error {
    Error::found(format!("the process that puts everything back is gone: {error}"))
}

impl Drop for Undo {
    fn drop(&mut self) {
        // After `finish` there is nothing left to do; where an error is already on its way, it is the one to tell.
        let _ = self.undo();
    }
}

#[allow(unsafe_code, reason = "a session of its own can only be had between fork and exec")]
fn in_own_session(command: &mut Command) -> &mut Command {
    let own_session = || {
        rustix::process::setsid()?;
        Ok(())
    };
    // SAFETY: setsid(2) is one system call, which is safe to make between fork and exec.
    unsafe { command.pre_exec(own_session) }
}

/// What the second process does: reads steps until nobody can add another, then undoes them. Returns what could not be undone.
pub fn put_back(steps: impl io::Read) -> Vec<String> {
    ignore_signals();
    // What is not a whole line was not begun by the other side either.
    let lines: Vec<String> = BufReader::new(steps).lines().map_while(io::Result::ok).collect();
    if lines.last().is_some_and(|line| line == KEEP) {
        return Vec::new();
    }
    let steps: Vec<Step> = lines.iter().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let failures = steps.iter().rev().filter_map(|step| patiently(step).err());
    failures.collect()
}

#[allow(unsafe_code, reason = "how signals are taken can only be said by sigaction(2) or signal(2)")]
fn ignore_signals() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: ignoring a signal runs no code of ours.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// A server that was killed with its parent still writes for a moment, so what is busy is tried again.
fn patiently(step: &Step) -> std::result::Result<(), String> {
    const PATIENCE: Duration = Duration::from_secs(30);
    let begun = Instant::now();
    loop {
        match step.undo() {
            Ok(()) => return Ok(()),
            Err(why) if begun.elapsed() > PATIENCE => return Err(why),
            Err(_) => std::thread::sleep(Duration::from_millis(100)),
        }
    }
}

impl Step {
    pub(crate) fn undo(&self) -> std::result::Result<(), String> {
        match self {
            Self::Write { path, value } => put_value(path, value),
            Self::Unmount(point) if !is_mounted(point) => Ok(()),
            Self::Unmount(point) => run("umount", point),
            Self::Detach(file) => {
                loop_devices_of(file).iter().try_for_each(|device| run("losetup --detach", device))
            }
            Self::RemoveFile(path) => removed(path, fs::remove_file(path)),
            Self::RemoveDirectory(path) => removed(path, fs::remove_dir(path)),
            Self::RemoveTree(path) => removed(path, fs::remove_dir_all(path)),
        }
    }
}

/// Writes what a file of the kernel's held; of several in one line, as in a list of schedulers, that is the one in brackets.
pub(crate) fn put_value(path: &Path, value: &str) -> std::result::Result<(), String> {
    let told = |error: io::Error| format!("{}: {error}", path.display());
    let held = |now: &str| now.trim() == value || now.contains(&format!("[{value}]"));
    // Some take no value that they hold already, as long as what they set is switched off.
    if fs::read_to_string(path).is_ok_and(|now| held(&now)) {
        return Ok(());
    }
    fs::write(path, value).map_err(told)?;
    let now = fs::read_to_string(path).map_err(told)?;
    if held(&now) { Ok(()) } else { Err(format!("{}: is {}, and was {value}", path.display(), now.trim())) }
}

fn is_mounted(point: &Path) -> bool {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    mounts.lines().any(|line| line.split(' ').nth(4).map(Path::new) == Some(point))
}

/// The loop devices that a file is attached to.
fn loop_devices_of(file: &Path) -> Vec<PathBuf> {
    let devices = fs::read_dir("/sys/class/block").into_iter().flatten().flatten().map(|entry| entry.path());
    let holds_it = |device: &PathBuf| {
        let backing = fs::read_to_string(device.join("loop/backing_file")).unwrap_or_default();
        let backing = backing.trim_end_matches('\n');
        // What the kernel adds if somebody else has removed the file meanwhile.
        Path::new(backing.strip_suffix(" (deleted)").unwrap_or(backing)) == file
    };
    devices.filter(holds_it).filter_map(|device| Some(Path::new("/dev").join(device.file_name()?))).collect()
}

/// Runs a program with its options and a path.
fn run(line: &str, path: &Path) -> std::result::Result<(), String> {
    let mut words = line.split(' ');
    let output = Command::new(words.next().unwrap_or_default()).args(words).arg(path).output();
    match output {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            Err(format!("{line} {}: {}", path.display(), String::from_utf8_lossy(&output.stderr).trim()))
        }
        Err(error) => Err(format!("{line}: {error}")),
    }
}

fn removed(path: &Path, result: io::Result<()>) -> std::result::Result<(), String> {
    match result {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(format!("{}: {error}", path.display())),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(steps: &[Step]) -> Vec<u8> {
        steps.iter().flat_map(|step| [serde_json::to_vec(step).unwrap(), vec![b'\n']].concat()).collect()
    }

    #[test]
    fn steps_are_undone_from_the_last_to_the_first() {
        let dir = tempfile::tempdir().unwrap();
        let (folder, file, value) =
            (dir.path().join("folder"), dir.path().join("folder/file"), dir.path().join("value"));
        fs::create_dir(&folder).unwrap();
        fs::write(&file, "x").unwrap();
        fs::write(&value, "new").unwrap();
        let tree = dir.path().join("tree");
        fs::create_dir_all(tree.join("below")).unwrap();
        fs::write(tree.join("below/file"), "x").unwrap();
        let steps = [
            Step::Write { path: value.clone(), value: "old".into() },
            Step::RemoveDirectory(folder.clone()),
            Step::RemoveFile(file),
            Step::RemoveFile(dir.path().join("was never made")),
            Step::RemoveTree(tree.clone()),
            Step::RemoveTree(dir.path().join("nor this")),
            Step::Unmount(folder.clone()),
        ];
        let mut cut = lines(&steps);
        cut.extend_from_slice(b"{\"write\":{\"path\":\"/etc/pas");
        assert_eq!(put_back(&cut[..]), Vec::<String>::new());
        assert!(!folder.exists() && !tree.exists());
        assert_eq!(fs::read_to_string(&value).unwrap(), "old");
    }

    #[test]
    fn nothing_is_undone_once_it_is_to_be_kept() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "x").unwrap();
        let steps = lines(&[Step::RemoveFile(file.clone())]);
        assert!(put_back(&[&steps[..], b"keep\n"].concat()[..]).is_empty() && file.exists());
        // What was cut off says nothing, nor does a word that is not the last one.
        assert!(put_back(&[&steps[..], b"kee"].concat()[..]).is_empty() && !file.exists());
        fs::write(&file, "x").unwrap();
        assert!(put_back(&[b"keep\n", &steps[..]].concat()[..]).is_empty() && !file.exists());
    }

    #[test]
    fn a_value_in_brackets_is_the_one_in_use() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("scheduler");
        fs::write(&path, "x").unwrap();
        assert_eq!(put_value(&path, "none"), Ok(()));
        fs::write(&path, "[none] bfq").unwrap();
        assert_eq!(put_value(&path, "none"), Ok(()));
        assert_eq!(fs::read_to_string(&path).unwrap(), "[none] bfq", "what it holds is not written again");
        assert!(put_value(&dir.path().join("not/there"), "none").unwrap_err().contains("not/there"));
    }
}
