//! Logs into a node of a cluster: what it refuses is said before the first row, in a dry run and by the replay itself, and changes nothing.

use std::path::{Path, PathBuf};

use drover_sandbox::{Cluster, Flavour, Server, StartOptions, Topology};

use super::sql::logged;
use crate::client::{sql, value};
use crate::drover::{drover_on, run};
use crate::servers::{is_wanted, start_unsynced};

const LOGS: [&str; 2] = ["--log-bin", "--binlog-format=ROW"];

/// The first event of a log whose description has these words, as messages name it. MySQL describes rows by the number of their table alone:
/// of them it is the first event of the kind behind the statement that is meant.
fn at(source: &Server, log: &Path, behind: &str, word: &str) -> String {
    let name = log.file_name().unwrap().to_str().unwrap();
    let events = sql(source, format!("SHOW BINLOG EVENTS IN '{name}'"));
    let told = |event: &&Vec<String>| format!("{} {}", event[2], event[5]);
    let mut rest = events.iter().skip_while(|event| !told(event).contains(behind));
    let event = rest.find(|event| told(event).contains(word)).unwrap_or_else(|| panic!("{word}: {events:?}"));
    format!("{name}: at {}", event[1])
}

/// What a node has, and whether it has written anything.
fn state(node: &Server) -> (String, Vec<Vec<String>>) {
    let written = match node.flavour() {
        Flavour::MySql => "SELECT @@GLOBAL.gtid_executed",
        Flavour::MariaDb => {
            "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'WSREP_LAST_COMMITTED'"
        }
    };
    let tables = "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES ORDER BY 1, 2";
    (value(node, written), sql(node, tables))
}

/// A dry run names all of `said`, the replay one of it, and neither changes anything.
fn refused(node: &Server, logs: &[PathBuf], options: &str, said: &[&str], first: &[&str]) -> String {
    let before = state(node);
    let told = run(drover_on(node, &format!("binlog replay --dry-run {options}")).args(logs)).found(said);
    assert_eq!(state(node), before, "a dry run has changed something");
    let words = [first, &["nothing was changed", "outside of the cluster"]].concat();
    run(drover_on(node, &format!("binlog replay {options}")).args(logs)).refused(&words);
    assert_eq!(state(node), before, "a refused replay has changed something");
    told.stdout
}

#[test]
fn prepared_transactions_into_galera() {
    if !is_wanted(Flavour::MariaDb) {
        return;
    }
    let source = start_unsynced(Flavour::MariaDb, &LOGS);
    let cluster = Cluster::start(Topology::Galera, &StartOptions::ephemeral(Flavour::MariaDb)).unwrap();
    let node = &cluster.nodes()[cluster.primary().unwrap()];
    let logs = logged(&source, || {
        sql(
            &source,
            "CREATE DATABASE rc; USE rc; CREATE TABLE t (id INT); INSERT INTO t VALUES (1); XA START 'a'; INSERT INTO t VALUES (2);
             XA END 'a'; XA PREPARE 'a'; XA COMMIT 'a'; XA START 'b'; INSERT INTO t VALUES (3); XA END 'b'; XA PREPARE 'b'; XA ROLLBACK 'b'",
        );
    });
    let place = at(&source, &logs[0], "XA START", "XA START");
    let words = [&place, "XA transactions: This version of MariaDB doesn't yet support", "1235"];
    let told = refused(node, &logs, "", &words, &words);
    assert_eq!(told.matches("cannot be applied: ").count(), 1, "{told}");
    // What comes before is applied.
    let position = place.rsplit(' ').next().unwrap();
    let before = format!("--stop-position {position}");
    run(drover_on(node, &format!("binlog replay --dry-run {before}")).args(&logs)).done();
    run(drover_on(node, &format!("binlog replay {before}")).args(&logs)).done();
    assert_eq!(value(node, "SELECT GROUP_CONCAT(id) FROM rc.t"), "1");
    refused(node, &logs, "--resume", &words, &words);
}

/// What the node and the logs' server have both before.
const THERE: &str = "CREATE DATABASE rc; USE rc; CREATE TABLE good (id INT PRIMARY KEY); CREATE TABLE bare (id INT); CREATE TABLE old (id INT
    PRIMARY KEY) ENGINE = MyISAM; CREATE TABLE as_good (id INT NOT NULL UNIQUE); CREATE TABLE to_lose (id INT PRIMARY KEY);
    CREATE TABLE to_keep (id INT PRIMARY KEY, u INT NOT NULL, UNIQUE (u)); CREATE TABLE to_mend (id INT)";

/// What is refused: where its rows are, behind which statement, why.
const REFUSED: [(&str, &str, &str); 8] = [
    ("rows of rc.bare: ", "BEGIN", "does not comply"),
    ("rows of rc.old: ", "first into old", "does not comply"),
    ("rows of rc.made: ", "CREATE TABLE made", "it has no primary key"),
    ("rows of rc.kept: ", "CREATE TABLE kept", "it is of MyISAM"),
    ("rows of rc.to_lose: ", "ALTER TABLE to_lose", "it has no primary key"),
    ("rows of rc.moved: ", "RENAME TABLE", "it has no primary key"),
    ("rows of rc.picked: ", "CREATE TABLE `picked`", "it has no primary key"),
    ("rows of rc.alike: ", "CREATE TABLE alike", "it is of MyISAM"),
];

#[test]
fn tables_without_keys_into_group_replication() {
    if !is_wanted(Flavour::MySql) {
        return;
    }
    let source =
        start_unsynced(Flavour::MySql, &[&LOGS[..], &["--binlog-rows-query-log-events=ON"]].concat());
    let cluster =
        Cluster::start(Topology::GroupReplication, &StartOptions::ephemeral(Flavour::MySql)).unwrap();
    let node = &cluster.nodes()[cluster.primary().unwrap()];
    sql(&source, THERE);
    sql(node, THERE);
    let logs = logged(&source, || {
        sql(
            &source,
            "USE rc; INSERT INTO bare VALUES (1); INSERT INTO good VALUES (1); INSERT INTO as_good VALUES (1);
             /* first into old */ INSERT INTO old VALUES (1); INSERT INTO bare VALUES (2);
             CREATE TABLE made (id INT NOT NULL, KEY (id)); INSERT INTO made VALUES (1);
             CREATE TABLE kept (id INT PRIMARY KEY) ENGINE = MyISAM; INSERT INTO kept VALUES (1);
             ALTER TABLE to_lose DROP PRIMARY KEY; INSERT INTO to_lose VALUES (1);
             ALTER TABLE to_keep DROP PRIMARY KEY; INSERT INTO to_keep VALUES (1, 1);
             ALTER TABLE to_mend ADD PRIMARY KEY (id); INSERT INTO to_mend VALUES (1);
             CREATE TABLE unused (id INT); CREATE TABLE to_move (id INT); RENAME TABLE to_move TO moved; INSERT INTO moved VALUES (1);
             CREATE TABLE picked AS SELECT id FROM good; CREATE TABLE alike LIKE old; INSERT INTO alike VALUES (1);
             CREATE TABLE fresh (id INT, UNIQUE (id)); ALTER TABLE fresh MODIFY id INT NOT NULL; INSERT INTO fresh VALUES (1)",
        );
    });
    let places: Vec<_> =
        REFUSED.iter().map(|(_, behind, _)| at(&source, &logs[0], behind, "Write_rows")).collect();
    let lines: Vec<_> = places.iter().zip(REFUSED).map(|(at, (rows, ..))| format!("{at}: {rows}")).collect();
    let said: Vec<_> = lines.iter().map(String::as_str).chain(REFUSED.map(|(.., why)| why)).collect();
    let told = refused(node, &logs, "", &said, &[said[0], "does not comply"]);
    assert_eq!(told.matches("cannot be applied: ").count(), REFUSED.len(), "{told}");
    refused(node, &logs, "--table rc.good --table rc.kept", &[said[3]], &[said[3]]);
    // What the target's own log does not get is looked at all the same.
    refused(node, &logs, "--skip-binlog", &said[..1], &said[..1]);
    let taken = ["good", "as_good", "to_keep", "to_mend", "fresh"];
    let options: String = taken.iter().map(|table| format!(" --table rc.{table}")).collect();
    run(drover_on(node, &format!("binlog replay --dry-run{options}")).args(&logs)).done();
    run(drover_on(node, &format!("binlog replay{options}")).args(&logs)).done();
    for table in taken {
        assert_eq!(value(node, format!("SELECT GROUP_CONCAT(id) FROM rc.{table}")), "1", "{table}");
    }
    statements_into_a_group(&source, node);
}

/// Of statements the server looks at all tables that they open.
fn statements_into_a_group(source: &Server, node: &Server) {
    let logs = logged(source, || {
        sql(
            source,
            "USE rc; SET SESSION binlog_format = STATEMENT; INSERT INTO good VALUES (2); CREATE TEMPORARY TABLE x (id INT);
             INSERT INTO x VALUES (3); INSERT INTO good SELECT * FROM x; INSERT INTO bare VALUES (2); INSERT INTO good SELECT MAX(id) + 5 FROM bare",
        );
    });
    let place = at(source, &logs[0], "INSERT INTO bare", "INSERT INTO bare");
    let line = format!("{place}: rows of rc.bare: ");
    let told = refused(node, &logs, "--name statements", &[&line, "does not comply"], &[&line]);
    assert_eq!(told.matches("cannot be applied: ").count(), 1, "{told}");
    // The server looks at no statement of a session that logs nothing.
    let unlogged = "binlog replay --name statements --skip-binlog";
    run(drover_on(node, &format!("{unlogged} --dry-run")).args(&logs)).done();
    run(drover_on(node, unlogged).args(&logs)).done();
    assert_eq!(value(node, "SELECT GROUP_CONCAT(id ORDER BY id) FROM rc.good"), "1,2,3,7");
}
