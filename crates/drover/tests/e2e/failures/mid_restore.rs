//! Things that happen while a restore loads: it is frozen as soon as the server has written some megabytes of rows.

use drover_sandbox::{Flavour, Server};

use super::wait_until_alone;
use crate::big::{big_dump, big_source};
use crate::client::{sql, value};
use crate::compare;
use crate::drover::{Running, restore, run, verify};
use crate::servers::{on_both, start, target};

on_both!(server_killed, interrupted, connection_killed);

/// Starts to restore `big` as `schema` and freezes that while rows are being loaded.
fn begin(server: &Server, schema: &str, options: &str) -> Running {
    let dir = big_dump(server.flavour());
    let options = format!("--threads 1 --into big={schema} {options}");
    let mut restore = Running::start(&mut restore(server, &dir, &options));
    let tablespace = server.datadir().join(schema).join("wide.ibd");
    let size = || std::fs::metadata(&tablespace).map_or(0, |file| file.len());
    restore.freeze_when("the server has some megabytes of rows", || size() > 4 << 20);
    restore
}

/// What a restore that was cut off has left is not taken for whole, and can be done again.
fn assert_can_be_done_again(server: &Server, schema: &str) {
    let (dir, into) = (big_dump(server.flavour()), format!("--into big={schema}"));
    run(&mut verify(server, &dir, &into)).found(&["wide", "100000"]);
    run(&mut restore(server, &dir, &into)).refused(&["earlier restore", "--resume", "--drop-existing"]);
    run(&mut restore(server, &dir, &format!("{into} --drop-existing"))).done();
    compare::assert_same(&compare::rows(big_source(server.flavour()), "big"), &compare::rows(server, schema));
}

fn server_killed(flavour: Flavour) {
    let mut server = start(flavour, &[]);
    let restore = begin(&server, "killed", "");
    server.kill();
    restore.signal("CONT");
    restore.finish().refused(&["wide.00001", "`killed`.`wide`", "lost", "error log", "--resume resumes it"]);
    server.restart().unwrap();
    assert_can_be_done_again(&server, "killed");
}

fn interrupted(flavour: Flavour) {
    let server = target(flavour);
    sql(server, "CREATE USER IF NOT EXISTS interrupted@localhost; GRANT ALL ON *.* TO interrupted@localhost");
    let restore = begin(server, "mid_interrupted", "-u interrupted");
    // Another one must not take away what this one makes.
    let other = "--into big=mid_interrupted --drop-existing";
    run(&mut crate::drover::restore(server, &big_dump(flavour), other)).refused(&[
        "at work",
        "nothing was changed",
        "KILL",
    ]);
    restore.signal("INT");
    restore.signal("CONT");
    restore.finish().refused(&["stopped", "--resume"]);
    wait_until_alone(server, "interrupted");
    assert_can_be_done_again(server, "mid_interrupted");
}

fn connection_killed(flavour: Flavour) {
    let server = target(flavour);
    sql(server, "CREATE USER IF NOT EXISTS mid_killed@localhost; GRANT ALL ON *.* TO mid_killed@localhost");
    let restore = begin(server, "mid_killed", "-u mid_killed");
    let worker = "SELECT ID FROM information_schema.PROCESSLIST JOIN information_schema.INNODB_TRX ON ID = trx_mysql_thread_id \
                  WHERE USER = 'mid_killed'";
    sql(server, format!("KILL {}", value(server, worker)));
    restore.signal("CONT");
    restore.finish().refused(&["wide.00001", "`mid_killed`.`wide`"]);
    assert_can_be_done_again(server, "mid_killed");
}
