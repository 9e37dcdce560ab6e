//! Sets a device's scheduler to stay until the next boot, and puts it back.
//!
//! What was before is kept in a file below /run, which does not outlast a boot, as the setting does not. Until the setting has proven
//! to stay, the second process of [`Undo`] puts all back if this one ends, however it ends. From then on [`revert`] does.

mod refusal;
mod state;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::Serialize;

use self::state::{Lock, Saved};
use crate::device::{Device, Devices};
use crate::scheduler;
use crate::undo::{Step, Undo, put_value};
use crate::{Error, Result};

/// For how long a scheduler has to stay as it was set: what others do on the kernel's event of the change, they do within.
const PROOF: Duration = Duration::from_millis(500);

/// A device whose scheduler would be set, or was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// The device: `sda`.
    pub device: String,
    /// Its scheduler before.
    pub from: String,
    /// The one that it is set to.
    pub to: String,
    /// The schedulers that it offers.
    pub schedulers: Vec<String>,
    /// How many requests its queue holds, before. Another scheduler sets that anew.
    pub nr_requests: Option<String>,
    /// Where file systems are mounted that lie on it, in whole or in part.
    pub mounts: Vec<PathBuf>,
    /// Devices on it that the kernel swaps to.
    pub swaps: Vec<String>,
    /// The devices that are made of it, such as those of RAID sets and volumes.
    pub upper: Vec<String>,
}

impl Setting {
    /// What setting it would mean. `device` is a name or a path below /dev; `even_unused` says that it may be one on which nothing of
    /// this host lies.
    ///
    /// # Errors
    /// If it is not there, cannot be set so, or belongs to something else; it says to what.
    pub fn of(device: &str, to: &str, even_unused: bool) -> Result<Self> {
        let name = state::name_of(device)?;
        Self::among(&Devices::here(), &name, to, even_unused)
    }

    fn among(devices: &Devices<'_>, name: &str, to: &str, even_unused: bool) -> Result<Self> {
        let device = devices.device(name).map_err(|_| {
            Error::with_hint(format!("{name}: no such block device"), "`lsblk` names those that there are")
        })?;
        refusal::of_device(devices, &device, to)?;
        let from = scheduler::check_offer(&device, &[to.to_owned()])?;
        let setting = Self {
            device: name.to_owned(),
            from,
            to: to.to_owned(),
            nr_requests: devices.nr_requests(name),
            mounts: devices.mounts_on(name),
            swaps: devices.swaps_on(name),
            upper: devices.upper(name),
            schedulers: device.schedulers,
        };
        if !even_unused {
            refusal::of_unused(&setting)?;
        }
        Ok(setting)
    }

    /// Sets it, and keeps what was before. Where drover has set it in this boot already, what was before that is kept.
    ///
    /// # Errors
    /// As for [`Setting::of`]; if this user may not; if another scheduler is in use soon afterwards. Then all is put back.
    pub fn apply(device: &str, to: &str, even_unused: bool) -> Result<Self> {
        let name = state::name_of(device)?;
        // What is refused leaves nothing behind; once more when nobody else can change it any more.
        Self::of(&name, to, even_unused)?;
        let _lock = Lock::of(&name)?;
        let setting = Self::of(&name, to, even_unused)?;
        if setting.from == setting.to {
            return Ok(setting);
        }
        let mut undo = Undo::start()?;
        let mut steps = Vec::new();
        let done = setting.set(|step| {
            undo.add(&step)?;
            steps.push(step);
            Ok(())
        });
        if let Err(error) = done {
            undo.finish()?;
            return Err(error);
        }
        undo.keep().inspect_err(|_| {
            // The second process is gone, so this one is who is left to put it back.
            let _as_far_as_possible = steps.iter().rev().map(Step::undo).collect::<Vec<_>>();
        })?;
        Ok(setting)
    }

    fn set(&self, mut undone_by: impl FnMut(Step) -> Result<()>) -> Result<()> {
        let device = Device::named(&self.device)?;
        if Saved::read(&self.device).is_none_or(|saved| !saved.is_of_now(&self.device)) {
            state::FILES
                .map(|file| undone_by(Step::RemoveFile(file(&self.device))))
                .into_iter()
                .collect::<Result<()>>()?;
            Saved::now(self)?.write(&self.device)?;
        }
        let file = device.scheduler_file();
        // Undone last to first: the scheduler first, then what it has set.
        if let Some(value) = &self.nr_requests {
            let path = file.with_file_name("nr_requests");
            undone_by(Step::Write { path, value: value.clone() })?;
        }
        undone_by(Step::Write { path: file, value: self.from.clone() })?;
        scheduler::set(&device, &self.to)?;
        stays(&self.device, &self.to)
    }
}

/// Whether a scheduler is still in use after a while.
fn stays(device: &str, scheduler: &str) -> Result<()> {
    let begun = Instant::now();
    while begun.elapsed() < PROOF {
        let now = Device::named(device)?.scheduler.unwrap_or_default();
        if now != scheduler {
            return Err(Error::with_hint(
                format!("{device}: its scheduler is {now} again, though {scheduler} was set"),
                "something else sets it: look at the rules of udev and at tuned",
            ));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// A device whose scheduler was put back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reverted {
    /// The device: `sda`.
    pub device: String,
    /// Its scheduler until now.
    pub from: String,
    /// The one that it had before drover set it, and has again.
    pub to: String,
}

/// Puts back what [`Setting::apply`] has changed in this boot.
///
/// # Errors
/// If drover has not set it, another disk has got its name since, or this user may not.
pub fn revert(device: &str) -> Result<Reverted> {
    let name = state::name_of(device)?;
    Device::named(&name)?;
    let _lock = Lock::of(&name)?;
    let saved = Saved::read(&name).ok_or_else(|| {
        Error::with_hint(
            format!("{name}: drover has not set its scheduler since the host was started"),
            "there is nothing to put back; `drover doctor scheduler set` sets one",
        )
    })?;
    saved.check(&name)?;
    let device = Device::named(&name)?;
    let from = device.scheduler.clone().unwrap_or_default();
    scheduler::set(&device, &saved.scheduler)?;
    if let Some(value) = &saved.nr_requests {
        put_value(&device.scheduler_file().with_file_name("nr_requests"), value).map_err(Error::found)?;
    }
    state::forget(&name)?;
    Ok(Reverted { device: name, from, to: saved.scheduler })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::tests::Host;

    fn refused(host: &Host, device: &str, to: &str) -> String {
        let error = host.with(|devices| Setting::among(devices, device, to, false).unwrap_err());
        format!("{error}; {}", error.hint().unwrap_or_default())
    }

    fn assert_refused(host: &Host, (device, to): (&str, &str), words: &[&str]) {
        let told = refused(host, device, to);
        words.iter().for_each(|word| assert!(told.contains(word), "no word of {word}: {told}"));
    }

    #[test]
    fn a_disk_with_a_volume() {
        let host = Host::new();
        host.device("", "sda", "8:0", "none [mq-deadline] bfq");
        host.write("sys/devices/sda/queue/nr_requests", "64\n");
        host.partition("sda", "sda1", "8:1");
        host.device("", "dm-0", "253:0", "");
        host.made_of("dm-0", "sda1");
        host.mount("253:0");
        let setting = host.with(|devices| Setting::among(devices, "sda", "bfq", false)).unwrap();
        assert_eq!((setting.from.as_str(), setting.to.as_str()), ("mq-deadline", "bfq"));
        assert_eq!((setting.nr_requests.as_deref(), setting.upper), (Some("64"), vec!["dm-0".to_owned()]));
        assert_refused(&host, ("sda1", "bfq"), &["is a partition", "set that of sda"]);
        assert_refused(&host, ("dm-0", "bfq"), &["cannot be changed", "below it, one by one: sda"]);
        assert_refused(&host, ("sda", "fastest"), &["'fastest'", "it offers none, mq-deadline, bfq"]);
        assert_refused(&host, ("sdz", "bfq"), &["no such block device"]);
    }

    #[test]
    fn what_belongs_to_something_else() {
        let host = Host::new();
        host.device("", "sda", "8:0", "[none] bfq");
        host.device("", "sdb", "8:16", "[none] bfq");
        host.device("", "dm-0", "253:0", "[none] bfq");
        host.made_of("dm-0", "sda");
        host.mount("253:0");
        assert_refused(&host, ("sda", "bfq"), &["belongs to dm-0", "set that of dm-0"]);
        assert_refused(&host, ("sdb", "bfq"), &["belongs to something else", "--any"]);
        assert!(host.with(|devices| Setting::among(devices, "sdb", "bfq", true)).is_ok());
        assert!(host.with(|devices| Setting::among(devices, "dm-0", "bfq", false)).is_ok());
    }
}
