//! Packets that overtake each other on the links of a bond.

use super::each::each;
use crate::bond::{Bond, Mode};
use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::evidence::{Evidence, Seen};
use crate::facts::Facts;

pub(crate) const CHECK: Check = Check {
    rule: "bonding.round_robin",
    area: Area::Bonding,
    looks_for: "bonds of the mode balance-rr, and segments of TCP that come out of order",
    needs: "/sys/class/net/BOND/bonding/mode; /proc/net/netstat and /proc/net/snmp for the counts",
    source: "Documentation/networking/bonding.rst: balance-rr delivers packets out of order, which makes TCP retransmit; it is the only \
             mode in which one connection uses several links",
    refuted_by: "TCPOFOQueue and TCPSACKReorder of both ends stay as low as in another mode, at the load of here",
    look,
};

/// Share of the segments that came out of order from which it is held for a cost: the reordering that TCP takes for granted is one of
/// three segments in a row, and rare.
const MANY: f64 = 0.01;
/// Below so many segments the counts tell too little.
const ENOUGH: u64 = 100_000;

fn look(facts: &Facts) -> Seen<Outcome> {
    each(facts, "there is no bond of the mode balance-rr with several links", |bond, outcome| {
        if bond.mode() == Some(Mode::BalanceRr) && bond.slaves.len() > 1 {
            outcome.findings.push(found(bond, &facts.evidence));
        }
    })
}

fn found(bond: &Bond, evidence: &Evidence) -> Finding {
    let counts = Counts::of(evidence);
    let what = "sends the packets of one connection on all its links by turns";
    let advice =
        "use 802.3ad with layer3+4, or active-backup, unless one connection must be faster than a link";
    let share = counts.received.filter(|received| *received >= ENOUGH).zip(counts.out_of_order);
    let finding = match share.map(|(received, late)| late as f64 / received as f64) {
        Some(share) if share >= MANY => Finding::observed(Weight::Yellow, what, advice).effect(format!(
            "{:.1} % of the segments that came in since boot were out of order",
            share * 100.0
        )),
        _ => Finding::rule_only(what, advice),
    };
    let told = |count: Option<u64>| count.map_or("not told".to_owned(), |count| count.to_string());
    finding.about(bond.name.clone()).seen(format!("{}: balance-rr", bond.file("mode"))).seen(format!(
        "of all interfaces since boot: TCP segments received {}, out of order (TCPOFOQueue) {}, peers that told of reordering \
         (TCPSACKReorder) {}",
        told(counts.received),
        told(counts.out_of_order),
        told(counts.reordered)
    ))
}

/// What TCP has counted since boot; older kernels do not have all.
struct Counts {
    received: Option<u64>,
    out_of_order: Option<u64>,
    reordered: Option<u64>,
}

impl Counts {
    fn of(evidence: &Evidence) -> Self {
        let file = |path: &str| evidence.text(path).unwrap_or_default();
        let (netstat, snmp) = (file("/proc/net/netstat"), file("/proc/net/snmp"));
        Self {
            received: count(&snmp, "Tcp:", "InSegs"),
            out_of_order: count(&netstat, "TcpExt:", "TCPOFOQueue"),
            reordered: count(&netstat, "TcpExt:", "TCPSACKReorder"),
        }
    }
}

/// A number of such a file: a line of names and a line of numbers for each protocol.
fn count(text: &str, protocol: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter(|line| line.starts_with(protocol));
    let (names, numbers) = (lines.next()?, lines.next()?);
    let at = names.split_whitespace().position(|known| known == name)?;
    numbers.split_whitespace().nth(at)?.parse().ok()
}
