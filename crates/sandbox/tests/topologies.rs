//! Topologies of real servers, through the library. Starting one takes seconds, so each is started once and everything is tried on
//! that one.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod common;

use std::fs;
use std::io::Read;
use std::net::TcpStream;
use std::thread::sleep;
use std::time::Duration;

use common::{arguments_below, processes_of, query, wait_until};
use drover_sandbox::{Cluster, Error, Flavour, LinkSettings, Server, StartOptions, Topology};

fn start(topology: Topology, flavour: Flavour) -> Cluster {
    let started = Cluster::start(topology, &StartOptions::ephemeral(flavour));
    started.unwrap_or_else(|error| panic!("{topology} of {}: {error}", flavour.title()))
}

/// A table for rows that are to get to all nodes.
fn make_table(cluster: &Cluster) {
    query(cluster.first(), "CREATE DATABASE d; CREATE TABLE d.t (a INT PRIMARY KEY)");
    spreads(cluster, 0, 1);
}

/// A row that is written on one node is soon on all that run. The nodes may first have to agree that one is gone.
fn spreads(cluster: &Cluster, from: usize, row: u32) {
    let sql = format!("REPLACE INTO d.t VALUES ({row})");
    let writes = |node: &Server| node.client("mysql").args(["-e", &sql]).output().unwrap().status.success();
    wait_until("the row is written", || writes(&cluster.nodes()[from]));
    for node in cluster.nodes().iter().filter(|node| node.is_running()) {
        wait_until("the row is there", || has(node, row));
    }
}

fn has(node: &Server, row: u32) -> bool {
    let sql = format!("SELECT COUNT(*) FROM d.t WHERE a = {row}");
    let output = node.client("mysql").args(["-N", "-B", "-e", &sql]).output().unwrap();
    output.status.success() && output.stdout == b"1\n"
}

fn refuses_writes(node: &Server) -> bool {
    let client = node.client("mysql").args(["-e", "INSERT INTO d.t VALUES (-1)"]).output().unwrap();
    String::from_utf8_lossy(&client.stderr).contains("read-only")
}

/// All transactions have the same GTIDs on all nodes, so that one can be followed where another was left.
fn has_same_gtids(cluster: &Cluster) {
    let position = match cluster.first().flavour() {
        Flavour::MySql => "SELECT @@gtid_executed",
        Flavour::MariaDb => "SELECT @@gtid_binlog_pos",
    };
    let first = query(cluster.first(), position);
    assert!(!first.is_empty());
    for node in cluster.nodes() {
        wait_until("the position is the same", || query(node, position) == first);
    }
}

/// By TCP nobody gets in but the account that the nodes have, which has a password.
fn is_closed_to_strangers(cluster: &Cluster) {
    for node in cluster.nodes() {
        let others =
            query(node, "SELECT DISTINCT CONCAT(User, '@', Host) FROM mysql.user WHERE Host <> 'localhost'");
        assert!(["", "drover_node@127.0.0.1"].contains(&others.as_str()), "{others}");
        for user in ["root", "drover_node"] {
            let mut client = node.binaries().client_command("mysql");
            client.args(["-h", "127.0.0.1", "-P", &node.port().to_string(), "-u", user, "-e", "SELECT 1"]);
            assert!(!client.output().unwrap().status.success(), "{user} came in");
        }
        let process = fs::read_to_string(format!("/proc/{}/cmdline", node.pid())).unwrap();
        assert!(!process.contains("assword"), "{process}");
    }
}

fn a_replica_follows_through_crashes(flavour: Flavour) {
    let mut cluster = start(Topology::Replica, flavour);
    assert_eq!((cluster.nodes().len(), cluster.primary()), (2, Some(0)));
    make_table(&cluster);
    is_closed_to_strangers(&cluster);
    if flavour == Flavour::MySql {
        // MariaDB lets root write even there.
        assert!(refuses_writes(&cluster.nodes()[1]));
    }

    cluster.kill(1);
    spreads(&cluster, 0, 2);
    cluster.rejoin(1).unwrap();
    assert!(has(&cluster.nodes()[1], 2), "it has all when it is back");

    cluster.kill(0);
    assert_eq!(cluster.primary(), None);
    cluster.rejoin(0).unwrap();
    spreads(&cluster, 0, 3);
    has_same_gtids(&cluster);
}

#[test]
fn a_mariadb_replica_follows_through_crashes() {
    a_replica_follows_through_crashes(Flavour::MariaDb);
}

#[test]
fn a_mysql_replica_follows_through_crashes() {
    a_replica_follows_through_crashes(Flavour::MySql);
}

/// The replica knows no other way to its source than the link, which threads of this process carry.
fn a_replica_follows_over_a_link(flavour: Flavour) {
    let settings = LinkSettings::of_rate(2_500_000);
    let options = StartOptions { link: Some(settings), ..StartOptions::ephemeral(flavour) };
    let cluster = Cluster::start(Topology::Replica, &options).unwrap();
    let (replica, link) = (&cluster.nodes()[1], cluster.link().unwrap());
    let status = query(replica, "SHOW REPLICA STATUS");
    let source: Vec<&str> = status.split('\t').collect();
    assert_eq!((source[1], source[3]), ("127.0.0.1", link.port().to_string().as_str()), "{status}");
    make_table(&cluster);

    link.set(LinkSettings { is_down: true, ..settings }).unwrap();
    query(cluster.first(), "INSERT INTO d.t VALUES (2)");
    sleep(Duration::from_millis(500));
    assert!(!has(replica, 2));
    link.set(settings).unwrap();
    wait_until("the row is there", || has(replica, 2));

    let port = link.port();
    drop(cluster);
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err(), "the link ends with its cluster");
}

#[test]
fn a_mariadb_replica_follows_over_a_link() {
    a_replica_follows_over_a_link(Flavour::MariaDb);
}

#[test]
fn a_mysql_replica_follows_over_a_link() {
    a_replica_follows_over_a_link(Flavour::MySql);
}

/// The primary is killed: another node takes writes, and the killed one comes back with what it missed.
fn survives_its_primary(cluster: &mut Cluster) {
    assert_eq!((cluster.nodes().len(), cluster.primary()), (3, Some(0)));
    make_table(cluster);
    is_closed_to_strangers(cluster);
    cluster.kill(0);
    wait_until("another takes over", || cluster.primary().is_some());
    let primary = cluster.primary().unwrap();
    assert_ne!(primary, 0);
    spreads(cluster, primary, 2);
    cluster.rejoin(0).unwrap();
    assert!(has(cluster.first(), 2), "it has all when it is back");
    spreads(cluster, cluster.primary().unwrap(), 3);

    // At once, before the others have noticed. The primary stays what it is.
    let other = 3 - primary;
    cluster.kill(other);
    cluster.rejoin(other).unwrap();
    spreads(cluster, cluster.primary().unwrap(), 4);
    has_same_gtids(cluster);
}

#[test]
fn a_group_survives_its_primary() {
    let mut cluster = start(Topology::GroupReplication, Flavour::MySql);
    assert_eq!(
        query(cluster.first(), "SELECT MEMBER_STATE FROM performance_schema.replication_group_members"),
        "ONLINE\nONLINE\nONLINE"
    );
    survives_its_primary(&mut cluster);
    assert!(refuses_writes(cluster.first()), "it came back as a secondary");
}

#[test]
fn a_galera_cluster_survives_a_node() {
    let mut cluster = start(Topology::Galera, Flavour::MariaDb);
    let sizes =
        "SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_cluster_size', 'wsrep_local_state_comment')";
    for node in cluster.nodes() {
        assert_eq!(query(node, sizes), "wsrep_local_state_comment\tSynced\nwsrep_cluster_size\t3");
        only_speaks_tls(node);
    }
    survives_its_primary(&mut cluster);
    spreads(&cluster, 2, 5);
}

/// A node of Galera without TLS greets whoever connects.
fn only_speaks_tls(node: &Server) {
    let provider = query(node, "SELECT @@wsrep_provider_options");
    let port = provider.split("base_port = ").nth(1).unwrap().split(';').next().unwrap();
    let mut stranger = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
    stranger.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    let said = stranger.read(&mut [0; 64]);
    assert!(matches!(said, Err(_) | Ok(0)), "{said:?}");
}

#[test]
fn a_node_that_fails_takes_all_with_it() {
    for ephemeral in [true, false] {
        let root = tempfile::tempdir().unwrap();
        let options = StartOptions {
            server_options: vec!["--wsrep-sst-method=nothing".to_owned()],
            root: Some(root.path().to_owned()),
            ephemeral,
            name: Some("shop".parse().unwrap()),
            ..StartOptions::named(Flavour::MariaDb)
        };
        let error = Cluster::start(Topology::Galera, &options).unwrap_err();
        assert!(matches!(&error, Error::Node { name, .. } if name.as_str() == "shop-2"), "{error}");
        let text = error.to_string();
        assert!(text.starts_with("node shop-2: the server exited") && text.contains("WSREP"), "{text}");
        assert_eq!(root.path().read_dir().unwrap().count(), 0, "nothing is left behind");
        assert_eq!(arguments_below(root.path()).len(), 0);
    }
}

#[test]
fn what_cannot_be_is_refused_before_anything_starts() {
    let refused = |topology, options: &StartOptions| Cluster::start(topology, options).unwrap_err();
    let error = refused(Topology::Galera, &StartOptions::ephemeral(Flavour::MySql));
    assert_eq!(error.to_string(), "MySQL has no topology galera");
    let error = refused(Topology::GroupReplication, &StartOptions::ephemeral(Flavour::MariaDb));
    assert!(error.hint().unwrap().contains("--flavour mysql"), "{error}");
    let ports = StartOptions {
        server_options: vec!["--port=3307".into()],
        ..StartOptions::ephemeral(Flavour::MySql)
    };
    assert!(matches!(refused(Topology::Replica, &ports), Error::PortOfSeveral { .. }));
    let link = Some(LinkSettings::of_rate(1000));
    for topology in [Topology::Single, Topology::Galera] {
        let options = StartOptions { link, ..StartOptions::ephemeral(Flavour::MariaDb) };
        let error = refused(topology, &options);
        assert!(error.to_string().contains(&format!("--topology {topology}")), "{error}");
    }
    let odd = tempfile::Builder::new().prefix("two words").tempdir().unwrap();
    let options = StartOptions { root: Some(odd.path().into()), ..StartOptions::ephemeral(Flavour::MariaDb) };
    assert!(refused(Topology::Galera, &options).to_string().contains("can hold only letters"));
    assert_eq!(odd.path().read_dir().unwrap().count(), 0);
}

#[test]
fn a_dropped_cluster_leaves_nothing() {
    let root = tempfile::tempdir().unwrap();
    let options =
        StartOptions { root: Some(root.path().into()), ..StartOptions::ephemeral(Flavour::MariaDb) };
    let cluster = Cluster::start(Topology::Replica, &options).unwrap();
    let datadirs: Vec<_> = cluster.nodes().iter().map(|node| node.datadir().to_owned()).collect();
    assert!(datadirs.iter().all(|datadir| processes_of(datadir) > 0));
    drop(cluster);
    assert!(datadirs.iter().all(|datadir| processes_of(datadir) == 0));
    assert_eq!(root.path().read_dir().unwrap().count(), 0);
}

#[test]
fn one_server_is_a_topology_too() {
    let cluster = start(Topology::Single, Flavour::MariaDb);
    assert_eq!((cluster.nodes().len(), cluster.primary()), (1, Some(0)));
    assert_eq!(query(cluster.first(), "SELECT 1"), "1");
}
