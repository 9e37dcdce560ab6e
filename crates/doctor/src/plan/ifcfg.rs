//! Files for Red Hat's initscripts: one for each bond and each of its interfaces.

use std::fmt::Write as _;

use super::options;
use super::planned::{Address, PlannedBond, PlannedFile};

/// The files.
pub(super) fn files(bonds: &[PlannedBond]) -> Vec<PlannedFile> {
    let file = |name: &str, content| {
        let path = format!("/etc/sysconfig/network-scripts/ifcfg-{name}").into();
        PlannedFile { path, mode: 0o644, content }
    };
    let of_bond = |bond: &PlannedBond| {
        let mut files = vec![file(&bond.name, device(bond))];
        files.extend(bond.slaves.iter().map(|slave| file(slave, joined(bond, slave))));
        files
    };
    bonds.iter().flat_map(of_bond).collect()
}

fn device(bond: &PlannedBond) -> String {
    let mut content = String::new();
    for reason in options::reasons(bond) {
        let _ = writeln!(content, "# {reason}");
    }
    let name = &bond.name;
    let _ = write!(content, "DEVICE={name}\nNAME={name}\nTYPE=Bond\nBONDING_MASTER=yes\n");
    let _ = writeln!(content, "BONDING_OPTS=\"{}\"\nONBOOT=yes", options::line(bond));
    content.push_str(if bond.addresses.is_empty() { "BOOTPROTO=dhcp\n" } else { "BOOTPROTO=none\n" });
    let (v4, v6): (Vec<&Address>, Vec<&Address>) =
        bond.addresses.iter().partition(|address| address.ip.is_ipv4());
    for (at, address) in v4.iter().enumerate() {
        let number = if at == 0 { String::new() } else { at.to_string() };
        let _ = write!(content, "IPADDR{number}={}\nPREFIX{number}={}\n", address.ip, address.prefix);
    }
    if let Some((first, others)) = v6.split_first() {
        let _ = writeln!(content, "IPV6INIT=yes\nIPV6ADDR={first}");
        let others: Vec<_> = others.iter().map(ToString::to_string).collect();
        if !others.is_empty() {
            let _ = writeln!(content, "IPV6ADDR_SECONDARIES=\"{}\"", others.join(" "));
        }
    }
    for gateway in &bond.gateways {
        let key = if gateway.is_ipv4() { "GATEWAY" } else { "IPV6_DEFAULTGW" };
        let _ = writeln!(content, "{key}={gateway}");
    }
    if let Some(mtu) = bond.mtu {
        let _ = writeln!(content, "MTU={mtu}");
    }
    content
}

fn joined(bond: &PlannedBond, slave: &str) -> String {
    let master = &bond.name;
    format!(
        "DEVICE={slave}\nNAME={master}-{slave}\nTYPE=Ethernet\nONBOOT=yes\nBOOTPROTO=none\nMASTER={master}\nSLAVE=yes\n"
    )
}
