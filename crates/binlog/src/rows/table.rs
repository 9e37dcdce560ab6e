//! Tables, as a log describes them before their rows.

use drover_db::table::ROW_TIMES;

use crate::event::TableMap;
use crate::log::{Cursor, Format, Short};

use super::column::{Column, ColumnType};
use super::retimed::retimed;

/// A table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Its schema.
    pub schema: Vec<u8>,
    /// Its name.
    pub name: Vec<u8>,
    /// Its columns, in their order.
    pub columns: Vec<Column>,
    /// Which columns its primary key has; none where the log does not tell, or where it has none.
    pub primary_key: Vec<usize>,
    /// Which columns the primary key has that a server has now, where the log tells none. When the log was written it may have been another, or none.
    pub(crate) key_now: Vec<usize>,
}

/// What the log tells of a table beyond types. Numbers as in MySQL `rows_event.h`, `Optional_metadata_field_type`.
pub(super) mod field {
    pub(super) const SIGNS: u8 = 1;
    pub(super) const DEFAULT_COLLATION: u8 = 2;
    pub(super) const COLLATIONS: u8 = 3;
    pub(super) const NAMES: u8 = 4;
    pub(super) const SET_WORDS: u8 = 5;
    pub(super) const ENUM_WORDS: u8 = 6;
    pub(super) const PRIMARY_KEY: u8 = 8;
    pub(super) const PRIMARY_KEY_PREFIXES: u8 = 9;
    pub(super) const WORDS_DEFAULT_COLLATION: u8 = 10;
    pub(super) const WORDS_COLLATIONS: u8 = 11;
    pub(crate) const VECTOR_DIMENSIONS: u8 = 13;
}

impl Table {
    /// Of what the log says.
    ///
    /// # Errors
    /// If it is cut short, or has a type that nobody knows: then its number is in the error.
    pub fn of(map: &TableMap<'_>, format: &Format) -> Result<Self, NotUnderstood> {
        let mut metadata = Cursor::new(map.metadata);
        let mut columns = Vec::with_capacity(map.types.len());
        for (index, &number) in map.types.iter().enumerate() {
            let kind = ColumnType::parse(number, &mut metadata)?.ok_or(NotUnderstood::Type(number))?;
            let is_nullable = map.nullable.get(index / 8).is_some_and(|byte| byte >> (index % 8) & 1 != 0);
            let has_collation = kind.has_collation(format.is_mariadb());
            columns.push(Column::new(kind, is_nullable, has_collation));
        }
        let (schema, name) = (map.schema.to_vec(), map.table.to_vec());
        let mut table = Self { schema, name, columns, primary_key: Vec::new(), key_now: Vec::new() };
        table.learn(map.more)?;
        if let Some((start, end)) = table.period() {
            table.columns[start].is_generated = true;
            table.columns[end].is_generated = true;
        }
        Ok(table)
    }

    /// Which columns tell from when to when a row of a system-versioned table is valid, if they have the
    /// names that MariaDB gives them by itself: then they are the last two. With other names no log tells
    /// that they are such.
    pub(crate) fn period(&self) -> Option<(usize, usize)> {
        let start = self.columns.len().checked_sub(2)?;
        let is = |index: usize, name: &str| {
            let Column { kind, is_nullable, name: its, .. } = &self.columns[index];
            *kind == ColumnType::Timestamp(6) && !is_nullable && its.as_deref() == Some(name.as_bytes())
        };
        (is(start, ROW_TIMES[0]) && is(start + 1, ROW_TIMES[1])).then_some((start, start + 1))
    }

    /// Whether its last columns may be those that MariaDB gives a system-versioned table: not every log has their names.
    pub(crate) fn may_be_versioned(&self) -> bool {
        let is_one = |column: &Column| column.kind == ColumnType::Timestamp(6) && !column.is_nullable;
        self.columns.len() > 2 && self.columns.iter().filter(|column| is_one(column)).count() > 1
    }

    /// Whether it has times in the formats of before MySQL 5.6.4 and MariaDB 10.1. MariaDB may log others as if they were these, and
    /// with as many digits of the second's fraction as no log tells.
    pub(crate) fn has_old_times(&self) -> bool {
        use ColumnType::{OldDateTime, OldTime, OldTimestamp};
        self.columns.iter().any(|column| matches!(column.kind, OldDateTime | OldTime | OldTimestamp))
    }

    /// Whether it has times that are written in another format than the log's for a server that keeps them so.
    pub(crate) fn has_times_unlike(&self, is_former: bool) -> bool {
        self.columns.iter().any(|column| retimed(column.kind, is_former).is_some())
    }

    /// Whether it may have types that other versions of the same vendor keep as text or bytes, or without compression. MariaDB has INET6 from
    /// 10.5 on and VECTOR from 11.7 on, MySQL VECTOR from 9.0 on.
    pub(crate) fn may_have_later_types(&self, format: &Format) -> bool {
        let is_later = |column: &Column| match column.kind {
            // MySQL 5.6 and older have no JSON.
            ColumnType::Vector(_) | ColumnType::Json(_) => true,
            _ if !format.is_mariadb() => false,
            ColumnType::Char(..) => column.may_be_address(format),
            ColumnType::Text(_) => column.may_be_bytes() && format.is_at_least((11, 7)),
            ColumnType::Compressed(_) => true,
            _ => false,
        };
        self.columns.iter().any(is_later)
    }

    /// The columns of the primary key: that of the log, else the one that a server has now.
    pub(crate) fn key(&self) -> &[usize] {
        if self.primary_key.is_empty() { &self.key_now } else { &self.primary_key }
    }

    /// Whether the log tells the columns' names.
    pub fn has_names(&self) -> bool {
        self.columns.iter().all(|column| column.name.is_some())
    }

    fn learn(&mut self, more: &[u8]) -> Result<(), Short> {
        let mut at = Cursor::new(more);
        while !at.is_empty() {
            let kind = at.u8()?;
            let length = packed(&mut at)?;
            let mut value = Cursor::new(at.take(length)?);
            if !self.learn_field(kind, &mut value)? {
                continue;
            }
            // What is left over was meant for columns that are not counted here: then the others' are wrong.
            if !value.is_empty() {
                return Err(Short);
            }
        }
        Ok(())
    }

    /// False for a field of which nothing is needed.
    fn learn_field(&mut self, kind: u8, value: &mut Cursor<'_>) -> Result<bool, Short> {
        match kind {
            field::SIGNS => signs(self.columns_with(Column::is_number), value)?,
            field::DEFAULT_COLLATION => {
                default_collation(self.columns_with(|column| column.has_collation), value)?
            }
            field::WORDS_DEFAULT_COLLATION => default_collation(self.columns_with(Column::has_words), value)?,
            field::COLLATIONS => collations(self.columns_with(|column| column.has_collation), value)?,
            field::WORDS_COLLATIONS => collations(self.columns_with(Column::has_words), value)?,
            field::SET_WORDS => {
                words(self.columns_with(|column| matches!(column.kind, ColumnType::Set(_))), value)?
            }
            field::ENUM_WORDS => {
                words(self.columns_with(|column| matches!(column.kind, ColumnType::Enum(_))), value)?
            }
            field::NAMES => {
                for column in &mut self.columns {
                    let length = packed(value)?;
                    column.name = Some(value.take(length)?.to_vec());
                }
            }
            field::PRIMARY_KEY | field::PRIMARY_KEY_PREFIXES => {
                while !value.is_empty() {
                    let index = packed(value)?;
                    if kind == field::PRIMARY_KEY_PREFIXES {
                        packed(value)?;
                    }
                    self.columns.get(index).ok_or(Short)?;
                    self.primary_key.push(index);
                }
            }
            field::VECTOR_DIMENSIONS => {
                for column in self.columns_with(|column| matches!(column.kind, ColumnType::Vector(_))) {
                    column.dimensions = Some(value.packed()?);
                }
            }
            // What a geometry is, what is hidden.
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn columns_with(&mut self, is: impl Fn(&Column) -> bool) -> impl Iterator<Item = &mut Column> {
        self.columns.iter_mut().filter(move |column| is(column))
    }
}

fn packed(at: &mut Cursor<'_>) -> Result<usize, Short> {
    usize::try_from(at.packed()?).map_err(|_| Short)
}

fn collation(at: &mut Cursor<'_>) -> Result<u16, Short> {
    u16::try_from(at.packed()?).map_err(|_| Short)
}

/// A bit for each of some columns, the highest of a byte first: whether it is UNSIGNED.
fn signs<'a>(columns: impl Iterator<Item = &'a mut Column>, value: &mut Cursor<'_>) -> Result<(), Short> {
    let mut bits = 0;
    for (index, column) in columns.enumerate() {
        bits = if index.is_multiple_of(8) { value.u8()? } else { bits << 1 };
        column.is_unsigned = Some(bits & 0x80 != 0);
    }
    Ok(())
}

/// One collation for all of some columns, but for those that are named by their number among them.
fn default_collation<'a>(
    columns: impl Iterator<Item = &'a mut Column>,
    value: &mut Cursor<'_>,
) -> Result<(), Short> {
    let mut columns: Vec<_> = columns.collect();
    let default = collation(value)?;
    columns.iter_mut().for_each(|column| column.collation = Some(default));
    while !value.is_empty() {
        let index = packed(value)?;
        columns.get_mut(index).ok_or(Short)?.collation = Some(collation(value)?);
    }
    Ok(())
}

fn collations<'a>(
    columns: impl Iterator<Item = &'a mut Column>,
    value: &mut Cursor<'_>,
) -> Result<(), Short> {
    for column in columns {
        column.collation = Some(collation(value)?);
    }
    Ok(())
}

fn words<'a>(columns: impl Iterator<Item = &'a mut Column>, value: &mut Cursor<'_>) -> Result<(), Short> {
    for column in columns {
        let count = packed(value)?;
        for _ in 0..count {
            let length = packed(value)?;
            column.words.push(value.take(length)?.to_vec());
        }
    }
    Ok(())
}

/// Why a description is of no use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotUnderstood {
    /// It is cut short, or holds what cannot be.
    Short,
    /// A column is of this type.
    Type(u8),
}

impl std::fmt::Display for NotUnderstood {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Short => f.write_str("are not described to the end"),
            Self::Type(number) => write!(f, "are of type {number}, which nobody knows"),
        }
    }
}

impl From<Short> for NotUnderstood {
    fn from(_: Short) -> Self {
        Self::Short
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table of a VECTOR and a VARCHAR(40); `more` is the optional metadata.
    fn table(more: &[u8]) -> Result<Table, NotUnderstood> {
        let head = b"\x07\0\0\0\0\0\x01\0\x01d\0\x01t\0\x02\xf2\x0f\x03\x04\x28\0\x03";
        let (body, format) = ([head, more].concat(), Format::of_tests("9.7.0"));
        Table::of(&TableMap::parse(&body, &format).unwrap(), &format)
    }

    #[test]
    fn columns_are_counted_as_the_server_does() {
        for told in [&b"\x03\x02\x3f\x08"[..], b"\x02\x03\x08\0\x3f"] {
            let collations: Vec<_> =
                table(told).unwrap().columns.iter().map(|column| column.collation).collect();
            assert_eq!(collations, [Some(63), Some(8)], "{told:?}");
        }
        // One collation, one sign, one name too many.
        for told in [&b"\x03\x03\x3f\x08\x2d"[..], b"\x01\x01\x80", b"\x04\x06\x01a\x01b\x01c"] {
            assert_eq!(table(told), Err(NotUnderstood::Short), "{told:?}");
        }
    }
}
