//! On which block device a path lies, and what the kernel does with its requests.
//!
//! Sources: Documentation/block/switching-sched.rst, Documentation/ABI/stable/sysfs-block and proc(5) on mountinfo.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::{major, minor, stat};
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// Where a path lies.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Storage {
    /// The path, with symbolic links followed.
    pub path: PathBuf,
    /// The kind of its file system: `ext4`.
    pub file_system: String,
    /// The options of its mount and of its file system, as the kernel has them.
    pub mount_options: String,
    /// The device below the file system and, through partitions, loop devices, dm and md, all below it. Empty where there is
    /// none, as with tmpfs.
    pub devices: Vec<Device>,
}

/// A block device.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// Its name: `sda`.
    pub name: String,
    /// Its model, where it tells one.
    pub model: Option<String>,
    /// Its size in bytes.
    pub bytes: u64,
    /// Whether its data lies on turning disks, as far as the kernel knows.
    pub is_rotational: bool,
    /// The scheduler in use; none where the kernel hands requests on without one.
    pub scheduler: Option<String>,
    /// The schedulers that could be used.
    pub schedulers: Vec<String>,
    /// For a loop device: the file that holds its data.
    pub backing_file: Option<PathBuf>,
}

impl Storage {
    /// Where a path lies, which must be there.
    ///
    /// # Errors
    /// If the path is not there, or the kernel's list of mounts cannot be read.
    pub fn of(path: &Path) -> Result<Self> {
        let path = path.canonicalize().map_err(Error::file(path))?;
        let list = Path::new("/proc/self/mountinfo");
        let mounts = fs::read_to_string(list).map_err(Error::file(list))?;
        let mount = mounts
            .lines()
            .filter_map(Mount::parse)
            .filter(|mount| path.starts_with(&mount.point))
            // Of several on the same point the last one is on top.
            .max_by_key(|mount| mount.point.components().count())
            .ok_or_else(|| Error::found(format!("{}: no mount holds it", path.display())))?;
        let devices = block_device(&mount.source).map(|device| with_lower(&device)).unwrap_or_default();
        Ok(Self { path, file_system: mount.kind, mount_options: mount.options, devices })
    }

    /// The devices whose schedulers decide over the requests to the path: from above, the first ones with a choice of them, as those
    /// above hand requests on as they are. Several below a RAID set; none below a network's file system.
    pub fn scheduled(&self) -> Vec<Device> {
        self.devices.first().map(|device| scheduled(&device.name)).unwrap_or_default()
    }

    /// The device right below the file system.
    pub fn device(&self) -> Option<&Device> {
        self.devices.first()
    }
}

impl Device {
    /// What the kernel says of a device.
    ///
    /// # Errors
    /// If there is none of this name.
    pub fn named(name: &str) -> Result<Self> {
        let folder = Path::new("/sys/class/block").join(name);
        let size = folder.join("size");
        let sectors = fs::read_to_string(&size).map_err(Error::file(&size))?;
        // Sysfs counts in sectors of 512 bytes, whatever the device's own are.
        let bytes = sectors.trim().parse::<u64>().unwrap_or(0) * 512;
        // A partition has no queue of its own.
        let whole = if folder.join("partition").exists() { folder.join("..") } else { folder.clone() };
        let (scheduler, schedulers) = schedulers(&line(&whole.join("queue/scheduler")).unwrap_or_default());
        Ok(Self {
            name: name.to_owned(),
            model: line(&whole.join("device/model")),
            bytes,
            is_rotational: line(&whole.join("queue/rotational")).is_some_and(|flag| flag == "1"),
            scheduler,
            schedulers,
            backing_file: line(&folder.join("loop/backing_file")).map(PathBuf::from),
        })
    }

    /// The file that tells its scheduler and takes another. A partition's is its disk's.
    pub fn scheduler_file(&self) -> PathBuf {
        let folder = Path::new("/sys/class/block").join(&self.name);
        let whole = if folder.join("partition").exists() { folder.join("..") } else { folder };
        whole.join("queue/scheduler")
    }
}

/// A line of /proc/self/mountinfo.
#[derive(Debug, PartialEq)]
struct Mount {
    point: PathBuf,
    kind: String,
    source: String,
    options: String,
}

impl Mount {
    /// `36 35 98:0 /root /point rw,noatime optional… - ext3 /dev/root rw,errors=continue`
    fn parse(line: &str) -> Option<Self> {
        let (before, after) = line.split_once(" - ")?;
        let mut before = before.split(' ').skip(4);
        let (point, options) = (before.next()?, before.next()?);
        let mut after = after.split(' ');
        let (kind, source, own) = (after.next()?, after.next()?, after.next()?);
        let point = PathBuf::from(unescaped(point));
        let options = if own == options { own.to_owned() } else { format!("{options} {own}") };
        Some(Self { point, kind: kind.to_owned(), source: unescaped(source), options })
    }
}

/// Space, tab, newline and backslash stand there as `\040` and the like.
fn unescaped(field: &str) -> String {
    ["\\040", "\\011", "\\012", "\\134"]
        .iter()
        .zip([" ", "\t", "\n", "\\"])
        .fold(field.to_owned(), |text, (code, what)| text.replace(code, what))
}

/// The name of the block device that a mount's source is.
fn block_device(source: &str) -> Option<String> {
    let device = stat(source).ok()?.st_rdev;
    let link = format!("/sys/dev/block/{}:{}", major(device), minor(device));
    Some(Path::new(&link).canonicalize().ok()?.file_name()?.to_str()?.to_owned())
}

/// A device and all below it, each once.
fn with_lower(name: &str) -> Vec<Device> {
    let mut names = vec![name.to_owned()];
    let mut next = 0;
    while let Some(name) = names.get(next) {
        let lower = lower(name);
        next += 1;
        for name in lower {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names.iter().filter_map(|name| Device::named(name).ok()).collect()
}

fn scheduled(name: &str) -> Vec<Device> {
    match Device::named(name) {
        // A partition's scheduler is its disk's, which stands below it.
        Ok(device) if device.schedulers.len() > 1 && !is_partition(name) => vec![device],
        _ => {
            let mut found: Vec<Device> = Vec::new();
            for device in lower(name).iter().flat_map(|name| scheduled(name)) {
                if found.iter().all(|known| known.name != device.name) {
                    found.push(device);
                }
            }
            found
        }
    }
}

/// Where file systems are mounted that lie on a device, as a whole or in part.
pub(crate) fn mounts_on(name: &str) -> Vec<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let lies_on_it =
        |mount: &Mount| block_device(&mount.source).is_some_and(|device| is_above(&device, name));
    let mut points: Vec<_> =
        mounts.lines().filter_map(Mount::parse).filter(lies_on_it).map(|mount| mount.point).collect();
    points.sort();
    points.dedup();
    points
}

fn is_above(device: &str, name: &str) -> bool {
    device == name || lower(device).iter().any(|lower| is_above(lower, name))
}

fn is_partition(name: &str) -> bool {
    Path::new("/sys/class/block").join(name).join("partition").exists()
}

fn lower(name: &str) -> Vec<String> {
    let folder = Path::new("/sys/class/block").join(name);
    let slaves = fs::read_dir(folder.join("slaves")).into_iter().flatten().flatten();
    let mut lower: Vec<_> =
        slaves.filter_map(|slave| slave.file_name().to_str().map(str::to_owned)).collect();
    if is_partition(name) {
        let whole = folder.canonicalize().ok().and_then(|path| path.parent().map(Path::to_owned));
        lower.extend(
            whole.as_deref().and_then(Path::file_name).and_then(|name| name.to_str().map(str::to_owned)),
        );
    }
    // The kernel tells where a loop device's file was, which may be gone or lie in another mount namespace.
    let file = line(&folder.join("loop/backing_file")).map(PathBuf::from).filter(|file| file.exists());
    let below =
        file.and_then(|file| Storage::of(&file).ok()).and_then(|storage| storage.devices.into_iter().next());
    lower.extend(below.map(|device| device.name));
    lower
}

/// `none [mq-deadline] kyber`: the one in brackets is in use. Where there is but `none`, another cannot be had.
fn schedulers(line: &str) -> (Option<String>, Vec<String>) {
    let plain = |name: &str| name.trim_matches(['[', ']']).to_owned();
    let in_use = line.split_whitespace().find(|name| name.starts_with('[')).map(plain);
    // A device without a request queue says just `none`, without brackets.
    let in_use = in_use.or_else(|| (line.trim() == "none").then(|| "none".to_owned()));
    (in_use, line.split_whitespace().map(plain).collect())
}

fn line(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts() {
        let line = "36 35 98:0 /a /mnt\\0402 rw,noatime master:1 - ext4 /dev/sda1 rw,errors=continue";
        let mount = Mount::parse(line).unwrap();
        assert_eq!(mount.point, Path::new("/mnt 2"));
        assert_eq!((mount.kind.as_str(), mount.source.as_str()), ("ext4", "/dev/sda1"));
        assert_eq!(mount.options, "rw,noatime rw,errors=continue");
        assert_eq!(Mount::parse("no mount"), None);
    }

    #[test]
    fn schedulers_in_use_and_offered() {
        let (in_use, offered) = schedulers("none [mq-deadline] kyber bfq");
        assert_eq!(in_use.as_deref(), Some("mq-deadline"));
        assert_eq!(offered, ["none", "mq-deadline", "kyber", "bfq"]);
        assert_eq!(schedulers("none").0.as_deref(), Some("none"));
        assert_eq!(schedulers(""), (None, Vec::new()));
    }

    #[test]
    fn this_directory_lies_somewhere() {
        let storage = Storage::of(Path::new(".")).unwrap();
        assert!(!storage.file_system.is_empty() && storage.path.is_absolute());
        assert!(Storage::of(Path::new("/no/such/path")).is_err());
    }
}
