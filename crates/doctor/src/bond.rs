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
    /// The interfaces in it.
    pub(crate) slaves: Vec<Slave>,
}

/// An interface in a bond.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Slave {
    /// Its name: `eth0`.
    pub(crate) name: String,
    /// What the bond sees of its link: `up`, `down`, `going back`.
    pub(crate) link: Option<String>,
    /// How often the link was lost.
    pub(crate) failures: Option<u64>,
    /// The group of links that it is in (802.3ad).
    pub(crate) aggregator: Option<String>,
    /// Megabits a second.
    pub(crate) speed: Option<i64>,
    /// `full` or `half`.
    pub(crate) duplex: Option<String>,
    /// Bytes.
    pub(crate) mtu: Option<u64>,
    /// Bytes that were sent since it is up.
    pub(crate) sent: Option<u64>,
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
        let names = options.remove("slaves").unwrap_or_default();
        let slaves = names.split_whitespace().map(|slave| Slave::named(evidence, slave)).collect();
        Ok(Self { name: name.to_owned(), options, slaves })
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

impl Slave {
    fn named(evidence: &Evidence, name: &str) -> Self {
        let folder = format!("/sys/class/net/{name}");
        let text =
            |file: &str| evidence.text(format!("{folder}/{file}")).ok().filter(|text| !text.is_empty());
        let number = |file: &str| text(file).and_then(|text| text.parse::<u64>().ok());
        Self {
            name: name.to_owned(),
            link: text("bonding_slave/mii_status"),
            failures: number("bonding_slave/link_failure_count"),
            aggregator: text("bonding_slave/ad_aggregator_id"),
            speed: text("speed").and_then(|speed| speed.parse().ok()),
            duplex: text("duplex"),
            mtu: number("mtu"),
            sent: number("statistics/tx_bytes"),
        }
    }
}
