//! Definitions that an older server takes in other words, or without a part of them: each was refused, as a whole.

use std::collections::BTreeMap;

use drover_sandbox::{Flavour, Server};

use crate::drover::{Output, copy_as, dump, restore, run, verify};
use crate::reach::sql;
use crate::servers::{is_wanted, start_of, start_unsynced};

const OPTIONS: [&str; 2] = ["--local-infile=1", "--innodb-flush-log-at-trx-commit=0"];

fn server(name: &str) -> Option<Server> {
    let flavour = if name.contains("mariadb") { Flavour::MariaDb } else { Flavour::MySql };
    match name.strip_prefix("newest-") {
        Some(_) => is_wanted(flavour).then(|| start_unsynced(flavour, &OPTIONS)),
        None => start_of(flavour, name, &OPTIONS),
    }
}

/// Copies the schema `d`; what was lost by it, and what was written in other words only.
fn copied(source: &Server, target: &Server) -> (Output, [Vec<String>; 2]) {
    let state = tempfile::tempdir().unwrap();
    sql(target, "mysql", "DROP DATABASE IF EXISTS d");
    let mut copy = copy_as(("root", source), ("root", target), "d --json", &state.path().join("state"));
    let copied = run(&mut copy);
    assert!(matches!(copied.code, Some(0 | 1)), "{copied}");
    let rewrites = copied.json()["rewrites"].as_array().cloned().unwrap_or_default();
    let of = |loses: bool| {
        let those = rewrites.iter().filter(|one| one["loses"] == loses);
        those.map(|one| one["from"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let (lost, kept) = (of(true), of(false));
    assert_eq!(copied.code, Some(i32::from(!lost.is_empty())), "{copied}");
    assert_eq!(copied.json()["verify"]["differences"].as_array().map(Vec::len), Some(0), "{copied}");
    (copied, [lost, kept])
}

/// Their word for a key that the optimizer passes over is `IGNORED` on MariaDB and a comment on MySQL, which 5.7 passes over in silence.
#[test]
fn keys_that_older_optimizers_use() {
    let all = [
        ("newest-mariadb", ["mariadb-10.5", "mariadb-10.1", "mysql-5.7"]),
        ("mariadb-11.8", ["mariadb-10.5", "mariadb-10.2", "mysql-5.6"]),
        ("newest-mysql", ["mysql-5.7", "mariadb-10.5", "mariadb-10.1"]),
    ];
    for (from, targets) in all {
        let Some(source) = server(from) else { continue };
        let word = if from.contains("mysql") { "INVISIBLE" } else { "IGNORED" };
        sql(
            &source,
            "mysql",
            &format!(
                "CREATE DATABASE d COLLATE utf8mb4_general_ci; USE d; CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, c INT, KEY k (a) {word}, \
                 UNIQUE KEY u (b) COMMENT '{word}' {word}, KEY o (c)); INSERT INTO t VALUES (1, 1, 1, 1), (2, 1, 2, 1)"
            ),
        );
        for to in targets {
            let Some(target) = server(to) else { continue };
            let (copied, [lost, _]) = copied(&source, &target);
            assert_eq!(lost.len(), 2, "{from} to {to}: {copied}");
            for key in ["KEY `k` (`a`) ", "UNIQUE KEY `u` (`b`) "] {
                assert!(lost.iter().any(|one| one.starts_with(key)), "{from} to {to}: {copied}");
            }
            let keys = "SELECT INDEX_NAME, NON_UNIQUE, COLUMN_NAME FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = 'd' ORDER BY 1";
            let expected = [["k", "1", "a"], ["o", "1", "c"], ["PRIMARY", "0", "id"], ["u", "0", "b"]];
            assert_eq!(sql(&target, "d", keys), expected, "{from} to {to}");
            let plan = sql(&target, "d", "EXPLAIN SELECT a FROM t FORCE INDEX (k) WHERE a = 1");
            assert!(plan[0].contains(&"k".to_owned()), "{from} to {to}: {plan:?}");
        }
    }
}

/// Texts on which the expressions of one server and of another may be at odds.
const TEXTS: &str = "CREATE DATABASE d COLLATE utf8mb4_general_ci; USE d; CREATE TABLE t (id INT PRIMARY KEY, w VARCHAR(30));
    INSERT INTO t VALUES (1, 'abc'), (2, 'ABC'), (3, 'xabc'), (4, 'a\\nb'), (5, 'ab\\n'), (6, ''), (7, 'aab'), (8, 'é'), (9, 'b-c d'), (10, 'a1'),
      (11, 'a(b)'), (12, 'äb'), (13, '日本ab'), (14, 'a,b:c'), (15, NULL)";

/// MySQL prints REGEXP as a function that older ones do not have. What they take for the same pattern is kept, and what they do not is told.
#[test]
fn patterns_of_views_on_older_servers() {
    let Some(source) = server("newest-mysql") else { return };
    let plain = [
        "^ab", "abc", "a|b", "^(ab)*c", "(a|b)+c", "^[a-c]+1", "b-c d", "^a,b:c", "a?b", "x[a]b", "^(a|x)",
        "[0-9]", "(aa)", "^^a", "a-", "[a-]b", "[-1]",
    ];
    let views = plain.iter().enumerate();
    let views: Vec<_> = views
        .map(|(n, pattern)| format!("CREATE VIEW v{n} AS SELECT id FROM t WHERE w REGEXP '{pattern}'"))
        .collect();
    let generated = "CREATE TABLE g (id INT PRIMARY KEY, w VARCHAR(9), h INT AS (w REGEXP '^a') STORED); INSERT INTO g (id, w) VALUES (1, 'ab'), (2, 'b')";
    sql(&source, "mysql", &format!("{TEXTS}; {}", views.join(";")));
    for (to, generates) in [("mysql-5.6", false), ("mysql-5.7", true), ("mariadb-10.2", true)] {
        let Some(target) = server(to) else { continue };
        sql(&source, "d", &format!("DROP TABLE IF EXISTS g; {}", if generates { generated } else { "DO 1" }));
        let (copied, [lost, kept]) = copied(&source, &target);
        assert!(lost.is_empty() && kept.contains(&"regexp_like(a, b)".to_owned()), "{copied}");
        for (n, pattern) in plain.iter().enumerate() {
            let rows = format!("SELECT id FROM v{n} ORDER BY id");
            assert_eq!(sql(&target, "d", &rows), sql(&source, "d", &rows), "{pattern} on {to}");
        }
        if generates {
            assert_eq!(sql(&target, "d", "SELECT h FROM g ORDER BY id"), [["1"], ["0"]]);
        }
    }
    let Some(target) = server("mysql-5.7") else { return };
    let others = "CREATE VIEW o1 AS SELECT id FROM t WHERE w REGEXP '^\\\\w$'; CREATE VIEW o2 AS SELECT id FROM t WHERE w REGEXP '^a.b$'; \
                  CREATE VIEW o3 AS SELECT id FROM t WHERE w REGEXP w; CREATE PROCEDURE p() SELECT id FROM t WHERE REGEXP_LIKE(w, '^x')";
    sql(&source, "d", others);
    let (copied, [lost, _]) = copied(&source, &target);
    assert_eq!(lost.len(), 3, "{copied}");
    assert!(lost.iter().all(|one| one.starts_with("regexp_like(")), "{copied}");
    assert_eq!(sql(&target, "d", "CALL p()"), [["3"]]);
    // Why it is told.
    let rows = "SELECT id FROM o2 ORDER BY id";
    assert_ne!(sql(&target, "d", rows), sql(&source, "d", rows));
}

/// The collations of all columns of the schema.
fn collations(server: &Server) -> BTreeMap<String, String> {
    let columns = "SELECT COLUMN_NAME, COLLATION_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'd' AND COLLATION_NAME IS NOT NULL";
    let rows = sql(server, "mysql", columns);
    rows.into_iter().map(|row| (row[0].clone(), row[1].replacen("utf8_", "utf8mb3_", 1))).collect()
}

/// Each language of MariaDB has an older collation, in which its letters are its own.
#[test]
fn languages_on_older_servers() {
    let Some(source) = server("mariadb-11.8") else { return };
    let all = "SELECT FULL_COLLATION_NAME, CHARACTER_SET_NAME FROM information_schema.COLLATION_CHARACTER_SET_APPLICABILITY \
               WHERE FULL_COLLATION_NAME LIKE '%uca1400%'";
    let mut sets = BTreeMap::<String, Vec<String>>::new();
    for row in sql(&source, "mysql", all) {
        sets.entry(row[1].clone()).or_default().push(row[0].clone());
    }
    assert!(sets.len() >= 5 && sets.values().map(Vec::len).sum::<usize>() >= 500, "{sets:?}");
    let table = |(set, names): (&String, &Vec<String>)| {
        let columns: Vec<_> = names.iter().map(|name| format!("{name} VARCHAR(1) COLLATE {name}")).collect();
        format!("CREATE TABLE t_{set} ({}) CHARACTER SET {set} COLLATE {set}_general_ci", columns.join(", "))
    };
    let tables: Vec<_> = sets.iter().map(table).collect();
    sql(
        &source,
        "mysql",
        &format!(
            "CREATE DATABASE d COLLATE utf8mb4_general_ci; USE d; {}; CREATE TABLE names (w VARCHAR(9) COLLATE utf8mb4_uca1400_swedish_ai_ci PRIMARY KEY); \
             INSERT INTO names VALUES ('z'), ('å'), ('a'), ('B'), ('ö'), ('o')",
            tables.join(";")
        ),
    );
    for to in ["mariadb-10.5", "mariadb-10.2", "mariadb-10.1", "mysql-5.7"] {
        let Some(target) = server(to) else { continue };
        let (copied, [lost, _]) = copied(&source, &target);
        assert!(lost.contains(&"utf8mb4_uca1400_swedish_ai_ci".to_owned()), "{to}: {copied}");
        assert!(!lost.contains(&"utf8mb4_uca1400_ai_ci".to_owned()), "{to}: {copied}");
        for (column, collation) in collations(&target).iter().filter(|(column, _)| *column != "w") {
            let (set, rest) = column.split_once("_uca1400_").unwrap();
            let rest = rest.replace("nopad_", "");
            match rest.strip_suffix("_ai_ci") {
                Some(language) => assert_eq!(collation, &format!("{set}_{language}_ci"), "{to}: {column}"),
                None if rest == "ai_ci" => assert!(collation.contains("_unicode_"), "{to}: {column}"),
                None => assert!(collation.ends_with("_bin"), "{to}: {column} has {collation}"),
            }
        }
        let order = "SELECT w FROM names ORDER BY w";
        assert_eq!(sql(&target, "d", order), sql(&source, "d", order), "{to}");
        assert_eq!(sql(&target, "d", "SELECT COUNT(*) FROM names WHERE w = 'a'"), [["1"]], "{to}");
    }
}

/// MariaDB before 10.3 has no COLLATE between a generated column's type and its expression. What can be said otherwise is the same there.
#[test]
fn collations_of_generated_columns() {
    for from in ["mariadb-11.8", "mariadb-10.5", "newest-mysql"] {
        let Some(source) = server(from) else { continue };
        sql(
            &source,
            "mysql",
            "CREATE DATABASE d COLLATE utf8mb4_unicode_ci; USE d; CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(20), \
             by_bytes VARCHAR(20) COLLATE utf8mb4_bin AS (s) STORED, of_set VARCHAR(20) CHARACTER SET latin1 COLLATE latin1_swedish_ci AS (s) VIRTUAL, \
             bytes_of_set CHAR(20) CHARACTER SET latin1 COLLATE latin1_bin AS (s) VIRTUAL, general VARCHAR(20) COLLATE utf8mb4_general_ci AS (s) STORED, \
             of_table VARCHAR(20) COLLATE utf8mb4_unicode_ci AS (lower(s)) VIRTUAL, e ENUM('a', 'B', 'b') COLLATE utf8mb4_bin AS (s) VIRTUAL, \
             long_one TEXT COLLATE utf8mb4_bin AS (s) VIRTUAL, KEY (by_bytes), KEY (general)); INSERT INTO t (id, s) VALUES (1, 'a'), (2, 'B'), (3, 'b')",
        );
        for to in ["mariadb-10.2", "mariadb-10.1"] {
            let Some(target) = server(to) else { continue };
            let (copied, [lost, _]) = copied(&source, &target);
            assert_eq!(lost, [""; 0], "{from} to {to}: {copied}");
            assert_eq!(collations(&target), collations(&source), "{from} to {to}");
            let rows = "SELECT id, by_bytes = 'b', general = 'b', of_set = 'b', bytes_of_set = 'b', of_table, e = 'b' FROM t ORDER BY id";
            assert_eq!(sql(&target, "d", rows), sql(&source, "d", rows), "{from} to {to}");
        }
        documents(&source);
        sql(
            &source,
            "d",
            "DROP TABLE j; ALTER TABLE t ADD COLUMN d VARCHAR(20) COLLATE utf8mb4_danish_ci AS (s) STORED",
        );
        let Some(target) = server("mariadb-10.2") else { continue };
        let (copied, [lost, _]) = copied(&source, &target);
        assert_eq!(lost, ["COLLATE utf8mb4_danish_ci"], "{from}: {copied}");
        assert_eq!(collations(&target)["d"], "utf8mb4_unicode_ci");
    }
}

/// The CHECK that MariaDB has with a column of JSON is the table's there.
fn documents(source: &Server) {
    let Some(target) = server("mariadb-10.2") else { return };
    let table = "CREATE TABLE j (id INT PRIMARY KEY, j JSON, a VARCHAR(9) COLLATE utf8mb4_bin AS (JSON_UNQUOTE(JSON_EXTRACT(j, '$.a'))) STORED, \
                 b JSON AS (JSON_EXTRACT(j, '$.b')) VIRTUAL, KEY (a)); INSERT INTO j (id, j) VALUES (1, '{\"a\": \"x\", \"b\": [1]}')";
    sql(source, "d", table);
    let (copied, [lost, _]) = copied(source, &target);
    assert_eq!(lost, [""; 0], "{copied}");
    let rows = "SELECT id, a, a = 'X', CAST(b AS CHAR) FROM j";
    assert_eq!(sql(&target, "d", rows), sql(source, "d", rows));
}

const PERIODS: &str = "CREATE DATABASE d COLLATE utf8mb4_general_ci; USE d;
    CREATE TABLE listed (id INT PRIMARY KEY, a INT) PARTITION BY LIST (id) (PARTITION p0 VALUES IN (1, 2), PARTITION pn DEFAULT);
    INSERT INTO listed VALUES (1, 1), (2, 2), (7, 3);
    CREATE TABLE stays (id INT, s DATE, e DATE, PERIOD FOR stay (s, e), PRIMARY KEY (id, stay WITHOUT OVERLAPS));
    INSERT INTO stays VALUES (1, '2000-01-01', '2000-02-01'), (1, '2000-03-01', '2000-04-01');
    CREATE TABLE plain_stays (id INT PRIMARY KEY, s DATE, e DATE, PERIOD FOR stay (s, e)); INSERT INTO plain_stays VALUES (1, '2000-01-01', '2000-02-01')";

const HISTORY: &str = "CREATE TABLE timed (id INT PRIMARY KEY, s TIMESTAMP(6) GENERATED ALWAYS AS ROW START, e TIMESTAMP(6) GENERATED ALWAYS AS ROW END, \
      PERIOD FOR SYSTEM_TIME (s, e)) WITH SYSTEM VERSIONING;
    INSERT INTO timed (id) VALUES (1), (2); DELETE FROM timed WHERE id = 1;
    CREATE TABLE by_time (id INT PRIMARY KEY, a INT) WITH SYSTEM VERSIONING PARTITION BY SYSTEM_TIME (PARTITION p0 HISTORY, PARTITION pn CURRENT);
    INSERT INTO by_time VALUES (1, 1), (2, 2); DELETE FROM by_time WHERE id = 1;
    CREATE TABLE in_part (id INT PRIMARY KEY, a INT WITHOUT SYSTEM VERSIONING) WITH SYSTEM VERSIONING;
    INSERT INTO in_part VALUES (1, 1), (2, 2); DELETE FROM in_part WHERE id = 1";

/// Without the partitions and periods that they do not know, older servers hold the same rows.
#[test]
fn partitions_and_periods_on_older_servers() {
    let Some(source) = server("mariadb-11.8") else { return };
    sql(&source, "mysql", &format!("{PERIODS}; {HISTORY}"));
    let overlaps = "`stay` WITHOUT OVERLAPS";
    let period = "PERIOD FOR `stay` (`s`, `e`)";
    let versioned = ["WITH SYSTEM VERSIONING", "history (rows: 1)", "PARTITION BY SYSTEM_TIME"];
    let all: [(&str, &[&str]); 4] = [
        ("mariadb-10.5", &["history (rows: 1)"]),
        ("mariadb-10.2", &[&[overlaps, period][..], &versioned].concat()),
        ("mariadb-10.1", &[&[overlaps, period, "PARTITION BY LIST"][..], &versioned].concat()),
        ("newest-mysql", &[&[overlaps, period, "PARTITION BY LIST"][..], &versioned].concat()),
    ];
    for (to, expected) in all {
        let Some(target) = server(to) else { continue };
        let (copied, [lost, _]) = copied(&source, &target);
        for part in expected {
            assert!(lost.iter().any(|one| one.starts_with(part)), "{to}: {part}: {copied}");
        }
        for one in &lost {
            assert!(expected.iter().any(|part| one.starts_with(part)), "{to}: {one}: {copied}");
        }
        let rows = [
            "SELECT id, a FROM listed ORDER BY id",
            "SELECT id, s, e FROM stays ORDER BY id, s",
            "SELECT id, s, e FROM plain_stays",
            "SELECT id FROM timed",
            "SELECT id, a FROM by_time",
            "SELECT id, a FROM in_part",
        ];
        for rows in rows {
            assert_eq!(sql(&target, "d", rows), sql(&source, "d", rows), "{to}: {rows}");
        }
        // A row that only the partition of all other values takes.
        sql(&target, "d", "INSERT INTO listed VALUES (99, 1)");
    }
    restored_and_verified(&source);
}

/// The same from files.
fn restored_and_verified(source: &Server) {
    let dir = tempfile::tempdir().unwrap();
    run(&mut dump(source, "d", &dir.path().join("d"))).done();
    for to in ["mariadb-10.2", "mariadb-10.1"] {
        let Some(target) = server(to) else { continue };
        run(&mut restore(&target, &dir.path().join("d"), ""))
            .found(&["verified  identical: 9 rows of 6 tables"]);
        run(&mut verify(&target, &dir.path().join("d"), "")).done();
    }
}

/// MySQL 8.0 names the collation of members that are bytes, which older servers do not read.
#[test]
fn members_that_are_bytes() {
    let Some(source) = server("newest-mysql") else { return };
    let table = "CREATE TABLE t (id INT PRIMARY KEY, e ENUM('a', 'A') CHARACTER SET binary, s SET('x', 'X') CHARACTER SET binary); INSERT INTO t VALUES (1, 'A', 'x,X')";
    sql(&source, "mysql", &format!("CREATE DATABASE d COLLATE utf8mb4_general_ci; USE d; {table}"));
    for to in ["mysql-5.7", "mariadb-10.5", "mariadb-10.1", "newest-mariadb"] {
        let Some(target) = server(to) else { continue };
        let (copied, [lost, _]) = copied(&source, &target);
        assert_eq!(lost, [""; 0], "{to}: {copied}");
        assert_eq!(sql(&target, "d", "SELECT e, s, e = 'a' FROM t"), [["A", "x,X", "0"]], "{to}");
        let sets = "SELECT DISTINCT CHARACTER_SET_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'd' AND COLUMN_NAME <> 'id'";
        let set = sql(&target, "d", sets).remove(0).remove(0);
        assert!(set == "binary" || set == "NULL", "{to}: {set}");
    }
}

/// Defaults by functions of later versions: the tables were refused for them.
#[test]
fn defaults_of_later_versions() {
    let Some(source) = server("mariadb-11.8") else { return };
    sql(
        &source,
        "mysql",
        "CREATE DATABASE d COLLATE utf8mb4_general_ci; USE d; CREATE TABLE t (id VARCHAR(40) DEFAULT (UUID_v7()), n INT DEFAULT (1 + 1), KEY (id)); \
         INSERT INTO t (id) VALUES ('x')",
    );
    for to in ["mariadb-10.5", "mariadb-10.2"] {
        let Some(target) = server(to) else { continue };
        let (copied, [lost, _]) = copied(&source, &target);
        assert_eq!(lost, ["DEFAULT uuid_v7()"], "{to}: {copied}");
        sql(&target, "d", "INSERT INTO t (id) VALUES ('y')");
        assert_eq!(sql(&target, "d", "SELECT * FROM t ORDER BY id"), [["x", "2"], ["y", "2"]], "{to}");
    }
}
