//! Network interfaces that are bound together, as the kernel has them.
//!
//! Source: Documentation/networking/bonding.rst of the kernel, and its drivers/net/bonding.

pub(crate) mod mode;
pub(crate) mod proc;
mod slave;
pub(crate) mod words;

use std::collections::{BTreeMap, BTreeSet};

use crate::evidence::{Evidence, Seen, Unseen};
use crate::facts::PROC_BONDING;

pub use mode::Mode;
pub(crate) use slave::Slave;

const MASTERS: &str = "/sys/class/net/bonding_masters";

/// A bond as the kernel has it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Bond {
    /// Its name: `bond0`.
    pub(crate) name: String,
    /// Its options by their names in sysfs, as the kernel tells them: `802.3ad 4`.
    pub(crate) options: BTreeMap<String, String>,
    /// Its interfaces, in their order.
    pub(crate) slaves: Vec<Slave>,
    /// In bytes.
    pub(crate) mtu: Option<u64>,
}

impl Bond {
    /// All bonds of a host. None is no error.
    pub(crate) fn all(evidence: &Evidence) -> Seen<Vec<Self>> {
        let mut names = BTreeSet::new();
        match evidence.text(MASTERS) {
            Err(Unseen::Missing) => {}
            other => names.extend(other?.split_whitespace().map(str::to_owned)),
        }
        // A copy of a host may hold one and not the other.
        names.extend(evidence.list(PROC_BONDING).unwrap_or_default());
        names.iter().map(|name| Self::named(evidence, name)).collect()
    }

    fn named(evidence: &Evidence, name: &str) -> Seen<Self> {
        let folder = format!("/sys/class/net/{name}/bonding");
        let told = evidence.text(format!("{PROC_BONDING}/{name}"));
        let told = told.as_deref().map(proc::Told::parse).unwrap_or_default();
        let listed = match evidence.list(&folder) {
            Err(Unseen::Missing) if !told.options.is_empty() => Vec::new(),
            other => other?,
        };
        let mut options = told.options;
        for option in listed {
            // Some can be read by root only, and some tell nothing to others, or while the mode is not theirs.
            if let Ok(value) = evidence.text(format!("{folder}/{option}"))
                && !(value.is_empty() && options.contains_key(&option))
            {
                options.insert(option, value);
            }
        }
        let names: Vec<String> = match options.get("slaves") {
            Some(names) => names.split_whitespace().map(str::to_owned).collect(),
            None => told.slaves.iter().map(|(name, _)| name.clone()).collect(),
        };
        if let Some(odd) = names.iter().chain([&name.to_owned()]).find(|name| !words::is_plain(name)) {
            return Err(Unseen::Failed(format!("an interface with the name {odd:?} is not looked at")));
        }
        let none = BTreeMap::new();
        let lines = |name: &str| {
            told.slaves.iter().find(|(known, _)| known == name).map_or(&none, |(_, lines)| lines)
        };
        let slaves = names.iter().map(|name| Slave::named(evidence, name, lines(name))).collect();
        let mtu = evidence.text(format!("/sys/class/net/{name}/mtu")).ok().and_then(|mtu| mtu.parse().ok());
        Ok(Self { name: name.to_owned(), options, slaves, mtu })
    }

    /// An option's word, where the kernel tells word and number; empty if it does not tell the option.
    pub(crate) fn word(&self, option: &str) -> &str {
        self.options.get(option).and_then(|value| value.split_whitespace().next()).unwrap_or_default()
    }

    /// An option that is a number.
    pub(crate) fn number(&self, option: &str) -> Option<u64> {
        self.word(option).parse().ok()
    }

    /// Its mode.
    pub(crate) fn mode(&self) -> Option<Mode> {
        Mode::parse(self.word("mode"))
    }

    /// The file that takes an option.
    pub(crate) fn file(&self, option: &str) -> String {
        format!("/sys/class/net/{}/bonding/{option}", self.name)
    }

    /// Those of its interfaces whose link is up.
    pub(crate) fn slaves_up(&self) -> Vec<&Slave> {
        self.slaves.iter().filter(|slave| slave.is_up == Some(true)).collect()
    }
}
