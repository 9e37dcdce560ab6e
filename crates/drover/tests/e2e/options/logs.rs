//! The target's logs that a restore can do without: the binary log, for its sessions alone, and MySQL's redo log, which is
//! the whole server's.

use std::fs;
use std::path::Path;

use drover_sandbox::{Flavour, Server};

use crate::big::{big_dump, big_source};
use crate::client::{sql, wait_until};
use crate::drover::{Running, copy, dump, restore, run, verify};
use crate::servers::{on_both, source, start};
use crate::throttle::replica_of;

on_both!(binary_log, redo_log, replicas);

/// File and position.
fn end_of_log(server: &Server) -> Vec<String> {
    let statement = match server.flavour() {
        Flavour::MariaDb => "SHOW MASTER STATUS",
        Flavour::MySql => "SHOW BINARY LOG STATUS",
    };
    sql(server, statement)[0][..2].to_vec()
}

fn binary_log(flavour: Flavour) {
    let (server, dir) = (start(flavour, &["--log-bin=binlog"]), tempfile::tempdir().unwrap());
    sql(
        &server,
        "CREATE DATABASE shop; USE shop; CREATE TABLE t (id INT PRIMARY KEY, v INT, KEY (v)); INSERT INTO t VALUES (1, 2);
         CREATE VIEW w AS SELECT v FROM t; CREATE TRIGGER b BEFORE INSERT ON t FOR EACH ROW SET NEW.v = 3",
    );
    run(&mut dump(&server, "shop", dir.path())).done();
    let before = end_of_log(&server);
    run(&mut restore(&server, dir.path(), "")).refused(&["already has"]);
    assert_eq!(end_of_log(&server), before, "looking at the target is logged");
    run(&mut restore(&server, dir.path(), "--skip-binlog --into shop=silent")).done();
    run(&mut restore(&server, dir.path(), "--skip-binlog --into shop=tried --check")).done();
    assert_eq!(end_of_log(&server), before);
    let state = tempfile::tempdir().unwrap();
    run(&mut copy(big_source(flavour), &server, "big --skip-binlog", state.path())).done();
    assert_eq!(end_of_log(&server), before);
    run(&mut restore(&server, dir.path(), "--into shop=told")).done();
    assert_ne!(end_of_log(&server), before);

    sql(&server, "CREATE USER poor@localhost; GRANT ALL ON poor.* TO poor@localhost");
    run(&mut restore(&server, dir.path(), "--skip-binlog --into shop=poor -u poor"))
        .refused(&["--skip-binlog"]);
}

fn redo_log(flavour: Flavour) {
    let server = start(flavour, &[]);
    let big = big_dump(flavour);
    let line = "--disable-redo --threads 1";
    if flavour == Flavour::MariaDb {
        run(&mut restore(&server, &big, line)).refused(&["MariaDB cannot", "do without --disable-redo"]);
        assert!(sql(&server, "SHOW DATABASES LIKE 'big'").is_empty(), "something was made");
        return;
    }
    let is = |what: &str| sql(&server, "SHOW GLOBAL STATUS LIKE 'Innodb_redo_log_enabled'")[0][1] == what;

    let killed = frozen(&server, &big, line);
    assert!(is("OFF"));
    killed.signal("KILL");
    killed.finish();
    // What was loaded is not written twice: that it is off must be said.
    let went_on = run(&mut restore(&server, &big, "--resume")).done();
    assert!(went_on.stderr.contains("redo log is off"), "{went_on}");
    run(&mut restore(&server, &big, "--drop-existing --disable-redo")).done();
    assert!(is("ON"));

    sql(&server, "DROP DATABASE big");
    let stopped = frozen(&server, &big, line);
    assert!(is("OFF"));
    stopped.signal("INT");
    stopped.signal("CONT");
    stopped.finish().refused(&["stopped"]);
    wait_until("it is on after a restore that was stopped", || is("ON"));
}

/// However rows come into the binary log, a replica has them too.
fn replicas(flavour: Flavour) {
    let server = start(flavour, &["--server-id=1", "--log-bin=binlog"]);
    let (replica, dir) = (replica_of(&server), tempfile::tempdir().unwrap());
    let [rows, big] = ["rows", "big"].map(|name| dir.path().join(name));
    sql(
        source(flavour),
        "CREATE DATABASE logged; USE logged;
         CREATE TABLE odd (id INT PRIMARY KEY, j JSON, g POINT, b BINARY(3), u VARCHAR(20) CHARACTER SET utf8mb4,
           l VARCHAR(20) CHARACTER SET latin1, e ENUM('a', 'b'), d DOUBLE, s INT AS (id + 1) STORED, t TIMESTAMP NULL);
         INSERT INTO odd (id, j, g, b, u, l, e, d, t) VALUES (-1, '{\"a\": \"\\\\n\"}', POINT(1, 2), x'00095C', 'é\\t\\n€😀', 'é', 'b', 0.1,
           '2026-03-29 01:30:00'), (2, NULL, NULL, NULL, '', '', NULL, -1e300, NULL);
         CREATE TABLE keyless (v VARCHAR(20)); INSERT INTO keyless VALUES ('a'), ('a'), (NULL);
         CREATE TABLE plain (id INT PRIMARY KEY) ENGINE = MyISAM; INSERT INTO plain VALUES (1), (2)",
    );
    run(&mut dump(source(flavour), "logged", &rows)).done();
    run(&mut dump(big_source(flavour), "big", &big)).done();
    sql(source(flavour), "DROP DATABASE logged");
    for (option, into) in [("", "usual"), ("--log-statements", "told")] {
        run(&mut restore(&server, &rows, &format!("--into logged={into} {option}"))).done();
        run(&mut restore(&server, &big, &format!("--into big=big_{into} {option}"))).done();
    }
    let events = sql(&server, format!("SHOW BINLOG EVENTS IN '{}'", end_of_log(&server)[0]));
    let files = events.iter().filter(|event| event[2].starts_with("Execute_load_query")).count();
    assert!(files >= 4, "{files} files in the log");
    sql(&replica, "START REPLICA");
    sql(&server, "CREATE DATABASE all_of_it");
    wait_until("the replica has it all", || !sql(&replica, "SHOW DATABASES LIKE 'all_of_it'").is_empty());
    for into in ["usual", "told"] {
        run(&mut verify(&replica, &rows, &format!("--into logged={into}"))).done();
        run(&mut verify(&replica, &big, &format!("--into big=big_{into}"))).done();
    }
}

/// A restore that stands still amid the rows.
fn frozen(server: &Server, dump: &Path, line: &str) -> Running {
    let mut restore = Running::start(&mut restore(server, dump, line));
    let tablespace = server.datadir().join("big/wide.ibd");
    restore
        .freeze_when("rows are loaded", || fs::metadata(&tablespace).is_ok_and(|file| file.len() > 4 << 20));
    restore
}
