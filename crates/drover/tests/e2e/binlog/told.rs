//! What a dry run says is what a replay meets: on a server of the other vendor, and on one that has less than the logs' server.

use drover_sandbox::{Flavour, Server};

use super::sql::logged;
use crate::client::{sql, value};
use crate::drover::{drover_on, run};
use crate::reach;
use crate::servers::{is_wanted, on_both, start_mariadb_11, start_unsynced};

on_both!(schemas_and_definers_that_are_missing, names_with_quotes, tables_made_of_a_select);

const LOGS: [&str; 2] = ["--log-bin", "--binlog-format=ROW"];

/// Both say that all is well, and it is.
fn agree(source: &Server, target: &Server, work: &str, question: &str) {
    let logs = logged(source, || drop(sql(source, work)));
    run(drover_on(target, "binlog replay --restart --dry-run").args(&logs)).done();
    run(drover_on(target, "binlog replay --restart").args(&logs)).done();
    assert_eq!(sql(target, question), sql(source, question));
}

/// Both say the same of it.
fn refuse(source: &Server, target: &Server, work: &str, words: &[&str]) {
    let logs =
        logged(source, || drop(sql(source, format!("DROP DATABASE IF EXISTS d; CREATE DATABASE d; {work}"))));
    run(drover_on(target, "binlog replay --restart --dry-run").args(&logs)).found(words);
    run(drover_on(target, "binlog replay --restart").args(&logs)).refused(words);
}

/// Starts a source and a target of these vendors.
type Start<'a> = dyn Fn(Flavour, Flavour) -> (Server, Server) + 'a;

fn with_both(test: fn(&Start<'_>)) {
    if is_wanted(Flavour::MariaDb) && is_wanted(Flavour::MySql) {
        test(&|from, to| (start_unsynced(from, &LOGS), start_unsynced(to, &[])));
    }
}

/// MySQL lets no session set explicit_defaults_for_timestamp within a transaction, and MariaDB logs it with every statement.
#[test]
fn statements_within_transactions() {
    with_both(|servers| {
        let (source, target) = servers(Flavour::MariaDb, Flavour::MySql);
        let work = "CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY, at TIMESTAMP);
            START TRANSACTION; INSERT INTO t VALUES (1, '2020-01-01'); SAVEPOINT s; INSERT INTO t VALUES (2, '2020-01-01');
              ROLLBACK TO s; INSERT INTO t VALUES (3, '2020-01-01'); COMMIT;
            SET SESSION binlog_format = STATEMENT; START TRANSACTION; INSERT INTO t VALUES (4, '2020-01-01');
              CREATE TEMPORARY TABLE x (id INT, at TIMESTAMP); INSERT INTO x VALUES (5, '2020-01-02'); INSERT INTO t SELECT * FROM x; COMMIT;
            SET SESSION binlog_format = ROW; XA START 'a'; INSERT INTO t VALUES (6, '2020-01-01'); SAVEPOINT s; INSERT INTO t VALUES (7, '2020-01-01');
              XA END 'a'; XA PREPARE 'a'; XA COMMIT 'a'";
        agree(&source, &target, work, "SELECT id FROM d.t ORDER BY id");
    });
}

/// CREATE TABLE … SELECT is one transaction in MySQL's logs; documents in it are text on MariaDB.
#[test]
fn tables_that_are_made_with_their_rows() {
    with_both(|servers| {
        let (source, target) = servers(Flavour::MySql, Flavour::MariaDb);
        let work = "CREATE DATABASE d COLLATE utf8mb4_general_ci; USE d; CREATE TABLE a (id INT PRIMARY KEY, j JSON);
            INSERT INTO a VALUES (1, '{\"a\": [1, \"x\"]}'), (2, NULL); CREATE TABLE b (PRIMARY KEY (id)) AS SELECT * FROM a;
            CREATE TABLE c AS SELECT id FROM a; INSERT INTO b VALUES (3, '[]'); INSERT INTO c VALUES (3)";
        agree(&source, &target, work, "SELECT * FROM d.b ORDER BY id; SELECT * FROM d.c ORDER BY id");
    });
}

/// What MariaDB calls JSON is text, also in a table that the logs make.
#[test]
fn documents_in_tables_of_the_logs() {
    with_both(|servers| {
        let (source, target) = servers(Flavour::MariaDb, Flavour::MySql);
        let work = "CREATE DATABASE d COLLATE utf8mb4_general_ci; USE d; CREATE TABLE t (id INT PRIMARY KEY, j JSON NOT NULL);
            INSERT INTO t VALUES (1, '{\"b\": 1.0,  \"a\": 2}'); ALTER TABLE t ADD COLUMN k JSON AFTER id; UPDATE t SET k = '[1,2]' WHERE id = 1;
            INSERT INTO t VALUES (2, NULL, '1')";
        agree(&source, &target, work, "SELECT id, j, k FROM d.t ORDER BY id");
        let invalid = crate::client::try_sql(&target, "INSERT INTO d.t VALUES (3, NULL, 'no document')");
        assert!(invalid.is_err(), "the check is lost");
        // Where the column is MySQL's own, nothing of the kind can be sent.
        sql(&target, "ALTER TABLE d.t MODIFY k JSON");
        let logs = logged(&source, || drop(sql(&source, "UPDATE d.t SET k = '[3]' WHERE id = 2")));
        let words = ["rows of d.t: its column k is JSON on the target"];
        run(drover_on(&target, "binlog replay --restart --dry-run").args(&logs)).found(&words);
        run(drover_on(&target, "binlog replay --restart").args(&logs)).refused(&words);
        sql(&target, "ALTER TABLE d.t MODIFY k LONGTEXT");
        run(drover_on(&target, "binlog replay --restart").args(&logs)).done();
    });
}

/// Sessions of MariaDB 11, whose collations MySQL does not have.
#[test]
fn collations_of_mariadb_11() {
    if !(is_wanted(Flavour::MariaDb) && is_wanted(Flavour::MySql)) {
        return;
    }
    let (source, target) = (start_mariadb_11(&LOGS), start_unsynced(Flavour::MySql, &[]));
    let work = "SET NAMES utf8mb3 COLLATE utf8mb3_uca1400_ai_ci; SET collation_server = utf8mb3_uca1400_as_cs; CREATE DATABASE d;
        CREATE TABLE d.t (w VARCHAR(9)) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci; SET collation_server = latin1_swedish_nopad_ci;
        CREATE DATABASE e; SET collation_server = utf8mb4_uca1400_as_ci; CREATE DATABASE f;
        SET SESSION binlog_format = STATEMENT; SET @w = 'ä'; INSERT INTO d.t VALUES (@w), (CONCAT(@w, 'x'))";
    agree(&source, &target, work, "SET NAMES utf8mb4; SELECT w FROM d.t ORDER BY w");
    let collations = sql(
        &target,
        "SELECT DEFAULT_COLLATION_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME IN ('d', 'e', 'f') ORDER BY SCHEMA_NAME",
    );
    assert_eq!(collations.concat(), ["utf8mb3_bin", "latin1_swedish_ci", "utf8mb4_0900_as_ci"]);
}

#[test]
fn what_the_other_vendor_cannot_read() {
    with_both(|servers| {
        let (mariadb, mysql) = servers(Flavour::MariaDb, Flavour::MySql);
        for column in ["u UUID", "i INET6", "i INET4", "c TEXT COMPRESSED", "p INT AS (id) PERSISTENT"] {
            refuse(
                &mariadb,
                &mysql,
                &format!("CREATE TABLE d.t (id INT, {column})"),
                &["CREATE TABLE d.t", "1064"],
            );
        }
    });
    with_both(|servers| {
        let (mysql, mariadb) = servers(Flavour::MySql, Flavour::MariaDb);
        for (work, words) in [
            ("CREATE TABLE d.t (v VECTOR(2))", ["CREATE TABLE d.t", "4161"]),
            ("SET NAMES gb18030; CREATE TABLE d.t (id INT)", ["gb18030", "1115"]),
        ] {
            refuse(&mysql, &mariadb, work, &words);
        }
    });
}

/// What later versions of MySQL went without: plugins of accounts, functions. The logs' own functions are none of these.
#[test]
fn what_a_later_version_went_without() {
    if !is_wanted(Flavour::MySql) {
        return;
    }
    let (source, target) = (&reach::old("mysql-5.7", Flavour::MySql), &start_unsynced(Flavour::MySql, &[]));
    let newest =
        "SELECT COUNT(*) FROM information_schema.PLUGINS WHERE PLUGIN_NAME = 'mysql_native_password'";
    assert_eq!(value(target, newest), "0");
    let dry = |work: &str, words: &[&str]| {
        reach::sql(source, "mysql", "FLUSH LOGS");
        let logs = reach::sql(source, "mysql", "SHOW BINARY LOGS");
        reach::sql(source, "mysql", &format!("DROP DATABASE IF EXISTS d; CREATE DATABASE d; USE d; {work}"));
        reach::sql(source, "mysql", "FLUSH LOGS");
        let log = source.datadir().join(&logs.last().unwrap()[0]);
        sql(
            target,
            "DROP DATABASE IF EXISTS d; CREATE DATABASE d; CREATE TABLE d.t (w TEXT); CREATE TABLE d.u (w TEXT)",
        );
        let output = run(drover_on(target, "binlog replay --database d --dry-run").arg(log));
        if words.is_empty() { output.done() } else { output.found(words) }
    };
    let statements = "SET SESSION binlog_format = STATEMENT; CREATE TABLE t (w TEXT); CREATE TABLE u(w TEXT)";
    dry(
        &format!(
            "{statements}; INSERT INTO t(w) VALUES (ENCRYPT('a')); INSERT INTO u(w) SELECT ENCODE(w, 'p') FROM t"
        ),
        &["ENCRYPT does not exist", "ENCODE does not exist", "(error 1305"],
    );
    let function = "CREATE FUNCTION own() RETURNS INT DETERMINISTIC RETURN 1";
    dry(&format!("{statements}; {function}; INSERT INTO t(w) VALUES (own()), (CONCAT('a', 'b'))"), &[]);
    let account = "CREATE USER later@localhost IDENTIFIED BY 'x'";
    reach::sql(source, "mysql", "FLUSH LOGS");
    let logs = reach::sql(source, "mysql", "SHOW BINARY LOGS");
    reach::sql(source, "mysql", account);
    let log = source.datadir().join(&logs.last().unwrap()[0]);
    run(drover_on(target, "binlog replay --dry-run").arg(log)).found(&[
        "no plugin 'mysql_native_password'",
        "1524",
        "IDENTIFIED …",
    ]);
}

/// The schema of a session matters where a name is not qualified; a definer where what it defines is used.
fn schemas_and_definers_that_are_missing(flavour: Flavour) {
    let (source, target) = (start_unsynced(flavour, &LOGS), start_unsynced(flavour, &[]));
    let logs = logged(&source, || {
        sql(
            &source,
            "CREATE DATABASE el; CREATE DATABASE lg; CREATE TABLE lg.a (id INT PRIMARY KEY); INSERT INTO lg.a VALUES (1); USE el;
             CREATE VIEW lg.v AS SELECT COUNT(*) FROM lg.a; CREATE USER gone@localhost; GRANT ALL ON *.* TO gone@localhost",
        );
    });
    let own = "binlog replay --database lg";
    run(drover_on(&target, &format!("{own} --dry-run")).args(&logs)).done();
    run(drover_on(&target, own).args(&logs)).done();
    assert_eq!(value(&target, "SELECT * FROM lg.v"), "1");

    let logs = logged(&source, || {
        sql(
            &source,
            "USE el; CREATE TABLE b (id INT); CREATE VIEW lg.w AS SELECT * FROM b;
             CREATE DEFINER = gone@localhost TRIGGER lg.tr BEFORE INSERT ON lg.a FOR EACH ROW SET @a = 1;
             SET SESSION binlog_format = STATEMENT; INSERT INTO lg.a VALUES (2)",
        );
    });
    let told = run(drover_on(&target, &format!("{own} --dry-run --restart")).args(&logs)).found(&[
        "the session was in the schema el, which the target does not have",
        "'gone'@'localhost'",
        "(1449)",
    ]);
    assert!(!told.stdout.contains("'root'"), "{told}");
    run(drover_on(&target, &format!("{own} --restart")).args(&logs)).refused(&["1049", "el"]);
    sql(
        &target,
        "CREATE DATABASE el; CREATE TABLE el.b (id INT); CREATE USER gone@localhost; GRANT ALL ON *.* TO gone@localhost",
    );
    run(drover_on(&target, &format!("{own} --restart --dry-run")).args(&logs)).done();
    run(drover_on(&target, &format!("{own} --restart")).args(&logs)).done();
    assert_eq!(value(&target, "SELECT COUNT(*) FROM lg.a"), "2");
}

/// MySQL logs it as one transaction, with a clause that stands before the table's options.
fn tables_made_of_a_select(flavour: Flavour) {
    let (source, target) = (start_unsynced(flavour, &LOGS), start_unsynced(flavour, &[]));
    let work = "CREATE DATABASE d; USE d; CREATE TABLE a (id INT PRIMARY KEY, w VARCHAR(9)); INSERT INTO a VALUES (1, 'x'), (2, NULL);
        CREATE TABLE b ENGINE = InnoDB COMMENT 'START TRANSACTION' AS SELECT * FROM a;
        CREATE TABLE c (PRIMARY KEY (id)) PARTITION BY HASH (id) PARTITIONS 2 AS SELECT id FROM a; INSERT INTO c VALUES (3)";
    agree(&source, &target, work, "SELECT * FROM d.b ORDER BY id; SELECT * FROM d.c ORDER BY id");
}

/// Quotes in names are doubled in statements.
fn names_with_quotes(flavour: Flavour) {
    let (source, target) = (start_unsynced(flavour, &LOGS), start_unsynced(flavour, &[]));
    let work = "CREATE DATABASE dq; CREATE TABLE dq.`q``q` (id INT PRIMARY KEY); INSERT INTO dq.`q``q` VALUES (1);
        SET SESSION sql_mode = 'ANSI_QUOTES'; CREATE TABLE dq.\"r\"\"r\" (id INT); INSERT INTO dq.\"r\"\"r\" VALUES (2)";
    agree(&source, &target, work, "SELECT * FROM dq.`q``q`; SELECT * FROM dq.`r\"r`");
}
