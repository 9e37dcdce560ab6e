//! What `drover binlog cost --safety` says of a statement is what the server says when it logs it as one: its warning 1592. A
//! statement is a file in tests/statements: see the README there.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use drover_sandbox::{Flavour, Server};
use serde_json::Value;

use crate::client::try_sql;
use crate::drover::{drover, run};
use crate::servers::{on_both, start};

use super::sql::logged;

on_both!(statements_are_judged_as_the_server_does);

/// A statement, in a table of the same name.
struct Case {
    name: String,
    setup: String,
    statement: String,
    /// Whether its text may be too little to tell.
    may_be_unknown: bool,
}

/// What the servers' warnings say, and their names for it: MySQL `share/messages_to_error_log.txt` and
/// `messages_to_clients.txt`, MariaDB `sql/share/errmsg-utf8.txt`.
const WARNINGS: [(&str, &str); 19] = [
    ("uses a LIMIT clause", "LIMIT"),
    ("performance_schema table", "SYSTEM_TABLE"),
    ("inserts into an AUTO_INCREMENT column", "AUTOINC_COLUMNS"),
    ("uses a UDF", "UDF"),
    ("uses a system variable", "SYSTEM_VARIABLE"),
    ("uses a system function", "SYSTEM_FUNCTION"),
    ("after accessing a transactional table", "NONTRANS_AFTER_TRANS"),
    ("accesses nontransactional table as well as", "MIXED_STATEMENT"),
    ("INSERT IGNORE... SELECT", "INSERT_IGNORE_SELECT"),
    ("INSERT... SELECT... ON DUPLICATE", "INSERT_SELECT_UPDATE"),
    ("REPLACE... SELECT is unsafe", "REPLACE_SELECT"),
    ("CREATE... IGNORE SELECT", "CREATE_IGNORE_SELECT"),
    ("CREATE... REPLACE SELECT", "CREATE_REPLACE_SELECT"),
    ("UPDATE IGNORE is unsafe", "UPDATE_IGNORE"),
    ("more than one UNIQUE KEY", "INSERT_TWO_KEYS"),
    ("after selecting from another table", "WRITE_AUTOINC_SELECT"),
    ("SKIP LOCKED", "SKIP_LOCKED"),
    ("NOWAIT", "NOWAIT"),
    ("not the first part", "AUTOINC_NOT_FIRST"),
];

fn cases(flavour: Flavour) -> Vec<Case> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/statements");
    let mut cases = Vec::new();
    for entry in fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|end| end != "sql") {
            continue;
        }
        let name = path.file_stem().unwrap().to_str().unwrap().replace('-', "_");
        let text = fs::read_to_string(&path).unwrap();
        let (setup, statement) =
            text.split_once("-- statement\n").unwrap_or_else(|| panic!("{name}: no statement"));
        let other = if flavour == Flavour::MariaDb { "-- only mysql" } else { "-- only mariadb" };
        if !setup.contains(other) {
            let may_be_unknown = setup.contains("-- unknown");
            let statement = statement.trim().trim_end_matches(';').to_owned();
            cases.push(Case { name, setup: setup.to_owned(), statement, may_be_unknown });
        }
    }
    assert!(cases.len() > 20, "only {} statements in tests/statements", cases.len());
    cases
}

fn statements_are_judged_as_the_server_does(flavour: Flavour) {
    let rows = if flavour == Flavour::MariaDb {
        "--binlog-annotate-row-events=ON"
    } else {
        "--binlog-rows-query-log-events=ON"
    };
    let server = start(flavour, &["--log-bin", rows]);
    let cases = cases(flavour);
    let theirs: Vec<_> = cases.iter().map(|case| reasons_of_the_server(&server, case)).collect();
    let logs = logged(&server, || {
        for case in &cases {
            run_case(&server, case, "ROW", "");
        }
    });
    let cost = run(drover("binlog cost --json --safety").args(&logs)).done().json();
    let mut wrong = Vec::new();
    for (case, theirs) in cases.iter().zip(theirs) {
        wrong.extend(compare(case, &theirs, &cost).err().map(|what| format!("{}: {what}", case.name)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Runs it in a new table of its own.
fn run_case(server: &Server, case: &Case, format: &str, then: &str) -> Vec<Vec<String>> {
    let text = format!(
        "SET sql_log_bin = 0; CREATE DATABASE IF NOT EXISTS statements; USE statements; DROP TABLE IF EXISTS {0}, {0}_other, {0}_new; {1}
         SET sql_log_bin = 1; SET SESSION binlog_format = {format}; {2}; {then}",
        case.name, case.setup, case.statement
    );
    try_sql(server, &text).unwrap_or_else(|error| panic!("{}: {error}", case.name))
}

fn reasons_of_the_server(server: &Server, case: &Case) -> BTreeSet<String> {
    let warnings = run_case(server, case, "STATEMENT", "SHOW WARNINGS");
    let unsafe_ones = warnings.iter().filter(|row| row.len() == 3 && row[1] == "1592");
    let reason = |row: &Vec<String>| {
        let known = WARNINGS.iter().find(|(text, _)| row[2].contains(text));
        known.map(|(_, name)| format!("BINLOG_STMT_UNSAFE_{name}")).unwrap_or_else(|| row[2].clone())
    };
    unsafe_ones.map(reason).collect()
}

fn compare(case: &Case, theirs: &BTreeSet<String>, cost: &Value) -> Result<(), String> {
    let verb = case.statement.split_whitespace().next().unwrap();
    let statements = cost["statements"].as_array().unwrap();
    let is_it = |one: &&Value| {
        let text = one["text"].as_str().unwrap();
        let words: Vec<_> = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
        text.starts_with(verb) && words.contains(&&*case.name)
    };
    let found =
        statements.iter().find(is_it).ok_or_else(|| format!("it is not in the log: {statements:#?}"))?;
    let ours: BTreeSet<_> = found["reasons"]
        .as_array()
        .unwrap()
        .iter()
        .map(|reason| reason.as_str().unwrap().to_owned())
        .collect();
    let is_right = match found["safety"].as_str() {
        Some("safe") => theirs.is_empty() && !case.may_be_unknown,
        Some("unsafe") => *theirs == ours,
        Some("unknown") => case.may_be_unknown,
        _ => false,
    };
    if is_right { Ok(()) } else { Err(format!("{} {ours:?}, and the server: {theirs:?}", found["safety"])) }
}
