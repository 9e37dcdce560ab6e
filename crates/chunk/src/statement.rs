//! Reads a statement: what it does to which table, and where conditions can be put in. What would not come to the same in parts is
//! refused, with the reason.

use std::ops::Range;

use drover_db::sql::{Dialect, Kind};

use crate::code::{Code, Reference, Verb, code_of};
use crate::defaults::{self, Default};
use crate::functions;
use crate::subquery;
use crate::{Error, Result};

/// A statement that can be run in parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Statement {
    pub(crate) verb: Verb,
    /// The table that is walked.
    pub(crate) table: Reference,
    /// What the statement calls it, in backticks.
    pub(crate) called: String,
    /// The text up to the table and its alias.
    pub(crate) opening: String,
    /// The text from there to the condition.
    pub(crate) middle: String,
    /// The condition; absent for all rows.
    pub(crate) condition: Option<String>,
    /// The columns that are set.
    pub(crate) assigned: Vec<String>,
    /// The table that rows are inserted into.
    pub(crate) target: Option<Reference>,
    /// The tables that subqueries read.
    pub(crate) reads: Vec<Reference>,
    /// All names in subqueries that may be those of tables.
    pub(crate) mentions: Vec<Reference>,
    /// Functions that may be a person's own: the schema and the name.
    pub(crate) calls: Vec<Reference>,
    /// Where the text tells the time of the statement, such as `NOW()`.
    pub(crate) moments: Vec<Range<usize>>,
    /// Where it takes a column's default.
    pub(crate) defaults: Vec<Default>,
}

/// Why a statement is refused; `None` if its text gives no reason. For those who give any text.
pub fn why_not(text: &str, sql_mode: &str) -> Option<String> {
    Statement::read(text, Dialect::of(sql_mode, "utf8mb4")).err().map(|error| error.to_string())
}

/// The text with which a statement is told from others: however it is spaced, and its words and names are written.
pub(crate) fn told(text: &str, dialect: Dialect) -> String {
    const WORDS: [&str; 28] = [
        "DELETE", "UPDATE", "INSERT", "INTO", "SELECT", "FROM", "SET", "WHERE", "AS", "AND", "OR", "NOT",
        "XOR", "IN", "IS", "NULL", "LIKE", "BETWEEN", "EXISTS", "CASE", "WHEN", "THEN", "ELSE", "END",
        "INTERVAL", "DIV", "MOD", "TRUE",
    ];
    let Ok(code) = code_of(text, dialect) else { return text.to_owned() };
    let word = |code: &Code<'_>| match code.token.kind {
        Kind::Word if code.is_any(&WORDS) => code.text().to_uppercase(),
        Kind::Word | Kind::Quoted => code.name().unwrap_or_else(|| code.text()),
        _ => code.text(),
    };
    code.iter().map(word).collect::<Vec<_>>().join(" ")
}

const ONE_TABLE: &str =
    "a join says which rows for all of them at once: write the other tables as a subquery in WHERE";

/// What a clause would change, for the words that begin one behind the table or the condition.
const CLAUSES: &[(&str, &str, &str)] = &[
    (
        "ORDER",
        "ORDER BY",
        "which rows come first means nothing where all of them come; drover goes along a key",
    ),
    ("LIMIT", "LIMIT", "drover would apply it to each part; say in WHERE which rows are meant"),
    ("RETURNING", "RETURNING", "there is nobody to return rows to; --archive keeps what is deleted"),
    ("GROUP", "GROUP BY", "a group may lie in several parts"),
    ("HAVING", "HAVING", "a group may lie in several parts"),
    (
        "WINDOW",
        "WINDOW",
        "a window may reach over several parts; a column of this name is written in backticks",
    ),
    ("UNION", "UNION", "run one statement for each SELECT"),
    ("EXCEPT", "EXCEPT", "the other side of the comparison may lie in another part"),
    ("INTERSECT", "INTERSECT", "the other side of the comparison may lie in another part"),
    ("MINUS", "MINUS", "the other side of the comparison may lie in another part"),
    ("ON", "ON DUPLICATE KEY UPDATE", "what it comes to depends on the order of the rows"),
    (
        "FOR",
        "FOR",
        "rows are locked by the part that they are in; FOR PORTION OF and FOR SYSTEM_TIME are not understood",
    ),
    ("LOCK", "LOCK IN SHARE MODE", "rows are locked by the part that they are in"),
    ("INTO", "INTO", "there is nobody to return rows to"),
    ("PROCEDURE", "PROCEDURE", "it looks at all rows together"),
    ("PARTITION", "PARTITION (…)", "say in WHERE which rows are meant"),
    ("USE", "an index hint", "drover chooses the index: --key says which"),
    ("FORCE", "an index hint", "drover chooses the index: --key says which"),
    ("JOIN", "a join", ONE_TABLE),
    ("INNER", "a join", ONE_TABLE),
    ("LEFT", "a join", ONE_TABLE),
    ("RIGHT", "a join", ONE_TABLE),
    ("CROSS", "a join", ONE_TABLE),
    ("NATURAL", "a join", ONE_TABLE),
    ("STRAIGHT_JOIN", "a join", ONE_TABLE),
    ("USING", "a join", ONE_TABLE),
];

fn refused<T>(what: &str, hint: &str) -> Result<T> {
    Err(Error::with_hint(format!("the statement has {what}: in parts it would not come to the same"), hint))
}

impl Statement {
    /// Reads a statement.
    ///
    /// # Errors
    /// Why it cannot be run in parts.
    pub(crate) fn read(text: &str, dialect: Dialect) -> Result<Self> {
        let code = code_of(text, dialect)?;
        check_parentheses(&code)?;
        let mut reader = Reader { text, code: &code, next: 0 };
        let mut statement = match reader.code.first() {
            Some(first) if first.is("DELETE") => reader.delete()?,
            Some(first) if first.is("UPDATE") => reader.update()?,
            Some(first) if first.is("INSERT") => reader.insert()?,
            _ => {
                return Err(Error::with_hint(
                    "not a statement that can be run in parts",
                    "DELETE FROM t …, UPDATE t SET … and INSERT INTO u SELECT … FROM t … can",
                ));
            }
        };
        statement.reads = subquery::tables(&code)?;
        statement.mentions = subquery::mentions(&code);
        statement.defaults = defaults::uses(&code);
        let found = functions::look(&code, statement.verb)?;
        (statement.calls, statement.moments) = (found.calls, found.moments);
        Ok(statement)
    }
}

/// A parenthesis that closes more than was opened would let a condition out of its own.
fn check_parentheses(code: &[Code<'_>]) -> Result<()> {
    let mut depth = 0_i64;
    for code in code {
        depth += i64::from(code.is_symbol(b'(')) - i64::from(code.is_symbol(b')'));
        if depth < 0 {
            break;
        }
    }
    match depth {
        0 => Ok(()),
        _ => Err(Error::found("the parentheses of the statement do not match")),
    }
}

struct Reader<'c, 'a> {
    text: &'a str,
    code: &'c [Code<'a>],
    next: usize,
}

impl<'a> Reader<'_, 'a> {
    fn peek(&self) -> Option<&Code<'a>> {
        self.code.get(self.next)
    }

    fn peek_is(&self, word: &str) -> bool {
        self.peek().is_some_and(|code| code.is(word))
    }

    fn take(&mut self, word: &str) -> bool {
        let is_there = self.peek_is(word);
        self.next += usize::from(is_there);
        is_there
    }

    fn take_symbol(&mut self, symbol: u8) -> bool {
        let is_there = self.peek().is_some_and(|code| code.is_symbol(symbol));
        self.next += usize::from(is_there);
        is_there
    }

    /// Passes over words that change nothing in what is done. IGNORE does: what is passed over depends on the order of the rows.
    fn modifiers(&mut self, words: &[&str]) -> Result<()> {
        self.next += 1;
        while self.peek().is_some_and(|code| code.is_any(words)) {
            self.next += 1;
        }
        match self.peek_is("IGNORE") {
            true => refused(
                "IGNORE",
                "which rows are left out may depend on their order; say in WHERE which are meant",
            ),
            false => Ok(()),
        }
    }

    /// A table's name.
    fn reference(&mut self) -> Result<Reference> {
        let found = subquery::reference(self.code, &mut self.next);
        found.ok_or_else(|| {
            let what = self.peek().map_or_else(|| "its end".into(), |code| format!("'{}'", code.text()));
            Error::with_hint(
                format!("expected the name of a table in the statement, and found {what}"),
                "DELETE FROM t …, UPDATE t SET … and INSERT INTO u SELECT … FROM t … can be run in parts",
            )
        })
    }

    /// The table that is walked, with its alias, and what begins behind it.
    fn walked(&mut self) -> Result<(Reference, String)> {
        let table = self.reference()?;
        let has_as = self.take("AS");
        let is_clause = |code: &Code<'_>| {
            CLAUSES.iter().any(|(word, ..)| code.is(word)) || code.is_any(&["SET", "WHERE", "IGNORE"])
        };
        let alias = self.peek().filter(|code| has_as || !is_clause(code)).and_then(Code::name);
        self.next += usize::from(alias.is_some());
        Ok((table.clone(), alias.unwrap_or(table.name)))
    }

    /// The text from one token to another.
    fn between(&self, from: usize, to: usize) -> String {
        let begin = self.code.get(from).map_or(self.text.len(), |code| code.at);
        let end = to.checked_sub(1).and_then(|last| self.code.get(last)).map_or(0, Code::end);
        self.text.get(begin..end.max(begin)).unwrap_or_default().to_owned()
    }

    /// Refuses a clause that begins here.
    fn refuse_clause(&self) -> Result<()> {
        let Some(code) = self.peek() else { return Ok(()) };
        if code.is_symbol(b',') {
            return refused("several tables", ONE_TABLE);
        }
        if let Some((_, what, hint)) = CLAUSES.iter().find(|(word, ..)| code.is(word)) {
            return refused(what, hint);
        }
        Err(Error::found(format!("'{}' is not understood at this place of the statement", code.text())))
    }

    /// What follows the table or the assignments: nothing, or WHERE and a condition up to the end.
    fn condition(&mut self) -> Result<Option<String>> {
        if !self.take("WHERE") {
            return self.refuse_clause().map(|()| None);
        }
        let begin = self.next;
        let mut depth = 0;
        while let Some(code) = self.peek() {
            depth += i64::from(code.is_symbol(b'(')) - i64::from(code.is_symbol(b')'));
            // `LEFT(…)` and others are functions there.
            let is_call = self.code.get(self.next + 1).is_some_and(|next| next.is_symbol(b'('));
            if depth == 0 && !is_call && CLAUSES.iter().any(|(word, ..)| code.is(word)) {
                self.refuse_clause()?;
            }
            self.next += 1;
        }
        match self.between(begin, self.next) {
            empty if empty.is_empty() => Err(Error::found("the statement has nothing behind WHERE")),
            condition => Ok(Some(condition)),
        }
    }

    fn delete(&mut self) -> Result<Statement> {
        self.modifiers(&["LOW_PRIORITY", "QUICK"])?;
        if self.peek_is("HISTORY") {
            return refused("HISTORY", "rows of the past have no key to go along");
        }
        if !self.take("FROM") {
            return refused("several tables", ONE_TABLE);
        }
        let (table, called) = self.walked()?;
        let opening = self.between(0, self.next);
        let condition = self.condition()?;
        Ok(Statement { condition, ..Statement::new(Verb::Delete, table, called, opening) })
    }

    fn update(&mut self) -> Result<Statement> {
        self.modifiers(&["LOW_PRIORITY"])?;
        let (table, called) = self.walked()?;
        let opening = self.between(0, self.next);
        let begin = self.next;
        if !self.take("SET") {
            self.refuse_clause()?;
            return Err(Error::found("the statement has no SET"));
        }
        let assigned = self.assignments()?;
        let middle = self.between(begin, self.next);
        let condition = self.condition()?;
        Ok(Statement { middle, condition, assigned, ..Statement::new(Verb::Update, table, called, opening) })
    }

    /// The columns that are assigned to, up to what follows.
    fn assignments(&mut self) -> Result<Vec<String>> {
        let mut assigned = Vec::new();
        loop {
            let column = self.reference()?;
            // The table may stand before it, and the schema before that.
            let column = if self.take_symbol(b'.') { self.reference()? } else { column };
            if !self.take_symbol(b'=') {
                return Err(Error::found(format!("expected '=' behind '{}' in the statement", column.name)));
            }
            assigned.push(column.name);
            if !self.passes_value() {
                return Ok(assigned);
            }
        }
    }

    /// Passes over a value; whether a comma stands behind it.
    fn passes_value(&mut self) -> bool {
        let mut depth = 0;
        while let Some(code) = self.peek() {
            depth += i64::from(code.is_symbol(b'(')) - i64::from(code.is_symbol(b')'));
            let ends = code.is_any(&["WHERE", "ORDER", "LIMIT", "RETURNING"]);
            if depth == 0 && ends {
                return false;
            }
            self.next += 1;
            if depth == 0 && code_is_comma(self.code, self.next - 1) {
                return true;
            }
        }
        false
    }

    fn insert(&mut self) -> Result<Statement> {
        self.modifiers(&["LOW_PRIORITY", "HIGH_PRIORITY", "DELAYED"])?;
        self.take("INTO");
        let target = self.reference()?;
        if self.take_symbol(b'(') {
            self.pass_parenthesis();
        }
        if !self.take("SELECT") {
            return Err(Error::with_hint(
                "only an INSERT with a SELECT can be run in parts",
                "INSERT INTO u (…) SELECT … FROM t WHERE …, with no parentheses around the SELECT",
            ));
        }
        if self.peek().is_some_and(|code| code.is_any(&["DISTINCT", "DISTINCTROW"])) {
            return refused("DISTINCT", "the same values may come from several parts");
        }
        self.pass_select_list()?;
        let (table, called) = self.walked()?;
        let opening = self.between(0, self.next);
        let condition = self.condition()?;
        Ok(Statement {
            condition,
            target: Some(target),
            ..Statement::new(Verb::Insert, table, called, opening)
        })
    }

    /// Passes over the rest of a parenthesis.
    fn pass_parenthesis(&mut self) {
        let mut depth = 1;
        while let Some(code) = self.peek().filter(|_| depth > 0) {
            depth += i64::from(code.is_symbol(b'(')) - i64::from(code.is_symbol(b')'));
            self.next += 1;
        }
    }

    /// Passes over what is selected, and FROM.
    fn pass_select_list(&mut self) -> Result<()> {
        let mut depth = 0;
        while let Some(code) = self.peek() {
            depth += i64::from(code.is_symbol(b'(')) - i64::from(code.is_symbol(b')'));
            if depth == 0 && code.is("INTO") {
                return self.refuse_clause();
            }
            self.next += 1;
            if depth == 0 && self.code[self.next - 1].is("FROM") {
                return Ok(());
            }
        }
        Err(Error::found(
            "the SELECT of the statement reads from no table: there is nothing to cut into parts",
        ))
    }
}

fn code_is_comma(code: &[Code<'_>], at: usize) -> bool {
    code.get(at).is_some_and(|code| code.is_symbol(b','))
}

impl Statement {
    fn new(verb: Verb, table: Reference, called: String, opening: String) -> Self {
        Self {
            verb,
            table,
            called: drover_db::quote::identifier(&called),
            opening,
            middle: String::new(),
            condition: None,
            assigned: Vec::new(),
            target: None,
            reads: Vec::new(),
            mentions: Vec::new(),
            calls: Vec::new(),
            moments: Vec::new(),
            defaults: Vec::new(),
        }
    }

    /// The statement for some of its rows: with the index that is walked, and a condition on its key.
    pub(crate) fn part(&self, index: &str, range: &str, takes_hints: bool) -> String {
        let index = drover_db::quote::identifier(index);
        let opening = match self.verb {
            // A DELETE takes an index only as a hint, and only from MySQL.
            Verb::Delete if takes_hints => self.opening.replacen(
                &self.opening[..6],
                &format!("DELETE /*+ INDEX({} {index}) */", self.called),
                1,
            ),
            Verb::Delete => self.opening.clone(),
            Verb::Update | Verb::Insert => format!("{}\nFORCE INDEX ({index})", self.opening),
        };
        let own = self.condition.as_ref().map(|own| format!("({own}\n) AND ")).unwrap_or_default();
        format!("{opening}\n{}\nWHERE {own}{range}", self.middle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Statement {
        Statement::read(text, Dialect::default()).unwrap()
    }

    fn flat(text: String) -> String {
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn parts_of_statements() {
        let part = |text: &str| flat(read(text).part("PRIMARY", "`id` <= 9", false));
        assert_eq!(part("DELETE FROM t;"), "DELETE FROM t WHERE `id` <= 9");
        assert_eq!(
            part("delete from s.t where a = 1 or b = 2 -- old"),
            "delete from s.t WHERE (a = 1 or b = 2 ) AND `id` <= 9"
        );
        assert_eq!(
            part("UPDATE t AS x SET x.a = IF(b, 1, 2), `c` = c + 1 WHERE d"),
            "UPDATE t AS x FORCE INDEX (`PRIMARY`) SET x.a = IF(b, 1, 2), `c` = c + 1 WHERE (d ) AND `id` <= 9"
        );
        assert_eq!(
            part("INSERT INTO u (a, b) SELECT EXTRACT(YEAR FROM a), b FROM t WHERE left(b, 1) = 'x'"),
            "INSERT INTO u (a, b) SELECT EXTRACT(YEAR FROM a), b FROM t FORCE INDEX (`PRIMARY`) WHERE (left(b, 1) = 'x' ) \
             AND `id` <= 9"
        );
        let hinted = flat(read("DELETE FROM t AS x WHERE 1").part("k", "`id` <= 9", true));
        assert_eq!(hinted, "DELETE /*+ INDEX(`x` `k`) */ FROM t AS x WHERE (1 ) AND `id` <= 9");
    }

    #[test]
    fn however_it_is_written() {
        let same = |a: &str, b: &str| told(a, Dialect::default()) == told(b, Dialect::default());
        assert!(same("update t set a=a+1 where `id`>0;", "UPDATE  t\nSET a = a + 1 -- all\nWHERE id > 0"));
        assert!(!same("UPDATE t SET a = 'x'", "UPDATE t SET a = 'X'"));
        assert!(!same(
            "UPDATE t SET a = 1 WHERE b IN (SELECT b FROM u)",
            "UPDATE t SET a = 1 WHERE b IN (SELECT b FROM U)"
        ));
    }

    #[test]
    fn what_a_statement_names() {
        let update = read("UPDATE a.b x SET x.`c d` = (1, 2) = (3, 4), a.b.e=5");
        assert_eq!((update.called.as_str(), update.assigned), ("`x`", vec!["c d".to_owned(), "e".into()]));
        assert_eq!(update.table, Reference { schema: Some("a".into()), name: "b".into() });
        let insert = read("INSERT INTO u SELECT * FROM t");
        assert_eq!(insert.target, Some(Reference { schema: None, name: "u".into() }));
    }

    #[test]
    fn a_condition_cannot_leave_its_parenthesis() {
        assert!(Statement::read("DELETE FROM t WHERE a = 1) OR (b = 2", Dialect::default()).is_err());
        assert!(Statement::read("DELETE FROM t WHERE (a = 1", Dialect::default()).is_err());
        read("DELETE FROM t WHERE a = ')' OR b = 2");
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(words in prop::collection::vec(prop::sample::select(vec![
            "DELETE", "FROM", "t", "`", "'", "WHERE", "(", ")", "UPDATE", "SET", "=", ",", ".", "SELECT", "INSERT", "INTO", "é", "/*",
            "*/", ";", "@", "NOW()", "IN", "AS", "JOIN", "--", "\n", "CURRENT_DATE", "1", "x(",
        ]), 0..20)) {
            for begin in ["", "DELETE FROM t WHERE ", "UPDATE t SET a = ", "INSERT INTO u SELECT "] {
                let _ = Statement::read(&format!("{begin}{}", words.join(" ")), Dialect::default());
            }
        }
    }
}
