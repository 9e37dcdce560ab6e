//! Collations in statements of the logs: those that the target does not have, those of character sets that are named alone, and those of
//! sessions.

use std::collections::BTreeSet;

use drover_db::collations::defaults::{Conversion, SETS, full_name, name_them};
use drover_db::collations::{Nearest, nearest, numbers};
use drover_db::sql::phrase::Phrase;
use drover_db::sql::{Dialect, Kind, Token, tokens_in_comments};
use serde::Serialize;

use crate::event::{Query, Setting};
use crate::log::{Format, Short};
use crate::sql::{DefaultCollations, charset};

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
    query: &Query<'_>,
    known: &BTreeSet<String>,
) -> Result<Option<Replaced>, Short> {
    if !says(text, b"COLLATE") {
        return Ok(None);
    }
    let all: Vec<_> = tokens_in_comments(text, dialect).collect();
    let (mut out, mut found) = (Vec::with_capacity(text.len()), Vec::new());
    // What comes before the next word: COLLATE, or COLLATE and an equals sign.
    let mut is_named = false;
    for (at, token) in all.iter().enumerate() {
        let other = match is_named && token.kind == Kind::Word {
            true => instead_of(&whole_name(&all, at, query)?, known),
            false => None,
        };
        out.extend_from_slice(other.as_ref().map_or(token.text, |other| other.to.as_bytes()));
        found.extend(other);
        if token.is_code() {
            is_named = token.is_word("COLLATE") || is_named && token.is_symbol(b'=');
        }
    }
    Ok((!found.is_empty()).then_some((out, found)))
}

/// A statement with other collations, and which these are.
pub(super) type Replaced = (Vec<u8>, Vec<NearestCollation>);

/// The name of a collation, in small letters. MariaDB from 10.10 on takes `uca1400_…` for that of the character set at hand: the one that the
/// definition names, or else the options of the table; or else that of the session, if it is of Unicode, and utf8mb4 if not.
fn whole_name(all: &[Token<'_>], at: usize, query: &Query<'_>) -> Result<String, Short> {
    let name = String::from_utf8_lossy(all[at].text).to_ascii_lowercase();
    if !name.starts_with("uca1400_") {
        return Ok(name);
    }
    let set = match set_in_definition(all, at) {
        Some(set) => set,
        None => {
            let of_session = charset_of(query)?.and_then(|charset| charset::name(charset.connection.into()));
            of_session.filter(|set| SETS.contains(set)).unwrap_or("utf8mb4").to_owned()
        }
    };
    Ok(format!("{set}_{name}"))
}

/// The character set that is named before the place in the same definition, or else the last that is named in the statement.
fn set_in_definition(all: &[Token<'_>], at: usize) -> Option<String> {
    let code: Vec<_> = (0..all.len()).filter(|&at| all[at].is_code()).collect();
    let named = |place: usize| {
        let is =
            |behind: usize, word: &str| code.get(place + behind).is_some_and(|&at| all[at].is_word(word));
        let mut name = match () {
            () if is(0, "CHARSET") => place + 1,
            () if is(0, "CHARACTER") && is(1, "SET") => place + 2,
            () => return None,
        };
        let token = |place: usize| code.get(place).map(|&at| &all[at]);
        if token(name)?.is_symbol(b'=') {
            name += 1;
        }
        Some(full_name(&String::from_utf8_lossy(token(name)?.text)))
    };
    let here = code.partition_point(|&place| place < at);
    let ends = |place: &usize| [b',', b'('].iter().any(|&symbol| all[code[*place]].is_symbol(symbol));
    let before = (0..here).rev().take_while(|place| !ends(place)).find_map(named);
    before.or_else(|| (0..code.len()).rev().find_map(named))
}

/// Whether a text has this word, in letters of any case.
fn says(text: &[u8], word: &[u8]) -> bool {
    let (small, capital) = (word[0].to_ascii_lowercase(), word[0].to_ascii_uppercase());
    memchr::memchr2_iter(small, capital, text)
        .any(|at| text.get(at..at + word.len()).is_some_and(|part| part.eq_ignore_ascii_case(word)))
}

fn instead_of(name: &str, known: &BTreeSet<String>) -> Option<NearestCollation> {
    let from = name.to_owned();
    if known.contains(&from) {
        return None;
    }
    let Nearest { name: to, reason, loses } = nearest(&from, |name| known.contains(name))?;
    Some(NearestCollation { from, to, reason, loses })
}

/// The numbers of a session's collations.
struct Charset {
    connection: u16,
    server: u16,
}

fn charset_of(query: &Query<'_>) -> Result<Option<Charset>, Short> {
    for setting in query.settings() {
        if let Setting::Charset(_, connection, server) = setting? {
            return Ok(Some(Charset { connection, server }));
        }
    }
    Ok(None)
}

/// What of a session's collations that the target lacks a statement takes: a schema that names none has that of `collation_server`, and text
/// in the statement itself that of `collation_connection`.
pub(super) fn of_session(
    text: &[u8],
    dialect: Dialect,
    (query, format): (&Query<'_>, &Format),
    target: &Target,
) -> Result<Vec<NearestCollation>, Short> {
    let Some(Charset { connection, server }) = charset_of(query)? else { return Ok(Vec::new()) };
    let lacking = |number: u16| {
        let name = numbers::name(number, format.vendor())?;
        instead_of(&name, &target.collations)
    };
    let (connection, server) = (lacking(connection).filter(|found| found.loses), lacking(server));
    if connection.is_none() && server.is_none() {
        return Ok(Vec::new());
    }
    let told = |found: Option<NearestCollation>, of: &str| {
        found.map(|found| NearestCollation { reason: format!("{of}: {}", found.reason), ..found })
    };
    let found = match makes_schema(text, dialect) {
        Some(true) => told(server, "of a schema that names none"),
        Some(false) => None,
        None if compares_text(text, dialect) => told(connection, "of text in statements"),
        None => None,
    };
    Ok(found.into_iter().collect())
}

/// Whether a statement that makes a schema leaves its collation to the session.
fn makes_schema(text: &[u8], dialect: Dialect) -> Option<bool> {
    let mut code = tokens_in_comments(text, dialect).filter(Token::is_code);
    let begins = code.next().is_some_and(|token| token.is_word("CREATE"));
    let mut kind = code.by_ref().take(3);
    if !(begins && kind.any(|token| token.is_word("DATABASE") || token.is_word("SCHEMA"))) {
        return None;
    }
    let names = ["CHARACTER", "CHARSET", "COLLATE"];
    Some(!code.any(|token| names.iter().any(|word| token.is_word(word))))
}

/// Whether a statement has text in itself, and may compare it or make a column of it.
fn compares_text(text: &[u8], dialect: Dialect) -> bool {
    const WORDS: [&str; 10] =
        ["SELECT", "WHERE", "CASE", "IF", "LIKE", "PROCEDURE", "FUNCTION", "TRIGGER", "EVENT", "VIEW"];
    let (mut has_text, mut compares) = (false, false);
    for token in tokens_in_comments(text, dialect).filter(Token::is_code) {
        has_text |= token.kind == Kind::String;
        compares |= WORDS.iter().any(|word| token.is_word(word));
        if has_text && compares {
            return true;
        }
    }
    false
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
    if !was.sets().into_iter().any(|set| differs(set) && names(text, set)) {
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
    says(text, if set == "utf8mb3" { "utf8" } else { set }.as_bytes())
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
        let query = Query { thread: 1, seconds: 0, error: 0, status: b"", schema: b"", text: b"" };
        let known = ["utf8_unicode_520_ci", "utf8mb4_general_ci"].map(str::to_owned).into();
        let to = |text: &str| {
            let (text, found) = with_known(text.as_bytes(), Dialect::default(), &query, &known).unwrap()?;
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
