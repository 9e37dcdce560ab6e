//! What is kept of a device's setting until it is put back.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::{FdFlags, fcntl_setfd};
use serde::{Deserialize, Serialize};

use super::Setting;
use crate::{Error, Files as _, Here, Result};

/// A boot does not leave anything there.
const FOLDER: &str = "/run/drover";

/// The files that hold it: whole, and while it is written.
pub(super) const FILES: [fn(&str) -> PathBuf; 2] = [file, draft];

fn file(device: &str) -> PathBuf {
    Path::new(FOLDER).join(format!("scheduler-{device}.json"))
}

fn draft(device: &str) -> PathBuf {
    file(device).with_extension("new")
}

/// The name of a device of which a person may have given a path: /dev/sda, /dev/disk/by-id/… .
pub(super) fn name_of(device: &str) -> Result<String> {
    let path = Path::new(device);
    let real = match path.is_absolute() {
        true => path.canonicalize().map_err(Error::file(path))?,
        false => path.to_owned(),
    };
    let is_name = |name: &&str| path.is_absolute() || *name == device;
    let name = real.file_name().and_then(|name| name.to_str()).filter(is_name);
    let wrong =
        || Error::with_hint(format!("'{device}' is no name of a device"), "name it as `lsblk` does: sda");
    name.map(str::to_owned).ok_or_else(wrong)
}

/// How a device was set before drover has set it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Saved {
    /// The boot in which that was.
    boot: String,
    /// The number that the kernel gives each disk that appears, so that another one of the same name is known; none before 5.15.
    sequence: Option<String>,
    pub(super) scheduler: String,
    pub(super) nr_requests: Option<String>,
}

impl Saved {
    /// As it is now.
    pub(super) fn now(setting: &Setting) -> Result<Self> {
        Ok(Self {
            boot: boot()?,
            sequence: sequence(&setting.device),
            scheduler: setting.from.clone(),
            nr_requests: setting.nr_requests.clone(),
        })
    }

    /// What is kept of a device; none if nothing is, or nothing that can be read.
    pub(super) fn read(device: &str) -> Option<Self> {
        serde_json::from_str(&fs::read_to_string(file(device)).ok()?).ok()
    }

    pub(super) fn write(&self, device: &str) -> Result<()> {
        let (file, draft) = (file(device), draft(device));
        let text = serde_json::to_string(self).map_err(|error| Error::found(error.to_string()))?;
        fs::write(&draft, text + "\n").map_err(Error::file(&draft))?;
        fs::rename(&draft, &file).map_err(Error::file(&file))
    }

    /// Whether it tells of this boot and this disk.
    pub(super) fn is_of_now(&self, device: &str) -> bool {
        self.check(device).is_ok()
    }

    /// # Errors
    /// If it tells of another boot, or of another disk that had the name.
    pub(super) fn check(&self, device: &str) -> Result<()> {
        let what = if self.boot != boot()? {
            "an earlier boot: the kernel has set it anew since"
        } else if self.sequence != sequence(device) {
            "another disk that had this name"
        } else {
            return Ok(());
        };
        Err(Error::with_hint(
            format!("{device}: what drover has kept is of {what}"),
            format!("there is nothing to put back; remove {}", file(device).display()),
        ))
    }
}

/// Nothing is to be put back any more.
pub(super) fn forget(device: &str) -> Result<()> {
    let file = file(device);
    fs::remove_file(&file).map_err(Error::file(&file))
}

fn boot() -> Result<String> {
    let path = Path::new("/proc/sys/kernel/random/boot_id");
    Here.text(path).map_err(Error::file(path))
}

fn sequence(device: &str) -> Option<String> {
    Here.line(&Path::new("/sys/class/block").join(device).join("diskseq"))
}

/// Keeps other drovers from the same device. The process that puts back has it too, so that it lasts until that has ended.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Waits for a while where another one has it.
    pub(super) fn of(device: &str) -> Result<Self> {
        const PATIENCE: Duration = Duration::from_secs(10);
        fs::create_dir_all(FOLDER).map_err(Error::file(Path::new(FOLDER)))?;
        let path = Path::new(FOLDER).join(format!("scheduler-{device}.lock"));
        let file = File::create(&path).map_err(Error::file(&path))?;
        let begun = Instant::now();
        while let Err(error) = flock(&file, FlockOperation::NonBlockingLockExclusive) {
            if begun.elapsed() > PATIENCE || error.kind() != io::ErrorKind::WouldBlock {
                return Err(Error::found(format!(
                    "{device}: another drover is about to set its scheduler ({error})"
                )));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        // A process that is started from now on inherits it.
        fcntl_setfd(&file, FdFlags::empty()).map_err(io::Error::from).map_err(Error::file(&path))?;
        Ok(Self { _file: file })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_paths_of_devices() {
        assert_eq!(name_of("sda").unwrap(), "sda");
        assert_eq!(name_of("/dev/null").unwrap(), "null");
        for wrong in ["", "../sda", "a/b", "/", "/dev/no-such-device"] {
            assert!(name_of(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_was_kept_counts_in_its_boot_only() {
        let setting = Saved {
            boot: boot().unwrap(),
            sequence: None,
            scheduler: "none".into(),
            nr_requests: Some("128".into()),
        };
        assert!(setting.is_of_now("no-such-device"));
        let earlier = Saved { boot: "another".into(), ..setting.clone() };
        assert!(earlier.check("sda").unwrap_err().to_string().contains("an earlier boot"));
        let other = Saved { sequence: Some("7".into()), ..setting };
        assert!(other.check("no-such-device").unwrap_err().to_string().contains("another disk"));
    }
}
