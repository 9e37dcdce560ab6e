//! `drover sandbox start`, `stop`, `list` and `shell` as `run` carries them out, on real servers.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod common;

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use clap::Parser;
use common::{processes_of, succeed};
use drover_sandbox::{
    Error, Role, SandboxArgs, SandboxCommand, SandboxReport, SandboxState, StartedSandbox, StopOutcome,
    run_in,
};

#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    sandbox: SandboxArgs,
}

fn parse(line: &str) -> SandboxArgs {
    Cli::parse_from(std::iter::once("drover").chain(line.split(' '))).sandbox
}

fn run(root: &Path, line: &str) -> Result<SandboxReport, Error> {
    run_in(root, &parse(line), &AtomicBool::new(false), &mut |report| panic!("unexpected: {report:?}"))
}

/// A root of its own whose sandboxes end with the test, even a failed one.
struct Root(tempfile::TempDir);

impl Root {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn run(&self, line: &str) -> Result<SandboxReport, Error> {
        run(self.0.path(), line)
    }

    fn start(&self, line: &str) -> StartedSandbox {
        match self.run(line).unwrap() {
            SandboxReport::Started(started) => *started,
            other => panic!("{line}: {other:?}"),
        }
    }

    fn stop(&self, line: &str) -> Vec<(String, StopOutcome)> {
        match self.run(line).unwrap() {
            SandboxReport::Stopped { sandboxes } => {
                sandboxes.into_iter().map(|stopped| (stopped.name.to_string(), stopped.outcome)).collect()
            }
            other => panic!("{line}: {other:?}"),
        }
    }

    fn list(&self) -> Vec<(String, SandboxState)> {
        match self.run("list").unwrap() {
            SandboxReport::List { sandboxes } => {
                sandboxes.into_iter().map(|listed| (listed.info.name.to_string(), listed.state)).collect()
            }
            other => panic!("list: {other:?}"),
        }
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        let _ended_as_far_as_possible = self.run("stop --all");
    }
}

fn lives_and_ends_by_command(flavour: &str) {
    let root = Root::new();
    assert_eq!(root.list(), []);
    let started = root.start(&format!("start --flavour {flavour} -- --max-connections=17"));
    assert_eq!(started.info.name.as_str(), flavour);
    assert_eq!(root.list(), [(flavour.to_owned(), SandboxState::Running)]);

    let client = format!("{} -N -B -e 'SELECT @@max_connections, @@port'", started.client);
    let answer = succeed(Command::new("sh").args(["-c", &client]));
    assert_eq!(answer, format!("17\t{}", started.info.port));

    let again = root.run(&format!("start --flavour {flavour} --name {flavour}")).unwrap_err();
    assert!(matches!(again, Error::NameTaken { .. }), "{again}");

    assert_eq!(root.stop(&format!("stop {flavour}")), [(flavour.to_owned(), StopOutcome::Stopped)]);
    assert_eq!(processes_of(&started.info.datadir), 0);
    assert_eq!(root.0.path().read_dir().unwrap().count(), 0, "its files are removed");
}

#[test]
fn mariadb_lives_and_ends_by_command() {
    lives_and_ends_by_command("mariadb");
}

#[test]
fn mysql_lives_and_ends_by_command() {
    lives_and_ends_by_command("mysql");
}

#[test]
fn all_sandboxes_are_stopped_dead_ones_too() {
    let root = Root::new();
    let first = root.start("start --flavour mariadb");
    let second = root.start("start --flavour mariadb");
    assert_eq!(second.info.name.as_str(), "mariadb-2");
    succeed(Command::new("sh").args(["-c", &format!("kill -KILL {}", first.info.pid.unwrap())]));
    common::wait_until("the server is gone", || processes_of(&first.info.datadir) == 0);
    let dead_and_running = [("mariadb", SandboxState::Dead), ("mariadb-2", SandboxState::Running)];
    assert_eq!(root.list(), dead_and_running.map(|(name, state)| (name.to_owned(), state)));

    let error = root.run("stop mariadb-2 nobody").unwrap_err();
    assert_eq!(error.hint().unwrap(), "there are: mariadb, mariadb-2");
    assert_eq!(root.list().len(), 2, "nothing is stopped if a name is wrong");

    let outcomes = [("mariadb", StopOutcome::WasDead), ("mariadb-2", StopOutcome::Stopped)];
    assert_eq!(root.stop("stop --all"), outcomes.map(|(name, outcome)| (name.to_owned(), outcome)));
    assert_eq!(root.list(), []);
}

#[test]
fn one_of_two_starts_of_a_name_wins_and_two_stops_of_it_do_no_harm() {
    let root = Root::new();
    let both = |line: &str| {
        std::thread::scope(|scope| {
            let commands = [(); 2].map(|()| scope.spawn(|| root.run(line)));
            commands.map(|command| command.join().unwrap())
        })
    };
    let started = both("start --flavour mariadb --name it");
    let refused: Vec<_> = started.iter().filter_map(|result| result.as_ref().err()).collect();
    assert!(matches!(refused[..], [Error::NameTaken { .. }]), "{started:?}");
    assert_eq!(root.list(), [("it".to_owned(), SandboxState::Running)]);

    let stopped = both("stop it");
    assert!(stopped.iter().any(Result::is_ok), "{stopped:?}");
    let refused = stopped.iter().filter_map(|result| result.as_ref().err());
    refused.for_each(|error| assert!(matches!(error, Error::NoSuchSandbox { .. }), "{error}"));
    assert_eq!(root.0.path().read_dir().unwrap().count(), 0);
}

#[test]
fn a_failed_start_leaves_no_sandbox() {
    let root = Root::new();
    let error = root.run("start --flavour mariadb -- --no-such-option").unwrap_err();
    assert!(error.to_string().contains("no-such-option"), "{error}");
    let error = root.run("start --flavour mariadb -- --datadir=/elsewhere").unwrap_err();
    assert!(error.to_string().contains("--datadir=/elsewhere"), "{error}");
    assert_eq!(root.list(), []);
    assert_eq!(root.0.path().read_dir().unwrap().count(), 0);
}

fn roles(root: &Root) -> Vec<(String, Option<Role>)> {
    match root.run("list").unwrap() {
        SandboxReport::List { sandboxes } => {
            sandboxes.into_iter().map(|listed| (listed.info.name.to_string(), listed.role)).collect()
        }
        other => panic!("list: {other:?}"),
    }
}

#[test]
fn a_topology_is_stopped_as_a_whole_or_by_node() {
    let root = Root::new();
    let started = root.start("start --flavour mariadb --topology replica --name shop");
    assert_eq!((started.info.name.as_str(), started.nodes.len()), ("shop", 2));
    assert_eq!(started.info.socket, started.nodes[0].info.socket);
    assert_eq!(roles(&root), [("shop-1".into(), Some(Role::Source)), ("shop-2".into(), Some(Role::Replica))]);
    for taken in ["start --flavour mariadb --name shop", "start --topology replica --name shop"] {
        assert!(matches!(root.run(taken).unwrap_err(), Error::NameTaken { .. }), "{taken}");
    }
    assert_eq!(shell(&root, "shop", "SELECT @@port"), started.nodes[0].info.port.to_string());
    assert_eq!(shell(&root, "shop-2", "SELECT @@port"), started.nodes[1].info.port.to_string());

    // The name stays taken while one node is left.
    assert_eq!(root.stop("stop shop-1"), [("shop-1".to_owned(), StopOutcome::Stopped)]);
    assert_eq!(shell(&root, "shop", "SELECT @@port"), started.nodes[1].info.port.to_string());
    assert_eq!(root.stop("stop shop shop-2"), [("shop-2".to_owned(), StopOutcome::Stopped)]);
    assert_eq!(root.0.path().read_dir().unwrap().count(), 0, "its files are removed");

    let unnamed = root.start("start --flavour mariadb --topology replica");
    assert_eq!((unnamed.info.name.as_str(), unnamed.nodes[1].info.name.as_str()), ("replica", "replica-2"));
    assert_eq!(root.stop("stop --all").len(), 2);
    assert_eq!(root.0.path().read_dir().unwrap().count(), 0);
}

/// What a statement gives through `drover sandbox shell NAME`.
fn shell(root: &Root, name: &str, sql: &str) -> String {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "shell_becomes_the_client", "--nocapture"]);
    child
        .env("DROVER_TEST_SHELL_ROOT", root.0.path())
        .env("DROVER_TEST_SHELL", format!("{name} -- -N -B -e"));
    let said = succeed(child.env("DROVER_TEST_SHELL_SQL", sql));
    said.lines().last().unwrap_or_default().to_owned()
}

#[test]
fn shell_becomes_the_client() {
    // This test plays both parts: `shell` replaces the process that calls it.
    if let Some(root) = std::env::var_os("DROVER_TEST_SHELL_ROOT") {
        let [line, sql] =
            ["DROVER_TEST_SHELL", "DROVER_TEST_SHELL_SQL"].map(|name| std::env::var(name).unwrap());
        let mut args = parse(&format!("shell {line}"));
        let SandboxCommand::Shell(shell) = &mut args.command else { panic!("{line}") };
        shell.client_args.push(sql);
        let error = run_in(Path::new(&root), &args, &AtomicBool::new(false), &mut |_| ()).unwrap_err();
        panic!("the client did not run: {error}");
    }
    let root = Root::new();
    root.start("start --flavour mysql --name it");
    assert_eq!(shell(&root, "it", "SELECT 'hello'"), "hello");

    let error = root.run("shell nobody").unwrap_err();
    assert!(matches!(error, Error::NoSuchSandbox { .. }), "{error}");
}

#[test]
fn an_ephemeral_sandbox_stays_until_interrupted() {
    let root = Root::new();
    let interrupted = AtomicBool::new(false);
    let (sender, ready) = mpsc::channel();
    std::thread::scope(|scope| {
        let command = scope.spawn(|| {
            let args = parse("start --flavour mariadb --ephemeral --name brief");
            run_in(root.0.path(), &args, &interrupted, &mut |report| sender.send(report.clone()).unwrap())
        });
        let SandboxReport::Started(started) = ready.recv().unwrap() else { panic!("not started") };
        assert!(started.ephemeral && started.info.datadir.is_dir());
        assert_eq!(root.list(), [], "nobody can stop it but the one who started it");

        interrupted.store(true, Ordering::Relaxed);
        let report = command.join().unwrap().unwrap();
        assert_eq!(report.to_text(), "brief: stopped and removed\n");
        assert!(!started.info.datadir.exists());
    });
}
