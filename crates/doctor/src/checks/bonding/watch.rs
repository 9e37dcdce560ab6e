//! A bond that does not notice when a link is lost.

use crate::bond::Bond;
use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::evidence::Seen;
use crate::facts::Facts;

pub(crate) const CHECK: Check = Check {
    rule: "bonding.watch",
    area: Area::Bonding,
    looks_for: "bonds that watch neither the links' carrier (miimon) nor answers (arp_interval)",
    needs: "/sys/class/net/bonding_masters and /sys/class/net/BOND/bonding",
    source: "Documentation/networking/bonding.rst, Bonding Driver Options: miimon, or arp_interval with arp_ip_target, has \
             to be set; the driver itself warns that lost links are not detected else",
    refuted_by: "something else, such as teamd or a script, takes interfaces out of the bond",
    look,
};

fn look(facts: &Facts) -> Seen<Outcome> {
    let bonds = Bond::all(&facts.evidence)?;
    if bonds.is_empty() {
        return Ok(Outcome::not_here("there is no bond"));
    }
    let mut outcome = Outcome::default();
    for bond in &bonds {
        match (bond.number("miimon"), bond.number("arp_interval")) {
            (Some(0), Some(0) | None) => outcome.findings.push(blind(bond)),
            (Some(0), Some(_)) if asks_nobody(bond) => outcome.findings.push(blind(bond)),
            (Some(0), Some(arp)) => outcome.fine.push(format!("{}: arp_interval {arp} ms", bond.name)),
            (Some(miimon), _) => outcome.fine.push(format!("{}: miimon {miimon} ms", bond.name)),
            (None, _) => outcome.unknown.push(format!("{}: the kernel tells no miimon", bond.name)),
        }
    }
    Ok(outcome)
}

/// Whether it has no address to ask. Kernels from 5.16 on take some of IPv6, too; old ones may tell none at all.
fn asks_nobody(bond: &Bond) -> bool {
    let targets = ["arp_ip_target", "ns_ip6_target"].map(|option| bond.options.get(option));
    targets[0].is_some() && targets.into_iter().flatten().all(String::is_empty)
}

fn blind(bond: &Bond) -> Finding {
    let path = format!("/sys/class/net/{}/bonding/miimon", bond.name);
    let what = "does not notice when a link is lost";
    Finding::observed(Weight::Red, what, "set miimon, here and in the file that sets the bond up")
        .about(bond.name.clone())
        .seen(format!(
            "{path}: 0; arp_interval: {}; arp_ip_target: {}",
            bond.word("arp_interval"),
            [bond.word("arp_ip_target")].into_iter().find(|target| !target.is_empty()).unwrap_or("none")
        ))
        .shell(format!("echo 100 > {path}"), Some(format!("echo 0 > {path}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{is_fine, is_unknown, on_host, weights};

    fn bond(options: &[(&str, &str)]) -> Seen<Outcome> {
        let files: Vec<_> = options
            .iter()
            .map(|(name, value)| (format!("sys/class/net/bond0/bonding/{name}"), *value))
            .collect();
        let mut files: Vec<_> = files.iter().map(|(path, value)| (path.as_str(), *value)).collect();
        files.push(("sys/class/net/bonding_masters", "bond0"));
        on_host(&CHECK, &files)
    }

    #[test]
    fn a_bond_that_watches_nothing() {
        assert_eq!(weights(&bond(&[("miimon", "0"), ("arp_interval", "0")])), [Weight::Red]);
        assert!(is_fine(&bond(&[("miimon", "100"), ("arp_interval", "0")])));
        assert!(is_fine(&bond(&[("miimon", "0"), ("arp_interval", "200")])));
        let asking = |target| bond(&[("miimon", "0"), ("arp_interval", "200"), ("arp_ip_target", target)]);
        assert!(is_fine(&asking("192.0.2.1")));
        assert_eq!(weights(&asking("")), [Weight::Red]);
        assert!(is_unknown(&bond(&[("mode", "802.3ad 4")])));
        assert!(on_host(&CHECK, &[]).unwrap().not_here.is_some());
    }
}
