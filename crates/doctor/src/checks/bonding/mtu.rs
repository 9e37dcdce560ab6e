//! Interfaces of a bond that carry smaller or larger packets than it.

use super::each::each;
use crate::bond::{Bond, Slave};
use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::evidence::Seen;
use crate::facts::Facts;

pub(crate) const CHECK: Check = Check {
    rule: "bonding.mtu",
    area: Area::Bonding,
    looks_for: "interfaces whose MTU is not their bond's",
    needs: "/sys/class/net/BOND/mtu and /sys/class/net/INTERFACE/mtu",
    source: "the driver's bond_main.c: a bond hands its MTU to its interfaces, and packets of that size to them; one that has another \
             MTU was changed since",
    refuted_by: "all hosts that this one speaks to have the smaller MTU, so that no packet is too large",
    look,
};

fn look(facts: &Facts) -> Seen<Outcome> {
    each(facts, "there is no bond with interfaces", |bond, outcome| {
        for slave in &bond.slaves {
            match (bond.mtu, slave.mtu) {
                (Some(whole), Some(own)) if whole == own => {
                    outcome.fine.push(format!("{} in {}: {own} bytes", slave.name, bond.name));
                }
                (Some(whole), Some(own)) => outcome.findings.push(unlike(bond, slave, whole, own)),
                _ => outcome.unknown.push(format!("{} in {}: the MTU is not told", slave.name, bond.name)),
            }
        }
    })
}

fn unlike(bond: &Bond, slave: &Slave, whole: u64, own: u64) -> Finding {
    let effect = match own < whole {
        true => format!("packets of {} to {whole} bytes are lost when they go out on it", own + 1),
        false => "it takes in packets that the others do not".to_owned(),
    };
    let name = &slave.name;
    Finding::observed(
        Weight::Yellow,
        format!("{name} has an MTU of {own} bytes in a bond of {whole}"),
        "give all interfaces of a bond its MTU; set it on the bond, which hands it on",
    )
    .about(bond.name.clone())
    .seen(format!("/sys/class/net/{name}/mtu: {own}; /sys/class/net/{}/mtu: {whole}", bond.name))
    .effect(effect)
    .shell(format!("ip link set dev {name} mtu {whole}"), Some(format!("ip link set dev {name} mtu {own}")))
}
