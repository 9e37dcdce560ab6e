//! The functions that a statement calls: those that give another value each time, those that look at all rows together, and those
//! that tell the time of the statement, which all parts must agree on.

use std::ops::Range;

use drover_db::sql::Kind;

use crate::code::{Code, Reference, Verb};
use crate::{Error, Result};

/// What a statement calls.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) calls: Vec<Reference>,
    pub(crate) moments: Vec<Range<usize>>,
}

/// Functions whose value, or effect, is another one each time (manuals of both servers: Functions and Operators).
const CHANGING: [&str; 37] = [
    "RAND",
    "UUID",
    "UUID_SHORT",
    "UUID_V4",
    "UUID_V7",
    "SYS_GUID",
    "RANDOM_BYTES",
    "SYSDATE",
    "SLEEP",
    "BENCHMARK",
    "CONNECTION_ID",
    "LAST_INSERT_ID",
    "ROW_COUNT",
    "FOUND_ROWS",
    "GET_LOCK",
    "RELEASE_LOCK",
    "RELEASE_ALL_LOCKS",
    "IS_FREE_LOCK",
    "IS_USED_LOCK",
    "LOAD_FILE",
    "MASTER_POS_WAIT",
    "SOURCE_POS_WAIT",
    "MASTER_GTID_WAIT",
    "WAIT_FOR_EXECUTED_GTID_SET",
    "WAIT_UNTIL_SQL_THREAD_AFTER_GTIDS",
    "NEXTVAL",
    "LASTVAL",
    "SETVAL",
    "ENCRYPT",
    "PS_CURRENT_THREAD_ID",
    "PS_THREAD_ID",
    "STATEMENT_DIGEST",
    "ROWNUM",
    "BINLOG_GTID_POS",
    "WSREP_LAST_SEEN_GTID",
    "WSREP_LAST_WRITTEN_GTID",
    "WSREP_SYNC_WAIT_UPTO_GTID",
];

/// Functions of all rows of a group.
const AGGREGATES: [&str; 22] = [
    "COUNT",
    "SUM",
    "MIN",
    "MAX",
    "AVG",
    "GROUP_CONCAT",
    "BIT_AND",
    "BIT_OR",
    "BIT_XOR",
    "STD",
    "STDDEV",
    "STDDEV_POP",
    "STDDEV_SAMP",
    "VAR_POP",
    "VAR_SAMP",
    "VARIANCE",
    "JSON_ARRAYAGG",
    "JSON_OBJECTAGG",
    "ANY_VALUE",
    "ST_COLLECT",
    "MEDIAN",
    "PERCENTILE_CONT",
];

/// Functions that tell the time of the statement, with or without a number of digits.
const MOMENTS: [&str; 10] = [
    "NOW",
    "CURRENT_TIMESTAMP",
    "LOCALTIME",
    "LOCALTIMESTAMP",
    "UTC_TIMESTAMP",
    "CURDATE",
    "CURTIME",
    "UTC_DATE",
    "UTC_TIME",
    "UNIX_TIMESTAMP",
];

/// Those of them, and others, that need no parentheses.
const BARE: [&str; 8] = [
    "CURRENT_TIMESTAMP",
    "LOCALTIME",
    "LOCALTIMESTAMP",
    "UTC_TIMESTAMP",
    "CURRENT_DATE",
    "CURRENT_TIME",
    "UTC_DATE",
    "UTC_TIME",
];

/// Whether it is one of the servers' functions that are named here.
pub(crate) fn is_known(name: &str) -> bool {
    let all = CHANGING.iter().chain(&AGGREGATES).chain(&MOMENTS).chain(&BARE);
    all.into_iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Whether the text of a column's default comes to the same whenever it is computed.
pub(crate) fn is_steady(default: &[Code<'_>]) -> bool {
    let is_other = |code: &Code<'_>| {
        code.is_any(&CHANGING)
            || code.is_any(&MOMENTS)
            || code.is_any(&BARE)
            || code.is_any(&["DEFAULT", "NEXT", "PREVIOUS"])
            || code.is_symbol(b'@')
    };
    // `next value for` is shown as `nextval(`s`.`q`)`.
    !default.iter().any(is_other)
}

/// Whether the whole text tells the time of the statement, such as `current_timestamp(6)`.
pub(crate) fn is_moment(default: &[Code<'_>]) -> bool {
    moment(default, 0).is_some_and(|range| default.last().is_some_and(|last| last.end() == range.end))
}

/// Looks at what a statement calls.
///
/// # Errors
/// If something would not come to the same in parts.
pub(crate) fn look(code: &[Code<'_>], verb: Verb) -> Result<Found> {
    let mut found = Found::default();
    let mut depth_of_queries = Vec::new();
    // Before it, a parenthesis holds the columns that are inserted into.
    let first = if verb == Verb::Insert { code.iter().position(|code| code.is("SELECT")) } else { None };
    let first = first.unwrap_or(0);
    for (at, next) in code.iter().enumerate() {
        let follows = |symbol| code.get(at + 1).is_some_and(|code| code.is_symbol(symbol));
        if next.is_symbol(b'(') {
            depth_of_queries.push(code.get(at + 1).is_some_and(|code| code.is("SELECT")));
        } else if next.is_symbol(b')') {
            depth_of_queries.pop();
        } else if next.is_symbol(b'@') {
            return refused("a variable", "its value may be another one in the next part: write the value");
        }
        check_words(code, at)?;
        let is_in_subquery = depth_of_queries.contains(&true);
        let looks_at_groups = verb == Verb::Insert && !is_in_subquery;
        if looks_at_groups && next.is("OVER") {
            return refused("a window function", "a window may reach over several parts");
        }
        let is_qualified = at > 0 && code[at - 1].is_symbol(b'.');
        if follows(b'(') && matches!(next.token.kind, Kind::Word | Kind::Quoted) {
            check(next, looks_at_groups && !is_qualified)?;
            if is_qualified && at > first {
                return Err(not_known(code, at));
            }
            found.calls.extend(call(code, at));
        }
        if !is_qualified {
            found.moments.extend(moment(code, at));
        }
    }
    Ok(found)
}

fn refused<T>(what: &str, hint: &str) -> Result<T> {
    Err(Error::with_hint(format!("the statement has {what}: in parts it would not come to the same"), hint))
}

/// Words that need no parentheses. Of those of sequences, `s.NEXTVAL` is that of MariaDB in its ORACLE mode.
fn check_words(code: &[Code<'_>], at: usize) -> Result<()> {
    const COLUMN: &str = "a column of this name is written in backticks";
    let next = &code[at];
    let is_qualified = at > 0 && code[at - 1].is_symbol(b'.');
    let is_call = code.get(at + 1).is_some_and(|code| code.is_symbol(b'('));
    let is_value = code.get(at + 1).is_some_and(|code| code.is_any(&["VALUE", "VALUES"]));
    if next.is("ROWNUM") && !is_call {
        return refused("ROWNUM", &format!("it counts the rows of each part; {COLUMN}"));
    }
    if next.is_any(&["NEXT", "PREVIOUS"]) && is_value {
        let what = format!("{} VALUE FOR", next.text().to_uppercase());
        return refused(&what, "it gives another value each time");
    }
    let is_bare = if is_qualified { next.is_any(&["NEXTVAL", "CURRVAL"]) } else { next.is("SYSDATE") };
    match is_bare && !is_call {
        true => refused(&next.text(), &format!("it gives another value each time; {COLUMN}")),
        false => Ok(()),
    }
}

/// A qualified name that is called: a function of a package (MariaDB), which no catalogue names, or a stored one.
fn not_known(code: &[Code<'_>], at: usize) -> Error {
    let mut begin = at;
    while begin > 1 && code[begin - 1].is_symbol(b'.') {
        begin -= 2;
    }
    let name: String = code[begin..=at].iter().map(Code::text).collect();
    Error::with_hint(
        format!(
            "the statement calls the function {name}(), of which nobody knows whether it comes to the same in parts"
        ),
        "write what it computes into the statement; a function of the server is called without a schema",
    )
}

fn check(name: &Code<'_>, looks_at_groups: bool) -> Result<()> {
    let what = || format!("{}()", name.text());
    if name.is_any(&CHANGING) {
        return refused(&what(), "it gives another value each time");
    }
    if looks_at_groups && name.is_any(&AGGREGATES) {
        return refused(&what(), "it looks at all rows together, which may lie in several parts");
    }
    Ok(())
}

/// What is called at this place.
fn call(code: &[Code<'_>], at: usize) -> Option<Reference> {
    let schema = (at > 1 && code[at - 1].is_symbol(b'.')).then(|| code[at - 2].name()).flatten();
    Some(Reference { schema, name: code[at].name()? })
}

/// The text at this place that tells the time of the statement.
fn moment(code: &[Code<'_>], at: usize) -> Option<Range<usize>> {
    let first = code.get(at)?;
    let is = |offset: usize, symbol| code.get(at + offset).is_some_and(|code| code.is_symbol(symbol));
    let end = |offset: usize| code.get(at + offset).map(Code::end);
    if is(1, b'(') {
        let is_known = first.is_any(&MOMENTS) || first.is_any(&BARE);
        let is_digits =
            || code.get(at + 2).is_some_and(|code| code.token.text.iter().all(u8::is_ascii_digit));
        let end = match (is_known, is(2, b')'), is(3, b')')) {
            (true, true, _) => end(2),
            (true, false, true) if is_digits() && !first.is("UNIX_TIMESTAMP") => end(3),
            _ => None,
        };
        return Some(first.at..end?);
    }
    first.is_any(&BARE).then(|| first.at..first.end())
}

#[cfg(test)]
mod tests {
    use drover_db::sql::Dialect;

    use crate::statement::Statement;

    #[test]
    fn moments_are_found() {
        let text = "UPDATE t SET a = NOW(3), b = current_timestamp, c = UNIX_TIMESTAMP(), d = UNIX_TIMESTAMP(c), e = t.curdate \
                    WHERE x < CURRENT_DATE() - INTERVAL 1 DAY AND y = 'NOW()'";
        let statement = Statement::read(text, Dialect::default()).unwrap();
        let found: Vec<_> = statement.moments.into_iter().map(|range| &text[range]).collect();
        assert_eq!(found, ["NOW(3)", "current_timestamp", "UNIX_TIMESTAMP()", "CURRENT_DATE()"]);
    }

    #[test]
    fn functions_of_packages_are_not_known() {
        for call in ["pkg.n()", "s.pkg.n(1)", "`pkg` . `n` (1)", "pkg /* x */ . n()"] {
            for statement in
                [format!("UPDATE t SET a = {call}"), format!("INSERT INTO s.u (a) SELECT {call} FROM t")]
            {
                let error = Statement::read(&statement, Dialect::default()).unwrap_err().to_string();
                assert!(error.contains("of which nobody knows"), "{statement}: {error}");
            }
        }
        assert!(Statement::read("INSERT INTO s.u (a, b) SELECT a, b FROM s.t", Dialect::default()).is_ok());
    }

    #[test]
    fn words_whose_value_changes() {
        let read = |value: &str| Statement::read(&format!("UPDATE t SET a = {value}"), Dialect::default());
        for value in ["s.NEXTVAL", "d.s.currval", "SYSDATE", "PREVIOUS VALUE FOR s", "NEXT VALUE FOR s"] {
            assert!(read(value).is_err(), "{value}");
        }
        for value in ["t.sysdate", "t.`nextval`", "nextval + 1", "`sysdate`"] {
            assert!(read(value).is_ok(), "{value}");
        }
    }

    #[test]
    fn aggregates_matter_where_rows_come_from() {
        let read = |text: &str| Statement::read(text, Dialect::default());
        assert!(read("INSERT INTO u SELECT COUNT(*) FROM t").is_err());
        assert!(read("INSERT INTO u SELECT (SELECT COUNT(*) FROM v) FROM t").is_ok());
        assert!(read("INSERT INTO u SELECT ROW_NUMBER() OVER (ORDER BY a) FROM t").is_err());
        assert!(read("UPDATE t SET a = (SELECT MAX(b) FROM v)").is_ok());
    }
}
