//! Definitions that a target of another vendor or version takes in other words, or with little less: neither a whole table nor a whole
//! schema is refused for it.

use drover_sandbox::{Flavour, Server};

use crate::across::both_with_mariadb_11;
use crate::client::{sql as ask, value};
use crate::drover::{Output, copy, run, verify};
use crate::reach::{old, sql};
use crate::servers::{is_wanted, is_wanted_of, start, start_mariadb_11};

/// A copy in which nothing is refused, and these are lost.
fn copied(source: &Server, target: &Server, schema: &str, lost: &[&str]) -> Output {
    let dir = tempfile::tempdir().unwrap();
    let output = run(&mut copy(source, target, schema, dir.path()));
    for words in lost {
        assert!(output.stderr.contains(words), "{words}: {output}");
    }
    assert!(output.stdout.contains("verified  identical") && !output.stderr.contains("refused"), "{output}");
    let verified = run(&mut verify(target, dir.path(), ""));
    if lost.is_empty() {
        verified.done();
    } else {
        verified.found(&["not copied: "]);
    }
    output
}

/// All that the target takes is made, and all else told with a reason of its own.
#[test]
fn two_keys_that_are_refused() {
    if !is_wanted(Flavour::MySql) {
        return;
    }
    let (source, target) = (start(Flavour::MySql, &[]), old("mysql-5.7", Flavour::MySql));
    ask(
        &source,
        "CREATE DATABASE d CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci; USE d;
         CREATE TABLE t (id INT PRIMARY KEY, mail VARCHAR(50), login VARCHAR(50), UNIQUE KEY um (mail), UNIQUE KEY ul (login),
           KEY f ((LOWER(mail))), KEY g ((LOWER(login))));
         CREATE TABLE numbered (id INT AUTO_INCREMENT, w VARCHAR(9), KEY f ((LOWER(w))), KEY g ((UPPER(w))), KEY (id), KEY w (w))",
    );
    let output = copied(
        &source,
        &target,
        "d",
        &["near '(lower(`mail`))", "near '(lower(`login`))", "near '(upper(`w`))"],
    );
    assert!(!output.stderr.contains("KEY `um`"), "{output}");
    let keys = "SELECT GROUP_CONCAT(DISTINCT INDEX_NAME ORDER BY 1) FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = 'd' \
                GROUP BY TABLE_NAME ORDER BY 1";
    assert_eq!(sql(&target, "d", keys), [["id,w"], ["PRIMARY,ul,um"]]);
}

#[test]
fn two_constraints_that_are_refused() {
    let Some([source, target]) = both_with_mariadb_11() else { return };
    ask(
        &source,
        "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, w INT, j JSON, CHECK (SFORMAT('{}', w) <> '1'), CHECK (w > 0),
           CHECK (JSON_DETAILED(j) <> '1'))",
    );
    copied(&source, &target, "d", &["function: `sformat`", "function: `json_detailed`"]);
    let checks = "SELECT COUNT(*) FROM information_schema.CHECK_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = 'd'";
    // That of the JSON, too.
    assert_eq!(value(&target, checks), "2");
}

/// Also those that a copy itself has switched off, which goes back.
#[test]
fn events_that_are_off_as_on_a_replica() {
    if !is_wanted(Flavour::MySql) {
        return;
    }
    let source = start(Flavour::MySql, &[]);
    ask(
        &source,
        "CREATE DATABASE d CHARACTER SET utf8mb3; USE d;
         CREATE EVENT off ON SCHEDULE EVERY 1 DAY DISABLE ON REPLICA COMMENT 'DISABLE ON REPLICA' DO SET @a = 'DISABLE ON REPLICA'",
    );
    let of_its_collation: &[&str] = &["utf8mb4_0900_ai_ci becomes utf8mb4_unicode_520_ci"];
    for (name, flavour, lost) in [
        ("mysql-8.0", Flavour::MySql, &[][..]),
        ("mysql-5.7", Flavour::MySql, of_its_collation),
        ("mariadb-10.2", Flavour::MariaDb, &[]),
    ] {
        if !is_wanted(flavour) {
            continue;
        }
        let target = old(name, flavour);
        copied(&source, &target, "d", lost);
        let event = "SELECT STATUS, EVENT_COMMENT, EVENT_DEFINITION FROM information_schema.EVENTS WHERE EVENT_SCHEMA = 'd'";
        assert_eq!(
            sql(&target, "d", event),
            [["SLAVESIDE_DISABLED", "DISABLE ON REPLICA", "SET @a = 'DISABLE ON REPLICA'"]],
            "{name}"
        );
    }
}

#[test]
fn a_comment_on_a_schema() {
    if !is_wanted(Flavour::MariaDb) {
        return;
    }
    let (source, target) = (start_mariadb_11(&[]), old("mariadb-10.2", Flavour::MariaDb));
    ask(
        &source,
        "CREATE DATABASE d CHARACTER SET latin1 COMMENT 'orders'; CREATE TABLE d.t (id INT PRIMARY KEY)",
    );
    copied(
        &source,
        &target,
        "d",
        &["schema `d`: COMMENT 'orders' is left out: MariaDB has comments on schemas from 10.5 on"],
    );
}

/// Texts are kept as bytes, whether their column, their table or their schema names the character set.
#[test]
fn a_character_set_that_the_target_lacks() {
    let Some([mariadb, source]) = both_with_mariadb_11() else { return };
    ask(
        &source,
        "CREATE DATABASE d CHARACTER SET gb18030; USE d; SET NAMES utf8mb4;
         CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(9) COLLATE gb18030_bin, c CHAR(3) NOT NULL DEFAULT 'é', x TEXT, e ENUM('中', 'a'),
           s SET('中', 'a'), n INT, l VARCHAR(9) CHARACTER SET latin1, u VARCHAR(9) CHARACTER SET utf8mb4, KEY (v));
         INSERT INTO t VALUES (1, '中', 'é', '中文', '中', '中,a', 1, 'é', '中'), (2, 'a', 'b', NULL, 'a', '', 2, NULL, NULL);
         CREATE TABLE keyed (v VARCHAR(9) PRIMARY KEY, e ENUM('b', 'a')); INSERT INTO keyed VALUES ('é', 'a'), ('中', 'b'), ('a', NULL)",
    );
    let told = [
        "schema `d`: CHARACTER SET gb18030 becomes CHARACTER SET utf8mb4: the target does not know",
        "and 1 more: CHARSET=gb18030 becomes CHARACTER SET utf8mb4: ",
        "enum('中','a') CHARACTER SET gb18030 becomes varbinary(4): ",
        "set('中','a') CHARACTER SET gb18030 becomes varbinary(10): ",
    ];
    let rows = "SELECT id, HEX(v), HEX(c), HEX(x), HEX(CONCAT(e)), HEX(CONCAT(s)), n, HEX(l), HEX(u) FROM t ORDER BY id";
    let as_bytes = rows.replace("CONCAT(e)", "BINARY e").replace("CONCAT(s)", "BINARY s");
    let mut targets = vec![mariadb];
    targets.extend(is_wanted_of(Flavour::MySql, "mysql-5.6").then(|| old("mysql-5.6", Flavour::MySql)));
    for target in &targets {
        copied(&source, target, "d", &told);
        assert_eq!(sql(target, "d", rows), sql(&source, "d", &as_bytes));
        let sets =
            "SELECT DEFAULT_CHARACTER_SET_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = 'd'";
        assert_eq!(sql(target, "d", sets), [["utf8mb4"]]);
    }
}
