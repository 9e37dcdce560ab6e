//! File systems on loop devices, for comparing what no device is there for.
//!
//! A loop device is a file that looks like a disk. It is slower than the disk below it and shares that with others, so that
//! differences between what lies on it are smaller than they would be on disks; see docs/bench-tpcc.md.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use drover_host::undo::{Step, Undo};

use crate::{Error, Result};

/// A mounted file system on a loop device. `undo` takes it away.
#[derive(Debug)]
pub(crate) struct LoopFileSystem {
    /// Where it is mounted.
    pub(crate) point: PathBuf,
}

impl LoopFileSystem {
    /// Makes one of `bytes` bytes whose file lies in `folder`, under a name that holds `kind`, the kind of the file system: `ext4`,
    /// `xfs`, `btrfs`, or another that has a `mkfs` program.
    pub(crate) fn make(folder: &Path, kind: &str, bytes: u64, undo: &mut Undo) -> Result<Self> {
        if !kind.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Err(Error::with_hint(
                format!("'{kind}' is no kind of file system"),
                "write one such as ext4 or xfs",
            ));
        }
        let file = folder.join(format!("drover-bench-{kind}-{}.img", std::process::id()));
        let point = file.with_extension("mount");
        let image = File::create_new(&file).map_err(Error::file(&file))?;
        undo.add(&Step::RemoveFile(file.clone()))?;
        allocate(&image, &file, bytes)?;
        make_file_system(kind, &file)?;
        fs::create_dir(&point).map_err(Error::file(&point))?;
        undo.add(&Step::RemoveDirectory(point.clone()))?;
        undo.add(&Step::Detach(file.clone()))?;
        let device = attach(&file)?;
        undo.add(&Step::Unmount(point.clone()))?;
        said_by(Command::new("mount").args(["-t", kind]).arg(&device).arg(&point))?;
        Ok(Self { point })
    }
}

/// A whole file: what a loop device wrote into a sparse one would be allocated while it is measured.
fn allocate(file: &File, path: &Path, bytes: u64) -> Result<()> {
    let free = rustix::fs::fstatvfs(file).map_err(std::io::Error::from).map_err(Error::file(path))?;
    let free = free.f_bavail * free.f_frsize;
    if free < bytes {
        let what = format!(
            "{}: {} are needed for the loop device, and {} are free",
            path.display(),
            drover_units::show::bytes(bytes),
            drover_units::show::bytes(free)
        );
        return Err(Error::with_hint(what, "give --loop a smaller size, or --data another directory"));
    }
    rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, bytes)
        .map_err(std::io::Error::from)
        .map_err(Error::file(path))
}

fn make_file_system(kind: &str, file: &Path) -> Result<()> {
    let program = format!("mkfs.{kind}");
    // mkfs.ext4 -F: the file is no block device, which it knows; lazy work would go on while it is measured.
    let mut command = Command::new(&program);
    if kind.starts_with("ext") {
        command.args(["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"]);
    }
    said_by(command.arg(file)).map(drop)
}

/// Attaches a file to a free loop device, past the page cache, and returns the device.
fn attach(file: &Path) -> Result<PathBuf> {
    // --find takes the first free device in one step with attaching it.
    let said = said_by(Command::new("losetup").args(["--find", "--show", "--direct-io=on"]).arg(file))?;
    Ok(PathBuf::from(said.trim()))
}

/// Runs a program to its end, and returns what it printed.
fn said_by(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| {
        let hint = format!("install the package that {name} comes with, and run as root");
        Error::with_hint(format!("{name}: {error}"), hint)
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
    Err(Error::with_hint(format!("{name}: {said}"), "loop devices and mounts need root"))
}
