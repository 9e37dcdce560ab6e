//! The tables that subqueries read: each part reads them anew, so none may be the table that is walked.

use crate::code::{Code, Reference};
use crate::{Error, Result};

/// A parenthesis that is open.
#[derive(Debug, Clone, Copy, Default)]
struct Frame {
    /// Whether its text, at this level, is a SELECT or what stands in the FROM of one.
    is_query: bool,
    is_in_from: bool,
    /// Whether a table is named next.
    wants_table: bool,
}

const ENDS_FROM: [&str; 12] = [
    "WHERE",
    "GROUP",
    "HAVING",
    "ORDER",
    "LIMIT",
    "WINDOW",
    "UNION",
    "EXCEPT",
    "INTERSECT",
    "MINUS",
    "SELECT",
    "PROCEDURE",
];

/// Set operations, and the words behind them: what follows is a query.
const SETS: [&str; 6] = ["UNION", "EXCEPT", "INTERSECT", "MINUS", "ALL", "DISTINCT"];

/// All tables that are read in parentheses.
///
/// # Errors
/// If there is one that cannot be told.
pub(crate) fn tables(code: &[Code<'_>]) -> Result<Vec<Reference>> {
    let mut frames = vec![Frame::default()];
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(next) = code.get(at) {
        let is_outer = frames.len() < 2;
        let Some(frame) = frames.last_mut() else { break };
        check_word(code, at)?;
        if next.is_symbol(b'(') {
            let inner = opened(code.get(at + 1), frame);
            frames.push(inner);
        } else if next.is_symbol(b')') {
            frames.pop();
        } else if frame.wants_table && !next.is_any(&["LATERAL", "ONLY"]) {
            let begin = at;
            found.push(reference(code, &mut at).ok_or_else(|| not_understood(next))?);
            // JSON_TABLE(…) reads no table.
            if code.get(at).is_some_and(|next| next.is_symbol(b'(')) {
                found.pop();
            }
            frame.wants_table = false;
            if at > begin {
                continue;
            }
        } else if frame.is_query || !is_outer && next.is("SELECT") {
            // `((SELECT …) UNION SELECT …)`: only what follows tells that it is a query.
            frame.is_query = true;
            frame.step(next);
        }
        at += 1;
    }
    Ok(found)
}

/// All names in subqueries that may be those of tables, wherever they stand: not those that are called, or before a dot.
pub(crate) fn mentions(code: &[Code<'_>]) -> Vec<Reference> {
    let mut frames = vec![false];
    let mut found = Vec::new();
    for (at, next) in code.iter().enumerate() {
        let is_in_query = frames.contains(&true);
        if next.is_symbol(b'(') {
            frames.push(false);
        } else if next.is_symbol(b')') {
            frames.pop();
        } else if next.is("SELECT") && frames.len() > 1 {
            frames.pop();
            frames.push(true);
        }
        let goes_on = code.get(at + 1).is_some_and(|next| next.is_symbol(b'.') || next.is_symbol(b'('));
        if is_in_query
            && !goes_on
            && let Some(name) = next.name()
        {
            let is_part = at > 1 && code[at - 1].is_symbol(b'.');
            let schema = is_part.then(|| code[at - 2].name()).flatten();
            found.push(Reference { schema, name });
        }
    }
    found
}

/// Refuses queries that name their tables otherwise. TABLE, which is reserved, begins one wherever it stands, such as behind UNION.
fn check_word(code: &[Code<'_>], at: usize) -> Result<()> {
    let before = at.checked_sub(1).map(|before| &code[before]);
    let is_part = before.is_some_and(|before| before.is_symbol(b'.'));
    let begins = before.is_some_and(|before| before.is_symbol(b'(') || before.is_any(&SETS));
    let next = &code[at];
    match next.is("TABLE") && !is_part || begins && next.is_any(&["WITH", "VALUES"]) {
        true => Err(Error::with_hint(
            "the statement has WITH, TABLE or VALUES in a subquery, which is not understood",
            "write it as SELECT … FROM …",
        )),
        false => Ok(()),
    }
}

/// The parenthesis that opens before `next`, in another.
fn opened(next: Option<&Code<'_>>, outer: &mut Frame) -> Frame {
    let is_select = next.is_some_and(|next| next.is("SELECT"));
    // `FROM (a JOIN b)`: tables are named in it as outside.
    let is_nested = std::mem::take(&mut outer.wants_table) && !is_select;
    Frame { is_query: is_select || is_nested, is_in_from: is_nested, wants_table: is_nested }
}

impl Frame {
    fn step(&mut self, next: &Code<'_>) {
        if next.is("FROM") {
            (self.is_in_from, self.wants_table) = (true, true);
        } else if next.is_any(&ENDS_FROM) {
            self.is_in_from = false;
        } else if self.is_in_from && (next.is_symbol(b',') || next.is_any(&["JOIN", "STRAIGHT_JOIN"])) {
            self.wants_table = true;
        }
    }
}

fn not_understood(next: &Code<'_>) -> Error {
    Error::with_hint(
        format!("'{}' is not understood where a subquery names a table", next.text()),
        "write its tables by their names",
    )
}

/// The name of a table, with its schema or without.
pub(crate) fn reference(code: &[Code<'_>], at: &mut usize) -> Option<Reference> {
    let first = code.get(*at).filter(|code| !code.is_any(&["SELECT", "SET", "WHERE", "FROM"]))?.name()?;
    *at += 1;
    let has_more = code.get(*at).is_some_and(|code| code.is_symbol(b'.'));
    let second = has_more.then(|| code.get(*at + 1).and_then(Code::name)).flatten();
    Some(match second {
        Some(name) => {
            *at += 2;
            Reference { schema: Some(first), name }
        }
        None => Reference { schema: None, name: first },
    })
}

#[cfg(test)]
mod tests {
    use drover_db::sql::Dialect;

    use crate::code::Reference;
    use crate::statement::Statement;

    fn reads(condition: &str) -> Vec<String> {
        let text = format!("DELETE FROM t WHERE {condition}");
        let statement = Statement::read(&text, Dialect::default()).unwrap();
        let name = |table: Reference| match table.schema {
            Some(schema) => format!("{schema}.{}", table.name),
            None => table.name,
        };
        statement.reads.into_iter().map(name).collect()
    }

    #[test]
    fn tables_of_subqueries() {
        assert_eq!(reads("a IN (1, 2) AND b = EXTRACT(DAY FROM c)"), Vec::<String>::new());
        assert_eq!(
            reads("a IN (SELECT x, y FROM u, v.w AS z JOIN `q` ON z.a = q.a, r WHERE x IN (1, 2))"),
            ["u", "v.w", "q", "r"]
        );
        assert_eq!(
            reads("EXISTS (SELECT 1 FROM (u LEFT JOIN w USING (a, b)) WHERE TRIM(BOTH FROM a))"),
            ["u", "w"]
        );
        assert_eq!(reads("a = (SELECT MAX(x) FROM (SELECT x FROM u UNION SELECT x FROM w) d)"), ["u", "w"]);
        assert_eq!(
            reads("a IN (SELECT j FROM JSON_TABLE(b, '$[*]' COLUMNS (j INT PATH '$')) k)"),
            Vec::<String>::new()
        );
        assert_eq!(reads("a IN ((SELECT x FROM u) UNION ALL SELECT x FROM w)"), ["u", "w"]);
        assert_eq!(reads("a IN (((SELECT x FROM u)) EXCEPT (SELECT x FROM w, v))"), ["u", "w", "v"]);
    }

    #[test]
    fn queries_that_name_no_table_in_from() {
        for query in [
            "SELECT id FROM u UNION TABLE t",
            "SELECT id FROM u UNION ALL /* all */ TABLE `t`",
            "SELECT id FROM u EXCEPT DISTINCT TABLE s.t",
            "SELECT id FROM u INTERSECT (TABLE t)",
            "(SELECT id FROM u) UNION TABLE t",
            "SELECT * FROM (SELECT id FROM u UNION TABLE t) x",
            "TABLE t",
            "((TABLE t))",
            "WITH x AS (TABLE t) SELECT id FROM x",
            "SELECT id FROM u UNION (WITH x AS (SELECT id FROM t) SELECT id FROM x)",
            "SELECT id FROM u UNION VALUES ROW(1)",
            "SELECT id FROM u, LATERAL (TABLE t) x",
        ] {
            let text = format!("DELETE FROM t WHERE id IN ({query})");
            let error = Statement::read(&text, Dialect::default()).unwrap_err().to_string();
            assert!(error.contains("WITH, TABLE or VALUES"), "{query}: {error}");
        }
        assert!(reads("a IN (SELECT x.table FROM u x WHERE `table` = 1)") == ["u"]);
    }

    #[test]
    fn names_that_may_be_tables() {
        let mentions = |condition: &str| {
            let text = format!("DELETE FROM t WHERE {condition}");
            let statement = Statement::read(&text, Dialect::default()).unwrap();
            let names = statement.mentions.into_iter().map(|table| table.name);
            names.filter(|name| name == "t").count()
        };
        assert_eq!(mentions("f(t) = 1 AND (t) IN (1)"), 0);
        assert_eq!(mentions("a IN (SELECT x FROM u WHERE u.x = t.x)"), 0);
        assert_eq!(mentions("a IN (SELECT x FROM u WHERE t = 1)"), 1);
        assert_eq!(mentions("a IN ((SELECT x FROM u) UNION SELECT f(x) FROM s.t)"), 1);
    }
}
