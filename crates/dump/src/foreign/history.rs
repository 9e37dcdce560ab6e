//! Rows of system-versioned tables with their history, as `mariadb-dump --dump-history` writes them. A row that is valid until further
//! notice ends at the last TIMESTAMP, and from MariaDB 11.5 on that is a later one: taken over as it stands, it would be a row of the past there.

use std::borrow::Cow;

use drover_db::sql::{Dialect, Kind, Token, tokens};
use drover_db::table::column::{LATER_NEVER, NEVER};
use drover_db::table::implicit_row_times;
use drover_db::{Connection, quote};

use super::context::Context;
use crate::Result;
use crate::dump::catalog::{self, ColumnFacts, Name};
use crate::error::Doing;

/// The last TIMESTAMP of other servers, and that of the target, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ends {
    pub(super) other: &'static str,
    pub(super) own: &'static str,
}

impl Default for Ends {
    fn default() -> Self {
        Self { other: LATER_NEVER, own: NEVER }
    }
}

impl Ends {
    pub(super) fn of(connection: &mut Connection) -> Result<Self> {
        let row = connection.first("SELECT FROM_UNIXTIME(4294967295.999999) IS NOT NULL");
        let is_later = row.doing(|| "asking for the last TIMESTAMP")?.is_some_and(|row| row.string(0) == "1");
        Ok(if is_later { Self { other: NEVER, own: LATER_NEVER } } else { Self::default() })
    }
}

/// The column of a system-versioned table that tells until when a row is valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RowEnd {
    name: String,
    /// Its place in an INSERT that lists no columns.
    place: Option<usize>,
    ends: Ends,
}

impl RowEnd {
    /// That of a table that is system-versioned; `None` where it holds numbers of transactions.
    pub(super) fn of(connection: &mut Connection, table: &Name, ends: Ends) -> Result<Option<Self>> {
        let columns = catalog::columns(connection, table)?;
        let Some(name) = name(&columns) else { return Ok(None) };
        let visible = connection.query(format!("SELECT * FROM {table} LIMIT 0"));
        let place = visible.doing(|| format!("asking for the columns of {table}"))?.column(&name);
        Ok(Some(Self { name, place, ends }))
    }

    /// An INSERT or REPLACE in which rows that were valid where the dump was made are so on the target.
    pub(super) fn translate<'t>(&self, text: Cow<'t, [u8]>, dialect: Dialect) -> Cow<'t, [u8]> {
        let found = self.find(&text, dialect);
        if found.is_empty() {
            return text;
        }
        let (mut out, mut done) = (Vec::with_capacity(text.len()), 0);
        for at in found {
            out.extend_from_slice(&text[done..at]);
            out.extend_from_slice(self.ends.own.as_bytes());
            done = at + self.ends.other.len();
        }
        out.extend_from_slice(&text[done..]);
        out.into()
    }

    /// The same of a value that LOAD DATA reads.
    pub(super) fn loaded(&self, value: &str) -> String {
        format!("REPLACE({value}, '{}', '{}')", self.ends.other, self.ends.own)
    }

    /// Where the values of this column stand that are the other servers' last TIMESTAMP.
    fn find(&self, text: &[u8], dialect: Dialect) -> Vec<usize> {
        let mut next = 0;
        let begin = |token: &Token<'_>| {
            next += token.text.len();
            next - token.text.len()
        };
        let mut tokens = tokens(text, dialect).scan(begin, |begin, token| Some((begin(&token), token)));
        let Some(place) = self.place_in(&mut tokens) else { return Vec::new() };
        let (mut depth, mut field, mut found) = (0, 0, Vec::new());
        for (at, token) in tokens {
            match token.text {
                b"(" => {
                    depth += 1;
                    field = if depth == 1 { 0 } else { field };
                }
                b")" => depth -= 1,
                b"," if depth == 1 => field += 1,
                _ if depth == 1 && field == place && self.is_other_end(&token) => found.push(at + 1),
                _ => {}
            }
        }
        found
    }

    fn is_other_end(&self, token: &Token<'_>) -> bool {
        token.kind == Kind::String && token.within_quotes() == Some(self.ends.other.as_bytes())
    }

    /// The place of the column among those that an INSERT lists, read up to its VALUES.
    fn place_in<'t>(&self, tokens: &mut impl Iterator<Item = (usize, Token<'t>)>) -> Option<usize> {
        let (mut listed, mut place) = (None, None);
        for (_, token) in tokens {
            if token.is_word("VALUES") || token.is_word("VALUE") {
                return if listed.is_some() { place } else { self.place };
            }
            match &mut listed {
                None if token.is_symbol(b'(') => listed = Some(0),
                Some(count) if token.is_symbol(b',') => *count += 1,
                Some(count)
                    if token.name().is_some_and(|name| name.eq_ignore_ascii_case(self.name.as_bytes())) =>
                {
                    place = Some(*count);
                }
                _ => {}
            }
        }
        None
    }
}

/// What the column is called in a system-versioned table of these columns; where none is among them, the server has added one.
fn name(columns: &[ColumnFacts]) -> Option<String> {
    let added = implicit_row_times(columns);
    columns.iter().chain(&added).find(|column| column.is_row_end()).map(|column| column.name.clone())
}

/// Warns of rows that came with the last TIMESTAMP of older servers all the same.
pub(super) fn check(connection: &mut Connection, context: &Context<'_>) -> Result<()> {
    // Older servers refuse the later one themselves.
    if context.target.ends().own != LATER_NEVER {
        return Ok(());
    }
    let tables = catalog::versioned(connection)?;
    for table in tables.iter().filter(|table| context.target.has_begun(table)) {
        let rows = past(connection, table)?;
        if rows > 0 {
            context.tally.warn([format!("{table}: {rows} {PAST}")], 1);
        }
    }
    Ok(())
}

const PAST: &str = "rows end at the last TIMESTAMP of MariaDB before 11.5: they were current rows there, and are past rows here. \
                    Restore the dump into such a server, and bring the table here with drover copy";

/// How many rows end at the last TIMESTAMP of older servers.
fn past(connection: &mut Connection, table: &Name) -> Result<u64> {
    let Some(name) = name(&catalog::columns(connection, table)?) else { return Ok(0) };
    let row = connection.first(format!(
        "SELECT COUNT(*) FROM {table} FOR SYSTEM_TIME ALL WHERE {} = FROM_UNIXTIME(2147483647.999999)",
        quote::identifier(&name)
    ));
    let row = row.doing(|| format!("looking for rows of {table} that end too early"))?;
    Ok(row.and_then(|row| row.parse(0)).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translated(place: Option<usize>, text: &str) -> String {
        let ends = Ends { other: NEVER, own: LATER_NEVER };
        let row_end = RowEnd { name: "e".into(), place, ends };
        let text = text.replace("OLD", &format!("'{NEVER}'"));
        let found = row_end.translate(text.as_bytes().into(), Dialect::default()).into_owned();
        let found = String::from_utf8(found).unwrap();
        found.replace(&format!("'{NEVER}'"), "OLD").replace(&format!("'{LATER_NEVER}'"), "NEW")
    }

    #[test]
    fn only_the_ends_of_rows_are_translated() {
        for (place, text, expected) in [
            (
                Some(1),
                "INSERT INTO `t` VALUES (OLD,OLD,1),\n(f(1,OLD),'x',OLD),('a\\',',OLD,2)",
                "INSERT INTO `t` VALUES (OLD,NEW,1),\n(f(1,OLD),'x',OLD),('a\\',',NEW,2)",
            ),
            (
                Some(0),
                "REPLACE INTO t (`v`, E) VALUES (OLD, OLD)",
                "REPLACE INTO t (`v`, E) VALUES (OLD, NEW)",
            ),
            (Some(0), "INSERT INTO t (v, w) VALUES (OLD, OLD)", "INSERT INTO t (v, w) VALUES (OLD, OLD)"),
            (None, "INSERT INTO t VALUES (OLD)", "INSERT INTO t VALUES (OLD)"),
            (Some(0), "INSERT INTO t SELECT OLD", "INSERT INTO t SELECT OLD"),
        ] {
            assert_eq!(translated(place, text), expected);
        }
    }
}
