//! `drover binlog sql` names the very row: not another that today's key, or the server's comparison, takes for it.

use drover_sandbox::{Flavour, Server};

use super::sql::logged;
use crate::client::{Rows, client, feed, sql};
use crate::drover::{drover, drover_on, run};
use crate::servers::{is_wanted, on_both, start_mariadb_11, start_unsynced};

on_both!(rows_of_a_table_whose_key_came_later, zeros_below_zero);

const LOGS: [&str; 2] = ["--log-bin", "--binlog-format=ROW"];

/// What `binlog sql` prints, run on the target.
fn applied(logs: &[std::path::PathBuf], columns_of: Option<&Server>, target: &Server) -> String {
    let mut command = drover("binlog sql --no-defaults");
    if let Some(server) = columns_of {
        command.arg("--columns-of").arg(format!("mysql://root@/?socket={}", server.socket().display()));
    }
    let printed = run(command.args(logs)).done().stdout;
    let fed = feed(client(target).arg("--binary-mode"), printed.as_bytes());
    assert!(fed.status.success(), "{}\n{printed}", String::from_utf8_lossy(&fed.stderr));
    printed
}

/// The log has whole rows: a key of today is not what they were told apart by.
fn rows_of_a_table_whose_key_came_later(flavour: Flavour) {
    let source = &start_unsynced(flavour, &LOGS);
    let target = &start_unsynced(flavour, &["--skip-log-bin"]);
    for (key, then) in [
        ("", "ADD PRIMARY KEY (a)"),
        ("", "ADD UNIQUE KEY (a)"),
        (", PRIMARY KEY (b)", "DROP PRIMARY KEY, ADD PRIMARY KEY (a)"),
    ] {
        let rows = "k.t VALUES (1, 'keep'), (1, 'dup'), (2, 'x')";
        for server in [source, target] {
            let made = format!("CREATE TABLE k.t (a INT NOT NULL, b VARCHAR(10) NOT NULL{key})");
            sql(server, format!("DROP DATABASE IF EXISTS k; CREATE DATABASE k; {made}; INSERT INTO {rows}"));
        }
        let logs = logged(source, || {
            drop(sql(source, "UPDATE k.t SET b = 'gone' WHERE b = 'dup'; DELETE FROM k.t WHERE b = 'gone'"))
        });
        sql(source, format!("ALTER TABLE k.t {then}"));
        let printed = applied(&logs, Some(source), target);
        let left = sql(target, "SELECT a, b FROM k.t ORDER BY a");
        assert_eq!(left, [["1", "keep"], ["2", "x"]], "{then}\n{printed}");
        // What undoes it as well: the row is there no more that today's key finds.
        sql(target, "DELETE FROM k.t; INSERT INTO k.t VALUES (1, 'keep'), (2, 'x')");
        let mut undo = drover("binlog sql --no-defaults --flashback --columns-of");
        undo.arg(format!("mysql://root@/?socket={}", source.socket().display()));
        let undone = run(undo.args(&logs)).done().stdout;
        sql(target, &undone);
        let back = sql(target, "SELECT a, b FROM k.t ORDER BY a, b");
        assert_eq!(back, [["1", "dup"], ["1", "keep"], ["2", "x"]], "{then}\n{undone}");
    }
}

/// To a server 0 and -0 are equal. From MariaDB 10.11 on there is no -0.
fn zeros_below_zero(flavour: Flavour) {
    let logs = [&LOGS[..], &["--binlog-row-metadata=FULL"]].concat();
    let source = &start_unsynced(flavour, &logs);
    let target = &start_unsynced(flavour, &["--skip-log-bin"]);
    let logs = logged(source, || {
        drop(sql(
            source,
            "CREATE DATABASE z; CREATE TABLE z.t (n INT, d DOUBLE, f FLOAT);
             INSERT INTO z.t VALUES (1, 0, 1), (1, -0e0, 1), (2, 1, -0e0), (2, 1, 0), (3, 0, 0), (4, -0e0, -0e0);
             DELETE FROM z.t WHERE n = 1 AND CAST(d AS CHAR) LIKE '-%'; UPDATE z.t SET d = 7 WHERE n = 2 AND CAST(f AS CHAR) NOT LIKE '-%';
             UPDATE z.t SET d = -0e0 WHERE n = 3; DELETE FROM z.t WHERE n = 4",
        ))
    });
    let printed = applied(&logs, None, target);
    let rows = |server| sql(server, "SELECT n, CAST(d AS CHAR), CAST(f AS CHAR) FROM z.t ORDER BY 1, 2, 3");
    let right: Rows = rows(source);
    assert_eq!(rows(target), right, "{printed}");
}

/// To MySQL numbers of JSON are equal whatever their types are.
#[test]
fn numbers_of_json() {
    crate::servers::run(Flavour::MySql, |flavour| {
        let logs = [&LOGS[..], &["--binlog-row-metadata=FULL"]].concat();
        let source = &start_unsynced(flavour, &logs);
        let target = &start_unsynced(flavour, &["--skip-log-bin"]);
        const ROWS: &str = "SELECT CONCAT_WS(' ', n, c, JSON_TYPE(c->'$.\"a b\"[0]'), JSON_TYPE(c->'$.\"a b\"[1]')) FROM j.t ORDER BY 1";
        let logs = logged(source, || {
            sql(source, "CREATE DATABASE j; CREATE TABLE j.t (n INT, c JSON)");
            for (n, values) in [
                (1, &["1", "CAST(1 AS UNSIGNED)", "1.0", "1e0", "1."][..]),
                (2, &["1.50", "1.5", "1.5e0"]),
                (3, &["0e0", "-0e0", "0.0", "0"]),
                (4, &["CAST('2020-01-01' AS DATETIME)", "'2020-01-01 00:00:00.000000'"]),
            ] {
                for which in 0..values.len() {
                    let n = n * 10 + which;
                    for value in values {
                        sql(
                            source,
                            format!(
                                "INSERT INTO j.t VALUES ({n}, JSON_OBJECT('a b', JSON_ARRAY(1, {value})))"
                            ),
                        );
                    }
                }
            }
            // Of each n one row goes and another changes.
            for (n, count) in [(10, 5), (20, 3), (30, 4), (40, 2)] {
                for which in 0..count {
                    let n = n + which;
                    let chosen = format!("n = {n} ORDER BY JSON_TYPE(c->'$.\"a b\"[1]'), CAST(c AS CHAR)");
                    sql(
                        source,
                        format!(
                            "DELETE FROM j.t WHERE {chosen} LIMIT 1; UPDATE j.t SET n = -n WHERE {chosen} LIMIT 1"
                        ),
                    );
                }
            }
        });
        let printed = applied(&logs, None, target);
        assert_eq!(sql(target, ROWS), sql(source, ROWS), "{printed}");
    });
}

/// A TIMESTAMP ends in 2038 but on MariaDB from 11.5 on, and a TIME of MySQL at 838:59:59: another server must not make another time of it.
#[test]
fn times_that_others_do_not_have() {
    if !is_wanted(Flavour::MariaDb) || !is_wanted(Flavour::MySql) {
        return;
    }
    let source = &start_mariadb_11(&[&LOGS[..], &["--binlog-row-metadata=FULL"]].concat());
    let [older, mysql] =
        [Flavour::MariaDb, Flavour::MySql].map(|flavour| start_unsynced(flavour, &["--skip-log-bin"]));
    for (value, column, servers) in [
        ("'2106-01-01 00:00:00'", "v TIMESTAMP NULL", &[&older, &mysql][..]),
        ("'838:59:59.5'", "v TIME(1)", &[&mysql]),
    ] {
        sql(source, "SET time_zone = '+00:00'; DROP DATABASE IF EXISTS b; CREATE DATABASE b");
        let logs = logged(source, || {
            let table = format!("CREATE TABLE b.t (id INT PRIMARY KEY, d DATE, {column})");
            // An invalid date of a transaction before comes in.
            sql(
                source,
                format!(
                    "SET time_zone = '+00:00', sql_mode = 'ALLOW_INVALID_DATES'; {table}; INSERT INTO b.t VALUES (1, '2020-02-31', NULL)"
                ),
            );
            sql(
                source,
                format!(
                    "SET time_zone = '+00:00', sql_mode = 'ALLOW_INVALID_DATES'; INSERT INTO b.t VALUES (2, '2020-02-31', {value})"
                ),
            );
        });
        let printed = run(drover("binlog sql").args(&logs)).done().stdout;
        let whole = sql(source, "SELECT * FROM b.t");
        sql(source, "DROP TABLE b.t");
        for server in servers {
            sql(server, "DROP DATABASE IF EXISTS b; CREATE DATABASE b");
            let fed = feed(client(server).arg("--binary-mode"), printed.as_bytes());
            let error = String::from_utf8_lossy(&fed.stderr);
            assert!(!fed.status.success() && error.contains("for column"), "{error}\n{printed}");
            assert_eq!(sql(server, "SELECT id, d FROM b.t"), [["1", "2020-02-31"]], "{printed}");
            sql(server, "DROP TABLE b.t");
            let words = ["a row of b.t: column v: ", &format!(" has no {}", value.trim_matches('\''))];
            run(drover_on(server, "binlog replay --restart --dry-run").args(&logs)).found(&words);
            run(drover_on(server, "binlog replay --restart").args(&logs)).refused(&words);
            assert_eq!(sql(server, "SELECT id, d, v FROM b.t"), [["1", "2020-02-31", "NULL"]]);
        }
        let fed = feed(client(source).arg("--binary-mode"), printed.as_bytes());
        assert!(fed.status.success(), "{}\n{printed}", String::from_utf8_lossy(&fed.stderr));
        assert_eq!(sql(source, "SELECT * FROM b.t"), whole);
    }
}
