//! Bonds that bind nothing together.

use crate::bond::Bond;
use crate::bonding_config::Configuration;
use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::evidence::Seen;
use crate::facts::Facts;

pub(crate) const CHECK: Check = Check {
    rule: "bonding.single",
    area: Area::Bonding,
    looks_for: "bonds of one interface or none",
    needs: "/sys/class/net/bonding_masters and /sys/class/net/BOND/bonding/slaves, or /proc/net/bonding",
    source: "Documentation/networking/bonding.rst: a bond is for fail-over or load balancing among several interfaces; with max_bonds \
             the driver makes bonds that nobody has asked for",
    refuted_by: "the second interface is to come, and the bond is there so that nothing else must be changed then",
    look,
};

fn look(facts: &Facts) -> Seen<Outcome> {
    let bonds = Bond::all(&facts.evidence)?;
    if bonds.is_empty() {
        return Ok(Outcome::not_here("there is no bond"));
    }
    let configuration = Configuration::of(&facts.evidence);
    let mut outcome = Outcome::default();
    for bond in &bonds {
        let names: Vec<_> = bond.slaves.iter().map(|slave| slave.name.as_str()).collect();
        let wanted = configuration.of_bond(&bond.name).next();
        let finding = match (names.as_slice(), wanted) {
            ([], Some(wanted)) => {
                empty(bond).seen(format!("{} asks for {}", wanted.file, wanted.slaves.join(", ")))
            }
            ([], None) => idle(bond),
            ([only], _) => alone(only),
            _ => {
                outcome.fine.push(format!("{}: {}", bond.name, names.join(", ")));
                continue;
            }
        };
        outcome.findings.push(finding.about(bond.name.clone()));
    }
    Ok(outcome)
}

fn empty(bond: &Bond) -> Finding {
    Finding::observed(
        Weight::Yellow,
        "has no interface, so it carries nothing",
        "look why the interfaces that its files ask for did not join: the system's log tells",
    )
    .seen(format!("{}: empty", bond.file("slaves")))
}

fn idle(bond: &Bond) -> Finding {
    Finding::observed(
        Weight::Note,
        "has no interface, and no file asks for it",
        "nobody uses it: it comes of loading the module bonding without max_bonds=0, or of an older configuration",
    )
    .seen(format!("{}: empty", bond.file("slaves")))
}

fn alone(only: &str) -> Finding {
    Finding::observed(
        Weight::Yellow,
        "has one interface only",
        "add a second interface, on another switch if there is one",
    )
    .seen(format!("its interfaces: {only}"))
    .effect("when that link is lost, the host is cut off")
}
