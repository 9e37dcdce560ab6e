//! `drover sandbox` through the binary.

mod link;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use drover_sandbox::Flavour;
use serde_json::Value;

use crate::client::{rows_of, wait_until};
use crate::drover::{drover, run};
use crate::servers::{is_wanted_of, on_both, place};

on_both!(start_use_and_stop, topology_start_list_and_stop, ephemeral_ends_with_its_parent);

fn sandbox(root: &Path, line: &str) -> Command {
    let mut command = drover(&format!("sandbox {line}"));
    set_root(&mut command, root);
    command
}

/// Sandboxes go to `root`; the templates of data directories stay where other tests have them.
fn set_root(command: &mut Command, root: &Path) {
    command.env("DROVER_SANDBOX_DIR", root).env("HOME", std::env::var_os("HOME").unwrap_or_default());
}

/// The sandboxes of `list`, by name and state.
fn list(root: &Path) -> Vec<(String, String)> {
    let json = run(sandbox(root, "list").arg("--json")).done().json();
    assert_eq!(json["result"], "list");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    json["sandboxes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (text(&one["name"]), text(&one["state"])))
        .collect()
}

fn pair(name: &str, state: &str) -> (String, String) {
    (name.into(), state.into())
}

fn start_use_and_stop(flavour: Flavour) {
    let root = tempfile::tempdir().unwrap();
    let started =
        run(&mut sandbox(root.path(), &format!("start --flavour {flavour} --name one --json"))).done().json();
    assert_eq!((started["result"].as_str(), started["name"].as_str()), (Some("started"), Some("one")));
    for field in [
        "flavour",
        "version",
        "pid",
        "socket",
        "port",
        "datadir",
        "server",
        "started_at",
        "client",
        "drover_options",
    ] {
        assert!(!started[field].is_null(), "no {field} in {started}");
    }
    let text = run(&mut sandbox(root.path(), &format!("start --flavour {flavour} --name two"))).done().stdout;
    assert!(text.contains("two is up") && text.contains("drover sandbox stop two"), "{text}");
    assert_eq!(list(root.path()), [pair("one", "running"), pair("two", "running")]);
    run(&mut sandbox(root.path(), &format!("start --flavour {flavour} --name two"))).refused(&["two"]);

    // The options that it prints connect drover.
    let options = started["drover_options"].as_str().unwrap();
    let out = root.path().join("dump");
    let output = run(drover(&format!("dump --no-defaults {options} --out")).arg(&out));
    output.refused(&["nothing to dump"]);
    let shell = run(sandbox(root.path(), "shell one -- -N -B -e").arg("SELECT 'hello'")).done();
    assert_eq!(shell.stdout, "hello\n");

    let pid = started["pid"].to_string();
    Command::new("sh").args(["-c", &format!("kill -s KILL {pid}")]).status().unwrap();
    wait_until("the killed server is dead", || {
        list(root.path()) == [pair("one", "dead"), pair("two", "running")]
    });
    run(&mut sandbox(root.path(), "stop nobody")).refused(&["nobody"]);
    let stopped = run(&mut sandbox(root.path(), "stop --all --json")).done().json();
    assert_eq!(stopped["result"], "stopped");
    assert_eq!(stopped["sandboxes"].as_array().unwrap().len(), 2);
    assert_eq!(list(root.path()), []);
    assert!(run(&mut sandbox(root.path(), "list")).done().stdout.contains("there are no sandboxes"));
    assert!(!Path::new(started["datadir"].as_str().unwrap()).exists());
}

fn topology_start_list_and_stop(flavour: Flavour) {
    let root = tempfile::tempdir().unwrap();
    let start = |line: &str| run(&mut sandbox(root.path(), &format!("start --topology {line}")));
    let started = start(&format!("replica --flavour {flavour} --name shop --json")).done().json();
    assert_eq!(
        (started["result"].as_str(), started["topology"].as_str()),
        (Some("started"), Some("replica"))
    );
    let nodes = started["nodes"].as_array().unwrap();
    for (node, role) in nodes.iter().zip(["source", "replica"]) {
        assert_eq!((node["role"].as_str(), node["member_of"].as_str()), (Some(role), Some("shop")));
        for field in ["name", "pid", "socket", "port", "datadir", "client", "drover_options"] {
            assert!(!node[field].is_null(), "no {field} in {node}");
        }
    }
    assert_eq!(started["socket"], nodes[0]["socket"]);
    assert_eq!(list(root.path()), [pair("shop-1", "running"), pair("shop-2", "running")]);
    let text = run(&mut sandbox(root.path(), "list")).done().stdout;
    assert!(text.contains("ROLE") && text.contains("replica"), "{text}");
    let shell = run(sandbox(root.path(), "shell shop -- -N -B -e").arg("SELECT @@port")).done();
    assert_eq!(shell.stdout.trim_end(), nodes[0]["port"].to_string());

    run(&mut sandbox(root.path(), "link shop --down")).refused(&["shop has no link", "hint:", "--link"]);
    let (foreign, other) = match flavour {
        Flavour::MariaDb => ("group-replication", "--flavour mysql"),
        Flavour::MySql => ("galera", "--flavour mariadb"),
    };
    let refused = start(&format!("{foreign} --flavour {flavour}"));
    refused.refused(&[&format!("has no topology {foreign}"), "hint:", other]);
    let failed = start(&format!("replica --flavour {flavour} -- --no-such-option"));
    failed.refused(&["node replica-1:", "no-such-option"]);
    let stopped = run(&mut sandbox(root.path(), "stop shop --json")).done().json();
    assert_eq!(stopped["sandboxes"].as_array().unwrap().len(), 2);
    assert_eq!(root.path().read_dir().unwrap().count(), 0);
}

/// A source of an older version has a replica, too, whatever the statements are called there.
#[test]
fn replicas_of_older_servers() {
    let all = [
        (Flavour::MySql, "mysql-5.6"),
        (Flavour::MySql, "mysql-5.7"),
        (Flavour::MySql, "mysql-8.0"),
        (Flavour::MySql, "mysql-8.0.33"),
        (Flavour::MariaDb, "mariadb-10.1"),
        (Flavour::MariaDb, "mariadb-10.2"),
    ];
    for (_, name) in all.into_iter().filter(|(flavour, name)| is_wanted_of(*flavour, name)) {
        let root = tempfile::tempdir().unwrap();
        let mut start = sandbox(root.path(), "start --topology replica --name old --json --server");
        let started = run(start.arg(place(name))).done().json();
        let node = |index: usize| PathBuf::from(started["nodes"][index]["socket"].as_str().unwrap());
        let sql = |index: usize, sql: &str| {
            let mut client = Command::new("mariadb");
            client.args(["--no-defaults", "--skip-ssl", "-uroot", "-N", "-B", "-S"]).arg(node(index));
            rows_of(&mut client, sql).unwrap_or_else(|error| panic!("{name}: {error}"))
        };
        sql(
            0,
            "CREATE DATABASE shop; CREATE TABLE shop.t (id INT PRIMARY KEY); INSERT INTO shop.t VALUES (1), (2)",
        );
        let count = "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'shop'";
        wait_until("it has come to the replica", || {
            sql(1, count)[0][0] == "1" && sql(1, "SELECT COUNT(*) FROM shop.t")[0][0] == "2"
        });
        run(&mut sandbox(root.path(), "stop old")).done();
    }
}

/// A shell that starts an ephemeral sandbox is killed: the server and its files go.
fn ephemeral_ends_with_its_parent(flavour: Flavour) {
    let root = tempfile::tempdir().unwrap();
    let said = root.path().join("said");
    let drover = env!("CARGO_BIN_EXE_drover");
    let script =
        format!("{drover} sandbox start --flavour {flavour} --ephemeral --json > {}; true", said.display());
    let mut command = Command::new("sh");
    command.args(["-c", &script]).stdin(Stdio::null());
    set_root(&mut command, root.path());
    let mut shell = command.spawn().unwrap();
    let mut started = Value::Null;
    wait_until("the server is up", || {
        started = serde_json::from_slice(&std::fs::read(&said).unwrap_or_default()).unwrap_or_default();
        started["result"] == "started" || shell.try_wait().unwrap().is_some()
    });
    assert_eq!(started["ephemeral"], true, "{started}");
    let process = PathBuf::from(format!("/proc/{}", started["pid"]));
    assert!(process.exists());
    shell.kill().unwrap();
    shell.wait().unwrap();
    wait_until("the server is gone", || !process.exists());
    let datadir = PathBuf::from(started["datadir"].as_str().unwrap());
    wait_until("its files are gone", || !datadir.exists());
}
