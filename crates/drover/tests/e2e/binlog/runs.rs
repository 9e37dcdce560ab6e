//! What `drover binlog sql` prints is run by the vendor's client, and gives the rows that were logged.

use std::fmt::Write as _;
use std::path::PathBuf;

use drover_sandbox::{Flavour, Server};

use super::sql::logged;
use crate::client::{client, feed, sql, value};
use crate::drover::{Output, drover, drover_on, run};
use crate::servers::{is_wanted, on_both, start_mariadb_11, start_unsynced, target};

on_both!(types_before_others, what_is_printed_runs, words_are_shown_by_their_character_set);

const FULL: [&str; 3] = ["--log-bin", "--binlog-format=ROW", "--binlog-row-metadata=FULL"];

/// What logs say, with the tables of the source.
fn printed(source: &Server, logs: &[PathBuf], options: &str) -> Output {
    let columns = format!("mysql://root@/?socket={}", source.socket().display());
    run(drover(&format!("binlog sql --no-defaults {options} --columns-of")).arg(columns).args(logs))
}

/// Runs what was printed, and compares what a question is answered.
fn assert_runs(source: &Server, target: &Server, printed: &str, question: &str) {
    let fed = feed(client(target).arg("--binary-mode"), printed.as_bytes());
    assert!(fed.status.success(), "{}\n{printed}", String::from_utf8_lossy(&fed.stderr));
    assert_eq!(sql(target, question), sql(source, question), "{printed}");
}

/// The log tells signs, character sets and words of some columns only, in their order: each type must be counted as the server does.
fn types_before_others(flavour: Flavour) {
    check_types(&start_unsynced(flavour, &FULL), &start_unsynced(flavour, &[]), &types(flavour));
}

/// Those that came with MariaDB 11.
#[test]
fn types_of_mariadb_11() {
    if is_wanted(Flavour::MariaDb) {
        let source = &start_mariadb_11(&FULL);
        check_types(source, &start_mariadb_11(&[]), &["VECTOR(2)", "UUID", "INET4", "POINT"]);
    }
}

fn types(flavour: Flavour) -> Vec<&'static str> {
    let of_vendor: &[&str] = match flavour {
        Flavour::MySql => &["VECTOR(2)", "JSON", "GEOMETRY"],
        Flavour::MariaDb => &["INET6", "UUID", "GEOMETRY", "TEXT COMPRESSED", "VARBINARY(9) COMPRESSED"],
    };
    let of_both = [
        "TINYINT UNSIGNED",
        "FLOAT",
        "DOUBLE",
        "DECIMAL(9,2) UNSIGNED",
        "BIT(9)",
        "YEAR",
        "DATE",
        "TIME(3)",
        "DATETIME(3)",
        "TIMESTAMP(3) NULL",
        "CHAR(3)",
        "BINARY(3)",
        "VARCHAR(300)",
        "VARBINARY(3)",
        "TINYBLOB",
        "LONGTEXT",
        "POINT",
        "ENUM('x')",
        "SET('x','y')",
    ];
    [&of_both, of_vendor].concat()
}

/// Texts that are not UTF-8 stand on both sides of one that is: a column that is not counted, or counted too often, gives one of them its
/// neighbour's character set, in which the same bytes are another word.
fn check_types(source: &Server, target: &Server, types: &[&str]) {
    let (mut work, mut question) = (String::from("CREATE DATABASE types; USE types;"), Vec::new());
    for (number, of) in types.iter().enumerate() {
        // Writing to a String cannot fail.
        let _ = write!(
            work,
            "CREATE TABLE t{number} (id INT PRIMARY KEY, x {of}, u BIGINT UNSIGNED, l VARCHAR(9) CHARACTER SET latin1, \
                 w VARCHAR(9) CHARACTER SET utf8mb4, m VARCHAR(9) CHARACTER SET latin1, \
                 e ENUM('a', 'b') CHARACTER SET latin1, f BIGINT); \
             INSERT INTO t{number} VALUES (1, NULL, ~0, X'C3A4', X'C3A4', X'C3A4', 2, -1); \
             UPDATE t{number} SET l = X'C3B6', w = X'C3B6', m = X'C3B6', u = u - 1;"
        );
        question.push(format!("SELECT \"{of}\", u, HEX(l), HEX(w), HEX(m), e + 0, f FROM types.t{number}"));
    }
    let (logs, question) = (logged(source, || drop(sql(source, work))), question.join(";"));
    let alone = run(drover("binlog sql").args(&logs)).done();
    for printed in [alone, printed(source, &logs, "").done()] {
        assert_runs(source, target, &printed.stdout, &question);
        sql(target, "DROP DATABASE types");
    }
    run(drover_on(target, "binlog replay").args(&logs)).done();
    assert_eq!(sql(target, &question), sql(source, &question));
}

/// Words of an ENUM or a SET come out as they are in JSON, or as their bytes.
fn words_are_shown_by_their_character_set(flavour: Flavour) {
    let source = &start_unsynced(flavour, &FULL);
    let work = "SET NAMES utf8mb4; CREATE DATABASE words; USE words; CREATE TABLE t (l ENUM('ä', 'a') CHARACTER SET latin1,
            u ENUM('ä') CHARACTER SET utf8mb4, w ENUM('ä') CHARACTER SET utf16, s SET('ä', 'b') CHARACTER SET latin1,
            v SET('ä', 'b') CHARACTER SET utf16);
        INSERT INTO t VALUES ('ä', 'ä', 'ä', 'ä,b', 'ä,b'), ('a', 'ä', 'ä', 'b', 'b')";
    let logs = logged(source, || drop(sql(source, work)));
    let lines = run(drover("binlog sql --json").args(&logs)).done().stdout;
    assert!(!lines.contains('\u{fffd}') && !lines.contains("fffd"), "{lines}");
    let rows = lines.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let rows: Vec<_> =
        rows.filter(|line| line["kind"] == "insert").map(|line| line["after"].clone()).collect();
    let hex = |of: &str, set: &str| value(source, format!("SELECT LOWER(HEX(CONVERT('{of}' USING {set})))"));
    for (column, of, set) in
        [("l", "ä", "latin1"), ("w", "ä", "utf16"), ("s", "ä,b", "latin1"), ("v", "ä,b", "utf16")]
    {
        let expected = serde_json::json!({ "hex": hex(of, set) });
        assert_eq!(rows[0][column], expected, "{column}: {lines}");
    }
    assert_eq!(
        (&rows[0]["u"], &rows[1]["l"], &rows[1]["s"]),
        (&"ä".into(), &"a".into(), &"b".into()),
        "{lines}"
    );
}

/// A case: what is done, and what it is compared by.
type Case = (&'static str, &'static str);

const BOTH: [Case; 4] = [
    // A schema that was dropped is no longer that of the session, also where there is another one of that name.
    (
        "CREATE DATABASE runs; USE runs; CREATE TABLE a (id INT); DROP DATABASE runs; CREATE DATABASE runs; USE runs;
         CREATE TABLE b (id INT); INSERT INTO b VALUES (1)",
        "SELECT * FROM runs.b",
    ),
    // A comment at a statement's end.
    (
        "CREATE DATABASE runs; USE runs;
         DELIMITER |
         CREATE TABLE a (id INT) -- it's the end
         |
         CREATE TABLE b (id INT) # of it
         |
         CREATE PROCEDURE p() BEGIN DO 1; /* ;; $$ // */ DO '/*end*/'; END -- x
         |
         INSERT INTO a VALUES (1)|",
        "SELECT * FROM runs.a; SELECT * FROM runs.b; SELECT ROUTINE_NAME FROM information_schema.ROUTINES
         WHERE ROUTINE_SCHEMA = 'runs'",
    ),
    (
        "CREATE DATABASE runs; USE runs; CREATE TABLE a (id INT PRIMARY KEY, n INT, v INT AS (n + 1) VIRTUAL, s INT AS (n + 2) STORED);
         INSERT INTO a (id, n) VALUES (1, 1), (2, 2), (3, 3); UPDATE a SET n = 7 WHERE id = 2; DELETE FROM a WHERE id = 3;
         CREATE TABLE b ENGINE = InnoDB COMMENT 'START TRANSACTION' AS SELECT id, s FROM a;
         CREATE TABLE c (PRIMARY KEY (id)) PARTITION BY HASH (id) PARTITIONS 2 AS SELECT id, n FROM a;
         CREATE TABLE d AS SELECT id FROM a; INSERT INTO d VALUES (9)",
        "SELECT * FROM runs.a ORDER BY id; SELECT * FROM runs.b ORDER BY id; SELECT * FROM runs.c ORDER BY id;
         SELECT * FROM runs.d ORDER BY id; SELECT TABLE_NAME, TABLE_COMMENT FROM information_schema.TABLES
         WHERE TABLE_SCHEMA = 'runs' ORDER BY 1",
    ),
    // Run from a schema that nobody has any more.
    (
        "CREATE DATABASE runs; CREATE DATABASE runs_gone; USE runs_gone; CREATE TABLE runs.a (id INT); INSERT INTO runs.a VALUES (1);
         DROP DATABASE runs_gone",
        "SELECT * FROM runs.a",
    ),
];

fn what_is_printed_runs(flavour: Flavour) {
    let (source, target) = (&start_unsynced(flavour, &FULL), target(flavour));
    for (work, question) in BOTH {
        let logs = logged(source, || drop(sql(source, work)));
        // All of it, and by what it changes, from wherever it was run.
        for options in ["", "--database runs"] {
            assert_runs(source, target, &printed(source, &logs, options).done().stdout, question);
            sql(target, "DROP DATABASE runs");
        }
        sql(source, "DROP DATABASE runs");
    }
    if flavour == Flavour::MariaDb {
        old_times(source, target);
        history(source, target);
    }
}

/// Times of MariaDB 5.3 are logged in a way that does not tell all; then the rows are no others, but a comment.
fn old_times(source: &Server, target: &Server) {
    let work = "CREATE DATABASE runs; USE runs; SET GLOBAL mysql56_temporal_format = OFF;
        CREATE TABLE whole (id INT PRIMARY KEY, d DATETIME, t TIMESTAMP NULL, m TIME);
        CREATE TABLE d6 (d DATETIME(6)); CREATE TABLE d5 (d DATETIME(5)); CREATE TABLE m1 (m TIME(1)); CREATE TABLE t3 (t TIMESTAMP(3) NULL);
        SET GLOBAL mysql56_temporal_format = ON;
        INSERT INTO whole VALUES (1, '2020-02-03 04:05:06', '2020-02-03 04:05:06', '-838:13:14'), (2, NULL, NULL, NULL);
        INSERT INTO d6 VALUES ('2020-02-03 04:05:06.123456'), ('2020-02-03 04:05:06'), ('2020-01-01');
        INSERT INTO d5 VALUES ('2020-02-03 04:05:06.12345'); INSERT INTO m1 VALUES ('-12:13:14.5');
        INSERT INTO t3 VALUES ('2020-02-03 04:05:06.123'); UPDATE whole SET d = '2021-01-01' WHERE id = 1";
    let printed = printed(source, &logged(source, || drop(sql(source, work))), "").found(&[]);
    for table in ["d6", "d5", "m1", "t3"] {
        assert!(printed.stdout.contains(&format!(": rows of runs.{table}, whose times")), "{printed}");
    }
    let question = "SET time_zone = '+00:00'; SELECT * FROM runs.whole ORDER BY id";
    assert_runs(source, target, &printed.stdout, question);
    for server in [source, target] {
        sql(server, "DROP DATABASE runs");
    }
}

/// Tables with a history come out with it, to the microsecond.
fn history(source: &Server, target: &Server) {
    let work = "CREATE DATABASE runs; USE runs; CREATE TABLE h (id INT PRIMARY KEY, n INT) WITH SYSTEM VERSIONING;
        CREATE TABLE w (n INT, v INT AS (n + 1)) WITH SYSTEM VERSIONING; CREATE TABLE later (at TIMESTAMP(6) DEFAULT NOW(6));
        INSERT INTO h VALUES (1, 1), (2, 2), (3, 3); UPDATE h SET n = n + 5 WHERE id < 3; DELETE FROM h WHERE id = 2;
        BEGIN; UPDATE h SET n = 8; UPDATE h SET n = 9 WHERE id = 3; DELETE FROM h WHERE id = 3; INSERT INTO h VALUES (3, 4); COMMIT;
        INSERT INTO w (n) VALUES (1), (1), (2); UPDATE w SET n = 7 WHERE n = 1; DELETE FROM w WHERE n = 2;
        SET SESSION binlog_format = STATEMENT; SET TIMESTAMP = 1600000000.5; INSERT INTO later VALUES ();
        SET SESSION system_versioning_insert_history = ON;
        SET SESSION binlog_format = ROW; INSERT INTO h (id, n, row_start, row_end) VALUES (4, 4, '2001-01-01', '2002-01-01')";
    let logs = logged(source, || drop(sql(source, work)));
    let printed = printed(source, &logs, "").done();
    let question = "SET time_zone = '+00:00'; SELECT id, n, row_start, row_end FROM runs.h FOR SYSTEM_TIME ALL ORDER BY id, row_end, n;
        SELECT n, v, row_start, row_end FROM runs.w FOR SYSTEM_TIME ALL ORDER BY n, row_end; SELECT at + 0 FROM runs.later";
    assert_runs(source, target, &printed.stdout, question);
    for server in [source, target] {
        sql(server, "DROP DATABASE runs");
    }
}
