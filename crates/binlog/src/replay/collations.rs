//! Collations in definitions of the logs that the target does not have.

use std::collections::BTreeSet;

use drover_db::collations::{Nearest, nearest};
use drover_db::sql::{Dialect, Kind, tokens_in_comments};
use serde::Serialize;

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
