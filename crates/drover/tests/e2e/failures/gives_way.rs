//! Others who wait for a table that a dump reads: it gives way to them amid the table, and goes on behind them.

use std::path::Path;

use drover_sandbox::{Flavour, Server};

use crate::big::make;
use crate::client::{Session, sql, value, wait_until};
use crate::drover::{Running, dump, run, verify};
use crate::files::has_rows;
use crate::servers::{on_both, start};

on_both!(a_rename_that_waits, while_it_pauses);

/// A dump of `big.wide` that takes long, frozen in the middle.
fn frozen(server: &Server, options: &str, out: &Path) -> Running {
    let line = format!("big --threads 1 --max-rate 4M --chunk-size 1M --compress none {options}");
    let mut dump = Running::start(&mut dump(server, &line, out));
    dump.freeze_when("the first rows are written", || has_rows(out));
    dump
}

/// Of some thirty files of rows, most are yet to come.
fn assert_amid(dump: &mut Running, out: &Path) {
    dump.signal("STOP");
    let files = std::fs::read_dir(out.join("big")).unwrap().count();
    dump.signal("CONT");
    assert!(!dump.has_ended() && files < 25, "it waited until all was read: {files} files");
}

/// Whoever comes behind the RENAME, to read or to write, waits as long as that does.
fn a_rename_that_waits(flavour: Flavour) {
    let (server, dir) = (&start(flavour, &[]), tempfile::tempdir().unwrap());
    make(server);
    let mut dump = frozen(server, "--lock-timeout 1", dir.path());
    std::thread::scope(|scope| {
        let rename = "RENAME TABLE big.wide TO big.gone, big.gone TO big.wide";
        let renamed = scope.spawn(move || sql(server, rename));
        let waiting = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'RENAME%' AND STATE LIKE 'Waiting%'";
        wait_until("the table is waited for", || value(server, waiting) == "1");
        dump.signal("CONT");
        renamed.join().unwrap();
    });
    assert_amid(&mut dump, dir.path());
    dump.finish().done();
    run(&mut verify(server, dir.path(), "")).done();
}

fn while_it_pauses(flavour: Flavour) {
    let (server, dir) = (&start(flavour, &[]), tempfile::tempdir().unwrap());
    make(server);
    let mut session = Session::open(server);
    let mut dump = frozen(server, "--max-load Prepared_stmt_count=0", dir.path());
    session.run("PREPARE something FROM 'SELECT 1'");
    dump.signal("CONT");
    sql(
        server,
        "SET lock_wait_timeout = 50; LOCK TABLES big.wide WRITE; UPDATE big.wide SET a = 'later' WHERE id > 99000",
    );
    assert_amid(&mut dump, dir.path());
    session.run("DEALLOCATE PREPARE something");
    dump.finish().done();
    sql(server, "UPDATE big.wide SET a = SHA2(id, 512) WHERE id > 99000");
    run(&mut verify(server, dir.path(), "")).done();
}
