//! Which rows of a table are dumped: `--where TABLE:COND`.

use std::collections::BTreeMap;
use std::str::FromStr;

use drover_db::Connection;
use drover_db::sql::{Dialect, tokens};

use super::catalog::{Name, Relation};
use super::tables;
use crate::pattern::{Pattern, first_outside};
use crate::{Error, Result, session};

/// A condition for the rows of some tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// A glob on `SCHEMA.NAME`, or on `NAME` alone.
    pub tables: String,
    /// What the server evaluates for each row.
    pub sql: String,
}

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let Some(at) = first_outside(text, ':') else {
            return Err("expected TABLE:COND, such as 'shop.orders:created >= \"2026-01-01\"'".into());
        };
        let (tables, sql) = (text[..at].trim(), text[at + 1..].trim());
        if tables.is_empty() || sql.is_empty() {
            return Err("expected a table before the colon and a condition behind it".into());
        }
        if !is_closed(sql) {
            return Err(format!("'{sql}' is no condition: a parenthesis has no other half"));
        }
        Ok(Self { tables: tables.into(), sql: sql.into() })
    }
}

/// Whether each parenthesis has its other half: other conditions stand beside this one.
fn is_closed(sql: &str) -> bool {
    let mut depth = 0u32;
    for token in tokens(sql.as_bytes(), Dialect::default()) {
        if token.is_symbol(b'(') {
            depth += 1;
        } else if token.is_symbol(b')') {
            match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return false,
            }
        }
    }
    depth == 0
}

/// The condition for each table that has one; several for the same table must all hold. Each is tried on the server, which
/// reads no rows for it.
///
/// # Errors
/// If one is for no table, or the server does not take it.
pub(super) fn bind<'a>(
    connection: &mut Connection,
    conditions: &[Condition],
    relations: impl Iterator<Item = &'a Relation> + Clone,
    lock_timeout: u64,
) -> Result<BTreeMap<Name, String>> {
    let mut bound: BTreeMap<Name, String> = BTreeMap::new();
    if conditions.is_empty() {
        return Ok(bound);
    }
    session::limit_lock_wait(connection, lock_timeout)?;
    for condition in conditions {
        let pattern = Pattern::parse(&condition.tables)?;
        let mut matched = relations.clone().filter(|relation| pattern.matches(&relation.name)).peekable();
        if matched.peek().is_none() {
            return Err(Error::with_hint(
                format!("--where: no table that is dumped matches '{}'", condition.tables),
                "letter case counts; views and tables whose rows are kept elsewhere have no rows in a dump",
            ));
        }
        for relation in matched {
            try_on(connection, &relation.name, &condition.sql)?;
            match bound.get_mut(&relation.name) {
                Some(sql) => *sql = format!("({sql}\n) AND ({}\n)", condition.sql),
                None => drop(bound.insert(relation.name.clone(), condition.sql.clone())),
            }
        }
    }
    Ok(bound)
}

fn try_on(connection: &mut Connection, table: &Name, sql: &str) -> Result<()> {
    let statement = format!("SELECT 1 FROM {table} WHERE {} LIMIT 0", tables::in_parentheses(sql));
    match connection.query(statement) {
        Ok(_) => Ok(()),
        Err(drover_db::Error::Server(error)) => Err(Error::with_hint(
            format!("table {table}: the server does not take the condition '{sql}': {error}"),
            "--where takes what may stand behind WHERE in a SELECT from that table alone",
        )),
        Err(source) => Err(Error::Server { doing: format!("trying the condition of table {table}"), source }),
    }
}

/// Lets `NOW()` and its like be one moment in all statements of all workers: that of the snapshot, in seconds since 1970.
/// Gives what to warn of if the server does not let it.
pub(crate) fn stop_clock<'a>(
    connections: impl Iterator<Item = &'a mut Connection>,
    taken_at: &str,
) -> Result<Option<String>> {
    let Ok(moment) = taken_at.parse::<jiff::Timestamp>() else {
        return Err(Error::found(format!("'{taken_at}' is no time at which a snapshot can be taken")));
    };
    for connection in connections {
        match connection.set("timestamp", moment.as_second()) {
            Ok(()) => {}
            Err(drover_db::Error::Server(error)) => {
                return Ok(Some(format!(
                    "NOW() in a condition of --where is not the same moment for all rows: {error}"
                )));
            }
            Err(source) => return Err(Error::Server { doing: "setting timestamp".into(), source }),
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_stands_behind_the_first_colon_that_is_in_no_brackets() {
        let parsed =
            |text: &str| text.parse::<Condition>().map(|condition| (condition.tables, condition.sql)).ok();
        let pair = |tables: &str, sql: &str| Some((tables.to_owned(), sql.to_owned()));
        assert_eq!(parsed("shop.t: a > ':'"), pair("shop.t", "a > ':'"));
        assert_eq!(parsed("s[:]t:a"), pair("s[:]t", "a"));
        assert_eq!(parsed("s\\:t:a"), pair("s\\:t", "a"));
        for wrong in ["shop.t", ":a", "t:", "t: "] {
            assert_eq!(parsed(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_condition_cannot_reach_out_of_its_parentheses() {
        for wrong in ["t:1) OR (1", "t:a IN (1, 2", "t:a)"] {
            assert!(wrong.parse::<Condition>().is_err(), "{wrong}");
        }
        for right in ["t:a IN (1, 2)", "t:a = ')'", "t:`)` > 1 -- )", "t:((a))"] {
            assert!(right.parse::<Condition>().is_ok(), "{right}");
        }
    }
}
