//! Rows as JSON.

use std::io::Write as _;

use crate::json::{self, Diffs};
use crate::rows::{Column, Field, Table, Value, inflate, write_decimal};

use super::charset::{self, Charset};
use super::literal::{Unwritable, bits, filled};

/// Writes one image of a row as an object; columns that it does not hold are not in it.
pub(super) fn push_image(table: &Table, fields: &[Field<'_>], out: &mut Vec<u8>) -> Result<(), Unwritable> {
    push_fields(table, fields, |field| matches!(field, Field::Value(_)), out)
}

/// Writes what changed in JSON documents as an object: a list for each column that is not given whole.
pub(super) fn push_changes(table: &Table, fields: &[Field<'_>], out: &mut Vec<u8>) -> Result<(), Unwritable> {
    push_fields(table, fields, |field| matches!(field, Field::JsonDiffs(_)), out)
}

fn push_fields(
    table: &Table,
    fields: &[Field<'_>],
    is_wanted: impl Fn(&Field<'_>) -> bool,
    out: &mut Vec<u8>,
) -> Result<(), Unwritable> {
    let mut start = b'{';
    let fields = fields.iter().zip(&table.columns).enumerate();
    for (index, (field, column)) in fields.filter(|(_, (field, _))| is_wanted(field)) {
        out.push(start);
        start = b',';
        match &column.name {
            Some(name) => push_string(&String::from_utf8_lossy(name), out),
            None => push_string(&format!("@{}", index + 1), out),
        }
        out.push(b':');
        match field {
            Field::Value(value) => push_value(value, column, out)?,
            Field::JsonDiffs(diffs) => Diffs::new(diffs).write_json(out).map_err(Unwritable::Json)?,
            Field::Absent => {}
        }
    }
    if start == b'{' {
        out.push(start);
    }
    out.push(b'}');
    Ok(())
}

fn push_value(value: &Value<'_>, column: &Column, out: &mut Vec<u8>) -> Result<(), Unwritable> {
    match *value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Integer(number, bytes) if column.is_unsigned == Some(true) => {
            push_number(number as u64 & u64::MAX >> (64 - 8 * u32::from(bytes.clamp(1, 8))), out);
        }
        Value::Integer(number, _) => push_number(number, out),
        Value::Float(number) => push_floating(f64::from(number), format!("{number:?}"), out),
        Value::Double(number) => push_floating(number, format!("{number:?}"), out),
        Value::Decimal(bytes, digits, behind) => quoted(out, |out| write_decimal(bytes, digits, behind, out)),
        Value::Bit(bytes) => push_number(bits(bytes), out),
        Value::Year(year) => push_number(year, out),
        Value::Date(date) => quoted(out, |out| date.write(out)),
        Value::Time(time) => quoted(out, |out| time.write(out)),
        Value::DateTime(time) => quoted(out, |out| time.write(out)),
        Value::Timestamp(time) => quoted(out, |out| {
            time.write(out);
            out.extend_from_slice(b"+00:00");
        }),
        Value::Bytes(bytes) => match filled(bytes, column) {
            Some(whole) => push_bytes(&whole, out),
            None => push_text(bytes, column, out),
        },
        Value::Compressed(bytes) => push_text(&inflate(bytes).map_err(Unwritable::Packed)?, column, out),
        Value::Json(binary) => json::write_text(binary, out).map_err(Unwritable::Json)?,
        Value::Geometry(bytes) | Value::Vector(bytes) => push_bytes(bytes, out),
        Value::Enum(number) => {
            match usize::from(number).checked_sub(1).and_then(|index| column.words.get(index)) {
                Some(word) => push_words(word, column, out),
                None => push_number(number, out),
            }
        }
        Value::Set(bits) if column.words.is_empty() => push_number(bits, out),
        Value::Set(bits) => {
            let chosen = column.words.iter().enumerate().filter(|(index, _)| bits >> index & 1 != 0);
            let words: Vec<_> = chosen.map(|(_, word)| &word[..]).collect();
            push_words(&words.join(&*charset::ascii(b',', column.collation)), column, out);
        }
    }
    Ok(())
}

fn push_number(number: impl std::fmt::Display, out: &mut Vec<u8>) {
    let _ = write!(out, "{number}"); // writing to a Vec cannot fail
}

/// JSON has no infinities; no server stores them either.
fn push_floating(number: f64, text: String, out: &mut Vec<u8>) {
    if number.is_finite() {
        out.extend_from_slice(text.as_bytes());
    } else {
        push_string(&text, out);
    }
}

fn quoted(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    out.push(b'"');
    write(out);
    out.push(b'"');
}

/// Text whose characters are known is a string, other bytes are an object.
fn push_text(bytes: &[u8], column: &Column, out: &mut Vec<u8>) {
    let is_known = match Charset::of(column.collation) {
        Charset::Utf8 => true,
        Charset::Other => bytes.is_ascii(),
        Charset::Wide => false,
    };
    match std::str::from_utf8(bytes) {
        Ok(text) if is_known => push_string(text, out),
        _ => push_bytes(bytes, out),
    }
}

/// Words of an ENUM or a SET: in the column's character set where the log tells them, which then tells that too; else in UTF-8, as the
/// server's definitions are read.
fn push_words(words: &[u8], column: &Column, out: &mut Vec<u8>) {
    match std::str::from_utf8(words) {
        Ok(text) if column.collation.is_none() => push_string(text, out),
        _ => push_text(words, column, out),
    }
}

/// Bytes as `{"hex":"…"}`.
fn push_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"hex\":\"");
    for byte in bytes {
        let _ = write!(out, "{byte:02x}"); // writing to a Vec cannot fail
    }
    out.extend_from_slice(b"\"}");
}

/// A JSON string.
pub(super) fn push_string(text: &str, out: &mut Vec<u8>) {
    let _ = serde_json::to_writer(out, text); // writing a string to a Vec cannot fail
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::ColumnType;

    fn shown(value: Value<'_>, collation: Option<u16>, words: &[&[u8]]) -> String {
        let kind = if matches!(value, Value::Set(_)) { ColumnType::Set(1) } else { ColumnType::Enum(1) };
        let words = words.iter().map(|word| word.to_vec()).collect();
        let mut column = Column::of_tests(kind);
        (column.collation, column.words) = (collation, words);
        let mut out = Vec::new();
        push_value(&value, &column, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn words_are_those_of_their_character_set() {
        const LATIN1: Option<u16> = Some(8);
        const UTF16: Option<u16> = Some(54);
        assert_eq!(shown(Value::Enum(1), LATIN1, &[b"\xe4"]), r#"{"hex":"e4"}"#);
        assert_eq!(shown(Value::Enum(1), LATIN1, &[b"\xc3\xa4"]), r#"{"hex":"c3a4"}"#);
        assert_eq!(shown(Value::Enum(1), LATIN1, &[b"a"]), r#""a""#);
        assert_eq!(shown(Value::Enum(1), Some(45), &["ä".as_bytes()]), r#""ä""#);
        assert_eq!(shown(Value::Enum(1), None, &["ä".as_bytes()]), r#""ä""#);
        assert_eq!(shown(Value::Enum(1), UTF16, &[b"\0a"]), r#"{"hex":"0061"}"#);
        assert_eq!(shown(Value::Set(3), UTF16, &[b"\0a", b"\0b"]), r#"{"hex":"0061002c0062"}"#);
        assert_eq!(shown(Value::Set(3), LATIN1, &[b"a", b"\xe4"]), r#"{"hex":"612ce4"}"#);
        assert_eq!(shown(Value::Set(5), LATIN1, &[b"a", b"\xe4", b"c"]), r#""a,c""#);
        assert_eq!(shown(Value::Enum(0), LATIN1, &[b"a"]), "0");
    }
}
