//! Generated columns of rows that `drover binlog replay` applies: MariaDB 11.8 leaves them out of rows that were changed or deleted, and not
//! every server computes what is left out.

use std::path::PathBuf;

use drover_sandbox::{Flavour, Server};

use super::sql::logged;
use crate::drover::{drover, drover_on, run};
use crate::reach;
use crate::servers::{is_wanted, start_mariadb_11, start_unsynced};

const LOGS: [&str; 3] = ["--log-bin=bin", "--server-id=7", "--binlog-format=ROW"];

const TABLES: &str = "CREATE DATABASE g CHARACTER SET latin1; USE g;
    CREATE TABLE k (id INT PRIMARY KEY, n INT, b BLOB, w VARCHAR(20), at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
      v INT AS (n + 1) VIRTUAL, s INT AS (n + 2) STORED, x VARCHAR(40) AS (CONCAT('<', w, '>')) STORED, KEY (v), KEY (s));
    CREATE TABLE bare (n INT, v INT AS (n + 1) VIRTUAL, s INT AS (n + 2) STORED, f FLOAT, at TIMESTAMP(3) NULL);
    INSERT INTO k (id, n, b, w, at) VALUES (1, 1, 'a', 'one', '2020-01-01'), (2, 2, X'00FF', 'two', '2020-01-02'), (3, NULL, NULL, NULL, '2020-01-03');
    INSERT INTO bare (n, f, at) VALUES (1, 0.1, '2020-01-01 01:02:03.456'), (2, 2, NULL), (2, 2, NULL), (3, NULL, NULL)";

const WORK: &str = "USE g; UPDATE k SET n = 7, at = at WHERE id = 1; UPDATE k SET b = X'80', w = 'zwei', at = at WHERE id = 2;
    UPDATE k SET id = 11, n = 12 WHERE id = 3; DELETE FROM k WHERE id = 2; INSERT INTO k (id, n, w) VALUES (4, 4, X'E9'), (5, 5, NULL);
    BEGIN; UPDATE k SET n = n * 2 WHERE id IN (4, 5); INSERT INTO k (id, n) VALUES (6, 6); UPDATE k SET w = 'x' WHERE id = 6; COMMIT;
    UPDATE bare SET n = 8 WHERE f < 0.5; DELETE FROM bare WHERE n = 2 LIMIT 1; INSERT INTO bare (n) VALUES (9); UPDATE bare SET f = 3 WHERE n = 3";

const QUESTIONS: [&str; 4] = [
    "SELECT id, n, HEX(b), HEX(w), at, v, s, HEX(x) FROM g.k ORDER BY id",
    "SELECT n, v, s, f, at FROM g.bare ORDER BY n, f",
    "SELECT v FROM g.k FORCE INDEX (v) WHERE v > 0 ORDER BY v",
    "SELECT s FROM g.k FORCE INDEX (s) WHERE s > 0 ORDER BY s",
];

/// With a client of this machine, since not all servers come with one.
fn sql(server: &Server, text: impl AsRef<str>) -> Vec<Vec<String>> {
    reach::sql(server, "mysql", text.as_ref())
}

fn rows(server: &Server) -> Vec<Vec<Vec<String>>> {
    QUESTIONS.iter().map(|question| sql(server, question)).collect()
}

fn begin(server: &Server) {
    sql(server, format!("DROP DATABASE IF EXISTS g; {TABLES}"));
}

/// The log of the work on a server, with this row image.
fn worked(server: &Server, image: &str) -> Vec<PathBuf> {
    sql(server, format!("SET GLOBAL binlog_row_image = {image}"));
    begin(server);
    logged(server, || drop(sql(server, WORK)))
}

fn equal_on(source: &Server, targets: &[&Server], images: &[&str]) {
    for image in images {
        let logs = worked(source, image);
        let expected = rows(source);
        for target in targets {
            begin(target);
            let before = rows(target);
            run(drover_on(target, "binlog replay --restart --dry-run").args(&logs)).done();
            run(drover_on(target, "binlog replay --restart").args(&logs)).done();
            assert_eq!(rows(target), expected, "{image}");
            if *image == "FULL" {
                run(drover_on(target, "binlog replay --restart --flashback").args(&logs)).done();
                assert_eq!(rows(target), before, "{image} undone");
            }
            let checked = sql(target, "CHECK TABLE g.k EXTENDED");
            assert_eq!(checked[0][3], "OK", "{image} {checked:?}");
        }
    }
}

const IMAGES: [&str; 3] = ["FULL", "MINIMAL", "NOBLOB"];

#[test]
fn generated_columns_of_mariadb() {
    if !is_wanted(Flavour::MariaDb) {
        return;
    }
    let (newer, stock) = (&start_mariadb_11(&LOGS), &start_unsynced(Flavour::MariaDb, &LOGS));
    equal_on(newer, &[stock], &[&IMAGES[..], &["FULL_NODUP"]].concat());
    equal_on(stock, &[newer], &IMAGES);
    if is_wanted(Flavour::MySql) {
        let mysql = &start_unsynced(Flavour::MySql, &LOGS);
        equal_on(newer, &[mysql], &IMAGES);
        equal_on(stock, &[mysql], &IMAGES);
        equal_on(mysql, &[newer, stock], &IMAGES);
    }
}

#[test]
fn generated_columns_on_old_servers() {
    if !is_wanted(Flavour::MariaDb) {
        return;
    }
    let newer = &start_mariadb_11(&LOGS);
    equal_on(newer, &[&reach::old("mariadb-10.5", Flavour::MariaDb)], &IMAGES);
    if is_wanted(Flavour::MySql) {
        equal_on(newer, &[&reach::old("mysql-5.7", Flavour::MySql)], &IMAGES);
        equal_on(newer, &[&reach::old("mysql-8.0", Flavour::MySql)], &["FULL"]);
    }
}

/// What a statement would do beside is refused, and so is what it could not say.
#[test]
fn generated_columns_that_no_statement_computes() {
    if !is_wanted(Flavour::MariaDb) {
        return;
    }
    let (newer, stock) = (&start_mariadb_11(&LOGS), &start_unsynced(Flavour::MariaDb, &[]));
    let logs = worked(newer, "FULL");
    let says = |options: &str| run(drover_on(stock, &format!("binlog replay {options}")).args(&logs));
    begin(stock);
    sql(
        stock,
        "USE g; CREATE TABLE log (id INT); CREATE TRIGGER noted AFTER UPDATE ON k FOR EACH ROW INSERT INTO log VALUES (OLD.id)",
    );
    let words = ["rows of g.k: the log leaves out generated columns", "its triggers", "DROP TRIGGER there"];
    says("--dry-run").found(&words);
    says("").refused(&words);
    assert_eq!(sql(stock, "SELECT n, s FROM g.k WHERE id = 1"), [["1", "3"]]);
    // As the hint says.
    sql(stock, "DROP TRIGGER g.noted");
    says("--resume").done();
    assert_eq!(rows(stock), rows(newer));
    begin(stock);
    sql(stock, "ALTER TABLE g.k MODIFY n BIGINT");
    let words = ["rows of g.k: the log leaves out", "the table has other columns there"];
    says("--restart").refused(&words);
    sql(stock, "ALTER TABLE g.k MODIFY n INT");
    says("--resume").done();
    assert_eq!(rows(stock), rows(newer));
    // A row that is not there.
    begin(stock);
    sql(stock, "DELETE FROM g.k WHERE id = 1");
    says("--restart").refused(&["`g`.`k` WHERE `id` = 1", "no such row", "restore the dump"]);
}

/// A time that stood still, as it was given or as all was in one second, does so in what `binlog sql` prints.
#[test]
fn times_that_would_follow_the_clock() {
    for flavour in [Flavour::MariaDb, Flavour::MySql].into_iter().filter(|&flavour| is_wanted(flavour)) {
        let server = &start_unsynced(flavour, &[&LOGS[..], &["--binlog-row-metadata=FULL"]].concat());
        for image in ["FULL", "MINIMAL"] {
            sql(
                server,
                format!(
                    "SET GLOBAL binlog_row_image = {image}; DROP DATABASE IF EXISTS c; CREATE DATABASE c; CREATE TABLE c.t (id INT PRIMARY KEY, n INT, \
                     at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, d DATETIME(3) NULL ON UPDATE CURRENT_TIMESTAMP(3)); \
                     INSERT INTO c.t VALUES (1, 1, '2020-01-01', '2020-01-01 00:00:00.123')"
                ),
            );
            let before = sql(server, "SELECT * FROM c.t");
            let logs = logged(server, || drop(sql(server, "UPDATE c.t SET n = 2, at = at, d = d")));
            let after = sql(server, "SELECT * FROM c.t");
            let printed =
                |options: &str| run(drover(&format!("binlog sql {options}")).args(&logs)).done().stdout;
            if image == "FULL" {
                sql(server, printed("--flashback"));
                assert_eq!(sql(server, "SELECT * FROM c.t"), before);
            } else {
                sql(server, "UPDATE c.t SET n = 1, at = at, d = d");
            }
            sql(server, printed(""));
            assert_eq!(sql(server, "SELECT * FROM c.t"), after, "{flavour:?} {image}");
        }
    }
}
