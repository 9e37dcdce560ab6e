//! MariaDB's UUID and addresses, as it shows them: it logs their bytes.

use std::io::Write as _;

use super::column::{Column, ColumnType};
use crate::log::Short;

/// One of these types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Address {
    Uuid,
    Inet4,
    Inet6,
}

impl Address {
    /// What a column of a log of MariaDB is, if a server keeps it as `drover copy` makes one of these: text of ASCII that has at most so many
    /// bytes. A column of text that became longer is seldom such.
    pub(super) fn kept_as(column: &Column, data_type: &str, most: u64) -> Option<Self> {
        match (column.kind, data_type, most) {
            _ if !column.may_be_bytes() => None,
            (ColumnType::Char(_, 16), "char", 36) => Some(Self::Uuid),
            (ColumnType::Char(_, 16), "varchar", 39) => Some(Self::Inet6),
            (ColumnType::Char(_, 4), "varchar", 15) => Some(Self::Inet4),
            _ => None,
        }
    }

    /// Writes the text of its bytes.
    pub(crate) fn push_text(self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Short> {
        match self {
            Self::Uuid => push_uuid(filled(bytes)?, out),
            Self::Inet4 => push_inet4(filled(bytes)?, out),
            Self::Inet6 => push_inet6(filled(bytes)?, out),
        }
        Ok(())
    }
}

/// Zeros at the end are not logged.
fn filled<const N: usize>(bytes: &[u8]) -> Result<[u8; N], Short> {
    let mut whole = [0; N];
    whole.get_mut(..bytes.len()).ok_or(Short)?.copy_from_slice(bytes);
    Ok(whole)
}

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Writes the text of a UUID.
pub(super) fn push_uuid(bytes: [u8; 16], out: &mut Vec<u8>) {
    for (index, byte) in bytes.into_iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            out.push(b'-');
        }
        out.extend([DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
}

/// Writes the text of an INET4.
pub(super) fn push_inet4([a, b, c, d]: [u8; 4], out: &mut Vec<u8>) {
    let _ = write!(out, "{a}.{b}.{c}.{d}"); // writing to a Vec cannot fail
}

/// Writes the text of an INET6: the first of the longest runs of zeros is left out, also one of a single zero; what maps or embeds an
/// address of version 4 ends with that. Source: MariaDB `plugin/type_inet`, and what 10.11 shows.
pub(super) fn push_inet6(bytes: [u8; 16], out: &mut Vec<u8>) {
    let words: [u16; 8] =
        std::array::from_fn(|index| u16::from_be_bytes([bytes[2 * index], bytes[2 * index + 1]]));
    let (start, length) = zeros(&words);
    let embeds = start == 0 && (length == 6 || (length == 5 && words[5] == 0xffff));
    let count = if embeds { 6 } else { 8 };
    let mut index = 0;
    while index < count {
        if index == start && length > 0 {
            out.extend_from_slice(if index == 0 { b"::" } else { b":" });
            index += length;
            continue;
        }
        let _ = write!(out, "{:x}", words[index]); // writing to a Vec cannot fail
        index += 1;
        if index < 8 {
            out.push(b':');
        }
    }
    if embeds {
        push_inet4([bytes[12], bytes[13], bytes[14], bytes[15]], out);
    }
}

/// Where the first of the longest runs of zeros begins, and how long it is.
fn zeros(words: &[u16; 8]) -> (usize, usize) {
    let mut longest = (0, 0);
    let mut at = 0;
    while at < words.len() {
        let length = words[at..].iter().take_while(|&&word| word == 0).count();
        if length > longest.1 {
            longest = (at, length);
        }
        at += length.max(1);
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_shown_as_mariadb_shows_them() {
        // Each as MariaDB 10.11 shows the address of these words.
        let shown: [([u16; 8], &str); 15] = [
            ([1, 0, 2, 3, 4, 5, 6, 7], "1::2:3:4:5:6:7"),
            ([0, 0, 0, 0, 0, 0, 1, 2], "::0.1.0.2"),
            ([0, 1, 0, 0, 0, 0, 0, 0], "0:1::"),
            ([1, 0, 0, 2, 0, 0, 3, 4], "1::2:0:0:3:4"),
            ([0, 0, 0, 0, 0, 0xffff, 0, 0], "::ffff:0.0.0.0"),
            ([0; 8], "::"),
            ([0, 1, 2, 3, 4, 5, 6, 0], "::1:2:3:4:5:6:0"),
            ([0, 0, 0, 0, 0, 0, 1, 0], "::0.1.0.0"),
            ([0, 0, 0, 0, 0, 0xfffe, 1, 0], "::fffe:1:0"),
            ([0xabcd, 0, 0, 0, 0, 0, 1, 0], "abcd::1:0"),
            ([0, 0, 0, 0, 0, 0, 0, 1], "::1"),
            ([0xfe80, 0, 0, 0, 0, 0, 0, 0x1234], "fe80::1234"),
            ([1, 0, 0, 2, 0, 0, 0, 0], "1:0:0:2::"),
            ([1, 2, 3, 4, 5, 6, 7, 8], "1:2:3:4:5:6:7:8"),
            ([1, 2, 3, 4, 5, 6, 7, 0], "1:2:3:4:5:6:7::"),
        ];
        for (words, text) in shown {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
            let mut out = Vec::new();
            push_inet6(bytes.try_into().unwrap(), &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), text);
        }
    }

    #[test]
    fn a_uuid() {
        let mut out = Vec::new();
        push_uuid(0x550e_8400_e29b_41d4_a716_4466_5544_0000_u128.to_be_bytes(), &mut out);
        assert_eq!(out, b"550e8400-e29b-41d4-a716-446655440000");
    }
}
