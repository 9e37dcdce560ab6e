//! Going on behind a transaction that the target does not take, and that nobody wants there.

use std::path::{Path, PathBuf};

use drover_sandbox::{Flavour, Server};

use super::sql::logs_of;
use crate::client::{sql, value};
use crate::drover::{Output, drover, drover_on, dump, restore, run};
use crate::servers::{on_both, start_unsynced};

on_both!(behind_it, nothing_was_applied_before, the_last_of_all, the_first_of_a_log, of_other_schemas);

/// A dump, its target, and the logs of what was done since.
struct Case {
    target: Server,
    backup: PathBuf,
    logs: Vec<PathBuf>,
    source: Server,
    dir: tempfile::TempDir,
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
        let of_schema = |schema: &str| {
            format!(
                "CREATE DATABASE {schema}; CREATE TABLE {schema}.t (id INT PRIMARY KEY); INSERT INTO {schema}.t VALUES (1);"
            )
        };
        sql(&source, of_schema("d") + &of_schema("e"));
        run(&mut dump(&source, "d", &backup)).done();
        run(&mut restore(&target, &backup, "")).done();
        sql(&source, work);
        let logs = logs_of(&source);
        Self { target, backup, logs, source, dir }
    }

    fn replay(&self, options: &str) -> Output {
        let mut command = drover_on(&self.target, &format!("binlog replay {options}"));
        run(command.arg("--after").arg(&self.backup).args(&self.logs))
    }

    /// The same with the logs from there on.
    fn replay_from(&self, log: usize, options: &str) -> Output {
        let mut command = drover_on(&self.target, &format!("binlog replay {options}"));
        run(command.arg("--after").arg(&self.backup).args(&self.logs[log..]))
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

/// Where the first transaction of a log is not taken, that log is where the replay goes on: it is the one that the error names.
fn the_first_of_a_log(flavour: Flavour) {
    let work = "INSERT INTO d.t VALUES (2); FLUSH BINARY LOGS; CREATE USER mine@localhost; INSERT INTO d.t VALUES (3); FLUSH BINARY LOGS;
        CREATE USER too@localhost; INSERT INTO d.t VALUES (4)";
    let case = Case::new(flavour, work);
    sql(&case.target, "CREATE USER mine@localhost; CREATE USER too@localhost");
    let mut options = String::new();
    for log in [1, 2] {
        let name = case.logs[log].file_name().unwrap().to_str().unwrap();
        let refused = case.replay_from(log - 1, &options).refused(&["(error 1396", name, "--start-position"]);
        options = format!("--resume --start-position {}", place(&refused) + 1);
        case.replay(&options).refused(&["another beginning", "name the log where it went on first"]);
        // The same once more changes nothing.
        case.replay_from(log, "--resume").refused(&["(error 1396", name]);
    }
    assert_eq!(case.rows(), "1,2,3");
    case.replay_from(2, &options).done();
    assert_eq!(case.rows(), "1,2,3,4");
    case.replay("--resume").done();
    assert_eq!(case.rows(), "1,2,3,4");
}

/// A replay behind a dump of other schemas is another one: no hint leads to forgetting where the first one is.
fn of_other_schemas(flavour: Flavour) {
    let case = Case::new(flavour, "INSERT INTO d.t VALUES (2)");
    let other = case.dir.path().join("other");
    case.replay("").done();
    run(&mut dump(&case.source, "e", &other)).done();
    sql(&case.source, "INSERT INTO e.t VALUES (2); INSERT INTO d.t VALUES (3)");
    run(&mut restore(&case.target, &other, "")).done();
    let replay = |options: &str| {
        let mut command = drover_on(&case.target, &format!("binlog replay {options}"));
        run(command.arg("--after").arg(&other).args(&case.logs))
    };
    replay("").refused(&["--name tells replays apart"]);
    for options in ["--resume", "--restart", "--restart --dry-run"] {
        replay(options).refused(&["is behind a dump of \"d\", and this one of \"e\"", "--name of its own"]);
    }
    replay("--name e").done();
    assert_eq!(value(&case.target, "SELECT COUNT(*) FROM e.t"), "2");
    assert_eq!(case.rows(), "1,2");
    case.replay("--resume").done();
    assert_eq!(case.rows(), "1,2,3");
}

/// What was left out stays so, also if nothing comes behind it.
fn the_last_of_all(flavour: Flavour) {
    let case = Case::new(flavour, "INSERT INTO d.t VALUES (2); CREATE USER mine@localhost");
    sql(&case.target, "CREATE USER mine@localhost");
    let at = place(&case.replay("").refused(&["(error 1396"]));
    case.replay(&format!("--resume --start-position {}", at + 1)).done();
    case.replay("--resume").done();
    sql(&case.source, "INSERT INTO d.t VALUES (3)");
    case.replay("--resume").done();
    assert_eq!(case.rows(), "1,2,3");
}
