//! Character sets that are named without a collation. They stand for the default one of the server that printed them; where
//! the target takes another one for them, it is written behind.

use std::collections::BTreeMap;

use crate::sql::Kind;
use crate::sql::phrase::Phrase;
use crate::{Connection, Error, Result, Server, Vendor};

/// The character sets whose default collation is not the same on all servers of the two vendors.
pub const SETS: [&str; 5] = ["utf8mb4", "utf8mb3", "ucs2", "utf16", "utf32"];

/// Those for which TiDB alone takes another one.
pub const TIDB_SETS: [&str; 2] = ["ascii", "latin1"];

/// What a server takes for such a character set. Sources: MySQL's manual, "What Is New in MySQL 8.0", for utf8mb4; MariaDB's
/// documentation, `character_set_collations`, whose default names these sets from 11.5 on; TiDB's manual, "Character Set and Collation".
pub fn of_server(server: &Server, set: &str) -> Option<String> {
    let set = full_name(set);
    let (major, minor, patch) = server.numbers();
    let rest = match server.vendor {
        _ if TIDB_SETS.contains(&set.as_str()) && server.is_tidb() => "bin",
        _ if set == "ascii" => "general_ci",
        _ if set == "latin1" => "swedish_ci",
        _ if !SETS.contains(&set.as_str()) => return None,
        Vendor::MySql if set == "utf8mb4" && (major, minor, patch) >= (8, 0, 1) => "0900_ai_ci",
        Vendor::MariaDb if (major, minor) >= (11, 5) => "uca1400_ai_ci",
        _ => "general_ci",
    };
    Some(format!("{set}_{rest}"))
}

/// The set's name in small letters; older servers call utf8mb3 utf8, in the names of its collations too.
pub fn full_name(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    match name.strip_prefix("utf8").filter(|rest| rest.is_empty() || rest.starts_with('_')) {
        Some(rest) => format!("utf8mb3{rest}"),
        None => name,
    }
}

/// What the server at the other end takes for these character sets: its settings may name others than it was made with. One that
/// lacks a character set has no default for it.
///
/// # Errors
/// If the connection is lost.
pub fn of_connection(
    connection: &mut Connection,
    sets: impl IntoIterator<Item = &'static str>,
) -> Result<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    for set in sets {
        let name = if set == "utf8mb3" { "utf8" } else { set };
        match connection.first(format!("SELECT COLLATION(CONVERT('' USING {name}))")) {
            Err(Error::Server(_)) => {}
            other => found.extend(other?.map(|row| (set.to_owned(), row.string(0)))),
        }
    }
    Ok(found)
}

/// What it takes for each of its character sets, by the sets' full names.
///
/// # Errors
/// What the server or the connection says.
pub fn of_all(connection: &mut Connection) -> Result<BTreeMap<String, String>> {
    let sets = "SELECT CHARACTER_SET_NAME, DEFAULT_COLLATE_NAME FROM information_schema.CHARACTER_SETS";
    let rows = connection.query(sets)?.into_iter();
    let mut found: BTreeMap<_, _> = rows.map(|row| (full_name(&row.string(0)), row.string(1))).collect();
    found.extend(of_connection(connection, SETS)?);
    Ok(found)
}

/// A conversion of text into a character set whose collation is another one on the target, and which was left as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conversion {
    /// How it stands there.
    pub text: String,
    /// The collation that it had.
    pub from: String,
    /// The one that it has on the target.
    pub to: String,
}

/// Writes a collation behind each character set that is named alone, where the target has another default: `was` and `is` tell by the
/// set's full name which one it was and is. Conversions are given theirs too, or with `keeps_conversions` left as they are and returned.
pub fn name_them(
    phrase: &mut Phrase,
    was: impl Fn(&str) -> Option<String>,
    is: impl Fn(&str) -> Option<String>,
    keeps_conversions: bool,
) -> Vec<Conversion> {
    let mut kept = Vec::new();
    for at in (0..phrase.len()).rev() {
        let Some((name, is_using)) = named_set(phrase, at) else { continue };
        let set = full_name(&String::from_utf8_lossy(&unquoted(phrase, name)));
        let (Some(collation), Some(theirs)) = (was(&set), is(&set)) else { continue };
        if full_name(&theirs) == collation {
            continue;
        }
        match call_around(phrase, at) {
            Some(call) => {
                let end = phrase.closed(phrase.code(call + 1));
                let text = phrase.part(call..end);
                if phrase.token(phrase.code(end)).is_word("COLLATE") {
                    continue;
                }
                match keeps_conversions {
                    true => kept.push(Conversion { text, from: collation, to: theirs }),
                    false => phrase.replace(call..end, format!("({text} collate {collation})").as_bytes()),
                }
            }
            None if is_using || has_collation(phrase, at, name + 1) => {}
            None => phrase.replace(name + 1..name + 1, behind(phrase, at, name, &collation).as_bytes()),
        }
    }
    kept
}

fn unquoted(phrase: &Phrase, at: usize) -> Vec<u8> {
    let token = phrase.token(at);
    token
        .name()
        .unwrap_or_else(|| token.text.trim_ascii().to_vec())
        .iter()
        .filter(|b| **b != b'\'')
        .copied()
        .collect()
}

/// With an equals sign where the character set has one, as servers print options.
fn behind(phrase: &Phrase, at: usize, name: usize, collation: &str) -> String {
    let has_equals = (at..name).any(|at| phrase.token(at).is_symbol(b'='));
    if has_equals { format!(" COLLATE={collation}") } else { format!(" COLLATE {collation}") }
}

/// Where the name of the character set stands that is announced at `at`, and whether a conversion announces it.
fn named_set(phrase: &Phrase, at: usize) -> Option<(usize, bool)> {
    let token = phrase.token(at);
    let before = phrase.before(at);
    let is_before = |word: &str| before.is_some_and(|at| phrase.token(at).is_word(word));
    let next = phrase.code(at + 1);
    let mut name = match () {
        () if token.is_word("USING") => return call_around(phrase, at).map(|_| (next, true)),
        // SET CHARACTER SET is a statement of its own.
        () if is_before("SET") => return None,
        () if token.is_word("CHARSET") => next,
        () if (token.is_word("CHARACTER") || token.is_word("CHAR")) && phrase.token(next).is_word("SET") => {
            phrase.code(next + 1)
        }
        () => return None,
    };
    let is_file =
        before.and_then(|at| phrase.before(at)).is_some_and(|at| phrase.token(at).is_word("OUTFILE"));
    if is_file {
        return None;
    }
    if phrase.token(name).is_symbol(b'=') {
        name = phrase.code(name + 1);
    }
    matches!(phrase.token(name).kind, Kind::Word | Kind::Quoted | Kind::String).then_some((name, false))
}

/// The function that the place is in an argument of, if it is one that gives texts a character set.
fn call_around(phrase: &Phrase, at: usize) -> Option<usize> {
    let mut depth = 0usize;
    for open in (0..at).rev() {
        match phrase.token(open) {
            token if token.is_symbol(b')') => depth += 1,
            token if token.is_symbol(b'(') && depth > 0 => depth -= 1,
            token if token.is_symbol(b'(') => {
                let word = phrase.before(open)?;
                let is_it = ["CAST", "CONVERT", "CHAR", "JSON_VALUE"]
                    .iter()
                    .any(|name| phrase.token(word).is_word(name));
                return is_it.then_some(word);
            }
            _ => {}
        }
    }
    None
}

/// Whether a collation is named behind the character set, or follows from BINARY. Among the options of a new table or schema it may stand
/// before it or behind a comma, too.
fn has_collation(phrase: &Phrase, at: usize, from: usize) -> bool {
    let mut depth = 0usize;
    if phrase.token(phrase.code(from)).is_word("BINARY") {
        return true;
    }
    let options = options_before(phrase, at);
    if options.iter().flatten().any(|&at| phrase.token(at).is_word("COLLATE")) {
        return true;
    }
    for at in from..phrase.len() {
        match phrase.token(at) {
            token if token.is_symbol(b'(') => depth += 1,
            token if token.is_symbol(b')') && depth == 0 => return false,
            token if token.is_symbol(b')') => depth -= 1,
            token if depth == 0 && token.is_symbol(b',') && options.is_none() => return false,
            token if depth == 0 && token.is_symbol(b';') => return false,
            token if depth == 0 && END.iter().any(|word| token.is_word(word)) => return false,
            token if depth == 0 && token.is_word("COLLATE") => return true,
            _ => {}
        }
    }
    false
}

/// What ends the options of a table, or the type of a value.
const END: [&str; 4] = ["BEGIN", "RETURN", "SELECT", "PARTITION"];

/// What stands before this place outside of parentheses, if it is among the options of a CREATE TABLE or CREATE DATABASE.
fn options_before(phrase: &Phrase, at: usize) -> Option<Vec<usize>> {
    let top = phrase.top();
    let before: Vec<_> = top.iter().copied().take_while(|&place| place < at).collect();
    let is = |at: &usize, words: &[&str]| words.iter().any(|word| phrase.token(*at).is_word(word));
    let creates = before.first().is_some_and(|first| is(first, &["CREATE"]))
        && before.iter().take(5).any(|word| is(word, &["TABLE", "DATABASE", "SCHEMA"]))
        && !before.iter().any(|word| is(word, &END));
    (creates && top.contains(&at)).then_some(before)
}
