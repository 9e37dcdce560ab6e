//! Limits of kinds hold for all shepherds and all shards together.

use std::path::Path;
use std::process::Command;

use drover_sandbox::Flavour;

use super::{Queue, numbers, sharded};
use crate::client::{feed, wait_until};
use crate::drover::{Running, run};
use crate::servers::on_both;

on_both!(
    a_rate_holds_for_two_shepherds,
    a_rate_holds_for_two_shards,
    so_many_at_once_by_two_shepherds,
    one_at_once_whoever_comes_and_goes,
    a_kind_without_a_limit,
);

const RATE: f64 = 40.0;
const TASKS: usize = 300;

/// When tasks began, in seconds: no second had more than it may, and little was left unused.
fn check_rate(queue: &Queue) {
    let mut times: Vec<f64> = queue.lines("log").iter().map(|line| line.parse().unwrap()).collect();
    times.sort_by(f64::total_cmp);
    for (at, first) in times.iter().enumerate() {
        for (until, last) in times.iter().enumerate().skip(at) {
            let (count, seconds) = ((until - at + 1) as f64, last - first);
            // A second's worth at once; ten more for workers that were late.
            assert!(count <= RATE * (1.0 + seconds) + 10.0, "{count} in {seconds} s");
        }
    }
    let seconds = times[times.len() - 1] - times[0];
    let rate = (times.len() as f64 - RATE) / seconds;
    assert!(rate > 0.7 * RATE, "{rate} a second over {seconds} s");
}

const LOG_TIME: &str = "log.write(f'{time.time()}\\n')\nanswer(task)";

fn shepherds_of(queue: &Queue) -> String {
    queue.value("SELECT COUNT(*) FROM queue_shepherd")
}

/// Both are there, and have had the time to hear of each other: until then the one that came first has more than its part.
fn both_share(shepherds: &dyn Fn() -> String) {
    wait_until("both are there", || shepherds() == "2");
    std::thread::sleep(std::time::Duration::from_secs(1));
}

/// Two shepherds do all that `push` makes, and end.
fn two_do_all(queue: &Queue, work: &dyn Fn() -> Command, shepherds: &dyn Fn() -> String, push: &dyn Fn()) {
    let both = [Running::start(&mut work()), Running::start(&mut work())];
    both_share(shepherds);
    push();
    wait_until("all ran", || queue.lines("log").len() == TASKS);
    for shepherd in both {
        shepherd.signal("INT");
        let report = shepherd.finish().done().json();
        assert!(report["done"].as_u64() > Some(TASKS as u64 / 10), "one did nearly all: {report}");
    }
    check_rate(queue);
}

fn a_rate_holds_for_two_shepherds(flavour: Flavour) {
    let queue = Queue::new(flavour, "rate_of_two");
    queue.run(&format!("set --kind 1 --rate {RATE}")).done();
    let worker = queue.python(LOG_TIME);
    let work = || queue.working("--procs 2", ["--json-lines", &worker]);
    let push = || drop(queue.fed("push --kind 1 -", &numbers(1, TASKS as u32)));
    two_do_all(&queue, &work, &|| shepherds_of(&queue), &push);
}

fn a_rate_holds_for_two_shards(flavour: Flavour) {
    let queue = Queue::new(flavour, "rate_of_shards");
    let file = queue.shards(&["a", "b"], "object");
    run(&mut sharded(&file, &format!("set --kind 1 --rate {RATE}"))).done();
    let worker = queue.python(LOG_TIME);
    let work = || {
        let mut command = sharded(&file, "work --procs 2 --json");
        command.args(["--json-lines", &worker]);
        command
    };
    let count = || {
        let of = |shard| queue.value_of(shard, "SELECT COUNT(*) FROM queue_shepherd");
        if of("a") == of("b") { of("a") } else { String::new() }
    };
    two_do_all(&queue, &work, &count, &|| push_to(&file, TASKS as u32));
}

fn push_to(file: &Path, tasks: u32) {
    let mut push = sharded(file, "push --kind 1");
    assert!(feed(push.arg("-"), numbers(1, tasks).as_bytes()).status.success());
}

/// A command that notes how many run at the same time.
fn counting(queue: &Queue) -> String {
    queue.at("mkdir -p @/now; touch @/now/$$; ls @/now | wc -l >> @/log; sleep 0.05; rm @/now/$$")
}

fn most_at_once(queue: &Queue) -> u32 {
    queue.lines("log").iter().map(|line| line.trim().parse().unwrap()).max().unwrap_or(0)
}

fn so_many_at_once_by_two_shepherds(flavour: Flavour) {
    let queue = Queue::new(flavour, "at_once_of_two");
    queue.run("set --kind 1 --concurrency 3").done();
    let hands = counting(&queue);
    let shepherd = || Running::start(&mut queue.working("--procs 4", ["--exec", &hands]));
    let mut both = [shepherd(), shepherd()];
    both_share(&|| shepherds_of(&queue));
    queue.fed("push --kind 1 -", &numbers(1, 150));
    wait_until("all ran", || both.iter_mut().all(|one| !one.has_ended()) && queue.lines("log").len() == 150);
    for shepherd in both {
        shepherd.signal("INT");
        let report = shepherd.finish().done().json();
        assert!(report["done"].as_u64() > Some(20), "{report}");
    }
    assert_eq!(most_at_once(&queue), 3);
}

/// The one that takes tasks in is not the one that may run them.
fn one_at_once_whoever_comes_and_goes(flavour: Flavour) {
    let queue = Queue::new(flavour, "one_at_once");
    queue.run("set --kind 1 --concurrency 1").done();
    let hands = counting(&queue);
    let shepherd = |name: &str| {
        Running::start(&mut queue.working(&format!("--procs 2 --name {name}"), ["--exec", &hands]))
    };
    let owner = || {
        let sql = "SELECT COALESCE(MAX(name), '') FROM queue_shepherd JOIN queue_lane ON owner = shepherd WHERE lane = 0";
        queue.value(sql)
    };
    let first = shepherd("first");
    wait_until("the first one takes tasks in", || owner() == "first");
    let second = shepherd("second");
    wait_until("both are there", || queue.value("SELECT COUNT(*) FROM queue_shepherd") == "2");
    first.signal("STOP");
    wait_until("the second one takes tasks in", || owner() == "second");
    first.signal("CONT");
    both_share(&|| shepherds_of(&queue));
    queue.fed("push --kind 1 -", &numbers(1, 20));
    wait_until("all ran", || queue.lines("log").len() == 20);
    first.signal("INT");
    assert_eq!(first.finish().done().json()["done"], 20, "the older one may");
    queue.fed("push --kind 1 -", &numbers(21, 30));
    wait_until("the other one goes on", || queue.lines("log").len() == 30);
    second.signal("INT");
    assert_eq!(second.finish().done().json()["done"], 10);
    assert_eq!(most_at_once(&queue), 1);
}

fn a_kind_without_a_limit(flavour: Flavour) {
    let queue = Queue::new(flavour, "no_limit");
    queue.run("set --rate 0.1 --concurrency 1").done();
    queue.run("set --kind 1 --rate 0 --concurrency 0").done();
    queue.fed("push --kind 1 -", &numbers(1, 200));
    let begun = std::time::Instant::now();
    let hands = counting(&queue);
    assert_eq!(queue.work("--procs 4", ["--exec", &hands])["done"], 200);
    assert!(most_at_once(&queue) > 1 && begun.elapsed().as_secs() < 60);
}
