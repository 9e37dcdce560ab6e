//! What a definition leaves to the server: the collation of a character set that is named alone, and what a TIMESTAMP without a default
//! gets. It is on the target what it was on the source, and verify looks at it.

use std::path::Path;

use drover_sandbox::{Flavour, Server};

use crate::drover::{Output, copy, copy_as, drover, dump, restore, run, verify};
use crate::reach::{old, sql};
use crate::servers::{is_wanted, source, start, start_mariadb_11};

const TEXTS: &str = "CREATE DATABASE texts CHARACTER SET utf8mb4; USE texts;
    CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(30), UNIQUE (v)) CHARSET=utf8mb4;
    INSERT INTO t VALUES (1, 'ß'), (2, 'SS');
    CREATE TABLE o (id INT PRIMARY KEY, v VARCHAR(30) CHARACTER SET utf8mb4, l VARCHAR(9)) CHARSET=latin1;
    INSERT INTO o VALUES (1, 'ß', 'a'), (2, 'SS', 'b');
    CREATE VIEW w AS SELECT CONVERT(l USING utf8mb4) AS l FROM o;
    CREATE FUNCTION same(a VARCHAR(9) CHARSET utf8mb4) RETURNS INT DETERMINISTIC RETURN a = 'ss'";

fn has_its_collations(server: &Server, schema: &str) {
    let columns = format!(
        "SELECT TABLE_NAME, COLUMN_NAME, COLLATION_NAME FROM information_schema.COLUMNS \
         WHERE TABLE_SCHEMA = '{schema}' AND COLLATION_NAME NOT LIKE 'latin1%' ORDER BY 1, 2"
    );
    let general = "utf8mb4_general_ci";
    let expected = [["o", "v", general], ["t", "v", general], ["w", "l", general]];
    assert_eq!(sql(server, schema, &columns), expected);
    assert_eq!(sql(server, schema, "SELECT @@collation_database"), [[general]]);
    for table in ["t", "o"] {
        let found = sql(server, schema, &format!("SELECT COUNT(*) FROM {table} WHERE v = 'ss'"));
        assert_eq!(found, [["1"]], "{table}");
    }
    assert_eq!(sql(server, schema, "SELECT same(_utf8mb4 x'C39F')"), [["0"]]);
}

fn collations_stay(from: &Server, to: &Server) {
    sql(from, "mysql", TEXTS);
    let dir = tempfile::tempdir().unwrap();
    let (out, state) = (dir.path().join("out"), dir.path().join("state"));
    run(&mut dump(from, "texts", &out)).done();
    run(&mut restore(to, &out, "")).done();
    has_its_collations(to, "texts");
    run(&mut copy(from, to, "texts --into texts=copied", &state)).done();
    has_its_collations(to, "copied");
    // Scripts that are run by hand say it, too.
    let by_hand = dir.path().join("by_hand");
    run(&mut dump(from, "texts --format sql --compress none", &by_hand)).done();
    let script = std::fs::read_to_string(by_hand.join("texts/t.sql")).unwrap();
    assert!(script.contains("CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci"), "{script}");
    run(&mut verify(from, &by_hand, "")).done();
    // One that an older drover restored is told from it.
    sql(to, "texts", "ALTER TABLE o MODIFY v VARCHAR(30) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci");
    run(&mut verify(to, &out, "")).found(&["column `v` has the collation utf8mb4_unicode_ci"]);
}

#[test]
fn collations_of_5_7_on_the_newest() {
    if is_wanted(Flavour::MySql) {
        let newest = start(Flavour::MySql, &["--local-infile=1", "--log-bin-trust-function-creators=1"]);
        collations_stay(&old("mysql-5.7", Flavour::MySql), &newest);
    }
}

#[test]
fn collations_of_10_2_on_11() {
    if is_wanted(Flavour::MariaDb) {
        collations_stay(&old("mariadb-10.2", Flavour::MariaDb), &start_mariadb_11(&[]));
    }
}

const TIMES: &str = "CREATE DATABASE times; USE times; CREATE TABLE t (id INT PRIMARY KEY, ts TIMESTAMP NOT NULL, u TIMESTAMP(3) NOT NULL,
    b TIMESTAMP NULL, n INT); INSERT INTO t VALUES (1, '2020-01-01 00:00:00', '2020-01-01 00:00:00', NULL, 1)";

fn times_stand_still(from: &Server, to: &Server, dir: &Path) {
    run(&mut dump(from, "times", &dir.join("out"))).done();
    run(&mut restore(to, &dir.join("out"), "--drop-existing")).done();
    run(&mut copy(from, to, "times --into times=copied", &dir.join("state"))).done();
    for schema in ["times", "copied"] {
        let columns = format!(
            "SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = '{schema}' AND TABLE_NAME = 't' AND \
             (EXTRA <> '' OR COLUMN_DEFAULT IS NOT NULL AND COLUMN_DEFAULT <> 'NULL')"
        );
        assert_eq!(sql(to, schema, &columns), [["0"]], "{schema}");
        sql(to, schema, "UPDATE t SET n = 5");
        assert_eq!(sql(to, schema, "SELECT ts = '2020-01-01 00:00:00' FROM t"), [["1"]], "{schema}");
    }
    sql(
        to,
        "times",
        "UPDATE t SET n = 1; ALTER TABLE t MODIFY u TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3)",
    );
    run(&mut verify(to, &dir.join("out"), "")).found(&["`times`.`t`"]);
}

/// 10.5 has `explicit_defaults_for_timestamp` OFF, and lets sessions set it.
#[test]
fn times_on_10_5() {
    if is_wanted(Flavour::MariaDb) {
        let from = start(Flavour::MariaDb, &[]);
        sql(&from, "mysql", TIMES);
        let dir = tempfile::tempdir().unwrap();
        times_stand_still(&from, &old("mariadb-10.5", Flavour::MariaDb), dir.path());
    }
}

#[test]
fn times_where_the_same_server_has_it_off() {
    for flavour in [Flavour::MariaDb, Flavour::MySql].into_iter().filter(|&flavour| is_wanted(flavour)) {
        let from = start(flavour, &[]);
        let off = ["--explicit-defaults-for-timestamp=OFF", "--local-infile=1"];
        sql(&from, "mysql", TIMES);
        let dir = tempfile::tempdir().unwrap();
        times_stand_still(&from, &start(flavour, &off), dir.path());
    }
}

/// Where the account may not set it, the columns get a default that stands still, and it is said.
#[test]
fn times_where_nobody_may_set_it() {
    if !is_wanted(Flavour::MySql) {
        return;
    }
    let (from, to) = (start(Flavour::MySql, &[]), old("mysql-5.7", Flavour::MySql));
    sql(&from, "mysql", TIMES);
    sql(&to, "mysql", "CREATE USER plain@localhost; GRANT ALL ON `%`.* TO plain@localhost");
    let dir = tempfile::tempdir().unwrap();
    run(&mut dump(&from, "times", &dir.path().join("out"))).done();
    let restored = run(&mut restore(&to, &dir.path().join("out"), "-u plain")).found(&[]);
    assert!(restored.stderr.contains("DEFAULT '0000-00-00 00:00:00'"), "{restored}");
    let extra =
        "SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'times' AND EXTRA <> ''";
    assert_eq!(sql(&to, "times", extra), [["0"]]);
}

/// The same between servers of one version: what cannot be kept is told before the first row, and is then no difference.
#[test]
fn times_that_a_plain_account_cannot_keep() {
    if !is_wanted(Flavour::MySql) {
        return;
    }
    let [from, to] = [0, 1].map(|_| old("mysql-5.7", Flavour::MySql));
    for server in [&from, &to] {
        sql(
            server,
            "mysql",
            "CREATE DATABASE times; CREATE USER plain@localhost; GRANT ALL ON times.* TO plain@localhost",
        );
    }
    let tables = TIMES.replace("CREATE DATABASE times;", "SET explicit_defaults_for_timestamp = ON;");
    sql(&from, "times", tables.trim_start_matches("CREATE DATABASE times; "));
    let dir = tempfile::tempdir().unwrap();
    let (out, state) = (dir.path().join("out"), dir.path().join("state"));
    run(&mut dump(&from, "times -u plain", &out)).done();
    let zeros = ["NOT NULL DEFAULT '0000-00-00 00:00:00'", "NOT NULL DEFAULT '0000-00-00 00:00:00.000'"];
    let tells = |output: Output| {
        let said = output.stdout.clone() + &output.stderr;
        assert!(zeros.iter().all(|zero| said.contains(zero)), "{output}");
    };
    let whole = ["verified  identical: 1 row of 1 table"];
    tells(run(&mut restore(&to, &out, "-u plain --check")).found(&[]));
    tells(run(&mut restore(&to, &out, "-u plain")).found(&whole));
    run(&mut verify(&to, &out, "-u plain")).done();
    run(&mut verify(&from, &out, "-u plain")).done();
    sql(&to, "times", "UPDATE t SET n = 5");
    assert_eq!(sql(&to, "times", "SELECT ts = '2020-01-01 00:00:00', n FROM t"), [["1", "5"]]);
    sql(&to, "times", "DROP TABLE t");
    run(&mut copy_as(("plain", &from), ("plain", &to), "times", &state)).found(&whole);
    sql(&to, "times", "SET sql_mode = ''; ALTER TABLE t MODIFY ts TIMESTAMP NOT NULL DEFAULT '2000-01-01'");
    run(&mut verify(&to, &out, "-u plain")).found(&["`times`.`t`"]);
}

/// A server's URL where a path is asked for made directories of that name, with the password.
#[test]
fn urls_that_are_no_paths() {
    let dir = tempfile::tempdir().unwrap();
    for line in ["dump --out mysql://boss:hunter2@127.0.0.1:1/", "restore mysql://boss:hunter2@127.0.0.1:1/"]
    {
        let output = run(drover(line).current_dir(dir.path())).refused(&["is a URL", "hint: "]);
        assert!(!(output.stdout.clone() + &output.stderr).contains("hunter2"), "{output}");
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

/// What an unfinished `drover chunk` keeps beside its table stays where it is.
#[test]
fn the_table_of_an_unfinished_chunk() {
    for flavour in [Flavour::MariaDb, Flavour::MySql].into_iter().filter(|&flavour| is_wanted(flavour)) {
        let (server, dir) = (source(flavour), tempfile::tempdir().unwrap());
        let made = "CREATE DATABASE chunk_left; USE chunk_left; CREATE TABLE t (id INT PRIMARY KEY); \
                    CREATE TABLE drover_chunk_0123456789abcdef (id INT PRIMARY KEY)";
        sql(server, "mysql", made);
        let output = run(&mut dump(server, "chunk_left", &dir.path().join("out"))).done();
        assert!(output.stderr.contains("drover_chunk_0123456789abcdef"), "{output}");
        assert!(!dir.path().join("out/chunk_left/drover_chunk_0123456789abcdef.sql").exists());
        sql(server, "mysql", "DROP DATABASE chunk_left");
    }
}
