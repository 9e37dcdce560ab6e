//! Logs that are missing in the middle, come in another order, or are another server's; a replay whose beginning nobody knows, and one
//! of a server onto itself.

use std::path::PathBuf;

use drover_sandbox::{Flavour, Server};

use super::sql::{logged, logs_of};
use crate::chance::{Chance, rounds};
use crate::client::{sql, value, wait_until};
use crate::drover::{drover, drover_on, dump, restore, run};
use crate::servers::{on_both, start, start_unsynced};

on_both!(
    logs_follow_each_other,
    a_storm_of_subsets,
    a_log_cut_anywhere,
    a_server_that_crashed,
    left_out_unread,
    nothing_to_resume,
    nothing_was_applied,
    onto_itself
);

const LOGS: [&str; 2] = ["--log-bin", "--binlog-format=ROW"];

/// Four logs, each with one row.
fn four(source: &Server) -> Vec<PathBuf> {
    sql(source, "CREATE DATABASE d");
    logged(source, || {
        sql(source, "CREATE TABLE d.t (id INT)");
        for id in 1..=4 {
            sql(source, format!("INSERT INTO d.t VALUES ({id}); FLUSH BINARY LOGS"));
        }
    })
}

fn logs_follow_each_other(flavour: Flavour) {
    let (source, target) = (&start_unsynced(flavour, &LOGS), &start_unsynced(flavour, &[]));
    sql(target, "CREATE DATABASE d");
    let logs = four(source);
    let without = |at: usize| [&logs[..at], &logs[at + 1..]].concat();
    let missing = format!("{} is missing", logs[2].file_name().unwrap().display());
    for command in ["binlog replay", "binlog replay --dry-run", "binlog replay --flashback"] {
        run(drover_on(target, command).args(without(2))).refused(&[&missing, "name it too"]);
    }
    run(drover("binlog sql").args(without(2))).refused(&[&missing]);
    let dir = tempfile::tempdir().unwrap();
    run(drover("binlog extract --out").arg(dir.path().join("out")).args(without(2))).refused(&[&missing]);
    let reversed: Vec<_> = logs.iter().rev().cloned().collect();
    run(drover_on(target, "binlog replay").args(&reversed)).refused(&["comes before"]);
    run(drover_on(target, "binlog replay").args([&logs[0], &logs[0]])).refused(&["named twice"]);
    assert_eq!(value(target, "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'd'"), "0");

    // Names say nothing: the logs do.
    let renamed: Vec<_> = [0, 1, 3]
        .iter()
        .zip(["a", "b", "c"])
        .map(|(at, name)| {
            let path = dir.path().join(format!("{name}.{:06}", at + 7));
            std::fs::copy(&logs[*at], &path).unwrap();
            path
        })
        .collect();
    run(drover_on(target, "binlog replay").args(&renamed)).refused(&["is missing"]);
    let other = &start_unsynced(flavour, &["--log-bin", "--server-id=77"]);
    let others = logged(other, || drop(sql(other, "CREATE DATABASE e")));
    let second = logs[1].extension().unwrap().to_string_lossy();
    let foreign = dir.path().join(format!("z.{second}"));
    std::fs::copy(&others[0], &foreign).unwrap();
    run(drover("binlog sql").arg(&logs[0]).arg(&foreign)).refused(&["was begun by server 77"]);
    // Of what came before the gap some was applied by then.
    let applied = value(target, "SELECT GROUP_CONCAT(id ORDER BY id) FROM d.t");
    assert!("1,2".starts_with(&applied), "{applied}");
    sql(target, "DROP TABLE d.t");
    run(drover_on(target, "binlog replay --restart").args(&logs)).done();
    assert_eq!(value(target, "SELECT GROUP_CONCAT(id ORDER BY id) FROM d.t"), "1,2,3,4");
}

/// Logs that are named before the one where to go on are left out unread: none of them may come behind it.
fn left_out_unread(flavour: Flavour) {
    let (source, target) = (&start_unsynced(flavour, &LOGS), &start_unsynced(flavour, &["--skip-log-bin"]));
    let dir = tempfile::tempdir().unwrap();
    let backup = dir.path().join("backup");
    sql(source, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY)");
    let logs = logged(source, || {
        run(&mut dump(source, "d", &backup)).done();
        let then = value(source, "SELECT UNIX_TIMESTAMP()");
        wait_until("another second", || value(source, "SELECT UNIX_TIMESTAMP()") != then);
        for id in 1..=3 {
            sql(source, format!("INSERT INTO d.t VALUES ({id}); FLUSH BINARY LOGS"));
        }
    });
    run(&mut restore(target, &backup, "")).done();
    let from = format!("--from=mysql://root@/?socket={}", source.socket().display());
    let replay = |options: &str, order: &[usize]| {
        let mut command = drover_on(target, &format!("binlog replay {options}"));
        run(command.arg("--after").arg(&backup).args(order.iter().map(|&at| &logs[at])))
    };
    for order in [&[2, 1, 0][..], &[1, 0], &[2, 0, 1]] {
        for dry in ["", "--dry-run"] {
            replay(dry, order).refused(&["is named behind it", "in the order of their numbers"]);
            let mut live = drover_on(target, &format!("binlog replay {dry}"));
            let names = order.iter().map(|&at| logs[at].file_name().unwrap());
            run(live.arg("--after").arg(&backup).arg(&from).args(names)).refused(&["is named behind it"]);
        }
    }
    // Names tell nothing: when they were begun does.
    let copied = dir.path().join("z.000001");
    std::fs::copy(&logs[2], &copied).unwrap();
    let mut renamed = drover_on(target, "binlog replay");
    run(renamed.arg("--after").arg(&backup).arg(&copied).args(&logs[..2]))
        .refused(&["z.000001 was begun after", "in the order in which they were begun"]);
    assert_eq!(value(target, "SELECT COUNT(*) FROM d.t"), "0");
    replay("", &[0, 1]).done();
    replay("--resume", &[2, 1]).refused(&["is named behind it"]);
    replay("--resume", &[0, 1, 2]).done();
    assert_eq!(value(target, "SELECT GROUP_CONCAT(id ORDER BY id) FROM d.t"), "1,2,3");
}

/// A replay of which nothing was applied yet has only its first run's word for where it begins.
fn nothing_was_applied(flavour: Flavour) {
    let (source, target) = (&start_unsynced(flavour, &LOGS), &start_unsynced(flavour, &["--skip-log-bin"]));
    let table = "CREATE DATABASE d; CREATE TABLE d.t (id INT)";
    sql(source, table);
    sql(target, format!("{table}; INSERT INTO d.t VALUES (1)"));
    let logs = logged(source, || {
        sql(source, "INSERT INTO d.t VALUES (1); ALTER TABLE d.t ADD KEY k (id); INSERT INTO d.t VALUES (2)");
    });
    let listed = run(drover("binlog ls --json").arg(&logs[0])).done().json();
    let altered =
        listed["lines"].as_array().unwrap().iter().find(|line| line.to_string().contains("ADD KEY"));
    let start = format!("--start-position {}", altered.unwrap()["position"]);
    let replay = |options: &str| run(drover_on(target, &format!("binlog replay {options}")).args(&logs));
    sql(target, "ALTER TABLE d.t ADD KEY k (id)");
    replay(&start).refused(&["k"]);
    sql(target, "ALTER TABLE d.t DROP KEY k");
    for dry in ["", "--dry-run"] {
        replay(&format!("--resume {dry}")).refused(&[
            "nothing was applied until now",
            &start,
            "hint: begin there again",
        ]);
    }
    replay(&format!("--resume {start}")).done();
    assert_eq!(value(target, "SELECT GROUP_CONCAT(id ORDER BY id) FROM d.t"), "1,2");
    // The same where later logs are named, whatever they are called.
    let (others, empty) = (&start_unsynced(flavour, &LOGS), &start_unsynced(flavour, &["--skip-log-bin"]));
    let four = four(others);
    let by = |options: &str, logs: &[PathBuf]| {
        run(drover_on(empty, &format!("binlog replay {options} --name four")).args(logs))
    };
    sql(empty, "CREATE DATABASE d; CREATE TABLE d.t (id INT)");
    by("", &four).refused(&["exists"]);
    sql(empty, "DROP TABLE d.t");
    let dir = tempfile::tempdir().unwrap();
    let copied = |log: &PathBuf| {
        let copy = dir.path().join(format!("copy-{}", log.file_name().unwrap().display()));
        std::fs::copy(log, &copy).unwrap();
        copy
    };
    let copies: Vec<_> = four.iter().map(copied).collect();
    let first = four[0].file_name().unwrap().to_string_lossy();
    for logs in [&four, &copies] {
        for dry in ["", "--dry-run"] {
            by(&format!("--resume {dry}"), &logs[2..])
                .refused(&["nothing was applied until now", &format!("was to begin with {first}")]);
        }
    }
    by("--resume", &copies).done();
    assert_eq!(value(empty, "SELECT GROUP_CONCAT(id ORDER BY id) FROM d.t"), "1,2,3,4");
    // The same where the first run came to nothing that it was to apply.
    let later = "--name later --start-datetime '2037-01-01'";
    replay(&later.replace('\'', "")).done();
    replay("--name later --resume").refused(&["nothing was applied until now", "--start-datetime 2037"]);
    assert_eq!(value(target, "SELECT COUNT(*) FROM d.t"), "2");
}

/// Any choice of logs, in any order, or copies of some in a directory: all rows of those from the first to the last, or an error, and no
/// row twice.
fn a_storm_of_subsets(flavour: Flavour) {
    let (source, target) = (&start_unsynced(flavour, &LOGS), &start_unsynced(flavour, &[]));
    let logs = four(source);
    let mut chance = Chance::new(flavour as u64);
    for round in 0..rounds(20) {
        let mut chosen: Vec<usize> =
            (0..1 + chance.below(logs.len())).map(|_| chance.below(logs.len())).collect();
        let dir = tempfile::tempdir().unwrap();
        let is_directory = chance.below(2) == 0;
        if is_directory {
            chosen.sort_unstable();
            chosen.dedup();
            for at in &chosen {
                std::fs::copy(&logs[*at], dir.path().join(logs[*at].file_name().unwrap())).unwrap();
            }
        }
        let is_whole = chosen[0] == 0 && chosen.windows(2).all(|pair| pair[1] == pair[0] + 1);
        sql(target, "DROP DATABASE IF EXISTS d; CREATE DATABASE d; CREATE TABLE d.t (id INT)");
        if chosen[0] == 0 {
            sql(target, "DROP TABLE d.t");
        }
        let mut replay = drover_on(target, "binlog replay --restart");
        let replayed = match is_directory {
            // Nothing says what came before the oldest one.
            true => run(replay.arg("--start-position=4").arg(dir.path())),
            false => run(replay.args(chosen.iter().map(|at| &logs[*at]))),
        };
        let follows = chosen.windows(2).all(|pair| pair[1] == pair[0] + 1);
        assert_eq!(
            replayed.code,
            Some(if follows { 0 } else { 2 }),
            "round {round}, {chosen:?}, directory {is_directory}: {replayed}"
        );
        if is_whole {
            let rows = value(target, "SELECT COUNT(*) FROM d.t");
            assert_eq!(rows, chosen.len().min(4).to_string(), "round {round}, {chosen:?}");
        }
    }
}

/// What the server is started with, and whether its logs tell which transactions they begin behind.
pub(super) fn with_and_without_gtids(flavour: Flavour) -> Vec<(Vec<&'static str>, bool)> {
    match flavour {
        Flavour::MariaDb => vec![(LOGS.to_vec(), true)],
        Flavour::MySql => vec![
            ([&LOGS[..], &["--gtid-mode=ON", "--enforce-gtid-consistency=ON"]].concat(), true),
            ([&LOGS[..], &["--gtid-mode=OFF"]].concat(), false),
        ],
    }
}

/// A log in the middle that was in use when it was copied, or whose copy was interrupted, ends before any of its events.
fn a_log_cut_anywhere(flavour: Flavour) {
    let target = &start_unsynced(flavour, &[]);
    for (options, has_gtids) in with_and_without_gtids(flavour) {
        let source = &start_unsynced(flavour, &options);
        let logs = four(source);
        sql(target, "DROP DATABASE IF EXISTS d; CREATE DATABASE d");
        let listed = run(drover("binlog ls --events --json").arg(&logs[2])).done().json();
        let events: Vec<_> = listed["lines"].as_array().unwrap().iter().collect();
        assert_eq!(events.last().unwrap()["event"], "Rotate", "{listed}");
        for event in &events {
            let lacks_the_end_only = event["event"] == "Rotate";
            let (at, is_known) = (event["position"].as_u64().unwrap(), has_gtids && lacks_the_end_only);
            let copy = tempfile::tempdir().unwrap();
            let copies: Vec<_> = logs.iter().map(|log| copy.path().join(log.file_name().unwrap())).collect();
            for (log, path) in logs.iter().zip(&copies) {
                std::fs::copy(log, path).unwrap();
            }
            std::fs::OpenOptions::new().write(true).open(&copies[2]).unwrap().set_len(at).unwrap();
            let name = copies[2].file_name().unwrap().to_str().unwrap();
            let incomplete = format!("{name}: at {at}: the log ends without a Rotate or Stop event");
            for command in ["ls", "ls --events --json", "stat", "cost", "sql", "extract"] {
                let output = run(drover(&format!("binlog {command}")).args(&copies));
                assert_eq!(output.code == Some(2), !is_known, "{command}, cut at {at}: {output}");
                assert_eq!(
                    output.stderr.contains(&incomplete),
                    !is_known,
                    "{command}, cut at {at}: {output}"
                );
            }
            let replay = |options: &str| {
                // Logs came before these.
                let line = format!("binlog replay --start-position 4 {options}");
                run(drover_on(target, &line).arg(copy.path()))
            };
            if is_known {
                replay("--dry-run").done();
                replay("").done();
            } else {
                for dry in ["--dry-run", ""] {
                    replay(dry).refused(&[
                        &incomplete,
                        "copy",
                        if has_gtids { "GTIDs" } else { "--allow-unclosed" },
                    ]);
                }
                assert_eq!(sql(target, "SHOW TABLES FROM d"), [[""; 0]; 0], "cut at {at}");
            }
            if !has_gtids && lacks_the_end_only {
                replay(&format!("--allow-unclosed {}", copies[0].display())).refused(&[&incomplete]);
                replay(&format!("--allow-unclosed {name}")).done();
            }
            if lacks_the_end_only {
                assert_eq!(value(target, "SELECT GROUP_CONCAT(id ORDER BY id) FROM d.t"), "1,2,3,4");
                sql(target, "DROP DATABASE drover");
            }
            // The last one may be in use still.
            run(drover("binlog sql").args(&copies[..3])).done();
        }
    }
}

/// Its last log has no end, and nothing is missing.
fn a_server_that_crashed(flavour: Flavour) {
    for (options, has_gtids) in with_and_without_gtids(flavour) {
        let (mut source, target) = (start(flavour, &options), &start_unsynced(flavour, &[]));
        sql(&source, "CREATE DATABASE d; CREATE TABLE d.t (id INT); INSERT INTO d.t VALUES (1)");
        let crashed = logs_of(&source).pop().unwrap();
        if flavour == Flavour::MariaDb {
            sql(&source, "INSERT INTO d.t VALUES (9)");
        }
        source.kill();
        if flavour == Flavour::MariaDb {
            // It crashed while it wrote this one, within its last event. MySQL cuts off such a one when it starts.
            let log = std::fs::OpenOptions::new().write(true).open(&crashed).unwrap();
            log.set_len(log.metadata().unwrap().len() - 5).unwrap();
            run(drover("binlog sql").arg(&crashed))
                .refused(&["the log ends 26 bytes into a Xid event of 31 bytes"]);
        }
        source.restart().unwrap();
        sql(&source, "INSERT INTO d.t VALUES (2)");
        let logs = logs_of(&source);
        let after_crash = format!("--allow-unclosed {}", crashed.file_name().unwrap().display());
        let options = if has_gtids { "" } else { &after_crash };
        if !has_gtids {
            run(drover_on(target, "binlog replay").args(&logs)).refused(&["no GTIDs", &after_crash]);
        }
        run(drover_on(target, &format!("binlog replay {options}")).args(&logs)).done();
        assert_eq!(value(target, "SELECT GROUP_CONCAT(id ORDER BY id) FROM d.t"), "1,2");
        run(drover(&format!("binlog stat {options}")).args(&logs)).done();
        sql(&source, "INSERT INTO d.t VALUES (3)");
        run(drover_on(target, &format!("binlog replay --resume {options}")).args(&logs)).done();
        assert_eq!(value(target, "SELECT GROUP_CONCAT(id ORDER BY id) FROM d.t"), "1,2,3");
    }
}

/// A replay that would go on where another one ended, under another name, is no new one.
fn nothing_to_resume(flavour: Flavour) {
    let (source, target) = (&start_unsynced(flavour, &LOGS), &start_unsynced(flavour, &["--skip-log-bin"]));
    let logs = logged(source, || {
        drop(sql(source, "CREATE DATABASE d; CREATE TABLE d.t (id INT); INSERT INTO d.t VALUES (1)"));
    });
    for dry in ["", "--dry-run"] {
        run(drover_on(target, &format!("binlog replay --resume {dry}")).args(&logs))
            .refused(&["holds no position of a replay named", "hint: leave out --resume"]);
    }
    run(drover_on(target, "binlog replay --name first").args(&logs)).done();
    run(drover_on(target, "binlog replay --resume").args(&logs)).refused(&["holds no position"]);
    run(drover_on(target, "binlog replay --resume --name first").args(&logs)).done();
    assert_eq!(value(target, "SELECT COUNT(*) FROM d.t"), "1");

    // Logs of another server that are called the same.
    let other = &start_unsynced(flavour, &LOGS);
    let others = logged(other, || drop(sql(other, "CREATE DATABASE lost; CREATE DATABASE lost2")));
    assert_eq!(others[0].file_name(), logs[0].file_name());
    for dry in ["", "--dry-run"] {
        run(drover_on(target, &format!("binlog replay --resume --name first {dry}")).args(&others))
            .refused(&["hint: are these the logs of another server?"]);
    }
    let live = |of: &Server| format!("--name live --from mysql://root@/?socket={}", of.socket().display());
    sql(target, "DROP DATABASE d");
    run(&mut drover_on(target, &format!("binlog replay --restart {}", live(source)))).done();
    run(&mut drover_on(target, &format!("binlog replay --resume {}", live(other))))
        .refused(&["the logs come from the server", "hint: are these the logs of another server?"]);

    // What one run leaves out is not applied by one that goes on behind it.
    sql(target, "DROP DATABASE d");
    run(drover_on(target, "binlog replay --restart --name chosen --database d").args(&logs)).done();
    for other in ["", "--database d --database e", "--table d.t"] {
        run(drover_on(target, &format!("binlog replay --name chosen --resume {other}")).args(&logs))
            .refused(&["of the logs --database \"d\" was applied until now", "--restart"]);
    }
    run(drover_on(target, "binlog replay --name chosen --resume --database d").args(&logs)).done();
}

/// By its socket here and by TCP there.
fn onto_itself(flavour: Flavour) {
    let server = &start_unsynced(flavour, &LOGS);
    sql(
        server,
        "CREATE DATABASE d; CREATE TABLE d.t (id INT); INSERT INTO d.t VALUES (1); CREATE USER far@'%' IDENTIFIED BY 'a-secret'; GRANT ALL ON *.* TO far@'%'",
    );
    let from = format!("mysql://far:a-secret@127.0.0.1:{}/", server.port());
    run(drover_on(server, "binlog replay").args(["--from", &from])).refused(&["the same server"]);
    assert_eq!(value(server, "SELECT COUNT(*) FROM d.t"), "1");
}
