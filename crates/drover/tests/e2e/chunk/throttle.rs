//! What makes a run wait, and what ends it.

use std::fs::File;
use std::time::Instant;

use drover_sandbox::{Flavour, Server};

use super::{assert_forgotten, chunk, make, parts_done};
use crate::client::{Session, sql, value, wait_until};
use crate::drover::{Running, run};
use crate::servers::{on_both, source, start, start_unsynced};
use crate::throttle::{lag_of, replica_of};

on_both!(rate, what_a_short_run_logs, pause_file, load, lag_by_heartbeat, lag_by_status);

const UPDATE: &str = "UPDATE t SET a = a + 1, v = CONCAT(v, '!')";

fn rate(flavour: Flavour) {
    let server = &start_unsynced(flavour, &["--log-bin=binlog", "--binlog-format=ROW", "--server-id=1"]);
    make(server, "chunk_rate", 20);
    // A part every 32 ms.
    let allowed = 262_144.0;
    let begun = Instant::now();
    let json =
        run(&mut chunk(server, "chunk_rate", "--json --chunk-size 8k --max-rate 256k", UPDATE)).done().json();
    let (bytes, seconds) = (json["binlog_bytes"].as_f64().unwrap(), begun.elapsed().as_secs_f64());
    assert!(bytes > 700e3 && bytes / seconds < 1.1 * allowed, "{json}");
    assert!(json["waited"]["rate"].as_f64().unwrap() > 0.5, "{json}");
    // Nor does it wait for longer than what it has written takes at the rate: that is so however busy the machine is.
    assert!(json["waited"]["rate"].as_f64().unwrap() < 1.1 * bytes / allowed, "{json}");
    // Parts are about as large as they may be.
    let parts = json["chunks"].as_f64().unwrap();
    assert!(bytes / parts < 12_000.0, "{json}");
}

/// What a run tells of the log is what it has added there, also if it is over in a moment and changes few rows of those that it passes.
fn what_a_short_run_logs(flavour: Flavour) {
    let server = &start_unsynced(flavour, &["--log-bin=binlog", "--binlog-format=ROW", "--server-id=1"]);
    make(server, "chunk_short", 30);
    let length =
        || sql(server, "SHOW BINARY LOGS").iter().map(|log| log[1].parse::<f64>().unwrap()).sum::<f64>();
    for condition in ["id < 0", "id BETWEEN 20000 AND 22000", "a = 3"] {
        let before = length();
        let update = format!("{UPDATE} WHERE {condition}");
        let told = run(&mut chunk(server, "chunk_short", "--json", &update)).done().json();
        let added = length() - before;
        let told = told["binlog_bytes"].as_f64().unwrap();
        // The table in which a run notes where it is comes and goes besides.
        assert!(told > added * 0.8 - 4e3 && told < added * 1.2 + 4e3, "{condition}: {told} of {added}");
    }
}

fn pause_file(flavour: Flavour) {
    let (server, schema) = (source(flavour), "chunk_pause");
    make(server, schema, 5);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pause");
    drop(File::create(&file).unwrap());
    let running = Running::start(&mut chunk(
        server,
        schema,
        &format!("--json --pause-file {}", file.display()),
        UPDATE,
    ));
    running.wait_for("pause exists");
    assert_eq!(parts_done(server, schema), 0);
    std::fs::remove_file(&file).unwrap();
    let json = running.finish().done().json();
    assert!(json["waited"]["pause"].as_f64().unwrap() > 0.5, "{json}");
}

fn load(flavour: Flavour) {
    let (server, schema) = (&start(flavour, &[]), "chunk_load");
    make(server, schema, 5);
    let crowd: Vec<_> = (0..20).map(|_| Session::open(server)).collect();
    let running =
        Running::start(&mut chunk(server, schema, "--json --max-load Threads_connected=15", UPDATE));
    running.wait_for("Threads_connected 2");
    assert_eq!(parts_done(server, schema), 0);
    let critical =
        run(&mut chunk(server, schema, "--critical-load Threads_connected=15", "DELETE FROM t WHERE a = 1"));
    critical.refused(&["--critical-load", "Threads_connected"]);
    drop(crowd);
    let json = running.finish().done().json();
    assert!(json["waited"]["load"].as_f64().unwrap() > 0.5, "{json}");
    run(&mut chunk(
        server,
        schema,
        "--critical-load Threads_connected=15 --max-history 1000000",
        "DELETE FROM t WHERE a = 1",
    ))
    .done();
    assert_forgotten(server, schema);
}

fn lag_by_heartbeat(flavour: Flavour) {
    lag(flavour, "heartbeat");
}

fn lag_by_status(flavour: Flavour) {
    lag(flavour, "status");
}

/// A replica that stands still holds a run up, whichever way its lag is read; one that does not replicate does so too.
fn lag(flavour: Flavour, by: &str) {
    let server = &start(flavour, &["--log-bin=binlog", "--binlog-format=ROW", "--server-id=1"]);
    let (replica, schema) = (&replica_of(server), "chunk_lag");
    make(server, schema, 10);
    sql(replica, "START REPLICA");
    let rows =
        |server: &Server| sql(server, format!("SELECT COUNT(*), SUM(a), SUM(CRC32(v)) FROM {schema}.t"));
    let has_all = || crate::client::try_sql(replica, &format!("SELECT COUNT(*) = 10000 FROM {schema}.t"));
    wait_until("the replica has it all", || {
        has_all().is_ok_and(|rows| rows == [["1"]]) && lag_of(replica) == Some(0)
    });
    let url = format!("mysql://root@localhost?socket={}", replica.socket().display());
    let options = format!("--json --chunk-size 8k --max-lag 1s --max-rate 300k --lag-by {by}");
    let with_replica = |options: &str| {
        let mut command = chunk(server, schema, options, UPDATE);
        command.args(["--replica", &url]);
        command
    };
    let running = Running::start(&mut with_replica(&options));
    wait_until("it has begun", || parts_done(server, schema) > 3);
    let mut lock = Session::open(replica);
    lock.run(&format!("LOCK TABLES {schema}.t READ"));
    running.wait_for(" s behind");
    let parts = parts_done(server, schema);
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert_eq!(parts_done(server, schema), parts, "it went on");
    drop(lock);
    sql(replica, "STOP REPLICA SQL_THREAD");
    if by == "status" {
        running.wait_for("it does not apply what it receives");
    }
    sql(replica, "START REPLICA SQL_THREAD");
    let json = running.finish().done().json();
    assert!(json["waited"]["lag"].as_f64().unwrap() > 0.5, "{json}");
    assert!(json["max_lag_seconds"].as_f64().unwrap() > 0.75, "{json}");
    let expected = rows(server);
    wait_until("the replica has it all", || rows(replica) == expected);
    assert_eq!(
        value(server, format!("SELECT SUM(a) FROM {schema}.t")),
        (10_000 * 9 / 2 + 10_000).to_string()
    );
    // Where nothing can be known of a replica nothing is written.
    sql(replica, "STOP REPLICA");
    let lonely = Running::start(&mut with_replica(&options));
    match by {
        "status" => drop(lonely.finish().refused(&["cannot be watched", "it does not receive"])),
        _ => {
            lonely.wait_for("it has not heard of this run yet");
            assert_eq!(parts_done(server, schema), 0);
            lonely.signal("INT");
            lonely.finish().refused(&["stopped by a signal"]);
        }
    }
}
