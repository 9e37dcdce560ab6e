//! What statements of a log depend on in their sessions: what the log does not mention has its default, on whichever connection a statement
//! runs, and however often it is applied.

use std::path::{Path, PathBuf};

use drover_sandbox::{Flavour, Server};

use super::extract::{assert_same, extracted};
use super::sql::logged;
use crate::client::{Session, client, feed, sql, value, wait_until};
use crate::drover::{Running, drover, drover_on, run};
use crate::servers::{on_both, start_unsynced};

on_both!(
    what_is_not_told_has_its_default,
    constraints_are_checked,
    a_load_is_extracted_with_defaults,
    collations_of_schemas,
    prepared_transactions_have_their_settings,
    temporary_tables_stay_behind_a_definition,
    temporary_tables_of_prepared_transactions,
    applied_once_more_after_a_timeout,
);

const OPTIONS: [&str; 3] = ["--log-bin", "--binlog-format=STATEMENT", "--local-infile=1"];
/// Other defaults than a log's, which a target may have.
const OTHERS: &str =
    "SET GLOBAL auto_increment_increment = 5, auto_increment_offset = 2, lc_time_names = 'fr_FR'";

fn pair(flavour: Flavour) -> (Server, Server) {
    (start_unsynced(flavour, &OPTIONS), start_unsynced(flavour, &["--local-infile=1"]))
}

/// What the source has, the target has by `binlog replay` and by `binlog sql`; the target's schema `d` is dropped between.
fn assert_by_both(source: &Server, target: &Server, logs: &[PathBuf], rows: &str) {
    let expected = sql(source, rows);
    run(drover_on(target, "binlog replay").args(logs)).done();
    assert_eq!(sql(target, rows), expected);
    sql(target, "DROP DATABASE d");
    let printed = run(drover("binlog sql").args(logs)).done().stdout;
    let fed = feed(client(target).args(["--binary-mode", "--local-infile=1"]), printed.as_bytes());
    assert!(fed.status.success(), "{}\n{printed}", String::from_utf8_lossy(&fed.stderr));
    assert_eq!(sql(target, rows), expected, "{printed}");
}

fn what_is_not_told_has_its_default(flavour: Flavour) {
    let (source, target) = pair(flavour);
    let logs = logged(&source, || {
        sql(
            &source,
            "CREATE DATABASE d; USE d; CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v CHAR(30));
            INSERT INTO t (v) VALUES ('a'), ('b');
            SET auto_increment_increment = 7, auto_increment_offset = 3; INSERT INTO t (v) VALUES ('c'), ('d');
            SET auto_increment_increment = 1, auto_increment_offset = 1; INSERT INTO t (v) VALUES ('e'), ('f');
            SET lc_time_names = 'de_DE'; INSERT INTO t (v) VALUES (DATE_FORMAT('2020-03-01', '%M'));
            SET lc_time_names = 'en_US'; INSERT INTO t (v) VALUES (DATE_FORMAT('2020-03-01', '%M'))",
        );
    });
    sql(&target, OTHERS);
    assert_by_both(&source, &target, &logs, "SELECT * FROM d.t ORDER BY id");
    let found = value(&target, "SELECT GROUP_CONCAT(v ORDER BY id) FROM d.t");
    assert_eq!(found, "a,b,c,d,e,f,März,March");
}

/// MariaDB's flags tell only where they are not.
fn constraints_are_checked(flavour: Flavour) {
    let (source, target) = pair(flavour);
    let logs = logged(&source, || {
        let statements = "CREATE DATABASE d; CREATE TABLE d.t (v INT CHECK (v > 0)); INSERT IGNORE INTO d.t VALUES (1), (-1)";
        sql(&source, statements);
    });
    if flavour == Flavour::MariaDb {
        sql(&target, "SET GLOBAL check_constraint_checks = 0");
    }
    assert_by_both(&source, &target, &logs, "SELECT * FROM d.t ORDER BY v");
    assert_eq!(value(&target, "SELECT COUNT(*) FROM d.t"), "1");
}

fn a_load_is_extracted_with_defaults(flavour: Flavour) {
    let (source, target) = pair(flavour);
    let dir = tempfile::tempdir().unwrap();
    let load = load_of(dir.path(), b"a\nb\nc\n");
    let definition = "CREATE DATABASE d; CREATE TABLE d.t (id INT AUTO_INCREMENT PRIMARY KEY, v CHAR(30))";
    for server in [&source, &target] {
        sql(server, definition);
    }
    let logs = logged(&source, || local(&source, format!("USE d; {load}").as_bytes()));
    sql(&target, OTHERS);
    let loads = extracted(&logs[0], &dir.path().join("out"), "");
    let statement = std::fs::read(loads[0]["statement_file"].as_str().unwrap()).unwrap();
    local(&target, &statement);
    assert_same(&source, &target, "d.t");
}

/// Statement of a load of a file with this content.
fn load_of(dir: &Path, content: &[u8]) -> String {
    let file = dir.join("file");
    std::fs::write(&file, content).unwrap();
    format!("LOAD DATA LOCAL INFILE '{}' INTO TABLE t (v);", file.display())
}

/// Runs statements with the client's option for LOCAL.
fn local(server: &Server, script: &[u8]) {
    let output = feed(client(server).args(["--local-infile=1", "--binary-mode"]), script);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A file is read in the character set of the schema, unless the session had another one.
fn collations_of_schemas(flavour: Flavour) {
    let (source, target) = pair(flavour);
    let dir = tempfile::tempdir().unwrap();
    let load = load_of(dir.path(), b"\xe4\n");
    let set = |name: &str| format!("SET collation_database = {name};");
    let (own, other) = (set("latin1_swedish_ci"), set("cp1251_general_ci"));
    let script = format!(
        "CREATE DATABASE d CHARACTER SET latin1; CREATE DATABASE IF NOT EXISTS e; USE d;
        CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v CHAR(9) CHARACTER SET utf8mb4);
        {load} {other} {load} USE e; INSERT INTO d.t (v) VALUES ('e'); USE d; {load} {other} {load} {own} {load}
        {other} {load} CREATE TABLE u (v INT); {own} {load}"
    );
    let logs = logged(&source, || local(&source, script.as_bytes()));
    assert_by_both(&source, &target, &logs, "SELECT id, HEX(v) FROM d.t ORDER BY id");
    let found = value(&target, "SELECT GROUP_CONCAT(v ORDER BY id SEPARATOR '') FROM d.t");
    assert_eq!(found, "äдeäдäдä");
}

/// MariaDB, and MySQL before 8.0.29, need another connection for each.
fn prepared_transactions_have_their_settings(flavour: Flavour) {
    let (source, target) = pair(flavour);
    let logs = logged(&source, || {
        sql(
            &source,
            "CREATE DATABASE d; CREATE TABLE d.t (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(60));
            SET time_zone = '-07:30', sql_mode = 'PIPES_AS_CONCAT';
            INSERT INTO d.t (v) VALUES (FROM_UNIXTIME(1) || 'a');
            XA START 'a'; INSERT INTO d.t (v) VALUES (FROM_UNIXTIME(1) || 'b');
              INSERT INTO d.t (v) VALUES (UNIX_TIMESTAMP('2020-01-01')); XA END 'a'; XA PREPARE 'a'; XA COMMIT 'a';
            USE d; INSERT INTO t (v) VALUES (FROM_UNIXTIME(1));
            XA START 'b'; INSERT INTO t (v) VALUES (FROM_UNIXTIME(1) || 'c'); XA END 'b'; XA PREPARE 'b'; XA COMMIT 'b';
            INSERT INTO t (v) VALUES (FROM_UNIXTIME(1) || 'd')",
        );
    });
    assert_by_both(&source, &target, &logs, "SELECT * FROM d.t ORDER BY id");
    assert_eq!(value(&target, "SELECT v FROM d.t WHERE id = 3"), "1577863800");
}

/// What another session writes into a table of the same name is no part of it.
fn temporary_tables_stay_behind_a_definition(flavour: Flavour) {
    let (source, target) = pair(flavour);
    let logs = logged(&source, || {
        let mut sessions = [Session::open(&source), Session::open(&source)];
        sessions[0].run("CREATE DATABASE d");
        sessions[0].run("USE d");
        sessions[0].run("CREATE TABLE t (v INT)");
        sessions[1].run("USE d");
        sessions[0].run("CREATE TEMPORARY TABLE t (v INT)");
        sessions[0].run("CREATE TABLE u (v INT)");
        sessions[1].run("INSERT INTO t VALUES (1)");
        sessions[0].run("INSERT INTO t VALUES (2)");
        sessions[1].run("INSERT INTO t VALUES (3)");
    });
    assert_by_both(&source, &target, &logs, "SELECT * FROM d.t ORDER BY v");
    assert_eq!(value(&target, "SELECT GROUP_CONCAT(v ORDER BY v) FROM d.t"), "1,3");
}

/// Where a prepared transaction has a session of its own, that has no temporary tables. MySQL prepares none that uses one.
fn temporary_tables_of_prepared_transactions(flavour: Flavour) {
    let (source, target) = pair(flavour);
    let definition = "CREATE DATABASE d; CREATE TABLE d.t (id BIGINT PRIMARY KEY)";
    for server in [&source, &target] {
        sql(server, definition);
    }
    // The other session's number is none of a temporary table.
    let number = "USE d; XA START 'a'; INSERT INTO t VALUES (CONNECTION_ID() * 0); XA END 'a'; XA PREPARE 'a'; XA COMMIT 'a'";
    let logs = logged(&source, || drop(sql(&source, number)));
    run(drover_on(&target, "binlog replay --start-position 4").args(&logs)).done();
    assert_same(&source, &target, "d.t");
    let temporary = "USE d; CREATE TEMPORARY TABLE tmp (a INT); INSERT INTO tmp VALUES (1), (2);
        XA START 'a'; INSERT INTO t VALUES (9); INSERT INTO t SELECT a FROM tmp; XA END 'a'; XA PREPARE 'a'; XA COMMIT 'a'";
    let made = crate::client::try_sql(&source, temporary);
    if flavour == Flavour::MySql {
        assert!(made.unwrap_err().to_lowercase().contains("temporary table"));
        return;
    }
    // One that hides a table of the same name: its rows must not come from that.
    sql(&target, "CREATE TABLE d.tmp (a INT); INSERT INTO d.tmp VALUES (7)");
    let logs = logged(&source, || drop(sql(&source, format!("DELETE FROM d.t; {temporary}"))));
    for options in ["--dry-run", ""] {
        let replayed =
            run(drover_on(&target, &format!("binlog replay --restart --start-position 4 {options}"))
                .args(&logs));
        let told = format!("{replayed}");
        assert!(
            told.contains("uses a temporary table") && told.contains("INSERT INTO t SELECT a FROM tmp"),
            "{told}"
        );
        assert_ne!(replayed.code, Some(0), "{told}");
        assert_eq!(value(&target, "SELECT COUNT(*) FROM d.t WHERE id > 0"), "0");
    }
}

/// A statement is applied again with the settings that it had, not with those of the statements behind it.
fn applied_once_more_after_a_timeout(flavour: Flavour) {
    let source = start_unsynced(flavour, &OPTIONS);
    let target = start_unsynced(flavour, &["--innodb-lock-wait-timeout=1"]);
    let definition =
        "CREATE DATABASE d; USE d; CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(60));
        CREATE TABLE locked (id INT PRIMARY KEY, v INT); INSERT INTO locked VALUES (1, 1)";
    for server in [&source, &target] {
        sql(server, definition);
    }
    let logs = logged(&source, || {
        sql(
            &source,
            "USE d; SET time_zone = '-07:30', lc_time_names = 'de_DE'; INSERT INTO t (v) VALUES (FROM_UNIXTIME(1)); BEGIN;
            INSERT INTO t (v) VALUES (DATE_FORMAT(FROM_UNIXTIME(1), '%M %H')); SET time_zone = '+02:00', lc_time_names = 'en_US';
            INSERT INTO t (v) VALUES (DATE_FORMAT(FROM_UNIXTIME(1), '%M %H')); UPDATE locked SET v = 2 WHERE id = 1; COMMIT",
        );
    });
    let mut other = Session::open(&target);
    other.run("BEGIN");
    assert_eq!(other.value("SELECT v FROM d.locked WHERE id = 1 FOR UPDATE"), "1");
    // Who asks INNODB_TRX every 0.1 s or more often is told the same as before, for ever.
    let waits =
        || -> u32 { sql(&target, "SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_waits'")[0][1].parse().unwrap() };
    let before = waits();
    let replay = Running::start(drover_on(&target, "binlog replay --start-position 4").args(&logs));
    wait_until("the replay waits once more", || waits() > before + 1);
    other.run("ROLLBACK");
    replay.finish().done();
    assert_same(&source, &target, "d.t");
    assert_same(&source, &target, "d.locked");
}
