//! Values as SQL literals that give back exactly what was there.

use std::io::Write as _;

use memchr::memchr;

use crate::json;
use crate::log::Short;
use crate::rows::digits::push_whole;
use crate::rows::{Column, ColumnType, Value, write_decimal};

use super::charset::Charset;
use super::text::{is_plain, push_hex, push_plain, push_quoted};

/// Why a value cannot be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unwritable {
    /// It is cut short, or holds what cannot be.
    Damaged,
    /// What was compressed cannot be unpacked.
    Packed(String),
    /// A JSON document is none.
    Json(json::Invalid),
}

impl From<Short> for Unwritable {
    fn from(_: Short) -> Self {
        Self::Damaged
    }
}

/// Writes a value of this column.
pub(crate) fn push_value(value: &Value<'_>, column: &Column, out: &mut Vec<u8>) -> Result<(), Unwritable> {
    match *value {
        Value::Null => out.extend_from_slice(b"NULL"),
        Value::Integer(number, bytes) => push_integer(number, bytes, column.is_unsigned, out),
        Value::Float(number) => push_float(number, out),
        Value::Double(number) => push_double(number, out),
        Value::Decimal(bytes, digits, behind) => write_decimal(bytes, digits, behind, out),
        Value::Bit(bytes) => push_hex(bytes, out),
        Value::Year(year) => push_number(year, out),
        Value::Date(date) => quoted(out, |out| date.write(out)),
        Value::Time(time) => quoted(out, |out| time.write(out)),
        Value::DateTime(time) | Value::Timestamp(time) => quoted(out, |out| time.write(out)),
        Value::Bytes(bytes) if column.address.is_some() => push_address(bytes, column, out)?,
        Value::Bytes(bytes) => match filled(bytes, column) {
            // What looks like text may be an address or a UUID.
            Some(whole) => push_hex(&whole, out),
            None => push_text(bytes, Charset::of(column.collation), out),
        },
        Value::Compressed(bytes) => push_text(&inflated(bytes)?, Charset::of(column.collation), out),
        Value::Json(binary) => json::write_sql(binary, out).map_err(Unwritable::Json)?,
        Value::Geometry(bytes) | Value::Vector(bytes) => push_hex(bytes, out),
        Value::Enum(number) => push_number(number, out),
        Value::Set(bits) => push_number(bits, out),
    }
    Ok(())
}

/// Writes a condition that holds for this value of the column only: text is compared byte by byte, a FLOAT with all the digits that it
/// has as a DOUBLE. A BIT is compared with a number, since to MariaDB `X'…'` is a text of digits there; a VECTOR cannot be compared.
pub(crate) fn push_condition(
    name: &[u8],
    value: &Value<'_>,
    column: &Column,
    out: &mut Vec<u8>,
) -> Result<(), Unwritable> {
    let (before, behind): (&[u8], &[u8]) = match *value {
        Value::Null => (b"", b" IS NULL"),
        Value::Bytes(_) if column.is_vector => (b"CAST(", b" AS BINARY) = "),
        Value::Bytes(_) | Value::Compressed(_) => (b"", b" = _binary "),
        Value::Vector(_) => (b"CAST(", b" AS BINARY) = "),
        _ => (b"", b" = "),
    };
    out.extend_from_slice(before);
    out.extend_from_slice(name);
    out.extend_from_slice(behind);
    match *value {
        Value::Null => {}
        Value::Float(number) => push_double(f64::from(number), out),
        Value::Bit(bytes) => push_number(bits(bytes), out),
        Value::Json(_) => {
            out.extend_from_slice(b"CAST(");
            push_value(value, column, out)?;
            out.extend_from_slice(b" AS JSON)");
        }
        _ => push_value(value, column, out)?,
    }
    Ok(())
}

/// Writes what this value tells from others that a server calls equal to it: the sign of a zero, the types of JSON's numbers and times. False if there
/// are none such: then nothing is written.
pub(super) fn push_likeness(name: &[u8], value: &Value<'_>, out: &mut Vec<u8>) -> Result<bool, Unwritable> {
    let is_negative = match *value {
        Value::Float(number) if number == 0.0 => number.is_sign_negative(),
        Value::Double(number) if number == 0.0 => number.is_sign_negative(),
        Value::Json(binary) => return json::write_types(binary, name, out).map_err(Unwritable::Json),
        _ => return Ok(false),
    };
    out.extend_from_slice(b"CAST(");
    out.extend_from_slice(name);
    out.extend_from_slice(if is_negative { b" AS CHAR) LIKE '-%'" } else { b" AS CHAR) NOT LIKE '-%'" });
    Ok(true)
}

/// The number that a BIT is; it has at most 64 bits.
pub(super) fn bits(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |bits, &byte| bits << 8 | u64::from(byte))
}

/// Its text, for a server that keeps it so.
fn push_address(bytes: &[u8], column: &Column, out: &mut Vec<u8>) -> Result<(), Short> {
    let mut text = Vec::new();
    column.address.map_or(Ok(()), |address| address.push_text(bytes, &mut text))?;
    push_quoted(&text, out);
    Ok(())
}

/// A BINARY with the zeros at its end, which are not logged; `None` for a value of any other type. MariaDB's UUID and addresses are
/// kept as BINARY.
pub(crate) fn filled(bytes: &[u8], column: &Column) -> Option<Vec<u8>> {
    const BINARY: u16 = 63;
    let ColumnType::Char(_, length) = column.kind else { return None };
    if column.collation != Some(BINARY) {
        return None;
    }
    let mut whole = bytes.to_vec();
    whole.resize(usize::from(length).max(bytes.len()), 0);
    Some(whole)
}

fn inflated(bytes: &[u8]) -> Result<Vec<u8>, Unwritable> {
    crate::rows::inflate(bytes).map_err(Unwritable::Packed)
}

fn quoted(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    out.push(b'\'');
    write(out);
    out.push(b'\'');
}

fn push_number(number: impl std::fmt::Display, out: &mut Vec<u8>) {
    let _ = write!(out, "{number}"); // writing to a Vec cannot fail
}

/// A number whose sign is not known is written with one; where it may be another without, that stands behind it.
fn push_integer(number: i64, bytes: u8, is_unsigned: Option<bool>, out: &mut Vec<u8>) {
    let mask = u64::MAX >> (64 - 8 * u32::from(bytes.clamp(1, 8)));
    let without_sign = number as u64 & mask;
    match is_unsigned {
        Some(true) => push_whole(out, without_sign, false),
        None if number < 0 => {
            let _ = write!(out, "{number} /* {without_sign} if UNSIGNED */");
        }
        _ => push_whole(out, number.unsigned_abs(), number < 0),
    }
}

/// The fewest digits that give the number back.
pub(crate) fn push_double(number: f64, out: &mut Vec<u8>) {
    let size = number.abs();
    // Without an exponent, -0 is a whole number to a server, and the same as 0.
    let _ = if number.to_bits() != 0 && !(1e-5..1e17).contains(&size) {
        write!(out, "{number:e}")
    } else {
        write!(out, "{number}")
    };
}

/// The same of a FLOAT.
pub(crate) fn push_float(number: f32, out: &mut Vec<u8>) {
    let size = number.abs();
    let _ = if number.to_bits() != 0 && !(1e-5..1e9).contains(&size) {
        write!(out, "{number:e}")
    } else {
        write!(out, "{number}")
    };
}

/// Text that means the same in every character set stands for itself, other text of UTF-8 too. The bytes of what is in another
/// character set, or in one that is not known, are written as bytes, which the server takes as they are.
fn push_text(bytes: &[u8], charset: Charset, out: &mut Vec<u8>) {
    if charset != Charset::Wide && is_plain(bytes) {
        return push_plain(bytes, out);
    }
    let stands_for_itself = match charset {
        Charset::Utf8 => std::str::from_utf8(bytes).is_ok(),
        Charset::Wide => false,
        Charset::Other => bytes.is_ascii(),
    };
    let is_printable = stands_for_itself && memchr(0, bytes).is_none();
    if is_printable { push_quoted(bytes, out) } else { push_hex(bytes, out) }
}
