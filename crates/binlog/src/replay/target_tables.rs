//! The target's tables, as far as rows and statements of the logs ask for them.

use std::collections::HashMap;
use std::sync::Arc;

use drover_db::{Row, Vendor, quote};

use crate::Result;
use crate::log::Format;
use crate::rows::{Kept, KeptColumn, KeptHistory, Table};

use super::destination::SideSession;
use super::events::Target;

type Name = (Vec<u8>, Vec<u8>);

/// What was asked of tables, until a definition changes.
#[derive(Debug, Default)]
pub(super) struct TargetTables {
    /// `None` for a table that is not there.
    facts: HashMap<Name, Option<TableFacts>>,
    /// Their columns.
    kept: HashMap<Name, Arc<Kept>>,
}

/// What is to be known of a table of the target.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TableFacts {
    /// Whether it keeps no transactions.
    pub(super) is_guarded: bool,
    /// Whether it is a sequence (MariaDB).
    pub(super) is_sequence: bool,
}

/// Whether rows of this log may have to be written otherwise for the target's table.
pub(super) fn may_be_kept_otherwise(table: &Table, format: &Format, target: &Target) -> bool {
    (target.vendor == Vendor::MariaDb) != format.is_mariadb()
        || table.may_have_later_types(format)
        || table.may_be_versioned()
        || table.has_old_times()
        || table.has_times_unlike(target.has_former_times)
}

/// A table as the target makes it of what the log says.
pub(super) fn as_made(table: &Table, target: &Target) -> Kept {
    Kept::as_made(table, target.vendor == Vendor::MariaDb, target.has_former_times)
}

impl TargetTables {
    /// What was found before: `Some(None)` for a table that is not there.
    pub(super) fn known(&self, schema: &[u8], table: &[u8]) -> Option<Option<TableFacts>> {
        self.facts.get(&(schema.to_vec(), table.to_vec())).copied()
    }

    /// A table that is not there is made before it is asked for again.
    pub(super) fn forget_missing(&mut self, table: &Table) {
        self.kept.remove(&(table.schema.clone(), table.name.clone()));
    }

    /// Asks for a table; `None` if it is not there.
    pub(super) fn ask(
        &mut self,
        session: &mut SideSession<'_>,
        schema: &[u8],
        table: &[u8],
    ) -> Result<Option<TableFacts>> {
        let [schema_name, name] = [schema, table].map(|name| quote::string(&String::from_utf8_lossy(name)));
        let row = session.first(
            "asking for a table's engine",
            format!(
                "SELECT e.TRANSACTIONS, t.TABLE_TYPE FROM information_schema.TABLES t \
                 LEFT JOIN information_schema.ENGINES e ON e.ENGINE = t.ENGINE \
                 WHERE t.TABLE_SCHEMA = {schema_name} AND t.TABLE_NAME = {name}"
            ),
        )?;
        let facts = row.map(|row| TableFacts {
            is_guarded: row.string(0) != "YES",
            is_sequence: row.string(1) == "SEQUENCE",
        });
        self.facts.insert((schema.to_vec(), table.to_vec()), facts);
        Ok(facts)
    }

    /// The columns of a table; none if it is not there.
    pub(super) fn kept(
        &mut self,
        session: &mut SideSession<'_>,
        table: &Table,
        target: &Target,
    ) -> Result<Arc<Kept>> {
        let key = (table.schema.clone(), table.name.clone());
        if let Some(known) = self.kept.get(&key) {
            return Ok(Arc::clone(known));
        }
        let kept = Arc::new(ask_for_columns(session, table, target)?);
        self.kept.insert(key, Arc::clone(&kept));
        Ok(kept)
    }
}

fn ask_for_columns(session: &mut SideSession<'_>, table: &Table, target: &Target) -> Result<Kept> {
    let on_mariadb = target.vendor == Vendor::MariaDb;
    let [schema, name] =
        [&table.schema, &table.name].map(|name| quote::string(&String::from_utf8_lossy(name)));
    let columns = format!(
        "SELECT c.COLUMN_NAME, LOWER(c.DATA_TYPE), COALESCE(c.CHARACTER_OCTET_LENGTH, 0), t.TABLE_TYPE = 'SYSTEM VERSIONED', \
         c.DATA_TYPE IN ('time', 'datetime', 'timestamp') AND c.COLUMN_TYPE LIKE '%/* %', \
         COALESCE(c.CHARACTER_SET_NAME = 'ascii', 0), c.COLUMN_TYPE LIKE '% COMPRESSED%' \
         FROM information_schema.COLUMNS c JOIN information_schema.TABLES t USING (TABLE_SCHEMA, TABLE_NAME) \
         WHERE TABLE_SCHEMA = {schema} AND TABLE_NAME = {name} ORDER BY c.ORDINAL_POSITION"
    );
    show_former_times(session)?;
    let rows = session.rows("asking for a table's columns", columns)?;
    let is_versioned = rows.rows.first().is_some_and(|row| row.string(3) == "1");
    let history = if is_versioned { Some(history(session, &schema, &name)?) } else { None };
    let knows_later = on_mariadb || !target.has_former_times;
    let column = |row: Row| KeptColumn {
        name: row.string(0),
        data_type: row.string(1),
        most: row.string(2).parse().unwrap_or(0),
        has_former_times: !knows_later || row.string(4) == "1",
        is_ascii: row.string(5) == "1",
        is_compressed: row.string(6) == "1",
    };
    Ok(Kept { columns: rows.into_iter().map(column).collect(), on_mariadb, history })
}

/// Has MySQL 5.6 and 5.7 name the columns whose times are in the format of before 5.6.4. Other servers have no such setting.
fn show_former_times(session: &mut SideSession<'_>) -> Result<()> {
    session.with("making a session ready", |connection| {
        connection.set_if_taken("show_old_temporals", "ON").map(drop)
    })
}

/// How the target keeps the history of a table; its names are literals.
fn history(session: &mut SideSession<'_>, schema: &str, table: &str) -> Result<KeptHistory> {
    let row = session.first(
        "asking for a table's history",
        format!(
            "SELECT FROM_UNIXTIME(4294967295) IS NOT NULL, (SELECT ORDINAL_POSITION FROM information_schema.COLUMNS WHERE \
             TABLE_SCHEMA = {schema} AND TABLE_NAME = {table} AND GENERATION_EXPRESSION = 'ROW END')"
        ),
    )?;
    let place = row.as_ref().and_then(|row| row.parse::<usize>(1));
    let ends_later = row.map(|row| row.string(0) == "1");
    Ok(KeptHistory { until: place.and_then(|place| place.checked_sub(1)), ends_later })
}
