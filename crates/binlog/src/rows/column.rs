//! Types of columns, as a log describes them. Sources: MySQL `libs/mysql/binlog/event/rows_event.h` (Table_map_event), MariaDB
//! `sql/log_event.h`, `Field::save_field_metadata()` of either.

use super::address::Address;
use super::decimal;
use crate::log::{Cursor, Format, Short};

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// What its values are.
    pub kind: ColumnType,
    /// Whether a value may be NULL.
    pub is_nullable: bool,
    /// Whether the log may tell its collation.
    pub(super) has_collation: bool,
    /// Its name, where the log tells it.
    pub name: Option<Vec<u8>>,
    /// Whether its numbers have no sign, where the log tells it.
    pub is_unsigned: Option<bool>,
    /// The number of the collation of its text, where the log tells it; 63 is that of bytes.
    pub collation: Option<u16>,
    /// Whether its values are computed from others, so that no statement may give them; no log tells.
    pub is_generated: bool,
    /// What it is on the log's server, where the one that its definition is of keeps it as text.
    pub(crate) address: Option<Address>,
    /// Whether the server that its definition is of keeps it as a VECTOR, which no text is compared with.
    pub(crate) is_vector: bool,
    /// The words of an ENUM or a SET, where the log tells them.
    pub words: Vec<Vec<u8>>,
    /// How many numbers a VECTOR of MySQL has at most, where the log tells it.
    pub(super) dimensions: Option<u64>,
}

/// What the values of a column are, and how many bytes they take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnType {
    /// A whole number of so many bytes.
    Integer(u8),
    /// FLOAT.
    Float,
    /// DOUBLE.
    Double,
    /// DECIMAL: digits in all, and behind the point.
    Decimal(u8, u8),
    /// BIT of so many bits.
    Bit(u16),
    /// YEAR.
    Year,
    /// DATE.
    Date,
    /// TIME of before MySQL 5.6.4 and MariaDB 10.1.
    OldTime,
    /// DATETIME of before these.
    OldDateTime,
    /// TIMESTAMP of before these.
    OldTimestamp,
    /// TIME with so many digits of the second's fraction.
    Time(u8),
    /// DATETIME with so many.
    DateTime(u8),
    /// TIMESTAMP with so many.
    Timestamp(u8),
    /// CHAR, BINARY, and what MariaDB keeps as such, behind a length of so many bytes; and its longest value. What values are filled up
    /// with is not logged.
    Char(u8, u16),
    /// VARCHAR, VARBINARY, and MariaDB's VECTOR, behind a length of so many bytes.
    Text(u8),
    /// BLOB or TEXT behind a length of so many bytes.
    Blob(u8),
    /// Either of MariaDB that is compressed, behind a length of so many bytes.
    Compressed(u8),
    /// JSON of MySQL, behind a length of so many bytes.
    Json(u8),
    /// A geometry, behind a length of so many bytes.
    Geometry(u8),
    /// VECTOR of MySQL, behind a length of so many bytes.
    Vector(u8),
    /// ENUM, as a number of so many bytes.
    Enum(u8),
    /// SET, as bits in so many bytes.
    Set(u8),
    /// NULL.
    Null,
}

/// How many bytes the values of a column take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Width {
    /// All the same.
    Fixed(u32),
    /// As many as the value says first, in so many bytes, which come on top.
    Told(u8),
}

/// Numbers of types: `enum_field_types`.
mod number {
    pub(super) const TINY: u8 = 1;
    pub(super) const SHORT: u8 = 2;
    pub(super) const LONG: u8 = 3;
    pub(super) const FLOAT: u8 = 4;
    pub(super) const DOUBLE: u8 = 5;
    pub(super) const NULL: u8 = 6;
    pub(super) const TIMESTAMP: u8 = 7;
    pub(super) const LONGLONG: u8 = 8;
    pub(super) const INT24: u8 = 9;
    pub(super) const DATE: u8 = 10;
    pub(super) const TIME: u8 = 11;
    pub(super) const DATETIME: u8 = 12;
    pub(super) const YEAR: u8 = 13;
    pub(super) const NEWDATE: u8 = 14;
    pub(super) const VARCHAR: u8 = 15;
    pub(super) const BIT: u8 = 16;
    pub(super) const TIMESTAMP2: u8 = 17;
    pub(super) const DATETIME2: u8 = 18;
    pub(super) const TIME2: u8 = 19;
    pub(super) const TYPED_ARRAY: u8 = 20;
    pub(super) const BLOB_COMPRESSED: u8 = 140;
    pub(super) const VARCHAR_COMPRESSED: u8 = 141;
    pub(super) const VECTOR: u8 = 242;
    pub(super) const JSON: u8 = 245;
    pub(super) const NEWDECIMAL: u8 = 246;
    pub(super) const ENUM: u8 = 247;
    pub(super) const SET: u8 = 248;
    pub(super) const TINY_BLOB: u8 = 249;
    pub(super) const MEDIUM_BLOB: u8 = 250;
    pub(super) const LONG_BLOB: u8 = 251;
    pub(super) const BLOB: u8 = 252;
    pub(super) const VAR_STRING: u8 = 253;
    pub(super) const STRING: u8 = 254;
    pub(super) const GEOMETRY: u8 = 255;
}

impl ColumnType {
    /// The type with this number; what belongs to it is taken from the metadata. `None` for one that nobody knows.
    pub(super) fn parse(number: u8, metadata: &mut Cursor<'_>) -> Result<Option<Self>, Short> {
        Ok(Some(match number {
            number::TINY => Self::Integer(1),
            number::SHORT => Self::Integer(2),
            number::INT24 => Self::Integer(3),
            number::LONG => Self::Integer(4),
            number::LONGLONG => Self::Integer(8),
            number::NULL => Self::Null,
            number::YEAR => Self::Year,
            number::DATE | number::NEWDATE => Self::Date,
            number::TIME => Self::OldTime,
            number::DATETIME => Self::OldDateTime,
            number::TIMESTAMP => Self::OldTimestamp,
            number::FLOAT => Self::floating(metadata.u8()?)?,
            number::DOUBLE => Self::floating(metadata.u8()?)?,
            number::TIME2 => Self::Time(fraction(metadata)?),
            number::DATETIME2 => Self::DateTime(fraction(metadata)?),
            number::TIMESTAMP2 => Self::Timestamp(fraction(metadata)?),
            number::NEWDECIMAL => Self::decimal(metadata.u8()?, metadata.u8()?)?,
            number::BIT => {
                let (bits, bytes) = (metadata.u8()?, metadata.u8()?);
                Self::Bit(u16::from(bytes) * 8 + u16::from(bits))
            }
            number::VARCHAR | number::VAR_STRING => Self::Text(length_of(metadata.u16()?)),
            number::VARCHAR_COMPRESSED => Self::Compressed(length_of(metadata.u16()?)),
            number::BLOB | number::TINY_BLOB | number::MEDIUM_BLOB | number::LONG_BLOB => {
                Self::Blob(width(metadata)?)
            }
            number::BLOB_COMPRESSED => Self::Compressed(width(metadata)?),
            number::JSON => Self::Json(width(metadata)?),
            number::GEOMETRY => Self::Geometry(width(metadata)?),
            number::VECTOR => Self::Vector(width(metadata)?),
            number::TYPED_ARRAY => Self::typed_array(metadata)?,
            number::STRING | number::ENUM | number::SET => {
                return Self::string(metadata.u8()?, metadata.u8()?);
            }
            _ => return Ok(None),
        }))
    }

    /// The type of text or bytes that a server keeps in a column which it defines so, of at most so many bytes; `None` for any other.
    pub(super) fn of_text(data_type: &str, most: u64) -> Option<Self> {
        let most = u16::try_from(most);
        Some(match data_type {
            "char" | "binary" => Self::Char(length_of(most.ok()?), most.ok()?),
            "varchar" | "varbinary" | "vector" => Self::Text(length_of(most.ok()?)),
            "tinytext" | "tinyblob" => Self::Blob(1),
            "text" | "blob" => Self::Blob(2),
            "mediumtext" | "mediumblob" => Self::Blob(3),
            "longtext" | "longblob" => Self::Blob(4),
            _ => return None,
        })
    }

    /// The number and the metadata of one of [`Self::of_text`], whose values have at most so many bytes, or of a time.
    pub(super) fn describe(self, most: u16) -> (u8, Vec<u8>) {
        match self {
            Self::Char(..) => {
                let [low, high] = most.to_le_bytes();
                (number::STRING, vec![number::STRING ^ (high & 3) << 4, low])
            }
            Self::Blob(width) => (number::BLOB, vec![width]),
            Self::Vector(width) => (number::VECTOR, vec![width]),
            Self::OldTime => (number::TIME, Vec::new()),
            Self::OldDateTime => (number::DATETIME, Vec::new()),
            Self::OldTimestamp => (number::TIMESTAMP, Vec::new()),
            Self::Time(digits) => (number::TIME2, vec![digits]),
            Self::DateTime(digits) => (number::DATETIME2, vec![digits]),
            Self::Timestamp(digits) => (number::TIMESTAMP2, vec![digits]),
            _ => (number::VARCHAR, most.to_le_bytes().to_vec()),
        }
    }

    /// How many bytes a value takes that is not NULL.
    pub(crate) fn width(self) -> Width {
        Width::Fixed(match self {
            Self::Null => 0,
            Self::Integer(bytes) | Self::Enum(bytes) | Self::Set(bytes) => bytes.into(),
            Self::Float | Self::OldTimestamp => 4,
            Self::Double | Self::OldDateTime => 8,
            Self::Decimal(digits, behind) => decimal::size(digits, behind) as u32,
            Self::Bit(bits) => bits.div_ceil(8).into(),
            Self::Year => 1,
            Self::Date | Self::OldTime => 3,
            Self::Time(digits) => 3 + u32::from(digits.div_ceil(2)),
            Self::DateTime(digits) => 5 + u32::from(digits.div_ceil(2)),
            Self::Timestamp(digits) => 4 + u32::from(digits.div_ceil(2)),
            Self::Char(width, _)
            | Self::Text(width)
            | Self::Blob(width)
            | Self::Compressed(width)
            | Self::Json(width)
            | Self::Geometry(width)
            | Self::Vector(width) => return Width::Told(width),
        })
    }

    /// Whether the log may tell the collation of such a column: MySQL counts vectors among texts, MariaDB geometries (found with 9.7
    /// and 10.11).
    pub(super) fn has_collation(self, is_mariadb: bool) -> bool {
        match self {
            Self::Char(..) | Self::Text(_) | Self::Blob(_) | Self::Compressed(_) | Self::Vector(_) => true,
            Self::Geometry(_) => is_mariadb,
            _ => false,
        }
    }

    fn floating(bytes: u8) -> Result<Self, Short> {
        match bytes {
            4 => Ok(Self::Float),
            8 => Ok(Self::Double),
            _ => Err(Short),
        }
    }

    fn decimal(digits: u8, behind: u8) -> Result<Self, Short> {
        // More than 81 do not fit the server's own buffers: DECIMAL_BUFF_LENGTH.
        if digits > 81 || behind > digits { Err(Short) } else { Ok(Self::Decimal(digits, behind)) }
    }

    /// What a multi-valued index of MySQL holds, in a column that nobody sees: JSON behind the type of its parts.
    fn typed_array(metadata: &mut Cursor<'_>) -> Result<Self, Short> {
        let of = metadata.u8()?;
        Self::parse(of, metadata)?;
        Ok(Self::Json(4))
    }

    /// CHAR, BINARY, ENUM and SET have one number; the first byte tells the type, with two bits of the length of a CHAR upside
    /// down in it since 5.1.19.
    fn string(first: u8, second: u8) -> Result<Option<Self>, Short> {
        let (real, length) = match first {
            _ if first & 0x30 != 0x30 => {
                (first | 0x30, u16::from(second) | (u16::from(first & 0x30 ^ 0x30) << 4))
            }
            _ => (first, u16::from(second)),
        };
        Ok(Some(match real {
            number::ENUM if (1..=2).contains(&second) => Self::Enum(second),
            number::SET if (1..=8).contains(&second) => Self::Set(second),
            number::STRING => Self::Char(length_of(length), length),
            number::VAR_STRING | number::VARCHAR => Self::Text(length_of(length)),
            _ => return Ok(None),
        }))
    }
}

/// How many bytes the length of a value takes that has at most so many.
fn length_of(longest: u16) -> u8 {
    if longest > 255 { 2 } else { 1 }
}

fn width(metadata: &mut Cursor<'_>) -> Result<u8, Short> {
    let width = metadata.u8()?;
    if (1..=4).contains(&width) { Ok(width) } else { Err(Short) }
}

fn fraction(metadata: &mut Cursor<'_>) -> Result<u8, Short> {
    let digits = metadata.u8()?;
    if digits <= 6 { Ok(digits) } else { Err(Short) }
}

/// What the name of a column begins with that a server made for itself.
pub(super) const HIDDEN: &[u8] = b"DB_ROW_HASH_";

impl Column {
    /// Of which no more is known.
    pub(super) fn new(kind: ColumnType, is_nullable: bool, has_collation: bool) -> Self {
        Self {
            kind,
            is_nullable,
            has_collation,
            name: None,
            is_unsigned: None,
            collation: None,
            is_generated: false,
            is_vector: false,
            address: None,
            words: Vec::new(),
            dimensions: None,
        }
    }

    /// Whether its values may be bytes and no text, for all that the log tells.
    pub(super) fn may_be_bytes(&self) -> bool {
        const BYTES: u16 = 63;
        matches!(self.collation, None | Some(BYTES))
    }

    /// Whether it may be an UUID, an INET6 or an INET4, for all that the log tells.
    pub(super) fn may_be_address(&self, format: &Format) -> bool {
        let has_length = matches!(self.kind, ColumnType::Char(_, 4 | 16));
        has_length && self.may_be_bytes() && format.is_mariadb() && format.is_at_least((10, 5))
    }

    /// Of this type, without a name.
    #[cfg(test)]
    pub(crate) fn of_tests(kind: ColumnType) -> Self {
        Self::new(kind, true, false)
    }

    /// Whether the log tells of its sign.
    pub(super) fn is_number(&self) -> bool {
        use ColumnType::{Decimal, Double, Float, Integer, Year};
        matches!(self.kind, Integer(_) | Decimal(..) | Float | Double | Year)
    }

    /// Whether it is one that a server made for itself: MariaDB's for a UNIQUE key over a long column. `sql/table.cc`,
    /// `DB_ROW_HASH_`.
    pub(crate) fn is_hidden(&self) -> bool {
        self.name.as_ref().is_some_and(|name| name.starts_with(HIDDEN))
    }

    /// Whether its values are words of a list.
    pub(super) fn has_words(&self) -> bool {
        matches!(self.kind, ColumnType::Enum(_) | ColumnType::Set(_))
    }
}

#[cfg(test)]
mod tests {
    use super::super::value::Value;
    use super::*;

    #[test]
    fn values_are_as_wide_as_they_are_read() {
        use ColumnType::*;
        let mut kinds = vec![Null, Float, Double, Year, Date, OldTime, OldDateTime, OldTimestamp];
        kinds.extend([1, 2, 3, 4, 8].map(Integer));
        kinds.extend([1, 2].map(Enum));
        kinds.extend((1..=8).map(Set));
        kinds.extend((0..=6).flat_map(|digits| [Time(digits), DateTime(digits), Timestamp(digits)]));
        kinds.extend((1..=64).map(Bit));
        kinds.extend(
            (1..=65).flat_map(|digits| (0..=digits.min(30)).map(move |behind| Decimal(digits, behind))),
        );
        kinds.extend([1, 2, 3, 4].map(Blob));
        for kind in kinds {
            let bytes = [&[5, 0, 0, 0][..], &[0; 60]].concat();
            let mut at = Cursor::new(&bytes);
            Value::parse(kind, &mut at).unwrap();
            let read = (bytes.len() - at.len()) as u32;
            let width = match kind.width() {
                Width::Fixed(width) => width,
                Width::Told(width) => u32::from(width) + 5,
            };
            assert_eq!(width, read, "{kind:?}");
        }
    }
}
