//! A document's text, as the server shows it: `SELECT doc`.

use super::binary::{Bounds, Container, Value};
use super::{Invalid, number, opaque};

/// Appends the text of a document: the bytes of a JSON column without their length. It is UTF-8.
///
/// # Errors
/// If the bytes are not a document. Nothing is appended then.
pub fn write_text(binary: &[u8], out: &mut Vec<u8>) -> Result<(), Invalid> {
    write_text_of(Era::Today, binary, out)
}

/// The same as a server of that time shows it.
///
/// # Errors
/// As for [`write_text`].
pub(crate) fn write_text_of(era: Era, binary: &[u8], out: &mut Vec<u8>) -> Result<(), Invalid> {
    all_or_nothing(out, |out| {
        let (value, mut bounds) = Value::of(binary)?;
        write_value(era, value, &mut bounds, out)
    })
}

/// What a server takes for text that is in no character set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// MySQL before 8.0: bytes, which it notes as VAR_STRING and shows in base64. Seen with 5.7.22.
    Before8,
    /// VAR_STRING is text in UTF-16 or UTF-32, and shown as text where it can be.
    Today,
}

/// Takes back what was written if the writing ends in an error.
pub(super) fn all_or_nothing(
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), Invalid>,
) -> Result<(), Invalid> {
    let start = out.len();
    write(out).inspect_err(|_| out.truncate(start))
}

pub(super) fn write_value(
    era: Era,
    value: Value<'_>,
    bounds: &mut Bounds,
    out: &mut Vec<u8>,
) -> Result<(), Invalid> {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Int(number) => number::write_int(number, out),
        Value::Uint(number) => number::write_uint(number, out),
        Value::Double(number) => number::write_double(number, out),
        Value::Text(text) => write_string(text, out),
        Value::Opaque(column_type, bytes) => opaque::write_text(era, column_type, bytes, out)?,
        Value::Array(..) => write_array(era, value, bounds, out)?,
        Value::Object(..) => write_object(era, value, bounds, out)?,
    }
    Ok(())
}

fn write_array(era: Era, array: Value<'_>, bounds: &mut Bounds, out: &mut Vec<u8>) -> Result<(), Invalid> {
    let array = Container::enter(array, bounds)?;
    out.push(b'[');
    for index in 0..array.len {
        if index > 0 {
            out.extend_from_slice(b", ");
        }
        write_value(era, array.value(index, bounds)?, bounds, out)?;
    }
    out.push(b']');
    bounds.leave();
    Ok(())
}

/// Keys come as they are stored: by length, then by their bytes.
fn write_object(era: Era, object: Value<'_>, bounds: &mut Bounds, out: &mut Vec<u8>) -> Result<(), Invalid> {
    let object = Container::enter(object, bounds)?;
    out.push(b'{');
    for index in 0..object.len {
        if index > 0 {
            out.extend_from_slice(b", ");
        }
        write_string(object.key(index, bounds)?, out);
        out.extend_from_slice(b": ");
        write_value(era, object.value(index, bounds)?, bounds, out)?;
    }
    out.push(b'}');
    bounds.leave();
    Ok(())
}

/// Appends a string of JSON, with its quotes.
pub(super) fn write_string(text: &str, out: &mut Vec<u8>) {
    let mut rest = text.as_bytes();
    out.reserve(rest.len() + 2);
    out.push(b'"');
    while let Some(at) = find_special(rest) {
        out.extend_from_slice(&rest[..at]);
        write_escaped(rest[at], out);
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

fn write_escaped(byte: u8, out: &mut Vec<u8>) {
    let letter = match byte {
        b'"' | b'\\' => byte,
        0x08 => b'b',
        b'\t' => b't',
        b'\n' => b'n',
        0x0c => b'f',
        b'\r' => b'r',
        control => {
            const DIGITS: &[u8; 16] = b"0123456789abcdef";
            let (high, low) = (DIGITS[usize::from(control >> 4)], DIGITS[usize::from(control & 15)]);
            out.extend_from_slice(&[b'\\', b'u', b'0', b'0', high, low]);
            return;
        }
    };
    out.extend_from_slice(&[b'\\', letter]);
}

/// The place of the first byte that must be escaped. Most strings have none: they are looked through eight bytes at a time.
fn find_special(bytes: &[u8]) -> Option<usize> {
    let (words, _) = bytes.as_chunks::<8>();
    let clean = 8 * words.iter().take_while(|word| !has_special(**word)).count();
    let found = bytes[clean..].iter().position(|byte| matches!(byte, 0..0x20 | b'"' | b'\\'));
    found.map(|at| clean + at)
}

/// Whether one of the bytes must be escaped. Each test is exact for "any of these bytes" (Henry S. Warren, Hacker's Delight, 6-1).
fn has_special(word: [u8; 8]) -> bool {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH: u64 = ONES << 7;
    let word = u64::from_ne_bytes(word);
    let (quote, backslash) = (word ^ (ONES * b'"' as u64), word ^ (ONES * b'\\' as u64));
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    let marked = (quote.wrapping_sub(ONES) & !quote) | (backslash.wrapping_sub(ONES) & !backslash);
    (control | marked) & HIGH != 0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::made::{Doc, docs};
    use super::*;

    fn text_of(document: &[u8]) -> String {
        let mut out = Vec::new();
        write_text(document, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn values_alone() {
        for (doc, text) in [
            (Doc::Null, "null"),
            (Doc::Bool(true), "true"),
            (Doc::Bool(false), "false"),
            (Doc::Int(-32768), "-32768"),
            (Doc::Int(2_147_483_647), "2147483647"),
            (Doc::Int(i64::MIN), "-9223372036854775808"),
            (Doc::Uint(65535), "65535"),
            (Doc::Uint(4_294_967_295), "4294967295"),
            (Doc::Uint(u64::MAX), "18446744073709551615"),
            (Doc::Double(1.0), "1.0"),
            (Doc::Text(String::new()), "\"\""),
            (Doc::Text("a\"b\\c/\u{8}\t\n\u{c}\r\u{1}\u{1f}\u{7f}é😀".into()), {
                "\"a\\\"b\\\\c/\\b\\t\\n\\f\\r\\u0001\\u001f\u{7f}é😀\""
            }),
            (Doc::Array(vec![]), "[]"),
            (Doc::Object(vec![]), "{}"),
        ] {
            assert_eq!(text_of(&doc.to_binary()), text);
        }
        assert_eq!(text_of(b""), "null");
    }

    #[test]
    fn containers() {
        let inner = Doc::Object(vec![("a".into(), Doc::Null), ("bc".into(), Doc::Array(vec![]))]);
        let doc = Doc::Array(vec![Doc::Int(1), Doc::Uint(2), Doc::Int(100_000), Doc::Uint(100_000), inner]);
        let text = r#"[1, 2, 100000, 100000, {"a": null, "bc": []}]"#;
        assert_eq!(text_of(&doc.to_binary()), text);
        assert_eq!(text_of(&doc.to_large_binary()), text);
    }

    #[test]
    fn a_document_of_more_than_64_kib() {
        let items = (0..30_000).map(|number| Doc::Int(number * 100_000)).collect();
        let doc = Doc::Object(vec![
            ("k".into(), Doc::Array(items)),
            ("long".into(), Doc::Text("é".repeat(70_000))),
        ]);
        let read: serde_json::Value = serde_json::from_str(&text_of(&doc.to_binary())).unwrap();
        assert_eq!(read, doc.to_json());
    }

    #[test]
    fn special_bytes_are_found_wherever_they_are() {
        for length in 0..40 {
            let mut text: Vec<u8> = b" !#[]\x7f\x80\xffaz".iter().copied().cycle().take(length).collect();
            assert_eq!(find_special(&text), None, "{length}");
            for (at, special) in (0..length).zip(b"\0\x1f\"\\\n".iter().cycle()) {
                let before = std::mem::replace(&mut text[at], *special);
                assert_eq!(find_special(&text), Some(at), "{length}");
                text[at] = before;
            }
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_the_same_json(doc in docs()) {
            for binary in [doc.to_binary(), doc.to_large_binary()] {
                let read: serde_json::Value = serde_json::from_str(&text_of(&binary)).unwrap();
                prop_assert_eq!(read, doc.to_json());
            }
        }

        #[test]
        fn no_bytes_lead_astray(doc in docs(), at: prop::sample::Index, with: u8, cut: prop::sample::Index) {
            let mut binary = doc.to_binary();
            let at = at.index(binary.len());
            binary[at] = with;
            let mut out = Vec::new();
            let _may_fail = write_text(&binary, &mut out);
            prop_assert!(out.len() <= binary.len() * 20 + 20);
            if !out.is_empty() {
                prop_assert!(serde_json::from_slice::<serde::de::IgnoredAny>(&out).is_ok());
            }
            let cut = cut.index(binary.len());
            let _may_fail = write_text(&binary[..cut], &mut out);
        }
    }
}
