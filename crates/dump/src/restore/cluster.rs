//! The cluster that a target is a node of, and the tables whose rows it does not take or not bring to the other nodes.

use drover_db::{Connection, server};

use crate::Result;
use crate::error::Doing;
use crate::format::manifest::Table;

/// What keeps the nodes alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cluster {
    GroupReplication,
    Galera,
}

impl Cluster {
    /// The cluster of this server, if it is in one.
    pub(super) fn of(connection: &mut Connection) -> Result<Option<Self>> {
        let mut value = |name: &str| {
            let value = server::variable(connection, &format!("GLOBAL.{name}"));
            value.doing(|| format!("reading {name}")).map(Option::unwrap_or_default)
        };
        if !value("group_replication_group_name")?.is_empty() {
            return Ok(Some(Self::GroupReplication));
        }
        let provider = value("wsrep_provider")?;
        let is_galera = value("wsrep_on")? == "1" && !provider.is_empty() && provider != "none";
        Ok(is_galera.then_some(Self::Galera))
    }

    /// Why the rows of a table that is there, without any, cannot come to all nodes.
    pub(super) fn refuses(
        self,
        connection: &mut Connection,
        name: &str,
        table: &Table,
    ) -> Result<Option<String>> {
        const ER_BEFORE_DML_VALIDATION_ERROR: u16 = 3098;
        match self {
            Self::GroupReplication => match connection.execute(format!("DELETE FROM {name} WHERE FALSE")) {
                Err(drover_db::Error::Server(error)) if error.code == ER_BEFORE_DML_VALIDATION_ERROR => {
                    let needs = "Group Replication takes changes of InnoDB tables with a primary key only";
                    Ok(Some(format!("{} ({needs})", error.message)))
                }
                other => {
                    other.doing(|| format!("trying to change {name}"))?;
                    Ok(None)
                }
            },
            // With wsrep_mode = REPLICATE_MYISAM or REPLICATE_ARIA it replicates statements, and takes no LOAD DATA for one.
            Self::Galera if !table.rows_elsewhere && !table.engine.eq_ignore_ascii_case("InnoDB") => {
                Ok(Some(format!(
                    "Galera does not replicate rows of {}: they would be on this node only",
                    table.engine
                )))
            }
            Self::Galera => Ok(None),
        }
    }
}
