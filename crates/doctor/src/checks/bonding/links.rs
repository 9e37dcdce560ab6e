//! Links of a bond that are down, or come and go.

use super::each::each;
use crate::bond::{Bond, proc::Told};
use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::evidence::{Moment, Seen};
use crate::facts::{Facts, PROC_BONDING};

pub(crate) const CHECK: Check = Check {
    rule: "bonding.links",
    area: Area::Bonding,
    looks_for: "interfaces of a bond whose link is down; links that were lost before, or are lost while it looks",
    needs: "/proc/net/bonding/BOND, or /sys/class/net/INTERFACE/operstate and bonding_slave",
    source: "Documentation/networking/bonding.rst, and the driver's bond_procfs.c on MII Status and Link Failure Count",
    refuted_by: "the interface is down on purpose, or the links were lost while somebody worked at the cables",
    look,
};

fn look(facts: &Facts) -> Seen<Outcome> {
    each(facts, "there is no bond with interfaces", |bond, outcome| {
        down(bond, outcome);
        failures(facts, bond, outcome);
    })
}

fn down(bond: &Bond, outcome: &mut Outcome) {
    let of = |state| -> Vec<&str> {
        bond.slaves.iter().filter(|slave| slave.is_up == state).map(|slave| slave.name.as_str()).collect()
    };
    let (up, down, unknown) = (of(Some(true)), of(Some(false)), of(None));
    if !unknown.is_empty() {
        outcome.unknown.push(format!("{}: whether {} is up is not told", bond.name, unknown.join(", ")));
    }
    if down.is_empty() {
        if !up.is_empty() {
            outcome.fine.push(format!("{}: {} up", bond.name, up.join(", ")));
        }
        return;
    }
    // One that is not told may be up.
    let (weight, effect) = match up.len() + unknown.len() {
        0 => (Weight::Red, "it carries nothing"),
        1 => (Weight::Red, "one link is left: when that one is lost, the host is cut off"),
        _ => (Weight::Yellow, "it goes on with the others, and less of them"),
    };
    let what = match up.as_slice() {
        [] if unknown.is_empty() => "no link is up".to_owned(),
        _ => format!("{} of {} links down", down.len(), bond.slaves.len()),
    };
    let advice = "look at cable, transceiver and switch port; `ip link` and the system's log tell since when";
    let seen = format!(
        "down: {}; up: {}",
        down.join(", "),
        if up.is_empty() { "none".to_owned() } else { up.join(", ") }
    );
    outcome
        .findings
        .push(Finding::observed(weight, what, advice).about(bond.name.clone()).seen(seen).effect(effect));
}

fn failures(facts: &Facts, bond: &Bond, outcome: &mut Outcome) {
    let at = |moment| {
        facts.evidence.text_at(format!("{PROC_BONDING}/{}", bond.name), moment).map(|text| Told::parse(&text))
    };
    let (before, after) = (at(Moment::Before), at(Moment::After));
    for slave in &bond.slaves {
        let name = slave.name.as_str();
        let count =
            |told: &Seen<Told>| told.as_ref().ok().and_then(|told| told.failures().get(name).copied());
        if let (Some(before), Some(after)) = (count(&before), count(&after))
            && after > before
        {
            outcome.findings.push(flapping(bond, name, before, after));
        } else if let Some(lost @ 1..) = slave.failures {
            outcome.findings.push(lost_before(bond, name, lost));
        }
    }
}

fn flapping(bond: &Bond, name: &str, before: u64, after: u64) -> Finding {
    Finding::observed(
        Weight::Red,
        format!("{name} loses its link again and again"),
        "take it out of the bond, then change cable, transceiver or switch port",
    )
    .about(bond.name.clone())
    .seen(format!("{PROC_BONDING}/{}: Link Failure Count of {name} {before}, then {after}", bond.name))
    .effect("each time the packets on the way are lost, and connections wait until they are sent again")
    .shell(
        format!("echo -{name} > {}", bond.file("slaves")),
        Some(format!("echo +{name} > {}", bond.file("slaves"))),
    )
}

fn lost_before(bond: &Bond, name: &str, lost: u64) -> Finding {
    Finding::observed(
        Weight::Note,
        format!("{name} has lost its link {lost} times since it joined"),
        "ask the system's log when; if nobody pulled a cable, look at cable, transceiver and switch port",
    )
    .about(bond.name.clone())
    .seen(format!("Link Failure Count of {name}: {lost}; it does not grow now, or that could not be seen"))
}
