//! Shards that drain, whose tasks move to others, and that move to another server themselves.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use drover_sandbox::{Flavour, Server};
use serde_json::{Value, json};

use super::{Queue, numbers};
use crate::client::{sql, try_sql, value, wait_until};
use crate::drover::{Running, copy, drover, run};
use crate::servers::{on_both, start, target};

on_both!(
    a_queue_that_drains,
    a_build_goes_on_where_it_was_placed,
    all_that_a_task_has_goes_with_it,
    unique_tasks_stay_so,
    schedules_go_with_the_tasks,
    what_runs_ends_where_it_is,
    a_push_that_runs_hears_of_it,
    stopped_between_the_steps,
    movers_are_killed_while_all_work,
    servers_are_killed,
    a_shard_moves_to_another_server,
);

/// A queue on two servers: shard `here` is `queue`, shard `there` is on the other one.
struct Pair<'a> {
    queue: Queue,
    other: &'a Server,
    schema: String,
    file: PathBuf,
}

fn url(server: &Server, schema: &str) -> String {
    format!("mysql://root@/{schema}?socket={}", server.socket().display())
}

fn shard(name: &str, url: &str) -> String {
    format!("[[shard]]\nname = \"{name}\"\nurl = \"{url}\"\n")
}

impl<'a> Pair<'a> {
    fn new(flavour: Flavour, name: &str, other: &'a Server) -> Self {
        let queue = Queue::new(flavour, name);
        let schema = format!("other_{name}");
        let text = shard("here", &url(queue.server, &queue.schema)) + &shard("there", &url(other, &schema));
        let file = queue.file("shards.toml", &text);
        let pair = Self { queue, other, schema, file };
        run(&mut pair.command("init")).done();
        pair
    }

    fn command(&self, line: &str) -> Command {
        let mut command = drover(&format!("queue {line} --no-defaults --shards"));
        command.arg(&self.file);
        command
    }

    fn there(&self, text: &str) -> String {
        value(self.other, format!("USE {}; {text}", self.schema))
    }

    fn moved(&self) -> Value {
        run(&mut self.command("move --from here --json")).done().json()
    }

    /// Works to the end of the queue, on all shards.
    fn work(&self, text: &str) -> Value {
        let worker = self.queue.python(text);
        let output = run(self.command("work --until-empty --json --procs 2").args(["--json-lines", &worker]));
        assert!(matches!(output.code, Some(0 | 1)), "{output}");
        output.json()
    }

    /// Nothing is left to be done on the shard that was left.
    fn is_left(&self) {
        for table in ["queue_inbox", "queue_later", "queue_dead", "queue_unique", "queue_transit"] {
            assert_eq!(self.queue.value(format!("SELECT COUNT(*) FROM {table}")), "0", "{table}");
        }
        assert_eq!(self.queue.value("SELECT COUNT(*) FROM queue_lane WHERE lane > 0"), "0");
    }

    /// Acknowledged on both.
    fn done(&self) -> u64 {
        let sum = "SELECT COALESCE(SUM(done), 0) FROM queue_count";
        self.queue.value(sum).parse::<u64>().unwrap() + self.there(sum).parse::<u64>().unwrap()
    }
}

const LOG: &str = "log.write(str(task['object_id']) + '\\n')\nanswer(task)";

fn a_queue_that_drains(flavour: Flavour) {
    let queue = Queue::new(flavour, "drain");
    queue.run("set --max-attempts 1").done();
    queue.run("push 1 2").done();
    let said = queue.run("drain").done().stdout;
    assert!(said.contains("the queue takes no more tasks: 2 waiting (0 running), 0 later, 0 dead"), "{said}");
    queue.run("push 3").refused(&["it takes no more tasks", "hint: ", "drain --undo"]);
    let file = queue.file("tasks", &numbers(1, 10));
    run(queue.command("build").arg(&file)).refused(&["it takes no more tasks", "hint: "]);
    assert_eq!(queue.value("SELECT COUNT(*) FROM queue_build"), "0");
    queue.run("drain nobody").refused(&["no shard 'nobody'", "hint: "]);
    assert!(queue.run("stat").done().stdout.contains("takes no more tasks"));
    assert_eq!(queue.run("stat --json").done().json()["shards"][0]["is_draining"], true);

    // What transactions insert is worked off all the same.
    queue.sql("INSERT INTO queue_inbox (object_id) VALUES ('by hand'), ('dies')");
    let mut wait = Running::start(&mut queue.command("drain --wait --json"));
    std::thread::sleep(Duration::from_millis(700));
    assert!(!wait.has_ended());
    let hands = queue.at("echo $DROVER_OBJECT_ID >> @/log; test \"$DROVER_OBJECT_ID\" != dies");
    assert_eq!(queue.work("", ["--exec", &hands])["done"], 3);
    let report = wait.finish().found(&[]).json();
    assert_eq!(
        (&report["waiting"], &report["dead"], &report["is_draining"]),
        (&json!(0), &json!(1), &json!(true))
    );
    assert_eq!(queue.sorted("log"), ["1", "2", "by hand", "dies"]);

    let said = queue.run("drain --undo").done().stdout;
    assert!(said.contains("the queue takes tasks"), "{said}");
    queue.run("push 3").done();
}

fn a_build_goes_on_where_it_was_placed(flavour: Flavour) {
    const TASKS: u32 = 30_000;
    let pair = Pair::new(flavour, "drained_build", target(flavour));
    let broken = pair.queue.file("broken", &format!("{}{{}}\n", numbers(1, 20_000)));
    run(pair.command("build --job all").arg(&broken)).refused(&["line 20001"]);
    run(&mut pair.command("drain there")).done();
    let progress = run(&mut pair.command("drain there --json")).done().json();
    assert_eq!(progress["builds"], json!(["all"]), "{progress}");
    let whole = pair.queue.file("whole", &numbers(1, TASKS));
    // One more shard, in front: it gets nothing of it.
    let text = std::fs::read_to_string(&pair.file).unwrap();
    let third = shard("new", &url(pair.other, &format!("{}_new", pair.schema)));
    std::fs::write(&pair.file, third.clone() + &text).unwrap();
    run(&mut pair.command("init")).done();
    let report = run(pair.command("build --job all --json").arg(&whole)).done().json();
    assert_eq!(report["tasks"], TASKS, "{report}");
    let tasks = "SELECT COALESCE(SUM(tasks), 0) FROM queue_lane WHERE lane > 0";
    let there: u32 = pair.there(tasks).parse().unwrap();
    let here: u32 = pair.queue.value(tasks).parse().unwrap();
    assert!(here + there == TASKS && (14_000..16_000).contains(&there), "{here} {there}");
    assert_eq!(pair.work(LOG)["done"], TASKS);
    let mut ran: Vec<u32> = pair.queue.lines("log").iter().map(|line| line.parse().unwrap()).collect();
    ran.sort_unstable();
    assert!(ran == (1..=TASKS).collect::<Vec<_>>(), "each of them, and each once");

    // One that begins now is placed elsewhere.
    run(pair.command("build --job later").arg(&broken)).refused(&["line 20001"]);
    assert_eq!(pair.there("SELECT COALESCE(SUM(tasks), 0) FROM queue_lane WHERE lane > 0"), "0");
    std::fs::write(&pair.file, third + &shard("there", &url(pair.other, &pair.schema))).unwrap();
    run(pair.command("build --job later").arg(&whole)).refused(&["shard 'here'", "hint: "]);
    std::fs::write(&pair.file, &text).unwrap();
    run(pair.command("build --job later").arg(&whole)).refused(&["shard 'new'", "hint: "]);

    // A shard that is gone for long costs the others nothing, if the file says so.
    let gone = shard("gone", "mysql://root@/jobs?socket=/nonexistent");
    std::fs::write(&pair.file, gone.clone() + &text).unwrap();
    run(pair.command("build --job other").arg(&whole)).refused(&["shard gone"]);
    run(&mut pair.command("move --from here")).refused(&["shard gone"]);
    std::fs::write(&pair.file, gone + "drain = true\n" + &text).unwrap();
    run(pair.command("build --job other").arg(&whole)).done();
    run(&mut pair.command("push 1 2 3 4 5 6 7 8 9")).done();
    run(&mut pair.command("move --from gone")).refused(&["shard gone", "/nonexistent"]);
}

fn all_that_a_task_has_goes_with_it(flavour: Flavour) {
    let pair = Pair::new(flavour, "move_all", target(flavour));
    let queue = &pair.queue;
    run(&mut pair.command("set --max-attempts 2 --backoff 1h --backoff-max 1h")).done();
    // Some that failed, some dead, some built, and some that nobody has seen.
    queue.run("push --kind 7 --payload [1] --tenant acme --priority 3 once").done();
    queue.run("set --kind 8 --max-attempts 1").done();
    queue.run("push --kind 8 --payload {\"a\":\"é'\"} --tenant acme --priority -3 dies").done();
    let failing = "echo no: \"'\\\\ü\" >&2; exit 1";
    let mut shepherd = Running::start(&mut queue.working("", ["--exec", failing]));
    wait_until("both failed", || {
        let failed = "SELECT (SELECT COUNT(*) FROM queue_later) + 10 * (SELECT COUNT(*) FROM queue_dead)";
        !shepherd.has_ended() && queue.value(failed) == "11"
    });
    shepherd.signal("INT");
    shepherd.finish();
    let (code, _) = queue.fed("build --kind 2 --priority 5 -", &numbers(1, 5000));
    assert_eq!(code, Some(0));
    queue.sql(
        "INSERT INTO queue_inbox (kind, object_id, payload, not_before, priority, tenant, created) VALUES \
         (3, 'inbox', '{\"b\": 2}', NULL, 2, 't', '2026-01-02 03:04:05.678'), \
         (4, 'later', NULL, '2031-01-02 03:04:05.600', 0, '', '2026-01-02 03:04:05.678')",
    );
    let rows = |of: &dyn Fn(&str) -> String| {
        let later = "SELECT GROUP_CONCAT(CONCAT_WS('|', due_ms, kind, object_id, COALESCE(payload, '-'), priority, tenant, attempts, \
                     UNIX_TIMESTAMP(created), is_back) ORDER BY kind) FROM queue_later";
        let dead = "SELECT GROUP_CONCAT(CONCAT_WS('|', kind, object_id, payload, priority, tenant, attempts, UNIX_TIMESTAMP(created), \
                    UNIX_TIMESTAMP(died), error)) FROM queue_dead";
        (of(later), of(dead))
    };
    let before = rows(&|text| queue.value(text));
    assert!(before.0.contains("|7|once|[1]|3|acme|1|") && before.1.contains("dies"), "{before:?}");

    let report = pair.moved();
    assert_eq!((&report["tasks"], &report["from"]), (&json!(5004), &json!("here")), "{report}");
    assert_eq!(report["targets"], json!([{"shard": "there", "tasks": 5004}]));
    pair.is_left();
    let after = rows(&|text| pair.there(text));
    assert_eq!(after.1, before.1);
    let due = pair.there(
        "SELECT due_ms - 1000 * UNIX_TIMESTAMP('2031-01-02 03:04:05.600') FROM queue_later WHERE kind = 4",
    );
    // The two servers' clients have different time zones.
    let zones = (5.5 + 8.0) * 3_600_000.0;
    assert!((due.parse::<f64>().unwrap() + zones).abs() < 0.1, "{due}");
    let (later, inbox) = after.0.split_once(',').map(|(first, second)| (second, first)).unwrap();
    assert!(before.0 == later && inbox.contains("|4|later|-|0||0|"), "{after:?} {before:?}");
    let ready = "SELECT GROUP_CONCAT(CONCAT_WS('|', kind, priority, tenant, owner) ORDER BY kind) FROM queue_lane WHERE kind = 3";
    assert_eq!(pair.there(ready), "3|2|t|0");
    let stat = run(&mut pair.command("stat --json")).done().json();
    let counts = |at: usize, field: &str| -> u64 {
        stat["shards"][at]["kinds"].as_array().unwrap().iter().map(|kind| kind[field].as_u64().unwrap()).sum()
    };
    for (field, there) in [("waiting", 5001), ("later", 2), ("dead", 1)] {
        assert_eq!((counts(0, field), counts(1, field)), (0, there), "{field}: {stat}");
    }
    assert_eq!(
        (&stat["shards"][0]["is_draining"], &stat["shards"][1]["is_draining"]),
        (&json!(true), &json!(false))
    );
    let worker = queue.python("log.write(json.dumps(task) + '\\n')\nanswer(task)");
    let mut shepherd = Running::start(pair.command("work --procs 1").args(["--json-lines", &worker]));
    wait_until("they were done", || !shepherd.has_ended() && pair.done() >= 5001);
    shepherd.signal("INT");
    shepherd.finish().done();
    assert_eq!(pair.done(), 5001);
    let ran: Vec<Value> = queue.lines("log").iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let inbox = ran.iter().find(|task| task["kind"] == 3).unwrap();
    assert_eq!(
        (&inbox["payload"], &inbox["tenant"], &inbox["attempt"]),
        (&json!({"b": 2}), &json!("t"), &json!(1))
    );
    // What is read ahead of the workers is done in this order.
    let earlier = ran.iter().position(|task| task["kind"] != 2).unwrap();
    assert!(
        earlier >= 1000,
        "the highest priority first, but {earlier} tasks were done before {}",
        ran[earlier]
    );

    // A second one finds nothing; what a shard is told of itself, and of those that are not there, is refused.
    assert_eq!(pair.moved()["tasks"], 0);
    run(&mut pair.command("move --from nobody")).refused(&["no shard 'nobody'", "hint: "]);
    run(&mut pair.command("move --from there --to here")).refused(&["shard here", "drained", "hint: "]);
    run(&mut pair.command("move --from there")).refused(&["no other shard", "hint: "]);
    run(&mut pair.command("move --from here --to here")).refused(&["hint: "]);
    queue.run("move --from a").refused(&["no shard 'a'"]);
    run(&mut pair.command("drain here --undo")).done();
    run(&mut pair.command("push 1 2 3 4 5 6 7 8 9 10")).done();
    assert_ne!(queue.value("SELECT COUNT(*) FROM queue_inbox"), "0");
}

fn unique_tasks_stay_so(flavour: Flavour) {
    let pair = Pair::new(flavour, "move_unique", target(flavour));
    let queue = &pair.queue;
    run(&mut pair.command("set --unique yes")).done();
    queue.fed("push -", &numbers(1, 100));
    queue.fed("push -", &numbers(51, 150));
    let (code, said) = queue.fed("build --kind 0 -", &numbers(101, 200));
    assert_eq!(code, Some(0), "{said}");
    // On the other shard some of them are waiting, too.
    let text: String = (1..=10).map(|object| format!("({object}),")).collect();
    sql(
        pair.other,
        format!("INSERT INTO {}.queue_inbox (object_id) VALUES {}", pair.schema, text.trim_end_matches(',')),
    );
    // Its workers are at it as long as the file is there.
    let held = queue.file("held", "");
    let worker = format!("while [ -e '{}' ]; do sleep 0.1; done", held.display());
    let mut keeper = Running::start(pair.command("work --name keeper").args(["--exec", &worker]));
    wait_until("they were taken in", || {
        !keeper.has_ended()
            && pair.there("SELECT COUNT(*) FROM queue_inbox") == "0"
            && queue.value("SELECT COUNT(*) FROM queue_inbox") == "0"
    });
    keeper.signal("KILL");
    drop(keeper);
    let report = pair.moved();
    assert_eq!((&report["tasks"], &report["merged"]), (&json!(190), &json!(10)), "{report}");
    pair.is_left();
    assert_eq!(pair.there("SELECT COUNT(*) FROM queue_unique"), "200");
    // They hold their claims where they are now.
    sql(pair.other, format!("INSERT INTO {}.queue_inbox (object_id) VALUES (77), (78)", pair.schema));
    assert_eq!(pair.work(LOG)["done"], 200);
    let mut ran = queue.sorted("log");
    ran.dedup();
    assert_eq!(ran.len(), 200);
    assert_eq!(pair.there("SELECT COUNT(*) FROM queue_unique"), "0");
    assert_eq!(pair.there("SELECT SUM(merged) FROM queue_count"), "12");
}

fn schedules_go_with_the_tasks(flavour: Flavour) {
    let pair = Pair::new(flavour, "move_schedules", target(flavour));
    // Of eight objects some belong to either shard.
    for at in 0..8 {
        let line = format!(
            "schedule set each-{at} object-{at} --kind 7 --tenant acme --priority 3 --payload [{at}]"
        );
        run(pair.command(&line).args(["--cron", "30 4 * * *", "--timezone", "Europe/Berlin"])).done();
    }
    run(&mut pair.command("schedule pause each-3")).done();
    let list = || {
        let mut list = run(&mut pair.command("schedule list --json")).done().json();
        for schedule in list.as_array_mut().unwrap() {
            schedule.as_object_mut().unwrap().remove("shard").unwrap();
        }
        list
    };
    let before = list();
    assert_eq!(before.as_array().map(Vec::len), Some(8), "{before}");
    assert_ne!(pair.queue.value("SELECT COUNT(*) FROM queue_schedule"), "0");
    run(&mut pair.command("drain here")).done();
    pair.moved();
    assert_eq!(list(), before);
    assert_eq!(pair.queue.value("SELECT COUNT(*) FROM queue_schedule"), "0");
    assert_eq!(pair.there("SELECT COUNT(*) FROM queue_schedule"), "8");
    // Once more changes nothing.
    pair.moved();
    assert_eq!(list(), before);
}

fn what_runs_ends_where_it_is(flavour: Flavour) {
    let pair = Pair::new(flavour, "move_running", target(flavour));
    pair.queue.fed("push -", &numbers(1, 100));
    let hands = pair.queue.at("echo $DROVER_OBJECT_ID >> @/begun; until test -e @/go; do sleep 0.05; done; echo $DROVER_OBJECT_ID >> @/log");
    // However busy the machine is, nobody takes it for dead.
    let mut shepherd = Running::start(pair.command("work --procs 2 --lease 5m").args(["--exec", &hands]));
    wait_until("two run", || !shepherd.has_ended() && pair.queue.lines("begun").len() == 2);
    // Without the lines that tell how far it is, which a slow machine gets.
    let mut mover = Running::start(pair.command("move --from here --json").arg("-q"));
    let waiting = "SELECT COALESCE(SUM(tasks - done), 0) FROM queue_lane WHERE lane > 0";
    wait_until("the others have left", || !mover.has_ended() && pair.queue.value(waiting) == "2");
    wait_until("they have arrived", || !mover.has_ended() && pair.there(waiting) == "98");
    std::thread::sleep(Duration::from_millis(500));
    assert!(!mover.has_ended(), "it waits for what runs");
    wait_until("stat tells it", || {
        run(&mut pair.command("stat")).stdout.contains("being moved to other shards") || mover.has_ended()
    });
    // Another one takes over from one that waits.
    let mut second = Running::start(&mut pair.command("move --from here --json"));
    mover.finish().refused(&["shard here", "taken over", "hint: "]);
    assert!(!second.has_ended());
    run(&mut pair.command("drain here --undo")).refused(&["being moved", "hint: "]);
    pair.queue.file("go", "");
    assert_eq!(second.finish().done().json()["tasks"], 0);
    wait_until("all are done", || !shepherd.has_ended() && pair.done() == 100);
    // From now on the shard drains, and what comes there is worked off.
    pair.queue.sql("INSERT INTO queue_inbox (object_id) VALUES ('more')");
    wait_until("that too", || !shepherd.has_ended() && pair.done() == 101);
    shepherd.signal("INT");
    shepherd.finish().done();
    let mut ran = pair.queue.sorted("log");
    assert_eq!(ran.len(), 101);
    ran.dedup();
    assert_eq!(ran.len(), 101, "each once");
}

fn a_push_that_runs_hears_of_it(flavour: Flavour) {
    let pair = Pair::new(flavour, "move_push", target(flavour));
    let mut push = pair.command("push");
    push.arg("-").stdin(Stdio::piped()).stdout(Stdio::null());
    let mut push = push.spawn().unwrap();
    let mut lines = push.stdin.take().unwrap();
    lines.write_all(numbers(1, 2000).as_bytes()).unwrap();
    // A statement takes a thousand, so that some are there before the end.
    lines.write_all(numbers(2001, 4000).as_bytes()).unwrap();
    wait_until("some are there", || pair.there("SELECT COUNT(*) FROM queue_inbox") != "0");
    run(&mut pair.command("drain there")).done();
    std::thread::sleep(Duration::from_millis(5200));
    lines.write_all(numbers(4001, 6000).as_bytes()).unwrap();
    drop(lines);
    assert!(push.wait().unwrap().success());
    let of = "SELECT CONCAT(COUNT(*), ' ', COALESCE(SUM(object_id > 4000), 0)) FROM queue_inbox";
    let parts = |text: String| -> Vec<u32> { text.split(' ').map(|count| count.parse().unwrap()).collect() };
    let (here, there) = (parts(pair.queue.value(of)), parts(pair.there(of)));
    assert_eq!((here[0] + there[0], here[1], there[1]), (6000, 2000, 0));
}

/// A trigger that fails stands for a kill at that moment.
fn stopped_between_the_steps(flavour: Flavour) {
    const TASKS: usize = 5000;
    let pair = Pair::new(flavour, "move_steps", target(flavour));
    let queue = &pair.queue;
    let (code, _) = queue.fed("build --job half -", &format!("{}{{}}\n", numbers(90_001, 92_000)));
    assert_eq!(code, Some(2));
    let (code, _) = queue.fed("build --job whole -", &numbers(1, TASKS as u32));
    assert_eq!(code, Some(0));
    let fails = "FOR EACH ROW SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'now'";
    let waiting =
        "SELECT COALESCE(SUM(tasks - done), 0) FROM queue_lane WHERE lane > 0 AND owner <> 4294967295";
    let transit = "SELECT COUNT(*) FROM queue_transit";

    // Packed, and not stored.
    let on_target = |text: &str| drop(sql(pair.other, format!("USE {}; {text}", pair.schema)));
    on_target(&format!("CREATE TRIGGER stop_it BEFORE INSERT ON queue_received {fails}"));
    for _ in 0..2 {
        run(&mut pair.command("move --from here")).refused(&["shard there", "now"]);
        assert_eq!((&*queue.value(transit), &*pair.there(waiting)), ("2000", "0"));
        assert_eq!(queue.value(waiting), "3000");
    }
    let said = run(&mut pair.command("stat")).done().stdout;
    assert!(said.contains("2,000 tasks on their way to other shards"), "{said}");
    run(&mut pair.command("drain here --undo")).refused(&["2000 of its tasks are on their way", "hint: "]);
    on_target("DROP TRIGGER stop_it");

    // Stored, and not removed.
    queue.sql(format!("CREATE TRIGGER stop_it BEFORE DELETE ON queue_transit {fails}"));
    for _ in 0..2 {
        run(&mut pair.command("move --from here")).refused(&["shard here", "now"]);
        assert_eq!((&*queue.value(transit), &*pair.there(waiting)), ("2000", "2000"));
    }
    queue.sql("DROP TRIGGER stop_it");

    // With other shards it does not go on.
    let text = std::fs::read_to_string(&pair.file).unwrap();
    let third = shard("third", &url(pair.other, &format!("{}_third", pair.schema)));
    std::fs::write(&pair.file, text + &third).unwrap();
    run(&mut pair.command("init")).done();
    run(&mut pair.command("move --from here --to third")).refused(&["on their way", "--to of before"]);
    let report = run(&mut pair.command("move --from here --to there --json")).found(&["half"]).json();
    assert_eq!((&report["tasks"], &report["builds"]), (&json!(3000), &json!(["half"])), "{report}");
    assert_eq!((&*queue.value(waiting), &*pair.there(waiting)), ("0", "5000"));
    assert_eq!(pair.work(LOG)["done"], TASKS);
    let mut ran = queue.sorted("log");
    ran.dedup();
    assert_eq!(ran.len(), TASKS, "each once");
}

fn movers_are_killed_while_all_work(flavour: Flavour) {
    const TASKS: u32 = 40_000;
    let pair = Pair::new(flavour, "move_killed", target(flavour));
    let queue = &pair.queue;
    run(&mut pair.command("set --kind 1 --rate 2000")).done();
    run(&mut pair.command("set --kind 2 --unique yes")).done();
    let file = queue.file("tasks", &numbers(1, TASKS));
    run(queue.command("build --kind 1").arg(&file)).done();
    queue.fed("push --kind 2 --not-before 2s -", &numbers(100_001, 103_000));
    let worker = queue.python(LOG);
    let mut shepherd = Running::start(pair.command("work --procs 2").args(["--json-lines", &worker]));
    let (mut kills, mut seen_in_transit, mut inserted) = (0u64, 0, 0u32);
    let begun = Instant::now();
    let report = loop {
        assert!(begun.elapsed() < Duration::from_secs(120), "{kills} kills");
        inserted += 1;
        queue.sql(format!("INSERT INTO queue_inbox (kind, object_id) VALUES (3, {})", 200_000 + inserted));
        let mut mover = Running::start(&mut pair.command("move --from here --json"));
        // So long that some are killed in each step of each batch, and that it comes to its end some time.
        let until = Instant::now() + Duration::from_millis(40 + 7 * (kills * 13 % 17) + kills * kills / 8);
        while Instant::now() < until && !mover.has_ended() {
            std::thread::sleep(Duration::from_millis(1));
        }
        if mover.has_ended() || kills == 40 {
            break mover.finish().done().json();
        }
        mover.signal("KILL");
        drop(mover);
        kills += 1;
        seen_in_transit += u32::from(queue.value("SELECT COUNT(*) FROM queue_transit") != "0");
    };
    assert!(
        kills >= 5 && seen_in_transit > 0,
        "{kills} kills, {seen_in_transit} in transit: it proves nothing: {report}"
    );
    pair.is_left();
    let all = u64::from(TASKS + 3000 + inserted);
    wait_until("all are done", || {
        assert!(!shepherd.has_ended(), "the shepherd ended");
        pair.done() >= all
    });
    shepherd.signal("INT");
    shepherd.finish().done();
    assert_eq!(pair.done(), all, "each was acknowledged once");
    let mut ran: Vec<u32> = queue.lines("log").iter().map(|line| line.parse().unwrap()).collect();
    assert_eq!(ran.len() as u64, all, "each ran once");
    ran.sort_unstable();
    ran.dedup();
    assert_eq!(ran.len() as u64, all);
    let arrived: u64 = pair.there("SELECT SUM(done) FROM queue_count").parse().unwrap();
    assert!(arrived > 1000, "{arrived} moved");
}

fn servers_are_killed(flavour: Flavour) {
    const TASKS: u32 = 150_000;
    let [mut from, mut to] = [start(flavour, &[]), start(flavour, &[])];
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("shards.toml");
    std::fs::write(&file, shard("a", &url(&from, "jobs")) + &shard("b", &url(&to, "jobs"))).unwrap();
    let command = |line: &str| {
        let mut command = drover(&format!("queue {line} --no-defaults --shards"));
        command.arg(&file);
        command
    };
    run(&mut command("init")).done();
    let tasks = dir.path().join("tasks");
    std::fs::write(&tasks, numbers(1, TASKS)).unwrap();
    run(&mut command("drain b")).done();
    run(command("build").arg(&tasks)).done();
    run(&mut command("drain b --undo")).done();
    let waiting = "SELECT COALESCE(SUM(tasks - done), 0) FROM jobs.queue_lane WHERE lane > 0";
    let number = |server: &Server, text: &str| value(server, text).parse::<u32>().unwrap();
    for turn in 0..4 {
        let before = number(&to, waiting);
        let mut mover = Running::start(&mut command("move --from a"));
        wait_until("more has arrived", || {
            assert!(!mover.has_ended(), "use more tasks");
            number(&to, waiting) > before + 2000
        });
        let victim = if turn % 2 == 0 { &mut from } else { &mut to };
        victim.kill();
        let name = if turn % 2 == 0 { "shard a" } else { "shard b" };
        mover.finish().refused(&[name]);
        run(&mut command("move --from a")).refused(&[name]);
        victim.restart().unwrap();
        let all = number(&from, waiting)
            + number(&to, waiting)
            + number(&from, "SELECT COUNT(*) FROM jobs.queue_transit");
        assert!(all >= TASKS, "{all}: some are lost");
    }
    let report = run(&mut command("move --from a --json")).done().json();
    assert!(report["tasks"].as_u64() > Some(0), "{report}");
    assert_eq!((number(&from, waiting), number(&to, waiting)), (0, TASKS));
    let log = dir.path().join("log");
    let worker = format!("exec tee -a {}", log.display());
    let worked =
        run(command("work --until-empty --procs 1 --json").args(["--json-lines", &worker])).done().json();
    assert_eq!(worked["done"], TASKS);
    let mut ran: Vec<u64> = std::fs::read_to_string(&log)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["object_id"].as_u64().unwrap())
        .collect();
    ran.sort_unstable();
    assert!(ran == (1..=u64::from(TASKS)).collect::<Vec<_>>(), "each once");
}

/// As docs/queue.md, "Moving a shard to another server", says.
fn a_shard_moves_to_another_server(flavour: Flavour) {
    let queue = Queue::new(flavour, "move_server");
    let new = target(flavour);
    sql(new, format!("DROP DATABASE IF EXISTS {}", queue.schema));
    queue.run("set --kind 5 --max-attempts 3").done();
    queue.fed("build --kind 1 -", &numbers(1, 3000));
    queue.run("push --kind 5 --not-before 1d later").done();
    let worker = queue.python("time.sleep(0.01)\nlog.write(str(task['object_id']) + '\\n')\nanswer(task)");
    let mut shepherd = Running::start(queue.command("work --procs 2").args(["--json-lines", &worker]));
    wait_until("some were done", || !shepherd.has_ended() && queue.lines("log").len() > 50);

    let closed = queue.run("drain --close").done();
    assert!(closed.stdout.contains("the queue is closed"), "{closed}");
    let before = queue.lines("log").len();
    let done: usize = queue.value("SELECT SUM(done) FROM queue_count").parse().unwrap();
    assert_eq!(done, before, "all that ran was acknowledged");
    shepherd.wait_for("closed");
    queue.run("push 1").refused(&["closed", "hint: "]);
    queue.run("stat").refused(&["closed", "hint: "]);
    queue.run("init").refused(&["closed", "hint: "]);
    run(&mut queue.working("--until-empty", ["--exec", "true"])).refused(&["closed"]);
    let insert = format!("INSERT INTO {}.queue_inbox (object_id) VALUES (1)", queue.schema);
    assert!(try_sql(queue.server, &insert).unwrap_err().contains("queue_inbox"));
    queue.run("drain --close").done();

    let state = queue.dir.path().join("copy");
    run(&mut copy(queue.server, new, &queue.schema, &state)).done();
    let place = format!("--no-defaults --url {}", url(new, &queue.schema));
    let there = |line: &str| drover(&format!("queue {line} {place}"));
    run(&mut there("push 1")).refused(&["closed"]);
    run(&mut there("drain --undo")).done();
    run(&mut there("push --kind 1 3001")).done();
    run(there("work --until-empty --procs 2").args(["--json-lines", &worker])).done();
    assert!(!shepherd.has_ended());
    shepherd.signal("INT");
    shepherd.finish();
    let mut ran: Vec<u32> = queue.lines("log").iter().map(|line| line.parse().unwrap()).collect();
    assert_eq!(ran.len(), 3001, "{before} before");
    ran.sort_unstable();
    assert!(ran == (1..=3001).collect::<Vec<_>>(), "each once");
    assert_eq!(value(new, format!("SELECT COUNT(*) FROM {}.queue_later", queue.schema)), "1");
    let rules = value(new, format!("SELECT max_attempts FROM {}.queue_kind WHERE kind = 5", queue.schema));
    assert_eq!(rules, "3");
    // The old one can be opened again, by a person who means it.
    queue.run("drain --undo").done();
    queue.run("stat").done();
}
