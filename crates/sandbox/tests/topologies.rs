//! Topologies of real servers, through the library.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod common;

use std::path::PathBuf;

use common::{processes_of, query, succeed, wait_until};
use drover_sandbox::{Cluster, Error, Flavour, Server, StartOptions, Topology};

fn start(topology: Topology, flavour: Flavour) -> Cluster {
    Cluster::start(topology, &StartOptions::ephemeral(flavour)).unwrap_or_else(|error| panic!("{topology}: {error}"))
}

/// A row that is written on one node is soon on all.
fn spreads(cluster: &Cluster, from: usize, row: u32) {
    query(
        &cluster.nodes()[from],
        &format!("CREATE DATABASE IF NOT EXISTS d; CREATE TABLE IF NOT EXISTS d.t (a INT PRIMARY KEY); INSERT INTO d.t VALUES ({row})"),
    );
    for node in cluster.nodes().iter().filter(|node| node.is_running()) {
        wait_until("the row is there", || has(node, row));
    }
}

fn has(node: &Server, row: u32) -> bool {
    let sql = format!("SELECT COUNT(*) FROM d.t WHERE a = {row}");
    let output = node.client("mysql").args(["-N", "-B", "-e", &sql]).output().unwrap();
    output.status.success() && output.stdout == b"1\n"
}

/// The position in the form of the vendor, the same on all nodes.
fn gtids(node: &Server) -> String {
    query(node, match node.flavour() {
        Flavour::MySql => "SELECT @@gtid_executed",
        Flavour::MariaDb => "SELECT @@gtid_binlog_pos",
    })
}

#[test]
fn quick() {
    for (topology, flavour) in [(Topology::GroupReplication, Flavour::MySql)] {
        let began = std::time::Instant::now();
        let mut cluster = match Cluster::start(topology, &StartOptions::ephemeral(flavour)) { Ok(c) => c, Err(e) => { println!("{topology} {flavour} {e}"); continue } };
        println!("{topology} {flavour} {:?}", began.elapsed());
        assert_eq!(cluster.primary(), Some(0));
        spreads(&cluster, 0, 1);
        for n in cluster.nodes() { println!("{}", gtids(n)); }
        if topology != Topology::Replica {
            let began = std::time::Instant::now();
            cluster.kill(0);
            for _ in 0..80 { if cluster.primary().is_some() { break } std::thread::sleep(std::time::Duration::from_millis(500)); }
            if cluster.primary().is_none() { println!("{}", cluster.nodes()[1].error_log_tail(40)); println!("{}", query(&cluster.nodes()[1], "select * from performance_schema.replication_group_members")); }
            let p = cluster.primary().unwrap();
            println!("primary {p} after {:?}", began.elapsed());
            let began = std::time::Instant::now();
            spreads(&cluster, p, 2);
            println!("written {:?}", began.elapsed());
        let began = std::time::Instant::now();
            cluster.rejoin(0).unwrap();

            println!("rejoined {:?}", began.elapsed());
            spreads(&cluster, p, 3);
        }
        for n in cluster.nodes() { println!("{}", gtids(n)); }
    }
}
