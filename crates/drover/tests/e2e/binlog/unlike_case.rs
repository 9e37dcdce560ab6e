//! Logs of a server where case counts in names, replayed to one where it does not, and the other way round.

use std::path::PathBuf;

use drover_sandbox::{Flavour, Server};

use super::sql::{logged, logs_of};
use crate::client::{sql, value};
use crate::drover::{Output, drover_on, dump, restore, run};
use crate::servers::{on_both, start_unsynced};

on_both!(two_that_become_one, names_that_only_the_source_takes);

const FOLDS: &str = "--lower-case-table-names=1";

/// The error for names that files of logs alone do not decide.
const DOUBT: [&str; 3] = ["`Shop`", "`shop`", "--lower-case-table-names 0, 1 or 2"];

fn from(server: &Server) -> String {
    format!("--from mysql://root@/?socket={}", server.socket().display())
}

fn replay(target: &Server, options: &str, logs: &[PathBuf]) -> Output {
    run(drover_on(target, &format!("binlog replay {options}")).args(logs))
}

fn source(flavour: Flavour, options: &[&str]) -> Server {
    start_unsynced(flavour, &[&["--log-bin", "--binlog-format=ROW"], options].concat())
}

/// Rows of two tables would get into one.
fn two_that_become_one(flavour: Flavour) {
    let source = &source(flavour, &[]);
    let target = &start_unsynced(flavour, &["--skip-log-bin", FOLDS]);
    let of = |schema: &str, row: u32| {
        let made = format!("CREATE DATABASE {schema}; CREATE TABLE {schema}.t (id INT PRIMARY KEY)");
        logged(source, || drop(sql(source, format!("{made}; INSERT INTO {schema}.t VALUES ({row})"))))
    };
    let (one, two) = (of("shop", 1), of("Shop", 2));
    let both: Vec<_> = logs_of(source).into_iter().skip_while(|log| *log != one[0]).collect();
    assert!(both.contains(&two[0]));
    let is_one = || {
        assert_eq!(value(target, "SELECT GROUP_CONCAT(id) FROM shop.t"), "1");
        sql(target, "DROP DATABASE shop; DROP DATABASE IF EXISTS drover");
    };
    let known = ["`Shop`", "`shop`", "rows of two tables would get into one"];
    replay(target, "--dry-run", &both).found(&DOUBT);
    replay(target, "", &both).refused(&DOUBT);
    is_one();
    replay(target, "--restart --lower-case-table-names 0", &both).refused(&known);
    is_one();
    replay(target, &format!("--name live {}", from(source)), &[]).refused(&known);
    is_one();
    // What an earlier run has met counts.
    replay(target, "--restart", &one).done();
    replay(target, "--resume", &both).refused(&DOUBT);
    replay(target, "--resume", &both).refused(&DOUBT);
    is_one();
    // What the hints say.
    replay(target, "--restart --database shop --lower-case-table-names 0", &both).done();
    is_one();
    let counts = &start_unsynced(flavour, &["--skip-log-bin"]);
    replay(counts, &from(source), &[]).done();
    assert_eq!(value(counts, "SELECT CONCAT(a.id, b.id) FROM shop.t a, Shop.t b"), "12");
}

/// With IF EXISTS the target would pass over what it has under another name.
fn names_that_only_the_source_takes(flavour: Flavour) {
    let source = &source(flavour, &[FOLDS]);
    let target = &start_unsynced(flavour, &["--skip-log-bin"]);
    let dir = tempfile::tempdir().unwrap();
    let held = "CREATE DATABASE shop; CREATE TABLE shop.orders (id INT PRIMARY KEY); CREATE VIEW shop.v AS SELECT 1 AS a; \
                CREATE PROCEDURE shop.p() DO 1";
    sql(source, held);
    run(&mut dump(source, "shop", dir.path())).done();
    let held_there = || {
        let of = |list: &str, name: &str| {
            format!(
                "(SELECT COALESCE(GROUP_CONCAT({name}_NAME ORDER BY 1), '') FROM information_schema.{list} WHERE {name}_SCHEMA LIKE 'shop')"
            )
        };
        let schemas = "(SELECT GROUP_CONCAT(SCHEMA_NAME) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME LIKE 'shop')";
        value(
            target,
            format!(
                "SELECT CONCAT_WS(' ', {schemas}, {}, {})",
                of("TABLES", "TABLE"),
                of("ROUTINES", "ROUTINE")
            ),
        )
    };
    for (statements, named) in [
        ("DROP VIEW IF EXISTS Shop.v", ["`Shop`", "`shop`"]),
        ("DROP VIEW IF EXISTS shop.V", ["`shop`.`V`", "`v`"]),
        ("DROP PROCEDURE IF EXISTS Shop.p", ["`Shop`", "`shop`"]),
        ("CREATE DATABASE IF NOT EXISTS Shop", ["`Shop`", "`shop`"]),
        ("DROP DATABASE IF EXISTS Shop", ["`Shop`", "`shop`"]),
        ("SET SESSION binlog_format = STATEMENT; INSERT INTO Shop.orders VALUES (8)", ["`Shop`", "`shop`"]),
        (
            "CREATE TABLE shop.New1 (id INT PRIMARY KEY); INSERT INTO shop.new1 VALUES (1)",
            ["`new1`", "`New1`"],
        ),
    ] {
        let logs = logged(source, || drop(sql(source, statements)));
        sql(source, format!("DROP DATABASE IF EXISTS shop; {held}"));
        let known = [&named[..], &["as the logs' server does"]].concat();
        let doubt = [&named[..], &["--lower-case-table-names 0, 1 or 2"]].concat();
        run(&mut restore(target, dir.path(), "--drop-existing")).done();
        for (options, words) in [("", &doubt), ("--lower-case-table-names 1", &known)] {
            let options = format!("--restart {options}");
            replay(target, &format!("--dry-run {options}"), &logs).found(words);
            replay(target, &options, &logs).refused(words);
            sql(target, "DROP TABLE IF EXISTS shop.New1");
            assert_eq!(held_there(), "shop orders,v p", "{statements}");
        }
    }
    // Rows are logged under the names that the tables have.
    let logs = logged(source, || drop(sql(source, "INSERT INTO SHOP.Orders VALUES (9)")));
    replay(target, "--restart", &logs).done();
    assert_eq!(value(target, "SELECT GROUP_CONCAT(id) FROM shop.orders"), "9");
}
