//! What a target reads in definitions and rows of logs and does not keep, without an error: told, by the dry run too.

use drover_sandbox::{Flavour, Server};

use super::sql::logged;
use crate::client::sql;
use crate::drover::{drover_on, run};
use crate::servers::{is_wanted, start_of, start_unsynced};

const LOGS: [&str; 2] = ["--log-bin", "--binlog-format=ROW"];

const DEFINITIONS: &str = "CREATE DATABASE n CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci; USE n;
    CREATE TABLE t (id INT PRIMARY KEY, a INT CHECK (a > 0), b INT, KEY k (b DESC), CONSTRAINT nn CHECK (b > a), h INT /*!80023 INVISIBLE */);
    ALTER TABLE t ADD CONSTRAINT c9 CHECK (a <> 9); CREATE INDEX j ON n.t (a, b DESC)";

/// The dry run and the replay say the same.
fn told(target: &Server, logs: &[std::path::PathBuf], words: &[&str], not: &[&str]) {
    for dry in ["--dry-run", ""] {
        let replayed =
            run(drover_on(target, &format!("binlog replay --restart {dry}")).args(logs)).found(words);
        not.iter().for_each(|word| assert!(!replayed.stdout.contains(word), "{word}: {replayed}"));
    }
}

#[test]
fn definitions_of_which_an_older_server_keeps_less() {
    let Some(target) = &start_of(Flavour::MySql, "mysql-5.7", &["--server-id=7"]) else { return };
    let source = &start_unsynced(Flavour::MySql, &LOGS);
    let logs = logged(source, || drop(sql(source, DEFINITIONS)));
    let words = [
        "kept: ",
        "CHECK (a > 0)",
        "CHECK (b > a)",
        "CHECK (a <> 9)",
        "KEY k (b DESC)",
        "INDEX j ON n.t (a, b DESC)",
        "/*!80023 INVISIBLE */",
    ];
    told(target, &logs, &words, &[]);
    // All of it is kept there.
    sql(source, "DROP DATABASE n");
    run(drover_on(source, "binlog replay --restart --dry-run").args(&logs)).done();
}

#[test]
fn what_the_other_vendor_passes_over() {
    if !is_wanted(Flavour::MariaDb) || !is_wanted(Flavour::MySql) {
        return;
    }
    let source = &start_unsynced(Flavour::MySql, &LOGS);
    let target = &start_unsynced(Flavour::MariaDb, &["--skip-log-bin"]);
    let logs = logged(source, || {
        sql(source, DEFINITIONS);
        sql(
            source,
            "CREATE TABLE n.z (id INT PRIMARY KEY, d DOUBLE, f FLOAT); INSERT INTO n.z VALUES (1, 0, 0), (2, -0e0, 0)",
        );
    });
    let words = ["kept: ", "/*!80023 INVISIBLE */", "-0 in n.z, column "];
    told(target, &logs, &words, &["CHECK (", "DESC"]);
}
