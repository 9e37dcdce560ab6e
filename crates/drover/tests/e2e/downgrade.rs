//! From MariaDB 11.8 back to older versions of it, which have neither its collations nor all of its types.

use drover_sandbox::{Flavour, Server};

use crate::client::sql as ask;
use crate::drover::{copy_as, drover_on, dump, restore, run, verify};
use crate::reach::{old, sql};
use crate::servers::{is_wanted, start_mariadb_11};

const OPTIONS: [&str; 2] = ["--log-bin=bin", "--server-id=118"];

/// What a schema has that was made in 11.8 without a thought of older servers.
const SCHEMA: &str = "CREATE DATABASE d; USE d; SET NAMES utf8mb3;
    CREATE TABLE words (id INT PRIMARY KEY, w VARCHAR(20), n VARCHAR(20) CHARACTER SET utf8mb3, u VARCHAR(9) CHARACTER SET ucs2,
      UNIQUE KEY (w));
    INSERT INTO words VALUES (1, 'é', 'É', 'a'), (2, 'f', 'ß', NULL);
    CREATE TABLE own (id UUID PRIMARY KEY, four INET4, six INET6 NOT NULL, v VECTOR(2) NOT NULL, j JSON,
      e VARCHAR(9) DEFAULT (CONCAT('a', 'b')), h INT INVISIBLE DEFAULT 7, a INT, p INT GENERATED ALWAYS AS (a * 2) STORED,
      VECTOR KEY (v));
    INSERT INTO own (id, four, six, v, j, a) VALUES
      ('f47ac10b-58cc-4372-a567-0e02b2c3d479', '10.0.0.1', '::1', VEC_FromText('[1,2]'), '{\"a\": [1, null]}', 4),
      ('00000000-0000-1000-8000-000000000001', NULL, '2001:db8::1', VEC_FromText('[-1,0]'), NULL, NULL);
    CREATE VIEW seen AS SELECT id, w FROM words WHERE w = 'é';
    CREATE TRIGGER noted BEFORE INSERT ON words FOR EACH ROW SET NEW.n = COALESCE(NEW.n, 'x');
    CREATE FUNCTION same(a VARCHAR(9)) RETURNS VARCHAR(9) DETERMINISTIC RETURN a";

/// Rows as both can say them.
const QUESTIONS: [&str; 3] = [
    "SELECT id, HEX(w), HEX(n), HEX(u) FROM words ORDER BY id",
    "SELECT LOWER(CAST(id AS CHAR)), CAST(four AS CHAR), CAST(six AS CHAR), HEX(v), j, e, h, a, p FROM own ORDER BY a",
    "SELECT COUNT(*), same('y') FROM seen",
];

fn contents(server: &Server) -> Vec<Vec<Vec<String>>> {
    QUESTIONS.iter().map(|question| sql(server, "d", question)).collect()
}

fn copied_back(name: &str, left_out: &[&str]) {
    if !is_wanted(Flavour::MariaDb) {
        return;
    }
    let (newer, older) = (start_mariadb_11(&OPTIONS), old(name, Flavour::MariaDb));
    ask(&newer, SCHEMA);
    let dir = tempfile::tempdir().unwrap();
    let mut copy = copy_as(("root", &newer), ("root", &older), "d", &dir.path().join("state"));
    let copied = run(&mut copy).found(&["verified  identical: 4 rows of 2 tables"]);
    for words in left_out {
        assert!(copied.stderr.contains(words), "{words}: {copied}");
    }
    assert!(!copied.stderr.contains("refused"), "{copied}");
    assert_eq!(contents(&older), contents(&newer));

    let out = dir.path().join("out");
    run(&mut dump(&newer, "d", &out)).done();
    let became =
        ["utf8mb3_uca1400_ai_ci becomes utf8", "utf8mb4_uca1400_ai_ci becomes utf8mb4_unicode_520_ci"];
    run(&mut restore(&older, &out, "--check --drop-existing")).found(&became);
    run(&mut restore(&older, &out, "--drop-existing")).found(&["verified  identical: 4 rows of 2 tables"]);
    run(&mut verify(&older, &out, "")).done();
    assert_eq!(contents(&older), contents(&newer));
}

const TYPES: [&str; 3] = ["uuid becomes char(36)", "inet4 becomes varchar(15)", "vector(2) becomes blob"];

#[test]
fn to_10_5() {
    copied_back("mariadb-10.5", &TYPES);
}

#[test]
fn to_10_2() {
    copied_back(
        "mariadb-10.2",
        &[&TYPES[..], &["inet6 becomes varchar(39)", "INVISIBLE is left out"]].concat(),
    );
}

/// Definitions in logs name collations too, each time a table is made from a SELECT.
#[test]
fn logs_to_10_5() {
    if !is_wanted(Flavour::MariaDb) {
        return;
    }
    let (newer, older) = (start_mariadb_11(&OPTIONS), old("mariadb-10.5", Flavour::MariaDb));
    ask(
        &newer,
        "FLUSH BINARY LOGS; CREATE DATABASE d COLLATE utf8mb4_uca1400_as_cs; USE d; SET NAMES utf8mb3; \
         CREATE TABLE a (id INT PRIMARY KEY, w VARCHAR(9)) COLLATE = utf8mb4_uca1400_ai_ci; INSERT INTO a VALUES (1, 'é'); \
         CREATE TABLE b AS SELECT id, w, CONVERT(w USING utf8mb3) AS n FROM a; FLUSH BINARY LOGS",
    );
    let logs = sql(&newer, "mysql", "SHOW BINARY LOGS");
    let log = newer.datadir().join(&logs[logs.len() - 2][0]);
    let replay = |options: &str| run(drover_on(&older, &format!("binlog replay {options}")).arg(&log));
    let told = [
        "collation utf8mb4_uca1400_ai_ci is utf8mb4_unicode_520_ci on the target: ",
        "utf8mb4_uca1400_as_cs is utf8mb4_bin",
    ];
    for options in ["--dry-run", ""] {
        let output = replay(options).done();
        for words in told {
            assert!(output.stdout.contains(words), "{words}: {output}");
        }
    }
    let rows = "SELECT id, HEX(w), HEX(n) FROM b";
    assert_eq!(sql(&older, "d", rows), sql(&newer, "d", rows));
    let collation = "SELECT DEFAULT_COLLATION_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = 'd'";
    assert_eq!(sql(&older, "d", collation), [["utf8mb4_bin"]]);
}

/// Rows of types that the target keeps as text and bytes, as a copy made it.
#[test]
fn logs_of_later_types_to_10_5() {
    if !is_wanted(Flavour::MariaDb) {
        return;
    }
    let (newer, older) = (start_mariadb_11(&OPTIONS), old("mariadb-10.5", Flavour::MariaDb));
    ask(&newer, SCHEMA);
    // One with bytes of that length which are no address, and one whose values are compressed on both.
    ask(
        &newer,
        "USE d; CREATE TABLE beside (id INT PRIMARY KEY, b BINARY(16), f BINARY(4), w CHAR(16) CHARACTER SET latin1, c TEXT COMPRESSED)",
    );
    for metadata in ["NO_LOG", "FULL"] {
        let state = tempfile::tempdir().unwrap();
        let mut copy = copy_as(("root", &newer), ("root", &older), "d", &state.path().join("state"));
        run(copy.arg("--drop-existing")).found(&["with a loss"]);
        ask(&newer, &format!("SET GLOBAL binlog_row_metadata = {metadata}; FLUSH BINARY LOGS"));
        ask(
            &newer,
            "USE d; INSERT INTO own (id, four, six, v, j, a) VALUES (UUID(), '255.0.1.2', '::ffff:1.2.3.4', VEC_FromText('[0.5,-2]'), '[]', 9); \
             UPDATE own SET six = '::', four = '1.2.3.4' WHERE a = 9; DELETE FROM own WHERE a = 4; UPDATE own SET a = 4 WHERE a = 9; \
             REPLACE INTO beside VALUES (1, REPEAT('x', 16), 'abcd', 'sixteen letters!', REPEAT('y', 200)); FLUSH BINARY LOGS",
        );
        let logs = sql(&newer, "mysql", "SHOW BINARY LOGS");
        let log = newer.datadir().join(&logs[logs.len() - 2][0]);
        for options in ["--restart --dry-run", "--restart"] {
            run(drover_on(&older, &format!("binlog replay {options}")).arg(&log)).done();
        }
        assert_eq!(contents(&older), contents(&newer), "{metadata}");
        let beside = "SELECT id, HEX(b), HEX(f), w, c FROM beside";
        assert_eq!(sql(&older, "d", beside), sql(&newer, "d", beside), "{metadata}");
    }
}
