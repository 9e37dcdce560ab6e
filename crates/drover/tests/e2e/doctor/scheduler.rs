//! What `drover doctor` says of devices and their schedulers, and that a scheduler which it has set is put back.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use drover_sandbox::{Flavour, Server, StartOptions};
use serde_json::{Value, json};

use super::{check, doctor, findings, machine, state};
use crate::client::wait_until;
use crate::drover::{Output, Running, drover, run};
use crate::loops::{Disk, loops, said, scheduler, scheduler_file};
use crate::servers::on_both;

on_both!(the_device_below_a_server);

fn the_device_below_a_server(flavour: Flavour) {
    let Some(_alone) = loops() else { return };
    let disk = Disk::mounted(4000);
    // MySQL goes on to make the files of its redo log after it has started, by default half a gigabyte in a second or more. That would
    // take the room which is left free below.
    let server_options = match flavour {
        Flavour::MariaDb => Vec::new(),
        Flavour::MySql => vec!["--innodb-redo-log-capacity=16M".to_owned()],
    };
    let options =
        StartOptions { root: Some(disk.point()), server_options, ..StartOptions::ephemeral(flavour) };
    let server = Server::start(&options).unwrap();
    fills_up(&server, &disk);
    fs::write(scheduler_file(&disk.device), "bfq").unwrap();
    // On a kernel that takes loop devices for turning disks bfq is usual, and none is not.
    let turns =
        fs::read_to_string(scheduler_file(&disk.device).with_file_name("rotational")).unwrap().trim() == "1";
    let (unusual, usual) = if turns { ("none", "bfq") } else { ("bfq", "none") };
    fs::write(scheduler_file(&disk.device), unusual).unwrap();
    let report = doctor(&server, "scheduler");
    let found = findings(&report, "scheduler.choice");
    let words = ["rule_only", &disk.device, "nr_requests", "it offers none", "--compare scheduler="];
    assert!(
        found.iter().any(|(weight, text)| weight == "note" && words.iter().all(|word| text.contains(word))),
        "{report}"
    );
    assert_eq!(state(&report, "scheduler.elevator"), "fine");
    fs::write(scheduler_file(&disk.device), usual).unwrap();
    let report = doctor(&server, "scheduler");
    assert!(
        !findings(&report, "scheduler.choice").iter().any(|(_, text)| text.contains(&disk.device)),
        "{report}"
    );

    // What was measured of it counts more than what is usual.
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("compared.json");
    fs::write(&file, compared(&disk, [usual, "kyber"]).to_string()).unwrap();
    let with_results = format!("scheduler --results {}", file.display());
    let report = doctor(&server, &with_results);
    let found = findings(&report, "scheduler.choice");
    let words = ["measured", "+12 % to +18 %", "kyber", "--apply", "--revert", "compared.json"];
    assert!(
        found.iter().any(|(weight, text)| weight == "yellow" && words.iter().all(|word| text.contains(word))),
        "{report}"
    );
    // Where the better one is in use, and it is told in numbers.
    fs::write(scheduler_file(&disk.device), "kyber").unwrap();
    let report = doctor(&server, &with_results);
    let fine = check(&report, "scheduler.choice")["fine"].to_string();
    assert!(
        fine.contains("none is better than kyber beyond the noise") && fine.contains("+12.0 % to +18.0 %"),
        "{report}"
    );
    // What was measured on another machine does not count.
    let mut elsewhere = compared(&disk, [usual, "kyber"]);
    elsewhere["environment"]["kernel"] = "Linux 2.6.32".into();
    fs::write(&file, elsewhere.to_string()).unwrap();
    fs::write(scheduler_file(&disk.device), usual).unwrap();
    let report = doctor(&server, &with_results);
    assert!(!findings(&report, "scheduler.choice").iter().any(|(weight, _)| weight == "yellow"), "{report}");
}

/// A file that leaves a share of the server's disk free, or none.
fn fills_up(server: &Server, disk: &Disk) {
    let file = disk.point().join("filler");
    for (share, expected) in [(0.03, "yellow"), (0.005, "red")] {
        let blocks = said("df", &["--block-size=1", "--output=size,avail", disk.point().to_str().unwrap()]);
        let numbers: Vec<f64> =
            blocks.lines().last().unwrap().split_whitespace().map(|number| number.parse().unwrap()).collect();
        let kept = fs::metadata(&file).map_or(0, |file| file.len()) as f64;
        let taken = numbers[1] - share * numbers[0];
        said("fallocate", &["-l", &format!("{:.0}", kept + taken), file.to_str().unwrap()]);
        let report = doctor(server, "host");
        let found = findings(&report, "host.disk");
        let point = disk.point().display().to_string();
        let is_it = |(weight, text): &(String, String)| weight == expected && text.contains(&point);
        assert!(found.iter().any(is_it), "{share}: {report}");
    }
    fs::remove_file(file).unwrap();
    let report = doctor(server, "host");
    assert!(
        !check(&report, "host.disk")["findings"].to_string().contains(disk.point().to_str().unwrap()),
        "{report}"
    );
}

#[test]
fn without_a_server_nothing_is_known() {
    let report = run(&mut drover("--json doctor scheduler --no-server --interval 0s")).done().json();
    assert_eq!(state(&report, "scheduler.choice"), "unknown");
    assert_eq!(report["checks"].as_array().unwrap().len(), 2, "{report}");
    let both = run(&mut drover("--json doctor scheduler host --no-server --interval 0s")).json();
    assert!(both["checks"].as_array().unwrap().iter().any(|check| check["area"] == "host"), "{both}");
}

/// A result of `bench tpcc --compare` on this machine and this disk: the second scheduler is better.
fn compared(disk: &Disk, [first, second]: [&str; 2]) -> Value {
    let folder = PathBuf::from("/sys/class/block").join(&disk.device);
    let line = |file: &str| fs::read_to_string(folder.join(file)).unwrap().trim().to_owned();
    let mut environment = machine();
    environment["storage"] = json!([{"devices": [{
        "name": disk.device, "model": null, "bytes": line("size").parse::<u64>().unwrap() * 512, "is_rotational": false,
        "scheduler": first, "schedulers": ["none", "mq-deadline", "kyber", "bfq"], "backing_file": line("loop/backing_file")
    }]}]);
    json!({"bench": "tpcc --compare", "started_at": "2026-01-01T00:00:00Z", "environment": environment, "changed": "scheduler",
    "variants": [
        {"name": first, "nopm": [1000.0, 1010.0], "change": null, "verdict": null},
        {"name": second, "nopm": [1150.0, 1160.0], "change": {"low": 0.12, "high": 0.18}, "verdict": "better"},
    ]})
}

/// What is kept of a device while drover has set it.
fn kept(device: &str) -> PathBuf {
    PathBuf::from(format!("/run/drover/scheduler-{device}.json"))
}

/// How many requests its queue holds.
fn requests(device: &str) -> String {
    fs::read_to_string(scheduler_file(device).with_file_name("nr_requests")).unwrap()
}

fn set(line: &str) -> Output {
    run(&mut drover(&format!("doctor scheduler set {line}")))
}

#[test]
fn a_scheduler_is_set_and_put_back() {
    let Some(_alone) = loops() else { return };
    let disk = Disk::mounted(64);
    let device = disk.device.as_str();
    fs::write(scheduler_file(device), "mq-deadline").unwrap();
    fs::write(scheduler_file(device).with_file_name("nr_requests"), "64").unwrap();
    let before = requests(device);
    let told = set(&format!("{device} bfq")).done();
    for words in [
        "would set",
        "mq-deadline to bfq",
        disk.point().to_str().unwrap(),
        "64 requests",
        "nothing was changed",
    ] {
        assert!(told.stdout.contains(words), "{words}: {told}");
    }
    let rule = set(&format!("/dev/{device} bfq --persist")).done();
    assert!(
        rule.stdout.contains(&format!("KERNEL==\"{device}\"")) && rule.stdout.contains("/etc/udev/rules.d/"),
        "{rule}"
    );
    assert_eq!(scheduler(device), "mq-deadline");
    set(&format!("{device} --revert")).refused(&["drover has not set its scheduler", "hint:"]);

    let applied =
        run(&mut drover(&format!("--json doctor scheduler set {device} bfq --apply"))).done().json();
    assert_eq!(
        (&applied["from"], &applied["to"], &applied["is_applied"]),
        (&json!("mq-deadline"), &json!("bfq"), &json!(true))
    );
    assert_eq!(scheduler(device), "bfq");
    assert_ne!(requests(device), before);
    // What was before the first one counts.
    set(&format!("{device} kyber --apply")).done();
    assert_eq!(scheduler(device), "kyber");
    let reverted = set(&format!("{device} --revert")).done();
    assert!(reverted.stdout.contains("mq-deadline again; it was kyber"), "{reverted}");
    assert_eq!((scheduler(device), requests(device)), ("mq-deadline".to_owned(), before));
    assert!(!kept(device).exists());
    set(&format!("{device} --revert")).refused(&["drover has not set its scheduler"]);
}

#[test]
fn what_cannot_be_set_or_is_not_ours() {
    let Some(_alone) = loops() else { return };
    let unused = Disk::new(64);
    let device = unused.device.as_str();
    fs::write(scheduler_file(device), "none").unwrap();
    set(&format!("{device} bfq --apply")).refused(&[device, "belongs to something else", "image", "--any"]);
    assert_eq!(scheduler(device), "none");
    set(&format!("{device} fastest --apply --any")).refused(&["'fastest'", "it offers none"]);
    set("no-such-device bfq --apply").refused(&["no-such-device", "lsblk"]);
    set(&format!("{device} bfq --apply --revert")).refused(&["cannot be used with"]);
    set(device).refused(&["required"]);
    set(&format!("{device} bfq --apply --any")).done();
    assert_eq!(scheduler(device), "bfq");
    // What an earlier boot has left is not put back.
    let text = fs::read_to_string(kept(device)).unwrap();
    let mut saved: Value = serde_json::from_str(&text).unwrap();
    saved["boot"] = "another".into();
    fs::write(kept(device), saved.to_string()).unwrap();
    set(&format!("{device} --revert")).refused(&["an earlier boot", kept(device).to_str().unwrap()]);
    assert_eq!(scheduler(device), "bfq");
    fs::write(kept(device), text).unwrap();
    set(&format!("{device} --revert")).done();
    assert_eq!(scheduler(device), "none");
}

#[test]
fn one_that_something_else_sets_back_is_put_back() {
    let Some(_alone) = loops() else { return };
    let disk = Disk::mounted(64);
    let device = disk.device.as_str();
    fs::write(scheduler_file(device), "none").unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                if scheduler(device) == "bfq" {
                    fs::write(scheduler_file(device), "kyber").unwrap();
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let output = set(&format!("{device} bfq --apply"));
        is_over.store(true, Ordering::Relaxed);
        output.refused(&["its scheduler is kyber", "though bfq was set"]);
    });
    assert_eq!(scheduler(device), "none");
    assert!(!kept(device).exists());
    set(&format!("{device} --revert")).refused(&["drover has not set its scheduler"]);
}

#[test]
fn a_kill_at_any_moment() {
    let Some(_alone) = loops() else { return };
    let disk = Disk::mounted(64);
    let device = disk.device.as_str();
    fs::write(scheduler_file(device), "none").unwrap();
    let before = requests(device);
    let start = || Running::start(&mut drover(&format!("doctor scheduler set {device} bfq --apply")));
    // While it is not proven to stay.
    let killed = start();
    wait_until("it is set", || scheduler(device) == "bfq");
    killed.signal("KILL");
    assert_eq!(killed.finish().code, None);
    wait_for_second_process(device);
    assert_eq!(
        (scheduler(device), requests(device), kept(device).exists()),
        ("none".to_owned(), before.clone(), false)
    );
    // Whenever: then it is as it was, or set, and can be put back.
    let mut kept_times = 0;
    for turn in 0..10 {
        let mut killed = start();
        std::thread::sleep(Duration::from_millis(turn * 70));
        if !killed.has_ended() {
            killed.signal("KILL");
        }
        killed.finish();
        wait_for_second_process(device);
        match scheduler(device).as_str() {
            "none" => assert!(!kept(device).exists()),
            other => {
                assert_eq!(other, "bfq");
                set(&format!("{device} --revert")).done();
                kept_times += 1;
            }
        }
        assert_eq!((scheduler(device), requests(device)), ("none".to_owned(), before.clone()));
    }
    assert!(kept_times < 10, "no kill came in time");
}

/// It has the lock of its device until it has ended.
fn wait_for_second_process(device: &str) {
    said("flock", &["--timeout", "40", &format!("/run/drover/scheduler-{device}.lock"), "true"]);
}
