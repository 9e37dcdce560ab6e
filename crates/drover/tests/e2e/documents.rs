//! Documents whose text is not what the server takes, or not all that there is: JSON of MySQL.

use drover_sandbox::{Flavour, Server};

use crate::client;
use crate::drover::{copy, dump, restore, run};
use crate::reach::sql;
use crate::servers::{is_wanted, start, start_of};

/// Both vendors' newest servers.
fn both(options: &[&str]) -> Option<[Server; 2]> {
    let wanted = [Flavour::MySql, Flavour::MariaDb].into_iter().all(is_wanted);
    wanted.then(|| [start(Flavour::MySql, options), start(Flavour::MariaDb, &[])])
}

/// MySQL gives an empty text, and a warning, for a document that is longer than a packet: that is no document, whatever it goes to.
#[test]
fn longer_than_a_packet() {
    let Some([mysql, mariadb]) = both(&["--max-allowed-packet=4M"]) else { return };
    client::sql(
        &mysql,
        "CREATE DATABASE s; USE s; CREATE TABLE t (id INT PRIMARY KEY, j JSON); INSERT INTO t VALUES (1, '[]'), (2, JSON_ARRAY(REPEAT('\\\\', 3000000)))",
    );
    let dir = tempfile::tempdir().unwrap();
    let says = ["`s`.`t`", "max_allowed_packet", "on the server that is read"];
    for (name, options) in [("csv", "--format csv"), ("tsv", "--format tsv"), ("sql", "--format sql")] {
        run(&mut dump(&mysql, &format!("s {options}"), &dir.path().join(name))).refused(&says[..2]);
    }
    let state = dir.path().join("state");
    run(&mut copy(&mysql, &mariadb, "s", &state)).refused(&says);
    client::sql(&mysql, "SET GLOBAL max_allowed_packet = 1073741824");
    run(&mut copy(&mysql, &mariadb, "s --resume", &state)).done();
    let text = "SELECT id, LENGTH(j), MD5(j) FROM t ORDER BY id";
    let printed = "SELECT id, LENGTH(CAST(j AS CHAR)) FROM t ORDER BY id";
    let lengths: Vec<_> = sql(&mariadb, "s", text).into_iter().map(|row| row[..2].to_vec()).collect();
    assert_eq!(lengths, sql(&mysql, "s", printed));
}

/// MySQL 5.7 breaks the base64 of bytes into lines, in which it reads no document itself.
#[test]
fn bytes_of_5_7() {
    let Some([mysql, mariadb]) = both(&["--local-infile=1"]) else { return };
    let Some(old) = start_of(Flavour::MySql, "mysql-5.7", &[]) else { return };
    sql(
        &old,
        "mysql",
        "CREATE DATABASE s; USE s; CREATE TABLE t (id INT PRIMARY KEY, j JSON);
         INSERT INTO t SELECT 1, JSON_ARRAY(CAST(REPEAT('a', 200) AS BINARY)); INSERT INTO t SELECT 2, JSON_ARRAY('a\\nb', 1.5e0);
         INSERT INTO t VALUES (3, NULL)",
    );
    let dir = tempfile::tempdir().unwrap();
    run(&mut copy(&old, &mariadb, "s", &dir.path().join("mariadb"))).done();
    let printed = "SELECT id, REPLACE(j, '\\n', '\\\\n') FROM t ORDER BY id";
    assert_eq!(sql(&mariadb, "s", "SELECT id, j FROM t ORDER BY id"), sql(&old, "s", printed));
    assert_eq!(sql(&mariadb, "s", "SELECT SUM(JSON_VALID(j)) FROM t"), [["2"]]);
    let copied = run(&mut copy(&old, &mysql, "s", &dir.path().join("mysql"))).found(&[]);
    assert!(copied.stderr.contains("table `s`.`t`: JSON in `j` (documents: 1)"), "{copied}");
    assert_eq!(
        sql(&mysql, "s", "SELECT id, j FROM t ORDER BY id"),
        sql(&mariadb, "s", "SELECT id, j FROM t ORDER BY id")
    );
    let out = dir.path().join("dump");
    run(&mut dump(&old, "s", &out)).done();
    run(&mut restore(&mariadb, &out, "--into s=back")).done();
}

/// 5.7 prints a DOUBLE without a fraction as a whole number, and is asked for sizes: a time in a document is none of these.
#[test]
fn times_of_5_7_are_no_numbers() {
    let Some(old) = start_of(Flavour::MySql, "mysql-5.7", &[]) else { return };
    sql(
        &old,
        "mysql",
        "CREATE DATABASE s; USE s; CREATE TABLE t (id INT PRIMARY KEY, j JSON); INSERT INTO t SELECT 1, JSON_OBJECT('t', NOW());
         INSERT INTO t SELECT 2, JSON_ARRAY(b'101', DATE'2020-01-02')",
    );
    let dir = tempfile::tempdir().unwrap();
    let dumped = run(&mut dump(&old, "s", dir.path())).done();
    assert!(dumped.stderr.contains("table `s`.`t`: 2 documents of column `j`"), "{dumped}");
    assert!(!dumped.stderr.contains("DECIMAL inside"), "{dumped}");
}
