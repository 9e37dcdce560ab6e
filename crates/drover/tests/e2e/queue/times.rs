//! Time-outs and how long a task waits for another try.

use std::time::{Duration, Instant};

use drover_sandbox::Flavour;

use super::{Queue, numbers};
use crate::client::wait_until;
use crate::drover::Running;
use crate::servers::on_both;

on_both!(
    heartbeats_keep_a_task,
    a_shorter_time_out_holds_for_what_runs,
    a_longer_time_out_holds_for_what_runs,
    a_worker_that_starts_slowly,
    one_that_hangs_fails_alone,
    waits_grow_and_differ,
);

fn heartbeats_keep_a_task(flavour: Flavour) {
    let queue = Queue::new(flavour, "heartbeats");
    queue.run("set --timeout 2s --max-attempts 1").done();
    queue.run("push silent beats").done();
    let worker = queue.python(
        "for _ in range(7):\n    time.sleep(0.8)\n    if task['object_id'] == 'beats': answer(task, heartbeat=True)\n\
         log.write(task['object_id'])\nanswer(task)",
    );
    let report = queue.work("--procs 2", ["--json-lines", &worker]);
    assert_eq!((&report["done"], &report["dead"]), (&1.into(), &1.into()), "{report}");
    assert_eq!(queue.lines("log"), ["beats"]);
    let error = "nothing was heard of it for 2 s";
    assert_eq!(queue.sql("SELECT object_id, error FROM queue_dead"), [["silent", error]]);
}

fn a_shorter_time_out_holds_for_what_runs(flavour: Flavour) {
    let queue = Queue::new(flavour, "shorter_time_out");
    queue.run("set --backoff 0s").done();
    queue.run("push 1").done();
    let hands = queue.at("echo $DROVER_ATTEMPT >> @/log; [ $DROVER_ATTEMPT = 2 ] || sleep 300");
    let begun = Instant::now();
    let work = Running::start(&mut queue.working("--until-empty", ["--exec", &hands]));
    wait_until("it runs", || queue.lines("log").len() == 1);
    queue.run("set --timeout 1s").done();
    let report = work.finish().done().json();
    assert_eq!((&report["done"], &report["failed"]), (&1.into(), &1.into()), "{report}");
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
}

fn a_longer_time_out_holds_for_what_runs(flavour: Flavour) {
    let queue = Queue::new(flavour, "longer_time_out");
    queue.run("set --timeout 4s").done();
    queue.run("push 1").done();
    let hands = queue.at("echo $DROVER_ATTEMPT >> @/log; sleep 8");
    let work = Running::start(&mut queue.working("--until-empty", ["--exec", &hands]));
    wait_until("it runs", || queue.lines("log").len() == 1);
    queue.run("set --timeout 1h").done();
    let report = work.finish().done().json();
    assert_eq!((&report["done"], &report["failed"]), (&1.into(), &0.into()), "{report}");
}

/// It reads nothing before it is ready: until then no time-out runs.
fn a_worker_that_starts_slowly(flavour: Flavour) {
    let queue = Queue::new(flavour, "slow_start");
    queue.run("set --timeout 1s --max-attempts 2 --backoff 0s").done();
    queue.run("push 1 2 hangs").done();
    let worker = queue.python("if task['object_id'] == 'hangs': time.sleep(300)\nanswer(task)");
    let begun = Instant::now();
    let report = queue.work("--procs 1", ["--json-lines", &format!("sleep 3; {worker}")]);
    assert_eq!(
        (&report["done"], &report["failed"], &report["dead"]),
        (&2.into(), &2.into(), &1.into()),
        "{report}"
    );
    assert!(
        begun.elapsed() < Duration::from_secs(50),
        "it is not waited for once it has read: {:?}",
        begun.elapsed()
    );
}

/// A fast worker has many lines before it when it hangs.
fn one_that_hangs_fails_alone(flavour: Flavour) {
    let queue = Queue::new(flavour, "hangs_alone");
    queue.run("set --timeout 5s --max-attempts 1").done();
    queue.fed("push -", &numbers(1, 5000));
    let worker = queue.python("if task['object_id'] == 4000: time.sleep(300)\nanswer(task)");
    let begun = Instant::now();
    let report = queue.work("--procs 1", ["--json-lines", &worker]);
    assert_eq!((&report["done"], &report["dead"]), (&4999.into(), &1.into()), "{report}");
    assert_eq!(queue.sql("SELECT object_id FROM queue_dead"), [["4000"]]);
    assert!(begun.elapsed() < Duration::from_secs(50), "its start was over: {:?}", begun.elapsed());
}

fn waits_grow_and_differ(flavour: Flavour) {
    let queue = Queue::new(flavour, "waits");
    queue.run("set --backoff 20s --backoff-max 35s").done();
    queue.fed("push -", &numbers(1, 40));
    let now = || queue.value("SELECT UNIX_TIMESTAMP(NOW(3))").parse::<f64>().unwrap();
    let mut from = now();
    let mut work = Running::start(&mut queue.working("", ["--exec", "exit 1"]));
    // Twice the time after the second failure, and never more than the most; up to half of it is left to chance.
    for (attempts, shortest, longest) in [(1, 10.0, 20.0), (2, 17.5, 35.0), (3, 17.5, 35.0)] {
        let waiting = format!("SELECT COUNT(*) FROM queue_later WHERE attempts = {attempts}");
        wait_until("all have failed", || !work.has_ended() && queue.value(&waiting) == "40");
        let until = now();
        let due = queue.sql("SELECT MIN(due_ms) / 1000, MAX(due_ms) / 1000 FROM queue_later");
        let due: Vec<f64> = due[0].iter().map(|field| field.parse().unwrap()).collect();
        assert!(due[0] >= from + shortest && due[1] <= until + longest + 0.1, "{due:?} of {from} to {until}");
        assert!(due[1] - due[0] > (longest - shortest) / 3.0, "they come back together: {due:?}");
        from = now();
        queue.sql("UPDATE queue_later SET due_ms = 100; UPDATE queue_meta SET bell = bell + 1");
    }
    work.signal("INT");
    work.finish().done();
}
