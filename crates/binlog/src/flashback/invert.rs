//! An event of rows turned around: what came in goes, what went comes in, what was changed is changed back; the last row first.
//! Works on bytes: values come out exactly as they were logged.

use std::ops::Range;

use crate::event::{Rows, SECOND_VERSION};
use crate::log::{Format, Kind, RowChange, Short, push_packed};
use crate::rows::{Column, Field, Row, RowReader, Table, is_set};

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
    let missing = columns(table, |index| !is_set(before, index));
    match change {
        RowChange::Insert => {
            let is_there = |&index: &usize| is_set(after, index);
            let has_key = !table.key().is_empty() && table.key().iter().all(is_there);
            if missing.is_empty() || has_key {
                return Ok(());
            }
            Err(lacks(table, &missing, "of rows that came in, nor does it tell a primary key"))
        }
        RowChange::Delete if missing.is_empty() => Ok(()),
        RowChange::Delete => Err(lacks(table, &missing, "of rows that were deleted")),
        RowChange::Update => {
            // The columns by which a server found the row as it was are enough to find it as it is: they are in either image, or
            // completed. Of a table without a key they are all.
            let unknown = columns(table, |index| is_set(after, index) && !is_set(before, index));
            if unknown.is_empty() {
                return Ok(());
            }
            Err(lacks(table, &unknown, "as they were before rows were changed"))
        }
    }
}

/// The numbers of columns that this is true of. Those that a server makes for itself, or computes from others, do not count: MariaDB from
/// 11 on leaves generated ones out of images.
fn columns(table: &Table, is: impl Fn(usize) -> bool) -> Vec<usize> {
    let is_known = |(_, column): &(usize, &Column)| !column.is_hidden() && !column.is_generated;
    let known = table.columns.iter().enumerate().filter(is_known);
    known.map(|(index, _)| index).filter(|&index| is(index)).collect()
}

/// So many columns are named.
const MOST_NAMED: usize = 5;

fn lacks(table: &Table, missing: &[usize], what: &str) -> Obstacle {
    let name = |&index: &usize| match table.columns.get(index).and_then(|column| column.name.as_deref()) {
        Some(name) => String::from_utf8_lossy(name).into_owned(),
        None => format!("?{}", index + 1),
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
        RowChange::Update if is_completed(rows) => {
            out.extend_from_slice(rows.before);
            out.extend_from_slice(rows.before);
        }
        RowChange::Update => {
            out.extend_from_slice(rows.after);
            out.extend_from_slice(rows.before);
        }
        RowChange::Insert | RowChange::Delete => out.extend_from_slice(rows.after),
    }
}

/// Whether the image of what a row became has to be made whole by the other: it lacks columns, as MINIMAL has it for tables without a
/// key and MariaDB's FULL_NODUP for all, or JSON documents that did not change.
fn is_completed(rows: &Rows<'_>) -> bool {
    let lacks = |index| is_set(rows.before, index) && !is_set(rows.after, index);
    rows.change == RowChange::Update && (rows.is_partial || (0..rows.columns).any(lacks))
}

/// A document that did not change is told by an empty list of changes.
fn is_changed_in_part(field: &Field<'_>) -> bool {
    matches!(field, Field::JsonDiffs(diffs) if !diffs.is_empty())
}

/// The rows from the last to the first, of changed ones the image of what they became first. Nothing is known of the rows that
/// are still to be read, so they are written from the end on.
fn push_rows(rows: Rows<'_>, table: &Table, out: &mut Vec<u8>) -> Result<(), Obstacle> {
    let completes = is_completed(&rows);
    let mut reader = RowReader::new(table, rows)?;
    let (mut row, mut completer) = (Row::default(), Completer::default());
    let start = out.len();
    // What completes an image is no longer than the other.
    out.resize(start + rows.rows.len() * if completes { 2 } else { 1 }, 0);
    let mut at = out.len();
    while reader.next(&mut row)? {
        if let Some(index) = row.after.iter().position(is_changed_in_part) {
            return Err(lacks(table, &[index], "but only what changed in its JSON documents"));
        }
        let spans = reader.spans();
        let before = rows.rows.get(spans.before.clone()).ok_or(Short)?;
        let mut after = rows.rows.get(spans.after.clone()).ok_or(Short)?;
        if completes {
            after = completer.complete(&rows, table, &row, [before, after])?;
        }
        for image in [before, after] {
            at = at.checked_sub(image.len()).filter(|&at| at >= start).ok_or(Short)?;
            out[at..at + image.len()].copy_from_slice(image);
        }
    }
    // What was not needed.
    out.drain(start..at);
    Ok(())
}

/// Where each column's value is in an image.
type Values = Vec<(usize, Option<Range<usize>>)>;

/// Makes whole images of what rows became: what does not stand there is as it was.
#[derive(Default)]
struct Completer {
    before: Values,
    after: Values,
    image: Vec<u8>,
}

impl Completer {
    fn complete(
        &mut self,
        rows: &Rows<'_>,
        table: &Table,
        row: &Row<'_>,
        [before, after]: [&[u8]; 2],
    ) -> Result<&[u8], Short> {
        table.values_in(&row.before, rows.before, before, &mut self.before)?;
        table.values_in(&row.after, rows.after, after, &mut self.after)?;
        let Self { image, .. } = self;
        image.clear();
        image.resize(self.before.len().div_ceil(8), 0);
        // As a server does, by which rows with old times are known.
        let used = self.before.len() % 8;
        if let Some(last) = image.last_mut().filter(|_| table.has_old_times() && used > 0) {
            *last = u8::MAX << used;
        }
        let mut changed = self.after.iter().peekable();
        for (number, (index, as_it_was)) in self.before.iter().enumerate() {
            while changed.next_if(|(other, _)| other < index).is_some() {}
            let (value, from) = match changed.next_if(|(other, _)| other == index) {
                Some((_, value)) => (value, after),
                None => (as_it_was, before),
            };
            match value {
                Some(range) => image.extend_from_slice(from.get(range.clone()).ok_or(Short)?),
                None => image[number / 8] |= 1 << (number % 8),
            }
        }
        Ok(image)
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::rows::ColumnType;

    /// A value as it is logged; `None` for NULL.
    type Logged = Option<Vec<u8>>;

    /// A table, and changes of its rows: of each row as it was, and as it is.
    #[derive(Debug, Clone)]
    struct Changes {
        kinds: Vec<ColumnType>,
        rows: Vec<[Vec<Logged>; 2]>,
        /// Which columns an update logs of what came of a row.
        changed: Vec<bool>,
    }

    fn kind() -> impl Strategy<Value = ColumnType> {
        use ColumnType::{Bit, Blob, Double, Integer, Set, Text};
        prop_oneof![
            (0..5_usize).prop_map(|index| Integer([1, 2, 3, 4, 8][index])),
            Just(Double),
            (1..=64_u16).prop_map(Bit),
            Just(Text(1)),
            Just(Text(2)),
            (1..=4_u8).prop_map(Blob),
            (1..=8_u8).prop_map(Set),
        ]
    }

    fn value(kind: ColumnType) -> BoxedStrategy<Logged> {
        let of_length = |length: usize| vec(any::<u8>(), length).boxed();
        let bytes = match kind {
            ColumnType::Integer(bytes) | ColumnType::Set(bytes) => of_length(bytes.into()),
            ColumnType::Double => of_length(8),
            ColumnType::Bit(bits) => of_length(bits.div_ceil(8).into()),
            ColumnType::Text(width) | ColumnType::Blob(width) => vec(any::<u8>(), 0..20)
                .prop_map(move |text| {
                    [&(text.len() as u32).to_le_bytes()[..usize::from(width)], &text].concat()
                })
                .boxed(),
            other => unreachable!("{other:?}"),
        };
        prop_oneof![4 => bytes.prop_map(Some), 1 => Just(None)].boxed()
    }

    fn changes() -> impl Strategy<Value = Changes> {
        vec(kind(), 1..12).prop_flat_map(|kinds| {
            let image = kinds.iter().map(|kind| value(*kind)).collect::<Vec<_>>();
            let rows = vec([image.clone(), image], 1..8);
            let changed = vec(any::<bool>(), kinds.len());
            (Just(kinds), rows, changed).prop_map(|(kinds, rows, changed)| Changes { kinds, rows, changed })
        })
    }

    fn bits(of: impl Iterator<Item = bool>) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (index, bit) in of.enumerate() {
            if index % 8 == 0 {
                bytes.push(0);
            }
            bytes[index / 8] |= u8::from(bit) << (index % 8);
        }
        bytes
    }

    impl Changes {
        fn table(&self) -> Table {
            let column = |kind: &ColumnType| Column::of_tests(*kind);
            let columns = self.kinds.iter().map(column).collect();
            Table {
                schema: b"s".to_vec(),
                name: b"t".to_vec(),
                columns,
                primary_key: Vec::new(),
                key_now: Vec::new(),
            }
        }

        /// An image that has these columns.
        fn image(values: &[Logged], has: &[bool]) -> Vec<u8> {
            let there = || values.iter().zip(has).filter(|(_, has)| **has).map(|(value, _)| value);
            let mut image = bits(there().map(Option::is_none));
            there().flatten().for_each(|bytes| image.extend(bytes));
            image
        }

        /// The body of an event of this kind; of updates the second image has the columns `after`.
        fn event(&self, kind: Kind, after: &[bool]) -> Vec<u8> {
            let all = vec![true; self.kinds.len()];
            let mut body = vec![7, 0, 0, 0, 0, 0, 2, 0];
            if kind.0 >= Kind::WRITE_ROWS.0 {
                // A partition.
                body.extend([5, 0, 1, 9, 0]);
            }
            body.push(self.kinds.len() as u8);
            let change = kind.row_change().unwrap();
            body.extend(bits(all.iter().copied()));
            if change == RowChange::Update {
                body.extend(bits(after.iter().copied()));
            }
            for [before, now] in &self.rows {
                if change != RowChange::Insert {
                    body.extend(Self::image(before, &all));
                }
                match change {
                    RowChange::Insert => body.extend(Self::image(now, &all)),
                    RowChange::Update => body.extend(Self::image(now, after)),
                    RowChange::Delete => {}
                }
            }
            body
        }

        /// What was changed, the last first, from what it became to what it was.
        fn backwards(&self) -> Self {
            let rows = self.rows.iter().rev().map(|[before, after]| [after.clone(), before.clone()]);
            Self { rows: rows.collect(), ..self.clone() }
        }
    }

    fn inverted(table: &Table, kind: Kind, body: &[u8]) -> Result<(Kind, Vec<u8>), Obstacle> {
        let format = Format::of_tests("9.7.0");
        let rows = Rows::parse(kind, body, &format).unwrap();
        let mut out = Vec::new();
        let inverse = invert(kind, rows, table, &format, &mut out)?;
        let read = Rows::parse(inverse, &out, &format).unwrap();
        assert_eq!(read.flags, Rows::STATEMENT_END | Rows::NO_FOREIGN_KEY_CHECKS);
        assert_eq!((read.table, read.columns), (7, table.columns.len()));
        Ok((inverse, out))
    }

    const KINDS: [(Kind, Kind); 6] = [
        (Kind::WRITE_ROWS_V1, Kind::DELETE_ROWS_V1),
        (Kind::UPDATE_ROWS_V1, Kind::UPDATE_ROWS_V1),
        (Kind::DELETE_ROWS_V1, Kind::WRITE_ROWS_V1),
        (Kind::WRITE_ROWS, Kind::DELETE_ROWS),
        (Kind::UPDATE_ROWS, Kind::UPDATE_ROWS),
        (Kind::DELETE_ROWS, Kind::WRITE_ROWS),
    ];

    /// All behind the flags and what the second version has there.
    fn rest(kind: Kind, body: &[u8]) -> Vec<u8> {
        let more = if kind.0 < Kind::WRITE_ROWS.0 { 0 } else { usize::from(body[8]) };
        body[8 + more..].to_vec()
    }

    proptest! {
        #[test]
        fn what_is_turned_around_is_what_happened_backwards(changes in changes()) {
            let (table, all) = (changes.table(), vec![true; changes.kinds.len()]);
            for (kind, right) in KINDS {
                let body = changes.event(kind, &all);
                let (inverse, once) = inverted(&table, kind, &body).unwrap();
                prop_assert_eq!(inverse, right);
                prop_assert_eq!(rest(inverse, &once), rest(inverse, &changes.backwards().event(inverse, &all)));
                let (again, twice) = inverted(&table, inverse, &once).unwrap();
                prop_assert_eq!(again, kind);
                prop_assert_eq!(rest(kind, &twice), rest(kind, &body));
            }
        }

        #[test]
        fn what_did_not_change_need_not_be_logged_twice(changes in changes()) {
            let (table, all) = (changes.table(), vec![true; changes.kinds.len()]);
            // What is not logged did not change.
            let mut whole = changes.clone();
            for [before, after] in &mut whole.rows {
                let columns = after.iter_mut().zip(before).zip(&whole.changed);
                columns.filter(|(_, is_changed)| !**is_changed).for_each(|((after, before), _)| after.clone_from(before));
            }
            for kind in [Kind::UPDATE_ROWS_V1, Kind::UPDATE_ROWS] {
                let (_, from_part) = inverted(&table, kind, &changes.event(kind, &changes.changed)).unwrap();
                let (_, from_whole) = inverted(&table, kind, &whole.event(kind, &all)).unwrap();
                prop_assert_eq!(from_part, from_whole);
            }
        }

        #[test]
        fn damaged_rows_never_panic(changes in changes(), cut in any::<prop::sample::Index>(), bit: u8) {
            let table = changes.table();
            for (kind, _) in KINDS {
                let mut body = changes.event(kind, &changes.changed);
                let at = cut.index(body.len());
                body[at] ^= 1 << (bit % 8);
                let format = Format::of_tests("9.7.0");
                for body in [&body[..], &body[..at]] {
                    if let Ok(rows) = Rows::parse(kind, body, &format) {
                        let _ = invert(kind, rows, &table, &format, &mut Vec::new());
                    }
                }
            }
        }
    }

    /// Two numbers, of which the first is the key; the events have the columns that the bits say.
    #[test]
    fn what_lacks_something_needed_is_refused() {
        let format = Format::of_tests("9.7.0");
        let kinds = vec![ColumnType::Integer(1); 2];
        let of_key = |primary_key: &[usize]| Table {
            primary_key: primary_key.to_vec(),
            ..Changes { kinds: kinds.clone(), rows: Vec::new(), changed: Vec::new() }.table()
        };
        let (known, unknown) = (of_key(&[0]), of_key(&[]));
        let says = |table: &Table, kind: Kind, before: u8, after: u8, rows: &[u8]| {
            let (before, after) = ([before], [after]);
            let change = kind.row_change().unwrap();
            let is_partial = kind == Kind::PARTIAL_UPDATE_ROWS;
            let rows = Rows {
                change,
                table: 7,
                flags: 0,
                columns: 2,
                before: &before,
                after: &after,
                is_partial,
                rows,
            };
            let mut out = Vec::new();
            match invert(kind, rows, table, &format, &mut out) {
                Ok(_) => "fine".to_owned(),
                Err(Obstacle::Lacks(what)) => what,
                Err(Obstacle::Malformed) => "malformed".to_owned(),
            }
        };
        let (insert, update, delete) = (Kind::WRITE_ROWS, Kind::UPDATE_ROWS, Kind::DELETE_ROWS);
        let went = "the log does not hold the column ?2 of rows that were deleted";
        let changed = "the log does not hold the column ?2 as they were before rows were changed";
        let came = "the log does not hold the column ?2 of rows that came in, nor does it tell a primary key";
        for (table, kind, before, after, rows, right) in [
            (&known, insert, 3, 3, &[0, 1, 2][..], "fine"),
            (&known, insert, 1, 1, &[0, 1], "fine"),
            (&unknown, insert, 1, 1, &[0, 1], came),
            (&known, delete, 1, 1, &[0, 1], went),
            (&known, update, 1, 2, &[0, 1, 0, 9], changed),
            (&known, update, 1, 1, &[0, 1, 0, 9], "fine"),
            (&unknown, update, 3, 2, &[0, 1, 2, 0, 9], "fine"),
            (&known, update, 3, 3, &[0, 1, 2, 0, 9], "malformed"),
            (&known, Kind::PRE_GA_WRITE_ROWS, 3, 3, &[0, 1, 2], "rows in the format of 5.1 before 5.1.16"),
        ] {
            assert_eq!(says(table, kind, before, after, rows), right, "{kind} {before} {after}");
        }
    }
}
