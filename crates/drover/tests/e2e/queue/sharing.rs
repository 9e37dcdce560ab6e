//! Several shepherds on one shard.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use drover_sandbox::Flavour;

use super::Queue;
use crate::client::{Session, value, wait_until};
use crate::drover::{drover, run};
use crate::servers::{on_both, start};

on_both!(one_that_comes_later_gets_half, one_that_is_killed_is_replaced, small_inserts_are_shared);

fn shepherd(place: &str, command: &str) -> Child {
    let mut shepherd = drover(&format!("-q queue work {place} --procs 1 --exec"));
    shepherd.arg(command).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn end(mut shepherd: Child) {
    Command::new("kill").args(["-INT", &shepherd.id().to_string()]).status().unwrap();
    shepherd.wait().unwrap();
}

/// The first one has read all tasks when the second one comes.
fn one_that_comes_later_gets_half(flavour: Flavour) {
    let (server, dir) = (start(flavour, &[]), tempfile::tempdir().unwrap());
    let place = format!("--no-defaults -u root -D jobs -S {}", server.socket().display());
    run(&mut drover(&format!("queue init {place}"))).done();
    let objects: Vec<_> = (0..80).map(|object| object.to_string()).collect();
    run(&mut drover(&format!("queue push {place} {}", objects.join(" ")))).done();
    let log = |name: &str| dir.path().join(name);
    let command = |name: &str| format!("echo $DROVER_OBJECT_ID >> {}; sleep 0.1", log(name).display());
    let lines = |name: &str| fs::read_to_string(log(name)).unwrap_or_default().lines().count();
    let first = shepherd(&place, &command("a"));
    wait_until("the first one works", || lines("a") > 0);
    let second = shepherd(&place, &command("b"));
    let done = || value(&server, "SELECT COALESCE(SUM(done), 0) FROM jobs.queue_count") == "80";
    wait_until("all is done", done);
    end(first);
    end(second);
    let (a, b) = (lines("a"), lines("b"));
    assert_eq!(a + b, 80, "each task once");
    assert!(b >= 20, "the second one did {b} of 80");
}

/// Each task is inserted by itself, and three shepherds are needed for them: each does its part, whoever of them takes them in.
fn small_inserts_are_shared(flavour: Flavour) {
    const TASKS: usize = 300;
    let queue = Queue::new(flavour, "small_inserts");
    let worker = queue.python("log.write('%d\\n' % os.getppid())\ntime.sleep(0.02)\nanswer(task)");
    let start = |_| {
        let mut shepherd = queue.command("work -q --procs 1");
        shepherd.args(["--json-lines", &worker]).stdout(Stdio::null()).stderr(Stdio::null());
        shepherd.spawn().unwrap()
    };
    let shepherds: Vec<_> = (0..3).map(start).collect();
    wait_until("all are there", || queue.value("SELECT COUNT(*) FROM queue_shepherd") == "3");
    let mut client = Session::open(queue.server);
    client.run(&format!("USE {}", queue.schema));
    for object in 0..TASKS {
        client.run(&format!("INSERT INTO queue_inbox (object_id) VALUES ({object})"));
        std::thread::sleep(Duration::from_millis(4));
    }
    wait_until("all have run", || queue.lines("log").len() == TASKS);
    let lines = queue.lines("log");
    let parts: Vec<_> = shepherds
        .iter()
        .map(|shepherd| lines.iter().filter(|line| **line == shepherd.id().to_string()).count())
        .collect();
    shepherds.into_iter().for_each(end);
    assert!(parts.iter().all(|part| *part >= TASKS / 6), "{parts:?}");
}

/// Within ten seconds.
fn one_that_is_killed_is_replaced(flavour: Flavour) {
    let (server, dir) = (start(flavour, &[]), tempfile::tempdir().unwrap());
    let place = format!("--no-defaults -u root -D jobs -S {}", server.socket().display());
    run(&mut drover(&format!("queue init {place}"))).done();
    let log = dir.path().join("log");
    let command = format!("echo $DROVER_OBJECT_ID >> {}", log.display());
    let ran = |object: &str| fs::read_to_string(&log).unwrap_or_default().lines().any(|line| line == object);
    let mut first = shepherd(&place, &command);
    run(&mut drover(&format!("queue push {place} 1"))).done();
    wait_until("the first one has begun", || ran("1"));
    let second = shepherd(&place, &command);
    wait_until("both are there", || value(&server, "SELECT COUNT(*) FROM jobs.queue_shepherd") == "2");
    first.kill().unwrap();
    first.wait().unwrap();
    let killed = Instant::now();
    run(&mut drover(&format!("queue push {place} 2"))).done();
    wait_until("the second one has taken over", || ran("2"));
    assert!(killed.elapsed() < Duration::from_secs(10), "it took {:?}", killed.elapsed());
    end(second);
}
