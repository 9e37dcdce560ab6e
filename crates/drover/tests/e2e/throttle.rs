//! Throttle: work that pauses while a server or a disk is in trouble, goes on afterwards, and ends where that is asked for.

use std::path::Path;
use std::time::{Duration, Instant};

use drover_sandbox::{Flavour, Server};

use crate::client::{Session, run_script, sql, value, wait_until};
use crate::compare;
use crate::drover::{Running, drover_on, dump, restore, run};
use crate::files::{has_rows, manifest_path, row_files};
use crate::servers::{on_both, source, start};

on_both!(
    rate,
    load_pauses,
    critical_load_ends,
    load_pauses_a_replay,
    lag_of_replicas,
    long_history,
    free_disk,
    limits_that_cannot_be_read
);

/// Tables with some 600 kB of text: one that is cut, one that is not.
fn make(server: &Server, schema: &str) {
    let script = format!(
        "CREATE DATABASE {schema}; USE {schema};
         CREATE TABLE keyed (id INT PRIMARY KEY, v VARCHAR(200));
         INSERT INTO keyed WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 1000)
           SELECT n, SHA2(n, 512) FROM s;
         INSERT INTO keyed SELECT id + 1000, v FROM keyed;
         CREATE TABLE keyless (v VARCHAR(200)); INSERT INTO keyless SELECT v FROM keyed; ANALYZE TABLE keyed"
    );
    run_script(server, None, script.as_bytes()).unwrap();
}

fn rate(flavour: Flavour) {
    let (server, schema) = (source(flavour), "throttle_rate");
    make(server, schema);
    let dir = tempfile::tempdir().unwrap();
    let dumped =
        run(dump(server, &format!("{schema} --max-rate 300k --threads 3"), &dir.path().join("slow"))
            .arg("--json"))
        .done();
    let seconds = |json: &serde_json::Value, field: &str| json[field].as_f64().unwrap();
    // The work may run 50 ms ahead; how slow it is otherwise depends on the machine.
    assert!(seconds(&dumped.json(), "seconds") > 1.5, "{dumped}");
    let target = start(flavour, &["--local-infile=1"]);
    let slow = run(restore(&target, &dir.path().join("slow"), "--max-rate 300k").arg("--json")).done().json();
    assert!(seconds(&slow, "load_seconds") > 1.5, "{slow}");
    assert!(seconds(&slow, "paused_seconds") == 0.0, "{slow}");
    compare::assert_same(&compare::everything(server, schema), &compare::everything(&target, schema));
}

/// Sessions that make Threads_connected grow.
fn crowd(server: &Server) -> Vec<Session<'_>> {
    (0..40).map(|_| Session::open(server)).collect()
}

fn load_pauses(flavour: Flavour) {
    let (server, schema) = (&start(flavour, &["--local-infile=1"]), "throttle_load");
    make(server, schema);
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("dump");
    let line = format!(
        "{schema} --threads 2 --chunk-size 16k --max-rate 40k --max-load Threads_connected=30,Threads_running=1000"
    );
    let mut dumping = Running::start(&mut dump(server, &line, &out));
    wait_until("rows are written", || has_rows(&out));
    let crowd_of_dump = crowd(server);
    dumping.wait_for("paused: Threads_connected 4");
    // Each worker may have had a statement to end.
    std::thread::sleep(Duration::from_millis(2000));
    let files = row_files(&out);
    std::thread::sleep(Duration::from_millis(2000));
    assert!(!dumping.has_ended() && row_files(&out) == files, "it went on");
    drop(crowd_of_dump);
    let output = dumping.finish().done();
    assert!(output.stdout.contains(", paused for "), "{output}");

    sql(server, format!("DROP DATABASE {schema}"));
    let crowd_of_restore = crowd(server);
    let line = "--max-load Threads_connected=30";
    let restoring = Running::start(restore(server, &out, line).arg("--json"));
    restoring.wait_for("paused: Threads_connected 4");
    drop(crowd_of_restore);
    let json = restoring.finish().done().json();
    assert!(json["paused_seconds"].as_f64().unwrap() > 0.0, "{json}");
    assert_eq!(json["verify"]["differences"].as_array().map(Vec::len), Some(0), "{json}");
}

fn critical_load_ends(flavour: Flavour) {
    let (server, schema) = (&start(flavour, &[]), "throttle_critical");
    make(server, schema);
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("dump");
    let line = format!("{schema} --threads 2 --chunk-size 16k --critical-load Threads_connected=30");
    let dumping = Running::start(&mut dump(server, &format!("{line} --max-rate 100k"), &out));
    wait_until("rows are written", || has_rows(&out));
    let crowd_of_dump = crowd(server);
    let started = Instant::now();
    dumping.finish().refused(&["stopped by a limit: Threads_connected", "> 30", "--resume"]);
    assert!(started.elapsed().as_secs() < 10, "it went on for {:?}", started.elapsed());
    assert!(!manifest_path(&out).exists());
    drop(crowd_of_dump);
    wait_until("the sessions are gone", || {
        sql(server, "SHOW GLOBAL STATUS LIKE 'Threads_connected'")[0][1].parse::<u32>().unwrap() < 20
    });
    run(&mut dump(server, &format!("{line} --resume"), &out)).done();
}

/// It pauses between transactions, ends at a critical limit, and goes on.
fn load_pauses_a_replay(flavour: Flavour) {
    let logged = start(flavour, &["--log-bin=bin", "--binlog-format=ROW"]);
    sql(&logged, "CREATE DATABASE r; CREATE TABLE r.t (id INT PRIMARY KEY, v TEXT)");
    let inserts: String =
        (0..150).map(|id| format!("INSERT INTO r.t VALUES ({id}, REPEAT('{}', 2000));", id % 10)).collect();
    run_script(&logged, None, inserts.as_bytes()).unwrap();
    let logs = sql(&logged, "SHOW BINARY LOGS");
    sql(&logged, "FLUSH LOGS");
    let logs: Vec<_> = logs.iter().map(|log| logged.datadir().join(&log[0])).collect();
    let target = start(flavour, &[]);
    let replay = |line: &str| {
        let mut replay = drover_on(&target, &format!("binlog replay {line}"));
        replay.args(&logs);
        replay
    };
    let replaying =
        Running::start(&mut replay("--max-rate 50k --max-load Threads_connected=30,Threads_running=1000"));
    let rows = || {
        let table = "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'r'";
        if value(&target, table) == "0" {
            0
        } else {
            value(&target, "SELECT COUNT(*) FROM r.t").parse().unwrap()
        }
    };
    wait_until("rows are there", || rows() > 0);
    let others = crowd(&target);
    replaying.wait_for("paused: Threads_connected 4");
    // What was handed on before is applied.
    let mut before = rows();
    wait_until("it rests", || {
        std::thread::sleep(Duration::from_millis(500));
        std::mem::replace(&mut before, rows()) == before
    });
    assert!(before < 150, "{before} rows");
    drop(others);
    let output = replaying.finish().done();
    assert!(output.stdout.contains(", paused for "), "{output}");
    assert_eq!(rows(), 150);
    sql(&target, "DROP DATABASE r");
    let line = "--restart --max-rate 50k --critical-load Threads_connected=30";
    let replaying = Running::start(&mut replay(line));
    wait_until("rows are there", || rows() > 0);
    let others = crowd(&target);
    replaying.finish().refused(&["stopped by a limit: Threads_connected", "> 30", "--resume"]);
    drop(others);
    assert!(rows() < 150);
    run(&mut replay("--resume")).done();
    let all = "SELECT COUNT(*), SUM(CRC32(v)) FROM r.t";
    assert_eq!(sql(&target, all), sql(&logged, all));
}

/// A replica of `server`, whose replication does not run yet.
pub(crate) fn replica_of(server: &Server) -> Server {
    replica_with(server, &[])
}

/// The same with further options.
pub(crate) fn replica_with(server: &Server, options: &[&str]) -> Server {
    let flavour = server.flavour();
    sql(server, "CREATE USER IF NOT EXISTS repl@'%' IDENTIFIED BY 'secret'; GRANT ALL ON *.* TO repl@'%'");
    let replica = start(flavour, &[&["--server-id=2", "--relay-log=relay"], options].concat());
    let port = server.port();
    let file = value(
        server,
        match flavour {
            Flavour::MariaDb => "SHOW MASTER STATUS",
            Flavour::MySql => "SHOW BINARY LOG STATUS",
        },
    );
    sql(&replica, match flavour {
        Flavour::MariaDb => format!(
            "CREATE USER repl@'%' IDENTIFIED BY 'secret'; GRANT ALL ON *.* TO repl@'%';
             CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {port}, MASTER_USER = 'repl', MASTER_PASSWORD = 'secret',
             MASTER_LOG_FILE = '{file}', MASTER_LOG_POS = 4"
        ),
        Flavour::MySql => format!(
            "CREATE USER repl@'%' IDENTIFIED BY 'secret'; GRANT ALL ON *.* TO repl@'%';
             CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = {port}, SOURCE_USER = 'repl',
             SOURCE_PASSWORD = 'secret', SOURCE_LOG_FILE = '{file}', SOURCE_LOG_POS = 4, GET_SOURCE_PUBLIC_KEY = 1"
        ),
    });
    replica
}

fn lag_of_replicas(flavour: Flavour) {
    let (server, schema) = (&start(flavour, &["--server-id=1", "--log-bin=binlog"]), "throttle_lag");
    let dir = tempfile::tempdir().unwrap();
    let line = format!("{schema} --max-lag 2s");
    sql(server, format!("CREATE DATABASE {schema}"));
    run(&mut dump(server, &line, dir.path())).refused(&["--max-lag", "no replica", "--replica"]);
    let replica = replica_of(server);
    make(server, "throttle_lag_rows");
    let url = format!("mysql://repl:secret@127.0.0.1:{}", replica.port());
    let with_url = |line: &str, dir: &Path| {
        let mut command = dump(server, line, dir);
        command.args(["--replica", &url]);
        command
    };
    // One that does not replicate is not known to be near.
    let output =
        run(&mut with_url(&line, dir.path())).refused(&["--max-lag", "its replication does not run"]);
    assert!(!output.stderr.contains("secret"), "{output}");
    sql(&replica, "START REPLICA");
    let has_rows =
        "SELECT COUNT(*) = 2 FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'throttle_lag_rows'";
    wait_until("the replica has it all", || value(&replica, has_rows) == "1" && lag_of(&replica) == Some(0));
    // MariaDB's source knows where it is, and root may not log in there; MySQL's does not.
    let culprits: &[&str] = match flavour {
        Flavour::MariaDb => &["127.0.0.1:", "refused the login of 'root'"],
        Flavour::MySql => &["server id 2", "--replica", "report_host"],
    };
    run(&mut dump(server, &line, dir.path())).refused(culprits);
    // A lock there holds up what comes from the source.
    let mut lock = Session::open(&replica);
    lock.run("LOCK TABLES throttle_lag_rows.keyed READ");
    sql(server, "UPDATE throttle_lag_rows.keyed SET v = 'later' WHERE id = 1");
    wait_until("the replica is behind", || lag_of(&replica) > Some(2));
    let waiting = Running::start(with_url(&line, dir.path()).arg("--json"));
    waiting.wait_for(" s behind > 2 s");
    drop(lock);
    let json = waiting.finish().done().json();
    assert!(json["paused_seconds"].as_f64().unwrap() > 0.0, "{json}");
}

/// Seconds_Behind_Source, which is the 33rd column on both vendors.
pub(crate) fn lag_of(replica: &Server) -> Option<u64> {
    sql(replica, "SHOW REPLICA STATUS")[0][32].parse().ok()
}

fn long_history(flavour: Flavour) {
    // MySQL counts what was purged only at times.
    let options = ["--local-infile=1", "--loose-innodb-purge-rseg-truncate-frequency=1"];
    let (server, schema) = (&start(flavour, &options), "throttle_history");
    make(server, schema);
    let dir = tempfile::tempdir().unwrap();
    let line = format!("{schema} --max-history 200");
    run(&mut dump(server, &line, &dir.path().join("short"))).done();
    let mut session = Session::open(server);
    session.run("START TRANSACTION WITH CONSISTENT SNAPSHOT");
    sql(
        server,
        (0..400).map(|n| format!("UPDATE {schema}.keyed SET v = {n} WHERE id = 1;\n")).collect::<String>(),
    );
    run(&mut dump(server, &line, &dir.path().join("long")))
        .refused(&["InnoDB's history list length", "> 200"]);
    let into = format!("--into {schema}=throttle_history_there --max-history 200");
    let restoring = Running::start(&mut restore(server, &dir.path().join("short"), &into));
    restoring.wait_for("paused: InnoDB's history list length");
    drop(session);
    let output = restoring.finish().done();
    assert!(output.stdout.contains(", paused for "), "{output}");
}

fn free_disk(flavour: Flavour) {
    let (server, schema) = (source(flavour), "throttle_disk");
    make(server, schema);
    let dir = tempfile::tempdir().unwrap();
    run(&mut dump(server, &format!("{schema} --min-free 1k"), &dir.path().join("enough"))).done();
    let out = dir.path().join("full");
    let dumping = Running::start(&mut dump(server, &format!("{schema} --min-free 1024G"), &out));
    dumping.wait_for(" MiB free at ");
    assert!(!has_rows(&out));
    dumping.signal("INT");
    dumping.finish().refused(&["stopped by a signal"]);
}

fn limits_that_cannot_be_read(flavour: Flavour) {
    let (server, schema) = (source(flavour), "throttle_unknown");
    make(server, schema);
    let refused = |line: &str, culprits: &[&str]| {
        let dir = tempfile::tempdir().unwrap();
        run(&mut dump(server, &format!("{schema} {line}"), dir.path())).refused(culprits);
        assert!(!has_rows(dir.path()));
    };
    refused("--max-load Threads_rnning=1", &["no status variable Threads_rnning"]);
    refused("--critical-load Rsa_public_key=1", &["no status variable Rsa_public_key"]);
    refused("--max-load Threads_running", &["Threads_running=50"]);
    refused("--replica mysql://x", &["--max-lag"]);
    refused("--max-lag 1s --replica mysql://u:hidden@127.0.0.1:1", &["127.0.0.1:1"]);
}
