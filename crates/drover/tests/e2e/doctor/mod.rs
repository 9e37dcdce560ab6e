//! `drover doctor`: what it says of real servers and of this host.

mod binlog;
mod load;
mod memory;
mod plan;
mod safety;
mod scheduler;
mod server;
mod upgrade;

use drover_sandbox::{Flavour, Server};
use serde_json::Value;

use crate::browser::Browser;
use crate::client::{sql, value};
use crate::drover::{drover_on, run};
use crate::servers::{on_both, source, start};

on_both!(a_fresh_server, what_an_account_may_not_see, page_and_script);

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

/// What results of measurements on this machine say of it.
fn machine() -> Value {
    let line = |file: &str, name: &str| {
        let text = std::fs::read_to_string(file).unwrap();
        let value =
            text.lines().find_map(|line| line.split_once(':').filter(|(known, _)| known.trim() == name));
        value.map(|(_, value)| value.trim().to_owned()).unwrap_or_default()
    };
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let memory = line("/proc/meminfo", "MemTotal");
    serde_json::json!({
        "kernel": format!("Linux {}", release.trim()),
        "cpu": line("/proc/cpuinfo", "model name"),
        "memory_bytes": memory.split(' ').next().unwrap().parse::<u64>().unwrap() * 1024,
    })
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
    let elsewhere = run(&mut command).json();
    assert_eq!((&elsewhere["checks"], &elsewhere["server"]), (&collected["checks"], &collected["server"]));
}

fn what_an_account_may_not_see(flavour: Flavour) {
    let server = source(flavour);
    sql(server, "CREATE USER doctor_nobody@localhost IDENTIFIED BY 'a-secret'");
    let report = doctor(server, "server -u doctor_nobody --password=a-secret");
    assert_eq!(state(&report, "server.history"), "unknown", "{report}");
    assert!(!report.to_string().contains("a-secret"));
}

/// The page holds what was found, and the script mends it and undoes that, each when it is told to.
fn page_and_script(flavour: Flavour) {
    let server =
        &start(flavour, &["--log-bin=binlog", "--server-id=1", "--innodb-flush-log-at-trx-commit=2"]);
    let dir = tempfile::tempdir().unwrap();
    let (page, script) = (dir.path().join("doctor.html"), dir.path().join("fix.sh"));
    let options = format!("binlog --html {} --fix-script {}", page.display(), script.display());
    let report = doctor(server, &options);
    let mut browser = Browser::open(dir.path(), &format!("file://{}", page.display()));
    browser.wait_for("main", "innodb_flush_log_at_trx_commit");
    browser.assert_fits();
    assert!(browser.complaints().is_empty(), "{:?}", browser.complaints());

    let client = server.client("mysql");
    let words = [client.get_program()].into_iter().chain(client.get_args());
    let client = words.collect::<Vec<_>>().join(std::ffi::OsStr::new(" "));
    let fix = |words: &[&str]| {
        let mut command = std::process::Command::new("sh");
        command.arg(&script).args(words).env("CLIENT", &client);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let list = fix(&[]);
    let line = list.lines().position(|line| line.contains("innodb_flush_log_at_trx_commit = 1")).unwrap();
    let number = list.lines().nth(line - 1).unwrap().split_whitespace().next().unwrap();
    let flush = || value(server, "SELECT @@GLOBAL.innodb_flush_log_at_trx_commit");
    assert_eq!(flush(), "2", "{report}");
    fix(&["do", number]);
    assert_eq!(flush(), "1");
    fix(&["undo", number]);
    assert_eq!(flush(), "2");
}
