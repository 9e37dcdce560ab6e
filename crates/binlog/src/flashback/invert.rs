//! An event of rows turned around: what came in goes, what went comes in, what was changed is changed back; the last row first.
//! Works on bytes: values come out exactly as they were logged.

use crate::event::{Rows, SECOND_VERSION};
use crate::log::{Format, Kind, RowChange, Short};
use crate::rows::{Field, Row, RowReader, Table, is_set};

/// Why rows cannot be turned around.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// The event does not hold what it should.
    Malformed,
    /// The log does not hold what is needed, in words.
    Lacks(String),
}

impl From<Short> for Obstacle {
    fn from(_: Short) -> Self {
        Self::Malformed
    }
}

/// Writes the body of an event that undoes this one, of the kind that it returns. It is a statement by itself.
pub(super) fn invert(
    kind: Kind,
    rows: Rows<'_>,
    table: &Table,
    format: &Format,
    out: &mut Vec<u8>,
) -> Result<Kind, Obstacle> {
    let inverse =
        inverse(kind).ok_or_else(|| Obstacle::Lacks("rows in the format of 5.1 before 5.1.16".into()))?;
    if format.post_header(kind) != format.post_header(inverse) {
        return Err(Obstacle::Malformed);
    }
    check_columns(&rows, table)?;
    push_head(inverse, &rows, format, out);
    push_rows(rows, table, out)?;
    Ok(inverse)
}

/// The kind of an event that undoes one of this kind; `None` if there is none.
fn inverse(kind: Kind) -> Option<Kind> {
    Some(match kind {
        Kind::WRITE_ROWS_V1 => Kind::DELETE_ROWS_V1,
        Kind::DELETE_ROWS_V1 => Kind::WRITE_ROWS_V1,
        Kind::UPDATE_ROWS_V1 => Kind::UPDATE_ROWS_V1,
        Kind::WRITE_ROWS => Kind::DELETE_ROWS,
        Kind::DELETE_ROWS => Kind::WRITE_ROWS,
        Kind::UPDATE_ROWS | Kind::PARTIAL_UPDATE_ROWS => Kind::UPDATE_ROWS,
        _ => return None,
    })
}

/// Looks whether the rows have what is needed to find them and to make them what they were.
fn check_columns(rows: &Rows<'_>, table: &Table) -> Result<(), Obstacle> {
    let Rows { change, before, after, .. } = *rows;
    let missing = |image| columns(table, |index| !is_set(image, index));
    match change {
        RowChange::Delete if !missing(before).is_empty() => {
            Err(lacks(table, &missing(before), "of rows that were deleted"))
        }
        RowChange::Update => {
            let unknown = columns(table, |index| is_set(after, index) && !is_set(before, index));
            if !unknown.is_empty() {
                return Err(lacks(table, &unknown, "as they were before rows were changed"));
            }
            // What was enough for a server to find the row as it was is enough as it is. One without a key has all columns.
            let is_enough = columns(table, |index| is_set(before, index) && !is_set(after, index)).is_empty();
            check_identity(table, after, is_enough && !missing(before).is_empty())
        }
        RowChange::Insert => check_identity(table, after, false),
        RowChange::Delete => Ok(()),
    }
}

/// Whether rows as they are can be found: by all columns, or by those of the primary key.
fn check_identity(table: &Table, image: &[u8], is_enough: bool) -> Result<(), Obstacle> {
    let missing = columns(table, |index| !is_set(image, index));
    let has_key =
        !table.primary_key.is_empty() && table.primary_key.iter().all(|&index| is_set(image, index));
    if missing.is_empty() || has_key || is_enough {
        return Ok(());
    }
    Err(lacks(table, &missing, "of rows that are to be found, nor all of a primary key"))
}

/// The numbers of columns that this is true of. Those that a server made for itself do not count.
fn columns(table: &Table, is: impl Fn(usize) -> bool) -> Vec<usize> {
    let known = table.columns.iter().enumerate().filter(|(_, column)| !column.is_hidden());
    known.map(|(index, _)| index).filter(|&index| is(index)).collect()
}

/// So many columns are named.
const MOST_NAMED: usize = 5;

fn lacks(table: &Table, missing: &[usize], what: &str) -> Obstacle {
    let name = |&index: &usize| match table.columns.get(index).and_then(|column| column.name.as_deref()) {
        Some(name) => String::from_utf8_lossy(name).into_owned(),
        None => format!("@{}", index + 1),
    };
    let mut names = missing.iter().take(MOST_NAMED).map(name).collect::<Vec<_>>().join(", ");
    if missing.len() > MOST_NAMED {
        names.push_str(&format!(" and {} more", missing.len() - MOST_NAMED));
    }
    let columns = if missing.len() == 1 { "column" } else { "columns" };
    Obstacle::Lacks(format!("the log does not hold the {columns} {names} {what}"))
}

/// What comes before the rows. What NDB and partitions tell more is left out: it is of no use to who applies the rows, and of a
/// row that goes back would be wrong.
fn push_head(inverse: Kind, rows: &Rows<'_>, format: &Format, out: &mut Vec<u8>) {
    let id_length = if format.post_header(inverse) == Some(6) { 4 } else { 6 };
    out.extend_from_slice(&rows.table.to_le_bytes()[..id_length]);
    out.extend((rows.flags | Rows::STATEMENT_END).to_le_bytes());
    if format.post_header(inverse) == Some(SECOND_VERSION) {
        out.extend(2_u16.to_le_bytes()); // of itself
    }
    push_packed(rows.columns, out);
    match rows.change {
        RowChange::Update => {
            out.extend_from_slice(rows.after);
            out.extend_from_slice(rows.before);
        }
        RowChange::Insert | RowChange::Delete => out.extend_from_slice(rows.after),
    }
}

/// A length-encoded number.
fn push_packed(number: usize, out: &mut Vec<u8>) {
    let bytes = (number as u64).to_le_bytes();
    match number {
        0..=0xfa => out.push(bytes[0]),
        0..=0xffff => out.extend([0xfc, bytes[0], bytes[1]]),
        0..=0xff_ffff => out.extend([0xfd, bytes[0], bytes[1], bytes[2]]),
        _ => {
            out.push(0xfe);
            out.extend(bytes);
        }
    }
}

/// The rows from the last to the first, of changed ones the image of what they became first. Nothing is known of the rows that
/// are still to be read, so they are written from the end on.
fn push_rows(rows: Rows<'_>, table: &Table, out: &mut Vec<u8>) -> Result<(), Obstacle> {
    let mut reader = RowReader::new(table, rows)?;
    let mut row = Row::default();
    let start = out.len();
    out.resize(start + rows.rows.len(), 0);
    let mut at = out.len();
    while reader.next(&mut row)? {
        if let Some(index) = row.after.iter().position(|field| matches!(field, Field::JsonDiffs(_))) {
            return Err(lacks(table, &[index], "but only what changed in its JSON documents"));
        }
        let spans = reader.spans();
        for image in [&spans.before, &spans.after] {
            let image = rows.rows.get(image.clone()).ok_or(Short)?;
            // All images together are no longer than the rows.
            at = at.checked_sub(image.len()).filter(|&at| at >= start).ok_or(Short)?;
            out[at..at + image.len()].copy_from_slice(image);
        }
    }
    // What a partial update had before its images.
    out.drain(start..at);
    Ok(())
}
