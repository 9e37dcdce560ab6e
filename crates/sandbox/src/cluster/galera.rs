//! MariaDB's Galera cluster: three nodes, all of which take writes.
//!
//! The nodes let in only who shows the key that they share. A node that joins gets its state as a copy of another's files, by a
//! script of our own (`transfer.sh`): those that come with the server need programs beyond it.

use std::ffi::OsString;
use std::fs::{DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::account::random_hex;
use super::plan::Plan;
use super::wait;
use crate::binaries::path_option;
use crate::home::Home;
use crate::server::NodeOptions;
use crate::{Error, Server, ServerBinaries, find, sql};

/// `wsrep_sst_method` is the part of the script's name behind `wsrep_sst_`.
const TRANSFER_PROGRAM: &str = "wsrep_sst_drover";
const TRANSFER: &str = include_str!("transfer.sh");

/// Transactions have the same GTID on all nodes (`wsrep_gtid_mode`), as a binary log that is read on another one needs.
const OPTIONS: [&str; 9] = [
    "--wsrep-on=ON",
    "--wsrep-sst-method=drover",
    "--wsrep-node-address=127.0.0.1",
    "--wsrep-gtid-mode=ON",
    "--wsrep-gtid-domain-id=0",
    "--log-slave-updates=ON",
    "--binlog-format=ROW",
    "--innodb-autoinc-lock-mode=2",
    // Copied to each node that joins.
    "--innodb-log-file-size=48M",
];

const STATE: &str = "SHOW GLOBAL STATUS LIKE 'wsrep_local_state_comment'";
const SIZE: &str = "SHOW GLOBAL STATUS LIKE 'wsrep_cluster_size'";

/// Bytes of chance in the cluster's name: no other cluster has it. It has at most 32 characters (gcomm/src/gmcast_message.hpp).
const CLUSTER_NAME_BYTES: usize = 12;

/// The ports of a node: clients, group, incremental transfers.
pub(super) const PORTS: usize = 3;

/// The options that all nodes share.
pub(super) fn common(binaries: &ServerBinaries, ports: &[u16]) -> Result<Vec<OsString>, Error> {
    let mut options: Vec<OsString> = OPTIONS.iter().map(OsString::from).collect();
    let group = ports.chunks(PORTS).filter_map(|node| node.get(1)).map(|port| format!("127.0.0.1:{port}"));
    let addresses: Vec<String> = group.collect();
    options.push(format!("--wsrep-cluster-address=gcomm://{}", addresses.join(",")).into());
    options.push(format!("--wsrep-cluster-name={}", random_hex(CLUSTER_NAME_BYTES)?).into());
    options.push(path_option("--wsrep-provider", &find::galera_library(binaries)?));
    // One for all, else a transaction would not have the same GTID everywhere.
    options.extend(ports.first().map(|port| format!("--server-id={port}").into()));
    Ok(options)
}

/// The options of a node, whose key and script are put into its home.
pub(super) fn options(plan: &Plan<'_>, index: usize, home: &Home) -> Result<NodeOptions, Error> {
    if !is_plain(home.dir()) {
        return Err(Error::PathNotPlain { path: home.dir().to_owned() });
    }
    let programs = home.dir().join("bin");
    DirBuilder::new().mode(0o700).create(&programs).map_err(Error::io("create", &programs))?;
    write(&programs.join(TRANSFER_PROGRAM), 0o700, TRANSFER)?;
    let [certificate, key] = write_certificate(plan, home)?;
    let mut always = plan.common.clone();
    always.push(format!("--wsrep-node-name=node-{}", index + 1).into());
    // What a node does outside of the cluster must not look like a transaction of the cluster's.
    always.push(format!("--gtid-domain-id={}", index + 1).into());
    always.push(provider_options(plan, index, &certificate, &key));
    let once = if index == 0 { vec!["--wsrep-new-cluster".into()] } else { Vec::new() };
    Ok(NodeOptions { always, once, programs: Some(programs) })
}

fn provider_options(plan: &Plan<'_>, index: usize, certificate: &Path, key: &Path) -> OsString {
    let [group, transfers] = [1, 2].map(|which| plan.port(index, which));
    let (certificate, key) = (certificate.display(), key.display());
    format!(
        "--wsrep-provider-options=gmcast.listen_addr=ssl://127.0.0.1:{group};base_port={group};\
         ist.recv_addr=127.0.0.1:{transfers};gcache.size=64M;\
         socket.ssl_cert={certificate};socket.ssl_key={key};socket.ssl_ca={certificate}"
    )
    .into()
}

/// The certificate is its own authority, so that it and nothing else is trusted.
fn write_certificate(plan: &Plan<'_>, home: &Home) -> Result<[PathBuf; 2], Error> {
    let paths = ["node.crt", "node.key"].map(|name| home.dir().join(name));
    for (path, text) in paths.iter().zip(&plan.certificate) {
        write(path, 0o600, text)?;
    }
    Ok(paths)
}

/// A new certificate and its key, PEM.
pub(super) fn certificate() -> Result<[String; 2], Error> {
    let made = rcgen::generate_simple_self_signed(["drover sandbox".to_owned()]);
    let made = made.map_err(std::io::Error::other).map_err(Error::io("make", Path::new("a certificate")))?;
    Ok([made.cert.pem(), made.signing_key.serialize_pem()])
}

fn write(path: &Path, mode: u32, text: &str) -> Result<(), Error> {
    let mut options = OpenOptions::new();
    let opened = options.write(true).create(true).truncate(true).mode(mode).open(path);
    opened.and_then(|mut file| file.write_all(text.as_bytes())).map_err(Error::io("write", path))
}

/// Whether the path can stand in the provider's options and in the addresses of state transfers as it is.
fn is_plain(path: &Path) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    path.to_str().is_some_and(|path| path.chars().all(plain))
}

/// Waits until a node has joined.
pub(super) fn join(node: &Server) -> Result<(), Error> {
    until_status(node, "be Synced", STATE, "Synced")
}

/// Whether the node at that socket has all data and takes writes.
pub(super) fn is_synced(socket: &Path) -> bool {
    status(socket, STATE).is_ok_and(|state| state == "Synced")
}

fn status(socket: &Path, query: &str) -> drover_db::Result<String> {
    Ok(sql::row(socket, query)?.map(|row| row.string(1)).unwrap_or_default())
}

/// Waits until all nodes see all.
pub(super) fn form(nodes: &[Server]) -> Result<(), Error> {
    let size = nodes.len().to_string();
    nodes.iter().try_for_each(|node| {
        until_status(node, "see the whole cluster", SIZE, &size)?;
        until_status(node, "be Synced", STATE, "Synced")
    })
}

fn until_status(node: &Server, what: &'static str, query: &str, wanted: &str) -> Result<(), Error> {
    wait::until(node, what, || {
        let value = status(node.socket(), query)?;
        Ok(if value == wanted { Ok(()) } else { Err(format!("it is {value:?}")) })
    })
}
