//! Debian's /etc/network/interfaces; interfaces(5), and ifenslave's README.Debian on the options of bonds.

use super::wanted::{Configuration, Wanted};
use crate::evidence::Evidence;

const FILE: &str = "/etc/network/interfaces";

/// Adds the bonds of these files.
pub(super) fn read(evidence: &Evidence, found: &mut Configuration) {
    let mut files: Vec<_> =
        found.text(evidence, FILE, wanted).map(|text| (FILE.to_owned(), text)).into_iter().collect();
    files.extend(found.files(evidence, &["/etc/network/interfaces.d"], |_| true, wanted));
    let mut stanzas = Vec::new();
    let mut automatic = Vec::new();
    for (path, text) in &files {
        read_file(path, text, &mut stanzas, &mut automatic);
    }
    found.has_interfaces = stanzas.iter().any(|stanza| stanza.name != "lo");
    // A stanza for each family: the options of a bond may stand in any of them.
    let mut bonds: Vec<Wanted> = Vec::new();
    for stanza in stanzas.iter().filter(|stanza| stanza.is_bond()) {
        let at = bonds.iter().position(|bond| bond.name == stanza.name).unwrap_or_else(|| {
            bonds.push(Wanted::new(stanza.name, stanza.file, None));
            bonds.len() - 1
        });
        let bond = &mut bonds[at];
        bond.is_automatic = automatic.contains(&stanza.name);
        for (option, value) in &stanza.options {
            match option.as_str() {
                "slaves" => value
                    .split_whitespace()
                    .filter(|name| *name != "none")
                    .for_each(|name| bond.add_slave(name)),
                "master" => {}
                _ => bond.set(option, value),
            }
        }
    }
    for stanza in &stanzas {
        let master = stanza.options.iter().find(|(option, _)| option == "master").map(|(_, master)| *master);
        if let Some(bond) = bonds.iter_mut().find(|bond| Some(bond.name.as_str()) == master) {
            bond.add_slave(stanza.name);
        }
    }
    found.bonds.extend(bonds);
}

/// Other lines of a file may hold passwords of Wi-Fi and commands of any kind.
fn wanted(text: &str) -> Result<String, String> {
    let mut out = String::new();
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        let key = words.next().unwrap_or_default();
        let kept = match key {
            "iface" => format!("{key} {}", words.next().unwrap_or_default()),
            "mapping" | "source" | "source-directory" => key.to_owned(),
            "auto" | "allow-hotplug" | "allow-auto" => line.to_owned(),
            _ if of_bond(key).is_some() => line.to_owned(),
            _ => continue,
        };
        out.push_str(&kept);
        out.push('\n');
    }
    Ok(out)
}

/// The option of a bond that a key is for.
fn of_bond(key: &str) -> Option<&str> {
    key.strip_prefix("bond-").or_else(|| key.strip_prefix("bond_"))
}

/// The options of an interface that have to do with bonds.
struct Stanza<'a> {
    file: &'a str,
    name: &'a str,
    options: Vec<(String, &'a str)>,
}

impl Stanza<'_> {
    fn is_bond(&self) -> bool {
        self.options.iter().any(|(option, _)| matches!(option.as_str(), "mode" | "slaves" | "miimon"))
    }
}

fn read_file<'a>(file: &'a str, text: &'a str, stanzas: &mut Vec<Stanza<'a>>, automatic: &mut Vec<&'a str>) {
    let mut is_open = false;
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        match words.next().unwrap_or_default() {
            "iface" => {
                is_open = true;
                stanzas.push(Stanza { file, name: words.next().unwrap_or_default(), options: Vec::new() });
            }
            "auto" | "allow-hotplug" | "allow-auto" => {
                is_open = false;
                automatic.extend(words);
            }
            "mapping" | "source" | "source-directory" => is_open = false,
            key => {
                if let (true, Some(option), Some(stanza)) = (is_open, of_bond(key), stanzas.last_mut()) {
                    stanza.options.push((option.replace('-', "_"), line[key.len()..].trim()));
                }
            }
        }
    }
}
