//! What `queue stat` tells.

use drover_sandbox::Flavour;

use super::{Queue, numbers};
use crate::client::wait_until;
use crate::drover::{Running, run};
use crate::servers::on_both;

on_both!(what_there_is, what_is_paused_is_never_drained, what_is_dead_is_told_once_and_when);

/// A rate that is of before says nothing of what waits now.
fn what_is_paused_is_never_drained(flavour: Flavour) {
    let queue = Queue::new(flavour, "stat_of_paused");
    queue.run("push --kind 5 a b c").done();
    assert_eq!(queue.work("", ["--json-lines", "cat"])["done"], 3);
    queue.run("pause --kind 5").done();
    queue.run("push --kind 5 d e").done();
    queue.run("push --kind 6 f").done();
    assert_eq!(queue.work("", ["--json-lines", "cat"])["done"], 1);
    let stat = queue.run("stat --json").done().json();
    let [five, six] = &**stat["kinds"].as_array().unwrap() else { panic!("{stat}") };
    assert_eq!((&five["is_paused"], &six["is_paused"]), (&true.into(), &false.into()), "{stat}");
    assert_eq!(five["waiting"], 2, "{stat}");
    assert!(five["rate"].as_f64().unwrap() > 0.0 && five.get("eta_seconds").is_none(), "{stat}");
    let text = queue.run("stat").done().stdout;
    assert!(text.lines().any(|line| line.trim().starts_with("5 ") && line.ends_with("paused")), "{text}");
    assert!(queue.run("drain --json").done().json().get("eta_seconds").is_none());
}

/// One fails twice and dies, another one fails once.
fn what_is_dead_is_told_once_and_when(flavour: Flavour) {
    let queue = Queue::new(flavour, "stat_of_dead");
    queue.run("set --max-attempts 2 --backoff 0s").done();
    queue.run("push dies fails").done();
    let hands = "[ $DROVER_OBJECT_ID = fails ] && [ $DROVER_ATTEMPT = 2 ]";
    let worked = run(queue.command("work --until-empty").args(["--exec", hands]));
    assert_eq!(worked.code, Some(1), "{worked}");
    for line in ["1 task done", "2 failed and are tried again", "1 failed for the last time"] {
        assert!(worked.stdout.lines().any(|told| told.starts_with(line)), "{line}: {worked}");
    }
    let died = queue.value(
        "SELECT DATE_FORMAT(CONVERT_TZ(died, @@time_zone, '+00:00'), '%Y-%m-%dT%H:%i:%s') FROM queue_dead",
    );
    let listed = queue.run("dead --json").json()[0]["died"].as_str().unwrap().to_owned();
    assert!(
        listed.starts_with(&died) && listed.len() == died.len() + 5 && listed.ends_with('Z'),
        "{listed} {died}"
    );
    let text = queue.run("dead").stdout;
    assert!(text.contains(&format!("died {listed}")), "{text}");
}

fn what_there_is(flavour: Flavour) {
    let queue = Queue::new(flavour, "stat");
    queue.run("set --max-attempts 1").done();
    queue.fed("push --kind 2 -", &numbers(1, 30));
    let before = queue.run("stat --json").done().json();
    assert_eq!(
        (&before["shards"][0]["inbox"], &before["shards"][0]["inbox_is_estimate"]),
        (&30.into(), &false.into())
    );
    assert!(queue.run("stat").done().stdout.contains("30 tasks that no shepherd has taken yet"));

    queue.run("push --kind 3 --not-before 1d x y").done();
    let hands = "test $DROVER_OBJECT_ID != 7";
    let report = queue.work("--procs 2 --name jane", ["--exec", hands]);
    assert_eq!(
        (&report["done"], &report["failed"], &report["dead"]),
        (&29.into(), &1.into(), &1.into()),
        "{report}"
    );
    queue.fed("push --kind 2 -", &numbers(1, 5));
    let mut work = Running::start(&mut queue.working("--procs 2 --name jane", ["--exec", "sleep 300"]));
    wait_until("two run", || {
        !work.has_ended() && queue.value("SELECT COALESCE(MAX(running), 0) FROM queue_shepherd") == "2"
    });
    queue.fed("build --kind 4 --job loading -", &format!("{}\n{{}}\n", numbers(1, 3000)));

    let stat = queue.run("stat --json").done().json();
    let kind = |kind: u64| {
        stat["kinds"].as_array().unwrap().iter().find(|stat| stat["kind"] == kind).unwrap().clone()
    };
    let two = kind(2);
    for (field, expected) in
        [("waiting", 5), ("later", 0), ("dead", 1), ("done", 29), ("failed", 1), ("merged", 0)]
    {
        assert_eq!(two[field], expected, "{field}: {stat}");
    }
    assert!(two["rate"].as_f64().unwrap() > 0.0 && two["eta_seconds"].as_f64().unwrap() > 0.0, "{stat}");
    assert!(
        two["run_us"]["p99"].as_u64() >= two["run_us"]["p50"].as_u64() && two["wait_ms"]["p50"].is_u64(),
        "{stat}"
    );
    assert_eq!((&kind(3)["later"], &kind(3)["waiting"]), (&2.into(), &0.into()));
    let shard = &stat["shards"][0];
    let jane = &shard["shepherds"][0];
    assert_eq!(
        (&jane["name"], &jane["workers"], &jane["running"]),
        (&"jane".into(), &2.into(), &2.into()),
        "{stat}"
    );
    assert_eq!(jane["is_late"], false);
    let build = &shard["builds"][0];
    assert_eq!(
        (&build["job"], &build["state"], &build["tasks"]),
        (&"loading".into(), &"loading".into(), &3000.into())
    );

    let text = queue.run("stat").done().stdout;
    for word in ["jane", "2 of 2 workers busy", "build 'loading' of kind 4: 3,000 tasks stored"] {
        assert!(text.contains(word), "{word}: {text}");
    }
}
