//! Collations that one vendor's servers have and the other's lack, by their numbers, and what comes nearest there: as a copy between them
//! takes it.

use std::borrow::Cow;

/// Which collation a server is told instead of one that only the other vendor has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Nearest {
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
    unicode_520: &'static str,
    bin: &'static str,
    croatian: &'static str,
}

macro_rules! unicode {
    ($name:literal, $old:literal, $new:literal, $mysql_croatian:literal) => {
        Unicode {
            old: $old,
            new: $new,
            mysql_croatian: $mysql_croatian,
            unicode_520: concat!($name, "_unicode_520_ci"),
            bin: concat!($name, "_bin"),
            croatian: concat!($name, "_croatian_ci"),
        }
    };
}

const UNICODE: [Unicode; 5] = [
    unicode!("utf8mb3", 576, 2048, 213),
    unicode!("utf8mb4", 608, 2304, 245),
    unicode!("ucs2", 640, 2560, 149),
    unicode!("utf16", 672, 2816, 122),
    unicode!("utf32", 736, 3072, 181),
];

/// The nearest to the collation with this number, if only one vendor has it. Source: `information_schema.COLLATIONS` of MariaDB 10.11 and
/// 11.8 and of MySQL 9.7.
pub(super) fn nearest(number: u16) -> Option<Nearest> {
    let of_mysql =
        |collation: &'static str| Nearest { own: "!80000", other: "M!100200", collation: collation.into() };
    let of_mariadb =
        |own, collation: &'static str| Nearest { own, other: "!80000", collation: collation.into() };
    match number {
        76 => return Some(of_mysql("utf8mb3_general_ci")),
        309 => return Some(of_mysql("utf8mb4_nopad_bin")),
        255..=323 => return Some(of_mysql("utf8mb4_unicode_520_nopad_ci")),
        1024..2048 => {
            return Some(Nearest { own: "M!100200", other: "!80000", collation: no_pad(number).into() });
        }
        _ => {}
    }
    if let Some(of) = UNICODE.iter().find(|of| of.mysql_croatian == number) {
        return Some(of_mysql(of.croatian));
    }
    if let Some(of) = UNICODE.iter().find(|of| (of.old..of.old + 4).contains(&number)) {
        return Some(of_mariadb("M!100002", if number == of.old { of.croatian } else { of.unicode_520 }));
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
    Some(of_mariadb("M!101000", collation))
}

/// What MySQL has in place of a collation that takes spaces at the end for a difference: MariaDB's number of it is so much above that of the
/// one that does not.
fn no_pad(number: u16) -> String {
    const NO_PAD: u16 = 1024;
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
