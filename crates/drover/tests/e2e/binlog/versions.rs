//! Statements in logs of one version on a server of another, older or newer, of the same vendor or the other: what the target would make
//! otherwise is as it was where the log was written.

use std::path::PathBuf;
use std::process::Command;

use drover_sandbox::{Flavour, Server};

use crate::client::mariadb_dump;
use crate::drover::{drover_on, restore, run};
use crate::reach;
use crate::servers::start_of;

pub(super) fn sql(server: &Server, text: &str) -> Vec<Vec<String>> {
    reach::sql(server, "mysql", text)
}

/// A server by its name; `newest` is MySQL's, and MariaDB 10.11 the system's own.
fn start_named(name: &str, options: &[&str]) -> Option<Server> {
    match name {
        "mariadb-10.11" => start_of(Flavour::MariaDb, "newest", options),
        name if name.starts_with("mariadb") => start_of(Flavour::MariaDb, name, options),
        name => start_of(Flavour::MySql, name, options),
    }
}

/// A server that logs statements, and one to apply them to, if tests may use both.
pub(super) fn pair(from: &str, to: &str, options: &[&str]) -> Option<(Server, Server)> {
    let logs = ["--server-id=11", "--log-bin=bin", "--binlog-format=STATEMENT"];
    let source = start_named(from, &logs)?;
    let target = start_named(to, &[&["--server-id=12"], options].concat())?;
    Some((source, target))
}

/// The log of what is done.
pub(super) fn logged(server: &Server, work: &str) -> PathBuf {
    sql(server, &format!("FLUSH LOGS; {work}; FLUSH LOGS"));
    let logs = sql(server, "SHOW BINARY LOGS");
    server.datadir().join(&logs[logs.len() - 2][0])
}

/// The answers are the same where the log of this work is applied.
fn assert_same(servers: Option<(Server, Server)>, work: &str, questions: &str) {
    let Some((source, target)) = servers else { return };
    let log = logged(&source, work);
    for options in ["--dry-run", ""] {
        run(drover_on(&target, &format!("binlog replay {options}")).arg(&log)).done();
    }
    assert_eq!(sql(&target, questions), sql(&source, questions));
}

/// Each server has a character set of its own for a schema that names none: an older one has latin1, which holds less.
fn schemas_without_a_character_set(from: &str, to: &str) {
    assert_same(
        pair(from, to, &[]),
        "SET NAMES utf8mb4; CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, v VARCHAR(9)); INSERT INTO d.t VALUES (1, 'é中')",
        "SELECT id, HEX(v) FROM d.t; SELECT CHARACTER_SET_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'd' AND COLUMN_NAME = 'v'",
    );
}

#[test]
fn schemas_without_a_character_set_of_the_newest_on_5_7() {
    schemas_without_a_character_set("newest", "mysql-5.7");
}

#[test]
fn schemas_without_a_character_set_of_11_on_10_5() {
    schemas_without_a_character_set("mariadb-11.8", "mariadb-10.5");
}

#[test]
fn schemas_without_a_character_set_on_the_other_vendor() {
    schemas_without_a_character_set("newest", "mariadb-10.5");
    schemas_without_a_character_set("mariadb-11.8", "mysql-5.7");
}

/// MySQL rounds what a column has no digits for, MariaDB cuts it.
fn digits_of_seconds(from: &str, to: &str) {
    assert_same(
        pair(from, to, &[]),
        "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, d DATETIME, t TIME(1));
         INSERT INTO d.t VALUES (1, '2020-01-01 00:00:00.95', '10:00:00.96'), (2, '1999-12-31 23:59:59.5', '-00:00:00.19')",
        "SELECT * FROM d.t ORDER BY id",
    );
}

#[test]
fn digits_of_seconds_are_cut_as_mariadb_does() {
    digits_of_seconds("mariadb-10.5", "newest");
    digits_of_seconds("mariadb-10.2", "mysql-8.0");
}

#[test]
fn digits_of_seconds_are_rounded_as_mysql_does() {
    digits_of_seconds("mysql-5.7", "mariadb-11.8");
    digits_of_seconds("newest", "mariadb-10.5");
}

const CONSTRAINTS: &str = "SELECT CONSTRAINT_TYPE FROM information_schema.TABLE_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = 'd' AND CONSTRAINT_TYPE <> 'PRIMARY KEY';
    SELECT * FROM d.t ORDER BY id; SELECT * FROM d.child ORDER BY id";

/// MySQL 5.7 reads a CHECK and a column's own REFERENCES, and makes nothing of them: rows against both are in its tables.
#[test]
fn constraints_that_were_not_kept() {
    const WORK: &str = "CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY, a INT CHECK (a > 0)); INSERT INTO t VALUES (1, -1);
        ALTER TABLE t ADD CONSTRAINT c CHECK (a <> -1); CREATE TABLE child (id INT PRIMARY KEY, p INT REFERENCES t (id)); INSERT INTO child VALUES (1, 77)";
    assert_same(pair("mysql-5.7", "newest", &[]), WORK, CONSTRAINTS);
    assert_same(pair("mysql-5.7", "mariadb-10.5", &[]), WORK, CONSTRAINTS);
}

/// MariaDB makes a foreign key of what a column references; MySQL before 9.0 makes none, and would keep rows of a parent that is gone.
#[test]
fn references_that_were_kept() {
    const WORK: &str = "CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY) ENGINE=InnoDB; INSERT INTO t VALUES (1), (2);
        CREATE TABLE child (id INT PRIMARY KEY, p INT REFERENCES t (id) ON DELETE CASCADE) ENGINE=InnoDB; INSERT INTO child VALUES (1, 1), (2, 2);
        DELETE FROM t WHERE id = 1";
    assert_same(pair("mariadb-10.5", "mysql-8.0", &[]), WORK, CONSTRAINTS);
    assert_same(pair("mariadb-10.5", "newest", &[]), WORK, CONSTRAINTS);
}

/// Old servers give the first TIMESTAMP of a table more than its definition says, and their logs do not tell.
#[test]
fn attributes_of_timestamps() {
    for (from, to) in [
        ("mysql-5.7", "newest"),
        ("mariadb-10.2", "mariadb-11.8"),
        ("mysql-5.7", "mariadb-11.8"),
        ("mariadb-10.5", "newest"),
    ] {
        assert_same(
            pair(from, to, &[]),
            "CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY, a TIMESTAMP, b INT); INSERT INTO t (id, b) VALUES (1, 1); UPDATE t SET b = 2",
            "SELECT IS_NULLABLE, EXTRA LIKE '%on update current_timestamp%', COLUMN_DEFAULT IS NULL FROM information_schema.COLUMNS
             WHERE TABLE_SCHEMA = 'd' AND COLUMN_NAME = 'a'; SELECT UNIX_TIMESTAMP(a), b FROM d.t",
        );
    }
}

/// MariaDB logs what it keeps of a password, which MySQL would take for the password.
#[test]
fn passwords_that_are_set() {
    let Some((source, target)) = pair("mariadb-10.5", "mysql-8.0", &[]) else { return };
    let work = "CREATE USER u@localhost; SET PASSWORD FOR u@localhost = PASSWORD('long and secret')";
    let log = logged(&source, work);
    run(drover_on(&target, "binlog replay").arg(&log)).done();
    for server in [&source, &target] {
        let mut client = Command::new("mariadb");
        client.args(["--no-defaults", "--skip-ssl", "-u", "u", "-plong and secret", "-e", "SELECT 1"]);
        let login = client.arg("-S").arg(server.socket()).output().unwrap();
        assert!(login.status.success(), "{}", String::from_utf8_lossy(&login.stderr));
    }
}

/// A target that insists on a key, or makes one of its own, holds what the log says all the same.
#[test]
fn tables_without_a_key() {
    let insists = ["--sql-require-primary-key=1", "--sql-generate-invisible-primary-key=1"];
    assert_same(
        pair("mysql-5.7", "newest", &insists),
        "CREATE DATABASE d; CREATE TABLE d.t (a INT); INSERT INTO d.t VALUES (1), (1)",
        "SELECT * FROM d.t; SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'd'",
    );
}

/// Before 5.7.8 MySQL has no JSON: rows go into the texts that a copy makes of it.
#[test]
fn documents_on_a_server_without_them() {
    let Some((source, target)) = pair("mysql-5.7", "mysql-5.6", &[]) else { return };
    sql(&source, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, j JSON)");
    sql(
        &target,
        "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, j LONGTEXT CHARACTER SET utf8mb4)",
    );
    let work = "SET SESSION binlog_format = ROW; INSERT INTO d.t VALUES (1, '{\"a\": [1, 2.5, null, \"é\"]}'); UPDATE d.t SET j = JSON_SET(j, '$.b', 3)";
    let log = logged(&source, work);
    run(drover_on(&target, "binlog replay").arg(&log)).done();
    let rows = "SELECT id, CONVERT(j USING utf8mb4) FROM d.t";
    assert_eq!(sql(&target, rows), sql(&source, rows));
}

/// Scripts set the modes of each trigger, one of which MySQL 8.0 does not know any more.
#[test]
fn modes_that_scripts_set() {
    let Some((source, target)) = pair("mysql-5.7", "newest", &["--log-bin-trust-function-creators=1"]) else {
        return;
    };
    sql(
        &source,
        "CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1, 1);
         SET sql_mode = 'NO_AUTO_CREATE_USER,NO_ENGINE_SUBSTITUTION,PIPES_AS_CONCAT';
         CREATE TRIGGER noted BEFORE INSERT ON t FOR EACH ROW SET NEW.v = '1' || '2'",
    );
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("d.sql");
    mariadb_dump(&source, "d", &script);
    assert!(std::fs::read_to_string(&script).unwrap().contains("NO_AUTO_CREATE_USER"));
    run(&mut restore(&target, &script, "")).done();
    for server in [&source, &target] {
        sql(server, "INSERT INTO d.t (id) VALUES (2)");
        assert_eq!(sql(server, "SELECT v FROM d.t ORDER BY id"), [["1"], ["12"]]);
    }
}
