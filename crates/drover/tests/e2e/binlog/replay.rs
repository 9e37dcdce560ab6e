//! `drover binlog replay`: what a server logged makes another server the same, whatever ends it in between.

use drover_sandbox::{Flavour, Server};

use crate::cases::Case;
use crate::compare;
use crate::drover::{drover_on, run};
use crate::servers::{on_both, start};

use super::sql::logged;

on_both!(every_case_by_its_log);

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
    let (source, target) = (start(flavour, &logs), start(flavour, &["--max-connections=400"]));
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
        compare::differences(&expected, &found)
    });
    differences.collect::<Vec<_>>().join("\n")
}
