//! Statements that change what a dump has made before, and what is passed over.

use drover_db::sql::{Kind as TokenKind, Token};

use super::words::Words;
use super::{Kind, UNKNOWN};
use drover_db::engines::has_rows_elsewhere;

/// What definitions also call engines of which the catalogue has another name.
const OTHER_NAMES: [&str; 3] = ["MERGE", "MRG_ISAM", "FEDERATEDX"];
/// Options of tables whose rows are kept elsewhere.
const OPTIONS: [&str; 2] = ["UNION", "CONNECTION"];

/// Whether this is the name of an engine whose tables show rows that are kept elsewhere, perhaps in quotes.
pub(super) fn is_elsewhere(token: &Token<'_>) -> bool {
    let text = token.within_quotes().unwrap_or(token.text);
    let engine = String::from_utf8_lossy(text);
    has_rows_elsewhere(&engine) || OTHER_NAMES.iter().any(|name| engine.eq_ignore_ascii_case(name))
}

/// Looks at the options at the end of a table's definition, one token after the other.
#[derive(Default)]
pub(super) struct Engine {
    /// Whether an engine's name comes, or came right before: that may stand in quotes.
    is_named: bool,
}

impl Engine {
    /// Whether this token says that the rows are kept elsewhere: among the definitions of partitions, which are `inside` parentheses,
    /// only an engine does. With version comments about, servers may find its name farther behind ENGINE.
    pub(super) fn is_elsewhere(&mut self, token: &Token<'_>, inside: bool, has_versions: bool) -> bool {
        let is_option = !inside && OPTIONS.iter().any(|word| token.is_word(word));
        let may_be_name = self.is_named || !inside && token.kind == TokenKind::Word;
        let goes_on = match has_versions {
            true => !token.is_symbol(b',') && !token.is_symbol(b')'),
            false => token.is_symbol(b'='),
        };
        let found = is_option || may_be_name && is_elsewhere(token);
        self.is_named = token.is_word("ENGINE") || self.is_named && goes_on;
        found
    }
}

pub(super) fn alter(words: &mut Words<'_>) -> Kind {
    if words.is_any(&["USER", "INSTANCE", "SERVER", "RESOURCE"]) {
        return Kind::Server;
    }
    if words.is_any(&["DATABASE", "SCHEMA"]) {
        return schema(words);
    }
    if !words.is("TABLE") {
        return Kind::Refused(UNKNOWN);
    }
    let Some(name) = words.qualified() else { return Kind::Refused(UNKNOWN) };
    let enable = words.is("ENABLE");
    if enable || words.is("DISABLE") {
        let is_keys = words.is("KEYS") && words.peek().is_none();
        return match (is_keys, enable) {
            (true, true) => Kind::EnableKeys(name),
            (true, false) => Kind::DisableKeys(name),
            (false, _) => Kind::Refused(UNKNOWN),
        };
    }
    match clauses(words) {
        true => Kind::AlterTable(name),
        false => Kind::Refused("of ALTER TABLE only what adds to a table or changes its columns is run"),
    }
}

/// The character set and collation of a schema, as mysqldump changes them around a program.
fn schema(words: &mut Words<'_>) -> Kind {
    let Some(name) = words.name() else { return Kind::Refused(UNKNOWN) };
    let mut is_any = false;
    loop {
        let _ = words.is("DEFAULT");
        let is_known = words.is("COLLATE") || words.is("CHARSET") || words.are(&["CHARACTER", "SET"]);
        let _ = words.symbol(b'=');
        if !is_known || words.name().is_none() {
            return Kind::Refused(UNKNOWN);
        }
        is_any |= is_known;
        if words.peek().is_none() {
            return if is_any { Kind::AlterSchema(name) } else { Kind::Refused(UNKNOWN) };
        }
    }
}

/// Whether all clauses of an ALTER TABLE change this table and no other.
fn clauses(words: &mut Words<'_>) -> bool {
    const BEGIN: [&str; 7] = ["ADD", "MODIFY", "CHANGE", "ALTER", "AUTO_INCREMENT", "COMMENT", "CONVERT"];
    const OTHERS: [&str; 8] =
        ["RENAME", "EXCHANGE", "UNION", "CONNECTION", "ENGINE", "DISCARD", "IMPORT", "DIRECTORY"];
    let (mut depth, mut begins) = (0usize, true);
    while let Some(token) = words.next() {
        let is = |words: &[&str]| words.iter().any(|word| token.is_word(word));
        // CONVERT TABLE would make another table a partition of this one.
        let converts_other = begins && is(&["CONVERT"]) && !words.is("TO");
        if begins && !is(&BEGIN) || depth == 0 && (is(&OTHERS) || is_unclear_word(&token)) || converts_other {
            return false;
        }
        depth += usize::from(token.is_symbol(b'('));
        depth = depth.saturating_sub(usize::from(token.is_symbol(b')')));
        begins = depth == 0 && token.is_symbol(b',');
    }
    !begins
}

/// Whether a word has bytes that are white space in some character set.
pub(super) fn is_unclear_word(token: &Token<'_>) -> bool {
    token.kind == TokenKind::Word && !token.text.is_ascii()
}

/// CREATE INDEX, behind that word.
pub(super) fn index(words: &mut Words<'_>) -> Kind {
    words.if_exists();
    let is_named = words.name().is_some();
    let is_typed = !words.is_any(&["USING", "TYPE"]) || words.name().is_some();
    let table = if is_named && is_typed && words.is("ON") { words.qualified() } else { None };
    table.map_or(Kind::Refused(UNKNOWN), Kind::AlterTable)
}

/// TRUNCATE, behind that word.
pub(super) fn empty(words: &mut Words<'_>) -> Kind {
    match words.qualified() {
        Some(name) if words.peek().is_none() => Kind::Empty(name),
        _ => Kind::Refused(UNKNOWN),
    }
}

/// DELETE FROM, behind these words.
pub(super) fn delete(words: &mut Words<'_>) -> Kind {
    match words.qualified() {
        Some(name) if words.peek().is_none() => Kind::Empty(name),
        Some(name) if words.is_any(&["WHERE", "ORDER", "LIMIT"]) => Kind::ChangeRows(name),
        _ => Kind::Refused(ONE_TABLE),
    }
}

/// UPDATE, behind that word.
pub(super) fn update(words: &mut Words<'_>) -> Kind {
    while words.is_any(&["LOW_PRIORITY", "IGNORE"]) {}
    match words.qualified() {
        Some(name) if words.is("SET") => Kind::ChangeRows(name),
        _ => Kind::Refused(ONE_TABLE),
    }
}

const ONE_TABLE: &str = "only rows of one table are changed, which the dump itself has put there";

/// `SETVAL(sequence, 5, 0)`, behind that word.
pub(super) fn set_value(words: &mut Words<'_>) -> Kind {
    let name = words.symbol(b'(').then(|| words.qualified()).flatten();
    let Some(name) = name else { return Kind::Refused(UNKNOWN) };
    while words.symbol(b',') {
        let _ = words.symbol(b'-');
        if !words.next().is_some_and(|token| token.text.iter().all(u8::is_ascii_digit)) {
            return Kind::Refused(UNKNOWN);
        }
    }
    match words.symbol(b')') && words.peek().is_none() {
        true => Kind::SetValue(name),
        false => Kind::Refused(UNKNOWN),
    }
}

/// Percona's mysqldump asks whether there is RocksDB, and prepares a SET for it in a variable. As no other PREPARE is taken, an
/// EXECUTE has nothing else to run.
pub(super) fn passed_over(first: &str, words: &mut Words<'_>) -> Kind {
    let passed = match first {
        "SHOW" => words.is("WARNINGS"),
        "SELECT" => is_count_for_rocksdb(words),
        "PREPARE" => words.are(&["S", "FROM"]) && words.symbol(b'@') && is_of_rocksdb(words.name()),
        "EXECUTE" => words.is("S") && words.peek().is_none(),
        _ => words.are(&["PREPARE", "S"]) && words.peek().is_none(),
    };
    if passed { Kind::PassedOver } else { Kind::Refused("it may run or change anything") }
}

fn is_count_for_rocksdb(words: &mut Words<'_>) -> bool {
    let counts = words.is("COUNT") && words.symbol(b'(') && words.symbol(b'*') && words.symbol(b')');
    counts && words.is("INTO") && words.symbol(b'@') && is_of_rocksdb(words.name())
}

fn is_of_rocksdb(name: Option<String>) -> bool {
    name.is_some_and(|name| name.contains("rocksdb") || name.ends_with("bulk_load"))
}
