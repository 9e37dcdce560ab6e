//! What `drover doctor` says of what a server counts: values of AUTO_INCREMENT, the redo log, temporary tables, the query cache.

use drover_sandbox::{Flavour, Server};
use serde_json::Value;

use super::binlog::quick;
use super::server::{carry_out, subjects};
use super::{check, doctor, findings, state};
use crate::client::{Session, run_script, sql, value};
use crate::servers::{on_both, start_unsynced};

on_both!(auto_increment, many_columns, redo_log, temporary_tables, query_cache);

/// The only finding of a check: its weight, and the whole of it as text.
fn only(report: &Value, rule: &str) -> (String, String) {
    let mut found = findings(report, rule);
    assert_eq!(found.len(), 1, "{report}");
    found.remove(0)
}

/// Columns at the end of their type, near it, and far from it.
fn auto_increment(flavour: Flavour) {
    const RULE: &str = "server.auto_increment";
    let server = &start_unsynced(flavour, &[]);
    let none = quick(server, "server");
    assert_eq!(state(&none, RULE), "fine", "{none}");
    run_script(
        server,
        None,
        b"CREATE DATABASE d; USE d;
          CREATE TABLE near (a INT, id TINYINT UNSIGNED NOT NULL AUTO_INCREMENT, KEY (id)) ENGINE=InnoDB; INSERT INTO near VALUES (1, 10);
          CREATE TABLE `at``end` (id SMALLINT AUTO_INCREMENT PRIMARY KEY) ENGINE=InnoDB; INSERT INTO `at``end` VALUES (32767);
          CREATE TABLE far (id INT AUTO_INCREMENT PRIMARY KEY) AUTO_INCREMENT = 1000000000; INSERT INTO far VALUES ();
          CREATE VIEW v AS SELECT * FROM near",
    )
    .unwrap();
    // MySQL remembers what it has told of tables, for a day.
    sql(server, "SELECT TABLE_NAME, AUTO_INCREMENT FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'd'");
    sql(server, "INSERT INTO d.near VALUES (1, 199)");
    let report = quick(server, "server");
    assert_eq!(subjects(&report, RULE), ["d.at`end.id", "d.near.id"], "{report}");
    let found = findings(&report, RULE);
    assert!(found[0].0 == "red" && found[0].1.contains("is at the end of its type smallint"), "{found:?}");
    assert!(found[1].1.contains("78.0 % of what tinyint") && found[1].1.contains("199 of 255"), "{found:?}");
    // At two rows in seconds, MySQL sees the end.
    let (weight, when) = match flavour {
        Flavour::MySql => ("red", "at that rate no value is left in 0 days"),
        Flavour::MariaDb => ("yellow", "when it ends cannot be seen"),
    };
    assert!(found[1].0 == weight && found[1].1.contains(when), "{found:?}");
    sql(
        server,
        "ALTER TABLE d.near MODIFY id BIGINT NOT NULL AUTO_INCREMENT; ALTER TABLE d.`at``end` MODIFY id INT AUTO_INCREMENT",
    );
    let cured = quick(server, "server");
    assert_eq!(state(&cured, RULE), "fine", "{cured}");
    assert!(
        check(&cured, RULE)["fine"][0].as_str().unwrap().contains("d.far.id has used most: 46.6 %"),
        "{cured}"
    );
}

/// Of many only the fullest are listed.
fn many_columns(flavour: Flavour) {
    let server = &start_unsynced(flavour, &[]);
    let tables = (0..12).map(|n| {
        format!("CREATE TABLE d.t{n} (id TINYINT AUTO_INCREMENT PRIMARY KEY) AUTO_INCREMENT = {};\n", 110 + n)
    });
    run_script(server, None, format!("CREATE DATABASE d;\n{}", tables.collect::<String>()).as_bytes())
        .unwrap();
    let report = quick(server, "server");
    let found = findings(&report, "server.auto_increment");
    assert_eq!(found.len(), 11, "{report}");
    assert!(found[0].1.contains("d.t11.id") && found[10].1.contains("12 such columns in all"), "{found:?}");
}

/// A small redo log under many changes.
fn redo_log(flavour: Flavour) {
    const RULE: &str = "server.redo_log";
    let (size, name) = match flavour {
        Flavour::MariaDb => ("--innodb-log-file-size=8M", "innodb_log_file_size"),
        Flavour::MySql => ("--innodb-redo-log-capacity=8M", "innodb_redo_log_capacity"),
    };
    let server = &start_unsynced(flavour, &[size, "--innodb-log-buffer-size=2M"]);
    run_script(
        server,
        None,
        b"CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY, v TEXT); INSERT INTO t VALUES (1, 'a');
          DELIMITER //
          CREATE PROCEDURE changes() BEGIN
            DECLARE n INT DEFAULT 0;
            SET sql_log_bin = 0;
            LOOP SET n = n + 1; UPDATE t SET v = REPEAT(CHAR(65 + n % 26), 4000) WHERE id = 1; END LOOP;
          END//",
    )
    .unwrap();
    let mut session = Session::open(server);
    session.send("CALL d.changes()");
    session.wait_until_running("UPDATE");
    let report = doctor(server, "server");
    let (weight, told) = only(&report, RULE);
    // How near the log is to its end at that moment differs.
    assert!(["note", "yellow"].contains(&weight.as_str()) && told.contains("times an hour"), "{told}");
    assert!(told.contains("from the last checkpoint to its end"), "{told}");
    drop(session);
    let size = || value(server, format!("SELECT @@GLOBAL.{name}"));
    carry_out(server, &report, RULE, "run");
    assert_eq!(size(), "67108864", "{told}");
    let quiet = quick(server, "server");
    assert_eq!(state(&quiet, RULE), "fine", "{quiet}");
    carry_out(server, &report, RULE, "undo");
    assert_eq!(size(), "8388608", "{told}");
}

/// Statements whose temporary tables do not fit, and such as make none.
fn temporary_tables(flavour: Flavour) {
    const RULE: &str = "server.tmp_tables";
    let server = &start_unsynced(flavour, &["--tmp-table-size=16384", "--max-heap-table-size=65536"]);
    // What doctor asks makes such tables itself, and they do not count.
    let fresh = quick(server, "server");
    assert_eq!(state(&fresh, RULE), "fine", "{fresh}");
    run_script(
        server,
        None,
        b"CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(100));
          INSERT INTO t WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 900) SELECT n, REPEAT(n, 20) FROM s;
          DELIMITER //
          CREATE PROCEDURE groups_of() BEGIN
            DECLARE n INT;
            LOOP SELECT COUNT(*) INTO n FROM (SELECT DISTINCT CONCAT(id, v) FROM t) x; END LOOP;
          END//",
    )
    .unwrap();
    let mut session = Session::open(server);
    session.send("CALL d.groups_of()");
    session.wait_until_running("DISTINCT");
    let report = doctor(server, "server");
    let (weight, told) = only(&report, RULE);
    assert!(weight == "yellow" && told.contains("of all temporary tables go to disk"), "{told}");
    assert_eq!(told.contains("Count_hit_tmp_table_size"), flavour == Flavour::MySql, "{told}");
    let limits =
        || value(server, "SELECT CONCAT(@@GLOBAL.tmp_table_size, ' ', @@GLOBAL.max_heap_table_size)");
    carry_out(server, &report, RULE, "run");
    assert_eq!(limits(), "32768 65536", "{told}");
    carry_out(server, &report, RULE, "undo");
    assert_eq!(limits(), "16384 65536", "{told}");
}

/// A query cache that nobody profits by, and one that is used. MySQL has none.
fn query_cache(flavour: Flavour) {
    const RULE: &str = "server.query_cache";
    let server = &start_unsynced(flavour, &[]);
    let report = quick(server, "server");
    if flavour == Flavour::MySql {
        assert_eq!(state(&report, RULE), "not_here", "{report}");
        return;
    }
    assert_eq!(state(&report, RULE), "fine", "{report}");
    sql(
        server,
        "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY); SET GLOBAL query_cache_type = DEMAND",
    );
    assert_eq!(only(&quick(server, "server"), RULE).0, "note");
    let select = |id: u32| sql(server, format!("SELECT SQL_CACHE COUNT(*) FROM d.t WHERE id = {id}"));
    (0..20).for_each(|id| drop(select(id)));
    let report = quick(server, "server");
    let (weight, told) = only(&report, RULE);
    assert!(weight == "yellow" && told.contains("0 hits, 20 inserts"), "{told}");
    let settings = || settings(server);
    let before = settings();
    carry_out(server, &report, RULE, "run");
    assert_eq!(settings(), "OFF 0");
    let off = quick(server, "server");
    assert_eq!(state(&off, RULE), "fine", "{off}");
    carry_out(server, &report, RULE, "undo");
    assert_eq!(settings(), before);
    (0..40).for_each(|_| drop(select(1)));
    let (weight, told) = only(&quick(server, "server"), RULE);
    // A SELECT that finds the cache locked goes without it.
    let hits =
        told.split_once(" hits").and_then(|(before, _)| before.rsplit(' ').next()?.parse::<u32>().ok());
    assert!(weight == "note" && hits.is_some_and(|hits| (20..40).contains(&hits)), "{told}");
}

fn settings(server: &Server) -> String {
    value(server, "SELECT CONCAT(@@GLOBAL.query_cache_type, ' ', @@GLOBAL.query_cache_size)")
}
