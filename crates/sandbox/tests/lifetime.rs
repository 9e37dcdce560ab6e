//! An ephemeral server ends with the process that started it, however that ends.
//!
//! Each test plays several parts: it starts itself again as the process that is to be killed, told by a variable of
//! the environment.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::thread::sleep;
use std::time::Duration;

use clap::Parser;
use common::{arguments_below, processes_of, wait_until};
use drover_sandbox::{Cluster, Flavour, SandboxArgs, SandboxReport, Server, StartOptions, Topology, run_in};

/// Where a played part says the data directory of the server that it has started.
const NOTE: &str = "DROVER_TEST_NOTE";
const PART: &str = "DROVER_TEST_PART";

fn play(test: &str, part: &str, note: &Path) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", test, "--nocapture"]).env(NOTE, note).env(PART, part);
    child.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn part() -> Option<(String, PathBuf)> {
    Some((std::env::var(PART).ok()?, std::env::var_os(NOTE)?.into()))
}

/// Writes the note as a whole: the other side polls for it.
fn leave_note(note: &Path, datadir: &Path) {
    let draft = note.with_extension("draft");
    fs::write(&draft, datadir.to_str().unwrap()).unwrap();
    fs::rename(draft, note).unwrap();
}

fn sleep_until_killed() -> ! {
    loop {
        sleep(Duration::from_secs(60));
    }
}

/// Plays `part` until its server is up, kills it with SIGKILL and sees the server and its files go.
fn killing_ends_the_server(test: &str, part: &str) {
    let dir = tempfile::tempdir().unwrap();
    let note = dir.path().join("note");
    let mut child = play(test, part, &note);
    wait_until("the server is up", || note.exists() || child.try_wait().unwrap().is_some());
    let datadir = PathBuf::from(fs::read_to_string(&note).unwrap());
    assert!(processes_of(&datadir) > 0 && datadir.is_dir());
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until("the server is gone", || processes_of(&datadir) == 0);
    wait_until("its files are gone", || !datadir.parent().unwrap().exists());
}

#[test]
fn a_killed_owner_takes_its_servers_along() {
    if let Some((flavour, note)) = part() {
        let mut server = Server::start(&StartOptions::ephemeral(flavour.parse().unwrap())).unwrap();
        // The guard of a restarted server is another one.
        server.kill();
        server.restart().unwrap();
        leave_note(&note, server.datadir());
        sleep_until_killed();
    }
    for flavour in [Flavour::MariaDb, Flavour::MySql] {
        killing_ends_the_server("a_killed_owner_takes_its_servers_along", flavour.as_str());
    }
}

/// In the moment in which one node's files are copied to another, by a program that is no child of the killed process.
#[test]
fn a_killed_owner_takes_its_nodes_and_their_programs_along() {
    if let Some((_, root)) = part() {
        let options = StartOptions { root: Some(root), ..StartOptions::ephemeral(Flavour::MariaDb) };
        let _cluster = Cluster::start(Topology::Galera, &options).unwrap();
        sleep_until_killed();
    }
    let root = tempfile::tempdir().unwrap();
    let mut child = play("a_killed_owner_takes_its_nodes_and_their_programs_along", "owner", root.path());
    wait_until("files are copied", || {
        child.try_wait().unwrap().is_some()
            || arguments_below(root.path()).iter().any(|arguments| arguments.contains("--role donor"))
    });
    assert!(child.try_wait().unwrap().is_none(), "the cluster did not start");
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until("all are gone", || arguments_below(root.path()).is_empty());
    wait_until("their files are gone", || root.path().read_dir().unwrap().count() == 0);
}

#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    sandbox: SandboxArgs,
}

fn start_ephemeral_by_command(note: &Path) {
    let args = Cli::parse_from(["drover", "start", "--flavour", "mariadb", "--ephemeral"]).sandbox;
    let mut on_ready = |report: &SandboxReport| {
        let SandboxReport::Started(started) = report else { panic!("not started") };
        leave_note(note, &started.info.datadir);
    };
    run_in(Path::new("/dev/null/sandboxes"), &args, &AtomicBool::new(false), &mut on_ready).unwrap();
}

#[test]
fn an_ephemeral_sandbox_ends_with_the_process_that_called_for_it() {
    const TEST: &str = "an_ephemeral_sandbox_ends_with_the_process_that_called_for_it";
    match part() {
        Some((part, note)) if part == "caller" => {
            // From a thread that ends at once: only the end of the whole process counts.
            let mut command = std::thread::spawn(move || play(TEST, "command", &note)).join().unwrap();
            command.wait().unwrap();
        }
        Some((_, note)) => start_ephemeral_by_command(&note),
        None => killing_ends_the_server(TEST, "caller"),
    }
}
