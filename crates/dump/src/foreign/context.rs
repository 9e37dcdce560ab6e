//! What all parts of a restore share, and what is not run of a dump.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use drover_db::options::ConnectOptions;
use drover_db::{Connection, Stop};

use super::kind::Kind;
use super::script::Statement;
use super::tally::Tally;
use crate::dump::catalog::{self, Name, RelationKind};
use crate::error::Doing;
use crate::guard::Guard;
use crate::progress::Progress;
use crate::restore::rename::Renames;
use crate::{Error, Result};

/// Shared by the workers.
pub(super) struct Context<'a> {
    pub(super) options: &'a ConnectOptions,
    pub(super) stop: &'a Stop,
    pub(super) progress: &'a Progress,
    pub(super) guard: &'a Guard<'a>,
    pub(super) renames: Renames,
    pub(super) drop_existing: bool,
    /// Where files that are loaded by name lie.
    pub(super) dir: Option<&'a Path>,
    pub(super) tally: Tally,
    pub(super) target: Target,
}

impl Context<'_> {
    /// A name of the dump as it is on the target.
    pub(super) fn target(&self, name: &Name) -> Name {
        Name::new(self.renames.schema(&name.schema), &name.name)
    }

    /// Whether a statement is to be run; what is left out for a reason that a person should know is noted.
    ///
    /// # Errors
    /// If the statement would change what is not the dump's, or cannot do what it says.
    pub(super) fn takes(&self, statement: &Statement) -> Result<bool> {
        if let Some(schema) = statement.system_schema() {
            self.tally
                .left_out(format!("everything in schema {schema}: the server's own tables and accounts"));
            return Ok(false);
        }
        match &statement.kind {
            Kind::Server => {
                // Only the first two words: there may be a password behind them.
                let words =
                    String::from_utf8_lossy(&statement.text[..statement.text.len().min(100)]).into_owned();
                let words: Vec<_> =
                    words.split_whitespace().filter(|word| !word.starts_with("/*")).take(2).collect();
                let place = format!("{}, line {}", statement.file, statement.line);
                self.tally.left_out(format!("{place}: {} …: not a part of the data", words.join(" ")));
                Ok(false)
            }
            Kind::DropSchema(schema) => {
                self.tally.left_out(format!("DROP DATABASE {schema}: it may hold more than the dump"));
                Ok(false)
            }
            // Rows are committed in batches of drover's own. Locks would make the workers wait for each other, and nobody
            // else is to be kept from tables that were not there before.
            Kind::Lock | Kind::Transaction => Ok(false),
            // Without leave to drop, the target has none of those names.
            Kind::DropProgram => Ok(self.drop_existing),
            Kind::Rollback => Err(Error::found(format!("{}: a dump takes nothing back", statement.place()))),
            Kind::Drop(names) => {
                let names: Result<Vec<_>> =
                    names.iter().map(|name| statement.name(name).map(|name| self.target(&name))).collect();
                Ok(self.target.made_all(&names?))
            }
            _ => Ok(true),
        }
    }
}

/// What the target holds.
#[derive(Default)]
pub(super) struct Target {
    /// What was there before, with the word for DROP.
    there: Vec<(Name, RelationKind)>,
    /// What this restore made.
    made: Mutex<BTreeSet<Name>>,
    schemas: Mutex<BTreeSet<String>>,
}

impl Target {
    pub(super) fn read(connection: &mut Connection) -> Result<Self> {
        let there =
            catalog::relations(connection)?.into_iter().map(|relation| (relation.name, relation.kind));
        let schemas = catalog::schemas(connection)?.into_iter().collect();
        Ok(Self { there: there.collect(), made: Mutex::default(), schemas: Mutex::new(schemas) })
    }

    /// The word for DROP, if the target had something of that name before.
    pub(super) fn existing(&self, name: &Name) -> Option<&'static str> {
        let (_, kind) = self.there.iter().find(|(there, _)| there == name)?;
        Some(match kind {
            RelationKind::Table | RelationKind::VersionedTable => "TABLE",
            RelationKind::View => "VIEW",
            RelationKind::Sequence => "SEQUENCE",
        })
    }

    pub(super) fn make(&self, name: &Name) {
        self.made.lock().unwrap_or_else(PoisonError::into_inner).insert(name.clone());
    }

    pub(super) fn has_made(&self, name: &Name) -> bool {
        self.made.lock().unwrap_or_else(PoisonError::into_inner).contains(name)
    }

    fn made_all(&self, names: &[Name]) -> bool {
        names.iter().all(|name| self.has_made(name))
    }

    /// Creates a schema that is not there.
    pub(super) fn create_schema(&self, connection: &mut Connection, schema: &str) -> Result<()> {
        let mut schemas = self.schemas.lock().unwrap_or_else(PoisonError::into_inner);
        if schemas.contains(schema) {
            return Ok(());
        }
        let sql = format!("CREATE DATABASE IF NOT EXISTS {}", drover_db::quote::identifier(schema));
        connection.execute(&sql).doing(|| sql.clone())?;
        schemas.insert(schema.to_owned());
        Ok(())
    }

    /// Whether a schema is there; one that is keeps its settings.
    pub(super) fn has_schema(&self, schema: &str) -> bool {
        self.schemas.lock().unwrap_or_else(PoisonError::into_inner).contains(schema)
    }

    pub(super) fn add_schema(&self, schema: &str) {
        self.schemas.lock().unwrap_or_else(PoisonError::into_inner).insert(schema.to_owned());
    }
}
