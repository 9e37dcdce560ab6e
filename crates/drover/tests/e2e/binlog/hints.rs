//! What the commands say where they cannot go on: the cause as it is, and what helps on a server of that version.

use drover_sandbox::{Flavour, Server};

use super::sql::logged;
use crate::client::{client, feed, sql};
use crate::drover::{drover, run};
use crate::servers::{is_wanted, on_both, start_mariadb_11, start_unsynced};

on_both!(accounts_that_may_not_be_granted, a_target_that_is_read_only, changes_logged_as_statements);

const LOGS: [&str; 2] = ["--log-bin", "--binlog-format=ROW"];

/// drover as this account.
fn as_account(server: &Server, words: &str) -> std::process::Command {
    let mut command = drover(&format!("{words} --no-defaults -u r -S"));
    command.arg(server.socket());
    command
}

fn accounts_that_may_not_be_granted(flavour: Flavour) {
    let source = &start_unsynced(flavour, &LOGS);
    let target = &start_unsynced(flavour, &["--skip-log-bin"]);
    sql(target, "CREATE USER 'r'@'localhost'; GRANT ALL ON *.* TO 'r'@'localhost'");
    let logs = logged(source, || {
        drop(sql(source, "CREATE USER 'x'@'%'; CREATE DATABASE d; GRANT SELECT ON d.* TO 'x'@'%'"))
    });
    let words = ["the account may not grant that", "hint: GRANT it … WITH GRANT OPTION"];
    let found = run(as_account(target, "binlog replay --dry-run").args(&logs)).found(&words);
    assert!(!found.stdout.contains("may not make"), "{found}");
    run(as_account(target, "binlog replay").args(&logs)).refused(&["GRANT SELECT ON ", "denied"]);
    sql(target, "GRANT ALL ON *.* TO 'r'@'localhost' WITH GRANT OPTION");
    run(as_account(target, "binlog replay --dry-run --restart").args(&logs)).done();
}

fn a_target_that_is_read_only(flavour: Flavour) {
    let source = &start_unsynced(flavour, &LOGS);
    let target = &start_unsynced(flavour, &["--skip-log-bin", "--read-only=1"]);
    let more = match flavour {
        Flavour::MariaDb => "BINLOG REPLAY, BINLOG ADMIN",
        Flavour::MySql => "BINLOG_ADMIN, SESSION_VARIABLES_ADMIN",
    };
    sql(
        target,
        format!(
            "CREATE USER 'r'@'localhost'; GRANT {more} ON *.* TO 'r'@'localhost';
             GRANT CREATE, ALTER, DROP, SELECT, INSERT, UPDATE, DELETE ON *.* TO 'r'@'localhost'"
        ),
    );
    let logs = logged(source, || drop(sql(source, "CREATE DATABASE d")));
    run(as_account(target, "binlog replay").args(&logs))
        .refused(&["hint: the target is read-only", "SET GLOBAL read_only = OFF"]);
}

fn changes_logged_as_statements(flavour: Flavour) {
    let source = &start_unsynced(flavour, &["--log-bin", "--binlog-format=STATEMENT"]);
    sql(source, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY); INSERT INTO d.t VALUES (1)");
    let logs = logged(source, || drop(sql(source, "DELETE FROM d.t")));
    let refused = run(drover("binlog sql --flashback").args(&logs))
        .refused(&["hint: the change was logged as a statement, without its rows", "binlog_format = ROW"]);
    assert!(!refused.stderr.contains("DDL"), "{refused}");
}

/// MariaDB's log calls a VECTOR a VARBINARY; MySQL compares none with text.
#[test]
fn vectors_of_the_other_vendor() {
    if !is_wanted(Flavour::MariaDb) || !is_wanted(Flavour::MySql) {
        return;
    }
    let source = &start_mariadb_11(&[&LOGS[..], &["--binlog-row-metadata=FULL"]].concat());
    let target = &start_unsynced(Flavour::MySql, &["--skip-log-bin"]);
    for server in [source, target] {
        sql(server, "CREATE DATABASE d; CREATE TABLE d.v (n INT, v VECTOR(2))");
    }
    let logs = logged(source, || {
        drop(sql(
            source,
            "INSERT INTO d.v VALUES (1, VEC_FROMTEXT('[1,2]')), (1, VEC_FROMTEXT('[3,4]')); DELETE FROM d.v WHERE v = VEC_FROMTEXT('[3,4]')",
        ))
    });
    let columns = format!("mysql://root@/?socket={}", target.socket().display());
    let printed = run(drover("binlog sql --no-defaults --columns-of").arg(columns).args(&logs)).done().stdout;
    let fed = feed(client(target).arg("--binary-mode"), printed.as_bytes());
    assert!(fed.status.success(), "{}\n{printed}", String::from_utf8_lossy(&fed.stderr));
    assert_eq!(sql(target, "SELECT n, FROM_VECTOR(v) FROM d.v"), [["1", "[1.00000e+00,2.00000e+00]"]]);
}
