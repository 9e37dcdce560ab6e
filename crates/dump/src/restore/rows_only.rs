//! A dump that holds rows only goes into tables that are there. Afterwards each holds just the dump's rows, which is what
//! verification proves: so a table must be empty before, and nothing on the target may change the rows on their way in.

use drover_db::{Connection, er, quote};

use super::rename::Renames;
use crate::dump::catalog::{self, Name, Relation, RelationKind};
use crate::error::Doing;
use crate::{Error, Result};
use drover_format::manifest::{Manifest, Table};

/// The manifest with the engines that the tables have on the target, which decide what can be done in one transaction.
///
/// # Errors
/// If a table is not there.
pub(crate) fn on_target(
    connection: &mut Connection,
    mut manifest: Manifest,
    renames: &Renames,
) -> Result<Manifest> {
    let mut engines = targets(connection, &manifest, renames)?.into_iter().map(|relation| relation.engine);
    for table in manifest.schemas.iter_mut().flat_map(|schema| &mut schema.tables) {
        table.engine = engines.next().flatten().unwrap_or_default();
    }
    Ok(manifest)
}

/// The target's tables, in the manifest's order.
fn targets(connection: &mut Connection, manifest: &Manifest, renames: &Renames) -> Result<Vec<Relation>> {
    let there = catalog::relations(connection)?;
    let is_table =
        |relation: &&Relation| matches!(relation.kind, RelationKind::Table | RelationKind::VersionedTable);
    let names = || manifest.tables().map(|(schema, table)| renames.relation(&schema.name, &table.name));
    let find = |name: Name| match there.iter().filter(is_table).find(|relation| relation.name == name) {
        Some(relation) => Ok(relation.clone()),
        None => Err(name),
    };
    let (found, missing): (Vec<_>, Vec<_>) = names().map(find).partition(std::result::Result::is_ok);
    let missing: Vec<_> = missing.into_iter().filter_map(std::result::Result::err).collect();
    if missing.is_empty() {
        return Ok(found.into_iter().flatten().collect());
    }
    Err(Error::with_hint(
        format!("the dump holds rows only, and the target has no {}: nothing was changed", listed(&missing)),
        "create the tables first, for one from a dump with --no-data; --into OLD=NEW names another schema",
    ))
}

/// Checks that the rows will be all that the tables hold.
///
/// # Errors
/// If a table is missing, holds rows, or has triggers that would run for each row.
pub(super) fn check(
    connection: &mut Connection,
    manifest: &Manifest,
    renames: &Renames,
    drop_existing: bool,
) -> Result<()> {
    if drop_existing {
        return Err(Error::with_hint(
            "--drop-existing: the dump holds rows only, so what is dropped could not be made again",
            "TRUNCATE TABLE empties a table that is to be filled",
        ));
    }
    let tables = targets(connection, manifest, renames)?;
    let mut filled = Vec::new();
    for table in &tables {
        let sql = format!("SELECT 1 FROM {} LIMIT 1", table.name);
        let row = connection.first(sql).doing(|| format!("looking for rows in {}", table.name))?;
        filled.extend(row.map(|_| table.name.clone()));
    }
    if !filled.is_empty() {
        return Err(Error::with_hint(
            format!("the target's {} holds rows already: nothing was changed", listed(&filled)),
            "TRUNCATE TABLE empties it; a dump without definitions drops and empties nothing by itself",
        ));
    }
    let mut with_triggers = Vec::new();
    for table in &tables {
        if has_insert_trigger(connection, &table.name)? {
            with_triggers.push(table.name.clone());
        }
    }
    if with_triggers.is_empty() {
        return Ok(());
    }
    Err(Error::with_hint(
        format!(
            "the target's {} has triggers that would run for each row that is loaded: nothing was changed",
            listed(&with_triggers)
        ),
        "drop these triggers for the time of the restore: rows are restored as they were, and so is what they led to",
    ))
}

/// Empties a table of which nobody knows what it holds of the rows that are to come.
pub(crate) fn empty(connection: &mut Connection, name: &Name, table: &Table) -> Result<()> {
    let doing = || format!("emptying {name}");
    if !table.with_history {
        match connection.execute(format!("TRUNCATE TABLE {name}")) {
            Err(error) if error.code() == Some(er::VERS_NOT_SUPPORTED) => {}
            other => return other.map(drop).doing(doing),
        }
    }
    // A table with history is not truncated, and what is deleted is history.
    let mut statements = ["DELETE FROM", "DELETE HISTORY FROM"].iter().map(|words| format!("{words} {name}"));
    statements.try_for_each(|sql| connection.execute(sql).map(drop)).doing(doing)
}

fn has_insert_trigger(connection: &mut Connection, table: &Name) -> Result<bool> {
    let sql = format!(
        "SELECT EVENT_OBJECT_SCHEMA, EVENT_OBJECT_TABLE FROM information_schema.TRIGGERS WHERE EVENT_MANIPULATION = 'INSERT' \
         AND EVENT_OBJECT_SCHEMA = {} AND EVENT_OBJECT_TABLE = {}",
        quote::string(&table.schema),
        quote::string(&table.name)
    );
    let rows = connection.query(sql).doing(|| format!("listing the triggers of {table}"))?;
    Ok(rows.into_iter().any(|row| row.string(0) == table.schema && row.string(1) == table.name))
}

fn listed(names: &[Name]) -> String {
    match names {
        [first, rest @ ..] if !rest.is_empty() => {
            format!("table {first} (and {} more of the dump)", rest.len())
        }
        names => names.iter().map(|name| format!("table {name}")).collect(),
    }
}
