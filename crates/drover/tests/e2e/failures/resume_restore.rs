//! A restore that is killed, again and again, goes on and ends with all rows, indexes and objects.

use std::path::Path;
use std::time::Duration;

use drover_sandbox::{Flavour, Server};

use crate::client::{run_script, sql, value};
use crate::compare;
use crate::drover::{Running, dump, restore, run};
use crate::files::manifest;
use crate::servers::{on_both, source, start, target};

on_both!(killed_at_random, server_killed, still_at_work, told_what_to_do);

const KILLS: u64 = 30;

/// Tables with keys that wait, without a key, of an engine without transactions; and objects of all kinds.
fn make(server: &Server, schema: &str) {
    let (deep, sequence) = match server.flavour() {
        Flavour::MySql => ("SET cte_max_recursion_depth = 1000000;", ""),
        Flavour::MariaDb => {
            ("SET max_recursive_iterations = 1000000;", "CREATE SEQUENCE seq START WITH 100;")
        }
    };
    let script = format!(
        "{deep} CREATE DATABASE {schema}; USE {schema}; {sequence}
         CREATE TABLE parent (id INT PRIMARY KEY); INSERT INTO parent VALUES (0), (1), (2);
         CREATE TABLE keyed (id INT PRIMARY KEY, p INT, v VARCHAR(200), w VARCHAR(200), KEY (v), UNIQUE KEY (w),
           CONSTRAINT to_parent FOREIGN KEY (p) REFERENCES parent (id));
         INSERT INTO keyed WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 40000)
           SELECT n * 7, n % 3, SHA2(n, 512), SHA2(-n, 512) FROM s;
         CREATE TABLE keyless (v VARCHAR(200)); INSERT INTO keyless SELECT v FROM keyed WHERE id < 100000;
         CREATE TABLE myisam (id INT PRIMARY KEY, v VARCHAR(200)) ENGINE = MyISAM; INSERT INTO myisam SELECT id, v FROM keyed;
         CREATE VIEW all_keyed AS SELECT id FROM keyed;
         CREATE PROCEDURE p() SELECT 1; CREATE FUNCTION f() RETURNS INT NO SQL RETURN 1;
         CREATE TRIGGER tr BEFORE INSERT ON keyed FOR EACH ROW SET @x = 1;
         CREATE EVENT e ON SCHEDULE AT '2037-01-01 00:00:00' DISABLE DO SET @x = 1"
    );
    run_script(server, None, script.as_bytes()).unwrap();
}

fn dumped(flavour: Flavour, schema: &str, dir: &Path) {
    make(source(flavour), schema);
    run(&mut dump(source(flavour), &format!("{schema} --chunk-size 256k"), dir)).done();
}

/// Nothing that a restore needs for itself stays behind.
fn assert_same_as_source(flavour: Flavour, schema: &str, target: &Server) {
    compare::assert_same(&compare::everything(source(flavour), schema), &compare::everything(target, schema));
}

fn killed_at_random(flavour: Flavour) {
    let (dir, schema) = (tempfile::tempdir().unwrap(), "killed_restore");
    dumped(flavour, schema, dir.path());
    let (target, mut hits, mut finished) = (target(flavour), 0, 0);
    for number in 0..KILLS {
        let mut restoring = Running::start(&mut restore(target, dir.path(), "--resume --threads 3"));
        std::thread::sleep(Duration::from_millis(30 + number * 131 % 750));
        if !restoring.has_ended() {
            hits += 1;
            continue; // dropped, it is killed
        }
        restoring.finish().done();
        assert_same_as_source(flavour, schema, target);
        sql(target, format!("DROP DATABASE {schema}"));
        finished += 1;
    }
    assert!(
        hits > 10,
        "only {hits} restores were hit while they worked: the test proves little ({finished} ended)"
    );
    run(&mut restore(target, dir.path(), "--resume")).done();
    assert_same_as_source(flavour, schema, target);
    sql(source(flavour), format!("DROP DATABASE {schema}"));
    sql(target, format!("DROP DATABASE {schema}"));
}

fn begun(server: &Server, dir: &Path, schema: &str) -> Running {
    let mut restoring = Running::start(&mut restore(server, dir, "--threads 1"));
    let steps = format!(
        "SELECT COALESCE(MAX(TABLE_NAME), '') FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{schema}' AND TABLE_NAME LIKE \
         'drover\\_restore%'"
    );
    let files = || match value(server, &steps).as_str() {
        "" => 0,
        table => value(server, format!("SELECT COUNT(*) FROM {schema}.{table} WHERE step LIKE '%.zst'"))
            .parse()
            .unwrap(),
    };
    restoring.freeze_when("some files are loaded", || files() > 4);
    restoring
}

fn server_killed(flavour: Flavour) {
    let (dir, mut server) = (tempfile::tempdir().unwrap(), start(flavour, &[]));
    dumped(flavour, "restart", dir.path());
    let restoring = begun(&server, dir.path(), "restart");
    server.kill();
    restoring.signal("CONT");
    restoring.finish().refused(&["lost"]);
    server.restart().unwrap();
    run(&mut restore(&server, dir.path(), "--resume")).done();
    assert_same_as_source(flavour, "restart", &server);
}

/// Two cannot restore the same at the same time.
fn still_at_work(flavour: Flavour) {
    let (dir, server) = (tempfile::tempdir().unwrap(), target(flavour));
    dumped(flavour, "twice", dir.path());
    let first = begun(server, dir.path(), "twice");
    run(&mut restore(server, dir.path(), "--resume")).refused(&["another run that fills", "is at work"]);
    first.signal("CONT");
    first.finish().done();
    assert_same_as_source(flavour, "twice", server);
}

fn told_what_to_do(flavour: Flavour) {
    let (dir, server) = (tempfile::tempdir().unwrap(), target(flavour));
    dumped(flavour, "told", dir.path());
    drop(begun(server, dir.path(), "told"));
    run(&mut restore(server, dir.path(), "")).refused(&["earlier restore", "--resume"]);
    let half = tempfile::tempdir().unwrap();
    let dumped = run(&mut dump(server, "told", half.path())).done();
    assert!(dumped.stderr.contains("schema 'told' may not be complete"), "{dumped}");
    let tables = manifest(half.path())["schemas"][0]["tables"].to_string();
    assert!(tables.contains("\"keyed\"") && !tables.contains("drover_restore_"), "{tables}");
    run(&mut restore(server, dir.path(), "--drop-existing")).done();
    assert_same_as_source(flavour, "told", server);

    // The hint is followed by whoever had begun with --drop-existing too: what is loaded stays.
    sql(server, "DROP DATABASE told");
    drop(begun(server, dir.path(), "told"));
    let number = || {
        let tables = if flavour == Flavour::MySql { "INNODB_TABLES" } else { "INNODB_SYS_TABLES" };
        value(server, format!("SELECT TABLE_ID FROM information_schema.{tables} WHERE NAME = 'told/parent'"))
    };
    let before = number();
    run(&mut restore(server, dir.path(), "--drop-existing --resume")).done();
    assert_eq!(number(), before, "the table was made anew");
    assert_same_as_source(flavour, "told", server);
    // Where nothing was begun, what is there is proved, and dropped if it is something else.
    let again = run(&mut restore(server, dir.path(), "--drop-existing --resume")).done();
    assert!(again.stderr.contains("nothing was loaded") && number() == before, "{again}");
    sql(server, "UPDATE told.keyed SET w = 'else' WHERE id = 7");
    run(&mut restore(server, dir.path(), "--drop-existing --resume")).done();
    assert_ne!(number(), before);
    assert_same_as_source(flavour, "told", server);

    // One that was killed when all was done, but before it could say so, leaves nothing to go on with.
    let again = run(&mut restore(server, dir.path(), "--resume")).done();
    assert!(again.stderr.contains("nothing was loaded"), "{again}");
    let unproved = run(&mut restore(server, dir.path(), "--resume --no-verify")).done();
    assert!(unproved.stderr.contains("nothing was loaded"), "{unproved}");
    another_dump(flavour, server, dir.path());
}

/// Two dumps may have files of the same names. `--resume` with the second refuses what the first has begun, and the other way round.
fn another_dump(flavour: Flavour, server: &Server, first: &Path) {
    let dir = tempfile::tempdir().unwrap();
    sql(source(flavour), "UPDATE told.keyed SET p = 2 WHERE id > 1000");
    run(&mut dump(source(flavour), "told --chunk-size 256k", dir.path())).done();
    sql(server, "DROP DATABASE told");
    drop(begun(server, first, "told"));
    run(&mut restore(server, dir.path(), "--resume")).refused(&["of another dump", "drover_restore_"]);
    run(&mut restore(server, dir.path(), "--drop-existing --no-verify")).done();
    assert_same_as_source(flavour, "told", server);
    run(&mut restore(server, first, "--resume --no-verify")).found(&["differs   `told`.`keyed`"]);
}
