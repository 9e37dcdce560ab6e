//! Collations in statements of the logs: those that the target does not have, and those of character sets that are named alone.

use std::collections::BTreeSet;

use drover_db::collations::defaults::{Conversion, SETS, name_them};
use drover_db::collations::{Nearest, nearest};
use drover_db::sql::phrase::Phrase;
use drover_db::sql::{Dialect, Kind, tokens_in_comments};
use serde::Serialize;

use crate::sql::DefaultCollations;

use super::events::Target;

/// A collation that definitions of the logs name, and what they have on the target, which lacks it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NearestCollation {
    /// The one in the logs.
    pub from: String,
    /// The one that tables, columns and schemas were given.
    pub to: String,
    /// What is different under it.
    pub reason: String,
    /// Whether other texts are equal than before.
    pub loses: bool,
}

/// The statement with the nearest of the `known` collations for each that is not among them, and what these are. `None` if all are known,
/// or there is none that comes near.
pub(super) fn with_known(
    text: &[u8],
    dialect: Dialect,
    known: &BTreeSet<String>,
) -> Option<(Vec<u8>, Vec<NearestCollation>)> {
    let (mut out, mut found) = (Vec::with_capacity(text.len()), Vec::new());
    // What comes before the next word: COLLATE, or COLLATE and an equals sign.
    let mut is_named = false;
    for token in tokens_in_comments(text, dialect) {
        let other = (is_named && token.kind == Kind::Word).then(|| instead_of(token.text, known)).flatten();
        out.extend_from_slice(other.as_ref().map_or(token.text, |other| other.to.as_bytes()));
        found.extend(other);
        if token.is_code() {
            is_named = token.is_word("COLLATE") || is_named && token.is_symbol(b'=');
        }
    }
    (!found.is_empty()).then_some((out, found))
}

fn instead_of(name: &[u8], known: &BTreeSet<String>) -> Option<NearestCollation> {
    let from = String::from_utf8_lossy(name).to_ascii_lowercase();
    if known.contains(&from) {
        return None;
    }
    let Nearest { name: to, reason, loses } = nearest(&from, |name| known.contains(name))?;
    Some(NearestCollation { from, to, reason, loses })
}

/// The statement with the collations that character sets named alone had where the log was written, if the target has others for them; and
/// what it converts to other ones all the same. A session's settings would not do: MySQL has none for conversions, and bodies of programs
/// are read again in any session.
pub(super) fn with_defaults(
    text: &[u8],
    dialect: Dialect,
    was: DefaultCollations<'_>,
    target: &Target,
) -> (Option<Vec<u8>>, Vec<NearestCollation>) {
    let is = |set: &str| target.default_collations.get(set).cloned();
    let differs = |set: &str| was.of_set(set).is_some_and(|was| is(set).is_some_and(|is| is != was));
    if !SETS.into_iter().any(|set| differs(set) && names(text, set)) {
        return (None, Vec::new());
    }
    let mut phrase = Phrase::in_comments(text, dialect);
    let before = phrase.clone();
    let keeps = keeps_conversions(&phrase);
    let kept = name_them(&mut phrase, |set| was.of_set(set), is, keeps);
    let text = (phrase != before).then(|| phrase.to_text());
    (text, kept.into_iter().map(converted).collect())
}

/// Whether the name of a character set may stand in a text.
fn names(text: &[u8], set: &str) -> bool {
    let name = if set == "utf8mb3" { "utf8" } else { set }.as_bytes();
    text.windows(name.len()).any(|part| part.eq_ignore_ascii_case(name))
}

/// Whether conversions stay as they stand: in what is defined by an expression, whose text is the name of a column, and where a collation
/// beside them may be at odds with another one.
fn keeps_conversions(phrase: &Phrase) -> bool {
    let words = |words: &[&str], most: usize| {
        let mut code =
            (0..phrase.len()).map(|at| phrase.token(at)).filter(|token| token.is_code()).take(most);
        code.any(|token| words.iter().any(|word| token.is_word(word)))
    };
    let defines = words(&["CREATE", "ALTER"], 1);
    let programs = ["PROCEDURE", "FUNCTION", "TRIGGER", "EVENT", "PACKAGE"];
    words(&["COLLATE"], usize::MAX) || defines && (words(&["SELECT"], usize::MAX) || words(&programs, 16))
}

fn converted(Conversion { text, from, to }: Conversion) -> NearestCollation {
    let reason = format!("it is the default there for {text}; COLLATE {from} behind it keeps the other one");
    NearestCollation { from, to, reason, loses: true }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_stands_where_a_collation_is_named() {
        let known = ["utf8_unicode_520_ci", "utf8mb4_general_ci"].map(str::to_owned).into();
        let to = |text: &str| {
            let (text, found) = with_known(text.as_bytes(), Dialect::default(), &known)?;
            let names = found.into_iter().map(|found| (found.from, found.to)).collect();
            Some((String::from_utf8(text).unwrap(), names))
        };
        let pair = ("utf8mb3_uca1400_ai_ci".to_owned(), "utf8_unicode_520_ci".to_owned());
        assert_eq!(
            to("CREATE TABLE t (v CHAR(9) COLLATE utf8mb3_uca1400_ai_ci) /*!40100 COLLATE = utf8mb3_uca1400_ai_ci */"),
            Some((
                "CREATE TABLE t (v CHAR(9) COLLATE utf8_unicode_520_ci) /*!40100 COLLATE = utf8_unicode_520_ci */".into(),
                vec![pair.clone(), pair]
            ))
        );
        for same in [
            "CREATE TABLE t (utf8mb3_uca1400_ai_ci INT COMMENT 'COLLATE utf8mb3_uca1400_ai_ci')",
            "CREATE TABLE t (v TEXT COLLATE utf8mb4_general_ci)",
            "CREATE TABLE t (v TEXT COLLATE no_such_thing)",
        ] {
            assert_eq!(to(same), None::<(String, Vec<(String, String)>)>, "{same}");
        }
    }
}
