//! What has failed between one version of MySQL and another.

use std::path::{Path, PathBuf};
use std::process::Command;

use drover_sandbox::{Flavour, Server};

use crate::client::{feed, mariadb_dump};
use crate::drover::{Output, copy, drover, drover_on, dump, restore, run};
use crate::reach::sql;
use crate::servers::{is_wanted, is_wanted_of, place, start, start_at, start_of};

/// A server of each of these names, if tests may use all of them.
fn servers<const N: usize>(names: [&str; N]) -> Option<[Server; N]> {
    if !names.iter().all(|name| is_wanted_of(Flavour::MySql, name)) {
        return None;
    }
    // A log that a server of the same number wrote is its own.
    let mut ids = 1..;
    Some(names.map(|name| {
        let id = format!("--server-id={}", ids.next().unwrap());
        let options = ["--local-infile=1", "--log-bin=bin", &id, "--innodb-flush-log-at-trx-commit=0"];
        start_of(Flavour::MySql, name, &options).unwrap()
    }))
}

/// Copies the schema `s` to another server.
fn copied(source: &Server, target: &Server, options: &str) -> Output {
    let state = tempfile::tempdir().unwrap();
    run(&mut copy(source, target, &format!("s {options}"), &state.path().join("state")))
}

/// The log that a server wrote while it did this.
fn logged(server: &Server, text: &str) -> PathBuf {
    sql(server, "mysql", "FLUSH LOGS");
    let logs = sql(server, "mysql", "SHOW BINARY LOGS");
    sql(server, "mysql", text);
    sql(server, "mysql", "FLUSH LOGS");
    server.datadir().join(&logs.last().unwrap()[0])
}

const PARTS: &str =
    "CREATE TABLE parts (id INT PRIMARY KEY, n INT) ENGINE=MyISAM PARTITION BY HASH (id) PARTITIONS 2;
    INSERT INTO parts VALUES (1, 1), (2, 2), (3, 3)";

/// 5.7 says with each statement that partitions of MyISAM go out of use, and 8.0 has none: a restore took the first for a warning about rows, a
/// copy to a later version ended half way.
#[test]
fn partitions_of_myisam() {
    let Some([old, newest]) = servers(["mysql-5.7", "newest"]) else { return };
    sql(&old, "mysql", &format!("CREATE DATABASE s; USE s; {PARTS}"));
    let dir = tempfile::tempdir().unwrap();
    run(&mut dump(&old, "s", &dir.path().join("d"))).done();
    run(&mut restore(&old, &dir.path().join("d"), "--into s=back")).done();
    copied(&old, &newest, "").done();
    for (server, schema, engine) in [(&old, "back", "MyISAM"), (&newest, "s", "InnoDB")] {
        let question = format!(
            "SELECT SUM(n), (SELECT ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{schema}' AND TABLE_NAME = 'parts') FROM parts"
        );
        assert_eq!(sql(server, schema, &question), [["6", engine]]);
    }
}

#[test]
fn partitions_of_myisam_in_scripts_and_logs() {
    let Some([old, newest]) = servers(["mysql-5.7", "newest"]) else { return };
    let log = logged(&old, &format!("CREATE DATABASE s; USE s; {PARTS}"));
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("s.sql");
    mariadb_dump(&old, "s", &script);
    let of_parts =
        "SELECT SUM(n), (SELECT ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA = 's') FROM parts";
    run(&mut restore(&newest, &script, "")).done();
    assert_eq!(sql(&newest, "s", of_parts), [["6", "InnoDB"]]);
    sql(&newest, "mysql", "DROP DATABASE s");
    run(drover_on(&newest, "binlog replay --start-position 4").arg(&log)).done();
    assert_eq!(sql(&newest, "s", of_parts), [["6", "InnoDB"]]);
}

/// What a later version does not take is known before the first row, and can be left out.
#[test]
fn a_later_version_is_tried_first() {
    let Some([old, newest]) = servers(["mysql-5.7", "newest"]) else { return };
    sql(
        &old,
        "mysql",
        "CREATE TABLESPACE drover_ts ADD DATAFILE 'drover_ts.ibd' ENGINE=InnoDB; CREATE DATABASE s; USE s;
         CREATE TABLE t (id INT PRIMARY KEY) TABLESPACE drover_ts; INSERT INTO t VALUES (1), (2);
         CREATE PROCEDURE sorted() SELECT id FROM t GROUP BY id DESC; CREATE PROCEDURE plain() SELECT 1",
    );
    copied(&old, &newest, "").refused(&["procedure `s`.`sorted`", "nothing was changed"]);
    assert_eq!(sql(&newest, "mysql", "SHOW DATABASES LIKE 's'"), [[""; 0]; 0]);
    copied(&old, &newest, "--skip-refused").found(&["refused", "procedure `s`.`sorted`"]);
    assert_eq!(sql(&newest, "s", "SELECT COUNT(*) FROM t"), [["2"]]);
    let there = "SELECT ROUTINE_NAME FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = 's'";
    assert_eq!(sql(&newest, "mysql", there), [["plain"]]);
}

/// An account that may make no schema to try things in tries them in its own, if that is empty; else it is not turned away by another version of
/// the same vendor.
#[test]
fn the_owner_of_one_schema_moves_it_to_a_later_version() {
    let Some([old, newest]) = servers(["mysql-5.7", "newest"]) else { return };
    sql(
        &old,
        "mysql",
        "CREATE DATABASE s; USE s; CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1)",
    );
    let dir = tempfile::tempdir().unwrap();
    run(&mut dump(&old, "s", &dir.path().join("d"))).done();
    let made = "CREATE DATABASE s; CREATE USER owner@localhost; GRANT ALL ON s.* TO owner@localhost";
    sql(&newest, "mysql", made);
    let untried = "was not tried on it before the first row";
    let restored = || run(&mut restore(&newest, &dir.path().join("d"), "-u owner")).done();
    let output = restored();
    assert!(!output.stderr.contains(untried), "{output}");
    sql(&newest, "s", "DROP TABLE t; CREATE TABLE own (id INT)");
    let output = restored();
    assert!(output.stderr.contains(untried), "{output}");
    assert_eq!(sql(&newest, "s", "SELECT id FROM t"), [["1"]]);
}

/// Back to a version without the collations, expressions and comments of 8.0: the nearest, or left out and said.
#[test]
fn an_upgrade_is_gone_back_on() {
    for name in ["mysql-5.5", "mysql-5.6", "mysql-5.7"] {
        let Some([newest, old]) = servers(["newest", name]) else { continue };
        sql(
            &newest,
            "mysql",
            "CREATE DATABASE s; USE s;
             CREATE TABLE t (id INT PRIMARY KEY, n VARCHAR(20), e INT DEFAULT (3 + 4), KEY k ((id + 1)), CHECK (id > 0));
             INSERT INTO t (id, n) VALUES (1, 'é'), (2, 'x');
             CREATE TABLE g (g GEOMETRYCOLLECTION, h INT INVISIBLE, w VARCHAR(9) CHARACTER SET utf8mb3 COLLATE utf8mb3_unicode_ci);
             CREATE TABLE parts (id INT PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 2; INSERT INTO parts VALUES (1), (2), (3);
             CREATE VIEW v AS SELECT n COLLATE utf8mb4_0900_as_cs AS n FROM t;
             CREATE PROCEDURE p() SELECT 1; CREATE TRIGGER r BEFORE INSERT ON t FOR EACH ROW SET NEW.n = 'q';
             CREATE FUNCTION f(x VARCHAR(9)) RETURNS VARCHAR(9) DETERMINISTIC RETURN x",
        );
        let output = copied(&newest, &old, "");
        let stdout = &output.stdout;
        assert!(output.code == Some(1) && stdout.contains("verified  identical"), "{output}");
        for lost in [
            "CHECK ((`id` > 0)) is left out",
            "DEFAULT ((3 + 4)) is left out",
            "INVISIBLE is left out",
            "KEY `k` (((`id` + 1))) is left out",
            "utf8mb4_0900_ai_ci becomes utf8mb4_unicode_",
            "utf8mb4_0900_as_cs becomes utf8mb4_bin",
        ] {
            assert!(output.stderr.contains(lost), "{lost}: {output}");
        }
        assert_eq!(sql(&old, "s", "SELECT id, HEX(n) FROM t ORDER BY id"), [["1", "C3A9"], ["2", "78"]]);
        assert_eq!(
            sql(&old, "s", "SELECT f('x'), (SELECT COUNT(*) FROM v), (SELECT SUM(id) FROM parts)"),
            [["x", "2", "6"]]
        );
    }
}

/// 8.0.12 prints widths and utf8 where 8.0.33 does not: that is no difference.
#[test]
fn patch_releases_print_definitions_otherwise() {
    let Some([one, other]) = servers(["mysql-8.0", "mysql-8.0.33"]) else { return };
    sql(
        &one,
        "mysql",
        "CREATE DATABASE s; USE s; CREATE TABLE t (id BIGINT UNSIGNED PRIMARY KEY, y YEAR, w VARCHAR(9) CHARACTER SET utf8);
         CREATE TABLE own (id INT PRIMARY KEY, u VARCHAR(9) CHARACTER SET utf8, e ENUM('a') CHARACTER SET utf8) DEFAULT CHARSET=utf8;
         CREATE TRIGGER r BEFORE INSERT ON t FOR EACH ROW SET NEW.w = 'x'; CREATE PROCEDURE p() SELECT 1",
    );
    copied(&one, &other, "").done();
    sql(&one, "mysql", "DROP DATABASE s");
    copied(&other, &one, "").done();
}

/// Syntax came and went with patch releases of 8.0: a copy ended half way.
#[test]
fn patch_releases_are_tried_first() {
    let Some([earlier, later]) = servers(["mysql-8.0", "mysql-8.0.33"]) else { return };
    let table = "CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1), (2)";
    sql(
        &earlier,
        "mysql",
        &format!(
            "CREATE DATABASE s; USE s; {table}; CREATE PROCEDURE sorted() SELECT id FROM t GROUP BY id DESC"
        ),
    );
    copied(&earlier, &later, "").refused(&["procedure `s`.`sorted`", "nothing was changed"]);
    assert_eq!(sql(&later, "mysql", "SHOW DATABASES LIKE 's'"), [[""; 0]; 0]);
    copied(&earlier, &later, "--skip-refused").found(&["refused", "procedure `s`.`sorted`"]);
    for server in [&earlier, &later] {
        sql(server, "mysql", "DROP DATABASE s");
    }
    sql(
        &later,
        "mysql",
        &format!("CREATE DATABASE s; USE s; {table}; ALTER TABLE t ADD COLUMN n INT DEFAULT (1 + 1)"),
    );
    let output = copied(&later, &earlier, "");
    assert!(output.code == Some(1) && output.stderr.contains("DEFAULT ((1 + 1)) is left out"), "{output}");
    assert_eq!(sql(&earlier, "s", "SELECT SUM(n) FROM t"), [["4"]]);
}

/// 8.0.12 says of a file that it has no value for such a column.
#[test]
fn a_geometry_that_is_never_null() {
    let Some([server]) = servers(["mysql-8.0"]) else { return };
    let tables = ["InnoDB", "MyISAM"].map(|engine| {
        format!(
            "CREATE TABLE in_{engine} (id INT PRIMARY KEY, p POINT NOT NULL, w VARCHAR(9)) ENGINE={engine};
             INSERT INTO in_{engine} VALUES (1, POINT(1, 2), 'a'), (2, POINT(3, 4), NULL)"
        )
    });
    sql(&server, "mysql", &format!("CREATE DATABASE s; USE s; {}", tables.join(";")));
    let dir = tempfile::tempdir().unwrap();
    run(&mut dump(&server, "s", &dir.path().join("d"))).done();
    run(&mut restore(&server, &dir.path().join("d"), "--into s=back")).done();
    for table in ["in_InnoDB", "in_MyISAM"] {
        let rows = format!("SELECT id, HEX(p), w FROM {table} ORDER BY id");
        assert_eq!(sql(&server, "back", &rows), sql(&server, "s", &rows), "{table}");
    }
}

/// Who logs in as `app`, which has the password `secret`, and whether somebody does without one.
fn logins(server: &Server) -> [bool; 2] {
    [&["-psecret"][..], &[]].map(|password| {
        let mut client = Command::new("mariadb");
        client
            .args(["--no-defaults", "--skip-ssl", "-u", "app"])
            .args(password)
            .arg("-S")
            .arg(server.socket());
        feed(&mut client, b"SELECT 1").status.success()
    })
}

/// Accounts go from one version to another with their passwords, wherever each keeps them.
fn accounts(from: &str, to: &str, identified: &str) {
    let Some([source, target]) = servers([from, to]) else { return };
    sql(&source, "mysql", "CREATE DATABASE s; CREATE TABLE s.t (id INT)");
    for server in [&source, &target] {
        // Anybody, who comes before the others, and accounts of hosts by name, which a server that resolves none passes over.
        sql(
            server,
            "mysql",
            "DELETE FROM user WHERE User = '' OR Host REGEXP '^[a-z]' AND Host <> 'localhost'; FLUSH PRIVILEGES",
        );
    }
    sql(
        &source,
        "mysql",
        &format!(
            "CREATE USER app@'%' {identified}; GRANT SELECT ON s.* TO app@'%'; CREATE USER root2@localhost; \
             GRANT ALL ON *.* TO root2@localhost WITH GRANT OPTION"
        ),
    );
    let dir = tempfile::tempdir().unwrap();
    run(&mut dump(&source, "s --users", &dir.path().join("d"))).done();
    let output = run(&mut restore(&target, &dir.path().join("d"), "--users"));
    assert!(!output.stderr.contains("error:") && !output.stdout.contains("app`@"), "{output}");
    assert_eq!(sql(&target, "mysql", "SELECT COUNT(*) FROM user WHERE User = 'app'"), [["1"]]);
    assert_eq!(sql(&target, "mysql", "SELECT Grant_priv FROM user WHERE User = 'root2'"), [["Y"]]);
    if identified.contains("sha2") {
        let hashes = "SELECT HEX(authentication_string) FROM user WHERE User = 'app'";
        assert_eq!(sql(&target, "mysql", hashes), sql(&source, "mysql", hashes));
    } else {
        assert_eq!(logins(&target), [true, false], "{output}");
    }
    let again = run(&mut restore(&target, &dir.path().join("d"), "--users --drop-existing"));
    assert!(!again.stdout.contains("differs"), "{again}");
}

#[test]
fn accounts_of_5_7() {
    for to in ["mysql-5.7", "mysql-8.0", "mysql-5.6", "mysql-5.5", "mysql-8.0.33"] {
        accounts("mysql-5.7", to, "IDENTIFIED BY 'secret'");
    }
}

/// MySQL before 8.0 shows all privileges under one name.
#[test]
fn an_administrator_of_5_7_on_mariadb() {
    let Some([source]) = servers(["mysql-5.7"]).filter(|_| is_wanted(Flavour::MariaDb)) else { return };
    let target = start(Flavour::MariaDb, &[]);
    sql(
        &source,
        "mysql",
        "CREATE DATABASE s; CREATE TABLE s.t (id INT); CREATE USER adm@localhost IDENTIFIED BY 'x'; \
         GRANT ALL ON *.* TO adm@localhost WITH GRANT OPTION",
    );
    let dir = tempfile::tempdir().unwrap();
    run(&mut dump(&source, "s --users", &dir.path().join("d"))).done();
    run(&mut restore(&target, &dir.path().join("d"), "--users")).done();
    assert_eq!(sql(&target, "mysql", "SELECT Grant_priv FROM user WHERE User = 'adm'"), [["Y"]]);
}

#[test]
fn accounts_of_8_0_12() {
    accounts("mysql-8.0", "mysql-8.0", "IDENTIFIED WITH caching_sha2_password BY 'secret'");
    accounts("mysql-8.0", "mysql-5.7", "IDENTIFIED WITH mysql_native_password BY 'secret'");
}

#[test]
fn accounts_of_5_5_and_5_6() {
    for from in ["mysql-5.5", "mysql-5.6"] {
        for to in ["mysql-5.5", "mysql-5.6", "mysql-5.7", "mysql-8.0.33"] {
            accounts(from, to, "IDENTIFIED BY 'secret'");
        }
    }
}

/// Times in the format of before 5.6, in rows of each kind.
const OLD_TIMES: &str = "CREATE DATABASE s; USE s; SET sql_mode = 'ALLOW_INVALID_DATES';
    CREATE TABLE t (id INT PRIMARY KEY, d DATETIME, ts TIMESTAMP NULL, t TIME, w VARCHAR(9));
    INSERT INTO t VALUES (1, '2000-02-31 23:59:59', '2001-02-03 04:05:06', '-00:00:01', 'a'), (2, '0000-00-00', 0, '838:59:59', 'b'),
      (3, NULL, NULL, NULL, 'c'), (4, '2020-00-10 01:02:03', '2020-01-01', '-838:59:59', 'd');
    UPDATE t SET w = 'z' WHERE id = 1; DELETE FROM t WHERE id = 3";

/// A log is applied to a server, which has the same rows then.
fn replayed(source: &Server, log: &Path, target: &Server, rows: &str) {
    run(drover_on(target, "binlog replay --skip-binlog").arg(log)).done();
    assert_eq!(sql(target, "s", rows), sql(source, "s", rows), "{}", target.socket().display());
}

const TIMES: &str = "SELECT id, CONCAT(d), ts, t, w FROM t ORDER BY id";

/// MariaDB can still write them: a date that is none became zeros on MariaDB, and MySQL called the event corrupted.
#[test]
fn times_of_before_5_6_as_mariadb_writes_them() {
    if !is_wanted(Flavour::MySql) || !is_wanted(Flavour::MariaDb) {
        return;
    }
    let options = ["--log-bin=bin", "--server-id=7", "--binlog-format=ROW", "--mysql56-temporal-format=OFF"];
    let source = start(Flavour::MariaDb, &options);
    let log = logged(&source, OLD_TIMES);
    replayed(&source, &log, &start(Flavour::MySql, &[]), TIMES);
    replayed(&source, &log, &start(Flavour::MariaDb, &[]), TIMES);
    // A server that keeps them so is sent them so.
    replayed(&source, &log, &start(Flavour::MariaDb, &["--mysql56-temporal-format=OFF"]), TIMES);
}

#[test]
fn logs_of_5_5_go_everywhere() {
    for to in ["mysql-5.5", "mysql-5.6", "mysql-5.7", "mysql-8.0", "mysql-8.0.33", "newest"] {
        let Some([source, target]) = servers(["mysql-5.5", to]) else { continue };
        let log = logged(&source, &format!("SET SESSION binlog_format = ROW; {OLD_TIMES}"));
        replayed(&source, &log, &target, TIMES);
    }
}

#[test]
fn logs_of_later_versions_go_to_5_5() {
    for from in ["newest", "mysql-8.0", "mysql-5.7", "mysql-5.6"] {
        let Some([source, target]) = servers([from, "mysql-5.5"]) else { continue };
        let schema = "CREATE DATABASE s CHARACTER SET utf8; USE s; SET SESSION binlog_format = ROW;
            CREATE TABLE t (id INT PRIMARY KEY, d DATETIME, ts TIMESTAMP NULL, t TIME, w VARCHAR(9));
            INSERT INTO t VALUES (1, '2000-01-31 23:59:59', '2001-02-03 04:05:06', '-00:00:01', 'a'), (2, NULL, NULL, NULL, 'b');
            UPDATE t SET w = 'z' WHERE id = 1; DELETE FROM t WHERE id = 2";
        let log = logged(&source, schema);
        replayed(&source, &log, &target, TIMES);
    }
}

/// 8.0.12 knows no ECDHE, and 5.7.22, which is lent its certificates, no TLS 1.2: what they offer is said, with what helps.
#[test]
fn an_old_tls_is_told() {
    let Some([later]) = servers(["mysql-8.0"]) else { return };
    let pem = |name: &str, file: &str| format!("--ssl-{name}={}", later.datadir().join(file).display());
    let lent = [pem("ca", "ca.pem"), pem("cert", "server-cert.pem"), pem("key", "server-key.pem")];
    let older =
        start_at(Flavour::MySql, Some(place("mysql-5.7")), &lent.each_ref().map(|option| option.as_str()));
    for (server, offers) in [(&later, "ECDHE"), (&older, "TLS 1.")] {
        sql(server, "mysql", "CREATE USER far@'127.0.0.1' IDENTIFIED WITH mysql_native_password BY 'pw'");
        sql(
            server,
            "mysql",
            "GRANT ALL ON *.* TO far@'127.0.0.1'; CREATE DATABASE s; CREATE TABLE s.t (id INT)",
        );
        let dumped = |options: &str| {
            let dir = tempfile::tempdir().unwrap();
            let to = format!("-h 127.0.0.1 -P {} -u far --password=pw", server.port());
            run(drover(&format!("dump s --no-defaults {to} {options} --out")).arg(dir.path().join("d")))
        };
        for options in ["", "--ssl-mode=REQUIRED"] {
            dumped(options).refused(&[offers, "--ssl-mode=DISABLED"]);
        }
        dumped("--ssl-mode=DISABLED").done();
    }
}

/// 5.7 prints 3.0 in JSON as 3, which is a whole number when it is loaded: such rows are counted, and no others.
#[test]
fn doubles_in_json_that_look_like_whole_numbers() {
    let Some([old]) = servers(["mysql-5.7"]) else { return };
    sql(
        &old,
        "mysql",
        "CREATE DATABASE s; USE s; CREATE TABLE j (id INT PRIMARY KEY, j JSON);
         INSERT INTO j VALUES (1, JSON_OBJECT('a', 3e0)), (2, '[1, 2.5, 1e300]'), (3, NULL), (4, '{\"a\": -0.0}'), (5, '\"3.0\"');
         CREATE TABLE whole (id INT PRIMARY KEY, j JSON); INSERT INTO whole VALUES (1, '[1, \"é\", {\"a\": 2.5}]'), (2, NULL)",
    );
    let dir = tempfile::tempdir().unwrap();
    let output = run(&mut dump(&old, "s", &dir.path().join("d"))).done();
    assert!(output.stderr.contains("table `s`.`j`: 2 rows of JSON"), "{output}");
    assert!(output.stderr.contains("3.0 becomes 3") && !output.stderr.contains("`whole`"), "{output}");
}

/// Servers without a list of their keywords are asked for each word; accounts are found without the functions that 5.7 lacks.
#[test]
fn words_and_accounts_that_a_later_version_does_not_take() {
    for (name, words) in [("mysql-5.5", 3), ("mysql-5.6", 3), ("mysql-5.7", 3), ("mysql-8.0", 1)] {
        let Some([old]) = servers([name]) else { continue };
        let table =
            "CREATE DATABASE s; USE s; CREATE TABLE `rank` (`groups` INT, `lateral` INT, `select` INT)";
        sql(&old, "mysql", table);
        sql(&old, "mysql", "CREATE USER app@'%' IDENTIFIED WITH mysql_native_password");
        let parts = if name == "mysql-8.0" { "CREATE TABLE parts (id INT)" } else { PARTS };
        sql(
            &old,
            "s",
            &format!(
                "{parts}; CREATE PROCEDURE sorted() SELECT id FROM parts GROUP BY id\n  DESC;
                 CREATE PROCEDURE plain() SELECT id FROM parts GROUP BY id ORDER BY id DESC"
            ),
        );
        let report = run(&mut drover_on(&old, "--json doctor upgrade --target mysql-9.7"));
        let report = report.json();
        let finding = |rule: &str| {
            let checks = report["checks"].as_array().unwrap();
            let check = checks.iter().find(|check| check["rule"] == rule).unwrap();
            assert_eq!(check["unknown"].as_array().map_or(0, Vec::len), 0, "{name}: {check}");
            check["findings"][0]["what"].as_str().unwrap_or_default().to_owned()
        };
        let found = finding("upgrade.words");
        assert!(found.contains(&format!("reserves {words} word")), "{name}: {found}");
        assert!(finding("upgrade.accounts").contains("mysql_native_password"), "{name}");
        assert!(finding("upgrade.syntax").contains("cannot read GROUP BY"), "{name}");
        let syntax = report["checks"].as_array().unwrap().iter().find(|one| one["rule"] == "upgrade.syntax");
        assert_eq!(syntax.unwrap()["findings"][0]["seen"][0], "routine s.sorted", "{name}");
        let is_partitioned =
            finding("upgrade.engines").contains("partitions no tables of the storage engine MYISAM");
        assert_eq!(is_partitioned, name != "mysql-8.0", "{name}");
    }
}

/// What 5.5 counts is told, though it does not count all that later ones do.
#[test]
fn doctor_on_5_5() {
    let Some([old]) = servers(["mysql-5.5"]) else { return };
    let report = run(&mut drover_on(&old, "--json doctor"));
    for known in ["sessions at a time", "the oldest open one is", "the log grew by", "open_files_limit is"] {
        assert!(report.stdout.contains(known), "{known}: {report}");
    }
}

/// A queue is refused before anything is made where its tables cannot be.
#[test]
fn a_queue_on_old_servers() {
    for (name, is_held) in [("mysql-5.5", false), ("mysql-5.6", true), ("mysql-5.7", true)] {
        let Some([old]) = servers([name]) else { continue };
        sql(&old, "mysql", "CREATE DATABASE q");
        let output = run(&mut drover_on(&old, "queue init -D q"));
        if is_held {
            output.done();
            continue;
        }
        output.refused(&["DATETIME(3)", "nothing was made"]);
        assert_eq!(sql(&old, "q", "SHOW TABLES"), [[""; 0]; 0]);
    }
}

/// Servers before 8.0.29 end a prepared transaction in the session that prepared it, and print its name in other letters than drover.
#[test]
fn prepared_transactions_of_old_servers() {
    let Some([old, later, newest]) = servers(["mysql-5.7", "mysql-8.0", "newest"]) else { return };
    let xa = "CREATE DATABASE s; USE s; CREATE TABLE t (id INT PRIMARY KEY); \
              XA START 'one'; INSERT INTO t VALUES (1); XA END 'one'; XA PREPARE 'one'; XA COMMIT 'one'; \
              XA START 'two'; INSERT INTO t VALUES (2); XA END 'two'; XA PREPARE 'two'; XA ROLLBACK 'two'";
    let log = logged(&old, xa);
    for target in [&later, &newest] {
        replayed(&old, &log, target, "SELECT * FROM s.t");
        assert!(sql(target, "mysql", "XA RECOVER").is_empty());
    }
    sql(&old, "mysql", "DROP DATABASE s");
    sql(&later, "mysql", "DROP DATABASE s");
    let log = logged(&later, xa);
    replayed(&later, &log, &old, "SELECT * FROM s.t");
}

/// Logs go back to versions that know less of a session: what they say of it is passed over where nothing needs it. What is printed runs there, too.
#[test]
fn logs_of_the_newest_go_back() {
    for name in ["mysql-5.6", "mysql-5.7", "mysql-8.0", "mysql-8.0.33"] {
        let Some([newest, old]) = servers(["newest", name]) else { continue };
        let log = logged(
            &newest,
            "SET NAMES utf8mb4 COLLATE utf8mb4_general_ci; SET SESSION collation_server = utf8mb4_general_ci;
             CREATE DATABASE s COLLATE utf8mb4_general_ci; USE s; CREATE TABLE t (id INT PRIMARY KEY, w VARCHAR(9), at TIMESTAMP NULL);
             INSERT INTO t VALUES (1, 'é', '2020-01-01'), (2, NULL, NULL); ALTER TABLE t ADD COLUMN n INT; UPDATE t SET n = id;
             SET SESSION binlog_format = STATEMENT; INSERT INTO t VALUES (3, 'x', NULL, 3)",
        );
        let rows = "SELECT id, HEX(w), at, n FROM t ORDER BY id";
        run(drover_on(&old, "binlog replay --skip-binlog --dry-run").arg(&log)).done();
        replayed(&newest, &log, &old, rows);
        sql(&old, "mysql", "DROP DATABASE s");
        let columns = format!("mysql://root@/?socket={}", newest.socket().display());
        let printed = run(drover("binlog sql --no-defaults --columns-of").arg(columns).arg(&log)).done();
        let mut client = Command::new("mariadb");
        client.args([
            "--no-defaults",
            "--skip-ssl",
            "--binary-mode",
            "-u",
            "root",
            "--default-character-set=utf8mb4",
        ]);
        let fed = feed(client.arg("-S").arg(old.socket()), printed.stdout.as_bytes());
        assert!(fed.status.success(), "{name}: {}\n{printed}", String::from_utf8_lossy(&fed.stderr));
        assert_eq!(sql(&old, "s", rows), sql(&newest, "s", rows), "{name}");
    }
}

/// A server that gave out GTIDs, and no longer does, sends no log of that time: what helps is said.
#[test]
fn gtids_that_are_switched_off() {
    let Some([server]) = servers(["newest"]) else { return };
    let modes = |modes: &[&str]| {
        modes.iter().for_each(|mode| drop(sql(&server, "mysql", &format!("SET GLOBAL gtid_mode = {mode}"))));
    };
    if sql(&server, "mysql", "SELECT @@GLOBAL.gtid_mode") == [["OFF"]] {
        sql(&server, "mysql", "SET GLOBAL enforce_gtid_consistency = ON");
        modes(&["OFF_PERMISSIVE", "ON_PERMISSIVE", "ON"]);
    }
    let log = logged(&server, "CREATE DATABASE s");
    modes(&["ON_PERMISSIVE", "OFF_PERMISSIVE", "OFF"]);
    let name = log.file_name().unwrap().to_str().unwrap();
    let listed = || run(&mut drover_on(&server, &format!("binlog ls --from-server {name}")));
    listed().refused(&["OFF_PERMISSIVE", "read the files"]);
    modes(&["OFF_PERMISSIVE"]);
    let output = listed().done();
    assert!(output.stdout.contains("CREATE DATABASE"), "{output}");
}

/// A server says of a statement without a schema that none was selected, and reads no further.
#[test]
fn a_dry_run_tells_what_an_older_version_cannot_read() {
    let Some([old, newest]) = servers(["mysql-5.7", "newest"]) else { return };
    let log = logged(
        &newest,
        "CREATE DATABASE s; USE s; CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(10) DEFAULT (UPPER('a')))",
    );
    let replay =
        |options: &str| run(&mut drover_on(&old, &format!("binlog replay {options} {}", log.display())));
    replay("--dry-run").found(&["the target does not know this: CREATE TABLE t"]);
    replay("").refused(&["CREATE TABLE t"]);
}

/// 5.7 takes any bytes for ASCII and warns of them; later versions do so in TEXT and CHAR only.
#[test]
fn ascii_with_other_bytes() {
    let Some([old, newest]) = servers(["mysql-5.7", "newest"]) else { return };
    sql(
        &old,
        "mysql",
        "CREATE DATABASE s; USE s; CREATE TABLE t (id INT PRIMARY KEY, b TEXT CHARACTER SET ascii, c CHAR(9) CHARACTER SET ascii);
         INSERT INTO t VALUES (1, 0x636166c3a9, 0x636166c3a9), (2, 'a', NULL);
         CREATE DATABASE v; USE v; CREATE TABLE v (id INT PRIMARY KEY, v VARCHAR(20) CHARACTER SET ascii, UNIQUE KEY (v));
         INSERT INTO v VALUES (1, 0x636166c3a9), (2, 'a')",
    );
    let dir = tempfile::tempdir().unwrap();
    run(&mut dump(&old, "s v", &dir.path().join("d"))).done();
    for files in [1, 0] {
        sql(&old, "mysql", &format!("SET GLOBAL local_infile = {files}"));
        run(&mut restore(&old, &dir.path().join("d"), "--drop-existing --into s=s2 --into v=v2")).done();
        assert_eq!(
            sql(&old, "s2", "SELECT HEX(b), HEX(c) FROM t WHERE id = 1"),
            [["636166C3A9", "636166C3A9"]]
        );
        assert_eq!(sql(&old, "v2", "SELECT HEX(v) FROM v ORDER BY id"), [["636166C3A9"], ["61"]]);
    }
    copied(&old, &newest, "").done();
    assert_eq!(
        sql(&newest, "s", "SELECT HEX(b), HEX(c) FROM t WHERE id = 1"),
        [["636166C3A9", "636166C3A9"]]
    );
    run(&mut copy(&old, &newest, "v", &dir.path().join("v"))).refused(&["not into VARCHAR"]);
}

/// A view that cannot be read for want of its definer is none that cannot be made: that the target refuses its text is told.
#[test]
fn a_view_without_its_definer() {
    let Some([old, newest]) = servers(["mysql-5.7", "newest"]) else { return };
    sql(
        &old,
        "mysql",
        "CREATE DATABASE s; USE s; CREATE TABLE t (id INT PRIMARY KEY);
         CREATE DEFINER = 'no body'@'%' VIEW v AS SELECT id FROM t GROUP BY id DESC;
         CREATE TABLE gone (id INT); CREATE VIEW broken AS SELECT id FROM gone; DROP TABLE gone",
    );
    copied(&old, &newest, "").refused(&["view `s`.`v`", "nothing was changed"]);
    let lost = copied(&old, &newest, "--skip-refused").found(&["refused   view `s`.`v`"]);
    assert!(lost.stderr.contains("`s`.`broken` was broken when it was dumped"), "{lost}");
}

/// 5.7 notes bytes in a document as another type than later servers do, which take it for text.
#[test]
fn bytes_in_documents_of_5_7_on_mariadb() {
    let Some([old]) = servers(["mysql-5.7"]) else { return };
    if !is_wanted(Flavour::MariaDb) {
        return;
    }
    let mariadb = start(Flavour::MariaDb, &["--server-id=9"]);
    let log = logged(
        &old,
        "CREATE DATABASE s; CREATE TABLE s.t (id INT PRIMARY KEY, j JSON);
         INSERT INTO s.t SELECT 1, JSON_OBJECT('b', CAST('abc' AS BINARY), 'd', CAST(X'C3A9' AS BINARY), 'n', X'00FF', 't', 'é')",
    );
    run(drover_on(&mariadb, "binlog replay").arg(&log)).done();
    assert_eq!(sql(&mariadb, "s", "SELECT j FROM t"), sql(&old, "s", "SELECT CAST(j AS CHAR) FROM t"));
}
