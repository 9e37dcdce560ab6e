//! What holds for kinds: attempts, pauses, rates, how many at once, whose turn it is; and the dead.

use std::time::Instant;

use drover_sandbox::Flavour;

use super::{Queue, numbers};
use crate::client::wait_until;
use crate::drover::Running;
use crate::servers::on_both;

on_both!(
    attempts_have_an_end_and_pauses_between_them,
    the_dead_are_listed_and_tried_again_and_dropped,
    paused_kinds_wait,
    so_many_a_second,
    so_many_at_once,
    tenants_take_turns,
);

fn attempts_have_an_end_and_pauses_between_them(flavour: Flavour) {
    let queue = Queue::new(flavour, "attempts");
    queue.run("set --max-attempts 3").done();
    queue.run("set --kind 1 --backoff 1s --backoff-max 1s").done();
    queue.run("push --kind 1 x").done();
    let hands =
        queue.at("echo $DROVER_ATTEMPT $(date +%s.%N) >> @/log; echo attempt $DROVER_ATTEMPT >&2; exit 1");
    let report = queue.work("", ["--exec", &hands]);
    assert_eq!(
        (&report["done"], &report["failed"], &report["dead"]),
        (&0.into(), &3.into(), &1.into()),
        "{report}"
    );
    let log = queue.lines("log");
    let times: Vec<f64> = log.iter().map(|line| line.split(' ').nth(1).unwrap().parse().unwrap()).collect();
    for pair in times.windows(2) {
        assert!((0.5..5.0).contains(&(pair[1] - pair[0])), "{log:?}");
    }
    assert_eq!(
        queue.sql("SELECT kind, object_id, attempts, error FROM queue_dead"),
        [["1", "x", "3", "exit status 1: attempt 3"]]
    );
}

fn the_dead_are_listed_and_tried_again_and_dropped(flavour: Flavour) {
    let queue = Queue::new(flavour, "dead");
    queue.run("set --max-attempts 1").done();
    queue.run("push --kind 1 a b c").done();
    queue.run("push --kind 2 d e").done();
    queue.work("", ["--exec", "echo \"100% of $DROVER_OBJECT_ID\" >&2; exit 1"]);
    let listed = queue.run("dead").found(&["kind 1", "object a", "1 attempt ", "exit status 1: 100% of a"]);
    assert_eq!(listed.stdout.lines().count(), 5, "{listed}");
    let objects = |line: &str| {
        let output = queue.run(&format!("dead list --json {line}"));
        let tasks = output.json();
        let mut objects: Vec<_> = tasks
            .as_array()
            .unwrap()
            .iter()
            .map(|task| task["object_id"].as_str().unwrap().to_owned())
            .collect();
        objects.sort();
        assert_eq!(output.code, Some(i32::from(!objects.is_empty())));
        objects.join(" ")
    };
    assert_eq!(objects("--kind 2"), "d e");
    assert_eq!(objects("--error a"), "a b c d e"); // of "exit status"
    assert_eq!(objects("--limit 2").len(), 3);
    let of = |word: &str| {
        let mut command = queue.command("dead list --json");
        command.args(["--error", word]);
        crate::drover::run(&mut command).json().as_array().unwrap().len()
    };
    assert_eq!((of("of b"), of("100%"), of("% of"), of("of_")), (1, 5, 5, 0));
    let id = queue.value("SELECT task FROM queue_dead WHERE object_id = 'e'");
    assert_eq!(objects(&format!("--id {id}")), "e");

    queue.run("dead drop").refused(&["was not said", "--all"]);
    queue.run("dead drop --limit 1").refused(&["--all"]);
    let dropped = queue.run("dead drop --kind 1 --limit 2").done();
    assert!(dropped.stdout.contains("2 dead tasks dropped"), "{dropped}");
    assert_eq!(queue.run("dead retry --kind 2 --json").done().json()["tasks"], 2);
    assert_eq!(objects("").len(), 1);
    let hands = queue.at("echo $DROVER_OBJECT_ID $DROVER_ATTEMPT >> @/log");
    assert_eq!(queue.run("stat --json").json()["kinds"][1]["later"], 2);
    let mut work = Running::start(&mut queue.working("", ["--exec", &hands]));
    wait_until("they ran again", || !work.has_ended() && queue.lines("log").len() == 2);
    work.signal("INT");
    work.finish().done();
    assert_eq!(queue.sorted("log"), ["d 1", "e 1"]);
    assert!(queue.run("dead drop --all").done().stdout.contains("1 dead task dropped"));
}

fn paused_kinds_wait(flavour: Flavour) {
    let queue = Queue::new(flavour, "paused");
    let hands = queue.at("echo $DROVER_KIND >> @/log; sleep 0.02");
    queue.fed("push --kind 1 -", &numbers(1, 2000));
    let mut work = Running::start(&mut queue.working("", ["--exec", &hands]));
    wait_until("some ran", || !work.has_ended() && queue.lines("log").len() > 5);
    queue.run("pause --kind 1").done();
    let mut before = 0;
    wait_until("it stands still for a second", || {
        before = queue.lines("log").len();
        std::thread::sleep(std::time::Duration::from_secs(1));
        queue.lines("log").len() == before
    });
    queue.run("push --kind 2 other").done();
    wait_until("another kind ran", || queue.lines("log").contains(&"2".into()));
    std::thread::sleep(std::time::Duration::from_secs(1));
    assert_eq!(queue.lines("log").len(), before + 1);
    queue.run("resume --kind 1").done();
    let begun = Instant::now();
    wait_until("it goes on", || queue.lines("log").len() > before + 1);
    assert!(begun.elapsed().as_secs_f64() < 2.5, "{:?}", begun.elapsed());
    // All are all, whatever was said of one.
    assert!(queue.run("pause").done().stderr.contains("tasks of all kinds are paused"));
    let paused = || {
        let stat = queue.run("stat --json").done().json();
        stat["kinds"].as_array().unwrap().iter().map(|kind| kind["is_paused"] == true).collect::<Vec<_>>()
    };
    let is_all = |is: bool| paused().iter().all(|&paused| paused == is);
    assert!(is_all(true), "{:?}", paused());
    queue.run("resume --kind 2").done();
    queue.run("pause --kind 1").done();
    queue.run("resume").done();
    assert!(is_all(false), "{:?}", paused());
    queue.run("set --kind 1").refused(&["nothing to set"]);
    work.signal("INT");
    work.finish().done();
}

fn so_many_a_second(flavour: Flavour) {
    let queue = Queue::new(flavour, "rate");
    queue.run("set --kind 1 --rate 20").done();
    queue.fed("push --kind 1 -", &numbers(1, 80));
    let begun = Instant::now();
    let report = queue.work("", ["--json-lines", "exec cat"]);
    let seconds = begun.elapsed().as_secs_f64();
    // A second's worth at once, and the other sixty at twenty a second.
    assert!(report["done"] == 80 && (2.5..8.0).contains(&seconds), "{seconds}: {report}");
}

fn so_many_at_once(flavour: Flavour) {
    let queue = Queue::new(flavour, "concurrency");
    queue.run("set --kind 1 --concurrency 2").done();
    queue.fed("push --kind 1 -", &numbers(1, 60));
    let hands =
        queue.at("mkdir -p @/now; touch @/now/$$; ls @/now | wc -l >> @/log; sleep 0.03; rm @/now/$$");
    let report = queue.work("--procs 8", ["--exec", &hands]);
    assert_eq!(report["done"], 60);
    let most = queue.lines("log").iter().map(|line| line.trim().parse::<u32>().unwrap()).max();
    assert_eq!(most, Some(2));
}

fn tenants_take_turns(flavour: Flavour) {
    let queue = Queue::new(flavour, "tenants");
    queue.fed("push --tenant large -", &numbers(1, 10_000));
    queue.fed("push --tenant small -", &numbers(1, 10));
    let worker = queue.python("log.write(task['tenant'] + '\\n')\ntime.sleep(0.001)\nanswer(task)");
    assert_eq!(queue.work("--procs 2", ["--json-lines", &worker])["done"], 10_010);
    let log = queue.lines("log");
    let last = log.iter().rposition(|tenant| tenant == "small").unwrap();
    assert!(last < 4000, "the small one's last was number {last}");
}
