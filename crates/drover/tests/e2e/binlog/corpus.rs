//! Logs of MySQL 4.0 to 8.0 and MariaDB 5.5 to 10.11, right ones and damaged ones, that MariaDB's developers kept for their own
//! tests (scripts/setup fetches them): each is read to its end or to its damage, and the events are those that the vendors' own
//! programs find.

use std::fs;
use std::path::{Path, PathBuf};

use drover_sandbox::Flavour;
use serde_json::Value;

use crate::client::feed;
use crate::drover::{drover, run};
use crate::servers::target;

/// Damaged logs, and one that is encrypted: what drover says of each.
const DAMAGED: [(&str, &str); 6] = [
    (
        "bug11747416_32228_binlog.000001",
        "at 316: the log ends 7876 bytes into a Write_rows_v1 event of 65567 bytes",
    ),
    ("bug40482-bin.000001", "at 106: the Incident event does not hold what it should"),
    ("corrupt-relay-bin.000624", "at 91204: the Query event does not hold what it should"),
    ("mdev-39404-binlog.000001", "at 256: a Gtid event whose checksum is 04e0a427 and should be 00000000"),
    ("invalid_row_v2_tag.001", "at 256: the Write_rows event does not hold what it should"),
    (
        "binlog_before_20574.bin",
        "from 296 on it is encrypted by MariaDB, with the key 1\nhint: give the server's file of keys",
    ),
];
/// Logs that MariaDB's program cannot read and MySQL's can.
const OF_MYSQL: [&str; 1] = ["mdev35643_mysql_80_binlog.000001"];

fn corpus() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.servers/binlogs");
    let mut logs = Vec::new();
    let mut directories = vec![root];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if fs::read(&path).unwrap().get(1..4) == Some(b"bin") {
                logs.push(path);
            }
        }
    }
    logs.sort();
    assert!(logs.len() >= 34, "only {} logs in .servers/binlogs: run scripts/setup", logs.len());
    logs
}

fn is_damaged(log: &Path) -> bool {
    let name = log.file_name().unwrap().to_str().unwrap();
    DAMAGED.iter().any(|(damaged, _)| *damaged == name)
}

/// Where the vendor's program finds events, up to the end or the damage.
fn positions(flavour: Flavour, log: &Path) -> Vec<u64> {
    let mut program = target(flavour).client("mysqlbinlog");
    let output = feed(program.arg(log), b"");
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().filter_map(|line| line.strip_prefix("# at ")?.parse().ok()).collect()
}

#[test]
fn every_log_is_read_to_its_end_or_its_damage() {
    let mut wrong = Vec::new();
    for log in corpus() {
        let name = log.file_name().unwrap().to_str().unwrap().to_owned();
        let output = run(drover("binlog ls --events --json").arg(&log));
        let document = output.json();
        let lines = document["lines"].as_array().unwrap();
        // mysqlbinlog gives what is in a payload the position behind it.
        let field = |line: &Value| if line["is_packed"] == true { "end" } else { "position" };
        let found: Vec<_> = lines.iter().map(|line| line[field(line)].as_u64().unwrap()).collect();
        let flavour = if OF_MYSQL.contains(&name.as_str()) { Flavour::MySql } else { Flavour::MariaDb };
        let theirs = positions(flavour, &log);
        if found != theirs {
            wrong.push(format!(
                "{name}: {} events, theirs {}: {found:?} {theirs:?}",
                found.len(),
                theirs.len()
            ));
        }
        let damage = DAMAGED.iter().find(|(damaged, _)| *damaged == name);
        let is_right = match damage {
            Some((_, says)) => output.code == Some(2) && output.stderr.contains(says),
            None => output.code == Some(0) && output.stderr.is_empty(),
        };
        if !is_right {
            wrong.push(format!("{name}: {output}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Every byte of a log is charged to something, once.
#[test]
fn the_parts_of_every_log_add_up() {
    for log in corpus().iter().filter(|log| !is_damaged(log)) {
        let stat = run(drover("binlog stat --json").arg(log)).done().json();
        let sum = |list: &str| -> u64 {
            stat[list].as_array().unwrap().iter().map(|part| part["bytes"].as_u64().unwrap()).sum()
        };
        let length = fs::metadata(log).unwrap().len();
        let parts = sum("by_table") + sum("by_statement") + stat["other_bytes"].as_u64().unwrap();
        assert_eq!((stat["bytes"].as_u64(), parts), (Some(length), length), "{}", log.display());
        assert_eq!(sum("by_event") + 4, length, "{}", log.display());
    }
}

/// The same of what they cost, and what they would cost is told of any of them.
#[test]
fn the_costs_of_every_log_add_up() {
    for log in corpus().iter().filter(|log| !is_damaged(log)) {
        let cost = run(drover("binlog cost --json --compression --link 1Mbit").arg(log)).done().json();
        let length = fs::metadata(log).unwrap().len();
        super::cost::assert_adds_up(&cost, length);
        for cure in cost["cures"].as_array().unwrap() {
            assert!(cure["bytes"].as_u64().unwrap() > 0, "{}: {cure}", log.display());
        }
    }
}
