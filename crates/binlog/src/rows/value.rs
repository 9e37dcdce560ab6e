//! Values of rows.

use std::io::Read as _;

use crate::log::{Cursor, Short};

use super::column::ColumnType;
use super::decimal;
use super::temporal::{Date, DateTime, Time};

/// A value, borrowed from the event.
// A discriminant of one byte would be copied together with bytes of what follows it, written just before: a core waits for these.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(u64)]
pub enum Value<'a> {
    /// NULL.
    Null,
    /// A whole number, read as one with a sign; and how many bytes it has.
    Integer(i64, u8),
    /// FLOAT.
    Float(f32),
    /// DOUBLE.
    Double(f64),
    /// DECIMAL: as it is stored, digits in all and behind the point; see [`write_decimal`].
    Decimal(&'a [u8], u8, u8),
    /// BIT: its bytes, the highest first.
    Bit(&'a [u8]),
    /// YEAR: 0 or 1901 to 2155.
    Year(u16),
    /// DATE.
    Date(Date),
    /// TIME.
    Time(Time),
    /// DATETIME.
    DateTime(DateTime),
    /// TIMESTAMP, in UTC.
    Timestamp(DateTime),
    /// Text or bytes, as the column's collation says.
    Bytes(&'a [u8]),
    /// The same, compressed by MariaDB.
    Compressed(&'a [u8]),
    /// JSON as MySQL stores it.
    Json(&'a [u8]),
    /// A geometry: its SRID in four bytes, then WKB.
    Geometry(&'a [u8]),
    /// A vector of numbers of four bytes.
    Vector(&'a [u8]),
    /// The number of an ENUM's word, from 1; 0 for the empty one.
    Enum(u16),
    /// A bit for each of a SET's words.
    Set(u64),
}

impl<'a> Value<'a> {
    /// Reads a value that is not NULL.
    #[inline]
    pub(super) fn parse(kind: ColumnType, at: &mut Cursor<'a>) -> Result<Self, Short> {
        Ok(match kind {
            ColumnType::Null => Self::Null,
            ColumnType::Integer(bytes) => Self::Integer(integer(at, bytes)?, bytes),
            ColumnType::Float => Self::Float(f32::from_bits(at.u32()?)),
            ColumnType::Double => Self::Double(f64::from_bits(at.u64()?)),
            ColumnType::Decimal(digits, behind) => {
                Self::Decimal(at.take(decimal::size(digits, behind))?, digits, behind)
            }
            ColumnType::Bit(bits) => Self::Bit(at.take(usize::from(bits.div_ceil(8)))?),
            ColumnType::Year => Self::Year(match at.u8()? {
                0 => 0,
                year => 1900 + u16::from(year),
            }),
            ColumnType::Date => Self::Date(Date::parse(at)?),
            ColumnType::OldTime => Self::Time(Time::parse_old(at)?),
            ColumnType::OldDateTime => Self::DateTime(DateTime::parse_old(at)?),
            ColumnType::OldTimestamp => Self::Timestamp(DateTime::of_timestamp(at.u32()?, 0, 0)),
            ColumnType::Time(digits) => Self::Time(Time::parse(at, digits)?),
            ColumnType::DateTime(digits) => Self::DateTime(DateTime::parse(at, digits)?),
            ColumnType::Timestamp(digits) => Self::Timestamp(DateTime::parse_timestamp(at, digits)?),
            ColumnType::Char(width, _) | ColumnType::Text(width) | ColumnType::Blob(width) => {
                Self::Bytes(behind_length(at, width)?)
            }
            ColumnType::Compressed(width) => Self::Compressed(behind_length(at, width)?),
            ColumnType::Json(width) => Self::Json(behind_length(at, width)?),
            ColumnType::Geometry(width) => Self::Geometry(behind_length(at, width)?),
            ColumnType::Vector(width) => Self::Vector(behind_length(at, width)?),
            ColumnType::Enum(bytes) => Self::Enum(if bytes == 1 { at.u8()?.into() } else { at.u16()? }),
            ColumnType::Set(bytes) => Self::Set(little_endian(at, bytes)?),
        })
    }
}

/// Writes a DECIMAL as the servers print it: bytes as they are stored, digits in all and behind the point.
pub fn write_decimal(bytes: &[u8], digits: u8, behind: u8, out: &mut Vec<u8>) {
    decimal::write(bytes, digits, behind, out);
}

/// Unpacks a value of a compressed column: one byte whose lowest three bits say how many bytes the length has that comes next, with
/// its highest byte first, then a zlib stream; or a 0 and the value as it is. Source: MariaDB `sql/field_comp.cc`.
///
/// # Errors
/// In words, if it cannot be unpacked.
pub fn inflate(bytes: &[u8]) -> Result<Vec<u8>, String> {
    const LARGEST: u64 = 1 << 30;
    let Some((&first, rest)) = bytes.split_first() else { return Ok(Vec::new()) };
    let (method, width) = (first >> 4, usize::from(first & 0x07));
    if method == 0 {
        return Ok(rest.to_vec());
    }
    let (length, packed) = rest.split_at_checked(width).ok_or("it is cut short")?;
    let length = length.iter().fold(0, |number, &byte| number << 8 | u64::from(byte));
    let is_raw = first & 0x08 != 0;
    if method != 8 || length > LARGEST {
        return Err(format!("its compression is {first:02x}, of {length} bytes"));
    }
    let mut value = Vec::new();
    let read = if is_raw {
        flate2::bufread::DeflateDecoder::new(packed).take(length + 1).read_to_end(&mut value)
    } else {
        flate2::bufread::ZlibDecoder::new(packed).take(length + 1).read_to_end(&mut value)
    };
    match read {
        Ok(found) if found as u64 == length => Ok(value),
        Ok(found) => Err(format!("it has {found} bytes and says {length}")),
        Err(error) => Err(error.to_string()),
    }
}

#[inline]
fn integer(at: &mut Cursor<'_>, bytes: u8) -> Result<i64, Short> {
    Ok(match bytes {
        1 => i64::from(at.u8()? as i8),
        2 => i64::from(at.u16()? as i16),
        3 => i64::from((at.u24()? << 8) as i32 >> 8),
        4 => i64::from(at.u32()? as i32),
        _ => at.u64()? as i64,
    })
}

#[inline]
fn little_endian(at: &mut Cursor<'_>, bytes: u8) -> Result<u64, Short> {
    let bytes = at.take(usize::from(bytes))?;
    Ok(bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
}

#[inline]
fn behind_length<'a>(at: &mut Cursor<'a>, width: u8) -> Result<&'a [u8], Short> {
    let length = match width {
        1 => usize::from(at.u8()?),
        2 => usize::from(at.u16()?),
        3 => at.u24()? as usize,
        _ => at.u32()? as usize,
    };
    at.take(length)
}
