//! Scheduled events: none runs on a server before its rows are proved, nor where it goes on to follow another one.

use drover_sandbox::{Flavour, Server};

use crate::binlog::sql::logs_of;
use crate::client::{sql, value, wait_until};
use crate::drover::{copy, drover_on, dump, restore, run, verify};
use crate::servers::{on_both, start_unsynced};

on_both!(none_runs_beside_its_rows);

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
            "SELECT STATUS FROM information_schema.EVENTS WHERE EVENT_SCHEMA = '{schema}' AND EVENT_NAME = 'tick'"
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
    let shown = |server: &Server, name: &str| sql(server, format!("SHOW CREATE EVENT clocks.{name}"));
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
