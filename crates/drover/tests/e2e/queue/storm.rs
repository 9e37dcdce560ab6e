//! Whatever comes over shepherds and their server, each task runs, and once, unless its shepherd was disturbed; and no lane is left to
//! nobody. In each round one of three shepherds is stalled (its network holds what is sent either way), first from one of its statements on
//! until the others have taken it for dead; then it is stalled again, stopped or killed, at times that a seed says. Others hold transactions
//! open and rows locked meanwhile, for longer than a lease.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use drover_sandbox::Flavour;

use super::Queue;
use super::tap::Tap;
use crate::chance::{Chance, rounds};
use crate::client::{Session, sql, wait_until};
use crate::drover::{drover, run};
use crate::servers::on_both;

on_both!(a_storm);

/// Within it a shepherd that is undisturbed gets its turn; one that does not says so.
const LEASE: Duration = Duration::from_secs(3);
const TAKEN_OVER: &str = "another shepherd has taken over";
const SHEPHERDS: usize = 3;
/// What comes by itself when a lease has run out has come by then.
const PATIENCE: Duration = Duration::from_secs(5 * LEASE.as_secs());
/// Tasks of a build, in many lanes; and of each insert.
const BUILT: usize = 3000;
const INSERTED: usize = 40;
/// Statements in which a shepherd may be stalled: each of them is sent by whoever has workers and a lease.
const STATEMENTS: [&str; 4] = [
    "FROM queue_lane WHERE owner = 0",
    "UPDATE queue_lane SET owner = ",
    "UPDATE queue_lane SET done = ",
    "UPDATE queue_shepherd SET expires = ",
];

/// A shepherd with a network of its own.
struct Shepherd {
    tap: Tap,
    url: String,
    child: Child,
}

impl Drop for Shepherd {
    fn drop(&mut self) {
        let _already_ended = self.child.kill();
        let _status = self.child.wait();
    }
}

fn signal(child: &Child, name: &str) {
    let _it_may_have_ended = Command::new("kill")
        .args([&format!("-{name}"), &child.id().to_string()])
        .stderr(Stdio::null())
        .status();
}

/// What comes over the victim of a round.
#[derive(Debug, Clone, Copy)]
enum Blow {
    /// Its network holds all that is sent from a statement on, which may come to the server, until others have taken what it had.
    StallAt(&'static str, bool),
    /// Its network holds all that is sent, for so long.
    Stall(Duration),
    /// It does not run, for so long.
    Stop(Duration),
    Kill,
    KillWorkers,
}

struct Storm {
    queue: Queue,
    worker: String,
    shepherds: Vec<Shepherd>,
    chance: Chance,
    /// Objects of tasks that are committed: those below it.
    objects: usize,
    /// Objects of tasks that may be there or not.
    rolled_back: HashSet<usize>,
    /// Shepherds that nothing came over in this round, by the numbers of their processes.
    undisturbed: HashSet<u32>,
}

impl Storm {
    fn new(flavour: Flavour, chance: Chance) -> Self {
        let queue = Queue::new(flavour, "storm");
        let schema = &queue.schema;
        sql(
            queue.server,
            format!("CREATE USER IF NOT EXISTS storm@'%'; GRANT ALL ON {schema}.* TO storm@'%'"),
        );
        let worker = queue.python(
            "if 'own' not in globals(): own = os.open('@/ran.%d' % os.getpid(), os.O_WRONLY | os.O_CREAT | os.O_APPEND)\n\
             shepherd = globals().setdefault('shepherd', os.getppid())\n\
             os.write(own, b'%d %d\\n' % (task['object_id'], shepherd))\n\
             time.sleep(0.001)\nanswer(task)",
        );
        let mut storm = Self {
            queue,
            worker,
            shepherds: Vec::new(),
            chance,
            objects: 0,
            rolled_back: HashSet::new(),
            undisturbed: HashSet::new(),
        };
        for _ in 0..SHEPHERDS {
            let tap = Tap::new(storm.queue.server.port());
            // Statements can be read on their way.
            let url =
                format!("mysql://storm@127.0.0.1:{}/{}?ssl-mode=DISABLED", tap.port(), storm.queue.schema);
            let child = storm.start(&url);
            storm.shepherds.push(Shepherd { tap, url, child });
        }
        storm
    }

    fn start(&self, url: &str) -> Child {
        let line = format!("-q queue work --no-defaults --procs 2 --lease {}s --url {url}", LEASE.as_secs());
        let mut command = drover(&line);
        command.args(["--json-lines", &self.worker]).stdout(Stdio::null());
        // Each has a file of its own, by its number, which is not known before.
        let said = tempfile::NamedTempFile::new_in(self.queue.dir.path()).unwrap();
        let child = command.stderr(said.reopen().unwrap()).spawn().unwrap();
        said.persist(self.said(child.id())).unwrap();
        child
    }

    /// What a shepherd says.
    fn said(&self, shepherd: u32) -> PathBuf {
        self.queue.dir.path().join(format!("said.{shepherd}"))
    }

    /// Whether it says that its lease ran out: on a busy machine that can come over it by itself.
    fn was_late(&self, shepherd: u32) -> bool {
        fs::read_to_string(self.said(shepherd)).unwrap().contains(TAKEN_OVER)
    }

    fn next_objects(&mut self, count: usize) -> Vec<usize> {
        let first = self.objects;
        self.objects += count;
        (first..self.objects).collect()
    }

    /// Tasks of many tenants are many lanes, so that these are taken over and over.
    fn build(&mut self, round: usize) {
        let objects = self.next_objects(BUILT);
        let lines: String = objects
            .iter()
            .map(|object| format!("{{\"object_id\": {object}, \"tenant\": \"{}\"}}\n", object % 150))
            .collect();
        let file = self.queue.file("list", &lines);
        self.queue.run(&format!("build --no-pauses --job round-{round} {}", file.display())).done();
    }

    fn insert_sql(objects: &[usize]) -> String {
        let rows: Vec<_> = objects.iter().map(|object| format!("({object}, {})", object % 3)).collect();
        format!("INSERT INTO queue_inbox (object_id, kind) VALUES {}", rows.join(", "))
    }

    fn insert(&mut self) {
        let objects = self.next_objects(INSERTED);
        self.queue.sql(Self::insert_sql(&objects));
    }

    fn round(&mut self, round: usize) {
        // All that was there has come to its end.
        self.undisturbed = self.shepherds.iter().map(|shepherd| shepherd.child.id()).collect();
        let first = self.objects;
        let victim = self.chance.below(SHEPHERDS);
        let stalled = Blow::StallAt(STATEMENTS[round % STATEMENTS.len()], self.chance.below(3) == 0);
        let others: Vec<_> = (0..self.chance.below(3)).map(|_| self.blow()).collect();
        self.build(round);
        let server = self.queue.server;
        let mut sessions = [Session::open(server), Session::open(server), Session::open(server)];
        for session in &mut sessions {
            session.run(&format!("USE {}", self.queue.schema));
            // No gaps are locked: others would wait with their inserts, whatever drover does.
            session.run("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
        }
        for blow in [stalled].into_iter().chain(others) {
            self.beside(&mut sessions, victim, blow);
        }
        drop(sessions);
        self.check(first);
    }

    /// A blow while a transaction is open whose tasks come before those of one that is committed, and between those of another; and while a row
    /// is locked.
    fn beside(&mut self, [before, open, locks]: &mut [Session<'_>; 3], victim: usize, blow: Blow) {
        let [around, uncommitted] = [INSERTED, 3].map(|count| self.next_objects(count));
        before.run("START TRANSACTION");
        before.run(&Self::insert_sql(&around[..INSERTED / 2]));
        let commits = self.chance.below(3) > 0;
        open.run("START TRANSACTION");
        open.run(&Self::insert_sql(&uncommitted));
        before.run(&Self::insert_sql(&around[INSERTED / 2..]));
        before.run("COMMIT");
        self.insert();
        locks.run("START TRANSACTION");
        locks.send("SELECT id INTO @locked FROM queue_inbox ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED");
        self.strike(victim, blow);
        self.insert_until(PATIENCE, |storm| storm.waiting(&around).len() <= 1);
        let waiting = self.waiting(&around);
        assert!(
            waiting.len() <= 1,
            "more wait for others than the one that is locked: {waiting:?} ({blow:?})"
        );
        locks.send("ROLLBACK");
        open.run(if commits { "COMMIT" } else { "ROLLBACK" });
        if !commits {
            self.rolled_back.extend(uncommitted);
        }
    }

    fn blow(&mut self) -> Blow {
        match self.chance.below(6) {
            0..=2 => Blow::Stall(self.chance.millis(200, 5500)),
            3 => Blow::Stop(self.chance.millis(200, 5500)),
            4 => Blow::Kill,
            _ => Blow::KillWorkers,
        }
    }

    /// While it lasts tasks go on to come.
    fn strike(&mut self, victim: usize, blow: Blow) {
        std::thread::sleep(self.chance.millis(0, 300));
        self.undisturbed.remove(&self.shepherds[victim].child.id());
        match blow {
            Blow::StallAt(statement, arrives) => self.stall_at(victim, statement, arrives),
            Blow::Stall(time) => {
                self.shepherds[victim].tap.hold();
                self.insert_for(time);
                self.shepherds[victim].tap.release();
            }
            Blow::Stop(time) => {
                signal(&self.shepherds[victim].child, "STOP");
                self.insert_for(time);
                signal(&self.shepherds[victim].child, "CONT");
            }
            Blow::Kill => {
                self.shepherds[victim].child.kill().unwrap();
                let _status = self.shepherds[victim].child.wait().unwrap();
                self.shepherds[victim].child = self.start(&self.shepherds[victim].url);
                self.undisturbed.insert(self.shepherds[victim].child.id());
                self.insert();
            }
            Blow::KillWorkers => {
                let parent = self.shepherds[victim].child.id().to_string();
                let _there_may_be_none = Command::new("pkill").args(["-KILL", "-P", &parent]).status();
                self.insert();
            }
        }
    }

    /// Lanes of a kind that is paused wait for whoever goes on where it was stalled.
    fn stall_at(&mut self, victim: usize, statement: &'static str, arrives: bool) {
        self.shepherds[victim].tap.hold_at(statement, arrives);
        self.insert_until(LEASE, |storm| storm.shepherds[victim].tap.is_held());
        self.shepherds[victim].tap.hold(); // it may have had no reason to send that
        self.queue.run("pause --kind 1").done();
        let now = self.queue.value("SELECT NOW(3)");
        let lease = LEASE.as_secs();
        // All that are there have renewed their leases since, for longer than one lasts.
        let outlasted = format!(
            "SELECT COUNT(*) FROM queue_shepherd WHERE expires < '{now}' + INTERVAL {lease} + {lease} + 1 SECOND"
        );
        self.insert_until(PATIENCE, |storm| storm.queue.value(&outlasted) == "0");
        let free = "SELECT COUNT(*) FROM queue_lane WHERE lane > 0 AND owner = 0 AND kind = 1";
        self.insert_until(PATIENCE, |storm| storm.queue.value(free) != "0");
        self.shepherds[victim].tap.release();
        let there = "SELECT COUNT(*) FROM queue_shepherd WHERE expires > NOW(3)";
        self.insert_until(PATIENCE, |storm| storm.queue.value(there) == SHEPHERDS.to_string());
        self.queue.run("resume --kind 1").done();
    }

    /// Inserts until it is so. What should have been is seen in what comes of the tasks.
    fn insert_until(&mut self, patience: Duration, is_so: impl Fn(&Self) -> bool) {
        let until = Instant::now() + patience;
        while !is_so(self) && Instant::now() < until {
            self.insert();
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn insert_for(&mut self, time: Duration) {
        let until = Instant::now() + time;
        while Instant::now() < until {
            self.insert();
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// By object, the shepherds that ran its task.
    fn ran(&self) -> HashMap<usize, Vec<u32>> {
        let mut ran: HashMap<usize, Vec<u32>> = HashMap::new();
        for entry in fs::read_dir(self.queue.dir.path()).unwrap().map(Result::unwrap) {
            if !entry.file_name().to_string_lossy().starts_with("ran.") {
                continue;
            }
            for line in fs::read_to_string(entry.path()).unwrap().lines() {
                let (object, shepherd) = line.split_once(' ').unwrap();
                ran.entry(object.parse().unwrap()).or_default().push(shepherd.parse().unwrap());
            }
        }
        ran
    }

    /// Those of these objects that did not run.
    fn waiting(&self, objects: &[usize]) -> Vec<usize> {
        let ran = self.ran();
        objects.iter().copied().filter(|object| !ran.contains_key(object)).collect()
    }

    /// All comes to its end, with the shepherds that there are; `first` is the first object of this round.
    fn check(&self, first: usize) {
        let count = self.objects - self.rolled_back.len();
        let done = || self.queue.value("SELECT COALESCE(SUM(done), 0) FROM queue_count");
        let left = "SELECT CONCAT(COUNT(*), ' lanes, ', COALESCE(SUM(tasks - done), 0), ' tasks, owners ', \
                    COALESCE(GROUP_CONCAT(DISTINCT owner), '')) FROM queue_lane WHERE lane > 0";
        let until = Instant::now() + Duration::from_secs(90);
        while done() != count.to_string() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
        }
        let (ended, left) = (done(), self.queue.value(left));
        let shepherds = self.queue.sql("SELECT shepherd, name, expires < NOW(3) FROM queue_shepherd");
        assert_eq!(ended, count.to_string(), "acknowledged; left are {left}; shepherds {shepherds:?}");
        let ran = self.ran();
        let never: Vec<_> = (0..self.objects)
            .filter(|object| !self.rolled_back.contains(object) && !ran.contains_key(object))
            .collect();
        assert!(never.is_empty(), "these never ran: {never:?}");
        let wrong: Vec<_> = ran.keys().filter(|object| self.rolled_back.contains(object)).collect();
        assert!(wrong.is_empty(), "these were rolled back: {wrong:?}");
        // Where a shepherd was killed before its worker asked for it, another process is the worker's parent.
        let known: Vec<_> = ran
            .iter()
            .filter(|(object, by)| {
                **object >= first && by.iter().all(|shepherd| self.undisturbed.contains(shepherd))
            })
            .collect();
        assert!(!known.is_empty(), "none is known");
        let mut twice: Vec<_> = known.into_iter().filter(|(_, by)| by.len() > 1).collect();
        let until = Instant::now() + PATIENCE;
        while !twice.is_empty() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
            twice.retain(|(_, by)| !by.iter().any(|shepherd| self.was_late(*shepherd)));
        }
        let said = |(object, by): (&usize, &Vec<u32>)| {
            let said = by.iter().map(|shepherd| fs::read_to_string(self.said(*shepherd)).unwrap());
            format!("{object} by {by:?}, which say {:?}", said.collect::<Vec<_>>())
        };
        let twice: Vec<_> = twice.into_iter().map(said).collect();
        assert!(twice.is_empty(), "these ran twice, and nothing came over their shepherds: {twice:#?}");
        let nobodies = "SELECT COUNT(*) FROM queue_lane WHERE owner NOT IN (0, 4294967295) \
                        AND owner NOT IN (SELECT shepherd FROM queue_shepherd)";
        wait_until("no lane is nobody's", || self.queue.value(nobodies) == "0");
    }
}

fn a_storm(flavour: Flavour) {
    let mut storm = Storm::new(flavour, Chance::new(flavour as u64));
    for round in 0..rounds(2) {
        storm.round(round as usize);
    }
    let Storm { queue, mut shepherds, .. } = storm;
    let all = || queue.value("SELECT COUNT(*) FROM queue_shepherd") == SHEPHERDS.to_string();
    wait_until("those that were killed are removed", all);
    for shepherd in &mut shepherds {
        signal(&shepherd.child, "INT");
        assert!(shepherd.child.wait().unwrap().success());
    }
    for table in ["queue_inbox", "queue_later", "queue_dead", "queue_lane WHERE lane > 0", "queue_shepherd"] {
        assert_eq!(queue.value(format!("SELECT COUNT(*) FROM {table}")), "0", "{table}");
    }
    run(&mut queue.command("stat")).done();
}
