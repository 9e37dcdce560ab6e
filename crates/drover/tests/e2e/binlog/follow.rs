//! `--follow` goes on until Ctrl-C, which is its right end; what comes behind a log's end, or nothing.

use drover_sandbox::{Flavour, Server};

use super::sql::logged;
use crate::client::{Session, sql, try_sql, value, wait_until};
use crate::drover::{Output, Running, drover, drover_on, run};
use crate::servers::{is_wanted, on_both, start, start_unsynced};

on_both!(
    ctrl_c_ends_it,
    a_replay_that_is_stopped,
    a_replay_of_files_that_is_stopped,
    a_crash_and_nothing_new,
    logs_that_begin_anew
);

fn ctrl_c_ends_it(flavour: Flavour) {
    let server = start(flavour, &["--log-bin", "--binlog-format=ROW", "--binlog-row-metadata=FULL"]);
    sql(&server, "CREATE DATABASE f; CREATE TABLE f.t (a INT PRIMARY KEY); INSERT INTO f.t VALUES (1234567)");
    let listed = followed(&server, "ls --events").done();
    assert!(listed.stdout.contains("Write_rows") && listed.stderr.is_empty(), "{listed}");
    let printed = followed(&server, "sql").done();
    assert!(printed.stdout.contains("1234567") && printed.stderr.is_empty(), "{printed}");
    let counted = followed(&server, "stat").done();
    assert!(counted.stdout.contains("f.t") && counted.stderr.is_empty(), "{counted}");
}

/// What a command prints that is stopped when it waits for more.
fn followed(server: &Server, command: &str) -> Output {
    // A server does not notice at once that somebody is gone.
    let is_waiting = format!("{SENDERS_WAITING} AND ID > {}", value(server, SENDERS));
    let running = Running::start(&mut drover_on(server, &format!("binlog {command} --from-server --follow")));
    wait_until("all was sent", || value(server, &is_waiting) == "1");
    running.signal("INT");
    running.finish()
}

/// A signal is the right end of a replay that follows: what was read is applied, and the position is told.
fn a_replay_that_is_stopped(flavour: Flavour) {
    let source = start(flavour, &["--log-bin", "--binlog-format=ROW"]);
    let target = start_unsynced(flavour, &["--skip-log-bin"]);
    let from = format!("mysql://root@/?socket={}", source.socket().display());
    let replay = |options: &str| {
        let mut command = drover_on(&target, &format!("binlog replay {options}"));
        command.args(["--from", &from]);
        command
    };
    let following = Running::start(&mut replay("--follow"));
    sql(
        &source,
        "CREATE DATABASE g; CREATE TABLE g.t (a INT PRIMARY KEY, v INT); INSERT INTO g.t VALUES (1, 0)",
    );
    let rows = || value(&target, "SELECT GROUP_CONCAT(v ORDER BY a) FROM g.t");
    let tables = "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'g'";
    wait_until("the row is there", || value(&target, tables) == "1" && rows() == "0");
    // The signal comes while a transaction waits for a lock on the target.
    let mut other = Session::open(&target);
    other.run("START TRANSACTION; UPDATE g.t SET v = 7 WHERE a = 1");
    sql(&source, "UPDATE g.t SET v = 1");
    wait_until("it waits for the lock", || value(&target, APPLYING) == "1");
    following.signal("INT");
    other.run("ROLLBACK");
    let stopped = following.finish().done();
    assert_eq!(rows(), "1");
    let log = sql(&source, "SHOW BINARY LOGS").pop().unwrap();
    let at = format!("the target is where {} is at {}", log[0], log[1]);
    assert!(
        stopped.stdout.contains(&at) && stopped.stdout.contains("4 transactions applied"),
        "{at}: {stopped}"
    );
    sql(&source, "UPDATE g.t SET v = v + 1");
    run(&mut replay("--resume")).done();
    assert_eq!(rows(), "2");
    // The rest, to be stopped at once: nothing to be applied is no error either.
    let before = value(&source, SENDERS);
    let idle = Running::start(&mut replay("--resume --follow --json"));
    let is_waiting = format!("{SENDERS_WAITING} AND ID > {before}");
    wait_until("all was sent", || value(&source, &is_waiting) == "1");
    idle.signal("TERM");
    let stopped = idle.finish().done();
    assert_eq!(stopped.json()["transactions"], 0, "{stopped}");
}

/// MariaDB may log an ALTER TABLE when it begins, and once more when it has changed the table or has failed: with others in between.
#[test]
fn an_alter_in_two_phases() {
    if !is_wanted(Flavour::MariaDb) {
        return;
    }
    let source = start(Flavour::MariaDb, &["--log-bin", "--binlog-format=ROW", "--binlog-alter-two-phase=1"]);
    let target = start_unsynced(Flavour::MariaDb, &["--skip-log-bin"]);
    let from = format!("mysql://root@/?socket={}", source.socket().display());
    let mut replay = drover_on(&target, "binlog replay --follow");
    let following = Running::start(replay.args(["--from", &from]));
    sql(
        &source,
        "CREATE DATABASE p; CREATE TABLE p.t (id INT PRIMARY KEY, a INT); INSERT INTO p.t VALUES (1, 1), (2, 1);
         CREATE TABLE p.other (id INT)",
    );
    assert!(try_sql(&source, "ALTER TABLE p.t ADD UNIQUE KEY (a)").is_err());
    let mut other = Session::open(&source);
    other.run("START TRANSACTION; INSERT INTO p.t VALUES (3, 3)");
    let mut altering = Session::open(&source);
    altering.send("ALTER TABLE p.t ADD COLUMN b INT DEFAULT 5");
    let waits = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'ALTER%' AND STATE LIKE 'Waiting%'";
    wait_until("it waits for the row", || value(&source, waits) == "1");
    sql(&source, "INSERT INTO p.other VALUES (1)");
    other.run("COMMIT");
    let columns =
        "SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'p' AND TABLE_NAME = 't'";
    wait_until("it is altered", || value(&source, columns) == "3");
    sql(&source, "INSERT INTO p.t VALUES (4, 4, 4); INSERT INTO p.other VALUES (2)");
    let others =
        "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'p' AND TABLE_NAME = 'other'";
    wait_until("all of it has come", || {
        value(&target, others) == "1" && value(&target, "SELECT COUNT(*) FROM p.other") == "2"
    });
    following.signal("INT");
    following.finish().done();
    let question = "SELECT * FROM p.t ORDER BY id";
    assert_eq!(sql(&target, question), sql(&source, question));
}

/// How many are applying rows. INNODB_TRX would not do: InnoDB shows who asks more often than every 0.1 s what it showed before.
const APPLYING: &str = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'BINLOG%'";

/// A signal leaves a replay of files where it is; what is counted later is what it applied.
fn a_replay_of_files_that_is_stopped(flavour: Flavour) {
    let source = start_unsynced(flavour, &["--log-bin", "--binlog-format=ROW"]);
    let target = start_unsynced(flavour, &["--skip-log-bin"]);
    let logs = logged(&source, || {
        sql(&source, "CREATE DATABASE h; CREATE TABLE h.t (a INT PRIMARY KEY)");
        sql(&source, "INSERT INTO h.t VALUES (1); INSERT INTO h.t VALUES (2); INSERT INTO h.t VALUES (3)");
    });
    sql(&target, "CREATE DATABASE h; CREATE TABLE h.t (a INT PRIMARY KEY); INSERT INTO h.t VALUES (1)");
    let listed = run(drover("binlog ls --json").args(&logs)).done().json();
    let second = &listed["lines"][3]["position"];
    let replay = |options: &str| {
        let mut command =
            drover_on(&target, &format!("binlog replay --workers 1 --start-position {second} {options}"));
        command.args(&logs);
        command
    };
    let mut other = Session::open(&target);
    other.run("START TRANSACTION; INSERT INTO h.t VALUES (3)");
    let running = Running::start(&mut replay(""));
    wait_until("the second row is there", || value(&target, "SELECT COUNT(*) FROM h.t") == "2");
    wait_until("it waits for the lock", || value(&target, APPLYING) == "1");
    running.signal("INT");
    running.finish().refused(&["stopped by a signal", "hint: the same command with --resume resumes it"]);
    other.run("ROLLBACK");
    let told = run(&mut replay("--resume --json")).done().json();
    let count = |field: &str| told[field].as_u64().unwrap();
    // What waited may have been sent up to its COMMIT.
    assert!(count("applied_before") >= 1 && count("applied_before") + count("transactions") == 2, "{told}");
    let told = run(&mut replay("--resume")).done();
    assert!(told.stdout.starts_with("0 transactions applied"), "{told}");
    assert_eq!(value(&target, "SELECT GROUP_CONCAT(a ORDER BY a) FROM h.t"), "1,2,3");
}

/// The newest connection that a log is sent over, and how many have been sent all.
const SENDERS: &str =
    "SELECT COALESCE(MAX(ID), 0) FROM information_schema.PROCESSLIST WHERE COMMAND LIKE 'Binlog Dump%'";
const SENDERS_WAITING: &str = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE COMMAND LIKE 'Binlog Dump%' AND STATE LIKE \
                               '%sent all binlog%'";

/// Where nothing has come, nothing is to be done; a server that went down leaves a log without an end, and goes on with the next one.
fn a_crash_and_nothing_new(flavour: Flavour) {
    let mut source = start(flavour, &["--log-bin", "--binlog-format=ROW"]);
    let target = start_unsynced(flavour, &["--skip-log-bin"]);
    let from = format!("mysql://root@/?socket={}", source.socket().display());
    let replay = |options: &str| {
        let mut command = drover_on(&target, &format!("binlog replay {options}"));
        command.args(["--from", &from]);
        command
    };
    let has = |rows: &str| value(&target, "SELECT GROUP_CONCAT(a ORDER BY a) FROM f.t") == rows;
    sql(&source, "CREATE DATABASE f; CREATE TABLE f.t (a INT PRIMARY KEY); INSERT INTO f.t VALUES (1)");
    run(&mut replay("")).done();
    for options in ["--resume", "--resume", "--resume --dry-run"] {
        let nothing = run(&mut replay(options)).done();
        assert!(nothing.stdout.starts_with("0 transactions"), "{nothing}");
    }
    let newest = sql(&source, "SHOW BINARY LOGS").pop().unwrap();
    for command in ["ls", "sql", "ls --events"] {
        let command = format!("binlog {command} --from-server --start-position {} {}", newest[1], newest[0]);
        let nothing = run(&mut drover_on(&source, &command)).done();
        assert_eq!(nothing.stdout, "", "{nothing}");
    }

    let following = Running::start(&mut replay("--resume --follow"));
    sql(&source, "INSERT INTO f.t VALUES (2)");
    wait_until("the row is there", || has("1,2"));
    source.kill();
    following.finish().refused(&["hint: the same command with --resume resumes it"]);
    source.restart().unwrap();
    run(&mut replay("--resume")).done();
    sql(&source, "INSERT INTO f.t VALUES (3)");
    run(&mut replay("--resume")).done();
    assert!(has("1,2,3"), "{:?}", sql(&target, "SELECT * FROM f.t"));
}

/// What the server writes between a RESET and its next log is not sent to who follows.
fn logs_that_begin_anew(flavour: Flavour) {
    let source = start_unsynced(flavour, &["--log-bin", "--binlog-format=ROW"]);
    let target = start_unsynced(flavour, &["--skip-log-bin"]);
    let reset = match flavour {
        Flavour::MySql => "RESET BINARY LOGS AND GTIDS",
        Flavour::MariaDb => "RESET MASTER",
    };
    // What comes behind the last log is another one by its name, or by nothing but that the last was not ended.
    for (schema, before, words) in [
        ("f", "FLUSH BINARY LOGS; FLUSH BINARY LOGS; FLUSH BINARY LOGS", ""),
        ("g", reset, "begun its logs anew (RESET)"),
    ] {
        sql(&source, before);
        sql(
            &source,
            format!(
                "CREATE DATABASE {schema}; CREATE TABLE {schema}.t (a INT PRIMARY KEY); INSERT INTO {schema}.t VALUES (1)"
            ),
        );
        let senders = value(&source, SENDERS);
        let mut replay =
            drover_on(&target, &format!("binlog replay --start-position 4 --follow --name {schema}"));
        let following = Running::start(
            replay.args(["--from", &format!("mysql://root@/?socket={}", source.socket().display())]),
        );
        let is_waiting = format!("{SENDERS_WAITING} AND ID > {senders}");
        wait_until("all was sent", || value(&source, &is_waiting) == "1");
        sql(&source, reset);
        sql(
            &source,
            format!(
                "INSERT INTO {schema}.t VALUES (2); FLUSH BINARY LOGS; INSERT INTO {schema}.t VALUES (3)"
            ),
        );
        following.finish().refused(&[words]);
        assert_eq!(value(&target, format!("SELECT GROUP_CONCAT(a) FROM {schema}.t")), "1");
    }
}
