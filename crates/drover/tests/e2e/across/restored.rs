//! Restores across vendors: refused before anything is changed, or whole but for what is named.

use super::{DOCUMENTS, assert_no_scratch, both, make};
use crate::client::{sql, try_sql, value};
use crate::compare;
use crate::drover::{dump, restore, run, verify};

/// What MySQL cannot hold: nothing is changed without leave, and with it the rest is there.
#[test]
fn from_mariadb() {
    let Some([source, target]) = both() else { return };
    let dir = tempfile::tempdir().unwrap();
    make(
        &source,
        "moved",
        "SET sql_mode = 'NO_AUTO_CREATE_USER,STRICT_ALL_TABLES'; SET NAMES utf8mb4 COLLATE utf8mb4_uca1400_ai_ci;
         CREATE SEQUENCE numbers START WITH 41; DO NEXTVAL(numbers);
         CREATE TABLE plain (id INT NOT NULL DEFAULT NEXTVAL(moved.numbers) PRIMARY KEY, u UUID, a INET6, j JSON,
           t TEXT DEFAULT CONCAT('a', 'b')) ENGINE = Aria PAGE_CHECKSUM = 0;
         INSERT INTO plain VALUES (1, 'f47ac10b-58cc-4372-a567-0e02b2c3d479', '::1', '{\"b\":  1, \"a\": 2}', 'x');
         CREATE TABLE versioned (id INT PRIMARY KEY, v INT) WITH SYSTEM VERSIONING;
         INSERT INTO versioned VALUES (1, 1), (2, 2); UPDATE versioned SET v = 10 WHERE id = 1;
         DELETE FROM versioned WHERE id = 2; INSERT INTO versioned VALUES (3, 3);
         CREATE PROCEDURE p() SELECT 1;
         CREATE VIEW history AS SELECT * FROM versioned FOR SYSTEM_TIME ALL;
         CREATE VIEW living AS SELECT id FROM plain",
    );
    run(&mut dump(&source, "moved", dir.path())).done();
    let there = "SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = 'moved'";
    run(&mut restore(&target, dir.path(), "")).refused(&[
        "nothing was changed",
        "sequence `moved`.`numbers`: MySQL has no sequences; the next value that is not cached is",
        "view `moved`.`history`",
        "--skip-refused",
    ]);
    assert_eq!(value(&target, there), "0");
    assert_no_scratch(&target);

    let output = run(&mut restore(&target, dir.path(), "--skip-refused")).found(&[
        "refused   sequence `moved`.`numbers`",
        "verified  identical",
        "refused   view `moved`.`history`",
    ]);
    for warning in [
        "table `moved`.`versioned`: history (rows: 2) is left out",
        "DEFAULT nextval(",
        "uuid becomes char(36)",
    ] {
        assert!(output.stderr.contains(warning), "no word of {warning:?}: {output}");
    }
    assert_eq!(compare::across(&source, &target, "moved"), [""; 0]);
    assert_eq!(
        value(&target, "SELECT GROUP_CONCAT(id, '=', v ORDER BY id) FROM moved.versioned"),
        "1=10,3=3"
    );
    assert_eq!(value(&target, "SELECT j FROM moved.plain"), "{\"b\":  1, \"a\": 2}");
    sql(&target, "CALL moved.p(); SELECT * FROM moved.living");
    assert!(
        try_sql(&target, "INSERT INTO moved.plain (u) VALUES (NULL)").is_err(),
        "no value for id is loud"
    );
    // What was left out is not there, nor what somebody drops: definitions that are written otherwise are at least looked for.
    let verified = run(&mut verify(&target, dir.path(), "")).found(&["1 difference", "`moved`.`history`"]);
    assert!(!verified.stdout.contains("living"), "{verified}");
    sql(&target, "DROP PROCEDURE moved.p; DROP VIEW moved.living");
    run(&mut verify(&target, dir.path(), "")).found(&["3 differences", "`moved`.`p`", "`moved`.`living`"]);
    // No row of the dump tells of a column more.
    sql(&target, "ALTER TABLE moved.plain ADD COLUMN more INT, ADD COLUMN counted INT AS (more + 1)");
    run(&mut verify(&target, dir.path(), ""))
        .found(&["`moved`.`plain`: it has a column `more` that the dump does not have"]);
}

/// The other way round, and back again.
#[test]
fn from_mysql_and_back() {
    let Some([mariadb, mysql]) = both() else { return };
    let (there, back) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    make(
        &mysql,
        "round",
        "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(40), j JSON, hidden INT DEFAULT 7 INVISIBLE,
           g INT AS (id + 1) STORED NOT NULL, UNIQUE KEY (name), KEY skipped (id, name) INVISIBLE,
           CONSTRAINT c CHECK (name REGEXP '^[a-zÄ]'));
         INSERT INTO t (id, name, j) VALUES (1, 'a', '{\"k\": [1, 2.5, \"é\"]}'), (2, 'a ', 'null'), (3, 'Ärger', NULL);
         CREATE VIEW v AS SELECT name COLLATE utf8mb4_0900_as_cs AS name FROM t WHERE name REGEXP 'a';
         CREATE TRIGGER tr BEFORE INSERT ON t FOR EACH ROW SET NEW.name = LOWER(NEW.name)",
    );
    run(&mut dump(&mysql, "round", there.path())).done();
    run(&mut restore(&mariadb, there.path(), "")).done();
    run(&mut verify(&mariadb, there.path(), "")).done();
    assert_eq!(compare::across(&mysql, &mariadb, "round"), [""; 0]);
    let columns = "SELECT GROUP_CONCAT(COLUMN_NAME) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'round' AND \
                   TABLE_NAME = 't' AND EXTRA LIKE '%INVISIBLE%'";
    assert_eq!(value(&mariadb, columns), "hidden");
    assert_eq!(value(&mariadb, "SELECT COUNT(*) FROM round.v"), "2");

    run(&mut dump(&mariadb, "round", back.path())).done();
    run(&mut restore(&mysql, back.path(), "--into round=again")).done();
    assert_eq!(value(&mysql, "SELECT COUNT(*) FROM again.t JOIN round.t USING (id, name)"), "3");
    assert_eq!(value(&mysql, "SELECT name FROM again.t WHERE id = 2"), "a ");
}

/// A dump holds documents as MySQL loads them: what MariaDB could have kept is a loss.
#[test]
fn documents_of_a_dump() {
    let Some([mariadb, mysql]) = both() else { return };
    let dir = tempfile::tempdir().unwrap();
    make(&mysql, "documents", DOCUMENTS);
    run(&mut dump(&mysql, "documents", dir.path())).done();
    let lost = "table `documents`.`t`: JSON with a DECIMAL inside (rows: 2) becomes a DOUBLE: a dump holds documents as MySQL loads them";
    let checked = run(&mut restore(&mariadb, dir.path(), "--check")).found(&[]);
    assert!(checked.to_string().contains(lost), "{checked}");
    let restored = run(&mut restore(&mariadb, dir.path(), "")).found(&["verified  identical"]);
    assert!(restored.stderr.contains(lost), "{restored}");
    assert_eq!(value(&mariadb, "SELECT j FROM documents.t WHERE id = 3"), "[1.1]");
}

/// Texts that the two vendors sort in another order, cut into many files: rows lie between other borders.
#[test]
fn keys_in_another_order() {
    let Some([mariadb, mysql]) = both() else { return };
    let rows = "WITH RECURSIVE s (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 599)
        SELECT CONCAT(ELT(1 + n % 6, 'a', 'Z', 'é', '_', '日', 'ß'), n), REPEAT('x', 400) FROM s";
    make(
        &mysql,
        "sorted",
        &format!("CREATE TABLE t (k VARCHAR(20) PRIMARY KEY, v TEXT); INSERT INTO t {rows}"),
    );
    let dir = tempfile::tempdir().unwrap();
    run(&mut dump(&mysql, "sorted --chunk-size 16k", dir.path())).done();
    run(&mut restore(&mariadb, dir.path(), "")).done();
    assert_eq!(compare::across(&mysql, &mariadb, "sorted"), [""; 0]);
    sql(&mariadb, "UPDATE sorted.t SET v = 'y' WHERE k = 'a0'");
    run(&mut verify(&mariadb, dir.path(), ""))
        .found(&["`sorted`.`t`", "600 rows as in the dump, and not all of them the same"]);
    // Where the pieces differ all is read again, and counted once.
    let verified = run(&mut verify(&mariadb, dir.path(), "--json")).found(&[]);
    assert_eq!(verified.json()["rows"], 600, "{verified}");
}
