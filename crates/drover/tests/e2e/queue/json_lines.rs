//! Processes that live on.

use drover_sandbox::Flavour;

use super::{Queue, numbers};
use crate::drover::run;
use crate::servers::on_both;

on_both!(
    an_echo_does_all,
    answers_in_any_order,
    failures_and_later_ones,
    one_that_dies_in_the_middle,
    a_task_that_ends_its_workers,
    one_that_never_answers,
    one_that_does_not_even_read,
    answers_that_make_no_sense,
    no_such_command,
);

fn an_echo_does_all(flavour: Flavour) {
    let queue = Queue::new(flavour, "echo");
    let (code, said) = queue.fed("push -", &numbers(1, 20_000));
    assert_eq!(code, Some(0), "{said}");
    let report = queue.work("", ["--json-lines", "exec cat"]);
    assert_eq!(
        (&report["done"], &report["failed"], &report["refused"]),
        (&20_000.into(), &0.into(), &0.into())
    );
    assert_eq!(queue.value("SELECT COUNT(*) FROM queue_lane WHERE lane > 0"), "0");
}

fn answers_in_any_order(flavour: Flavour) {
    let queue = Queue::new(flavour, "any_order");
    queue.fed("push -", &numbers(1, 500));
    let worker = queue.python(
        "def late(task):\n    log.write(str(task['object_id']) + '\\n')\n    answer(task)\n\
         threading.Timer(random.random() / 200, late, [task]).start()",
    );
    let report = queue.work("--procs 2", ["--json-lines", &worker]);
    assert_eq!((&report["done"], &report["refused"]), (&500.into(), &0.into()), "{report}");
    let mut ran: Vec<u32> = queue.lines("log").iter().map(|line| line.parse().unwrap()).collect();
    assert!(!ran.is_sorted());
    ran.sort_unstable();
    assert_eq!(ran, (1..=500).collect::<Vec<_>>());
}

fn failures_and_later_ones(flavour: Flavour) {
    let queue = Queue::new(flavour, "failures");
    queue.run("set --max-attempts 2 --backoff 100ms").done();
    queue.run("push fails later fine").done();
    let worker = queue.python(
        "log.write(f\"{task['object_id']} {task['attempt']}\\n\")\n\
         if task['object_id'] == 'fails': answer(task, error='so\\nit is')\n\
         elif task['object_id'] == 'later' and not os.path.exists('@/was'): open('@/was', 'w'), answer(task, retry_after=0.2)\n\
         else: answer(task)",
    );
    let mut work = crate::drover::Running::start(&mut queue.working("--procs 1", ["--json-lines", &worker]));
    crate::client::wait_until("all ran", || {
        !work.has_ended() && queue.lines("log").len() == 5 && queue.dead() == "1"
    });
    work.signal("INT");
    assert_eq!(work.finish().json()["done"], 2);
    assert_eq!(queue.sorted("log"), ["fails 1", "fails 2", "fine 1", "later 1", "later 1"]);
    assert_eq!(queue.sql("SELECT object_id, attempts, error FROM queue_dead"), [["fails", "2", "so\nit is"]]);
}

fn one_that_dies_in_the_middle(flavour: Flavour) {
    let queue = Queue::new(flavour, "dies");
    queue.run("set --backoff 100ms").done();
    queue.fed("push -", &numbers(1, 300));
    // Each process ends at its 50th task, without an answer to that.
    let worker = queue.python(
        "count = globals().get('count', 0) + 1\nif count == 50: os._exit(3)\nlog.write(str(task['object_id']) + '\\n')\nanswer(task)",
    );
    let report = queue.work("--procs 1", ["--json-lines", &worker]);
    assert_eq!((&report["done"], &report["dead"]), (&300.into(), &0.into()), "{report}");
    assert!((1..=10).contains(&report["failed"].as_u64().unwrap()), "{report}");
    let mut ran: Vec<u32> = queue.lines("log").iter().map(|line| line.parse().unwrap()).collect();
    ran.sort_unstable();
    assert_eq!(ran, (1..=300).collect::<Vec<_>>());
}

fn a_task_that_ends_its_workers(flavour: Flavour) {
    let queue = Queue::new(flavour, "poison");
    queue.run("set --max-attempts 3 --backoff 100ms").done();
    queue.fed("push -", &numbers(1, 100));
    let worker = queue.python("if task['object_id'] == 1: os.abort()\nlog.write('x\\n')\nanswer(task)");
    let report = queue.work("--procs 1", ["--json-lines", &worker]);
    assert_eq!((&report["done"], &report["dead"]), (&99.into(), &1.into()), "{report}");
    let dead = queue.sql("SELECT object_id, attempts, error FROM queue_dead");
    assert_eq!(dead, [["1", "3", "the worker that had it ended: ended by signal 6"]]);
}

fn one_that_never_answers(flavour: Flavour) {
    let queue = Queue::new(flavour, "silent");
    queue.run("set --timeout 6s --backoff 0s").done();
    queue.run("push hangs fine").done();
    let worker = queue.python(
        "log.write(f\"{task['object_id']} {os.getpid()}\\n\")\n\
         if task['object_id'] == 'hangs' and task['attempt'] == 1: time.sleep(300)\nanswer(task)",
    );
    let report = queue.work("--procs 1", ["--json-lines", &worker]);
    assert_eq!(
        (&report["done"], &report["failed"], &report["dead"]),
        (&2.into(), &1.into(), &0.into()),
        "{report}"
    );
    let log = queue.sorted("log");
    let hung: Vec<_> = log.iter().filter(|line| line.starts_with("hangs")).collect();
    assert!(hung.len() == 2 && hung[0] != hung[1], "another process: {log:?}");
}

fn one_that_does_not_even_read(flavour: Flavour) {
    let queue = Queue::new(flavour, "deaf");
    queue.run("set --timeout 1s --backoff 0s --max-attempts 1").done();
    queue.sql("INSERT INTO queue_inbox (object_id, payload) VALUES ('large', CONCAT('\"', REPEAT('x', 1000000), '\"'))");
    let report = queue.work("--procs 1", ["--json-lines", "sleep 300"]);
    assert_eq!(report["dead"], 1);
}

fn answers_that_make_no_sense(flavour: Flavour) {
    let queue = Queue::new(flavour, "nonsense");
    queue.run("push 1 2 3").done();
    let hands = ["--json-lines", "while read -r line; do echo 'debug: hello'; done"];
    let output = run(&mut queue.working("--until-empty --procs 2", hands));
    assert_eq!(output.code, Some(2), "{output}");
    for word in ["error: --json-lines: the command ended 5 times", "debug: hello", "hint: ", "lease"] {
        assert!(output.stderr.contains(word), "{word}: {output}");
    }
    assert!(output.stdout.is_empty(), "{output}");
    let left =
        "SELECT (SELECT COUNT(*) FROM queue_later) + (SELECT COALESCE(SUM(tasks - done), 0) FROM queue_lane)";
    assert_eq!(queue.value(left), "3", "none is lost");
}

fn no_such_command(flavour: Flavour) {
    let queue = Queue::new(flavour, "no_command");
    queue.run("push 1 2 3").done();
    let output = run(&mut queue.working("--until-empty", ["--json-lines", "/nonexistent/worker"]));
    assert!(output.code == Some(2) && output.stderr.contains("at last so: exit status 127"), "{output}");
    assert_eq!(queue.value("SELECT COUNT(*) FROM queue_later"), "0", "this is no fault of a task");
    assert_eq!(queue.work("", ["--json-lines", "exec cat"])["done"], 3);
}
