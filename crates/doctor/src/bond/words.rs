//! Values of a bond's options, which may be written as words or as numbers.

use super::mode::Mode;

/// The words of options that have words, each at the place of its number; the tables of the driver's bond_options.c.
const WORDS: [(&str, &[&str]); 7] = [
    ("xmit_hash_policy", &["layer2", "layer3+4", "layer2+3", "encap2+3", "encap3+4", "vlan+srcmac"]),
    ("lacp_rate", &["slow", "fast"]),
    ("lacp_active", &["off", "on"]),
    ("ad_select", &["stable", "bandwidth", "count"]),
    ("primary_reselect", &["always", "better", "failure"]),
    ("fail_over_mac", &["none", "active", "follow"]),
    ("arp_validate", &["none", "active", "backup", "all", "filter", "filter_active", "filter_backup"]),
];

/// Options that have no words: numbers, times, addresses and names of interfaces; bonding.rst, and the parameters of the module.
const OTHERS: [&str; 19] = [
    "mode",
    "miimon",
    "updelay",
    "downdelay",
    "use_carrier",
    "peer_notif_delay",
    "primary",
    "active_slave",
    "min_links",
    "arp_interval",
    "arp_ip_target",
    "arp_all_targets",
    "all_slaves_active",
    "resend_igmp",
    "packets_per_slave",
    "lp_interval",
    "max_bonds",
    "tx_queues",
    "tlb_dynamic_lb",
];

/// Whether the driver has an option of this name; the names of two have changed, and some are written with hyphens.
pub(crate) fn is_option(name: &str) -> bool {
    let name = name.replace('-', "_");
    let old = [
        "num_grat_arp",
        "num_unsol_na",
        "ns_ip6_target",
        "ad_actor_sys_prio",
        "ad_actor_system",
        "ad_user_port_key",
    ];
    OTHERS.iter().chain(&old).any(|known| *known == name) || WORDS.iter().any(|(known, _)| *known == name)
}

/// The word of an option's value: `802.3ad` for `802.3ad 4` as the kernel tells it, and for `4`.
pub(crate) fn word(option: &str, value: &str) -> String {
    let first = value.split_whitespace().next().unwrap_or_default();
    if option == "mode" {
        return Mode::parse(first).map_or(first, |mode| mode.name()).to_owned();
    }
    let number = first.parse::<usize>().ok();
    let words = WORDS.iter().find(|(name, _)| *name == option).map(|(_, words)| *words);
    number.and_then(|number| words?.get(number).copied()).unwrap_or(first).to_owned()
}

/// Whether a name, a value or a path is no more to a shell than what it is. Those of files and of the kernel may hold anything, and
/// commands are made of them that a person runs as root.
pub(crate) fn is_plain(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "._+:,/@=-".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_shell_takes_as_it_is() {
        assert!(is_plain("/etc/sysconfig/network-scripts/ifcfg-bond0.100") && is_plain("layer3+4"));
        assert!(
            ["", "a b", "bond0;reboot", "$(reboot)", "a'b", "a\nb", "a*"].iter().all(|text| !is_plain(text))
        );
    }

    #[test]
    fn words_of_numbers() {
        assert_eq!(word("mode", "802.3ad 4"), "802.3ad");
        assert_eq!(word("mode", "1"), "active-backup");
        assert_eq!(word("xmit_hash_policy", "layer3+4 1"), "layer3+4");
        assert_eq!(word("xmit_hash_policy", "2"), "layer2+3");
        assert_eq!(word("lacp_rate", "1"), "fast");
        assert_eq!(word("miimon", "1"), "1");
        assert_eq!(word("primary", ""), "");
    }
}
