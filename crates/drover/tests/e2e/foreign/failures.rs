//! What goes wrong is said with file and line, and what was done until then is said too.

use std::fs;

use drover_sandbox::{Flavour, Server};

use super::{mysqldump, servers, written};
use crate::client::{sql, value};
use crate::drover::{Running, restore, run};
use crate::servers::{on_both, start};

on_both!(
    a_statement_that_fails,
    damaged_files,
    what_is_there_already,
    options_of_other_dumps,
    interrupted,
    server_killed
);

fn is_there(server: &Server, schema: &str) -> bool {
    let sql = format!("SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = '{schema}'");
    value(server, sql) != "0"
}

fn make(server: &Server, schema: &str) -> Vec<u8> {
    sql(
        server,
        format!(
            "CREATE DATABASE {schema}; USE {schema}; CREATE TABLE a (id INT PRIMARY KEY); INSERT INTO a VALUES (1), (2);
             CREATE TABLE b (id INT PRIMARY KEY, c INT); INSERT INTO b VALUES (1, 1), (2, 2); CREATE TABLE c (id INT)"
        ),
    );
    mysqldump(server, schema)
}

fn a_statement_that_fails(flavour: Flavour) {
    let (source, target) = servers(flavour);
    let dir = tempfile::tempdir().unwrap();
    let script = String::from_utf8(make(source, "fl_fails")).unwrap();
    let bad = script.replace("INSERT INTO `b` VALUES", "INSERT INTO `b` (no_such) VALUES");
    let line = bad.lines().position(|line| line.contains("no_such")).unwrap() + 1;
    let path = written(&dir, "bad.sql", bad.as_bytes());
    let place = format!("bad.sql, line {line}: INSERT INTO `b` (no_such) VALUES");
    let output = run(&mut restore(target, &path, ""));
    output.refused(&[&place, "hint: loaded until then", "`fl_fails`.`a`", "--drop-existing"]);
    // The same key twice.
    let twice = script.replace("(2,2)", "(1,2)");
    let output = run(&mut restore(target, &written(&dir, "twice.sql", twice.as_bytes()), "--drop-existing"));
    let words =
        if flavour == Flavour::MySql { "Duplicate entry '1'" } else { "two of the rows have the same key" };
    // Another thread may have begun with other tables, too.
    output.refused(&["twice.sql, line ", words, "in part: ", "`fl_fails`.`b`"]);
    assert_eq!(value(target, "SELECT COUNT(*) FROM fl_fails.b"), "0", "a batch is all or nothing");
    // A word of a client's that is none of the server's.
    let shell = script.replace("UNLOCK TABLES;", "\\! touch /tmp/drover-was-here\nUNLOCK TABLES;");
    let output = run(&mut restore(target, &written(&dir, "shell.sql", shell.as_bytes()), "--drop-existing"));
    output.refused(&["shell.sql, line ", "\\! touch"]);
    assert!(!std::path::Path::new("/tmp/drover-was-here").exists());
}

fn damaged_files(flavour: Flavour) {
    let (source, target) = servers(flavour);
    let dir = tempfile::tempdir().unwrap();
    let script = make(source, "fl_damaged");
    let text = String::from_utf8(script.clone()).unwrap();
    let gz = crate::client::feed(std::process::Command::new("gzip").arg("-c"), &script).stdout;
    let mut flipped = gz.clone();
    flipped[gz.len() / 2] ^= 0x55;
    let at = text.find("INSERT INTO `b`").unwrap();
    let before_end = text.find("-- Dump completed").unwrap();
    for (name, content, culprit) in [
        ("cut.sql.gz", &gz[..gz.len() - 20], "damaged"),
        ("flipped.sql.gz", &flipped[..], "flipped.sql.gz"),
        ("cut.sql", &script[..at + 20], "in the middle of a statement"),
        (
            "string.sql",
            &text.as_bytes()[..text.find("TIME_ZONE='").unwrap() + 11],
            "in the middle of a string",
        ),
        ("no-end.sql", &script[..before_end], "Dump completed"),
    ] {
        let path = written(&dir, name, content);
        run(&mut restore(target, &path, "")).refused(&[name, culprit]);
        assert!(!is_there(target, "fl_damaged"), "{name}: the target was changed");
    }
    run(&mut restore(target, &dir.path().join("nothing.sql"), "")).refused(&["nothing.sql"]);
    let bzip = written(&dir, "a.sql.bz2", b"BZh91AY");
    run(&mut restore(target, &bzip, "")).refused(&["a.sql.bz2", "bunzip2"]);
}

fn what_is_there_already(flavour: Flavour) {
    let (source, target) = servers(flavour);
    let dir = tempfile::tempdir().unwrap();
    let path = written(&dir, "a.sql", &make(source, "fl_there"));
    for make in ["CREATE TABLE b (mine INT)", "CREATE VIEW c AS SELECT 1 AS mine"] {
        sql(
            target,
            format!("DROP DATABASE IF EXISTS fl_there; CREATE DATABASE fl_there; USE fl_there; {make}"),
        );
        run(&mut restore(target, &path, "")).refused(&[
            "already has",
            "nothing was changed",
            "hint: --drop-existing",
        ]);
        assert_eq!(
            value(target, "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'fl_there'"),
            "1"
        );
    }
    sql(target, "CREATE TABLE fl_there.mine (id INT)");
    run(&mut restore(target, &path, "--drop-existing")).done();
    assert_eq!(
        value(target, "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'fl_there'"),
        "4"
    );
    // Rows alone go only where there are none.
    let rows = written(&dir, "rows.sql", &mysqldump(source, "--no-create-info fl_there"));
    run(&mut restore(target, &rows, "")).refused(&["does not create `fl_there`.`a`", "has rows already"]);
    sql(target, "TRUNCATE fl_there.a; TRUNCATE fl_there.b");
    run(&mut restore(target, &rows, "")).done();
    assert_eq!(value(target, "SELECT COUNT(*) FROM fl_there.b"), "2");
}

fn options_of_other_dumps(flavour: Flavour) {
    let (source, target) = servers(flavour);
    let dir = tempfile::tempdir().unwrap();
    let path = written(&dir, "a.sql", &make(source, "fl_options"));
    for option in ["--resume", "--users", "--check"] {
        run(&mut restore(target, &path, option)).refused(&[option, "another tool"]);
    }
    // Without a word on the schema.
    let bare = written(&dir, "bare.sql", b"CREATE TABLE a (id INT);\n");
    run(&mut restore(target, &bare, "")).refused(&["bare.sql, line 1", "which schema", "--url"]);
    let unfinished = dir.path().join("unfinished/shop");
    fs::create_dir_all(&unfinished).unwrap();
    fs::write(unfinished.join("@schema.sql"), "").unwrap();
    run(&mut restore(target, &dir.path().join("unfinished"), "")).refused(&["unfinished"]);
}

/// A dump that takes some seconds to load.
fn large(dir: &tempfile::TempDir, schema: &str) -> std::path::PathBuf {
    let row = format!("'{}'", "x".repeat(200));
    let mut text = format!(
        "-- MySQL dump 10.13\n-- Host: x    Database: {schema}\nSET FOREIGN_KEY_CHECKS=0;\n\
                            CREATE TABLE `t` (`id` int, `c` varchar(255), KEY (`id`)) ENGINE=InnoDB;\n"
    );
    for statement in 0..400 {
        let rows: Vec<_> = (0..1000).map(|id| format!("({},{row})", statement * 1000 + id)).collect();
        text += &format!("INSERT INTO `t` VALUES {};\n", rows.join(","));
    }
    written(dir, "large.sql", (text + "-- Dump completed\n").as_bytes())
}

fn begin(server: &Server, path: &std::path::Path, schema: &str) -> Running {
    let mut restore = Running::start(&mut restore(server, path, "--threads 2"));
    let tablespace = server.datadir().join(schema).join("t.ibd");
    let size = || fs::metadata(&tablespace).map_or(0, |file| file.len());
    restore.freeze_when("the server has some megabytes of rows", || size() > 8 << 20);
    restore
}

fn interrupted(flavour: Flavour) {
    let (_, target) = servers(flavour);
    let dir = tempfile::tempdir().unwrap();
    let restore = begin(target, &large(&dir, "fl_interrupted"), "fl_interrupted");
    restore.signal("INT");
    restore.signal("CONT");
    restore.finish().refused(&["stopped", "--drop-existing"]);
}

fn server_killed(flavour: Flavour) {
    let mut server = start(flavour, &[]);
    let dir = tempfile::tempdir().unwrap();
    let restore = begin(&server, &large(&dir, "fl_killed"), "fl_killed");
    server.kill();
    restore.signal("CONT");
    restore.finish().refused(&["large.sql", "lost", "in part: `fl_killed`.`t`"]);
}
