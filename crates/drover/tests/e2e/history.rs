//! Rows of system-versioned tables between servers of MariaDB whose last TIMESTAMP is not the same: what is valid stays valid.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use drover_sandbox::{Flavour, Server};

use crate::client::{sql, value};
use crate::drover::{copy, drover, drover_on, dump, restore, run, verify};
use crate::servers::{is_wanted, start_mariadb_11, start_unsynced};

const LOGGED: [&str; 2] = ["--log-bin", "--binlog-format=ROW"];

/// By itself, by names of its own before other columns, and by one of them in a key.
const TABLES: &str = "CREATE DATABASE hist; USE hist; SET time_zone = '+00:00';
    CREATE TABLE own (id INT PRIMARY KEY, v INT) WITH SYSTEM VERSIONING;
    CREATE TABLE named (id INT PRIMARY KEY, s TIMESTAMP(6) GENERATED ALWAYS AS ROW START, e TIMESTAMP(6) GENERATED ALWAYS AS ROW END,
      v INT, PERIOD FOR SYSTEM_TIME (s, e)) WITH SYSTEM VERSIONING;
    CREATE TABLE keyed (id INT, v INT, s TIMESTAMP(6) GENERATED ALWAYS AS ROW START, e TIMESTAMP(6) GENERATED ALWAYS AS ROW END,
      PERIOD FOR SYSTEM_TIME (s, e), PRIMARY KEY (id, e)) WITH SYSTEM VERSIONING;";

fn rows(table: &str) -> String {
    format!(
        "INSERT INTO {table} (id, v) VALUES (1, 1), (2, 2), (3, 3); UPDATE {table} SET v = v + 5 WHERE id = 2; DELETE FROM {table} WHERE id = 3;"
    )
}

/// The rows of now, and how many there were ever.
fn held(server: &Server) -> Vec<String> {
    let held = |table| {
        let now = format!("SELECT GROUP_CONCAT(id, ':', v ORDER BY id) FROM hist.{table}");
        let ever = format!("SELECT COUNT(*) FROM hist.{table} FOR SYSTEM_TIME ALL");
        format!("{table}: {}, {} ever", value(server, now), value(server, ever))
    };
    ["own", "named", "keyed"].map(held).to_vec()
}

#[test]
fn up_to_mariadb_11() {
    if is_wanted(Flavour::MariaDb) {
        check(&start_unsynced(Flavour::MariaDb, &LOGGED), &start_mariadb_11(&LOGGED));
    }
}

#[test]
fn down_from_mariadb_11() {
    if is_wanted(Flavour::MariaDb) {
        check(&start_mariadb_11(&LOGGED), &start_unsynced(Flavour::MariaDb, &LOGGED));
    }
}

fn check(source: &Server, target: &Server) {
    let dir = tempfile::tempdir().unwrap();
    let fill: String = ["own", "named", "keyed"].map(rows).concat();
    sql(source, format!("{TABLES} {fill}"));
    let expected = held(source);
    assert_eq!(expected[0], "own: 1:1,2:7, 4 ever");
    let afresh = || {
        assert_eq!(held(target), expected);
        sql(target, "DROP DATABASE hist");
    };
    run(&mut copy(source, target, "hist", &dir.path().join("state"))).done();
    afresh();

    let out = dir.path().join("dump");
    run(&mut dump(source, "hist", &out)).done();
    run(&mut restore(target, &out, "")).done();
    run(&mut verify(source, &out, "")).done();
    // What comes behind it: rows that are valid there end, and others come.
    sql(
        source,
        "UPDATE hist.own SET v = 9; DELETE FROM hist.named WHERE id = 1; INSERT INTO hist.keyed (id, v) VALUES (8, 8)",
    );
    sql(source, "UPDATE hist.keyed SET v = 10 WHERE id = 1");
    let after = held(source);
    let mut replay = drover_on(target, "binlog replay");
    run(replay.arg("--after").arg(&out).arg(source.datadir())).done();
    assert_eq!(held(target), after);
    sql(target, "DROP DATABASE hist");

    let by_hand = dir.path().join("by-hand");
    sql(source, "DROP DATABASE hist");
    sql(source, format!("{TABLES} {fill}"));
    run(&mut dump(source, "hist --format sql", &by_hand)).done();
    let mut script = Command::new("sh");
    let client = target.client("mariadb");
    script.arg(by_hand.join("restore.sh")).arg(client.get_program()).args(client.get_args());
    let output = script.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    afresh();
    run(&mut restore(target, &by_hand, "")).done();
    afresh();
    from_mariadb_dump(source, target, &afresh);
}

/// Dumps of mariadb-dump's: a script, one in another time zone, and a directory with files of rows.
fn from_mariadb_dump(source: &Server, target: &Server, afresh: &dyn Fn()) {
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("hist.sql");
    let text = mariadb_dump(source, "--databases hist");
    fs::write(&script, &text).unwrap();
    run(&mut restore(target, &script, "")).done();
    afresh();

    let text = text.replace("TIME_ZONE='+00:00'", "TIME_ZONE='+01:00'");
    fs::write(
        &script,
        text.replace("2038-01-19 03:", "2038-01-19 04:").replace("2106-02-07 06:", "2106-02-07 07:"),
    )
    .unwrap();
    let output = run(&mut restore(target, &script, ""));
    let is_told =
        output.code == Some(1) && output.stderr.contains("`hist`.`own`: 2 rows end at the last TIMESTAMP");
    // The older server takes no later TIMESTAMP.
    assert!(is_told || output.code == Some(2), "{output}");
    sql(target, "DROP DATABASE hist");

    let tab = tempfile::tempdir().unwrap();
    fs::set_permissions(tab.path(), fs::Permissions::from_mode(0o777)).unwrap();
    mariadb_dump(source, &format!("--tab={} hist", tab.path().display()));
    let url = format!("mysql://root@localhost/hist?socket={}", target.socket().display());
    run(drover("restore --enable-local-infile --url").arg(url).arg(tab.path())).done();
    afresh();
}

fn mariadb_dump(server: &Server, options: &str) -> String {
    let mut command = Command::new("mariadb-dump");
    command.args(["--no-defaults", "--dump-history", "-uroot", "-S"]).arg(server.socket());
    let output = command.args(options.split_whitespace()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
