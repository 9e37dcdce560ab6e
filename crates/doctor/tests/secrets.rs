//! What `collect` keeps of a host whose files of settings hold secrets of all kinds: nothing of these, and all that checks read.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use drover_doctor::args::{CollectArgs, ExamineArgs, PlaceArgs};
use drover_doctor::{Area, State};

/// Each secret is this word.
const SECRET: &str = "hunter2";

const FILES: &[(&str, &str)] = &[
    ("proc/cmdline", "root=/dev/sda1 systemd.set_credential=x:hunter2 elevator=deadline bonding.max_bonds=1"),
    (
        "etc/netplan/1.yaml",
        "# hunter2\nnetwork:\n  wifis: {w: {access-points: {a: {password: hunter2}, b: {auth: {password: \"hunter2\"}}}}}\n  \
     tunnels: {wg0: {mode: wireguard, key: hunter2, peers: [{keys: {shared: hunter2}}]}}\n  bonds:\n    bond0:\n      auth: {password: hunter2}\n      \
     interfaces: [a, b] # hunter2\n      parameters: {mode: 802.3ad, mii-monitor-interval: 0, other: hunter2}\n",
    ),
    (
        "etc/systemd/network/1.netdev",
        "# PrivateKey=hunter2\n[NetDev]\nName=wg0\nKind=wireguard\n[WireGuard]\nPrivateKey=hunter2\n[WireGuardPeer]\nPresharedKey=hunter2\n",
    ),
    (
        "etc/systemd/network/2.netdev",
        "[NetDev]\nName=m0\nKind=macsec\n[MACsecTransmitAssociation]\nKey=hunter2\n",
    ),
    (
        "etc/systemd/network/3.netdev",
        "[NetDev]\nName=bond1\nKind=bond\n[Bond]\nMode=active-backup\nMIIMonitorSec=0\n;Key=hunter2\n",
    ),
    (
        "etc/systemd/network/3.network",
        "[Match]\nName=c d\n[Network]\nBond=bond1\n[DHCPv4]\nSendOption=1:string:hunter2\n",
    ),
    (
        "etc/NetworkManager/system-connections/w.nmconnection",
        "[connection]\nid=w\ntype=wifi\n[wifi-security]\npsk=hunter2\nwep-key0=hunter2\n[802-1x]\npassword=hunter2\nprivate-key-password=hunter2\n[vpn-secrets]\nx=hunter2\n",
    ),
    (
        "etc/NetworkManager/system-connections/b.nmconnection",
        "# psk=hunter2\n[connection]\nid=b\nuuid=1\ntype=bond\ninterface-name=bond2\n[bond]\nmode=balance-rr\nmiimon=0\nsecret=hunter2\n",
    ),
    (
        "etc/sysconfig/network-scripts/ifcfg-bond3",
        "# KEY=hunter2\nDEVICE=bond3 # hunter2\nBONDING_OPTS='mode=1 miimon=0' # hunter2\nWPA_PSK=hunter2\nKEY=\"hunter2\"\n",
    ),
    ("etc/sysconfig/network-scripts/ifcfg-ppp0", "DEVICE=ppp0\nPAPNAME=hunter2\nPASSWORD=hunter2\n"),
    (
        "etc/network/interfaces",
        "auto bond4\n# wpa-psk hunter2\niface bond4 inet static\n  bond-mode 1\n  bond-miimon 0\n  bond-slaves e f\niface w inet dhcp\n  wpa-psk hunter2\n  pre-up wpa --key hunter2\n",
    ),
    (
        "etc/modprobe.d/a.conf",
        "# hunter2\noptions wl key=hunter2\ninstall x sh -c 'x hunter2'\noptions bonding mode=1 other=hunter2\n",
    ),
];

fn place(root: &Path) -> PlaceArgs {
    PlaceArgs {
        root: Some(root.to_owned()),
        no_server: true,
        results: Vec::new(),
        interval: std::time::Duration::ZERO,
        server: Default::default(),
    }
}

/// Rules, states and findings of bonds and schedulers.
fn said(root: &Path) -> String {
    let args = ExamineArgs {
        areas: vec![Area::Bonding, Area::Scheduler],
        place: place(root),
        target: None,
        html: None,
        fix_script: None,
        ignore: None,
        because: None,
        ignore_file: Some("/no/such/file".into()),
    };
    let report = drover_doctor::run(&args, None).unwrap();
    let checks = report.checks.iter();
    assert!(checks.clone().any(|checked| checked.state == State::Found));
    checks.map(|checked| format!("{} {:?} {:?}\n", checked.rule, checked.state, checked.findings)).collect()
}

#[test]
fn a_bundle_holds_no_secrets_and_says_the_same() {
    let host = tempfile::tempdir().unwrap();
    for (path, text) in FILES {
        let path = host.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let out = tempfile::tempdir().unwrap();
    let file = out.path().join("bundle.json");
    // One of the same name that others may read is there.
    fs::write(&file, "").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    drover_doctor::collect(&CollectArgs { file: file.clone(), place: place(host.path()) }, None).unwrap();

    let kept = fs::read_to_string(&file).unwrap();
    assert!(!kept.contains(SECRET), "{kept}");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    for (path, _) in FILES {
        assert!(kept.contains(&format!("\"/{path}\"")), "{path} was not looked at: {kept}");
    }
    let (here, elsewhere) = (said(host.path()), said(&file));
    assert_eq!(here, elsewhere);
    for bond in ["bond0", "bond1", "bond2", "bond3", "bond4"] {
        assert!(here.contains(bond), "{bond}: {here}");
    }
}
