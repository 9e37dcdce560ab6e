//! A trial by an account that may make no schemas to try things in, as the owner of one schema on a shared server: in the schemas that are to be
//! filled, where these are there and empty.

use drover_db::options::ConnectOptions;
use drover_db::{Connection, Stop, quote};

use super::objects::Scripts;
use super::rename::Renames;
use super::steps::{is_note, lock_schemas};
use super::trial::{Outcome, Trial};
use crate::dump::catalog::{self, Name};
use crate::error::Doing;
use crate::format::manifest::Manifest;
use crate::session::{self, Purpose};
use crate::{Error, Result};

/// How a trial in the target's own schemas ended.
pub(super) enum InPlace {
    /// It was tried.
    Tried(Outcome),
    /// It was not: an earlier run, which has tried it, did not come to its end there.
    Begun,
    /// It was not: not all of the schemas are there and empty.
    Occupied,
}

/// Tries everything and drops it again.
///
/// # Errors
/// If it could not be tried, or another run fills one of the schemas.
pub(super) fn run(
    trial: &Trial<'_>,
    renames: &Renames,
    options: &ConnectOptions,
    stop: &Stop,
) -> Result<InPlace> {
    let mut connection = session::open(options, Purpose::Restore)?;
    let _watched = stop.watch(&connection).doing(|| "watching a connection")?;
    lock_schemas(&mut connection, trial.manifest, renames)?;
    if !are_empty(&mut connection, trial.manifest, renames)? {
        let is_begun = is_begun(&mut connection, trial.manifest, renames)?;
        return Ok(if is_begun { InPlace::Begun } else { InPlace::Occupied });
    }
    let scripts = trial.scripts(renames);
    let mut outcome = Outcome::default();
    let mut leftovers = Leftovers { scripts: &scripts, manifest: trial.manifest, options, are_gone: false };
    let result = trial.try_all(&mut connection, &scripts, &mut outcome);
    let dropped = leftovers.drop_all(&mut connection);
    result?;
    dropped?;
    Ok(InPlace::Tried(outcome))
}

/// Whether a run that fills the schemas has noted how far it is.
fn is_begun(connection: &mut Connection, manifest: &Manifest, renames: &Renames) -> Result<bool> {
    let there = catalog::relations(connection)?;
    let is_own =
        |name: &Name| manifest.schemas.iter().any(|schema| *renames.any_schema(&schema.name) == *name.schema);
    Ok(there.iter().any(|relation| is_note(&relation.name.name) && is_own(&relation.name)))
}

fn are_empty(connection: &mut Connection, manifest: &Manifest, renames: &Renames) -> Result<bool> {
    for schema in &manifest.schemas {
        let name = quote::string(&renames.any_schema(&schema.name));
        let held = [("TABLES", "TABLE"), ("ROUTINES", "ROUTINE"), ("EVENTS", "EVENT")].map(|(list, of)| {
            format!("(SELECT COUNT(*) FROM information_schema.{list} WHERE {of}_SCHEMA = {name})")
        });
        let sql = format!(
            "SELECT COUNT(*), {} FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = {name}",
            held.join(" + ")
        );
        let row = connection.first(sql).doing(|| format!("looking whether schema {name} is empty"))?;
        let counts = row.map(|row| [row.parse::<u64>(0), row.parse(1)]);
        if counts != Some([Some(1), Some(0)]) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// What the trial has made: dropped in any case, over a connection of its own where the one that made it is broken.
struct Leftovers<'a> {
    scripts: &'a Scripts<'a>,
    manifest: &'a Manifest,
    options: &'a ConnectOptions,
    /// Or cannot be dropped.
    are_gone: bool,
}

impl Leftovers<'_> {
    fn drop_all(&mut self, connection: &mut Connection) -> Result<()> {
        match self.drop_over(connection) {
            Err(error) if error.is_denied() => {
                self.are_gone = true;
                Err(error)
            }
            dropped => dropped.or_else(|_| self.drop_anew()),
        }
    }

    fn drop_anew(&mut self) -> Result<()> {
        if self.are_gone {
            return Ok(());
        }
        self.drop_over(&mut session::open(self.options, Purpose::Restore)?)
    }

    fn drop_over(&mut self, connection: &mut Connection) -> Result<()> {
        self.refuse_rows(connection)?;
        self.scripts.drop_existing(connection, self.manifest)?;
        self.are_gone = true;
        Ok(())
    }

    /// A trial loads no rows: where there are some, somebody else has made that table meanwhile.
    fn refuse_rows(&self, connection: &mut Connection) -> Result<()> {
        let renames = self.scripts.renames;
        let there = catalog::relations(connection)?;
        for (schema, table) in self.manifest.tables() {
            let name = renames.relation(&schema.name, &table.name);
            let is_there = there.iter().any(|relation| relation.name == name);
            let rows = format!("SELECT 1 FROM {name} LIMIT 1");
            if is_there && connection.first(rows).doing(|| format!("looking for rows of {name}"))?.is_some() {
                return Err(Error::found(format!(
                    "{name} was filled by somebody else while the dump was tried there: nothing was dropped, and what was tried is still in its schema"
                )));
            }
        }
        Ok(())
    }
}

impl Drop for Leftovers<'_> {
    fn drop(&mut self) {
        // After an error of the trial that one is to be reported.
        let _ = self.drop_anew();
    }
}
