//! Logs that go to a server of another version or vendor: what a session is set to there, and what is logged in two phases.

use drover_sandbox::{Flavour, Server};

use super::sql::logged;
use crate::client::{client, feed, sql, value};
use crate::drover::{copy, drover, drover_on, run};
use crate::reach;
use crate::servers::{is_wanted, is_wanted_of, start, start_mariadb_11, start_unsynced};

const LOGS: [&str; 2] = ["--log-bin", "--binlog-format=ROW"];

/// What replay does, and what comes of what is printed.
fn both_ways(source: &Server, target: &Server, work: &str, question: &str) {
    let logs = logged(source, || drop(sql(source, work)));
    let expected = sql(source, question);
    run(drover_on(target, "binlog replay").args(&logs)).done();
    assert_eq!(sql(target, question), expected, "replayed");
    sql(target, "DROP DATABASE d");
    let columns = format!("mysql://root@/?socket={}", source.socket().display());
    let printed = run(drover("binlog sql --no-defaults --columns-of").arg(columns).args(&logs)).done().stdout;
    let fed = feed(client(target).arg("--binary-mode"), printed.as_bytes());
    assert!(fed.status.success(), "{}\n{printed}", String::from_utf8_lossy(&fed.stderr));
    assert_eq!(sql(target, question), expected, "{printed}");
}

/// MariaDB may log an ALTER TABLE when it begins, and once more when it has changed the table or has failed.
#[test]
fn an_alter_in_two_phases() {
    if !is_wanted(Flavour::MariaDb) {
        return;
    }
    let (source, target) = (&start_unsynced(Flavour::MariaDb, &LOGS), &start_unsynced(Flavour::MariaDb, &[]));
    let work = "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY); INSERT INTO d.t VALUES (1), (2);
        SET binlog_alter_two_phase = 1; ALTER TABLE d.t ADD COLUMN a INT DEFAULT 3;
        ALTER IGNORE TABLE d.t ADD COLUMN b INT DEFAULT 4; INSERT INTO d.t VALUES (5, 6, 7)";
    both_ways(source, target, work, "SELECT id, a, b FROM d.t ORDER BY id");
    // One that fails is no change there either.
    sql(target, "DROP DATABASE d");
    let logs = logged(source, || {
        sql(
            source,
            "CREATE OR REPLACE DATABASE d; CREATE TABLE d.t (id INT, a INT); INSERT INTO d.t VALUES (1, 1), (2, 1)",
        );
        let failing = "SET binlog_alter_two_phase = 1; ALTER TABLE d.t ADD UNIQUE KEY (a)";
        assert!(crate::client::try_sql(source, failing).is_err());
        sql(source, "INSERT INTO d.t VALUES (3, 1)");
    });
    run(drover_on(target, "binlog replay --restart").args(&logs)).done();
    assert_eq!(value(target, "SELECT COUNT(*) FROM d.t"), "3");
}

/// A character set without a collation has the one that it had where the log is from.
#[test]
fn a_newer_default_collation() {
    if !is_wanted(Flavour::MariaDb) {
        return;
    }
    let (source, target) = (&start_unsynced(Flavour::MariaDb, &LOGS), &start_mariadb_11(&[]));
    // Equal in the newer collation only.
    let work = "SET NAMES utf8mb4; CREATE DATABASE d CHARACTER SET utf8mb4; CREATE TABLE d.t (w VARCHAR(9) PRIMARY KEY) CHARACTER SET utf8mb4;
        INSERT INTO d.t VALUES ('ß'), ('ss')";
    let question = "SELECT HEX(w), COLLATION(w) FROM d.t UNION ALL SELECT DEFAULT_COLLATION_NAME, '' FROM information_schema.SCHEMATA
        WHERE SCHEMA_NAME = 'd' ORDER BY 1";
    both_ways(source, target, work, question);
}

/// Settings that only the vendor of the log has are set where they are known.
#[test]
fn settings_of_the_other_vendor() {
    if !(is_wanted(Flavour::MariaDb) && is_wanted(Flavour::MySql)) {
        return;
    }
    let work = "CREATE DATABASE d CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci; USE d;
        CREATE TABLE t (id INT PRIMARY KEY, w VARCHAR(9), at TIMESTAMP NULL) COLLATE utf8mb4_general_ci;
        INSERT INTO t VALUES (1, 'a', '2020-01-01'), (2, NULL, NULL); ALTER TABLE t ADD COLUMN n INT; UPDATE t SET n = id";
    let question = "SELECT id, w, n FROM d.t ORDER BY id";
    for (from, to) in [(Flavour::MySql, Flavour::MariaDb), (Flavour::MariaDb, Flavour::MySql)] {
        both_ways(&start(from, &LOGS), &start_unsynced(to, &[]), work, question);
    }
}

/// What MariaDB has types for and MySQL does not, and the other way round: a copy makes other types of these, and rows that come later go
/// into them.
#[test]
fn rows_of_types_that_the_other_vendor_lacks() {
    if !(is_wanted(Flavour::MariaDb) && is_wanted(Flavour::MySql)) {
        return;
    }
    let mariadb = "CREATE TABLE t (id INT PRIMARY KEY, u UUID, i6 INET6 NOT NULL, i4 INET4, c TEXT COMPRESSED,
            d VARCHAR(300) COMPRESSED CHARACTER SET latin1, b BINARY(16), e CHAR(16), KEY (u));
        CREATE TABLE old (id INT PRIMARY KEY, n INT) WITH SYSTEM VERSIONING;
        CREATE TABLE named (id INT PRIMARY KEY, s TIMESTAMP(6) GENERATED ALWAYS AS ROW START, e TIMESTAMP(6) GENERATED ALWAYS AS ROW END,
            n INT, PERIOD FOR SYSTEM_TIME (s, e)) WITH SYSTEM VERSIONING;
        INSERT INTO t VALUES (0, UUID(), '::', '0.0.0.0', '', '', '', '');
        INSERT INTO old VALUES (1, 1), (2, 2), (3, 3); INSERT INTO named (id, n) VALUES (1, 1), (2, 2), (3, 3)";
    let of_mariadb = "INSERT INTO t VALUES
            (1, 'c0000001-0002-1003-8004-000000000005', '1:0:2:3:4:5:6:7', '1.2.3.4', REPEAT('ä', 500), REPEAT('ö', 200), X'0102', 'x'),
            (2, '550e8400-e29b-41d4-a716-446655440000', '::1.2.3.4', '255.255.255.255', 'short', NULL, NULL, NULL),
            (3, '01890a5d-ac96-774b-bcce-b302099a8057', '::ffff:0.0.0.0', NULL, NULL, 'x', X'00', '');
        INSERT INTO t SELECT seq, UUID(), CONCAT_WS(':', HEX(seq * 7 & 3), HEX(seq & 1), HEX(seq >> 2 & 3), 0, HEX(seq & 2), 0, 0, HEX(seq & 4)),
            CONCAT_WS('.', seq & 255, 0, seq >> 4, 1), REPEAT(seq, seq), REPEAT('é', seq), UNHEX(MD5(seq)), seq FROM seq_10_to_120;
        UPDATE t SET i6 = '::', u = '00000000-0000-0000-0000-000000000000', c = CONCAT(c, '!') WHERE id = 1; DELETE FROM t WHERE id IN (0, 50);
        UPDATE old SET n = 10 WHERE id < 3; DELETE FROM old WHERE id = 2; INSERT INTO old VALUES (4, 4); REPLACE INTO old VALUES (3, 30);
        UPDATE named SET n = 10 WHERE id < 3; DELETE FROM named WHERE id = 2; INSERT INTO named (id, n) VALUES (4, 4)";
    let mysql = "CREATE TABLE t (id INT PRIMARY KEY, j JSON, k JSON NOT NULL, v VECTOR(2)); INSERT INTO t VALUES (0, NULL, '1', NULL)";
    let of_mysql = "INSERT INTO t VALUES (1, '{\"b\": [1, 2.50, true, null], \"a\": \"ä\\\\n\"}', '[]', TO_VECTOR('[1, 2]')),
            (2, JSON_OBJECT('d', CAST(1.25 AS DECIMAL(9, 3)), 'at', TIMESTAMP'2020-01-02 03:04:05.6', 'x', 18446744073709551615), '\"\"', NULL);
        UPDATE t SET j = JSON_SET(j, '$.a', REPEAT('x', 70000)), v = TO_VECTOR('[3, 4]') WHERE id = 1; DELETE FROM t WHERE id = 0";
    let sides = [
        (
            Flavour::MariaDb,
            Flavour::MySql,
            mariadb,
            of_mariadb,
            "SELECT * FROM d.t ORDER BY id; SELECT id, n FROM d.old ORDER BY id; SELECT id, n FROM d.named ORDER BY id",
        ),
        (Flavour::MySql, Flavour::MariaDb, mysql, of_mysql, "SELECT id, j, k, HEX(v) FROM d.t ORDER BY id"),
    ];
    for (from, to, tables, work, question) in sides {
        for metadata in ["NO_LOG", "FULL"] {
            let metadata = if from == Flavour::MySql && metadata == "NO_LOG" { "MINIMAL" } else { metadata };
            let (source, target) = (&start_unsynced(from, &LOGS), &start_unsynced(to, &[]));
            sql(source, format!("SET GLOBAL binlog_row_metadata = {metadata}"));
            sql(
                source,
                format!(
                    "CREATE DATABASE d CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci; USE d; {tables}"
                ),
            );
            let state = tempfile::tempdir().unwrap();
            run(&mut copy(source, target, "d", state.path())).found(&["with a loss"]);
            let logs = logged(source, || drop(sql(source, format!("SET NAMES utf8mb4; USE d; {work}"))));
            let expected = sql(source, format!("SET NAMES utf8mb4; {question}"));
            run(drover_on(target, "binlog replay --dry-run").args(&logs)).done();
            run(drover_on(target, "binlog replay").args(&logs)).done();
            assert_eq!(
                sql(target, format!("SET NAMES utf8mb4; {question}")),
                expected,
                "{from:?} {metadata}"
            );
        }
    }
}

/// Either vendor has vectors, and logs them in its own way.
#[test]
fn vectors_of_both_vendors() {
    if !(is_wanted(Flavour::MariaDb) && is_wanted(Flavour::MySql)) {
        return;
    }
    let (mariadb, mysql) = (&start_mariadb_11(&LOGS), &start_unsynced(Flavour::MySql, &LOGS));
    let tables = "DROP DATABASE IF EXISTS d; CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, v VECTOR(3)); CREATE TABLE d.n (id INT, v VECTOR(2))";
    let question = "SELECT id, HEX(v), 't' FROM d.t UNION ALL SELECT id, HEX(v), 'n' FROM d.n ORDER BY 3, 1";
    for (source, target, vector) in [(mariadb, mysql, "VEC_FromText"), (mysql, mariadb, "STRING_TO_VECTOR")] {
        for metadata in ["MINIMAL", "FULL"] {
            sql(source, format!("SET GLOBAL binlog_row_metadata = {metadata}; {tables}"));
            sql(target, tables);
            let of = |numbers: &str| format!("{vector}('[{numbers}]')");
            let [a, b, c, d, e] = ["1,2,3", "0,0,0", "-1,0.5,3e10", "1,0", "9,-0.25"].map(of);
            let work = format!(
                "INSERT INTO d.t VALUES (1, {a}), (2, NULL), (3, {b}); UPDATE d.t SET v = {c} WHERE id = 1; DELETE FROM d.t WHERE id = 3;
                 INSERT INTO d.n VALUES (1, {d}), (2, {e}), (3, NULL); UPDATE d.n SET v = {e} WHERE id = 1; DELETE FROM d.n WHERE id = 2"
            );
            let logs = logged(source, || drop(sql(source, work)));
            let expected = sql(source, question);
            run(drover_on(target, "binlog replay --restart --dry-run").args(&logs)).done();
            run(drover_on(target, "binlog replay --restart").args(&logs)).done();
            assert_eq!(sql(target, question), expected, "{metadata}");
            run(drover_on(target, "binlog replay --restart --flashback").args(&logs)).done();
            assert_eq!(value(target, "SELECT COUNT(*) FROM d.t"), "0");
        }
    }
    // Also of a table that the log makes, with its rows in one transaction.
    let made = "CREATE TABLE d.made AS SELECT id, v FROM d.t";
    sql(mysql, "DELETE FROM d.t; INSERT INTO d.t VALUES (1, STRING_TO_VECTOR('[1,2,3]')), (2, NULL)");
    let logs = logged(mysql, || drop(sql(mysql, made)));
    run(drover_on(mariadb, "binlog replay --restart").args(&logs)).done();
    let rows = "SELECT id, HEX(v) FROM d.made ORDER BY id";
    assert_eq!(sql(mariadb, rows), sql(mysql, rows));
    // MySQL's may have fewer numbers than their column says.
    let logs = logged(mysql, || drop(sql(mysql, "INSERT INTO d.t VALUES (9, STRING_TO_VECTOR('[1]'))")));
    run(drover_on(mariadb, "binlog replay --restart").args(&logs))
        .refused(&["a row of d.t", "a value of 4 bytes, where the target keeps a VECTOR of 12"]);
}

/// A copy to a MySQL without VECTOR makes BLOB of it: rows that come later go there too.
#[test]
fn vectors_into_an_older_mysql() {
    if !is_wanted_of(Flavour::MySql, "mysql-8.0.33") {
        return;
    }
    let (source, target) =
        (&start_unsynced(Flavour::MySql, &LOGS), &reach::old("mysql-8.0.33", Flavour::MySql));
    sql(
        source,
        "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, v VECTOR(3), w INT); INSERT INTO d.t VALUES (1, NULL, 1)",
    );
    let state = tempfile::tempdir().unwrap();
    run(&mut copy(source, target, "d", state.path())).found(&["with a loss"]);
    let work = "INSERT INTO d.t VALUES (2, STRING_TO_VECTOR('[1,2,3]'), 2), (3, STRING_TO_VECTOR('[4]'), 3);
        UPDATE d.t SET v = STRING_TO_VECTOR('[9,9]') WHERE id = 1; DELETE FROM d.t WHERE id = 3";
    let logs = logged(source, || drop(sql(source, work)));
    run(drover_on(target, "binlog replay --dry-run").args(&logs)).done();
    run(drover_on(target, "binlog replay").args(&logs)).done();
    let rows = "SELECT id, HEX(v), w FROM d.t ORDER BY id";
    assert_eq!(reach::sql(target, "d", rows), sql(source, rows));
}

/// Rows that the logs' server threw away stay in no other engine, and that an engine is lacking is known before.
#[test]
fn engines_that_the_target_lacks() {
    if ![Flavour::MariaDb, Flavour::MySql].into_iter().all(is_wanted) {
        return;
    }
    let (source, target) = (&start_unsynced(Flavour::MySql, &LOGS), &start_unsynced(Flavour::MariaDb, &[]));
    let lacks = |engine: &str| {
        value(target, format!("SELECT COUNT(*) FROM information_schema.ENGINES WHERE ENGINE = '{engine}'"))
            == "0"
    };
    assert!(lacks("BLACKHOLE") && lacks("ARCHIVE"), "the target has them");
    for (d, mode, engine, is_told) in [
        ("d0", "", "BLACKHOLE", true),
        ("d1", "", "ARCHIVE", false),
        ("d2", "NO_ENGINE_SUBSTITUTION", "ARCHIVE", true),
    ] {
        let logs = logged(source, || {
            sql(
                source,
                format!(
                    "SET sql_mode = '{mode}'; CREATE DATABASE {d}; CREATE TABLE {d}.t (a INT) ENGINE = {engine}; INSERT INTO {d}.t VALUES (1)"
                ),
            );
        });
        let said = format!("the target has no engine {engine}: CREATE TABLE {d}.t");
        let replay =
            |options: &str| run(drover_on(target, &format!("binlog replay --restart {options}")).args(&logs));
        if is_told {
            replay("--dry-run").found(&[&said]);
            replay("").refused(&[&said, "INSTALL PLUGIN"]);
        } else {
            replay("--dry-run").done();
            replay("").done();
            assert_eq!(value(target, format!("SELECT COUNT(*) FROM {d}.t")), "1");
        }
        sql(target, format!("DROP DATABASE IF EXISTS {d}"));
    }
}
