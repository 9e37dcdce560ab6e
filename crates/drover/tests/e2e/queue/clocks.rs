//! What a shard's server takes for the time is not always so: its clock is set, or after a failover another machine's counts.

use drover_sandbox::Flavour;

use super::Queue;
use crate::client::wait_until;
use crate::drover::{Running, run};
use crate::servers::on_both;

on_both!(
    a_dead_one_whose_lease_lies_an_hour_ahead,
    living_ones_whose_leases_are_over_by_the_clock,
    a_schedule_whose_next_time_was_reckoned_ahead,
    a_minute_that_comes_again,
);

/// A clock that went back by an hour leaves this of a shepherd that is gone.
fn a_dead_one_whose_lease_lies_an_hour_ahead(flavour: Flavour) {
    let queue = Queue::new(flavour, "lease_ahead");
    queue.run("push 1 2 3").done();
    queue.sql(
        "INSERT INTO queue_shepherd (shepherd, name, pid, started, expires, workers, running) \
         VALUES (4000, 'gone', 1, NOW(3) + INTERVAL 1 HOUR, NOW(3) + INTERVAL 1 HOUR, 2, 2); \
         UPDATE queue_lane SET owner = 4000 WHERE lane = 0",
    );
    let text = queue.run("stat").done().stdout;
    assert!(text.contains("nothing heard of it"), "{text}");
    let work = Running::start(&mut queue.working("--until-empty", ["--json-lines", "cat"]));
    wait_until("it is taken for dead", || {
        queue.value("SELECT COUNT(*) FROM queue_shepherd WHERE shepherd = 4000") == "0"
    });
    assert_eq!(work.finish().done().json()["done"], 3);
}

/// A clock that went forward leaves this of shepherds that are well.
fn living_ones_whose_leases_are_over_by_the_clock(flavour: Flavour) {
    let queue = Queue::new(flavour, "lease_over");
    let start = || Running::start(&mut queue.working("-v", ["--json-lines", "cat"]));
    let both = [start(), start()];
    let names = "SELECT GROUP_CONCAT(shepherd ORDER BY shepherd) FROM queue_shepherd";
    wait_until("both are there", || {
        queue.value("SELECT COUNT(*) FROM queue_shepherd WHERE expires > started + INTERVAL 8 SECOND") == "2"
    });
    let before = queue.value(names);
    for _ in 0..2 {
        queue.sql("UPDATE queue_shepherd SET expires = expires - INTERVAL 1 HOUR; UPDATE queue_meta SET bell = bell + 1");
        wait_until("they have renewed their leases", || {
            queue.value("SELECT MIN(expires > NOW(3)) FROM queue_shepherd") == "1"
        });
    }
    assert_eq!(queue.value(names), before);
    for work in both {
        work.signal("INT");
        let ended = work.finish().done();
        assert!(!ended.stderr.contains("warning"), "{ended}");
    }
}

/// The clock was an hour ahead when it came last. One that comes at a certain time of the day has come there, and does not come again.
fn a_schedule_whose_next_time_was_reckoned_ahead(flavour: Flavour) {
    let queue = Queue::new(flavour, "schedule_ahead");
    for (name, cron) in [("often", "* * * * * *"), ("yearly", "59 23 31 12 *")] {
        run(queue.command(&format!("schedule set {name} {name}")).args(["--cron", cron])).done();
    }
    queue.sql(
        "UPDATE queue_schedule SET last_ms = FLOOR(UNIX_TIMESTAMP() + 3600) * 1000, \
         next_ms = IF(name = 'often', last_ms + 1000, next_ms + 366 * 86400000)",
    );
    let yearly = "SELECT next_ms, fired FROM queue_schedule WHERE name = 'yearly'";
    let before = queue.sql(yearly);
    let work = Running::start(&mut queue.working("-v", ["--json-lines", "cat"]));
    work.wait_for("schedule 'often': its next time was ");
    wait_until("it comes", || queue.value("SELECT fired FROM queue_schedule WHERE name = 'often'") != "0");
    work.signal("INT");
    work.finish().done();
    assert_eq!(queue.sql(yearly), before);
}

/// What was counted of it before is not lost.
fn a_minute_that_comes_again(flavour: Flavour) {
    let queue = Queue::new(flavour, "minute_again");
    let minute = "FLOOR(UNIX_TIMESTAMP() / 60)";
    let row = |after: u32| format!("({minute} + {after}, 1, 5, 1000, 1000, '0,1000')");
    let rows: Vec<_> = (0..3).map(row).collect();
    queue.sql(format!(
        "INSERT INTO queue_count (minute, shepherd, kind, taken, done, waits) VALUES {}",
        rows.join(", ")
    ));
    queue.run("push --kind 5 1 2 3").done();
    assert_eq!(queue.work("", ["--json-lines", "cat"])["done"], 3);
    assert_eq!(
        queue.sql("SELECT SUM(done), SUM(taken), MAX(shepherd) FROM queue_count"),
        [["3003", "3003", "1"]]
    );
}
