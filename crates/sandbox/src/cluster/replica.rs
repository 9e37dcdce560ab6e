//! A source and a replica that follows it by GTID.

use std::ffi::OsString;

use super::account::{Password, USER};
use super::plan::Plan;
use super::wait;
use crate::{Error, Flavour, Server, sql};

use drover_db::er;

const PRIVILEGES: &str = "REPLICATION SLAVE";

/// Positions are kept so that a killed replica goes on where it was.
/// Before 5.7 GTIDs want the replica's own log, which later servers write by themselves.
const MYSQL: [&str; 4] = [
    "--gtid-mode=ON",
    "--enforce-gtid-consistency=ON",
    "--relay-log-recovery=ON",
    "--loose-log-slave-updates=ON",
];
const MARIADB: [&str; 2] = ["--log-slave-updates=ON", "--gtid-strict-mode=ON"];

/// The options of a node.
pub(super) fn options(plan: &Plan<'_>, index: usize) -> Vec<OsString> {
    let vendor: &[&str] = match plan.flavour {
        Flavour::MySql => &MYSQL,
        Flavour::MariaDb => &MARIADB,
    };
    // MySQL from 5.7 on keeps root out as well.
    let read_only: &[&str] = &["--read-only=ON", "--loose-super-read-only=ON"];
    let read_only = read_only.iter().filter(|_| index > 0);
    // The source tells its clients where its replicas are.
    let report = ["--report-host=127.0.0.1".into(), format!("--report-port={}", plan.port(index, 0)).into()];
    vendor.iter().chain(read_only).map(OsString::from).chain(report).collect()
}

/// Makes the second node a replica of the first, which it finds at that port.
pub(super) fn form(nodes: &[Server], source_port: u16) -> Result<(), Error> {
    let [source, replica] = nodes else { return Ok(()) };
    let password = Password::random()?;
    source.statements(&password.create(PRIVILEGES))?;
    let mut ways = follow(replica.flavour(), source_port, &password).into_iter().peekable();
    while let Some(way) = ways.next() {
        match sql::run(replica.socket(), &way) {
            Ok(()) => break,
            // ER_PARSE_ERROR: an older server has another way.
            Err(error) if error.code() == Some(er::PARSE_ERROR) && ways.peek().is_some() => {}
            Err(error) => return Err(replica.refused(error)),
        }
    }
    catch_up(nodes)
}

/// The ways to make a server follow another one, those of the newest servers first: MySQL has the words from 8.0.23 on, and hands out keys
/// from 8.0.4 on.
fn follow(flavour: Flavour, port: u16, password: &Password) -> Vec<[String; 2]> {
    let password = password.expose();
    match flavour {
        Flavour::MySql => {
            // 0 retries: without end. Its own default gives up after 10.
            let change = |source: &str, key: &str| {
                format!(
                    "{source}_HOST = '127.0.0.1', {source}_PORT = {port}, {source}_USER = '{USER}', {source}_PASSWORD = '{password}', \
                     {source}_AUTO_POSITION = 1, {source}_CONNECT_RETRY = 1, {source}_RETRY_COUNT = 0{key}"
                )
            };
            let today = change("SOURCE", ", SOURCE_SSL = 1, GET_SOURCE_PUBLIC_KEY = 1");
            let older = change("MASTER", ", MASTER_SSL = 1, GET_MASTER_PUBLIC_KEY = 1");
            vec![
                [format!("CHANGE REPLICATION SOURCE TO {today}"), "START REPLICA".into()],
                [format!("CHANGE MASTER TO {older}"), "START SLAVE".into()],
                [format!("CHANGE MASTER TO {}", change("MASTER", "")), "START SLAVE".into()],
            ]
        }
        Flavour::MariaDb => vec![[
            format!(
                "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {port}, MASTER_USER = '{USER}', \
                 MASTER_PASSWORD = '{password}', MASTER_USE_GTID = slave_pos, MASTER_CONNECT_RETRY = 1"
            ),
            "START SLAVE".into(),
        ]],
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
    let mut connection = sql::connect(replica.socket())?;
    let (rows, word) = match connection.query("SHOW REPLICA STATUS") {
        Ok(rows) => (rows, "Replica"),
        // ER_PARSE_ERROR: MySQL before 8.0.22.
        Err(error) if error.code() == Some(er::PARSE_ERROR) => {
            (connection.query("SHOW SLAVE STATUS")?, "Slave")
        }
        Err(error) => return Err(error),
    };
    // MariaDB takes both statements, and names the columns as it always did.
    let text = |column: &str| rows.first_text(column).unwrap_or_default();
    let runs =
        |thread: &str| [word, "Slave"].iter().any(|word| text(&format!("{word}_{thread}_Running")) == "Yes");
    let errors = [text("Last_IO_Error"), text("Last_SQL_Error")].join(" ").trim().to_owned();
    Ok(Status { runs: runs("IO") && runs("SQL"), errors })
}
