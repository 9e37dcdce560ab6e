//! On which block device a path lies, and what the kernel does with its requests.
//!
//! Sources: Documentation/block/switching-sched.rst, Documentation/ABI/stable/sysfs-block and proc(5) on mountinfo.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::files::Here;
use crate::{Error, Files, Result};

const BLOCK: &str = "/sys/class/block";

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
    /// Where a path of this host lies, which must be there.
    ///
    /// # Errors
    /// If the path is not there, or the kernel's list of mounts cannot be read.
    pub fn of(path: &Path) -> Result<Self> {
        Devices::here().storage(path).map_err(Error::file(path))
    }

    /// The device right below the file system.
    pub fn device(&self) -> Option<&Device> {
        self.devices.first()
    }
}

impl Device {
    /// What the kernel says of a device of this host.
    ///
    /// # Errors
    /// If there is none of this name.
    pub fn named(name: &str) -> Result<Self> {
        Devices::here().device(name).map_err(Error::file(&Path::new(BLOCK).join(name)))
    }

    /// The file that tells its scheduler and takes another. A partition's is its disk's.
    pub fn scheduler_file(&self) -> PathBuf {
        Devices::here().queue(&self.name).join("scheduler")
    }
}

/// The devices of a host, as its files tell.
#[derive(Clone, Copy)]
pub struct Devices<'a> {
    files: &'a dyn Files,
    mounts: &'a Path,
}

impl Devices<'static> {
    /// Those of this host, with the mounts that this process sees.
    pub fn here() -> Self {
        Self { files: &Here, mounts: Path::new("/proc/self/mountinfo") }
    }
}

impl<'a> Devices<'a> {
    /// Those that files tell of, with a list of mounts such as /proc/self/mountinfo.
    pub fn of(files: &'a dyn Files, mounts: &'a Path) -> Self {
        Self { files, mounts }
    }

    /// Where a path lies.
    ///
    /// # Errors
    /// If it is not there, or the list of mounts cannot be read.
    pub fn storage(&self, path: &Path) -> io::Result<Storage> {
        let path = self.files.real(path)?;
        let list = self.files.text(self.mounts)?;
        let mount = list
            .lines()
            .filter_map(Mount::parse)
            .filter(|mount| path.starts_with(&mount.point))
            // Of several on the same point the last one is on top.
            .max_by_key(|mount| mount.point.components().count())
            .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no mount holds it"))?;
        let devices = self.of_mount(&mount).map(|device| self.with_lower(&device)).unwrap_or_default();
        Ok(Storage { path, file_system: mount.kind, mount_options: mount.options, devices })
    }

    /// What the kernel says of a device.
    ///
    /// # Errors
    /// If there is none of this name.
    pub fn device(&self, name: &str) -> io::Result<Device> {
        let folder = Path::new(BLOCK).join(name);
        let sectors = self.files.text(&folder.join("size"))?;
        // Sysfs counts in sectors of 512 bytes, whatever the device's own are.
        let bytes = sectors.parse::<u64>().unwrap_or(0) * 512;
        let queue = self.queue(name);
        let offer = self.files.line(&queue.join("scheduler")).unwrap_or_default();
        let (scheduler, schedulers) = schedulers(&offer);
        Ok(Device {
            name: name.to_owned(),
            model: self.files.line(&queue.with_file_name("device").join("model")),
            bytes,
            is_rotational: self.files.line(&queue.join("rotational")).is_some_and(|flag| flag == "1"),
            scheduler,
            schedulers,
            backing_file: self.files.line(&folder.join("loop/backing_file")).map(PathBuf::from),
        })
    }

    /// The directory of a device's queue; a partition's is its disk's.
    pub fn queue(&self, name: &str) -> PathBuf {
        let whole = self.whole_disk(name);
        Path::new(BLOCK).join(whole.as_deref().unwrap_or(name)).join("queue")
    }

    /// How many requests a device's queue holds, as its file tells.
    pub fn nr_requests(&self, name: &str) -> Option<String> {
        self.files.line(&self.queue(name).join("nr_requests"))
    }

    /// The devices whose schedulers decide over the requests to what lies there: from above, the first ones with a choice of them, as
    /// those above hand requests on as they are. Several below a RAID set; none below a network's file system.
    pub fn scheduled(&self, storage: &Storage) -> Vec<Device> {
        storage.device().map(|device| self.scheduled_below(&device.name)).unwrap_or_default()
    }

    /// The same of a device: itself, or those below it.
    pub fn scheduled_below(&self, name: &str) -> Vec<Device> {
        match self.device(name) {
            // A partition's scheduler is its disk's, which stands below it.
            Ok(device) if device.schedulers.len() > 1 && self.whole_disk(name).is_none() => vec![device],
            _ => {
                let mut found: Vec<Device> = Vec::new();
                for device in self.lower(name).iter().flat_map(|name| self.scheduled_below(name)) {
                    if found.iter().all(|known| known.name != device.name) {
                        found.push(device);
                    }
                }
                found
            }
        }
    }

    /// The devices that the kernel has made of a device and its partitions: dm, md, bcache. Those that are made of these as well.
    pub fn upper(&self, name: &str) -> Vec<String> {
        let mut found = Vec::new();
        let folder = Path::new(BLOCK).join(name);
        let partitions = self.files.list(&folder).unwrap_or_default().into_iter();
        let partitions = partitions.filter(|entry| self.whole_disk(entry).as_deref() == Some(name));
        for device in partitions.chain([name.to_owned()]) {
            for upper in self.files.list(&Path::new(BLOCK).join(device).join("holders")).unwrap_or_default() {
                if !found.contains(&upper) {
                    found.extend(self.upper(&upper));
                    found.insert(0, upper);
                }
            }
        }
        found
    }

    /// The devices that the kernel swaps to and that lie on a device.
    pub fn swaps_on(&self, name: &str) -> Vec<String> {
        let list = self.files.text(Path::new("/proc/swaps")).unwrap_or_default();
        let devices = list.lines().filter_map(|line| line.strip_prefix("/dev/")?.split_whitespace().next());
        devices.filter(|device| self.is_above(device, name)).map(str::to_owned).collect()
    }

    /// Where file systems are mounted that lie on a device, as a whole or in part.
    pub fn mounts_on(&self, name: &str) -> Vec<PathBuf> {
        let list = self.files.text(self.mounts).unwrap_or_default();
        let lies_on_it =
            |mount: &Mount| self.of_mount(mount).is_some_and(|device| self.is_above(&device, name));
        let mut points: Vec<_> =
            list.lines().filter_map(Mount::parse).filter(lies_on_it).map(|mount| mount.point).collect();
        points.sort();
        points.dedup();
        points
    }

    /// The name of the block device that a mount is of.
    fn of_mount(&self, mount: &Mount) -> Option<String> {
        let by_number = self.files.real(&Path::new("/sys/dev/block").join(&mount.number)).ok();
        let source = Some(Path::new(&mount.source)).filter(|source| source.starts_with("/dev"));
        let place = by_number.or_else(|| self.files.real(source?).ok())?;
        Some(place.file_name()?.to_str()?.to_owned())
    }

    /// The disk of which a device is a partition.
    pub fn whole_disk(&self, name: &str) -> Option<String> {
        let folder = Path::new(BLOCK).join(name);
        self.files.text(&folder.join("partition")).ok()?;
        let real = self.files.real(&folder).ok()?;
        Some(real.parent()?.file_name()?.to_str()?.to_owned())
    }

    /// A device and all below it, each once.
    fn with_lower(&self, name: &str) -> Vec<Device> {
        let mut names = vec![name.to_owned()];
        let mut next = 0;
        while let Some(name) = names.get(next) {
            let lower = self.lower(name);
            next += 1;
            for name in lower {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        names.iter().filter_map(|name| self.device(name).ok()).collect()
    }

    fn is_above(&self, device: &str, name: &str) -> bool {
        device == name || self.lower(device).iter().any(|lower| self.is_above(lower, name))
    }

    fn lower(&self, name: &str) -> Vec<String> {
        let folder = Path::new(BLOCK).join(name);
        let mut lower = self.files.list(&folder.join("slaves")).unwrap_or_default();
        lower.extend(self.whole_disk(name));
        // The kernel tells where a loop device's file was, which may be gone or lie in another mount namespace.
        let file = self.files.line(&folder.join("loop/backing_file")).map(PathBuf::from);
        let below = file.and_then(|file| self.storage(&file).ok());
        lower.extend(below.and_then(|storage| storage.devices.into_iter().next()).map(|device| device.name));
        lower
    }
}

/// A line of a list of mounts.
#[derive(Debug, PartialEq)]
struct Mount {
    /// Major and minor number of the device; of file systems that have several, such as btrfs, a number of their own.
    number: String,
    point: PathBuf,
    kind: String,
    source: String,
    options: String,
}

impl Mount {
    /// `36 35 98:0 /root /point rw,noatime optional… - ext3 /dev/root rw,errors=continue`
    fn parse(line: &str) -> Option<Self> {
        let (before, after) = line.split_once(" - ")?;
        let mut before = before.split(' ').skip(2);
        let number = before.next()?.to_owned();
        let (point, options) = (before.nth(1)?, before.next()?);
        let mut after = after.split(' ');
        let (kind, source, own) = (after.next()?, after.next()?, after.next()?);
        let point = PathBuf::from(unescaped(point));
        let options = if own == options { own.to_owned() } else { format!("{options} {own}") };
        Some(Self { number, point, kind: kind.to_owned(), source: unescaped(source), options })
    }
}

/// Space, tab, newline and backslash stand there as `\040` and the like.
fn unescaped(field: &str) -> String {
    ["\\040", "\\011", "\\012", "\\134"]
        .iter()
        .zip([" ", "\t", "\n", "\\"])
        .fold(field.to_owned(), |text, (code, what)| text.replace(code, what))
}

/// `none [mq-deadline] kyber`: the one in brackets is in use. Where there is but `none`, another cannot be had.
fn schedulers(line: &str) -> (Option<String>, Vec<String>) {
    let plain = |name: &str| name.trim_matches(['[', ']']).to_owned();
    let in_use = line.split_whitespace().find(|name| name.starts_with('[')).map(plain);
    // A device without a request queue says just `none`, without brackets.
    let in_use = in_use.or_else(|| (line.trim() == "none").then(|| "none".to_owned()));
    (in_use, line.split_whitespace().map(plain).collect())
}

#[cfg(test)]
pub(crate) mod tests;
