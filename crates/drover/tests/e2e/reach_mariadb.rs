//! What old versions of MariaDB lack, or do otherwise, and has ended a command on them.

use drover_sandbox::{Flavour, Server};

use crate::drover::{Output, copy_as, drover_on, dump, restore, run, verify};
use crate::reach::{old, sql};
use crate::servers::{is_wanted, start, start_mariadb_11, start_unsynced};

const OLDEST: &str = "mariadb-10.2";

/// Copies a schema, as root.
fn copied(source: &Server, target: &Server, options: &str) -> Output {
    let state = tempfile::tempdir().unwrap();
    run(&mut copy_as(("root", source), ("root", target), options, &state.path().join("state")))
}

/// As a text a UUID has another place in its key: other rows lie between the borders of the files of a dump, and were told as differences.
#[test]
fn keys_that_become_texts() {
    if !is_wanted(Flavour::MariaDb) {
        return;
    }
    let (source, target) = (start(Flavour::MariaDb, &[]), old(OLDEST, Flavour::MariaDb));
    sql(
        &source,
        "mysql",
        "CREATE DATABASE own COLLATE utf8mb4_general_ci; USE own;
         CREATE TABLE t (u UUID PRIMARY KEY, i INET6 NOT NULL, j INET4, n INT, KEY (i));
         INSERT INTO t SELECT INSERT(INSERT(MD5(seq), 13, 1, '1'), 17, 1, '8'), CONCAT('::', HEX(seq)), CONCAT('10.0.0.', seq % 250), seq FROM seq_1_to_400",
    );
    let dir = tempfile::tempdir().unwrap();
    run(&mut dump(&source, "own --chunk-size 1k", dir.path())).done();
    let restored = run(&mut restore(&target, dir.path(), "")).found(&["verified  identical: 400 rows"]);
    assert!(restored.stderr.contains("uuid becomes char(36)"), "{restored}");
    run(&mut verify(&target, dir.path(), "")).done();
    copied(&source, &target, "own --into own=copied --chunk-size 1k")
        .found(&["verified  identical: 400 rows"]);
    let rows = "SELECT CAST(u AS CHAR), CAST(i AS CHAR), CAST(j AS CHAR), n FROM t ORDER BY n";
    for schema in ["own", "copied"] {
        assert_eq!(sql(&target, schema, rows), sql(&source, "own", rows));
    }
}

/// A row of a sequence ends the server of 10.5, and each one that a replay would send again.
#[test]
fn steps_of_a_sequence() {
    if !is_wanted(Flavour::MariaDb) {
        return;
    }
    let target = old("mariadb-10.5", Flavour::MariaDb);
    let options = ["--log-bin=bin", "--server-id=7", "--binlog-format=ROW"];
    for source in [start_unsynced(Flavour::MariaDb, &options), start_mariadb_11(&options)] {
        sql(&source, "mysql", "FLUSH BINARY LOGS");
        let log = sql(&source, "mysql", "SHOW BINARY LOGS").pop().unwrap().remove(0);
        sql(
            &source,
            "mysql",
            "CREATE DATABASE d COLLATE utf8mb4_general_ci; USE d; CREATE SEQUENCE s START WITH 10 INCREMENT BY 5 CACHE 3;
             CREATE SEQUENCE turns MAXVALUE 2 CACHE 1 CYCLE;
             CREATE TABLE t (id INT PRIMARY KEY, a BIGINT); INSERT INTO t VALUES (1, NEXTVAL(s)), (2, NEXTVAL(s));
             SELECT NEXTVAL(turns); SELECT NEXTVAL(turns); SELECT NEXTVAL(turns); SELECT SETVAL(s, 100); INSERT INTO t VALUES (3, NEXTVAL(s))",
        );
        let replay = |options: &str| {
            let mut command = drover_on(&target, &format!("binlog replay --restart {options}"));
            run(command.arg(source.datadir().join(&log)))
        };
        replay("--dry-run").done();
        replay("").done();
        assert_eq!(
            sql(&target, "d", "SELECT * FROM t ORDER BY id"),
            sql(&source, "d", "SELECT * FROM t ORDER BY id")
        );
        let state = "SELECT next_not_cached_value, cycle_count FROM";
        for sequence in ["s", "turns"] {
            let state = format!("{state} {sequence}");
            assert_eq!(sql(&target, "d", &state), sql(&source, "d", &state), "{sequence}");
        }
        sql(&target, "mysql", "DROP DATABASE d");
    }
}

/// What 10.2 has not, and what it does otherwise: accounts in another table, no NOWAIT, conditions that it moves into a derived table by the wrong
/// names.
#[test]
fn small_things_of_10_2() {
    if !is_wanted(Flavour::MariaDb) {
        return;
    }
    let server = &old(OLDEST, Flavour::MariaDb);
    sql(
        server,
        "mysql",
        "CREATE DATABASE s; CREATE TABLE s.t (id INT PRIMARY KEY); CREATE DATABASE jobs; CREATE DATABASE tpcc",
    );
    let dir = tempfile::tempdir().unwrap();
    run(&mut dump(server, "s --users", &dir.path().join("d"))).refused(&[
        "mysql.global_priv",
        "from 10.4 on",
        "leave out --users",
    ]);
    assert!(!dir.path().join("d").exists(), "something was written");
    let report = run(&mut drover_on(server, "--json doctor --interval 50ms"));
    assert!(!report.stdout.contains("it has no SELECT"), "{report}");
    run(&mut drover_on(server, "queue init -D jobs")).done();
    run(&mut drover_on(server, "queue push -D jobs --kind 1 1 2 3")).done();
    let done = run(&mut drover_on(server, "--json queue work -D jobs --until-empty --json-lines cat")).done();
    assert_eq!(done.json()["done"], 3);
    for step in ["load -w 1", "check"] {
        run(&mut drover_on(server, &format!("bench tpcc {step} -D tpcc"))).done();
    }
}

/// Times that are stored as MariaDB 5.3 did are stored as new ones where a table is made anew, and hold the same.
#[test]
fn times_in_the_format_of_5_3() {
    if !is_wanted(Flavour::MariaDb) {
        return;
    }
    let server = &start_unsynced(Flavour::MariaDb, &[]);
    sql(
        server,
        "mysql",
        "SET GLOBAL mysql56_temporal_format = OFF; CREATE DATABASE s; USE s;
         CREATE TABLE t (id INT PRIMARY KEY, d DATETIME(3) NOT NULL, ts TIMESTAMP NULL, t TIME COMMENT '/* mariadb-5.3 */');
         INSERT INTO t VALUES (1, '2020-01-02 03:04:05.678', '2020-01-02', '-12:13:14'); SET GLOBAL mysql56_temporal_format = ON",
    );
    let create = || sql(server, "s", "SHOW CREATE TABLE t")[0][1].matches("/* mariadb-5.3 */").count();
    assert_eq!(create(), 4);
    let dir = tempfile::tempdir().unwrap();
    let [first, later] = ["first", "later"].map(|name| dir.path().join(name));
    run(&mut dump(server, "s", &first)).done();
    run(&mut restore(server, &first, "--into s=back")).done();
    run(&mut verify(server, &first, "--into s=back")).done();
    // Back, where old ones are the usual ones.
    sql(server, "mysql", "SET GLOBAL mysql56_temporal_format = OFF");
    run(&mut dump(server, "back", &later)).done();
    run(&mut restore(server, &later, "--into back=old")).done();
    // What is another definition is told all the same.
    sql(server, "back", "ALTER TABLE t MODIFY t TIME(1)");
    run(&mut verify(server, &first, "--into s=back")).found(&["differs   `back`.`t`"]);
}
