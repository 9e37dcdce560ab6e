//! `drover bench tpcc --compare`: what is changed on the host is looked up in /sys and /proc, and that it is put back.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use drover_sandbox::Flavour;
use serde_json::Value;

use crate::browser::Browser;
use crate::client::wait_until;
use crate::drover::{Output, Running, drover, run};
use crate::loops::{Disk, loops, on_disk, said, scheduler, scheduler_file};
use crate::servers::on_both;

on_both!(
    schedulers_are_switched_and_put_back,
    all_is_put_back_after_a_kill,
    file_systems_are_compared,
    paths_are_compared,
    a_disk_that_gets_full_ends_it,
);

/// A comparison on private servers. Templates of data directories stay where other tests have them.
fn versus(flavour: Flavour, line: &str) -> Command {
    let mut command = drover(&format!("bench tpcc --flavour {flavour} -w 1 -c 2 {line}"));
    command.env("HOME", std::env::var_os("HOME").unwrap_or_default());
    command
}

/// The names of the loop devices whose files lie below a directory.
fn loops_of(dir: &Path) -> Vec<String> {
    let devices = fs::read_dir("/sys/class/block").unwrap().map(|entry| entry.unwrap());
    let is_below = |device: &fs::DirEntry| {
        let file = fs::read_to_string(device.path().join("loop/backing_file")).unwrap_or_default();
        Path::new(file.trim()).starts_with(dir)
    };
    devices.filter(is_below).map(|device| device.file_name().into_string().unwrap()).collect()
}

fn mounts_below(dir: &Path) -> usize {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    mounts.lines().filter(|line| line.contains(&format!(" {}", dir.display()))).count()
}

/// Whether nothing of a comparison is left in a directory or on the host.
fn is_clean(dir: &Path) -> bool {
    mounts_below(dir) == 0 && loops_of(dir).is_empty() && fs::read_dir(dir).unwrap().next().is_none()
}

/// The schedulers of all loop devices.
fn all_loops() -> Vec<(String, String)> {
    let names = fs::read_dir("/sys/class/block")
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("loop")).map(|name| (name.clone(), scheduler(&name))).collect()
}

fn nopm(report: &Value) -> Vec<(&str, usize)> {
    let variants = report["variants"].as_array().unwrap();
    let of = |variant: &Value| {
        variant["nopm"].as_array().unwrap().iter().filter(|nopm| nopm.as_f64() > Some(100.0)).count()
    };
    variants.iter().map(|variant| (variant["name"].as_str().unwrap(), of(variant))).collect()
}

fn schedulers_are_switched_and_put_back(flavour: Flavour) {
    let Some(_alone) = loops() else { return };
    let (dir, kept) = (on_disk(), tempfile::tempdir().unwrap());
    let before = all_loops();
    let page = kept.path().join("page.html");
    let line =
        "--compare scheduler=none,mq-deadline,bfq --loop 1500M --seconds 2 --warm-up 1 --repeat 2 --json";
    let mut command = versus(flavour, line);
    let mut running = Running::start(command.arg("--data").arg(dir.path()).arg("--html").arg(&page));
    let mut seen = BTreeSet::new();
    wait_until("it ends", || {
        seen.extend(loops_of(dir.path()).iter().map(|device| scheduler(device)));
        running.has_ended()
    });
    let report = running.finish().done().json();
    assert_eq!(report["changed"], "scheduler");
    assert_eq!(nopm(&report), [("none", 2), ("mq-deadline", 2), ("bfq", 2)], "{report}");
    assert!(report["variants"][1]["change"]["low"].is_number() && report["variants"][0]["change"].is_null());
    let devices = &report["environment"]["storage"][0]["devices"];
    assert!(devices[0]["name"].as_str().unwrap().starts_with("loop"), "{report}");
    for wanted in ["none", "mq-deadline", "bfq"] {
        assert!(seen.contains(wanted), "{wanted} was never set: {seen:?}");
    }
    assert!(is_clean(dir.path()));
    assert_eq!(all_loops(), before);
    page_is_readable(kept.path(), &page);
}

fn page_is_readable(dir: &Path, page: &Path) {
    let mut browser = Browser::open(dir, &format!("file://{}", page.display()));
    browser.wait_for("h1", "New-Orders a minute, by scheduler");
    browser.assert_fits();
    assert_eq!(browser.value("document.querySelectorAll('svg.chart path.curve').length"), 3);
}

fn all_is_put_back_after_a_kill(flavour: Flavour) {
    let Some(_alone) = loops() else { return };
    let dir = on_disk();
    let before = all_loops();
    let mut command = versus(flavour, "--compare scheduler=none,kyber --loop 1500M --seconds 60");
    let mut running = Running::start(command.arg("--data").arg(dir.path()));
    let is_switched = |device: &String| {
        let now = scheduler(device);
        before.iter().find(|(name, _)| name == device).is_none_or(|(_, before)| *before != now)
    };
    wait_until("a scheduler is switched", || {
        assert!(!running.has_ended());
        loops_of(dir.path()).iter().any(is_switched)
    });
    assert!(mounts_below(dir.path()) > 0);
    running.signal("KILL");
    assert_eq!(running.finish().code, None);
    wait_until("all is put back", || is_clean(dir.path()));
    assert_eq!(all_loops(), before);
}

fn file_systems_are_compared(flavour: Flavour) {
    let Some(_alone) = loops() else { return };
    let dir = on_disk();
    let mut command =
        versus(flavour, "--compare fs=ext4,xfs --loop 1500M --seconds 1 --warm-up 0 --repeat 1 --json");
    let report = run(command.arg("--data").arg(dir.path())).done().json();
    assert_eq!(nopm(&report), [("ext4", 1), ("xfs", 1)], "{report}");
    let systems: Vec<_> =
        report["environment"]["storage"].as_array().unwrap().iter().map(|at| &at["file_system"]).collect();
    assert_eq!(systems, ["ext4", "xfs"]);
    assert_eq!(report["variants"][1]["verdict"], "unknown", "of one repeat nothing is known");
    assert!(is_clean(dir.path()));
}

/// MariaDB would wait for somebody to make room, for ever. Here somebody else takes it while the load runs.
fn a_disk_that_gets_full_ends_it(flavour: Flavour) {
    let Some(_alone) = loops() else { return };
    let dir = on_disk();
    let mut command = versus(flavour, "--compare scheduler=none,bfq --loop 1500M --seconds 60");
    let mut running = Running::start(command.arg("--data").arg(dir.path()));
    let point = dir.path().join(format!("drover-bench-ext4-{}.mount", running.pid()));
    let is_of_a_server =
        |entry: fs::DirEntry| entry.file_name().as_encoded_bytes().starts_with(b"drover-bench-");
    wait_until("a server's files are there", || {
        assert!(!running.has_ended());
        fs::read_dir(&point).is_ok_and(|entries| entries.map_while(Result::ok).any(is_of_a_server))
    });
    let free: u64 = said("stat", &["-f", "-c", "%a", point.to_str().unwrap()]).parse().unwrap();
    let block: u64 = said("stat", &["-f", "-c", "%S", point.to_str().unwrap()]).parse().unwrap();
    let bytes = (free * block - (64 << 20)).to_string();
    said("fallocate", &["--length", &bytes, point.join("neighbour").to_str().unwrap()]);
    let output = running.finish().refused(&["are free there", "drover-bench-ext4"]);
    assert!(output.error().contains("hint: give --loop a larger SIZE"), "{output}");
    assert!(is_clean(dir.path()));
}

fn paths_are_compared(flavour: Flavour) {
    let dir = on_disk();
    let [one, other] = ["one", "other"].map(|name| dir.path().join(name));
    fs::create_dir(&one).unwrap();
    fs::create_dir(&other).unwrap();
    let subject = format!("path={},{}", one.display(), other.display());
    let line = format!("--compare {subject} --seconds 1 --warm-up 0 --repeat 1");
    let output = run(&mut versus(flavour, &line)).done();
    assert!(output.stdout.contains("what the others are compared with"), "{output}");
    let mut killed = Running::start(&mut versus(flavour, &line.replace("seconds 1", "seconds 60")));
    wait_until("a server is there", || {
        assert!(!killed.has_ended());
        fs::read_dir(&other).unwrap().next().is_some()
    });
    killed.signal("KILL");
    assert_eq!(killed.finish().code, None);
    wait_until("its files are gone", || is_clean(&one) && is_clean(&other));
}

fn compare(disk: &Disk, line: &str) -> Command {
    let mut command = versus(Flavour::MariaDb, line);
    command.arg("--data").arg(disk.point());
    command
}

#[test]
fn a_disk_that_others_use_is_switched_only_if_one_says_so() {
    let Some(_alone) = loops() else { return };
    let disk = Disk::mounted(1500);
    fs::write(scheduler_file(&disk.device), "mq-deadline").unwrap();
    let told = run(&mut compare(&disk, "--compare scheduler=none,kyber")).done();
    for words in [disk.device.as_str(), "mq-deadline", "none, kyber", disk.point().to_str().unwrap(), "--yes"]
    {
        assert!(told.stdout.contains(words), "{words}: {told}");
    }
    let json = run(&mut compare(&disk, "--compare scheduler=none,kyber --json")).done().json();
    assert_eq!(
        (&json[0]["device"], &json[0]["scheduler"]),
        (&disk.device.clone().into(), &"mq-deadline".into())
    );
    assert_eq!(scheduler(&disk.device), "mq-deadline");

    let refused: Output =
        run(&mut compare(&disk, "--compare scheduler=none,fastest")).refused(&["'fastest'", &disk.device]);
    assert!(refused.error().contains("it offers none"), "{refused}");

    let mut running =
        Running::start(&mut compare(&disk, "--compare scheduler=none,kyber --yes --seconds 60"));
    wait_until("it is switched", || {
        assert!(!running.has_ended());
        scheduler(&disk.device) != "mq-deadline"
    });
    running.signal("KILL");
    assert_eq!(running.finish().code, None);
    wait_until("all is put back", || {
        scheduler(&disk.device) == "mq-deadline" && fs::read_dir(disk.point()).unwrap().next().is_none()
    });
}
