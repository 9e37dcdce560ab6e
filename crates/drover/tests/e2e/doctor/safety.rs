//! What `drover doctor` says of who may do what on a server, and of what is left when it is lost.

use drover_sandbox::{Flavour, Server};
use serde_json::Value;

use super::binlog::quick;
use super::server::{carry_out, subjects};
use super::{check, findings, state};
use crate::client::{sql, value};
use crate::drover::run;
use crate::drover::{drover, drover_on};
use crate::servers::{on_both, start_unsynced};
use crate::throttle::replica_of;

on_both!(general_log, accounts, system_tablespace, writable_replica, last_backup, nobody_sees_it);

fn weights(report: &Value, rule: &str) -> Vec<String> {
    findings(report, rule).into_iter().map(|(weight, _)| weight).collect()
}

/// What was found is cured by what is proposed, and is there again when that is undone.
fn cured_and_undone(server: &Server, rule: &str) {
    let report = quick(server, "server");
    assert_eq!(state(&report, rule), "found", "{report}");
    carry_out(server, &report, rule, "run");
    let cured = quick(server, "server");
    assert_eq!(state(&cured, rule), "fine", "{cured}");
    carry_out(server, &report, rule, "undo");
    assert_eq!(weights(&quick(server, "server"), rule), weights(&report, rule));
}

fn general_log(flavour: Flavour) {
    const RULE: &str = "server.general_log";
    let server = &start_unsynced(flavour, &[]);
    assert_eq!(state(&quick(server, "server"), RULE), "fine");
    sql(server, "SET GLOBAL general_log = ON");
    let report = quick(server, "server");
    let found = findings(&report, RULE);
    assert!(found.len() == 1 && found[0].0 == "yellow" && found[0].1.contains("the file "), "{report}");
    cured_and_undone(server, RULE);
    sql(server, "SET GLOBAL log_output = 'TABLE,FILE'");
    let both = check(&quick(server, "server"), RULE).to_string();
    assert!(both.contains("mysql.general_log"), "{both}");
    sql(server, "SET GLOBAL log_output = 'NONE'");
    assert_eq!(state(&quick(server, "server"), RULE), "fine");
}

/// Accounts that prove nothing, that may do all, and such as are in order.
fn accounts(flavour: Flavour) {
    const RULE: &str = "server.accounts";
    let server = &start_unsynced(flavour, &[]);
    sql(
        server,
        "CREATE USER nopass@'10.%'; CREATE USER ''@localhost; CREATE USER boss@'%' IDENTIFIED BY 'a-secret'; GRANT ALL ON *.* TO boss@'%';
         CREATE USER near@'10.%' IDENTIFIED BY 'a-secret'; GRANT ALL ON *.* TO near@'10.%';
         CREATE USER app@'%' IDENTIFIED BY 'a-secret'; GRANT ALL ON d.* TO app@'%';
         CREATE USER locked@'%' ACCOUNT LOCK; CREATE USER proven@'%' REQUIRE X509; CREATE ROLE somebody",
    );
    if flavour == Flavour::MariaDb {
        sql(
            server,
            "CREATE USER socket@localhost IDENTIFIED VIA unix_socket;
             CREATE USER either@localhost IDENTIFIED VIA unix_socket OR mysql_native_password USING PASSWORD('a-secret');
             CREATE USER lax@localhost IDENTIFIED VIA unix_socket OR mysql_native_password USING ''",
        );
    }
    let report = quick(server, "server");
    let open: &[&str] = match flavour {
        Flavour::MariaDb => {
            &["(anybody)@localhost", "boss@%", "lax@localhost", "nopass@10.%", "root@localhost"]
        }
        Flavour::MySql => &["(anybody)@localhost", "boss@%", "nopass@10.%", "root@localhost"],
    };
    assert_eq!(subjects(&report, RULE), open, "{report}");
    // The server is bound to this host: from elsewhere nobody comes in.
    assert!(
        findings(&report, RULE).iter().all(|(weight, told)| (weight == "note") == told.contains("boss@%"))
    );
    assert!(!report.to_string().contains("a-secret"));
    sql(server, "DROP USER ''@localhost; DROP USER nopass@'10.%'; RENAME USER boss@'%' TO boss@'10.%'");
    if flavour == Flavour::MariaDb {
        sql(server, "DROP USER lax@localhost");
    }
    sql(server, "ALTER USER root@localhost IDENTIFIED BY 'a-secret'");
    let cured = quick(server, "server --password=a-secret");
    assert_eq!(state(&cured, RULE), "fine", "{cured}");
}

fn system_tablespace(flavour: Flavour) {
    const RULE: &str = "server.file_per_table";
    let server = &start_unsynced(flavour, &[]);
    assert_eq!(state(&quick(server, "server"), RULE), "fine");
    sql(server, "SET GLOBAL innodb_file_per_table = OFF");
    cured_and_undone(server, RULE);
    sql(
        server,
        "CREATE DATABASE d; CREATE TABLE d.shared (id INT PRIMARY KEY, v TEXT, FULLTEXT KEY (v)) ENGINE=InnoDB;
         SET GLOBAL innodb_file_per_table = ON; CREATE TABLE d.own (id INT PRIMARY KEY) ENGINE=InnoDB",
    );
    let report = quick(server, "server");
    let found = findings(&report, RULE);
    assert!(
        found.len() == 1 && found[0].0 == "note" && found[0].1.contains("1 table in it: d.shared"),
        "{report}"
    );
    // As doctor says.
    let told = findings(&report, RULE)[0].1.clone();
    let clause = match flavour {
        Flavour::MySql => "TABLESPACE = innodb_file_per_table",
        Flavour::MariaDb => "ENGINE = InnoDB",
    };
    assert!(told.contains(&format!("ALTER TABLE … {clause} moves")), "{told}");
    sql(server, format!("ALTER TABLE d.shared {clause}"));
    let moved = quick(server, "server");
    assert_eq!(state(&moved, RULE), "fine", "{moved}");
}

fn writable_replica(flavour: Flavour) {
    const RULE: &str = "server.writable_replica";
    let server = &start_unsynced(flavour, &["--server-id=1"]);
    assert_eq!(state(&quick(server, "server"), RULE), "not_here");
    let replica = &replica_of(server);
    sql(replica, "CREATE DATABASE here");
    let report = quick(replica, "server");
    let found = findings(&report, RULE);
    assert!(found.len() == 1 && found[0].0 == "yellow" && found[0].1.contains("it, of now"), "{report}");
    cured_and_undone(replica, RULE);
    assert_eq!(value(replica, "SELECT @@GLOBAL.read_only"), "0");
    sql(replica, "SET GLOBAL read_only = ON");
    match flavour {
        Flavour::MariaDb => assert_eq!(state(&quick(replica, "server"), RULE), "fine"),
        Flavour::MySql => {
            assert_eq!(weights(&quick(replica, "server"), RULE), ["note"]);
            cured_and_undone(replica, RULE);
            assert_eq!(value(replica, "SELECT @@GLOBAL.read_only"), "1");
        }
    }
    sql(replica, "CREATE USER doctor_nobody@localhost IDENTIFIED BY 'a-secret'; SET GLOBAL read_only = OFF");
    let unseen = quick(replica, "server -u doctor_nobody --password=a-secret");
    assert_eq!(state(&unseen, RULE), "unknown", "{unseen}");
}

/// Tables of backups as tools keep them, with what doctor reads of them.
fn last_backup(flavour: Flavour) {
    const RULE: &str = "server.backup";
    let server =
        &start_unsynced(flavour, &["--binlog-expire-logs-seconds=864000", "--default-time-zone=+08:00"]);
    // Nothing is known, and that is not fine.
    let report = quick(server, "server");
    assert_eq!(state(&report, RULE), "unknown", "{report}");
    let (table, columns, whole, part) = match flavour {
        Flavour::MariaDb => (
            "mysql.mariadb_backup_history",
            "uuid VARCHAR(40) PRIMARY KEY, end_time TIMESTAMP NULL, partial ENUM('Y', 'N'), incremental ENUM('Y', 'N')",
            "'N', 'Y'",
            "'Y', 'N'",
        ),
        Flavour::MySql => (
            "mysql.backup_history",
            "backup_id VARCHAR(40) PRIMARY KEY, end_time TIMESTAMP NULL, exit_state VARCHAR(10), backup_type VARCHAR(50)",
            "'SUCCESS', 'FULL'",
            "'FAILURE', 'FULL'",
        ),
    };
    sql(server, format!("CREATE TABLE {table} ({columns})"));
    let add = |id: u32, days: u32, values: &str| {
        sql(server, format!("INSERT INTO {table} VALUES ('{id}', NOW() - INTERVAL {days} DAY, {values})"));
    };
    add(1, 0, part);
    let report = quick(server, "server");
    let found = findings(&report, RULE);
    assert!(found.len() == 1 && found[0].1.contains("no whole one"), "{report}");
    for (id, days, what) in [(2, 20, "cannot be restored"), (3, 8, "it takes the binary logs of")] {
        add(id, days, whole);
        let report = quick(server, "server");
        let found = findings(&report, RULE);
        assert!(found.len() == 1 && found[0].0 == "yellow" && found[0].1.contains(what), "{report}");
        assert!(found[0].1.contains(&format!("is {days} days old")), "{report}");
    }
    add(4, 3, whole);
    let young = quick(server, "server");
    assert_eq!(state(&young, RULE), "fine", "{young}");
    // Then the logs do not reach back to it.
    sql(server, "SET GLOBAL binlog_expire_logs_seconds = 86400");
    let report = quick(server, "server");
    assert!(findings(&report, RULE)[0].1.contains("cannot be restored"), "{report}");
}

/// An account that sees variables and counts only; a server that nobody asks.
fn nobody_sees_it(flavour: Flavour) {
    let server = &start_unsynced(flavour, &[]);
    sql(
        server,
        "CREATE USER doctor_nobody@localhost IDENTIFIED BY 'a-secret'; SET GLOBAL innodb_file_per_table = OFF",
    );
    let report = quick(server, "server -u doctor_nobody --password=a-secret");
    for rule in
        ["auto_increment", "accounts", "writable_replica", "backup"].map(|rule| format!("server.{rule}"))
    {
        assert_eq!(state(&report, &rule), "unknown", "{rule}: {report}");
        assert!(!check(&report, &rule)["unknown"].to_string().contains("not there"), "{rule}: {report}");
    }
    // The variable is seen, and what lies there is not.
    let partly = check(&report, "server.file_per_table");
    assert!(partly["state"] == "found" && partly["unknown"][0].to_string().contains("PROCESS"), "{partly}");
    for rule in ["general_log", "redo_log", "tmp_tables"].map(|rule| format!("server.{rule}")) {
        assert_eq!(state(&report, &rule), "fine", "{rule}: {report}");
    }
    // What was kept says the same.
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("bundle.json");
    let account = "-u doctor_nobody --password=a-secret";
    run(&mut drover_on(server, &format!("doctor collect {} {account}", file.display())));
    let elsewhere = run(&mut drover(&format!("--json doctor server --root {}", file.display()))).json();
    let states = |report: &Value| -> Vec<_> {
        report["checks"].as_array().unwrap().iter().map(|checked| checked["state"].clone()).collect()
    };
    assert_eq!(states(&elsewhere), states(&report), "{elsewhere}");
}
