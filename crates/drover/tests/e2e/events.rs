//! Scheduled events: none runs on a server before its rows are proved, nor where it goes on to follow another one.

use drover_sandbox::{Flavour, Server};

use crate::binlog::sql::logs_of;
use crate::client::{sql, try_sql, value, wait_until};
use crate::drover::{Output, copy, drover_on, dump, restore, run, verify};
use crate::servers::{on_both, start_unsynced};
use crate::throttle::replica_with;

on_both!(none_runs_beside_its_rows, on_a_replica, schedules_that_have_ended, switched_on_later);

const SCHEMA: &str = "CREATE DATABASE clocks; USE clocks; CREATE TABLE ticks (id INT AUTO_INCREMENT PRIMARY KEY, at INT);
    INSERT INTO ticks (at) VALUES (1), (2), (3);
    CREATE USER boss@localhost; GRANT ALL ON clocks.* TO boss@localhost; SET sql_mode = 'ANSI_QUOTES';
    CREATE DEFINER = boss@localhost EVENT tick ON SCHEDULE EVERY 1 SECOND COMMENT 'ENABLE' DO INSERT INTO clocks.ticks (at) VALUES (4);
    SET timestamp = 1000000;
    CREATE EVENT past ON SCHEDULE AT '1980-01-01 00:00:00' DISABLE DO SET @a = 1";

fn status(server: &Server, schema: &str) -> String {
    value(
        server,
        format!(
            "SELECT STATUS FROM information_schema.EVENTS WHERE CAST(EVENT_SCHEMA AS BINARY) = '{schema}' AND EVENT_NAME = 'tick'"
        ),
    )
}

fn none_runs_beside_its_rows(flavour: Flavour) {
    let source = &start_unsynced(flavour, &["--event-scheduler=OFF", "--log-bin=bin", "--server-id=1"]);
    let target = &start_unsynced(flavour, &["--event-scheduler=ON"]);
    sql(source, SCHEMA);
    sql(target, "CREATE USER boss@localhost; GRANT ALL ON *.* TO boss@localhost");
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("dump");
    run(&mut dump(source, "clocks", &out)).done();

    let off = run(&mut restore(target, &out, "--events off")).done();
    assert!(
        off.stdout.contains("1 event off") && status(target, "clocks").ends_with("SIDE_DISABLED"),
        "{off}"
    );
    run(&mut verify(target, &out, "")).done();
    assert_eq!(value(target, "SELECT COUNT(*) FROM clocks.ticks"), "3");
    sql(target, "DROP DATABASE clocks");

    run(&mut restore(target, &out, "")).done();
    assert_eq!(status(target, "clocks"), "ENABLED");
    let shown = |server: &Server, name: &str| {
        let mut shown = sql(server, format!("SHOW CREATE EVENT clocks.{name}")).remove(0);
        // It was made amid several statements.
        shown[3] = shown[3].trim_end_matches(';').into();
        shown
    };
    assert_eq!(shown(source, "tick"), shown(target, "tick"));
    assert_eq!(shown(source, "past"), shown(target, "past"));
    wait_until("the event runs", || value(target, "SELECT COUNT(*) > 3 FROM clocks.ticks") == "1");

    let log = logs_of(source).pop().unwrap();
    run(drover_on(target, "binlog replay --name again").arg(&log)).refused(&[
        "scheduled events run on the target",
        "`clocks`.`tick`",
        "DISABLE ON SLAVE",
    ]);
    run(drover_on(target, "binlog replay --name again --dry-run").arg(&log)).found(&["scheduled events run"]);
    sql(target, "DROP DATABASE clocks; DROP USER boss@localhost");
    let replayed = run(drover_on(target, "binlog replay").arg(&log)).done();
    assert!(replayed.stdout.contains("scheduled events are off on the target"), "{replayed}");
    assert!(status(target, "clocks").ends_with("SIDE_DISABLED"));
    assert_eq!(value(target, "SELECT COUNT(*) FROM clocks.ticks"), "3");

    let copied =
        run(&mut copy(source, target, "clocks --into clocks=copied", &dir.path().join("state"))).done();
    assert!(status(target, "copied").ends_with("SIDE_DISABLED"), "{copied}");
    let enable = copied.stdout.lines().map(str::trim).find(|line| line.starts_with("ALTER ")).unwrap();
    sql(target, enable);
    let definer =
        "SELECT DEFINER FROM information_schema.EVENTS WHERE EVENT_SCHEMA = 'copied' AND EVENT_NAME = 'tick'";
    assert_eq!(
        (status(target, "copied").as_str(), value(target, definer).as_str()),
        ("ENABLED", "boss@localhost")
    );
}

/// A replica gets what its source's events do, so those that a restore makes stay off on it, by themselves.
fn on_a_replica(flavour: Flavour) {
    let source = &start_unsynced(flavour, &["--event-scheduler=OFF", "--log-bin=bin", "--server-id=1"]);
    let target = &replica_with(source, &["--event-scheduler=ON"]);
    sql(source, SCHEMA);
    let dir = tempfile::tempdir().unwrap();
    run(&mut dump(source, "clocks", dir.path())).done();
    sql(source, "DROP DATABASE clocks; DROP USER boss@localhost; CREATE DATABASE last");
    let (hide, stop, forget) = match flavour {
        Flavour::MariaDb => (
            "REVOKE REPLICA MONITOR, SUPER ON *.* FROM clerk@localhost",
            "STOP SLAVE",
            "RESET SLAVE ALL; SET GLOBAL gtid_slave_pos = ''",
        ),
        Flavour::MySql => (
            "REVOKE REPLICATION CLIENT, SUPER ON *.* FROM clerk@localhost",
            "STOP REPLICA",
            "RESET REPLICA ALL",
        ),
    };
    sql(target, "START REPLICA");
    wait_until("the replica has all", || try_sql(target, "USE last").is_ok());
    let clerk =
        "CREATE USER boss@localhost; CREATE USER clerk@localhost; GRANT ALL ON *.* TO clerk@localhost";
    sql(target, format!("{clerk}; {hide}"));
    let restored = |line: &str| {
        let restored = run(&mut restore(target, dir.path(), line)).done();
        let standing = status(target, "clocks");
        sql(target, "DROP DATABASE clocks");
        (restored, standing)
    };
    // While it follows, and when it is stopped, whoever restores.
    for (line, before) in [("", "DO 1"), ("-u clerk", "DO 1"), ("", stop), ("-u clerk", "DO 1")] {
        sql(target, before);
        let (off, standing) = restored(line);
        assert!(standing.ends_with("SIDE_DISABLED"), "{standing}: {off}");
        assert!(off.stdout.contains("EVENT `clocks`.`tick` ENABLE"), "{off}");
    }
    let (on, standing) = restored("--events on");
    assert_eq!(standing, "ENABLED", "{on}");
    sql(target, forget);
    let (on, standing) = restored("");
    assert_eq!((standing.as_str(), on.stderr.contains("is a replica")), ("ENABLED", false), "{on}");
    // Who cannot see it is told.
    if flavour == Flavour::MySql {
        let revoke = "REVOKE SELECT ON performance_schema.* FROM clerk@localhost";
        sql(target, format!("SET GLOBAL partial_revokes = ON; {revoke}"));
    }
    let (on, standing) = restored("-u clerk");
    let words = ["may not see whether it is a replica", "--events off"];
    assert!(standing == "ENABLED" && words.iter().all(|word| on.stdout.contains(word)), "{on}");
    let (on, _) = restored("-q -u clerk");
    assert!(words.iter().all(|word| on.stdout.contains(word)), "{on}");
    let (off, _) = restored("-u clerk --events off");
    assert!(!off.stderr.contains("is a replica"), "{off}");
}

/// The servers drop such events by themselves, but where their scheduler is off.
fn schedules_that_have_ended(flavour: Flavour) {
    let source = &start_unsynced(flavour, &["--event-scheduler=OFF"]);
    let target = &start_unsynced(flavour, &["--event-scheduler=ON"]);
    sql(
        source,
        "CREATE DATABASE ended; USE ended; CREATE TABLE t (id INT PRIMARY KEY); SET timestamp = 1000000, time_zone = '+12:00';
         CREATE EVENT living ON SCHEDULE EVERY 1 DAY DO SET @a = 1;
         CREATE EVENT past ON SCHEDULE EVERY 1 SECOND ENDS '1970-02-13 00:00:00' DO SET @a = 1;
         CREATE EVENT past_disabled ON SCHEDULE EVERY 1 SECOND ENDS '1970-02-13 00:00:00' DISABLE DO SET @a = 1;
         CREATE EVENT past_replica ON SCHEDULE EVERY 1 SECOND ENDS '1970-02-13 00:00:00' DISABLE ON SLAVE DO SET @a = 1;
         CREATE EVENT past_kept ON SCHEDULE EVERY 1 SECOND ENDS '1970-02-13 00:00:00' ON COMPLETION PRESERVE DO SET @a = 1;
         CREATE EVENT past_once ON SCHEDULE AT SYSDATE() - INTERVAL 1 HOUR DO SET @a = 1;
         CREATE EVENT later_once ON SCHEDULE AT SYSDATE() + INTERVAL 1 HOUR DO SET @a = 1",
    );
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("dump");
    run(&mut dump(source, "ended", &out)).done();
    let checked = run(&mut restore(target, &out, "--check")).done();
    assert!(!checked.stderr.contains("in the past"), "{checked}");

    let over = ["past", "past_kept", "past_once"];
    let assert_said = |output: &Output| {
        for name in over {
            let said = format!("event `ended`.`{name}` stays off, since its schedule has ended");
            assert!(output.stderr.contains(&said), "no word of {name}: {output}");
        }
    };
    let on = "SELECT GROUP_CONCAT(EVENT_NAME ORDER BY EVENT_NAME) FROM information_schema.EVENTS WHERE EVENT_SCHEMA = 'ended' AND \
              STATUS = 'ENABLED'";
    let off = run(&mut restore(target, &out, "--events off")).done();
    assert_said(&off);
    assert!(off.stdout.contains("2 events off") && !off.stdout.contains("past"), "{off}");
    let restored = run(&mut restore(target, &out, "--drop-existing")).done();
    assert_said(&restored);
    assert_eq!(value(target, on), "later_once,living");
    let there = "SELECT COUNT(*) FROM information_schema.EVENTS WHERE EVENT_SCHEMA = 'ended'";
    assert_eq!(value(target, there), "7");

    // What a scheduler does.
    sql(
        target,
        "USE ended; DROP EVENT past; DROP EVENT past_disabled; DROP EVENT past_replica; DROP EVENT past_once",
    );
    run(&mut verify(target, &out, "")).done();
    sql(target, "DROP EVENT ended.past_kept");
    run(&mut verify(target, &out, "")).found(&["`ended`.`past_kept`"]);
}

/// By a run that finds all done but that.
fn switched_on_later(flavour: Flavour) {
    let options = ["--event-scheduler=OFF"];
    let [source, target] = &[(); 2].map(|()| start_unsynced(flavour, &options));
    sql(
        source,
        "CREATE DATABASE clocks; USE clocks; CREATE TABLE ticks (id INT PRIMARY KEY); INSERT INTO ticks VALUES (1);
         CREATE EVENT tick ON SCHEDULE EVERY 1 DAY DO SET @a = 1",
    );
    let dir = tempfile::tempdir().unwrap();
    let (out, state) = (dir.path().join("dump"), dir.path().join("state"));
    let is_told = |output: &Output| output.stdout.contains("EVENT `clocks`.`tick` ENABLE");

    run(&mut copy(source, target, "clocks", &state)).done();
    let again = run(&mut copy(source, target, "clocks --resume", &state)).done();
    assert!(is_told(&again) && status(target, "clocks").ends_with("SIDE_DISABLED"), "{again}");
    let on = run(&mut copy(source, target, "clocks --resume --events on", &state)).done();
    assert!(!is_told(&on) && status(target, "clocks") == "ENABLED", "{on}");
    sql(target, "DROP DATABASE clocks");

    run(&mut dump(source, "clocks", &out)).done();
    run(&mut restore(target, &out, "--events off")).done();
    let again = run(&mut restore(target, &out, "--resume")).done();
    assert!(is_told(&again) && again.stdout.contains("there since an earlier run"), "{again}");
    run(&mut restore(target, &out, "--resume --events on")).done();
    assert_eq!(status(target, "clocks"), "ENABLED");

    // One of the same name in a schema that differs in case runs already.
    sql(
        target,
        "DROP DATABASE clocks; CREATE DATABASE CLOCKS; CREATE EVENT CLOCKS.tick ON SCHEDULE EVERY 1 DAY DO SET @a = 2",
    );
    run(&mut restore(target, &out, "")).done();
    assert_eq!(status(target, "clocks"), "ENABLED");

    // A person dropped it.
    sql(target, "DROP EVENT clocks.tick");
    let dropped = run(&mut restore(target, &out, "--resume")).found(&["`clocks`.`tick`"]);
    let said = "event `clocks`.`tick` is not there";
    assert!(dropped.stderr.contains(said) && !dropped.stderr.contains("has ended"), "{dropped}");
}
