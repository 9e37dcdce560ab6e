//! Collations that a target does not have, and the nearest that it has. Where two are as near, the one that tells more
//! texts apart is taken: under it no two keys become equal.

pub mod defaults;
pub mod numbers;

use std::collections::BTreeSet;

use crate::{Connection, Result, er};

/// The nearest collation and what changes with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nearest {
    /// Its name.
    pub name: String,
    /// What is different under it, in words for people.
    pub reason: String,
    /// Whether other texts are equal than before.
    pub loses: bool,
}

/// The names of all collations that the server has.
///
/// # Errors
///
/// What the server or the connection says.
pub fn all(connection: &mut Connection) -> Result<BTreeSet<String>> {
    const TABLE: &str = "information_schema.COLLATION_CHARACTER_SET_APPLICABILITY";
    // MariaDB lists some once for all the character sets that they serve, and their full names in a column of its own.
    let rows = match connection.query(format!("SELECT FULL_COLLATION_NAME FROM {TABLE}")) {
        Err(error) if error.code() == Some(er::BAD_FIELD) => {
            connection.query(format!("SELECT COLLATION_NAME FROM {TABLE}"))?
        }
        other => other?,
    };
    Ok(rows.into_iter().map(|row| row.string(0)).collect())
}

/// MySQL's abbreviations and the names of MariaDB's collations for the same language.
const LANGUAGES: [(&str, &str); 20] = [
    ("cs", "czech"),
    ("da", "danish"),
    ("de_pb", "german2"),
    ("eo", "esperanto"),
    ("es", "spanish"),
    ("es_trad", "spanish2"),
    ("et", "estonian"),
    ("hr", "croatian"),
    ("hu", "hungarian"),
    ("is", "icelandic"),
    ("la", "roman"),
    ("lt", "lithuanian"),
    ("lv", "latvian"),
    ("pl", "polish"),
    ("ro", "romanian"),
    ("sk", "slovak"),
    ("sl", "slovenian"),
    ("sv", "swedish"),
    ("tr", "turkish"),
    ("vi", "vietnamese"),
];

/// The nearest to `name` among those that the target `has`.
pub fn nearest(name: &str, has: impl Fn(&str) -> bool) -> Option<Nearest> {
    let (set, rest) = name.split_once('_')?;
    if let Some(name) = other_name(name).filter(|name| has(name)) {
        return Some(Nearest { name, reason: "the same under the target's name".into(), loses: false });
    }
    candidates(set, rest).into_iter().find_map(|candidate| {
        let names = [other_name(&candidate.name), Some(candidate.name)];
        let name = names.into_iter().flatten().find(|name| has(name))?;
        Some(Nearest { name, ..candidate })
    })
}

/// Older servers call utf8mb3 utf8, in the names of its collations too.
fn other_name(collation: &str) -> Option<String> {
    match collation.split_once('_')? {
        ("utf8mb3", rest) => Some(format!("utf8_{rest}")),
        ("utf8", rest) => Some(format!("utf8mb3_{rest}")),
        _ => None,
    }
}

fn candidates(set: &str, rest: &str) -> Vec<Nearest> {
    if let Some((language, strength)) = of_uca_9(rest) {
        return [to_mariadb(set, language, strength), to_older_mysql(set, language, strength)].concat();
    }
    if let Some(rest) = rest.strip_prefix("uca1400_") {
        return of_uca_14(set, rest);
    }
    let candidate = |rest: &str, reason: &str, loses| Nearest {
        name: format!("{set}_{rest}"),
        reason: reason.into(),
        loses,
    };
    let no_pad = "the target has no such collation that takes spaces at the end for a difference: they no longer count";
    let by_bytes =
        candidate("bin", "the target has no such collation: the bytes count, with case and accents", true);
    let mut found = match rest {
        "0900_bin" => vec![
            candidate("nopad_bin", "the same order under the target's name", false),
            candidate("bin", no_pad, true),
        ],
        "nopad_bin" => vec![
            candidate("0900_bin", "the same order under the target's name", false),
            candidate("bin", no_pad, true),
        ],
        _ if rest.contains("nopad_") => vec![
            candidate("0900_ai_ci", "spaces at the end still count; weights are those of Unicode 9", false),
            candidate(&rest.replace("nopad_", ""), no_pad, true),
            candidate(
                "unicode_ci",
                "weights are those of Unicode 4; spaces at the end no longer count",
                true,
            ),
        ],
        "croatian_mysql561_ci" => vec![candidate("croatian_ci", "an older version of the same order", false)],
        "general1400_as_ci" => vec![candidate(
            "0900_as_ci",
            "weights are those of Unicode 9; spaces at the end count, where 'a' and 'a ' were equal",
            true,
        )],
        "tolower_ci" => vec![candidate("general_ci", "also takes accents for no difference", true)],
        "unicode_520_ci" => {
            vec![candidate("unicode_ci", "weights are those of Unicode 4 instead of 5.2", true)]
        }
        _ => ["unicode_520_ci", "unicode_ci"]
            .map(|rest| {
                candidate(rest, "the target has no rules for that language: some texts sort elsewhere", true)
            })
            .into(),
    };
    found.push(by_bytes);
    found
}

/// Language and strength of a collation like `de_pb_0900_as_cs`.
fn of_uca_9(rest: &str) -> Option<(&str, &str)> {
    let (language, strength) = rest.split_once("0900_")?;
    (strength != "bin").then_some((language.trim_end_matches('_'), strength))
}

fn to_mariadb(set: &str, language: &str, strength: &str) -> Vec<Nearest> {
    let strength = strength.trim_end_matches("_ks");
    let known = LANGUAGES.iter().find(|(short, _)| *short == language).map(|(_, long)| *long);
    let foreign = known.is_none() && !language.is_empty();
    let reason = match foreign {
        true => "the target has no rules for that language: some texts sort elsewhere, and more may be equal",
        false => "weights are those of Unicode 14 instead of 9; spaces at the end still count",
    };
    let prefix = known.map(|long| format!("{long}_")).unwrap_or_default();
    let newer = Nearest {
        name: format!("{set}_uca1400_{prefix}nopad_{strength}"),
        reason: reason.into(),
        loses: foreign,
    };
    let of_language = known.filter(|_| strength == "ai_ci").map(|long| Nearest {
        name: format!("{set}_{long}_ci"),
        reason: "weights are those of Unicode 4 instead of 9; spaces at the end no longer count".into(),
        loses: true,
    });
    let older = "weights are those of Unicode 5.2 instead of 9, without accents and case; spaces at the end still count";
    let of_none = Nearest {
        name: format!("{set}_unicode_520_nopad_ci"),
        reason: older.into(),
        loses: !language.is_empty() || strength != "ai_ci",
    };
    // Where accents or case were a difference, only the bytes tell as many texts apart.
    let by_bytes = ["nopad_bin", "bin"].into_iter().filter(|_| strength != "ai_ci").map(|rest| Nearest {
        name: format!("{set}_{rest}"),
        reason: "the target has no such collation with accents or case: the bytes count".into(),
        loses: true,
    });
    [Some(newer), of_language].into_iter().flatten().chain(by_bytes).chain([of_none]).collect()
}

/// MySQL before 8.0 has one strength for each language, and counts no spaces at the end. Where accents or case were a difference, only the
/// bytes tell as many texts apart.
fn to_older_mysql(set: &str, language: &str, strength: &str) -> Vec<Nearest> {
    let candidate = |name: String, reason: &str| Nearest { name, reason: reason.into(), loses: true };
    let bytes = candidate(
        format!("{set}_bin"),
        "the target has no such collation with accents or case: the bytes count, but for spaces at the end",
    );
    if strength != "ai_ci" {
        return vec![bytes];
    }
    let known = LANGUAGES.iter().find(|(short, _)| *short == language).map(|(_, long)| *long);
    let foreign =
        if known.is_none() && !language.is_empty() { ", and has no rules for that language" } else { "" };
    let older = |unicode: &str| {
        format!(
            "weights are those of Unicode {unicode} instead of 9; spaces at the end no longer count{foreign}"
        )
    };
    let of_language = known.map(|long| candidate(format!("{set}_{long}_ci"), &older("4")));
    let of_none = [("unicode_520_ci", "5.2"), ("unicode_ci", "4")]
        .map(|(name, unicode)| candidate(format!("{set}_{name}"), &older(unicode)));
    of_language.into_iter().chain(of_none).chain([bytes]).collect()
}

/// `rest` is what follows `uca1400_`, such as `swedish_nopad_as_ci`.
fn of_uca_14(set: &str, rest: &str) -> Vec<Nearest> {
    let no_pad = rest.contains("nopad_");
    let rest = rest.replace("nopad_", "");
    let at = rest.len().saturating_sub("ai_ci".len());
    let (language, strength) = rest.split_at(at);
    let language = language.trim_end_matches('_');
    let mut found = vec![to_mysql(set, language, strength, no_pad)];
    found.extend(to_before_uca_14(set, language, strength, no_pad));
    found
}

/// The one of MySQL 8.
fn to_mysql(set: &str, language: &str, strength: &str, no_pad: bool) -> Nearest {
    let short = LANGUAGES.iter().find(|(_, long)| *long == language);
    let foreign = short.is_none() && !language.is_empty();
    let prefix = short.map(|(short, _)| format!("{short}_")).unwrap_or_default();
    // MySQL has no order that tells case but not accents, and as_ci in no language's order.
    let stronger = match strength {
        "ai_cs" => "as_cs",
        "as_ci" if !prefix.is_empty() => "as_cs",
        same => same,
    };
    let mut reasons = vec!["weights are those of Unicode 9 instead of 14"];
    reasons.extend(foreign.then_some("the target has no rules for that language"));
    reasons.extend((stronger != strength).then_some("accents and case both count"));
    reasons.extend((!no_pad).then_some("spaces at the end count, where 'a' and 'a ' were equal"));
    Nearest {
        name: format!("{set}_{prefix}0900_{stronger}"),
        reason: reasons.join("; "),
        loses: reasons.len() > 1,
    }
}

/// Those of MariaDB before 10.10 and MySQL before 8.0: they have one strength for each language, in which spaces at the end do not count.
/// Where accents or case were a difference, only the bytes tell as many texts apart.
fn to_before_uca_14(set: &str, language: &str, strength: &str, no_pad: bool) -> Vec<Nearest> {
    let candidate =
        |rest: &str, reason: String, loses| Nearest { name: format!("{set}_{rest}"), reason, loses };
    if strength != "ai_ci" {
        let nopad_bin = no_pad.then(|| candidate("nopad_bin", "the bytes themselves count".into(), true));
        return nopad_bin
            .into_iter()
            .chain([candidate("bin", "the bytes themselves count".into(), true)])
            .collect();
    }
    let foreign = if language.is_empty() { "" } else { "; the target has no rules for that language" };
    let weights = |unicode: &str| {
        format!("weights are those of Unicode {unicode} instead of 14, without accents and case")
    };
    let no_longer = if no_pad { "no longer count" } else { "do not count" };
    let mut found = Vec::new();
    if !language.is_empty() {
        let reason = format!("{}; spaces at the end {no_longer}", weights("4"));
        found.push(candidate(&format!("{language}_ci"), reason, true));
    }
    for (name, unicode) in [("unicode_520", "5.2"), ("unicode", "4")] {
        let loses = !language.is_empty() || unicode == "4";
        if no_pad {
            let reason = format!("{}; spaces at the end still count{foreign}", weights(unicode));
            found.push(candidate(&format!("{name}_nopad_ci"), reason, loses));
        }
        let reason = format!("{}; spaces at the end {no_longer}{foreign}", weights(unicode));
        found.push(candidate(&format!("{name}_ci"), reason, loses || no_pad));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(from: &str, has: &[&str]) -> Option<(String, bool)> {
        nearest(from, |name| has.is_empty() || has.contains(&name))
            .map(|nearest| (nearest.name, nearest.loses))
    }

    #[test]
    fn from_mysql_to_mariadb() {
        for (from, to, loses) in [
            ("utf8mb4_0900_ai_ci", "utf8mb4_uca1400_nopad_ai_ci", false),
            ("utf8mb4_0900_as_cs", "utf8mb4_uca1400_nopad_as_cs", false),
            ("utf8mb4_de_pb_0900_as_cs", "utf8mb4_uca1400_german2_nopad_as_cs", false),
            ("utf8mb4_es_trad_0900_ai_ci", "utf8mb4_uca1400_spanish2_nopad_ai_ci", false),
            ("utf8mb4_ja_0900_as_cs_ks", "utf8mb4_uca1400_nopad_as_cs", true),
            ("utf8mb4_0900_bin", "utf8mb4_nopad_bin", false),
        ] {
            assert_eq!(name(from, &[]), Some((to.into(), loses)), "{from}");
        }
        assert_eq!(
            name("utf8mb3_tolower_ci", &["utf8mb3_general_ci"]),
            Some(("utf8mb3_general_ci".into(), true))
        );
        let older = ["utf8mb4_unicode_520_nopad_ci"];
        assert_eq!(name("utf8mb4_0900_ai_ci", &older), Some((older[0].into(), false)));
        assert_eq!(name("gb18030_chinese_ci", &older), None);
    }

    /// Source: `my_uca1400_collation_definitions` of MariaDB 11.8; 10.1, 10.2 and 10.5 have the older one of each.
    const OF_MARIADB: [&str; 22] = [
        "croatian",
        "czech",
        "danish",
        "esperanto",
        "estonian",
        "german2",
        "hungarian",
        "icelandic",
        "latvian",
        "lithuanian",
        "persian",
        "polish",
        "roman",
        "romanian",
        "sinhala",
        "slovak",
        "slovenian",
        "spanish",
        "spanish2",
        "swedish",
        "turkish",
        "vietnamese",
    ];

    #[test]
    fn from_mariadb_to_an_older_one() {
        let of_10_5 = |name: &str| {
            let rest = name.strip_prefix("utf8mb4_").unwrap_or_default();
            let of_language = rest.strip_suffix("_ci").is_some_and(|it| OF_MARIADB.contains(&it));
            let others = ["bin", "nopad_bin", "general_ci", "unicode_ci", "unicode_nopad_ci"];
            of_language
                || others.contains(&rest)
                || ["unicode_520_ci", "unicode_520_nopad_ci"].contains(&rest)
        };
        let name = |from: &str| nearest(from, of_10_5).map(|nearest| (nearest.name, nearest.loses));
        for language in OF_MARIADB {
            for pad in ["", "nopad_"] {
                let to = |rest: &str| Some((format!("utf8mb4_{rest}"), true));
                let uca = format!("utf8mb4_uca1400_{language}_{pad}");
                assert_eq!(name(&format!("{uca}ai_ci")), to(&format!("{language}_ci")));
                assert_eq!(name(&format!("{uca}as_cs")), to(&format!("{pad}bin")));
            }
        }
        for (from, to, loses) in [
            ("utf8mb4_uca1400_none_ai_ci", "utf8mb4_unicode_520_ci", true),
            ("utf8mb4_uca1400_ai_ci", "utf8mb4_unicode_520_ci", false),
            ("utf8mb4_uca1400_nopad_ai_ci", "utf8mb4_unicode_520_nopad_ci", false),
            ("utf8mb4_uca1400_as_ci", "utf8mb4_bin", true),
            ("utf8mb4_sv_0900_ai_ci", "utf8mb4_swedish_ci", true),
            ("utf8mb4_0900_ai_ci", "utf8mb4_unicode_520_nopad_ci", false),
            ("utf8mb4_ja_0900_ai_ci", "utf8mb4_unicode_520_nopad_ci", true),
            ("utf8mb4_general1400_as_ci", "utf8mb4_bin", true),
        ] {
            assert_eq!(name(from), Some((to.into(), loses)), "{from}");
        }
    }

    /// TiDB has little more than the bytes of these character sets.
    #[test]
    fn only_the_bytes_are_left() {
        let of_tidb = ["ascii_bin", "latin1_bin", "gbk_bin", "gbk_chinese_ci", "utf8mb4_unicode_ci"];
        for (from, to) in [
            ("ascii_general_ci", "ascii_bin"),
            ("latin1_swedish_ci", "latin1_bin"),
            ("latin1_german1_nopad_ci", "latin1_bin"),
            ("gbk_nopad_bin", "gbk_bin"),
            ("gbk_chinese_nopad_ci", "gbk_chinese_ci"),
            ("utf8mb4_swedish_ci", "utf8mb4_unicode_ci"),
        ] {
            assert_eq!(name(from, &of_tidb), Some((to.into(), true)), "{from}");
        }
        assert_eq!(name("cp1251_general_ci", &of_tidb), None);
    }

    #[test]
    fn from_mysql_to_an_older_one() {
        let of_5_7 = [
            "utf8_general_ci",
            "utf8mb4_bin",
            "utf8mb4_czech_ci",
            "utf8mb4_unicode_520_ci",
            "utf8mb4_unicode_ci",
        ];
        for (from, to, loses) in [
            ("utf8mb4_0900_ai_ci", "utf8mb4_unicode_520_ci", true),
            ("utf8mb4_cs_0900_ai_ci", "utf8mb4_czech_ci", true),
            ("utf8mb4_ja_0900_as_cs_ks", "utf8mb4_bin", true),
            ("utf8mb4_0900_as_ci", "utf8mb4_bin", true),
            ("utf8mb4_0900_bin", "utf8mb4_bin", true),
            ("utf8mb3_general_ci", "utf8_general_ci", false),
        ] {
            assert_eq!(name(from, &of_5_7), Some((to.into(), loses)), "{from}");
        }
        assert_eq!(name("utf8mb4_0900_ai_ci", &of_5_7[4..]), Some(("utf8mb4_unicode_ci".into(), true)));
        assert_eq!(
            name("utf8_general_ci", &["utf8mb3_general_ci"]),
            Some(("utf8mb3_general_ci".into(), false))
        );
    }

    #[test]
    fn from_mariadb_to_mysql() {
        for (from, to, loses) in [
            ("utf8mb4_uca1400_ai_ci", "utf8mb4_0900_ai_ci", true),
            ("utf8mb4_uca1400_nopad_ai_ci", "utf8mb4_0900_ai_ci", false),
            ("utf8mb4_uca1400_swedish_nopad_as_cs", "utf8mb4_sv_0900_as_cs", false),
            ("utf8mb4_uca1400_nopad_ai_cs", "utf8mb4_0900_as_cs", true),
            ("utf8mb4_uca1400_persian_nopad_ai_ci", "utf8mb4_0900_ai_ci", true),
            ("utf8mb4_nopad_bin", "utf8mb4_0900_bin", false),
        ] {
            assert_eq!(name(from, &[]), Some((to.into(), loses)), "{from}");
        }
        let has = ["latin1_swedish_ci", "utf8mb3_unicode_520_ci", "utf8mb3_bin"];
        assert_eq!(name("latin1_swedish_nopad_ci", &has), Some(("latin1_swedish_ci".into(), true)));
        assert_eq!(name("utf8mb3_uca1400_ai_ci", &has), Some(("utf8mb3_unicode_520_ci".into(), false)));
        assert_eq!(name("utf8mb3_uca1400_as_cs", &has), Some(("utf8mb3_bin".into(), true)));
        let older = ["utf8_unicode_520_ci", "utf8_unicode_ci", "utf8_bin", "ucs2_unicode_ci"];
        assert_eq!(name("utf8mb3_uca1400_ai_ci", &older), Some(("utf8_unicode_520_ci".into(), false)));
        assert_eq!(name("utf8mb3_uca1400_as_cs", &older), Some(("utf8_bin".into(), true)));
        assert_eq!(name("ucs2_uca1400_ai_ci", &older), Some(("ucs2_unicode_ci".into(), true)));
        assert_eq!(name("utf8mb3_unicode_520_nopad_ci", &older[1..]), Some(("utf8_unicode_ci".into(), true)));
        assert_eq!(name("utf8mb3_myanmar_ci", &has), Some(("utf8mb3_unicode_520_ci".into(), true)));
    }
}
