//! Tasks on their way in, by the command and by statements of anybody's.

use drover_sandbox::Flavour;

use super::Queue;
use crate::client::{Session, wait_until};
use crate::drover::Running;
use crate::servers::on_both;

on_both!(
    numbers_and_texts,
    lines_from_standard_input,
    a_wrong_line_is_named,
    the_highest_priority_is_first,
    not_before_its_time,
    statements_of_anybodys,
    a_transaction_that_commits_late,
    one_of_an_object_at_a_time,
);

fn numbers_and_texts(flavour: Flavour) {
    let queue = Queue::new(flavour, "objects");
    let mut push = queue.command("push --kind 3 --tenant acme");
    push.args([
        "--payload",
        r#"{"to": ["a'b\\", "日本"]}"#,
        "--",
        "7",
        "-7",
        "user:7",
        "o'neill \\ \"x\" 日本",
        "007",
    ]);
    let output = crate::drover::run(&mut push).done();
    assert!(output.stdout.contains("5 tasks pushed"), "{output}");
    let worker = queue.python("log.write(line)\nanswer(task)");
    let report = queue.work("", ["--json-lines", &worker]);
    assert_eq!((&report["done"], &report["failed"]), (&5.into(), &0.into()), "{report}");
    let mut tasks: Vec<serde_json::Value> =
        queue.lines("log").iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    tasks.sort_by_key(|task| task["id"].as_u64());
    let objects: Vec<_> = tasks.iter().map(|task| task["object_id"].clone()).collect();
    let expected = serde_json::json!([7, -7, "user:7", "o'neill \\ \"x\" 日本", "007"]);
    assert_eq!(serde_json::Value::from(objects), expected);
    for task in tasks {
        assert_eq!(task["payload"], serde_json::json!({"to": ["a'b\\", "日本"]}));
        assert_eq!(
            (&task["kind"], &task["attempt"], &task["tenant"]),
            (&3.into(), &1.into(), &"acme".into())
        );
    }
    queue.run("push --payload {a} 1").refused_by_arguments("no JSON");
}

impl crate::drover::Output {
    /// Its arguments were not taken.
    fn refused_by_arguments(self, word: &str) {
        assert!(self.code == Some(2) && self.stderr.contains(word), "{self}");
    }
}

fn lines_from_standard_input(flavour: Flavour) {
    let queue = Queue::new(flavour, "lines");
    let input = "1\n\n two words \n{\"object_id\": 3, \"kind\": 9, \"priority\": -1, \"tenant\": \"t\", \"payload\": {\"a\": null}}\n";
    let (code, said) = queue.fed("push --kind 4 --json -", input);
    assert_eq!((code, said.trim()), (Some(0), "{\n  \"pushed\": 3\n}"));
    let rows = queue.sql("SELECT kind, object_id, priority, tenant, payload FROM queue_inbox ORDER BY id");
    let expected = [
        ["4", "1", "0", "", "NULL"],
        ["4", "two words", "0", "", "NULL"],
        ["9", "3", "-1", "t", "{\"a\": null}"],
    ];
    assert_eq!(rows, expected);
}

fn a_wrong_line_is_named(flavour: Flavour) {
    let queue = Queue::new(flavour, "wrong_lines");
    for (line, word) in
        [("{\"object\": 1}", "object"), ("{\"object_id\": 1", "EOF"), (&"x".repeat(191), "190")]
    {
        let (code, said) = queue.fed("push -", &format!("1\n\n{line}\n2\n"));
        assert!(
            code == Some(2) && said.contains("standard input: line 3: ") && said.contains(word),
            "{said}"
        );
    }
}

fn the_highest_priority_is_first(flavour: Flavour) {
    let queue = Queue::new(flavour, "priorities");
    let hands = queue.at("echo $DROVER_OBJECT_ID >> @/log; while [ -e @/held ]; do sleep 0.1; done");
    let held = queue.file("held", "");
    queue.run("push zero").done();
    let mut work = Running::start(&mut queue.working("--procs 1", ["--exec", &hands]));
    wait_until("one runs", || !work.has_ended() && queue.lines("log").len() == 1);
    queue.run("push --priority -5 last").done();
    queue.run("push middle").done();
    queue.run("push --priority 5 first").done();
    wait_until("all were taken in", || queue.value("SELECT COUNT(*) FROM queue_inbox") == "0");
    std::thread::sleep(std::time::Duration::from_millis(500));
    std::fs::remove_file(held).unwrap();
    wait_until("all ran", || queue.lines("log").len() == 4);
    work.signal("INT");
    work.finish().done();
    assert_eq!(queue.lines("log"), ["zero", "first", "middle", "last"]);
}

fn not_before_its_time(flavour: Flavour) {
    let queue = Queue::new(flavour, "times");
    queue.run("push --not-before 3s soon").done();
    queue.run("push --not-before 1d tomorrow").done();
    queue.run("push --not-before 2000-01-01T00:00:00Z now").done();
    queue.run("push --not-before sometime 1").refused(&["sometime"]);
    let hands = queue.at("date +%s.%N >> @/$DROVER_OBJECT_ID");
    let mut work = Running::start(&mut queue.working("", ["--exec", &hands]));
    wait_until("the later one ran", || !work.has_ended() && !queue.lines("soon").is_empty());
    let time = |name| queue.lines(name)[0].parse::<f64>().unwrap();
    assert!(time("soon") - time("now") > 1.0, "{} {}", time("soon"), time("now"));
    work.signal("INT");
    work.finish().done();
    assert_eq!(queue.lines("tomorrow").len(), 0);
    assert_eq!(queue.sql("SELECT object_id, attempts FROM queue_later"), [["tomorrow", "0"]]);
}

fn statements_of_anybodys(flavour: Flavour) {
    let queue = Queue::new(flavour, "statements");
    let hands = queue.at("echo $DROVER_OBJECT_ID >> @/log");
    queue.sql(
        "START TRANSACTION; INSERT INTO queue_inbox (object_id) VALUES ('never'); ROLLBACK; \
         START TRANSACTION; INSERT INTO queue_inbox (object_id) VALUES ('a'), ('b'); COMMIT; \
         INSERT INTO queue_inbox (object_id, payload, kind) SELECT 100 + kind, NULL, 7 FROM queue_lane",
    );
    assert_eq!(queue.work("", ["--exec", &hands])["done"], 3);
    assert_eq!(queue.sorted("log"), ["100", "a", "b"]);
}

fn a_transaction_that_commits_late(flavour: Flavour) {
    let queue = Queue::new(flavour, "late");
    let hands = queue.at("echo $DROVER_OBJECT_ID >> @/log");
    let mut work = Running::start(&mut queue.working("", ["--exec", &hands]));
    let mut late = Session::open(queue.server);
    late.run(&format!("USE {}", queue.schema));
    late.run("START TRANSACTION");
    late.run("INSERT INTO queue_inbox (object_id) VALUES ('late')");
    for number in 0..6 {
        queue.run(&format!("push {number}")).done();
        std::thread::sleep(std::time::Duration::from_secs(1));
    }
    wait_until("the others ran", || queue.lines("log").len() == 6);
    late.run("COMMIT");
    wait_until("the late one ran", || !work.has_ended() && queue.lines("log").len() == 7);
    assert_eq!(queue.sorted("log"), ["0", "1", "2", "3", "4", "5", "late"]);
    work.signal("TERM");
    work.finish().done();
}

fn one_of_an_object_at_a_time(flavour: Flavour) {
    let queue = Queue::new(flavour, "unique");
    queue.run("set --kind 5 --unique yes").done();
    queue.run("push --kind 5 a a b").done();
    queue.run("push --kind 5 a").done();
    queue.run("push --kind 6 a a").done(); // other kinds are not meant
    let hands = queue.at("echo $DROVER_KIND $DROVER_OBJECT_ID >> @/log");
    queue.work("", ["--exec", &hands]);
    assert_eq!(queue.sorted("log"), ["5 a", "5 b", "6 a", "6 a"]);
    queue.run("push --kind 5 a").done();
    queue.work("", ["--exec", &hands]);
    assert_eq!(queue.sorted("log"), ["5 a", "5 a", "5 b", "6 a", "6 a"]);
    let stat = queue.run("stat --json").done().json();
    assert_eq!((&stat["kinds"][0]["kind"], &stat["kinds"][0]["merged"]), (&5.into(), &2.into()), "{stat}");
}
