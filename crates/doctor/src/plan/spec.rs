//! What is asked for on the command line: `eth0,eth1:4`, `bond0=192.0.2.1/24`.

use std::collections::BTreeSet;
use std::net::IpAddr;

use super::planned::{Address, NetworkTool, PlannedBond};
use crate::args::PlanArgs;
use crate::bond::Mode;
use crate::bonding_config::ifcfg::is_copy;
use crate::{Error, Result};

/// IFNAMSIZ without the byte that ends it.
const NAME_BYTES: usize = 15;
/// Of a packet that IPv4 must carry, and the largest that it can.
const MTU: std::ops::RangeInclusive<u32> = 68..=65_535;

/// The bonds that are asked for.
pub(super) fn bonds(args: &PlanArgs) -> Result<Vec<PlannedBond>> {
    if let Some(mtu) = args.mtu.filter(|mtu| !MTU.contains(mtu)) {
        return Err(Error::with_hint(
            format!("--mtu {mtu}: an interface cannot have it"),
            format!(
                "from {} to {} bytes; 9000 where the switch has jumbo frames, else leave it out",
                MTU.start(),
                MTU.end()
            ),
        ));
    }
    let mut bonds: Vec<_> =
        args.bonds.iter().enumerate().map(|(at, text)| bond(at, text, args.mtu)).collect::<Result<_>>()?;
    distinct(&bonds)?;
    if args.tool == NetworkTool::Ifcfg {
        bonds.iter().try_for_each(has_files)?;
    }
    for text in &args.address {
        let (bond, address) = of_bond(&mut bonds, "--address", text)?;
        bond.addresses.push(parse_address(address)?);
    }
    for text in &args.gateway {
        let (bond, gateway) = of_bond(&mut bonds, "--gateway", text)?;
        let gateway = gateway.parse::<IpAddr>();
        bond.gateways.push(gateway.map_err(|_| {
            Error::with_hint(format!("--gateway {text}: that is no address"), "write it as bond0=192.0.2.254")
        })?);
    }
    bonds.iter().try_for_each(|bond| match (bond.addresses.is_empty(), bond.gateways.first()) {
        (true, Some(gateway)) => Err(Error::with_hint(
            format!("--gateway {}={gateway}: the bond has no --address", bond.name),
            "by DHCP it gets its gateway, too",
        )),
        _ => Ok(()),
    })?;
    Ok(bonds)
}

/// `[NAME=]INTERFACE[,INTERFACE…]:MODE`; without a name it is `bond` and its place.
fn bond(at: usize, text: &str, mtu: Option<u32>) -> Result<PlannedBond> {
    let hint = "write a bond as INTERFACE,INTERFACE:MODE, such as eth0,eth1:4 or data=eth0,eth1:802.3ad";
    let wrong = |what: &str| Error::with_hint(format!("'{text}': {what}"), hint);
    let (left, mode) = text.rsplit_once(':').ok_or_else(|| wrong("it names no mode"))?;
    let mode = Mode::parse(mode).ok_or_else(|| {
        let known: Vec<_> =
            Mode::ALL.iter().map(|mode| format!("{} {}", mode.number(), mode.name())).collect();
        Error::with_hint(
            format!("'{text}': there is no mode '{mode}'"),
            format!("the modes are {}", known.join(", ")),
        )
    })?;
    let (name, slaves) = match left.split_once('=') {
        Some((name, slaves)) => (name.to_owned(), slaves),
        None => (format!("bond{at}"), left),
    };
    if slaves.is_empty() {
        return Err(wrong("it names no interface"));
    }
    let slaves: Vec<_> = slaves.split(',').map(str::to_owned).collect();
    slaves.iter().chain([&name]).try_for_each(|name| valid(name))?;
    if slaves.iter().chain([&name]).any(|name| name == "lo") {
        return Err(wrong("lo is the loopback interface, which cannot be in a bond nor be one"));
    }
    Ok(PlannedBond { name, mode, slaves, addresses: Vec::new(), gateways: Vec::new(), mtu })
}

/// The kernel takes more, such as quotes and wildcards, which the files of one or another tool cannot hold.
fn valid(name: &str) -> Result<()> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let what = if name.is_empty() {
        "an interface without a name"
    } else if name.len() > NAME_BYTES {
        "the name has more than 15 bytes"
    } else if matches!(name, "all" | "default" | "bonding_masters") {
        "the kernel has this name for something else"
    } else if !name.starts_with(|c: char| c.is_ascii_alphanumeric()) || !name.chars().all(is_allowed) {
        "no name of an interface"
    } else if name.chars().all(|c| c.is_ascii_digit()) {
        "a name of digits only, which would be taken for a number"
    } else {
        return Ok(());
    };
    let hint = "`ip link` lists the interfaces; 15 letters, digits, '.', '_' and '-' at most";
    Err(Error::with_hint(format!("'{name}': {what}"), hint))
}

/// The files of ifcfg have the names of their interfaces.
fn has_files(bond: &PlannedBond) -> Result<()> {
    match bond.slaves.iter().chain([&bond.name]).find(|name| is_copy(name)) {
        Some(name) => Err(Error::with_hint(
            format!("'{name}': ifcfg takes a file of this name for a copy, and does not read it"),
            "give the interface another name, or use --tool networkmanager",
        )),
        None => Ok(()),
    }
}

/// No interface is in two bonds, and no bond has the name of another or of an interface.
fn distinct(bonds: &[PlannedBond]) -> Result<()> {
    let mut seen = BTreeSet::new();
    let mut slaves = bonds.iter().flat_map(|bond| &bond.slaves);
    if let Some(twice) = slaves.find(|slave| !seen.insert(*slave)) {
        return Err(Error::with_hint(
            format!("{twice} is used twice"),
            "an interface can be in one bond only, once",
        ));
    }
    if let Some(bond) = bonds.iter().find(|bond| !seen.insert(&bond.name)) {
        return Err(Error::with_hint(
            format!("{} is the name of two things", bond.name),
            "give the bond another name: NAME=INTERFACE,INTERFACE:MODE",
        ));
    }
    Ok(())
}

/// The bond that `BOND=VALUE` is for, and the value.
fn of_bond<'a, 'b>(
    bonds: &'a mut [PlannedBond],
    option: &str,
    text: &'b str,
) -> Result<(&'a mut PlannedBond, &'b str)> {
    let names: Vec<_> = bonds.iter().map(|bond| bond.name.clone()).collect();
    let split = text.split_once('=');
    let bond = split.and_then(|(name, _)| bonds.iter_mut().find(|bond| bond.name == name));
    match (bond, split) {
        (Some(bond), Some((_, value))) => Ok((bond, value)),
        _ => {
            let what = format!("{option} {text}: it names none of the bonds");
            Err(Error::with_hint(what, format!("write it as BOND=…; the bonds are {}", names.join(", "))))
        }
    }
}

fn parse_address(text: &str) -> Result<Address> {
    let parse = || {
        let (ip, prefix) = text.split_once('/')?;
        let (ip, prefix) = (ip.parse::<IpAddr>().ok()?, prefix.parse::<u8>().ok()?);
        let bits = if ip.is_ipv4() { 32 } else { 128 };
        (1..=bits).contains(&prefix).then_some(Address { ip, prefix })
    };
    parse().ok_or_else(|| {
        let what = format!("'{text}' is no address with the length of its prefix");
        Error::with_hint(what, "write it as 192.0.2.1/24 or 2001:db8::1/64")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(bonds: &[&str]) -> PlanArgs {
        PlanArgs {
            bonds: bonds.iter().map(|text| (*text).to_owned()).collect(),
            tool: NetworkTool::Netplan,
            address: Vec::new(),
            gateway: Vec::new(),
            mtu: None,
            dir: None,
            root: None,
        }
    }

    #[test]
    fn what_is_asked_for() {
        let mut args = args(&["eth0,eth1:4", "data=eth2,eth3:active-backup"]);
        args.address = vec!["bond0=192.0.2.1/24".into(), "bond0=2001:db8::1/64".into()];
        args.gateway = vec!["bond0=192.0.2.254".into()];
        let bonds = bonds(&args).unwrap();
        assert_eq!(
            (bonds[0].name.as_str(), bonds[0].mode, bonds[0].addresses.len()),
            ("bond0", Mode::Lacp, 2)
        );
        assert_eq!((bonds[1].name.as_str(), bonds[1].mode), ("data", Mode::ActiveBackup));
        assert_eq!(bonds[1].slaves, ["eth2", "eth3"]);
    }

    #[test]
    fn names_of_copies() {
        let mut args = args(&["a.old,eth1:1"]);
        assert!(bonds(&args).is_ok());
        args.tool = NetworkTool::Ifcfg;
        let error = bonds(&args).unwrap_err();
        assert!(error.to_string().contains("'a.old'") && error.hint().is_some(), "{error}");
    }

    #[test]
    fn what_cannot_be() {
        let refused = |texts: &[&str], what: &str| {
            let error = bonds(&args(texts)).unwrap_err();
            assert!(error.to_string().contains(what), "{texts:?}: {error}");
            assert!(error.hint().is_some(), "{texts:?}");
        };
        refused(&["eth0,eth1"], "no mode");
        refused(&["eth0,eth1:7"], "no mode '7'");
        refused(&["eth0,eth1:lacp"], "no mode 'lacp'");
        refused(&[":1"], "no interface");
        refused(&["eth0,:1"], "without a name");
        refused(&["eth0,eth0:1"], "eth0 is used twice");
        refused(&["eth0,eth1:1", "eth1,eth2:4"], "eth1 is used twice");
        refused(&["a=eth0:1", "a=eth1:1"], "a is the name of two things");
        refused(&["lo,eth0:1"], "loopback");
        refused(&["lo=eth0:1"], "loopback");
        refused(&["eth0=eth0:1"], "eth0 is the name of two things");
        for name in ["a/b", "a b", "eth0;x", "$(x)", "-a", "123", "sixteen-bytes-ab", "..", "eth*", "all"] {
            refused(&[&format!("{name},eth1:1")], &format!("'{name}'"));
        }
        let mut args = args(&["eth0:1"]);
        for (address, gateway, mtu) in [
            (Some("bond1=192.0.2.1/24"), None, None),
            (Some("bond0=192.0.2.1"), None, None),
            (Some("bond0=192.0.2.1/33"), None, None),
            (Some("192.0.2.1/24"), None, None),
            (None, Some("bond0=192.0.2.1"), None),
            (Some("bond0=192.0.2.1/24"), Some("bond0=x"), None),
            (None, None, Some(67)),
        ] {
            args.address = address.map(str::to_owned).into_iter().collect();
            args.gateway = gateway.map(str::to_owned).into_iter().collect();
            args.mtu = mtu;
            assert!(bonds(&args).unwrap_err().hint().is_some(), "{address:?} {gateway:?} {mtu:?}");
        }
    }
}
