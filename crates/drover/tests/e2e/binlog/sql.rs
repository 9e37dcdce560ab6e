//! `drover binlog sql`: what a server logged, run by the vendor's client on another server, makes it the same.

use std::path::PathBuf;

use drover_sandbox::{Flavour, Server};

use crate::cases::Case;
use crate::client::{client, feed, sql};
use crate::compare;
use crate::drover::drover;
use crate::servers::{on_both, start_unsynced};

on_both!(every_case_by_its_log, every_case_by_its_log_and_its_tables);

/// Why a case does not come out the same.
#[derive(Clone, Copy)]
enum Limit {
    /// The log does not hold what would be needed: the vendor's own program fails too.
    OfTheLog,
    /// It cannot be said in statements made of rows.
    OfStatements,
}
use Limit::{OfStatements, OfTheLog};

/// A case, on one flavour or on both, why it does not come out the same, and what is said of it.
type Said = (&'static str, Option<Flavour>, Limit, &'static str);

/// The cases that do not come out the same.
const LIMITS: [Said; 20] = [
    // MariaDB's tables with history: statements make a history of their own.
    ("application-periods", Some(Flavour::MariaDb), OfStatements, "c_application_periods"),
    ("system-versioned", Some(Flavour::MariaDb), OfStatements, "c_system_versioned"),
    // Bytes that are invalid in their column's character set.
    ("bytes-unassigned", Some(Flavour::MariaDb), OfStatements, "rows of `ascii_high`"),
    ("invalid-bytes-in-utf8", Some(Flavour::MariaDb), OfStatements, "rows of `invalid`"),
    // Numbers that an INSERT … SELECT took beforehand and did not use.
    ("bytes-all", None, OfStatements, "AUTO_INCREMENT="),
    // Settings of sessions that are not logged: innodb_strict_mode, restrict_fk_on_non_standard_key.
    ("table-options", None, OfTheLog, "Row size too large"),
    ("foreign-keys", Some(Flavour::MySql), OfTheLog, "Missing unique key"),
    // CREATE PROCEDURE is logged with its comment in another character set than its body, and with its backslashes doubled.
    ("comments", None, OfTheLog, "PROCEDURE `commented_latin1`"),
    ("routines", None, OfTheLog, "FUNCTION `mode \"ansi`"),
    // MySQL logs an empty library in a way that it cannot read.
    ("javascript-libraries", Some(Flavour::MySql), OfTheLog, "near '$$$$'"),
    ("stored-charsets", Some(Flavour::MySql), OfTheLog, "größe"),
    // The log does not tell which columns are generated.
    ("float-double", Some(Flavour::MySql), OfStatements, GENERATED),
    ("four-byte-literals", Some(Flavour::MySql), OfStatements, GENERATED),
    ("generated-columns", Some(Flavour::MySql), OfStatements, GENERATED),
    ("geometry", Some(Flavour::MySql), OfStatements, GENERATED),
    ("invisible-columns", Some(Flavour::MySql), OfStatements, GENERATED),
    ("json", Some(Flavour::MySql), OfStatements, GENERATED),
    ("keys-generated", Some(Flavour::MySql), OfStatements, GENERATED),
    ("names-odd", Some(Flavour::MySql), OfStatements, GENERATED),
    ("only-generated-columns", Some(Flavour::MySql), OfStatements, GENERATED),
];
const GENERATED: &str = "The value specified for generated column";

/// The folders of tests/cases: all types, character sets, keys and objects. The log tells all of their columns.
fn every_case_by_its_log(flavour: Flavour) {
    every_case(flavour, "--binlog-row-metadata=FULL", |_| Vec::new());
}

/// The same where the log has what servers write by default, and the tables are still there.
fn every_case_by_its_log_and_its_tables(flavour: Flavour) {
    every_case(flavour, "--sync-binlog=0", |source| {
        vec!["--columns-of".into(), format!("mysql://root@/?socket={}", source.socket().display())]
    });
}

fn every_case(flavour: Flavour, option: &str, words: impl Fn(&Server) -> Vec<String>) {
    let logs = ["--log-bin", "--binlog-format=ROW", option, "--max-connections=400"];
    let (source, target) =
        (start_unsynced(flavour, &logs), start_unsynced(flavour, &["--max-connections=400"]));
    let words = words(&source);
    // Tables tell what is generated.
    let applies = |limit: &Said| limit.3 != GENERATED || words.is_empty();
    let mut failures = Vec::new();
    for case in Case::all(flavour) {
        let logs = logged(&source, || case.build(&source).unwrap());
        let ours = by_log(&case, drover("binlog sql").args(&words).args(&logs), &source, &target);
        let is_of = |(name, of, ..): &Said| *name == case.name && of.is_none_or(|of| of == flavour);
        let limit = LIMITS.iter().find(|limit| is_of(limit) && applies(limit));
        let is_right = match (&ours, limit) {
            (Ok(()), None) => true,
            (Err(why), Some((_, _, OfStatements, words))) => why.contains(words),
            (Err(why), Some((_, _, OfTheLog, words))) => {
                case.drop_from(&target).unwrap();
                let theirs = by_log(
                    &case,
                    source.binaries().client_command("mysqlbinlog").args(&logs),
                    &source,
                    &target,
                );
                why.contains(words) && theirs.is_err_and(|theirs| theirs.contains(words))
            }
            _ => false,
        };
        if !is_right {
            failures.push(format!("── {} on {flavour}, {ours:?}", case.name));
        }
    }
    assert!(failures.is_empty(), "{} cases failed\n{}", failures.len(), failures.join("\n"));
}

/// The logs that are written meanwhile.
pub(crate) fn logged(server: &Server, work: impl FnOnce()) -> Vec<PathBuf> {
    let before = next_log(server).len();
    work();
    let mut logs = next_log(server);
    logs.pop();
    logs.split_off(before - 1)
}

/// Has the server begin another log; all logs, that one last.
fn next_log(server: &Server) -> Vec<PathBuf> {
    paths(server, "FLUSH BINARY LOGS; SHOW BINARY LOGS")
}

/// The server's logs, the oldest first.
pub(crate) fn logs_of(server: &Server) -> Vec<PathBuf> {
    paths(server, "SHOW BINARY LOGS")
}

fn paths(server: &Server, list: &str) -> Vec<PathBuf> {
    sql(server, list).into_iter().map(|row| server.datadir().join(&row[0])).collect()
}

/// Feeds what a program makes of logs to the target, and compares.
fn by_log(
    case: &Case,
    program: &mut std::process::Command,
    source: &Server,
    target: &Server,
) -> Result<(), String> {
    let written = feed(program, b"");
    if !written.status.success() {
        return Err(String::from_utf8_lossy(&written.stderr).into_owned());
    }
    let fed = feed(client(target).arg("--binary-mode"), &written.stdout);
    if !fed.status.success() {
        return Err(String::from_utf8_lossy(&fed.stderr).into_owned());
    }
    let mut differences = Vec::new();
    for schema in &case.schemas {
        let [expected, found] = [source, target].map(|server| compare::everything(server, schema));
        differences.extend(compare::differences(&expected, &found));
    }
    if differences.is_empty() { Ok(()) } else { Err(differences.join("\n")) }
}
