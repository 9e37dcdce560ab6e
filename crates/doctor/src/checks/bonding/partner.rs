//! A switch that does not take part in 802.3ad, or takes links for separate ones.

use super::each::each;
use crate::bond::{Bond, Mode};
use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::evidence::Seen;
use crate::facts::Facts;

pub(crate) const CHECK: Check = Check {
    rule: "bonding.partner",
    area: Area::Bonding,
    looks_for: "bonds of the mode 802.3ad whose switch does not speak LACP, and links that are not in the active aggregator",
    needs: "/proc/net/bonding/BOND; newer kernels tell the partner's address to root only",
    source: "Documentation/networking/bonding.rst on 802.3ad: one aggregator is active, links in others carry nothing; the driver's \
             bond_3ad.c: without a partner each link is an aggregator of its own",
    refuted_by: "the switch's own view (show lacp neighbor) has all links in one group",
    look,
};

/// A partner that has not answered.
const NOBODY: &str = "00:00:00:00:00:00";

fn look(facts: &Facts) -> Seen<Outcome> {
    each(facts, "there is no bond of the mode 802.3ad", |bond, outcome| {
        if bond.mode() == Some(Mode::Lacp) {
            of_bond(bond, outcome);
        }
    })
}

fn of_bond(bond: &Bond, outcome: &mut Outcome) {
    let up = bond.slaves_up();
    let active = bond.word("ad_aggregator");
    if active == "0" && !up.is_empty() {
        return outcome.findings.push(inactive(bond));
    }
    let partner = bond.word("ad_partner_mac");
    if partner == NOBODY && !up.is_empty() {
        return outcome.findings.push(silent(bond, up.len()));
    }
    // Newer kernels tell it in /proc to root only, and in sysfs to all.
    let aggregators: Vec<_> =
        up.iter().filter_map(|slave| Some((slave.name.as_str(), slave.aggregator.as_deref()?))).collect();
    let (inside, outside): (Vec<_>, Vec<_>) =
        aggregators.iter().partition(|(_, aggregator)| *aggregator == active);
    if active.is_empty() || aggregators.len() < up.len() || up.is_empty() {
        outcome.unknown.push(format!("{}: which links are in the active aggregator is not told", bond.name));
    } else if !outside.is_empty() {
        outcome.findings.push(apart(bond, &outside, active));
    } else if !partner.is_empty() {
        outcome.fine.push(format!(
            "{}: partner {partner}, {} links in aggregator {active}",
            bond.name,
            inside.len()
        ));
    } else if inside.len() > 1 {
        outcome.fine.push(format!(
            "{}: {} links in aggregator {active}, which takes a partner",
            bond.name,
            inside.len()
        ));
    } else {
        outcome.unknown.push(format!("{}: the kernel tells the partner's address to root only", bond.name));
    }
}

fn silent(bond: &Bond, up: usize) -> Finding {
    Finding::observed(
        Weight::Yellow,
        "the switch does not speak LACP with it",
        "make the switch's ports one LACP group (active or passive), or give the bond the mode active-backup",
    )
    .about(bond.name.clone())
    .seen(format!("partner's address: {NOBODY}"))
    .effect(format!("one link of {up} carries all: without a partner each is an aggregator of its own"))
}

fn inactive(bond: &Bond) -> Finding {
    Finding::observed(
        Weight::Red,
        "has no active aggregator",
        "look at the LACP group on the switch, and whether links were added while the bond was down",
    )
    .about(bond.name.clone())
    .seen("the kernel says that it has none, though links are up")
    .effect("it carries nothing")
}

fn apart(bond: &Bond, outside: &[&(&str, &str)], active: &str) -> Finding {
    let list: Vec<_> =
        outside.iter().map(|(name, aggregator)| format!("{name} in aggregator {aggregator}")).collect();
    Finding::observed(
        Weight::Yellow,
        format!("{} of {} links carry nothing", outside.len(), bond.slaves.len()),
        "bring all links to one LACP group of one switch, or of switches that act as one; speed and duplex must be alike, too",
    )
    .about(bond.name.clone())
    .seen(format!("active aggregator {active}; {}", list.join(", ")))
    .effect("only the links in the active aggregator are used; the others wait for it to fail")
}
