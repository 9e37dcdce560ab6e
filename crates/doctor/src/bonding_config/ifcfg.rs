//! /etc/sysconfig/network-scripts/ifcfg-*, as Red Hat's initscripts and NetworkManager read them.
//!
//! Source: initscripts' sysconfig.txt on BONDING_OPTS, MASTER, SLAVE and ONBOOT.

use std::collections::BTreeMap;

use super::wanted::{Configuration, Wanted};
use crate::evidence::Evidence;
use crate::plan::NetworkTool;
use crate::secret::quoted;

const FOLDER: &str = "/etc/sysconfig/network-scripts";
/// Endings of copies, which are not read; `.old` by later versions.
const COPIES: [&str; 7] = ["~", ".bak", ".old", ".orig", ".rpmnew", ".rpmorig", ".rpmsave"];

/// What is read of a file.
const KEYS: [&str; 6] = ["DEVICE", "TYPE", "ONBOOT", "MASTER", "BONDING_MASTER", "BONDING_OPTS"];

/// Whether a file, or that of an interface, is taken for a copy of another.
pub(crate) fn is_copy(name: &str) -> bool {
    COPIES.iter().any(|ending| name.ends_with(ending))
}

/// Adds the bonds of these files.
pub(super) fn read(evidence: &Evidence, found: &mut Configuration) {
    let is_one = |name: &str| name.starts_with("ifcfg-") && name != "ifcfg-lo" && !is_copy(name);
    let files: Vec<_> = found.files(evidence, &[FOLDER], is_one, wanted);
    let files: Vec<_> = files.iter().map(|(path, text)| (path, assignments(text))).collect();
    if !files.is_empty() {
        found.tools.insert(NetworkTool::Ifcfg);
    }
    let masters: Vec<_> = files.iter().filter_map(|(_, keys)| keys.get("MASTER")).collect();
    let mut bonds: Vec<Wanted> = Vec::new();
    for (path, keys) in &files {
        let device = keys
            .get("DEVICE")
            .map_or_else(|| path.rsplit("ifcfg-").next().unwrap_or_default(), String::as_str);
        let is =
            |key: &str, value: &str| keys.get(key).is_some_and(|known| known.eq_ignore_ascii_case(value));
        let is_bond = is("TYPE", "bond") || is("BONDING_MASTER", "yes") || keys.contains_key("BONDING_OPTS");
        if is_bond || masters.iter().any(|master| *master == device) {
            let mut bond = Wanted::new(device, path, Some(NetworkTool::Ifcfg));
            bond.is_automatic = !is("ONBOOT", "no");
            let options = keys.get("BONDING_OPTS").map(String::as_str).unwrap_or_default();
            for (option, value) in options.split_whitespace().filter_map(|option| option.split_once('=')) {
                bond.set(option, value);
            }
            bonds.push(bond);
        }
    }
    for (path, keys) in &files {
        let Some(master) = keys.get("MASTER") else { continue };
        let device = keys
            .get("DEVICE")
            .map_or_else(|| path.rsplit("ifcfg-").next().unwrap_or_default(), String::as_str);
        if let Some(bond) = bonds.iter_mut().find(|bond| bond.name == *master) {
            bond.add_slave(device);
        }
    }
    found.bonds.extend(bonds);
}

/// Such a file may hold a password of a PPP or Wi-Fi interface.
fn wanted(text: &str) -> Result<String, String> {
    let lines = assignments(text).into_iter().filter(|(key, _)| KEYS.contains(&key.as_str()));
    Ok(lines.map(|(key, value)| format!("{key}={}\n", quoted(&value))).collect())
}

/// The variables that a shell would have set.
fn assignments(text: &str) -> BTreeMap<String, String> {
    let pair = |line: &str| {
        let (key, value) = line.trim().split_once('=')?;
        (!key.starts_with('#')).then(|| (key.trim().to_owned(), unquoted(value.trim()).to_owned()))
    };
    text.lines().filter_map(pair).collect()
}

/// A value without its quotes and what comes after it.
fn unquoted(value: &str) -> &str {
    match value.chars().next() {
        Some(quote @ ('"' | '\'')) => value[1..].split(quote).next().unwrap_or_default(),
        _ => value.split_whitespace().next().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_shell_would_see() {
        let keys = assignments(
            "# a comment\n#DEVICE=x\nDEVICE=bond0 # mine\nBONDING_OPTS=\"mode=4 miimon=100\" # b\nA='x y'\nB=\nC=\"\n",
        );
        assert_eq!((keys["DEVICE"].as_str(), keys["A"].as_str(), keys["B"].as_str()), ("bond0", "x y", ""));
        assert_eq!(keys["BONDING_OPTS"], "mode=4 miimon=100");
        assert_eq!(keys["C"], "");
    }
}
