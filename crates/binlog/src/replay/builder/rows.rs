//! Rows on their way into transactions.

use crate::Result;
use crate::chain::{Item, Trouble};
use crate::event::{Rows, TableMap};
use crate::log::{Format, Kind};
use crate::rows::{
    ColumnType, Field, Misfit, Retyped, Row, RowReader, Table, Untellable, Value, negative_zero,
};
use crate::sql::row_text;
use crate::sql::text::push_name;

use super::super::events::{RowsEvent, Unfit};
use super::super::transaction::{Mode, Piece};
use super::{Builder, NO_HINT, OpenTransaction};

const LEFT_OUT: &str = "leave the transaction out with --exclude-gtids, or the table with --table; or replay into a MariaDB that has it";

impl Builder<'_, '_, '_> {
    /// How rows of a table must be written for the target, if not as they are.
    pub(super) fn retyped(
        &mut self,
        item: &Item<'_>,
        map: &TableMap<'_>,
        format: &Format,
    ) -> Result<Option<Retyped>, Trouble> {
        let Some(Ok(table)) = self.decoder.tables.get(map.id) else { return Ok(None) };
        // MariaDB logs the rows of CREATE TABLE … SELECT behind it, in one transaction.
        let is_definition = |now: &OpenTransaction| now.transaction.mode == Mode::Definitions;
        let is_new = format.is_mariadb() && self.now.as_ref().is_some_and(is_definition);
        let Some(kept) = self.sink.kept(table, format, is_new)? else { return Ok(None) };
        let retyped = Retyped::of(map, table, &kept, format);
        if !self.sink.is_only_planned(map.table)
            && let Some(Misfit { what, hint }) = kept.misfit(table, format)
        {
            let name = [map.schema, b".", map.table].concat();
            let what = format!("rows of {}: {what}", String::from_utf8_lossy(&name));
            self.problem(item, &what, hint)?;
        }
        Ok(retyped)
    }

    pub(super) fn rows(&mut self, item: &Item<'_>) -> Result<(), Trouble> {
        let event = &item.event;
        let (id, flags) = Rows::table_and_flags(event.kind, event.body, item.format)?;
        let tables = std::mem::take(&mut self.decoder.tables);
        let table = match tables.get(id) {
            Some(Ok(table)) => Some(table),
            // Its rows can be sent all the same, as long as they need not be looked into.
            Some(Err(_)) => None,
            None => {
                let what = format!("rows of table number {id}, which was not described");
                self.decoder.tables = tables;
                return self.problem(item, &what, NO_HINT);
            }
        };
        let taken = self.rows_of(item, id, table, tables.name(id).unwrap_or_default(), flags);
        self.decoder.tables = tables;
        taken
    }

    fn rows_of(
        &mut self,
        item: &Item<'_>,
        id: u64,
        table: Option<&Table>,
        (schema, name): (&[u8], &[u8]),
        flags: u16,
    ) -> Result<(), Trouble> {
        let event = &item.event;
        let is_wanted = self.wants_table(schema, name) && self.decoder.filter.wants_kind(event.header.kind);
        if self.decoder.filter.leaves_out(schema) {
            self.sink.report.left_out.insert(String::from_utf8_lossy(schema).into_owned());
        }
        let target = self.sink.target();
        if !is_wanted {
            if flags & Rows::STATEMENT_END != 0 {
                self.batch.end_statement(target, &mut self.statements);
            }
            return self.push_statements();
        }
        self.sink.report.row_events += 1;
        if self.sink.node.is_some() {
            self.sink.see_rows(&self.at(item), schema, name)?;
        }
        if let Some(table) = table
            && self.sink.is_set_by_function(schema, name)?
        {
            return self.set_sequence(item, table, flags);
        }
        let retyped = self.retyped.remove(&id);
        if let Some(table) = table {
            self.check_times(item, table, retyped.as_ref().and_then(Option::as_ref))?;
            self.see_zeros(item, table)?;
        }
        let taken = match (&retyped, table) {
            (Some(Some(retyped)), Some(table)) if Retyped::rewrites(event.kind) => {
                self.retyped_rows(item, retyped, table, flags)
            }
            _ => self.rows_event(item, table, event.kind, event.body),
        };
        self.retyped.extend(retyped.map(|retyped| (id, retyped)));
        taken
    }

    /// A time that the target does not have: it would take its bytes, and show another one.
    fn check_times(
        &mut self,
        item: &Item<'_>,
        table: &Table,
        retyped: Option<&Retyped>,
    ) -> Result<(), Trouble> {
        let rows = Rows::parse(item.event.kind, item.event.body, item.format)?;
        let passes = |index| retyped.is_some_and(|retyped| retyped.is_of_history(index));
        let lacks = self.sink.target().lacks();
        let Some((index, value)) = lacks.first_in(table, rows, item.format, passes)? else { return Ok(()) };
        let column = named(table, index);
        let name = [&table.schema[..], b".", &table.name].concat();
        let name = String::from_utf8_lossy(&name).into_owned();
        if !self.refused.insert(format!("{name}.{column}")) {
            return Ok(());
        }
        let target = self.sink.target();
        let what =
            format!("a row of {name}: column {column}: {} {} has no {value}", target.vendor, target.version);
        self.problem(item, &what, LEFT_OUT)
    }

    /// Zeros below zero, which the target does not show.
    fn see_zeros(&mut self, item: &Item<'_>, table: &Table) -> Result<(), Trouble> {
        let hid_them = item.format.is_mariadb() && item.format.is_at_least((10, 6));
        if !self.sink.target().hides_zero_signs || hid_them {
            return Ok(());
        }
        let [schema, name] = [&table.schema, &table.name].map(|name| String::from_utf8_lossy(name));
        let what = |column| format!("-0 in {schema}.{name}, column {}", named(table, column));
        let is_float = |kind: ColumnType| matches!(kind, ColumnType::Float | ColumnType::Double);
        let columns: Vec<_> = (0..table.columns.len())
            .filter(|&index| is_float(table.columns[index].kind) && !self.sink.report.tells(&what(index)))
            .collect();
        if columns.is_empty() {
            return Ok(());
        }
        let rows = Rows::parse(item.event.kind, item.event.body, item.format)?;
        if let Some(column) = negative_zero(table, rows, &columns)? {
            let at = self.at(item);
            self.sink.report.tell(&at, what(column), "the target shows 0");
        }
        Ok(())
    }

    /// Sets a sequence to what its rows say: the next value, and how often it has begun anew.
    fn set_sequence(&mut self, item: &Item<'_>, table: &Table, flags: u16) -> Result<(), Trouble> {
        // Source: MariaDB `sql/sql_sequence.h`, `enum seq_field_num`.
        const NEXT_VALUE: usize = 0;
        const ROUND: usize = 7;
        self.flush_rows()?;
        self.set_mode(Mode::Statements);
        let event = &item.event;
        let rows = Rows::parse(event.kind, event.body, item.format)?;
        let (mut reader, mut row) = (RowReader::new(table, rows)?, Row::default());
        while reader.next(&mut row)? {
            let number = |at: usize| match row.after.get(at) {
                Some(Field::Value(Value::Integer(number, _))) => Some(*number),
                _ => None,
            };
            let Some(next) = number(NEXT_VALUE) else { continue };
            let mut text = b"DO SETVAL(".to_vec();
            push_name(&table.schema, &mut text);
            text.push(b'.');
            push_name(&table.name, &mut text);
            text.extend_from_slice(format!(", {next}, 0, {})", number(ROUND).unwrap_or(0)).as_bytes());
            self.push(Piece::Statement(text, 0))?;
        }
        if flags & Rows::STATEMENT_END != 0 {
            self.batch.end_statement(self.sink.target(), &mut self.statements);
        }
        self.push_statements()
    }

    /// Rows that must be written otherwise for the target.
    fn retyped_rows(
        &mut self,
        item: &Item<'_>,
        retyped: &Retyped,
        table: &Table,
        flags: u16,
    ) -> Result<(), Trouble> {
        let event = &item.event;
        let events = match retyped.rewrite(table, event.kind, event.body, item.format) {
            Ok(events) => events,
            Err(Untellable::Damaged) => return Err(Trouble::Malformed),
            Err(Untellable::Because(why)) => {
                let name = [&table.schema[..], b".", &table.name].concat();
                let what = format!("a row of {}: {why}", String::from_utf8_lossy(&name));
                return self.problem(item, &what, NO_HINT);
            }
        };
        if events.is_empty() && flags & Rows::STATEMENT_END != 0 {
            self.batch.end_statement(self.sink.target(), &mut self.statements);
        }
        for (kind, body) in &events {
            self.rows_event(item, Some(&retyped.table), *kind, body)?;
        }
        self.push_statements()
    }

    fn rows_event(
        &mut self,
        item: &Item<'_>,
        table: Option<&Table>,
        kind: Kind,
        body: &[u8],
    ) -> Result<(), Trouble> {
        if self.as_statements(item, table, (kind, body))? {
            return Ok(());
        }
        let rows = RowsEvent { header: &item.event.header, kind, body, format: item.format, table };
        match self.batch.take(&rows, self.sink.target(), &mut self.statements) {
            Ok(()) => self.name_rows(item, &rows)?,
            Err(Unfit::Malformed) => return Err(Trouble::Malformed),
            Err(Unfit::TooLarge(bytes)) => {
                let max = self.sink.target().max_packet;
                let what = format!(
                    "a row of {bytes} bytes does not fit into a statement of {max} bytes for the target"
                );
                return self.problem(item, &what, "SET GLOBAL max_allowed_packet there, to 1G at most");
            }
            Err(Unfit::Unknown(kind)) => {
                let what = format!("a {kind} event, which {} does not take", self.sink.target().vendor);
                return self.problem(item, &what, "drover binlog sql may show it as statements");
            }
        }
        self.push_statements()
    }

    /// What rows are called that may not be there.
    fn name_rows(&mut self, item: &Item<'_>, event: &RowsEvent<'_>) -> Result<(), Trouble> {
        let (Some(table), true) = (event.table, self.sink.skips_missing) else { return Ok(()) };
        let rows = Rows::parse(event.kind, event.body, event.format)?;
        let (mut reader, mut row) = (RowReader::new(table, rows)?, Row::default());
        while reader.next(&mut row)? {
            let (log, position) = (&self.decoder.log, item.event.position);
            self.names.push(format!("{log}: at {position}: {}", row_text(table, &row)));
        }
        Ok(())
    }

    pub(super) fn push_statements(&mut self) -> Result<(), Trouble> {
        let mut names = std::mem::take(&mut self.names).into_iter();
        for text in std::mem::take(&mut self.statements) {
            self.settle_for_rows()?;
            self.push(match names.next() {
                Some(name) => Piece::Row(text, name),
                None => Piece::Rows(text),
            })?;
        }
        Ok(())
    }

    /// Behind statements, the session is set again to what rows need.
    pub(super) fn settle_for_rows(&mut self) -> Result<()> {
        let needs_none = |now: &OpenTransaction| now.transaction.mode == Mode::Rows || now.takes_rows_only;
        if self.now.as_ref().is_none_or(needs_none) {
            return Ok(());
        }
        let mut settings = Vec::new();
        self.session.prepare_events(&mut settings);
        settings.into_iter().try_for_each(|text| self.push(Piece::Settings(text, 1)))
    }

    /// Statements that were gathered come before what follows.
    pub(super) fn flush_rows(&mut self) -> Result<(), Trouble> {
        self.batch.flush(&mut self.statements);
        self.push_statements()
    }
}

/// A column's name, or where the log does not tell it its number.
fn named(table: &Table, index: usize) -> String {
    let name = table.columns.get(index).and_then(|column| column.name.as_deref());
    name.map_or_else(|| (index + 1).to_string(), |name| String::from_utf8_lossy(name).into_owned())
}
