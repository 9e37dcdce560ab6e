//! `drover binlog replay`: what a server logged makes another server the same, whatever ends it in between.

use std::path::Path;

use drover_sandbox::{Flavour, Server};

use crate::cases::Case;
use crate::client::{Session, sql, value};
use crate::compare;
use crate::drover::{drover_on, dump, restore, run};
use crate::servers::{on_both, start, start_unsynced};

use super::sql::{logged, logs_of};

on_both!(
    every_case_by_its_log,
    large_events_are_split,
    large_transactions_are_streamed,
    rows_go_to_the_other_vendor,
    prepared_transactions,
    prepared_while_a_dump_is_taken,
    what_keeps_no_transactions,
    a_dry_run_tells,
    once_is_enough,
    from_a_live_server,
);

/// What cannot come out the same, since the log does not hold what would be needed: what is said of each.
const LIMITS: [(&str, Option<Flavour>, &str); 5] = [
    // Numbers that an INSERT … SELECT took beforehand and did not use.
    ("bytes-all", None, "AUTO_INCREMENT="),
    // CREATE PROCEDURE is logged with its comment in another character set than its body, and with its backslashes doubled.
    ("comments", None, "PROCEDURE `commented_latin1`"),
    ("routines", None, "FUNCTION `mode \"ansi`"),
    // MySQL logs an empty library in a way that it cannot read, and names in the character set of a session as if in another.
    ("javascript-libraries", Some(Flavour::MySql), "near '$$$$'"),
    ("stored-charsets", Some(Flavour::MySql), "größe"),
];

/// The folders of tests/cases: all types, character sets, keys and objects.
fn every_case_by_its_log(flavour: Flavour) {
    // Columns' names are not needed.
    let logs = ["--log-bin", "--binlog-format=ROW", "--max-connections=400"];
    let (source, target) =
        (start_unsynced(flavour, &logs), start_unsynced(flavour, &["--max-connections=400"]));
    let mut failures = Vec::new();
    for case in Case::all(flavour) {
        let logs = logged(&source, || case.build(&source).unwrap());
        let replayed = run(drover_on(&target, "binlog replay --restart").args(&logs));
        let found = match replayed.code {
            Some(0) => differences(&case, &source, &target),
            _ => replayed.stderr,
        };
        let limit =
            LIMITS.iter().find(|(name, of, _)| *name == case.name && of.is_none_or(|of| of == flavour));
        let is_right = limit.map_or(found.is_empty(), |(_, _, words)| found.contains(words));
        if !is_right {
            failures.push(format!("── {} on {flavour}: {found}", case.name));
        }
    }
    assert!(failures.is_empty(), "{} cases failed\n{}", failures.len(), failures.join("\n"));
}

fn differences(case: &Case, source: &Server, target: &Server) -> String {
    let schemas = case.schemas.iter();
    let differences = schemas.flat_map(|schema| {
        let [expected, found] = [source, target].map(|server| compare::everything(server, schema));
        let [expected, found] = [expected, found].map(compare::with_events_on);
        compare::differences(&expected, &found)
    });
    differences.collect::<Vec<_>>().join("\n")
}

/// Rows of one event that is larger than what the target takes, in statements that fit; one row that does not is refused with its size.
fn large_events_are_split(flavour: Flavour) {
    let source = start(
        flavour,
        &["--log-bin", "--binlog-format=ROW", "--max-allowed-packet=64M", "--binlog-row-event-max-size=64M"],
    );
    let target = start(flavour, &["--max-allowed-packet=1M"]);
    let logs = logged(&source, || {
        sql(&source, "CREATE DATABASE large; USE large; CREATE TABLE t (id INT PRIMARY KEY, v LONGTEXT)");
        let rows: Vec<_> = (0..40).map(|id| format!("({id}, REPEAT('{}', 300000))", id % 10)).collect();
        sql(&source, format!("INSERT INTO large.t VALUES {}", rows.join(", ")));
        sql(&source, "UPDATE large.t SET v = CONCAT(v, 'x') WHERE id < 20; DELETE FROM large.t WHERE id = 7");
    });
    run(drover_on(&target, "binlog replay").args(&logs)).done();
    assert_same(&source, &target, "large");
    sql(&source, "INSERT INTO large.t VALUES (100, REPEAT('y', 2000000))");
    run(drover_on(&target, "binlog replay --resume").args(logs_of(&source))).refused(&[
        "a row of 2000",
        "does not fit",
        "max_allowed_packet",
    ]);
}

/// A transaction of more than is held in memory comes over as one, and is not there if the log ends within it.
fn large_transactions_are_streamed(flavour: Flavour) {
    let source = start(flavour, &["--log-bin", "--binlog-format=ROW"]);
    let target = start(flavour, &[]);
    let logs = logged(&source, || {
        sql(
            &source,
            "CREATE DATABASE large; USE large; CREATE TABLE t (id INT PRIMARY KEY, v CHAR(200));
             INSERT INTO t VALUES (1, 'first'); START TRANSACTION;
             INSERT INTO t SELECT a.seq * 250 + b.seq + 10, REPEAT(CHAR(97 + b.seq % 26), 200) FROM
                 (WITH RECURSIVE s (seq) AS (SELECT 0 UNION ALL SELECT seq + 1 FROM s WHERE seq < 249) SELECT * FROM s) a,
                 (WITH RECURSIVE s (seq) AS (SELECT 0 UNION ALL SELECT seq + 1 FROM s WHERE seq < 249) SELECT * FROM s) b;
             UPDATE t SET v = 'changed' WHERE id % 1000 = 0; COMMIT; INSERT INTO t VALUES (2, 'last')",
        );
    });
    let dir = tempfile::tempdir().unwrap();
    let whole = std::fs::read(&logs[0]).unwrap();
    assert!(whole.len() > 10 << 20);
    let cut = dir.path().join(logs[0].file_name().unwrap());
    std::fs::write(&cut, &whole[..whole.len() / 2]).unwrap();
    run(drover_on(&target, "binlog replay").arg(&cut))
        .refused(&["the log ends", "the last whole transaction ends at"]);
    assert_eq!(value(&target, "SELECT COUNT(*) FROM large.t"), "1");
    run(drover_on(&target, "binlog replay --resume").args(&logs)).done();
    assert_same(&source, &target, "large");
}

/// What comes out of the logs of one vendor goes into a server of the other: rows of the first version into MySQL, MySQL's into
/// MariaDB.
fn rows_go_to_the_other_vendor(flavour: Flavour) {
    let other = if flavour == Flavour::MySql { Flavour::MariaDb } else { Flavour::MySql };
    let source = start(flavour, &["--log-bin", "--binlog-format=ROW"]);
    let target = start(other, &[]);
    let definition = "CREATE DATABASE crossing CHARACTER SET utf8mb4 COLLATE utf8mb4_bin; USE crossing; CREATE TABLE t (id INT PRIMARY KEY,
        d DECIMAL(12, 3), f DOUBLE, dt DATETIME(3), ts TIMESTAMP NULL, v VARCHAR(100), b BLOB, e ENUM('a', 'b'), bits BIT(9), t TIME(2))";
    sql(&source, definition);
    sql(&target, definition);
    let logs = logged(&source, || {
        sql(
            &source,
            "SET time_zone = '+00:00'; USE crossing; INSERT INTO t VALUES (1, -1.5, 1e100, '2026-01-02 03:04:05.678', '2026-01-01 00:00:00', 'größe', x'00ff', 'b', 5, '-11:22:33.44'),
             (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), (3, 7, 8, NULL, NULL, '', '', 'a', 511, NULL);
             UPDATE t SET v = CONCAT(v, '!'), id = id + 10 WHERE id <> 2; DELETE FROM t WHERE id = 2",
        );
    });
    run(drover_on(&target, "binlog replay").args(&logs)).done();
    let [there, here] = [&source, &target].map(|server| {
        sql(server, "SET time_zone = '+00:00'; SELECT id, d, f, dt, ts, v, HEX(b), e, bits + 0, t FROM crossing.t ORDER BY id")
    });
    assert_eq!(there, here);
    assert_eq!(here.len(), 2);
}

/// What was prepared stays so, also where the replay is ended before it could note that.
fn prepared_transactions(flavour: Flavour) {
    let source = start(flavour, &["--log-bin", "--binlog-format=ROW"]);
    let target = start(flavour, &[]);
    let logs = logged(&source, || {
        sql(
            &source,
            "CREATE DATABASE xa; USE xa; CREATE TABLE t (id INT PRIMARY KEY); XA START 'a'; INSERT INTO t VALUES (1); XA END 'a'; XA PREPARE 'a'",
        );
        sql(&source, "XA COMMIT 'a'");
        sql(
            &source,
            "USE xa; XA START 'b', 'c', 7; INSERT INTO t VALUES (2); XA END 'b', 'c', 7; XA PREPARE 'b', 'c', 7",
        );
        sql(&source, "XA ROLLBACK 'b', 'c', 7; INSERT INTO xa.t VALUES (3)");
        sql(&source, "USE xa; XA START 'd'; INSERT INTO t VALUES (4); XA END 'd'; XA COMMIT 'd' ONE PHASE");
    });
    run(drover_on(&target, "binlog replay").args(&logs)).done();
    assert_same(&source, &target, "xa");
    assert_eq!(sql(&target, "XA RECOVER"), Vec::<Vec<String>>::new());
}

/// The rows of a transaction that is prepared are not in the dump, and in the logs before it.
fn prepared_while_a_dump_is_taken(flavour: Flavour) {
    let (source, target) = (start(flavour, &["--log-bin", "--binlog-format=ROW"]), start(flavour, &[]));
    sql(&source, "CREATE DATABASE xb; USE xb; CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1)");
    let mut other = Session::open(&source);
    other.run("XA START 'held'; INSERT INTO xb.t VALUES (2); XA END 'held'; XA PREPARE 'held'");
    let dir = tempfile::tempdir().unwrap();
    let backup = dir.path().join("backup");
    let dumped = run(&mut dump(&source, "xb", &backup)).done();
    assert!(dumped.stderr.contains("1 transaction was prepared (XA RECOVER)"), "{dumped}");
    run(&mut restore(&target, &backup, "")).done();
    other.run("XA COMMIT 'held'");
    let from = format!("mysql://root@/?socket={}", source.socket().display());
    for dry in ["", "--dry-run"] {
        let mut replay = drover_on(&target, &format!("binlog replay {dry}"));
        run(replay.arg("--after").arg(&backup).args(["--from", &from])).refused(&[
            "1 transaction was prepared (XA) while the dump was taken, as \"held\"",
            "hint: end them",
        ]);
    }
    assert_eq!(value(&target, "SELECT COUNT(*) FROM xb.t"), "1");
}

/// A transaction on tables that keep none may be there in part: nothing goes on until a person has said what to do.
fn what_keeps_no_transactions(flavour: Flavour) {
    let source = start(flavour, &["--log-bin", "--binlog-format=ROW"]);
    let target = start(flavour, &[]);
    let logs = logged(&source, || {
        sql(
            &source,
            "CREATE DATABASE plain; USE plain; CREATE TABLE t (id INT PRIMARY KEY) ENGINE = MyISAM; INSERT INTO t VALUES (1), (2), (3); INSERT INTO t VALUES (4)",
        );
    });
    // The second row stands in the way: the first came in, and stays.
    let create = "CREATE DATABASE plain; USE plain; CREATE TABLE t (id INT PRIMARY KEY) ENGINE = MyISAM";
    sql(&target, format!("{create}; INSERT INTO t VALUES (2)"));
    let rows = format!("--start-position {}", begins(&logs[0], "INSERT INTO plain.t"));
    run(drover_on(&target, &format!("binlog replay {rows}")).args(&logs)).refused(&["at ", "uplicate"]);
    run(drover_on(&target, &format!("binlog replay --resume {rows}")).args(&logs))
        .refused(&["tables that keep no transactions", "--interrupted again"]);
    sql(&target, "DELETE FROM plain.t");
    run(drover_on(&target, &format!("binlog replay --resume --interrupted again {rows}")).args(&logs)).done();
    assert_same(&source, &target, "plain");
    assert_eq!(value(&target, "SELECT COUNT(*) FROM plain.t"), "4");
}

/// Where the first transaction begins that does this.
fn begins(log: &std::path::Path, what: &str) -> String {
    let listed = run(crate::drover::drover("binlog ls --json").arg(log)).done().json();
    let lines = listed["lines"].as_array().unwrap().clone();
    let line = lines.iter().find(|line| line["what"].as_str().unwrap().contains(what)).unwrap();
    line["position"].to_string()
}

/// A dry run tells what is wrong, all of it, and changes nothing.
fn a_dry_run_tells(flavour: Flavour) {
    let source = start(flavour, &["--log-bin", "--binlog-format=ROW", "--max-allowed-packet=64M"]);
    let target = start(flavour, &["--max-allowed-packet=1M", "--local-infile=0"]);
    sql(&source, "CREATE DATABASE dry; USE dry; CREATE TABLE before_log (id INT PRIMARY KEY, v LONGTEXT)");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "1\n2\n").unwrap();
    let logs = logged(&source, || {
        sql(
            &source,
            "USE dry; INSERT INTO before_log VALUES (1, REPEAT('x', 3000000)); CREATE TABLE made (id INT); INSERT INTO made VALUES (1)",
        );
        let load = format!(
            "SET GLOBAL local_infile = 1; SET SESSION binlog_format = STATEMENT; LOAD DATA LOCAL INFILE '{}' INTO TABLE dry.made",
            file.path().display()
        );
        let fed =
            crate::client::feed(crate::client::client(&source).arg("--local-infile=1"), load.as_bytes());
        assert!(fed.status.success(), "{}", String::from_utf8_lossy(&fed.stderr));
    });
    let told = run(drover_on(&target, "binlog replay --dry-run").args(&logs)).found(&[
        "there is no table dry.before_log",
        "a row of 3000",
        "takes no files from clients",
        "3 transactions would be applied",
    ]);
    assert!(!told.stdout.contains("dry.made") && !told.stdout.contains(": at 0: "), "{told}");
    assert_eq!(sql(&target, "SHOW DATABASES LIKE 'dr%'"), Vec::<Vec<String>>::new());
    programs_that_are_refused(&source, flavour);
}

/// A target that writes a log, and an account that is not everybody.
fn programs_that_are_refused(source: &Server, flavour: Flavour) {
    let target = start(flavour, &["--log-bin"]);
    let logs = logged(source, || {
        drop(sql(
            source,
            "SET GLOBAL log_bin_trust_function_creators = ON; CREATE DATABASE p; USE p; CREATE FUNCTION f() RETURNS INT RETURN 1;
             CREATE FUNCTION d() RETURNS INT DETERMINISTIC RETURN 1; CREATE DEFINER = other@localhost PROCEDURE q() DO 1",
        ))
    });
    let told =
        run(drover_on(&target, "binlog replay --dry-run").args(&logs)).found(&["FUNCTION `f`", "(1418)"]);
    assert!(!told.stdout.contains("`d`") && !told.stdout.contains("(1227)"), "{told}");
    run(drover_on(&target, "binlog replay").args(&logs)).refused(&[
        "1418",
        "hint: SET GLOBAL log_bin_trust_function_creators = ON on the target, then --resume",
    ]);
    let revoked = match flavour {
        Flavour::MariaDb => "SUPER, SET USER",
        Flavour::MySql => "SUPER, SET_ANY_DEFINER, ALLOW_NONEXISTENT_DEFINER",
    };
    sql(
        &target,
        format!(
            "SET GLOBAL log_bin_trust_function_creators = ON; CREATE USER restricted@localhost; GRANT ALL ON *.* TO restricted@localhost;
             REVOKE {revoked} ON *.* FROM restricted@localhost"
        ),
    );
    let told = run(drover_on(&target, "binlog replay --restart --dry-run -u restricted").args(&logs))
        .found(&["'other'@'localhost'", "(1227)"]);
    assert!(!told.stdout.contains("(1418)"), "{told}");
    run(drover_on(&target, "binlog replay --resume").args(&logs)).done();
    assert_eq!(
        value(&target, "SELECT COUNT(*) FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = 'p'"),
        "3"
    );
}

/// A replay is not begun twice by mistake, and one that is at work keeps another away.
fn once_is_enough(flavour: Flavour) {
    let source = start(flavour, &["--log-bin", "--binlog-format=ROW"]);
    let target = start(flavour, &[]);
    let logs = logged(&source, || {
        sql(&source, "CREATE DATABASE once; USE once; CREATE TABLE t (id INT); INSERT INTO t VALUES (1)");
    });
    run(drover_on(&target, "binlog replay").args(&logs)).done();
    run(drover_on(&target, "binlog replay").args(&logs)).refused(&[
        "a replay named",
        "has come to",
        "--resume",
        "--restart",
    ]);
    run(drover_on(&target, "binlog replay --resume").args(&logs)).done();
    assert_same(&source, &target, "once");
    // The next logs come later; one that is left out is missed.
    sql(&source, "INSERT INTO once.t VALUES (2)");
    let skipping = logged(&source, || drop(sql(&source, "INSERT INTO once.t VALUES (3)")));
    run(drover_on(&target, "binlog replay --resume").args(&skipping))
        .refused(&["000003 is where to go on, and it is not among the logs"]);
    let all = logs_of(&source);
    run(drover_on(&target, "binlog replay --resume").args(&all[2..])).done();
    assert_same(&source, &target, "once");
    sql(&target, "DROP DATABASE once");
    run(drover_on(&target, "binlog replay --restart").args(&all)).done();
    assert_same(&source, &target, "once");
}

/// From one server to the other without a file, also from where a dump was taken.
fn from_a_live_server(flavour: Flavour) {
    let source = start(flavour, &["--log-bin", "--binlog-format=ROW"]);
    let target = start(flavour, &["--skip-log-bin"]);
    sql(
        &source,
        "CREATE DATABASE live; USE live; CREATE TABLE t (id INT PRIMARY KEY, v TEXT); INSERT INTO t VALUES (1, 'a')",
    );
    let from = format!("mysql://root@/?socket={}", source.socket().display());
    run(drover_on(&target, "binlog replay").args(["--from", &from])).done();
    assert_same(&source, &target, "live");
    sql(
        &source,
        "FLUSH BINARY LOGS; INSERT INTO live.t VALUES (2, 'b'); UPDATE live.t SET v = 'c' WHERE id = 1",
    );
    run(drover_on(&target, "binlog replay --resume").args(["--from", &from])).done();
    assert_same(&source, &target, "live");

    let dir = tempfile::tempdir().unwrap();
    let [backup, without_log] = ["backup", "without log"].map(|name| dir.path().join(name));
    run(&mut dump(&source, "live", &backup)).done();
    sql(&source, "INSERT INTO live.t VALUES (3, 'd'); DELETE FROM live.t WHERE id = 2");
    sql(&target, "DROP DATABASE live");
    run(&mut restore(&target, &backup, "")).done();
    let after = |dump: &Path, options: &str| {
        let mut command = drover_on(&target, &format!("binlog replay --restart {options}"));
        run(command.arg("--after").arg(dump).args(["--from", &from]))
    };
    after(&backup, "").done();
    assert_same(&source, &target, "live");
    run(&mut dump(&target, "live", &without_log)).done();
    after(&without_log, "").refused(&["told no position in a binary log", "--start-position"]);
    after(dir.path(), "").refused(&["manifest.json"]);
    sql(&target, "SET GLOBAL max_allowed_packet = 65536");
    after(&backup, "").refused(&["65536 bytes", "256 KiB", "SET GLOBAL max_allowed_packet"]);
}

fn assert_same(source: &Server, target: &Server, schema: &str) {
    compare::assert_same(&compare::everything(source, schema), &compare::everything(target, schema));
}
