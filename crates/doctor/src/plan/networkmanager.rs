//! Keyfiles for NetworkManager: one for each bond and each of its interfaces. It makes up their UUIDs from the names of the files.

use std::fmt::Write as _;

use super::options;
use super::planned::{PlannedBond, PlannedFile};

/// The files, which NetworkManager reads only if nobody but root can.
pub(super) fn files(bonds: &[PlannedBond]) -> Vec<PlannedFile> {
    let file = |name: &str, content| {
        let path = format!("/etc/NetworkManager/system-connections/{name}.nmconnection").into();
        PlannedFile { path, mode: 0o600, content }
    };
    let of_bond = |bond: &PlannedBond| {
        let mut files = vec![file(&bond.name, device(bond))];
        let slaves = bond.slaves.iter();
        files.extend(slaves.map(|slave| file(&format!("{}-{slave}", bond.name), joined(bond, slave))));
        files
    };
    bonds.iter().flat_map(of_bond).collect()
}

fn device(bond: &PlannedBond) -> String {
    let name = &bond.name;
    // Its interfaces are brought up with it, however it is started.
    let mut content = format!(
        "[connection]\nid={name}\ntype=bond\ninterface-name={name}\nautoconnect-slaves=1\n\n[bond]\n"
    );
    for reason in options::reasons(bond) {
        let _ = writeln!(content, "# {reason}");
    }
    for choice in options::of(bond) {
        let _ = writeln!(content, "{}={}", choice.option, choice.value);
    }
    if let Some(mtu) = bond.mtu {
        let _ = write!(content, "\n[ethernet]\nmtu={mtu}\n");
    }
    for is_v4 in [true, false] {
        family(&mut content, bond, is_v4);
    }
    content
}

fn family(content: &mut String, bond: &PlannedBond, is_v4: bool) {
    let addresses: Vec<_> = bond.addresses.iter().filter(|address| address.ip.is_ipv4() == is_v4).collect();
    let method = match (addresses.is_empty(), is_v4, bond.addresses.is_empty()) {
        (false, ..) => "manual",
        (true, true, false) => "disabled",
        _ => "auto",
    };
    let _ = write!(content, "\n[{}]\nmethod={method}\n", if is_v4 { "ipv4" } else { "ipv6" });
    for (at, address) in addresses.iter().enumerate() {
        let _ = writeln!(content, "address{}={address}", at + 1);
    }
    for gateway in bond.gateways.iter().filter(|gateway| gateway.is_ipv4() == is_v4) {
        let _ = writeln!(content, "gateway={gateway}");
    }
}

fn joined(bond: &PlannedBond, slave: &str) -> String {
    let master = &bond.name;
    format!(
        "[connection]\nid={master}-{slave}\ntype=ethernet\ninterface-name={slave}\nmaster={master}\nslave-type=bond\n"
    )
}
