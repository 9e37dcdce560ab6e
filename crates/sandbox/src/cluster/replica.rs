//! A source and a replica that follows it by GTID.

use std::ffi::OsString;

use super::account::{Password, USER};
use super::{Plan, wait};
use crate::{Error, Flavour, Server, sql};

const PRIVILEGES: &str = "REPLICATION SLAVE";

/// Positions are kept so that a killed replica goes on where it was.
const MYSQL: [&str; 3] = ["--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--relay-log-recovery=ON"];
const MARIADB: [&str; 2] = ["--log-slave-updates=ON", "--gtid-strict-mode=ON"];

/// The options of a node.
pub(super) fn options(plan: &Plan<'_>, index: usize) -> Vec<OsString> {
    let (vendor, read_only): (&[&str], _) = match plan.flavour {
        Flavour::MySql => (&MYSQL, "--super-read-only=ON"),
        Flavour::MariaDb => (&MARIADB, "--read-only=ON"),
    };
    let read_only = (index > 0).then_some(&read_only);
    // The source tells its clients where its replicas are.
    let report = ["--report-host=127.0.0.1".into(), format!("--report-port={}", plan.port(index, 0)).into()];
    vendor.iter().chain(read_only).map(OsString::from).chain(report).collect()
}

/// Makes the second node a replica of the first, which it finds at that port.
pub(super) fn form(nodes: &[Server], source_port: u16) -> Result<(), Error> {
    let [source, replica] = nodes else { return Ok(()) };
    let password = Password::random()?;
    source.statements(&password.create(PRIVILEGES))?;
    let change = change_source(source.flavour(), source_port, &password);
    let start = match replica.flavour() {
        Flavour::MySql => "START REPLICA",
        Flavour::MariaDb => "START SLAVE",
    };
    replica.statements(&[change.as_str(), start])?;
    catch_up(nodes)
}

fn change_source(flavour: Flavour, port: u16, password: &Password) -> String {
    let password = password.expose();
    match flavour {
        // 0 retries: without end. Its own default gives up after 10.
        Flavour::MySql => format!(
            "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = {port}, SOURCE_USER = '{USER}', \
             SOURCE_PASSWORD = '{password}', SOURCE_AUTO_POSITION = 1, SOURCE_CONNECT_RETRY = 1, SOURCE_RETRY_COUNT = 0, \
             SOURCE_SSL = 1, GET_SOURCE_PUBLIC_KEY = 1"
        ),
        Flavour::MariaDb => format!(
            "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {port}, MASTER_USER = '{USER}', \
             MASTER_PASSWORD = '{password}', MASTER_USE_GTID = slave_pos, MASTER_CONNECT_RETRY = 1"
        ),
    }
}

/// Waits until the replica runs and has what the source had when this was called.
pub(super) fn catch_up(nodes: &[Server]) -> Result<(), Error> {
    let [source, replica] = nodes else { return Ok(()) };
    let (position, reached) = match source.flavour() {
        Flavour::MySql => ("SELECT @@gtid_executed", "SELECT GTID_SUBSET('%', @@gtid_executed)"),
        Flavour::MariaDb => ("SELECT @@gtid_binlog_pos", "SELECT MASTER_GTID_WAIT('%', 0) = 0"),
    };
    let position = source.value(position)?;
    let reached = reached.replace('%', &position.replace('\n', ""));
    wait::until(replica, "follow its source", || {
        let status = status(replica)?;
        let is_there = status.runs && sql::value(replica.socket(), &reached)? == "1";
        Ok(if is_there { Ok(()) } else { Err(status.errors) })
    })
}

/// What a replica says of itself.
struct Status {
    runs: bool,
    /// Of the threads that receive and apply; empty if there are none.
    errors: String,
}

fn status(replica: &Server) -> drover_db::Result<Status> {
    let (statement, receiver, applier) = match replica.flavour() {
        Flavour::MySql => ("SHOW REPLICA STATUS", "Replica_IO_Running", "Replica_SQL_Running"),
        Flavour::MariaDb => ("SHOW SLAVE STATUS", "Slave_IO_Running", "Slave_SQL_Running"),
    };
    let rows = sql::connect(replica.socket())?.query(statement)?;
    let text = |column: &str| rows.first_text(column).unwrap_or_default();
    let errors = [text("Last_IO_Error"), text("Last_SQL_Error")].join(" ").trim().to_owned();
    Ok(Status { runs: text(receiver) == "Yes" && text(applier) == "Yes", errors })
}
