//! A dump is one moment of the server, and the binary log from the position it names leads to all later ones.
//!
//! Four writers move money between accounts in four tables of two schemas, one transaction a transfer, and note each in a
//! ledger. In every dump the sum must be what it was at first, and the ledger must explain every balance, also if the account may lock
//! nothing. The last dump, restored and followed by the binary log from its position on, must be the server as it is at the end.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use drover_sandbox::{Flavour, Server};

use crate::client::{Session, client, feed, run_script, sql, value, wait_until};
use crate::compare;
use crate::drover::{Running, dump, restore, run};
use crate::files::{manifest, table};
use crate::servers::{is_wanted, on_both, start, start_mariadb_11, start_unsynced};

const WRITERS: usize = 4;
const DUMPS: usize = 20;
const TABLES: [(&str, &str); 4] = [("bank_a", "t0"), ("bank_a", "t1"), ("bank_b", "t2"), ("bank_b", "t3")];
const ACCOUNTS: u64 = 100;
const AT_FIRST: i64 = 1000;

on_both!(
    dumps_under_load_and_the_binary_log_after_them,
    tables_that_are_swapped_meanwhile,
    tables_that_come_and_go_before_the_lock
);

fn dumps_under_load_and_the_binary_log_after_them(flavour: Flavour) {
    let source = start(flavour, &["--binlog-format=ROW"]);
    let target = start(flavour, &[]);
    run_script(&source, None, schema().as_bytes()).unwrap();
    may_only_read(&source, "reader");
    let writers: Vec<_> = (0..WRITERS).map(|number| Writer::start(&source, number)).collect();
    wait_until("money moves", || {
        value(&source, "SELECT COUNT(*) FROM bank_a.ledger").parse::<u64>().unwrap() > 50
    });

    let dir = tempfile::tempdir().unwrap();
    let mut ledger_before = 0;
    for number in 0..DUMPS {
        let out = dir.path().join(number.to_string());
        // Without a lock MariaDB alone tells the position that the last one needs.
        let is_reader = (number % 2 == 0) == (flavour == Flavour::MySql);
        let account = if is_reader { "-u reader" } else { "" };
        let options = format!("bank_a bank_b --compress none --threads 3 {account}");
        let dumped = run(&mut dump(&source, &options, &out)).done();
        let lock = manifest(&out)["snapshot"]["lock"].as_str().unwrap().to_owned();
        assert_eq!(
            (lock == "no lock", dumped.stderr.contains("one connection reads all")),
            (is_reader, is_reader),
            "{dumped}"
        );
        let ledger = check(&out);
        assert!(ledger > ledger_before, "nobody wrote between two dumps: the test proves nothing");
        ledger_before = ledger;
    }
    let last = dir.path().join((DUMPS - 1).to_string());
    sql(&source, "FLUSH BINARY LOGS");
    run(&mut restore(&target, &last, "")).done();
    sql(&source, "UPDATE bank_a.control SET stop = 1");
    writers.into_iter().for_each(Writer::finish);

    replay(&source, &target, &last);
    for schema in ["bank_a", "bank_b"] {
        compare::assert_same(&compare::rows(&source, schema), &compare::rows(&target, schema));
    }
}

/// Makes an account that may lock nothing.
fn may_only_read(server: &Server, name: &str) {
    let routines = match server.flavour() {
        Flavour::MariaDb => "SELECT ON mysql.proc",
        Flavour::MySql => "SHOW_ROUTINE ON *.*",
    };
    sql(server, format!("CREATE USER {name}@localhost; GRANT {routines} TO {name}@localhost"));
    for schema in ["bank_a", "bank_b"] {
        sql(
            server,
            format!("GRANT SELECT, SHOW VIEW, TRIGGER, EVENT, EXECUTE ON {schema}.* TO {name}@localhost"),
        );
    }
}

/// Accounts 0 to 99, spread over the tables by their number modulo 4.
fn schema() -> String {
    let mut text = String::from(
        "CREATE DATABASE bank_a; CREATE DATABASE bank_b;
         CREATE TABLE bank_a.control (stop INT NOT NULL) ENGINE = InnoDB; INSERT INTO bank_a.control VALUES (0);
         CREATE TABLE bank_a.ledger (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, payer INT NOT NULL, payee INT NOT NULL,
           amount BIGINT NOT NULL) ENGINE = InnoDB;\n",
    );
    for (number, (schema, table)) in TABLES.iter().enumerate() {
        let rows: Vec<_> = (0..ACCOUNTS)
            .filter(|id| *id as usize % 4 == number)
            .map(|id| format!("({id}, {AT_FIRST})"))
            .collect();
        text += &format!(
            "CREATE TABLE {schema}.{table} (id INT NOT NULL PRIMARY KEY, balance BIGINT NOT NULL) ENGINE = InnoDB;
             INSERT INTO {schema}.{table} VALUES {};\n",
            rows.join(", ")
        );
    }
    text + &procedures()
}

/// `pay` changes one account; `work` transfers until it is told to stop, or for two minutes at most.
fn procedures() -> String {
    let cases: String = TABLES
        .iter()
        .enumerate()
        .map(|(number, (schema, table))| {
            format!("WHEN {number} THEN UPDATE {schema}.{table} SET balance = balance + amount WHERE id = account;\n")
        })
        .collect();
    format!(
        "DELIMITER //
         CREATE PROCEDURE bank_a.pay(account INT, amount BIGINT)
         BEGIN CASE account % 4 {cases} END CASE; END//
         CREATE PROCEDURE bank_a.transfer(payer INT, payee INT, amount BIGINT)
         BEGIN
           DECLARE EXIT HANDLER FOR 1205, 1213 ROLLBACK;
           START TRANSACTION;
           CALL bank_a.pay(payer, -amount);
           INSERT INTO bank_a.ledger (payer, payee, amount) VALUES (payer, payee, amount);
           CALL bank_a.pay(payee, amount);
           COMMIT;
         END//
         CREATE PROCEDURE bank_a.work()
         BEGIN
           DECLARE until_ DATETIME DEFAULT SYSDATE() + INTERVAL 2 MINUTE;
           WHILE (SELECT stop FROM bank_a.control) = 0 AND SYSDATE() < until_ DO
             CALL bank_a.transfer(FLOOR(RAND() * {ACCOUNTS}), FLOOR(RAND() * {ACCOUNTS}), FLOOR(RAND() * 50));
           END WHILE;
         END//
         DELIMITER ;"
    )
}

struct Writer<'a>(Session<'a>);

impl<'a> Writer<'a> {
    fn start(server: &'a Server, number: usize) -> Self {
        let mut session = Session::open(server);
        session.run(&format!("SET @unused = RAND({number})"));
        session.send("CALL bank_a.work()");
        Self(session)
    }

    fn finish(mut self) {
        self.0.run("DO 0");
    }
}

/// Checks that the dump in `out` is one moment; gives the number of transfers until then.
fn check(out: &Path) -> usize {
    let manifest = manifest(out);
    let rows = |schema: &str, name: &str| {
        let table = table(&manifest, schema, name);
        let files =
            table["files"].as_array().unwrap().iter().map(|file| out.join(file["file"].as_str().unwrap()));
        files.flat_map(|file| numbers(&file)).collect::<Vec<_>>()
    };
    let balances: BTreeMap<i64, i64> =
        TABLES.iter().flat_map(|(schema, table)| rows(schema, table)).map(|row| (row[0], row[1])).collect();
    assert_eq!(balances.len() as u64, ACCOUNTS);
    assert_eq!(
        balances.values().sum::<i64>(),
        ACCOUNTS as i64 * AT_FIRST,
        "{}: money was lost or made",
        out.display()
    );

    let ledger = rows("bank_a", "ledger");
    let mut explained: BTreeMap<i64, i64> = balances.keys().map(|&account| (account, AT_FIRST)).collect();
    for transfer in &ledger {
        *explained.get_mut(&transfer[1]).unwrap() -= transfer[3];
        *explained.get_mut(&transfer[2]).unwrap() += transfer[3];
    }
    assert_eq!(explained, balances, "{}: the ledger is of another moment than the accounts", out.display());
    ledger.len()
}

fn numbers(file: &PathBuf) -> Vec<Vec<i64>> {
    let text = fs::read_to_string(file).unwrap();
    text.lines().map(|line| line.split('\t').map(|field| field.parse().unwrap()).collect()).collect()
}

/// Applies to `target` all that `source` wrote to its binary log since the dump in `out`.
fn replay(source: &Server, target: &Server, out: &Path) {
    let snapshot = &manifest(out)["snapshot"];
    let first = snapshot["binlog_file"].as_str().unwrap();
    let logs = sql(source, "SHOW BINARY LOGS").into_iter().map(|row| row[0].clone());
    let files: Vec<_> = logs.skip_while(|log| log != first).map(|log| source.datadir().join(log)).collect();
    assert!(files.len() > 1, "the log was rotated after the dump");
    let mut reader = source.binaries().client_command("mysqlbinlog");
    reader.arg(format!("--start-position={}", snapshot["binlog_position"])).args(files);
    let events = feed(&mut reader, b"");
    assert!(events.status.success(), "{}", String::from_utf8_lossy(&events.stderr));
    let applied = feed(client(target).arg("--binary-mode"), &events.stdout);
    assert!(applied.status.success(), "{}", String::from_utf8_lossy(&applied.stderr));
}

/// Others rename tables, rebuild them and put new ones in their place all the time: each is in each dump, or the dump is an error.
fn tables_that_are_swapped_meanwhile(flavour: Flavour) {
    let server = &start_unsynced(flavour, &[]);
    let tables: Vec<_> = (0..30).map(|number| format!("CREATE TABLE swapped.t{number:02} (id INT PRIMARY KEY); INSERT INTO swapped.t{number:02} VALUES (1)")).collect();
    sql(server, format!("CREATE DATABASE swapped; {}", tables.join("; ")));
    let done = &AtomicBool::new(false);
    let swap = |number: usize| {
        let table = format!("swapped.t{number:02}");
        let mut script = format!("RENAME TABLE {table} TO {table}_old; RENAME TABLE {table}_old TO {table};");
        script += &format!("ALTER TABLE {table} ENGINE=InnoDB, ALGORITHM=COPY;");
        if flavour == Flavour::MariaDb {
            script += &format!("CREATE OR REPLACE TABLE {table} (PRIMARY KEY (id)) SELECT 1 AS id;");
        }
        while !done.load(Ordering::Relaxed) {
            // A dump that holds DDL off keeps it waiting, and no more.
            sql(server, &script);
        }
    };
    std::thread::scope(|scope| {
        (0..3).for_each(|number| drop(scope.spawn(move || swap(number * 10 + 5))));
        let stop = StopAtEnd(done);
        let dir = tempfile::tempdir().unwrap();
        for round in 0..8 {
            let dumped = run(&mut dump(server, "swapped", &dir.path().join(round.to_string())));
            let (code, tables) = (dumped.code, dumped.stdout.contains("30 tables"));
            // Between two names of a table there is a moment at which it has the other one.
            let is_said = code == Some(2) && !dumped.stderr.contains("panicked");
            assert!(code == Some(0) && tables || is_said, "round {round}: {dumped}");
        }
        drop(stop);
    });
}

/// The tables are listed before the lock that holds DDL off, which somebody else keeps waiting here: the dump has those that are there
/// when it gets it.
fn tables_that_come_and_go_before_the_lock(flavour: Flavour) {
    changed_before_the_lock(&start_unsynced(flavour, &[]));
}

#[test]
fn tables_that_come_and_go_on_mariadb_11() {
    if is_wanted(Flavour::MariaDb) {
        changed_before_the_lock(&start_mariadb_11(&[]));
    }
}

fn changed_before_the_lock(server: &Server) {
    sql(
        server,
        "CREATE DATABASE away; CREATE DATABASE held; USE held; CREATE TABLE old (id INT PRIMARY KEY) ENGINE = MyISAM;
         CREATE TABLE rebuilt (id INT PRIMARY KEY); CREATE TABLE away.comes_back LIKE rebuilt; CREATE TABLE goes LIKE rebuilt;
         CREATE TABLE renamed LIKE rebuilt; CREATE TABLE replaced LIKE rebuilt",
    );
    let more =
        "RENAME TABLE away.comes_back TO comes_back; ALTER TABLE rebuilt ENGINE = InnoDB, ALGORITHM = COPY;
        CREATE TABLE anew (PRIMARY KEY (id)) SELECT 1 AS id";
    let all = ["anew", "comes_back", "goes", "old", "rebuilt", "renamed", "replaced"];
    assert_eq!(dumped_behind(server, more), all);
    let others = "RENAME TABLE goes TO away.goes, renamed TO other; DROP TABLE replaced; CREATE TABLE replaced (PRIMARY KEY (id)) SELECT 1 AS id";
    assert_eq!(dumped_behind(server, others), ["anew", "comes_back", "old", "other", "rebuilt", "replaced"]);
}

/// The tables of a dump for whose lock these statements come first. It waits for the table without transactions: on MariaDB such tables are
/// locked first, on MySQL a global lock waits for who has one.
fn dumped_behind(server: &Server, statements: &str) -> Vec<String> {
    const WAITING: &str =
        "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID() AND
        (INFO LIKE 'LOCK TABLES%READ' OR INFO = 'FLUSH TABLES WITH READ LOCK')";
    let (mut holder, dir) = (Session::open(server), tempfile::tempdir().unwrap());
    holder.run("LOCK TABLES held.old WRITE");
    let dumping = Running::start(&mut dump(server, "held", dir.path()));
    wait_until("the dump waits for the lock", || value(server, WAITING) == "1");
    sql(server, format!("USE held; {statements}"));
    holder.run("UNLOCK TABLES");
    dumping.finish().done();
    let manifest = manifest(dir.path());
    let tables = manifest["schemas"][0]["tables"].as_array().unwrap().iter();
    let mut names: Vec<_> = tables.map(|table| table["name"].as_str().unwrap().to_owned()).collect();
    names.sort_unstable();
    names
}

/// Ends the others also where the test fails.
struct StopAtEnd<'a>(&'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
