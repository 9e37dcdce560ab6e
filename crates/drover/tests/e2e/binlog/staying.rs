//! Statements on tables that keep no transactions, within a transaction: what they did stays when that is rolled back.

use drover_sandbox::{Flavour, Server};

use super::extract::assert_same;
use super::sql::logged;
use crate::client::{Session, sql, value, wait_until};
use crate::drover::{Running, drover_on, run};
use crate::servers::{on_both, start_unsynced};

on_both!(
    a_statement,
    a_trigger,
    a_function,
    a_deadlock_is_not_retried,
    refused_before_anything_stays,
    behind_what_is_too_large_to_be_held
);

const OPTIONS: [&str; 3] = ["--log-bin", "--binlog-format=STATEMENT", "--log-bin-trust-function-creators=1"];

/// MySQL lets none of this be with GTIDs.
fn without_gtids(flavour: Flavour, options: &[&str]) -> Server {
    let off: &[&str] = match flavour {
        Flavour::MariaDb => &[],
        Flavour::MySql => &["--gtid-mode=OFF", "--enforce-gtid-consistency=OFF"],
    };
    start_unsynced(flavour, &[options, off].concat())
}

fn pair(flavour: Flavour) -> (Server, Server) {
    (without_gtids(flavour, &OPTIONS), without_gtids(flavour, &["--log-bin-trust-function-creators=1"]))
}

const TABLES: &str = "CREATE DATABASE d; USE d; CREATE TABLE plain (id INT PRIMARY KEY, n INT) ENGINE = MyISAM;
    INSERT INTO plain VALUES (1, 0); CREATE TABLE t (id INT PRIMARY KEY, v LONGTEXT) ENGINE = InnoDB; INSERT INTO t VALUES (1, '')";

/// A replay is killed when it has changed the plain table once and waits for a lock; what goes on does not change it again.
fn killed_behind(flavour: Flavour, more: &str, change: &str) {
    let (source, target) = pair(flavour);
    for server in [&source, &target] {
        sql(server, format!("{TABLES}; {more}"));
    }
    let logs = logged(&source, || {
        let work = format!(
            "USE d; BEGIN; {change}; UPDATE t SET v = 'last' WHERE id = 1; COMMIT; INSERT INTO t VALUES (9, '')"
        );
        sql(&source, work);
    });
    let mut other = Session::open(&target);
    other.run("BEGIN");
    other.run("UPDATE d.t SET v = 'held' WHERE id = 1");
    let replay = Running::start(drover_on(&target, "binlog replay --start-position 4").args(&logs));
    let waits = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'UPDATE t SET v%'";
    wait_until("the replay waits for a lock", || value(&target, waits) == "1");
    replay.signal("KILL");
    replay.finish();
    other.run("ROLLBACK");
    assert_eq!(value(&target, "SELECT n FROM d.plain WHERE id = 1"), "1");
    for _ in 0..2 {
        run(drover_on(&target, "binlog replay --resume").args(&logs)).refused(&[
            "tables that keep no transactions",
            "hint: ",
            "--interrupted again",
        ]);
    }
    assert_eq!(value(&target, "SELECT n FROM d.plain WHERE id = 1"), "1");
    // A person puts it right.
    sql(&target, "UPDATE d.plain SET n = 0");
    run(drover_on(&target, "binlog replay --resume --interrupted again").args(&logs)).done();
    assert_same(&source, &target, "d.plain");
    assert_same(&source, &target, "d.t");
}

fn a_statement(flavour: Flavour) {
    killed_behind(flavour, "DO 0", "INSERT INTO t VALUES (2, 'a'); UPDATE plain SET n = n + 1 WHERE id = 1");
}

fn a_trigger(flavour: Flavour) {
    let trigger =
        "CREATE TRIGGER counts AFTER INSERT ON t FOR EACH ROW UPDATE plain SET n = n + 1 WHERE NEW.id = 2";
    killed_behind(flavour, trigger, "INSERT INTO t VALUES (2, 'a')");
}

fn a_function(flavour: Flavour) {
    let function = "
DELIMITER //
CREATE FUNCTION counted() RETURNS INT BEGIN UPDATE plain SET n = n + 1 WHERE id = 1; RETURN 2; END//
DELIMITER ;
DO 0";
    killed_behind(flavour, function, "INSERT INTO t VALUES (counted(), 'a')");
}

/// A transaction that ran into a lock is not run again from its beginning: the first statement would be run twice.
fn a_deadlock_is_not_retried(flavour: Flavour) {
    let source = without_gtids(flavour, &OPTIONS);
    let target = without_gtids(flavour, &["--innodb-lock-wait-timeout=1"]);
    for server in [&source, &target] {
        sql(server, TABLES);
    }
    let logs = logged(&source, || {
        let work = "USE d; BEGIN; INSERT INTO t VALUES (2, 'a'); UPDATE plain SET n = n + 1; UPDATE t SET v = 'b' WHERE id = 1; COMMIT";
        sql(&source, work);
    });
    let mut other = Session::open(&target);
    other.run("BEGIN");
    other.run("UPDATE d.t SET v = 'held' WHERE id = 1");
    run(drover_on(&target, "binlog replay --start-position 4").args(&logs)).refused(&["Lock wait timeout"]);
    other.run("ROLLBACK");
    assert_eq!(value(&target, "SELECT n FROM d.plain"), "1");
    // Its row came in, and a person takes the rest as it is.
    run(drover_on(&target, "binlog replay --resume").args(&logs)).refused(&["--interrupted"]);
    run(drover_on(&target, "binlog replay --resume --interrupted skip").args(&logs)).done();
    assert_eq!(value(&target, "SELECT n FROM d.plain"), "1");
}

/// Nobody has to look for what is there of it.
fn refused_before_anything_stays(flavour: Flavour) {
    let (source, target) = pair(flavour);
    let trigger = |definer: &str| {
        format!("CREATE {definer} TRIGGER counts AFTER INSERT ON t FOR EACH ROW UPDATE plain SET n = n + 1")
    };
    sql(&source, format!("{TABLES}; {}", trigger("")));
    sql(&target, format!("{TABLES}; {}", trigger("DEFINER = nobody@localhost")));
    let logs = logged(&source, || {
        sql(&source, "USE d; BEGIN; INSERT INTO t VALUES (2, 'a'); INSERT INTO t VALUES (3, 'b'); COMMIT");
    });
    for options in ["--start-position 4", "--resume"] {
        run(drover_on(&target, &format!("binlog replay {options}")).args(&logs)).refused(&["nobody"]);
    }
    sql(&target, "CREATE USER nobody@localhost; GRANT ALL ON d.* TO nobody@localhost");
    run(drover_on(&target, "binlog replay --resume").args(&logs)).done();
    assert_same(&source, &target, "d.plain");
    assert_same(&source, &target, "d.t");
}

/// The beginning of a large transaction is applied while the rest is read.
fn behind_what_is_too_large_to_be_held(flavour: Flavour) {
    let large = format!("INSERT INTO t VALUES (2, '{}')", "x".repeat(5 << 20));
    killed_behind(flavour, "DO 0", &format!("{large}; UPDATE plain SET n = n + 1 WHERE id = 1"));
}
