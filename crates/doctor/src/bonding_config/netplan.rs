//! netplan's files, of which the later ones add to the earlier ones; netplan(5).

use super::time::milliseconds;
use super::wanted::{Configuration, Wanted};
use super::yaml::{self, Node};
use crate::evidence::Evidence;
use crate::plan::NetworkTool;

const FOLDERS: [&str; 3] = ["/run/netplan", "/etc/netplan", "/lib/netplan"];

/// Parameters of bonds and the driver's options.
const OPTIONS: [(&str, &str); 15] = [
    ("mode", "mode"),
    ("transmit-hash-policy", "xmit_hash_policy"),
    ("lacp-rate", "lacp_rate"),
    ("mii-monitor-interval", "miimon"),
    ("up-delay", "updelay"),
    ("down-delay", "downdelay"),
    ("arp-interval", "arp_interval"),
    ("arp-ip-targets", "arp_ip_target"),
    ("arp-validate", "arp_validate"),
    ("ad-select", "ad_select"),
    ("fail-over-mac-policy", "fail_over_mac"),
    ("primary", "primary"),
    ("primary-reselect-policy", "primary_reselect"),
    ("min-links", "min_links"),
    ("packets-per-slave", "packets_per_slave"),
];
/// Those that are times.
const TIMES: [&str; 4] = ["miimon", "updelay", "downdelay", "arp_interval"];

/// Adds the bonds of these files.
pub(super) fn read(evidence: &Evidence, found: &mut Configuration) {
    let files = found.files(evidence, &FOLDERS, |name| name.ends_with(".yaml"), wanted);
    if !files.is_empty() {
        found.tools.insert(NetworkTool::Netplan);
    }
    let mut bonds: Vec<Wanted> = Vec::new();
    for (path, text) in &files {
        match yaml::parse(text) {
            Ok(root) => {
                let all = root.get("network").and_then(|network| network.get("bonds"));
                for (name, node) in all.map(Node::entries).unwrap_or_default() {
                    add(&mut bonds, path, name, node);
                }
            }
            Err(why) => found.unseen.push(format!("{path}: {why}")),
        }
    }
    found.bonds.extend(bonds);
}

/// The bonds alone, with what is read of each: the rest may hold passwords, wherever they stand.
fn wanted(text: &str) -> Result<String, String> {
    let root = yaml::parse(text)?;
    let bonds = root.get("network").and_then(|network| network.get("bonds"));
    let bonds = bonds.map(Node::entries).unwrap_or_default();
    let bonds = bonds.iter().map(|(name, node)| (name.clone(), of_bond(node))).collect();
    let of_network = vec![("bonds".to_owned(), Node::Map(bonds))];
    Ok(Node::Map(vec![("network".to_owned(), Node::Map(of_network))]).to_string())
}

fn of_bond(node: &Node) -> Node {
    let kept = |node: &Node, names: &[&str]| {
        let entries = node.entries().iter().filter(|(name, _)| names.contains(&name.as_str()));
        Node::Map(entries.cloned().collect())
    };
    let mut bond = kept(node, &["interfaces", "parameters"]);
    if let Node::Map(entries) = &mut bond {
        let names = OPTIONS.map(|(name, _)| name);
        let parameters = entries.iter_mut().filter(|(name, _)| name == "parameters");
        parameters.for_each(|(_, parameters)| *parameters = kept(parameters, &names));
    }
    bond
}

fn add(bonds: &mut Vec<Wanted>, path: &str, name: &str, node: &Node) {
    let at = bonds.iter().position(|bond| bond.name == name).unwrap_or_else(|| {
        bonds.push(Wanted::new(name, path, Some(NetworkTool::Netplan)));
        bonds.len() - 1
    });
    let bond = &mut bonds[at];
    node.get("interfaces")
        .map(Node::items)
        .unwrap_or_default()
        .iter()
        .for_each(|slave| bond.add_slave(slave.text()));
    let Some(parameters) = node.get("parameters") else { return };
    for (option, known) in OPTIONS.iter().filter_map(|(key, known)| Some((*known, parameters.get(key)?))) {
        let value = match known {
            Node::List(_) => known.items().iter().map(Node::text).collect::<Vec<_>>().join(","),
            _ => known.text().to_owned(),
        };
        let time = milliseconds(&value, 1.0).filter(|_| TIMES.contains(&option));
        bond.set(option, &time.map_or(value, |time| time.to_string()));
        // The file that says it last is the one to mend.
        path.clone_into(&mut bond.file);
    }
}
