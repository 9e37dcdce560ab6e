//! systemd-networkd's files; systemd.netdev(5) and systemd.network(5). Not read are drop-ins (`NAME.netdev.d/*.conf`).

use super::ini;
use super::time::milliseconds;
use super::wanted::{Configuration, Wanted};
use crate::evidence::Evidence;
use crate::plan::NetworkTool;

const FOLDERS: [&str; 5] = [
    "/etc/systemd/network",
    "/run/systemd/network",
    "/usr/local/lib/systemd/network",
    "/usr/lib/systemd/network",
    "/lib/systemd/network",
];

/// Keys of the section `[Bond]` and the driver's options.
const OPTIONS: [(&str, &str); 15] = [
    ("Mode", "mode"),
    ("TransmitHashPolicy", "xmit_hash_policy"),
    ("LACPTransmitRate", "lacp_rate"),
    ("MIIMonitorSec", "miimon"),
    ("UpDelaySec", "updelay"),
    ("DownDelaySec", "downdelay"),
    ("ARPIntervalSec", "arp_interval"),
    ("ARPIPTargets", "arp_ip_target"),
    ("ARPValidate", "arp_validate"),
    ("AdSelect", "ad_select"),
    ("FailOverMACPolicy", "fail_over_mac"),
    ("PrimaryReselectPolicy", "primary_reselect"),
    ("MinLinks", "min_links"),
    ("PacketsPerSlave", "packets_per_slave"),
    ("LearnPacketIntervalSec", "lp_interval"),
];

/// Adds the bonds of these files.
pub(super) fn read(evidence: &Evidence, found: &mut Configuration) {
    let is_read = |name: &str| name.ends_with(".netdev") || name.ends_with(".network");
    let files = found.files(evidence, &FOLDERS, is_read, wanted);
    // The package of systemd brings files of its own, below /usr/lib.
    if files.iter().any(|(path, _)| path.starts_with("/etc/")) {
        found.tools.insert(NetworkTool::Networkd);
    }
    let mut bonds = Vec::new();
    for (path, text) in files.iter().filter(|(path, _)| path.ends_with(".netdev")) {
        let sections = ini::parse(text);
        let of_device = |key| ini::value(&sections, "NetDev", key);
        if of_device("Kind") != Some("bond") {
            continue;
        }
        let mut bond = Wanted::new(of_device("Name").unwrap_or_default(), path, Some(NetworkTool::Networkd));
        for (key, value) in ini::keys(&sections, "Bond") {
            let Some((_, option)) = OPTIONS.iter().find(|(known, _)| *known == key) else { continue };
            // The driver counts the times of these in milliseconds.
            let is_time = key.ends_with("Sec") && *option != "lp_interval";
            let time = milliseconds(value, 1000.0).filter(|_| is_time);
            bond.set(option, &time.map_or_else(|| value.to_owned(), |time| time.to_string()));
        }
        bonds.push(bond);
    }
    for (_, text) in files.iter().filter(|(path, _)| path.ends_with(".network")) {
        let sections = ini::parse(text);
        let names = ini::keys(&sections, "Match").filter(|(key, _)| *key == "Name");
        let names: Vec<_> = names.flat_map(|(_, names)| names.split_whitespace()).collect();
        let master = ini::value(&sections, "Network", "Bond");
        let Some(bond) = bonds.iter_mut().find(|bond| Some(bond.name.as_str()) == master) else { continue };
        names.iter().for_each(|name| bond.add_slave(name));
        if let ([name], true) = (names.as_slice(), ini::is_true(&sections, "Network", "PrimarySlave")) {
            bond.set("primary", name);
        }
    }
    found.bonds.extend(bonds);
}

/// A device may be a tunnel or a MACsec link, with its keys.
fn wanted(text: &str) -> Result<String, String> {
    let is_wanted = |section: &str, key: &str| match section {
        "NetDev" => ["Kind", "Name"].contains(&key),
        "Bond" => OPTIONS.iter().any(|(known, _)| *known == key),
        "Match" => key == "Name",
        "Network" => ["Bond", "PrimarySlave"].contains(&key),
        _ => false,
    };
    Ok(ini::chosen(text, is_wanted))
}
