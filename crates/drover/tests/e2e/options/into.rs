//! `--into` and `--drop-existing`: where a restore goes.

use drover_sandbox::{Flavour, Server};

use crate::client::{run_script, sql, value};
use crate::compare;
use crate::drover::{dump, restore, run, verify};
use crate::servers::{on_both, source, target};

on_both!(two_schemas_renamed, one_of_two_renamed, beside_the_original, existing_objects_are_replaced);

/// Two schemas whose objects name each other in every way.
fn make(server: &Server, a: &str, b: &str) {
    let script = format!(
        "CREATE DATABASE {a}; CREATE DATABASE {b};
         CREATE TABLE {b}.parent (id INT PRIMARY KEY, {a} INT); INSERT INTO {b}.parent VALUES (1, 10), (2, 20);
         CREATE TABLE {a}.child (id INT PRIMARY KEY, parent INT,
           CONSTRAINT fk FOREIGN KEY (parent) REFERENCES {b}.parent (id));
         INSERT INTO {a}.child VALUES (1, 1), (2, 2), (3, NULL);
         CREATE TABLE {a}.{a} (id INT PRIMARY KEY, note VARCHAR(60) DEFAULT '{a}.child');
         INSERT INTO {a}.{a} (id) VALUES (7);
         CREATE TABLE {b}.log (id INT AUTO_INCREMENT PRIMARY KEY, what VARCHAR(60));
         CREATE VIEW {b}.joined AS SELECT child.id, parent.{a}, {a}.{a}.note
           FROM {a}.child JOIN {b}.parent ON parent.id = child.parent JOIN {a}.{a};
         DELIMITER //
         CREATE FUNCTION {a}.count_children() RETURNS INT READS SQL DATA RETURN (SELECT COUNT(*) FROM {a}.child)//
         CREATE PROCEDURE {b}.note_it()
         BEGIN
           DECLARE {a} INT;
           SET {a} = {a}.count_children();
           INSERT INTO {b}.log (what) VALUES (CONCAT('{a}.child: ', {a}));
         END//
         CREATE TRIGGER {a}.after_child AFTER INSERT ON {a}.child FOR EACH ROW CALL {b}.note_it()//
         CREATE EVENT {a}.later ON SCHEDULE AT '2037-01-01 00:00:00' DISABLE DO DELETE FROM {b}.log//
         DELIMITER ;"
    );
    run_script(server, None, script.as_bytes()).unwrap();
}

/// That the restored objects work, and with each other.
fn assert_alive(server: &Server, a: &str, b: &str) {
    assert_eq!(sql(server, format!("SELECT id FROM {b}.joined ORDER BY id")).len(), 2);
    sql(server, format!("INSERT INTO {a}.child VALUES (4, 1)"));
    assert!(value(server, format!("SELECT what FROM {b}.log")).ends_with(": 4"));
    let orphan = crate::client::try_sql(server, &format!("INSERT INTO {a}.child VALUES (5, 99)"));
    assert!(orphan.unwrap_err().contains("foreign key"));
}

fn two_schemas_renamed(flavour: Flavour) {
    let (source, target, dir) = (source(flavour), target(flavour), tempfile::tempdir().unwrap());
    make(source, "into_a", "into_b");
    run(&mut dump(source, "into_a into_b", dir.path())).done();
    let into = "--into into_a=new_a --into into_b=new_b";
    run(&mut restore(target, dir.path(), into)).done();
    run(&mut verify(target, dir.path(), into)).done();
    let there = "SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME IN ('into_a', 'into_b')";
    assert_eq!(value(target, there), "0");
    for (old, new) in [("into_a", "new_a"), ("into_b", "new_b")] {
        compare::assert_same(&compare::rows(source, old), &compare::rows(target, new));
    }
    for schema in ["new_a", "new_b"] {
        let definitions = format!("{:?}", compare::everything(target, schema));
        assert!(!definitions.contains("into_b"), "the old name is left somewhere: {definitions}");
    }
    assert_alive(target, "new_a", "new_b");
    assert_eq!(value(target, "SELECT note FROM new_a.into_a"), "into_a.child", "a text is no name");
}

fn one_of_two_renamed(flavour: Flavour) {
    let (source, target, dir) = (source(flavour), target(flavour), tempfile::tempdir().unwrap());
    make(source, "half_a", "half_b");
    run(&mut dump(source, "half_a half_b", dir.path())).done();
    run(&mut restore(target, dir.path(), "--into half_a=other_a")).done();
    assert_alive(target, "other_a", "half_b");
}

fn beside_the_original(flavour: Flavour) {
    let (server, dir) = (source(flavour), tempfile::tempdir().unwrap());
    make(server, "beside_a", "beside_b");
    let before = ["beside_a", "beside_b"].map(|schema| compare::everything(server, schema));
    run(&mut dump(server, "beside_a beside_b", dir.path())).done();
    run(&mut restore(server, dir.path(), "--into beside_a=copy_a --into beside_b=copy_b")).done();
    assert_alive(server, "copy_a", "copy_b");
    let after = ["beside_a", "beside_b"].map(|schema| compare::everything(server, schema));
    before.iter().zip(&after).for_each(|(before, after)| compare::assert_same(before, after));
}

fn existing_objects_are_replaced(flavour: Flavour) {
    let (source, target, dir) = (source(flavour), target(flavour), tempfile::tempdir().unwrap());
    make(source, "drop_a", "drop_b");
    run(&mut dump(source, "drop_a drop_b", dir.path())).done();
    make(target, "drop_a", "drop_b");
    sql(
        target,
        "DELETE FROM drop_a.child; ALTER TABLE drop_b.log ADD COLUMN more INT;
         DROP VIEW drop_b.joined; CREATE TABLE drop_b.joined (id INT);
         CREATE TABLE drop_a.mine (id INT PRIMARY KEY); INSERT INTO drop_a.mine VALUES (1);
         DROP FUNCTION drop_a.count_children; CREATE FUNCTION drop_a.count_children() RETURNS INT NO SQL RETURN 0",
    );
    run(&mut restore(target, dir.path(), "--drop-existing")).done();
    assert_eq!(value(target, "SELECT COUNT(*) FROM drop_a.mine"), "1", "what the dump does not hold stays");
    sql(target, "DROP TABLE drop_a.mine");
    for schema in ["drop_a", "drop_b"] {
        compare::assert_same(&compare::everything(source, schema), &compare::everything(target, schema));
    }
}
