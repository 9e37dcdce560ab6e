//! Things that happen to a copy: it is frozen as soon as some chunks are committed.

use std::fs;
use std::path::Path;

use drover_sandbox::{Flavour, Server};

use super::{assert_finished, assert_same, make};
use crate::client::{sql, try_sql, value, wait_until};
use crate::drover::{Running, copy, copy_as, run};
use crate::servers::{on_both, source, start, target};

on_both!(
    target_lost,
    source_lost,
    connection_to_target_killed,
    interrupted,
    has_rows_already,
    told_what_to_do,
    still_at_work,
    its_lock_is_lost,
    table_of_another
);

const LINE: &str = "--threads 1 --chunk-size 64k";

/// Starts a copy and freezes it when some chunks of `keyed` are there.
fn begun(command: &mut std::process::Command, state: &Path) -> Running {
    let mut copying = Running::start(command);
    let journal = state.join("journal.jsonl");
    let chunks = || std::fs::read_to_string(&journal).unwrap_or_default().matches("/keyed.0").count();
    copying.freeze_when("some chunks are copied", || chunks() > 5);
    copying
}

fn resumed(source: &Server, target: &Server, schema: &str, state: &Path) {
    run(&mut copy(source, target, &format!("{schema} {LINE} --resume"), state)).done();
    assert_same(source, target, schema);
    assert_finished(state);
}

fn target_lost(flavour: Flavour) {
    let (source, mut target, dir) = (source(flavour), start(flavour, &[]), tempfile::tempdir().unwrap());
    make(source, "cp_target_lost", 10_000);
    let copying =
        begun(&mut copy(source, &target, &format!("cp_target_lost {LINE}"), dir.path()), dir.path());
    target.kill();
    copying.signal("CONT");
    copying.finish().refused(&["lost"]);
    target.restart().unwrap();
    resumed(source, &target, "cp_target_lost", dir.path());
}

fn source_lost(flavour: Flavour) {
    let (mut source, target, dir) = (start(flavour, &[]), target(flavour), tempfile::tempdir().unwrap());
    make(&source, "cp_source_lost", 10_000);
    let copying =
        begun(&mut copy(&source, target, &format!("cp_source_lost {LINE}"), dir.path()), dir.path());
    source.kill();
    copying.signal("CONT");
    copying.finish().refused(&["lost"]);
    source.restart().unwrap();
    resumed(&source, target, "cp_source_lost", dir.path());
}

fn connection_to_target_killed(flavour: Flavour) {
    let (source, target, dir) = (source(flavour), target(flavour), tempfile::tempdir().unwrap());
    make(source, "cp_killed", 10_000);
    sql(
        target,
        "CREATE USER IF NOT EXISTS cp_killed@localhost; GRANT ALL ON *.* TO cp_killed@localhost WITH GRANT OPTION",
    );
    let command =
        &mut copy_as(("root", source), ("cp_killed", target), &format!("cp_killed {LINE}"), dir.path());
    let copying = begun(command, dir.path());
    for row in sql(target, "SELECT ID FROM information_schema.PROCESSLIST WHERE USER = 'cp_killed'") {
        sql(target, format!("KILL {}", row[0]));
    }
    copying.signal("CONT");
    copying.finish().refused(&["`cp_killed`"]);
    resumed(source, target, "cp_killed", dir.path());
}

fn interrupted(flavour: Flavour) {
    let (source, target, dir) = (source(flavour), target(flavour), tempfile::tempdir().unwrap());
    make(source, "cp_interrupted", 10_000);
    let copying = begun(&mut copy(source, target, &format!("cp_interrupted {LINE}"), dir.path()), dir.path());
    copying.signal("INT");
    copying.signal("CONT");
    copying.finish().refused(&["stopped", "the same command with --resume"]);
    resumed(source, target, "cp_interrupted", dir.path());
    // Also if the command said --drop-existing: then only what nothing is known of is dropped.
    let line = format!("cp_interrupted {LINE} --drop-existing");
    let dir = tempfile::tempdir().unwrap();
    let copying = begun(&mut copy(source, target, &line, dir.path()), dir.path());
    copying.signal("INT");
    copying.signal("CONT");
    copying.finish().refused(&["stopped", "the same command with --resume"]);
    let there = value(target, "SELECT COUNT(*) FROM cp_interrupted.keyed");
    assert_ne!(there, "0");
    let resumed = run(&mut copy(source, target, &format!("{line} --resume"), dir.path())).done();
    assert!(resumed.stderr.contains("earlier"), "{resumed}");
    assert_same(source, target, "cp_interrupted");
    assert_finished(dir.path());
}

fn has_rows_already(flavour: Flavour) {
    let (source, target, dir) = (source(flavour), target(flavour), tempfile::tempdir().unwrap());
    make(source, "cp_filled", 100);
    make(target, "cp_filled", 50);
    let line = "cp_filled --threads 1";
    run(&mut copy(source, target, line, dir.path())).refused(&["already has", "nothing was changed"]);
    assert_eq!(value(target, "SELECT COUNT(*) FROM cp_filled.keyed"), "50");
    run(&mut copy(source, target, &format!("{line} --drop-existing"), dir.path())).done();
    assert_same(source, target, "cp_filled");
    run(&mut copy(source, target, line, dir.path())).refused(&["a finished copy"]);
    // Said again when all is done, it is proved again.
    run(&mut copy(source, target, &format!("{line} --resume"), dir.path())).done();
    run(&mut copy(source, target, &format!("{line} --drop-existing"), dir.path())).done();
    assert_same(source, target, "cp_filled");
}

fn told_what_to_do(flavour: Flavour) {
    let (source, target, dir) = (source(flavour), target(flavour), tempfile::tempdir().unwrap());
    make(source, "cp_told", 10_000);
    let line = format!("cp_told {LINE}");
    drop(begun(&mut copy(source, target, &line, dir.path()), dir.path()));
    run(&mut copy(source, target, &line, dir.path())).refused(&["an unfinished copy", "--resume"]);
    run(&mut copy(source, target, &format!("{line} --resume --exclude x"), dir.path()))
        .refused(&["the unfinished copy was begun otherwise: --exclude"]);
    let other_way = format!("{line} --resume --into cp_told=other");
    run(&mut copy(source, target, &other_way, dir.path())).refused(&["this is the state of a copy from"]);
    run(&mut crate::drover::restore(target, dir.path(), "")).refused(&["no manifest.json"]);
    run(&mut copy(source, target, &format!("{line} --drop-existing"), dir.path())).done();
    assert_same(source, target, "cp_told");
    run(&mut crate::drover::restore(target, dir.path(), "")).refused(&["what a copy has left"]);
    let elsewhere = tempfile::tempdir().unwrap();
    std::fs::write(elsewhere.path().join("own"), "a person's").unwrap();
    run(&mut copy(source, target, &line, elsewhere.path())).refused(&["not empty"]);
}

/// Two cannot do the same at the same time.
fn still_at_work(flavour: Flavour) {
    let (source, target, dir) = (source(flavour), target(flavour), tempfile::tempdir().unwrap());
    make(source, "cp_twice", 10_000);
    let line = format!("cp_twice {LINE}");
    let first = begun(&mut copy(source, target, &line, dir.path()), dir.path());
    run(&mut copy(source, target, &format!("{line} --resume"), dir.path())).refused(&["at work"]);
    // Nor does one with a state of its own get at the tables.
    let other = dir.path().with_extension("other");
    for options in ["--drop-existing", "--drop-existing --exclude keyless"] {
        run(&mut copy(source, target, &format!("{line} {options}"), &other))
            .refused(&["another run that fills `cp_twice` is at work", "nothing was changed"]);
    }
    fs::remove_dir_all(&other).unwrap();
    first.signal("CONT");
    first.finish().done();
    assert_same(source, target, "cp_twice");
}

/// A copy that has lost the connection that holds its lock still loads when another one begins: it must not fill what that one makes.
fn its_lock_is_lost(flavour: Flavour) {
    let (source, target, dir) = (source(flavour), target(flavour), tempfile::tempdir().unwrap());
    sql(
        source,
        "CREATE DATABASE cp_lock; CREATE TABLE cp_lock.keyless (n INT, v VARCHAR(2000)) ENGINE = MyISAM;
         INSERT INTO cp_lock.keyless WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 900)
           SELECT n, REPEAT('x', 2000) FROM s;
         INSERT INTO cp_lock.keyless SELECT a.* FROM cp_lock.keyless a JOIN cp_lock.keyless b ON b.n <= 9",
    );
    let line = "cp_lock --threads 2 --chunk-size 64k";
    let first = Running::start(&mut copy(source, target, &format!("{line} --max-rate 1M"), dir.path()));
    wait_until("rows are coming", || {
        try_sql(target, "SELECT n FROM cp_lock.keyless LIMIT 1").is_ok_and(|rows| !rows.is_empty())
    });
    let notes = "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'cp_lock' AND TABLE_NAME LIKE 'drover%'";
    let lock = format!("{}_0", value(target, notes));
    sql(target, format!("KILL {}", value(target, format!("SELECT IS_USED_LOCK('{lock}')"))));
    let other = tempfile::tempdir().unwrap();
    run(&mut copy(source, target, &format!("{line} --drop-existing"), other.path())).done();
    let ended = first.finish();
    assert_eq!(ended.code, Some(2), "{ended}");
    assert_same(source, target, "cp_lock");
}

/// A table that came to the target from elsewhere is never dropped or filled by a copy that goes on.
fn table_of_another(flavour: Flavour) {
    let (source, target, dir) = (source(flavour), target(flavour), tempfile::tempdir().unwrap());
    make(source, "cp_other", 10_000);
    let line = format!("cp_other {LINE}");
    drop(begun(&mut copy(source, target, &line, dir.path()), dir.path()));
    sql(source, "CREATE TABLE cp_other.later (id INT PRIMARY KEY)");
    sql(target, "CREATE TABLE cp_other.later (mine INT); INSERT INTO cp_other.later VALUES (1)");
    run(&mut copy(source, target, &format!("{line} --resume"), dir.path()))
        .refused(&["`cp_other`.`later`", "has not made"]);
    assert_eq!(value(target, "SELECT mine FROM cp_other.later"), "1");
    sql(target, "DROP TABLE cp_other.later");
    resumed(source, target, "cp_other", dir.path());
}
