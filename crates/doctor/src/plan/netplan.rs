//! One file for netplan.

use std::fmt::Write as _;

use super::options;
use super::planned::{PlannedBond, PlannedFile};

/// netplan's names of the driver's options.
fn parameter(option: &str) -> &'static str {
    match option {
        "miimon" => "mii-monitor-interval",
        "lacp_rate" => "lacp-rate",
        "xmit_hash_policy" => "transmit-hash-policy",
        "primary" => "primary",
        _ => "mode",
    }
}

/// The file, which netplan wants root only to read.
pub(super) fn files(bonds: &[PlannedBond]) -> Vec<PlannedFile> {
    let mut content = String::from("network:\n  version: 2\n  ethernets:\n");
    for slave in bonds.iter().flat_map(|bond| &bond.slaves) {
        let _ = writeln!(content, "    \"{slave}\":\n      dhcp4: false\n      dhcp6: false");
    }
    content.push_str("  bonds:\n");
    bonds.iter().for_each(|bond| add(&mut content, bond));
    vec![PlannedFile { path: "/etc/netplan/60-bonds.yaml".into(), mode: 0o600, content }]
}

/// Names are quoted: some could be read as something else, such as `on`.
fn add(content: &mut String, bond: &PlannedBond) {
    let slaves: Vec<_> = bond.slaves.iter().map(|slave| format!("\"{slave}\"")).collect();
    let _ = writeln!(content, "    \"{}\":\n      interfaces: [{}]", bond.name, slaves.join(", "));
    if let Some(mtu) = bond.mtu {
        let _ = writeln!(content, "      mtu: {mtu}");
    }
    match bond.addresses.is_empty() {
        true => content.push_str("      dhcp4: true\n"),
        false => {
            let addresses: Vec<_> = bond.addresses.iter().map(|address| format!("\"{address}\"")).collect();
            let _ = writeln!(content, "      addresses: [{}]", addresses.join(", "));
        }
    }
    if !bond.gateways.is_empty() {
        content.push_str("      routes:\n");
    }
    for gateway in &bond.gateways {
        let to = if gateway.is_ipv4() { "0.0.0.0/0" } else { "::/0" };
        let _ = writeln!(content, "        - to: \"{to}\"\n          via: \"{gateway}\"");
    }
    for reason in options::reasons(bond) {
        let _ = writeln!(content, "      # {reason}");
    }
    content.push_str("      parameters:\n");
    for choice in options::of(bond) {
        let quote = if choice.option == "primary" { "\"" } else { "" };
        let _ = writeln!(content, "        {}: {quote}{}{quote}", parameter(choice.option), choice.value);
    }
}
