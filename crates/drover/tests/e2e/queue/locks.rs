//! Transactions and locks of others that last longer than a lease: they hold up nothing but their own tasks, and no task runs twice.

use std::process::{Child, Command, Stdio};

use drover_sandbox::Flavour;

use super::{Queue, numbers};
use crate::chance::{Chance, rounds};
use crate::client::{Session, sql, value, wait_until};
use crate::drover::{Running, drover, drover_on, run};
use crate::servers::{on_both, start};

on_both!(
    open_transactions,
    a_row_that_is_locked,
    a_table_that_is_locked,
    lanes_that_are_locked,
    one_that_is_in_the_way_at_the_start,
    a_storm_of_locks,
);

/// It ends the first try, and is gone at the second.
fn one_that_is_in_the_way_at_the_start(flavour: Flavour) {
    let server = start(flavour, &[]);
    let command = |line: &str| drover_on(&server, &format!("queue {line} -D jobs"));
    let waits =
        || sql(&server, "SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_waits'")[0][1].parse::<u32>().unwrap();
    run(&mut command("init")).done();
    run(&mut command("push 1 2 3")).done();
    for line in ["work --json --until-empty --exec true", "set --kind 1 --rate 5", "pause", "init"] {
        let mut session = Session::open(&server);
        session.run("START TRANSACTION");
        session.run("UPDATE jobs.queue_meta SET bell = bell + 1");
        let before = waits();
        let mut waiting = Running::start(&mut command(line));
        wait_until("it tries again", || {
            assert!(!waiting.has_ended(), "{line} has given up");
            waits() >= before + 2
        });
        session.run("ROLLBACK");
        waiting.finish().done();
    }
    assert_eq!(value(&server, "SELECT SUM(done) FROM jobs.queue_count"), "3");
}

/// Whichever table another session has locked for longer than one waits for a lock, each command comes to its end.
fn a_storm_of_locks(flavour: Flavour) {
    let server = start(flavour, &[]);
    let dir = tempfile::tempdir().unwrap();
    let shards = dir.path().join("shards.toml");
    let shard = |name: &str| {
        let url = format!("mysql://root@/{name}?socket={}", server.socket().display());
        format!("[[shard]]\nname = \"{name}\"\nurl = \"{url}\"\n")
    };
    std::fs::write(&shards, shard("here") + &shard("there")).unwrap();
    let ids = dir.path().join("ids");
    std::fs::write(&ids, numbers(1, 200)).unwrap();
    let command = |line: &str| {
        let mut command = drover(&format!("queue {line} --no-defaults --shards"));
        command.arg(&shards);
        command
    };
    let waits =
        || sql(&server, "SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_waits'")[0][1].parse::<u32>().unwrap();
    run(&mut command("init")).done();
    run(&mut command("schedule set nightly one --cron @daily")).done();
    let (mut chance, mut pushed) = (Chance::new(31), 0);
    for round in 0..rounds(8) {
        // Something to move, of each sort.
        run(command(&format!("build --job before-{round}")).arg(&ids)).done();
        run(&mut command("push 1 2 3")).done();
        run(&mut command("push --not-before 1h 4 5")).done();
        pushed += 203;
        let build = format!("build --job locked-{round}");
        let (line, more) = [
            ("move --from here", 0),
            ("move --from here", 0),
            ("move --from here --to there", 0),
            ("move --from there --to here", 0),
            ("work --json --until-empty --exec true", 0),
            (build.as_str(), 200),
            ("push 1 2 3 4", 4),
            ("schedule pause nightly", 0),
            ("set --kind 3 --rate 5", 0),
            ("drain here", 0),
            ("stat", 0),
        ][chance.below(11)];
        let schema = chance.one_of(&["here", "there"]);
        let tables = sql(&server, format!("SHOW TABLES FROM {schema}"));
        let table = match chance.below(2) {
            0 => chance.one_of(&["queue_meta", "queue_lane", "queue_shepherd"]),
            _ => &tables[chance.below(tables.len())][0],
        };
        let mut session = Session::open(&server);
        session.run("START TRANSACTION");
        // What it skips another one is about to release; so it is never the one that a deadlock ends.
        let lock = format!("SELECT COUNT(*) FROM {schema}.{table} FOR UPDATE SKIP LOCKED");
        // The table of a segment may be gone by then.
        let comes_first = chance.below(2) == 0 || table.starts_with("queue_segment_");
        if comes_first {
            session.value(&lock);
        }
        let before = waits();
        let mut locked = command(line);
        if line.starts_with("build") {
            locked.arg(&ids);
        }
        let mut locked = Running::start(&mut locked);
        if !comes_first {
            std::thread::sleep(chance.millis(1, 120));
            session.value(&lock);
        }
        wait_until(format!("round {round}: {line} has ended, or waits again for {schema}.{table}"), || {
            // Tasks that are locked are left where they are, and that is said.
            locked.has_ended() || locked.has_said("has locked") || waits() >= before + 2
        });
        session.run("ROLLBACK");
        let said = locked.finish();
        assert_eq!(said.code, Some(0), "round {round}, {schema}.{table}: {said}");
        pushed += more;
        for schema in ["here", "there"] {
            run(&mut command(&format!("drain {schema} --undo"))).done();
        }
    }
    run(&mut command("work --json --until-empty --exec true")).done();
    let on_both = |what: &str, table: &str| -> u64 {
        let on = |schema| value(&server, format!("SELECT COALESCE({what}, 0) FROM {schema}.{table}"));
        ["here", "there"].into_iter().map(|schema| on(schema).parse::<u64>().unwrap()).sum()
    };
    assert_eq!(on_both("SUM(done)", "queue_count"), pushed);
    assert_eq!(on_both("COUNT(*)", "queue_later"), 2 * rounds(8));
}

/// Shepherds whose leases are short, which end with the test.
struct Shepherds<'a> {
    queue: &'a Queue,
    children: Vec<Child>,
}

impl<'a> Shepherds<'a> {
    /// Two that write what they did into `log`.
    fn start(queue: &'a Queue) -> Self {
        let worker = queue.python("log.write(str(task['object_id']) + '\\n')\nanswer(task)");
        let start = |_| {
            let mut command = queue.command("work -v --lease 3s --procs 2");
            command.args(["--json-lines", &worker]).stdout(Stdio::null());
            let said =
                std::fs::OpenOptions::new().create(true).append(true).open(queue.dir.path().join("said"));
            command.stderr(said.unwrap()).spawn().unwrap()
        };
        let started = Self { queue, children: (0..2).map(start).collect() };
        started.wait_for("2", "TRUE");
        started
    }

    fn wait_for(&self, count: &str, condition: &str) {
        let sql = format!("SELECT COUNT(*) FROM queue_shepherd WHERE {condition}");
        wait_until(format!("{count} shepherds: {condition}"), || self.queue.value(&sql) == count);
    }

    /// Waits until each has had its lease for longer than one lasts.
    fn outlast_leases(&self) {
        self.wait_for("2", "shepherd <= 2 AND expires > started + INTERVAL 8 SECOND");
    }

    /// Ends them; each of these tasks ran once.
    fn end(mut self, objects: impl Iterator<Item = String>) {
        assert_eq!(self.queue.value("SELECT MAX(shepherd) FROM queue_shepherd"), "2", "a lease was lost");
        for child in &mut self.children {
            Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
            assert!(child.wait().unwrap().success());
        }
        let mut expected: Vec<_> = objects.collect();
        expected.sort();
        assert_eq!(self.queue.sorted("log"), expected, "{:?}", self.queue.lines("said"));
    }
}

impl Drop for Shepherds<'_> {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _already_ended = child.kill();
            let _status = child.wait();
        }
    }
}

fn insert(objects: impl Iterator<Item = u32>) -> String {
    let rows: Vec<_> = objects.map(|object| format!("({object})")).collect();
    format!("INSERT INTO queue_inbox (object_id) VALUES {}", rows.join(", "))
}

/// Before, between and behind the rows that are committed.
fn open_transactions(flavour: Flavour) {
    let queue = Queue::new(flavour, "open_transactions");
    let mut open = Vec::new();
    for at in 0..4 {
        let mut session = Session::open(queue.server);
        session.run(&format!("USE {}", queue.schema));
        session.run("START TRANSACTION");
        session.run(&insert(9000 + at..9001 + at));
        open.push(session);
        if at < 3 {
            queue.sql(insert(at * 150..at * 150 + 150));
        }
    }
    let shepherds = Shepherds::start(&queue);
    wait_until("all that is committed has run", || queue.lines("log").len() >= 450);
    queue.sql(insert(450..600));
    wait_until("what came later has run", || queue.lines("log").len() >= 600);
    shepherds.outlast_leases();
    for (at, session) in open.iter_mut().enumerate() {
        session.run(if at == 1 { "ROLLBACK" } else { "COMMIT" });
    }
    wait_until("the others have run", || queue.lines("log").len() >= 603);
    let done = || queue.value("SELECT COALESCE(SUM(done), 0) FROM queue_count") == "603";
    wait_until("all is acknowledged", done);
    shepherds.end((0..600).chain([9000, 9002, 9003]).map(|object| object.to_string()));
}

/// By somebody who looks at the inbox with a locking read.
fn a_row_that_is_locked(flavour: Flavour) {
    let queue = Queue::new(flavour, "a_row_that_is_locked");
    queue.sql(insert(0..100));
    let mut session = Session::open(queue.server);
    session.run(&format!("USE {}", queue.schema));
    session.run("START TRANSACTION");
    assert_eq!(session.value("SELECT object_id FROM queue_inbox WHERE id = 50 FOR UPDATE"), "49");
    let shepherds = Shepherds::start(&queue);
    wait_until("the others have run", || queue.lines("log").len() >= 99);
    let says = || queue.lines("said").iter().any(|line| line.contains("has locked 1 rows of queue_inbox"));
    wait_until("it is said", says);
    shepherds.outlast_leases();
    session.run("ROLLBACK");
    wait_until("it has run", || queue.lines("log").len() >= 100);
    wait_until("it is acknowledged", || queue.value("SELECT SUM(done) FROM queue_count") == "100");
    shepherds.end((0..100).map(|object| object.to_string()));
}

/// What is in segments runs, though nobody can read the inbox.
fn a_table_that_is_locked(flavour: Flavour) {
    let queue = Queue::new(flavour, "a_table_that_is_locked");
    let ids = queue.file("ids", &numbers(0, 999));
    let shepherds = Shepherds::start(&queue);
    let mut session = Session::open(queue.server);
    session.run(&format!("USE {}", queue.schema));
    session.run("LOCK TABLES queue_inbox WRITE");
    queue.run(&format!("build {}", ids.display())).done();
    session.run("INSERT INTO queue_inbox (object_id) VALUES (1000)");
    wait_until("what was built has run", || queue.lines("log").len() >= 1000);
    shepherds.outlast_leases();
    session.run("UNLOCK TABLES");
    wait_until("the last one has run", || queue.lines("log").len() >= 1001);
    wait_until("all is acknowledged", || queue.value("SELECT SUM(done) FROM queue_count") == "1001");
    shepherds.end((0..1001).map(|object| object.to_string()));
}

/// Who only reads waits as well, as it does for somebody's FLUSH TABLES: a shepherd that gave up would have its tasks run once more.
fn lanes_that_are_locked(flavour: Flavour) {
    let queue = Queue::new(flavour, "lanes_that_are_locked");
    let ids = queue.file("ids", &numbers(0, 4999));
    queue.run(&format!("build {}", ids.display())).done();
    let shepherds = Shepherds::start(&queue);
    wait_until("some have run", || queue.lines("log").len() >= 10);
    let mut session = Session::open(queue.server);
    session.run(&format!("USE {}", queue.schema));
    session.run("LOCK TABLES queue_lane WRITE");
    shepherds.outlast_leases();
    session.run("UNLOCK TABLES");
    wait_until("all has run", || queue.lines("log").len() >= 5000);
    wait_until("all is acknowledged", || queue.value("SELECT SUM(done) FROM queue_count") == "5000");
    shepherds.end((0..5000).map(|object| object.to_string()));
}
