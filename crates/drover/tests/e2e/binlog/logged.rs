//! Targets that log statements, as MySQL before 5.7 and MariaDB before 10.2 do by default: they take no rows of a log so, and InnoDB no change at
//! READ COMMITTED.

use std::path::PathBuf;

use drover_sandbox::{Flavour, Server};

use crate::drover::{drover_on, run};
use crate::reach::sql;
use crate::servers::start_of;

/// With its vendor's default format, if that was statements.
fn server(flavour: Flavour, version: &str, id: u32) -> Option<Server> {
    let id = format!("--server-id={id}");
    let mut options = vec!["--log-bin=bin", &id];
    if version == "newest" {
        options.push("--binlog-format=STATEMENT");
    }
    start_of(flavour, version, &options)
}

const TABLE: &str =
    "CREATE DATABASE z; CREATE TABLE z.t (id INT PRIMARY KEY, w VARCHAR(9)); INSERT INTO z.t VALUES (1, 'a')";

/// A log with a statement and with rows.
fn log(server: &Server) -> PathBuf {
    sql(server, "mysql", "FLUSH LOGS");
    let logs = sql(server, "mysql", "SHOW BINARY LOGS");
    sql(
        server,
        "z",
        "INSERT INTO z.t VALUES (2, 'b'); SET SESSION binlog_format = 'ROW'; INSERT INTO z.t VALUES (3, 'c'); FLUSH LOGS",
    );
    server.datadir().join(&logs.last().unwrap()[0])
}

fn rows(server: &Server) -> String {
    sql(server, "z", "SELECT GROUP_CONCAT(w ORDER BY id) FROM t").concat().concat()
}

/// Who may set its sessions' format does.
#[test]
fn logs_are_applied_to_servers_that_log_statements() {
    for (flavour, version) in [
        (Flavour::MySql, "mysql-5.6"),
        (Flavour::MySql, "newest"),
        (Flavour::MariaDb, "mariadb-10.1"),
        (Flavour::MariaDb, "newest"),
    ] {
        let (Some(source), Some(target)) = (server(flavour, version, 1), server(flavour, version, 2)) else {
            continue;
        };
        assert_eq!(sql(&target, "mysql", "SELECT @@GLOBAL.binlog_format"), [["STATEMENT"]]);
        sql(&source, "mysql", TABLE);
        sql(&target, "mysql", TABLE);
        let log = log(&source);
        run(drover_on(&target, "binlog replay --dry-run").arg(&log)).done();
        run(drover_on(&target, "binlog replay").arg(&log)).done();
        assert_eq!(rows(&target), "a,b,c", "{version}");
    }
}

/// Who may not is refused before anything is changed, by a dry run too.
#[test]
fn who_may_not_have_rows_logged_is_refused() {
    for (flavour, applies, sets) in [
        (Flavour::MySql, "BINLOG_ADMIN, REPLICATION_APPLIER", "SESSION_VARIABLES_ADMIN"),
        (Flavour::MariaDb, "BINLOG REPLAY", "BINLOG ADMIN"),
    ] {
        let (Some(source), Some(target)) = (server(flavour, "newest", 1), server(flavour, "newest", 2))
        else {
            continue;
        };
        sql(&source, "mysql", TABLE);
        sql(&target, "mysql", TABLE);
        let log = log(&source);
        let account = "CREATE USER app@localhost; GRANT ALL ON z.* TO app@localhost; GRANT ALL ON drover.* TO app@localhost";
        sql(&target, "mysql", &format!("{account}; GRANT {applies} ON *.* TO app@localhost"));
        let as_app =
            |options: &str| run(drover_on(&target, &format!("binlog replay -u app {options}")).arg(&log));
        let told = ["binlog_format=STATEMENT", "SET GLOBAL binlog_format = 'ROW'", sets];
        as_app("").refused(&told);
        let planned = as_app("--dry-run");
        let said = format!("{}{}", planned.stdout, planned.stderr);
        assert!(planned.code != Some(0) && told.iter().all(|word| said.contains(word)), "{planned}");
        assert_eq!(sql(&target, "mysql", "SHOW DATABASES LIKE 'drover'"), [[""; 0]; 0]);
        assert_eq!(rows(&target), "a");
        sql(&target, "mysql", &format!("GRANT {sets} ON *.* TO app@localhost"));
        as_app("").done();
        assert_eq!(rows(&target), "a,b,c");
    }
}
