//! An address behind which there is more than one server: no command mixes their rows, whichever gets which connection.

pub(crate) mod dealer;

use std::path::{Path, PathBuf};
use std::process::Command;

use drover_sandbox::{Flavour, Server};

use crate::binlog::sql::logs_of;
use crate::chance::rounds;
use crate::client::{sql, value};
use crate::compare;
use crate::drover::{drover, drover_on, dump, restore, run};
use crate::servers::{on_both, source, start_unsynced, target};
use dealer::Dealer;

on_both!(dealt_in_turn, dealt_at_random, reads_are_split_from_writes, the_lock_is_lost_and_a_twin_answers);

const SAID: &str = "leads to more than one server";
/// How many commands with connections dealt at random.
const ROUNDS: u64 = 6;

/// drover as root behind a socket.
fn behind(socket: &Path, line: &str) -> Command {
    let mut command = drover(line);
    command.args(["--no-defaults", "-u", "root"]).arg(format!("--socket={}", socket.display()));
    command
}

fn make(schema: &str, servers: [&Server; 2]) {
    for (at, server) in servers.into_iter().enumerate() {
        let table = |n: usize| {
            let rows: Vec<_> = (0..50).map(|id| format!("({}, {at})", id * 2 + at)).collect();
            format!(
                "CREATE TABLE t{n} (id INT PRIMARY KEY, server INT); INSERT INTO t{n} VALUES {}",
                rows.join(", ")
            )
        };
        let tables: Vec<_> = (0..5).map(table).collect();
        sql(server, format!("CREATE DATABASE {schema}; USE {schema}; {}", tables.join("; ")));
    }
}

fn dealt_in_turn(flavour: Flavour) {
    let (one, other, schema) = (source(flavour), target(flavour), "dealt");
    make(schema, [one, other]);
    let dir = &tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let before = [one, other].map(|server| compare::rows(server, schema));
    run(&mut dump(one, schema, &path("one"))).done();
    let dealer = Dealer::new([one, other], &path("sock"), |number| number % 2);
    let url = |socket: &Path| format!("mysql://root@/?socket={}", socket.display());
    let log = logs_of(one).pop().unwrap();
    let out = PathBuf::from(format!("--out={}", path("out").display()));
    let script = path("script.sql");
    std::fs::write(&script, "CREATE DATABASE dealt_script; USE dealt_script; CREATE TABLE t (id INT);")
        .unwrap();
    let commands: [(&str, &[&Path]); 9] = [
        ("dump dealt --threads 2", &[&out]),
        ("restore --into dealt=dealt_restored", &[&path("one")]),
        ("verify", &[&path("one")]),
        ("binlog replay", &[&log]),
        ("chunk -D dealt ", &[Path::new("UPDATE t1 SET server = 9 WHERE id >= 0")]),
        ("queue init -D dealt_jobs", &[]),
        ("bench tpcc load -w 1 -D dealt_bench", &[]),
        ("binlog ls --from-server", &[]),
        ("restore", &[&script]),
    ];
    for (line, args) in commands {
        run(behind(dealer.socket(), line).args(args)).refused(&[SAID]);
    }
    for (from, to) in [(dealer.socket(), other.socket()), (one.socket(), dealer.socket())] {
        let mut copy = drover("copy dealt --into dealt=dealt_copied --no-defaults");
        copy.args(["--from", &url(from), "--to", &url(to), "--state"]).arg(path("state"));
        run(&mut copy).refused(&[SAID]);
    }
    let mut replay = drover_on(other, "binlog replay");
    run(replay.args(["--from", &url(dealer.socket())])).refused(&[SAID]);
    let schemas = "SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME IN ('dealt_restored', 'dealt_copied', 'dealt_bench', 'dealt_script')";
    for (server, before) in [one, other].into_iter().zip(&before) {
        compare::assert_same(before, &compare::rows(server, schema));
        assert_eq!(value(server, schemas), "0");
        sql(server, "DROP DATABASE dealt; DROP DATABASE IF EXISTS dealt_jobs");
    }
}

/// What a dump holds is what one of the servers holds, or it says why there is none.
fn dealt_at_random(flavour: Flavour) {
    let (one, other, schema) = (source(flavour), target(flavour), "dealt_random");
    make(schema, [one, other]);
    let rows = [one, other].map(|server| compare::rows(server, schema));
    let rounds = rounds(ROUNDS);
    let (mut said, mut done) = (0, 0);
    for round in 0..rounds {
        let dir = &tempfile::tempdir().unwrap();
        // Of the first connections, some more in each round lead to one server.
        let deal = move |number: usize| match fastrand_of(round * 1000 + number as u64) % (1 + round % 4) {
            0 => 0,
            _ => number % 2,
        };
        let dealer = Dealer::new([one, other], &dir.path().join("sock"), deal);
        let out = dir.path().join("out");
        let mut dump = behind(dealer.socket(), "dump dealt_random --threads 3");
        let dumped = run(dump.arg("--out").arg(&out));
        match dumped.code {
            Some(0) => {
                run(&mut restore(other, &out, "--into dealt_random=dealt_back --drop-existing")).done();
                let back = compare::rows(other, "dealt_back");
                assert!(
                    rows.iter().any(|rows| format!("{rows:?}").replace("dealt_random", "")
                        == format!("{back:?}").replace("dealt_back", "")),
                    "round {round}: rows of both servers"
                );
                done += 1;
            }
            _ => said += usize::from(dumped.refused(&[SAID]).code == Some(2)),
        }
    }
    assert!(
        said + done == usize::try_from(rounds).unwrap() && said > 0 && done > 0,
        "{said} said, {done} done"
    );
    for server in [one, other] {
        sql(server, "DROP DATABASE dealt_random; DROP DATABASE IF EXISTS dealt_back");
    }
}

/// A number that looks like chance, and is the same each time (splitmix64).
fn fastrand_of(seed: u64) -> u64 {
    let mixed = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ (mixed >> 27)
}

/// A proxy that sends SELECTs of one connection to a replica, and all else to its source.
fn reads_are_split_from_writes(flavour: Flavour) {
    let (one, other, schema) = (source(flavour), target(flavour), "dealt_split");
    make(schema, [one, other]);
    let dir = tempfile::tempdir().unwrap();
    let proxy = Dealer::splitting([one, other], &dir.path().join("sock"));
    let mut command = behind(proxy.socket(), "dump dealt_split --threads 2");
    run(command.arg("--out").arg(dir.path().join("out"))).refused(&[SAID]);
    let mut command = behind(proxy.socket(), "chunk -D dealt_split");
    run(command.arg("UPDATE t1 SET server = 9 WHERE id >= 0")).refused(&[SAID]);
    for server in [one, other] {
        assert_eq!(value(server, "SELECT COUNT(*) FROM dealt_split.t1 WHERE server = 9"), "0");
        sql(server, "DROP DATABASE dealt_split");
    }
}

/// The connection that holds the lock is lost, and those that come later lead to a server of the same name, port and server_id.
fn the_lock_is_lost_and_a_twin_answers(flavour: Flavour) {
    let (one, schema) = (source(flavour), "dealt_twin");
    let port = format!("--port={}", one.port());
    let id = format!("--server-id={}", value(one, "SELECT @@server_id"));
    let twin = &start_unsynced(flavour, &["--bind-address=127.0.0.2", &port, &id]);
    let called = "SELECT CONCAT_WS(' ', @@hostname, @@port, @@server_id)";
    assert_eq!(value(one, called), value(twin, called));
    make(schema, [one, twin]);
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    run(&mut dump(one, schema, &path("whole"))).done();
    let before = [one, twin].map(|server| compare::rows(server, schema));
    let url = |socket: &Path| format!("mysql://root@/?socket={}", socket.display());
    for at in 2..5 {
        let dealer = Dealer::losing_the_lock([one, twin], &path(&format!("sock{at}")), at);
        let mut dump = behind(dealer.socket(), "dump dealt_twin --threads 4");
        run(dump.arg("--out").arg(path(&format!("out{at}")))).refused(&["cannot be proved"]);
        let dealer = Dealer::losing_the_lock([one, twin], &path(&format!("back{at}")), at);
        let mut restore =
            behind(dealer.socket(), "restore --into dealt_twin=twin_restored --threads 4 --drop-existing");
        run(restore.arg(path("whole"))).refused(&["cannot be proved"]);
        let dealer = Dealer::losing_the_lock([one, twin], &path(&format!("to{at}")), at);
        let mut copy =
            drover("copy dealt_twin --into dealt_twin=twin_copied --no-defaults --drop-existing --threads 4");
        copy.args(["--from", &url(one.socket()), "--to", &url(dealer.socket()), "--state"])
            .arg(path(&format!("state{at}")));
        run(&mut copy).refused(&["cannot be proved"]);
    }
    for (server, before) in [one, twin].into_iter().zip(&before) {
        compare::assert_same(before, &compare::rows(server, schema));
    }
    let others = "SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME IN ('twin_restored', 'twin_copied')";
    assert_eq!(value(twin, others), "0");
    sql(
        one,
        "DROP DATABASE dealt_twin; DROP DATABASE IF EXISTS twin_restored; DROP DATABASE IF EXISTS twin_copied",
    );
}
