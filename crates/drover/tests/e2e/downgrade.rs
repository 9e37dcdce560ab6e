//! From MariaDB 11.8 back to older versions of it, which have neither its collations nor all of its types.

use std::path::{Path, PathBuf};

use drover_sandbox::{Flavour, Server};

use crate::client::sql as ask;
use crate::drover::{Output, copy_as, drover, drover_on, dump, restore, run, verify};
use crate::reach::{old, sql};
use crate::servers::{is_wanted, start_mariadb_11, start_of};

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

/// Tables whose columns a copy to an older version makes others: with keys on them, without any, and beside columns that log the same
/// lengths and are no such types. The values of the last are compressed, on servers that can.
const LATER: &str = "CREATE DATABASE l; USE l;
    CREATE TABLE keyed (u UUID, four INET4, six INET6, v VECTOR(3) NOT NULL, n INT, PRIMARY KEY (u, four), UNIQUE KEY (six), VECTOR KEY (v));
    CREATE TABLE bare (u UUID, four INET4, six INET6, v VECTOR(2), b VARBINARY(20), n INT);
    CREATE TABLE beside (id INT PRIMARY KEY, b BINARY(16), f BINARY(4), w CHAR(16) CHARACTER SET latin1, q CHAR(4) CHARACTER SET utf8mb4,
      c TEXT COMPRESSED, d VARCHAR(300) COMPRESSED);
    INSERT INTO bare VALUES ('11111111-1111-1111-1111-111111111111', '1.1.1.1', '1::1', VEC_FromText('[1,1]'), 'x', 1)";

const CHANGES: [&str; 4] = [
    "DELETE FROM keyed; DELETE FROM beside; DELETE FROM bare WHERE n > 1",
    "INSERT INTO keyed VALUES ('00000000-0000-0000-0000-000000000000', '0.0.0.0', '::', VEC_FromText('[0,0,0]'), 1),
       ('ffffffff-ffff-ffff-ffff-ffffffffffff', '255.255.255.255', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', VEC_FromText('[-1,1e10,-1e-10]'), 2),
       ('c0000001-0002-1003-8004-000000000005', '10.0.0.0', '2001:db8::', VEC_FromText('[1,2,3]'), 3),
       ('01890a5d-ac96-774b-bcce-b302099a8000', '0.0.0.1', NULL, VEC_FromText('[4,5,6]'), 4),
       (UUID(), '65.66.67.68', '::ffff:1.2.3.4', VEC_FromText('[7,8,9]'), 5)",
    "INSERT INTO bare VALUES (NULL, NULL, NULL, NULL, NULL, 2), ('00000000-0000-0000-0000-000000000000', '0.0.0.0', '::', VEC_FromText('[0,0]'), '', 3),
       ('ffffffff-ffff-ffff-ffff-ffffffffffff', '255.255.255.255', '::1', VEC_FromText('[1,-1]'), REPEAT('z', 20), 4), (NULL, '1.2.3.4', '2::', NULL, X'00', 5);
     INSERT INTO beside VALUES (1, REPEAT('x', 16), 'abcd', 'sixteen letters!', 'éé', REPEAT('y', 200), REPEAT('z', 300)), (2, X'00', X'0100', '', '', 'q', ''),
       (3, NULL, NULL, NULL, NULL, NULL, NULL)",
    "UPDATE keyed SET n = 10 WHERE u = '00000000-0000-0000-0000-000000000000'; UPDATE keyed SET four = '0.0.0.2', six = '3::' WHERE n = 4;
     UPDATE keyed SET u = '00000000-0000-0000-0000-000000000001', v = VEC_FromText('[0,0,1]') WHERE n = 2; DELETE FROM keyed WHERE n = 3;
     UPDATE bare SET v = VEC_FromText('[5,5]'), u = NULL WHERE n = 3; UPDATE bare SET u = '00000000-0000-1000-8000-000000000001', four = NULL WHERE n = 2;
     DELETE FROM bare WHERE n IN (4, 5); UPDATE beside SET w = 'other', c = REPEAT('c', 300) WHERE id = 1; DELETE FROM beside WHERE id = 2",
];

const OF_LATER: [&str; 3] = [
    "SELECT LOWER(CAST(u AS CHAR)), CAST(four AS CHAR), CAST(six AS CHAR), HEX(v), n FROM keyed ORDER BY n",
    "SELECT LOWER(CAST(u AS CHAR)), CAST(four AS CHAR), CAST(six AS CHAR), HEX(v), HEX(b), n FROM bare ORDER BY n",
    "SELECT id, HEX(b), HEX(f), w, HEX(q), c, d FROM beside ORDER BY id",
];

fn later(server: &Server) -> Vec<Vec<Vec<String>>> {
    OF_LATER.iter().map(|question| sql(server, "l", question)).collect()
}

/// The log of what is done, of so much in it.
fn logged(server: &Server, metadata: &str, image: &str, work: &str) -> PathBuf {
    let session = format!("SET SESSION binlog_format = ROW, binlog_row_image = {image}; SET NAMES utf8mb4");
    ask(
        server,
        format!(
            "SET GLOBAL binlog_row_metadata = {metadata}; {session}; FLUSH BINARY LOGS; {work}; FLUSH BINARY LOGS"
        ),
    );
    let logs = sql(server, "mysql", "SHOW BINARY LOGS");
    server.datadir().join(&logs[logs.len() - 2][0])
}

fn replay(server: &Server, log: &Path, options: &str) -> Output {
    run(drover_on(server, &format!("binlog replay --restart {options}")).arg(log))
}

/// Rows of types that the target keeps as text and bytes, as a copy made it, whatever the log tells of them.
fn logs_of_later_types(name: &str) {
    if !is_wanted(Flavour::MariaDb) {
        return;
    }
    let (newer, older) = (start_mariadb_11(&OPTIONS), old(name, Flavour::MariaDb));
    ask(&newer, LATER);
    let state = tempfile::tempdir().unwrap();
    let mut copy = copy_as(("root", &newer), ("root", &older), "l", &state.path().join("state"));
    run(&mut copy).found(&["with a loss"]);
    for metadata in ["NO_LOG", "MINIMAL", "FULL"] {
        for image in ["FULL", "MINIMAL"] {
            for work in CHANGES {
                let log = logged(&newer, metadata, image, &format!("USE l; {work}"));
                replay(&older, &log, "--dry-run").done();
                replay(&older, &log, "").done();
                assert_eq!(later(&older), later(&newer), "{metadata} {image} {work}");
            }
        }
    }
    undone_and_said(&newer, &older);
    wider_and_narrower_bytes(&newer, &older);
    columns_of_which_nothing_tells(&newer, &older);
}

/// What undoes such rows is converted too, and so are statements for the server whose tables tell what is kept as text there.
fn undone_and_said(newer: &Server, older: &Server) {
    let columns = format!("mysql://root@/?socket={}", older.socket().display());
    for metadata in ["NO_LOG", "FULL"] {
        ask(newer, format!("USE l; {}; {}; {}", CHANGES[0], CHANGES[1], CHANGES[2]));
        let filled = logged(newer, metadata, "FULL", &format!("USE l; {}", CHANGES[3]));
        let changed = later(newer);
        let state = tempfile::tempdir().unwrap();
        let mut copy = copy_as(("root", newer), ("root", older), "l", &state.path().join("state"));
        run(copy.arg("--drop-existing")).found(&["with a loss"]);
        let said = |options: &str| {
            let mut print = drover(&format!("binlog sql --no-defaults {options} --columns-of {columns}"));
            run(print.arg(&filled)).done().stdout
        };
        sql(older, "l", &said("--flashback"));
        let before = later(older);
        assert_ne!(before, changed);
        sql(older, "l", &said(""));
        assert_eq!(later(older), changed, "{metadata}");
        replay(older, &filled, "--flashback").done();
        assert_eq!(later(older), before, "{metadata}");
        replay(older, &filled, "").done();
        assert_eq!(later(older), changed, "{metadata}");
    }
}

/// Bytes go into any column that takes them, and none is cut.
fn wider_and_narrower_bytes(newer: &Server, older: &Server) {
    let change = |letter: &str| {
        let work =
            format!("UPDATE l.bare SET v = VEC_FromText('[8,9]'), b = REPEAT('{letter}', 20) WHERE n = 1");
        logged(newer, "NO_LOG", "FULL", &work)
    };
    sql(older, "l", "ALTER TABLE l.bare MODIFY v VARBINARY(8), MODIFY b VARBINARY(30)");
    replay(older, &change("a"), "").done();
    assert_eq!(later(older), later(newer));
    sql(older, "l", "UPDATE l.bare SET b = 'a' WHERE n = 1; ALTER TABLE l.bare MODIFY b VARBINARY(19)");
    replay(older, &change("b"), "").refused(&["a row of l.bare", "a value of 20 bytes", "keeps at most 19"]);
}

/// A column of text that a copy does not make of these types takes none of them.
fn columns_of_which_nothing_tells(newer: &Server, older: &Server) {
    sql(older, "l", "ALTER TABLE l.keyed MODIFY four VARCHAR(15) CHARACTER SET utf8");
    let work =
        |n| format!("INSERT INTO l.keyed VALUES (UUID(), '1.2.3.4', NULL, VEC_FromText('[0,0,{n}]'), {n})");
    let logs = [("NO_LOG", "which does not tell whether"), ("FULL", "as BINARY, UUID and addresses are")];
    let logs = logs.map(|(metadata, why)| (logged(newer, metadata, "FULL", &work(metadata.len())), why));
    for (log, why) in &logs {
        let words =
            ["rows of l.keyed: its column four is 4 bytes in the log", why, "varchar of at most 45 bytes"];
        replay(older, log, "--dry-run").found(&words);
        replay(older, log, "").refused(&words);
    }
    sql(older, "l", "ALTER TABLE l.keyed MODIFY four VARCHAR(15) CHARACTER SET ascii");
    logs.iter().for_each(|(log, _)| drop(replay(older, log, "").done()));
    assert_eq!(later(older)[0], later(newer)[0]);
}

/// The same beside JSON, defaults that are expressions, and generated columns.
#[test]
fn logs_of_later_types_beside_others() {
    if !is_wanted(Flavour::MariaDb) {
        return;
    }
    let (newer, older) = (start_mariadb_11(&OPTIONS), old("mariadb-10.5", Flavour::MariaDb));
    ask(&newer, SCHEMA);
    for metadata in ["NO_LOG", "FULL"] {
        let state = tempfile::tempdir().unwrap();
        let mut copy = copy_as(("root", &newer), ("root", &older), "d", &state.path().join("state"));
        run(copy.arg("--drop-existing")).found(&["with a loss"]);
        let work = "USE d; INSERT INTO own (id, four, six, v, j, a) VALUES
              (UUID(), '255.0.1.2', '::ffff:1.2.3.4', VEC_FromText('[0.5,-2]'), '[]', 9);
            UPDATE own SET six = '::', four = '1.2.3.4' WHERE a = 9; DELETE FROM own WHERE a = 4";
        let log = logged(&newer, metadata, "FULL", work);
        replay(&older, &log, "--dry-run").done();
        replay(&older, &log, "").done();
        assert_eq!(contents(&older), contents(&newer), "{metadata}");
    }
}

/// A table that its own transaction makes anew has not the columns of the one before.
#[test]
fn tables_made_of_rows() {
    if !is_wanted(Flavour::MariaDb) {
        return;
    }
    let (newer, older) = (start_mariadb_11(&OPTIONS), old("mariadb-10.5", Flavour::MariaDb));
    let of_old =
        "CREATE OR REPLACE DATABASE d; CREATE TABLE d.t (w CHAR(36) CHARACTER SET ascii, b VARCHAR(15))";
    ask(&older, of_old);
    ask(&newer, of_old);
    let work = "USE d; CREATE OR REPLACE TABLE t (w CHAR(16) CHARACTER SET ascii, b BINARY(4)) AS SELECT 'sixteen letters!' AS w, '1234' AS b;
        INSERT INTO t VALUES ('more', '')";
    let log = logged(&newer, "NO_LOG", "FULL", work);
    replay(&older, &log, "--dry-run").done();
    replay(&older, &log, "").done();
    let question = "SELECT w, HEX(b) FROM t ORDER BY w";
    assert_eq!(sql(&older, "d", question), sql(&newer, "d", question));
}

#[test]
fn logs_of_later_types_to_10_5() {
    logs_of_later_types("mariadb-10.5");
}

#[test]
fn logs_of_later_types_to_10_2() {
    logs_of_later_types("mariadb-10.2");
}

/// Some servers take what they do not keep, without a word: that is told all the same, by a restore that was killed and goes on, too.
#[test]
fn what_is_taken_and_not_kept() {
    let keys = "CREATE DATABASE d COLLATE utf8mb4_general_ci; USE d; CREATE TABLE t (id INT NOT NULL, n INT, v VARCHAR(20), KEY down (n DESC, v), PRIMARY KEY (id DESC));";
    let checks = "CREATE TABLE c (id INT PRIMARY KEY, n INT CHECK (n > 0), CONSTRAINT apart CHECK (id <> n)); INSERT INTO c VALUES (1, 2)";
    let all = [
        (Flavour::MySql, "newest", "mysql-5.7", true),
        (Flavour::MySql, "newest", "mariadb-10.5", false),
        (Flavour::MariaDb, "mariadb-11.8", "mariadb-10.5", false),
        (Flavour::MariaDb, "mariadb-11.8", "mariadb-10.1", true),
        (Flavour::MySql, "newest", "mariadb-10.1", true),
    ];
    for (flavour, from, to, loses) in all {
        let other = if to.starts_with("mysql") { Flavour::MySql } else { Flavour::MariaDb };
        let [source, target] =
            [(flavour, from), (other, to)].map(|(flavour, name)| start_of(flavour, name, &OPTIONS));
        let (Some(source), Some(target)) = (source, target) else { continue };
        ask(&source, format!("{keys} {checks}"));
        let dir = tempfile::tempdir().unwrap();
        let mut copy = copy_as(("root", &source), ("root", &target), "d --json", &dir.path().join("state"));
        let copied = run(&mut copy);
        assert_eq!(copied.code, Some(i32::from(loses)), "{from} to {to}: {copied}");
        let rewrites = copied.json()["rewrites"].as_array().unwrap().clone();
        let is_told = |part: &str, loses: bool| {
            rewrites.iter().any(|one| one["from"].as_str().unwrap().contains(part) && one["loses"] == loses)
        };
        assert!(is_told("KEY `down`", false) && is_told("PRIMARY KEY", false), "{from} to {to}: {copied}");
        for check in ["`n` > 0", "`apart`"] {
            assert_eq!(
                rewrites
                    .iter()
                    .any(|one| one["from"].as_str().unwrap().contains(check) && one["loses"] == true),
                loses,
                "{from} to {to}: {copied}"
            );
        }
        // What is kept is not told of.
        assert_eq!(
            rewrites.iter().filter(|one| one["loses"] == true).count(),
            if loses { 2 } else { 0 },
            "{from} to {to}: {copied}"
        );
    }
}
