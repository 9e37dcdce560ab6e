//! How long finished tasks are kept, and what can be seen of them.

use std::time::{Duration, Instant};

use drover_sandbox::Flavour;

use super::{Queue, numbers};
use crate::client::{Rows, Session, wait_until};
use crate::drover::{Running, run};
use crate::servers::on_both;

on_both!(finished_tasks_stay_and_go, a_table_that_is_read_holds_up_nobody);

/// The tables that hold tasks.
fn segments(queue: &Queue) -> Rows {
    let sql = "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() \
               AND TABLE_NAME LIKE 'queue\\_segment\\_%' ORDER BY LENGTH(TABLE_NAME), TABLE_NAME";
    queue.sql(sql)
}

/// What the manual says how to look at them.
fn documented(number: usize) -> String {
    let manual = include_str!("../../../../../docs/queue.md");
    let (_, rest) = manual.split_once("### Looking at finished tasks").unwrap();
    let (_, rest) = rest.split_once("```sql\n").unwrap();
    rest.split_once("```").unwrap().0.replace("queue_segment_7", &format!("queue_segment_{number}"))
}

fn finished_tasks_stay_and_go(flavour: Flavour) {
    let queue = Queue::new(flavour, "keep");
    queue.run("set --keep 8s --max-attempts 1").done();
    let file = queue.file("tasks", &numbers(1, 10));
    run(queue.command("build --kind 3").arg(file)).done();
    let mut push = queue.command("push --kind 4 fine fails");
    run(push.args(["--payload", "{\"a\": 1}"])).done();
    let begun = Instant::now();
    let report = queue.work("", ["--exec", "[ $DROVER_OBJECT_ID != fails ]"]);
    assert_eq!((&report["done"], &report["dead"]), (&11.into(), &1.into()), "{report}");
    assert_eq!(segments(&queue), [["queue_segment_1"], ["queue_segment_2"]]);
    let built = queue.sql(documented(1));
    assert!(built.len() > 10 && built.iter().any(|row| row == &["NULL", "NULL", "10", "NULL"]), "{built:?}");
    assert_eq!(built[0][..2], ["1", "3"], "the segment and its kind");
    let pushed = queue.sql(documented(2));
    let task = pushed.last().unwrap();
    assert_eq!(task[1..], ["4", "fine", "{\"a\": 1}"], "{pushed:?}");
    assert!(!pushed.iter().any(|row| row.contains(&"fails".to_owned())), "{pushed:?}");

    let work = Running::start(&mut queue.working("", ["--exec", "true"]));
    wait_until("the build's are dropped", || segments(&queue) == [["queue_segment_2"]]);
    assert!(begun.elapsed() >= Duration::from_secs(8), "{:?}", begun.elapsed());
    wait_until("the others are dropped", || segments(&queue).is_empty());
    // A quarter more until the table is closed, and some seconds between the looks.
    assert!(begun.elapsed() < Duration::from_secs(40), "{:?}", begun.elapsed());
    wait_until("nothing is left of them", || queue.value("SELECT COUNT(*) FROM queue_segment") == "0");
    work.signal("INT");
    work.finish().done();
}

/// A dump in a transaction keeps tables from being dropped.
fn a_table_that_is_read_holds_up_nobody(flavour: Flavour) {
    let queue = Queue::new(flavour, "read_table");
    let file = queue.file("tasks", &numbers(1, 10));
    run(queue.command("build --kind 3").arg(file)).done();
    let mut dump = Session::open(queue.server);
    dump.run(&format!("USE {}", queue.schema));
    dump.run("START TRANSACTION");
    dump.run("DO (SELECT COUNT(*) FROM queue_segment_1)");
    let worker = queue.python("log.write(f\"{task['object_id']}\\n\")\nanswer(task)");
    let mut work = Running::start(&mut queue.working("", ["--json-lines", &worker]));
    wait_until("the build is done", || queue.lines("log").len() == 10);
    let begun = Instant::now();
    for object in 0..20 {
        queue.run(&format!("push {object}")).done();
        let before = queue.lines("log").len();
        wait_until("it is done", || !work.has_ended() && queue.lines("log").len() >= before.max(11 + object));
        std::thread::sleep(Duration::from_millis(200));
    }
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    assert_eq!(segments(&queue)[0], ["queue_segment_1"]);
    work.signal("INT");
    let output = work.finish().done();
    assert_eq!((&output.json()["done"], &output.json()["refused"]), (&30.into(), &0.into()), "{output}");
    assert!(!output.stderr.contains("warning"), "{output}");
    drop(dump);
    queue.work("", ["--exec", "true"]);
    assert!(!segments(&queue).contains(&vec!["queue_segment_1".to_owned()]));
}
