//! Disks of files: loop devices, whose schedulers can be changed, as those of disks.
//!
//! Loop devices and mounts take root and a kernel that offers them. `DROVER_TEST_LOOP=1` says that both are there, as scripts/test finds
//! out and tells; then a test that cannot use them fails.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::TempDir;

/// One test at a time uses loop devices, so that each can tell which one is its own.
static LOOPS: Mutex<()> = Mutex::new(());

pub(crate) fn loops() -> Option<MutexGuard<'static, ()>> {
    let is_told = std::env::var("DROVER_TEST_LOOP").is_ok_and(|value| value == "1");
    is_told.then(|| LOOPS.lock().unwrap_or_else(PoisonError::into_inner))
}

pub(crate) fn on_disk() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

pub(crate) fn said(program: &str, words: &[&str]) -> String {
    let output = Command::new(program).args(words).output().unwrap();
    assert!(output.status.success(), "{program} {words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

pub(crate) fn scheduler_file(device: &str) -> PathBuf {
    Path::new("/sys/class/block").join(device).join("queue/scheduler")
}

/// The scheduler in use: the one in brackets.
pub(crate) fn scheduler(device: &str) -> String {
    let line = fs::read_to_string(scheduler_file(device)).unwrap();
    line.split(['[', ']']).nth(1).unwrap_or_else(|| line.trim()).to_owned()
}

/// A file system on a loop device, as an operator's disk.
pub(crate) struct Disk {
    dir: TempDir,
    /// Its name: `loop0`.
    pub(crate) device: String,
}

impl Disk {
    /// One of so many MiB that is mounted at [`Self::point`].
    pub(crate) fn mounted(mebibytes: u64) -> Self {
        let disk = Self::new(mebibytes);
        fs::create_dir(disk.point()).unwrap();
        let (device, point) = (format!("/dev/{}", disk.device), disk.point());
        said("mkfs.ext4", &["-q", "-F", &device]);
        said("mount", &[&device, point.to_str().unwrap()]);
        said("rm", &["-r", point.join("lost+found").to_str().unwrap()]);
        disk
    }

    /// One on which nothing lies.
    pub(crate) fn new(mebibytes: u64) -> Self {
        let dir = on_disk();
        let image = dir.path().join("image");
        fs::File::create_new(&image).unwrap().set_len(mebibytes << 20).unwrap();
        let device = said("losetup", &["--find", "--show", image.to_str().unwrap()]);
        Self { dir, device: device.trim_start_matches("/dev/").to_owned() }
    }

    pub(crate) fn point(&self) -> PathBuf {
        self.dir.path().join("point")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        if self.point().exists() {
            let _ = Command::new("umount").arg("--lazy").arg(self.point()).status();
        }
        let _ = Command::new("losetup").arg("--detach").arg(format!("/dev/{}", self.device)).status();
    }
}
