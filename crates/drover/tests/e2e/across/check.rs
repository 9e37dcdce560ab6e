//! `drover restore --check`: it moves nothing and leaves nothing behind.

use drover_sandbox::Flavour;

use super::{assert_no_scratch, both, make};
use crate::client::{Session, sql, value, wait_until};
use crate::drover::{Running, drover_on, dump, restore, run};
use crate::files::manifest;
use crate::servers::{on_both, source, start_unsynced, target};

on_both!(
    on_the_same_vendor,
    what_the_target_lacks_is_named,
    a_signal_leaves_nothing,
    what_a_kill_leaves_is_dropped_by_the_next
);

fn on_the_same_vendor(flavour: Flavour) {
    let (source, target, dir) = (source(flavour), target(flavour), tempfile::tempdir().unwrap());
    make(
        source,
        "checked",
        "CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1); CREATE VIEW v AS SELECT id FROM checked.t;
         CREATE EVENT e ON SCHEDULE EVERY 1 SECOND DO INSERT INTO t VALUES (2)",
    );
    run(&mut dump(source, "checked", dir.path())).done();
    let output = run(&mut restore(target, dir.path(), "--check")).done();
    assert!(output.stdout.contains("4 objects") && output.stdout.contains("all can be kept"), "{output}");
    assert_no_scratch(target);
    let there = "SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = 'checked'";
    assert_eq!(value(target, there), "0");
    let json = run(drover_on(target, "--json restore --check").arg(dir.path())).done().json();
    assert_eq!((json["objects"].as_u64(), json["refused"].as_array().map(Vec::len)), (Some(4), Some(0)));
}

/// A server of the same vendor may lack an engine, and an account a privilege.
fn what_the_target_lacks_is_named(flavour: Flavour) {
    let (source, target, dir) = (source(flavour), target(flavour), tempfile::tempdir().unwrap());
    make(
        source,
        "lacking",
        "CREATE TABLE other (id INT PRIMARY KEY); CREATE FUNCTION f() RETURNS INT NO SQL RETURN 1;
         CREATE VIEW v AS SELECT lacking.f() AS x FROM other",
    );
    run(&mut dump(source, "lacking.v lacking.other", dir.path())).done();
    run(&mut restore(target, dir.path(), "--check"))
        .found(&["view `lacking`.`v`", "FUNCTION lacking.f does not exist"]);
    assert_no_scratch(target);
    let words = ["FUNCTION lacking.f does not exist", "then resume with --resume"];
    run(&mut restore(target, dir.path(), "")).refused(&words);
    sql(target, "CREATE FUNCTION lacking.f() RETURNS INT NO SQL RETURN 1");
    run(&mut restore(target, dir.path(), "--resume")).done();
    sql(
        target,
        "CREATE USER check_no_rights IDENTIFIED BY 'not-shown'; GRANT CREATE ON lacking.* TO check_no_rights",
    );
    // The view's definer is another account, which is told first.
    for (definer, told) in [("keep", "--definer current-user"), ("current-user", "drover\\_check\\_%")] {
        let line = format!("restore --check -u check_no_rights -pnot-shown --definer {definer}");
        let output = run(drover_on(target, &line).arg(dir.path())).refused(&[told]);
        assert!(!output.stderr.contains("not-shown"), "{output}");
    }
}

fn a_signal_leaves_nothing(flavour: Flavour) {
    let (source, target, dir) = (source(flavour), target(flavour), tempfile::tempdir().unwrap());
    let tables: String = (0..200).map(|n| format!("CREATE TABLE t{n} (id INT PRIMARY KEY);")).collect();
    make(source, "check_stopped", &tables);
    run(&mut dump(source, "check_stopped", dir.path())).done();
    let mut check = Running::start(&mut restore(target, dir.path(), "--check"));
    let is_there = "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA LIKE 'drover\\_check%' AND \
                    TABLE_NAME = 't1'";
    check.freeze_when("a table is there", || value(target, is_there) != "0");
    check.signal("INT");
    check.signal("CONT");
    let output = check.finish();
    output.refused(&["stopped by a signal"]);
    assert_eq!(value(target, is_there), "0");
}

/// One that is at work keeps what it has, and a dump of all schemas takes none of it along.
fn what_a_kill_leaves_is_dropped_by_the_next(flavour: Flavour) {
    let (server, dir) = (&start_unsynced(flavour, &[]), tempfile::tempdir().unwrap());
    let tables: String = (0..200).map(|n| format!("CREATE TABLE t{n} (id INT PRIMARY KEY);")).collect();
    make(server, "check_killed", &tables);
    sql(
        server,
        "CREATE DATABASE drover; CREATE TABLE drover.replay (id INT PRIMARY KEY); CREATE DATABASE drover_check_list",
    );
    let [all, named, plan] = ["all", "named", "plan"].map(|name| dir.path().join(name));
    run(&mut dump(server, "check_killed", &plan)).done();
    let scratch = || {
        value(
            server,
            "SELECT GROUP_CONCAT(SCHEMA_NAME) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME LIKE 'drover\\_check\\_%\\_0'",
        )
    };
    let mut check = Running::start(&mut restore(server, &plan, "--check"));
    let is_there = "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA LIKE 'drover\\_check%' AND TABLE_NAME = 't1'";
    check.freeze_when("a table is there", || value(server, is_there) != "0");
    let left = scratch();
    run(&mut restore(server, &plan, "--check")).done();
    assert_eq!(scratch(), left, "what another one has that is at work was dropped");
    check.signal("KILL");
    check.finish();
    let sessions =
        "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE COMMAND <> 'Daemon' AND USER = 'root'";
    wait_until("its session has ended", || value(server, sessions) == "1");

    let dumped = run(&mut dump(server, "", &all)).done();
    for schema in [&left, "drover"] {
        assert!(dumped.stderr.contains(&format!("schema '{schema}' is not in the dump")), "{dumped}");
    }
    let schemas = |dir| {
        let schemas = manifest(dir)["schemas"].as_array().unwrap().clone();
        schemas.iter().map(|schema| schema["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(schemas(&all), ["check_killed", "drover_check_list"]);
    run(&mut dump(server, &format!("drover {left}"), &named)).done();
    assert_eq!(schemas(&named), ["drover", &left]);
    run(&mut restore(server, &plan, "--check")).done();
    assert_eq!(scratch(), "NULL");

    // Of an older release nothing tells whether it is at work.
    sql(server, "CREATE DATABASE drover_check_7_0");
    let checked = run(&mut restore(server, &plan, "--check")).done();
    assert!(checked.stderr.contains("DROP DATABASE `drover_check_7_0`"), "{checked}");
    assert_eq!(scratch(), "drover_check_7_0");
}

/// What each vendor has that only a trial finds: the other one cannot read it.
fn unreadable(flavour: Flavour) -> &'static str {
    match flavour {
        Flavour::MariaDb => "CREATE PROCEDURE odd() DELETE FROM t WHERE id = 9 RETURNING id",
        Flavour::MySql => "CREATE PROCEDURE odd() SELECT * FROM t, LATERAL (SELECT t.id) AS x",
    }
}

/// Who hosts others gives them one schema: a dump of the other vendor's server is tried in that, and nothing of the trial stays.
#[test]
fn by_the_owner_of_one_schema() {
    let Some([mariadb, mysql]) = both() else { return };
    for (source, target) in [(&mariadb, &mysql), (&mysql, &mariadb)] {
        let dir = tempfile::tempdir().unwrap();
        make(
            source,
            "hosted",
            "CREATE TABLE t (id INT PRIMARY KEY, up INT, CONSTRAINT upwards FOREIGN KEY (up) REFERENCES t (id));
             INSERT INTO t VALUES (1, NULL), (2, 1); CREATE VIEW v AS SELECT id FROM t; CREATE PROCEDURE p() SELECT 1;
             CREATE EVENT e ON SCHEDULE EVERY 1 DAY DISABLE DO SELECT 1",
        );
        sql(source, format!("USE hosted; {}", unreadable(source.flavour())));
        sql(
            target,
            "CREATE DATABASE own COLLATE utf8mb4_general_ci; CREATE USER owner@localhost; GRANT ALL ON own.* TO owner@localhost",
        );
        run(&mut dump(source, "hosted", dir.path())).done();
        let by_owner = |options: &str| {
            let options = format!("--into hosted=own -u owner --definer current-user {options}");
            run(&mut restore(target, dir.path(), &options))
        };
        let held = || {
            value(
                target,
                "SELECT (SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'own') +
                   (SELECT COUNT(*) FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = 'own') +
                   (SELECT COUNT(*) FROM information_schema.EVENTS WHERE EVENT_SCHEMA = 'own')",
            )
        };
        let odd = "procedure `hosted`.`odd`";
        by_owner("--check").found(&["refused", odd]);
        assert_eq!(held(), "0");
        by_owner("").refused(&["nothing was changed", odd]);
        assert_eq!(held(), "0");
        by_owner("--skip-refused").found(&["refused", odd, "verified  identical: 2 rows"]);
        assert_eq!(held(), "4");
        // What is there may be somebody's: nothing is tried beside it.
        by_owner("--skip-refused --drop-existing")
            .refused(&["drover\\_check\\_%", "that are there and empty"]);
        assert_eq!(held(), "4");
        // But where an earlier run has begun, which had tried it.
        sql(
            target,
            "CREATE TABLE own.drover_restore_0123456789ab (step VARBINARY(700)); INSERT INTO own.drover_restore_0123456789ab VALUES ('begun')",
        );
        by_owner("--resume").refused(&["of another dump"]);
    }
}

/// Events are made switched off: the scheduler of the target sees none that it may run.
#[test]
fn events_do_not_run() {
    let Some([source, target]) = both() else { return };
    let dir = tempfile::tempdir().unwrap();
    let many: String = (0..60).map(|n| format!("CREATE TABLE t{n} (id INT PRIMARY KEY);")).collect();
    sql(
        &target,
        "CREATE DATABASE witness; CREATE TABLE witness.seen (what TEXT); SET GLOBAL event_scheduler = ON",
    );
    make(
        &source,
        "with_event",
        &format!(
            "{many} CREATE DATABASE witness; CREATE TABLE witness.seen (what TEXT);
         CREATE EVENT e ON SCHEDULE EVERY 1 SECOND DO INSERT INTO witness.seen VALUES ('ran')"
        ),
    );
    run(&mut dump(&source, "with_event", dir.path())).done();
    let session = Session::open(&target);
    for _ in 0..3 {
        let output = run(&mut restore(&target, dir.path(), "--check"));
        assert!(matches!(output.code, Some(0 | 1)), "{output}");
    }
    drop(session);
    assert_eq!(value(&target, "SELECT COUNT(*) FROM witness.seen"), "0");
}
