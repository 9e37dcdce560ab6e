//! From one vendor's server to the other's: what the target cannot hold is named, and all else is there.

use super::assert_finished;
use crate::across::{DOCUMENTS, both, make};
use crate::client::value;
use crate::compare;
use crate::drover::{copy, run, verify};

/// Of a table with history the rows of now go over; nothing is changed where something is refused.
#[test]
fn from_mariadb() {
    let Some([source, target]) = both() else { return };
    let dir = tempfile::tempdir().unwrap();
    make(
        &source,
        "cp_moved",
        "CREATE SEQUENCE numbers START WITH 41;
         CREATE TABLE plain (id INT PRIMARY KEY, u UUID, a INET6, j JSON) ENGINE = Aria;
         INSERT INTO plain VALUES (1, 'f47ac10b-58cc-4372-a567-0e02b2c3d479', '::1', '{\"b\":  1, \"a\": 2}');
         CREATE TABLE versioned (id INT PRIMARY KEY, v INT) WITH SYSTEM VERSIONING;
         INSERT INTO versioned VALUES (1, 1), (2, 2); UPDATE versioned SET v = 10 WHERE id = 1;
         DELETE FROM versioned WHERE id = 2; INSERT INTO versioned VALUES (3, 3);
         CREATE TABLE times (id INT PRIMARY KEY, s TIMESTAMP(6) GENERATED ALWAYS AS ROW START,
           e TIMESTAMP(6) GENERATED ALWAYS AS ROW END, PERIOD FOR SYSTEM_TIME (s, e)) WITH SYSTEM VERSIONING;
         INSERT INTO times (id) VALUES (1), (2); DELETE FROM times WHERE id = 1",
    );
    let copied = |options: &str| run(&mut copy(&source, &target, &format!("cp_moved {options}"), dir.path()));
    copied("--check").found(&["refused   sequence `cp_moved`.`numbers`", "history (rows: 2) is left out"]);
    let there = "SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = 'cp_moved'";
    copied("").refused(&["nothing was changed", "sequence `cp_moved`.`numbers`", "--skip-refused"]);
    assert_eq!(value(&target, there), "0");
    let output = copied("--skip-refused").found(&["refused   sequence", "verified  identical"]);
    assert!(output.stderr.contains("`versioned`: history (rows: 2) is left out"), "{output}");
    assert_eq!(compare::across(&source, &target, "cp_moved"), [""; 0]);
    assert_eq!(
        value(&target, "SELECT GROUP_CONCAT(id, '=', v ORDER BY id) FROM cp_moved.versioned"),
        "1=10,3=3"
    );
    assert_eq!(value(&target, "SELECT GROUP_CONCAT(id) FROM cp_moved.times"), "2");
    assert_finished(dir.path());
    run(&mut verify(&target, dir.path(), ""))
        .found(&["sequence `cp_moved`.`numbers`", "not copied: history (rows: 2)"]);
}

/// Of documents MariaDB keeps the text that MySQL prints.
#[test]
fn documents_from_mysql() {
    let Some([target, source]) = both() else { return };
    let dir = tempfile::tempdir().unwrap();
    make(&source, "cp_json", DOCUMENTS);
    let output = run(&mut copy(&source, &target, "cp_json", dir.path())).done();
    assert!(!output.to_string().contains("DECIMAL"), "{output}");
    assert_eq!(compare::across(&source, &target, "cp_json"), [""; 0]);
    let price = "SELECT j FROM cp_json.t WHERE id = 1";
    assert_eq!(value(&target, price), "{\"price\": 12345678901234567890.10}");
    run(&mut verify(&target, dir.path(), "")).done();
}

/// A zero loses its sign, which is said; texts are in another order there.
#[test]
fn from_mysql() {
    let Some([target, source]) = both() else { return };
    let dir = tempfile::tempdir().unwrap();
    make(
        &source,
        "cp_round",
        "CREATE TABLE t (id INT PRIMARY KEY, d DOUBLE, e DOUBLE(8, 2), f FLOAT, j JSON);
         INSERT INTO t VALUES (1, -0e0, -0e0, -0e0, '[1, 2]'), (2, 0.1, 1.5, 0.1, 'null'), (3, NULL, NULL, NULL, NULL);
         CREATE TABLE u (id INT PRIMARY KEY, d DOUBLE, j JSON); INSERT INTO u VALUES (1, 1.5, '[1.10]');
         CREATE TABLE texts (v VARCHAR(50) PRIMARY KEY);
         INSERT INTO texts VALUES ('a'), ('B'), ('ö'), ('z'), ('~'), ('ß'), ('-'), ('_')",
    );
    let line = "cp_round --chunk-size 1k --consistent-resume";
    let output = run(&mut copy(&source, &target, line, dir.path())).found(&["verified  identical"]);
    let lost = "table `cp_round`.`t`: -0 (rows: 1) becomes 0: MariaDB has no negative zero";
    assert!(output.stderr.contains(lost) && !output.stderr.contains("`u`"), "{output}");
    assert_eq!(compare::across(&source, &target, "cp_round"), [""; 0]);
    run(&mut verify(&target, dir.path(), "")).found(&["1 difference", "not copied: -0 (rows: 1) became 0"]);
    // The source is as it was.
    run(&mut verify(&source, dir.path(), "--source")).done();

    // A key that is left out is a loss, too, though all rows are the same.
    make(
        &source,
        "cp_keyed",
        "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(9), UNIQUE KEY lowered ((LOWER(v)))); INSERT INTO t VALUES (1, 'A')",
    );
    let dir = tempfile::tempdir().unwrap();
    let output =
        run(&mut copy(&source, &target, "cp_keyed", dir.path())).found(&["verified  identical: 1 row"]);
    assert!(output.stderr.contains("`cp_keyed`.`t`: UNIQUE KEY `lowered`"), "{output}");
}
