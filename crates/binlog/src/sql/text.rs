//! Strings in SQL.

use memchr::memchr;

/// What stands behind the backslash for a byte that cannot stand for itself; 0 for all others.
pub(crate) const ESCAPES: [u8; 256] = {
    let mut escapes = [0; 256];
    escapes[0] = b'0';
    escapes[b'\n' as usize] = b'n';
    escapes[b'\r' as usize] = b'r';
    escapes[b'\'' as usize] = b'\'';
    escapes[b'\\' as usize] = b'\\';
    escapes[0x1a] = b'Z';
    escapes
};

/// Writes a string literal, for a session without NO_BACKSLASH_ESCAPES.
pub(crate) fn push_quoted(text: &[u8], out: &mut Vec<u8>) {
    if is_plain(text) {
        return push_plain(text, out);
    }
    out.push(b'\'');
    let mut rest = text;
    while let Some(at) = rest.iter().position(|&byte| is_escaped(byte)) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(&[b'\\', ESCAPES[usize::from(rest[at])]]);
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    out.push(b'\'');
}

/// The same of a text that [`is_plain`].
pub(crate) fn push_plain(text: &[u8], out: &mut Vec<u8>) {
    out.reserve(text.len() + 2);
    out.push(b'\'');
    out.extend_from_slice(text);
    out.push(b'\'');
}

/// Whether all bytes are ASCII and stand for themselves in a string.
pub(crate) fn is_plain(text: &[u8]) -> bool {
    // So many are compared at once, as the compiler makes of it; the last of them once more, where some are left.
    const AT_ONCE: usize = 16;
    let is_special = |byte: u8| is_escaped(byte) | (byte >= 0x80);
    let are_plain = |bytes: &[u8; AT_ONCE]| !bytes.iter().fold(false, |any, &byte| any | is_special(byte));
    let (chunks, left) = text.as_chunks();
    chunks.iter().all(are_plain)
        && match text.last_chunk() {
            Some(last) => left.is_empty() || are_plain(last),
            None => !left.iter().any(|&byte| is_special(byte)),
        }
}

/// Without a branch, so that many can be compared at once.
fn is_escaped(byte: u8) -> bool {
    (byte == 0) | (byte == b'\n') | (byte == b'\r') | (byte == b'\'') | (byte == b'\\') | (byte == 0x1a)
}

/// Writes a text as comments, line by line.
pub(crate) fn push_comment(text: &[u8], out: &mut Vec<u8>) {
    let mut rest = text;
    while !rest.is_empty() {
        let (line, behind) = rest.split_at(memchr(b'\n', rest).unwrap_or(rest.len()));
        if !line.is_empty() {
            out.extend_from_slice(b"-- ");
            let start = out.len();
            out.extend_from_slice(line);
            if memchr(b'\r', line).is_some() {
                let kept: Vec<_> = out.drain(start..).filter(|&byte| byte != b'\r').collect();
                out.extend_from_slice(&kept);
            }
            out.push(b'\n');
        }
        rest = behind.get(1..).unwrap_or_default();
    }
}

/// Writes a literal of bytes, `X''` for none.
pub(crate) fn push_hex(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.extend_from_slice(b"X'");
    out.reserve(2 * bytes.len() + 1);
    for &byte in bytes {
        out.push(DIGITS[usize::from(byte >> 4)]);
        out.push(DIGITS[usize::from(byte & 15)]);
    }
    out.push(b'\'');
}

/// Writes a name in backticks.
pub(crate) fn push_name(name: &[u8], out: &mut Vec<u8>) {
    out.push(b'`');
    for &byte in name {
        if byte == b'`' {
            out.push(b'`');
        }
        out.push(byte);
    }
    out.push(b'`');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_must_be_escaped_is(text in prop::collection::vec(prop_oneof![Just(b'a'), any::<u8>()], 0..200)) {
            let mut expected = vec![b'\''];
            for &byte in &text {
                match ESCAPES[usize::from(byte)] {
                    0 => expected.push(byte),
                    escape => expected.extend_from_slice(&[b'\\', escape]),
                }
            }
            expected.push(b'\'');
            let mut out = Vec::new();
            push_quoted(&text, &mut out);
            prop_assert_eq!(&out, &expected);
            let are_plain = text.is_ascii() && expected.len() == text.len() + 2;
            prop_assert_eq!(is_plain(&text), are_plain);
        }
    }

    #[test]
    fn comments_hold_no_line_ends() {
        let mut out = Vec::new();
        push_comment(b"SELECT\r\n\n1; \rDROP", &mut out);
        assert_eq!(out, b"-- SELECT\n-- 1; DROP\n");
    }
}
