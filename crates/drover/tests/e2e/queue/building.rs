//! Builds: all of them or none, whatever comes between.

use std::fs;

use drover_sandbox::{Flavour, Server};

use super::{Queue, numbers};
use crate::client::{self, Session, sql, wait_until};
use crate::drover::{Running, drover, drover_on, run};
use crate::servers::{on_both, start, target};

on_both!(
    from_a_file_and_from_standard_input,
    from_a_query,
    from_a_query_in_another_character_set,
    a_wrong_line_ends_it_and_is_named,
    killed_and_gone_on_with,
    cancelled,
    beside_live_traffic,
);

/// The objects that are in the queue's segments, those of unpublished builds too.
fn stored(queue: &Queue) -> usize {
    let segments = queue.sql("SELECT segment FROM queue_segment");
    segments
        .iter()
        .map(|row| {
            queue.value(format!("SELECT COUNT(*) FROM queue_segment_{}", row[0])).parse::<usize>().unwrap()
        })
        .sum()
}

/// No worker sees anything of what is not published.
fn sees_nothing(queue: &Queue) {
    let work = Running::start(&mut queue.working("", ["--exec", "exit 1"]));
    std::thread::sleep(std::time::Duration::from_millis(1500));
    work.signal("INT");
    let report = work.finish().done().json();
    assert_eq!((&report["done"], &report["failed"]), (&0.into(), &0.into()), "{report}");
}

fn from_a_file_and_from_standard_input(flavour: Flavour) {
    let queue = Queue::new(flavour, "build");
    let text = format!(
        "{}\n{{\"object_id\": \"é\", \"payload\": {{\"a\": 1}}, \"priority\": 9}}\n",
        numbers(1, 20_000)
    );
    let file = queue.file("tasks", &text);
    let output = run(queue.command("build --kind 3 --job first --json").arg(&file)).done();
    let report = output.json();
    assert_eq!(
        (&report["job"], &report["tasks"], &report["read"]),
        (&"first".into(), &20_001.into(), &20_001.into())
    );
    let (code, said) = queue.fed("build --kind 3 -", &numbers(20_001, 20_100));
    assert!(code == Some(0) && said.contains("100 tasks published"), "{said}");
    run(queue.command("build --kind 3 --job first").arg(&file)).refused(&[
        "'first'",
        "published before",
        "hint: ",
    ]);
    run(queue.command("build --kind 3").arg("/nonexistent/file")).refused(&["/nonexistent/file"]);

    let worker =
        queue.python("log.write(f\"{task['kind']} {task['object_id']} {task['payload']}\\n\")\nanswer(task)");
    let report = queue.work("--procs 2", ["--json-lines", &worker]);
    assert_eq!((&report["done"], &report["failed"]), (&20_101.into(), &0.into()), "{report}");
    let mut expected: Vec<String> = (1..=20_100).map(|number| format!("3 {number} None")).collect();
    expected.push("3 é {'a': 1}".into());
    expected.sort();
    assert!(queue.sorted("log") == expected);
}

fn from_a_query(flavour: Flavour) {
    let queue = Queue::new(flavour, "build_from_query");
    let source = target(flavour);
    let refused = "mysql://nobody:secret@/?socket=/nonexistent";
    sql(
        source,
        "DROP DATABASE IF EXISTS queue_source; CREATE DATABASE queue_source; CREATE TABLE queue_source.t (id BIGINT PRIMARY KEY, p TEXT); \
         INSERT INTO queue_source.t VALUES (1, NULL), (-2, '{\"a\": [1]}'), (3, 'no json')",
    );
    let url = format!("mysql://root@/queue_source?socket={}", source.socket().display());
    let build = |query: &str, url: &str| {
        let mut command = queue.command("build --kind 1");
        run(command.args(["--from-query", query, "--source", url]))
    };
    build("SELECT id, p FROM t", &url).done();
    let worker = queue.python("log.write(f\"{task['object_id']} {task['payload']}\\n\")\nanswer(task)");
    assert_eq!(queue.work("", ["--json-lines", &worker])["done"], 3);
    assert_eq!(queue.sorted("log"), ["-2 {'a': [1]}", "1 None", "3 no json"]);
    build("SELECT 1, 2, 3", &url).refused(&["--from-query", "3 columns", "hint: "]);
    build("SELECT NULL", &url).refused(&["--from-query", "row 1", "NULL"]);
    build("SELECT x FROM t", &url).refused(&["--from-query", "x"]);
    build("SELECT 1", refused).refused(&["/nonexistent"]);
}

/// The server gives sessions a character set of its own: what is asked for comes in UTF-8 all the same.
fn from_a_query_in_another_character_set(flavour: Flavour) {
    let queue = Queue::new(flavour, "build_in_latin1");
    let source = start(flavour, &["--init-connect=SET NAMES latin1"]);
    let script = "SET NAMES utf8mb4; CREATE DATABASE q CHARACTER SET utf8mb4; CREATE TABLE q.t (id INT PRIMARY KEY, v TEXT);
        INSERT INTO q.t VALUES (1, 'é'), (2, '日'), (3, 'a');
        CREATE USER reader@localhost IDENTIFIED BY 'secret'; GRANT SELECT ON q.* TO reader@localhost";
    client::run_script(&source, None, script.as_bytes()).unwrap();
    let url = format!("mysql://reader:secret@/q?socket={}", source.socket().display());
    let query = "SELECT id, CONCAT(v, 'é日') FROM t WHERE v IN ('é', '日')";
    run(queue.command("build --kind 1").args(["--from-query", query, "--source", &url])).done();
    let worker = queue.python("log.write(f\"{task['object_id']} {task['payload']}\\n\")\nanswer(task)");
    assert_eq!(queue.work("", ["--json-lines", &worker])["done"], 2);
    assert_eq!(queue.sorted("log"), ["1 éé日", "2 日é日"]);
}

fn a_wrong_line_ends_it_and_is_named(flavour: Flavour) {
    let queue = Queue::new(flavour, "build_wrong_line");
    let (code, said) =
        queue.fed("build --job wrong -", &format!("{}{{\"object_id\": 1.5}}\n", numbers(1, 5000)));
    assert!(
        code == Some(2) && said.contains("standard input: line 5001: ") && said.contains("whole number"),
        "{said}"
    );
    sees_nothing(&queue);
    for (line, word) in [("\"kind\": 7", "kind"), ("\"not_before\": \"2026-01-01T00:00:00Z\"", "not_before")]
    {
        let (code, said) = queue.fed("build --kind 6 -", &format!("1\n{{\"object_id\": 1, {line}}}\n"));
        assert!(
            code == Some(2) && said.contains("standard input: line 2: ") && said.contains(word),
            "{said}"
        );
    }
    // The same job goes on, once the line is right.
    let (code, said) = queue.fed("build --job wrong -", &numbers(1, 5001));
    assert!(code == Some(0), "{said}");
    assert_eq!(queue.work("", ["--json-lines", "exec cat"])["done"], 5001);
}

fn killed_and_gone_on_with(flavour: Flavour) {
    const TASKS: u32 = 400_000;
    let queue = Queue::new(flavour, "build_killed");
    let file = queue.file("tasks", &numbers(1, TASKS));
    let mut seen = 0;
    for _ in 0..3 {
        let mut build = Running::start(queue.command("build --job large --kind 1 --no-pauses").arg(&file));
        let position = "SELECT COALESCE(MAX(tasks), 0) FROM queue_build WHERE job = 'large'";
        build.freeze_when("more was stored", || queue.value(position).parse::<u32>().unwrap() > seen);
        build.signal("KILL");
        drop(build);
        seen = queue.value(position).parse().unwrap();
        assert!((1..TASKS).contains(&seen), "{seen}");
        sees_nothing(&queue);
    }
    let report = run(queue.command("build --job large --kind 1 --no-pauses --json").arg(&file)).done().json();
    assert_eq!((&report["tasks"], &report["read"]), (&TASKS.into(), &TASKS.into()), "{report}");
    let worker = queue.python("log.write(str(task['object_id']) + '\\n')\nanswer(task)");
    assert_eq!(queue.work("--procs 2", ["--json-lines", &worker])["done"], TASKS);
    let mut ran: Vec<u32> = queue.lines("log").iter().map(|line| line.parse().unwrap()).collect();
    ran.sort_unstable();
    assert!(ran == (1..=TASKS).collect::<Vec<_>>(), "each of them, and each once");
    let misnamed = run(queue.command("build --kind 2").args(["--job", "né"]).arg(&file));
    misnamed.refused(&["'né'", "hint: ", "ASCII"]);
    let other = run(queue.command("build --job large --kind 2").arg(&file));
    other.refused(&["'large'", "kind 1", "hint: "]);
}

fn cancelled(flavour: Flavour) {
    let queue = Queue::new(flavour, "build_cancelled");
    let tables = || {
        queue.sql(
            "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() ORDER BY 1",
        )
    };
    let before = tables();
    let (code, _) = queue.fed("build --job off -", &format!("{}\n{{}}\n", numbers(1, 5000)));
    assert_eq!((code, stored(&queue)), (Some(2), 5000));
    queue.run("build --cancel --job other").refused(&["'other'"]);
    queue.run("build --cancel --job off").done();
    assert_eq!(tables(), before);
    assert_eq!(queue.value("SELECT COUNT(*) FROM queue_lane WHERE lane > 0"), "0");
    assert_eq!(queue.value("SELECT COUNT(*) FROM queue_segment"), "0");
    let file = queue.file("tasks", "1\n");
    run(queue.command("build --job off").arg(&file)).refused(&["'off'", "cancelled", "hint: "]);
    // One that is at work hears of it.
    fs::write(&file, numbers(1, 2_000_000)).unwrap();
    let mut build = Running::start(queue.command("build --job running").arg(&file));
    wait_until("it is at work", || {
        assert!(!build.has_ended(), "use more tasks");
        queue.value("SELECT COALESCE(MAX(tasks), 0) FROM queue_build WHERE state = 'loading'") != "0"
    });
    queue.run("build --cancel --job running").done();
    build.finish().refused(&["build 'running' was cancelled"]);
    assert_eq!(tables(), before);
    assert_eq!(queue.value("SELECT COUNT(*) FROM queue_segment"), "0");
}

/// What a server counts of those who waited for one another.
fn conflicts(server: &Server) -> client::Rows {
    let metrics = "'lock_deadlocks', 'lock_timeouts'";
    let is_counted = match server.flavour() {
        Flavour::MariaDb => "ENABLED = 1",
        Flavour::MySql => "STATUS = 'enabled'",
    };
    sql(
        server,
        format!(
            "SELECT NAME, COUNT FROM information_schema.INNODB_METRICS WHERE {is_counted} AND NAME IN ({metrics}) ORDER BY 1"
        ),
    )
}

/// Live tasks are put in and done while it goes on, by themselves, and nobody is in anybody's way. How long they take is measured
/// by `benchmarks/queue`.
fn beside_live_traffic(flavour: Flavour) {
    const TASKS: u32 = 300_000;
    let server = start(flavour, &["--log-bin=bl", "--binlog-format=ROW"]);
    let dir = tempfile::tempdir().unwrap();
    let before = conflicts(&server);
    assert_eq!(before.len(), 2, "{before:?}");
    run(&mut drover_on(&server, "queue init -D jobs")).done();
    // On MySQL it is told that sessions that write the redo log by themselves have others wait.
    let is_mysql = flavour == Flavour::MySql;
    if is_mysql {
        sql(&server, "SET GLOBAL innodb_log_writer_threads = OFF");
    }
    let mut worker = drover_on(&server, "queue work -D jobs --procs 2 --json");
    let worker = Running::start(worker.args(["--json-lines", "cat"]));
    let file = dir.path().join("tasks");
    fs::write(&file, numbers(1, TASKS)).unwrap();
    let mut build = Running::start(drover_on(&server, "queue build -D jobs --kind 16 --json").arg(&file));
    let mut live = Session::open(&server);
    live.run("USE jobs");
    let mut pushed = 0;
    while !build.has_ended() {
        pushed += 1;
        live.run(&format!("INSERT INTO queue_inbox (kind, object_id) VALUES (1, {pushed})"));
        if pushed == 50 {
            wait_until("live tasks are done before the build is", || done(&server, 1) >= 50);
            assert_eq!(done(&server, 16), 0);
        }
        std::thread::sleep(std::time::Duration::from_millis(16));
    }
    assert!(pushed > 50, "the build took no time");
    let built = build.finish().done();
    assert_eq!(built.json()["tasks"], TASKS);
    assert_eq!(built.stderr.contains("innodb_log_writer_threads is OFF"), is_mysql, "{built}");
    wait_until("all is done", || done(&server, 1) == pushed && done(&server, 16) == u64::from(TASKS));
    worker.signal("INT");
    worker.finish().done();
    assert_eq!(conflicts(&server), before);
    let mut stat = drover("--json binlog stat");
    let stat = run(stat.arg(client::value(&server, "SELECT @@datadir"))).done().json();
    let largest = stat["largest"].as_array().unwrap().iter().map(|one| one["bytes"].as_u64().unwrap()).max();
    assert!(largest.unwrap() < 1_000_000, "{largest:?}");
}

fn done(server: &Server, kind: u32) -> u64 {
    client::value(server, format!("SELECT COALESCE(SUM(done), 0) FROM jobs.queue_count WHERE kind = {kind}"))
        .parse()
        .unwrap()
}
