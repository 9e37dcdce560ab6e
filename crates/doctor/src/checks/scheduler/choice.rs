//! Which scheduler the devices below the server's files use, and which ones they could.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use drover_host::{Device, Devices};

use crate::check::{Area, Check, Finding, Outcome};
use crate::evidence::{Seen, Unseen};
use crate::facts::Facts;

pub(crate) const CHECK: Check = Check {
    rule: "scheduler.choice",
    area: Area::Scheduler,
    looks_for: "devices below datadir, redo log, binary log and tmpdir whose scheduler is an unusual one for their kind",
    needs: "the server's variables; /proc/self/mountinfo and /sys/class/block on its host",
    source: "Documentation/block/ of the kernel; distributions' udev rules: none for NVMe and virtio, mq-deadline or none for SATA \
             SSDs, mq-deadline or bfq for turning disks",
    refuted_by: "`drover bench tpcc run --compare scheduler=…` shows no difference here, or the other way round",
    look,
};

/// Variables that name directories or files of the server, and what for.
const PLACES: [(&str, &str); 6] = [
    ("datadir", "data"),
    ("innodb_data_home_dir", "system tablespace"),
    ("innodb_log_group_home_dir", "redo log"),
    ("innodb_undo_directory", "undo log"),
    ("log_bin_basename", "binary log"),
    ("tmpdir", "temporary files"),
];

fn look(facts: &Facts) -> Seen<Outcome> {
    let mut outcome = Outcome::default();
    let devices = Devices::of(&facts.evidence, Path::new("/proc/self/mountinfo"));
    for (device, uses) in below(facts, &devices, &mut outcome)?.into_values() {
        let what = format!("{} ({})", device.name, uses.join(", "));
        let now = device.scheduler.clone().unwrap_or_else(|| "none".to_owned());
        match usual(&device) {
            usual if usual.contains(&now.as_str()) => {
                outcome.fine.push(format!("{what}: {now} of {}", device.schedulers.join(", ")));
            }
            usual => outcome.findings.push(unusual(&device, &what, &now, usual)),
        }
    }
    if outcome == Outcome::default() {
        outcome.not_here =
            Some("no device below the server's files has a scheduler that could be changed".into());
    }
    Ok(outcome)
}

type Below = BTreeMap<String, (Device, Vec<&'static str>)>;

/// The devices with a choice of schedulers below the server's files, and what lies on each.
fn below(facts: &Facts, devices: &Devices<'_>, outcome: &mut Outcome) -> Seen<Below> {
    let datadir = PathBuf::from(facts.variable("datadir")?);
    let mut found = Below::new();
    for (variable, use_of_it) in PLACES {
        let Ok(place) = facts.variable(variable) else { continue };
        // Paths are told from the data directory; several directories for temporary files are possible.
        for place in place.split(':').filter(|place| !place.is_empty()) {
            let path = datadir.join(place);
            let folder = if variable == "log_bin_basename" { path.parent().unwrap_or(&path) } else { &path };
            match devices.storage(folder) {
                Ok(storage) => {
                    for device in devices.scheduled(&storage) {
                        let entry = found.entry(device.name.clone()).or_insert((device, Vec::new()));
                        entry.1.push(use_of_it);
                    }
                }
                Err(error) => outcome.unknown.push(format!("{}: {error}", folder.display())),
            }
        }
    }
    match found.is_empty() && outcome.unknown.len() == PLACES.len() {
        true => Err(Unseen::Failed(outcome.unknown.join("; "))),
        false => Ok(found),
    }
}

/// What distributions choose for this kind of device.
fn usual(device: &Device) -> &'static [&'static str] {
    if device.is_rotational {
        &["mq-deadline", "bfq", "deadline", "cfq"]
    } else if device.name.starts_with("nvme") {
        &["none"]
    } else {
        &["none", "mq-deadline", "deadline", "noop"]
    }
}

fn unusual(device: &Device, what: &str, now: &str, usual: &[&str]) -> Finding {
    let offered: Vec<_> =
        device.schedulers.iter().filter(|name| usual.contains(&name.as_str())).map(String::as_str).collect();
    let kind = if device.is_rotational { "a turning disk" } else { "a disk that does not turn" };
    let candidates = [&[now], offered.as_slice()].concat().join(",");
    Finding::rule_only(
        format!("{what} uses the scheduler {now}, which is unusual for {kind}"),
        "measure it before it is changed: what is right depends on the device and the load",
    )
    .about(device.name.clone())
    .seen(format!("it offers {}", device.schedulers.join(", ")))
    .measure(format!("drover bench tpcc run --compare scheduler={candidates} --data DIRECTORY"))
}
