//! Where a snapshot lies in the binary log. It is asked under the lock that holds writers back, so in one round trip: which statements the
//! server understands is found out before.

use drover_db::server::variable;
use drover_db::wire::{Batch, Rows};
use drover_db::{Connection, Vendor, er};

use super::wish::is_refusal;
use crate::Result;
use crate::error::Doing;
use drover_format::manifest::{Snapshot, SourcePosition};

/// The statements that tell it; none for what this server does not tell, or not this account.
pub(super) struct Asks {
    log: Option<&'static str>,
    gtid: Option<&'static str>,
    replicas: Option<&'static str>,
    prepared: Option<&'static str>,
    server: &'static str,
    /// Whether it seems to replicate, which the account may not see.
    is_hidden_replica: bool,
    /// Whether the server logs what it gets from a source; it can only be changed by a restart.
    logs_replicated: Option<bool>,
}

const LOG: [&str; 2] = ["SHOW BINARY LOG STATUS", "SHOW MASTER STATUS"];
const REPLICAS: [&str; 4] =
    ["SHOW ALL REPLICAS STATUS", "SHOW ALL SLAVES STATUS", "SHOW REPLICA STATUS", "SHOW SLAVE STATUS"];

/// MySQL shows it to accounts with XA_RECOVER_ADMIN.
const PREPARED: &str = "XA RECOVER";

/// Which server it is, and its clock.
const MYSQL_SERVER: &str =
    "SELECT @@GLOBAL.server_id, UNIX_TIMESTAMP(NOW(6)) * 1000000, @@GLOBAL.server_uuid";
const MARIADB_SERVER: &str = "SELECT @@GLOBAL.server_id, UNIX_TIMESTAMP(NOW(6)) * 1000000, NULL, \
                              (SELECT QUERY_ID FROM information_schema.PROCESSLIST WHERE ID = CONNECTION_ID())";
/// Galera gives transactions other numbers, and MySQL has no `server_uuid` before 5.6.
const ANY_SERVER: &str = "SELECT @@GLOBAL.server_id, UNIX_TIMESTAMP(NOW(6)) * 1000000";

impl Asks {
    /// Asks once, before it matters.
    pub(super) fn prepare(
        connection: &mut Connection,
        vendor: Vendor,
        warnings: &mut Vec<String>,
    ) -> Result<Self> {
        let log = first_that_is_known(connection, &LOG)?;
        if log.is_none() {
            warnings
                .push("the account may not ask for the binary log's position (REPLICATION CLIENT)".into());
        }
        let gtid = (vendor == Vendor::MariaDb).then_some("SELECT @@GLOBAL.gtid_binlog_pos");
        let gtid = gtid.filter(|sql| connection.query(sql).is_ok());
        let mut is_galera = || variable(connection, "GLOBAL.wsrep_on").doing(|| "asking for wsrep_on");
        let server = match vendor {
            Vendor::MySql => MYSQL_SERVER,
            Vendor::MariaDb if is_galera()?.is_some_and(|on| on == "1") => ANY_SERVER,
            Vendor::MariaDb => MARIADB_SERVER,
        };
        let server = first_that_is_known(connection, &[server, ANY_SERVER])?.unwrap_or(ANY_SERVER);
        let replicas = first_that_is_known(connection, &REPLICAS)?;
        let logs_replicated = logs_replicated(connection)?;
        let is_hidden_replica = replicas.is_none() && has_replicated(connection)?;
        if is_hidden_replica && log.is_some() && logs_replicated == Some(false) {
            warnings.push(HIDDEN_REPLICA.into());
        }
        let prepared = match connection.query(PREPARED) {
            Ok(_) => Some(PREPARED),
            Err(drover_db::Error::Server(_)) => None,
            Err(error) => return Err(error).doing(|| PREPARED),
        };
        Ok(Self { log, gtid, replicas, prepared, server, is_hidden_replica, logs_replicated })
    }

    /// Adds them to what is sent.
    pub(super) fn send(&self, batch: &mut Batch) {
        [self.log, self.gtid, self.replicas, self.prepared]
            .into_iter()
            .flatten()
            .for_each(|sql| batch.query(sql));
        batch.query(self.server);
    }

    /// Reads the answers.
    pub(super) fn receive(&self, connection: &mut Connection) -> Result<Snapshot> {
        let mut next = |sql: Option<&'static str>| {
            sql.map(|sql| connection.next_rows().doing(|| sql)).transpose().map(Option::unwrap_or_default)
        };
        // Each is read, whatever came of the one before.
        let (log, gtid, replicas) = (next(self.log), next(self.gtid), next(self.replicas));
        let (prepared, server) = (next(self.prepared), next(Some(self.server)));
        let (log, gtid, replicas, prepared, server) = (log?, gtid?, replicas?, prepared?, server?);
        let told = |at: usize| server.first().and_then(|row| row.text(at));
        let gtid = gtid.first().and_then(|row| row.text(0)).or(log.first_text("Executed_Gtid_Set"));
        let replicates_from = sources(&replicas);
        Ok(Snapshot {
            logs_replicated: self
                .logs_replicated
                .filter(|_| self.is_hidden_replica || !replicates_from.is_empty()),
            binlog_file: log.first_text("File"),
            binlog_position: log.first_text("Position").and_then(|text| text.parse().ok()),
            gtid_set: gtid.filter(|set| !set.is_empty()),
            server_id: told(0).and_then(|id| id.parse().ok()),
            server_clock_us: told(1).and_then(|clock| clock.split('.').next()?.parse().ok()),
            server_uuid: told(2),
            query_id: told(3).and_then(|id| id.parse().ok()),
            replicates_from,
            gtid_slave_pos: replicas.first_text("Gtid_Slave_Pos").filter(|set| !set.is_empty()),
            prepared: prepared.into_iter().map(|row| row.string(3)).collect(),
            ..Snapshot::default()
        })
    }
}

const HIDDEN_REPLICA: &str = "the server seems to be a replica that does not log what it replicates (log_slave_updates), and the account may \
                              not see where it is in its source's logs (REPLICA MONITOR): logs cannot be applied behind this dump";

/// Whether the server is or was a replica, as far as anybody may see it: of MariaDB, where it is told apart from the own log's position.
fn has_replicated(connection: &mut Connection) -> Result<bool> {
    let position = variable(connection, "GLOBAL.gtid_slave_pos").doing(|| "asking for gtid_slave_pos")?;
    Ok(position.is_some_and(|position| !position.is_empty()))
}

fn logs_replicated(connection: &mut Connection) -> Result<Option<bool>> {
    for name in ["GLOBAL.log_replica_updates", "GLOBAL.log_slave_updates"] {
        if let Some(value) = variable(connection, name).doing(|| "asking for log_replica_updates")? {
            return Ok(Some(value == "1"));
        }
    }
    Ok(None)
}

/// The first statement that this server has; `None` if the account may not run it.
fn first_that_is_known(
    connection: &mut Connection,
    statements: &[&'static str],
) -> Result<Option<&'static str>> {
    for statement in statements {
        match connection.query(statement) {
            Ok(_) => return Ok(Some(statement)),
            // ER_PARSE_ERROR, ER_UNKNOWN_SYSTEM_VARIABLE
            Err(error) if matches!(error.code(), Some(er::PARSE_ERROR | er::UNKNOWN_SYSTEM_VARIABLE)) => {}
            Err(error) if is_refusal(&error) => return Ok(None),
            Err(error) => return Err(error).doing(|| *statement),
        }
    }
    Ok(None)
}

fn sources(rows: &Rows) -> Vec<SourcePosition> {
    let column = |names: [&str; 2]| names.into_iter().find_map(|name| rows.column(name));
    let channel = column(["Channel_Name", "Connection_name"]);
    let file = column(["Relay_Source_Log_File", "Relay_Master_Log_File"]);
    let position = column(["Exec_Source_Log_Pos", "Exec_Master_Log_Pos"]);
    let (Some(file), Some(position)) = (file, position) else { return Vec::new() };
    let source = |row: &drover_db::Row| SourcePosition {
        channel: channel.map(|at| row.string(at)).unwrap_or_default(),
        file: row.string(file),
        position: row.parse(position).unwrap_or(0),
    };
    rows.rows.iter().map(source).collect()
}
