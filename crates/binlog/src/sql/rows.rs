//! Rows as statements.

use crate::json::Diffs;
use crate::log::{RowChange, Short};
use crate::rows::{Column, ColumnType, Field, Row, RowReader, Table, Value};

use super::history::History;
use super::literal::{Unwritable, push_condition, push_likeness, push_value};
use super::text::push_name;

/// Writes the rows of an event as statements that do the same: one INSERT for all that came in, an UPDATE or a DELETE for each that was
/// changed or went.
///
/// Returns how many rows there are.
pub(super) fn push_rows(
    table: &Table,
    rows: &mut RowReader<'_, '_>,
    change: RowChange,
    history: &mut History,
    out: &mut Vec<u8>,
) -> Result<u64, Unwritable> {
    let names = Names::of(table);
    let period = table.period();
    let mut row = Row::default();
    let mut count = 0;
    while rows.next(&mut row)? {
        match (period, change) {
            (Some(period), _) => history.push(&names, table, period, &row, out)?,
            (None, RowChange::Insert) => push_insert(&names, table, &row.after, count == 0, false, out)?,
            (None, RowChange::Update) => push_update(&names, table, &row, out)?,
            (None, RowChange::Delete) => push_delete(&names, table, &row.before, out)?,
        }
        count += 1;
    }
    if change == RowChange::Insert && count > 0 && period.is_none() {
        out.extend_from_slice(b";\n");
    }
    Ok(count)
}

/// Writes the statement that does what happened to one row, without an end. The table is one whose columns' names are known, and whose key is
/// the one of the server that runs it.
pub(crate) fn push_row(
    table: &Table,
    change: RowChange,
    row: &Row<'_>,
    out: &mut Vec<u8>,
) -> Result<(), Unwritable> {
    let names = Names::of(table);
    let key = table.key();
    match change {
        RowChange::Insert => push_insert(&names, table, &row.after, true, false, out)?,
        RowChange::Update => {
            push_set(&names, table, row, out)?;
            push_where(&names, table, key, &row.before, out)?;
        }
        RowChange::Delete => {
            push_from(&names, out);
            push_where(&names, table, key, &row.before, out)?;
        }
    }
    let end = out.trim_ascii_end();
    out.truncate(end.strip_suffix(b";").unwrap_or(end).len());
    Ok(())
}

/// A row as it was, or as it came in, for messages: its table and what it is found by.
pub(crate) fn row_text(table: &Table, row: &Row<'_>) -> String {
    const MOST: usize = 200;
    let names = Names::of(table);
    let fields = if row.before.is_empty() { &row.after } else { &row.before };
    let mut text = names.table.clone();
    if push_conditions(&names, table, table.key(), fields, &mut text).is_err() {
        text.clone_from(&names.table);
    }
    let text = String::from_utf8_lossy(&text);
    match text.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.into_owned(),
    }
}

/// Names as they are written.
pub(super) struct Names {
    table: Vec<u8>,
    columns: Vec<Vec<u8>>,
    /// Whether the log tells the columns' names; else each is called by its number, behind a `?`, which no server takes: `@1` would be a variable of
    /// the session.
    are_known: bool,
}

impl Names {
    fn of(table: &Table) -> Self {
        let mut name = Vec::new();
        push_name(&table.schema, &mut name);
        name.push(b'.');
        push_name(&table.name, &mut name);
        let columns = table.columns.iter().enumerate().map(|(index, column)| match &column.name {
            Some(name) => {
                let mut quoted = Vec::new();
                push_name(name, &mut quoted);
                quoted
            }
            None => format!("?{}", index + 1).into_bytes(),
        });
        Self { table: name, columns: columns.collect(), are_known: table.has_names() }
    }
}

/// A row that came in; the first begins the statement. `is_history` says that it has a period which is not now.
pub(super) fn push_insert(
    names: &Names,
    table: &Table,
    fields: &[Field<'_>],
    is_first: bool,
    is_history: bool,
    out: &mut Vec<u8>,
) -> Result<(), Unwritable> {
    let period = if is_history { table.period() } else { None };
    let is_period = |index: usize| period.is_some_and(|(start, end)| index == start || index == end);
    let is_given = |index: usize| !table.columns[index].is_generated || is_period(index);
    if is_first {
        out.extend_from_slice(b"INSERT INTO ");
        out.extend_from_slice(&names.table);
        let is_whole = !fields.contains(&Field::Absent);
        if names.are_known || !is_whole {
            let given = present(fields).filter(|&index| is_given(index));
            push_list(out, given.map(|index| &names.columns[index][..]));
        }
        out.extend_from_slice(b" VALUES\n  (");
    } else {
        out.extend_from_slice(b",\n  (");
    }
    let mut comma: &[u8] = b"";
    for (index, field) in fields.iter().enumerate() {
        let Field::Value(value) = field else { continue };
        if is_given(index) {
            out.extend_from_slice(comma);
            push_value(value, &table.columns[index], out)?;
            comma = b", ";
        }
    }
    out.push(b')');
    Ok(())
}

fn push_list<'a>(out: &mut Vec<u8>, names: impl Iterator<Item = &'a [u8]>) {
    let mut start: &[u8] = b" (";
    for name in names {
        out.extend_from_slice(start);
        out.extend_from_slice(name);
        start = b", ";
    }
    if start == b" (" {
        out.extend_from_slice(start);
    }
    out.push(b')');
}

fn present<'a>(fields: &'a [Field<'_>]) -> impl Iterator<Item = usize> + 'a {
    fields.iter().enumerate().filter(|(_, field)| **field != Field::Absent).map(|(index, _)| index)
}

/// The columns that are there and whose values a statement may give.
fn settable<'a>(table: &'a Table, fields: &'a [Field<'_>]) -> impl Iterator<Item = usize> + 'a {
    present(fields).filter(|&index| !table.columns[index].is_generated)
}

pub(super) fn push_delete(
    names: &Names,
    table: &Table,
    fields: &[Field<'_>],
    out: &mut Vec<u8>,
) -> Result<(), Unwritable> {
    push_from(names, out);
    push_where(names, table, &table.primary_key, fields, out)
}

fn push_from(names: &Names, out: &mut Vec<u8>) {
    out.extend_from_slice(b"DELETE FROM ");
    out.extend_from_slice(&names.table);
}

pub(super) fn push_update(
    names: &Names,
    table: &Table,
    row: &Row<'_>,
    out: &mut Vec<u8>,
) -> Result<(), Unwritable> {
    push_set(names, table, row, out)?;
    push_where(names, table, &table.primary_key, &row.before, out)
}

/// An UPDATE, up to what says which row it is.
fn push_set(names: &Names, table: &Table, row: &Row<'_>, out: &mut Vec<u8>) -> Result<(), Unwritable> {
    out.extend_from_slice(b"UPDATE ");
    out.extend_from_slice(&names.table);
    let mut start: &[u8] = b" SET ";
    let last = settable(table, &row.after).last();
    for index in settable(table, &row.after) {
        let after = &row.after[index];
        let is_last_chance = start == b" SET " && last == Some(index);
        let is_same = row.before.get(index).is_some_and(|before| is_same(before, after));
        let name = &names.columns[index];
        match after {
            Field::Absent => continue,
            // What did not change is left out, unless nothing did, or the server would change it by itself.
            _ if is_same && !is_last_chance && !may_change_by_itself(&table.columns[index]) => continue,
            Field::Value(value) => {
                out.extend_from_slice(start);
                out.extend_from_slice(name);
                out.extend_from_slice(b" = ");
                push_value(value, &table.columns[index], out)?;
            }
            // An empty list says that nothing changed.
            Field::JsonDiffs(diffs) if Diffs::new(diffs).is_empty() && !is_last_chance => continue,
            Field::JsonDiffs(diffs) => {
                out.extend_from_slice(start);
                out.extend_from_slice(name);
                out.extend_from_slice(b" = ");
                Diffs::new(diffs).write_sql(name, out).map_err(Unwritable::Json)?;
            }
        }
        start = b", ";
    }
    if names.are_known {
        for (index, _) in row.after.iter().enumerate().filter(|(_, field)| **field == Field::Absent) {
            let (column, name) = (&table.columns[index], &names.columns[index]);
            if may_change_by_itself(column) && !column.is_generated {
                [start, name, b" = ", name].iter().for_each(|part| out.extend_from_slice(part));
                start = b", ";
            }
        }
    }
    Ok(())
}

/// Whether nothing changed: 0 and -0 are equal, and not the same.
fn is_same(before: &Field<'_>, after: &Field<'_>) -> bool {
    match (before, after) {
        (Field::Value(Value::Double(before)), Field::Value(Value::Double(after))) => {
            before.to_bits() == after.to_bits()
        }
        (Field::Value(Value::Float(before)), Field::Value(Value::Float(after))) => {
            before.to_bits() == after.to_bits()
        }
        _ => before == after,
    }
}

/// Whether a column may have ON UPDATE CURRENT_TIMESTAMP, which no log tells: an UPDATE that does not set it changes it.
fn may_change_by_itself(column: &Column) -> bool {
    use ColumnType::{DateTime, OldDateTime, OldTimestamp, Timestamp};
    matches!(column.kind, Timestamp(_) | DateTime(_) | OldTimestamp | OldDateTime)
}

/// Which row it is: by these columns, a key, if it has all of them, else by all that the log tells of the row. Among rows that the server calls equal,
/// the very one comes first; a target that does not keep what tells them apart has one to take all the same.
fn push_where(
    names: &Names,
    table: &Table,
    key: &[usize],
    fields: &[Field<'_>],
    out: &mut Vec<u8>,
) -> Result<(), Unwritable> {
    push_conditions(names, table, key, fields, out)?;
    if !has_key(key, fields) {
        push_order(names, fields, out)?;
    }
    out.extend_from_slice(b" LIMIT 1;\n");
    Ok(())
}

fn has_key(key: &[usize], fields: &[Field<'_>]) -> bool {
    let is_there =
        |&index: &usize| matches!(fields.get(index), Some(Field::Value(value)) if *value != Value::Null);
    !key.is_empty() && key.iter().all(is_there)
}

fn push_order(names: &Names, fields: &[Field<'_>], out: &mut Vec<u8>) -> Result<(), Unwritable> {
    const ORDER: &[u8] = b" ORDER BY ";
    let (mut start, begin) = (ORDER, out.len());
    for index in present(fields) {
        let Field::Value(value) = &fields[index] else { continue };
        let length = out.len();
        out.extend_from_slice(start);
        match push_likeness(&names.columns[index], value, out)? {
            true => start = b" AND ",
            false => out.truncate(length),
        }
    }
    if out.len() > begin {
        out.extend_from_slice(b" DESC");
    }
    Ok(())
}

fn push_conditions(
    names: &Names,
    table: &Table,
    key: &[usize],
    fields: &[Field<'_>],
    out: &mut Vec<u8>,
) -> Result<(), Unwritable> {
    let mut start: &[u8] = b" WHERE ";
    let mut push = |index: usize| {
        let Some(Field::Value(value)) = fields.get(index) else { return Err(Unwritable::from(Short)) };
        out.extend_from_slice(start);
        start = b" AND ";
        push_condition(&names.columns[index], value, &table.columns[index], out)
    };
    match has_key(key, fields) {
        true => key.iter().try_for_each(|&index| push(index)),
        false => present(fields).try_for_each(push),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::TableMap;
    use crate::log::Format;

    /// `@1` would be a variable of the session, which servers take in a condition.
    #[test]
    fn columns_without_names_are_no_variables() {
        let map = TableMap {
            id: 1,
            schema: b"s",
            table: b"t",
            types: &[3, 3],
            metadata: &[],
            nullable: &[0],
            more: &[],
        };
        let table = Table::of(&map, &Format::of_tests("10.11.6-MariaDB")).unwrap();
        let names = Names::of(&table);
        let fields = |a, b| [a, b].map(|number| Field::Value(Value::Integer(number, 4))).to_vec();
        let row = Row { before: fields(1, 2), after: fields(1, 3) };
        let mut out = Vec::new();
        push_delete(&names, &table, &row.before, &mut out).unwrap();
        push_update(&names, &table, &row, &mut out).unwrap();
        push_insert(&names, &table, &[Field::Absent, row.after[1]], true, false, &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "DELETE FROM `s`.`t` WHERE ?1 = 1 AND ?2 = 2 LIMIT 1;\n\
             UPDATE `s`.`t` SET ?2 = 3 WHERE ?1 = 1 AND ?2 = 2 LIMIT 1;\n\
             INSERT INTO `s`.`t` (?2) VALUES\n  (3)"
        );
    }
}
