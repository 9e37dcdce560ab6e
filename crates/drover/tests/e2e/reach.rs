//! The servers that people come from: MySQL 5.7 and 8.0.12, MariaDB 10.2, and a MySQL as its vendor ships it. Each is dumped, restored
//! into itself, verified, copied to the newest server of its vendor and changed in parts, by root and by the owner of one schema.
//! MariaDB's client knows them all, so it says what they hold.

use std::process::Command;

use drover_sandbox::{Flavour, Server};

use crate::client::{feed, rows_of};
use crate::drover::{copy_as, drover, drover_on, dump, restore, run, verify};
use crate::servers::{is_wanted, place, start, start_at};

/// What each of these servers has, and what has failed on one of them: FLOAT, MyISAM, partitions, programs.
const SCHEMA: &str = "CREATE DATABASE shop CHARACTER SET utf8; USE shop;
    CREATE TABLE measured (id INT PRIMARY KEY, f FLOAT, d DOUBLE, s FLOAT(7,3), n DECIMAL(20,5), w VARCHAR(30));
    INSERT INTO measured VALUES (1, 1.1, 1.1, 1.1, 1.1, 'é'), (2, -0.0, -0.0, 0, 0, ''), (3, 3.4e38, 1e-300, 9999.999, -1, NULL),
      (4, 1e-45, 2.5, -1.5, 4, 'x');
    INSERT INTO measured SELECT id + 10, f * 0.7, d / 3, s, n, w FROM measured;
    CREATE TABLE old (id INT PRIMARY KEY, t TEXT, f FLOAT) ENGINE=MyISAM; INSERT INTO old SELECT id, w, f FROM measured;
    CREATE TABLE parts (id INT NOT NULL, at DATETIME, PRIMARY KEY (id))
      PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (5), PARTITION p1 VALUES LESS THAN MAXVALUE);
    INSERT INTO parts SELECT id, '2020-01-02 03:04:05' FROM measured;
    CREATE TABLE bare (ts TIMESTAMP NULL, e ENUM('a','b'), s SET('x','y'), b BIT(5), bytes BLOB);
    INSERT INTO bare VALUES ('2020-01-01', 'a', 'x,y', b'101', 'a\\0b'), (NULL, NULL, '', NULL, NULL);
    CREATE TABLE counted (a INT, g INT GENERATED ALWAYS AS (a + 1) VIRTUAL); INSERT INTO counted (a) VALUES (1), (2);
    CREATE VIEW seen AS SELECT id, w FROM measured WHERE id > 1;
    CREATE TRIGGER noted BEFORE INSERT ON old FOR EACH ROW SET NEW.t = COALESCE(NEW.t, '-');
    CREATE FUNCTION twice(a INT) RETURNS INT DETERMINISTIC RETURN 2 * a;
    CREATE PROCEDURE nothing() SELECT 1;
    CREATE EVENT daily ON SCHEDULE EVERY 1 DAY DO SELECT 1";

/// What tells what a schema holds, rows in an order and with all their digits.
const QUESTIONS: [&str; 9] = [
    "SELECT id, f * 1e0, d, s, n, HEX(w) FROM measured ORDER BY id",
    "SELECT id, HEX(t), f * 1e0 FROM old ORDER BY id",
    "SELECT * FROM parts ORDER BY id",
    "SELECT ts, e, s, b + 0, HEX(bytes) FROM bare ORDER BY ts",
    "SELECT * FROM counted ORDER BY a",
    "SELECT COUNT(*) FROM seen",
    "SELECT twice(21)",
    "SHOW TRIGGERS LIKE 'old'",
    "SELECT EVENT_NAME, EVENT_DEFINITION FROM information_schema.EVENTS WHERE EVENT_SCHEMA = DATABASE()",
];

pub(crate) fn sql(server: &Server, schema: &str, text: &str) -> Vec<Vec<String>> {
    let mut client = Command::new("mariadb");
    client.args([
        "--no-defaults",
        "-u",
        "root",
        "--batch",
        "--skip-column-names",
        // Its TLS is another one than that of old servers, on a socket too.
        "--skip-ssl",
        "--default-character-set=utf8",
    ]);
    client.arg("-S").arg(server.socket()).arg(schema);
    rows_of(&mut client, text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn contents(server: &Server, schema: &str) -> Vec<Vec<Vec<String>>> {
    let mut answers: Vec<_> = QUESTIONS.iter().map(|question| sql(server, schema, question)).collect();
    // When it was made, in which modes: columns behind the fourth.
    answers[7].iter_mut().for_each(|trigger| trigger.truncate(4));
    answers
}

pub(crate) fn old(name: &str, flavour: Flavour) -> Server {
    start_at(
        flavour,
        Some(place(name)),
        &["--local-infile=1", "--log-bin=bin", "--server-id=1", "--innodb-flush-log-at-trx-commit=0"],
    )
}

/// Whatever the server is, nothing of the schema is lost on any way.
fn reached(name: &str, flavour: Flavour) {
    if !is_wanted(flavour) {
        return;
    }
    let (old, newest) = (old(name, flavour), &start(flavour, &["--local-infile=OFF"]));
    let server = &old;
    sql(server, "mysql", SCHEMA);
    let before = contents(server, "shop");
    let dir = tempfile::tempdir().unwrap();
    run(&mut dump(server, "shop", &dir.path().join("root"))).done();
    run(&mut restore(server, &dir.path().join("root"), "--into shop=back")).done();
    run(&mut verify(server, &dir.path().join("root"), "--into shop=back")).done();
    assert_eq!(contents(server, "back"), before);
    run(&mut copy_as(("root", server), ("root", newest), "shop", &dir.path().join("state"))).done();
    assert_eq!(contents(newest, "shop"), before);
    let mut chunk = drover_on(server, "chunk -D back");
    run(chunk.arg("UPDATE measured SET n = n + 1 WHERE id > 0")).done();
    assert_eq!(
        sql(server, "back", "SELECT SUM(b.n - s.n) FROM measured b JOIN shop.measured s USING (id)"),
        [["8.00000"]]
    );

    log_applies(server, newest);
    let report = run(&mut drover_on(server, "--json doctor --interval 50ms"));
    assert!(!report.stdout.contains("it has no SELECT"), "{report}");

    // Who hosts others gives them all rights on one schema.
    sql(
        server,
        "mysql",
        "CREATE USER owner@localhost; GRANT ALL ON shop.* TO owner@localhost; GRANT ALL ON own.* TO owner@localhost",
    );
    run(&mut dump(server, "shop.measured shop.parts -u owner", &dir.path().join("owner"))).done();
    run(&mut restore(server, &dir.path().join("owner"), "--into shop=own -u owner")).done();
    for question in [QUESTIONS[0], QUESTIONS[2]] {
        assert_eq!(sql(server, "own", question), sql(server, "shop", question));
    }
    logs_go_on(old, flavour);
}

/// Logs that ended in order go on with the next one, and one that a crash ended does where GTIDs tell it: MySQL had none by default.
fn logs_go_on(mut server: Server, flavour: Flavour) {
    let logs = |server: &Server| -> Vec<_> {
        let names = sql(server, "mysql", "SHOW BINARY LOGS");
        names.iter().map(|row| server.datadir().join(&row[0])).collect()
    };
    sql(&server, "mysql", "FLUSH BINARY LOGS; CREATE DATABASE more");
    server.restart().unwrap();
    sql(&server, "mysql", "DROP DATABASE more");
    run(drover("binlog ls").args(logs(&server))).done();
    let crashed = logs(&server).pop().unwrap();
    server.kill();
    server.restart().unwrap();
    let allowed = format!("--allow-unclosed {}", crashed.file_name().unwrap().display());
    let read = |options: &str| run(drover(&format!("binlog sql {options}")).args(logs(&server)));
    let output = read("");
    match flavour {
        Flavour::MariaDb => assert!(!output.stderr.contains("error"), "{output}"),
        Flavour::MySql => drop(output.refused(&["without a Rotate or Stop event", &allowed])),
    }
    let output = read(&allowed);
    assert!(!output.stderr.contains("error"), "{output}");
}

/// A log that the server wrote in its own modes is applied to the newest one, and what is printed of it runs there.
fn log_applies(server: &Server, newest: &Server) {
    let set_up = "CREATE DATABASE logged; CREATE TABLE logged.t (id INT PRIMARY KEY, f FLOAT, w VARCHAR(9), at DATETIME);
        INSERT INTO logged.t VALUES (1, 1.1, 'é', '2020-01-02 03:04:05'), (2, -0.5, NULL, NULL);
        ALTER TABLE logged.t ADD COLUMN n INT NOT NULL DEFAULT 7; UPDATE logged.t SET w = 'x' WHERE id = 2";
    sql(server, "mysql", "FLUSH BINARY LOGS");
    sql(server, "mysql", set_up);
    let logs = sql(server, "mysql", "SHOW BINARY LOGS");
    let log = server.datadir().join(&logs.last().unwrap()[0]);
    let rows = "SELECT id, f * 1e0, HEX(w), at, n FROM t ORDER BY id";
    let expected = sql(server, "logged", rows);
    run(drover_on(newest, "binlog replay --skip-binlog").arg(&log)).done();
    assert_eq!(sql(newest, "logged", rows), expected);
    sql(newest, "mysql", "DROP DATABASE logged");
    let columns = format!("mysql://root@/?socket={}", server.socket().display());
    let printed = run(drover("binlog sql --no-defaults --columns-of").arg(columns).arg(&log)).done();
    let mut client = newest.client("mysql");
    let fed = feed(client.arg("--default-character-set=utf8mb4"), printed.stdout.as_bytes());
    assert!(fed.status.success(), "{}\n{}", String::from_utf8_lossy(&fed.stderr), printed.stdout);
    assert_eq!(sql(newest, "logged", rows), expected);
}

#[test]
fn mysql_5_7() {
    reached("mysql-5.7", Flavour::MySql);
}

#[test]
fn mysql_8_0_12() {
    reached("mysql-8.0", Flavour::MySql);
}

#[test]
fn mariadb_10_2() {
    reached("mariadb-10.2", Flavour::MariaDb);
}

/// Values within an expression were NULL behind one that is, in one statement of many rows: of MariaDB 10.2, and said by the proof only.
#[test]
fn documents_behind_one_that_is_null() {
    if !is_wanted(Flavour::MariaDb) || !is_wanted(Flavour::MySql) {
        return;
    }
    let (source, target) = (&start(Flavour::MySql, &[]), &old("mariadb-10.2", Flavour::MariaDb));
    sql(
        source,
        "mysql",
        "CREATE DATABASE docs; USE docs; CREATE TABLE t (id INT PRIMARY KEY, j JSON); \
         INSERT INTO t VALUES (1, '[1]'), (2, NULL), (3, '[3]'), (4, NULL), (5, '{}')",
    );
    let dir = tempfile::tempdir().unwrap();
    run(&mut copy_as(("root", source), ("root", target), "docs", &dir.path().join("state"))).done();
    let rows = "SELECT id, CAST(j AS CHAR) FROM t ORDER BY id";
    assert_eq!(sql(target, "docs", rows), sql(source, "docs", rows));
}

#[test]
fn mariadb_10_5() {
    reached("mariadb-10.5", Flavour::MariaDb);
}

/// Before 10.11 nobody can write rows of the past: those of now come over, and the loss is told. A restore, even into the same server, and a copy
/// ended half way.
#[test]
fn histories_that_nobody_can_write() {
    if !is_wanted(Flavour::MariaDb) {
        return;
    }
    let (newer, older) = (start(Flavour::MariaDb, &[]), old("mariadb-10.5", Flavour::MariaDb));
    let dir = tempfile::tempdir().unwrap();
    for (number, source) in [&newer, &older].into_iter().enumerate() {
        sql(
            source,
            "mysql",
            "CREATE DATABASE h; USE h; CREATE TABLE t (id INT PRIMARY KEY, a INT) WITH SYSTEM VERSIONING; \
             INSERT INTO t VALUES (1, 1), (2, 2); UPDATE t SET a = 3 WHERE id = 2; \
             CREATE TABLE u (id INT PRIMARY KEY, s TIMESTAMP(6) GENERATED ALWAYS AS ROW START, \
               e TIMESTAMP(6) GENERATED ALWAYS AS ROW END, PERIOD FOR SYSTEM_TIME (s, e)) WITH SYSTEM VERSIONING; \
             INSERT INTO u (id) VALUES (1), (2); DELETE FROM u WHERE id = 1",
        );
        let [out, state] = ["out", "state"].map(|name| dir.path().join(format!("{name}{number}")));
        run(&mut dump(source, "h", &out)).done();
        let said = ["history (rows: 1) is left out", "verified  identical: 3 rows of 2 tables"];
        let restored = run(&mut restore(&older, &out, "--into h=back"));
        restored.found(&said[1..]);
        run(&mut verify(&older, &out, "--into h=back")).done();
        let mut copy = copy_as(("root", source), ("root", &older), "h", &state);
        let copied = run(copy.args(["--into", "h=copied"])).found(&said[1..]);
        assert!(copied.stderr.contains(said[0]), "{copied}");
        for schema in ["back", "copied"] {
            assert_eq!(sql(&older, schema, "SELECT id, a FROM t ORDER BY id"), [["1", "1"], ["2", "3"]]);
            assert_eq!(sql(&older, schema, "SELECT id FROM u"), [["2"]]);
            sql(&older, "mysql", &format!("DROP DATABASE {schema}"));
        }
    }
}

/// MariaDB before 10.3 hides no columns: they are shown, and the loss is told; the table was refused.
#[test]
fn columns_that_cannot_be_hidden() {
    if !is_wanted(Flavour::MariaDb) || !is_wanted(Flavour::MySql) {
        return;
    }
    let target = &old("mariadb-10.2", Flavour::MariaDb);
    for source in [start(Flavour::MariaDb, &[]), start(Flavour::MySql, &[])] {
        sql(
            &source,
            "mysql",
            "CREATE DATABASE hid; USE hid; CREATE TABLE t (id INT PRIMARY KEY, v INT DEFAULT 7 INVISIBLE); \
             INSERT INTO t (id, v) VALUES (1, 8), (2, NULL)",
        );
        let dir = tempfile::tempdir().unwrap();
        let mut copy = copy_as(("root", &source), ("root", target), "hid", &dir.path().join("state"));
        let copied = run(&mut copy).found(&["verified  identical: 2 rows"]);
        assert!(copied.stderr.contains("`hid`.`t`: INVISIBLE is left out"), "{copied}");
        assert_eq!(sql(target, "hid", "SELECT * FROM t ORDER BY id"), [["1", "8"], ["2", "NULL"]]);
        sql(target, "mysql", "DROP DATABASE hid");
    }
}
