//! What the bytes of a statement are outside of strings.

use drover_db::sql::begins_unclear;

use super::is_version_comment;

/// May begin a string, a name in quotes, a comment or what is read otherwise elsewhere.
pub(super) const SPECIAL: u8 = 1;
/// Belongs to a word and begins one.
pub(super) const LETTER: u8 = 2;
pub(super) const DIGIT: u8 = 4;
/// A hexadecimal digit.
pub(super) const HEX: u8 = 8;

/// What each byte is outside of strings: one look for each byte of a dump.
pub(super) static CLASSES: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut all = [0; 256];
    let mut byte = 0;
    while byte < all.len() {
        all[byte] = match byte as u8 {
            b'\'' | b'"' | b'`' | b'#' | b'-' | b'/' | 0 | 0x80.. => SPECIAL,
            b'a'..=b'f' | b'A'..=b'F' => LETTER | HEX,
            b'g'..=b'z' | b'G'..=b'Z' | b'_' | b'$' => LETTER,
            b'0'..=b'9' => DIGIT | HEX,
            _ => 0,
        };
        byte += 1;
    }
    all
}

/// Whether code that is no comment for sure begins here.
pub(super) fn begins_odd(text: &[u8]) -> bool {
    begins_unclear(text) || is_version_comment(text)
}

/// Whether a word tells the kind of the string behind it.
pub(super) fn is_introducer(word: &[u8], behind: &[u8]) -> bool {
    match word {
        [b'x' | b'X' | b'b' | b'B' | b'n' | b'N'] => behind.starts_with(b"'"),
        [b'_', ..] => behind.trim_ascii_start().starts_with(b"'"),
        _ => false,
    }
}

/// Whether the word that ends here has digits only.
pub(super) fn is_number(text: &[u8]) -> bool {
    let other = text.iter().rfind(|byte| !byte.is_ascii_digit());
    other.is_none_or(|&byte| CLASSES[usize::from(byte)] & LETTER == 0 && byte < 0x80)
}

/// Whether the number that ends here is one zero.
pub(super) fn is_zero(text: &[u8]) -> bool {
    let before = text.len().checked_sub(2).map_or(b' ', |at| text[at]);
    text.ends_with(b"0")
        && CLASSES[usize::from(before)] & (LETTER | DIGIT) == 0
        && before != b'.'
        && before < 0x80
}
