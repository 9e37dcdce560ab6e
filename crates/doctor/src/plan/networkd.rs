//! Files for systemd-networkd: each bond's device, its network, and a file for each of its interfaces.

use std::fmt::Write as _;

use super::options;
use super::planned::{PlannedBond, PlannedFile};

const FOLDER: &str = "/etc/systemd/network";

/// The files.
pub(super) fn files(bonds: &[PlannedBond]) -> Vec<PlannedFile> {
    let file =
        |name: String, content| PlannedFile { path: format!("{FOLDER}/{name}").into(), mode: 0o644, content };
    let of_bond = |bond: &PlannedBond| {
        let name = &bond.name;
        let mut files = vec![
            file(format!("10-{name}.netdev"), device(bond)),
            file(format!("10-{name}.network"), network(bond)),
        ];
        let slaves = bond.slaves.iter();
        files.extend(slaves.map(|slave| file(format!("10-{name}-{slave}.network"), joined(bond, slave))));
        files
    };
    bonds.iter().flat_map(of_bond).collect()
}

fn device(bond: &PlannedBond) -> String {
    let mut content = format!("[NetDev]\nName={}\nKind=bond\n\n[Bond]\n", bond.name);
    for reason in options::reasons(bond) {
        let _ = writeln!(content, "# {reason}");
    }
    for choice in options::of(bond) {
        let _ = match choice.option {
            "mode" => writeln!(content, "Mode={}", choice.value),
            "miimon" => writeln!(content, "MIIMonitorSec={}ms", choice.value),
            "lacp_rate" => writeln!(content, "LACPTransmitRate={}", choice.value),
            "xmit_hash_policy" => writeln!(content, "TransmitHashPolicy={}", choice.value),
            // The interface's own file tells that it is the primary one.
            _ => Ok(()),
        };
    }
    content
}

fn network(bond: &PlannedBond) -> String {
    let mut content = format!("[Match]\nName={}\n", bond.name);
    if let Some(mtu) = bond.mtu {
        let _ = write!(content, "\n[Link]\nMTUBytes={mtu}\n");
    }
    content.push_str("\n[Network]\n");
    if bond.addresses.is_empty() {
        content.push_str("DHCP=yes\n");
    }
    for address in &bond.addresses {
        let _ = writeln!(content, "Address={address}");
    }
    for gateway in &bond.gateways {
        let _ = writeln!(content, "Gateway={gateway}");
    }
    content
}

fn joined(bond: &PlannedBond, slave: &str) -> String {
    let is_primary =
        options::of(bond).iter().any(|choice| choice.option == "primary" && choice.value == slave);
    let primary = if is_primary { "PrimarySlave=true\n" } else { "" };
    format!("[Match]\nName={slave}\n\n[Network]\nBond={}\n{primary}", bond.name)
}
