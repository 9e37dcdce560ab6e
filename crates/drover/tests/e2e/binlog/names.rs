//! Logs of servers that take names of schemas and tables in any case, and of those where case counts.

use std::path::PathBuf;

use drover_sandbox::{Flavour, Server};

use super::sql::logged;
use crate::client::{client, feed, sql, value};
use crate::compare;
use crate::drover::{Output, drover, drover_on, dump, restore, run};
use crate::servers::{on_both, start_unsynced};

on_both!(names_in_any_case, two_schemas_where_case_counts, columns_without_names);

const FOLDS: &str = "--lower-case-table-names=1";

const FIRST: &str = "CREATE DATABASE shop; CREATE TABLE shop.orders (id INT PRIMARY KEY, a INT, b INT); INSERT INTO shop.orders VALUES (1, 10, 20)";

const MORE: &str = "ALTER TABLE SHOP.Orders DROP COLUMN a, ADD COLUMN c INT FIRST;
    INSERT INTO Shop.ORDERS (c, id, b) VALUES (99, 2, 30); UPDATE shop.orders SET b = b + 1;
    SET SESSION binlog_format = STATEMENT; USE SHOP; INSERT INTO Orders VALUES (7, 3, 4); DELETE FROM sHop.orders WHERE id = 1;
    CREATE TABLE SHOP.New1 (id INT PRIMARY KEY); INSERT INTO Shop.new1 VALUES (5); CREATE DATABASE IF NOT EXISTS ShoP;
    CREATE DATABASE Other; CREATE TABLE OTHER.t (id INT PRIMARY KEY); INSERT INTO other.T VALUES (1)";

/// The error for a name that files of logs alone do not decide.
const DOUBT: [&str; 2] = ["differs from this in its case only", "--lower-case-table-names 0, 1 or 2"];

fn from(server: &Server) -> String {
    format!("mysql://root@/?socket={}", server.socket().display())
}

fn names_in_any_case(flavour: Flavour) {
    let logging = ["--log-bin", "--binlog-format=ROW", "--binlog-row-metadata=FULL", FOLDS];
    let source = &start_unsynced(flavour, &logging);
    let target = &start_unsynced(flavour, &["--skip-log-bin", FOLDS]);
    let dir = tempfile::tempdir().unwrap();
    let backup = dir.path().join("backup");
    let logs = logged(source, || {
        sql(source, FIRST);
        run(&mut dump(source, "shop", &backup)).done();
        sql(source, MORE);
    });
    let right = compare::everything(source, "shop");
    let same = |what: &str| {
        let differences = compare::differences(&right, &compare::everything(target, "shop"));
        assert!(differences.is_empty(), "{what}: {differences:?}");
        sql(target, "DROP DATABASE IF EXISTS shop; DROP DATABASE IF EXISTS other");
    };
    let replay = |options: &str, files: &[&[PathBuf]]| -> Output {
        let mut command = drover_on(target, &format!("binlog replay --restart {options}"));
        run(command.args(files.concat()))
    };
    let from = from(source);

    // A dump tells it, and so does the server.
    for by_server in [true, false] {
        run(&mut restore(target, &backup, "")).done();
        let mut command = drover_on(target, "binlog replay --restart");
        let command = command.arg("--after").arg(&backup);
        let replayed =
            if by_server { run(command.args(["--from", &from])) } else { run(command.args(&logs)) };
        assert!(!replayed.done().stderr.contains("left out: shop"));
        assert_eq!(value(target, "SELECT COUNT(*) FROM other.t"), "1");
        same("behind a dump");
    }
    for selected in ["--database shop", "--database SHOP"] {
        replay(&format!("--from {from} {selected}"), &[]).done();
        assert_eq!(schemas(target, "other"), "0");
        same(selected);
    }
    let printed = run(&mut drover_on(source, "binlog sql --from-server --database shop")).done().stdout;
    assert!(feed(client(target).arg("--binary-mode"), printed.as_bytes()).status.success(), "{printed}");
    same("sql");
    replay(&format!("--from {from} --database shop --lower-case-table-names 0"), &[])
        .refused(&["--lower-case-table-names 0: the logs' server has 1"]);
    let listed = |options: &str| {
        run(&mut drover_on(source, &format!("binlog ls --from-server {options}"))).done().stdout
    };
    assert!(listed("--table shop.new1").contains("CREATE TABLE SHOP.New1"));
    assert!(!listed("--database other").contains("New1"));

    // Files alone do not: nothing is left out in silence.
    for (options, before) in [("--database shop", "DO 1"), ("--table shop.*", "CREATE DATABASE shop")] {
        let files: &[&[_]] = &[&logs];
        sql(target, before);
        replay(&format!("{options} --dry-run"), files).found(&DOUBT);
        replay(options, files).refused(&DOUBT);
        for command in ["sql", "ls", "stat"] {
            let command = format!("binlog {command} {options}");
            run(drover(&command).args(files.concat())).refused(&DOUBT);
            run(drover(&format!("{command} --lower-case-table-names 1")).args(files.concat())).done();
        }
        // What was applied until then is resumed with the option.
        let resumed = format!("binlog replay --resume {options} --lower-case-table-names 1");
        run(drover_on(target, &resumed).args(files.concat())).done();
        same(options);
    }
    run(drover("binlog sql --flashback --table shop.new1").args(&logs)).refused(&DOUBT);
    run(drover("binlog sql --flashback --table shop.new1 --lower-case-table-names 1").args(&logs))
        .refused(&["a statement cannot be undone: CREATE TABLE SHOP.New1"]);
}

fn schemas(server: &Server, name: &str) -> String {
    value(server, format!("SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = '{name}'"))
}

fn two_schemas_where_case_counts(flavour: Flavour) {
    let source = &start_unsynced(flavour, &["--log-bin", "--binlog-format=ROW"]);
    let target = &start_unsynced(flavour, &["--skip-log-bin"]);
    let dir = tempfile::tempdir().unwrap();
    let backup = dir.path().join("backup");
    sql(
        source,
        "CREATE DATABASE shop; CREATE DATABASE Shop; CREATE TABLE shop.t (id INT PRIMARY KEY); CREATE TABLE Shop.t (id INT PRIMARY KEY)",
    );
    run(&mut dump(source, "shop", &backup)).done();
    let logs = logged(source, || {
        drop(sql(
            source,
            "INSERT INTO shop.t VALUES (1); INSERT INTO Shop.t VALUES (2); ALTER TABLE Shop.t ADD COLUMN a INT; ALTER TABLE shop.t ADD COLUMN b INT",
        ))
    });
    let rows = || {
        let rows = sql(target, "SELECT id, b FROM shop.t");
        assert_eq!(schemas(target, "Shop"), "0");
        sql(target, "DROP DATABASE shop");
        rows
    };
    let from = from(source);
    for after in [true, false] {
        run(&mut restore(target, &backup, "")).done();
        let mut command = drover_on(target, "binlog replay --restart");
        let command = match after {
            true => command.arg("--after").arg(&backup).args(["--from", &from]),
            false => command.args(["--database", "shop", "--lower-case-table-names", "0"]).args(&logs),
        };
        run(command).done();
        assert_eq!(rows(), [["1", "NULL"]]);
    }
    let printed = run(&mut drover_on(source, "binlog sql --from-server --database shop")).done().stdout;
    assert!(!printed.contains("Shop") && printed.contains("ADD COLUMN b"), "{printed}");
    run(drover("binlog sql --database shop").args(&logs)).refused(&DOUBT);
    // Who names both wants both.
    run(drover("binlog sql --database shop --database Shop").args(&logs)).done();
}

/// What stands for a column's name is refused by every server, in every statement.
fn columns_without_names(flavour: Flavour) {
    let minimal = ["--log-bin", "--binlog-format=ROW", "--binlog-row-metadata=MINIMAL"];
    let source = &start_unsynced(flavour, &minimal);
    let table = "CREATE DATABASE dd; CREATE TABLE dd.t (id INT PRIMARY KEY, v CHAR(30)); INSERT INTO dd.t VALUES (1, 'a'), (2, 'b'), (3, 'c')";
    sql(source, table);
    let rows = || sql(source, "SELECT * FROM dd.t ORDER BY id");
    let before = rows();
    for (change, options) in [
        ("DELETE FROM dd.t WHERE id = 2", ""),
        ("UPDATE dd.t SET v = 'z' WHERE id = 1", ""),
        ("SET SESSION binlog_row_image = MINIMAL; INSERT INTO dd.t (id) VALUES (9)", ""),
        ("INSERT INTO dd.t VALUES (7, 'oops'), (8, 'oops')", "--flashback"),
        ("UPDATE dd.t SET v = 'z' WHERE id = 1", "--flashback"),
    ] {
        let logs = logged(source, || drop(sql(source, change)));
        let is_back = !options.is_empty();
        if !is_back {
            sql(source, "DROP DATABASE dd");
            sql(source, table);
        }
        let changed = rows();
        let printed = run(drover(&format!("binlog sql {options}")).args(&logs)).done();
        assert!(printed.stderr.contains("called ?1, ?2") && printed.stdout.contains("?1"), "{printed}");
        let fed = feed(client(source).arg("--binary-mode"), printed.stdout.as_bytes());
        let error = String::from_utf8_lossy(&fed.stderr);
        assert!(!fed.status.success() && error.contains("ERROR 1064"), "{change}: {error}\n{printed}");
        assert_eq!(rows(), changed, "{change}");
        sql(source, "DROP DATABASE dd");
        sql(source, table);
        assert_eq!(rows(), before);
    }
}
