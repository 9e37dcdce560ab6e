//! A dump that is killed, again and again, goes on and ends with all rows; also with rows of tables without a key.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use drover_sandbox::{Flavour, Server};

use crate::client::{run_script, sql};
use crate::compare;
use crate::drover::{Output, Running, drover_on, dump, restore, run};
use crate::files::{manifest, manifest_path, row_files};
use crate::servers::{on_both, source, start, target};

on_both!(
    killed_at_random,
    two_at_once,
    rows_of_two_moments,
    rows_of_one_moment,
    damaged_files,
    changed_by_another,
    other_arguments
);

const KILLS: u64 = 30;

/// Tables with a key, without one, partitioned, and of an engine without transactions; large enough to be hit in the middle.
pub(super) fn make(server: &Server, schema: &str, rows: u32) {
    let deep = match server.flavour() {
        Flavour::MySql => "SET cte_max_recursion_depth = 1000000;",
        Flavour::MariaDb => "SET max_recursive_iterations = 1000000;",
    };
    let script = format!(
        "{deep} CREATE DATABASE {schema}; USE {schema};
         CREATE TABLE keyed (id INT PRIMARY KEY, v VARCHAR(200));
         INSERT INTO keyed WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < {rows})
           SELECT n * 7, SHA2(n, 512) FROM s;
         CREATE TABLE keyless (v VARCHAR(200)); INSERT INTO keyless SELECT v FROM keyed;
         CREATE TABLE parts (a INT, b INT, v VARCHAR(200), PRIMARY KEY (a, b)) PARTITION BY HASH (a) PARTITIONS 4;
         INSERT INTO parts SELECT id % 10, id, v FROM keyed;
         CREATE TABLE myisam (id INT PRIMARY KEY, v VARCHAR(200)) ENGINE = MyISAM; INSERT INTO myisam SELECT * FROM keyed;
         CREATE VIEW view AS SELECT id FROM keyed;
         ANALYZE TABLE keyed, parts"
    );
    run_script(server, None, script.as_bytes()).unwrap();
}

fn resumed(server: &Server, schema: &str, out: &Path, options: &str) -> Output {
    run(&mut dump(server, &format!("{schema} --resume --chunk-size 64k {options}"), out))
}

/// Kills a dump after so long, if it has not ended by then.
fn killed_after(server: &Server, line: &str, out: &Path, delay: Duration) -> bool {
    let mut dumping = Running::start(&mut dump(server, line, out));
    std::thread::sleep(delay);
    !dumping.has_ended() // dropped, it is killed
}

fn killed_at_random(flavour: Flavour) {
    let (server, schema) = (source(flavour), "killed_dump");
    make(server, schema, 20_000);
    let (dir, mut hits) = (tempfile::tempdir().unwrap(), 0);
    let mut out = dir.path().join("0");
    // As a run leaves it that was killed before its journal was there.
    std::fs::create_dir(&out).unwrap();
    std::fs::write(out.join("journal.jsonl.partial"), "{").unwrap();
    for number in 0..KILLS {
        let delay = Duration::from_millis(20 + number * 37 % 400);
        let line = format!("{schema} --resume --chunk-size 64k --threads 3 --compress gzip:9");
        hits += u32::from(killed_after(server, &line, &out, delay));
        if manifest_path(&out).exists() {
            assert_same_as_source(server, schema, &out, flavour);
            out = dir.path().join(number.to_string());
        }
    }
    run(&mut dump(server, &format!("{schema} --resume --chunk-size 64k --compress gzip:9"), &out)).done();
    assert!(hits > 10, "only {hits} dumps were hit while they worked: the test proves little");
    assert_done(server, schema, &out, flavour);
    sql(server, format!("DROP DATABASE {schema}"));
}

/// While one works, another does not touch its files; nor does one in the directory of a dump that was killed make two.
fn two_at_once(flavour: Flavour) {
    let (server, schema) = (source(flavour), "dumped_by_two");
    make(server, schema, 20_000);
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("dump");
    let line = format!("{schema} --chunk-size 64k --threads 1 --compress gzip:9");
    let mut first = Running::start(&mut dump(server, &line, &out));
    let has_rows = || std::fs::read_dir(out.join(schema)).is_ok_and(|files| files.count() > 8);
    first.freeze_when("some files are there", has_rows);
    for options in ["", "--resume"] {
        run(&mut dump(server, &format!("{line} {options}"), &out)).refused(&["another run is at work"]);
    }
    first.signal("CONT");
    first.finish().done();
    assert!(!out.join("run.lock").exists());
    assert_done(server, schema, &out, flavour);
    sql(server, format!("DROP DATABASE {schema}"));
}

/// A run that came to its end has left no journal.
fn assert_done(server: &Server, schema: &str, out: &Path, flavour: Flavour) {
    assert!(!out.join("journal.jsonl").exists());
    assert_same_as_source(server, schema, out, flavour);
}

fn assert_same_as_source(server: &Server, schema: &str, out: &Path, flavour: Flavour) {
    // Several of these tests have a schema of the same name, each on a source of its own.
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let target = target(flavour);
    run(&mut restore(target, out, "")).done();
    compare::assert_same(&compare::everything(server, schema), &compare::everything(target, schema));
    sql(target, format!("DROP DATABASE {schema}"));
}

/// A server of its own with a dump of `resumed` that was killed when some files were whole.
fn interrupted(flavour: Flavour, options: &str, out: &Path) -> Server {
    let server = start(flavour, &[]);
    make(&server, "resumed", 30_000);
    let line = format!("resumed --chunk-size 64k --threads 1 --compress gzip:9 {options}");
    let mut dumping = Running::start(&mut dump(&server, &line, out));
    let journal = out.join("journal.jsonl");
    let files = || std::fs::read_to_string(&journal).unwrap_or_default().matches("resumed/keyed.").count();
    dumping.freeze_when("some files are whole", || files() > 8);
    dumping.signal("KILL");
    dumping.finish();
    // A table that is read first was read before the rows change, one that is read last after.
    sql(&server, "USE resumed; UPDATE keyed SET v = 'new'; UPDATE parts SET v = 'new'; DELETE FROM keyless");
    server
}

fn rows_of_two_moments(flavour: Flavour) {
    let dir = tempfile::tempdir().unwrap();
    let server = interrupted(flavour, "", dir.path());
    run(&mut restore(&server, dir.path(), "--into resumed=x")).refused(&["never finished", "--resume"]);
    let again = run(&mut dump(&server, "resumed --chunk-size 64k --compress gzip:9", dir.path()));
    again.refused(&["unfinished dump", "--resume"]);
    let output = resumed(&server, "resumed", dir.path(), "--compress gzip:9").done();
    assert!(output.stderr.contains("resumed with a new snapshot"), "{output}");
    let manifest = manifest(dir.path());
    assert_eq!(manifest["earlier_snapshots"].as_array().map(Vec::len), Some(1));
    let files = manifest["schemas"][0]["tables"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|t| t["files"].as_array().unwrap());
    assert!(files.filter(|file| file["earlier"] == 0).count() > 8);
    let restored = run(&mut restore(target(flavour), dir.path(), "-q --into resumed=two_moments")).done();
    for output in [&output, &restored] {
        assert!(output.stdout.contains("mixed     this dump was interrupted"), "{output}");
    }
    let log = server.datadir().join(manifest["snapshot"]["binlog_file"].as_str().unwrap());
    let mut replay = drover_on(target(flavour), "binlog replay");
    replay.arg("--after").arg(dir.path()).arg(log);
    run(&mut replay).refused(&["no one position to go on from"]);
    run(&mut dump(&server, "resumed --resume", dir.path())).refused(&["is whole"]);
}

fn rows_of_one_moment(flavour: Flavour) {
    for (first, then) in [("--consistent-resume", ""), ("", "--consistent-resume")] {
        let dir = tempfile::tempdir().unwrap();
        let server = interrupted(flavour, first, dir.path());
        let output = resumed(&server, "resumed", dir.path(), &format!("--compress gzip:9 {then}")).done();
        assert_eq!(output.stderr, "", "{output}");
        assert!(manifest(dir.path()).get("earlier_snapshots").is_none());
        assert_done(&server, "resumed", dir.path(), flavour);
    }
}

/// Files that are not as they were written are written again, and a table that was altered is read again.
fn damaged_files(flavour: Flavour) {
    let dir = tempfile::tempdir().unwrap();
    let server = interrupted(flavour, "--consistent-resume", dir.path());
    for (number, file) in crate::files::row_files(dir.path()).iter().enumerate() {
        match number % 3 {
            0 => std::fs::remove_file(file).unwrap(),
            1 => std::fs::write(file, "damaged").unwrap(),
            _ => {}
        }
    }
    sql(
        &server,
        "ALTER TABLE resumed.parts ADD COLUMN more INT DEFAULT 5; CREATE TABLE resumed.new_one (id INT)",
    );
    resumed(&server, "resumed", dir.path(), "--compress gzip:9").done();
    assert_done(&server, "resumed", dir.path(), flavour);
}

/// What was written is looked at once more before the manifest says that it is there.
fn changed_by_another(flavour: Flavour) {
    let (dir, server) = (tempfile::tempdir().unwrap(), source(flavour));
    make(server, "dumped_and_changed", 20_000);
    let line = "dumped_and_changed --chunk-size 64k --threads 1 --compress gzip:9";
    let mut dumping = Running::start(&mut dump(server, line, dir.path()));
    let whole =
        || row_files(dir.path()).into_iter().filter(|file| file.extension().is_some_and(|end| end == "gz"));
    dumping.freeze_when("some files are whole", || whole().count() > 4);
    let file = whole().next().unwrap();
    OpenOptions::new().append(true).open(&file).unwrap().write_all(b"x").unwrap();
    dumping.signal("CONT");
    let name = file.display().to_string();
    dumping.finish().refused(&[&name, "something else has changed it", "--resume"]);
    assert!(!manifest_path(dir.path()).exists());
    run(&mut dump(server, &format!("{line} --resume"), dir.path())).done();
    assert_done(server, "dumped_and_changed", dir.path(), flavour);
    sql(server, "DROP DATABASE dumped_and_changed");
}

fn other_arguments(flavour: Flavour) {
    let dir = tempfile::tempdir().unwrap();
    let server = interrupted(flavour, "", dir.path());
    let zstd = resumed(&server, "resumed", dir.path(), "");
    zstd.refused(&["was begun otherwise: --compress"]);
    resumed(&server, "resumed", dir.path(), "--compress gzip:9 --exclude keyed --users")
        .refused(&["was begun otherwise: --exclude, --users", "--resume needs"]);
    let elsewhere = dir.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::write(elsewhere.join("something"), "of a person's own").unwrap();
    resumed(&server, "resumed", &elsewhere, "").refused(&["not empty"]);
    assert!(elsewhere.join("something").exists());
}
