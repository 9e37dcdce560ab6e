//! Whether a server replicates from another, directly or over others: what it has of the heartbeat is waited for, which would be for ever
//! where it does not.

use drover_db::wire::Rows;
use drover_db::{Connection, health, server};

use crate::error::Doing;
use crate::{Error, Result};

const HINT: &str = "--replica names replicas of the server that is changed (SHOW REPLICA STATUS there)";

/// Looks whether `replica` replicates from `source`. Who may not see it is not told.
///
/// # Errors
/// If it does not, or what the servers said.
pub(crate) fn check(replica: &mut Connection, source: &mut Connection, source_id: u64) -> Result<()> {
    let rows = match health::replica_status(replica) {
        Err(drover_db::Error::Server(_)) => return Ok(()),
        other => other.doing(|| "asking for the replica's status")?,
    };
    if rows.rows.is_empty() {
        return match is_on(replica, "wsrep_on")? {
            true => Ok(()),
            false => Err(Error::with_hint("it replicates from no server", HINT)),
        };
    }
    let uuid = text(source, "@@server_uuid")?;
    let sources = Sources::of(&rows);
    if sources.have(source_id, uuid.as_deref()) || sources.are_known_to(source)? {
        return Ok(());
    }
    match has_transactions_of(replica, source_id, uuid.as_deref())? {
        true => Ok(()),
        false => Err(Error::with_hint(
            format!(
                "it replicates from {}, which is neither the server that is changed nor a replica of it that is connected now",
                sources.hosts.join(", ")
            ),
            HINT,
        )),
    }
}

/// From where a server replicates.
struct Sources {
    ids: Vec<u64>,
    uuids: Vec<String>,
    hosts: Vec<String>,
}

impl Sources {
    fn of(rows: &Rows) -> Self {
        let all = |names: [&str; 2]| -> Vec<String> {
            let Some(at) = names.into_iter().find_map(|name| rows.column(name)) else { return Vec::new() };
            rows.rows.iter().map(|row| row.string(at)).collect()
        };
        let (hosts, ports) = (all(["Source_Host", "Master_Host"]), all(["Source_Port", "Master_Port"]));
        let ids = all(["Source_Server_Id", "Master_Server_Id"]);
        Self {
            ids: ids.iter().map(|id| id.parse().unwrap_or(0)).collect(),
            uuids: all(["Source_UUID", "Master_UUID"]),
            hosts: hosts.iter().zip(ports).map(|(host, port)| format!("{host}:{port}")).collect(),
        }
    }

    /// Whether the server is among them, or may be one that is not known yet, as before the first connection.
    fn have(&self, id: u64, uuid: Option<&str>) -> bool {
        let is_it = |(at, own): (usize, &u64)| match (uuid, self.uuids.get(at).filter(|own| !own.is_empty()))
        {
            (Some(uuid), Some(own)) => own == uuid,
            _ => *own == id,
        };
        self.ids.contains(&0) || self.ids.iter().enumerate().any(is_it)
    }

    /// Whether one of them is a replica of the server, which may not be seen.
    fn are_known_to(&self, source: &mut Connection) -> Result<bool> {
        match health::registered_replicas(source) {
            Err(drover_db::Error::Server(_)) => Ok(true),
            other => {
                let found = other.doing(|| "asking for the replicas")?;
                let mut ids = found.iter().filter_map(|replica| replica.server_id.parse().ok());
                Ok(ids.any(|id: u64| self.ids.contains(&id)))
            }
        }
    }
}

/// Whether what a server has applied came from the other, by GTIDs.
fn has_transactions_of(replica: &mut Connection, source_id: u64, uuid: Option<&str>) -> Result<bool> {
    let has = |found: Option<String>, what: &str| found.is_some_and(|found| found.contains(what));
    match uuid {
        Some(uuid) => Ok(has(text(replica, "@@GLOBAL.gtid_executed")?, uuid)),
        None => Ok(has(text(replica, "@@GLOBAL.gtid_slave_pos")?, &format!("-{source_id}-"))),
    }
}

fn is_on(connection: &mut Connection, variable: &str) -> Result<bool> {
    let value = server::variable(connection, variable).doing(|| format!("reading {variable}"))?;
    Ok(value.is_some_and(|value| value == "1" || value == "ON"))
}

/// The value of a variable; `None` if the server does not know it.
fn text(connection: &mut Connection, expression: &str) -> Result<Option<String>> {
    match connection.first(format!("SELECT {expression}")) {
        Err(drover_db::Error::Server(_)) => Ok(None),
        other => Ok(other.doing(|| format!("reading {expression}"))?.and_then(|row| row.text(0))),
    }
}

#[cfg(test)]
mod tests {
    use super::Sources;

    #[test]
    fn a_source_is_known_by_its_uuid_or_its_id() {
        let sources = |id, uuid: &str| Sources { ids: vec![id], uuids: vec![uuid.into()], hosts: Vec::new() };
        assert!(sources(1, "a-b").have(1, Some("a-b")));
        assert!(!sources(1, "a-b").have(1, Some("c-d")), "server_id is 1 on many");
        assert!(sources(7, "").have(7, Some("c-d")) && sources(7, "").have(7, None));
        assert!(!sources(7, "").have(8, None));
        assert!(sources(0, "").have(8, None), "it has not been connected yet");
    }
}
