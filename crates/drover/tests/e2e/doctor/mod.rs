//! `drover doctor`: what it says of real servers and of this host.

mod binlog;
mod memory;
mod scheduler;
mod server;
mod upgrade;

use drover_sandbox::{Flavour, Server};
use serde_json::Value;

use crate::client::sql;
use crate::drover::{drover_on, run};
use crate::servers::{on_both, source, start};

on_both!(a_fresh_server, what_an_account_may_not_see);

/// What it says, with or without findings.
fn doctor(server: &Server, options: &str) -> Value {
    let output = run(&mut drover_on(server, &format!("--json doctor --interval 1s {options}")));
    assert!(matches!(output.code, Some(0 | 1)), "{}", output.stderr);
    output.json()
}

/// What came of a check, in a word.
fn state<'a>(report: &'a Value, rule: &str) -> &'a str {
    check(report, rule)["state"].as_str().unwrap()
}

/// A check.
fn check<'a>(report: &'a Value, rule: &str) -> &'a Value {
    let checks = report["checks"].as_array().unwrap();
    checks.iter().find(|check| check["rule"] == rule).unwrap_or_else(|| panic!("no check {rule}"))
}

/// The findings of a check: weight, and the whole of it as text.
fn findings(report: &Value, rule: &str) -> Vec<(String, String)> {
    let found = check(report, rule)["findings"].as_array().unwrap().iter();
    found.map(|finding| (finding["weight"].as_str().unwrap().to_owned(), finding.to_string())).collect()
}

fn a_fresh_server(flavour: Flavour) {
    let server = &start(flavour, &[]);
    let report = doctor(server, "");
    for check in report["checks"].as_array().unwrap() {
        let findings = check["findings"].as_array().unwrap();
        assert!(findings.iter().all(|finding| finding["weight"] != "red"), "{check}");
    }
    assert_eq!(state(&report, "server.history"), "fine", "{report}");
    // What was kept of it says the same elsewhere.
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("bundle.json");
    let collected =
        run(&mut drover_on(server, &format!("--json doctor collect {}", file.display()))).done().json();
    let mut command = drover_on(server, &format!("--json doctor --root {}", file.display()));
    let elsewhere = run(&mut command).done().json();
    assert_eq!((&elsewhere["checks"], &elsewhere["server"]), (&collected["checks"], &collected["server"]));
}

fn what_an_account_may_not_see(flavour: Flavour) {
    let server = source(flavour);
    sql(server, "CREATE USER doctor_nobody@localhost IDENTIFIED BY 'a-secret'");
    let report = doctor(server, "server -u doctor_nobody --password=a-secret");
    assert_eq!(state(&report, "server.history"), "unknown", "{report}");
    assert!(!report.to_string().contains("a-secret"));
}
