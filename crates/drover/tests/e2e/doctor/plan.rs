//! `drover doctor bonding plan`: what it prints and writes, and what the real parsers say of its files: netplan's generator,
//! systemd-networkd, and NetworkManager's client. Debian has no reader of ifcfg files.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::drover::{drover, run};

/// Four bonds in all modes that a host of a database has, on two of them all that can be asked for.
const BONDS: &str = "eth0,eth1:4 eth2,eth3:1 data=eth4,eth5:balance-xor old=eth6,eth7:0 --mtu 9000 \
                     --address bond0=192.0.2.1/24 --address bond0=2001:db8::1/64 --gateway bond0=192.0.2.254";
/// Unpacked, not installed.
const TOOLS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.servers/network");
const NETWORKD: &str = "/lib/systemd/systemd-networkd";

/// The files of a plan below a directory.
fn planned(tool: &str, dir: &Path) -> Value {
    let line = format!(
        "--json doctor bonding plan {BONDS} --for {tool} --root {0}/none --dir {0}/host",
        dir.display()
    );
    fs::create_dir_all(dir.join("none")).unwrap();
    run(&mut drover(&line)).done().json()
}

/// A command of the unpacked tools, with their libraries.
fn tool(path: &str) -> Command {
    let program = Path::new(TOOLS).join(path);
    assert!(program.exists(), "no {}: run scripts/setup", program.display());
    let libraries = Path::new(TOOLS).join("usr/lib");
    let mut folders = vec![libraries.clone()];
    folders.extend(fs::read_dir(libraries).unwrap().map(|entry| entry.unwrap().path()));
    let mut command = Command::new(program);
    command.env("LD_LIBRARY_PATH", std::env::join_paths(folders).unwrap()).env("LC_ALL", "C");
    command
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// What the systemd-networkd of this host says of a directory of its files. It runs without privileges, in namespaces of its own, in
/// which there is no interface but the loopback.
fn networkd_on(folder: &Path) -> String {
    assert!(Path::new(NETWORKD).exists(), "no {NETWORKD}: run scripts/setup");
    let script = "set -e; cp -r \"$1\" \"$2\"; mount -t tmpfs none /run; mkdir -p /run/systemd/netif /run/systemd/network; \
                  cp \"$2\"/* /run/systemd/network/; cd /; \
                  exec timeout 2 unshare -U --map-user=998 --map-group=998 --keep-caps \"$3\"";
    let copy = folder.with_file_name("copy");
    let mut command = Command::new("unshare");
    command.args(["-rmn", "sh", "-c", script, "sh"]).arg(folder).arg(copy).arg(NETWORKD);
    let output = run(command.env("SYSTEMD_LOG_LEVEL", "debug").env("SYSTEMD_LOG_TARGET", "console"));
    assert!(output.stderr.contains("Enumeration completed"), "it did not read them: {output}");
    output.stderr
}

/// Lines in which systemd complains of a file.
fn complaints(said: &str) -> Vec<&str> {
    let words = ["ignoring", "Failed to parse", "Unknown", "invalid", "Invalid"];
    // Of this host's own files nothing is known.
    let of_file = |line: &&str| line.contains("/run/systemd/network/") && line.contains(".net");
    said.lines().filter(of_file).filter(|line| words.iter().any(|word| line.contains(word))).collect()
}

#[test]
fn netplan_takes_it() {
    let dir = tempfile::tempdir().unwrap();
    planned("netplan", dir.path());
    let host = dir.path().join("host");
    let mode = fs::metadata(host.join("etc/netplan/60-bonds.yaml")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let output = run(tool("usr/libexec/netplan/generate").arg("--root-dir").arg(&host)).done();
    assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("", ""), "{output}");
    // What it makes of it for systemd-networkd.
    let made = |name: &str| fs::read_to_string(host.join("run/systemd/network").join(name)).unwrap();
    let bond0 = made("10-netplan-bond0.netdev");
    for line in
        ["Mode=802.3ad", "LACPTransmitRate=fast", "TransmitHashPolicy=layer3+4", "MIIMonitorSec=100ms"]
    {
        assert!(bond0.lines().any(|known| known == line), "no {line} in {bond0}");
    }
    assert!(made("10-netplan-bond1.netdev").contains("Mode=active-backup\n"));
    assert!(made("10-netplan-eth2.network").contains("Bond=bond1\nPrimarySlave=true\n"));
    let network = made("10-netplan-bond0.network");
    assert!(
        network.contains("Address=192.0.2.1/24\n") && network.contains("Gateway=192.0.2.254\n"),
        "{network}"
    );
    // And it is not one that takes everything.
    let file = host.join("etc/netplan/60-bonds.yaml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("mode: 802.3ad", "mode: 802.3az")).unwrap();
    assert_eq!(run(tool("usr/libexec/netplan/generate").arg("--root-dir").arg(&host)).code, Some(1));
}

#[test]
fn networkd_takes_it() {
    let dir = tempfile::tempdir().unwrap();
    planned("networkd", dir.path());
    let folder = dir.path().join("host/etc/systemd/network");
    let said = networkd_on(&folder);
    assert_eq!(complaints(&said), [""; 0], "{said}");
    for bond in ["bond0", "bond1", "data", "old"] {
        assert!(said.contains(&format!("{bond}: loaded \"bond\"")), "{said}");
    }
    // And it is not one that takes everything.
    let file = folder.join("10-bond0.netdev");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("Mode=802.3ad", "Mode=802.3az").replace("LACPTransmitRate", "LACPRate"))
        .unwrap();
    fs::remove_dir_all(folder.with_file_name("copy")).unwrap();
    let said = networkd_on(&folder);
    assert_eq!(complaints(&said).len(), 2, "{said}");
}

#[test]
fn network_manager_takes_it() {
    let dir = tempfile::tempdir().unwrap();
    planned("networkmanager", dir.path());
    let read = |text: &str| {
        let file = dir.path().join("keyfile");
        fs::write(&file, text).unwrap();
        let mut command = tool("usr/bin/nmcli");
        command.args(["--offline", "connection", "modify", "connection.autoconnect-priority", "0"]);
        let output = command.stdin(fs::File::open(&file).unwrap()).stderr(Stdio::piped()).output().unwrap();
        (
            output.status.success(),
            String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap(),
        )
    };
    let folder = dir.path().join("host/etc/NetworkManager/system-connections");
    assert_eq!(files(&folder).len(), 12);
    for file in files(&folder) {
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let text = fs::read_to_string(&file).unwrap();
        let (is_right, told) = read(&text);
        assert!(is_right, "{}: {told}", file.display());
        // What it has understood holds all that was written, under the names and in the order that it likes best.
        for line in text.lines().filter(|line| line.contains('=') && !line.starts_with('#')) {
            // A gateway stands behind the first address.
            let is_kept = told.lines().any(|known| known.starts_with(line)) || line.starts_with("gateway=");
            assert!(is_kept, "{}: no {line} in {told}", file.display());
        }
    }
    let bond = fs::read_to_string(folder.join("bond0.nmconnection")).unwrap();
    assert!(read(&bond).1.contains("192.0.2.254"), "{bond}");
    // And it is not one that takes everything.
    assert!(!read(&bond.replace("mode=802.3ad", "mode=802.3az")).0);
}

#[test]
fn files_and_refusals() {
    let dir = tempfile::tempdir().unwrap();
    // ifcfg has no parser here: what it must hold.
    let plan = planned("ifcfg", dir.path());
    let text = |name: &str| {
        fs::read_to_string(dir.path().join("host/etc/sysconfig/network-scripts").join(name)).unwrap()
    };
    assert!(
        text("ifcfg-bond0")
            .contains("BONDING_OPTS=\"mode=802.3ad miimon=100 lacp_rate=fast xmit_hash_policy=layer3+4\"\n")
    );
    assert!(text("ifcfg-bond1").contains("BONDING_OPTS=\"mode=active-backup miimon=100 primary=eth2\"\n"));
    assert!(text("ifcfg-eth3").contains("MASTER=bond1\nSLAVE=yes\n"));
    assert_eq!(plan["files"].as_array().unwrap().len(), 12);
    assert_eq!(
        (&plan["bonds"][1]["mode"], &plan["files"][0]["mode"]),
        (&"active-backup".into(), &"0644".into())
    );
    // A shell reads them.
    for file in files(&dir.path().join("host/etc/sysconfig/network-scripts")) {
        run(Command::new("sh").args(["-eu"]).arg(&file)).done();
    }
    // What is there is not written over, nor is this host.
    let line = format!("doctor bonding plan {BONDS} --for ifcfg --dir");
    run(&mut drover(&format!("{line} {}/host", dir.path().display()))).refused(&["ifcfg-bond0"]);
    let line = "doctor bonding plan eth0,eth1:1 --for networkd --dir /";
    run(&mut drover(line)).refused(&["own configuration is not written", "hint: "]);
    run(&mut drover("doctor bonding plan eth0,eth1:4 eth1,eth2:1 --for netplan"))
        .refused(&["eth1 is used twice", "hint: "]);
    run(&mut drover("doctor bonding plan eth0,eth1:9 --for netplan")).refused(&["no mode '9'", "802.3ad"]);
    // The module's options that would spoil it are told.
    let modprobe = dir.path().join("old/etc/modprobe.d");
    fs::create_dir_all(&modprobe).unwrap();
    fs::write(modprobe.join("bonding.conf"), "options bonding mode=4 max_bonds=4\n").unwrap();
    let line = format!(
        "doctor bonding plan eth0,eth1:4 eth2,eth3:1 --for netplan --root {}/old",
        dir.path().display()
    );
    let output = run(&mut drover(&line)).done();
    assert!(
        output
            .stdout
            .contains("take 'options bonding mode=4 max_bonds=4' out of /etc/modprobe.d/bonding.conf"),
        "{output}"
    );
    assert!(output.stdout.contains("mode: active-backup"), "{output}");
}

#[test]
fn the_area_is_still_one() {
    let dir = tempfile::tempdir().unwrap();
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../doctor/tests/hosts/el6-2.6.32-max-bonds");
    let ignore = dir.path().join("ignore.json");
    let areas = |line: &str| {
        let line =
            format!("--json doctor {line} --root {root} --no-server --ignore-file {}", ignore.display());
        let report = run(&mut drover(&line)).found(&["bonding.mode"]).json();
        let mut areas: Vec<_> = report["checks"]
            .as_array()
            .unwrap()
            .iter()
            .map(|check| check["area"].as_str().unwrap().to_owned())
            .collect();
        areas.dedup();
        areas
    };
    assert_eq!(areas("bonding"), ["bonding"]);
    assert_eq!(areas("bonding host"), ["bonding", "host"]);
    assert_eq!(areas("host bonding"), ["bonding", "host"]);
    // The text of a report, and how many bonds of a host are explained.
    let line = format!("doctor bonding --root {root} --no-server --ignore-file {}", ignore.display());
    let output =
        run(&mut drover(&line)).found(&["max_bonds=4", "the module makes 4 bonds", "bond0 to bond3"]);
    assert!(
        output.stdout.contains("RED       bond1: runs with mode 802.3ad instead of active-backup"),
        "{output}"
    );
}
