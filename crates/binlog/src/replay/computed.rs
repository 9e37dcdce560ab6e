//! Generated columns that events of rows leave out: MariaDB from 11 on logs of rows that were changed or deleted only what is not computed
//! (found with 11.8.9), and not every target computes the rest.

use std::sync::Arc;

use drover_db::quote;

use crate::Result;
use crate::event::Rows;
use crate::log::{Format, RowChange};
use crate::rows::{Table, is_set};

use super::sink::Sink;

/// What is to be known of a table whose generated columns the target does not compute where events of rows leave them out.
#[derive(Debug, Default)]
pub(super) struct Computed {
    /// Which of its columns are generated.
    columns: Vec<usize>,
    /// What its triggers run for: INSERT, UPDATE, DELETE.
    triggers: Vec<String>,
}

impl Computed {
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

impl Sink<'_> {
    /// The generated columns of a table, if the target does not compute those that rows of this log leave out.
    pub(super) fn computed(&mut self, table: &Table, format: &Format) -> Result<Option<Arc<Computed>>> {
        let leaves_out = format.is_mariadb() && format.is_at_least((11, 0));
        if !leaves_out || self.target.computes_columns() {
            return Ok(None);
        }
        let key = (table.schema.clone(), table.name.clone());
        if !self.computed.contains_key(&key) {
            let computed = Arc::new(self.ask_for_computed(table)?);
            self.computed.insert(key.clone(), computed);
        }
        Ok(self.computed.get(&key).filter(|computed| !computed.columns.is_empty()).cloned())
    }

    fn ask_for_computed(&mut self, table: &Table) -> Result<Computed> {
        let [schema, name] =
            [&table.schema, &table.name].map(|name| quote::string(&String::from_utf8_lossy(name)));
        // DEFAULT_GENERATED, of MySQL, is a default that is an expression.
        let columns = format!(
            "SELECT ORDINAL_POSITION FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = {schema} AND TABLE_NAME = {name} \
             AND (EXTRA LIKE 'VIRTUAL%' OR EXTRA LIKE 'STORED%' OR EXTRA LIKE 'PERSISTENT%')"
        );
        let triggers = format!(
            "SELECT EVENT_MANIPULATION FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA = {schema} AND EVENT_OBJECT_TABLE = {name}"
        );
        let failed = |source| self.destination.failed("asking for generated columns", source);
        let columns = self.connection.query(columns).map_err(failed)?;
        let columns: Vec<_> =
            columns.into_iter().filter_map(|row| row.parse::<usize>(0)?.checked_sub(1)).collect();
        let triggers = match columns.is_empty() {
            true => Vec::new(),
            false => self
                .connection
                .query(triggers)
                .map_err(failed)?
                .into_iter()
                .map(|row| row.string(0))
                .collect(),
        };
        Ok(Computed { columns, triggers })
    }
}
