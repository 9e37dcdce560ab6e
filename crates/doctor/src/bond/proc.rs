//! /proc/net/bonding/BOND, which all kernels have and each tells a little more in; the driver's bond_procfs.c.

use std::collections::BTreeMap;

use super::mode::Mode;

/// Lines on a bond and the options of sysfs that tell the same.
const OPTIONS: [(&str, &str); 12] = [
    ("Transmit Hash Policy", "xmit_hash_policy"),
    ("Primary Slave", "primary"),
    ("Currently Active Slave", "active_slave"),
    ("MII Status", "mii_status"),
    ("MII Polling Interval (ms)", "miimon"),
    ("Up Delay (ms)", "updelay"),
    ("Down Delay (ms)", "downdelay"),
    ("ARP Polling Interval (ms)", "arp_interval"),
    ("LACP rate", "lacp_rate"),
    ("Min links", "min_links"),
    ("Aggregator ID", "ad_aggregator"),
    ("Partner Mac Address", "ad_partner_mac"),
];

/// What such a file tells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Told {
    /// Of the bond, by the names in sysfs.
    pub(crate) options: BTreeMap<String, String>,
    /// Of its interfaces, in their order: name, and the lines by the words before the colon.
    pub(crate) slaves: Vec<(String, BTreeMap<String, String>)>,
}

impl Told {
    /// Reads the file.
    pub(crate) fn parse(text: &str) -> Self {
        let mut told = Self::default();
        for line in text.lines() {
            let line = line.trim();
            if line.ends_with("has no active aggregator") {
                told.options.insert("ad_aggregator".into(), "0".into());
            }
            let Some((name, value)) = line.split_once(':') else { continue };
            told.line(name.trim(), value.trim());
        }
        told
    }

    fn line(&mut self, name: &str, value: &str) {
        if name == "Slave Interface" {
            self.slaves.push((value.to_owned(), BTreeMap::new()));
        } else if let Some((_, lines)) = self.slaves.last_mut() {
            // What is told of both ends' LACP comes last and has names of its own.
            lines.entry(name.to_owned()).or_insert_with(|| value.to_owned());
        } else if name == "Bonding Mode" {
            let mode = Mode::of_proc(value).map_or(value, |mode| mode.name());
            self.options.insert("mode".into(), mode.to_owned());
        } else if let Some((_, option)) = OPTIONS.iter().find(|(known, _)| *known == name) {
            let value = if value == "None" { "" } else { value };
            self.options.insert((*option).to_owned(), value.to_owned());
        }
    }

    /// How often each interface has lost its link since it joined.
    pub(crate) fn failures(&self) -> BTreeMap<&str, u64> {
        let count = |lines: &BTreeMap<String, String>| lines.get("Link Failure Count")?.parse().ok();
        self.slaves.iter().filter_map(|(name, lines)| Some((name.as_str(), count(lines)?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_2_6_18() {
        let told = Told::parse(
            "Ethernet Channel Bonding Driver: v3.0.3 (March 23, 2006)\n\nBonding Mode: fault-tolerance (active-backup)\n\
             Primary Slave: None\nCurrently Active Slave: eth0\nMII Status: up\nMII Polling Interval (ms): 500\n\
             Up Delay (ms): 0\nDown Delay (ms): 0\n\nSlave Interface: eth0\nMII Status: up\nLink Failure Count: 3\n\
             Permanent HW addr: 00:00:5e:00:53:01\n",
        );
        assert_eq!(told.options["mode"], "active-backup");
        assert_eq!((told.options["miimon"].as_str(), told.options["primary"].as_str()), ("500", ""));
        assert_eq!(told.failures()["eth0"], 3);
        assert_eq!(told.slaves[0].1["Permanent HW addr"], "00:00:5e:00:53:01");
    }

    #[test]
    fn without_an_aggregator() {
        let told = Told::parse(
            "Bonding Mode: IEEE 802.3ad Dynamic link aggregation\nbond bond0 has no active aggregator\n",
        );
        assert_eq!((told.options["mode"].as_str(), told.options["ad_aggregator"].as_str()), ("802.3ad", "0"));
    }
}
