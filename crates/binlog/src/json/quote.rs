//! String literals of SQL, for text of JSON: UTF-8.

use crate::sql::text::ESCAPES;

/// Appends a string as a literal. It means the same in a session of any character set in which ASCII is ASCII, and under every
/// `sql_mode` but NO_BACKSLASH_ESCAPES; it has no line breaks, which some clients change.
pub(super) fn write_literal(text: &str, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(text.as_bytes());
    make_literal(start, out);
}

/// Makes what is written from `start` on, which must be UTF-8, such a literal.
pub(super) fn make_literal(start: usize, out: &mut Vec<u8>) {
    let (text, mut more, mut is_ascii) = (out.len(), 0, true);
    for &byte in &out[start..] {
        more += usize::from(escape(byte).is_some());
        is_ascii &= byte.is_ascii();
    }
    let opening: &[u8] = if is_ascii { b"'" } else { b"_utf8mb4'" };
    let end = text + more + opening.len();
    out.resize(end, 0);
    out.push(b'\'');
    // From the end on, so that no byte is overwritten that was not yet moved.
    let mut to = end;
    for from in (start..text).rev() {
        let byte = out[from];
        let letter = escape(byte);
        to -= 1;
        out[to] = letter.unwrap_or(byte);
        if letter.is_some() {
            to -= 1;
            out[to] = b'\\';
        }
    }
    out[start..to].copy_from_slice(opening);
}

/// What stands behind a backslash for a byte that cannot stand for itself.
fn escape(byte: u8) -> Option<u8> {
    match ESCAPES[usize::from(byte)] {
        0 => None,
        letter => Some(letter),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn literal(text: &str) -> String {
        let mut out = b"x = ".to_vec();
        write_literal(text, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn literals() {
        for (text, wanted) in [
            ("", "x = ''"),
            ("$.a", "x = '$.a'"),
            ("it's", r"x = 'it\'s'"),
            ("\\\0\n\r\u{1a}\t", "x = '\\\\\\0\\n\\r\\Z\t'"),
            ("'''", r"x = '\'\'\''"),
            ("né", "x = _utf8mb4'né'"),
        ] {
            assert_eq!(literal(text), wanted);
        }
    }

    proptest! {
        #[test]
        fn literals_are_each_byte_on_its_own(text in "[a'\\\\\\n\\r\\x00é]{0,20}") {
            let escaped: String = text.chars().map(|c| match u8::try_from(c).ok().and_then(escape) {
                Some(letter) => format!("\\{}", char::from(letter)),
                None => c.to_string(),
            }).collect();
            let introducer = if text.is_ascii() { "" } else { "_utf8mb4" };
            prop_assert_eq!(literal(&text), format!("x = {introducer}'{escaped}'"));
        }
    }
}
