//! Ctrl-C: what runs comes to its end, and nothing is lost.

use drover_sandbox::Flavour;

use super::{Queue, numbers};
use crate::client::wait_until;
use crate::drover::Running;
use crate::servers::on_both;

on_both!(
    what_runs_ends,
    what_takes_too_long_is_given_back,
    a_fast_worker_loses_nothing,
    empty_is_empty_beside_a_build,
    empty_is_not_what_was_put_off
);

fn what_runs_ends(flavour: Flavour) {
    let queue = Queue::new(flavour, "stopped");
    queue.fed("push -", &numbers(1, 20));
    let hands = queue.at("echo $DROVER_OBJECT_ID >> @/begun; sleep 2; echo $DROVER_OBJECT_ID >> @/ended");
    let mut work = Running::start(&mut queue.working("--procs 3", ["--exec", &hands]));
    wait_until("three run", || !work.has_ended() && queue.lines("begun").len() == 3);
    work.signal("INT");
    let report = work.finish().done().json();
    assert_eq!((&report["done"], &report["refused"]), (&3.into(), &0.into()), "{report}");
    assert_eq!(queue.sorted("ended"), queue.sorted("begun"));
    assert_eq!(queue.value("SELECT COUNT(*) FROM queue_shepherd"), "0");
    assert_eq!(queue.work("", ["--json-lines", "exec cat"])["done"], 17);
}

fn what_takes_too_long_is_given_back(flavour: Flavour) {
    let queue = Queue::new(flavour, "stopped_late");
    queue.run("push 1 2").done();
    let hands = queue.at("echo $DROVER_OBJECT_ID $DROVER_ATTEMPT >> @/log; sleep 300");
    let mut work = Running::start(&mut queue.working("--procs 1 --grace 1s", ["--exec", &hands]));
    wait_until("it runs", || !work.has_ended() && queue.lines("log").len() == 1);
    work.signal("TERM");
    assert_eq!(work.finish().done().json()["done"], 0);
    let worker = queue.python("log.write('again\\n')\nanswer(task)");
    assert_eq!(queue.work("", ["--json-lines", &worker])["done"], 2);
}

fn a_fast_worker_loses_nothing(flavour: Flavour) {
    let queue = Queue::new(flavour, "stopped_fast");
    queue.fed("push -", &numbers(1, 30_000));
    let worker = queue.python("log.write(str(task['object_id']) + '\\n')\nanswer(task)");
    let mut done = 0;
    for _ in 0..3 {
        let before = queue.lines("log").len();
        let mut work = Running::start(&mut queue.working("--procs 2", ["--json-lines", &worker]));
        wait_until("it is at work", || !work.has_ended() && queue.lines("log").len() > before + 1000);
        work.signal("INT");
        done += work.finish().done().json()["done"].as_u64().unwrap();
        assert_eq!(queue.lines("log").len() as u64, done, "what ran was acknowledged");
    }
    done += queue.work("--procs 2", ["--json-lines", &worker])["done"].as_u64().unwrap();
    assert_eq!(done, 30_000);
    let mut ran = queue.sorted("log");
    ran.dedup();
    assert_eq!(ran.len(), 30_000);
}

/// What a broken-off build has stored is nobody's to work off.
fn empty_is_empty_beside_a_build(flavour: Flavour) {
    let queue = Queue::new(flavour, "empty_build");
    queue.fed("build --job x -", &format!("{}{{}}\n", numbers(1, 5000)));
    assert_ne!(queue.value("SELECT SUM(tasks) FROM queue_lane WHERE lane > 0"), "0", "nothing was stored");
    assert_eq!(queue.work("", ["--exec", "true"])["done"], 0);
}

fn empty_is_not_what_was_put_off(flavour: Flavour) {
    let queue = Queue::new(flavour, "empty_later");
    queue.run("push 1").done();
    let hands = queue.at("test -e @/was || { touch @/was; exit 75; }");
    assert_eq!(queue.work("", ["--exec", &hands])["done"], 1);
}
