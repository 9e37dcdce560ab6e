//! Things that happen while a dump reads: it is frozen (SIGSTOP) as soon as the rows of the first, large table are being
//! written, and goes on when the deed is done. With one worker the small table is not read before the large one.
//!
//! The server is shared by these tests alone, one at a time: MySQL's FLUSH TABLES WITH READ LOCK of another dump would wait
//! for the frozen one and hold up the deed that is to end the freeze.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use drover_sandbox::{Flavour, Server};

use super::{assert_unfinished, wait_until_alone};
use crate::big::make;
use crate::client::{Session, sql, value, wait_until};
use crate::drover::{Output, Running, dump, run, verify};
use crate::files::{has_rows, manifest, table};
use crate::servers::{on_both, start};

on_both!(
    dropped,
    truncated,
    altered,
    renamed,
    made_anew,
    swapped,
    swapped_among_many,
    partition_exchanged,
    swapped_and_resumed,
    locked,
    locked_among_many,
    rows_changed,
    server_killed,
    connection_killed,
    interrupted
);

/// The server with table `big.wide`, and the turn to use it.
fn server(flavour: Flavour) -> (&'static Server, MutexGuard<'static, ()>) {
    static SERVERS: [OnceLock<Server>; 2] = [const { OnceLock::new() }; 2];
    static TURNS: [Mutex<()>; 2] = [const { Mutex::new(()) }; 2];
    let turn = TURNS[flavour as usize].lock().unwrap_or_else(PoisonError::into_inner);
    let server = SERVERS[flavour as usize].get_or_init(|| {
        let server = start(flavour, &[]);
        make(&server);
        server
    });
    (server, turn)
}

/// Dumps `big` and `schema`, and calls `deed` while `big` is being read.
fn meanwhile(server: &Server, schema: &str, out: &Path, deed: impl FnOnce(&Running)) -> Output {
    // gzip at its slowest gives ample time to freeze it.
    let mut dump =
        Running::start(&mut dump(server, &format!("big {schema} --threads 1 --compress gzip:9"), out));
    dump.freeze_when("the first rows are written", || has_rows(out));
    deed(&dump);
    dump.signal("CONT");
    dump.finish()
}

fn make_small(server: &Server, schema: &str) {
    sql(
        server,
        format!(
            "CREATE DATABASE {schema}; CREATE TABLE {schema}.small (id INT NOT NULL PRIMARY \
             KEY, v INT); INSERT INTO {schema}.small VALUES (1, 10), (2, 20), (3, 30)"
        ),
    );
}

/// `statements` on `SCHEMA.small` make the dump fail, and it says that it is for that table.
fn spoilt_by(flavour: Flavour, schema: &str, statements: &str) {
    let ((server, _turn), dir) = (server(flavour), tempfile::tempdir().unwrap());
    make_small(server, schema);
    let spoil = |_: &Running| drop(sql(server, format!("USE {schema}; {statements}")));
    let output = meanwhile(server, schema, dir.path(), spoil);
    output.refused(&[&format!("`{schema}`.`small`"), "after the snapshot was taken"]);
    assert_unfinished(flavour, dir.path());
}

fn dropped(flavour: Flavour) {
    spoilt_by(flavour, "mid_dropped", "DROP TABLE small");
}

fn truncated(flavour: Flavour) {
    spoilt_by(flavour, "mid_truncated", "TRUNCATE TABLE small");
}

fn altered(flavour: Flavour) {
    spoilt_by(flavour, "mid_altered", "ALTER TABLE small ADD COLUMN w INT DEFAULT 7, ALGORITHM = INSTANT");
}

fn renamed(flavour: Flavour) {
    spoilt_by(flavour, "mid_renamed", "RENAME TABLE small TO other");
}

fn made_anew(flavour: Flavour) {
    let anew = "CREATE TABLE other LIKE small; INSERT INTO other SELECT * FROM small WHERE id < 3; \
                RENAME TABLE small TO gone, other TO small";
    spoilt_by(flavour, "mid_made_anew", anew);
}

/// A table of the same definition, in another schema, takes the name: with its rows, which the snapshot shows as well.
fn swapped(flavour: Flavour) {
    let ((server, _turn), dir) = (server(flavour), tempfile::tempdir().unwrap());
    for (number, name) in ["small", "größer-klein"].into_iter().enumerate() {
        let schema = format!("mid_swapped-{number}");
        sql(
            server,
            format!(
                "CREATE DATABASE `{schema}`; USE `{schema}`; CREATE TABLE `{name}` (id INT NOT NULL PRIMARY KEY); INSERT INTO \
                 `{name}` VALUES (1), (2); CREATE DATABASE `{schema}_other`; CREATE TABLE `{schema}_other`.other LIKE `{name}`; \
                 INSERT INTO `{schema}_other`.other VALUES (3), (4)"
            ),
        );
        let swap = |_: &Running| {
            let other = format!("`{schema}_other`.other");
            let swap = format!("`{name}` TO gone, {other} TO `{name}`, gone TO {other}");
            sql(server, format!("USE `{schema}`; RENAME TABLE {swap}"));
        };
        let out = dir.path().join(number.to_string());
        let output = meanwhile(server, &schema, &out, swap);
        output.refused(&[
            &format!("table `{schema}`.`{name}` was renamed after the snapshot was taken"),
            "--resume",
        ]);
        assert_unfinished(flavour, &out);
    }
}

/// As many as are looked at together.
fn make_many(server: &Server, schema: &str) {
    let table =
        |n| format!("CREATE TABLE t{n} (id INT NOT NULL PRIMARY KEY); INSERT INTO t{n} VALUES ({n});");
    let tables: String = (0..40).map(table).collect();
    sql(server, format!("CREATE DATABASE {schema}; USE {schema}; {tables}"));
}

fn swapped_among_many(flavour: Flavour) {
    let ((server, _turn), dir) = (server(flavour), tempfile::tempdir().unwrap());
    make_many(server, "mid_many_swapped");
    let swap = "USE mid_many_swapped; RENAME TABLE t23 TO gone, t31 TO t23, gone TO t31";
    let output = meanwhile(server, "mid_many_swapped", dir.path(), |_| drop(sql(server, swap)));
    output.refused(&["table `mid_many_swapped`.`t", "was renamed after the snapshot was taken"]);
    assert_unfinished(flavour, dir.path());
}

fn partition_exchanged(flavour: Flavour) {
    let ((server, _turn), dir) = (server(flavour), tempfile::tempdir().unwrap());
    sql(
        server,
        "CREATE DATABASE mid_exchanged; USE mid_exchanged; CREATE TABLE small (id INT NOT NULL PRIMARY KEY) PARTITION BY RANGE (id) \
         (PARTITION P0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20)); INSERT INTO small VALUES (1), (11); \
         CREATE TABLE other (id INT NOT NULL PRIMARY KEY); INSERT INTO other VALUES (2)",
    );
    let exchange = |_: &Running| {
        sql(server, "ALTER TABLE mid_exchanged.small EXCHANGE PARTITION P0 WITH TABLE mid_exchanged.other");
    };
    let output = meanwhile(server, "mid_exchanged", dir.path(), exchange);
    // Whichever of the two is read first.
    output.refused(&["table `mid_exchanged`.", "was renamed after the snapshot was taken"]);
    assert_unfinished(flavour, dir.path());
}

/// What a dump that goes on keeps of a table is not kept for another one that has its name now.
fn swapped_and_resumed(flavour: Flavour) {
    let ((server, _turn), dir) = (server(flavour), tempfile::tempdir().unwrap());
    sql(
        server,
        "CREATE DATABASE mid_resumed; USE mid_resumed; CREATE TABLE a (id INT NOT NULL PRIMARY KEY); INSERT INTO a SELECT id FROM \
         big.wide ORDER BY id LIMIT 5000; CREATE TABLE b LIKE a; INSERT INTO b VALUES (3), (4); ANALYZE TABLE a",
    );
    let rename = |_: &Running| drop(sql(server, "RENAME TABLE mid_resumed.b TO mid_resumed.c"));
    meanwhile(server, "mid_resumed", dir.path(), rename).refused(&["`b` was dropped or renamed"]);
    assert!(dir.path().join("mid_resumed/a.00001.tsv.gz").exists(), "the larger table was not read first");
    sql(server, "USE mid_resumed; RENAME TABLE a TO b, c TO a");
    let line = "big mid_resumed --threads 1 --compress gzip:9 --resume";
    run(&mut dump(server, line, dir.path())).done();
    let manifest = manifest(dir.path());
    let rows = |name: &str| table(&manifest, "mid_resumed", name)["files"][0]["rows"].as_u64().unwrap();
    assert_eq!([rows("a"), rows("b")], [2, 5000]);
}

/// Of tables that are looked at together, those that somebody has locked are waited for by themselves.
fn locked_among_many(flavour: Flavour) {
    let ((server, _turn), dir) = (server(flavour), tempfile::tempdir().unwrap());
    make_many(server, "mid_many_locked");
    let mut session = Session::open(server);
    let line = "big mid_many_locked --threads 1 --compress gzip:9";
    let mut dump = Running::start(&mut dump(server, line, dir.path()));
    dump.freeze_when("the first rows are written", || has_rows(dir.path()));
    session.run("LOCK TABLES mid_many_locked.t5 WRITE, mid_many_locked.t30 WRITE");
    dump.signal("CONT");
    let waiting = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'SELECT%LIMIT 0' AND STATE LIKE '%lock%'";
    wait_until("the dump waits for a table", || dump.has_ended() || value(server, waiting) == "1");
    assert!(!dump.has_ended(), "{}", dump.finish());
    session.run("UNLOCK TABLES");
    dump.finish().done();
    run(&mut verify(server, dir.path(), "")).done();
    let manifest = manifest(dir.path());
    for number in 0..40 {
        let files = &table(&manifest, "mid_many_locked", &format!("t{number}"))["files"];
        assert_eq!(files[0]["rows"], 1, "t{number}: {files}");
    }
}

/// A table that somebody locks for a while is waited for; for too long, and the error says who it is.
fn locked(flavour: Flavour) {
    let (server, dir) = (&start(flavour, &[]), tempfile::tempdir().unwrap());
    make(server);
    make_small(server, "mid_locked");
    let mut session = Session::open(server);
    for (name, released) in [("waits", true), ("gives_up", false)] {
        let out = dir.path().join(name);
        let line = "big mid_locked --threads 1 --compress gzip:9 --lock-timeout 1";
        let mut dump = Running::start(&mut dump(server, line, &out));
        dump.freeze_when("the first rows are written", || has_rows(&out));
        session.run("LOCK TABLES mid_locked.small WRITE");
        dump.signal("CONT");
        let waiting =
            "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'SELECT%`small`%LIMIT 0'";
        wait_until("the dump waits for the table", || dump.has_ended() || value(server, waiting) == "1");
        assert!(!dump.has_ended(), "{}", dump.finish());
        if released {
            std::thread::sleep(std::time::Duration::from_secs(3));
            session.run("UNLOCK TABLES");
            dump.finish().done();
        } else {
            dump.finish().refused(&[
                "`mid_locked`.`small` was locked for 30 s",
                "LOCK TABLES",
                "root@localhost",
            ]);
            assert_unfinished(flavour, &out);
        }
    }
}

/// Changes of rows are no reason to fail: the dump has those of the snapshot.
fn rows_changed(flavour: Flavour) {
    let ((server, _turn), dir) = (server(flavour), tempfile::tempdir().unwrap());
    make_small(server, "mid_rows");
    let digest = |out: &Path| table(&manifest(out), "mid_rows", "small")["files"][0]["digest"].clone();
    let (before, during) = (dir.path().join("before"), dir.path().join("during"));
    run(&mut dump(server, "mid_rows", &before)).done();
    let change =
        "DELETE FROM small WHERE id = 1; UPDATE small SET v = 0; INSERT INTO small VALUES (4, 40), (5, 50)";
    meanwhile(server, "mid_rows", &during, |_| drop(sql(server, format!("USE mid_rows; {change}")))).done();
    assert_eq!(digest(&during), digest(&before));
}

fn server_killed(flavour: Flavour) {
    let (mut server, dir) = (start(flavour, &[]), tempfile::tempdir().unwrap());
    make(&server);
    let mut dump = Running::start(&mut dump(&server, "big --threads 1 --compress gzip:9", dir.path()));
    dump.freeze_when("the first rows are written", || has_rows(dir.path()));
    server.kill();
    dump.signal("CONT");
    dump.finish().refused(&["`big`.`wide`", "lost"]);
    assert_unfinished(flavour, dir.path());
}

fn connection_killed(flavour: Flavour) {
    let ((server, _turn), dir) = (server(flavour), tempfile::tempdir().unwrap());
    // Paced, so that it is still reading when it is killed.
    let mut dump = Running::start(&mut dump(server, "big --threads 1 --max-rate 4M", dir.path()));
    let reading = "SELECT ID FROM information_schema.PROCESSLIST \
                   WHERE INFO LIKE 'SELECT%`big`.`wide`%' AND ID <> CONNECTION_ID()";
    let mut found = Vec::new();
    wait_until("it reads the table and has written rows", || {
        found = sql(server, reading);
        dump.has_ended() || has_rows(dir.path()) && !found.is_empty()
    });
    assert!(!dump.has_ended(), "{}", dump.finish());
    sql(server, format!("KILL {}", found[0][0]));
    dump.finish().refused(&["`big`.`wide`"]);
    assert_unfinished(flavour, dir.path());
}

fn interrupted(flavour: Flavour) {
    let ((server, _turn), dir) = (server(flavour), tempfile::tempdir().unwrap());
    make_small(server, "mid_interrupted");
    sql(server, "CREATE USER IF NOT EXISTS interrupted@localhost; GRANT ALL ON *.* TO interrupted@localhost");
    let mut command =
        dump(server, "big mid_interrupted --threads 1 --compress gzip:9 -u interrupted", dir.path());
    let mut dump = Running::start(&mut command);
    dump.freeze_when("the first rows are written", || has_rows(dir.path()));
    dump.signal("INT");
    dump.signal("CONT");
    dump.finish().refused(&["stopped", &dir.path().display().to_string()]);
    assert_unfinished(flavour, dir.path());
    wait_until_alone(server, "interrupted");
}
