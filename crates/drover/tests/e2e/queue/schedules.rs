//! Tasks that come again and again: each time of a schedule is kept once, whoever is killed.

use std::collections::HashSet;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use drover_sandbox::Flavour;
use serde_json::Value;

use super::Queue;
use crate::client::{value, wait_until};
use crate::drover::{Output, Running, drover, run};
use crate::servers::{on_both, start};

on_both!(
    each_second_is_kept_once_whoever_is_killed,
    one_that_is_killed_in_the_middle_of_it_has_done_nothing,
    times_that_nobody_kept_are_one,
    they_are_paused_and_resumed_and_dropped,
    a_unique_object_is_left_out_while_it_is_unfinished,
    wrong_ones_are_refused,
    a_queue_may_be_older_than_schedules,
    one_that_cannot_be_read_harms_nobody,
    it_lies_where_its_tasks_belong,
    waiting_costs_about_a_statement_a_second,
);

impl Queue {
    fn schedule(&self, name: &str, cron: &str, rest: &str) -> Output {
        run(self.command(&format!("schedule set --json {name} {rest}")).args(["--cron", cron]))
    }

    /// A field of the list's only schedule.
    fn of_schedule(&self, field: &str) -> Value {
        self.run("schedule list --json").done().json()[0][field].clone()
    }

    /// Makes all schedules due, by so many seconds.
    fn make_due(&self, seconds: u32) {
        self.sql(format!(
            "UPDATE queue_schedule SET next_ms = FLOOR(UNIX_TIMESTAMP(NOW(3)) * 1000) - {seconds} * 1000; \
             UPDATE queue_meta SET bell = bell + 1"
        ));
    }

    /// How many tasks were ever taken in or still have to be.
    fn came(&self) -> String {
        self.value(
            "SELECT (SELECT COALESCE(SUM(taken), 0) FROM queue_count) + (SELECT COUNT(*) FROM queue_inbox)",
        )
    }
}

/// A process that is killed with this value.
struct Shepherd(Child);

impl Shepherd {
    fn start(queue: &Queue, name: &str, worker: &str) -> Self {
        let mut command = queue.working(&format!("-q --procs 1 --name {name}"), ["--json-lines", worker]);
        Self(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Shepherd {
    fn drop(&mut self) {
        let _already_ended = self.0.kill();
        let _status = self.0.wait();
    }
}

/// The next time is always so many seconds after the first one as tasks came or were left out for another one.
fn each_second_is_kept_once_whoever_is_killed(flavour: Flavour) {
    let queue = Queue::new(flavour, "schedule_seconds");
    let worker = queue.python("log.write(f\"{task['id']} {task['object_id']}\\n\")\nanswer(task)");
    queue.schedule("tick", "* * * * * *", "tock --kind 1").done();
    let state = |columns: &str| -> Vec<u64> {
        let row = queue.sql(format!("SELECT {columns} FROM queue_schedule")).remove(0);
        row.iter().map(|field| field.parse().unwrap()).collect()
    };
    let first = state("next_ms")[0];
    let is_exact = || {
        let now = state("next_ms, fired, missed");
        assert_eq!(now[0], first + 1000 * (now[1] + now[2]), "{now:?} since {first}");
        now[1]
    };
    let mut shepherds = ["a", "b"].map(|name| Shepherd::start(&queue, name, &worker));
    wait_until("it came some times", || is_exact() >= 4);
    for _ in 0..3 {
        let owner = queue.value(
            "SELECT COALESCE(MAX(name), '') FROM queue_lane JOIN queue_shepherd ON owner = shepherd WHERE lane = 0",
        );
        let at = usize::from(owner == "b");
        let before = is_exact();
        wait_until("it comes", || is_exact() > before);
        shepherds[at] = Shepherd::start(&queue, &owner, &worker);
        wait_until("it comes again", || is_exact() > before + 2);
    }
    queue.run("schedule pause tick").done();
    let fired = state("fired")[0];
    assert!(fired > 10 && state("missed")[0] > 0, "{:?}", state("fired, missed"));
    let done = || queue.value("SELECT COALESCE(SUM(done), 0) FROM queue_count WHERE kind = 1");
    wait_until("all are done", || done() == fired.to_string());
    assert_eq!(queue.came(), fired.to_string());
    let ran: HashSet<_> = queue.lines("log").into_iter().collect();
    assert_eq!(ran.len() as u64, fired);
    assert!(ran.iter().all(|line| line.ends_with(" tock")), "{ran:?}");
}

/// Its task is in the inbox, its next time is being written, and nothing is committed.
fn one_that_is_killed_in_the_middle_of_it_has_done_nothing(flavour: Flavour) {
    let queue = Queue::new(flavour, "schedule_killed");
    queue.schedule("yearly", "@yearly", "x").done();
    let first = Shepherd::start(&queue, "first", "exec cat");
    wait_until("it is there", || queue.value("SELECT owner > 0 FROM queue_lane WHERE lane = 0") == "1");
    queue.sql(
        "CREATE TRIGGER slow BEFORE UPDATE ON queue_schedule FOR EACH ROW SET @slept = IF(NEW.fired > OLD.fired, SLEEP(3), 0)",
    );
    queue.make_due(0);
    let pushing = format!(
        "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = '{}' \
         AND (INFO LIKE 'UPDATE queue_schedule%' OR INFO LIKE '%SLEEP(3)%')",
        queue.schema
    );
    wait_until("it has pushed", || value(queue.server, &pushing) == "1");
    drop(first);
    wait_until("the server has noticed", || value(queue.server, &pushing) == "0");
    queue.sql("DROP TRIGGER slow");
    assert_eq!(queue.value("SELECT fired FROM queue_schedule"), "0");
    let _second = Shepherd::start(&queue, "second", "exec cat");
    wait_until("another one does it", || {
        queue.value("SELECT COALESCE(SUM(done), 0) FROM queue_count") == "1"
    });
    assert_eq!((queue.value("SELECT fired FROM queue_schedule"), queue.came()), ("1".into(), "1".into()));
}

fn times_that_nobody_kept_are_one(flavour: Flavour) {
    let queue = Queue::new(flavour, "schedule_missed");
    let set =
        queue.schedule("hourly", "@hourly", r#"report --kind 3 --tenant t --payload {"full":true}"#).done();
    assert!(set.json()["next"].as_str().unwrap().ends_with(":00:00Z"), "{set}");
    assert_eq!(queue.of_schedule("last"), Value::Null);
    queue.make_due(10 * 3600);
    // What is due stays so if the same is set once more.
    let again = queue.schedule("hourly", "@hourly", r#"report --kind 3 --tenant t --payload {"full":false}"#);
    let due = queue.value("SELECT next_ms < UNIX_TIMESTAMP() * 1000 FROM queue_schedule");
    assert_eq!((due.as_str(), &again.done().json()["fired"]), ("1", &0.into()));
    let hands = queue.at("cat >> @/log");
    assert_eq!(queue.work("", ["--exec", &hands])["done"], 1);
    let task: Value = serde_json::from_str(&queue.lines("log")[0]).unwrap();
    assert_eq!(
        (&task["kind"], &task["object_id"], &task["tenant"], &task["payload"]["full"]),
        (&3.into(), &"report".into(), &"t".into(), &false.into())
    );
    // Ten hours have at least nine further beginnings.
    let missed = queue.of_schedule("missed").as_u64().unwrap();
    assert!(queue.of_schedule("fired") == 1 && (9..=11).contains(&missed), "{missed}");
    assert!(queue.of_schedule("last").is_string());
    let listed = queue.run("schedule list").done().stdout;
    for word in ["name", "hourly", "@hourly", "UTC", "report", ":00:00+00:00"] {
        assert!(listed.contains(word), "no {word}: {listed}");
    }
    assert_eq!(queue.work("", ["--exec", &hands])["done"], 0);
    let stat = queue.run("stat --json").done().json();
    let schedule = &stat["shards"][0]["schedules"][0];
    assert_eq!((&schedule["name"], &schedule["fired"]), (&"hourly".into(), &1.into()), "{stat}");
    assert!(queue.run("stat").done().stdout.contains("1 schedule: 'hourly' is next at"));
}

fn they_are_paused_and_resumed_and_dropped(flavour: Flavour) {
    let queue = Queue::new(flavour, "schedule_paused");
    let mut work =
        Running::start(&mut queue.working("", ["--exec", &queue.at("echo $DROVER_OBJECT_ID >> @/log")]));
    queue.schedule("often", "* * * * * *", "x --timezone europe/zurich").done();
    assert_eq!(queue.of_schedule("timezone"), "Europe/Zurich");
    wait_until("it comes at once", || !work.has_ended() && queue.lines("log").len() > 1);
    queue.run("schedule pause often").done();
    assert_eq!((queue.of_schedule("is_paused"), queue.of_schedule("next")), (true.into(), Value::Null));
    assert!(queue.run("schedule list").done().stdout.contains("paused"));
    wait_until("what came is done", || queue.came() == queue.lines("log").len().to_string());
    let before = queue.of_schedule("fired").as_u64().unwrap();
    std::thread::sleep(Duration::from_millis(2500));
    // What is set anew stays paused.
    queue.schedule("often", "* * * * * *", "y").done();
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(queue.of_schedule("fired"), before);
    queue.run("schedule resume often").done();
    wait_until("it comes again", || queue.lines("log").contains(&"y".into()));
    assert_eq!(queue.of_schedule("missed"), 0, "what would have come meanwhile does not");
    queue.run("schedule drop often").done();
    assert_eq!(queue.run("schedule list --json").done().json(), serde_json::json!([]));
    assert!(queue.run("schedule list").done().stdout.contains("no schedules"));
    for what in ["drop", "pause", "resume"] {
        queue.run(&format!("schedule {what} often")).refused(&["no schedule 'often'", "hint: ", "list"]);
    }
    work.signal("INT");
    work.finish().done();
    assert_eq!(queue.came(), queue.lines("log").len().to_string());
}

fn a_unique_object_is_left_out_while_it_is_unfinished(flavour: Flavour) {
    let queue = Queue::new(flavour, "schedule_unique");
    queue.run("set --kind 1 --unique yes").done();
    queue.schedule("often", "* * * * * *", "x --kind 1").done();
    let worker =
        queue.python("log.write('ran\\n')\nwhile not os.path.exists('@/go'): time.sleep(0.01)\nanswer(task)");
    let _shepherd = Shepherd::start(&queue, "one", &worker);
    wait_until("two are left out", || {
        queue.value("SELECT COALESCE(SUM(merged), 0) FROM queue_count").parse::<u32>().unwrap() >= 2
    });
    assert_eq!(queue.lines("log").len(), 1);
    queue.file("go", "");
}

fn wrong_ones_are_refused(flavour: Flavour) {
    let queue = Queue::new(flavour, "schedule_wrong");
    for (cron, rest, words) in [
        ("61 * * * *", "", ["the minute '61'", "0-59"]),
        ("0 0 * * FRIDAY", "", ["the day of the week 'FRIDAY'", "SUN-SAT"]),
        ("0 3 * *", "", ["4 fields", "five: minute, hour, day of the month, month, day of the week"]),
        ("0 0 31 4 *", "", ["'0 0 31 4 *' does not come", "day of the month"]),
        ("@fortnightly", "", ["'@fortnightly'", "@weekly"]),
        ("@daily", "--timezone Mars/Olympus", ["'Mars/Olympus'", "Europe/Zurich"]),
    ] {
        queue.schedule("wrong", cron, &format!("x {rest}")).refused(&words).refused(&["hint: "]);
    }
    let long = "x".repeat(65);
    queue.schedule(&long, "@daily", "x").refused(&["64 characters"]);
    queue.schedule("wrong", "@daily", &"x".repeat(191)).refused(&["190 characters"]);
    queue.schedule("wrong", "@daily", "x --payload {").refused(&["JSON"]);
    assert_eq!(queue.value("SELECT COUNT(*) FROM queue_schedule"), "0");
}

/// Its shepherds work as before, and hear of the table as soon as there is something in it.
fn a_queue_may_be_older_than_schedules(flavour: Flavour) {
    let queue = Queue::new(flavour, "schedule_older");
    queue.sql("DROP TABLE queue_schedule");
    for line in ["schedule list", "schedule pause x"] {
        queue.run(line).refused(&["queue_schedule", "hint: ", "drover queue init"]);
    }
    queue.schedule("often", "* * * * * *", "x").refused(&["hint: ", "drover queue init"]);
    let hands = queue.at("echo $DROVER_OBJECT_ID >> @/log");
    let mut work = Running::start(&mut queue.working("", ["--exec", &hands]));
    queue.run("push one").done();
    wait_until("it works", || !work.has_ended() && queue.lines("log") == ["one"]);
    assert_eq!(queue.run("stat --json").done().json()["shards"][0]["schedules"], serde_json::json!([]));
    queue.run("init").done();
    queue.schedule("often", "* * * * * *", "x").done();
    wait_until("it comes", || !work.has_ended() && queue.lines("log").contains(&"x".into()));
    work.signal("INT");
    work.finish().done();
}

fn one_that_cannot_be_read_harms_nobody(flavour: Flavour) {
    let queue = Queue::new(flavour, "schedule_broken");
    queue.schedule("broken", "@daily", "x").done();
    queue.schedule("sound", "@daily", "y").done();
    queue.sql("UPDATE queue_schedule SET cron = 'L * * * *' WHERE name = 'broken'");
    queue.make_due(0);
    let hands = queue.at("echo $DROVER_OBJECT_ID >> @/log");
    queue.work("", ["--exec", &hands]);
    assert_eq!(queue.lines("log"), ["y"]);
    assert!(queue.of_schedule("error").as_str().unwrap().contains("the minute 'L'"));
    let listed = queue.run("schedule list").done().stdout;
    assert!(
        listed.contains("never") && listed.contains("'broken' does not come any more: the minute 'L'"),
        "{listed}"
    );
    queue.schedule("broken", "@daily", "x").done();
    assert_eq!(queue.of_schedule("error"), Value::Null);
    assert!(queue.of_schedule("next").is_string());
}

fn it_lies_where_its_tasks_belong(flavour: Flavour) {
    let queue = Queue::new(flavour, "schedule_shards");
    let socket = queue.server.socket().display();
    let shard = |name: &str| {
        format!(
            "[[shard]]\nname = \"{name}\"\nurl = \"mysql://root@/{}_{name}?socket={socket}\"\n",
            queue.schema
        )
    };
    let text = shard("a") + &shard("b");
    let file = queue.file("shards.toml", &text);
    let command = |line: &str| {
        let mut command = drover(&format!("queue {line} --no-defaults --json --shards"));
        command.arg(&file);
        run(&mut command)
    };
    command("init").done();
    let objects = ["1", "2", "3", "4", "5", "6", "7", "8"];
    for object in objects {
        command(&format!("schedule set of-{object} {object} --cron @daily")).done();
    }
    command(&format!("push {}", objects.join(" "))).done();
    let column = |shard: &str, text: &str| -> Vec<String> {
        queue.sql(format!("USE {}_{shard}; {text}", queue.schema)).into_iter().flatten().collect()
    };
    let of_inbox = |shard: &str| column(shard, "SELECT object_id FROM queue_inbox ORDER BY 1");
    let of_table = |shard: &str| column(shard, "SELECT object_id FROM queue_schedule ORDER BY 1");
    for shard in ["a", "b"] {
        assert_eq!(of_table(shard), of_inbox(shard), "of {shard}");
    }
    let of_b = of_table("b");
    assert!(!of_b.is_empty() && of_b.len() < objects.len(), "{of_b:?}");
    let listed = command("schedule list").done().json();
    let names: Vec<_> = listed.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["of-1", "of-2", "of-3", "of-4", "of-5", "of-6", "of-7", "of-8"]);
    let at =
        |one: &Value| if of_b.iter().any(|object| one["object_id"] == object.as_str()) { "b" } else { "a" };
    assert!(listed.as_array().unwrap().iter().all(|one| one["shard"] == at(one)), "{listed}");

    // Setting it once more takes it from a shard that is drained, with what came of it.
    std::fs::write(&file, shard("a") + &shard("b") + "drain = true\n").unwrap();
    column("b", "UPDATE queue_schedule SET fired = 7, next_ms = 1000");
    command(&format!("schedule set of-{0} {0} --cron @daily", of_b[0])).done();
    assert_eq!(of_table("b"), of_b[1..]);
    let moved = format!("SELECT fired, next_ms FROM queue_schedule WHERE object_id = '{}'", of_b[0]);
    assert_eq!(column("a", &moved), ["7", "1000"]);
    command(&format!("schedule drop of-{}", of_b[0])).done();
    assert_eq!(of_table("a").len() + of_table("b").len(), objects.len() - 1);
    for object in of_table("b") {
        command(&format!("schedule pause of-{object}")).done();
        command(&format!("schedule drop of-{object}")).done();
    }
    assert!(of_table("b").is_empty());
}

/// One shepherd, nothing to do, and a schedule that is not due for long.
fn waiting_costs_about_a_statement_a_second(flavour: Flavour) {
    const SECONDS: u64 = 30;
    let server = start(flavour, &["--general-log=1", "--log-output=TABLE"]);
    let place = format!("--no-defaults -u root -D jobs -S {}", server.socket().display());
    run(&mut drover(&format!("queue init {place}"))).done();
    run(&mut drover(&format!("queue schedule set yearly x --cron @yearly {place}"))).done();
    let mut work = Running::start(drover(&format!("-q queue work {place} --exec")).arg("true"));
    let logged = |text: &str| -> u64 {
        let sql = format!(
            "SELECT COUNT(*) FROM mysql.general_log WHERE argument LIKE '%queue\\_{text}%' AND argument NOT LIKE '%general%'"
        );
        value(&server, sql).parse().unwrap()
    };
    wait_until("it has looked for schedules", || logged("schedule ORDER BY name") > 0);
    std::thread::sleep(Duration::from_secs(3));
    let begun = Instant::now();
    let before = (logged(""), logged("schedule"));
    std::thread::sleep(Duration::from_secs(SECONDS));
    let after = (logged(""), logged("schedule"));
    // A busy machine may take longer to count them.
    let seconds = begun.elapsed().as_secs();
    let (all, of_schedules) = (after.0 - before.0, after.1 - before.1);
    assert!(
        of_schedules <= 1 + seconds / 60 && !work.has_ended(),
        "{of_schedules} looks at schedules in {seconds} s"
    );
    // The lease, the bell, the inbox, the later tasks, the others' leases and what nobody works at are looked at in turns of their own, 34
    // times in 30 seconds: any turn may begin once more.
    assert!((SECONDS / 2..=seconds * 34 / 30 + 7).contains(&all), "{all} statements in {seconds} s");
}
