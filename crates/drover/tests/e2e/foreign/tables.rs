//! Directories of one script a table.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use drover_sandbox::{Flavour, Server};

use super::{count, create_schema, drop_schema, mysqldump, restored, servers};
use crate::client::{sql, value};
use crate::compare;
use crate::drover::{restore, run};
use crate::files::gzip;
use crate::servers::{on_both, start};

on_both!(
    a_directory_a_schema,
    all_in_one_directory,
    rows_in_another_file,
    with_tab,
    rows_that_are_missing,
    files_that_are_there_twice,
    parts_that_are_not_read
);

fn make(server: &Server, schema: &str) {
    let script = format!(
        "CREATE DATABASE {schema} CHARACTER SET utf8mb4; USE {schema};
         CREATE TABLE parent (id INT PRIMARY KEY, note TEXT, j JSON);
         INSERT INTO parent VALUES (1, 'a\\tb\\nc\\\\ ''\"', '{{\"a\": [1, \"\\u00e9\"]}}'), (2, NULL, NULL), (3, '', '7');
         CREATE TABLE a (id INT PRIMARY KEY, parent INT, twice INT AS (id * 2), t TIMESTAMP NULL, raw VARBINARY(20),
           CONSTRAINT fk_{schema} FOREIGN KEY (parent) REFERENCES parent (id));
         INSERT INTO a (id, parent, t, raw) VALUES (7, 1, '2020-01-01 00:00:00', X'00FF0A095C'), (9, NULL, NULL, NULL);
         CREATE TABLE nothing (id INT PRIMARY KEY);
         CREATE VIEW z_view AS SELECT id FROM a;
         CREATE VIEW a_view AS SELECT id FROM z_view;
         DELIMITER //
         CREATE TRIGGER t BEFORE INSERT ON a FOR EACH ROW BEGIN SET NEW.parent = 3; END//
         DELIMITER ;"
    );
    crate::client::run_script(server, None, script.as_bytes()).unwrap();
}

const TABLES: [&str; 5] = ["parent", "a", "nothing", "z_view", "a_view"];

/// `SCHEMA/table.sql.gz`, in two schemas.
fn a_directory_a_schema(flavour: Flavour) {
    let (source, target) = servers(flavour);
    let dir = tempfile::tempdir().unwrap();
    for schema in ["tb_one", "tb_two"] {
        make(source, schema);
        create_schema(target, schema);
        fs::create_dir(dir.path().join(schema)).unwrap();
        for table in TABLES {
            // Only the directory tells the schema.
            let script = mysqldump(source, &format!("--skip-comments {schema} {table}"));
            fs::write(dir.path().join(schema).join(format!("{table}.sql.gz")), gzip(&script)).unwrap();
        }
    }
    fs::write(dir.path().join("notes.txt"), "mine").unwrap();
    let output = restored(target, dir.path(), "");
    assert!(output.stderr.contains("left out:") && output.stderr.contains("notes.txt"), "{output}");
    for schema in ["tb_one", "tb_two"] {
        compare::assert_same(&compare::everything(source, schema), &compare::everything(target, schema));
    }
    run(&mut restore(target, dir.path(), "")).refused(&["already has", "tb_one"]);
    restored(target, dir.path(), "--drop-existing");
    restored(target, dir.path(), "--into tb_one=tb_three --into tb_two=tb_four");
    compare::assert_same(&compare::rows(source, "tb_one"), &compare::rows(target, "tb_three"));
}

/// `schema-table.sql`, as mysqlpdump names them; the head of each tells the schema.
fn all_in_one_directory(flavour: Flavour) {
    let (source, target) = servers(flavour);
    let dir = tempfile::tempdir().unwrap();
    make(source, "tb_flat");
    create_schema(target, "tb_flat");
    for table in TABLES {
        let script = mysqldump(source, &format!("--skip-lock-tables tb_flat {table}"));
        fs::write(dir.path().join(format!("tb_flat-{table}.sql")), script).unwrap();
    }
    fs::write(
        dir.path().join("00_master_data.sql"),
        "CHANGE MASTER TO MASTER_HOST='x', MASTER_PASSWORD='secret-word';\n",
    )
    .unwrap();
    let output = restored(target, dir.path(), "--threads 3");
    assert!(output.stderr.contains("CHANGE MASTER") && !output.stderr.contains("secret-word"), "{output}");
    compare::assert_same(&compare::everything(source, "tb_flat"), &compare::everything(target, "tb_flat"));
}

/// Rows beside the definition, in files that come first by name.
fn rows_in_another_file(flavour: Flavour) {
    let (_, target) = servers(flavour);
    let (dir, schema) = (tempfile::tempdir().unwrap(), "tb_apart");
    create_schema(target, schema);
    fs::create_dir(dir.path().join(schema)).unwrap();
    let write = |name: &str, text: &str| fs::write(dir.path().join(schema).join(name), text).unwrap();
    write("t.sql", "DROP TABLE IF EXISTS `t`;\nCREATE TABLE `t` (id INT PRIMARY KEY);\n");
    write("data.1.sql", "INSERT INTO `t` VALUES (1), (2);\n");
    write("data.2.sql", "INSERT INTO `t` VALUES (3);\n");
    let output = restored(target, dir.path(), "");
    assert!(output.stdout.contains("3 rows"), "{output}");
    write("u.sql", "CREATE TRIGGER tr BEFORE INSERT ON t FOR EACH ROW SET NEW.id = 7;\n");
    run(&mut restore(target, dir.path(), "--drop-existing")).refused(&["data.1.sql", "trigger"]);
    assert_eq!(count(target, "tb_apart.t"), 3, "nothing was changed");
}

/// `mysqldump --tab`: rows in text files beside the scripts. The trigger must not see them.
fn with_tab(flavour: Flavour) {
    let (_, target) = servers(flavour);
    create_schema(target, "tb_tab");
    // A server writes only where it was told to at its start.
    let private = start(flavour, &["--secure-file-priv="]);
    make(&private, "tb_tab");
    let tab = tempfile::tempdir().unwrap();
    fs::set_permissions(tab.path(), fs::Permissions::from_mode(0o777)).unwrap();
    mysqldump(&private, &format!("--tab={} tb_tab", tab.path().display()));
    let options = "--enable-local-infile";
    let output = restored(target, tab.path(), options);
    assert!(output.stdout.contains("5 rows"), "{output}");
    compare::assert_same(&compare::everything(&private, "tb_tab"), &compare::everything(target, "tb_tab"));
    // A line that is cut off is a warning of the server, and found.
    let rows = tab.path().join("a.txt");
    let text = fs::read(&rows).unwrap();
    fs::write(&rows, [&text[..], b"11"].concat()).unwrap();
    sql(target, "DROP DATABASE tb_tab");
    // Rows beside a script that creates no table would be lost.
    let stray = tab.path().join("a_view.txt");
    fs::write(&stray, "1\n").unwrap();
    run(&mut restore(target, tab.path(), options)).refused(&["a_view.txt", "does not create just one table"]);
    fs::remove_file(stray).unwrap();
    sql(target, "DROP DATABASE tb_tab");
    run(&mut restore(target, tab.path(), options)).found(&["warned"]);
}

fn is_there(server: &Server, schema: &str) -> bool {
    let sql = format!("SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = '{schema}'");
    value(server, sql) != "0"
}

/// A directory of `mysqldump --tab` that lost a file of rows; each base table has one, an empty table an empty one.
fn rows_that_are_missing(flavour: Flavour) {
    let (_, target) = servers(flavour);
    let (dir, schema) = (tempfile::tempdir().unwrap(), "tb_lost");
    let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
    write("t.sql", "CREATE TABLE `t` (id INT PRIMARY KEY);\n");
    write("u.sql", "CREATE TABLE `u` (id INT PRIMARY KEY);\n");
    write("u.txt", "1\n2\n");
    write("v.sql", "CREATE VIEW `v` AS SELECT id FROM `u`;\n");
    let restore = || {
        let mut command = restore(target, dir.path(), "--enable-local-infile");
        command.args(["--url", &format!("mysql:///{schema}")]);
        run(&mut command)
    };
    restore().refused(&["t.txt: the rows of `tb_lost`.`t` are missing", "make an empty file of that name"]);
    assert!(!is_there(target, schema), "the target was changed");
    write("t.txt", "");
    let output = restore().done();
    assert!(output.stdout.contains("2 rows"), "{output}");
    drop_schema(target, schema);
}

/// Packed beside unpacked, and a schema's whole dump beside a directory of its tables: rows would be loaded twice, or dropped amid it.
fn files_that_are_there_twice(flavour: Flavour) {
    let (_, target) = servers(flavour);
    let (dir, schema) = (tempfile::tempdir().unwrap(), "tb_twice");
    let below = dir.path().join(schema);
    fs::create_dir(&below).unwrap();
    let rows = "INSERT INTO `t` VALUES (1), (2);\n";
    fs::write(below.join("a.sql"), "DROP TABLE IF EXISTS `t`;\nCREATE TABLE `t` (id INT);\n").unwrap();
    fs::write(below.join("b.sql"), rows).unwrap();
    fs::write(below.join("b.sql.gz"), gzip(rows.as_bytes())).unwrap();
    run(&mut restore(target, dir.path(), ""))
        .refused(&["b.sql and ", "b.sql.gz: one file of the dump, there twice"]);
    fs::remove_file(below.join("b.sql.gz")).unwrap();
    let whole = format!("USE {schema};\nDROP TABLE IF EXISTS t;\nCREATE TABLE t (id INT);\n{rows}");
    fs::write(dir.path().join("tb_twice.sql"), whole).unwrap();
    run(&mut restore(target, dir.path(), "")).refused(&[
        "`tb_twice`.`t` is made twice",
        "tb_twice.sql, line 3",
        "a.sql, line 2",
    ]);
    assert!(!is_there(target, schema), "the target was changed");
    fs::remove_file(dir.path().join("tb_twice.sql")).unwrap();
    restored(target, dir.path(), "");
    assert_eq!(count(target, "tb_twice.t"), 2);
    drop_schema(target, schema);
}

/// Pieces, files that were not written to their end, and other kinds of compression.
fn parts_that_are_not_read(flavour: Flavour) {
    let (_, target) = servers(flavour);
    let (dir, schema) = (tempfile::tempdir().unwrap(), "tb_parts");
    let below = dir.path().join(schema);
    fs::create_dir(&below).unwrap();
    fs::write(below.join("a.sql"), "CREATE TABLE `t` (id INT);\n").unwrap();
    for name in ["b.sql.00", "b.sql.partial", "b.sql.xz"] {
        fs::write(below.join(name), "INSERT INTO `t` VALUES (1);\n").unwrap();
        run(&mut restore(target, dir.path(), "")).refused(&[name, "a part of the dump, and cannot be read"]);
        fs::remove_file(below.join(name)).unwrap();
    }
    assert!(!is_there(target, schema), "the target was changed");
    // The last piece of what `split` made of a script: a whole number of statements, by chance.
    let piece = "CREATE TABLE `t` (id INT);\n-- Dump completed on 2026-01-01\n";
    fs::write(below.join("a.sql"), piece).unwrap();
    run(&mut restore(target, dir.path(), "")).refused(&[
        "a.sql: the dump is not whole",
        "not the first",
        "cat PIECE",
    ]);
}
