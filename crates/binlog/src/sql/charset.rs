//! What a collation's number says about the bytes of text.

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
    // MariaDB gives the variant of a collation that does not pad a number so much higher.
    const NO_PAD: u32 = 1024;
    let number = if (NO_PAD..2 * NO_PAD).contains(&collation) { collation - NO_PAD } else { collation };
    let at = NAMES.partition_point(|&(_, last, _)| u32::from(last) < number);
    NAMES.get(at).filter(|&&(first, _, _)| u32::from(first) <= number).map(|&(_, _, name)| name)
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
    NAMES.iter().find(|(_, _, name)| *name == charset).map(|&(number, ..)| number)
}

/// Numbers from one to another, and the character set of these collations. Source: `information_schema.COLLATIONS` of MariaDB 10.11
/// and MySQL 9.7, which agree where both have a number.
#[rustfmt::skip]
const NAMES: [(u16, u16, &str); 103] = [
    (1, 1, "big5"),
    (2, 2, "latin2"),
    (3, 3, "dec8"),
    (4, 4, "cp850"),
    (5, 5, "latin1"),
    (6, 6, "hp8"),
    (7, 7, "koi8r"),
    (8, 8, "latin1"),
    (9, 9, "latin2"),
    (10, 10, "swe7"),
    (11, 11, "ascii"),
    (12, 12, "ujis"),
    (13, 13, "sjis"),
    (14, 14, "cp1251"),
    (15, 15, "latin1"),
    (16, 16, "hebrew"),
    (18, 18, "tis620"),
    (19, 19, "euckr"),
    (20, 20, "latin7"),
    (21, 21, "latin2"),
    (22, 22, "koi8u"),
    (23, 23, "cp1251"),
    (24, 24, "gb2312"),
    (25, 25, "greek"),
    (26, 26, "cp1250"),
    (27, 27, "latin2"),
    (28, 28, "gbk"),
    (29, 29, "cp1257"),
    (30, 30, "latin5"),
    (31, 31, "latin1"),
    (32, 32, "armscii8"),
    (33, 33, "utf8mb3"),
    (34, 34, "cp1250"),
    (35, 35, "ucs2"),
    (36, 36, "cp866"),
    (37, 37, "keybcs2"),
    (38, 38, "macce"),
    (39, 39, "macroman"),
    (40, 40, "cp852"),
    (41, 42, "latin7"),
    (43, 43, "macce"),
    (44, 44, "cp1250"),
    (45, 46, "utf8mb4"),
    (47, 49, "latin1"),
    (50, 52, "cp1251"),
    (53, 53, "macroman"),
    (54, 55, "utf16"),
    (56, 56, "utf16le"),
    (57, 57, "cp1256"),
    (58, 59, "cp1257"),
    (60, 61, "utf32"),
    (62, 62, "utf16le"),
    (63, 63, "binary"),
    (64, 64, "armscii8"),
    (65, 65, "ascii"),
    (66, 66, "cp1250"),
    (67, 67, "cp1256"),
    (68, 68, "cp866"),
    (69, 69, "dec8"),
    (70, 70, "greek"),
    (71, 71, "hebrew"),
    (72, 72, "hp8"),
    (73, 73, "keybcs2"),
    (74, 74, "koi8r"),
    (75, 75, "koi8u"),
    (76, 76, "utf8mb3"),
    (77, 77, "latin2"),
    (78, 78, "latin5"),
    (79, 79, "latin7"),
    (80, 80, "cp850"),
    (81, 81, "cp852"),
    (82, 82, "swe7"),
    (83, 83, "utf8mb3"),
    (84, 84, "big5"),
    (85, 85, "euckr"),
    (86, 86, "gb2312"),
    (87, 87, "gbk"),
    (88, 88, "sjis"),
    (89, 89, "tis620"),
    (90, 90, "ucs2"),
    (91, 91, "ujis"),
    (92, 93, "geostd8"),
    (94, 94, "latin1"),
    (95, 96, "cp932"),
    (97, 98, "eucjpms"),
    (99, 99, "cp1250"),
    (101, 124, "utf16"),
    (128, 159, "ucs2"),
    (160, 183, "utf32"),
    (192, 223, "utf8mb3"),
    (224, 247, "utf8mb4"),
    (248, 250, "gb18030"),
    (255, 323, "utf8mb4"),
    (576, 579, "utf8mb3"),
    (608, 611, "utf8mb4"),
    (640, 642, "ucs2"),
    (672, 674, "utf16"),
    (736, 738, "utf32"),
    (2048, 2247, "utf8mb3"),
    (2304, 2503, "utf8mb4"),
    (2560, 2759, "ucs2"),
    (2816, 3015, "utf16"),
    (3072, 3271, "utf32"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_in_order_and_found() {
        assert!(NAMES.windows(2).all(|pair| pair[0].0 <= pair[0].1 && pair[0].1 < pair[1].0));
        let known = [
            (8, "latin1"),
            (45, "utf8mb4"),
            (255, "utf8mb4"),
            (63, "binary"),
            (1032, "latin1"),
            (2310, "utf8mb4"),
        ];
        assert!(known.iter().all(|&(number, of)| name(number) == Some(of)));
        assert_eq!((name(0), name(17), name(9999)), (None, None, None));
        assert!(NAMES.iter().all(|(_, _, of)| number(of).and_then(|number| name(number.into())) == Some(of)));
        assert_eq!((number("utf8"), number("klingon")), (Some(33), None));
        assert_eq!(Charset::of(Some(35)), Charset::Wide);
        assert_eq!(Charset::of(Some(9999)), Charset::Wide);
    }
}
