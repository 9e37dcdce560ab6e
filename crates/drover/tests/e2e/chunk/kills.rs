//! A run that is killed goes on, and does nothing twice.

use std::fs::File;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use drover_sandbox::{Flavour, Server};

use super::{assert_forgotten, chunk, make, parts_done};
use crate::client::{Session, sql, value};
use crate::drover::{Running, run};
use crate::servers::{on_both, source};

on_both!(
    ten_kills,
    ten_kills_with_an_archive,
    killed_before_its_report,
    only_one_at_a_time,
    a_lock_of_others,
    the_same_run_only,
    another_spelling_or_table,
    emptied_and_filled_again,
    failed_at_its_first_part,
    failed_for_good
);

/// Lets a run go on for a moment only: on a slow machine it would be at its end before one has looked how far it is.
fn step(running: &Running) {
    running.signal("CONT");
    std::thread::sleep(Duration::from_millis(50));
    running.signal("STOP");
}

/// Kills a run ten times, each time a few parts further; then lets it come to its end. What it says.
fn killed_ten_times(server: &Server, schema: &str, options: &str, statement: &str) -> serde_json::Value {
    for kill in 1..=10 {
        let before = parts_done(server, schema);
        let slowly = format!("{options} --max-rate 20k");
        let mut running = Running::start(&mut chunk(server, schema, &slowly, statement));
        step(&running);
        while parts_done(server, schema) < before + 1 + kill % 3 {
            assert!(!running.has_ended(), "it ended before kill {kill}: {}", running.finish());
            step(&running);
        }
        running.signal("CONT");
        std::thread::sleep(Duration::from_millis(7 * kill));
        running.signal("KILL");
        running.finish();
    }
    let json = run(&mut chunk(server, schema, &format!("{options} --chunk-size 8k --json"), statement))
        .done()
        .json();
    assert!(json["chunks_before"].as_u64().unwrap() >= 10, "{json}");
    json
}

fn ten_kills(flavour: Flavour) {
    let (server, schema) = (source(flavour), "chunk_kills");
    make(server, schema, 20);
    let sums =
        || sql(server, format!("SELECT COUNT(*), SUM(a), SUM(a * id), SUM(LENGTH(v)) FROM {schema}.t"));
    let expected = sql(
        server,
        format!("SELECT COUNT(*), SUM(a + 1), SUM((a + 1) * id), SUM(LENGTH(v) + 1) FROM {schema}.t"),
    );
    let json = killed_ten_times(server, schema, "", "UPDATE t SET a = a + 1, v = CONCAT(v, '!')");
    assert_eq!(sums(), expected);
    assert_eq!(json["rows"].as_u64(), Some(20_000), "{json}");
    assert_forgotten(server, schema);
}

fn ten_kills_with_an_archive(flavour: Flavour) {
    let (server, schema) = (source(flavour), "chunk_archive_kills");
    make(server, schema, 20);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("kept");
    let expected: Vec<_> = sql(server, format!("SELECT * FROM {schema}.t WHERE a > 1 ORDER BY id"))
        .iter()
        .map(|row| row.join("\t"))
        .collect();
    let options = format!("--archive {}", file.display());
    killed_ten_times(server, schema, &options, "DELETE FROM t WHERE a > 1");
    let kept = std::fs::read_to_string(&file).unwrap();
    assert_eq!(kept.lines().collect::<Vec<_>>(), expected);
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(value(server, format!("SELECT COUNT(*) FROM {schema}.t WHERE a > 1")), "0");
    assert_forgotten(server, schema);
}

fn killed_before_its_report(flavour: Flavour) {
    let (server, schema) = (source(flavour), "chunk_report");
    make(server, schema, 2);
    let statement = "UPDATE t SET a = a + 1";
    let sum = || value(server, format!("SELECT SUM(a) FROM {schema}.t"));
    let before: u64 = sum().parse().unwrap();
    // A report that nobody can have read.
    let mut command = chunk(server, schema, "", statement);
    let status = command.stdout(File::create("/dev/full").unwrap()).status().unwrap();
    assert_eq!(status.code(), Some(2));
    let json = run(&mut chunk(server, schema, "--json", statement)).done().json();
    assert_eq!((json["rows"].as_u64(), &json["chunks"]), (Some(2000), &json["chunks_before"]), "{json}");
    assert_eq!(sum(), (before + 2000).to_string());
    // From now on it is another run.
    run(&mut chunk(server, schema, "", statement)).done();
    assert_eq!(sum(), (before + 4000).to_string());
}

fn only_one_at_a_time(flavour: Flavour) {
    let (server, schema) = (source(flavour), "chunk_two");
    make(server, schema, 10);
    let statement = "UPDATE t SET a = a + 1";
    let mut first = Running::start(&mut chunk(server, schema, "--max-rate 20k", statement));
    first.freeze_when("its first parts are done", || parts_done(server, schema) > 1);
    run(&mut chunk(server, schema, "", statement)).refused(&["being run by another drover", "connection"]);
    first.signal("CONT");
    first.signal("INT");
    let stopped = first.finish().refused(&["stopped by a signal"]);
    assert!(stopped.stderr.contains("hint: the same command goes on"), "{stopped}");
    let json = run(&mut chunk(server, schema, "--json", statement)).done().json();
    assert_eq!(json["rows"].as_u64(), Some(10_000), "{json}");
}

fn a_lock_of_others(flavour: Flavour) {
    let (server, schema) = (source(flavour), "chunk_lock");
    make(server, schema, 2);
    let mut other = Session::open(server);
    other.run(&format!("BEGIN; UPDATE {schema}.t SET v = 'mine' WHERE id = 1500"));
    let running = Running::start(&mut chunk(server, schema, "--json", "UPDATE t SET a = a + 7"));
    let waiting = "SELECT COUNT(*) FROM information_schema.INNODB_TRX
         WHERE trx_state = 'LOCK WAIT' AND trx_query LIKE '%a = a + 7%'";
    crate::client::wait_until("it has met the lock", || {
        // The table is filled anew only when nobody has read it for 100 ms.
        std::thread::sleep(Duration::from_millis(200));
        value(server, waiting) == "1"
    });
    // It gives up after 2 s, and says so.
    std::thread::sleep(Duration::from_secs(3));
    other.run("COMMIT");
    let json = running.finish().done().json();
    assert_eq!(json["rows"].as_u64(), Some(2000), "{json}");
    assert!(json["waited"]["lock"].as_f64().unwrap() > 0.0, "{json}");
    assert_eq!(value(server, format!("SELECT v FROM {schema}.t WHERE id = 1500")), "mine");
}

/// What has changed since a run was begun is told.
fn the_same_run_only(flavour: Flavour) {
    let (server, schema) = (source(flavour), "chunk_other");
    make(server, schema, 20);
    let statement = "DELETE FROM t WHERE a < 9";
    let mut running = Running::start(&mut chunk(server, schema, "--chunk-size 8k --max-rate 20k", statement));
    while parts_done(server, schema) < 2 {
        assert!(!running.has_ended());
    }
    running.signal("KILL");
    running.finish();
    let dir = tempfile::tempdir().unwrap();
    let options = format!("--archive {}", dir.path().join("kept").display());
    run(&mut chunk(server, schema, &options, statement)).refused(&["an earlier run", "no archive"]);
    sql(
        server,
        format!(
            "ALTER TABLE {schema}.t ADD w INT NOT NULL DEFAULT 0, DROP PRIMARY KEY, ADD PRIMARY KEY (a, id)"
        ),
    );
    run(&mut chunk(server, schema, "--altered", statement))
        .refused(&["an earlier run", "it walked along PRIMARY (id)"]);
    sql(server, format!("ALTER TABLE {schema}.t DROP PRIMARY KEY, ADD PRIMARY KEY (id)"));
    run(&mut chunk(server, schema, "--altered", statement)).done();
    assert_eq!(value(server, format!("SELECT COUNT(*) FROM {schema}.t")), "2000");
}

/// Kills a run that has done some parts.
fn killed(server: &Server, schema: &str, statement: &str) {
    let mut running = Running::start(&mut chunk(server, schema, "--max-rate 20k", statement));
    running.freeze_when("some parts are done", || parts_done(server, schema) > 3);
    running.signal("KILL");
    running.finish();
}

/// The same statement goes on however it is written; another one, and another table of the same name, are refused.
fn another_spelling_or_table(flavour: Flavour) {
    let (server, schema) = (source(flavour), "chunk_spelling");
    make(server, schema, 10);
    let expected = value(server, format!("SELECT SUM(a + 1) FROM {schema}.t"));
    killed(server, schema, "UPDATE t SET a = a + 1 WHERE id > 0");
    run(&mut chunk(server, schema, "", "UPDATE t SET a = 1 + a WHERE id > 0"))
        .refused(&["was not finished: UPDATE t SET a = a + 1 WHERE id > 0"]);
    let json = run(&mut chunk(
        server,
        schema,
        "--chunk-size 64k --json",
        "update `t` set a=a+1 -- again\n where id>0;",
    ))
    .done()
    .json();
    assert!(json["chunks_before"].as_u64().unwrap() > 3, "{json}");
    assert_eq!(value(server, format!("SELECT SUM(a) FROM {schema}.t")), expected);
    assert_forgotten(server, schema);

    let statement = "UPDATE t SET a = a + 1";
    killed(server, schema, statement);
    let created = || {
        value(
            server,
            format!(
                "SELECT CREATE_TIME FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{schema}' AND TABLE_NAME = 't'"
            ),
        )
    };
    let before = created();
    sql(
        server,
        format!("CREATE TABLE {schema}.u LIKE {schema}.t; INSERT INTO {schema}.u SELECT * FROM {schema}.t"),
    );
    crate::client::wait_until("the time of creation is another one", || {
        sql(server, format!("DROP TABLE {schema}.t; CREATE TABLE {schema}.t LIKE {schema}.u"));
        created() != before
    });
    sql(server, format!("INSERT INTO {schema}.t SELECT * FROM {schema}.u"));
    run(&mut chunk(server, schema, "", statement)).refused(&["was created at", &before, "--altered"]);
    run(&mut chunk(server, schema, "--altered --chunk-size 64k", statement)).done();
}

/// TRUNCATE does not change when a table was created.
fn emptied_and_filled_again(flavour: Flavour) {
    let (server, schema) = (source(flavour), "chunk_emptied");
    make(server, schema, 10);
    sql(
        server,
        format!(
            "USE {schema}; CREATE TABLE kept LIKE t; INSERT INTO kept SELECT * FROM t;
             CREATE TABLE `p-é` (id INT PRIMARY KEY, a INT) PARTITION BY HASH (id) PARTITIONS 3; INSERT INTO `p-é` SELECT id, a FROM t;
             CREATE USER chunk_emptied@localhost; GRANT ALL ON {schema}.* TO chunk_emptied@localhost"
        ),
    );
    for table in ["t", "`p-é`"] {
        let statement = format!("UPDATE {table} SET a = a + 1");
        let sum = || value(server, format!("SELECT SUM(a) FROM {schema}.{table}"));
        killed(server, schema, &statement);
        let fill = format!("USE {schema}; TRUNCATE {table}; INSERT INTO {table} SELECT t.* FROM");
        match table {
            "t" => sql(server, format!("{fill} kept t")),
            _ => sql(server, format!("{fill} (SELECT id, a FROM kept) t")),
        };
        let filled = sum();
        for more in ["", "--dry-run"] {
            run(&mut chunk(server, schema, more, &statement))
                .refused(&["was emptied by TRUNCATE", "--altered"]);
        }
        assert_eq!(sum(), filled, "{table}");
        // Who may not see it is told so.
        let blind = run(&mut chunk(server, schema, "-u chunk_emptied --dry-run", &statement)).done();
        assert!(
            blind.stderr.contains("was emptied by TRUNCATE since the earlier run is not known"),
            "{blind}"
        );
        run(&mut chunk(server, schema, "--altered --chunk-size 64k", &statement)).done();
        assert_forgotten(server, schema);
    }
    // Where nothing of the kind has been done it goes on.
    killed(server, schema, "UPDATE `p-é` SET a = a + 2");
    let json = run(&mut chunk(server, schema, "--chunk-size 64k --json", "UPDATE `p-é` SET a = a + 2"))
        .done()
        .json();
    assert!(
        json["chunks_before"].as_u64().unwrap() > 3 && json["warnings"] == serde_json::json!([]),
        "{json}"
    );
    sql(server, "DROP USER chunk_emptied@localhost");
}

/// What has changed nothing is in nobody's way.
fn failed_at_its_first_part(flavour: Flavour) {
    let (server, schema) = (source(flavour), "chunk_first");
    make(server, schema, 1);
    sql(
        server,
        format!(
            "USE {schema}; CREATE TABLE u (id INT PRIMARY KEY); INSERT INTO u VALUES (1);
             CREATE TRIGGER no BEFORE DELETE ON t FOR EACH ROW SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'not today'"
        ),
    );
    run(&mut chunk(server, schema, "", "INSERT INTO u SELECT id FROM t")).refused(&["Duplicate entry"]);
    assert_forgotten(server, schema);
    let dir = tempfile::tempdir().unwrap();
    let archive = dir.path().join("kept");
    for _ in 0..2 {
        let options = format!("--archive {}", archive.display());
        run(&mut chunk(server, schema, &options, "DELETE FROM t")).refused(&["not today"]);
        assert!(!archive.exists());
        assert_forgotten(server, schema);
    }
    run(&mut chunk(server, schema, "", "INSERT INTO u SELECT id + 1 FROM t")).done();
}

/// A run that can never come to its end is forgotten as the hint says.
fn failed_for_good(flavour: Flavour) {
    let (server, schema) = (source(flavour), "chunk_for_good");
    make(server, schema, 2);
    sql(server, format!("USE {schema}; CREATE TABLE u (id INT PRIMARY KEY); INSERT INTO u VALUES (1500)"));
    let insert = "INSERT INTO u SELECT id FROM t";
    for _ in 0..2 {
        let failed = run(&mut chunk(server, schema, "", insert))
            .refused(&["Duplicate entry", "the same command resumes"]);
        assert!(failed.stderr.contains("parts are done"), "{failed}");
    }
    let blocked =
        run(&mut chunk(server, schema, "", "UPDATE t SET a = 1")).refused(&["was not finished", insert]);
    let (_, drop) = blocked.stderr.split_once("DROP TABLE ").unwrap();
    let table = drop.split_once(" forgets it").unwrap().0;
    sql(server, format!("DROP TABLE {table}"));
    run(&mut chunk(server, schema, "", "UPDATE t SET a = 1")).done();
    assert_forgotten(server, schema);
}
