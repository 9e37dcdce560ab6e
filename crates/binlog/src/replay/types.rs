//! Definitions of MariaDB's logs as MySQL takes them: what MariaDB calls JSON is text there.

use drover_db::sql::{Dialect, Token, tokens_in_comments};

/// The statement with LONGTEXT in place of JSON, as MariaDB makes such a column: then it takes the text that rows of the log hold.
/// `None` if no column of it is JSON, or it defines no table.
pub(super) fn with_json_as_text(text: &[u8], dialect: Dialect) -> Option<Vec<u8>> {
    let all: Vec<_> = tokens_in_comments(text, dialect).collect();
    let code: Vec<_> = (0..all.len()).filter(|&at| all[at].is_code()).collect();
    let words: Vec<_> = code.iter().map(|&at| all[at]).collect();
    let defines = words.first().is_some_and(|first| first.is_word("CREATE") || first.is_word("ALTER"));
    if !defines || !words.iter().take(6).any(|token| token.is_word("TABLE")) {
        return None;
    }
    let found: Vec<_> = (0..words.len()).filter(|&at| is_type(&words, at)).collect();
    let mut out = Vec::with_capacity(text.len() + 80 * found.len());
    for (at, token) in all.iter().enumerate() {
        match found.iter().find(|&&found| code[found] == at) {
            Some(&found) => push_text(&words, found, &mut out),
            None => out.extend_from_slice(token.text),
        }
    }
    (!found.is_empty()).then_some(out)
}

/// Whether the word there is JSON as the type of a column: behind its name, which begins a definition.
fn is_type(code: &[Token<'_>], at: usize) -> bool {
    let before = |count: usize| at.checked_sub(count).and_then(|at| code.get(at));
    let is = |count: usize, words: &[&str]| {
        before(count).is_some_and(|token| words.iter().any(|word| token.is_word(word)))
    };
    const BEGIN: [&str; 4] = ["ADD", "COLUMN", "MODIFY", "EXISTS"];
    let is_named = before(1).is_some_and(|name| name.name().is_some());
    let begins = is(2, &BEGIN)
        || before(2).is_some_and(|token| token.is_symbol(b'(') || token.is_symbol(b','))
        || is(3, &["CHANGE"])
        || is(4, &["CHANGE"]) && is(3, &["COLUMN"])
        || is(5, &["IF"]) && is(4, &["EXISTS"]) && is(6, &["CHANGE", "COLUMN"]);
    // JSON_TABLE(… COLUMNS (a JSON PATH '$.a'))
    let is_path = code.get(at + 1).is_some_and(|next| next.is_word("PATH") || next.is_word("EXISTS"));
    code[at].is_word("JSON") && is_named && begins && !is_path
}

/// The check stands where the type does, but for a generated column, whose expression comes next.
fn push_text(code: &[Token<'_>], at: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(b"LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin");
    let is_generated = code.get(at + 1).is_some_and(|next| next.is_word("AS") || next.is_word("GENERATED"));
    if let (false, Some(name)) = (is_generated, at.checked_sub(1).and_then(|at| code.get(at))) {
        out.extend_from_slice(b" CHECK (JSON_VALID(");
        out.extend_from_slice(name.text);
        out.extend_from_slice(b"))");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_becomes_text_where_it_is_a_type() {
        const TYPE: &str = "LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin";
        let becomes = |text: &str| {
            with_json_as_text(text.as_bytes(), Dialect::default())
                .map(|text| String::from_utf8(text).unwrap())
        };
        for (text, right) in [
            (
                "create table j(id int primary key, j json)",
                "create table j(id int primary key, j ~ CHECK (JSON_VALID(j)))",
            ),
            (
                "CREATE TABLE t (`json` JSON NOT NULL, json INT)",
                "CREATE TABLE t (`json` ~ CHECK (JSON_VALID(`json`)) NOT NULL, json INT)",
            ),
            (
                "CREATE TABLE t (a INT, v JSON AS (json_array(a)))",
                "CREATE TABLE t (a INT, v ~ AS (json_array(a)))",
            ),
            (
                "ALTER TABLE t ADD a JSON, ADD COLUMN IF NOT EXISTS b JSON",
                "ALTER TABLE t ADD a ~ CHECK (JSON_VALID(a)), ADD COLUMN IF NOT EXISTS b ~ CHECK (JSON_VALID(b))",
            ),
            (
                "ALTER TABLE t CHANGE a b JSON, CHANGE COLUMN c d JSON, MODIFY e JSON",
                "ALTER TABLE t CHANGE a b ~ CHECK (JSON_VALID(b)), CHANGE COLUMN c d ~ CHECK (JSON_VALID(d)), MODIFY e ~ CHECK (JSON_VALID(e))",
            ),
            (
                "CREATE OR REPLACE TEMPORARY TABLE IF NOT EXISTS t (j /* x */ JSON)",
                "CREATE OR REPLACE TEMPORARY TABLE IF NOT EXISTS t (j /* x */ ~ CHECK (JSON_VALID(j)))",
            ),
        ] {
            assert_eq!(becomes(text), Some(right.replace("~", TYPE)), "{text}");
        }
        for text in [
            "CREATE TABLE json (id INT, json INT COMMENT 'a JSON')",
            "CREATE TABLE t AS SELECT * FROM JSON_TABLE('[]', '$[*]' COLUMNS (a JSON PATH '$')) x",
            "CREATE FUNCTION f(j JSON) RETURNS JSON RETURN j",
            "INSERT INTO t (a, JSON) VALUES (1, 2)",
            "CREATE TABLE t (a INT AS (CAST(b AS JSON)))",
        ] {
            assert_eq!(becomes(text), None, "{text}");
        }
    }
}
