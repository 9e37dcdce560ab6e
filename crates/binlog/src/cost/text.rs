//! Statements without their values: what differs only in these is one statement.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};

use drover_db::sql::{Dialect, Kind, Token, tokens};

use super::safety::{SafetyVerdict, judge};

/// The number of a statement.
pub(super) type TextId = usize;

/// A statement.
#[derive(Debug)]
pub(super) struct Statement {
    pub(super) text: String,
    pub(super) verdict: SafetyVerdict,
    /// The columns that it gives values to, in lower case; empty where it does not name them.
    pub(super) columns: Vec<Vec<u8>>,
    /// Whether it may change JSON in a way that is logged in part.
    pub(super) changes_json: bool,
}

/// All statements that were seen.
pub(super) struct Texts {
    pub(super) all: Vec<Statement>,
    by_text: HashMap<Vec<u8>, TextId>,
    /// By the hash of a text as it was run: of the same ones only the first is looked into.
    by_raw: HashMap<u64, TextId>,
    hasher: RandomState,
    /// Whose reasons count.
    pub(super) is_mariadb: bool,
    text: Vec<u8>,
    /// All beyond the most that are told apart.
    others: Option<TextId>,
}

/// So many are told apart.
const MOST: usize = 20_000;
/// So many texts are known as they were run.
const MOST_RAW: usize = 100_000;
/// How much of a text is looked at, at its beginning and at its end, in bytes.
const HEAD: usize = 2000;
const TAIL: usize = 1000;

impl Texts {
    pub(super) fn new() -> Self {
        Self {
            all: Vec::new(),
            by_text: HashMap::new(),
            by_raw: HashMap::new(),
            hasher: RandomState::new(),
            is_mariadb: false,
            text: Vec::new(),
            others: None,
        }
    }

    /// The number of a statement that was run so.
    pub(super) fn of(&mut self, raw: &[u8]) -> TextId {
        let (head, tail) = ends(raw);
        let hash = self.hasher.hash_one((head, tail));
        if let Some(&id) = self.by_raw.get(&hash) {
            return id;
        }
        let mut text = std::mem::take(&mut self.text);
        normalise(head, tail, &mut text);
        let id = self.by_text.get(&text).copied().unwrap_or_else(|| self.add(&text, head));
        self.text = text;
        if self.by_raw.len() < MOST_RAW {
            self.by_raw.insert(hash, id);
        }
        id
    }

    /// The number of rows of a table whose statement was not logged.
    pub(super) fn unknown(&mut self, change: &str, table: &str) -> TextId {
        let text = format!("{change} {table} (the statement is not in the log)");
        if let Some(&id) = self.by_text.get(text.as_bytes()) {
            return id;
        }
        let statement =
            Statement { text, verdict: SafetyVerdict::not_logged(), columns: Vec::new(), changes_json: true };
        self.put(statement)
    }

    fn add(&mut self, text: &[u8], head: &[u8]) -> TextId {
        let text = String::from_utf8_lossy(text).into_owned();
        // Without strings nothing is taken for what it is not, also where a long text was cut.
        let verdict = judge(text.as_bytes(), self.is_mariadb);
        let has = |word: &str| text.contains(word);
        let changes_json = ["JSON_SET", "JSON_REPLACE", "JSON_REMOVE"].into_iter().any(has);
        self.put(Statement { verdict, columns: columns(head), changes_json, text })
    }

    fn put(&mut self, statement: Statement) -> TextId {
        if self.all.len() >= MOST {
            return *self.others.get_or_insert_with(|| {
                let text = "all other statements".to_owned();
                let (verdict, columns) = (SafetyVerdict::not_logged(), Vec::new());
                self.all.push(Statement { text, verdict, columns, changes_json: true });
                self.all.len() - 1
            });
        }
        let id = self.all.len();
        self.by_text.insert(statement.text.clone().into_bytes(), id);
        self.all.push(statement);
        id
    }
}

/// The beginning of a text, and the end of a long one.
fn ends(raw: &[u8]) -> (&[u8], &[u8]) {
    if raw.len() <= HEAD + TAIL { (raw, &[]) } else { (&raw[..HEAD], &raw[raw.len() - TAIL..]) }
}

/// What a statement is when its values, comments and lists of rows are taken out.
fn normalise(head: &[u8], tail: &[u8], out: &mut Vec<u8>) {
    out.clear();
    write_normal(head, out);
    if !tail.is_empty() {
        out.extend_from_slice(" …".as_bytes());
        if let Some(at) = find(tail, b"ON DUPLICATE KEY") {
            out.push(b' ');
            write_normal(&tail[at..], out);
        }
    }
}

fn write_normal(text: &[u8], out: &mut Vec<u8>) {
    let mut after = After::default();
    let mut rows = OtherRows::default();
    let (mut at, mut number_end, mut is_behind_name) = (0, 0, false);
    for token in tokens(text, Dialect::default()) {
        let start = at;
        at += token.text.len();
        if start < number_end {
            continue;
        }
        if !token.is_code() {
            (after.space, is_behind_name) = (true, false);
            continue;
        }
        let number = if is_behind_name { 0 } else { number(&text[start..]) };
        let is_number = number >= token.text.len();
        let token = if is_number { Token { kind: Kind::Word, text: b"0" } } else { token };
        number_end = start + if is_number { number } else { 0 };
        is_behind_name = !is_number && matches!(token.kind, Kind::Word | Kind::Quoted);
        if !rows.hide(&token, out) {
            after = After { word: write_token(&token, after, out), space: false };
        }
    }
}

/// How long the number is that a text begins with, such as `1`, `.5` and `1.5e-3`; 0 if it begins with none.
fn number(text: &[u8]) -> usize {
    let digits = |from: usize| text[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let whole = digits(0);
    let mut length = whole;
    if text.get(length) == Some(&b'.') {
        let behind = digits(length + 1);
        if whole + behind == 0 {
            return 0;
        }
        length += 1 + behind;
    }
    if length > 0 && matches!(text.get(length), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(text.get(length + 1), Some(b'+' | b'-')));
        match digits((length + 1 + sign).min(text.len())) {
            0 => {}
            exponent => length += 1 + sign + exponent,
        }
    }
    length
}

/// What stands before a token.
#[derive(Debug, Clone, Copy, Default)]
struct After {
    /// What a word is set off from.
    word: bool,
    /// White space, or a comment.
    space: bool,
}

/// The rows behind the first of a VALUES list, which are left out.
#[derive(Debug, Default)]
struct OtherRows {
    depth: usize,
    /// How deep in parentheses VALUES stands.
    list: Option<usize>,
    /// Whether the first row was written, and whether there was a comma behind the last one.
    is_behind_first: bool,
    has_comma: bool,
}

impl OtherRows {
    /// Whether a token is a part of them.
    fn hide(&mut self, token: &Token<'_>, out: &mut Vec<u8>) -> bool {
        self.depth = depth_behind(token, self.depth);
        let Some(list) = self.list else {
            self.list = (token.is_word("VALUES") || token.is_word("VALUE")).then_some(self.depth);
            return false;
        };
        if !self.is_behind_first {
            self.is_behind_first = self.depth == list && token.is_symbol(b')');
            return false;
        }
        if self.has_comma && (self.depth > list || token.is_symbol(b')')) {
            self.has_comma = self.depth > list;
            return true;
        }
        if token.is_symbol(b',') && self.depth == list {
            self.has_comma = true;
            return true;
        }
        if self.has_comma {
            out.extend_from_slice(b", ");
        }
        *self = Self { depth: self.depth, ..Self::default() };
        self.list = (token.is_word("VALUES") || token.is_word("VALUE")).then_some(self.depth);
        false
    }
}

fn depth_behind(token: &Token<'_>, depth: usize) -> usize {
    if token.is_symbol(b'(') {
        depth + 1
    } else if token.is_symbol(b')') {
        depth.saturating_sub(1)
    } else {
        depth
    }
}

/// How a list goes on of which the values are not all written.
const MORE_AND: &str = "…, ";

/// Writes a token; returns whether a word behind it needs a space before it.
fn write_token(token: &Token<'_>, after: After, out: &mut Vec<u8>) -> bool {
    let needs_space = after.word && is_apart(token, after.space, out);
    let is_value = token.kind == Kind::String
        || token.kind == Kind::Word && token.text.first().is_some_and(u8::is_ascii_digit);
    match token.kind {
        // Of several values in a row only the first is written.
        _ if is_value && out.ends_with(MORE_AND.as_bytes()) => {
            out.truncate(out.len() - 2);
            true
        }
        _ if is_value && out.ends_with(b"?, ") => {
            out.extend_from_slice("…".as_bytes());
            true
        }
        Kind::Symbol if token.text == b"." => {
            out.push(b'.');
            false
        }
        Kind::Symbol if token.text == b"(" => {
            if needs_space && after.space {
                out.push(b' ');
            }
            out.push(b'(');
            false
        }
        Kind::Symbol if matches!(token.text, b")" | b"," | b";") => {
            out.extend_from_slice(token.text);
            if token.text == b"," {
                out.push(b' ');
            }
            token.text != b","
        }
        _ => {
            if needs_space {
                out.push(b' ');
            }
            out.extend_from_slice(if is_value { b"?" } else { token.text });
            token.text != b"@"
        }
    }
}

/// Whether a token is set off from what was written: all is, but behind an opening parenthesis and within an operator such as `<=`.
fn is_apart(token: &Token<'_>, is_spaced: bool, out: &[u8]) -> bool {
    let is_operator = |byte: u8| matches!(byte, b'<' | b'>' | b'!' | b'=' | b':' | b'|' | b'&');
    match out.last() {
        None | Some(b' ' | b'(') => false,
        Some(last) => is_spaced || !is_operator(*last) || !matches!(token.text, [byte] if is_operator(*byte)),
    }
}

fn find(text: &[u8], needle: &[u8]) -> Option<usize> {
    text.windows(needle.len()).position(|window| window.eq_ignore_ascii_case(needle))
}

/// The columns that an INSERT or REPLACE names, or an UPDATE sets, in lower case; none where it names none.
fn columns(text: &[u8]) -> Vec<Vec<u8>> {
    let mut code = tokens(text, Dialect::default()).filter(Token::is_code).peekable();
    let Some(verb) = code.next() else { return Vec::new() };
    if verb.is_word("UPDATE") {
        return set_columns(code.skip_while(|token| !token.is_word("SET")).skip(1));
    }
    if !verb.is_word("INSERT") && !verb.is_word("REPLACE") {
        return Vec::new();
    }
    // Behind the table's name there is a list, or VALUES, SELECT, SET.
    let mut names = Vec::new();
    while let Some(token) = code.next() {
        if token.is_word("SET") {
            return set_columns(code);
        }
        if ["VALUES", "VALUE", "SELECT", "WITH", "TABLE"].iter().any(|word| token.is_word(word)) {
            return Vec::new();
        }
        if token.is_symbol(b'(') {
            for token in code.by_ref() {
                if token.is_symbol(b')') {
                    return names;
                }
                if token.is_word("SELECT") {
                    return Vec::new();
                }
                names.extend(token.name().map(|name| name.to_ascii_lowercase()));
            }
        }
    }
    Vec::new()
}

/// The names before `=` of assignments.
fn set_columns<'a>(code: impl Iterator<Item = Token<'a>>) -> Vec<Vec<u8>> {
    let (mut names, mut last, mut depth, mut is_left) = (Vec::new(), None, 0_usize, true);
    for token in code {
        depth = depth_behind(&token, depth);
        if depth == 0 && ["WHERE", "ORDER", "LIMIT", "ON", "RETURNING"].iter().any(|word| token.is_word(word))
        {
            break;
        }
        if depth == 0 && token.is_symbol(b',') {
            is_left = true;
        } else if depth == 0 && is_left && token.is_symbol(b'=') {
            names.extend(last.take());
            is_left = false;
        } else if let Some(name) = token.name() {
            last = Some(name.to_ascii_lowercase());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn normal(text: &str) -> String {
        let (head, tail) = ends(text.as_bytes());
        let mut out = Vec::new();
        normalise(head, tail, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn statements_without_their_values() {
        for (text, expected) in [
            ("UPDATE t SET k=k+1 WHERE id=4988", "UPDATE t SET k = k + ? WHERE id = ?"),
            ("insert into `a`.t values (1,'x')", "insert into `a`.t values (?, …)"),
            (
                "INSERT INTO t (a, b) VALUES (1, 'x'), (2, 'y;)'), (3, NOW())",
                "INSERT INTO t (a, b) VALUES (?, …)",
            ),
            (
                "INSERT INTO t VALUES (1),(2) ON DUPLICATE KEY UPDATE a = VALUES(a), b = VALUES(b)",
                "INSERT INTO t VALUES (?) ON DUPLICATE KEY UPDATE a = VALUES(a), b = VALUES(b)",
            ),
            ("DELETE FROM t /* hint */ WHERE a IN (1, 2, 3)", "DELETE FROM t WHERE a IN (?, …)"),
            ("DELETE FROM t WHERE a IN (1, 2)\n  LIMIT 5", "DELETE FROM t WHERE a IN (?, …) LIMIT ?"),
            ("SELECT @@x, -1.5, 0xff", "SELECT @@x, - ?, …"),
            ("UPDATE t SET b = 12.50, c=.5 WHERE `t`.a = 1e-3", "UPDATE t SET b = ?, c = ? WHERE `t`.a = ?"),
            ("UPDATE t SET b = 1, c=0.5 WHERE `t`.a = 1.e5", "UPDATE t SET b = ?, c = ? WHERE `t`.a = ?"),
        ] {
            assert_eq!(normal(text), expected, "{text}");
        }
    }

    #[test]
    fn long_statements_differ_in_what_they_do_not_in_how_long_they_are() {
        let rows = |count: usize, end: &str| {
            format!("INSERT INTO t VALUES {}{end}", vec!["(1, 'abc')"; count].join(","))
        };
        assert_eq!(normal(&rows(1000, "")), normal(&rows(2000, "")));
        let two_keys = normal(&rows(1000, " ON DUPLICATE KEY UPDATE b = 1"));
        assert!(two_keys.ends_with("ON DUPLICATE KEY UPDATE b = ?"), "{two_keys}");
    }

    #[test]
    fn columns_that_get_values() {
        for (text, expected) in [
            ("INSERT INTO a.t (A, `b c`) VALUES (1, 2)", &["a", "b c"][..]),
            ("INSERT INTO t VALUES (1, 2)", &[]),
            ("INSERT INTO t SET a = f(1, 2), b = c", &["a", "b"]),
            ("INSERT INTO t (a) SELECT b FROM c", &["a"]),
            ("UPDATE t JOIN u ON t.a = u.a SET t.b = u.c = 1, x=2 WHERE d = 5", &["b", "x"]),
            ("DELETE FROM t WHERE a = 1", &[]),
            ("", &[]),
        ] {
            assert_eq!(
                columns(text.as_bytes()),
                expected.iter().map(|name| name.as_bytes()).collect::<Vec<_>>(),
                "{text}"
            );
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_some_statement(text in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut texts = Texts::new();
            prop_assert_eq!(texts.of(&text), texts.of(&text));
        }
    }
}
