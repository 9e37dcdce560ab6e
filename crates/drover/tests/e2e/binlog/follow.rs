//! `--follow` goes on until Ctrl-C, which is its right end.

use drover_sandbox::{Flavour, Server};

use crate::client::{sql, value, wait_until};
use crate::drover::{Output, Running, drover_on};
use crate::servers::{on_both, start};

on_both!(ctrl_c_ends_it);

fn ctrl_c_ends_it(flavour: Flavour) {
    let server = start(flavour, &["--log-bin", "--binlog-format=ROW", "--binlog-row-metadata=FULL"]);
    sql(&server, "CREATE DATABASE f; CREATE TABLE f.t (a INT PRIMARY KEY); INSERT INTO f.t VALUES (1234567)");
    let listed = followed(&server, "ls --events").done();
    assert!(listed.stdout.contains("Write_rows") && listed.stderr.is_empty(), "{listed}");
    let printed = followed(&server, "sql").done();
    assert!(printed.stdout.contains("1234567") && printed.stderr.is_empty(), "{printed}");
    let counted = followed(&server, "stat").done();
    assert!(counted.stdout.contains("f.t") && counted.stderr.is_empty(), "{counted}");
}

/// What a command prints that is stopped when it waits for more.
fn followed(server: &Server, command: &str) -> Output {
    // A server does not notice at once that somebody is gone.
    let senders = "FROM information_schema.PROCESSLIST WHERE COMMAND LIKE 'Binlog Dump%'";
    let before = value(server, format!("SELECT COALESCE(MAX(ID), 0) {senders}"));
    let is_waiting =
        format!("SELECT COUNT(*) {senders} AND ID > {before} AND STATE LIKE '%sent all binlog%'");
    let running = Running::start(&mut drover_on(server, &format!("binlog {command} --from-server --follow")));
    wait_until("all was sent", || value(server, &is_waiting) == "1");
    running.signal("INT");
    running.finish()
}
