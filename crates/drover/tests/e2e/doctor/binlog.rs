//! What `drover doctor` says of the binary log and of replicas.

use std::fs;
use std::path::Path;

use drover_sandbox::{Flavour, Server};
use serde_json::{Value, json};

use super::{check, findings, state};
use crate::client::{sql, try_sql, value, wait_until};
use crate::drover::{drover, drover_on, run};
use crate::servers::{on_both, start};
use crate::throttle::{lag_of, replica_of};

on_both!(statements, rows, what_a_crash_loses, replicas, a_log_that_fills_the_disk, nobody_sees_it);

/// What it says of what needs not be watched for long.
pub(super) fn quick(server: &Server, options: &str) -> Value {
    let output = run(&mut drover_on(server, &format!("--json doctor --interval 50ms {options}")));
    assert!(matches!(output.code, Some(0 | 1)), "{output}");
    output.json()
}

/// The weights of what a check found.
fn weights(report: &Value, rule: &str) -> Vec<String> {
    findings(report, rule).into_iter().map(|(weight, _)| weight).collect()
}

/// A log of statements, one of which is unsafe, under an isolation level that refuses them.
fn statements(flavour: Flavour) {
    let server = &start(flavour, &["--binlog-format=STATEMENT", "--binlog-expire-logs-seconds=3600"]);
    let report = quick(server, "binlog");
    assert_eq!(weights(&report, "binlog.format"), ["note"]);
    let nothing = if flavour == Flavour::MySql { "fine" } else { "unknown" };
    assert_eq!(state(&report, "binlog.unsafe"), nothing, "{report}");
    for rule in ["binlog.image", "binlog.replica", "binlog.relay"] {
        assert_eq!(state(&report, rule), "not_here", "{rule}: {report}");
    }
    // Nobody needs them for longer.
    assert_eq!(state(&report, "binlog.expiry"), "fine", "{report}");
    sql(
        server,
        "CREATE DATABASE d; CREATE TABLE d.t (v VARCHAR(40)) ENGINE=InnoDB; 
         INSERT INTO d.t VALUES (UUID()); INSERT INTO d.t VALUES (UUID())",
    );
    sql(server, "SET GLOBAL TRANSACTION ISOLATION LEVEL READ COMMITTED");
    let refused = try_sql(server, "INSERT INTO d.t VALUES ('a')").unwrap_err();
    assert!(refused.contains("1665"), "{refused}");
    let report = quick(server, "binlog");
    assert_eq!(weights(&report, "binlog.format"), ["note", "red"]);
    match flavour {
        Flavour::MySql => {
            let found = findings(&report, "binlog.unsafe");
            assert!(found.len() == 1 && found[0].1.contains("raised 2 times"), "{found:?}");
        }
        Flavour::MariaDb => assert_eq!(state(&report, "binlog.unsafe"), "unknown"),
    }
    // The remedy cures it.
    let remedy = check(&report, "binlog.format")["findings"][1]["remedies"][0]["run"].as_str().unwrap();
    sql(server, remedy);
    sql(server, "INSERT INTO d.t VALUES ('a')");
    assert_eq!(weights(&quick(server, "binlog"), "binlog.format"), ["note"]);
}

/// A log of whole rows, what it costs, and how it is kept.
fn rows(flavour: Flavour) {
    let options = [
        "--binlog-format=ROW",
        "--binlog-expire-logs-seconds=0",
        "--sync-binlog=1",
        "--innodb-flush-log-at-trx-commit=1",
    ];
    let server = &start(flavour, &options);
    sql(
        server,
        "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, n INT, v TEXT);
         INSERT INTO d.t WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 500) SELECT n, n, REPEAT('x', 900) FROM s;
         UPDATE d.t SET n = n + 1",
    );
    let dir = tempfile::tempdir().unwrap();
    let costs = dir.path().join("cost.json");
    let cost = run(&mut drover_on(server, "--json binlog cost --compression --from-server")).done().stdout;
    fs::write(&costs, cost).unwrap();
    let report = quick(server, &format!("binlog --results {}", costs.display()));
    let found = findings(&report, "binlog.image");
    assert!(found.len() == 1 && found[0].0 == "yellow" && found[0].1.contains("\"measured\""), "{report}");
    let remedies = check(&report, "binlog.image")["findings"][0]["remedies"].as_array().unwrap().clone();
    let statements = |which: &str| {
        remedies.iter().map(|remedy| remedy[which].as_str().unwrap()).collect::<Vec<_>>().join(";")
    };
    // What it says can be done, and undone.
    sql(server, statements("run"));
    assert_eq!(state(&quick(server, "binlog"), "binlog.image"), "fine");
    sql(server, statements("undo"));
    // Logs of another server say nothing of this one.
    let mut other: Value = serde_json::from_str(&fs::read_to_string(&costs).unwrap()).unwrap();
    other["logs"][0]["name"] = json!("elsewhere.000001");
    fs::write(&costs, other.to_string()).unwrap();
    let report = quick(server, &format!("binlog --results {}", costs.display()));
    assert_eq!(state(&report, "binlog.image"), "fine", "{report}");

    assert_eq!(state(&report, "binlog.format"), "fine");
    assert_eq!(state(&report, "binlog.unsafe"), "not_here");
    assert_eq!(state(&report, "binlog.sync"), "fine", "{report}");
    assert_eq!(state(&report, "binlog.disk"), "fine", "{report}");
    let kept = findings(&report, "binlog.expiry");
    assert!(
        kept.len() == 1 && kept[0].0 == "note" && kept[0].1.contains("binlog_expire_logs_seconds is 0"),
        "{kept:?}"
    );
    let expire = check(&report, "binlog.expiry")["findings"][0]["remedies"][0]["run"].as_str().unwrap();
    sql(server, expire);
    assert_eq!(state(&quick(server, "binlog"), "binlog.expiry"), "fine");
}

/// Nothing is synced, and no page is written twice.
fn what_a_crash_loses(flavour: Flavour) {
    let options = [
        "--sync-binlog=0",
        "--innodb-flush-log-at-trx-commit=0",
        "--innodb-doublewrite=OFF",
        "--innodb-flush-method=nosync",
    ];
    let report = quick(&start(flavour, &options), "binlog");
    let found = findings(&report, "binlog.sync");
    let weights: Vec<_> = found.iter().map(|(weight, _)| weight.as_str()).collect();
    assert_eq!(weights, ["yellow", "yellow", "yellow", "red"], "{report}");
}

/// A source with a replica that runs, is behind, fails, and is stopped.
fn replicas(flavour: Flavour) {
    let server =
        &start(flavour, &["--sync-binlog=0", "--binlog-expire-logs-seconds=3600", "--binlog-format=ROW"]);
    sql(server, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY)");
    let replica = &replica_of(server);
    let of_replica = |report: &Value| findings(report, "binlog.replica");
    let stopped = of_replica(&quick(replica, "binlog"));
    assert_eq!(
        stopped.iter().map(|(weight, _)| weight.as_str()).collect::<Vec<_>>(),
        ["yellow", "yellow"],
        "{stopped:?}"
    );
    sql(replica, "START REPLICA");
    wait_until("the replica has it all", || {
        lag_of(replica) == Some(0) && try_sql(replica, "SELECT * FROM d.t").is_ok()
    });
    let report = quick(replica, "binlog");
    assert_eq!(state(&report, "binlog.replica"), "fine", "{report}");
    let relay = findings(&report, "binlog.relay");
    assert!(relay.len() == 1 && relay[0].0 == "yellow", "{report}");
    // The source knows that it is there: what it loses in a crash the replica has.
    let report = quick(server, "binlog");
    let lost = findings(&report, "binlog.sync");
    assert!(lost[0].0 == "red" && lost[0].1.contains("server id 2"), "{lost:?}");
    assert_eq!(weights(&report, "binlog.expiry"), ["yellow"], "{report}");
    assert_eq!(state(&report, "binlog.replica"), "not_here");

    sql(replica, "INSERT INTO d.t VALUES (1)");
    sql(server, "INSERT INTO d.t VALUES (1)");
    wait_until("the replica has failed", || lag_of(replica).is_none());
    let failed = of_replica(&quick(replica, "binlog"));
    assert!(failed.len() == 1 && failed[0].0 == "red" && failed[0].1.contains("error 1062"), "{failed:?}");
    sql(replica, "DELETE FROM d.t; START REPLICA");
    wait_until("it goes on", || lag_of(replica) == Some(0));
    // MySQL has to be restarted for it; MariaDB knows what its place is as a GTID, as what it has applied had one.
    let relay = check(&quick(replica, "binlog"), "binlog.relay")["findings"][0]["remedies"][0].clone();
    sql(replica, relay["run"].as_str().unwrap());
    if flavour == Flavour::MariaDb {
        assert_eq!(state(&quick(replica, "binlog"), "binlog.relay"), "fine");
    }
    // Where that is in the source's log it knows again as soon as it has received something.
    wait_until("it goes on", || lag_of(replica) == Some(0));
    sql(replica, relay["undo"].as_str().unwrap());
    assert_eq!(weights(&quick(replica, "binlog"), "binlog.relay"), ["yellow"]);
    wait_until("it goes on", || lag_of(replica) == Some(0));
    // What comes from an hour ago. A statement would be logged with how long it took: that hour.
    sql(server, "SET TIMESTAMP = UNIX_TIMESTAMP() - 3600; INSERT INTO d.t VALUES (2)");
    let mut lock = crate::client::Session::open(replica);
    lock.run("LOCK TABLES d.t READ");
    sql(server, "SET TIMESTAMP = UNIX_TIMESTAMP() - 3600; INSERT INTO d.t VALUES (3)");
    wait_until("the replica is behind", || lag_of(replica) > Some(3000));
    let behind = of_replica(&quick(replica, "binlog"));
    assert!(behind.len() == 1 && behind[0].0 == "yellow" && behind[0].1.contains("behind"), "{behind:?}");
}

/// What was seen of a server that writes its log fast, on a host whose disk is made smaller afterwards.
fn a_log_that_fills_the_disk(flavour: Flavour) {
    let options = ["--binlog-format=ROW", "--max-binlog-size=1M", "--binlog-expire-logs-seconds=0"];
    let server = &start(flavour, &options);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("bundle.json");
    std::thread::scope(|scope| {
        scope.spawn(|| grow(server));
        run(&mut drover_on(server, &format!("--json doctor collect --interval 1s {}", file.display())));
    });
    let kept = || -> Value { serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap() };
    let of = |free: u64| {
        let mut kept = kept();
        for (_, space) in kept["spaces"].as_object_mut().unwrap() {
            *space = json!({"Ok": {"bytes": 100_000_000_000_u64, "free": free}});
        }
        let changed = dir.path().join("changed.json");
        fs::write(&changed, kept.to_string()).unwrap();
        from_bundle(&changed)
    };
    let report = from_bundle(&file);
    // At the rate of this machine all of its disk may be full in a day.
    assert_ne!(state(&report, "binlog.disk"), "unknown", "{report}");
    let (full, tight) = (of(2_000_000_000), of(20_000_000));
    assert!(!weights(&full, "binlog.disk").is_empty(), "{full}");
    assert_eq!(weights(&full, "host.disk"), ["yellow"], "{full}");
    assert_eq!(weights(&tight, "binlog.disk"), ["red"], "{tight}");
    assert_eq!(weights(&tight, "host.disk"), ["red"], "{tight}");
    assert_eq!(weights(&tight, "binlog.expiry"), ["yellow"], "{tight}");
}

/// Some 20 MB over a few seconds.
fn grow(server: &Server) {
    sql(server, "CREATE DATABASE g; CREATE TABLE g.t (v LONGTEXT)");
    let insert = "INSERT INTO g.t VALUES (REPEAT('x', 300000)); DO SLEEP(0.02);\n";
    sql(server, insert.repeat(80));
}

fn from_bundle(file: &Path) -> Value {
    let output = run(&mut drover(&format!("--json doctor --root {}", file.display())));
    assert!(matches!(output.code, Some(0 | 1)), "{output}");
    output.json()
}

/// An account without privileges sees nothing of it, and that is not fine.
fn nobody_sees_it(flavour: Flavour) {
    let server = &start(
        flavour,
        &["--sync-binlog=0", "--binlog-format=STATEMENT", "--binlog-expire-logs-seconds=3600"],
    );
    sql(server, "CREATE USER doctor_nobody@localhost IDENTIFIED BY 'a-secret'");
    let report = quick(server, "binlog -u doctor_nobody --password=a-secret");
    for rule in ["binlog.unsafe", "binlog.relay", "binlog.replica", "binlog.expiry", "binlog.disk"] {
        assert_eq!(state(&report, rule), "unknown", "{rule}: {report}");
    }
    assert!(check(&report, "binlog.sync")["unknown"][0].as_str().unwrap().contains("replicas"), "{report}");
    // Without a server nobody knows anything.
    let report = run(&mut drover("--json doctor binlog --no-server --interval 100ms")).done().json();
    for checked in report["checks"].as_array().unwrap() {
        assert_eq!(checked["state"], "unknown", "{checked}");
    }
    // With rows there is the log's growth to be seen, or not.
    let mode = value(server, "SET GLOBAL binlog_format = 'ROW'; SELECT @@GLOBAL.binlog_format");
    assert_eq!(mode, "ROW");
    let report = quick(server, "binlog -u doctor_nobody --password=a-secret");
    assert_eq!(state(&report, "binlog.image"), "unknown", "{report}");
}
