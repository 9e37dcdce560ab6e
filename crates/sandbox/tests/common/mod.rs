//! What the integration tests share.

#![allow(dead_code, reason = "not every test binary uses all of it")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::thread::sleep;
use std::time::{Duration, Instant};

use drover_sandbox::Server;

/// The rows of one statement, tab-separated, as the vendor's own client prints them.
pub fn query(server: &Server, sql: &str) -> String {
    succeed(server.client("mysql").args(["-N", "-B", "-e", sql]))
}

/// What a command prints, if it succeeds.
pub fn succeed(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    assert!(status.success(), "{command:?}: {status}: {}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap().trim_end().to_owned()
}

/// Waits until `condition` holds; panics with `what` after 20 s.
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        sleep(Duration::from_millis(10));
    }
}

/// The processes, guards included, whose arguments name this data directory.
pub fn processes_of(datadir: &Path) -> usize {
    let mark = format!("--datadir={}", datadir.display());
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let arguments = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    arguments
        .filter(|bytes| bytes.split(|byte| *byte == 0).any(|argument| argument == mark.as_bytes()))
        .count()
}

/// The arguments of each process, guards included, that name a path below `root`.
pub fn arguments_below(root: &Path) -> Vec<String> {
    let root = root.to_str().unwrap();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let arguments = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    let texts = arguments.map(|bytes| String::from_utf8_lossy(&bytes).replace('\0', " "));
    texts.filter(|text| text.contains(root)).collect()
}
