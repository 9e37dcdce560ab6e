//! A character set that a statement of a log names alone has the collation that it had where the log was written.

use std::path::PathBuf;

use drover_sandbox::{Flavour, Server};

use crate::client::{client, feed};
use crate::drover::{drover, drover_on, run};
use crate::reach;
use crate::reach::old;
use crate::servers::{is_wanted, start_mariadb_11, start_unsynced};

/// What names utf8mb4 alone, in statements: 'ß' and 'ss' are equal in newer defaults only.
const WORK: &str = "SET SESSION binlog_format = STATEMENT; SET NAMES utf8mb4; CREATE DATABASE d CHARACTER SET utf8mb4; USE d;
    CREATE TABLE t (w VARCHAR(9) PRIMARY KEY) DEFAULT CHARSET=utf8mb4; INSERT INTO t VALUES ('ß'), ('ss');
    CREATE TABLE o (id INT PRIMARY KEY, v VARCHAR(9) CHARACTER SET utf8mb4, u VARCHAR(9) CHARACTER SET utf8, b CHAR(9)) CHARSET=latin1;
    CREATE TABLE c (v VARCHAR(9)) /*!40100 CHARSET latin1 */; ALTER TABLE c CONVERT TO CHARACTER SET utf8mb4, ADD UNIQUE KEY (v);
    CREATE TABLE own (v VARCHAR(9) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin) CHARSET=utf8mb4, COLLATE=utf8mb4_unicode_ci;
    INSERT INTO c VALUES ('ß'), ('ss'); CREATE DATABASE e; ALTER DATABASE e CHARSET utf8mb4; CREATE TABLE e.t (v VARCHAR(9))";

/// What the collations of a session do not reach on every server.
const BEYOND: &str = "SET SESSION binlog_format = STATEMENT; SET NAMES utf8mb4; USE d;
    CREATE FUNCTION equal(a VARCHAR(9) CHARSET utf8mb4) RETURNS INT DETERMINISTIC
      RETURN (SELECT COUNT(*) FROM (SELECT 'ss' AS w) x WHERE x.w = a);
    INSERT INTO o VALUES (1, 'ß', '', 'a'), (2, 'ss', '', 'a');
    UPDATE o SET u = 'same' WHERE CONVERT(b USING utf8mb4) = 'á'; UPDATE o SET b = 'q' WHERE CAST(v AS CHAR(9) CHARACTER SET utf8mb4) = 'ss';
    CREATE TEMPORARY TABLE tmp (w VARCHAR(9) PRIMARY KEY) CHARSET=utf8mb4; INSERT INTO tmp VALUES ('ß'), ('ss');
    INSERT INTO o SELECT 10 + COUNT(*), NULL, '', '' FROM tmp";

const COLLATIONS: &str = "SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, REPLACE(COLLATION_NAME, 'utf8_', 'utf8mb3_') FROM information_schema.COLUMNS \
     WHERE TABLE_SCHEMA IN ('d', 'e') AND COLLATION_NAME IS NOT NULL ORDER BY 1, 2, 3; \
     SELECT SCHEMA_NAME, DEFAULT_COLLATION_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME IN ('d', 'e') ORDER BY 1; \
     SELECT COUNT(*) FROM d.t; SELECT COUNT(*) FROM d.c; SELECT COUNT(*) FROM d.own";
const ROWS: &str = "SELECT * FROM d.o ORDER BY id; SELECT d.equal('ß'), d.equal('ss')";

fn sql(server: &Server, text: &str) -> Vec<Vec<String>> {
    reach::sql(server, "mysql", text)
}

/// The log of what is done.
fn logged(server: &Server, work: &str) -> PathBuf {
    sql(server, &format!("FLUSH LOGS; {work}; FLUSH LOGS"));
    let logs = sql(server, "SHOW BINARY LOGS");
    server.datadir().join(&logs[logs.len() - 2][0])
}

fn both_ways(source: &Server, target: &Server) {
    let logs = [logged(source, WORK)];
    let expected = sql(source, COLLATIONS);
    let printed = run(drover("binlog sql").args(&logs)).done().stdout;
    let fed = feed(client(target).arg("--binary-mode"), printed.as_bytes());
    assert!(fed.status.success(), "{}\n{printed}", String::from_utf8_lossy(&fed.stderr));
    assert_eq!(sql(target, COLLATIONS), expected, "{printed}");
    sql(target, "DROP DATABASE d; DROP DATABASE e");
    run(drover_on(target, "binlog replay --dry-run").args(&logs)).done();
    run(drover_on(target, "binlog replay").args(&logs)).done();
    assert_eq!(sql(target, COLLATIONS), expected, "replayed");
    let logs = [logged(source, BEYOND)];
    run(drover_on(target, "binlog replay --restart").args(&logs)).done();
    assert_eq!(sql(target, ROWS), sql(source, ROWS));
}

#[test]
fn of_5_7_on_the_newest() {
    if is_wanted(Flavour::MySql) {
        let target = start_unsynced(Flavour::MySql, &["--log-bin-trust-function-creators=1"]);
        both_ways(&old("mysql-5.7", Flavour::MySql), &target);
    }
}

#[test]
fn of_10_2_on_11() {
    if is_wanted(Flavour::MariaDb) {
        both_ways(&old("mariadb-10.2", Flavour::MariaDb), &start_mariadb_11(&[]));
    }
}

#[test]
fn of_the_other_vendor() {
    if !(is_wanted(Flavour::MariaDb) && is_wanted(Flavour::MySql)) {
        return;
    }
    both_ways(&old("mysql-5.7", Flavour::MySql), &start_mariadb_11(&["--log-bin-trust-function-creators=1"]));
    let target = start_unsynced(Flavour::MySql, &["--log-bin-trust-function-creators=1"]);
    both_ways(&old("mariadb-10.2", Flavour::MariaDb), &target);
}

/// MariaDB's logs tell what a session had, and the target may have another default.
#[test]
fn what_a_session_had_set() {
    if !is_wanted(Flavour::MariaDb) {
        return;
    }
    let (source, target) = (start_mariadb_11(&["--log-bin"]), start_mariadb_11(&[]));
    let logs = [logged(
        &source,
        "SET NAMES utf8mb4; CREATE DATABASE d; SET character_set_collations = 'utf8mb4=utf8mb4_bin,utf8mb3=utf8mb3_polish_ci';
            CREATE TABLE d.t (w VARCHAR(9) PRIMARY KEY) CHARSET utf8mb4; INSERT INTO d.t VALUES ('a'), ('A');
            CREATE TABLE d.u (w VARCHAR(9)) CHARSET utf8mb3; SET character_set_collations = DEFAULT; CREATE TABLE d.v (w CHAR(9) CHARSET utf16)",
    )];
    sql(&target, "SET GLOBAL character_set_collations = ''");
    let collations = "SELECT TABLE_NAME, COLLATION_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'd' ORDER BY 1";
    let expected = sql(&source, collations);
    assert_eq!(expected[0][1], "utf8mb4_bin");
    let printed = run(drover("binlog sql --columns-of").arg(url(&source)).args(&logs)).done().stdout;
    let fed = feed(client(&target).arg("--binary-mode"), printed.as_bytes());
    assert!(fed.status.success(), "{}\n{printed}", String::from_utf8_lossy(&fed.stderr));
    assert_eq!(sql(&target, collations), expected, "{printed}");
    sql(&target, "DROP DATABASE d");
    run(drover_on(&target, "binlog replay").args(&logs)).done();
    assert_eq!(sql(&target, collations), expected);
    assert_eq!(sql(&target, "SELECT COUNT(*) FROM d.t"), [["2"]]);
}

fn url(server: &Server) -> String {
    format!("mysql://root@/?socket={}", server.socket().display())
}

/// A view and a table that a query makes have columns that are called as the expression is: it stays, and what is different is told.
#[test]
fn what_stays_is_told() {
    if !is_wanted(Flavour::MySql) {
        return;
    }
    let (source, target) = (old("mysql-5.7", Flavour::MySql), start_unsynced(Flavour::MySql, &[]));
    let logs = [logged(
        &source,
        "CREATE DATABASE d CHARSET latin1; CREATE TABLE d.t (a CHAR(9)); CREATE VIEW d.w AS SELECT CONVERT(a USING utf8mb4) FROM d.t",
    )];
    let replayed = run(drover_on(&target, "binlog replay").args(&logs)).done();
    assert!(
        replayed.stdout.contains(
            "collation utf8mb4_general_ci is utf8mb4_0900_ai_ci on the target: it is the default there for CONVERT(a USING utf8mb4)"
        ),
        "{replayed}"
    );
    assert_eq!(sql(&target, "SHOW COLUMNS FROM d.w")[0][0], "CONVERT(a USING utf8mb4)");
}
