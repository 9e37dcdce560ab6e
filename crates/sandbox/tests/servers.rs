//! Real servers of both vendors, through the library. They fail where a vendor's server is missing:
//! `scripts/setup` fetches both.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod common;

use std::path::{Path, PathBuf};

use common::{processes_of, query, succeed};
use drover_sandbox::{Error, Flavour, Server, ServerBinaries, StartOptions, StopOutcome};

const BOTH: [Flavour; 2] = [Flavour::MariaDb, Flavour::MySql];

fn start(flavour: Flavour, options: &[&str]) -> Server {
    let server_options = options.iter().map(|option| (*option).to_owned()).collect();
    Server::start(&StartOptions { server_options, ..StartOptions::ephemeral(flavour) }).unwrap()
}

fn home(server: &Server) -> PathBuf {
    server.datadir().parent().unwrap().to_owned()
}

#[test]
fn each_flavour_is_found_and_runs_its_own_tools() {
    for flavour in BOTH {
        let binaries = ServerBinaries::find(Some(flavour), None).unwrap();
        assert_eq!(binaries.flavour(), flavour);
        let tools = match flavour {
            Flavour::MariaDb => ["mariadb", "mariadb-dump", "mariadb-binlog"],
            Flavour::MySql => ["mysql", "mysqldump", "mysqlbinlog"],
        };
        for (program, tool) in ["mysql", "mysqldump", "mysqlbinlog"].into_iter().zip(tools) {
            let said = succeed(binaries.client_command(program).arg("--version"));
            // Some say their whole path, some their name.
            let says_it_is =
                Path::new(said.split_whitespace().next().unwrap()).file_name().unwrap().to_owned();
            assert_eq!(says_it_is, tool);
        }
    }
}

/// Nobody should get in by TCP without an account that was made for it.
fn admits_by_tcp(server: &Server, user: &str) -> bool {
    let mut client = server.binaries().client_command("mysql");
    client.args(["-h", "127.0.0.1", "-P", &server.port().to_string(), "-u", user, "-e", "SELECT 1"]);
    client.output().unwrap().status.success()
}

fn serves_and_vanishes(flavour: Flavour) {
    let server = start(flavour, &["--max-connections=17"]);
    let facts = "SELECT @@version, @@max_connections, @@port, @@log_bin, CURRENT_USER()";
    let expected = format!("\t17\t{}\t1\troot@localhost", server.port());
    let answer = query(&server, facts);
    assert!(answer.ends_with(&expected), "{answer}");
    assert!(answer.contains(server.version()), "{answer} is not {}", server.version());
    assert!(server.is_running() && server.error_log_tail(1).len() > 1);

    assert!(!admits_by_tcp(&server, "root"));
    query(&server, "CREATE USER guest@'127.0.0.1'");
    assert!(admits_by_tcp(&server, "guest"));

    let (home, datadir) = (home(&server), server.datadir().to_owned());
    drop(server);
    assert!(!home.exists());
    assert_eq!(processes_of(&datadir), 0);
}

#[test]
fn mariadb_serves_and_vanishes() {
    serves_and_vanishes(Flavour::MariaDb);
}

#[test]
fn mysql_serves_and_vanishes() {
    serves_and_vanishes(Flavour::MySql);
}

fn data_survives_a_crash_and_a_stop(flavour: Flavour) {
    let mut server = start(flavour, &[]);
    query(
        &server,
        "CREATE DATABASE d; CREATE TABLE d.t (a INT PRIMARY KEY); INSERT INTO d.t VALUES (1), (2)",
    );
    let first = server.pid();
    server.kill();
    assert!(!server.is_running());
    server.restart().unwrap();
    assert_ne!(server.pid(), first);
    assert_eq!(query(&server, "SELECT COUNT(*) FROM d.t"), "2");

    assert_eq!(server.stop(), StopOutcome::Stopped);
    assert_eq!(server.stop(), StopOutcome::WasDead);
    server.restart().unwrap();
    assert_eq!(query(&server, "SELECT COUNT(*) FROM d.t"), "2");

    let home = home(&server);
    server.kill();
    drop(server);
    assert!(!home.exists(), "an ephemeral server that was down leaves nothing either");
}

#[test]
fn mariadb_data_survives_a_crash_and_a_stop() {
    data_survives_a_crash_and_a_stop(Flavour::MariaDb);
}

#[test]
fn mysql_data_survives_a_crash_and_a_stop() {
    data_survives_a_crash_and_a_stop(Flavour::MySql);
}

fn a_bad_option_is_reported_with_the_servers_words(flavour: Flavour) {
    let root = tempfile::tempdir().unwrap();
    let options = StartOptions {
        server_options: vec!["--no-such-option=1".to_owned()],
        root: Some(root.path().to_owned()),
        ..StartOptions::ephemeral(flavour)
    };
    let error = Server::start(&options).unwrap_err();
    assert!(matches!(error, Error::ExitedEarly { .. }), "{error}");
    assert!(error.to_string().contains("no-such-option"), "{error}");
    assert_eq!(root.path().read_dir().unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn mariadb_reports_a_bad_option_in_its_own_words() {
    a_bad_option_is_reported_with_the_servers_words(Flavour::MariaDb);
}

#[test]
fn mysql_reports_a_bad_option_in_its_own_words() {
    a_bad_option_is_reported_with_the_servers_words(Flavour::MySql);
}

#[test]
fn servers_of_one_template_are_told_apart() {
    for (flavour, identity) in [
        (Flavour::MySql, "SELECT @@server_uuid, @@server_id"),
        (Flavour::MariaDb, "SELECT @@server_uid, @@server_id"),
    ] {
        let servers = [start(flavour, &[]), start(flavour, &[])];
        assert_ne!(servers[0].port(), servers[1].port());
        let identities = servers.each_ref().map(|server| query(server, identity));
        let [(uuid, id), (other_uuid, other_id)] =
            identities.each_ref().map(|identity| identity.split_once('\t').unwrap());
        assert_ne!(id, other_id);
        assert!(flavour == Flavour::MariaDb || uuid != other_uuid, "{uuid} twice");
    }
}

#[test]
fn a_deep_root_gets_a_short_socket() {
    let root = tempfile::tempdir().unwrap();
    let deep = root.path().join("x".repeat(100));
    let options = StartOptions { root: Some(deep), ..StartOptions::ephemeral(Flavour::MariaDb) };
    let server = Server::start(&options).unwrap();
    let socket_dir = server.socket().parent().unwrap().to_owned();
    assert!(!socket_dir.starts_with(root.path()));
    assert_eq!(query(&server, "SELECT 1"), "1");
    drop(server);
    assert!(!socket_dir.exists());
}

#[test]
fn a_server_that_is_not_there_is_explained() {
    let error = ServerBinaries::find(None, Some(Path::new("/nonexistent"))).unwrap_err();
    assert!(error.to_string().contains("/nonexistent is not a server"), "{error}");
    let mariadb = ServerBinaries::find(Some(Flavour::MariaDb), None).unwrap();
    let error = ServerBinaries::find(Some(Flavour::MySql), Some(mariadb.server())).unwrap_err();
    assert!(matches!(error, Error::WrongFlavour { .. }), "{error}");
}
