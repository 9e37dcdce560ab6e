//! Generated columns that events of rows leave out: MariaDB from 11 on logs of rows that were changed or deleted only what is not computed
//! (found with 11.8.9), and not every target computes the rest.

use std::collections::HashMap;
use std::sync::Arc;

use drover_db::quote;

use crate::Result;
use crate::event::Rows;
use crate::log::{Format, RowChange};
use crate::rows::{Table, is_set};

use super::destination::SideSession;
use super::events::Target;

/// What is to be known of a table whose generated columns the target does not compute where events of rows leave them out.
#[derive(Debug, Default)]
pub(super) struct Computed {
    /// Which of its columns are generated.
    columns: Vec<usize>,
    /// What its triggers run for: INSERT, UPDATE, DELETE.
    triggers: Vec<String>,
}

impl Computed {
    fn ask(session: &mut SideSession<'_>, table: &Table) -> Result<Self> {
        const ASKING: &str = "asking for generated columns";
        let [schema, name] =
            [&table.schema, &table.name].map(|name| quote::string(&String::from_utf8_lossy(name)));
        // DEFAULT_GENERATED, of MySQL, is a default that is an expression.
        let columns = session.rows(ASKING, format!(
            "SELECT ORDINAL_POSITION FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = {schema} AND TABLE_NAME = {name} \
             AND (EXTRA LIKE 'VIRTUAL%' OR EXTRA LIKE 'STORED%' OR EXTRA LIKE 'PERSISTENT%')"
        ))?;
        let columns: Vec<_> =
            columns.into_iter().filter_map(|row| row.parse::<usize>(0)?.checked_sub(1)).collect();
        if columns.is_empty() {
            return Ok(Self::default());
        }
        let triggers = session.rows(ASKING, format!(
            "SELECT EVENT_MANIPULATION FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA = {schema} AND EVENT_OBJECT_TABLE = {name}"
        ))?;
        Ok(Self { columns, triggers: triggers.into_iter().map(|row| row.string(0)).collect() })
    }

    /// Whether rows leave out some of these columns.
    pub(super) fn is_left_out_of(&self, rows: &Rows<'_>) -> bool {
        let image = if rows.change == RowChange::Delete { rows.before } else { rows.after };
        self.columns.iter().any(|&column| !is_set(image, column))
    }

    /// Whether the target's definition of the table tells of these columns.
    pub(super) fn is_known_in(&self, table: &Table) -> bool {
        let is_generated =
            |&column: &usize| table.columns.get(column).is_some_and(|column| column.is_generated);
        table.has_names() && self.columns.iter().all(is_generated)
    }

    /// Whether a statement would have triggers run, which do not for events of rows.
    pub(super) fn runs_triggers(&self, change: RowChange) -> bool {
        let event = match change {
            RowChange::Insert => "INSERT",
            RowChange::Update => "UPDATE",
            RowChange::Delete => "DELETE",
        };
        self.triggers.iter().any(|trigger| trigger == event)
    }
}

/// What was asked of tables, until a definition changes.
#[derive(Debug, Default)]
pub(super) struct ComputedColumns(HashMap<(Vec<u8>, Vec<u8>), Arc<Computed>>);

impl ComputedColumns {
    /// The generated columns of a table, if it has any.
    pub(super) fn of(
        &mut self,
        session: &mut SideSession<'_>,
        table: &Table,
    ) -> Result<Option<Arc<Computed>>> {
        let key = (table.schema.clone(), table.name.clone());
        if !self.0.contains_key(&key) {
            self.0.insert(key.clone(), Arc::new(Computed::ask(session, table)?));
        }
        Ok(self.0.get(&key).filter(|computed| !computed.columns.is_empty()).cloned())
    }
}

/// Whether logs of this format leave out generated columns that the target does not compute.
pub(super) fn are_left_out(format: &Format, target: &Target) -> bool {
    format.is_mariadb() && format.is_at_least((11, 0)) && !target.computes_columns()
}
