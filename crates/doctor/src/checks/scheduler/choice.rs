//! Which scheduler the devices below the server's files use, and which ones they could.

use std::collections::BTreeMap;
use std::path::Path;

use drover_host::scheduler::modules;
use drover_host::{Device, Devices, Files as _};

use super::measured::{Verdict, verdict};
use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::evidence::{Seen, Unseen};
use crate::facts::Facts;
use crate::places::{self, Place};

pub(crate) const CHECK: Check = Check {
    rule: "scheduler.choice",
    area: Area::Scheduler,
    looks_for: "devices below datadir, redo log, binary log and tmpdir for which another scheduler is better, as measured, or whose \
                scheduler is unusual for their kind",
    needs: "the server's variables; /proc/self/mountinfo and /sys/class/block on its host; results of `drover bench tpcc \
            --compare scheduler=…` with --results",
    source: "the kernel's block/elevator.c: mq-deadline for a device with one queue, none for one with several; SUSE's \
             60-io-scheduler.rules: bfq for turning disks with one queue; distributions differ, and which are unusual for a \
             kind of device is drover's own list",
    refuted_by: "`drover bench tpcc --compare scheduler=…` shows no difference here, or the other way round",
    look,
};

fn look(facts: &Facts) -> Seen<Outcome> {
    let mut outcome = Outcome::default();
    let devices = Devices::of(&facts.evidence, Path::new("/proc/self/mountinfo"));
    for (device, uses) in below(facts, &devices, &mut outcome)?.into_values() {
        let used = Used {
            what: format!("{} ({})", device.name, uses.join(", ")),
            seen: seen(facts, &devices, &device),
            device,
        };
        judge(facts, &used, &mut outcome);
    }
    if outcome == Outcome::default() {
        outcome.not_here =
            Some("no device below the server's files has a scheduler that could be changed".into());
    }
    Ok(outcome)
}

/// A device that the server uses.
struct Used {
    device: Device,
    /// Its name and what for.
    what: String,
    /// How its queue is set.
    seen: String,
}

/// The verdict is a measurement's, where there is one.
fn judge(facts: &Facts, used: &Used, outcome: &mut Outcome) {
    let now = used.device.scheduler.as_deref().unwrap_or("none");
    let usual = usual(&used.device);
    match verdict(facts, &used.device) {
        (Some((file, Verdict::Other { name, low, high, text })), _) => {
            let effect = format!("{low:+.0} % to {high:+.0} % New-Orders a minute with {name}: {text}");
            outcome
                .findings
                .push(better(used, now, &name).effect(effect).seen(format!("{file}: measured here")));
        }
        (Some((file, Verdict::Best(text) | Verdict::Nothing(text))), _) => {
            outcome
                .fine
                .push(format!("{}: none is better than {now} beyond the noise: {text} ({file})", used.what));
        }
        (None, _) if usual.contains(&now) => {
            outcome.fine.push(format!("{}: {now}; {}", used.what, used.seen));
        }
        (None, others) => {
            let finding = unusual(&used.device, &used.what, now, usual).seen(used.seen.clone());
            outcome.findings.push(
                others
                    .into_iter()
                    .fold(finding, |finding, why| finding.seen(format!("does not count: {why}"))),
            );
        }
    }
}

fn better(used: &Used, now: &str, other: &str) -> Finding {
    let name = &used.device.name;
    let command = format!("drover doctor scheduler set {name}");
    Finding::measured(
        Weight::Yellow,
        format!("{} uses the scheduler {now}, and {other} is better here", used.what),
        "set it, and see whether it is as good under the real load; --persist prints what keeps it",
    )
    .about(name.clone())
    .seen(used.seen.clone())
    .shell(format!("{command} {other} --apply"), Some(format!("{command} --revert")))
}

/// How the queue is set, and which schedulers could be had.
fn seen(facts: &Facts, devices: &Devices<'_>, device: &Device) -> String {
    const SETTINGS: [&str; 4] = ["nr_requests", "read_ahead_kb", "rotational", "write_cache"];
    let queue = devices.queue(&device.name);
    let setting = |name: &&str| Some(format!("{name} {}", facts.evidence.line(&queue.join(name))?));
    let mut all = vec![format!("it offers {}", device.schedulers.join(", "))];
    let more: Vec<_> =
        modules(&facts.evidence).into_iter().filter(|name| !device.schedulers.contains(name)).collect();
    if !more.is_empty() {
        all.push(format!("the kernel has modules for {}", more.join(", ")));
    }
    all.extend(SETTINGS.iter().filter_map(setting));
    all.join("; ")
}

type Below = BTreeMap<String, (Device, Vec<&'static str>)>;

/// The devices with a choice of schedulers below the server's files, and what lies on each.
fn below(facts: &Facts, devices: &Devices<'_>, outcome: &mut Outcome) -> Seen<Below> {
    let places = places::places(facts)?;
    let mut found = Below::new();
    for Place { of, folder } in &places {
        match devices.storage(folder) {
            Ok(storage) => {
                for device in devices.scheduled(&storage) {
                    let uses = &mut found.entry(device.name.clone()).or_insert((device, Vec::new())).1;
                    if !uses.contains(of) {
                        uses.push(of);
                    }
                }
            }
            Err(error) => outcome.unknown.push(format!("{}: {error}", folder.display())),
        }
    }
    match found.is_empty() && outcome.unknown.len() == places.len() {
        true => Err(Unseen::Failed(outcome.unknown.join("; "))),
        false => Ok(found),
    }
}

/// What distributions choose for this kind of device.
fn usual(device: &Device) -> &'static [&'static str] {
    if turns(device) {
        &["mq-deadline", "bfq", "deadline", "cfq"]
    } else if device.name.starts_with("nvme") {
        &["none"]
    } else {
        &["none", "mq-deadline", "deadline", "noop"]
    }
}

/// Whether it is a turning disk. Virtio has no word for that, so the kernel takes all of its disks for turning ones (drivers/block/virtio_blk.c).
fn turns(device: &Device) -> bool {
    device.is_rotational && !is_virtio(device)
}

fn is_virtio(device: &Device) -> bool {
    device.name.starts_with("vd")
}

fn unusual(device: &Device, what: &str, now: &str, usual: &[&str]) -> Finding {
    let offered: Vec<_> =
        device.schedulers.iter().filter(|name| usual.contains(&name.as_str())).map(String::as_str).collect();
    let kind = match (is_virtio(device), device.is_rotational) {
        (true, _) => "a virtual disk",
        (_, true) => "a turning disk",
        _ => "a disk that does not turn",
    };
    let candidates = [&[now], offered.as_slice()].concat().join(",");
    Finding::rule_only(
        format!("{what} uses the scheduler {now}, which is unusual for {kind}"),
        "measure it before it is changed: what is right depends on the device and the load",
    )
    .about(device.name.clone())
    .measure(format!("drover --json bench tpcc --compare scheduler={candidates} --data DIRECTORY --yes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_usual(name: &str, is_rotational: bool, scheduler: &str) -> bool {
        usual(&Device { name: name.into(), is_rotational, ..Device::default() }).contains(&scheduler)
    }

    #[test]
    fn what_is_usual_for_a_kind_of_device() {
        assert!(is_usual("sda", true, "bfq") && !is_usual("sda", true, "none"));
        assert!(is_usual("sda", false, "none") && !is_usual("sda", false, "bfq"));
        // With several queues the kernel itself takes none, as most virtual machines have it.
        assert!(is_usual("vda", true, "none") && is_usual("vda", true, "mq-deadline"));
        assert!(!is_usual("vda", true, "kyber"));
    }
}
