//! A copy that is killed, again and again, goes on and ends with all rows, keys and objects.

use std::path::Path;
use std::time::Duration;

use drover_sandbox::{Flavour, Server};

use super::{assert_finished, assert_same, make};
use crate::client::{sql, value};
use crate::drover::{Running, copy, drover_on, run};
use crate::files::manifest;
use crate::servers::{on_both, source, start, target};

on_both!(
    killed_at_random,
    rows_of_two_moments,
    rows_of_one_moment,
    other_tables,
    lost_notes,
    triggers_that_are_there_already
);

const KILLS: u64 = 30;
const LINE: &str = "--threads 3 --chunk-size 64k --resume";

fn killed_at_random(flavour: Flavour) {
    let (source, target, schema) = (source(flavour), target(flavour), "cp_killed_often");
    make(source, schema, 20_000);
    let (dir, mut hits, mut finished) = (tempfile::tempdir().unwrap(), 0, 0);
    let line = format!("{schema} {LINE}");
    let mut state = dir.path().join("0");
    // As a run leaves it that was killed before its state was there.
    std::fs::create_dir(&state).unwrap();
    std::fs::write(state.join("copy.json.partial"), "{").unwrap();
    for number in 0..KILLS {
        let mut copying = Running::start(&mut copy(source, target, &line, &state));
        std::thread::sleep(Duration::from_millis(50 + number * 131 % 1500));
        if !copying.has_ended() {
            hits += 1;
            continue; // dropped, it is killed
        }
        copying.finish().done();
        assert_finished(&state);
        assert_same(source, target, schema);
        sql(target, format!("DROP DATABASE {schema}"));
        state = dir.path().join(number.to_string());
        finished += 1;
    }
    assert!(
        hits > 10,
        "only {hits} copies were hit while they worked: the test proves little ({finished} ended)"
    );
    run(&mut copy(source, target, &line, &state)).done();
    assert_same(source, target, schema);
    sql(source, format!("DROP DATABASE {schema}"));
    sql(target, format!("DROP DATABASE {schema}"));
}

/// A copy that was killed when some chunks were there, and a source that has changed since. The source is of its own.
fn interrupted(flavour: Flavour, schema: &str, options: &str, state: &Path) -> Server {
    let source = start(flavour, &[]);
    make(&source, schema, 20_000);
    let line = format!("{schema} --threads 1 --chunk-size 64k {options}");
    let mut copying = Running::start(&mut copy(&source, target(flavour), &line, state));
    let journal = state.join("journal.jsonl");
    let chunks = || std::fs::read_to_string(&journal).unwrap_or_default().matches("/keyed.0").count();
    copying.freeze_when("some chunks are copied", || chunks() > 8);
    copying.signal("KILL");
    copying.finish();
    source
}

const CHANGES: &str = "UPDATE keyed SET v = 'new'; UPDATE parts SET v = 'new' WHERE b % 2 = 0; DELETE FROM keyless LIMIT 10; \
                       INSERT INTO keyed (p, v) VALUES (1, 'more')";

fn rows_of_two_moments(flavour: Flavour) {
    let dir = tempfile::tempdir().unwrap();
    let source = interrupted(flavour, "cp_two_moments", "", dir.path());
    sql(&source, format!("USE cp_two_moments; {CHANGES}"));
    let output =
        run(&mut copy(&source, target(flavour), &format!("cp_two_moments {LINE}"), dir.path())).done();
    assert!(output.stderr.contains("resumed with a new snapshot"), "{output}");
    assert!(output.stdout.contains("mixed     this copy was interrupted"), "{output}");
    let manifest = manifest(dir.path());
    let log = source.datadir().join(manifest["snapshot"]["binlog_file"].as_str().unwrap());
    let mut replay = drover_on(target(flavour), "-q binlog replay");
    replay.arg("--after").arg(dir.path()).arg(log);
    run(&mut replay).refused(&["no one position to go on from", "resumed with a new snapshot"]);
    assert_eq!(manifest["earlier_snapshots"].as_array().map(Vec::len), Some(1));
    let count = |condition: &str| {
        let sql = format!("SELECT COUNT(*) FROM cp_two_moments.keyed WHERE v {condition} 'new'");
        value(target(flavour), sql).parse::<u32>().unwrap()
    };
    assert!(count("<>") > 100 && count("=") > 100, "{} and {}", count("<>"), count("="));
    assert_eq!(count("<>") + count("="), 20_001);
}

fn rows_of_one_moment(flavour: Flavour) {
    for (schema, first, then) in
        [("cp_one_moment", "--consistent-resume", ""), ("cp_one_moment_2", "", "--consistent-resume")]
    {
        let dir = tempfile::tempdir().unwrap();
        let source = interrupted(flavour, schema, first, dir.path());
        sql(&source, format!("USE {schema}; {CHANGES}"));
        let output =
            run(&mut copy(&source, target(flavour), &format!("{schema} {LINE} {then}"), dir.path())).done();
        assert!(!output.stderr.contains("new snapshot"), "{output}");
        assert!(manifest(dir.path()).get("earlier_snapshots").is_none());
        assert_same(&source, target(flavour), schema);
    }
}

/// Tables that were altered are copied anew, those that are gone go from the target too, and new ones come.
fn other_tables(flavour: Flavour) {
    let (dir, schema) = (tempfile::tempdir().unwrap(), "cp_other_tables");
    let source = interrupted(flavour, schema, "", dir.path());
    sql(
        &source,
        format!(
            "USE {schema}; ALTER TABLE keyed ADD COLUMN more INT DEFAULT 5; DROP TABLE parts; CREATE TABLE new_one (id INT);
             INSERT INTO new_one VALUES (1), (2)"
        ),
    );
    let output = run(&mut copy(&source, target(flavour), &format!("{schema} {LINE}"), dir.path())).done();
    assert!(output.stderr.contains("`cp_other_tables`.`parts` was dropped again"), "{output}");
    assert_same(&source, target(flavour), schema);
}

/// A journal that lacks what was committed, as after a power cut: nothing comes twice.
fn lost_notes(flavour: Flavour) {
    let (dir, schema) = (tempfile::tempdir().unwrap(), "cp_lost_notes");
    let source = interrupted(flavour, schema, "", dir.path());
    let journal = dir.path().join("journal.jsonl");
    let text = std::fs::read_to_string(&journal).unwrap();
    let kept: Vec<_> = text.lines().filter(|line| !line.contains("/keyed.00004.")).collect();
    std::fs::write(&journal, kept.join("\n") + "\n").unwrap();
    run(&mut copy(&source, target(flavour), &format!("{schema} {LINE}"), dir.path())).done();
    assert_same(&source, target(flavour), schema);
}

/// The triggers that a killed run has made do not run for rows that the next one replaces.
fn triggers_that_are_there_already(flavour: Flavour) {
    let (source, target, dir) = (start(flavour, &[]), target(flavour), tempfile::tempdir().unwrap());
    sql(
        &source,
        "CREATE DATABASE cp_triggers; USE cp_triggers; CREATE TABLE a (id INT PRIMARY KEY, s CHAR(200) NOT NULL);
         INSERT INTO a VALUES (1, REPEAT('x', 200)), (2, REPEAT('x', 200)), (3, REPEAT('x', 200)), (4, REPEAT('x', 200));
         CREATE TRIGGER loud BEFORE INSERT ON a FOR EACH ROW SET NEW.s = UPPER(NEW.s)",
    );
    for _ in 0..8 {
        sql(
            &source,
            "USE cp_triggers; DROP TRIGGER IF EXISTS loud; INSERT INTO a SELECT id + (SELECT MAX(id) FROM a), s FROM a; INSERT INTO a SELECT id + (SELECT \
             MAX(id) FROM a), s FROM a",
        );
    }
    sql(
        &source,
        "CREATE TRIGGER cp_triggers.loud BEFORE INSERT ON cp_triggers.a FOR EACH ROW SET NEW.s = UPPER(NEW.s)",
    );
    let line = "cp_triggers --chunk-size 100k --consistent-resume";
    let mut copying = Running::start(&mut copy(&source, target, line, dir.path()));
    let are_there = "SELECT COUNT(*) FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = 'cp_triggers'";
    copying.freeze_when("the triggers are there", || value(target, are_there) == "1");
    copying.signal("KILL");
    drop(copying);
    sql(&source, "UPDATE cp_triggers.a SET s = 'changed' WHERE id IN (3, 100000)");
    run(&mut copy(&source, target, &format!("{line} --resume"), dir.path())).done();
    let loud = "SELECT COUNT(*) FROM cp_triggers.a WHERE BINARY s = BINARY UPPER(s)";
    assert_eq!(value(target, loud), "0");
    assert_eq!(value(target, are_there), "1");
    sql(target, "DROP DATABASE cp_triggers");
}
