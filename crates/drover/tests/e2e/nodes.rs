//! Nodes of a cluster that have not applied yet what was committed on others: nothing of it is left out.

use std::path::Path;
use std::process::Command;

use drover_sandbox::{Cluster, Flavour, Server, StartOptions, Topology};

use crate::binlog::sql::logged;
use crate::client::{Session, sql, try_sql, value, wait_until};
use crate::drover::{Output, Running, drover_on, dump, restore, run, verify};
use crate::files::{manifest, table};
use crate::servers::{is_wanted, start_unsynced};

const TABLE: &str = "CREATE DATABASE behind; CREATE TABLE behind.t (id INT PRIMARY KEY, v INT NOT NULL)";
const ROWS: &str = "INSERT INTO behind.t WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 1000) SELECT n, 0 FROM s";

fn wait_for_table(node: &Server) {
    let there = "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'behind'";
    wait_until("the node has the table", || value(node, there) == "1");
}

/// Waits until a command waits for the node, or has ended without.
fn wait_until_it_waits(node: &Server, running: &mut Running) {
    let at_once = match node.flavour() {
        Flavour::MariaDb => "wsrep_sync_wait = 0",
        Flavour::MySql => "group_replication_consistency = 'EVENTUAL'",
    };
    let waits = format!(
        "SET SESSION {at_once}; SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO = 'START TRANSACTION' AND COMMAND = 'Query'"
    );
    wait_until("it waits", || running.has_ended() || value(node, &waits) == "1");
}

/// `command` sees what was committed on `other` before it began, though `node` has not applied it then.
fn waits_for_rows(other: &Server, node: &Server, command: &mut Command) -> Output {
    let mut holder = Session::open(node);
    holder.run("FLUSH TABLES WITH READ LOCK");
    sql(other, ROWS);
    let mut running = Running::start(command);
    wait_until_it_waits(node, &mut running);
    holder.run("UNLOCK TABLES");
    running.finish()
}

fn galera() -> Option<Cluster> {
    is_wanted(Flavour::MariaDb).then(|| {
        let options = StartOptions {
            // What it has globally must not matter: under the lock of a snapshot each wait would be in vain.
            server_options: vec!["--wsrep-sync-wait=15".into()],
            ..StartOptions::ephemeral(Flavour::MariaDb)
        };
        Cluster::start(Topology::Galera, &options).unwrap()
    })
}

fn dumped_rows(dir: &Path) -> u64 {
    let files = table(&manifest(dir), "behind", "t")["files"].as_array().unwrap().clone();
    files.iter().map(|file| file["rows"].as_u64().unwrap()).sum()
}

#[test]
fn behind_in_galera() {
    let Some(cluster) = galera() else { return };
    let [first, second, third] = cluster.nodes() else { panic!("three nodes") };
    sql(first, TABLE);
    wait_for_table(third);
    let statement = "UPDATE behind.t SET v = v + 1";
    let json = waits_for_rows(second, third, drover_on(third, "chunk --json").arg(statement)).done().json();
    assert_eq!(json["rows"], 1000, "{json}");
    assert_eq!(value(third, "SELECT SUM(v) FROM behind.t"), "1000");

    sql(first, "DELETE FROM behind.t");
    wait_for_none(third);
    let dir = tempfile::tempdir().unwrap();
    waits_for_rows(second, third, &mut dump(third, "behind", dir.path())).done();
    assert_eq!(dumped_rows(dir.path()), 1000);

    // What is compared is not the past either.
    sql(first, "DELETE FROM behind.t");
    wait_for_none(third);
    waits_for_rows(second, third, &mut verify(third, dir.path(), "")).done();
    restored_by_two(first, second, dir.path());
    changed_by_two(first, second);
    resumed_on_another_node(first, third);
    for_too_long(first, third);
}

/// A run that was killed is resumed on a node that has seen nothing of it.
fn resumed_on_another_node(first: &Server, third: &Server) {
    let statement = "UPDATE behind.t SET v = v + 1";
    sql(first, "UPDATE behind.t SET v = 0");
    wait_until("the rows are as they were", || value(third, "SELECT SUM(v) FROM behind.t") == "0");
    let mut holder = Session::open(third);
    // The others are not held up by what it leaves undone.
    holder.run("SET GLOBAL wsrep_desync = ON");
    holder.run("FLUSH TABLES WITH READ LOCK");
    let mut killed = Running::start(drover_on(first, "chunk --chunk-size 1k --max-rate 5k").arg(statement));
    killed.freeze_when("some parts are done", || {
        value(first, "SELECT SUM(v) FROM behind.t").parse::<u32>().unwrap() > 100
    });
    killed.signal("KILL");
    killed.finish();
    let mut resumed = Running::start(drover_on(third, "chunk --json").arg(statement));
    wait_until_it_waits(third, &mut resumed);
    holder.run("UNLOCK TABLES");
    holder.run("SET GLOBAL wsrep_desync = OFF");
    let json = resumed.finish().done().json();
    assert!(json["chunks_before"].as_u64().unwrap() > 0, "{json}");
    let sums = "SELECT CONCAT_WS(' ', COUNT(*), MIN(v), MAX(v)) FROM behind.t";
    assert_eq!(value(third, sums), "1000 1 1");
    let left = "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_NAME LIKE 'drover%'";
    assert_eq!(value(third, left), "0");
}

/// A node that does not catch up is not read.
fn for_too_long(first: &Server, third: &Server) {
    sql(third, "SET GLOBAL wsrep_provider_options = 'repl.causal_read_timeout=PT1S'");
    let mut holder = Session::open(third);
    holder.run("FLUSH TABLES WITH READ LOCK");
    sql(first, "DELETE FROM behind.t WHERE id > 500");
    let statement = "UPDATE behind.t SET v = v + 1";
    let words = ["behind its cluster", "1205", "hint: wait until it has caught up"];
    run(drover_on(third, "chunk").arg(statement)).refused(&words);
    let dir = tempfile::tempdir().unwrap();
    run(&mut dump(third, "behind", dir.path())).refused(&words);
    holder.run("UNLOCK TABLES");
    let json = run(drover_on(third, "chunk --json").arg(statement)).done().json();
    assert_eq!(json["rows"], 500, "{json}");
}

/// Locks by name hold on one node: of two restores that fill the same through two nodes, the one that stands still while the other begins
/// says so, and leaves what the other has made.
fn restored_by_two(first: &Server, second: &Server, dir: &Path) {
    sql(first, "DROP DATABASE behind");
    let slowly = "--max-rate 20k --threads 1";
    let mut one = Running::start(&mut restore(first, dir, slowly));
    let noted = "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_NAME LIKE 'drover_restore%'";
    one.freeze_when("it has begun", || value(first, noted) == "1");
    run(&mut restore(second, dir, "--drop-existing")).done();
    one.signal("CONT");
    one.finish().refused(&[
        "another run fills `behind`",
        "through another node",
        "--drop-existing begins anew",
    ]);
    run(&mut verify(second, dir, "")).done();
    // The other way round, at the moment when both begin.
    sql(second, "DROP DATABASE behind");
    let mut both = [first, second].map(|node| Running::start(&mut restore(node, dir, slowly)));
    wait_until("both have ended", || both.iter_mut().all(Running::has_ended));
    for output in both.map(Running::finish).into_iter().filter(|output| output.code != Some(0)) {
        // One that comes later finds what the other has begun.
        let said = ["another run fills `behind`", "what an earlier restore of this dump left"];
        assert!(said.iter().any(|words| output.error().contains(words)), "{output}");
    }
    run(&mut restore(first, dir, "--drop-existing")).done();
}

/// Of two that begin the same statement on two nodes, no part is done twice: one says so, or comes when the other has ended.
fn changed_by_two(first: &Server, second: &Server) {
    let statement = "UPDATE behind.t SET v = v + 1";
    let chunk = |node: &Server| {
        let mut command = drover_on(node, "chunk --chunk-size 1k");
        command.arg(statement);
        command
    };
    let left = "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_NAME LIKE 'drover%'";
    let (mut runs, mut refused) = (value(first, "SELECT MAX(v) FROM behind.t").parse::<u32>().unwrap(), 0);
    while refused < 3 {
        let mut both = [first, second].map(|node| Running::start(&mut chunk(node)));
        wait_until("both have ended", || both.iter_mut().all(Running::has_ended));
        for output in both.map(Running::finish) {
            if output.code == Some(0) {
                runs += 1;
                continue;
            }
            assert!(output.error().contains("another"), "{output}");
            assert!(output.error().contains("hint: "), "{output}");
            refused += 1;
        }
        if value(first, left) != "0" {
            run(&mut chunk(first)).done();
            runs += 1;
        }
        let sums = value(first, "SELECT CONCAT_WS(' ', COUNT(*), MIN(v), MAX(v)) FROM behind.t");
        assert_eq!(sums, format!("1000 {runs} {runs}"));
    }
}

/// What is committed on one node rolls back what is in its way on another: the server does not say so of all that it rolls back, and nothing of it
/// may be taken for loaded.
#[test]
fn rolled_back_by_another_node() {
    let Some(cluster) = galera() else { return };
    let [first, second, _] = cluster.nodes() else { panic!("three nodes") };
    sql(first, TABLE);
    sql(first, "USE behind; INSERT INTO t SELECT seq, 0 FROM seq_1_to_60000");
    let dir = tempfile::tempdir().unwrap();
    run(&mut dump(first, "behind --chunk-size 256k", dir.path())).done();
    for takes_files in [0, 1] {
        sql(first, "DROP DATABASE behind");
        sql(second, format!("SET GLOBAL local_infile = {takes_files}"));
        let output = while_a_table_changes(first, &mut restore(second, dir.path(), "--no-verify"));
        if output.code != Some(0) {
            let _ = output.refused(&["1213", "--resume resumes it"]);
            run(&mut restore(second, dir.path(), "--resume --no-verify")).done();
        }
        let rows = "SELECT CONCAT_WS(' ', COUNT(*), COUNT(DISTINCT id)) FROM behind.t";
        assert_eq!(value(first, rows), "60000 60000");
    }
    replayed_into_a_node(first, second);
}

/// The definition of the table is changed over and over on a node as long as the command runs.
fn while_a_table_changes(node: &Server, command: &mut Command) -> Output {
    let mut running = Running::start(command);
    let mut changes = 0;
    while !running.has_ended() {
        // The table may not be there yet.
        let _ = try_sql(node, &format!("ALTER TABLE behind.t COMMENT = '{changes}'"));
        changes += 1;
    }
    running.finish()
}

/// The same of transactions of a log, which are applied once each.
fn replayed_into_a_node(first: &Server, second: &Server) {
    let source = start_unsynced(Flavour::MariaDb, &["--log-bin", "--binlog-format=ROW"]);
    sql(&source, TABLE);
    let transactions = (0..200).map(|at| {
        let (from, to) = (at * 100 + 1, at * 100 + 100);
        format!(
            "BEGIN; INSERT INTO t SELECT seq, 0 FROM seq_{from}_to_{to}; UPDATE t SET v = v + 1 WHERE id >= {from}; COMMIT; "
        )
    });
    let logs =
        logged(&source, || drop(sql(&source, format!("USE behind; {}", transactions.collect::<String>()))));
    // A schema all of whose tables were altered since is taken for one that was filled anew.
    sql(first, "DELETE FROM behind.t; CREATE TABLE behind.bystander (id INT PRIMARY KEY)");
    wait_for_none(second);
    let mut output =
        while_a_table_changes(first, drover_on(second, "binlog replay --start-position 4").args(&logs));
    while output.code != Some(0) {
        let _ = output.refused(&["1213", "hint: "]);
        output = run(drover_on(second, "binlog replay --resume").args(&logs));
    }
    let sums = "SELECT CONCAT_WS(' ', COUNT(*), MIN(v), MAX(v)) FROM behind.t";
    assert_eq!(value(second, sums), "20000 1 1");
}

fn wait_for_none(node: &Server) {
    wait_until("the rows are gone", || value(node, "SELECT COUNT(*) FROM behind.t") == "0");
}

#[test]
fn behind_in_a_group() {
    if !is_wanted(Flavour::MySql) {
        return;
    }
    let cluster =
        Cluster::start(Topology::GroupReplication, &StartOptions::ephemeral(Flavour::MySql)).unwrap();
    let at = cluster.primary().unwrap();
    let (primary, secondary) = (&cluster.nodes()[at], &cluster.nodes()[(at + 1) % 3]);
    sql(primary, TABLE);
    wait_for_table(secondary);
    let dir = tempfile::tempdir().unwrap();
    waits_for_rows(primary, secondary, &mut dump(secondary, "behind", dir.path())).done();
    assert_eq!(dumped_rows(dir.path()), 1000);
    sql(primary, "DELETE FROM behind.t");
    wait_for_none(secondary);
    waits_for_rows(primary, secondary, &mut verify(secondary, dir.path(), "")).done();
}
