//! What `drover doctor` says of servers and hosts at large.

use std::process::{Command, Stdio};
use std::time::Duration;

use drover_sandbox::{Flavour, Server};
use serde_json::Value;

use super::binlog::quick;
use super::{check, doctor, findings, state};
use crate::client::{Session, client, run_script, sql, wait_until};
use crate::drover::{Running, drover, drover_on, run};
use crate::servers::{on_both, start, start_unsynced};
use crate::throttle::replica_of;

on_both!(
    tables,
    undoing_loses_nothing,
    prepared_transactions,
    a_load_that_is_too_much,
    too_many_sessions,
    a_long_history,
    a_statement_with_four_bytes,
    in_order,
    nobody_sees_it,
    rights_by_a_role
);

/// Runs all statements that cure what was found, or those that undo that.
pub(super) fn carry_out(server: &Server, report: &Value, rule: &str, which: &str) {
    for finding in check(report, rule)["findings"].as_array().unwrap() {
        for remedy in finding["remedies"].as_array().unwrap() {
            sql(server, remedy[which].as_str().unwrap());
        }
    }
}

pub(super) fn subjects(report: &Value, rule: &str) -> Vec<String> {
    let findings = check(report, rule)["findings"].as_array().unwrap();
    let mut subjects: Vec<_> =
        findings.iter().map(|finding| finding["subject"].as_str().unwrap_or_default().to_owned()).collect();
    subjects.sort();
    subjects
}

/// Tables without keys, with indexes too many, and of engines that a crash corrupts.
fn tables(flavour: Flavour) {
    let server = &start_unsynced(flavour, &["--binlog-format=ROW"]);
    run_script(
        server,
        None,
        b"CREATE DATABASE d; USE d;
          CREATE TABLE bare (a INT, b INT NOT NULL) ENGINE=InnoDB; INSERT INTO bare VALUES (1, 1), (2, 2);
          CREATE TABLE nullable (a INT UNIQUE, b INT, KEY (b));
          CREATE TABLE keyed (a INT NOT NULL UNIQUE, b INT);
          CREATE TABLE `in``dexed` (id INT PRIMARY KEY, a INT, b VARCHAR(50), c TEXT, KEY a (a), KEY ab (a, b), KEY b10 (b(10)),
            UNIQUE KEY b (b), UNIQUE KEY b_again (b), FULLTEXT KEY c1 (c), FULLTEXT KEY c2 (c), KEY alone (b, a));
          CREATE TABLE old (id INT PRIMARY KEY, v TEXT) ENGINE=MyISAM; INSERT INTO old VALUES (1, 'a');
          CREATE TABLE older (id INT PRIMARY KEY) ENGINE=MyISAM ROW_FORMAT=FIXED;
          CREATE VIEW v AS SELECT * FROM bare",
    )
    .unwrap();
    if flavour == Flavour::MariaDb {
        sql(
            server,
            "CREATE TABLE d.aria (id INT PRIMARY KEY) ENGINE=Aria TRANSACTIONAL=0; CREATE TABLE d.safe (id INT PRIMARY KEY) ENGINE=Aria",
        );
    }
    let report = quick(server, "server");
    assert_eq!(subjects(&report, "server.primary_key"), ["d.bare", "d.nullable"], "{report}");
    assert!(findings(&report, "server.primary_key").iter().all(|(weight, _)| weight == "note"));
    let indexes = ["a", "b10", "b_again", "c2"].map(|name| format!("d.in`dexed.{name}"));
    assert_eq!(subjects(&report, "server.duplicate_index"), indexes, "{report}");
    let old: &[&str] =
        if flavour == Flavour::MariaDb { &["d.aria", "d.old", "d.older"] } else { &["d.old", "d.older"] };
    assert_eq!(subjects(&report, "server.myisam"), old, "{report}");
    let rules = ["server.primary_key", "server.duplicate_index", "server.myisam"];
    rules.iter().for_each(|rule| carry_out(server, &report, rule, "run"));
    let cured = quick(server, "server");
    rules.iter().for_each(|rule| assert_eq!(state(&cured, rule), "fine", "{rule}: {cured}"));
    rules.iter().for_each(|rule| carry_out(server, &report, rule, "undo"));
    let again = quick(server, "server");
    rules.iter().for_each(|rule| assert_eq!(subjects(&again, rule), subjects(&report, rule), "{again}"));
    // With a replica a table without a key costs something.
    let replica = replica_of(server);
    sql(&replica, "START REPLICA");
    let connected = || {
        !sql(server, if flavour == Flavour::MySql { "SHOW REPLICAS" } else { "SHOW REPLICA HOSTS" })
            .is_empty()
    };
    wait_until("the replica is connected", connected);
    let found = findings(&quick(server, "server"), "server.primary_key");
    assert!(found.len() == 2 && found.iter().all(|(weight, _)| weight == "yellow"), "{found:?}");
}

/// What is proposed can be done, and what undoes it leaves the tables as they were: comments, hidden indexes, and columns that happen
/// to have the name which doctor would give.
fn undoing_loses_nothing(flavour: Flavour) {
    let server = &start_unsynced(flavour, &["--binlog-format=ROW"]);
    let hidden = if flavour == Flavour::MySql { "INVISIBLE" } else { "IGNORED" };
    run_script(
        server,
        None,
        format!(
            "CREATE DATABASE d; USE d;
             CREATE TABLE named (row_id INT, ROW_ID_2 INT, a INT);
             CREATE TABLE parts (a INT NOT NULL) PARTITION BY HASH (a) PARTITIONS 2;
             CREATE TABLE tenants (tenant INT NOT NULL, id INT NOT NULL AUTO_INCREMENT, KEY (tenant, id)) ENGINE=MyISAM;
             CREATE TABLE counted (g INT, id INT AUTO_INCREMENT, PRIMARY KEY (g, id)) ENGINE=MyISAM;
             CREATE TABLE reserved (db_row_id INT PRIMARY KEY) ENGINE=MyISAM;
             CREATE TABLE blocks (id INT PRIMARY KEY) ENGINE=MyISAM KEY_BLOCK_SIZE=1024;
             CREATE TABLE simple (id INT AUTO_INCREMENT, g INT, PRIMARY KEY (g, id), KEY (id)) ENGINE=MyISAM;
             CREATE TABLE indexed (a INT PRIMARY KEY, b INT, t VARCHAR(9), KEY long_one (b, a),
               KEY short (b) COMMENT 'of, `some` use', KEY unseen (b) {hidden}, FULLTEXT KEY words (t), FULLTEXT KEY words_too (t) COMMENT 'x')"
        )
        .as_bytes(),
    )
    .unwrap();
    let tables = ["named", "parts", "tenants", "indexed", "counted", "reserved", "blocks", "simple"];
    let shown = || tables.map(|table| sql(server, format!("SHOW CREATE TABLE d.{table}"))[0][1].clone());
    let before = shown();
    let report = quick(server, "server");
    let rules = ["server.primary_key", "server.duplicate_index", "server.myisam"];
    assert_eq!(subjects(&report, rules[0]), ["d.named", "d.parts", "d.tenants"], "{report}");
    let indexes = ["short", "unseen", "words_too"].map(|name| format!("d.indexed.{name}"));
    assert_eq!(subjects(&report, rules[1]), indexes, "{report}");
    let old = ["blocks", "counted", "reserved", "simple", "tenants"].map(|name| format!("d.{name}"));
    assert_eq!(subjects(&report, rules[2]), old, "{report}");
    rules.iter().for_each(|rule| carry_out(server, &report, rule, "run"));
    let done = shown();
    assert!(done[0].contains("row_id_3") && done[1..3] == before[1..3], "{done:?}");
    assert!(done[4..7] == before[4..7] && done[7].contains("InnoDB"), "{done:?}");
    let why =
        |words: &str| findings(&report, rules[2]).iter().filter(|(_, text)| text.contains(words)).count();
    let whys = ["leads no key", "InnoDB keeps for itself", "KEY_BLOCK_SIZE would"].map(why);
    assert_eq!(whys, [2, 1, 1], "{report}");
    assert!(indexes.iter().all(|name| !done[3].contains(&format!("`{}`", &name[10..]))), "{done:?}");
    rules.iter().for_each(|rule| carry_out(server, &report, rule, "undo"));
    // Indexes that were dropped and added again come last.
    let lines = |texts: [String; 8]| {
        texts.map(|text| {
            let mut lines: Vec<_> = text.lines().map(|line| line.trim_end_matches(',').to_owned()).collect();
            lines.sort();
            lines
        })
    };
    assert_eq!(lines(shown()), lines(before));
}

/// A prepared transaction whose client is gone has no session that could be killed: doctor says what it is when it has waited for long.
fn prepared_transactions(flavour: Flavour) {
    let server = &start_unsynced(flavour, &[]);
    sql(server, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY)");
    sql(server, "XA START 'left'; INSERT INTO d.t VALUES (1); XA END 'left'; XA PREPARE 'left'");
    wait_until("its client is gone", || {
        // The table is filled anew only when nobody has read it for 100 ms.
        std::thread::sleep(Duration::from_millis(200));
        sql(server, "SELECT trx_mysql_thread_id FROM information_schema.INNODB_TRX") == [["0"]]
    });
    assert_eq!(state(&quick(server, "server"), "server.history"), "fine");
    // The same server two hours later.
    let dir = tempfile::tempdir().unwrap();
    let bundle = dir.path().join("bundle.json");
    run(drover_on(server, "doctor collect").arg(&bundle)).done();
    let mut kept: Value = serde_json::from_slice(&std::fs::read(&bundle).unwrap()).unwrap();
    let answers = kept["answers"].as_object_mut().unwrap();
    let (_, oldest) = answers.iter_mut().find(|(sql, _)| sql.contains("INNODB_TRX ORDER BY")).unwrap();
    let row = &mut oldest["Ok"]["rows"][0];
    assert_eq!(row[0], "0", "{row}");
    row[1] = "7200".into();
    std::fs::write(&bundle, kept.to_string()).unwrap();
    let report = run(drover("--json doctor server --root").arg(&bundle)).found(&[]).json();
    let found = &check(&report, "server.history")["findings"];
    assert!(
        found[0]["what"].as_str().unwrap().contains("a prepared XA transaction has been waiting for 2 h"),
        "{found}"
    );
    assert!(
        found[0]["remedies"].as_array().unwrap().is_empty() && !report.to_string().contains("KILL 0"),
        "{found}"
    );
    sql(server, "XA ROLLBACK 'left'");
}

/// A small pool that is read from all over, and more tables than the cache holds.
fn a_load_that_is_too_much(flavour: Flavour) {
    let pool = if flavour == Flavour::MySql {
        "--innodb-buffer-pool-size=5M"
    } else {
        "--innodb-buffer-pool-size=8M"
    };
    let options = [
        pool,
        "--table-open-cache=10",
        "--table-open-cache-instances=1",
        "--max-connections=30",
        "--innodb-use-native-aio=OFF",
    ];
    let server = &start_unsynced(flavour, &options);
    let tables: String = (0..40).map(|n| format!("CREATE TABLE t{n} (id INT PRIMARY KEY);\n")).collect();
    let opens: String = (0..40).map(|n| format!("DO (SELECT COUNT(*) FROM t{n});\n")).collect();
    let script = format!(
        "CREATE DATABASE d; USE d; SET sql_log_bin = 0;
         {tables}
         CREATE TABLE large (id INT PRIMARY KEY, v TEXT);
         INSERT INTO large WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 1000)
           SELECT n, REPEAT('x', 4000) FROM s;
         INSERT INTO large SELECT id + 1000, v FROM large; INSERT INTO large SELECT id + 2000, v FROM large;
         INSERT INTO large SELECT id + 4000, v FROM large;
         DELIMITER //
         CREATE PROCEDURE misses() BEGIN
           DECLARE x TEXT; DECLARE n INT;
           LOOP SET n = 1 + FLOOR(RAND() * 7999); SELECT v INTO x FROM large WHERE id = n; END LOOP;
         END//
         CREATE PROCEDURE opens() BEGIN LOOP {opens} END LOOP; END//"
    );
    run_script(server, None, script.as_bytes()).unwrap();
    let (mut misses, mut opens) = (Session::open(server), Session::open(server));
    misses.send("CALL d.misses()");
    opens.send("CALL d.opens()");
    misses.wait_until_running("large");
    let report = doctor(server, "server");
    let found = findings(&report, "server.buffer_pool");
    assert!(found.len() == 1 && found[0].0 == "yellow", "{report}");
    let found = findings(&report, "server.open_files");
    assert!(
        found.len() == 1 && found[0].0 == "yellow" && found[0].1.contains("table_open_cache"),
        "{report}"
    );
    let found = findings(&report, "server.aio");
    assert!(found.len() == 1 && found[0].0 == "note" && found[0].1.contains("is told to"), "{report}");
}

/// Sessions up to the limit, and then more.
fn too_many_sessions(flavour: Flavour) {
    let server = &start(flavour, &["--max-connections=10"]);
    sql(server, "CREATE USER app@localhost IDENTIFIED BY 'a'");
    let mut sessions: Vec<_> = (0..9).map(|_| Session::open(server)).collect();
    let near = quick(server, "server");
    let found = findings(&near, "server.connections");
    assert!(found.len() == 1 && found[0].0 == "yellow", "{near}");
    sessions.push(Session::open(server));
    // One more is for root. It is taken before others knock, which they do while it looks twice.
    let mut examining = Running::start(&mut drover_on(server, "--json doctor server --interval 2s"));
    let count = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'root'";
    wait_until("it is connected", || examining.has_ended() || sessions[0].value(count) == "11");
    while !examining.has_ended() {
        knock(server);
        std::thread::sleep(Duration::from_millis(100));
    }
    let report = examining.finish().json();
    let found = findings(&report, "server.connections");
    assert!(found.len() == 1 && found[0].0 == "red", "{report}");
}

/// Somebody who is no administrator, and is refused.
fn knock(server: &Server) {
    let mut command: Command = client(server);
    command.args(["--user=app", "--password=a", "-e", "SELECT 1"]);
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(!output.status.success(), "it was let in");
}

/// A snapshot that keeps purge from all that 100,000 transactions have left; the server's time is not the host's, in which InnoDB notes
/// when a transaction began.
fn a_long_history(flavour: Flavour) {
    let server = &start_unsynced(flavour, &["--default-time-zone=+08:00"]);
    run_script(
        server,
        None,
        b"CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1, 0), (2, 0);
          DELIMITER //
          CREATE PROCEDURE change_often(n INT) BEGIN WHILE n > 0 DO UPDATE t SET v = n WHERE id = 1; SET n = n - 1; END WHILE; END//",
    )
    .unwrap();
    let mut snapshot = Session::open(server);
    snapshot.run("START TRANSACTION WITH CONSISTENT SNAPSHOT");
    sql(server, "SET sql_log_bin = 0; CALL d.change_often(100500)");
    let report = doctor(server, "server");
    let found = findings(&report, "server.history");
    assert!(found.len() == 1 && found[0].0 == "yellow" && found[0].1.contains("purge is behind"), "{report}");
}

/// A statement for which MySQL shows no transactions, as long as it runs.
fn a_statement_with_four_bytes(flavour: Flavour) {
    let server = &start_unsynced(flavour, &[]);
    let mut session = Session::open(server);
    session.run("START TRANSACTION WITH CONSISTENT SNAPSHOT");
    // It ends while doctor looks.
    session.send("DO SLEEP(1.2), '😀 hushed'");
    assert_eq!(state(&doctor(server, "server"), "server.history"), "fine");
    session.send("DO SLEEP(300), '😀 hushed'");
    let told = drover_on(server, "doctor server --interval 1s").output().unwrap().stdout;
    let told = String::from_utf8(told).unwrap();
    assert_eq!(told.contains("characters of four bytes"), flavour == Flavour::MySql, "{told}");
    assert!(told.contains("17 checks") && !told.contains("hushed"), "{told}");
}

/// A server with all that it should have.
fn in_order(flavour: Flavour) {
    let server = &start(flavour, &["--sync-binlog=1", "--innodb-flush-log-at-trx-commit=1"]);
    sql(
        server,
        "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, a INT, b INT, KEY ab (a, b), KEY ba (b, a))",
    );
    let report = doctor(server, "server host");
    let rules = [
        "history",
        "buffer_pool",
        "connections",
        "open_files",
        "aio",
        "primary_key",
        "duplicate_index",
        "myisam",
    ];
    for rule in rules.map(|rule| format!("server.{rule}")) {
        assert_eq!(state(&report, &rule), "fine", "{rule}: {report}");
    }
    // How full the disk is, and what else the host does, nobody knows here; but it is seen.
    for rule in ["swap", "oom", "disk", "numa", "files", "clock"].map(|rule| format!("host.{rule}")) {
        assert_ne!(state(&report, &rule), "unknown", "{rule}: {report}");
    }
}

/// An account without privileges, a server that is reached over the network, and none at all.
fn nobody_sees_it(flavour: Flavour) {
    let server = &start(flavour, &[]);
    sql(
        server,
        "CREATE USER doctor_nobody@'%' IDENTIFIED BY 'a-secret'; GRANT ALL ON *.* TO doctor_nobody@'%';
         REVOKE SELECT, PROCESS ON *.* FROM doctor_nobody@'%'",
    );
    let report = quick(server, "server -u doctor_nobody --password=a-secret");
    for rule in ["history", "primary_key", "duplicate_index", "myisam"].map(|rule| format!("server.{rule}")) {
        assert_eq!(state(&report, &rule), "unknown", "{rule}: {report}");
    }
    // What lies on the server's host cannot be told from here.
    let port = server.port();
    let line = format!(
        "--json doctor server host --interval 100ms --no-defaults -h 127.0.0.1 -P {port} -u doctor_nobody --password=a-secret"
    );
    let far = run(&mut drover(&line)).json();
    for rule in ["server.open_files", "server.aio"] {
        assert_eq!(state(&far, rule), "unknown", "{rule}: {far}");
    }
    // Nor is this host taken for the server's.
    for checked in far["checks"].as_array().unwrap().iter().filter(|checked| checked["area"] == "host") {
        assert_eq!(checked["state"], "unknown", "{checked}");
    }
    let none = run(&mut drover("--json doctor server --no-server --interval 100ms")).done().json();
    for checked in none["checks"].as_array().unwrap() {
        assert_eq!(checked["state"], "unknown", "{checked}");
    }
}

/// An account sees all by a role, and then all but one schema; names and texts in what is asked hold in any mode of the server.
fn rights_by_a_role(flavour: Flavour) {
    let modes = "--sql-mode=ANSI,NO_BACKSLASH_ESCAPES";
    let (options, to, target) = match flavour {
        Flavour::MariaDb => (vec![modes], "FOR", "mariadb-10.11"),
        Flavour::MySql => (vec![modes, "--partial-revokes=ON"], "TO", "mysql-9.7"),
    };
    let server = &start_unsynced(flavour, &options);
    sql(
        server,
        format!(
            "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY); CREATE ROLE seer; GRANT SELECT, TRIGGER, EVENT ON *.* TO seer;
             CREATE USER doctor@localhost IDENTIFIED BY 'a-secret'; GRANT seer TO doctor@localhost;
             SET DEFAULT ROLE seer {to} doctor@localhost"
        ),
    );
    let rules = [
        "server.primary_key",
        "server.duplicate_index",
        "server.myisam",
        "upgrade.engines",
        "upgrade.types",
        "upgrade.words",
        "upgrade.collations",
    ];
    let account = "-u doctor --password=a-secret";
    let areas = format!("server upgrade --target {target}");
    let all = quick(server, &format!("{areas} {account}"));
    rules.iter().for_each(|rule| assert_eq!(state(&all, rule), "fine", "{}", check(&all, rule)));
    // A bundle knows it, too, and not what the server tells with it.
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("bundle.json");
    run(&mut drover_on(server, &format!("doctor collect {} {account}", file.display())));
    let elsewhere = quick(server, &format!("{areas} --root {}", file.display()));
    rules.iter().for_each(|rule| assert_eq!(state(&elsewhere, rule), "fine", "{}", check(&elsewhere, rule)));
    let kept = std::fs::read_to_string(&file).unwrap();
    assert!(kept.contains("\"privileges\": [") && !kept.contains("IDENTIFIED"), "{kept}");

    let lacks = match flavour {
        Flavour::MariaDb => {
            sql(server, "REVOKE seer FROM doctor@localhost");
            "it has no SELECT ON *.*"
        }
        Flavour::MySql => {
            sql(server, "REVOKE SELECT ON d.* FROM seer");
            "it has no SELECT ON `d`.*"
        }
    };
    let but_one = quick(server, &format!("{areas} {account}"));
    for rule in rules {
        assert_eq!(state(&but_one, rule), "unknown", "{}", check(&but_one, rule));
        assert!(check(&but_one, rule)["unknown"].to_string().contains(lacks), "{}", check(&but_one, rule));
    }
}
