//! Rows of system-versioned tables (MariaDB) as statements: a server keeps the history itself, so only what
//! happens to the rows that are valid now is told, with the time at which it happened.
//!
//! In a log, a row that was changed is one that is valid from then on, with what it was before as a row that
//! came in; one that was deleted is one that was changed to be valid no more.

use std::io::Write as _;

use crate::rows::{DateTime, Field, Row, Table, Value};

use super::literal::Unwritable;
use super::rows::{Names, push_delete, push_insert, push_update};

/// What is known of the history that a server makes by itself.
#[derive(Debug, Default)]
pub(super) struct History {
    /// When rows were changed in the transaction at hand: then rows of history come in that end at these times.
    changed: Vec<DateTime>,
}

impl History {
    /// Another transaction begins.
    pub(super) fn clear(&mut self) {
        self.changed.clear();
    }

    /// Writes what happened to a row whose period is in these columns.
    pub(super) fn push(
        &mut self,
        names: &Names,
        table: &Table,
        (start, end): (usize, usize),
        row: &Row<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Unwritable> {
        let (was, is) = (time(&row.before, end), time(&row.after, end));
        match (was.map(DateTime::is_unending), is.map(DateTime::is_unending)) {
            (None, Some(true)) | (Some(false), Some(true)) => {
                push_time(time(&row.after, start), out);
                push_insert(names, table, &row.after, true, false, out)?;
                out.extend_from_slice(b";\n");
            }
            (Some(true), Some(true)) => {
                self.changed.extend(time(&row.after, start));
                push_time(time(&row.after, start), out);
                push_update(names, table, row, out)?;
            }
            (Some(true), Some(false)) => {
                push_time(is, out);
                push_delete(names, table, &row.before, out)?;
            }
            (Some(true), None) => push_delete(names, table, &row.before, out)?,
            (None, Some(false)) if is.is_some_and(|time| self.changed.contains(&time)) => {}
            (None, Some(false)) => {
                push_insert(names, table, &row.after, true, true, out)?;
                out.extend_from_slice(b";\n");
            }
            _ => out.extend_from_slice(b"-- a row of the history, which no statement changes\n"),
        }
        Ok(())
    }
}

fn time(fields: &[Field<'_>], index: usize) -> Option<DateTime> {
    match fields.get(index)? {
        Field::Value(Value::Timestamp(time)) => Some(*time),
        _ => None,
    }
}

/// Has what follows happen at this time, which is in UTC as the session is.
fn push_time(time: Option<DateTime>, out: &mut Vec<u8>) {
    let Some(time) = time else { return };
    let _ = write!(out, "SET @@session.timestamp = UNIX_TIMESTAMP('"); // writing to a Vec cannot fail
    time.write(out);
    out.extend_from_slice(b"');\n");
}
