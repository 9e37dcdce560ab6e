//! Network interfaces that are bound together, as the kernel has them and as the host's files want them.
//!
//! Source: Documentation/networking/bonding.rst of the kernel.

use std::collections::BTreeMap;

use crate::evidence::{Evidence, Seen, Unseen};

const MASTERS: &str = "/sys/class/net/bonding_masters";

/// A bond as the kernel has it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Bond {
    /// Its name: `bond0`.
    pub(crate) name: String,
    /// Its options by their names in sysfs; those that are a word and a number hold the word: `802.3ad`.
    pub(crate) options: BTreeMap<String, String>,
}

impl Bond {
    /// All bonds of a host. None is no error.
    pub(crate) fn all(evidence: &Evidence) -> Seen<Vec<Self>> {
        let masters = match evidence.text(MASTERS) {
            Err(Unseen::Missing) => return Ok(Vec::new()),
            other => other?,
        };
        masters.split_whitespace().map(|name| Self::named(evidence, name)).collect()
    }

    fn named(evidence: &Evidence, name: &str) -> Seen<Self> {
        let folder = format!("/sys/class/net/{name}/bonding");
        let mut options = BTreeMap::new();
        for option in evidence.list(&folder)? {
            // Some can be read by root only, and some while the mode is theirs.
            if let Ok(value) = evidence.text(format!("{folder}/{option}")) {
                options.insert(option, value);
            }
        }
        Ok(Self { name: name.to_owned(), options })
    }

    /// An option's word, where the kernel tells word and number; empty if it does not tell the option.
    pub(crate) fn word(&self, option: &str) -> &str {
        self.options.get(option).and_then(|value| value.split_whitespace().next()).unwrap_or_default()
    }

    /// An option that is a number.
    pub(crate) fn number(&self, option: &str) -> Option<u64> {
        self.word(option).parse().ok()
    }
}
