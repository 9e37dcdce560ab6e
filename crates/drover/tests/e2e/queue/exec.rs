//! One process for each task.

use drover_sandbox::Flavour;

use super::Queue;
use crate::client::wait_until;
use crate::drover::Running;
use crate::servers::on_both;

on_both!(
    what_a_process_gets,
    the_exit_status_decides,
    a_time_out_ends_all_that_it_started,
    what_no_environment_holds,
);

fn what_a_process_gets(flavour: Flavour) {
    let queue = Queue::new(flavour, "exec");
    let mut push = queue.command("push --kind 3 --tenant acme object");
    crate::drover::run(push.args(["--payload", "{\"a\":1}"])).done();
    let hands = queue.at("cat > @/input; echo \"$DROVER_ID $DROVER_KIND $DROVER_OBJECT_ID $DROVER_ATTEMPT $DROVER_TENANT\" > @/environment");
    assert_eq!(queue.work("", ["--exec", &hands])["done"], 1);
    let task: serde_json::Value = serde_json::from_str(&queue.lines("input")[0]).unwrap();
    assert_eq!((&task["object_id"], &task["payload"]["a"]), (&"object".into(), &1.into()));
    assert_eq!(queue.lines("environment"), [format!("{} 3 object 1 acme", task["id"])]);
}

fn the_exit_status_decides(flavour: Flavour) {
    let queue = Queue::new(flavour, "exit_status");
    queue.run("set --max-attempts 1").done();
    queue.run("push 0 3 75 killed").done();
    let hands =
        "case $DROVER_OBJECT_ID in killed) kill -9 $$;; *) echo because >&2; exit $DROVER_OBJECT_ID;; esac";
    let mut work = Running::start(&mut queue.working("", ["--exec", hands]));
    wait_until("all had a try", || {
        !work.has_ended()
            && queue.value("SELECT COUNT(*) FROM queue_lane WHERE lane > 0") == "0"
            && queue.dead() == "2"
    });
    work.signal("INT");
    let output = work.finish();
    assert_eq!(output.code, Some(1), "{output}");
    let report = output.json();
    assert_eq!(
        (&report["done"], &report["failed"], &report["dead"]),
        (&1.into(), &2.into(), &2.into()),
        "{output}"
    );
    let dead = queue.sql("SELECT object_id, attempts, error FROM queue_dead ORDER BY object_id");
    assert_eq!(dead, [["3", "1", "exit status 3: because"], ["killed", "1", "ended by signal 9"]]);
    // Put off for about ten seconds, and that was no attempt.
    let wait = "due_ms / 1000 - UNIX_TIMESTAMP() BETWEEN 1 AND 11";
    assert_eq!(queue.sql(format!("SELECT object_id, attempts, {wait} FROM queue_later")), [["75", "0", "1"]]);
}

fn a_time_out_ends_all_that_it_started(flavour: Flavour) {
    let queue = Queue::new(flavour, "exec_time_out");
    queue.run("set --timeout 1s --backoff 0s").done();
    queue.run("push 1").done();
    let hands = queue.at(
        "echo $DROVER_ATTEMPT >> @/log; [ $DROVER_ATTEMPT = 2 ] && exit 0; (sleep 3; echo late >> @/late) & sleep 300",
    );
    let report = queue.work("", ["--exec", &hands]);
    assert_eq!(
        (&report["done"], &report["failed"], &report["refused"]),
        (&1.into(), &1.into(), &0.into()),
        "{report}"
    );
    assert_eq!(queue.lines("log"), ["1", "2"]);
    std::thread::sleep(std::time::Duration::from_secs(4));
    assert_eq!(queue.lines("late").len(), 0);
}

/// Whoever inserts it does not end the work of others.
fn what_no_environment_holds(flavour: Flavour) {
    let queue = Queue::new(flavour, "exec_zero");
    queue.run("set --max-attempts 1").done();
    queue.sql("INSERT INTO queue_inbox (object_id, tenant) VALUES ('a\\0b', ''), ('c', 'd\\0'), ('e', '')");
    let report = queue.work("", ["--exec", "true"]);
    assert_eq!((&report["done"], &report["dead"]), (&1.into(), &2.into()), "{report}");
    assert_eq!(queue.value("SELECT COUNT(*) FROM queue_dead WHERE error LIKE '%a byte 0 in it'"), "2");
}
