//! Bonds that are broken, in order, and hidden, for each of the checks; hosts as a whole are below crates/doctor/tests/hosts.

use super::*;
use crate::check::Outcome;
use crate::check::Weight::{Note, Red, Yellow};
use crate::evidence::Seen;
use crate::facts::Facts;
use crate::testing::{is_fine, is_unknown, on_host, weights};

const TWO_UP: &str = "Bonding Mode: IEEE 802.3ad Dynamic link aggregation\nTransmit Hash Policy: layer2 (0)\nMII Polling Interval (ms): 100\n";

/// A host of these files, each a path and a text.
fn host(check: &Check, files: &[(&str, &str)]) -> Seen<Outcome> {
    on_host(check, files)
}

/// A bond as /proc tells it: lines on the bond, then an interface and lines on it.
fn proc(bond: &str, slaves: &[(&str, &str)]) -> String {
    let of = |(name, lines): &(&str, &str)| format!("\nSlave Interface: {name}\n{lines}\n");
    format!("{bond}\n{}", slaves.iter().map(of).collect::<String>())
}

/// What a check says of a bond as /proc tells it.
fn of_proc(check: &Check, bond: &str, slaves: &[(&str, &str)]) -> Seen<Outcome> {
    host(check, &[("proc/net/bonding/bond0", &proc(bond, slaves))])
}

#[test]
fn no_bond() {
    for check in CHECKS {
        let outcome = host(check, &[("proc/cmdline", "quiet")]);
        assert!(outcome.unwrap().not_here.is_some(), "{}", check.rule);
    }
}

#[test]
fn links() {
    let of = |slaves: &[(&str, &str)]| of_proc(&links::CHECK, TWO_UP, slaves);
    let (up, down) = ("MII Status: up\nLink Failure Count: 0", "MII Status: down\nLink Failure Count: 0");
    assert!(is_fine(&of(&[("a", up), ("b", up)])));
    assert_eq!(weights(&of(&[("a", up), ("b", down)])), [Red]);
    assert_eq!(weights(&of(&[("a", down), ("b", down)])), [Red]);
    assert_eq!(weights(&of(&[("a", up), ("b", up), ("c", down)])), [Yellow]);
    assert_eq!(weights(&of(&[("a", up), ("b", "MII Status: up\nLink Failure Count: 7")])), [Note]);
    assert!(is_unknown(&of(&[("a", ""), ("b", "")])));
}

#[test]
fn links_lost_while_it_looks() {
    let text = |count: u32| {
        proc(
            TWO_UP,
            &[("a", &format!("MII Status: up\nLink Failure Count: {count}")), ("b", "MII Status: up")],
        )
    };
    let mut kept = crate::evidence::Kept::default();
    let path = "/proc/net/bonding/bond0";
    for (key, text) in
        [(path.to_owned(), text(4)), (format!("{path}#before"), text(3)), (format!("{path}#after"), text(4))]
    {
        kept.files.insert(key.into(), Ok(text));
    }
    kept.folders.insert("/proc/net/bonding".into(), Ok(vec!["bond0".into()]));
    kept.files.insert("/sys/class/net/bonding_masters".into(), Ok("bond0".into()));
    kept.folders.insert("/sys/class/net/bond0/bonding".into(), Err(crate::Unseen::Missing));
    let facts = Facts::gather(crate::evidence::Evidence::kept(kept), std::time::Duration::ZERO);
    let outcome = (links::CHECK.look)(&facts);
    assert_eq!(weights(&outcome), [Red], "{outcome:?}");
    assert!(outcome.unwrap().findings[0].seen[0].ends_with("3, then 4"));
}

#[test]
fn partners() {
    let of =
        |bond: &str, slaves: &[(&str, &str)]| of_proc(&partner::CHECK, &format!("{TWO_UP}{bond}"), slaves);
    let in_one = [("a", "MII Status: up\nAggregator ID: 1"), ("b", "MII Status: up\nAggregator ID: 1")];
    let in_two = [("a", "MII Status: up\nAggregator ID: 1"), ("b", "MII Status: up\nAggregator ID: 2")];
    let answered = "\tAggregator ID: 1\n\tPartner Mac Address: 00:00:5e:00:53:99\n";
    assert!(is_fine(&of(answered, &in_one)));
    assert_eq!(weights(&of(answered, &in_two)), [Yellow]);
    assert_eq!(
        weights(&of("\tAggregator ID: 1\n\tPartner Mac Address: 00:00:00:00:00:00\n", &in_two)),
        [Yellow]
    );
    assert_eq!(weights(&of("bond bond0 has no active aggregator\n", &in_one)), [Red]);
    // What a user other than root sees.
    assert!(is_unknown(&of("", &in_one)));
    assert!(is_unknown(&of("\tAggregator ID: 1\n", &in_one[..1])));
    assert!(is_fine(&of("\tAggregator ID: 1\n", &in_one)));
}

#[test]
fn shares_of_links() {
    let of = |policy: &str, a: &str, b: &str| {
        let bond = format!("Bonding Mode: load balancing (xor)\nTransmit Hash Policy: {policy}");
        let text = proc(&bond, &[("a", "MII Status: up"), ("b", "MII Status: up")]);
        let files = [
            ("proc/net/bonding/bond0", text.as_str()),
            ("sys/class/net/a/statistics/tx_bytes", a),
            ("sys/class/net/b/statistics/tx_bytes", b),
        ];
        host(&hash::CHECK, &files)
    };
    assert!(is_fine(&of("layer2 (0)", "6000000000000", "4000000000000")));
    let found = of("layer2 (0)", "97000000000", "3000000000");
    assert_eq!(weights(&found), [Yellow]);
    assert!(found.as_ref().unwrap().findings[0].seen[0].contains("a 97.0 %, b 3.0 %"), "{found:?}");
    assert_eq!(weights(&of("layer3+4 (1)", "97000000000", "3000000000")), [Note]);
    assert!(is_unknown(&of("layer2 (0)", "1000", "2")));
    assert!(is_unknown(&of("layer2 (0)", "", "")));
}

#[test]
fn sizes_of_packets() {
    let of = |own: &str| {
        let text = proc(TWO_UP, &[("a", "MII Status: up")]);
        let files = [
            ("proc/net/bonding/bond0", text.as_str()),
            ("sys/class/net/bond0/mtu", "9000"),
            ("sys/class/net/a/mtu", own),
        ];
        host(&mtu::CHECK, &files)
    };
    assert!(is_fine(&of("9000")));
    assert_eq!(weights(&of("1500")), [Yellow]);
    assert!(is_unknown(&of("")));
}

#[test]
fn speeds() {
    let of = |bond: &str, a, b| of_proc(&speed::CHECK, bond, &[("a", a), ("b", b)]);
    let (fast, slow) =
        ("MII Status: up\nSpeed: 10000 Mbps\nDuplex: full", "MII Status: up\nSpeed: 1000 Mbps\nDuplex: full");
    let backup = "Bonding Mode: fault-tolerance (active-backup)";
    assert!(is_fine(&of(TWO_UP, fast, fast)));
    assert_eq!(weights(&of(TWO_UP, fast, slow)), [Yellow]);
    assert_eq!(weights(&of(backup, fast, slow)), [Note]);
    assert_eq!(weights(&of(TWO_UP, slow, "MII Status: up\nSpeed: 1000 Mbps\nDuplex: half")), [Yellow]);
    assert!(is_unknown(&of(
        TWO_UP,
        "MII Status: up\nSpeed: Unknown\nDuplex: Unknown",
        "MII Status: up\nSpeed: -1 Mbps"
    )));
    // A link that is down has no speed to tell.
    assert!(is_fine(&of(TWO_UP, fast, "MII Status: down\nSpeed: 4294967295 Mbps\nDuplex: Unknown")));
}

#[test]
fn delays_in_steps() {
    let of = |options: &str| {
        let file = format!("DEVICE=bond0\nONBOOT=yes\nBONDING_OPTS=\"{options}\"\n");
        host(&delays::CHECK, &[("etc/sysconfig/network-scripts/ifcfg-bond0", file.as_str())])
    };
    assert!(is_fine(&of("mode=1 miimon=100 updelay=200 downdelay=0")));
    assert_eq!(weights(&of("mode=1 miimon=100 updelay=250")), [Note]);
    assert_eq!(weights(&of("mode=1 miimon=100 downdelay=50")), [Yellow]);
    assert_eq!(weights(&of("mode=1 arp_interval=100 updelay=200")), [Note]);
    let of_module = host(
        &delays::CHECK,
        &[
            ("etc/modprobe.d/b.conf", "options bonding miimon=100 updelay=30"),
            ("proc/net/bonding/bond0", TWO_UP),
        ],
    );
    assert_eq!(weights(&of_module), [Yellow]);
    let hidden =
        host(&delays::CHECK, &[("etc/netplan/a.yaml", "network: ["), ("proc/net/bonding/bond0", TWO_UP)]);
    assert!(is_unknown(&hidden));
}

#[test]
fn numbers_of_links() {
    let of = |slaves: &[(&str, &str)]| of_proc(&single::CHECK, TWO_UP, slaves);
    assert!(is_fine(&of(&[("a", ""), ("b", "")])));
    assert_eq!(weights(&of(&[("a", "")])), [Yellow]);
    assert_eq!(weights(&of(&[])), [Note]);
    // A bond whose files are not there at all.
    assert!(is_unknown(&host(&single::CHECK, &[("sys/class/net/bonding_masters", "bond0")])));
}

#[test]
fn by_turns() {
    let bond = "Bonding Mode: load balancing (round-robin)";
    let two = [("a", "MII Status: up"), ("b", "MII Status: up")];
    let text = proc(bond, &two);
    let with = |late: &str| {
        let netstat = format!(
            "TcpExt: SyncookiesSent TCPSACKReorder TCPOFOQueue\nTcpExt: 0 12 {late}\nIpExt: InBytes\nIpExt: 1"
        );
        let snmp = "Tcp: RtoMin InSegs OutSegs\nTcp: 200 1000000 900000";
        host(
            &round_robin::CHECK,
            &[("proc/net/bonding/bond0", &text), ("proc/net/netstat", &netstat), ("proc/net/snmp", snmp)],
        )
    };
    assert_eq!(weights(&with("34000")), [Yellow]);
    assert_eq!(weights(&with("12")), [Note]);
    let rule_only = of_proc(&round_robin::CHECK, bond, &two).unwrap();
    assert_eq!(rule_only.findings[0].grade, crate::Grade::RuleOnly);
    assert!(of_proc(&round_robin::CHECK, TWO_UP, &two).unwrap().not_here.is_some());
    assert!(is_unknown(&host(&round_robin::CHECK, &[("sys/class/net/bonding_masters", "bond0")])));
}

#[test]
fn modes() {
    let of = |running: &str, options: &str| {
        let file = format!("DEVICE=bond0\nONBOOT=yes\nBONDING_OPTS='{options}'\n");
        let text = proc(running, &[("a", "MII Status: up"), ("b", "MII Status: up")]);
        host(
            &mode::CHECK,
            &[("proc/net/bonding/bond0", &text), ("etc/sysconfig/network-scripts/ifcfg-bond0", &file)],
        )
    };
    assert!(is_fine(&of(TWO_UP, "mode=4 miimon=100 xmit_hash_policy=0")));
    assert!(is_fine(&of(TWO_UP, "mode=802.3ad miimon=100 xmit_hash_policy=layer2")));
    assert_eq!(weights(&of(TWO_UP, "mode=1 miimon=100")), [Red]);
    let found = of(TWO_UP, "mode=4 miimon=50 xmit_hash_policy=layer3+4");
    assert_eq!(weights(&found), [Yellow]);
    let finding = &found.unwrap().findings[0];
    assert!(
        finding.what.contains("miimon 100 instead of 50, xmit_hash_policy layer2 instead of layer3+4"),
        "{finding:?}"
    );
    assert_eq!(
        finding.remedies[1].undo.as_deref(),
        Some("echo layer2 > /sys/class/net/bond0/bonding/xmit_hash_policy")
    );
    // A file that asks for what is not there; a bond that no file asks for.
    let file = "DEVICE=bond1\nONBOOT=yes\nTYPE=Bond\n";
    assert_eq!(
        weights(&host(&mode::CHECK, &[("etc/sysconfig/network-scripts/ifcfg-bond1", file)])),
        [Yellow]
    );
    assert!(is_unknown(&of_proc(&mode::CHECK, TWO_UP, &[("a", "MII Status: up")])));
}

#[test]
fn names_that_a_shell_would_run() {
    for name in ["bond0;reboot", "$(reboot)"] {
        let path = format!("proc/net/bonding/{name}");
        let outcome = host(&watch::CHECK, &[(path.as_str(), TWO_UP)]);
        assert!(matches!(outcome, Err(crate::Unseen::Failed(_))), "{outcome:?}");
    }
    let file = "DEVICE=bond0\nONBOOT=yes\nBONDING_OPTS='mode=4 xmit_hash_policy=$(reboot)'\n";
    let files = [("proc/net/bonding/bond0", TWO_UP), ("etc/sysconfig/network-scripts/ifcfg-bond0", file)];
    let found = host(&mode::CHECK, &files).unwrap();
    assert!(found.findings[0].remedies.is_empty(), "{found:?}");
}

#[test]
fn options_of_the_module() {
    let module = ("etc/modprobe.d/bonding.conf", "options bonding mode=4 max_bonds=4");
    let lacp = proc(TWO_UP, &[("a", ""), ("b", "")]);
    let file = "DEVICE=bond1\nONBOOT=yes\nBONDING_OPTS=\"mode=1 miimon=100\"\n";
    let caught = host(
        &module_options::CHECK,
        &[
            module,
            ("proc/net/bonding/bond0", &lacp),
            ("proc/net/bonding/bond1", &lacp),
            ("etc/sysconfig/network-scripts/ifcfg-bond1", file),
        ],
    );
    assert_eq!(weights(&caught), [Red]);
    let finding = &caught.unwrap().findings[0];
    let text = format!("{finding:?}");
    assert!(finding.what.contains("bond1 got the module's mode 802.3ad instead of its own"), "{text}");
    assert!(
        finding.effect.as_ref().unwrap().contains("4 bonds") && text.contains("bond0 to bond3"),
        "{text}"
    );
    assert!(text.contains(r#"ifcfg-bond1: BONDING_OPTS=\"mode=active-backup miimon=100\""#), "{text}");
    // What had its mode from the module alone gets a file.
    assert!(
        finding.remedies.iter().any(|remedy| remedy.run.contains("BONDING_OPTS=\"mode=802.3ad miimon=100")),
        "{text}"
    );
    assert_eq!(weights(&host(&module_options::CHECK, &[module, ("proc/net/bonding/bond0", &lacp)])), [Note]);
    let one = ("etc/modprobe.d/bonding.conf", "options bonding mode=4");
    assert!(is_fine(&host(&module_options::CHECK, &[one, ("proc/net/bonding/bond0", &lacp)])));
    let none = ("usr/lib/modprobe.d/systemd.conf", "options bonding max_bonds=0");
    assert!(is_fine(&host(&module_options::CHECK, &[none, ("proc/net/bonding/bond0", &lacp)])));
    let aliases = "alias bond0 bonding\nalias bond1 bonding\noptions bond0 mode=4 miimon=100\noptions bond1 mode=1 miimon=100\n";
    let old = host(
        &module_options::CHECK,
        &[
            ("etc/modprobe.conf", aliases),
            ("proc/net/bonding/bond0", &lacp),
            ("proc/net/bonding/bond1", &lacp),
        ],
    );
    assert_eq!(weights(&old), [Red]);
    // A directory in a file's place cannot be read.
    assert!(is_unknown(&host(&module_options::CHECK, &[("etc/modprobe.d/x.conf/y", "")])));
}
