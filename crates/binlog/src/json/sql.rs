//! Documents as SQL expressions that make them anew, with all their types: `CAST('…' AS JSON)` has only those of JSON.

use super::binary::{Bounds, Container, Value};
use super::opaque::{self, column_type};
use super::quote::{make_literal, write_literal};
use super::text::{self, all_or_nothing};
use super::{Invalid, number};
use crate::sql::text::push_hex;

/// Appends an SQL expression whose value is the document: the bytes of a JSON column without their length. The `sql_mode` of the
/// session that runs it must allow the dates in it, and must not have NO_BACKSLASH_ESCAPES.
///
/// # Errors
/// If the bytes are not a document. Nothing is appended then.
pub fn write_sql(binary: &[u8], out: &mut Vec<u8>) -> Result<(), Invalid> {
    all_or_nothing(out, |out| {
        let (value, mut bounds) = Value::of(binary)?;
        match value {
            Value::Array(..) | Value::Object(..) => write_value(value, &mut bounds, out),
            _ if is_plain(value, &mut bounds)? => write_plain(value, &mut bounds, out),
            _ => {
                out.extend_from_slice(b"CAST(");
                write_value(value, &mut bounds, out)?;
                out.extend_from_slice(b" AS JSON)");
                Ok(())
            }
        }
    })
}

/// Appends an SQL expression of which a JSON function, as its argument, makes the document.
pub(super) fn write_argument(binary: &[u8], out: &mut Vec<u8>) -> Result<(), Invalid> {
    let (value, mut bounds) = Value::of(binary)?;
    write_value(value, &mut bounds, out)
}

/// Whether the value's text says all of it.
fn is_plain(value: Value<'_>, bounds: &mut Bounds) -> Result<bool, Invalid> {
    Ok(match value {
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Double(_) | Value::Text(_) => true,
        // A number that fits into one with a sign is read as such.
        Value::Uint(number) => i64::try_from(number).is_err(),
        Value::Opaque(..) => false,
        Value::Array(..) | Value::Object(..) => {
            let container = Container::enter(value, bounds)?;
            for index in 0..container.len {
                if !is_plain(container.value(index, bounds)?, bounds)? {
                    return Ok(false);
                }
            }
            bounds.leave();
            true
        }
    })
}

fn write_plain(value: Value<'_>, bounds: &mut Bounds, out: &mut Vec<u8>) -> Result<(), Invalid> {
    out.extend_from_slice(b"CAST(");
    let start = out.len();
    text::write_value(text::Era::Today, value, bounds, out)?;
    make_literal(start, out);
    out.extend_from_slice(b" AS JSON)");
    Ok(())
}

fn write_value(value: Value<'_>, bounds: &mut Bounds, out: &mut Vec<u8>) -> Result<(), Invalid> {
    match value {
        Value::Null => out.extend_from_slice(b"NULL"),
        Value::Bool(is_true) => out.extend_from_slice(if is_true { b"TRUE" } else { b"FALSE" }),
        Value::Int(number) => number::write_int(number, out),
        Value::Uint(number) if i64::try_from(number).is_err() => number::write_uint(number, out),
        Value::Uint(number) => {
            out.extend_from_slice(b"CAST(");
            number::write_uint(number, out);
            out.extend_from_slice(b" AS UNSIGNED)");
        }
        Value::Double(number) => number::write_sql_double(number, out),
        Value::Text(text) => write_literal(text, out),
        Value::Opaque(column_type, bytes) => write_opaque(column_type, bytes, out)?,
        // What is read ahead is read once more by what is written: it has bounds of its own.
        Value::Array(..) | Value::Object(..) if is_plain(value, &mut bounds.clone())? => {
            write_plain(value, bounds, out)?;
        }
        Value::Array(..) => write_call("JSON_ARRAY(", value, bounds, out)?,
        Value::Object(..) => write_call("JSON_OBJECT(", value, bounds, out)?,
    }
    Ok(())
}

fn write_call(call: &str, value: Value<'_>, bounds: &mut Bounds, out: &mut Vec<u8>) -> Result<(), Invalid> {
    let container = Container::enter(value, bounds)?;
    out.extend_from_slice(call.as_bytes());
    for index in 0..container.len {
        if index > 0 {
            out.extend_from_slice(b", ");
        }
        if container.is_object {
            write_literal(container.key(index, bounds)?, out);
            out.extend_from_slice(b", ");
        }
        write_value(container.value(index, bounds)?, bounds, out)?;
    }
    out.push(b')');
    bounds.leave();
    Ok(())
}

/// Appends an expression of the column type: JSON keeps that of its values. Where no expression has it, the nearest is taken: of
/// TINYBLOB comes BLOB, and of types that no server is known to put into JSON VARBINARY; the bytes are the same always.
fn write_opaque(column_type: u8, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Invalid> {
    match column_type {
        column_type::NEWDECIMAL => write_number(bytes, out)?,
        column_type::DATE => write_temporal("DATE", column_type, bytes, out)?,
        column_type::TIME => write_temporal("TIME", column_type, bytes, out)?,
        column_type::DATETIME => write_temporal("TIMESTAMP", column_type, bytes, out)?,
        column_type::TIMESTAMP => {
            open_column(out);
            write_temporal("TIMESTAMP", column_type, bytes, out)?;
            close_column("TIMESTAMP(6)", out);
        }
        column_type::BIT if (1..=8).contains(&bytes.len()) => {
            open_column(out);
            number::write_uint(bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)), out);
            close_column(&format!("BIT({})", bytes.len() * 8), out);
        }
        column_type::STRING if bytes.len() <= 255 => {
            open_column(out);
            push_hex(bytes, out);
            close_column(&format!("BINARY({})", bytes.len()), out);
        }
        column_type::BLOB | column_type::TINY_BLOB => {
            open_column(out);
            push_hex(bytes, out);
            close_column("LONGBLOB", out);
        }
        column_type::MEDIUM_BLOB => as_either(1 << 16, bytes, out),
        column_type::LONG_BLOB => as_either(1 << 24, bytes, out),
        column_type::VAR_STRING if is_utf16(bytes) => {
            out.extend_from_slice(b"_utf16 ");
            push_hex(bytes, out);
        }
        _ => push_hex(bytes, out),
    }
    Ok(())
}

/// Appends a decimal. With its point it is no whole number, without an exponent no double.
fn write_number(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Invalid> {
    let start = out.len();
    opaque::write_number(bytes, out)?;
    if !out[start..].contains(&b'.') {
        out.push(b'.');
    }
    Ok(())
}

fn write_temporal(keyword: &str, column_type: u8, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Invalid> {
    out.extend_from_slice(keyword.as_bytes());
    out.push(b'\'');
    opaque::write_temporal(column_type, bytes, out)?;
    out.push(b'\'');
    Ok(())
}

/// Begins an expression of a type that only columns have: a value follows.
fn open_column(out: &mut Vec<u8>) {
    out.extend_from_slice(b"(SELECT v FROM JSON_TABLE(JSON_ARRAY(");
}

/// Ends it, with the type. A value that the column cannot hold is an error when it is run.
fn close_column(column: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b"), '$[*]' COLUMNS (v ");
    out.extend_from_slice(column.as_bytes());
    out.extend_from_slice(b" PATH '$' ERROR ON ERROR)) AS t)");
}

/// Appends bytes with the type of the longer of two, of which the other one may have so many bytes.
fn as_either(length: u32, bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(format!("IF(0, CAST('' AS BINARY({length})), ").as_bytes());
    push_hex(bytes, out);
    out.push(b')');
}

/// Whether a server takes it for UTF-16, which UTF-32 looks like too.
fn is_utf16(bytes: &[u8]) -> bool {
    let (units, rest) = bytes.as_chunks::<2>();
    let units = units.iter().map(|unit| u16::from_be_bytes(*unit));
    rest.is_empty() && char::decode_utf16(units).all(|character| character.is_ok())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::made::{Doc, docs};
    use super::super::write_text;
    use super::*;

    fn sql_of(doc: &Doc) -> String {
        let mut out = Vec::new();
        write_sql(&doc.to_binary(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn argument_of(doc: &Doc) -> String {
        let mut out = Vec::new();
        write_argument(&doc.to_binary(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn decimal() -> Doc {
        Doc::Opaque(column_type::NEWDECIMAL, vec![3, 2, 0x81, 50])
    }

    #[test]
    fn scalars() {
        for (doc, argument, sql) in [
            (Doc::Null, "NULL", "CAST('null' AS JSON)"),
            (Doc::Bool(true), "TRUE", "CAST('true' AS JSON)"),
            (Doc::Bool(false), "FALSE", "CAST('false' AS JSON)"),
            (Doc::Int(-5), "-5", "CAST('-5' AS JSON)"),
            (Doc::Uint(5), "CAST(5 AS UNSIGNED)", "CAST(CAST(5 AS UNSIGNED) AS JSON)"),
            (Doc::Uint(u64::MAX), "18446744073709551615", "CAST('18446744073709551615' AS JSON)"),
            (Doc::Double(1.0), "1.0e0", "CAST('1.0' AS JSON)"),
            (Doc::Text("it's".into()), r"'it\'s'", r#"CAST('"it\'s"' AS JSON)"#),
            (Doc::Text("é\n".into()), r"_utf8mb4'é\n'", r#"CAST(_utf8mb4'"é\\n"' AS JSON)"#),
            (decimal(), "1.50", "CAST(1.50 AS JSON)"),
            (Doc::Opaque(column_type::NEWDECIMAL, vec![1, 0, 0x87]), "7.", "CAST(7. AS JSON)"),
            (Doc::Opaque(15, vec![0, 0xff]), "X'00FF'", "CAST(X'00FF' AS JSON)"),
        ] {
            assert_eq!(argument_of(&doc), argument);
            assert_eq!(sql_of(&doc), sql);
        }
    }

    #[test]
    fn values_that_keep_their_column_type() {
        let column = |of: &str, value: &str| {
            format!(
                "(SELECT v FROM JSON_TABLE(JSON_ARRAY({value}), '$[*]' COLUMNS (v {of} PATH '$' ERROR ON ERROR)) AS t)"
            )
        };
        for (kind, bytes, sql) in [
            (column_type::DATE, vec![0; 8], "DATE'0000-00-00'".to_owned()),
            (column_type::TIME, vec![0xff; 8], "TIME'-00:00:00.000001'".to_owned()),
            (
                column_type::DATETIME,
                vec![1, 0, 0, 0, 0, 0, 0, 0],
                "TIMESTAMP'0000-00-00 00:00:00.000001'".to_owned(),
            ),
            (
                column_type::TIMESTAMP,
                vec![0; 8],
                column("TIMESTAMP(6)", "TIMESTAMP'0000-00-00 00:00:00.000000'"),
            ),
            (column_type::BIT, vec![1, 0], column("BIT(16)", "256")),
            (column_type::BIT, vec![0; 9], "X'000000000000000000'".to_owned()),
            (column_type::STRING, vec![1, 0], column("BINARY(2)", "X'0100'")),
            (column_type::BLOB, vec![1, 0], column("LONGBLOB", "X'0100'")),
            (column_type::TINY_BLOB, vec![1, 0], column("LONGBLOB", "X'0100'")),
            (column_type::MEDIUM_BLOB, vec![1, 0], "IF(0, CAST('' AS BINARY(65536)), X'0100')".to_owned()),
            (column_type::LONG_BLOB, vec![1, 0], "IF(0, CAST('' AS BINARY(16777216)), X'0100')".to_owned()),
            (column_type::VAR_STRING, vec![0, 0xe9], "_utf16 X'00E9'".to_owned()),
            (column_type::VAR_STRING, vec![0xd8, 0], "X'D800'".to_owned()),
            (column_type::VAR_STRING, vec![0xd8], "X'D8'".to_owned()),
        ] {
            assert_eq!(argument_of(&Doc::Opaque(kind, bytes)), sql);
        }
        let mut out = Vec::new();
        let short = Doc::Array(vec![Doc::Int(1), Doc::Opaque(column_type::DATE, vec![0; 7])]).to_binary();
        assert_eq!(write_sql(&short, &mut out), Err(Invalid::Opaque(column_type::DATE)));
        assert!(out.is_empty());
    }

    #[test]
    fn only_what_text_cannot_say_is_made_of_calls() {
        let plain = Doc::Object(vec![("a".into(), Doc::Array(vec![Doc::Int(1), Doc::Null]))]);
        assert_eq!(sql_of(&plain), r#"CAST('{"a": [1, null]}' AS JSON)"#);
        let mixed = Doc::Array(vec![
            plain,
            Doc::Null,
            Doc::Object(vec![("é".into(), decimal()), ("it's".into(), Doc::Array(vec![Doc::Uint(1)]))]),
        ]);
        let wanted = r#"JSON_ARRAY(CAST('{"a": [1, null]}' AS JSON), NULL, "#.to_owned()
            + r"JSON_OBJECT(_utf8mb4'é', 1.50, 'it\'s', JSON_ARRAY(CAST(1 AS UNSIGNED))))";
        assert_eq!(sql_of(&mixed), wanted);
        assert_eq!(argument_of(&mixed), wanted);
    }

    proptest! {
        #[test]
        fn what_has_text_has_sql(doc in docs(), at: prop::sample::Index, with: u8) {
            let mut binary = doc.to_binary();
            let at = at.index(binary.len());
            binary[at] = with;
            let (mut text, mut sql) = (Vec::new(), Vec::new());
            prop_assert_eq!(write_text(&binary, &mut text).is_ok(), write_sql(&binary, &mut sql).is_ok());
            prop_assert!(str::from_utf8(&sql).is_ok());
        }
    }
}
