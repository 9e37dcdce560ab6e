//! A queue on two servers, one of which is stopped.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use drover_sandbox::{Flavour, Server};

use super::{Queue, numbers, sharded};
use crate::client::{sql, value, wait_until};
use crate::drover::{Running, drover, run};
use crate::servers::{on_both, start};

on_both!(
    one_goes_on_without_the_other,
    files_that_name_no_shards,
    a_file_that_others_may_read,
    tables_that_are_named_twice,
);

fn url(server: &Server, schema: &str) -> String {
    format!("mysql://root@/{schema}?socket={}", server.socket().display())
}

/// One server has many names.
fn tables_that_are_named_twice(flavour: Flavour) {
    let queue = Queue::new(flavour, "named_twice");
    let link = queue.dir.path().join("link");
    symlink(queue.server.socket(), &link).unwrap();
    let url = url(queue.server, &queue.schema);
    let other = url.replace(&queue.server.socket().display().to_string(), &link.display().to_string());
    let file = queue.file(
        "shards.toml",
        &format!("[[shard]]\nname = \"a\"\nurl = \"{url}\"\n[[shard]]\nname = \"b\"\nurl = \"{other}\"\n"),
    );
    let tasks = queue.file("tasks", &numbers(1, 100));
    let build = format!("build --job all {}", tasks.display());
    for line in [
        "init",
        "push 1 2 3 4 5 6 7 8",
        &build,
        "stat",
        "dead",
        "dead drop --all",
        "schedule list",
        "work --until-empty --exec true",
    ] {
        run(&mut sharded(&file, line)).refused(&["are the same tables", "'a'", "'b'", "hint: "]);
    }
    for table in ["queue_inbox", "queue_build", "queue_shepherd", "queue_lane WHERE lane > 0"] {
        assert_eq!(queue.value(format!("SELECT COUNT(*) FROM {table}")), "0", "{table}");
    }
}

/// A warning says so if it holds a password.
fn a_file_that_others_may_read(flavour: Flavour) {
    let queue = Queue::new(flavour, "shards_mode");
    run(&mut queue.command("init")).done();
    let user = "shards_mode";
    sql(
        queue.server,
        format!("CREATE USER {user}@localhost IDENTIFIED BY 'hunter2'; GRANT ALL ON *.* TO {user}@localhost"),
    );
    let stat = |account: &str, mode: u32| {
        let url = url(queue.server, &queue.schema).replace("root", account);
        let file = queue.file("shards.toml", &format!("[[shard]]\nname = \"a\"\nurl = \"{url}\"\n"));
        std::fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
        let output = run(&mut sharded(&file, "stat")).done();
        assert!(!format!("{}{}", output.stdout, output.stderr).contains("hunter2"), "{output}");
        let hint = format!("(mode {mode:04o}): chmod 600 {}", file.display());
        output.stderr.contains("others may read its passwords") && output.stderr.contains(&hint)
    };
    let account = format!("{user}:hunter2");
    assert!(stat(&account, 0o644) && stat(&account, 0o640));
    assert!(!stat(&account, 0o600) && !stat("root", 0o644));
    sql(queue.server, format!("DROP USER {user}@localhost"));
}

fn one_goes_on_without_the_other(flavour: Flavour) {
    let queue = Queue::new(flavour, "shards");
    let mut other = start(flavour, &[]);
    let text = format!(
        "[[shard]]\nname = \"here\"\nurl = \"{}\"\n[[shard]]\nname = \"there\"\nurl = \"{}\"\n",
        url(queue.server, &queue.schema),
        url(&other, "elsewhere"),
    );
    let file = queue.file("shards.toml", &text);
    let command = |line: &str| {
        let mut command = drover(&format!("queue {line} --no-defaults --shards"));
        command.arg(&file);
        command
    };
    run(&mut command("init")).done();
    let tasks = queue.file("tasks", &numbers(1, 2000));
    run(command("build --job all").arg(tasks)).done();
    run(&mut command("push a b c d e f g h i j k l")).done();
    // By the object: both have a share, and none has all.
    let inbox = value(&other, "SELECT COUNT(*) FROM elsewhere.queue_inbox").parse::<u32>().unwrap();
    assert_eq!(queue.value("SELECT COUNT(*) FROM queue_inbox").parse::<u32>().unwrap() + inbox, 12);
    assert!((1..12).contains(&inbox), "{inbox}");
    let share = |text: String| text.parse::<u32>().unwrap();
    let there = share(value(&other, "SELECT SUM(tasks) FROM elsewhere.queue_lane"));
    let here = share(queue.value("SELECT SUM(tasks) FROM queue_lane"));
    assert!(here + there == 2000 && (800..1200).contains(&there), "{here} {there}");

    other.stop();
    let stat = run(&mut command("stat --json"));
    assert_eq!(stat.code, Some(1), "{stat}");
    assert!(
        stat.json()["shards"][1]["error"].is_string() && stat.json()["shards"][0]["error"].is_null(),
        "{stat}"
    );
    run(&mut command("stat")).found(&["shard here", "shard there", "not reached"]);

    let log = queue.dir.path().join("log");
    let worker = queue.python("log.write(str(task['object_id']) + '\\n')\nanswer(task)");
    let mut work = command("work --json");
    let mut work = Running::start(work.args(["--json-lines", &worker]));
    work.wait_for("shard there");
    let of_here = (here + 12 - inbox) as usize;
    wait_until("the shard that is there was worked off", || {
        !work.has_ended() && queue.lines("log").len() == of_here
    });
    other.restart().unwrap();
    wait_until("the other one too", || !work.has_ended() && queue.lines("log").len() == 2012);
    wait_until("it was acknowledged", || value(&other, "SELECT SUM(tasks) FROM elsewhere.queue_lane") == "0");
    work.signal("INT");
    assert_eq!(work.finish().done().json()["done"], 2012);
    let mut ran = queue.sorted("log");
    ran.dedup();
    assert_eq!(ran.len(), 2012, "{log:?}");

    // One that is drained takes no more, and is worked off.
    std::fs::write(&file, text.replace("name = \"there\"", "name = \"there\"\ndrain = true")).unwrap();
    run(&mut command("push 1 2 3 4 5 6 7 8 9")).done();
    assert_eq!(value(&other, "SELECT COUNT(*) FROM elsewhere.queue_inbox"), "0");
    std::fs::write(&file, text.replace("\nurl", "\ndrain = true\nurl")).unwrap();
    run(&mut command("push 1")).refused(&["all shards are being drained", "hint: "]);
    sql(&other, "DROP DATABASE elsewhere");
    run(&mut command("dead")).refused(&["shard there"]);
}

fn files_that_name_no_shards(flavour: Flavour) {
    let queue = Queue::new(flavour, "shard_files");
    let try_with = |text: &str| {
        let file = queue.file("shards.toml", text);
        run(drover("queue stat --no-defaults --shards").arg(file))
    };
    for (text, word) in [
        ("", "shard"),
        ("shard = []", "names no shard"),
        ("[[shard]]\nname = \"a\"\n", "url"),
        ("[[shard]]\nname = \"a\"\nurl = \"mysql://u:secret@h/s\"\nport = 5\n", "port"),
        ("[[shard]]\nname = \"a\"\nurl = \"mysql://u:secret@h:x/s\"\n", "shard 'a'"),
        ("[[shard]]\nname = \"a\"\ndrain = \"mysql://u:secret@h/s\"\n", "line 3"),
        ("[[shard]]\nname = \"\"\nurl = \"mysql://u:secret@h/s\"\n", "name of its own"),
    ] {
        let output = try_with(text).refused(&["shards.toml", word]);
        assert!(!output.stderr.contains("secret"), "{output}");
    }
    run(&mut drover("queue stat --no-defaults --shards /nonexistent/file")).refused(&["/nonexistent/file"]);
}
