//! Scripts in which the order of statements or the settings before them decide what comes of the rows.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::Stdio;

use drover_sandbox::Flavour;

use super::{assert_same_rows, by_client, create_schema, drop_schema, restored, servers, written};
use crate::client::{feed, sql, try_sql, value, wait_until};
use crate::compare;
use crate::drover::{restore, run};
use crate::servers::on_both;

on_both!(
    what_follows_rows_keeps_its_settings,
    not_only_inserts,
    keys_that_rows_need,
    keys_that_numbers_need,
    the_schema_that_is_read,
    warnings_that_are_not_listed,
    values_cut_by_other_statements,
    names_in_another_character_set,
    stopped_while_the_pipe_is_silent
);

/// The rows of the first table take longer than those of the second, so that its trigger and its keys come when the worker
/// has the settings of the second: another schema with a table of the same name, and another sql_mode.
fn what_follows_rows_keeps_its_settings(flavour: Flavour) {
    let (_, target) = servers(flavour);
    let mut text = String::from("-- MySQL dump 10.13\nSET FOREIGN_KEY_CHECKS=0;\n");
    for (schema, mode, statements) in [("ord_one", "ANSI_QUOTES", 60), ("ord_two", "PIPES_AS_CONCAT", 1)] {
        drop_schema(target, schema);
        write!(
            text,
            "CREATE DATABASE {schema};\nUSE {schema};\nCREATE TABLE `t` (`id` int, `c` varchar(255), KEY (`id`)) ENGINE=MyISAM;\n\
             ALTER TABLE `t` DISABLE KEYS;\n"
        )
        .unwrap();
        let row = "x".repeat(200);
        for statement in 0..statements {
            let rows: Vec<_> = (0..1000).map(|id| format!("({},'{row}')", statement * 1000 + id)).collect();
            writeln!(text, "INSERT INTO `t` VALUES {};", rows.join(",")).unwrap();
        }
        write!(
            text,
            "ALTER TABLE `t` ENABLE KEYS;\nSET sql_mode='{mode}';\nDELIMITER ;;\n\
             CREATE TRIGGER `tr` BEFORE INSERT ON `t` FOR EACH ROW BEGIN SET NEW.c = '{schema}'; END;;\n\
             DELIMITER ;\nSET sql_mode='';\n"
        )
        .unwrap();
    }
    let dir = tempfile::tempdir().unwrap();
    let path = written(&dir, "a.sql", (text + "-- Dump completed\n").as_bytes());
    let output = restored(target, &path, "--threads 4");
    assert!(output.stdout.contains("61,000 rows"), "{output}");
    for (schema, mode) in [("ord_one", "ANSI_QUOTES"), ("ord_two", "PIPES_AS_CONCAT")] {
        let sql = format!(
            "SELECT CONCAT(SQL_MODE, ' ', ACTION_STATEMENT LIKE '%{schema}%') FROM information_schema.TRIGGERS
             WHERE TRIGGER_SCHEMA = '{schema}'"
        );
        assert_eq!(value(target, sql), format!("{mode} 1"));
        let comment = format!("SHOW KEYS FROM {schema}.t WHERE Comment = 'disabled'");
        assert!(try_sql(target, &comment).unwrap().is_empty(), "keys of {schema}.t are off");
        drop_schema(target, schema);
    }
}

/// Where drover commits itself, nothing that is no INSERT may be lost.
fn not_only_inserts(flavour: Flavour) {
    let (source, target) = servers(flavour);
    let script = String::from(
        "SET autocommit = 0;
         CREATE TABLE a (id INT PRIMARY KEY, v INT, UNIQUE KEY (v)); INSERT INTO a VALUES (1, 1), (2, 2), (3, 3);
         UPDATE a SET v = 7 WHERE id = 1; COMMIT; DELETE FROM a WHERE id = 2;
         REPLACE INTO a VALUES (4, 3); INSERT IGNORE INTO a VALUES (5, 7), (6, 6); INSERT INTO a SET id = 8, v = 8;
         CREATE TABLE b (id INT PRIMARY KEY); INSERT INTO b VALUES (1); TRUNCATE b; INSERT INTO b VALUES (1), (2);
         BEGIN; INSERT INTO b SELECT id + 10 FROM a; COMMIT;
         INSERT INTO a VALUES (9, 9) ON DUPLICATE KEY UPDATE v = v + 1; INSERT INTO a VALUES (9, 9) ON DUPLICATE KEY UPDATE v = v + 1;\n",
    );
    let (schema, dir) = ("ord_all", tempfile::tempdir().unwrap());
    by_client(source, schema, (script.clone() + "COMMIT;\n").as_bytes());
    let path = written(&dir, "a.sql", script.as_bytes());
    for piped in [false, true] {
        create_schema(target, schema);
        let url = format!("mysql:///{schema}");
        let code = if piped {
            let mut command = restore(target, std::path::Path::new("-"), "");
            feed(command.args(["--url", &url]), script.as_bytes()).status.code()
        } else {
            run(restore(target, &path, "").args(["--url", &url])).code
        };
        assert_eq!(code, Some(1), "INSERT IGNORE warns of what it leaves out");
        assert_same_rows(&compare::rows(source, schema), target, schema);
    }
    drop_schema(target, schema);
}

/// Keys of large tables are added after the rows; not so where a row may take the place of another by a key.
fn keys_that_rows_need(flavour: Flavour) {
    let (_, target) = servers(flavour);
    let (dir, schema) = (tempfile::tempdir().unwrap(), "ord_keys");
    let mut text = String::from(
        "-- MySQL dump 10.13\nSET FOREIGN_KEY_CHECKS=0;\nSET UNIQUE_CHECKS=0;\nSET UNIQUE_CHECKS=1;\n\
         CREATE TABLE `t` (\n  `id` int NOT NULL,\n  `k` int,\n  `c` varchar(255),\n  PRIMARY KEY (`id`),\n  UNIQUE KEY `k` (`k`)\n) ENGINE=InnoDB;\n",
    );
    let row = "x".repeat(200);
    for statement in 0..25 {
        // Each statement has the first key of the one before it.
        let rows: Vec<_> = (0..1000)
            .map(|id| (statement * 1000 + id, if id == 0 { 0 } else { statement * 1000 + id }))
            .map(|(id, key)| format!("({id},{key},'{row}')"))
            .collect();
        writeln!(text, "REPLACE INTO `t` VALUES {};", rows.join(",")).unwrap();
    }
    create_schema(target, schema);
    let path = written(&dir, "a.sql", (text + "-- Dump completed\n").as_bytes());
    let output = run(restore(target, &path, "").args(["--url", &format!("mysql:///{schema}")])).done();
    assert!(output.stdout.contains("REPLACE"), "{output}");
    let found = format!("SELECT CONCAT(COUNT(*), ' ', MAX(IF(k = 0, id, NULL))) FROM {schema}.t");
    assert_eq!(value(target, found), "24976 24000");
    drop_schema(target, schema);
}

/// Nor is the key added later that leads with the AUTO_INCREMENT column, where the primary key does not.
fn keys_that_numbers_need(flavour: Flavour) {
    let (_, target) = servers(flavour);
    let (dir, schema) = (tempfile::tempdir().unwrap(), "ord_numbers");
    let mut text = String::from(
        "-- MySQL dump 10.13\nSET FOREIGN_KEY_CHECKS=0;\nCREATE TABLE `t` (\n  `tenant` int NOT NULL,\n  `id` int NOT NULL AUTO_INCREMENT,\n\
         \u{20} `c` varchar(1000),\n  PRIMARY KEY (`tenant`,`id`),\n  KEY `c` (`c`(9)),\n  KEY `id` (`id`)\n) ENGINE=InnoDB;\n",
    );
    let row = "x".repeat(1000);
    for statement in 0..10 {
        let rows: Vec<_> =
            (1..=1000).map(|id| format!("({},{},'{row}')", id % 7, statement * 1000 + id)).collect();
        writeln!(text, "INSERT INTO `t` VALUES {};", rows.join(",")).unwrap();
    }
    create_schema(target, schema);
    let path = written(&dir, "a.sql", (text + "-- Dump completed\n").as_bytes());
    run(restore(target, &path, "").args(["--url", &format!("mysql:///{schema}")])).done();
    let keys = format!(
        "SELECT GROUP_CONCAT(DISTINCT INDEX_NAME ORDER BY INDEX_NAME) FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = '{schema}'"
    );
    assert_eq!(value(target, keys), "c,id,PRIMARY");
    sql(target, format!("INSERT INTO {schema}.t (tenant) VALUES (1)"));
    assert_eq!(
        value(target, format!("SELECT CONCAT(COUNT(*), ' ', MAX(id)) FROM {schema}.t")),
        "10001 10001"
    );
    drop_schema(target, schema);
}

/// INSERT … SELECT of a dump that is restored under another name reads the new schema, not what the target has under the
/// old one.
fn the_schema_that_is_read(flavour: Flavour) {
    let (_, target) = servers(flavour);
    let (dir, script) = (
        tempfile::tempdir().unwrap(),
        "USE ord_old; CREATE TABLE a (id INT); INSERT INTO a VALUES (1), (2); CREATE TABLE b (id INT);
         INSERT INTO b SELECT id FROM ord_old.a;",
    );
    drop_schema(target, "ord_new");
    drop_schema(target, "ord_old");
    sql(
        target,
        "CREATE DATABASE ord_old; CREATE TABLE ord_old.a (id INT); INSERT INTO ord_old.a VALUES (99)",
    );
    restored(target, &written(&dir, "a.sql", script.as_bytes()), "--into ord_old=ord_new");
    assert_eq!(value(target, "SELECT GROUP_CONCAT(id ORDER BY id) FROM ord_new.b"), "1,2");
    assert_eq!(value(target, "SELECT GROUP_CONCAT(id) FROM ord_old.a"), "99");
}

fn warnings_that_are_not_listed(flavour: Flavour) {
    let (_, target) = servers(flavour);
    let (dir, schema) = (tempfile::tempdir().unwrap(), "ord_warned");
    let script = "SET sql_mode = '', max_error_count = 0; CREATE TABLE a (c VARCHAR(3)); INSERT INTO a VALUES ('too long');";
    create_schema(target, schema);
    let path = written(&dir, "a.sql", script.as_bytes());
    let output = run(restore(target, &path, "").args(["--url", &format!("mysql:///{schema}")]));
    output.found(&["warned    1 time about rows"]);
}

/// Not only an INSERT changes values that do not fit; what one makes of a query is rows, too.
fn values_cut_by_other_statements(flavour: Flavour) {
    let (_, target) = servers(flavour);
    let (dir, schema) = (tempfile::tempdir().unwrap(), "ord_cut");
    let begin =
        "SET sql_mode = ''; CREATE TABLE t (a INT, b VARCHAR(8)); INSERT INTO t VALUES (1, 'abcdefgh');";
    for (statement, rows) in [
        ("ALTER TABLE t MODIFY b VARCHAR(3)", "1 row"),
        ("UPDATE t SET b = 'abcdefghi'", "1 row"),
        ("CREATE TABLE c (b VARCHAR(3)) SELECT b FROM t", "2 rows"),
    ] {
        create_schema(target, schema);
        let path = written(&dir, "a.sql", format!("{begin} {statement};\n").as_bytes());
        let output = run(restore(target, &path, "").args(["--url", &format!("mysql:///{schema}")]));
        output.found(&["warned    1 time about rows", rows]);
    }
    // A key that is there twice is no matter of rows.
    create_schema(target, schema);
    let script = format!(
        "{begin} ALTER TABLE t ADD KEY (a); ALTER TABLE t ADD KEY (a); DELETE FROM t WHERE a = 1; INSERT INTO t VALUES (2, 'b');\n"
    );
    let path = written(&dir, "a.sql", script.as_bytes());
    let output = run(restore(target, &path, "").args(["--url", &format!("mysql:///{schema}")])).done();
    assert!(output.stdout.contains("1 row"), "{output}");
    drop_schema(target, schema);
}

/// What a name is cannot be told without the character set, so that it is no guess.
fn names_in_another_character_set(flavour: Flavour) {
    let (_, target) = servers(flavour);
    let (dir, schema) = (tempfile::tempdir().unwrap(), "ord_latin1");
    drop_schema(target, schema);
    let script =
        |set: &str| [set.as_bytes(), b"USE ord_latin1;\nCREATE TABLE `caf\xe9` (id INT);\n"].concat();
    let path = written(&dir, "a.sql", &script("SET NAMES latin1;\n"));
    run(&mut restore(target, &path, "")).refused(&[
        "a.sql, line 3",
        "latin1",
        "--default-character-set=utf8mb4",
    ]);
    let there = format!("SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = '{schema}'");
    assert_eq!(value(target, there), "0", "nothing is changed before that is known");
}

fn stopped_while_the_pipe_is_silent(flavour: Flavour) {
    let (_, target) = servers(flavour);
    create_schema(target, "ord_silent");
    let mut command = restore(target, std::path::Path::new("-"), "");
    command.args(["--url", "mysql:///ord_silent"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let script = format!("CREATE TABLE a (id INT);\n-- {}\n", "x".repeat(200));
    stdin.write_all(script.as_bytes()).unwrap();
    stdin.flush().unwrap();
    let there = "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'ord_silent'";
    wait_until("the table is there", || value(target, there) == "1");
    let killed = std::process::Command::new("kill").args(["-s", "INT", &child.id().to_string()]).status();
    assert!(killed.unwrap().success());
    wait_until("drover ends", || child.try_wait().unwrap().is_some());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && said.contains("stopped"), "{said}");
    drop(stdin);
}
