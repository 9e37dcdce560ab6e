//! Defaults of columns, which may be another value in each part: those that a statement takes by the word DEFAULT, and those of the table
//! that is inserted into.

use std::ops::Range;

use drover_db::sql::Dialect;
use drover_db::table::Name;
use drover_db::{Connection, Row, quote, server};

use crate::code::{Code, Verb, code_of};
use crate::error::Doing;
use crate::functions;
use crate::statement::Statement;
use crate::{Error, Result};

/// A place where a statement takes a column's default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Default {
    pub(crate) column: String,
    /// Where it stands, if it is the word alone behind `column =`.
    pub(crate) assigned: Option<Range<usize>>,
}

/// What tells the time of the statement: where, and the expression.
pub(crate) type Moment = (Range<usize>, String);

/// A column's default, as the catalogue shows it.
struct Shown {
    table: Name,
    column: String,
    text: String,
    is_steady: bool,
    numbers: bool,
}

/// `column = DEFAULT` and `DEFAULT(column)`. The word has other uses too, such as `DEFAULT 0 ON EMPTY`.
pub(crate) fn uses(code: &[Code<'_>]) -> Vec<Default> {
    let uses = code.iter().enumerate().filter(|(_, next)| next.is("DEFAULT")).filter_map(|(at, next)| {
        if code.get(at + 1).is_some_and(|next| next.is_symbol(b'(')) {
            let inside = code[at + 2..].iter().take_while(|next| !next.is_symbol(b')'));
            let column = inside.filter_map(Code::name).last()?;
            return Some(Default { column, assigned: None });
        }
        let column = code.get(at.checked_sub(2)?).filter(|_| code[at - 1].is_symbol(b'='))?.name()?;
        Some(Default { column, assigned: Some(next.at..next.end()) })
    });
    uses.collect()
}

/// The defaults that a statement takes and that tell its time, to be asked once for all parts.
///
/// # Errors
/// If it takes one that is another value in each part.
pub(crate) fn moments(
    connection: &mut Connection,
    statement: &Statement,
    walked: &Name,
    others: &[Name],
) -> Result<Vec<Moment>> {
    let mut moments = Vec::new();
    if statement.defaults.is_empty() {
        return Ok(moments);
    }
    for table in others.iter().chain([walked]) {
        for shown in shown(connection, table)?.iter().filter(|shown| !shown.is_steady) {
            let is_it = |taken: &&Default| taken.column.to_lowercase() == shown.column.to_lowercase();
            for taken in statement.defaults.iter().filter(is_it) {
                match &taken.assigned {
                    Some(_) if table != walked => {}
                    Some(range) if shown.is_moment() => moments.push((range.clone(), shown.text.clone())),
                    _ => return Err(shown.refused()),
                }
            }
        }
    }
    Ok(moments)
}

/// Warns of numbers and times that the server gives to rows of the table that is inserted into, by the statement they come with; and of
/// times that stand for NULL.
///
/// # Errors
/// What the server said.
pub(crate) fn note(
    connection: &mut Connection,
    statement: &Statement,
    changed: &Name,
    warnings: &mut Vec<String>,
) -> Result<()> {
    if statement.verb == Verb::Insert {
        for shown in shown(connection, changed)? {
            warnings.extend(shown.warning());
        }
    }
    note_nulls(connection, statement, changed, warnings)
}

/// Where `explicit_defaults_for_timestamp` is off, NULL in a TIMESTAMP that takes none is the time of the statement.
fn note_nulls(
    connection: &mut Connection,
    statement: &Statement,
    changed: &Name,
    warnings: &mut Vec<String>,
) -> Result<()> {
    let variable = "explicit_defaults_for_timestamp";
    let value = server::variable(connection, variable).doing(|| format!("reading {variable}"))?;
    if statement.verb == Verb::Delete || value.is_none_or(|value| value != "0" && value != "OFF") {
        return Ok(());
    }
    let sql = format!(
        "SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {} AND DATA_TYPE = 'timestamp' AND \
         IS_NULLABLE = 'NO'",
        quote::string(&changed.schema),
        quote::string(&changed.name)
    );
    let rows = connection.query(sql).doing(|| format!("reading the columns of {changed}"))?;
    let is_set = |column: &String| {
        statement.verb == Verb::Insert
            || statement.assigned.iter().any(|set| set.eq_ignore_ascii_case(column))
    };
    let columns = rows.into_iter().map(|row| row.string(0)).filter(is_set);
    warnings.extend(columns.map(|column| {
        format!("where the value for {column} of {changed} is NULL, it gets the time of the part that a row is in ({variable} is off)")
    }));
    Ok(())
}

fn shown(connection: &mut Connection, table: &Name) -> Result<Vec<Shown>> {
    let sql = format!(
        "SELECT COLUMN_NAME, EXTRA, COLUMN_DEFAULT, DATA_TYPE FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {}",
        quote::string(&table.schema),
        quote::string(&table.name)
    );
    let rows = connection.query(sql).doing(|| format!("reading the columns of {table}"))?;
    Ok(rows.rows.iter().map(|row| Shown::of(table, row)).collect())
}

impl Shown {
    fn of(table: &Name, row: &Row) -> Self {
        let (extra, text) = (row.string(1).to_lowercase(), row.string(2));
        // MySQL shows text without quotes.
        let is_expression = extra.contains("default_generated")
            || text.contains('(')
            || matches!(row.string(3).as_str(), "date" | "time" | "datetime" | "timestamp");
        let is_steady = !is_expression
            || code_of(&text, Dialect::default()).is_ok_and(|code| functions::is_steady(&code));
        let numbers = extra.contains("auto_increment");
        Self { table: table.clone(), column: row.string(0), text, is_steady, numbers }
    }

    fn is_moment(&self) -> bool {
        code_of(&self.text, Dialect::default()).is_ok_and(|code| functions::is_moment(&code))
    }

    fn refused(&self) -> Error {
        let Self { table, column, text, .. } = self;
        Error::with_hint(
            format!(
                "the statement takes the default of {column} of {table}, {text}, which is another value in each part"
            ),
            "write a value in its place",
        )
    }

    fn warning(&self) -> Option<String> {
        let Self { table, column, .. } = self;
        let where_none = format!("where the SELECT gives no value for {column} of {table}");
        match (self.numbers, self.is_steady) {
            (true, _) => Some(format!(
                "{where_none}, AUTO_INCREMENT leaves gaps between parts: other numbers than one statement would give"
            )),
            (false, false) => Some(format!(
                "{where_none}, its default is computed for each part: a time is that of the part that a row is in"
            )),
            (false, true) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_that_are_taken() {
        let text = "UPDATE s.t SET a = DEFAULT, t.`b` = default, c = COALESCE(DEFAULT(s.t.d), 1), e = JSON_VALUE(f, '$' DEFAULT 0 ON EMPTY)";
        let statement = Statement::read(text, Dialect::default()).unwrap();
        let taken: Vec<_> = statement
            .defaults
            .iter()
            .map(|taken| (taken.column.as_str(), taken.assigned.clone().map(|range| &text[range])))
            .collect();
        assert_eq!(taken, [("a", Some("DEFAULT")), ("b", Some("default")), ("d", None)]);
    }

    #[test]
    fn defaults_that_stay_the_same() {
        let code = |text| code_of(text, Dialect::default()).unwrap();
        for text in ["NULL", "5", "'now()'", "(`a` + 1)", "concat('x',`now`)", "2020-01-01 00:00:00"] {
            assert!(functions::is_steady(&code(text)), "{text}");
        }
        for (text, is_moment) in [
            ("current_timestamp(6)", true),
            ("CURRENT_TIMESTAMP", true),
            ("curdate()", true),
            ("(now() + interval 1 day)", false),
            ("uuid()", false),
            ("nextval(`s`.`q`)", false),
            ("rand()", false),
        ] {
            assert!(!functions::is_steady(&code(text)), "{text}");
            assert_eq!(functions::is_moment(&code(text)), is_moment, "{text}");
        }
    }
}
