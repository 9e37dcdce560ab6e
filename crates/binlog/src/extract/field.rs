//! Rows as LOAD DATA reads them: fields ended by tab, lines by newline, `\` as the escape character, `\N` for NULL. All else is the
//! value's bytes, as they are in the character set of its column.

use std::io::Write as _;

use crate::json;
use crate::rows::{Column, ColumnType, Value, inflate, write_decimal};
use crate::sql::charset;
use crate::sql::literal::{Unwritable, filled, push_double, push_float};

/// What stands behind the backslash for a byte that cannot stand for itself.
fn escape(byte: u8) -> Option<u8> {
    match byte {
        b'\t' => Some(b't'),
        b'\n' => Some(b'n'),
        0 => Some(b'0'),
        b'\\' => Some(b'\\'),
        _ => None,
    }
}

fn push_escaped(bytes: &[u8], out: &mut Vec<u8>) {
    let mut rest = bytes;
    while let Some((at, escaped)) = rest.iter().enumerate().find_map(|(at, &byte)| Some((at, escape(byte)?)))
    {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(&[b'\\', escaped]);
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
}

/// What is to be known of a value that was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    /// It is as it was.
    Exactly,
    /// It is text or bytes beyond ASCII, in the character set of its column.
    Bytes,
    /// It may be another number: one whose sign is not told.
    Doubtful,
}

/// Writes a value of this column.
pub(super) fn push_field(value: &Value<'_>, column: &Column, out: &mut Vec<u8>) -> Result<Told, Unwritable> {
    let start = out.len();
    let mut told = Told::Exactly;
    match *value {
        Value::Null => out.extend_from_slice(b"\\N"),
        Value::Integer(number, bytes) => told = push_integer(number, bytes, column.is_unsigned, out),
        Value::Float(number) => push_float(number, out),
        Value::Double(number) => push_double(number, out),
        Value::Decimal(bytes, digits, behind) => write_decimal(bytes, digits, behind, out),
        Value::Year(year) => push_number(format_args!("{year:04}"), out),
        Value::Date(date) => date.write(out),
        Value::Time(time) => time.write(out),
        Value::DateTime(time) | Value::Timestamp(time) => time.write(out),
        Value::Bytes(bytes) => match filled(bytes, column) {
            Some(whole) => push_escaped(&whole, out),
            None => push_escaped(bytes, out),
        },
        Value::Compressed(bytes) => push_escaped(&inflate(bytes).map_err(Unwritable::Packed)?, out),
        Value::Json(binary) => {
            let mut text = Vec::new();
            json::write_text(binary, &mut text).map_err(Unwritable::Json)?;
            push_escaped(&text, out);
            // What reads it is told its character set.
            return Ok(Told::Exactly);
        }
        Value::Bit(bytes) | Value::Geometry(bytes) | Value::Vector(bytes) => push_escaped(bytes, out),
        Value::Enum(number) => push_enum(number, column, out),
        Value::Set(bits) => push_set(bits, column, out),
    }
    if told == Told::Exactly && !out[start..].is_ascii() { Ok(Told::Bytes) } else { Ok(told) }
}

fn push_number(number: impl std::fmt::Display, out: &mut Vec<u8>) {
    let _ = write!(out, "{number}"); // writing to a Vec cannot fail
}

fn push_integer(number: i64, bytes: u8, is_unsigned: Option<bool>, out: &mut Vec<u8>) -> Told {
    if is_unsigned == Some(true) {
        push_number(number as u64 & (u64::MAX >> (64 - 8 * u32::from(bytes.clamp(1, 8)))), out);
        return Told::Exactly;
    }
    push_number(number, out);
    if number < 0 && is_unsigned.is_none() { Told::Doubtful } else { Told::Exactly }
}

/// The word, or its number where words are not told: a number that is no word is taken for that. The number 0 is that of no word.
fn push_enum(number: u16, column: &Column, out: &mut Vec<u8>) {
    match usize::from(number).checked_sub(1).and_then(|index| column.words.get(index)) {
        Some(word) => push_escaped(word, out),
        None => push_number(number, out),
    }
}

/// The words with commas between, or the number of their bits where words are not told or one is empty.
fn push_set(bits: u64, column: &Column, out: &mut Vec<u8>) {
    let words = &column.words;
    if is_number(column) || bits.checked_shr(words.len() as u32).is_some_and(|more| more > 0) {
        return push_number(bits, out);
    }
    let comma = charset::ascii(b',', column.collation);
    let set = words.iter().enumerate().filter(|(index, _)| bits >> (index & 63) & 1 != 0);
    for (count, (_, word)) in set.enumerate() {
        if count > 0 {
            push_escaped(&comma, out);
        }
        push_escaped(word, out);
    }
}

/// Whether values of an ENUM or a SET are written as their numbers, because words are not told, or one of a SET is empty.
pub(super) fn is_number(column: &Column) -> bool {
    match column.kind {
        ColumnType::Enum(_) => column.words.is_empty(),
        ColumnType::Set(_) => column.words.is_empty() || column.words.iter().any(Vec::is_empty),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Reads a field back as the manual of LOAD DATA says.
    fn read(field: &[u8]) -> Vec<u8> {
        let mut value = Vec::new();
        let mut bytes = field.iter();
        while let Some(&byte) = bytes.next() {
            value.push(match byte {
                b'\\' => match bytes.next().unwrap() {
                    b't' => b'\t',
                    b'n' => b'\n',
                    b'0' => 0,
                    other => *other,
                },
                other => other,
            });
        }
        value
    }

    proptest! {
        #[test]
        fn fields_read_back(value in prop::collection::vec(prop_oneof![any::<u8>(), prop::sample::select(b"\t\n\\\0N".to_vec())], 0..100)) {
            let mut field = Vec::new();
            push_escaped(&value, &mut field);
            prop_assert!(!field.contains(&b'\n') && !field.contains(&b'\t') && field != b"\\N");
            prop_assert_eq!(read(&field), value);
        }
    }

    #[test]
    fn numbers_by_what_is_told_of_their_sign() {
        for (number, bytes, is_unsigned, right, told) in [
            (-1, 1, Some(true), "255", Told::Exactly),
            (-1, 8, Some(true), "18446744073709551615", Told::Exactly),
            (-1, 3, Some(false), "-1", Told::Exactly),
            (-1, 3, None, "-1", Told::Doubtful),
            (7, 3, None, "7", Told::Exactly),
        ] {
            let mut out = Vec::new();
            assert_eq!(push_integer(number, bytes, is_unsigned, &mut out), told);
            assert_eq!(String::from_utf8(out).unwrap(), right);
        }
    }

    #[test]
    fn words_where_they_are_told() {
        let column = |words: &[&[u8]], collation| {
            let mut column = Column::of_tests(ColumnType::Set(1));
            column.words = words.iter().map(|word| word.to_vec()).collect();
            column.collation = collation;
            column
        };
        let told =
            |words: &[&str]| column(&words.iter().map(|word| word.as_bytes()).collect::<Vec<_>>(), None);
        let written = |write: &dyn Fn(&mut Vec<u8>)| {
            let mut out = Vec::new();
            write(&mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(written(&|out| push_enum(2, &told(&["a", "b\tc"]), out)), "b\\tc");
        assert_eq!(written(&|out| push_enum(2, &told(&[]), out)), "2");
        assert_eq!(written(&|out| push_enum(0, &told(&["a"]), out)), "0");
        assert_eq!(written(&|out| push_set(5, &told(&["a", "b", "c"]), out)), "a,c");
        assert_eq!(written(&|out| push_set(0, &told(&["a"]), out)), "");
        assert_eq!(written(&|out| push_set(5, &told(&["a", ""]), out)), "5");
        assert_eq!(written(&|out| push_set(1 << 63, &told(&[]), out)), "9223372036854775808");
        // UTF-16 with the high byte first, and last; UTF-32.
        let of = |bits, words: &[&[u8]], collation| {
            written(&|out| push_set(bits, &column(words, Some(collation)), out))
        };
        assert_eq!(of(3, &[b"\0a", b"\0b"], 54), r"\0a\0,\0b");
        assert_eq!(of(3, &[b"a\0", b"b\0"], 56), r"a\0,\0b\0");
        assert_eq!(of(3, &[b"\0\0\0a", b"\0\0\0b"], 60), r"\0\0\0a\0\0\0,\0\0\0b");
        assert_eq!(of(3, &[b"\0\0\0a", b""], 60), "3");
    }
}
