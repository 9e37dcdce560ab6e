//! What a collation's number says about the bytes of text.

use drover_db::collations::numbers;

/// How text of some character set can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Charset {
    /// UTF-8 or ASCII.
    Utf8,
    /// One in which bytes of ASCII may be something else.
    Wide,
    /// Any other, bytes, or none that is known: bytes of ASCII stand for themselves.
    Other,
}

impl Charset {
    /// That of the collation with this number.
    pub(crate) fn of(collation: Option<u16>) -> Self {
        // Nearly all text is in the first of each: they need not be looked for.
        match collation {
            None | Some(8 | 63) => Self::Other,
            Some(33 | 45 | 46 | 255) => Self::Utf8,
            Some(number) => match name(number.into()) {
                Some("utf8mb3" | "utf8mb4" | "ascii") => Self::Utf8,
                // swe7 has letters in place of brackets, sjis a backslash that is not that of UTF-8.
                Some("ucs2" | "utf16" | "utf16le" | "utf32" | "swe7" | "sjis") | None => Self::Wide,
                Some(_) => Self::Other,
            },
        }
    }
}

/// The name of a collation's character set, if it is known.
pub(crate) fn name(collation: u32) -> Option<&'static str> {
    u16::try_from(collation).ok().and_then(numbers::character_set)
}

/// A character of ASCII in the character set of this collation.
pub(crate) fn ascii(byte: u8, collation: Option<u16>) -> Vec<u8> {
    match collation.and_then(|collation| name(collation.into())) {
        Some("ucs2" | "utf16") => vec![0, byte],
        Some("utf16le") => vec![byte, 0],
        Some("utf32") => vec![0, 0, 0, byte],
        _ => vec![byte],
    }
}

/// The number of a collation of this character set, if it is known.
pub(crate) fn number(charset: &str) -> Option<u16> {
    // What it was called before there was another.
    let charset = if charset == "utf8" { "utf8mb3" } else { charset };
    // One of each is below those that came with later versions.
    (1..255).find(|&number| numbers::character_set(number) == Some(charset))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn character_sets_of_collations() {
        assert_eq!((name(1032), name(2310), name(9999)), (Some("latin1"), Some("utf8mb4"), None));
        for set in ["latin1", "utf8mb3", "utf8mb4", "utf16le", "gb18030", "binary"] {
            assert_eq!(number(set).and_then(|number| name(number.into())), Some(set));
        }
        assert_eq!((number("utf8"), number("klingon")), (Some(33), None));
        assert_eq!(Charset::of(Some(35)), Charset::Wide);
        assert_eq!(Charset::of(Some(9999)), Charset::Wide);
    }
}
