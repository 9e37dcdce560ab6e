//! The cluster that a server is a node of, and the tables whose rows it does not take or not bring to the other nodes.

use std::collections::BTreeSet;

use crate::node::Cluster;
use crate::{Connection, Error, Result, er, server};

const NEEDS: &str = "Group Replication takes changes of InnoDB tables with a primary key only";

impl Cluster {
    /// The cluster of this server, if it is in one.
    ///
    /// # Errors
    /// If the server refuses to tell its variables, or the connection is lost.
    pub fn of(connection: &mut Connection) -> Result<Option<Self>> {
        let mut value = |name: &str| {
            let value = server::variable(connection, &format!("GLOBAL.{name}"));
            value.map(Option::unwrap_or_default)
        };
        if !value("group_replication_group_name")?.is_empty() {
            return Ok(takes_part(connection)?.then_some(Self::GroupReplication));
        }
        let provider = value("wsrep_provider")?;
        let is_galera = value("wsrep_on")? == "1" && !provider.is_empty() && provider != "none";
        Ok(is_galera.then_some(Self::Galera))
    }

    /// Why rows that are put into a table, which is there and keeps its own, cannot come to all nodes. `name` is quoted for SQL.
    ///
    /// # Errors
    /// If the server refuses a DELETE without rows for another reason, or the connection is lost.
    pub fn refuses(self, connection: &mut Connection, name: &str, engine: &str) -> Result<Option<String>> {
        // An ARCHIVE table takes no DELETE in the first place.
        const REFUSED: [u16; 2] = [er::BEFORE_DML_VALIDATION_ERROR, er::ILLEGAL_HA];
        match self {
            Self::GroupReplication => match connection.execute(format!("DELETE FROM {name} WHERE FALSE")) {
                Err(Error::Server(error)) if REFUSED.contains(&error.code) => {
                    Ok(Some(format!("{} ({NEEDS})", error.message)))
                }
                other => other.map(|_| None),
            },
            Self::Galera => Ok(self.refuses_definition(Some(engine), true)),
        }
    }

    /// The same of a table that is not there, as far as its definition tells: its engine, and whether it has a primary key.
    pub fn refuses_definition(self, engine: Option<&str>, has_key: bool) -> Option<String> {
        let other = engine.filter(|engine| !engine.eq_ignore_ascii_case("InnoDB"));
        match (self, other) {
            // With wsrep_mode = REPLICATE_MYISAM or REPLICATE_ARIA it replicates statements, and takes no LOAD DATA for one.
            (Self::Galera, Some(engine)) => {
                Some(format!("Galera does not replicate rows of {engine}: they would be on this node only"))
            }
            (Self::GroupReplication, Some(engine)) => Some(format!("it is of {engine} ({NEEDS})")),
            (Self::GroupReplication, None) if !has_key => Some(format!("it has no primary key ({NEEDS})")),
            _ => None,
        }
    }

    /// Why the server takes no XA transactions, in its words. One is begun and rolled back: the session must be in none.
    ///
    /// # Errors
    /// If the connection is lost.
    pub fn refuses_xa(connection: &mut Connection) -> Result<Option<String>> {
        // ER_NOT_SUPPORTED_YET
        let name = format!("'drover_{}'", connection.id());
        for verb in ["START", "END", "ROLLBACK"] {
            match connection.execute(format!("XA {verb} {name}")) {
                Ok(_) => {}
                Err(Error::Server(error)) => {
                    return Ok((error.code == er::NOT_SUPPORTED_YET).then(|| error.to_string()));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }
}

/// Whether Group Replication runs on a server that is set up for it: where it does not, the server takes all rows. An account that may not see
/// that is told the stricter.
fn takes_part(connection: &mut Connection) -> Result<bool> {
    let states = "SELECT MEMBER_STATE FROM performance_schema.replication_group_members";
    match connection.query(states) {
        Ok(rows) => Ok(rows.rows.is_empty() || rows.into_iter().any(|row| row.string(0) != "OFFLINE")),
        Err(Error::Server(_)) => Ok(true),
        Err(error) => Err(error),
    }
}

/// What a server makes of definitions by itself.
#[derive(Debug, Clone, Default)]
pub struct Substitutes {
    /// Engines that it puts another one in the place of, or refuses; `None` for all but one.
    engines: Option<BTreeSet<String>>,
    /// Whether it gives a primary key to tables that have none.
    pub makes_keys: bool,
}

impl Substitutes {
    /// Asks the server.
    ///
    /// # Errors
    /// If it refuses to tell its variables, or the connection is lost.
    pub fn of(connection: &mut Connection) -> Result<Self> {
        let mut value = |name: &str| server::variable(connection, name).map(Option::unwrap_or_default);
        let engines = value("disabled_storage_engines")?.to_ascii_uppercase();
        let engines = engines.split(',').map(|name| name.trim().to_owned()).collect();
        let is_enforced = !value("enforce_storage_engine")?.is_empty();
        let makes_keys = value("sql_generate_invisible_primary_key")? == "1";
        Ok(Self { engines: (!is_enforced).then_some(engines), makes_keys })
    }

    /// Whether a table is of the engine that its definition names.
    pub fn keeps(&self, engine: &str) -> bool {
        self.engines.as_ref().is_some_and(|engines| !engines.contains(&engine.to_ascii_uppercase()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_that_clusters_refuse() {
        let refused = |cluster: Cluster, engine, has_key| {
            cluster.refuses_definition(engine, has_key).unwrap_or_default()
        };
        let group = Cluster::GroupReplication;
        assert!(refused(group, Some("MyISAM"), true).starts_with("it is of MyISAM"));
        assert!(refused(group, Some("innodb"), false).starts_with("it has no primary key"));
        assert!(refused(group, None, false).starts_with("it has no primary key"));
        assert_eq!(refused(group, Some("InnoDB"), true), "");
        assert!(refused(Cluster::Galera, Some("Aria"), true).contains("on this node only"));
        assert_eq!(refused(Cluster::Galera, None, false), "");
    }

    #[test]
    fn engines_that_a_server_keeps() {
        let substitutes = |engines: Option<&[&str]>| Substitutes {
            engines: engines.map(|engines| engines.iter().map(|&name| name.to_owned()).collect()),
            makes_keys: false,
        };
        assert!(substitutes(Some(&["ARCHIVE", "MYISAM"])).keeps("Memory"));
        assert!(!substitutes(Some(&["ARCHIVE", "MYISAM"])).keeps("MyISAM"));
        assert!(!substitutes(None).keeps("InnoDB"));
    }
}
