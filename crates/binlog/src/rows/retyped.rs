//! Rows for a server that keeps some of their columns as another type than the server of the log, since it has not that type: they are
//! described and written as that server keeps them. What a type becomes is what `drover copy` makes of it.
//!
//! Where that server keeps no history of a system-versioned table, only what happens to the rows that are valid now is left. Where it
//! does, rows that are valid until further notice are so until its own last TIMESTAMP.

use crate::event::{Rows, TableMap, rows_masks_start};
use crate::log::{Cursor, Format, Kind, RowChange, Short, push_packed};

use super::column::{Column, ColumnType};
use super::converted::{Conversion, Way};
use super::defined::is_of;
use super::image::{Field, Row, RowReader, is_set};
use super::kept::{Kept, KeptColumn, KeptHistory};
use super::retimed::{push_retimed, retimed};
use super::table::{Table, field};
use super::value::Value;

/// How rows of a table are written.
#[derive(Debug)]
pub(crate) struct Retyped {
    /// The table as it is written.
    pub(crate) table: Table,
    types: Vec<u8>,
    metadata: Vec<u8>,
    nullable: Vec<u8>,
    /// How many numbers each column of MySQL's type VECTOR has.
    dimensions: Vec<u64>,
    /// What becomes of the values of each column of the log.
    becomes: Vec<Becomes>,
    /// Which column of the log tells until when a row is valid, where that is not kept.
    until: Option<usize>,
}

/// What becomes of a value that is not NULL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Becomes {
    /// The same bytes.
    Same,
    /// Nothing.
    Gone,
    /// A value of another type.
    Other(Conversion),
    /// The same time as one of this type.
    Retimed(ColumnType),
    /// The time until which a row is valid: where that is the log's last one, the server's.
    Until { never: [u8; 7], is: [u8; 7] },
}

/// The last TIMESTAMP(6) as rows hold it, before MariaDB 11.5 and from there on.
const NEVER: [[u8; 7]; 2] =
    [[0x7f, 0xff, 0xff, 0xff, 0x0f, 0x42, 0x3f], [0xff, 0xff, 0xff, 0xff, 0x0f, 0x42, 0x3f]];

/// Why a value cannot be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Untellable {
    /// It is cut short, or holds what cannot be.
    Damaged,
    /// In words.
    Because(String),
}

impl From<Short> for Untellable {
    fn from(_: Short) -> Self {
        Self::Damaged
    }
}

impl Retyped {
    /// `None` if the rows can be sent as they are.
    pub(crate) fn of(map: &TableMap<'_>, table: &Table, kept: &Kept, format: &Format) -> Option<Self> {
        // Before 5.1.4 a table's number was shorter, and no server had such types.
        if kept.columns.is_empty() || format.post_header(Kind::TABLE_MAP) == Some(6) {
            return None;
        }
        let way = kept.way_from(format);
        let period = period(table, kept, way);
        let mut retyped = Self {
            table: Table {
                columns: Vec::new(),
                primary_key: Vec::new(),
                key_now: Vec::new(),
                ..table.clone()
            },
            types: Vec::new(),
            metadata: Vec::new(),
            nullable: Vec::new(),
            dimensions: Vec::new(),
            becomes: Vec::new(),
            until: period.map(|(_, end)| end),
        };
        let mut columns = kept.columns.iter();
        let mut metadata = Cursor::new(map.metadata);
        for (index, (column, &number)) in table.columns.iter().zip(map.types).enumerate() {
            let mut described = metadata;
            ColumnType::parse(number, &mut metadata).ok()?;
            let described = described.take(described.len() - metadata.len()).ok()?;
            if period.is_some_and(|(start, end)| index == start || index == end) {
                retyped.becomes.push(Becomes::Gone);
                continue;
            }
            retyped.push(column, (number, described), columns.next(), way);
        }
        if let Some((until, becomes)) = kept.history.and_then(|history| ends(history, table, format)) {
            retyped.becomes[until] = becomes;
        }
        let is_same = retyped.becomes.iter().all(|becomes| *becomes == Becomes::Same);
        if is_same { None } else { Some(retyped) }
    }

    /// Adds a column of the log, with its number and metadata, and the column that it goes into.
    fn push(
        &mut self,
        column: &Column,
        (number, described): (u8, &[u8]),
        kept: Option<&KeptColumn>,
        way: Way,
    ) {
        let index = self.table.columns.len();
        if index.is_multiple_of(8) {
            self.nullable.push(0);
        }
        self.nullable[index / 8] |= u8::from(column.is_nullable) << (index % 8);
        let time = kept.and_then(|kept| retimed(column.kind, kept.has_former_times));
        let conversion = kept.and_then(|kept| Conversion::of(column, kept, way));
        let logged = (number, described.to_vec());
        let (kind, (number, described), becomes) = match (time, conversion) {
            (Some(kind), _) => (kind, kind.describe(0), Becomes::Retimed(kind)),
            (None, Some(to)) if to.describe() != logged => (to.kind, to.describe(), Becomes::Other(to)),
            _ => (column.kind, logged, Becomes::Same),
        };
        let address = column.address.filter(|_| becomes == Becomes::Same);
        if matches!(kind, ColumnType::Vector(_)) {
            self.dimensions.push(kept.map_or(0, |kept| kept.most / VECTOR_NUMBER));
        }
        self.types.push(number);
        self.metadata.extend(described);
        self.becomes.push(becomes);
        self.table.columns.push(Column { kind, address, ..column.clone() });
    }

    /// The body of the event that describes the table.
    pub(crate) fn describe(&self, map: &TableMap<'_>) -> Vec<u8> {
        let mut body = map.id.to_le_bytes()[..6].to_vec();
        body.extend_from_slice(&[1, 0]); // flags, as servers set them
        for name in [map.schema, map.table] {
            push_packed(name.len(), &mut body);
            body.extend_from_slice(name);
            body.push(0);
        }
        push_packed(self.types.len(), &mut body);
        body.extend_from_slice(&self.types);
        push_packed(self.metadata.len(), &mut body);
        body.extend_from_slice(&self.metadata);
        body.extend_from_slice(&self.nullable);
        // MySQL takes vectors only of a table of which this is told (`rows_event.h`, `Optional_metadata_field_type`; found with 9.7).
        if !self.dimensions.is_empty() {
            let mut dimensions = Vec::new();
            for &count in &self.dimensions {
                push_packed(usize::try_from(count).unwrap_or(usize::MAX), &mut dimensions);
            }
            body.push(field::VECTOR_DIMENSIONS);
            push_packed(dimensions.len(), &mut body);
            body.extend_from_slice(&dimensions);
        }
        body
    }

    /// Whether the column tells from when or until when a row is valid, and is left out or written as the target has it.
    pub(crate) fn is_of_history(&self, index: usize) -> bool {
        matches!(self.becomes.get(index), Some(Becomes::Gone | Becomes::Until { .. }))
    }

    /// Whether events of this kind can be written anew: neither those of before 5.1 nor what tells only the changes of a document.
    pub(crate) fn rewrites(kind: Kind) -> bool {
        [RowChange::Insert, RowChange::Update, RowChange::Delete]
            .into_iter()
            .any(|change| of_change(kind, change) == kind)
    }

    /// The events that do what an event of rows of `table`, the log's, does; none if it only writes history. Only the last says that a
    /// statement ends, if this one does.
    pub(crate) fn rewrite(
        &self,
        table: &Table,
        kind: Kind,
        body: &[u8],
        format: &Format,
    ) -> Result<Vec<(Kind, Vec<u8>)>, Untellable> {
        let rows = Rows::parse(kind, body, format)?;
        let head = body.get(..rows_masks_start(kind, body, format)?).ok_or(Short)?;
        let (mut reader, mut row) = (RowReader::new(table, rows)?, Row::default());
        let mut events: Vec<(Kind, Vec<u8>)> = Vec::new();
        while reader.next(&mut row)? {
            let Some(change) = self.change(rows.change, &row) else { continue };
            let kind = of_change(kind, change);
            if events.last().is_none_or(|(last, _)| *last != kind) {
                events.push((kind, self.begin(head, change, &rows)));
            }
            let Some((_, event)) = events.last_mut() else { continue };
            let spans = reader.spans();
            if change != RowChange::Insert {
                let image = rows.rows.get(spans.before.clone()).ok_or(Short)?;
                self.push_image(table, &row.before, rows.before, image, event)?;
            }
            if change != RowChange::Delete {
                let image = rows.rows.get(spans.after.clone()).ok_or(Short)?;
                self.push_image(table, &row.after, rows.after, image, event)?;
            }
        }
        if rows.flags & Rows::STATEMENT_END != 0
            && let Some((_, event)) = events.last_mut()
        {
            event[FLAGS] |= Rows::STATEMENT_END as u8;
        }
        Ok(events)
    }

    /// What happens to a row where no history is kept.
    fn change(&self, change: RowChange, row: &Row<'_>) -> Option<RowChange> {
        let Some(until) = self.until else { return Some(change) };
        let is_valid = |fields: &[Field<'_>]| match fields.get(until) {
            Some(Field::Value(Value::Timestamp(time))) => time.is_unending(),
            Some(Field::Value(Value::Integer(number, _))) => *number == -1,
            // What is not told is as it was.
            _ => true,
        };
        match (change, is_valid(&row.before), is_valid(&row.after)) {
            (RowChange::Insert, _, true) | (RowChange::Update, false, true) => Some(RowChange::Insert),
            (RowChange::Delete, true, _) | (RowChange::Update, true, false) => Some(RowChange::Delete),
            (RowChange::Update, true, true) => Some(RowChange::Update),
            _ => None,
        }
    }

    /// What comes before the rows.
    fn begin(&self, head: &[u8], change: RowChange, rows: &Rows<'_>) -> Vec<u8> {
        let mut event = head.to_vec();
        if let Some(flags) = event.get_mut(FLAGS) {
            *flags &= !(Rows::STATEMENT_END as u8);
        }
        push_packed(self.types.len(), &mut event);
        if change != RowChange::Insert {
            self.push_present(rows.before, &mut event);
        }
        if change != RowChange::Delete {
            self.push_present(rows.after, &mut event);
        }
        event
    }

    /// Writes a bit for each column that the target has: whether the rows hold it.
    fn push_present(&self, present: &[u8], out: &mut Vec<u8>) {
        let left = (0..self.becomes.len()).filter(|&index| self.becomes[index] != Becomes::Gone);
        push_bits(left.map(|index| is_set(present, index)), out);
    }

    fn push_image(
        &self,
        table: &Table,
        fields: &[Field<'_>],
        present: &[u8],
        image: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Untellable> {
        let mut values = Vec::with_capacity(fields.len());
        table.values_in(fields, present, image, &mut values)?;
        values.retain(|&(index, _)| self.becomes[index] != Becomes::Gone);
        push_bits(values.iter().map(|(_, range)| range.is_none()), out);
        for (index, range) in values {
            let Some(range) = range else { continue };
            match (self.becomes[index], &fields[index]) {
                (Becomes::Other(conversion), Field::Value(value)) => {
                    conversion.push(value, out).map_err(|why| match why {
                        Untellable::Because(why) => {
                            Untellable::Because(named(&table.columns[index], index, &why))
                        }
                        damaged => damaged,
                    })?;
                }
                (Becomes::Retimed(to), Field::Value(value)) => {
                    let bytes = image.get(range).ok_or(Short)?;
                    if !push_retimed(value, bytes, to, out) {
                        return Err(Untellable::Damaged);
                    }
                }
                (becomes, _) => {
                    let bytes = image.get(range).ok_or(Short)?;
                    match becomes {
                        Becomes::Until { never, is } if bytes == never => out.extend_from_slice(&is),
                        _ => out.extend_from_slice(bytes),
                    }
                }
            }
        }
        Ok(())
    }
}

/// The bytes of a number of a VECTOR.
pub(super) const VECTOR_NUMBER: u64 = 4;

/// Where the flags are in the body of an event of rows.
const FLAGS: usize = 6;

fn named(column: &Column, index: usize, why: &str) -> String {
    match &column.name {
        Some(name) => format!("column {}: {why}", String::from_utf8_lossy(name)),
        None => format!("column {}: {why}", index + 1),
    }
}

/// Which column tells until when a row is valid, and what becomes of it, where the log's server and the one that is to take the rows have
/// different last TIMESTAMPs.
fn ends(history: KeptHistory, table: &Table, format: &Format) -> Option<(usize, Becomes)> {
    let ended_later = format.is_at_least((11, 5));
    let until = history.until.unwrap_or(table.columns.len().checked_sub(1)?);
    let is_time = table.columns.get(until)?.kind == ColumnType::Timestamp(6);
    let [never, is] = [ended_later, history.ends_later?].map(|later| NEVER[usize::from(later)]);
    (format.is_mariadb() && is_time && never != is).then_some((until, Becomes::Until { never, is }))
}

/// The columns that tell from when to when a row is valid, where the table lacks them that takes the rows: two of one type which are
/// never NULL. Where the log does not name columns, those without which all others are of the table's types; a server's own are the last.
pub(super) fn period(table: &Table, kept: &Kept, way: Way) -> Option<(usize, usize)> {
    if kept.history.is_some() {
        return None;
    }
    let columns = &table.columns;
    let lacks = |index: &usize| {
        let name = columns[*index].name.as_deref().unwrap_or_default();
        !kept.columns.iter().any(|kept| kept.name.as_bytes().eq_ignore_ascii_case(name))
    };
    let is_one = |index: &usize| {
        let column = &columns[*index];
        !column.is_nullable && matches!(column.kind, ColumnType::Timestamp(6) | ColumnType::Integer(8))
    };
    let of_one_type = |&(start, end): &(usize, usize)| columns[start].kind == columns[end].kind;
    if table.has_names() {
        let lacking: Vec<_> =
            (0..columns.len()).filter(lacks).filter(|&index| !columns[index].is_hidden()).collect();
        let &[start, end] = &lacking[..] else { return None };
        return Some((start, end)).filter(|pair| is_one(&start) && is_one(&end) && of_one_type(pair));
    }
    if columns.len() != kept.columns.len() + 2 {
        return None;
    }
    let ones: Vec<_> = (0..columns.len()).filter(is_one).collect();
    let pairs =
        ones.iter().enumerate().flat_map(|(at, &start)| ones[at + 1..].iter().map(move |&end| (start, end)));
    let fits = |&(start, end): &(usize, usize)| {
        let rest = columns.iter().enumerate().filter(|(index, _)| *index != start && *index != end);
        rest.zip(&kept.columns).all(|((_, column), kept)| {
            is_of(column.kind, &kept.data_type) || Conversion::of(column, kept, way).is_some()
        })
    };
    pairs.filter(of_one_type).rfind(fits)
}

fn push_bits(bits: impl Iterator<Item = bool>, out: &mut Vec<u8>) {
    let start = out.len();
    for (index, bit) in bits.enumerate() {
        if index.is_multiple_of(8) {
            out.push(0);
        }
        out[start + index / 8] |= u8::from(bit) << (index % 8);
    }
}

/// The kind of event, of the same version, for another change.
fn of_change(kind: Kind, change: RowChange) -> Kind {
    let is_first = matches!(kind, Kind::WRITE_ROWS_V1 | Kind::UPDATE_ROWS_V1 | Kind::DELETE_ROWS_V1);
    match (change, is_first) {
        (RowChange::Insert, true) => Kind::WRITE_ROWS_V1,
        (RowChange::Update, true) => Kind::UPDATE_ROWS_V1,
        (RowChange::Delete, true) => Kind::DELETE_ROWS_V1,
        (RowChange::Insert, false) => Kind::WRITE_ROWS,
        (RowChange::Update, false) => Kind::UPDATE_ROWS,
        (RowChange::Delete, false) => Kind::DELETE_ROWS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format() -> Format {
        Format::of_tests("10.11.6-MariaDB")
    }

    /// `t` of INT, a column that logs 16 bytes, a compressed VARCHAR(40), and times from when and until when a row is valid.
    const MAP: &[u8] =
        b"\x07\0\0\0\0\0\x01\0\x01d\0\x01t\0\x05\x03\xfe\x8d\x11\x11\x06\xfe\x10\x29\0\x06\x06\x06";

    fn kept(columns: &[(&str, &str, u64)]) -> Kept {
        let column = |&(name, data_type, most): &(&str, &str, u64)| KeptColumn {
            is_ascii: true,
            ..KeptColumn::of_tests(name, data_type, most)
        };
        Kept { columns: columns.iter().map(column).collect(), ..Kept::default() }
    }

    const UNENDING: [u8; 7] = [0x7f, 0xff, 0xff, 0xff, 0x0f, 0x42, 0x3f];
    const ENDED: [u8; 7] = [0x60, 0, 0, 0, 0, 0, 0];

    fn image(id: u8, until: [u8; 7]) -> Vec<u8> {
        let mut image = vec![0, id, 0, 0, 0, 2, 0xab, 0xcd, 3, 0, b'h', b'i'];
        image.extend([&ENDED[..], &until[..]].concat());
        image
    }

    #[test]
    fn rows_go_into_columns_of_other_types_without_their_history() {
        let format = format();
        let map = TableMap::parse(MAP, &format).unwrap();
        let table = Table::of(&map, &format).unwrap();
        let target = kept(&[("id", "int", 0), ("u", "char", 36), ("c", "varchar", 40)]);
        let retyped = Retyped::of(&map, &table, &target, &format).unwrap();
        let described = retyped.describe(&map);
        let written = TableMap::parse(&described, &format).unwrap();
        assert_eq!((written.id, written.schema, written.table), (7, &b"d"[..], &b"t"[..]));
        let as_kept = Table::of(&written, &format).unwrap();
        let kinds: Vec<_> = as_kept.columns.iter().map(|column| column.kind).collect();
        assert_eq!(kinds, [ColumnType::Integer(4), ColumnType::Char(1, 36), ColumnType::Text(1)]);
        assert_eq!(retyped.table.columns.iter().map(|column| column.kind).collect::<Vec<_>>(), kinds);

        // One row is changed, one deleted: an update of when it is valid.
        let images = [image(1, UNENDING), image(1, UNENDING), image(2, UNENDING), image(2, ENDED)].concat();
        let body = [&b"\x07\0\0\0\0\0\x01\0\x05\x1f\x1f"[..], &images].concat();
        let events = retyped.rewrite(&table, Kind::UPDATE_ROWS_V1, &body, &format).unwrap();
        let seen: Vec<_> = events
            .iter()
            .map(|(kind, body)| {
                let rows = Rows::parse(*kind, body, &format).unwrap();
                let (mut reader, mut row) = (RowReader::new(&as_kept, rows).unwrap(), Row::default());
                assert!(reader.next(&mut row).unwrap());
                let text = |fields: &[Field<'_>]| format!("{fields:?}");
                let seen = (rows.change, rows.flags, text(&row.before), text(&row.after));
                assert!(!reader.next(&mut row).unwrap());
                seen
            })
            .collect();
        let row = |id| {
            let uuid = Value::Bytes(b"abcd0000-0000-0000-0000-000000000000");
            format!("{:?}", [Value::Integer(id, 4), uuid, Value::Bytes(b"hi")].map(Field::Value))
        };
        let none = "[]".to_owned();
        let expected =
            [(RowChange::Update, 0, row(1), row(1)), (RowChange::Delete, Rows::STATEMENT_END, row(2), none)];
        assert_eq!(seen, expected);

        // What was valid before comes in as history.
        let body = [&b"\x07\0\0\0\0\0\x01\0\x05\x1f"[..], &image(1, ENDED)].concat();
        assert_eq!(retyped.rewrite(&table, Kind::WRITE_ROWS_V1, &body, &format), Ok(Vec::new()));
    }

    #[test]
    fn rows_that_fit_are_left_as_they_are() {
        let format = format();
        let map = TableMap::parse(MAP, &format).unwrap();
        let table = Table::of(&map, &format).unwrap();
        let mut same = kept(&[
            ("id", "int", 0),
            ("u", "uuid", 0),
            ("c", "int", 0),
            ("s", "timestamp", 0),
            ("e", "timestamp", 0),
        ]);
        assert!(Retyped::of(&map, &table, &same, &format).is_none());
        // With a history of its own it does not show when rows are valid.
        same.columns.truncate(3);
        same.columns[2].data_type = "varchar".into();
        let until = |kept: &Kept| Retyped::of(&map, &table, kept, &format).and_then(|retyped| retyped.until);
        assert_eq!(until(&same), Some(4));
        same.history = Some(KeptHistory::AS_LOGGED);
        assert_eq!(until(&same), None);
        assert!(Retyped::of(&map, &table, &Kept::default(), &format).is_none());
    }

    #[test]
    fn types_are_described_as_they_are_read() {
        for (data_type, most) in [
            ("char", 36),
            ("char", 1020),
            ("varchar", 39),
            ("varchar", 300),
            ("text", 65535),
            ("longtext", 0),
        ] {
            let kind = ColumnType::of_text(data_type, most).unwrap();
            let (number, metadata) = kind.describe(most as u16);
            assert_eq!(ColumnType::parse(number, &mut Cursor::new(&metadata)), Ok(Some(kind)), "{data_type}");
        }
    }
}
