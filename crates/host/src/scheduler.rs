//! Switches the I/O scheduler of devices, and back.
//!
//! The kernel takes a scheduler's name in `queue/scheduler` and loads the module if it has to
//! (Documentation/block/switching-sched.rst). Changing it sets `nr_requests` anew, which is why that is put back as well.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::device::{Device, Devices, Storage};
use crate::undo::{Step, Undo};
use crate::{Error, Files, Result};

/// A device whose scheduler would be switched.
#[derive(Debug, Clone, Serialize)]
pub struct Intent {
    /// The device: `sda`.
    pub device: String,
    /// Its scheduler now.
    pub scheduler: String,
    /// What it would be set to, in turns.
    pub to: Vec<String>,
    /// Where file systems that lie on it are mounted.
    pub mounts: Vec<PathBuf>,
}

/// What would be switched for files below a path.
///
/// # Errors
/// If no device below it has a scheduler that could be changed, or one does not offer all of `wanted`.
pub fn intents(path: &Path, wanted: &[String]) -> Result<Vec<Intent>> {
    let intent = |device: &Device| {
        Ok(Intent {
            device: device.name.clone(),
            scheduler: check_offer(device, wanted)?,
            to: wanted.to_vec(),
            mounts: Devices::here().mounts_on(&device.name),
        })
    };
    devices_below(path)?.iter().map(intent).collect()
}

/// The rule that has udev(7) set a scheduler whenever a device of this name appears.
pub fn udev_rule(device: &str, scheduler: &str) -> String {
    format!(r#"ACTION=="add|change", KERNEL=="{device}", ATTR{{queue/scheduler}}="{scheduler}""#)
}

/// The schedulers that the kernel has as modules, loaded or not.
pub fn modules(files: &dyn Files) -> Vec<String> {
    let release = files.text(Path::new("/proc/sys/kernel/osrelease")).unwrap_or_default();
    let folder = Path::new("/lib/modules").join(release).join("kernel/block");
    // bfq.ko.xz, kyber-iosched.ko; others there are no schedulers.
    let name =
        |file: &String| file.split_once(".ko").map(|(name, _)| name.trim_end_matches("-iosched").to_owned());
    let known = |name: &String| ["bfq", "kyber", "mq-deadline"].contains(&name.as_str());
    files.list(&folder).unwrap_or_default().iter().filter_map(name).filter(known).collect()
}

/// The devices whose schedulers are switched while something is measured.
#[derive(Debug)]
pub struct Switch {
    devices: Vec<Device>,
}

impl Switch {
    /// Takes note of how the devices below a path are set, to have it put back by `undo`, and checks that they can be set to each of
    /// `wanted`.
    ///
    /// # Errors
    /// As for [`intents`], and if `undo` cannot take note of it.
    pub fn below(path: &Path, wanted: &[String], undo: &mut Undo) -> Result<Self> {
        let devices = devices_below(path)?;
        for device in &devices {
            let value = check_offer(device, wanted)?;
            let file = device.scheduler_file();
            // Undone last to first: the scheduler first, then what it has set.
            let requests = file.with_file_name("nr_requests");
            if let Ok(value) = fs::read_to_string(&requests) {
                undo.add(&Step::Write { path: requests, value: value.trim().to_owned() })?;
            }
            undo.add(&Step::Write { path: file, value })?;
        }
        Ok(Self { devices })
    }

    /// Sets a scheduler, and reads it back.
    ///
    /// # Errors
    /// If it cannot be set, or another one is in use afterwards.
    pub fn set(&self, scheduler: &str) -> Result<()> {
        self.devices.iter().try_for_each(|device| set(device, scheduler))
    }

    /// The names of the devices.
    pub fn devices(&self) -> Vec<String> {
        self.devices.iter().map(|device| device.name.clone()).collect()
    }
}

/// Sets a scheduler, and reads it back.
pub(crate) fn set(device: &Device, scheduler: &str) -> Result<()> {
    let file = device.scheduler_file();
    fs::write(&file, scheduler).map_err(Error::file(&file))?;
    let now = Device::named(&device.name)?.scheduler;
    if now.as_deref() == Some(scheduler) {
        return Ok(());
    }
    let now = now.unwrap_or_else(|| "none".to_owned());
    Err(Error::found(format!("{}: its scheduler is {now}, though {scheduler} was set", device.name)))
}

/// The scheduler in use, if the device can be set to each of `wanted`.
pub(crate) fn check_offer(device: &Device, wanted: &[String]) -> Result<String> {
    let name = &device.name;
    let Some(now) = &device.scheduler else {
        return Err(Error::found(format!("{name}: the kernel tells no scheduler of it")));
    };
    if device.schedulers.len() < 2 {
        let hint =
            "its requests go to another layer or another machine as they are; measure the device below it";
        return Err(Error::with_hint(format!("{name}: its scheduler cannot be changed"), hint));
    }
    if let Some(missing) = wanted.iter().find(|wanted| !device.schedulers.contains(wanted)) {
        let offered = device.schedulers.join(", ");
        return Err(Error::with_hint(
            format!("{name}: the kernel does not offer the scheduler '{missing}'"),
            format!("it offers {offered}; a scheduler may be in a module that is not loaded"),
        ));
    }
    Ok(now.clone())
}

fn devices_below(path: &Path) -> Result<Vec<Device>> {
    let storage = Storage::of(path)?;
    let devices = Devices::here().scheduled(&storage);
    if !devices.is_empty() {
        return Ok(devices);
    }
    let names = storage.devices.iter().map(|device| device.name.as_str()).collect::<Vec<_>>().join(", ");
    let below = if names.is_empty() { "no block device".to_owned() } else { names };
    Err(Error::with_hint(
        format!("{}: {below} below it has a scheduler that could be changed", path.display()),
        "--loop SIZE makes a loop device, whose scheduler can be changed",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_offered_is_refused() {
        let mut device = Device { name: "sdz".into(), scheduler: Some("none".into()), ..Device::default() };
        let mut check = |schedulers: &[&str]| {
            device.schedulers = schedulers.iter().map(|name| (*name).to_owned()).collect();
            check_offer(&device, &["bfq".to_owned()]).unwrap_err().to_string()
        };
        assert!(check(&["none"]).contains("cannot be changed"));
        assert!(check(&["none", "kyber"]).contains("does not offer the scheduler 'bfq'"));
    }

    #[test]
    fn schedulers_in_modules() {
        let dir = tempfile::tempdir().unwrap();
        let files = [
            ("proc/sys/kernel/osrelease", "6.1.0-18-amd64\n"),
            ("lib/modules/6.1.0-18-amd64/kernel/block/bfq.ko.xz", ""),
            ("lib/modules/6.1.0-18-amd64/kernel/block/kyber-iosched.ko", ""),
            ("lib/modules/6.1.0-18-amd64/kernel/block/t10-pi.ko", ""),
        ];
        for (path, text) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        assert_eq!(modules(&crate::Tree::at(dir.path()).unwrap()), ["bfq", "kyber"]);
    }

    #[test]
    fn a_rule_for_udev() {
        let rule = udev_rule("sda", "bfq");
        assert_eq!(rule, "ACTION==\"add|change\", KERNEL==\"sda\", ATTR{queue/scheduler}=\"bfq\"");
    }
}
