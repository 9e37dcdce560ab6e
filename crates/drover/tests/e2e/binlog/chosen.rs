//! `--database` and `--table` choose statements by what they change, wherever they were run.

use std::path::Path;

use drover_sandbox::Flavour;

use super::sql::logged;
use crate::client::{client, feed, sql, value};
use crate::compare;
use crate::drover::{copy, drover, drover_on, dump, restore, run};
use crate::servers::{on_both, start_unsynced};

on_both!(statements_by_what_they_change, behind_a_dump_of_one_schema, behind_a_copy_of_one_schema);

const WORK: &str = "CREATE DATABASE lg; CREATE DATABASE other; USE other;
    CREATE TABLE lg.a (id INT PRIMARY KEY, n INT); INSERT INTO lg.a VALUES (1, 1);
    ALTER TABLE lg.a ADD COLUMN m INT FIRST; INSERT INTO lg.a VALUES (7, 2, 2); CREATE INDEX i ON lg.a (n);
    CREATE TABLE o (id INT PRIMARY KEY); INSERT INTO o VALUES (1);
    CREATE TABLE lg.b (id INT PRIMARY KEY); INSERT INTO lg.b VALUES (1); TRUNCATE lg.b; INSERT INTO lg.b VALUES (2);
    CREATE PROCEDURE lg.p() DO 1; CREATE TRIGGER lg.tr BEFORE INSERT ON lg.b FOR EACH ROW SET NEW.id = NEW.id;
    XA START 'x'; INSERT INTO lg.a VALUES (8, 3, 3); XA END 'x'; XA PREPARE 'x'; XA COMMIT 'x';
    USE lg; CREATE TABLE other.p (id INT); ALTER TABLE other.o ADD COLUMN x INT; INSERT INTO other.o VALUES (2, 2)";

fn statements_by_what_they_change(flavour: Flavour) {
    let source =
        &start_unsynced(flavour, &["--log-bin", "--binlog-format=ROW", "--binlog-row-metadata=FULL"]);
    let target = &start_unsynced(flavour, &["--skip-log-bin"]);
    let logs = logged(source, || drop(sql(source, WORK)));
    let replay = |options: &str| {
        let mut command = drover_on(target, &format!("binlog replay --restart {options}"));
        run(command.args(&logs))
    };
    for dry in ["--dry-run", ""] {
        let replayed = replay(&format!("--database lg {dry}")).done();
        assert!(!replayed.stderr.contains("passed over"), "{replayed}");
    }
    let [right, found] = [source, target].map(|server| compare::everything(server, "lg"));
    compare::assert_same(&right, &found);
    assert_eq!(
        value(target, "SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = 'other'"),
        "0"
    );
    sql(target, "DROP DATABASE lg");

    let printed = run(drover("binlog sql --database lg").args(&logs)).done().stdout;
    let fed = feed(client(target).arg("--binary-mode"), printed.as_bytes());
    assert!(fed.status.success(), "{}\n{printed}", String::from_utf8_lossy(&fed.stderr));
    compare::assert_same(&right, &compare::everything(target, "lg"));
    sql(target, "DROP DATABASE lg; CREATE DATABASE lg");

    // The schema may have been made otherwise.
    let replayed = replay("--table lg.a").done();
    assert!(replayed.stderr.contains("1 statement was passed over"), "{replayed}");
    let [right, found] = [source, target].map(|server| sql(server, "SELECT * FROM lg.a ORDER BY id"));
    assert_eq!(right, found);
    assert_eq!(
        value(target, "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'lg'"),
        "1"
    );
    run(drover_on(target, "binlog replay --flashback --table lg.a").args(&logs))
        .refused(&["a statement cannot be undone: ", "lg.a"]);
    let listed = run(drover("binlog ls --table lg.b").args(&logs)).done().stdout;
    assert!(listed.contains("TRUNCATE lg.b") && !listed.contains("other.p"), "{listed}");

    // Neither to be taken nor to be left out.
    let partly = logged(source, || {
        drop(sql(source, "USE other; CREATE TABLE lg.c (id INT); RENAME TABLE lg.c TO other.c"))
    });
    let replay = |options: &str| {
        let mut command = drover_on(target, &format!("binlog replay --restart --database lg {options}"));
        run(command.args(&partly))
    };
    let words = "names what is wanted and what is not: RENAME TABLE lg.c TO other.c";
    replay("--dry-run").found(&[words]);
    replay("").refused(&[words, "--exclude-gtids"]);
    run(drover("binlog sql --database lg").args(&partly)).found(&[words]);
    // Of a statement that changes rows nobody knows what its triggers changed.
    let elsewhere = logged(source, || {
        drop(sql(source, "USE lg; SET SESSION binlog_format = STATEMENT; UPDATE other.o SET x = 3"));
    });
    let replayed = run(drover_on(target, "binlog replay --restart --database lg").args(&elsewhere)).done();
    assert!(replayed.stderr.contains("1 statement was passed over"), "{replayed}");
}

/// The same of a copy that keeps the schema's name.
fn behind_a_copy_of_one_schema(flavour: Flavour) {
    let source = &start_unsynced(flavour, &["--log-bin", "--binlog-format=ROW"]);
    let target = &start_unsynced(flavour, &["--skip-log-bin"]);
    for schema in ["one", "two"] {
        sql(source, format!("CREATE DATABASE {schema}; CREATE TABLE {schema}.t (id INT PRIMARY KEY)"));
    }
    sql(
        target,
        "CREATE DATABASE two; CREATE TABLE two.t (id INT PRIMARY KEY); INSERT INTO two.t VALUES (100)",
    );
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("state");
    run(&mut copy(source, target, "one", &state)).done();
    sql(
        source,
        "INSERT INTO one.t VALUES (1); INSERT INTO two.t VALUES (1); USE two; ALTER TABLE t ADD COLUMN a INT; INSERT INTO one.t VALUES (2)",
    );
    let from = format!("mysql://root@/?socket={}", source.socket().display());
    let replay = |options: &str| {
        let mut command = drover_on(target, &format!("binlog replay {options}"));
        run(command.arg("--after").arg(&state).args(["--from", &from])).done()
    };
    replay("--dry-run");
    assert!(replay("").stderr.contains("were left out: two\n"));
    sql(source, "INSERT INTO two.t VALUES (2, 2); INSERT INTO one.t VALUES (3)");
    replay("--resume");
    let rows = |schema: &str| value(target, format!("SELECT GROUP_CONCAT(id ORDER BY id) FROM {schema}.t"));
    assert_eq!([rows("one"), rows("two")], ["1,2,3", "100"]);
}

/// The target has schemas of its own, which have nothing to do with the logs.
fn behind_a_dump_of_one_schema(flavour: Flavour) {
    let source = &start_unsynced(flavour, &["--log-bin", "--binlog-format=ROW"]);
    let target = &start_unsynced(flavour, &["--skip-log-bin"]);
    sql(
        source,
        "CREATE DATABASE one; CREATE TABLE one.t (id INT PRIMARY KEY); CREATE DATABASE two; CREATE TABLE two.t (id INT PRIMARY KEY)",
    );
    sql(
        target,
        "CREATE DATABASE two; CREATE TABLE two.t (id INT PRIMARY KEY); INSERT INTO two.t VALUES (100)",
    );
    let dir = tempfile::tempdir().unwrap();
    let [backup, state] = ["backup", "state"].map(|name| dir.path().join(name));
    run(&mut dump(source, "one", &backup)).done();
    let from = format!("mysql://root@/?socket={}", source.socket().display());
    let replay = |options: &str, after: &Path| {
        let mut command = drover_on(target, &format!("binlog replay {options}"));
        run(command.arg("--after").arg(after).args(["--from", &from]))
    };
    run(&mut restore(target, &backup, "--into one=other")).done();
    replay("", &backup).refused(&["the target has no schema 'one'", "--into"]);
    sql(target, "DROP DATABASE other");
    run(&mut restore(target, &backup, "")).done();
    sql(
        source,
        "INSERT INTO one.t VALUES (1); USE two; INSERT INTO t VALUES (1); ALTER TABLE t ADD COLUMN a INT; CREATE DATABASE three;
         CREATE TABLE three.t (id INT PRIMARY KEY); INSERT INTO three.t VALUES (1); USE three; INSERT INTO one.t VALUES (2)",
    );
    let replayed = replay("", &backup).done();
    assert!(replayed.stderr.contains("were left out: two\n"), "{replayed}");
    sql(source, "INSERT INTO three.t VALUES (2); INSERT INTO one.t VALUES (3)");
    replay("--resume", &backup).done();
    let rows = |schema: &str| value(target, format!("SELECT GROUP_CONCAT(id ORDER BY id) FROM {schema}.t"));
    assert_eq!([rows("one"), rows("two"), rows("three")], ["1,2,3", "100", "1,2"]);

    run(&mut copy(source, target, "one --into one=renamed", &state)).done();
    replay("--restart", &state).refused(&["gave the schema 'one' the name 'renamed'"]);

    // The dump went into another schema: a table of the target's own is not its, however old.
    run(&mut dump(source, "one", &dir.path().join("later"))).done();
    sql(target, "DROP DATABASE one; CREATE DATABASE one; CREATE TABLE one.t (id INT PRIMARY KEY)");
    run(&mut restore(target, &dir.path().join("later"), "--into one=beside")).done();
    let own = "INSERT INTO one.t VALUES (1), (2), (4)";
    for (change, found) in [("DO 1", "NULL"), (own, "1,2,4")] {
        sql(target, change);
        for dry in ["", "--dry-run"] {
            replay(&format!("--name other {dry}"), &dir.path().join("later")).refused(&[
                "the target does not hold the rows of the dump: `one`.`t`",
                "hint: restore the dump first",
            ]);
        }
        assert_eq!(rows("one"), found);
    }
    sql(target, "DROP DATABASE beside; DELETE FROM one.t");
    // Rows alone, into a table that was there.
    let alone = dir.path().join("alone");
    run(&mut dump(source, "one --no-schema", &alone)).done();
    run(&mut restore(target, &alone, "")).done();
    sql(source, "INSERT INTO one.t VALUES (5)");
    replay("--restart", &alone).done();
    assert_eq!(rows("one"), "1,2,3,5");
    sql(source, "DELETE FROM one.t WHERE id = 5");

    let whole = dir.path().join("whole");
    run(&mut copy(source, target, "one --drop-existing", &whole)).done();
    sql(source, "INSERT INTO one.t VALUES (4)");
    replay("--restart", &whole).done();
    assert_eq!(rows("one"), "1,2,3,4");
}
