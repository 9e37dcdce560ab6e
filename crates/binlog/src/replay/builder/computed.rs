//! Rows of which the log leaves out what the target does not compute where a row event lacks it: statements do the same, for which it does.

use std::sync::Arc;

use crate::Result;
use crate::chain::{Item, Trouble};
use crate::definitions::Definitions;
use crate::event::Rows;
use crate::log::{Format, Kind, RowChange};
use crate::rows::{Row, RowReader, Table};
use crate::sql::literal::Unwritable;
use crate::sql::{push_row, row_text};

use super::super::computed::Computed;
use super::super::transaction::{Mode, Piece, RowStatement};
use super::{Builder, NO_HINT};

const AS_LOGGED: &str = "ALTER TABLE … MODIFY those there, so that all have the log's types";
const WITHOUT_TRIGGERS: &str =
    "DROP TRIGGER there, and make it again behind the replay: what it did is in the logs";

impl Builder<'_, '_, '_> {
    /// Does by statements what an event of rows does, where that leaves out what the target would not compute. False where it does not.
    pub(super) fn as_statements(
        &mut self,
        item: &Item<'_>,
        table: Option<&Table>,
        (kind, body): (Kind, &[u8]),
    ) -> Result<bool, Trouble> {
        let Some(table) = table else { return Ok(false) };
        let Some(computed) = self.sink.computed(table, item.format)? else { return Ok(false) };
        let rows = Rows::parse(kind, body, item.format)?;
        if !computed.is_left_out_of(&rows) {
            return Ok(false);
        }
        let known = self.as_defined(table, item.format)?;
        if rows.change == RowChange::Delete && !known.key().is_empty() {
            // The key finds it.
            return Ok(false);
        }
        match misfit(&computed, &known, rows.change) {
            Some((what, hint)) => self.refuse_left_out(item, table, what, hint)?,
            None => self.push_row_statements(item, &known, rows)?,
        }
        Ok(true)
    }

    /// The table with what the target tells of its columns.
    fn as_defined(&mut self, table: &Table, format: &Format) -> Result<Table> {
        let definitions = match &self.definitions {
            Some(definitions) => definitions,
            None => self.definitions.insert(Definitions::of(&self.sink.session.destination.as_origin())?),
        };
        let mut known = table.clone();
        definitions.complete(&mut known, format)?;
        Ok(known)
    }

    fn refuse_left_out(
        &mut self,
        item: &Item<'_>,
        table: &Table,
        what: &str,
        hint: &str,
    ) -> Result<(), Trouble> {
        let name = [&table.schema[..], b".", &table.name].concat();
        let name = String::from_utf8_lossy(&name).into_owned();
        if !self.refused.insert(name.clone()) {
            return Ok(());
        }
        let target = self.sink.target();
        let what = format!(
            "rows of {name}: the log leaves out generated columns, which {} {} does not compute for them: {what}",
            target.vendor, target.version
        );
        self.problem(item, &what, hint)
    }

    fn push_row_statements(&mut self, item: &Item<'_>, table: &Table, rows: Rows<'_>) -> Result<(), Trouble> {
        self.flush_rows()?;
        self.set_mode(Mode::Statements);
        let mut settings = Vec::new();
        if let Some(now) = &mut self.now {
            now.transaction.session.get_or_insert_with(|| self.session.clone());
        }
        self.session.prepare_rows(rows.flags, item.format, false, &mut settings);
        Piece::settings(settings).map_or(Ok(()), |piece| self.push(piece))?;
        let (mut reader, mut row) = (RowReader::new(table, rows)?, Row::default());
        while reader.next(&mut row)? {
            let mut text = Vec::new();
            match push_row(table, rows.change, &row, &mut text) {
                Ok(()) => {}
                Err(Unwritable::Damaged) => return Err(Trouble::Malformed),
                Err(Unwritable::Packed(why)) => return self.problem(item, &why, NO_HINT),
                Err(Unwritable::Json(why)) => return self.problem(item, &why.to_string(), NO_HINT),
            }
            let (log, position) = (Arc::clone(&self.decoder.log), item.event.position);
            let name = format!("{log}: at {position}: {}", row_text(table, &row));
            let may_be_missing = self.sink.skips_missing;
            self.push(Piece::RowStatement(RowStatement { text, name, may_be_missing }))?;
        }
        if rows.flags & Rows::STATEMENT_END != 0 {
            self.batch.end_statement(self.sink.target(), &mut self.statements);
        }
        self.push_statements()
    }
}

/// Why statements cannot take the place of the rows, and what to do.
fn misfit(computed: &Computed, table: &Table, change: RowChange) -> Option<(&'static str, &'static str)> {
    if !computed.is_known_in(table) {
        return Some(("the table has other columns there", AS_LOGGED));
    }
    let runs_triggers = computed.runs_triggers(change);
    runs_triggers.then_some(("statements would, but its triggers there would run for them", WITHOUT_TRIGGERS))
}
