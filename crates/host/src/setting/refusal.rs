//! Devices whose scheduler is not to be set, and why.

use crate::device::{Device, Devices};
use crate::{Error, Files as _, Here, Result, scheduler};

use super::Setting;

/// Of a device that has no scheduler of its own, or whose requests another device orders.
pub(super) fn of_device(devices: &Devices<'_>, device: &Device, to: &str) -> Result<()> {
    let name = &device.name;
    if let Some(disk) = devices.whole_disk(name) {
        return Err(Error::with_hint(
            format!("{name} is a partition: the scheduler is its disk's"),
            format!("set that of {disk}; it orders the requests to all partitions of it"),
        ));
    }
    if device.schedulers.len() < 2 {
        let below: Vec<_> = devices.scheduled_below(name).into_iter().map(|lower| lower.name).collect();
        let hint = match below.is_empty() {
            true => "its requests go to another layer or another machine as they are".to_owned(),
            false => format!("set those of the devices below it, one by one: {}", below.join(", ")),
        };
        return Err(Error::with_hint(format!("{name}: its scheduler cannot be changed"), hint));
    }
    let orders = |upper: &&String| devices.device(upper).is_ok_and(|upper| upper.schedulers.len() > 1);
    if let Some(upper) = devices.upper(name).iter().find(orders) {
        return Err(Error::with_hint(
            format!(
                "{name} belongs to {upper}, which orders the requests itself and sends them past {name}'s scheduler"
            ),
            format!("set that of {upper}"),
        ));
    }
    let in_module = scheduler::modules(&Here).iter().any(|module| module == to);
    if in_module && !device.schedulers.iter().any(|offered| offered == to) {
        let module = if to == "kyber" { "kyber-iosched" } else { to };
        return Err(Error::with_hint(
            format!("{name}: the kernel does not offer the scheduler '{to}' now"),
            format!("it is in a module: modprobe {module}"),
        ));
    }
    Ok(())
}

/// Of a device on which nothing of this host lies.
pub(super) fn of_unused(setting: &Setting) -> Result<()> {
    if !setting.mounts.is_empty() || !setting.swaps.is_empty() {
        return Ok(());
    }
    let name = &setting.device;
    let file = Here.line(&std::path::Path::new("/sys/class/block").join(name).join("loop/backing_file"));
    let whose = match (setting.upper.is_empty(), file) {
        (_, Some(file)) => format!("whoever uses {file}"),
        (false, None) => format!("whoever uses {}", setting.upper.join(", ")),
        (true, None) => "a virtual machine, another container or nobody".to_owned(),
    };
    Err(Error::with_hint(
        format!(
            "{name}: no file system that is mounted here lies on it: it belongs to something else ({whose})"
        ),
        "if it is to be set all the same, say --any",
    ))
}
