//! Switches the I/O scheduler of a device, and back.
//!
//! The kernel takes a scheduler's name in `queue/scheduler` and loads the module if it has to
//! (Documentation/block/switching-sched.rst). Changing it sets `nr_requests` anew, which is why that is put back as well.

use std::fs;
use std::path::{Path, PathBuf};

use crate::device::Device;
use crate::undo::{Step, Undo};
use crate::{Error, Result};

/// A device whose scheduler is switched while something is measured.
#[derive(Debug)]
pub(crate) struct Switch {
    device: String,
    file: PathBuf,
}

impl Switch {
    /// Takes note of how the device is set, to have it put back by `undo`, and checks that it can be set to each of `wanted`.
    pub(crate) fn of(device: &Device, wanted: &[String], undo: &mut Undo) -> Result<Self> {
        let now = check_offer(device, wanted)?;
        let name = &device.name;
        let file = device.scheduler_file();
        // Undone last to first: the scheduler first, then what it has set.
        let requests = file.with_file_name("nr_requests");
        if let Ok(value) = fs::read_to_string(&requests) {
            undo.add(&Step::Write { path: requests, value: value.trim().to_owned() })?;
        }
        undo.add(&Step::Write { path: file.clone(), value: now })?;
        Ok(Self { device: name.clone(), file })
    }

    /// Sets a scheduler, and reads it back.
    pub(crate) fn set(&self, scheduler: &str) -> Result<()> {
        fs::write(&self.file, scheduler).map_err(Error::file(&self.file))?;
        let now = Device::named(&self.device)?.scheduler;
        if now.as_deref() == Some(scheduler) {
            return Ok(());
        }
        let now = now.unwrap_or_else(|| "none".to_owned());
        Err(Error::found(format!("{}: its scheduler is {now}, though {scheduler} was set", self.device)))
    }
}

/// The scheduler in use, if the device can be set to each of `wanted`.
fn check_offer(device: &Device, wanted: &[String]) -> Result<String> {
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

/// The one device whose scheduler decides over the files below a path: the lowest, as those above hand requests on.
pub(crate) fn device_below(path: &Path) -> Result<Device> {
    let storage = crate::device::Storage::of(path)?;
    let can_be_set = |device: &&Device| device.schedulers.len() > 1;
    // A loop device has a queue of its own, and is the one that was asked for if the file system lies on it.
    storage.devices.iter().find(can_be_set).cloned().ok_or_else(|| {
        let names = storage.devices.iter().map(|device| device.name.as_str()).collect::<Vec<_>>().join(", ");
        let below = if names.is_empty() { "no block device".to_owned() } else { names };
        Error::with_hint(
            format!("{}: {below} below it has a scheduler that could be changed", path.display()),
            "--loop SIZE makes a loop device, whose scheduler can be changed",
        )
    })
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
}
