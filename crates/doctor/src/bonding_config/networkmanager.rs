//! NetworkManager's keyfiles; nm-settings-keyfile(5).

use super::ini::{self, Section};
use super::wanted::{Configuration, Wanted};
use crate::bond::words::is_option;
use crate::evidence::Evidence;
use crate::plan::NetworkTool;

const FOLDERS: [&str; 3] = [
    "/etc/NetworkManager/system-connections",
    "/run/NetworkManager/system-connections",
    "/usr/lib/NetworkManager/system-connections",
];

/// Keys of the section `[connection]` that are read.
const OF_CONNECTION: [&str; 7] =
    ["type", "uuid", "id", "interface-name", "master", "controller", "autoconnect"];

/// Adds the bonds of these files, which mostly only root can read.
pub(super) fn read(evidence: &Evidence, found: &mut Configuration) {
    let before = found.unseen.len();
    let files =
        found.files(evidence, &FOLDERS, |name| !name.starts_with('.') && !name.ends_with('~'), wanted);
    if !files.is_empty() || found.unseen.len() > before {
        found.tools.insert(NetworkTool::NetworkManager);
    }
    let files: Vec<_> = files.iter().map(|(path, text)| (path, ini::parse(text))).collect();
    let mut bonds: Vec<(Option<&str>, Wanted)> = Vec::new();
    for (path, sections) in &files {
        if of_connection(sections, &["type"]) == Some("bond") {
            bonds.push((of_connection(sections, &["uuid"]), bond(path, sections)));
        }
    }
    for (path, sections) in &files {
        // The second names are those of NetworkManager 1.48 and later.
        let Some(master) = of_connection(sections, &["master", "controller"]) else { continue };
        let name = path.rsplit('/').next().and_then(|name| name.strip_suffix(".nmconnection"));
        let Some(name) = of_connection(sections, &["interface-name"]).or(name) else { continue };
        for (uuid, bond) in &mut bonds {
            if bond.name == master || *uuid == Some(master) {
                bond.add_slave(name);
            }
        }
    }
    found.bonds.extend(bonds.into_iter().map(|(_, bond)| bond));
}

/// A connection may be a Wi-Fi or a VPN, with its passwords.
fn wanted(text: &str) -> Result<String, String> {
    let is_wanted = |section: &str, key: &str| match section {
        "connection" => OF_CONNECTION.contains(&key),
        "bond" => is_option(key) || key == "interface-name",
        _ => false,
    };
    Ok(ini::chosen(text, is_wanted))
}

fn of_connection<'a>(sections: &'a [Section], keys: &[&str]) -> Option<&'a str> {
    keys.iter().find_map(|key| ini::value(sections, "connection", key))
}

fn bond(path: &str, sections: &[Section]) -> Wanted {
    let old_name = || ini::value(sections, "bond", "interface-name");
    let name = of_connection(sections, &["interface-name"]).or_else(old_name).unwrap_or_default();
    let mut bond = Wanted::new(name, path, Some(NetworkTool::NetworkManager));
    of_connection(sections, &["id"]).unwrap_or(name).clone_into(&mut bond.connection);
    let automatic = of_connection(sections, &["autoconnect"]).unwrap_or("true");
    bond.is_automatic = !matches!(automatic, "false" | "no" | "0");
    for (key, value) in ini::keys(sections, "bond").filter(|(key, _)| *key != "interface-name") {
        bond.set(key, value);
    }
    bond
}
