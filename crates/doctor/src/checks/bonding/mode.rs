//! Bonds that run otherwise than their files say.

use crate::bond::Bond;
use crate::bond::words::is_plain;
use crate::bonding_config::{Configuration, Wanted};
use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::evidence::Seen;
use crate::facts::Facts;
use crate::plan::NetworkTool;

pub(crate) const CHECK: Check = Check {
    rule: "bonding.mode",
    area: Area::Bonding,
    looks_for: "bonds whose mode or other options are not those of the files that set them up; bonds of such files that are not there",
    needs: "ifcfg files, keyfiles of NetworkManager (root only), files of netplan, systemd-networkd and ifupdown; \
            /sys/class/net/BOND/bonding or /proc/net/bonding",
    source: "Documentation/networking/bonding.rst and the driver's bond_options.c: the mode can be changed only while a bond \
             is down, and has no interfaces; so what was changed in a file has mostly no effect before the bond is made anew",
    refuted_by: "another file, or a script, sets the bond up after these",
    look,
};

/// Options that are compared: those that a bond has one value of, and tells.
const COMPARED: [&str; 13] = [
    "mode",
    "miimon",
    "arp_interval",
    "xmit_hash_policy",
    "lacp_rate",
    "primary",
    "primary_reselect",
    "updelay",
    "downdelay",
    "ad_select",
    "min_links",
    "fail_over_mac",
    "arp_validate",
];

fn look(facts: &Facts) -> Seen<Outcome> {
    let bonds = Bond::all(&facts.evidence)?;
    let configuration = Configuration::of(&facts.evidence);
    let mut outcome = Outcome { unknown: configuration.unseen.clone(), ..Outcome::default() };
    for bond in &bonds {
        let wanted: Vec<_> = configuration.of_bond(&bond.name).collect();
        let differences: Vec<_> = wanted.iter().flat_map(|wanted| differences(bond, wanted)).collect();
        if !differences.is_empty() {
            outcome.findings.push(otherwise(bond, &wanted, &differences));
        } else if wanted.is_empty() && !bond.slaves.is_empty() && configuration.unseen.is_empty() {
            outcome.unknown.push(format!("{}: no file that was looked at sets it up", bond.name));
        } else if let Some(first) = wanted.first() {
            outcome.fine.push(format!("{} runs as {} says", bond.name, first.file));
        }
    }
    for wanted in &configuration.bonds {
        let is_first = configuration.of_bond(&wanted.name).next() == Some(wanted);
        if is_first && wanted.is_automatic && bonds.iter().all(|bond| bond.name != wanted.name) {
            outcome.findings.push(missing(wanted));
        }
    }
    if outcome == Outcome::default() {
        outcome.not_here = Some("there is no bond, and no file asks for one".into());
    }
    Ok(outcome)
}

/// An option that is not as a file says.
struct Difference<'a> {
    option: &'a str,
    wanted: &'a str,
    running: &'a str,
    file: &'a str,
}

fn differences<'a>(bond: &'a Bond, wanted: &'a Wanted) -> Vec<Difference<'a>> {
    let compare = |option: &&'a str| {
        let asked = wanted.options.get(*option)?.as_str();
        let running = bond.options.get(*option).map(|_| bond.word(option))?;
        let miimon = bond.number("miimon").filter(|miimon| *miimon > 0);
        // Delays are rounded down, which another check tells.
        let is_same = match (option.ends_with("delay"), asked.parse::<u64>(), miimon) {
            (true, Ok(asked), Some(miimon)) => (asked - asked % miimon).to_string() == running,
            _ => asked == running,
        };
        (!is_same).then_some(Difference { option, wanted: asked, running, file: &wanted.file })
    };
    let all: Vec<_> = COMPARED.iter().filter_map(compare).collect();
    // Options that the mode has no use for are not there, or not as asked for: the mode is what is wrong.
    match all.iter().any(|difference| difference.option == "mode") {
        true => {
            all.into_iter().filter(|difference| ["mode", "miimon"].contains(&difference.option)).collect()
        }
        false => all,
    }
}

fn otherwise(bond: &Bond, wanted: &[&Wanted], differences: &[Difference<'_>]) -> Finding {
    let name = &bond.name;
    let mode = differences.iter().find(|difference| difference.option == "mode");
    let mut told: Vec<_> = differences
        .iter()
        .map(|d| format!("{} {} instead of {}", d.option, shown(d.running), d.wanted))
        .collect();
    told.dedup();
    let (weight, advice) = match mode {
        Some(_) => (
            Weight::Red,
            "make the bond anew, at the console, as the network is gone meanwhile; or mend the file if the mode that runs is the right one",
        ),
        None => (Weight::Yellow, "set the option, or mend the file"),
    };
    let mut finding =
        Finding::observed(weight, format!("runs with {}", told.join(", ")), advice).about(name.clone());
    for difference in differences {
        let Difference { option, wanted, running, file } = difference;
        finding =
            finding.seen(format!("{file}: {option} {wanted}; {}: {}", bond.file(option), shown(running)));
    }
    if mode.is_some() {
        finding = finding.effect("a switch whose ports are set up for the other mode drops packets, or sends them twice, or the bond does not fail over as planned");
        return match wanted.first().map(|wanted| anew(wanted)) {
            Some(command) => finding.shell(command, None),
            None => finding,
        };
    }
    for Difference { option, wanted, running, .. } in
        differences.iter().filter(|d| is_plain(d.running) && is_plain(d.wanted))
    {
        let file = bond.file(option);
        finding = finding.shell(format!("echo {wanted} > {file}"), Some(format!("echo {running} > {file}")));
    }
    finding
}

fn shown(value: &str) -> &str {
    if value.is_empty() { "(none)" } else { value }
}

/// What makes a bond anew from its file.
fn anew(wanted: &Wanted) -> String {
    let name = &wanted.name;
    match wanted.tool {
        Some(NetworkTool::Netplan) => format!("ip link delete {name} && netplan apply"),
        Some(NetworkTool::Networkd) => format!("ip link delete {name} && systemctl restart systemd-networkd"),
        Some(NetworkTool::NetworkManager) => {
            let connection = if wanted.connection.contains('\'') { name } else { &wanted.connection };
            format!(
                "nmcli connection reload && nmcli device disconnect {name}; nmcli connection up '{connection}'"
            )
        }
        Some(NetworkTool::Ifcfg) | None => format!("ifdown {name}; ifup {name}"),
    }
}

fn missing(wanted: &Wanted) -> Finding {
    let name = &wanted.name;
    Finding::observed(
        Weight::Yellow,
        "is not there, though a file sets it up",
        "look in the system's log why; if nobody needs it, take the file away, or it comes at the next boot",
    )
    .about(name.clone())
    .seen(format!(
        "{}: {name} of {}",
        wanted.file,
        if wanted.slaves.is_empty() { "no interface".into() } else { wanted.slaves.join(", ") }
    ))
}
