//! Tasks that nobody would ever run, and objects that are taken for others: what the tables hold decides, not who wrote it.

use drover_sandbox::Flavour;

use super::{Queue, numbers};
use crate::client::wait_until;
use crate::drover::{Running, run};
use crate::servers::on_both;

on_both!(
    lanes_of_nobody,
    the_inbox_of_nobody,
    answers_for_a_lane_that_is_lost,
    objects_are_compared_by_their_bytes,
    an_older_queue,
);

/// Lanes that belong to a shepherd which is in no row, as a statement leaves them that came after it was removed.
fn lanes_of_nobody(flavour: Flavour) {
    let queue = Queue::new(flavour, "lanes_of_nobody");
    let ids = queue.file("ids", &numbers(1, 20_000));
    queue.run(&format!("build --kind 1 {}", ids.display())).done();
    queue.sql("UPDATE queue_lane SET owner = 4000000 WHERE lane > 0 AND lane % 2 = 1");
    assert_ne!(queue.value("SELECT COUNT(*) FROM queue_lane WHERE owner = 4000000"), "0");
    let worked = run(&mut queue.working("--until-empty", ["--json-lines", "cat"])).done();
    assert_eq!(worked.json()["done"], 20_000, "{worked}");
    assert!(worked.stderr.contains("belonged to a shepherd that is gone"), "{worked}");
}

/// Who moves tasks in is the owner of a lane, too.
fn the_inbox_of_nobody(flavour: Flavour) {
    let queue = Queue::new(flavour, "inbox_of_nobody");
    queue.run("push --kind 1 a b c").done();
    queue.sql("UPDATE queue_lane SET owner = 4000001 WHERE lane = 0");
    assert_eq!(queue.work("", ["--json-lines", "cat"])["done"], 3);
}

/// They are not taken, and that is told: the tasks run once more.
fn answers_for_a_lane_that_is_lost(flavour: Flavour) {
    let queue = Queue::new(flavour, "lost_lane");
    let worker =
        queue.python("log.write('x\\n')\nwhile not os.path.exists('@/go'): time.sleep(0.01)\nanswer(task)");
    queue.run("push 1 2 3").done();
    let mut work = Running::start(&mut queue.working("--procs 3", ["--json-lines", &worker]));
    wait_until("they run", || !work.has_ended() && queue.lines("log").len() == 3);
    queue.sql("UPDATE queue_lane SET owner = 4000002 WHERE lane > 0");
    queue.file("go", "");
    wait_until("they are done", || queue.value("SELECT COALESCE(SUM(done), 0) FROM queue_count") == "3");
    work.signal("INT");
    let report = work.finish().done().json();
    assert_eq!((&report["done"], &report["refused"]), (&3.into(), &3.into()), "{report}");
    assert_eq!(queue.lines("log").len(), 6);
}

/// Of unique tasks each object has one; objects that differ in spaces, case or accents are others.
fn objects_are_compared_by_their_bytes(flavour: Flavour) {
    let queue = Queue::new(flavour, "objects_by_bytes");
    queue.run("set --kind 1 --unique yes").done();
    let objects = ["x", "x ", "X", "ä", "a", "x\t", "x  "];
    let rows: Vec<_> = objects.iter().chain(&objects).map(|object| format!("(1, '{object}')")).collect();
    queue.sql(format!("INSERT INTO queue_inbox (kind, object_id) VALUES {}", rows.join(", ")));
    let hands = queue.python("log.write(repr(task['object_id']) + '\\n')\nanswer(task)");
    let worked = queue.work("", ["--json-lines", &hands]);
    assert_eq!(worked["done"], objects.len(), "{worked}");
    assert_eq!(queue.sorted("log").len(), objects.len());
    assert_eq!(queue.value("SELECT COUNT(*) FROM queue_unique"), "0");
}

/// Tables of the first version are brought to this one by whoever works on them; who only looks leaves them as they are.
fn an_older_queue(flavour: Flavour) {
    let queue = Queue::new(flavour, "older_queue");
    queue.sql(
        "ALTER TABLE queue_unique MODIFY object_id VARCHAR(190) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL;
         UPDATE queue_meta SET version = 1",
    );
    queue.run("set --kind 1 --unique yes").done();
    queue.sql("INSERT INTO queue_inbox (kind, object_id) VALUES (1, 'x'), (1, 'x ')");
    queue.run("stat").done();
    assert_eq!(queue.value("SELECT version FROM queue_meta"), "1");
    assert_eq!(queue.work("", ["--json-lines", "cat"])["done"], 2);
    assert_eq!(queue.value("SELECT version FROM queue_meta"), "3");
}
