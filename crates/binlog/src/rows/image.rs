//! The rows of an event, one by one.

use std::ops::Range;

use crate::event::Rows;
use crate::log::{Cursor, RowChange, Short};

use super::column::ColumnType;
use super::table::Table;
use super::value::Value;

/// What an event tells of a column of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Field<'a> {
    /// Nothing: with `binlog_row_image` MINIMAL or NOBLOB not all columns are logged.
    Absent,
    /// Its value.
    Value(Value<'a>),
    /// What changed in a JSON document.
    JsonDiffs(&'a [u8]),
}

/// A row, with a field for each column of the table.
#[derive(Debug, Default)]
pub struct Row<'a> {
    /// As it was, of one that was changed or went; else empty.
    pub before: Vec<Field<'a>>,
    /// As it is, of one that was changed or came in; else empty.
    pub after: Vec<Field<'a>>,
}

/// Where the images of a row are among an event's rows, in bytes; one that the row does not have is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spans {
    /// That of the row as it was.
    pub before: Range<usize>,
    /// That of the row as it is, without what a partial update has before it.
    pub after: Range<usize>,
}

/// Reads the rows of an event.
pub struct RowReader<'t, 'a> {
    table: &'t Table,
    rows: Rows<'a>,
    at: Cursor<'a>,
    spans: Spans,
    /// Whether its values may be in another format than it seems.
    is_doubtful: bool,
}

/// Set in an update's options if JSON documents may be given by what changed in them: MySQL `rows_event.h`,
/// `enum_binlog_row_value_options`.
const PARTIAL_JSON: u64 = 1;

impl<'t, 'a> RowReader<'t, 'a> {
    /// Of rows of this table.
    ///
    /// # Errors
    /// If they are of a table with another number of columns.
    pub fn new(table: &'t Table, rows: Rows<'a>) -> Result<Self, Short> {
        if table.columns.len() != rows.columns {
            return Err(Short);
        }
        let is_doubtful = table.has_old_times();
        Ok(Self { table, rows, at: Cursor::new(rows.rows), spans: Spans::default(), is_doubtful })
    }

    /// Where the row is that [`Self::next`] read.
    pub fn spans(&self) -> &Spans {
        &self.spans
    }

    /// Reads the next row into `row`; false when there is none.
    ///
    /// # Errors
    /// If the event ends within it.
    pub fn next(&mut self, row: &mut Row<'a>) -> Result<bool, Short> {
        if self.at.is_empty() {
            return Ok(false);
        }
        row.before.clear();
        row.after.clear();
        let left = self.at.len();
        let Rows { change, before, after, is_partial, .. } = self.rows;
        self.spans = Spans::default();
        if change != RowChange::Insert {
            self.spans.before = self.image(before, false, &mut row.before)?;
        }
        if change != RowChange::Delete {
            self.spans.after = self.image(after, is_partial, &mut row.after)?;
        }
        // Rows that take no bytes would never end.
        if self.at.len() == left { Err(Short) } else { Ok(true) }
    }

    /// One image: a bit for each column that is there, set if it is NULL, then the values of those that are not. Returns where
    /// it is.
    fn image(
        &mut self,
        present: &[u8],
        is_partial: bool,
        into: &mut Vec<Field<'a>>,
    ) -> Result<Range<usize>, Short> {
        let at = &mut self.at;
        let mut diffs = if is_partial { self.table.json_bits(at)? } else { Bits::none() };
        let whole = self.rows.rows.len();
        let start = whole - at.len();
        let columns = &self.table.columns;
        let count = (0..columns.len()).filter(|&index| is_set(present, index)).count();
        let nulls = at.take(count.div_ceil(8))?;
        // Servers set the bits that stand for no column: `sql/rpl_record.cc`, `pack_row()`.
        if self.is_doubtful && !(count..nulls.len() * 8).all(|bit| is_set(nulls, bit)) {
            return Err(Short);
        }
        let mut number = 0;
        for (index, column) in columns.iter().enumerate() {
            let is_diff = matches!(column.kind, ColumnType::Json(_)) && diffs.next();
            if !is_set(present, index) {
                into.push(Field::Absent);
                continue;
            }
            let is_null = is_set(nulls, number);
            number += 1;
            into.push(if column.is_hidden() {
                if !is_null {
                    Value::parse(column.kind, at)?;
                }
                Field::Absent
            } else if is_null {
                Field::Value(Value::Null)
            } else if is_diff {
                let length = at.u32()? as usize;
                Field::JsonDiffs(at.take(length)?)
            } else {
                Field::Value(Value::parse(column.kind, at)?)
            });
        }
        Ok(start..whole - at.len())
    }
}

impl Table {
    /// Where the values are in an image that was read as these fields, for each column that it has; `None` for NULL. What is told
    /// by what changed in it is left out.
    pub(crate) fn values_in(
        &self,
        fields: &[Field<'_>],
        present: &[u8],
        image: &[u8],
        into: &mut Vec<(usize, Option<Range<usize>>)>,
    ) -> Result<(), Short> {
        into.clear();
        let mut at = Cursor::new(image);
        let columns = || self.columns.iter().enumerate().filter(|(index, _)| is_set(present, *index));
        let nulls = at.take(columns().count().div_ceil(8))?;
        for (number, (index, column)) in columns().enumerate() {
            let start = image.len() - at.len();
            if is_set(nulls, number) {
                into.push((index, None));
            } else if let Some(Field::JsonDiffs(diffs)) = fields.get(index) {
                at.u32()?; // the length
                at.take(diffs.len())?;
            } else {
                Value::parse(column.kind, &mut at)?;
                into.push((index, Some(start..image.len() - at.len())));
            }
        }
        Ok(())
    }

    /// Which of the JSON columns are given by what changed in them: a bit for each, also for those that are not there.
    fn json_bits<'a>(&self, at: &mut Cursor<'a>) -> Result<Bits<'a>, Short> {
        if at.packed()? & PARTIAL_JSON == 0 {
            return Ok(Bits::none());
        }
        let count = self.columns.iter().filter(|column| matches!(column.kind, ColumnType::Json(_))).count();
        Ok(Bits { bytes: at.take(count.div_ceil(8))?, next: 0 })
    }
}

/// Bits, one after the other.
struct Bits<'a> {
    bytes: &'a [u8],
    next: usize,
}

impl Bits<'_> {
    fn none() -> Self {
        Self { bytes: &[], next: 0 }
    }

    fn next(&mut self) -> bool {
        self.next += 1;
        is_set(self.bytes, self.next - 1)
    }
}

/// Whether that bit is set.
#[inline]
pub(crate) fn is_set(bits: &[u8], index: usize) -> bool {
    bits.get(index / 8).is_some_and(|byte| byte >> (index % 8) & 1 != 0)
}
