//! Strings in SQL.

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
    out.push(b'\'');
    let mut rest = text;
    while let Some(at) = rest.iter().position(|&byte| ESCAPES[usize::from(byte)] != 0) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(&[b'\\', ESCAPES[usize::from(rest[at])]]);
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    out.push(b'\'');
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
