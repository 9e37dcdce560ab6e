//! What of the logs the target has already, whoever put it there.

use std::fs;

use drover_sandbox::{Cluster, Flavour, StartOptions, Topology};

use super::origin::{LOGS, TABLE, assert_untouched, copies, from, insert, rows, with_gtids, with_input};
use super::sql::{logged, logs_of};
use crate::client::{Session, sql, try_sql, value, wait_until};
use crate::drover::{Running, copy, drover, drover_on, dump, restore, run};
use crate::files::manifest;
use crate::servers::{on_both, start_unsynced};
use crate::throttle::replica_with;

on_both!(
    under_another_name,
    what_the_target_wrote,
    what_a_replica_has,
    what_a_replica_logged,
    transactions_that_come_later,
    two_at_once,
    filled_anew,
    filled_by_who_sees_no_replay,
    filled_within_the_second_of_a_kill,
    from_before_a_dump,
    refused_is_not_done,
    not_as_the_dump_says,
);

/// What was applied from a log is not applied again, whatever the file and the replay are called.
fn under_another_name(flavour: Flavour) {
    let (source, target) = (&start_unsynced(flavour, &LOGS), &start_unsynced(flavour, &["--skip-log-bin"]));
    let dir = tempfile::tempdir().unwrap();
    for server in [source, target] {
        sql(server, TABLE);
        sql(server, "CREATE DATABASE e; CREATE TABLE e.t (id INT)");
    }
    let logs = logged(source, || {
        insert(source, 1..=2);
        sql(source, "INSERT INTO e.t VALUES (1)");
    });
    let copied = copies(&logs, &dir.path().join("logs"));
    let renamed = dir.path().join("other-name.000001");
    fs::copy(&logs[0], &renamed).unwrap();
    let start = ["--start-position=4"];
    run(drover_on(target, "binlog replay --name first").args(start).arg(&copied)).done();
    let words =
        ["the replay named 'first' has applied this already", "hint: --resume --name first", "--restart"];
    for dry in ["", "--dry-run"] {
        for (log, options) in
            [(&logs[0], ""), (&renamed, ""), (&logs[0], "--name third"), (&logs[0], "--table d.t")]
        {
            run(drover_on(target, &format!("binlog replay {options} {dry}")).arg(log)).refused(&words);
        }
        let piped = drover_on(target, &format!("binlog replay {dry} -"));
        run(&mut with_input(&piped, &logs[0])).refused(&words);
        run(drover_on(target, &format!("binlog replay {dry}"))
            .args(["--from", &from(source)])
            .arg(logs[0].file_name().unwrap()))
        .refused(&words);
    }
    assert_eq!(
        (rows(target), value(target, "SELECT COUNT(DISTINCT name) FROM drover.replay")),
        ("2".into(), "1".into())
    );
    let resumed = run(drover_on(target, "binlog replay --resume --name first").args(&logs)).done();
    assert!(resumed.stdout.starts_with("0 transactions"), "{resumed}");

    // On purpose; and what was not applied.
    sql(target, "DELETE FROM d.t");
    run(drover_on(target, "binlog replay --restart --name second --database d").args(&logs)).done();
    run(drover_on(target, "binlog replay --name second --resume --database d").args(&logs)).done();
    assert_eq!(rows(target), "2");
    sql(target, "DELETE FROM e.t; DROP DATABASE drover");
    run(drover_on(target, "binlog replay --name d --database d").args(&logs)).done();
    run(drover_on(target, "binlog replay --name e --database e").args(&logs)).done();
    assert_eq!((rows(target), value(target, "SELECT COUNT(*) FROM e.t")), ("4".into(), "1".into()));
    let more = logged(source, || insert(source, [3]));
    run(drover_on(target, "binlog replay --name more --database d").args(&more)).done();
    assert_eq!(rows(target), "5");
}

/// A server's own logs hold what it did. After a dump was restored on it, they are applied where a person says so.
fn what_the_target_wrote(flavour: Flavour) {
    for server in [&with_gtids(flavour), &start_unsynced(flavour, &LOGS)] {
        let dir = tempfile::tempdir().unwrap();
        let backup = dir.path().join("backup");
        sql(server, TABLE);
        sql(server, "CREATE TABLE d.n (id INT PRIMARY KEY, v INT); INSERT INTO d.n VALUES (1, 0)");
        let logs = logged(server, || drop(sql(server, "UPDATE d.n SET v = v + 1")));
        let renamed = dir.path().join("other.000009");
        fs::copy(&logs[0], &renamed).unwrap();
        for dry in ["", "--dry-run"] {
            let replay = || drover_on(server, &format!("binlog replay {dry}"));
            for log in [&logs[0], &renamed] {
                run(replay().arg(log)).refused(&[
                    "the target ",
                    "hint: where the target was filled anew since",
                    "--restart",
                ]);
            }
            run(&mut with_input(replay().arg("-"), &logs[0])).refused(&["the target ", "--restart"]);
        }
        let changed = "SELECT v FROM d.n";
        assert_eq!(value(server, changed), "1");
        assert_untouched(server);
        // One that is gone here was written here all the same: its number is below those that are left.
        let copy = copies(&logs, &dir.path().join("purged")).join(logs[0].file_name().unwrap());
        sql(server, "FLUSH BINARY LOGS");
        let oldest = sql(server, "SHOW BINARY LOGS").pop().unwrap().remove(0);
        wait_until("the log is gone", || {
            sql(server, format!("PURGE BINARY LOGS TO '{oldest}'"));
            sql(server, "SHOW BINARY LOGS")[0][0] == oldest
        });
        run(drover_on(server, "binlog replay").arg(&copy)).refused(&["the target ", "--restart"]);

        sql(server, "UPDATE d.n SET v = 100");
        run(&mut dump(server, "d", &backup)).done();
        sql(server, "UPDATE d.n SET v = v + 1; FLUSH BINARY LOGS");
        let all = logs_of(server);
        let copied = copies(&all[..all.len() - 1], &dir.path().join("logs"));
        sql(server, "DROP DATABASE d");
        run(&mut restore(server, &backup, "")).done();
        let replay = |options: &str| {
            let mut command = drover_on(server, &format!("binlog replay {options}"));
            run(command.arg("--after").arg(&backup).arg(&copied))
        };
        replay("").refused(&["the target ", "--restart"]);
        replay("--restart").done();
        let resumed = replay("--resume").done();
        assert!(resumed.stdout.starts_with("0 transactions"), "{resumed}");
        assert_eq!(value(server, changed), "101");
    }
}

/// A replica has what its source did, or gets it.
fn what_a_replica_has(flavour: Flavour) {
    let cluster = Cluster::start(Topology::Replica, &StartOptions::ephemeral(flavour)).unwrap();
    let [source, replica] = cluster.nodes() else { panic!("two nodes") };
    let logs = logged(source, || {
        sql(source, TABLE);
        insert(source, 1..=2);
    });
    wait_until("the replica has it", || {
        try_sql(replica, "SELECT COUNT(*) FROM d.t").is_ok_and(|rows| rows[0][0] == "2")
    });
    let replay = |words: &str| {
        run(drover_on(replica, "binlog replay").args(&logs)).refused(&[words]);
        let name = logs[0].file_name().unwrap();
        run(drover_on(replica, "binlog replay").args(["--from", &from(source)]).arg(name)).refused(&[words]);
    };
    replay("the target replicates from the server of this log");
    sql(
        replica,
        match flavour {
            Flavour::MySql => "STOP REPLICA; RESET REPLICA ALL",
            Flavour::MariaDb => "STOP SLAVE; RESET SLAVE ALL",
        },
    );
    replay("the target has executed ");
    assert_eq!(rows(replica), "2");
    assert_untouched(replica);
}

/// What `--include-gtids` does not take may be taken later.
fn transactions_that_come_later(flavour: Flavour) {
    let (source, target) = (&with_gtids(flavour), &start_unsynced(flavour, &["--skip-log-bin"]));
    for server in [source, target] {
        sql(server, TABLE);
    }
    let logs = logged(source, || insert(source, 1..=4));
    let listed = run(drover("binlog ls --json").args(&logs)).done().json();
    let first = listed["lines"][2]["gtid"].as_str().unwrap().to_owned();
    let replay = |options: &str| run(drover_on(target, &format!("binlog replay {options}")).args(&logs));
    replay(&format!("--include-gtids {first}")).done();
    assert_eq!(rows(target), "1");
    replay("--resume").refused(&["now all is asked for"]);
    replay(&format!("--name rest --exclude-gtids {first}")).done();
    assert_eq!(value(target, "SELECT GROUP_CONCAT(id ORDER BY id) FROM d.t"), "1,2,3,4");
}

/// Two replays of one log, begun at one time under two names: one of them applies it.
fn two_at_once(flavour: Flavour) {
    let (source, target) = (&start_unsynced(flavour, &LOGS), &start_unsynced(flavour, &["--skip-log-bin"]));
    for server in [source, target] {
        sql(server, TABLE);
        sql(server, "CREATE DATABASE e; CREATE TABLE e.t (id INT)");
    }
    let logs = logged(source, || {
        insert(source, 1..=20);
        sql(source, "INSERT INTO e.t VALUES (1)");
    });
    let replay = |options: &str| {
        let mut command = drover_on(target, &format!("binlog replay {options}"));
        command.args(&logs);
        command
    };
    let both = ["--name a", "--name b"].map(|options| Running::start(&mut replay(options)));
    let ended = both.map(Running::finish);
    let codes = ended.each_ref().map(|output| output.code);
    assert!(codes.contains(&Some(0)) && codes.contains(&Some(2)), "{} {}", ended[0], ended[1]);
    assert_eq!(rows(target), "20");
    // One that is held up is at work, too.
    sql(target, "DROP DATABASE drover; DELETE FROM d.t; DELETE FROM e.t");
    let mut other = Session::open(target);
    other.run("LOCK TABLES d.t WRITE");
    let held = Running::start(&mut replay("--name a"));
    wait_until("it waits for the table", || {
        value(target, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'BINLOG%'") != "0"
    });
    run(&mut replay("--name b")).refused(&["the replay named 'a' is at work on the target", "hint: wait"]);
    run(&mut replay("--name e --database e")).refused(&["the replay named 'a' is at work on the target"]);
    other.run("UNLOCK TABLES");
    held.finish().done();
    assert_eq!(rows(target), "20");
    assert_eq!(value(target, "SELECT COUNT(*) FROM e.t"), "1");
}

/// The log of a replica without GTIDs holds what its source wrote; and a log of its source is known by its name alone.
fn what_a_replica_logged(flavour: Flavour) {
    let of_vendor: &[&str] = match flavour {
        Flavour::MySql => &["--log-replica-updates", "--gtid-mode=OFF", "--enforce-gtid-consistency=OFF"],
        Flavour::MariaDb => &["--log-slave-updates"],
    };
    let source = &start_unsynced(flavour, &[&LOGS[..], of_vendor, &["--server-id=1"]].concat());
    let replica = &replica_with(source, &[&LOGS[..], of_vendor].concat());
    sql(source, TABLE);
    insert(source, 1..=2);
    sql(replica, "START REPLICA");
    wait_until("the replica has it", || {
        try_sql(replica, "SELECT COUNT(*) FROM d.t").is_ok_and(|rows| rows[0][0] == "2")
    });
    sql(replica, "STOP REPLICA");
    sql(replica, "FLUSH BINARY LOGS");
    let dir = tempfile::tempdir().unwrap();
    let all = logs_of(replica);
    let logged = copies(&all[..all.len() - 1], &dir.path().join("logs"));
    for dry in ["--dry-run", ""] {
        let mut replay = drover_on(source, &format!("binlog replay --start-position 4 --database d {dry}"));
        run(replay.arg(&logged)).refused(&["the target ", "hint: where the target was filled anew since"]);
    }
    assert_eq!(rows(source), "2");

    let first = &logs_of(source)[0];
    let numbered = first.with_extension("000099");
    let renamed = [dir.path().join("other.000099"), dir.path().join(numbered.file_name().unwrap())];
    let replay = |options: &str| drover_on(replica, &format!("binlog replay --database d {options}"));
    for renamed in &renamed {
        fs::copy(first, renamed).unwrap();
        let why = match flavour {
            Flavour::MySql => "the target replicates from the server of this log",
            Flavour::MariaDb => "the target has executed ",
        };
        run(replay("").arg(renamed)).refused(&[why]);
    }
    assert_eq!(rows(replica), "2");
    let status = sql(replica, "SHOW REPLICA STATUS").remove(0);
    let position = &status[21]; // Exec_Source_Log_Pos
    insert(source, [3]);
    run(replay(&format!("--start-position {position}")).args(["--from", &from(source)])).done();
    assert_eq!(rows(replica), "3");
    sql(source, "FLUSH BINARY LOGS");
    insert(source, [4]);
    for rows_then in ["4", "4"] {
        run(replay("--resume").args(["--from", &from(source)])).done();
        assert_eq!(rows(replica), rows_then);
    }
}

/// Where a schema was filled once more, what a replay has applied before is not in it.
fn filled_anew(flavour: Flavour) {
    let (source, target) = (&with_gtids(flavour), &start_unsynced(flavour, &["--skip-log-bin"]));
    let dir = tempfile::tempdir().unwrap();
    let [backup, script, state] = ["backup", "script.sql", "state"].map(|name| dir.path().join(name));
    sql(source, TABLE);
    insert(source, 1..=2);
    run(&mut dump(source, "d", &backup)).done();
    insert(source, 3..=4);
    run(&mut restore(target, &backup, "")).done();
    let replay = |options: &str| {
        let mut command = drover_on(target, &format!("binlog replay --name n {options}"));
        run(command.arg("--after").arg(&backup).args(["--from", &from(source)]))
    };
    replay("").done();
    let text = "DROP TABLE IF EXISTS t;\nCREATE TABLE t (id INT, v VARCHAR(200));\nINSERT INTO t VALUES (1, ''), (2, '');\n";
    fs::write(&script, format!("CREATE DATABASE IF NOT EXISTS `d`;\nUSE `d`;\n{text}")).unwrap();
    for mut fill in [
        restore(target, &backup, "--drop-existing"),
        restore(target, &script, "--drop-existing"),
        copy(source, target, "d --drop-existing", &state),
    ] {
        run(&mut fill).done();
        let before = rows(target);
        replay("--resume").refused(&["\"d\" was filled anew since", "hint: --restart begins anew"]);
        replay("").refused(&["a replay named 'n' has come to"]);
        replay("--dry-run").refused(&["a replay named 'n' has come to"]);
        assert_eq!(rows(target), before);
        sql(target, "DELETE FROM d.t WHERE id > 2");
        replay("--restart").done();
        assert_eq!(rows(target), "4");
        assert!(replay("--resume").done().stdout.starts_with("0 transactions"));
    }
    // One that is nothing to the replay.
    run(&mut restore(target, &backup, "--into d=x")).done();
    insert(source, [5]);
    replay("--resume").done();
    assert_eq!(rows(target), "5");
}

/// An account with rights to one schema, and a tool that is not drover, note nothing: the tables tell that all of them were made anew.
fn filled_by_who_sees_no_replay(flavour: Flavour) {
    let (source, target) = (&start_unsynced(flavour, &LOGS), &start_unsynced(flavour, &["--skip-log-bin"]));
    let dir = tempfile::tempdir().unwrap();
    let backup = dir.path().join("backup");
    sql(source, TABLE);
    sql(source, "CREATE TABLE d.u (id INT PRIMARY KEY, v INT); INSERT INTO d.u VALUES (1, 0)");
    run(&mut dump(source, "d", &backup)).done();
    insert(source, 1..=2);
    run(&mut restore(target, &backup, "")).done();
    sql(target, "CREATE USER owner@localhost; GRANT ALL ON d.* TO owner@localhost");
    let replay = |options: &str| {
        let mut command = drover_on(target, &format!("binlog replay --name n {options}"));
        run(command.arg("--after").arg(&backup).args(["--from", &from(source)]))
    };
    replay("").done();
    // An older release noted no time; what it left is gone on with.
    sql(target, "ALTER TABLE drover.replay DROP COLUMN noted");
    assert!(replay("--resume").done().stdout.starts_with("0 transactions"));
    // What the target has of its own, and a table that was made anew in place, are nothing to the replay.
    sql(target, "ALTER TABLE d.u ADD COLUMN own INT INVISIBLE, ALGORITHM=COPY; CREATE TABLE d.own (a INT)");
    assert!(replay("--resume").done().stdout.starts_with("0 transactions"));
    run(restore(target, &backup, "--drop-existing").args(["-u", "owner"])).done();
    insert(source, [3]);
    for dry in ["", "--dry-run"] {
        replay(&format!("--resume {dry}")).refused(&[
            "all tables of the target's schema \"d\" were made since the replay came to",
            "hint: --restart begins anew",
        ]);
    }
    assert_eq!(rows(target), "0");
    sql(target, "DROP TABLE d.own");
    replay("--restart").done();
    assert_eq!(rows(target), "3");
}

/// Times of tables have no parts of a second: one that is made in the second in which the replay was killed is younger than what that noted.
fn filled_within_the_second_of_a_kill(flavour: Flavour) {
    let (source, target) = (&start_unsynced(flavour, &LOGS), &start_unsynced(flavour, &["--skip-log-bin"]));
    let dir = tempfile::tempdir().unwrap();
    let backup = dir.path().join("backup");
    sql(source, TABLE);
    run(&mut dump(source, "d", &backup)).done();
    let replay = |options: &str| {
        let mut command = drover_on(target, &format!("binlog replay --name n {options}"));
        command.arg("--after").arg(&backup).args(["--from", &from(source)]);
        command
    };
    let second = |time: &str| value(target, format!("SELECT UNIX_TIMESTAMP({time})"));
    for id in 1.. {
        run(&mut restore(target, &backup, "--drop-existing")).done();
        let replaying = Running::start(&mut replay("--restart --follow"));
        wait_until("the rows of before are there", || rows(target) == (id - 1).to_string());
        let is_young = || value(target, "SELECT MICROSECOND(NOW(6)) < 300000") == "1";
        wait_until("a second begins", is_young);
        let noted = second("");
        insert(source, [id]);
        wait_until("the row is there", || rows(target) == id.to_string());
        replaying.signal("KILL");
        replaying.finish();
        sql(target, "DROP TABLE d.t; CREATE TABLE d.t (id INT, v VARCHAR(200))");
        let made = "(SELECT CREATE_TIME FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'd' AND TABLE_NAME = 't')";
        if second(made) == noted {
            break;
        }
    }
    run(&mut replay("--resume"))
        .refused(&["all tables of the target's schema \"d\" were made since the replay came to"]);
    assert_eq!(rows(target), "0");
    // What was not filled anew is resumed.
    run(&mut restore(target, &backup, "--drop-existing")).done();
    run(&mut replay("--restart")).done();
    assert!(run(&mut replay("--resume")).done().stdout.starts_with("0 transactions"));
}

/// What a dump holds is not applied beside a replay that began behind it; and copies whose names have something before the log's can be gone
/// on with.
fn from_before_a_dump(flavour: Flavour) {
    let (source, target) = (&start_unsynced(flavour, &LOGS), &start_unsynced(flavour, &["--skip-log-bin"]));
    let dir = tempfile::tempdir().unwrap();
    let [backup, prefixed] = ["backup", "prefixed"].map(|name| dir.path().join(name));
    sql(source, TABLE);
    insert(source, 1..=2);
    sql(source, "FLUSH BINARY LOGS");
    run(&mut dump(source, "d", &backup)).done();
    insert(source, 3..=4);
    sql(source, "FLUSH BINARY LOGS");
    insert(source, [5]);
    sql(source, "FLUSH BINARY LOGS");
    let mut before = logs_of(source);
    before.pop();
    let mut behind = before.split_off(before.len() - 2);
    let more = behind.split_off(1);
    run(&mut restore(target, &backup, "")).done();
    fs::create_dir(&prefixed).unwrap();
    for log in before.iter().chain(&behind).chain(&more) {
        fs::copy(log, prefixed.join(format!("copy-{}", log.file_name().unwrap().to_str().unwrap()))).unwrap();
    }
    run(drover_on(target, "binlog replay --name n").arg("--after").arg(&backup).args(&behind)).done();
    assert_eq!(rows(target), "4");
    for dry in ["", "--dry-run"] {
        run(drover_on(target, &format!("binlog replay --name other --start-position 4 {dry}")).args(&before))
            .refused(&["the dump that the replay named 'n' began behind holds this already"]);
    }
    assert_eq!(rows(target), "4");

    sql(target, "DELETE FROM d.t");
    let of = |log: &std::path::PathBuf| {
        prefixed.join(format!("copy-{}", log.file_name().unwrap().to_str().unwrap()))
    };
    run(drover_on(target, "binlog replay --restart --name n --start-position 4").args(behind.iter().map(of)))
        .done();
    assert_eq!(rows(target), "2");
    run(drover_on(target, "binlog replay --resume --name n").args(behind.iter().chain(&more).map(of))).done();
    assert_eq!(rows(target), "3");
}

/// What the server refuses was not done: the next run does not take somebody else's table, or a transaction that is not there, for its own work.
fn refused_is_not_done(flavour: Flavour) {
    let (source, target) = (&start_unsynced(flavour, &LOGS), &start_unsynced(flavour, &["--skip-log-bin"]));
    let dir = tempfile::tempdir().unwrap();
    let backup = dir.path().join("backup");
    sql(source, TABLE);
    insert(source, 1..=2);
    sql(source, "XA START 'x'; INSERT INTO d.t VALUES (3, ''); XA END 'x'; XA PREPARE 'x'");
    run(&mut dump(source, "d", &backup)).done();
    sql(source, "XA COMMIT 'x'");
    run(&mut restore(target, &backup, "")).done();
    let place = &manifest(&backup)["snapshot"];
    let begins = format!("--start-position {}", place["binlog_position"]);
    let logs = ["--from", &from(source), place["binlog_file"].as_str().unwrap()];
    for resume in ["", "--resume"] {
        run(drover_on(target, &format!("binlog replay {begins} {resume}")).args(logs))
            .refused(&["XA COMMIT", "(error 1397"]);
    }
    assert_eq!((rows(source), rows(target)), ("3".into(), "2".into()));

    let made =
        logged(source, || drop(sql(source, "CREATE TABLE d.own (a INT); INSERT INTO d.own VALUES (1)")));
    sql(target, "CREATE TABLE d.own (a INT, b INT); INSERT INTO d.own VALUES (7, 7)");
    for options in ["--name n --start-position 4", "--name n --resume", "--name n --resume"] {
        run(drover_on(target, &format!("binlog replay {options}")).args(&made)).refused(&["(error 1050"]);
    }
    assert_eq!(value(target, "SELECT GROUP_CONCAT(a) FROM d.own"), "7");
}

/// The target is not what the dump says: a restore has not come to its end, or there are tables that come from the logs.
fn not_as_the_dump_says(flavour: Flavour) {
    let (source, target) = (&start_unsynced(flavour, &LOGS), &start_unsynced(flavour, &["--skip-log-bin"]));
    let dir = tempfile::tempdir().unwrap();
    let backup = dir.path().join("backup");
    sql(source, TABLE);
    run(&mut dump(source, "d", &backup)).done();
    sql(source, "CREATE TABLE d.later (a INT); INSERT INTO d.later VALUES (1)");
    run(&mut restore(target, &backup, "")).done();
    let replay = |dry: &str| {
        let mut command = drover_on(target, &format!("binlog replay {dry}"));
        run(command.arg("--after").arg(&backup).args(["--from", &from(source)]))
    };
    sql(target, "CREATE TABLE d.drover_restore_0123456789ab (step INT)");
    for dry in ["--dry-run", ""] {
        replay(dry).refused(&["has not come to its end, as `d`.`drover_restore_0123456789ab` tells"]);
    }
    sql(target, "DROP TABLE d.drover_restore_0123456789ab; CREATE TABLE d.later (a INT)");
    for dry in ["--dry-run", ""] {
        replay(dry)
            .refused(&["the table `d`.`later`, which the dump has not", "hint: DROP TABLE `d`.`later`"]);
    }
    assert_untouched(target);
    sql(target, "DROP TABLE d.later");
    // A schema that the logs make is nobody's before.
    let made = "CREATE DATABASE IF NOT EXISTS made; CREATE TABLE IF NOT EXISTS made.t (a INT); INSERT INTO made.t VALUES (1), (2)";
    sql(source, made);
    sql(target, made);
    let words = ["make the schema 'made', which the dump of --after has not", "hint: DROP DATABASE `made`"];
    replay("--dry-run").found(&words);
    replay("").refused(&words);
    assert_eq!(value(target, "SELECT COUNT(*) FROM made.t"), "2");
    sql(target, "DROP DATABASE made");
    replay("--resume").done();
    assert_eq!(value(target, "SELECT COUNT(*) FROM d.later"), "1");
    assert_eq!(value(target, "SELECT COUNT(*) FROM made.t"), "2");
}
