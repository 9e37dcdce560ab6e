//! Logs that go to a server of another version or vendor: what a session is set to there, and what is logged in two phases.

use drover_sandbox::{Flavour, Server};

use super::sql::logged;
use crate::client::{client, feed, sql, value};
use crate::drover::{drover, drover_on, run};
use crate::servers::{is_wanted, start, start_mariadb_11, start_unsynced};

const LOGS: [&str; 2] = ["--log-bin", "--binlog-format=ROW"];

/// What replay does, and what comes of what is printed.
fn both_ways(source: &Server, target: &Server, work: &str, question: &str) {
    let logs = logged(source, || drop(sql(source, work)));
    let expected = sql(source, question);
    run(drover_on(target, "binlog replay").args(&logs)).done();
    assert_eq!(sql(target, question), expected, "replayed");
    sql(target, "DROP DATABASE d");
    let columns = format!("mysql://root@/?socket={}", source.socket().display());
    let printed = run(drover("binlog sql --no-defaults --columns-of").arg(columns).args(&logs)).done().stdout;
    let fed = feed(client(target).arg("--binary-mode"), printed.as_bytes());
    assert!(fed.status.success(), "{}\n{printed}", String::from_utf8_lossy(&fed.stderr));
    assert_eq!(sql(target, question), expected, "{printed}");
}

/// MariaDB may log an ALTER TABLE when it begins, and once more when it has changed the table or has failed.
#[test]
fn an_alter_in_two_phases() {
    if !is_wanted(Flavour::MariaDb) {
        return;
    }
    let (source, target) = (&start_unsynced(Flavour::MariaDb, &LOGS), &start_unsynced(Flavour::MariaDb, &[]));
    let work = "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY); INSERT INTO d.t VALUES (1), (2);
        SET binlog_alter_two_phase = 1; ALTER TABLE d.t ADD COLUMN a INT DEFAULT 3;
        ALTER IGNORE TABLE d.t ADD COLUMN b INT DEFAULT 4; INSERT INTO d.t VALUES (5, 6, 7)";
    both_ways(source, target, work, "SELECT id, a, b FROM d.t ORDER BY id");
    // One that fails is no change there either.
    sql(target, "DROP DATABASE d");
    let logs = logged(source, || {
        sql(
            source,
            "CREATE OR REPLACE DATABASE d; CREATE TABLE d.t (id INT, a INT); INSERT INTO d.t VALUES (1, 1), (2, 1)",
        );
        let failing = "SET binlog_alter_two_phase = 1; ALTER TABLE d.t ADD UNIQUE KEY (a)";
        assert!(crate::client::try_sql(source, failing).is_err());
        sql(source, "INSERT INTO d.t VALUES (3, 1)");
    });
    run(drover_on(target, "binlog replay --restart").args(&logs)).done();
    assert_eq!(value(target, "SELECT COUNT(*) FROM d.t"), "3");
}

/// A character set without a collation has the one that it had where the log is from.
#[test]
fn a_newer_default_collation() {
    if !is_wanted(Flavour::MariaDb) {
        return;
    }
    let (source, target) = (&start_unsynced(Flavour::MariaDb, &LOGS), &start_mariadb_11(&[]));
    // Equal in the newer collation only.
    let work = "SET NAMES utf8mb4; CREATE DATABASE d CHARACTER SET utf8mb4; CREATE TABLE d.t (w VARCHAR(9) PRIMARY KEY) CHARACTER SET utf8mb4;
        INSERT INTO d.t VALUES ('ß'), ('ss')";
    let question = "SELECT HEX(w), COLLATION(w) FROM d.t UNION ALL SELECT DEFAULT_COLLATION_NAME, '' FROM information_schema.SCHEMATA
        WHERE SCHEMA_NAME = 'd' ORDER BY 1";
    both_ways(source, target, work, question);
}

/// Settings that only the vendor of the log has are set where they are known.
#[test]
fn settings_of_the_other_vendor() {
    if !(is_wanted(Flavour::MariaDb) && is_wanted(Flavour::MySql)) {
        return;
    }
    let work = "CREATE DATABASE d CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci; USE d;
        CREATE TABLE t (id INT PRIMARY KEY, w VARCHAR(9), at TIMESTAMP NULL) COLLATE utf8mb4_general_ci;
        INSERT INTO t VALUES (1, 'a', '2020-01-01'), (2, NULL, NULL); ALTER TABLE t ADD COLUMN n INT; UPDATE t SET n = id";
    let question = "SELECT id, w, n FROM d.t ORDER BY id";
    for (from, to) in [(Flavour::MySql, Flavour::MariaDb), (Flavour::MariaDb, Flavour::MySql)] {
        both_ways(&start(from, &LOGS), &start_unsynced(to, &[]), work, question);
    }
}
