//! `drover verify` finds every difference and says where it is.

use std::path::Path;

use drover_sandbox::{Flavour, Server};

use crate::client::{run_script, sql};
use crate::compare;
use crate::drover::{dump, restore, run, verify};
use crate::servers::{on_both, source, target};

on_both!(
    rows_that_differ,
    definitions_that_differ,
    generated_values_that_differ,
    restore_finds_them_too,
    another_tools_dump
);

fn make(flavour: Flavour, schema: &str, dir: &Path) -> &'static Server {
    let script = format!(
        "CREATE DATABASE {schema}; USE {schema};
         CREATE TABLE keyed (id INT PRIMARY KEY, v VARCHAR(40), t INT AS (id * 2) STORED, KEY (v));
         INSERT INTO keyed (id, v) WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 500)
           SELECT n * 10, CONCAT('value ', n) FROM s;
         CREATE TABLE keyless (id INT, v VARCHAR(40)); INSERT INTO keyless VALUES (1, 'one'), (1, 'one'), (2, NULL);
         CREATE VIEW v AS SELECT id FROM keyed;
         CREATE PROCEDURE p() SELECT 1; CREATE FUNCTION f() RETURNS INT NO SQL RETURN 1;
         CREATE TRIGGER tr BEFORE INSERT ON keyless FOR EACH ROW SET @x = 1;
         CREATE EVENT e ON SCHEDULE AT '2037-01-01 00:00:00' DISABLE DO SET @x = 1"
    );
    run_script(source(flavour), None, script.as_bytes()).unwrap();
    run(&mut dump(source(flavour), schema, dir)).done();
    run(&mut restore(target(flavour), dir, "")).done();
    target(flavour)
}

fn another_tools_dump(flavour: Flavour) {
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("script.sql");
    std::fs::write(&script, "CREATE TABLE t (id INT);").unwrap();
    for options in ["", "--no-server"] {
        run(&mut verify(target(flavour), &script, options)).refused(&[
            "script.sql",
            "another tool",
            "digests",
        ]);
    }
}

fn rows_that_differ(flavour: Flavour) {
    let dir = tempfile::tempdir().unwrap();
    let target = make(flavour, "differing", dir.path());
    let clean = run(verify(target, dir.path(), "").arg("--json")).done().json();
    assert_eq!((clean["tables"].as_u64(), clean["rows"].as_u64()), (Some(2), Some(503)), "{clean}");
    assert!(clean["definitions"].as_u64() >= Some(7), "{clean}");
    for (change, undo, table, file) in [
        (
            "UPDATE keyed SET v = 'valuE 250' WHERE id = 2500",
            "UPDATE keyed SET v = 'value 250' WHERE id = 2500",
            "keyed",
            "keyed.00001",
        ),
        (
            "UPDATE keyed SET v = NULL WHERE id = 10",
            "UPDATE keyed SET v = 'value 1' WHERE id = 10",
            "keyed",
            "keyed.00001",
        ),
        (
            "UPDATE keyed SET id = 11 WHERE id = 10",
            "UPDATE keyed SET id = 10 WHERE id = 11",
            "keyed",
            "keyed.00001",
        ),
        (
            "DELETE FROM keyed WHERE id = 5000",
            "INSERT INTO keyed (id, v) VALUES (5000, 'value 500')",
            "keyed",
            "499 rows",
        ),
        ("INSERT INTO keyed (id, v) VALUES (-5, '')", "DELETE FROM keyed WHERE id = -5", "keyed", "501 rows"),
        (
            "INSERT INTO keyed (id, v) VALUES (99999, '')",
            "DELETE FROM keyed WHERE id = 99999",
            "keyed",
            "501 rows",
        ),
        (
            "UPDATE keyless SET v = 'two' WHERE id = 2",
            "UPDATE keyless SET v = NULL WHERE id = 2",
            "keyless",
            "digest",
        ),
        (
            "DELETE FROM keyless WHERE id = 1 LIMIT 1",
            "INSERT INTO keyless VALUES (1, 'one')",
            "keyless",
            "2 rows",
        ),
        (
            "UPDATE keyless SET v = '' WHERE id = 1 LIMIT 2",
            "UPDATE keyless SET v = 'one' WHERE id = 1",
            "keyless",
            "digest",
        ),
    ] {
        sql(target, format!("USE differing; {change}"));
        run(&mut verify(target, dir.path(), "")).found(&[&format!("`differing`.`{table}`"), file]);
        sql(target, format!("USE differing; {undo}"));
        run(&mut verify(target, dir.path(), "")).done();
    }
    compare::assert_same(&compare::rows(source(flavour), "differing"), &compare::rows(target, "differing"));
}

fn definitions_that_differ(flavour: Flavour) {
    let dir = tempfile::tempdir().unwrap();
    let target = make(flavour, "redefined", dir.path());
    for (change, culprit) in [
        ("ALTER TABLE keyed DROP KEY v", "keyed"),
        ("ALTER TABLE keyless MODIFY v VARCHAR(41)", "keyless"),
        ("CREATE OR REPLACE VIEW v AS SELECT id + 0 AS id FROM keyed", "`v`"),
        ("DROP PROCEDURE p; CREATE PROCEDURE p() SELECT 2", "`p`"),
        ("DROP FUNCTION f", "f"),
        ("DROP TRIGGER tr", "tr"),
        ("ALTER EVENT e ON SCHEDULE AT '2037-01-01 00:00:01'", "`e`"),
        ("ALTER TABLE keyless ADD COLUMN more INT", "keyless"),
        ("ALTER TABLE keyless DROP COLUMN v", "'v'"),
        ("DROP TABLE keyed", "keyed"),
    ] {
        sql(target, format!("USE redefined; {change}"));
        run(&mut verify(target, dir.path(), "")).found(&[culprit]);
    }
    sql(target, "DROP DATABASE redefined");
    run(&mut verify(target, dir.path(), "")).found(&["redefined"]);
}

/// The servers compute stored generated columns again: where that gives another value it is said. MySQL prints the
/// expressions of this one such that a backslash becomes two.
fn generated_values_that_differ(flavour: Flavour) {
    let dir = tempfile::tempdir().unwrap();
    let (source, target) = (source(flavour), target(flavour));
    sql(
        source,
        "CREATE DATABASE computed; CREATE TABLE computed.t (id INT PRIMARY KEY, v INT, g INT AS (v * 2) STORED)",
    );
    sql(source, "INSERT INTO computed.t (id, v) VALUES (1, 10), (2, NULL)");
    run(&mut dump(source, "computed", dir.path())).done();
    run(&mut restore(target, dir.path(), "")).done();
    sql(target, "ALTER TABLE computed.t MODIFY g INT AS (v * 3) STORED");
    let output = run(&mut verify(target, dir.path(), ""));
    output.found(&["`computed`.`t`", "computes other values than the dump has for `g`", "(`v` * 2)"]);

    if flavour == Flavour::MySql {
        let dir = tempfile::tempdir().unwrap();
        sql(
            source,
            r"SET sql_mode = 'NO_BACKSLASH_ESCAPES'; CREATE DATABASE backslash; USE backslash;
            CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(9), g VARCHAR(19) AS (CONCAT(v, '\-')) STORED);
            INSERT INTO t (id, v) VALUES (1, 'x')",
        );
        run(&mut dump(source, "backslash", dir.path())).done();
        run(&mut restore(target, dir.path(), "")).found(&["`backslash`.`t`", "other values", "`g`"]);
    }
}

/// A restore that is not what the dump says ends with exit code 1. Here a manifest that speaks of other rows stands for
/// any fault that loading does not notice.
fn restore_finds_them_too(flavour: Flavour) {
    let dir = tempfile::tempdir().unwrap();
    let target = make(flavour, "found_out", dir.path());
    crate::files::change_manifest(dir.path(), |manifest| {
        let tables = manifest["schemas"][0]["tables"].as_array_mut().unwrap();
        let keyed = tables.iter_mut().find(|table| table["name"] == "keyed").unwrap();
        keyed["files"][0]["digest"] = "00000000000000000000000000000001".into();
    });
    run(&mut restore(target, dir.path(), "--drop-existing")).found(&[
        "`found_out`.`keyed`",
        "keyed.00001",
        "digest",
    ]);
    let json = run(restore(target, dir.path(), "--drop-existing").arg("--json"));
    assert_eq!(json.code, Some(1), "{json}");
    assert_eq!(json.json()["verify"]["differences"].as_array().map(Vec::len), Some(1), "{json}");
    run(&mut restore(target, dir.path(), "--drop-existing --no-verify")).done();
}
