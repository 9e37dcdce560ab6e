//! A trial by an account that may make no schemas to try things in, as the owner of one schema on a shared server: in the schemas that are to be
//! filled, where these are there and empty.

use drover_db::options::ConnectOptions;
use drover_db::session::Use;
use drover_db::{Connection, Stop, quote};

use super::objects::Scripts;
use super::rename::Renames;
use super::steps::{self, is_note, lock_schemas};
use super::trial::{Outcome, Trial};
use crate::dump::catalog::{self, Name};
use crate::error::Doing;
use crate::session;
use crate::translate::Finding;
use crate::{Error, Result};
use drover_format::manifest::Manifest;

/// How a trial in the target's own schemas ended.
pub(super) enum InPlace {
    /// It was tried. What is to be told of it.
    Tried(Outcome, Option<String>),
    /// It was not: an earlier run did not come to its end there, whose trial found this.
    Begun(Vec<Finding>),
    /// It was not: not all of the schemas are there and empty.
    Occupied,
}

/// What is told where one began anew.
const KILLED: &str = "the schema was tried by an earlier run, too, which was ended meanwhile: what that left there was dropped";

/// Tries everything and drops it again.
///
/// # Errors
/// If it could not be tried, or another run fills one of the schemas.
pub(super) fn run(
    trial: &Trial<'_>,
    renames: &Renames,
    own_note: Option<&Name>,
    options: &ConnectOptions,
    stop: &Stop,
) -> Result<InPlace> {
    let mut connection = session::open(options, Use::Restore)?;
    let _watched = stop.watch(&connection).doing(|| "watching a connection")?;
    lock_schemas(&mut connection, trial.manifest, renames)?;
    let notes = notes(&mut connection, trial.manifest, renames)?;
    if let Some(findings) = begun(&mut connection, &notes, own_note)? {
        return Ok(InPlace::Begun(findings));
    }
    let Some(mark) = trial.manifest.schemas.first() else { return Ok(InPlace::Occupied) };
    let mark = steps::mark_of_trial(renames.schema(&mark.name));
    let scripts = trial.scripts(renames);
    let mut leftovers =
        Leftovers { scripts: &scripts, manifest: trial.manifest, mark, options, are_gone: true };
    let was_killed = notes.contains(&leftovers.mark);
    if was_killed {
        leftovers.drop_over(&mut connection)?;
    }
    if !are_empty(&mut connection, trial.manifest, renames, notes.len() - usize::from(was_killed))? {
        return Ok(InPlace::Occupied);
    }
    let mut outcome = Outcome::default();
    leftovers.begin(&mut connection)?;
    let result = trial.try_all(&mut connection, &scripts, &mut outcome);
    let dropped = leftovers.drop_all(&mut connection);
    result?;
    dropped?;
    Ok(InPlace::Tried(outcome, was_killed.then(|| KILLED.into())))
}

/// The tables in which runs have noted how far they are that fill the schemas.
fn notes(connection: &mut Connection, manifest: &Manifest, renames: &Renames) -> Result<Vec<Name>> {
    let is_own =
        |name: &Name| manifest.schemas.iter().any(|schema| *renames.any_schema(&schema.name) == *name.schema);
    let names = catalog::relations(connection)?.into_iter().map(|relation| relation.name);
    Ok(names.filter(|name| is_note(&name.name) && is_own(name)).collect())
}

/// What a run has found whose table of steps is among these; of another work's that says nothing.
fn begun(
    connection: &mut Connection,
    notes: &[Name],
    own_note: Option<&Name>,
) -> Result<Option<Vec<Finding>>> {
    let mut of_others = None;
    for note in notes {
        let Some(findings) = steps::findings(connection, note)? else { continue };
        if Some(note) == own_note {
            return Ok(Some(findings));
        }
        of_others = Some(Vec::new());
    }
    Ok(of_others)
}

/// Whether nothing is in the schemas but so many tables of notes.
fn are_empty(
    connection: &mut Connection,
    manifest: &Manifest,
    renames: &Renames,
    mut notes: usize,
) -> Result<bool> {
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
        let counts = row.and_then(|row| Some((row.parse::<u64>(0)?, row.parse::<usize>(1)?)));
        match counts {
            Some((1, held)) if held <= notes => notes -= held,
            _ => return Ok(false),
        }
    }
    Ok(true)
}

/// What the trial has made: dropped in any case, over a connection of its own where the one that made it is broken.
struct Leftovers<'a> {
    scripts: &'a Scripts<'a>,
    manifest: &'a Manifest,
    /// Stands there as long as anything else does: after a kill it tells that this is of a trial.
    mark: Name,
    options: &'a ConnectOptions,
    /// Or cannot be dropped.
    are_gone: bool,
}

impl Leftovers<'_> {
    fn begin(&mut self, connection: &mut Connection) -> Result<()> {
        let sql = format!("CREATE TABLE {} (step VARBINARY(9) PRIMARY KEY)", self.mark);
        connection.execute(&sql).doing(|| sql)?;
        self.are_gone = false;
        Ok(())
    }

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
        let mut connection = session::open(self.options, Use::Restore)?;
        // What the broken one was doing when it was ended comes to its end first.
        lock_schemas(&mut connection, self.manifest, self.scripts.renames)?;
        self.drop_over(&mut connection)
    }

    fn drop_over(&mut self, connection: &mut Connection) -> Result<()> {
        self.refuse_rows(connection)?;
        self.scripts.drop_existing(connection, self.manifest)?;
        let sql = format!("DROP TABLE IF EXISTS {}", self.mark);
        connection.execute(&sql).doing(|| sql)?;
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
