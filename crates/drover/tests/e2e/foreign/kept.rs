//! What a target takes of a definition and does not keep is told, and what it computes itself is left to it.

use std::path::Path;

use drover_sandbox::{Flavour, Server};

use super::{mysqldump, written};
use crate::client::{feed, mariadb_dump};
use crate::drover::{drover, restore, run};
use crate::reach::{old, sql};
use crate::servers::{is_wanted, is_wanted_of, start, start_mariadb_11};

/// What MySQL 9 prints plainly or in version comments, and others read and do not keep.
const SCHEMA: &str = "CREATE DATABASE k CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci; USE k;
    CREATE TABLE t (a INT PRIMARY KEY CHECK (a > 0), b INT, h INT DEFAULT 1 INVISIBLE, p POINT NOT NULL SRID 4326,
      KEY down (b DESC), KEY hidden (b) INVISIBLE, CONSTRAINT c CHECK (b > 1), CONSTRAINT d CHECK (b < 100) NOT ENFORCED);
    INSERT INTO t (a, b, p) VALUES (1, 2, ST_GeomFromText('POINT(1 2)', 4326));
    CREATE TABLE big (id INT PRIMARY KEY, b INT, filler CHAR(250), KEY down (b DESC)) CHARSET=latin1;
    SET SESSION cte_max_recursion_depth = 20000;
    INSERT INTO big WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
      SELECT i, i, REPEAT('x', 250) FROM n";

/// A script of that schema, the same as a directory, and a server that it is of.
fn dumped(dir: &tempfile::TempDir) -> (Server, Vec<std::path::PathBuf>) {
    let source = start(Flavour::MySql, &[]);
    sql(&source, "mysql", SCHEMA);
    let script = mysqldump(&source, "k");
    let files = tempfile::Builder::new().prefix("files").tempdir_in(dir).unwrap().keep();
    std::fs::create_dir(files.join("k")).unwrap();
    for table in ["t", "big"] {
        let script = mysqldump(&source, &format!("k {table}"));
        std::fs::write(files.join("k").join(format!("{table}.sql")), script).unwrap();
    }
    (source, vec![written(dir, "k.sql", &script), files])
}

/// Restores the script and the directory, and looks for what must be told of both.
fn told(target: &Server, dumps: &[std::path::PathBuf], told: &[&str], untold: &[&str]) {
    for dump in dumps {
        let restored = run(&mut restore(target, dump, "--drop-existing")).found(&["restored  2 tables"]);
        for words in told {
            assert!(restored.stderr.contains(words), "{words}: {restored}");
        }
        for words in untold {
            assert!(!restored.stderr.contains(words), "{words}: {restored}");
        }
        let json = run(&mut restore(target, dump, "--drop-existing --json")).json();
        let lost = json["rewrites"].as_array().unwrap().iter().filter(|one| one["loses"] == true).count();
        assert_eq!(lost, told.iter().filter(|words| !words.contains("becomes")).count(), "{json}");
    }
}

#[test]
fn into_5_7() {
    if !is_wanted_of(Flavour::MySql, "mysql-5.7") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (_source, dumps) = dumped(&dir);
    let target = old("mysql-5.7", Flavour::MySql);
    let of_target = [
        "table `k`.`t`: `h` INVISIBLE is left out",
        "table `k`.`t`: `p` SRID 4326 is left out",
        "table `k`.`t`: KEY `hidden` INVISIBLE is left out",
        "CONSTRAINT `c` CHECK",
        "CONSTRAINT `d` CHECK",
        "CONSTRAINT `t_chk_1` CHECK",
        "KEY `down` (`b` DESC) becomes (`b`): the target keeps keys in ascending order only",
    ];
    told(&target, &dumps, &of_target, &["enforces the constraint"]);
    // The key of the larger table was added behind its rows.
    let json = run(&mut restore(&target, &dumps[0], "--drop-existing --json")).json();
    let of_big = |one: &&serde_json::Value| one["object"] == "table `k`.`big`";
    assert_eq!(json["rewrites"].as_array().unwrap().iter().filter(of_big).count(), 1, "{json}");

    let later = "CREATE TABLE `later` (`a` int, `b` int) ENGINE=InnoDB;\nALTER TABLE `later` ADD PRIMARY KEY (`a`), ADD KEY (`b` DESC),\n\
                 ADD CONSTRAINT `c` CHECK (`a` > 0);\nALTER TABLE later MODIFY b bigint;\n\
                 CREATE INDEX other ON later (a DESC, b);\n";
    let later = written(&dir, "later.sql", format!("USE k;\n{later}").as_bytes());
    let restored = run(&mut restore(&target, &later, "")).found(&[]);
    for words in ["KEY `b` (`b` DESC) becomes", "`c` CHECK", "KEY `other` (`a` DESC,`b`) becomes"] {
        assert!(restored.stderr.contains(words), "{words}: {restored}");
    }
}

#[test]
fn into_mariadb_11() {
    if !is_wanted(Flavour::MySql) || !is_wanted(Flavour::MariaDb) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (_source, dumps) = dumped(&dir);
    let of_target = [
        "table `k`.`t`: `h` INVISIBLE is left out: the target passes over it and shows the column",
        "table `k`.`t`: `p` SRID 4326 is left out",
        "table `k`.`t`: KEY `hidden` INVISIBLE is left out",
        "table `k`.`t`: CONSTRAINT `d` CHECK NOT ENFORCED is left out",
    ];
    told(&start_mariadb_11(&[]), &dumps, &of_target, &["`down`", "`c`"]);
}

#[test]
fn into_the_same_server() {
    if !is_wanted(Flavour::MySql) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (source, dumps) = dumped(&dir);
    for dump in &dumps {
        let restored = run(&mut restore(&source, dump, "--drop-existing")).done();
        assert!(!restored.stderr.contains("warning"), "{restored}");
    }
}

#[test]
fn into_the_same_mariadb() {
    if !is_wanted(Flavour::MariaDb) {
        return;
    }
    let server = start_mariadb_11(&[]);
    sql(
        &server,
        "mysql",
        "CREATE DATABASE k; USE k; CREATE TABLE t (a INT PRIMARY KEY CHECK (a > 0), b INT, h INT DEFAULT 1 INVISIBLE, \
         v VARCHAR(9) COMPRESSED, u TEXT, g INT AS (a + 1) STORED, KEY down (b DESC), KEY hidden (b) IGNORED, UNIQUE KEY (u), \
         FULLTEXT KEY (u), CONSTRAINT c CHECK (b > 1)) WITH SYSTEM VERSIONING PARTITION BY KEY (a) PARTITIONS 2; \
         INSERT INTO t (a, b) VALUES (1, 2)",
    );
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("k.sql");
    mariadb_dump(&server, "k", &file);
    let restored = run(&mut restore(&server, &file, "--drop-existing")).done();
    assert!(!restored.stderr.contains("warning"), "{restored}");
}

const COMPUTED: &str = "CREATE DATABASE g CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci; USE g;
    CREATE TABLE t (id INT PRIMARY KEY, v INT AS (id + 1) VIRTUAL, w VARCHAR(20), s VARCHAR(40) AS (CONCAT(w, '),(')) STORED, z INT);
    INSERT INTO t (id, w, z) VALUES (1, 'a,b', 7), (2, NULL, NULL), (3, 'it''s', 9)";

/// mariadb-dump writes what generated columns hold, and MySQL takes no value for them.
#[test]
fn values_of_generated_columns() {
    if !is_wanted(Flavour::MySql) || !is_wanted(Flavour::MariaDb) {
        return;
    }
    let (source, target) = (start(Flavour::MariaDb, &[]), start(Flavour::MySql, &[]));
    sql(&source, "mysql", COMPUTED);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("g.sql");
    mariadb_dump(&source, "g", &file);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("'a,b),('"), "mariadb-dump writes no values of generated columns: {text}");
    run(&mut restore(&target, &file, "")).done();
    let rows = "SELECT * FROM t ORDER BY id";
    assert_eq!(sql(&target, "g", rows), sql(&source, "g", rows));
    let listed = text.replace("INSERT INTO `t` VALUES", "INSERT INTO `t` (id, v, w, s, z) VALUES");
    let listed = written(&dir, "listed.sql", listed.as_bytes());
    run(&mut restore(&target, &listed, "--drop-existing")).done();
    assert_eq!(sql(&target, "g", rows), sql(&source, "g", rows));
}

/// What a restore of a script from standard input says, and how it ends.
fn piped(target: &Server, script: &str, options: &str) -> (Option<i32>, String) {
    let output = feed(&mut restore(target, Path::new("-"), options), script.as_bytes());
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Hints say what is true, and what can be done.
#[test]
fn hints_of_what_fails() {
    if !is_wanted(Flavour::MySql) {
        return;
    }
    let target = start(Flavour::MySql, &[]);
    let dir = tempfile::tempdir().unwrap();
    let head = "-- MySQL dump 10.13\n-- Host: x    Database: shop\n";
    let tail = "-- Dump completed\n";
    let customers = "CREATE TABLE `customers` (a int) COLLATE=no_such_collation;\n";
    let script = |name: &str, body: &str| written(&dir, name, format!("{head}{body}{tail}").as_bytes());
    let error =
        run(&mut restore(&target, &script("a.sql", customers), "")).refused(&["no_such_collation"]).error();
    assert!(!error.contains("left there") && !error.contains("drop-existing"), "{error}");
    let body = format!("CREATE TABLE `a` (a int);\n{customers}");
    let error =
        run(&mut restore(&target, &script("b.sql", &body), "")).refused(&["no_such_collation"]).error();
    assert!(error.contains("in part: nothing") || error.contains("in part: `shop`.`a`."), "{error}");

    let whole = format!("{head}CREATE TABLE `a` (a int);\n{tail}");
    let (code, said) = piped(&target, &whole, "");
    let words = ["already has `shop`.`a`", "--drop-existing", "write the dump to a file"];
    assert!(code == Some(2) && words.iter().all(|words| said.contains(words)), "{said}");
    let (code, said) = piped(&target, &whole, "--drop-existing");
    assert_eq!(code, Some(0), "{said}");

    // The schema of the head and another one of the URL.
    let path = script("c.sql", "CREATE TABLE `c` (a int);\n");
    let url = format!("mysql://root@localhost/bs?socket={}", target.socket().display());
    let mut of_url = drover("restore");
    of_url.arg(&path).args(["--url", &url]);
    let words = ["the dump is of the schema `shop`", "names `bs`", "--into shop=bs"];
    run(&mut of_url).refused(&words);
    assert_eq!(sql(&target, "mysql", "SHOW DATABASES LIKE 'bs'"), Vec::<Vec<String>>::new());
    run(of_url.args(["--into", "shop=bs"])).done();
    assert_eq!(sql(&target, "bs", "SHOW TABLES"), [["c"]]);
}
