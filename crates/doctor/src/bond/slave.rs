//! An interface of a bond.

use std::collections::BTreeMap;

use crate::evidence::Evidence;

/// What the kernel tells of it; `None` is what it does not tell.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Slave {
    /// Its name.
    pub(crate) name: String,
    /// Whether its link is up.
    pub(crate) is_up: Option<bool>,
    /// How often the link was lost since it joined.
    pub(crate) failures: Option<u64>,
    /// Under 802.3ad, the number of the set of links it belongs to; `N/A` if to none.
    pub(crate) aggregator: Option<String>,
    /// In bytes.
    pub(crate) mtu: Option<u64>,
    /// In Mbit/s.
    pub(crate) speed: Option<u64>,
    /// Whether it sends and receives at once.
    pub(crate) is_full_duplex: Option<bool>,
    /// Bytes sent since it was made.
    pub(crate) sent: Option<u64>,
}

impl Slave {
    /// From sysfs, and from the lines of /proc/net/bonding where an older kernel's sysfs does not tell it.
    pub(crate) fn named(evidence: &Evidence, name: &str, told: &BTreeMap<String, String>) -> Self {
        let folder = format!("/sys/class/net/{name}");
        // Speed and duplex of an interface that is down cannot be read at all.
        let file = |file: &str| evidence.text(format!("{folder}/{file}")).ok();
        let either = |in_sysfs: &str, in_proc: &str| file(in_sysfs).or_else(|| told.get(in_proc).cloned());
        let number = |text: Option<String>| text?.split_whitespace().next()?.parse::<u64>().ok();
        let link = either("bonding_slave/mii_status", "MII Status").map(|status| status == "up");
        let state = file("operstate").and_then(|state| match state.as_str() {
            "up" => Some(true),
            "down" | "lowerlayerdown" | "notpresent" => Some(false),
            _ => None,
        });
        // A bond that does not watch links takes all for up.
        let is_up = if state == Some(false) { state } else { link.or(state) };
        let duplex = either("duplex", "Duplex");
        Self {
            name: name.to_owned(),
            is_up,
            failures: number(either("bonding_slave/link_failure_count", "Link Failure Count")),
            aggregator: either("bonding_slave/ad_aggregator_id", "Aggregator ID"),
            mtu: number(file("mtu")),
            // What is not known is -1, which older kernels print as 65535 or 4294967295, or a word.
            speed: number(either("speed", "Speed"))
                .filter(|speed| ![0, 65_535, 4_294_967_295].contains(speed)),
            is_full_duplex: match duplex.as_deref() {
                Some("full") => Some(true),
                Some("half") => Some(false),
                _ => None,
            },
            sent: number(file("statistics/tx_bytes")),
        }
    }
}
