//! The numbers that servers give collations, which logs have in place of names. Source: `information_schema.COLLATIONS` and
//! `COLLATION_CHARACTER_SET_APPLICABILITY` of MySQL 5.5 to 9.7 and MariaDB 10.1 to 11.8, which agree but for one of croatian.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::Vendor;

use super::defaults::full_name;

/// MariaDB's number of a collation that takes spaces at the end for a difference is so much above that of the one that does not.
const NO_PAD: u16 = 1024;

/// The character sets whose text is Unicode, each with the numbers where collations begin: those of [`LANGUAGES`], MariaDB's of
/// [`LATER`], and its of Unicode 14.
const UNICODE: [(&str, u16, u16, u16); 5] = [
    ("utf16", 101, 672, 2816),
    ("ucs2", 128, 640, 2560),
    ("utf32", 160, 736, 3072),
    ("utf8mb3", 192, 576, 2048),
    ("utf8mb4", 224, 608, 2304),
];

/// In the order of their numbers; of Unicode 14, `unicode` has no word, and the two behind `german2` are not there.
const LANGUAGES: [&str; 25] = [
    "unicode",
    "icelandic",
    "latvian",
    "romanian",
    "slovenian",
    "polish",
    "estonian",
    "spanish",
    "swedish",
    "turkish",
    "czech",
    "danish",
    "lithuanian",
    "slovak",
    "spanish2",
    "roman",
    "persian",
    "esperanto",
    "hungarian",
    "sinhala",
    "german2",
    "croatian_mysql561",
    "unicode_520",
    "vietnamese",
    "croatian",
];
/// Where in them is what MySQL calls croatian and MariaDB croatian_mysql561.
const MYSQL_CROATIAN: u16 = 21;
/// The last of them that is not of Unicode 14 alone.
const VIETNAMESE: u16 = 23;
const LATER: [&str; 4] = ["croatian_ci", "myanmar_ci", "thai_520_w2", "general1400_as_ci"];

/// What a server of this vendor calls the collation with this number, if it is known.
pub fn name(number: u16, vendor: Vendor) -> Option<String> {
    if let Some(padded) = number.checked_sub(NO_PAD).filter(|&padded| padded < NO_PAD) {
        return no_pad(padded);
    }
    if let Ok(at) = OTHERS.binary_search_by_key(&number, |&(number, _)| number) {
        return Some(OTHERS[at].1.to_owned());
    }
    UNICODE.iter().find_map(|&(set, old, later, newest)| {
        let within = |first: u16, count: u16| number.checked_sub(first).filter(|&at| at < count);
        let rest = match (within(old, VIETNAMESE + 1), within(later, 4), within(newest, 200)) {
            (Some(MYSQL_CROATIAN), ..) if vendor == Vendor::MySql => "croatian_ci".to_owned(),
            (Some(at), ..) => format!("{}_ci", LANGUAGES[usize::from(at)]),
            (_, Some(at), _) => LATER[usize::from(at)].to_owned(),
            (.., Some(at)) => of_unicode_14(at)?,
            _ => return None,
        };
        Some(format!("{set}_{rest}"))
    })
}

/// MariaDB's, which takes spaces at the end for a difference, beside the one with this number.
fn no_pad(padded: u16) -> Option<String> {
    let name = name(padded, Vendor::MariaDb)?;
    let (before, kind) = name.rsplit_once('_')?;
    matches!(kind, "ci" | "bin").then(|| format!("{before}_nopad_{kind}"))
}

/// What is behind the character set's name: the lowest three bits tell of case, accents, and spaces at the end.
fn of_unicode_14(at: u16) -> Option<String> {
    let language = match at / 8 {
        0 => String::new(),
        21 | 22 => return None,
        language => format!("{}_", LANGUAGES.get(usize::from(language))?),
    };
    let word = |bit: u16, set: &'static str, clear: &'static str| if at & bit == 0 { clear } else { set };
    Some(format!(
        "uca1400_{language}{}{}_{}",
        word(4, "nopad_", ""),
        word(2, "as", "ai"),
        word(1, "cs", "ci")
    ))
}

/// The number that servers of this vendor give the collation, if it is known.
pub fn number(collation: &str, vendor: Vendor) -> Option<u16> {
    static NUMBERS: LazyLock<[BTreeMap<String, u16>; 2]> = LazyLock::new(|| {
        [Vendor::MySql, Vendor::MariaDb].map(|vendor| {
            let named = (0..4096).filter_map(|number| Some((name(number, vendor)?, number)));
            // MariaDB's own croatian comes behind MySQL's, which is all that MySQL has.
            let mut all = BTreeMap::new();
            named.for_each(|(name, number)| {
                all.entry(name).or_insert(number);
            });
            all
        })
    });
    NUMBERS[usize::from(vendor == Vendor::MariaDb)].get(&full_name(collation)).copied()
}

/// The character set of the collation with this number, if it is known.
pub fn character_set(number: u16) -> Option<&'static str> {
    let number = if (NO_PAD..2 * NO_PAD).contains(&number) { number - NO_PAD } else { number };
    if let Ok(at) = OTHERS.binary_search_by_key(&number, |&(number, _)| number) {
        let name = OTHERS[at].1;
        return Some(name.split_once('_').map_or(name, |(set, _)| set));
    }
    let within = |first: u16, count: u16| number.checked_sub(first).is_some_and(|at| at < count);
    let of = UNICODE.iter().find(|&&(_, old, later, newest)| {
        within(old, VIETNAMESE + 1) || within(later, 4) || within(newest, 200)
    });
    of.map(|&(set, ..)| set)
}

/// Those that are not in an order.
#[rustfmt::skip]
const OTHERS: [(u16, &str); 166] = [
    (1, "big5_chinese_ci"), (2, "latin2_czech_cs"), (3, "dec8_swedish_ci"), (4, "cp850_general_ci"),
    (5, "latin1_german1_ci"), (6, "hp8_english_ci"), (7, "koi8r_general_ci"), (8, "latin1_swedish_ci"),
    (9, "latin2_general_ci"), (10, "swe7_swedish_ci"), (11, "ascii_general_ci"), (12, "ujis_japanese_ci"),
    (13, "sjis_japanese_ci"), (14, "cp1251_bulgarian_ci"), (15, "latin1_danish_ci"), (16, "hebrew_general_ci"),
    (18, "tis620_thai_ci"), (19, "euckr_korean_ci"), (20, "latin7_estonian_cs"), (21, "latin2_hungarian_ci"),
    (22, "koi8u_general_ci"), (23, "cp1251_ukrainian_ci"), (24, "gb2312_chinese_ci"), (25, "greek_general_ci"),
    (26, "cp1250_general_ci"), (27, "latin2_croatian_ci"), (28, "gbk_chinese_ci"), (29, "cp1257_lithuanian_ci"),
    (30, "latin5_turkish_ci"), (31, "latin1_german2_ci"), (32, "armscii8_general_ci"), (33, "utf8mb3_general_ci"),
    (34, "cp1250_czech_cs"), (35, "ucs2_general_ci"), (36, "cp866_general_ci"), (37, "keybcs2_general_ci"),
    (38, "macce_general_ci"), (39, "macroman_general_ci"), (40, "cp852_general_ci"), (41, "latin7_general_ci"),
    (42, "latin7_general_cs"), (43, "macce_bin"), (44, "cp1250_croatian_ci"), (45, "utf8mb4_general_ci"),
    (46, "utf8mb4_bin"), (47, "latin1_bin"), (48, "latin1_general_ci"), (49, "latin1_general_cs"), (50, "cp1251_bin"),
    (51, "cp1251_general_ci"), (52, "cp1251_general_cs"), (53, "macroman_bin"), (54, "utf16_general_ci"),
    (55, "utf16_bin"), (56, "utf16le_general_ci"), (57, "cp1256_general_ci"), (58, "cp1257_bin"),
    (59, "cp1257_general_ci"), (60, "utf32_general_ci"), (61, "utf32_bin"), (62, "utf16le_bin"), (63, "binary"),
    (64, "armscii8_bin"), (65, "ascii_bin"), (66, "cp1250_bin"), (67, "cp1256_bin"), (68, "cp866_bin"),
    (69, "dec8_bin"), (70, "greek_bin"), (71, "hebrew_bin"), (72, "hp8_bin"), (73, "keybcs2_bin"), (74, "koi8r_bin"),
    (75, "koi8u_bin"), (76, "utf8mb3_tolower_ci"), (77, "latin2_bin"), (78, "latin5_bin"), (79, "latin7_bin"),
    (80, "cp850_bin"), (81, "cp852_bin"), (82, "swe7_bin"), (83, "utf8mb3_bin"), (84, "big5_bin"), (85, "euckr_bin"),
    (86, "gb2312_bin"), (87, "gbk_bin"), (88, "sjis_bin"), (89, "tis620_bin"), (90, "ucs2_bin"), (91, "ujis_bin"),
    (92, "geostd8_general_ci"), (93, "geostd8_bin"), (94, "latin1_spanish_ci"), (95, "cp932_japanese_ci"),
    (96, "cp932_bin"), (97, "eucjpms_japanese_ci"), (98, "eucjpms_bin"), (99, "cp1250_polish_ci"),
    (159, "ucs2_general_mysql500_ci"), (223, "utf8mb3_general_mysql500_ci"), (248, "gb18030_chinese_ci"),
    (249, "gb18030_bin"), (250, "gb18030_unicode_520_ci"), (255, "utf8mb4_0900_ai_ci"),
    (256, "utf8mb4_de_pb_0900_ai_ci"), (257, "utf8mb4_is_0900_ai_ci"), (258, "utf8mb4_lv_0900_ai_ci"),
    (259, "utf8mb4_ro_0900_ai_ci"), (260, "utf8mb4_sl_0900_ai_ci"), (261, "utf8mb4_pl_0900_ai_ci"),
    (262, "utf8mb4_et_0900_ai_ci"), (263, "utf8mb4_es_0900_ai_ci"), (264, "utf8mb4_sv_0900_ai_ci"),
    (265, "utf8mb4_tr_0900_ai_ci"), (266, "utf8mb4_cs_0900_ai_ci"), (267, "utf8mb4_da_0900_ai_ci"),
    (268, "utf8mb4_lt_0900_ai_ci"), (269, "utf8mb4_sk_0900_ai_ci"), (270, "utf8mb4_es_trad_0900_ai_ci"),
    (271, "utf8mb4_la_0900_ai_ci"), (273, "utf8mb4_eo_0900_ai_ci"), (274, "utf8mb4_hu_0900_ai_ci"),
    (275, "utf8mb4_hr_0900_ai_ci"), (277, "utf8mb4_vi_0900_ai_ci"), (278, "utf8mb4_0900_as_cs"),
    (279, "utf8mb4_de_pb_0900_as_cs"), (280, "utf8mb4_is_0900_as_cs"), (281, "utf8mb4_lv_0900_as_cs"),
    (282, "utf8mb4_ro_0900_as_cs"), (283, "utf8mb4_sl_0900_as_cs"), (284, "utf8mb4_pl_0900_as_cs"),
    (285, "utf8mb4_et_0900_as_cs"), (286, "utf8mb4_es_0900_as_cs"), (287, "utf8mb4_sv_0900_as_cs"),
    (288, "utf8mb4_tr_0900_as_cs"), (289, "utf8mb4_cs_0900_as_cs"), (290, "utf8mb4_da_0900_as_cs"),
    (291, "utf8mb4_lt_0900_as_cs"), (292, "utf8mb4_sk_0900_as_cs"), (293, "utf8mb4_es_trad_0900_as_cs"),
    (294, "utf8mb4_la_0900_as_cs"), (296, "utf8mb4_eo_0900_as_cs"), (297, "utf8mb4_hu_0900_as_cs"),
    (298, "utf8mb4_hr_0900_as_cs"), (300, "utf8mb4_vi_0900_as_cs"), (303, "utf8mb4_ja_0900_as_cs"),
    (304, "utf8mb4_ja_0900_as_cs_ks"), (305, "utf8mb4_0900_as_ci"), (306, "utf8mb4_ru_0900_ai_ci"),
    (307, "utf8mb4_ru_0900_as_cs"), (308, "utf8mb4_zh_0900_as_cs"), (309, "utf8mb4_0900_bin"),
    (310, "utf8mb4_nb_0900_ai_ci"), (311, "utf8mb4_nb_0900_as_cs"), (312, "utf8mb4_nn_0900_ai_ci"),
    (313, "utf8mb4_nn_0900_as_cs"), (314, "utf8mb4_sr_latn_0900_ai_ci"), (315, "utf8mb4_sr_latn_0900_as_cs"),
    (316, "utf8mb4_bs_0900_ai_ci"), (317, "utf8mb4_bs_0900_as_cs"), (318, "utf8mb4_bg_0900_ai_ci"),
    (319, "utf8mb4_bg_0900_as_cs"), (320, "utf8mb4_gl_0900_ai_ci"), (321, "utf8mb4_gl_0900_as_cs"),
    (322, "utf8mb4_mn_cyrl_0900_ai_ci"), (323, "utf8mb4_mn_cyrl_0900_as_cs"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_names_and_names_numbers() {
        assert!(OTHERS.windows(2).all(|pair| pair[0].0 < pair[1].0));
        let same = |number: u16, name: &str| {
            for vendor in [Vendor::MySql, Vendor::MariaDb] {
                assert_eq!(super::name(number, vendor).as_deref(), Some(name));
                assert_eq!(super::number(name, vendor), Some(number), "{name}");
            }
        };
        for (number, name) in [
            (8, "latin1_swedish_ci"),
            (45, "utf8mb4_general_ci"),
            (63, "binary"),
            (159, "ucs2_general_mysql500_ci"),
            (192, "utf8mb3_unicode_ci"),
            (246, "utf8mb4_unicode_520_ci"),
            (247, "utf8mb4_vietnamese_ci"),
            (264, "utf8mb4_sv_0900_ai_ci"),
            (577, "utf8mb3_myanmar_ci"),
            (1032, "latin1_swedish_nopad_ci"),
            (1070, "utf8mb4_nopad_bin"),
            (1270, "utf8mb4_unicode_520_nopad_ci"),
            (2048, "utf8mb3_uca1400_ai_ci"),
            (2307, "utf8mb4_uca1400_as_cs"),
            (2373, "utf8mb4_uca1400_swedish_nopad_ai_cs"),
            (3271, "utf32_uca1400_croatian_nopad_as_cs"),
        ] {
            same(number, name);
        }
        assert_eq!(number("utf8_general_ci", Vendor::MySql), Some(33));
        for unknown in [0, 17, 125, 272, 324, 1023, 2216, 2248, 4000] {
            assert_eq!(name(unknown, Vendor::MariaDb), None, "{unknown}");
        }
    }

    /// What MySQL calls croatian is not what MariaDB calls so.
    #[test]
    fn croatian() {
        assert_eq!(name(245, Vendor::MySql).as_deref(), Some("utf8mb4_croatian_ci"));
        assert_eq!(name(245, Vendor::MariaDb).as_deref(), Some("utf8mb4_croatian_mysql561_ci"));
        assert_eq!(number("utf8mb4_croatian_ci", Vendor::MySql), Some(245));
        assert_eq!(number("utf8mb4_croatian_ci", Vendor::MariaDb), Some(608));
    }

    #[test]
    fn numbers_have_character_sets() {
        for (number, set) in [
            (8, "latin1"),
            (63, "binary"),
            (250, "gb18030"),
            (255, "utf8mb4"),
            (1032, "latin1"),
            (2310, "utf8mb4"),
        ] {
            assert_eq!(character_set(number), Some(set), "{number}");
        }
        for number in 0..4096 {
            let named = name(number, Vendor::MariaDb);
            let set = named.as_deref().map(|name| name.split_once('_').map_or(name, |(set, _)| set));
            assert!(set.is_none() || set == character_set(number), "{number}");
        }
        assert_eq!((character_set(0), character_set(17), character_set(9999)), (None, None, None));
    }
}
