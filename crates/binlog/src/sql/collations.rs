//! Collations that one vendor's servers have and the other's lack, by their numbers, and what comes nearest there: as a copy between them
//! takes it.

use std::borrow::Cow;

/// Which collation a server is told instead of one that only the other vendor has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Nearest {
    /// The number of one that all servers have, for those that read neither comment.
    pub(super) base: u16,
    /// What opens a comment that servers read which have the collation, behind `/*`.
    pub(super) own: &'static str,
    /// The same for servers of the other vendor.
    pub(super) other: &'static str,
    /// The collation that these have.
    pub(super) collation: Cow<'static, str>,
}

/// A character set whose text is Unicode: its name, where MariaDB's numbers of its collations begin (those that came before Unicode
/// 14.0.0, and those of it), MySQL's number of the Croatian one, and its collations of Unicode 5.2.0, of bytes and of Croatian.
struct Unicode {
    old: u16,
    new: u16,
    mysql_croatian: u16,
    /// The numbers of the collations of Unicode 4.0.0 and of bytes.
    unicode: u16,
    bytes: u16,
    unicode_520: &'static str,
    bin: &'static str,
    croatian: &'static str,
}

macro_rules! unicode {
    ($name:literal, $old:literal, $new:literal, $mysql_croatian:literal, $unicode:literal, $bytes:literal) => {
        Unicode {
            old: $old,
            new: $new,
            mysql_croatian: $mysql_croatian,
            unicode: $unicode,
            bytes: $bytes,
            unicode_520: concat!($name, "_unicode_520_ci"),
            bin: concat!($name, "_bin"),
            croatian: concat!($name, "_croatian_ci"),
        }
    };
}

const UNICODE: [Unicode; 5] = [
    unicode!("utf8mb3", 576, 2048, 213, 192, 83),
    unicode!("utf8mb4", 608, 2304, 245, 224, 46),
    unicode!("ucs2", 640, 2560, 149, 128, 90),
    unicode!("utf16", 672, 2816, 122, 101, 55),
    unicode!("utf32", 736, 3072, 181, 160, 61),
];

/// The nearest to the collation with this number, if only one vendor has it. Source: `information_schema.COLLATIONS` of MariaDB 10.11 and
/// 11.8 and of MySQL 9.7.
pub(super) fn nearest(number: u16) -> Option<Nearest> {
    let of_mysql = |base, collation: &'static str| Nearest {
        base,
        own: "!80000",
        other: "M!100200",
        collation: collation.into(),
    };
    let of_mariadb = |base, own, collation: &'static str| Nearest {
        base,
        own,
        other: "!80000",
        collation: collation.into(),
    };
    match number {
        76 => return Some(of_mysql(33, "utf8mb3_general_ci")),
        309 => return Some(of_mysql(46, "utf8mb4_nopad_bin")),
        // These ignore accents and case. The others do not: on MariaDB the bytes tell as many texts apart.
        255..=277 | 306 | 310 | 312 | 314 | 316 | 318 | 320 | 322 => {
            return Some(of_mysql(224, "utf8mb4_unicode_520_nopad_ci"));
        }
        278..=323 => return Some(of_mysql(46, "utf8mb4_nopad_bin")),
        1024..2048 => {
            let (base, collation) = (number - NO_PAD, no_pad(number).into());
            return Some(Nearest { base, own: "M!100200", other: "!80000", collation });
        }
        _ => {}
    }
    if let Some(of) = UNICODE.iter().find(|of| of.mysql_croatian == number) {
        return Some(of_mysql(of.unicode, of.croatian));
    }
    if let Some(of) = UNICODE.iter().find(|of| (of.old..of.old + 4).contains(&number)) {
        let collation = if number == of.old { of.croatian } else { of.unicode_520 };
        return Some(of_mariadb(of.unicode, "M!100002", collation));
    }
    let of = UNICODE.iter().find(|of| (of.new..of.new + 200).contains(&number))?;
    // The lowest two bits tell whether case and accents count.
    let collation = match (of.new, number & 3) {
        (2304, 0) => "utf8mb4_0900_ai_ci",
        (2304, 2) => "utf8mb4_0900_as_ci",
        (2304, _) => "utf8mb4_0900_as_cs",
        (_, 0) => of.unicode_520,
        _ => of.bin,
    };
    let base = if number & 3 == 0 { of.unicode } else { of.bytes };
    Some(of_mariadb(base, "M!101000", collation))
}

/// MariaDB's number of a collation that takes spaces at the end for a difference is so much above that of the one that does not.
const NO_PAD: u16 = 1024;

/// What MySQL has in place of such a one.
fn no_pad(number: u16) -> String {
    match number - NO_PAD {
        46 => "utf8mb4_0900_bin".into(),
        45 | 224 | 246 => "utf8mb4_0900_ai_ci".into(),
        padded => padded.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collations_of_one_vendor_only() {
        for (number, own, collation) in [
            (255, "!80000", "utf8mb4_unicode_520_nopad_ci"),
            (309, "!80000", "utf8mb4_nopad_bin"),
            (213, "!80000", "utf8mb3_croatian_ci"),
            (76, "!80000", "utf8mb3_general_ci"),
            (576, "M!100002", "utf8mb3_croatian_ci"),
            (738, "M!100002", "utf32_unicode_520_ci"),
            (611, "M!100002", "utf8mb4_unicode_520_ci"),
            (1032, "M!100200", "8"),
            (1070, "M!100200", "utf8mb4_0900_bin"),
            (1069, "M!100200", "utf8mb4_0900_ai_ci"),
            (2048, "M!101000", "utf8mb3_unicode_520_ci"),
            (2051, "M!101000", "utf8mb3_bin"),
            (2304, "M!101000", "utf8mb4_0900_ai_ci"),
            (2305, "M!101000", "utf8mb4_0900_as_cs"),
            (2314, "M!101000", "utf8mb4_0900_as_ci"),
            (3271, "M!101000", "utf32_bin"),
        ] {
            let found = nearest(number).map(|nearest| (nearest.own, nearest.collation));
            assert_eq!(found, Some((own, collation.into())), "{number}");
        }
        for number in [8, 33, 45, 46, 63, 83, 214, 224, 246, 248, 3272] {
            assert_eq!(nearest(number), None, "{number}");
        }
    }
}
