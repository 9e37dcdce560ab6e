//! Global settings that others chose: none of them may lose rows, repeat them, or end what could have been done.

use std::path::PathBuf;

use drover_sandbox::{Flavour, Server};

use crate::client::{Session, sql, try_sql, value};
use crate::compare;
use crate::drover::{copy, copy_as, drover_on, dump, restore, run, verify};
use crate::servers::{is_wanted, on_both, start_mariadb_11, start_unsynced};

on_both!(every_family_works, transactions_that_others_chain);

/// Each at its nastiest. A vendor that does not have one passes it over.
const NASTY: [&str; 25] = [
    // Runs for accounts without privileges.
    "init_connect = 'SET SESSION sql_select_limit = 2, completion_type = 1'",
    "sql_select_limit = 2",
    "max_join_size = 1",
    "sql_big_selects = 0",
    "sql_safe_updates = 1",
    "sql_auto_is_null = 1",
    "completion_type = 2",
    "transaction_isolation = 'READ-UNCOMMITTED'",
    "tx_isolation = 'READ-UNCOMMITTED'",
    "sort_buffer_size = 1024",
    "max_sort_length = 8",
    "group_concat_max_len = 4",
    "innodb_compression_default = ON",
    "sql_quote_show_create = 0",
    "div_precision_increment = 0",
    "auto_increment_increment = 7",
    "max_error_count = 0",
    "net_read_timeout = 1",
    "wait_timeout = 2",
    "lock_wait_timeout = 1",
    "max_execution_time = 50",
    "max_statement_time = 0.05",
    "time_zone = '-11:00'",
    "sql_mode = 'ANSI,NO_BACKSLASH_ESCAPES,TRADITIONAL,PAD_CHAR_TO_FULL_LENGTH'",
    "foreign_key_checks = 0",
];

/// These end the client's own sessions, so they come last.
const NASTIEST: [&str; 3] = ["tx_read_only = 1", "transaction_read_only = 1", "autocommit = 0"];

/// Sets those that this server has, and gives their names; sessions that are open keep what they have.
fn spoil(server: &Server) -> Vec<&'static str> {
    let is_known = |setting: &&str| try_sql(server, &format!("SELECT @@GLOBAL.{}", name(setting))).is_ok();
    let known: Vec<_> = NASTY.into_iter().chain(NASTIEST).filter(is_known).collect();
    let script: Vec<_> = known.iter().map(|setting| format!("SET GLOBAL {setting}")).collect();
    sql(server, script.join("; "));
    known.into_iter().map(name).collect()
}

fn name(setting: &str) -> &str {
    setting.split(' ').next().unwrap_or_default()
}

/// Their defaults again, set by a session that was open before.
fn mend(calm: &mut Session<'_>, names: &[&str]) {
    names.iter().for_each(|name| calm.run(&format!("SET GLOBAL {name} = DEFAULT")));
}

pub(crate) const SHOP: &str = "CREATE DATABASE shop; USE shop;
    CREATE TABLE keyed (id INT PRIMARY KEY, word VARCHAR(200), price DECIMAL(9,2)) ROW_FORMAT=COMPRESSED;
    CREATE TABLE bare (n INT, note TEXT);
    CREATE TABLE `by word` (word VARCHAR(200) CHARACTER SET utf8mb4 PRIMARY KEY, n INT);
    CREATE TABLE kept (id INT PRIMARY KEY, word VARCHAR(200), price DECIMAL(9,2));
    INSERT INTO keyed WITH RECURSIVE s AS (SELECT 1 n UNION ALL SELECT n + 1 FROM s WHERE n < 900)
      SELECT n, REPEAT(CHAR(97 + n % 26), n % 200), n / 8 FROM s;
    INSERT INTO bare SELECT id, word FROM keyed;
    INSERT INTO `by word` SELECT CONCAT('a common beginning of all ', id), id FROM keyed;
    CREATE VIEW seen AS SELECT id FROM keyed WHERE word > 'k';
    CREATE TRIGGER noted BEFORE INSERT ON bare FOR EACH ROW SET NEW.note = COALESCE(NEW.note, '');
    CREATE FUNCTION twice(a INT) RETURNS INT DETERMINISTIC RETURN 2 * a";

fn every_family_works(flavour: Flavour) {
    let [source, target] = &[(); 2].map(|()| start_unsynced(flavour, &OPTIONS));
    work_with_all(source, target);
}

#[test]
fn every_family_works_on_mariadb_11() {
    if is_wanted(Flavour::MariaDb) {
        let [source, target] = &[(); 2].map(|()| start_mariadb_11(&OPTIONS));
        work_with_all(source, target);
    }
}

const OPTIONS: [&str; 4] =
    ["--log-bin=bin", "--server-id=1", "--log-bin-trust-function-creators=1", "--local-infile=1"];

fn work_with_all(source: &Server, target: &Server) {
    let flavour = source.flavour();
    sql(source, SHOP);
    sql(
        source,
        "CREATE USER reader@localhost; GRANT ALL ON shop.* TO reader@localhost; GRANT SELECT ON mysql.* TO reader@localhost",
    );
    let before = compare::everything(source, "shop");
    if flavour == Flavour::MySql {
        sql(source, "GRANT SHOW_ROUTINE ON *.* TO reader@localhost");
    }
    let (mut calm, mut calm_there) = (Session::open(source), Session::open(target));
    for session in [&mut calm, &mut calm_there] {
        session.run("SET SESSION wait_timeout = 86400");
    }
    let spoilt = [spoil(source), spoil(target)];
    let dir = tempfile::tempdir().unwrap();
    run(&mut dump(source, "shop", &dir.path().join("d"))).done();
    run(&mut restore(target, &dir.path().join("d"), "")).done();
    run(&mut verify(target, &dir.path().join("d"), "")).done();
    run(&mut dump(source, "shop -u reader", &dir.path().join("read"))).done();
    run(&mut verify(target, &dir.path().join("read"), "")).done();
    run(&mut copy(source, target, "shop --into shop=copied", &dir.path().join("state"))).done();
    let chunk = |statement: &str| {
        let mut command = drover_on(target, "chunk -D copied --chunk-size 4k");
        command.arg(statement);
        run(&mut command).done();
    };
    chunk("INSERT INTO kept SELECT * FROM keyed WHERE id > 0");
    chunk("UPDATE keyed SET price = price + 1 WHERE id > 0");
    chunk("DELETE FROM kept WHERE id <= 450");
    queue(target);
    replay(source, target, &mut calm);
    run(&mut drover_on(target, "bench tpcc load -w 1 -D tpcc")).done();
    run(&mut drover_on(target, "bench tpcc check -D tpcc")).done();

    mend(&mut calm, &spoilt[0]);
    mend(&mut calm_there, &spoilt[1]);
    compare::assert_same(&before, &compare::everything(target, "shop"));
    let number = |of: &str| value(target, format!("SELECT {of}"));
    assert_eq!(number("COUNT(*) FROM copied.kept"), "450");
    assert_eq!(number("SUM(c.price = k.price + 1) FROM copied.keyed c JOIN shop.keyed k USING (id)"), "900");
    assert_eq!(number("COUNT(*) FROM replayed.t"), "7");
}

/// Each task is done once, and `--until-empty` ends.
fn queue(server: &Server) {
    queue_as(server, "root", "jobs");
}

fn queue_as(server: &Server, user: &str, schema: &str) {
    let queue =
        |line: &str| run(&mut drover_on(server, &format!("queue {line} -D {schema} -u {user}"))).done();
    queue("init");
    let ids: Vec<_> = (1..=50).map(|id| id.to_string()).collect();
    queue(&format!("push --kind 1 {}", ids.join(" ")));
    let report = queue("work --json --until-empty --json-lines cat");
    assert_eq!(report.json()["done"], 50, "{}", report.stdout);
}

/// What the source logs while its settings are as they are.
fn replay(source: &Server, target: &Server, calm: &mut Session<'_>) {
    let logs = || {
        let files = std::fs::read_dir(source.datadir()).unwrap().map(|entry| entry.unwrap().path());
        let is_log = |path: &PathBuf| {
            path.to_string_lossy().contains("/bin.0") && path.extension().is_some_and(|end| end != "idx")
        };
        let mut logs: Vec<_> = files.filter(is_log).collect();
        logs.sort();
        logs
    };
    calm.run("FLUSH BINARY LOGS");
    let log = logs().pop().unwrap();
    calm.run("CREATE DATABASE replayed");
    calm.run("CREATE TABLE replayed.t (id INT PRIMARY KEY)");
    (1..=7).for_each(|id| calm.run(&format!("INSERT INTO replayed.t VALUES ({id})")));
    calm.run("FLUSH BINARY LOGS");
    run(drover_on(target, "binlog replay").arg(log)).done();
}

/// A COMMIT begins the next transaction: by the global setting for root, and by init_connect for accounts without privileges.
fn transactions_that_others_chain(flavour: Flavour) {
    let chained = [
        "--log-bin=bin",
        "--local-infile=1",
        "--log-bin-trust-function-creators=1",
        "--init-connect=SET SESSION completion_type = 1, sql_select_limit = 2",
    ];
    let (source, target) = (&start_unsynced(flavour, &chained), &start_unsynced(flavour, &chained));
    sql(source, SHOP);
    let before = compare::everything(source, "shop");
    let accounts = |name: &str, schema: &str| {
        format!("CREATE USER {name}@localhost; GRANT ALL ON {schema}.* TO {name}@localhost")
    };
    sql(source, accounts("reader", "shop") + "; GRANT SELECT ON mysql.* TO reader@localhost");
    if flavour == Flavour::MySql {
        sql(source, "GRANT SHOW_ROUTINE ON *.* TO reader@localhost");
    }
    sql(target, format!("{}; {}", accounts("writer", "copied"), accounts("worker", "worked")));
    let dir = tempfile::tempdir().unwrap();
    let few = "shop.keyed shop.kept --into shop=copied";
    run(&mut copy_as(("reader", source), ("writer", target), few, &dir.path().join("few"))).done();
    assert_eq!(value(target, "SELECT COUNT(*) FROM copied.keyed"), "900");
    let mut calm = [Session::open(source), Session::open(target)];
    for session in &mut calm {
        session.run("SET GLOBAL completion_type = 1");
    }
    run(&mut copy(source, target, "shop", &dir.path().join("all"))).done();
    compare::assert_same(&before, &compare::everything(target, "shop"));
    for (user, schema) in [("root", "jobs"), ("worker", "worked")] {
        queue_as(target, user, schema);
    }
}
