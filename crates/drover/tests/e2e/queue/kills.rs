//! Nothing is lost, whoever is killed: workers, shepherds and the server itself, again and again, while tasks come in.
//!
//! `DROVER_QUEUE_TASKS` says how many tasks are built, 40,000 by default.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use drover_sandbox::{Cluster, Flavour, Server, StartOptions, Topology};

use crate::client::{sql, try_sql, value, wait_until};
use crate::drover::{drover, run};
use crate::servers::{on_both, start};

on_both!(everybody_is_killed);

/// Tasks a second, so that there is time for kills.
const RATE: u64 = 4000;
/// How often somebody is killed.
const EVERY: Duration = Duration::from_millis(1500);
/// Objects of unique tasks, which are pushed over and over.
const OBJECTS: u64 = 50;

fn tasks() -> u64 {
    std::env::var("DROVER_QUEUE_TASKS").map_or(40_000, |tasks| tasks.parse().unwrap())
}

/// A worker that notes what it was given before it answers.
fn worker(dir: &Path) -> String {
    let file = dir.join("worker.py");
    let script = "import os, sys\n\
                  log = os.open(sys.argv[1] + '/ran.%d' % os.getpid(), os.O_WRONLY | os.O_CREAT | os.O_APPEND)\n\
                  for line in sys.stdin.buffer:\n    os.write(log, line)\n    sys.stdout.buffer.write(line)\n    sys.stdout.buffer.flush()\n";
    fs::write(&file, script).unwrap();
    format!("exec python3 {} {}", file.display(), dir.display())
}

/// A queue's place on the command line.
fn place(sockets: &[&Path], dir: &Path) -> String {
    let urls: Vec<_> = sockets
        .iter()
        .map(|socket| format!("\"mysql://root@localhost/jobs?socket={}\"", socket.display()))
        .collect();
    let file = dir.join("shards.toml");
    fs::write(&file, format!("[[shard]]\nname = \"a\"\nurl = [{}]\n", urls.join(", "))).unwrap();
    format!("--no-defaults --shards {}", file.display())
}

fn shepherd(place: &str, worker: &str) -> Child {
    let mut command = drover(&format!("-q queue work {place} --procs 2 --json-lines"));
    command.arg(worker).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn kill(pid: u32) {
    Command::new("sh").args(["-c", &format!("kill -9 {pid} 2>/dev/null")]).status().unwrap();
}

/// Processes that a shepherd has started.
fn workers_of(shepherd: u32) -> Vec<u32> {
    let output = Command::new("pgrep").args(["-P", &shepherd.to_string()]).output().unwrap();
    String::from_utf8_lossy(&output.stdout).lines().filter_map(|line| line.parse().ok()).collect()
}

/// What ran, by the objects' numbers and kinds, with the number of times.
fn ran(dir: &Path) -> HashMap<(u64, u64), u64> {
    let mut ran = HashMap::new();
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        if !entry.file_name().to_string_lossy().starts_with("ran.") {
            continue;
        }
        for line in fs::read_to_string(entry.path()).unwrap().lines() {
            // The last line of one that was killed may be cut off.
            let Ok(task) = serde_json::from_str::<serde_json::Value>(line) else { continue };
            let key = (task["kind"].as_u64().unwrap(), task["object_id"].as_u64().unwrap());
            *ran.entry(key).or_default() += 1;
        }
    }
    ran
}

/// Inserts single tasks, unique ones among them, until told to end; what was committed is counted.
struct Inserts<'a> {
    socket: &'a (dyn Fn() -> Option<Command> + Sync),
    plain: AtomicU64,
    unique: AtomicU64,
    /// Sent, and nothing heard of it: it may be there or not.
    unknown: Mutex<HashSet<u64>>,
    over: AtomicBool,
}

impl Inserts<'_> {
    fn run(&self) {
        let mut next = 1_000_000;
        let mut unique = 0;
        while !self.over.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(20));
            let Some(mut client) = (self.socket)() else { continue };
            next += 1;
            unique += 1;
            let text = format!(
                "INSERT INTO jobs.queue_inbox (kind, object_id) VALUES (1, {next}), (2, {})",
                unique % OBJECTS
            );
            client.args(["-e", &text]).stdout(Stdio::null()).stderr(Stdio::null());
            match client.status().unwrap().success() {
                true => {
                    self.plain.fetch_add(1, Ordering::SeqCst);
                    self.unique.fetch_add(1, Ordering::SeqCst);
                }
                false => drop(self.unknown.lock().unwrap().insert(next)),
            }
        }
    }
}

fn everybody_is_killed(flavour: Flavour) {
    let dir = tempfile::tempdir().unwrap();
    let server = Mutex::new(start(flavour, &[]));
    let socket = server.lock().unwrap().socket().to_owned();
    let place = place(&[&socket], dir.path());
    let client = || Some(server.lock().unwrap().client("mysql"));
    let kill_server = || {
        let mut server = server.lock().unwrap();
        server.kill();
        std::thread::sleep(Duration::from_millis(300));
        server.restart().unwrap();
    };
    survive(&place, dir.path(), &client, &kill_server);
    check(&server.lock().unwrap(), dir.path());
}

#[test]
fn a_groups_primary_is_killed() {
    if crate::servers::is_wanted(Flavour::MySql) {
        a_node_is_killed(Topology::GroupReplication, Flavour::MySql);
    }
}

#[test]
fn a_galera_node_is_killed() {
    if crate::servers::is_wanted(Flavour::MariaDb) {
        a_node_is_killed(Topology::Galera, Flavour::MariaDb);
    }
}

fn a_node_is_killed(topology: Topology, flavour: Flavour) {
    let dir = tempfile::tempdir().unwrap();
    let cluster = Cluster::start(topology, &StartOptions::ephemeral(flavour)).unwrap();
    let sockets: Vec<_> = cluster.nodes().iter().map(|node| node.socket().to_owned()).collect();
    let sockets: Vec<_> = sockets.iter().map(|socket| &**socket).collect();
    let place = place(&sockets, dir.path());
    let cluster = Mutex::new(cluster);
    let client = || {
        let cluster = cluster.lock().unwrap();
        let primary = cluster.primary()?;
        Some(cluster.nodes()[primary].client("mysql"))
    };
    let killed = AtomicBool::new(false);
    let kill_primary = || {
        // Once, and in the middle: the others go on.
        if !killed.swap(true, Ordering::SeqCst) {
            let mut cluster = cluster.lock().unwrap();
            let primary = cluster.primary().unwrap();
            cluster.kill(primary);
        }
    };
    survive(&place, dir.path(), &client, &kill_primary);
    let cluster = cluster.into_inner().unwrap();
    check(&cluster.nodes()[cluster.primary().unwrap()], dir.path());
}

/// Builds, inserts and works, and kills somebody again and again; then works off what is left.
fn survive(
    place: &str,
    dir: &Path,
    client: &(dyn Fn() -> Option<Command> + Sync),
    kill_server: &(dyn Fn() + Sync),
) {
    run(&mut drover(&format!("queue init {place}"))).done();
    run(&mut drover(&format!("queue set {place} --rate {RATE} --backoff 500ms --max-attempts 100"))).done();
    run(&mut drover(&format!("queue set {place} --kind 2 --unique yes"))).done();
    let mut ticks = drover(&format!("queue schedule set {place} ticks 0 --kind 3 --json"));
    let first = run(ticks.args(["--cron", "* * * * * *"])).done().json();
    let list = dir.join("list");
    let objects: String = (0..tasks()).map(|object| format!("{object}\n")).collect();
    fs::write(&list, objects).unwrap();
    run(&mut drover(&format!("queue build {place} --kind 16 {}", list.display()))).done();

    let worker = worker(dir);
    let inserts = Inserts {
        socket: client,
        plain: AtomicU64::new(0),
        unique: AtomicU64::new(0),
        unknown: Mutex::default(),
        over: AtomicBool::new(false),
    };
    let until = Instant::now() + Duration::from_secs(tasks() / RATE).max(Duration::from_secs(8));
    std::thread::scope(|scope| {
        scope.spawn(|| inserts.run());
        let mut shepherds = [shepherd(place, &worker), shepherd(place, &worker)];
        let mut turn = 0;
        while Instant::now() < until {
            std::thread::sleep(EVERY);
            let victim = &mut shepherds[turn / 3 % 2];
            match turn % 3 {
                0 => workers_of(victim.id()).into_iter().for_each(kill),
                1 => {
                    kill(victim.id());
                    victim.wait().unwrap();
                    *victim = shepherd(place, &worker);
                }
                _ => kill_server(),
            }
            turn += 1;
        }
        inserts.over.store(true, Ordering::SeqCst);
        for shepherd in &mut shepherds {
            kill(shepherd.id());
            shepherd.wait().unwrap();
        }
    });
    wait_until("somebody takes writes", || client().is_some());
    let last = run(&mut drover(&format!("queue schedule list {place} --json"))).done().json()[0].clone();
    fs::write(dir.join("ticks"), serde_json::json!([first, last]).to_string()).unwrap();
    run(&mut drover(&format!("queue schedule pause {place} ticks"))).done();
    let mut last = drover(&format!("-q queue work {place} --procs 2 --until-empty --json-lines"));
    run(last.arg(&worker)).done();
    let counts = [&inserts.plain, &inserts.unique].map(|count| count.load(Ordering::SeqCst).to_string());
    let unknown: Vec<_> = inserts.unknown.lock().unwrap().iter().map(u64::to_string).collect();
    fs::write(dir.join("inserted"), format!("{} {}\n{}\n", counts[0], counts[1], unknown.join(" "))).unwrap();
}

/// Every task ran, and was acknowledged once; nothing is left.
fn check(server: &Server, dir: &Path) {
    let ran = ran(dir);
    let missing: Vec<_> = (0..tasks()).filter(|object| !ran.contains_key(&(16, *object))).take(10).collect();
    assert!(missing.is_empty(), "these never ran: {missing:?}");
    let inserted = fs::read_to_string(dir.join("inserted")).unwrap();
    let mut lines = inserted.lines();
    let committed: Vec<u64> = lines.next().unwrap().split(' ').map(|count| count.parse().unwrap()).collect();
    let unknown: Vec<u64> =
        lines.next().unwrap_or("").split_whitespace().map(|object| object.parse().unwrap()).collect();

    let done = |kind: u16| {
        value(server, format!("SELECT COALESCE(SUM(done), 0) FROM jobs.queue_count WHERE kind = {kind}"))
    };
    let number = |text: String| text.parse::<u64>().unwrap();
    assert_eq!(number(done(16)), tasks(), "acknowledged");
    let plain = ran.keys().filter(|(kind, _)| *kind == 1).count() as u64;
    let surely = ran.keys().filter(|(kind, object)| *kind == 1 && !unknown.contains(object)).count() as u64;
    assert_eq!(surely, committed[0], "inserted ones that ran");
    assert_eq!(number(done(1)), plain, "acknowledged");
    let merged = value(server, "SELECT COALESCE(SUM(merged), 0) FROM jobs.queue_count WHERE kind = 2");
    let taken = value(server, "SELECT COALESCE(SUM(taken), 0) FROM jobs.queue_count WHERE kind = 2");
    assert_eq!(number(done(2)) + number(merged), number(taken), "unique ones");
    let extra = plain - surely;
    assert_eq!(
        number(value(server, "SELECT COALESCE(SUM(taken), 0) FROM jobs.queue_count WHERE kind = 2")),
        committed[1] + extra
    );
    for table in ["queue_inbox", "queue_later", "queue_dead", "queue_unique", "queue_lane WHERE lane > 0"] {
        assert_eq!(value(server, format!("SELECT COUNT(*) FROM jobs.{table}")), "0", "{table}");
    }
    check_ticks(server, dir);
    assert_eq!(done(3), value(server, "SELECT fired FROM jobs.queue_schedule"));
    assert_eq!(done(3), value(server, "SELECT SUM(taken) FROM jobs.queue_count WHERE kind = 3"));
    let again: u64 = ran.iter().filter(|((kind, _), _)| *kind != 3).map(|(_, times)| times - 1).sum();
    assert!(again > 0, "no kill hit a task that ran: the test proves nothing");
    assert!(try_sql(server, "SELECT 1 FROM jobs.queue_segment_1").is_err(), "a segment is left");
    let _ = sql(server, "DROP DATABASE jobs");
}

/// Each second has a task, or is missed for another one's.
fn check_ticks(server: &Server, dir: &Path) {
    let ticks: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(dir.join("ticks")).unwrap()).unwrap();
    let time = |at: usize| ticks[at]["next"].as_str().unwrap().trim_end_matches('Z').to_owned();
    let seconds = value(server, format!("SELECT TIMESTAMPDIFF(SECOND, '{}', '{}')", time(0), time(1)));
    let count = |field: &str| ticks[1][field].as_u64().unwrap();
    assert_eq!((count("fired") + count("missed")).to_string(), seconds, "{ticks}");
    assert!(count("fired") > 0, "{ticks}");
}
