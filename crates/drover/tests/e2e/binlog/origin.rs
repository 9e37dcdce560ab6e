//! Whose logs they are: names of files and positions do not tell.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use drover_sandbox::{Cluster, Flavour, Server, StartOptions, Topology};

use super::sql::{logged, logs_of};
use crate::client::{sql, value, wait_until};
use crate::drover::{drover, drover_on, dump, restore, run};
use crate::files::manifest;
use crate::servers::{on_both, start_unsynced};

on_both!(
    begun_anew_behind_a_dump,
    logs_that_only_look_like_it,
    another_servers_behind_a_dump,
    a_twins_behind_a_dump,
    rows_that_a_dump_does_not_have,
    the_first_logs_are_gone,
    positions_of_a_replay_in_the_logs,
    names_that_do_not_sort,
    logs_that_nobody_read,
    begun_anew_where_it_goes_on,
    another_beginning,
    a_relay_log,
    a_replica_that_does_not_log,
);

pub(super) const LOGS: [&str; 2] = ["--log-bin", "--binlog-format=ROW"];

/// A server whose transactions have identifiers.
pub(super) fn with_gtids(flavour: Flavour) -> Server {
    let of_vendor: &[&str] = match flavour {
        Flavour::MySql => &["--gtid-mode=ON", "--enforce-gtid-consistency=ON"],
        Flavour::MariaDb => &[],
    };
    start_unsynced(flavour, &[&LOGS[..], of_vendor].concat())
}

pub(super) fn reset(server: &Server) {
    sql(
        server,
        match server.flavour() {
            Flavour::MySql => "RESET BINARY LOGS AND GTIDS",
            Flavour::MariaDb => "RESET MASTER",
        },
    );
}

pub(super) fn insert(server: &Server, ids: impl IntoIterator<Item = u32>) {
    ids.into_iter().for_each(|id| drop(sql(server, format!("INSERT INTO d.t VALUES ({id}, '')"))));
}

pub(super) fn rows(server: &Server) -> String {
    value(server, "SELECT COUNT(*) FROM d.t")
}

pub(super) fn from(server: &Server) -> String {
    format!("mysql://root@/?socket={}", server.socket().display())
}

pub(super) const TABLE: &str = "CREATE DATABASE d; CREATE TABLE d.t (id INT, v VARCHAR(200))";

/// Copies of logs in a directory of their own.
pub(super) fn copies(logs: &[PathBuf], dir: &Path) -> PathBuf {
    fs::create_dir_all(dir).unwrap();
    for log in logs {
        fs::copy(log, dir.join(log.file_name().unwrap())).unwrap();
    }
    dir.to_owned()
}

/// The command with a file as its standard input.
pub(super) fn with_input(command: &Command, file: &Path) -> Command {
    let mut shell = Command::new("bash");
    shell.args(["-c", "exec \"$@\" < \"$0\""]).arg(file).arg(command.get_program()).args(command.get_args());
    shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell
}

/// Where a replay has begun it leaves a table.
pub(super) fn assert_untouched(target: &Server) {
    let there = "SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = 'drover'";
    assert_eq!(value(target, there), "0");
}

/// The server has the same name, the same logs and the same positions, and has begun anew since.
fn begun_anew_behind_a_dump(flavour: Flavour) {
    let (source, target) = (&with_gtids(flavour), &start_unsynced(flavour, &["--skip-log-bin"]));
    let dir = tempfile::tempdir().unwrap();
    let [old, new] = ["old", "new"].map(|name| dir.path().join(name));
    sql(source, TABLE);
    reset(source);
    insert(source, 1..=4);
    run(&mut dump(source, "d", &old)).done();
    reset(source);
    insert(source, 11..=22);
    run(&mut restore(target, &old, "")).done();
    let replay = |options: &str, after: &Path, logs: &[&str]| {
        run(drover_on(target, &format!("binlog replay {options}")).arg("--after").arg(after).args(logs))
    };
    let datadir = source.datadir().display().to_string();
    let file = logs_of(source)[0].display().to_string();
    let url = from(source);
    for logs in [&[&*datadir][..], &[&file], &["--from", &url]] {
        for dry in ["", "--dry-run"] {
            let refused =
                replay(dry, &old, logs).refused(&["is not the log that the dump was taken at", "hint: "]);
            let words = ["it was begun at", "was committed at", "came after the dump was taken"];
            assert!(words.iter().any(|words| refused.stderr.contains(words)), "{refused}");
        }
    }
    assert_eq!(rows(target), "4");
    assert_untouched(target);

    run(&mut dump(source, "d", &new)).done();
    insert(source, 31..=35);
    for logs in [&[&*datadir][..], &[&file], &["--from", &url]] {
        sql(target, "DROP DATABASE d");
        run(&mut restore(target, &new, "")).done();
        replay("--restart", &new, logs).done();
        assert_eq!((rows(source), rows(target)), ("21".into(), "21".into()), "{logs:?}");
    }
    let resumed = replay("--resume", &new, &["--from", &url]).done();
    assert!(resumed.stdout.starts_with("0 transactions"), "{resumed}");
}

/// The same first event, and other transactions behind it: what is in the log tells.
fn logs_that_only_look_like_it(flavour: Flavour) {
    let (source, target) = (&with_gtids(flavour), &start_unsynced(flavour, &["--skip-log-bin"]));
    let dir = tempfile::tempdir().unwrap();
    let backup = dir.path().join("backup");
    sql(source, TABLE);
    sql(source, "FLUSH BINARY LOGS");
    insert(source, 1..=3);
    sql(source, "INSERT INTO d.t VALUES (4, REPEAT('x', 99))");
    insert(source, 5..=6);
    run(&mut dump(source, "d", &backup)).done();
    insert(source, 7..=12);
    run(&mut restore(target, &backup, "")).done();
    let log = logs_of(source).pop().unwrap();
    let listed = run(drover("binlog ls --json").arg(&log)).done().json();
    let lines = listed["lines"].as_array().unwrap();
    let starts: Vec<_> =
        lines.iter().map(|line| usize::try_from(line["position"].as_u64().unwrap()).unwrap()).collect();
    let bytes = fs::read(&log).unwrap();
    let without = |at: usize| [&bytes[..starts[at]], &bytes[starts[at + 1]..]].concat();
    for (name, content, words) in [
        ("short", bytes[..starts[3]].to_vec(), &["it ends at"][..]),
        // What comes behind the position is before it now.
        (
            "long",
            without(3),
            &["no transaction ends at", "was committed at", "came after the dump was taken"],
        ),
    ] {
        let other = dir.path().join(name).join(log.file_name().unwrap());
        fs::create_dir(other.parent().unwrap()).unwrap();
        fs::write(&other, content).unwrap();
        let mut command = drover_on(target, "binlog replay");
        let refused = run(command.arg("--after").arg(&backup).arg(&other))
            .refused(&["is not the log that the dump was taken at"]);
        assert!(words.iter().any(|words| refused.stderr.contains(words)), "{name}: {refused}");
    }
    assert_untouched(target);
    run(drover_on(target, "binlog replay").arg("--after").arg(&backup).arg(&log)).done();
    assert_eq!(rows(target), "12");
}

fn another_servers_behind_a_dump(flavour: Flavour) {
    let [one, other] = [(); 2].map(|()| start_unsynced(flavour, &LOGS));
    let dir = tempfile::tempdir().unwrap();
    for server in [&one, &other] {
        sql(server, TABLE);
        insert(server, 1..=4);
    }
    run(&mut dump(&one, "d", &dir.path().join("backup"))).done();
    insert(&other, 5..=9);
    let target = &start_unsynced(flavour, &["--skip-log-bin"]);
    run(&mut restore(target, &dir.path().join("backup"), "")).done();
    let mut replay = drover_on(target, "binlog replay");
    replay.arg("--after").arg(dir.path().join("backup"));
    let words = format!("and the dump of the one with {}", value(&one, "SELECT @@server_id"));
    run(replay.args(["--from", &from(&other)])).refused(&[&words]);
    assert_eq!(rows(target), "4");
    assert_untouched(target);
}

/// A server with the same server_id, whose logs are as old: its transactions have other identifiers.
fn a_twins_behind_a_dump(flavour: Flavour) {
    let twin: &[&str] = match flavour {
        Flavour::MySql => &["--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--server-id=7"],
        Flavour::MariaDb => &["--gtid-domain-id=5", "--server-id=7"],
    };
    let options = [&LOGS[..], twin].concat();
    let other = start_unsynced(flavour, &options);
    let options: Vec<_> = options.into_iter().filter(|option| !option.contains("domain")).collect();
    let (one, target) = (start_unsynced(flavour, &options), &start_unsynced(flavour, &["--skip-log-bin"]));
    let backup = tempfile::tempdir().unwrap();
    for server in [&other, &one] {
        sql(server, TABLE);
        insert(server, 1..=4);
    }
    run(&mut dump(&one, "d", backup.path())).done();
    run(&mut restore(target, backup.path(), "")).done();
    let mut replay = drover_on(target, "binlog replay");
    run(replay.arg("--after").arg(backup.path()).args(["--from", &from(&other)]))
        .refused(&["is not the log that the dump was taken at", "(GTIDs)"]);
    assert_eq!(rows(target), "4");
    assert_untouched(target);
}

/// Rows that were left out cannot be changed, and masked ones would get what was masked.
fn rows_that_a_dump_does_not_have(flavour: Flavour) {
    let (source, target) = (&start_unsynced(flavour, &LOGS), &start_unsynced(flavour, &["--skip-log-bin"]));
    sql(source, TABLE);
    sql(source, "CREATE TABLE d.u (id INT); INSERT INTO d.u VALUES (1)");
    insert(source, 1..=4);
    let dir = tempfile::tempdir().unwrap();
    let rules = dir.path().join("rules");
    fs::write(&rules, "[[rule]]\ntable = \"d.t\"\ncolumn = \"v\"\nmask = \"null\"\n").unwrap();
    let cases = [
        ("none", "--no-data".to_owned(), "the dump has no rows (--no-data)"),
        ("some", "--where t:id<3".to_owned(), "d.t as they were: it has those where id<3 (--where)"),
        (
            "masked",
            format!("--mask {}", rules.display()),
            "d.t as they were: the column v is masked (--mask)",
        ),
    ];
    for (name, options, words) in cases {
        let backup = dir.path().join(name);
        run(dump(source, "d", &backup).args(options.split(' '))).done();
        sql(target, "DROP DATABASE IF EXISTS d");
        run(&mut restore(target, &backup, "")).done();
        let replay = |options: &str| {
            let mut command = drover_on(target, &format!("binlog replay {options} --restart"));
            run(command.arg("--after").arg(&backup).args(["--from", &from(source)]))
        };
        replay("").refused(&[words]);
        replay("--dry-run").refused(&[words]);
        sql(source, "INSERT INTO d.u VALUES (2)");
        if name != "none" {
            replay("--table d.u").done();
        }
    }
    assert_eq!(value(target, "SELECT COUNT(*) FROM d.u"), value(source, "SELECT COUNT(*) FROM d.u"));
}

/// A server, or a directory, that has lost its first logs is none to begin with; a log that is named is.
fn the_first_logs_are_gone(flavour: Flavour) {
    for source in [&with_gtids(flavour), &start_unsynced(flavour, &LOGS)] {
        let target = &start_unsynced(flavour, &["--skip-log-bin"]);
        let dir = tempfile::tempdir().unwrap();
        sql(source, TABLE);
        insert(source, 1..=4);
        sql(source, "FLUSH BINARY LOGS");
        let name = sql(source, "SHOW BINARY LOGS").pop().unwrap().remove(0);
        run(drover_on(target, "binlog replay --name whole").args(["--from", &from(source)])).done();
        sql(target, "DELETE FROM d.t");
        // MariaDB keeps a log for as long as it may need it after a crash.
        wait_until("the first log is gone", || {
            sql(source, format!("PURGE BINARY LOGS TO '{name}'"));
            sql(source, "SHOW BINARY LOGS")[0][0] == name
        });
        insert(source, 5..=8);
        let copied = copies(&logs_of(source), &dir.path().join("logs"));
        let (copied, url) = (copied.display().to_string(), from(source));
        let log = logs_of(source)[0].display().to_string();
        for logs in [&["--from", &*url][..], &[&*copied]] {
            for dry in ["", "--dry-run"] {
                run(drover_on(target, &format!("binlog replay {dry}")).args(logs)).refused(&[
                    &name,
                    "is the oldest log there is",
                    "hint: --after",
                    "--start-position",
                ]);
            }
        }
        assert_eq!(rows(target), "0");
        for logs in [
            &["--from", &*url, "--start-position=4"][..],
            &["--start-position=4", &copied],
            &[&log],
            &["--from", &url, &name],
        ] {
            run(drover_on(target, "binlog replay --restart").args(logs)).done();
            assert_eq!(rows(target), "4", "{logs:?}");
            sql(target, "DELETE FROM d.t");
        }
    }
}

/// The logs of a server that is a replay's target itself tell where that replay was: which is nothing to the next target.
fn positions_of_a_replay_in_the_logs(flavour: Flavour) {
    // MariaDB logs statements as such, if it is not told to log rows.
    for format in ["ROW", "MIXED"] {
        let [source, middle, target] = [(); 3].map(|()| start_unsynced(flavour, &["--log-bin"]));
        sql(&middle, format!("SET GLOBAL binlog_format = {format}"));
        let first = logged(&source, || {
            sql(&source, TABLE);
            insert(&source, 1..=4);
        });
        insert(&source, 5..=8);
        sql(&source, "FLUSH BINARY LOGS");
        let all = logs_of(&source);
        let logs = logged(&middle, || {
            run(drover_on(&middle, "binlog replay").args(&first)).done();
            run(drover_on(&middle, "binlog replay --resume").args(&all[1..all.len() - 1])).done();
        });
        run(drover_on(&target, "binlog replay --dry-run").args(&logs)).done();
        run(drover_on(&target, "binlog replay").args(&logs)).done();
        assert_eq!(rows(&target), "8");
        let noted = "SELECT COUNT(*) FROM drover.replay WHERE worker = 0";
        assert_eq!(value(&target, noted), "1");
        let resumed = run(drover_on(&target, "binlog replay --resume").args(&logs)).done();
        assert!(resumed.stdout.starts_with("0 transactions"), "{resumed}");
    }
}

/// Logs come in the order in which they are named.
fn names_that_do_not_sort(flavour: Flavour) {
    let (source, target) = (&start_unsynced(flavour, &LOGS), &start_unsynced(flavour, &["--skip-log-bin"]));
    let dir = tempfile::tempdir().unwrap();
    sql(source, TABLE);
    sql(source, "CREATE TABLE d.later (id INT)");
    sql(target, TABLE);
    let logs = [
        logged(source, || insert(source, 1..=3)),
        logged(source, || {
            insert(source, [4]);
            sql(source, "INSERT INTO d.later VALUES (1)");
            insert(source, [5]);
        }),
    ];
    let [old, new, newest] = ["old", "new", "again"].map(|name| dir.path().join(name));
    fs::copy(&logs[0][0], &old).unwrap();
    fs::copy(&logs[1][0], &new).unwrap();
    let replay = |options: &str, logs: &[&PathBuf]| {
        run(drover_on(target, &format!("binlog replay --name n --workers 2 {options}")).args(logs))
    };
    replay("", &[&old, &new]).refused(&["later"]);
    sql(target, "CREATE TABLE d.later (id INT)");
    replay("--resume", &[&old, &new]).done();
    assert_eq!(value(target, "SELECT GROUP_CONCAT(id ORDER BY id) FROM d.t"), "1,2,3,4,5");
    // The next one is not the one that the server names.
    fs::copy(&logged(source, || insert(source, [6]))[0], &newest).unwrap();
    replay("--resume", &[&newest]).refused(&["is where to go on, and it is not among the logs"]);
    assert_eq!(rows(target), "5");
}

/// A log is not done with since its number is lower.
fn logs_that_nobody_read(flavour: Flavour) {
    let (source, target) = (&start_unsynced(flavour, &LOGS), &start_unsynced(flavour, &["--skip-log-bin"]));
    let dir = tempfile::tempdir().unwrap();
    for server in [source, target] {
        sql(server, TABLE);
    }
    let logs = logged(source, || insert(source, 1..=2));
    let replay = |options: &str| drover_on(target, &format!("binlog replay --name n {options}"));
    run(&mut with_input(replay("").arg("-"), &logs[0])).done();
    let more = logged(source, || insert(source, 3..=4));
    run(&mut with_input(replay("--resume").arg("-"), &more[0])).refused(&["is where to go on"]);
    assert_eq!(rows(target), "2");

    for _ in 0..20 {
        sql(source, "FLUSH BINARY LOGS");
    }
    sql(target, "DELETE FROM d.t");
    let all = logs_of(source);
    run(replay("--restart --start-position 4").args(&all[1..all.len() - 1])).done();
    let before = rows(target);
    reset(source);
    insert(source, 5..=6);
    sql(source, "FLUSH BINARY LOGS; FLUSH BINARY LOGS");
    let all = logs_of(source);
    let anew = copies(&all[..all.len() - 1], &dir.path().join("anew"));
    run(replay("--resume").arg(&anew)).refused(&["begun"]);
    run(replay("--resume").args(["--from", &from(source)])).refused(&[]);
    assert_eq!(rows(target), before);
}

/// The next log has the right number, and is another one: its GTIDs tell.
fn begun_anew_where_it_goes_on(flavour: Flavour) {
    let (source, target) = (&with_gtids(flavour), &start_unsynced(flavour, &["--skip-log-bin"]));
    sql(source, TABLE);
    insert(source, 1..=2);
    sql(source, "FLUSH BINARY LOGS");
    let all = logs_of(source);
    let next = all.len();
    run(drover_on(target, "binlog replay").args(&all[..next - 1])).done();
    sql(source, "INSERT INTO d.t VALUES (3, '')");
    sql(
        source,
        match flavour {
            Flavour::MySql => format!("RESET BINARY LOGS AND GTIDS TO {next}"),
            Flavour::MariaDb => format!("RESET MASTER TO {next}"),
        },
    );
    insert(source, [4]);
    sql(source, "FLUSH BINARY LOGS");
    let log = logs_of(source).remove(0);
    let name = all[0].file_stem().unwrap().to_str().unwrap();
    for logs in [&["--from", &from(source)][..], &[log.to_str().unwrap()]] {
        run(drover_on(target, &format!("binlog replay --resume --name {name}")).args(logs))
            .refused(&["does not begin behind (GTIDs)", "hint: "]);
    }
    assert_eq!(rows(target), "2");
}

/// Where to begin is asked for once: a run that goes on does not pass over another wish in silence.
fn another_beginning(flavour: Flavour) {
    let (source, target) = (&start_unsynced(flavour, &LOGS), &start_unsynced(flavour, &["--skip-log-bin"]));
    for server in [source, target] {
        sql(server, TABLE);
    }
    let logs = logged(source, || insert(source, 1..=4));
    let listed = run(drover("binlog ls --json").args(&logs)).done().json();
    let starts: Vec<_> =
        listed["lines"].as_array().unwrap().iter().map(|line| line["position"].clone()).collect();
    let name = logs[0].file_name().unwrap().to_str().unwrap();
    let replay = |options: &str| drover_on(target, &format!("binlog replay --name n {options}"));
    run(replay(&format!("--stop-position {}", starts[2])).args(&logs)).done();
    // The third is left out.
    let resume = format!("--resume --start-position {}", starts[3]);
    let url = from(source);
    run(replay(&resume).args(["--from", &url])).refused(&["is another beginning", "hint: "]);
    let datadir = source.datadir().display().to_string();
    run(replay(&resume).arg(&datadir)).refused(&["is another beginning"]);
    assert_eq!(rows(target), "2");
    run(replay(&resume).args(["--from", &url, name])).done();
    assert_eq!(value(target, "SELECT GROUP_CONCAT(id ORDER BY id) FROM d.t"), "1,2,4");
}

/// It has the description of the log that is relayed behind its own.
fn a_relay_log(flavour: Flavour) {
    let cluster = Cluster::start(Topology::Replica, &StartOptions::ephemeral(flavour)).unwrap();
    let [source, replica] = cluster.nodes() else { panic!("two nodes") };
    let target = &start_unsynced(flavour, &["--skip-log-bin"]);
    sql(source, TABLE);
    wait_until("the replica has it", || {
        crate::client::try_sql(replica, "SELECT COUNT(*) FROM d.t").is_ok_and(|rows| rows[0][0] == "0")
    });
    let (stop, flush) = match flavour {
        Flavour::MySql => ("STOP REPLICA SQL_THREAD", "FLUSH RELAY LOGS"),
        Flavour::MariaDb => ("STOP SLAVE SQL_THREAD", "FLUSH RELAY LOGS"),
    };
    sql(replica, stop);
    sql(replica, flush);
    insert(source, 1..=3);
    sql(target, TABLE);
    let relayed = || {
        let files = fs::read_dir(replica.datadir()).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<_> = files
            .filter(|path| {
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                name.contains("relay-bin.0")
            })
            .collect();
        files.sort();
        files
    };
    wait_until("the relay log has them", || {
        let listed = run(drover("binlog ls --json").arg(relayed().last().unwrap()));
        listed.code == Some(0) && listed.json()["lines"].as_array().is_some_and(|lines| lines.len() >= 3)
    });
    run(drover_on(target, "binlog replay").arg(relayed().last().unwrap())).done();
    assert_eq!(rows(target), "3");
}

/// What came from its source is not in its own logs.
fn a_replica_that_does_not_log(flavour: Flavour) {
    let off = match flavour {
        Flavour::MySql => "--log-replica-updates=OFF",
        Flavour::MariaDb => "--log-slave-updates=OFF",
    };
    let options = StartOptions { server_options: vec![off.into()], ..StartOptions::ephemeral(flavour) };
    let cluster = Cluster::start(Topology::Replica, &options).unwrap();
    let [source, replica] = cluster.nodes() else { panic!("two nodes") };
    let (target, dir) = (&start_unsynced(flavour, &["--skip-log-bin"]), tempfile::tempdir().unwrap());
    let backup = dir.path().join("backup");
    sql(source, TABLE);
    insert(source, 1..=2);
    wait_until("the replica has it", || {
        crate::client::try_sql(replica, "SELECT COUNT(*) FROM d.t").is_ok_and(|rows| rows[0][0] == "2")
    });
    if flavour == Flavour::MariaDb {
        let places = ["SHOW MASTER STATUS", "SHOW SLAVE STATUS"];
        wait_until("it tells where it is", || {
            let [status, replica] = [sql(source, places[0]), sql(replica, places[1])];
            replica[0][21] == status[0][1] // Exec_Master_Log_Pos
        });
    }
    let gtid = if flavour == Flavour::MariaDb { "@@GLOBAL.gtid_binlog_pos" } else { "''" };
    let last = value(source, format!("SELECT {gtid}"));
    run(&mut dump(replica, "d", &backup)).done();
    run(&mut restore(target, &backup, "")).done();
    insert(source, 3..=4);
    let snapshot = &manifest(&backup)["snapshot"];
    let place = &snapshot["replicates_from"][0];
    if flavour == Flavour::MariaDb {
        assert_eq!(snapshot["gtid_slave_pos"], last);
    }
    let hint =
        format!("in which the dump is at {} at {}", place["file"].as_str().unwrap(), place["position"]);
    for dry in ["", "--dry-run"] {
        let mut replay = drover_on(target, &format!("binlog replay {dry}"));
        run(replay.arg("--after").arg(&backup).args(["--from", &from(replica)]))
            .refused(&["a replica that does not log what it replicates", &hint]);
    }
    if flavour == Flavour::MariaDb {
        blind_to_sources(replica, target, dir.path());
    }
    assert_untouched(target);
    // As the hint says: MySQL's appliers tell where they are from time to time.
    let mut replay = drover_on(target, &format!("binlog replay --start-position {}", place["position"]));
    if flavour == Flavour::MySql {
        let gtids = manifest(&backup)["snapshot"]["gtid_set"].as_str().unwrap().to_owned();
        replay.args(["--exclude-gtids", &gtids]);
    }
    run(replay.args(["--from", &from(source), place["file"].as_str().unwrap()])).done();
    assert_eq!(rows(target), "4");
}

/// MariaDB lets an account see the log's position, and not where it replicates from.
fn blind_to_sources(replica: &Server, target: &Server, dir: &Path) {
    let backup = dir.join("blind");
    sql(
        replica,
        "CREATE USER blind@localhost; GRANT BINLOG MONITOR, RELOAD, LOCK TABLES, SELECT, SHOW VIEW, TRIGGER, EVENT ON *.* TO blind@localhost",
    );
    let dumped = run(dump(replica, "d", &backup).args(["-u", "blind"])).done();
    assert!(dumped.stderr.contains("REPLICA MONITOR"), "{dumped}");
    let mut replay = drover_on(target, "binlog replay");
    run(replay.arg("--after").arg(&backup).args(["--from", &from(replica)]))
        .refused(&["seems to be of a replica that does not log", "REPLICA MONITOR"]);
}
