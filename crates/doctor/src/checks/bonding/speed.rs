//! Links of a bond that are not alike, or send and receive in turns.

use super::each::each;
use crate::bond::{Bond, Mode, Slave};
use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::evidence::Seen;
use crate::facts::Facts;

pub(crate) const CHECK: Check = Check {
    rule: "bonding.speed",
    area: Area::Bonding,
    looks_for: "links of a bond whose speeds differ, or that are half duplex",
    needs: "/sys/class/net/INTERFACE/speed and duplex, of links that are up",
    source: "Documentation/networking/bonding.rst on mode: 802.3ad aggregates links of the same speed and duplex; \
             balance-tlb and balance-alb heed speed, balance-rr sends on each link in turn",
    refuted_by: "the slower link is meant as a spare one, in the mode active-backup",
    look,
};

fn look(facts: &Facts) -> Seen<Outcome> {
    each(facts, "there is no bond with links that are up", |bond, outcome| {
        let up = bond.slaves_up();
        for slave in up.iter().filter(|slave| slave.is_full_duplex == Some(false)) {
            outcome.findings.push(in_turns(bond, slave));
        }
        let told: Vec<_> = up.iter().filter_map(|slave| Some((slave.name.as_str(), slave.speed?))).collect();
        let speeds = list(&told);
        let fastest = told.iter().map(|(_, speed)| *speed).max();
        let slowest = told.iter().map(|(_, speed)| *speed).min();
        match (slowest, fastest) {
            (Some(slowest), Some(fastest)) if slowest < fastest => {
                outcome.findings.push(unlike(bond, &speeds, slowest));
            }
            (Some(_), _) => outcome.fine.push(format!("{}: {speeds}", bond.name)),
            _ => {}
        }
        for slave in up.iter().filter(|slave| slave.speed.is_none()) {
            let told = format!("{} in {}: the driver tells no speed", slave.name, bond.name);
            outcome.unknown.push(told);
        }
    })
}

fn list(told: &[(&str, u64)]) -> String {
    let speeds: Vec<_> = told.iter().map(|(name, speed)| format!("{name} {speed} Mbit/s")).collect();
    speeds.join(", ")
}

fn unlike(bond: &Bond, speeds: &str, slowest: u64) -> Finding {
    let (weight, effect) = match bond.mode() {
        Some(Mode::ActiveBackup) => {
            (Weight::Note, format!("when the faster link is lost, {slowest} Mbit/s are left"))
        }
        Some(Mode::Lacp) => (
            Weight::Yellow,
            "802.3ad takes links of one speed together, so some of them carry nothing".to_owned(),
        ),
        Some(Mode::BalanceTlb | Mode::BalanceAlb) => (
            Weight::Note,
            "the mode gives each link by its speed, so that the faster ones carry more".to_owned(),
        ),
        Some(Mode::BalanceXor) => (
            Weight::Yellow,
            format!("the hash heeds no speed: what it puts on the slower link goes at {slowest} Mbit/s"),
        ),
        _ => (
            Weight::Yellow,
            format!("each link gets its share of the packets, so all go at the pace of {slowest} Mbit/s"),
        ),
    };
    Finding::observed(weight, "its links differ in speed", "look at cables, switch ports and autonegotiation")
        .about(bond.name.clone())
        .seen(speeds)
        .effect(effect)
}

fn in_turns(bond: &Bond, slave: &Slave) -> Finding {
    Finding::observed(
        Weight::Yellow,
        format!("{} is half duplex", slave.name),
        "let both ends negotiate: it mostly comes of a speed that is set by hand at one end",
    )
    .about(bond.name.clone())
    .seen(format!("/sys/class/net/{}/duplex: half", slave.name))
    .effect("it sends and receives in turns, with collisions under load; 802.3ad leaves it out")
    .shell(format!("ethtool -s {} autoneg on", slave.name), None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{on_host, weights};

    #[test]
    fn links_of_two_speeds() {
        let of = |mode: &str| {
            let mode = format!("{mode} 0");
            let files = [
                ("sys/class/net/bonding_masters", "bond0"),
                ("sys/class/net/bond0/bonding/mode", mode.as_str()),
                ("sys/class/net/bond0/bonding/slaves", "eth0 eth1"),
                ("sys/class/net/eth0/speed", "1000"),
                ("sys/class/net/eth1/speed", "10000"),
                ("sys/class/net/eth0/bonding_slave/mii_status", "up"),
                ("sys/class/net/eth1/bonding_slave/mii_status", "up"),
            ];
            let outcome = on_host(&CHECK, &files);
            assert_eq!(weights(&outcome).len(), 1, "{mode}: {outcome:?}");
            let finding = &outcome.unwrap().findings[0];
            (finding.weight, finding.effect.clone().unwrap_or_default())
        };
        for mode in ["balance-tlb", "balance-alb", "active-backup"] {
            assert_eq!(of(mode).0, Weight::Note, "{mode}");
        }
        for (mode, word) in
            [("balance-rr", "pace"), ("802.3ad", "nothing"), ("balance-xor", "hash"), ("broadcast", "pace")]
        {
            let (weight, effect) = of(mode);
            assert!(weight == Weight::Yellow && effect.contains(word), "{mode}: {effect}");
        }
    }
}
