//! Going on behind a transaction that the target does not take, and that nobody wants there.

use std::path::{Path, PathBuf};

use drover_sandbox::{Flavour, Server};

use super::sql::logs_of;
use crate::client::{sql, value};
use crate::drover::{Output, drover, drover_on, dump, restore, run};
use crate::servers::{on_both, start_unsynced};

on_both!(behind_it, nothing_was_applied_before);

/// A dump, its target, and the logs of what was done since.
struct Case {
    target: Server,
    backup: PathBuf,
    logs: Vec<PathBuf>,
    _source: Server,
    _dir: tempfile::TempDir,
}

impl Case {
    fn new(flavour: Flavour, work: &str) -> Self {
        let gtids: &[&str] = match flavour {
            Flavour::MariaDb => &[],
            Flavour::MySql => &["--gtid-mode=ON", "--enforce-gtid-consistency=ON"],
        };
        let source = start_unsynced(
            flavour,
            &[&["--log-bin", "--binlog-format=ROW", "--server-id=7"], gtids].concat(),
        );
        let target = start_unsynced(flavour, &["--skip-log-bin"]);
        let dir = tempfile::tempdir().unwrap();
        let backup = dir.path().join("backup");
        sql(&source, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY); INSERT INTO d.t VALUES (1)");
        run(&mut dump(&source, "d", &backup)).done();
        run(&mut restore(&target, &backup, "")).done();
        sql(&source, work);
        let logs = logs_of(&source);
        Self { target, backup, logs, _source: source, _dir: dir }
    }

    fn replay(&self, options: &str) -> Output {
        let mut command = drover_on(&self.target, &format!("binlog replay {options}"));
        run(command.arg("--after").arg(&self.backup).args(&self.logs))
    }

    fn rows(&self) -> String {
        value(&self.target, "SELECT GROUP_CONCAT(id ORDER BY id) FROM d.t")
    }
}

/// Where the replay has ended: in the words of its error, `LOG: at POSITION: …`.
fn place(refused: &Output) -> u64 {
    let at = refused.stderr.split(": at ").nth(1).unwrap();
    at.split(':').next().unwrap().parse().unwrap()
}

/// The GTID of what begins there.
fn gtid(log: &Path, position: u64) -> String {
    let listed = run(drover("--json binlog ls").arg(log)).done().json();
    let mut lines = listed["lines"].as_array().unwrap().iter();
    let line = lines.find(|line| line["position"].as_u64() == Some(position)).unwrap();
    line["gtid"].as_str().unwrap().to_owned()
}

/// Passes over so many transactions, one after the other.
fn passed_over(flavour: Flavour, work: &str, many: usize, rows: &str) {
    for by_gtid in [true, false] {
        let case = Case::new(flavour, work);
        sql(&case.target, "CREATE USER mine@localhost; CREATE USER too@localhost");
        let (mut options, mut excluded) = (String::new(), Vec::new());
        case.replay("--start-position 4").refused(&["--after and --start-position", "--resume"]);
        for _ in 0..many {
            let refused =
                case.replay(&options).refused(&["(error 1396", "--exclude-gtids", "--start-position"]);
            let place = place(&refused);
            options = match by_gtid {
                true => {
                    excluded.push(gtid(case.logs.last().unwrap(), place));
                    format!("--resume --exclude-gtids {}", excluded.join(","))
                }
                false => format!("--resume --start-position {}", place + 1),
            };
        }
        case.replay(&options).done();
        assert_eq!(case.rows(), rows);
        if !by_gtid {
            // A place that is behind it already.
            case.replay("--resume --start-position 4").done();
            assert_eq!(case.rows(), rows);
        }
    }
}

fn behind_it(flavour: Flavour) {
    let work = "INSERT INTO d.t VALUES (2); CREATE USER mine@localhost; INSERT INTO d.t VALUES (3); CREATE USER too@localhost;
        INSERT INTO d.t VALUES (4)";
    passed_over(flavour, work, 2, "1,2,3,4");
}

fn nothing_was_applied_before(flavour: Flavour) {
    passed_over(flavour, "CREATE USER mine@localhost; INSERT INTO d.t VALUES (2)", 1, "1,2");
}
