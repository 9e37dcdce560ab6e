//! What of a manifest becomes a part of statements: only the forms that drover writes are taken, so that a manifest from
//! elsewhere has a server run nothing else.

use drover_db::sql::{Dialect, Kind, Token, tokens, tokens_in_comments};
use drover_db::{quote, table::Column};

use super::manifest::{Chunk, Manifest, Table};

/// Functions in the expressions by which columns are read and loaded.
const FUNCTIONS: [&str; 8] = ["ABS", "CAST", "COALESCE", "CONVERT", "GREATEST", "IF", "LEAST", "REPLACE"];
/// Other words in them, besides character sets.
const WORDS: [&str; 7] = ["AS", "BINARY", "CHAR", "DOUBLE", "IS", "JSON", "NULL"];
/// What objects are, besides tables.
const OBJECTS: [&str; 9] =
    ["EVENT", "FUNCTION", "LIBRARY", "PACKAGE", "PACKAGE BODY", "PROCEDURE", "SEQUENCE", "TRIGGER", "VIEW"];

/// Looks at all that becomes a part of statements.
///
/// # Errors
/// What it is that drover does not write.
pub(super) fn check(manifest: &Manifest) -> Result<(), String> {
    let objects = manifest.schemas.iter().flat_map(|schema| {
        [&schema.sequences, &schema.views, &schema.routines, &schema.triggers, &schema.events]
            .into_iter()
            .flatten()
    });
    if let Some(object) = objects.into_iter().find(|object| !OBJECTS.contains(&object.kind.as_str())) {
        return Err(format!("'{}' is no kind of object", object.kind));
    }
    for (schema, table) in manifest.tables() {
        check_table(table)
            .map_err(|what| format!("{}: {what}", quote::qualified(&schema.name, &table.name)))?;
    }
    Ok(())
}

fn check_table(table: &Table) -> Result<(), String> {
    for column in table.columns.iter().chain(&table.generated) {
        let mut expressions = column.read.iter().chain(&column.load);
        if let Some(odd) = expressions.find(|text| !is_expression(text, column)) {
            return Err(format!("no dump reads or loads a column in this way: {odd}"));
        }
    }
    let members = table.key.iter().flat_map(|key| &key.columns).flat_map(|column| &column.members);
    let borders = table.files.iter().flat_map(borders);
    if let Some(odd) = members.chain(borders).find(|text| !is_literal(text)) {
        return Err(format!("this is no literal: {odd}"));
    }
    match &table.condition {
        Some(condition) if !is_condition(condition) => Err(format!("this is no condition: {condition}")),
        _ => Ok(()),
    }
}

/// The key values between which a file's rows lie.
pub fn borders(chunk: &Chunk) -> impl Iterator<Item = &String> {
    chunk.after.iter().chain(&chunk.up_to).flatten()
}

fn code(text: &str) -> Option<Vec<Token<'_>>> {
    let all: Vec<_> = tokens(text.as_bytes(), Dialect::default()).collect();
    let is_plain = |token: &Token<'_>| token.kind != Kind::Comment && is_closed(token);
    all.iter().all(is_plain).then(|| all.into_iter().filter(Token::is_code).collect())
}

/// Whether a string or name ends with its quote.
fn is_closed(token: &Token<'_>) -> bool {
    let is_quoted = matches!(token.kind, Kind::String | Kind::Quoted);
    !is_quoted || token.text.len() > 1 && token.text.first() == token.text.last() && !ends_in_escape(token)
}

fn ends_in_escape(token: &Token<'_>) -> bool {
    let inner = token.within_quotes().unwrap_or_default();
    token.kind == Kind::String && inner.iter().rev().take_while(|&&byte| byte == b'\\').count() % 2 == 1
}

fn is_number(token: &Token<'_>) -> bool {
    token.kind == Kind::Word && token.text[0].is_ascii_digit()
}

fn is_introducer(token: &Token<'_>) -> bool {
    token.kind == Kind::Word && token.text[0] == b'_'
}

/// Whether it is one number, string or string of bytes, perhaps with its character set.
pub fn is_literal(text: &str) -> bool {
    let Some(all) = code(text) else { return false };
    match all.as_slice() {
        [string] if string.kind == Kind::String => true,
        [first, string] if string.kind == Kind::String => is_introducer(first) || first.is_word("X"),
        [set, x, string] if string.kind == Kind::String => is_introducer(set) && x.is_word("X"),
        [] => false,
        all => {
            all.iter().all(|token| is_number(token) || [b'-', b'+', b'.'].iter().any(|&c| token.is_symbol(c)))
        }
    }
}

/// Whether it is made of the column, or of the value that is loaded into it, by known functions.
fn is_expression(text: &str, column: &Column) -> bool {
    let Some(all) = code(text) else { return false };
    let is_column = |token: &Token<'_>| {
        token.kind == Kind::Quoted && token.name().is_some_and(|name| name == column.name.as_bytes())
    };
    let mut depth = 0usize;
    for (at, token) in all.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| all[before]);
        let calls = all.get(at + 1).is_some_and(|next| next.is_symbol(b'('));
        let is_one_of = |words: &[&str]| words.iter().any(|word| token.is_word(word));
        let follows = |word: &str| before.is_some_and(|before| before.is_word(word));
        let is_known = match token.kind {
            Kind::String => true,
            Kind::Quoted => is_column(token),
            Kind::Word if calls => is_one_of(&FUNCTIONS),
            Kind::Word if before.is_some_and(|before| before.is_symbol(b'@')) => {
                is_one_of(&["value", "never", "older_never"])
            }
            Kind::Word => {
                is_number(token)
                    || is_introducer(token)
                    || is_one_of(&WORDS)
                    || follows("USING")
                    || is_one_of(&["USING"])
            }
            Kind::Symbol => b"()+-*=,.@".contains(&token.text[0]),
            Kind::Space | Kind::Comment => false,
        };
        depth += usize::from(token.is_symbol(b'('));
        let is_balanced = !token.is_symbol(b')') || depth > 0;
        depth = depth.saturating_sub(usize::from(token.is_symbol(b')')));
        if !is_known || !is_balanced || depth == 0 && token.is_symbol(b',') {
            return false;
        }
    }
    depth == 0 && !all.is_empty()
}

/// Whether it stays within the parentheses around it and writes nothing: a person's condition may be anything else.
fn is_condition(text: &str) -> bool {
    let mut depth = 0usize;
    for token in tokens_in_comments(text.as_bytes(), Dialect::default()) {
        depth += usize::from(token.is_symbol(b'('));
        if token.is_symbol(b')') && depth == 0
            || token.is_symbol(b';')
            || token.is_word("INTO")
            || !is_closed(&token)
        {
            return false;
        }
        depth = depth.saturating_sub(usize::from(token.is_symbol(b')')));
    }
    depth == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_what_borders_are_written_as() {
        for text in [
            "5",
            "-5",
            "1.50",
            "-0.5e0",
            "1e-30",
            "'2020-01-01 00:00:00'",
            "X'00ff'",
            "_latin1 X'e9'",
            "'a''b\\\\'",
        ] {
            assert!(is_literal(text), "{text}");
        }
        for text in [
            "",
            "a",
            "f()",
            "1 OR 1",
            "(SELECT 1)",
            "'a' OR 'b'",
            "1 -- x",
            "'a",
            "'a\\'",
            "@@version",
            "1/*!50000 + f()*/",
        ] {
            assert!(!is_literal(text), "{text}");
        }
    }

    #[test]
    fn expressions_are_made_of_the_column_and_known_functions() {
        let column = Column { name: "a`b".into(), read: None, load: None };
        let known = [
            "`a``b` + 0",
            "(`a``b` * 1e0)",
            "LEAST(GREATEST((`a``b` * 1e0), -9.9e0), 9.9e0)",
            "CAST(`a``b` AS DOUBLE)",
            "CAST(CAST(`a``b` AS CHAR) AS JSON)",
            "CAST(IF(`a``b` IS NULL, NULL, COALESCE(REPLACE(CAST(`a``b` AS CHAR), _utf8mb4'\\n', _utf8mb4'\\\\n'), '')) AS JSON)",
            "IF(`a``b` + 0 = 0, _binary'0', `a``b`)",
            "IF((`a``b` * 1e0) = 0, ABS((`a``b` * 1e0)), (`a``b` * 1e0))",
            "CONVERT(`a``b` USING utf8mb4)",
            "CONVERT(@value USING ascii)",
        ];
        known.iter().for_each(|text| assert!(is_expression(text, &column), "{text}"));
        let others = [
            "",
            "`other`",
            "other.f(`a``b`)",
            "f()",
            "`a``b`, `a``b`",
            "`a``b` FROM t",
            "(SELECT 1)",
            "`a``b`) OR (1",
            "`a``b` INTO OUTFILE '/tmp/x'",
            "@@datadir",
            "LOAD_FILE('/etc/passwd')",
            "`a``b` /* x */",
            "SLEEP(5)",
        ];
        others.iter().for_each(|text| assert!(!is_expression(text, &column), "{text}"));
    }

    #[test]
    fn conditions_stay_where_they_are() {
        for text in ["a > 5 AND b IN (SELECT c FROM d)", "a = ')' -- x )"] {
            assert!(is_condition(text), "{text}");
        }
        for text in
            ["1) UNION SELECT 1 INTO OUTFILE '/tmp/x' -- (", "(1", "a = 'x", "1 /*!50000 ) INTO @a */"]
        {
            assert!(!is_condition(text), "{text}");
        }
    }
}
