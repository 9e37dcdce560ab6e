//! A hash that sends most of the bytes out on one of several links.

use drover_units::show;

use super::each::each;
use crate::bond::{Bond, Mode, Slave};
use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::evidence::Seen;
use crate::facts::Facts;

pub(crate) const CHECK: Check = Check {
    rule: "bonding.hash",
    area: Area::Bonding,
    looks_for: "bonds of the modes 802.3ad and balance-xor that send most of their bytes on one link, and their xmit_hash_policy",
    needs: "/sys/class/net/INTERFACE/statistics/tx_bytes and /sys/class/net/BOND/bonding/xmit_hash_policy",
    source: "Documentation/networking/bonding.rst on xmit_hash_policy: layer2 puts all traffic to a peer on one link; and on \
             choosing a mode for throughput: so goes all that passes a gateway",
    refuted_by: "the links did not join at the same time, or one was down for long, so that their counts do not cover the same time; or \
                 one connection has most of the bytes, which no policy splits",
    look,
};

/// Below this the counts tell too little.
const ENOUGH: u64 = 1 << 30;

fn look(facts: &Facts) -> Seen<Outcome> {
    each(facts, "there is no bond of several links that chooses them by a hash", |bond, outcome| {
        // Links outside the active aggregator carry nothing by any policy.
        let active = bond.word("ad_aggregator");
        let is_used =
            |slave: &&Slave| active.is_empty() || slave.aggregator.as_deref().is_none_or(|own| own == active);
        let up: Vec<_> = bond.slaves_up().into_iter().filter(is_used).collect();
        if up.len() < 2 || !bond.mode().is_some_and(Mode::hashes) {
            return;
        }
        let sent: Vec<_> = up.iter().filter_map(|slave| Some((slave.name.as_str(), slave.sent?))).collect();
        let total: u64 = sent.iter().map(|(_, bytes)| bytes).sum();
        if sent.len() < up.len() {
            outcome.unknown.push(format!("{}: how much each link has sent is not told", bond.name));
        } else if total < ENOUGH {
            outcome.unknown.push(format!("{}: {} sent, too little to tell", bond.name, show::bytes(total)));
        } else if is_lopsided(&sent, total) {
            outcome.findings.push(lopsided(bond, &sent, total));
        } else {
            outcome.fine.push(format!("{}: {}", bond.name, shares(&sent, total)));
        }
    })
}

/// Whether the busiest link is more than half of the way from its even share to all: over 75 % of two, 62.5 % of four.
fn is_lopsided(sent: &[(&str, u64)], total: u64) -> bool {
    let most = sent.iter().map(|(_, bytes)| *bytes).max().unwrap_or(0) as f64 / total as f64;
    most > (1.0 + 1.0 / sent.len() as f64) / 2.0
}

fn shares(sent: &[(&str, u64)], total: u64) -> String {
    let share = |bytes: u64| bytes as f64 * 100.0 / total as f64;
    let shares: Vec<_> = sent.iter().map(|(name, bytes)| format!("{name} {:.1} %", share(*bytes))).collect();
    format!("{} of {} sent", shares.join(", "), show::bytes(total))
}

fn lopsided(bond: &Bond, sent: &[(&str, u64)], total: u64) -> Finding {
    let policy = bond.word("xmit_hash_policy");
    let (weight, advice) = match policy {
        "layer2" => (
            Weight::Yellow,
            "few peers, or one gateway, are the likely reason: use layer3+4, or layer2+3 where the switch's rules forbid that",
        ),
        "layer2+3" => (
            Weight::Yellow,
            "few pairs of addresses are the likely reason: use layer3+4, which tells connections apart",
        ),
        _ => (
            Weight::Note,
            "few connections have most of the bytes; no policy splits one: spread the work over more connections",
        ),
    };
    let name = &bond.name;
    let most = sent.iter().max_by_key(|(_, bytes)| *bytes).map_or("", |(name, _)| name);
    let mut finding = Finding::observed(weight, format!("sends most of its bytes on {most}"), advice)
        .about(name.clone())
        .seen(format!("tx_bytes since each link was made: {}", shares(sent, total)))
        .seen(format!("xmit_hash_policy: {}", if policy.is_empty() { "not told" } else { policy }))
        .effect(format!("out of {} links little more than one is used for sending", sent.len()));
    for (link, lost) in
        bond.slaves.iter().filter_map(|slave| Some((&slave.name, slave.failures.filter(|lost| *lost > 0)?)))
    {
        finding = finding.seen(format!("{link} was down {lost} times, which counts against it here"));
    }
    if weight == Weight::Yellow {
        let file = bond.file("xmit_hash_policy");
        finding = finding.shell(format!("echo layer3+4 > {file}"), Some(format!("echo {policy} > {file}")));
    }
    finding
}
