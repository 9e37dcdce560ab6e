//! The options that a bond gets, and why.

use super::planned::{NetworkTool, PlannedBond};
use crate::bond::Mode;

/// An option in the driver's words, and why it is set.
pub(super) struct Choice {
    pub(super) option: &'static str,
    pub(super) value: String,
    pub(super) why: Option<&'static str>,
}

/// The options of a bond, its mode first.
pub(super) fn of(bond: &PlannedBond) -> Vec<Choice> {
    let choice = |option, value: &str, why| Choice { option, value: value.to_owned(), why };
    let mut choices = vec![
        choice("mode", bond.mode.name(), None),
        choice("miimon", "100", Some("without it a lost link is not noticed")),
    ];
    if bond.mode == Mode::Lacp {
        let why =
            "the switch is asked each second, not every 30: a dead partner is noticed after 3 s, not 90";
        choices.push(choice("lacp_rate", "fast", Some(why)));
    }
    if bond.mode.hashes() {
        let why = "spreads connections between the same two hosts, too; the kernel's default layer2 puts each peer on one link";
        choices.push(choice("xmit_hash_policy", "layer3+4", Some(why)));
    }
    if let (Mode::ActiveBackup, Some(first)) = (bond.mode, bond.slaves.first()) {
        choices.push(choice("primary", first, Some("works whenever its link is up")));
    }
    choices
}

/// The comments of a bond's options: `OPTION: why`.
pub(super) fn reasons(bond: &PlannedBond) -> Vec<String> {
    let told = |choice: Choice| Some(format!("{} {}: {}", choice.option, choice.value, choice.why?));
    let mut reasons: Vec<_> = of(bond).into_iter().filter_map(told).collect();
    if bond.mode == Mode::BalanceRr {
        reasons.push("balance-rr: packets of one TCP connection may overtake each other".into());
    }
    reasons
}

/// `mode=802.3ad miimon=100 …`, as the module and ifcfg files take them.
pub(super) fn line(bond: &PlannedBond) -> String {
    let options: Vec<_> =
        of(bond).iter().map(|choice| format!("{}={}", choice.option, choice.value)).collect();
    options.join(" ")
}

/// What gives a bond its mode in a file of a tool, in a line, and where.
pub(crate) fn setting(tool: NetworkTool, bond: &str, mode: Mode) -> String {
    let name = mode.name();
    match tool {
        NetworkTool::Netplan => {
            format!(
                "in /etc/netplan: bonds: {{{bond}: {{parameters: {{mode: {name}, mii-monitor-interval: 100}}}}}}"
            )
        }
        NetworkTool::Networkd => {
            format!(
                "in the .netdev file of {bond} below /etc/systemd/network, under [Bond]: Mode={name} and MIIMonitorSec=100ms"
            )
        }
        NetworkTool::Ifcfg => {
            format!("in /etc/sysconfig/network-scripts/ifcfg-{bond}: BONDING_OPTS=\"mode={name} miimon=100\"")
        }
        NetworkTool::NetworkManager => {
            format!(
                "in the keyfile of {bond}, under [bond]: mode={name} and miimon=100; nmcli connection modify sets it as bond.options"
            )
        }
    }
}
