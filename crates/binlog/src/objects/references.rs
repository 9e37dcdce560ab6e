//! The tables that INSERT, UPDATE, DELETE and SELECT name.

use drover_db::sql::{Kind, Token};

use super::{Table, qualified};

/// A table that a statement names.
pub(super) struct Reference {
    pub(super) table: Table,
    /// Whether it stands in a SELECT.
    pub(super) is_read: bool,
    is_qualified: bool,
}

/// What is between two parentheses, or the whole.
#[derive(Default)]
struct Level {
    /// Whether a SELECT has begun there.
    is_select: bool,
    /// Whether a comma comes before another table.
    is_list: bool,
    /// Whether FROM and USING are words of a function: EXTRACT(YEAR FROM a).
    is_function: bool,
    /// Whether names of common table expressions stand there.
    is_with: bool,
}

/// Behind these no comma comes before a table.
const END_OF_LIST: [&str; 15] = [
    "WHERE",
    "DELETE",
    "SET",
    "GROUP",
    "ORDER",
    "HAVING",
    "LIMIT",
    "UNION",
    "EXCEPT",
    "INTERSECT",
    "VALUES",
    "SELECT",
    "WINDOW",
    "RETURNING",
    "INTO",
];
/// Functions with FROM or USING in their parentheses.
const WITH_WORDS: [&str; 7] = ["EXTRACT", "TRIM", "SUBSTRING", "SUBSTR", "MID", "CONVERT", "CHAR"];

/// The tables that a statement names; `schema` is the one of those that name none. `None` if something else stands where a table
/// should.
pub(super) fn references(code: &[Token<'_>], schema: &[u8]) -> Option<Vec<Reference>> {
    let mut scan =
        Scan { code, at: 0, schema, levels: vec![Level::default()], found: Vec::new(), hidden: Vec::new() };
    scan.verb()?;
    while scan.at < code.len() {
        scan.step()?;
    }
    let Scan { mut found, hidden, .. } = scan;
    found.retain(|reference| reference.is_qualified || !hidden.contains(&reference.table.name));
    Some(found)
}

struct Scan<'c, 'a> {
    code: &'c [Token<'a>],
    at: usize,
    schema: &'c [u8],
    levels: Vec<Level>,
    found: Vec<Reference>,
    /// Names of common table expressions.
    hidden: Vec<Vec<u8>>,
}

/// Words and functions of the servers' that an opening parenthesis may follow; any other may be a function of the session's schema.
const BEFORE_PARENTHESES: [&str; 66] = [
    "ABS",
    "ALL",
    "AND",
    "ANY",
    "AS",
    "AVG",
    "BETWEEN",
    "BY",
    "CASE",
    "CAST",
    "CEILING",
    "CHAR",
    "COALESCE",
    "CONCAT",
    "CONCAT_WS",
    "CONVERT",
    "COUNT",
    "CURDATE",
    "DATE",
    "DATE_ADD",
    "DATE_FORMAT",
    "DATE_SUB",
    "DECIMAL",
    "DISTINCT",
    "ELSE",
    "EXCEPT",
    "EXISTS",
    "FLOOR",
    "FROM",
    "GREATEST",
    "GROUP_CONCAT",
    "HAVING",
    "IF",
    "IFNULL",
    "IN",
    "INTERSECT",
    "ISNULL",
    "JOIN",
    "JSON_EXTRACT",
    "JSON_UNQUOTE",
    "LEAST",
    "LEFT",
    "LENGTH",
    "LIKE",
    "LOWER",
    "MAX",
    "MIN",
    "NOT",
    "NOW",
    "NULLIF",
    "ON",
    "OR",
    "OVER",
    "REPLACE",
    "RIGHT",
    "ROUND",
    "SELECT",
    "SUBSTRING",
    "SUM",
    "THEN",
    "TRIM",
    "UNION",
    "UPPER",
    "USING",
    "WHEN",
    "WHERE",
];

/// Whether all that a SELECT names has its schema with it.
pub(super) fn are_qualified(code: &[Token<'_>]) -> bool {
    let tables = references(code, b"");
    let is_call = |at: usize| {
        let is_qualified = at.checked_sub(1).is_some_and(|before| code[before].is_symbol(b'.'));
        let is_known = BEFORE_PARENTHESES.iter().any(|word| code[at].is_word(word));
        code[at].name().is_some() && !is_qualified && !is_known
    };
    let calls = (1..code.len()).any(|at| code[at].is_symbol(b'(') && is_call(at - 1));
    !calls && tables.is_some_and(|tables| tables.iter().all(|table| table.is_qualified))
}

impl Scan<'_, '_> {
    /// INSERT and UPDATE have their table right behind; others behind FROM.
    fn verb(&mut self) -> Option<()> {
        const BETWEEN: [&str; 5] = ["LOW_PRIORITY", "HIGH_PRIORITY", "DELAYED", "IGNORE", "INTO"];
        let is = |word: &str| self.code.first().is_some_and(|token| token.is_word(word));
        let (inserts, updates) = (is("INSERT") || is("REPLACE"), is("UPDATE"));
        if !inserts && !updates {
            return Some(());
        }
        self.at = 1;
        while self.is_any(&BETWEEN) {
            self.at += 1;
        }
        self.level().is_list = updates;
        self.table()
    }

    fn step(&mut self) -> Option<()> {
        let token = &self.code[self.at];
        let before = self.at.checked_sub(1).and_then(|at| self.code.get(at));
        let follows =
            |words: &[&str]| before.is_some_and(|before| words.iter().any(|word| before.is_word(word)));
        self.at += 1;
        if token.is_symbol(b'(') {
            let is_function = follows(&WITH_WORDS);
            self.levels.push(Level { is_function, ..Level::default() });
            return Some(());
        }
        if token.is_symbol(b')') {
            if self.levels.len() > 1 {
                self.levels.pop();
            }
            return Some(());
        }
        if token.is_symbol(b',') {
            return self.comma();
        }
        if token.kind != Kind::Word || before.is_some_and(|before| before.is_symbol(b'.')) {
            return Some(());
        }
        let is = |words: &[&str]| words.iter().any(|word| token.is_word(word));
        if is(&END_OF_LIST) {
            let level = self.level();
            (level.is_list, level.is_with) = (false, false);
            level.is_select |= token.is_word("SELECT");
            return Some(());
        }
        if is(&["WITH"]) && !self.is_any(&["ROLLUP", "TIES"]) {
            if self.is_any(&["RECURSIVE"]) {
                self.at += 1;
            }
            self.level().is_with = true;
            return self.expression();
        }
        self.table_word(token, follows(&["KEY", "FOR", "ON"]))
    }

    /// Words that a table follows.
    fn table_word(&mut self, token: &Token<'_>, is_of_other: bool) -> Option<()> {
        let is = |word: &str| token.is_word(word);
        let is_function = self.levels.last().is_some_and(|level| level.is_function);
        let is_from = is("FROM") && !is_function && !self.is_from_a_time();
        let is_using = is("USING") && self.levels.len() == 1 && !self.next_is(b'(');
        // INSERT INTO t TABLE u: rows of a table without a SELECT.
        let is_table = is("TABLE") && !self.next_is(b'(');
        let is_update = is("UPDATE") && !is_of_other;
        if is_using {
            // What is deleted from is named by FROM as it is called here.
            self.found.retain(|reference| reference.is_read);
        }
        if is_table {
            self.level().is_select = true;
        }
        if is_from || is_using || is_update {
            let level = self.level();
            (level.is_list, level.is_with) = (true, false);
        }
        while is_update && self.is_any(&["LOW_PRIORITY", "IGNORE"]) {
            self.at += 1;
        }
        let is_join = (is("JOIN") || is("STRAIGHT_JOIN")) && !is_of_other && self.level().is_list;
        match is_from || is_using || is_update || is_table || is_join {
            true => self.table(),
            false => Some(()),
        }
    }

    /// FOR PORTION OF period FROM a TO b, FOR SYSTEM_TIME FROM a TO b (MariaDB).
    fn is_from_a_time(&self) -> bool {
        let before = |count: usize, word: &str| {
            let token = self.at.checked_sub(count).and_then(|at| self.code.get(at));
            token.is_some_and(|token| token.is_word(word))
        };
        before(4, "PORTION") || before(2, "SYSTEM_TIME")
    }

    fn comma(&mut self) -> Option<()> {
        if self.level().is_with {
            return self.expression();
        }
        if self.level().is_list { self.table() } else { Some(()) }
    }

    /// The name of a common table expression.
    fn expression(&mut self) -> Option<()> {
        let name = self.code.get(self.at)?.name()?;
        self.hidden.push(name);
        self.at += 1;
        Some(())
    }

    /// A table, or what stands in parentheses in its place.
    fn table(&mut self) -> Option<()> {
        while self.next_is(b'(') {
            self.at += 1;
            self.levels.push(Level { is_list: true, ..Level::default() });
        }
        if self.is_any(&["SELECT", "WITH", "VALUES", "TABLE", "DUAL"]) {
            return Some(());
        }
        if self.is_any(&["LATERAL"]) {
            self.at += 1;
            return self.table();
        }
        let (table, length) = qualified(self.code.get(self.at..)?, self.schema)?;
        self.at += length;
        // A function that gives a table.
        if !self.is_insert_list() && self.next_is(b'(') {
            return Some(());
        }
        let is_read = self.levels.iter().any(|level| level.is_select);
        self.found.push(Reference { table, is_read, is_qualified: length > 1 });
        Some(())
    }

    /// Whether a list of columns may follow: behind the table of an INSERT.
    fn is_insert_list(&self) -> bool {
        self.found.is_empty()
            && self.code.first().is_some_and(|token| token.is_word("INSERT") || token.is_word("REPLACE"))
    }

    fn level(&mut self) -> &mut Level {
        if self.levels.is_empty() {
            self.levels.push(Level::default());
        }
        let last = self.levels.len() - 1;
        &mut self.levels[last]
    }

    fn is_any(&self, words: &[&str]) -> bool {
        self.code.get(self.at).is_some_and(|token| words.iter().any(|word| token.is_word(word)))
    }

    fn next_is(&self, symbol: u8) -> bool {
        self.code.get(self.at).is_some_and(|token| token.is_symbol(symbol))
    }
}
