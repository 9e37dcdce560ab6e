//! `drover binlog replay --flashback` where later transactions changed the same rows, and where images lack what a server computes.

use drover_sandbox::{Flavour, Server};

use super::sql::logged;
use crate::client::{sql, value};
use crate::drover::{drover, drover_on, run};
use crate::servers::{is_wanted, on_both, start_mariadb_11, start_unsynced};

on_both!(rows_that_are_missing);

const LOGS: [&str; 2] = ["--log-bin", "--binlog-format=ROW"];

/// What cannot be undone is listed, and all else is.
fn rows_that_are_missing(flavour: Flavour) {
    let server = &start_unsynced(flavour, &LOGS);
    sql(
        server,
        "CREATE DATABASE u; USE u; CREATE TABLE t (id INT PRIMARY KEY, v INT); CREATE TABLE n (a INT, b CHAR(3));
         INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 4); INSERT INTO n VALUES (1, 'x'), (2, 'y')",
    );
    let logs = logged(server, || {
        drop(sql(
            server,
            "USE u; BEGIN; UPDATE t SET v = v + 10; DELETE FROM t WHERE id = 4; INSERT INTO n VALUES (3, 'z'); COMMIT;
             UPDATE n SET b = 'w' WHERE a = 1; INSERT INTO t VALUES (5, 5)",
        ))
    });
    sql(server, "DELETE FROM u.t WHERE id IN (2, 5); UPDATE u.n SET b = 'q' WHERE a = 3");
    run(drover_on(server, "binlog replay --flashback").args(&logs))
        .refused(&["hint: a later transaction deleted or changed the row", "--skip-missing"]);
    // Nothing was, and so nothing is left of it.
    assert_eq!(value(server, "SELECT COUNT(*) FROM drover.replay"), "0");
    let undone = run(drover_on(server, "binlog replay --flashback --skip-missing").args(&logs)).found(&[
        "3 rows not undone",
        "`u`.`t` WHERE `id` = 5",
        "`u`.`t` WHERE `id` = 2",
        "`u`.`n` WHERE `a` = 3 AND `b` = _binary 'z'",
    ]);
    assert!(!undone.stdout.contains("`id` = 1"), "{undone}");
    assert_eq!(sql(server, "SELECT * FROM u.t ORDER BY id"), [["1", "1"], ["3", "3"], ["4", "4"]]);
    assert_eq!(sql(server, "SELECT * FROM u.n ORDER BY a"), [["1", "x"], ["2", "y"], ["3", "q"]]);
    let again =
        run(drover_on(server, "--json binlog replay --flashback --resume --skip-missing").args(&logs)).done();
    assert_eq!(again.json()["missing_rows"], 0);
    run(drover_on(server, "binlog replay --skip-missing").args(&logs)).refused(&["--flashback"]);
}

/// MariaDB 11 leaves generated columns out of images of rows that went.
#[test]
fn images_without_generated_columns() {
    if !is_wanted(Flavour::MariaDb) {
        return;
    }
    let full = [&LOGS[..], &["--binlog-row-metadata=FULL"]].concat();
    for options in [&LOGS[..], &full] {
        let server = &start_mariadb_11(options);
        sql(
            server,
            "CREATE DATABASE u; USE u; CREATE TABLE t (id INT PRIMARY KEY, n INT, v INT AS (n + 1) VIRTUAL, s INT AS (n + 2) STORED, KEY (v));
             CREATE TABLE w (n INT, v INT AS (n + 1) VIRTUAL, s INT AS (n + 2) STORED);
             INSERT INTO t (id, n) VALUES (1, 1), (2, 2), (3, 3); INSERT INTO w (n) VALUES (1), (2)",
        );
        let before = [sql(server, ROWS[0]), sql(server, ROWS[1])];
        let logs = logged(server, || changes(server));
        let columns = format!("mysql://root@/?socket={}", server.socket().display());
        let printed =
            run(drover("binlog sql --flashback --no-defaults --columns-of").arg(columns).args(&logs)).done();
        run(drover_on(server, "binlog replay --flashback").args(&logs)).done();
        assert_eq!([sql(server, ROWS[0]), sql(server, ROWS[1])], before);
        changes(server);
        sql(server, &printed.stdout);
        assert_eq!([sql(server, ROWS[0]), sql(server, ROWS[1])], before, "{printed}");
    }
}

const ROWS: [&str; 2] = ["SELECT * FROM u.t ORDER BY id", "SELECT * FROM u.w ORDER BY n"];

fn changes(server: &Server) {
    sql(
        server,
        "USE u; UPDATE t SET n = 7 WHERE id = 1; DELETE FROM t WHERE id > 1; INSERT INTO t (id, n) VALUES (9, 9);
         UPDATE w SET n = 8 WHERE n = 1; DELETE FROM w WHERE n = 2",
    );
    assert_eq!(value(server, "SELECT v FROM u.t WHERE id = 1"), "8");
}
