//! The cluster that a target is a node of, and the tables whose rows it does not take or not bring to the other nodes.

use drover_db::{Connection, server};

use crate::Result;
use crate::error::Doing;

const NEEDS: &str = "Group Replication takes changes of InnoDB tables with a primary key only";

/// What keeps the nodes alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cluster {
    GroupReplication,
    Galera,
}

impl Cluster {
    /// The cluster of this server, if it is in one.
    pub(crate) fn of(connection: &mut Connection) -> Result<Option<Self>> {
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

    /// Why rows that are put into a table, which is there and keeps its own, cannot come to all nodes.
    pub(crate) fn refuses(
        self,
        connection: &mut Connection,
        name: &str,
        engine: &str,
    ) -> Result<Option<String>> {
        // ER_BEFORE_DML_VALIDATION_ERROR, and ER_ILLEGAL_HA: an ARCHIVE table takes no DELETE in the first place.
        const REFUSED: [u16; 2] = [3098, 1031];
        match self {
            Self::GroupReplication => match connection.execute(format!("DELETE FROM {name} WHERE FALSE")) {
                Err(drover_db::Error::Server(error)) if REFUSED.contains(&error.code) => {
                    Ok(Some(format!("{} ({NEEDS})", error.message)))
                }
                other => {
                    other.doing(|| format!("trying to change {name}"))?;
                    Ok(None)
                }
            },
            Self::Galera => Ok(self.refuses_definition(Some(engine), true)),
        }
    }

    /// The same of a table that is not there, as far as its definition tells: its engine, and whether it has a primary key.
    pub(crate) fn refuses_definition(self, engine: Option<&str>, has_key: bool) -> Option<String> {
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
}
