//! The key that a table is walked along, and the borders between its parts.

use drover_db::table::{
    ColumnFacts, Key, Literal, Name, ReadColumn, UniqueKey, key_of, keys, to_read, unique_keys,
};
use drover_db::{Connection, Row, quote, server};

use crate::code::Verb;
use crate::dates;
use crate::error::Doing;
use crate::statement::Statement;
use crate::table::Table;
use crate::{Error, Result};

/// Of so many rows in a row, one must have a key that can be written as a literal.
const CANDIDATES: usize = 16;

/// How a table is walked.
#[derive(Debug)]
pub(crate) struct Walk {
    pub(crate) name: Name,
    pub(crate) key: Key,
    /// What reads each column of the key.
    reads: Vec<String>,
    literals: Vec<Literal>,
    /// Which columns are dates, which may have zeros, or be days that no month has.
    dates: Vec<bool>,
}

/// Where a part ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Border {
    /// The key's values in the last row, as literals; or values beside them, of its first columns.
    pub(crate) values: Vec<String>,
    /// How many rows the part has, those that the condition leaves out too.
    pub(crate) rows: u64,
    /// Whether nothing comes behind it.
    pub(crate) is_last: bool,
}

impl Walk {
    /// Chooses the key.
    ///
    /// # Errors
    /// If there is none that can be walked; with the reason for each.
    pub(crate) fn choose(
        connection: &mut Connection,
        statement: &Statement,
        table: &Table,
        wanted: Option<&str>,
    ) -> Result<Self> {
        let columns = to_read(&table.columns, false);
        let found =
            unique_keys(connection, &table.name).doing(|| format!("reading the keys of {}", table.name))?;
        let zone_is_steady = has_steady_zone(connection)?;
        let is_wanted = |key: &&UniqueKey| wanted.is_none_or(|wanted| key.index.eq_ignore_ascii_case(wanted));
        let mut reasons = Vec::new();
        for key in found.iter().filter(is_wanted) {
            match obstacle(statement, table, key, zone_is_steady) {
                Some(reason) => reasons.push(reason),
                None => match Self::along(table, key.clone(), &columns) {
                    Some(walk) => return Ok(walk),
                    None => reasons.push(format!(
                        "{} has a column whose values cannot be written as literals",
                        key.index
                    )),
                },
            }
        }
        Err(no_key(&table.name, wanted, &reasons))
    }

    fn along(table: &Table, found: UniqueKey, columns: &[ReadColumn]) -> Option<Self> {
        let key = key_of(found, columns)?;
        let column = |name: &str| columns.iter().find(|column| column.column.name == name);
        let (mut reads, mut literals) = (Vec::new(), Vec::new());
        for part in &key.columns {
            let column = column(&part.name)?;
            reads.push(column.column.read.clone().unwrap_or_else(|| quote::identifier(&part.name)));
            literals.push(column.literal.clone()?);
        }
        let is_date =
            |facts: &&ColumnFacts| matches!(facts.data_type.as_str(), "date" | "datetime" | "timestamp");
        let dates: Vec<_> = table.columns.iter().filter(is_date).map(|facts| &facts.name).collect();
        let dates = key.columns.iter().map(|column| dates.contains(&&column.name)).collect();
        Some(Self { name: table.name.clone(), key, reads, literals, dates })
    }

    /// Whether the key may hold dates with zeros.
    pub(crate) fn has_dates(&self) -> bool {
        self.dates.contains(&true)
    }

    /// The key of the last row; `None` if the table is empty.
    ///
    /// # Errors
    /// What the server said, or that the key of that row cannot be written.
    pub(crate) fn last(&self, connection: &mut Connection) -> Result<Option<Vec<String>>> {
        let sql = format!("{} ORDER BY {} LIMIT 1", self.select(), keys::reverse_order(&self.key));
        let row = connection.first(sql).doing(|| format!("looking for the last row of {}", self.name))?;
        let Some(row) = row else { return Ok(None) };
        self.literals(connection, &row)?.map(Some).ok_or_else(|| self.not_writable())
    }

    /// Where a part of about so many rows ends that begins behind `after`.
    ///
    /// # Errors
    /// As of [`Walk::last`].
    pub(crate) fn border(
        &self,
        connection: &mut Connection,
        after: Option<&[String]>,
        end: &[String],
        rows: u64,
    ) -> Result<Border> {
        let sql = format!(
            "{} WHERE {} ORDER BY {} LIMIT {CANDIDATES} OFFSET {}",
            self.select(),
            self.range(after, end),
            keys::order(&self.key),
            rows.max(1) - 1
        );
        let found = connection.query(sql).doing(|| format!("looking for a border in {}", self.name))?;
        if found.rows.len() < 2 {
            return Ok(Border {
                values: end.to_vec(),
                rows: self.count(connection, after, end)?,
                is_last: true,
            });
        }
        for (more, row) in found.rows.iter().enumerate() {
            if let Some(values) = self.literals(connection, row)? {
                let is_last = values == end;
                let rows = match self.is_row(row, &values) {
                    true => rows.max(1) + more as u64,
                    false => self.count(connection, after, &values)?,
                };
                return Ok(Border { values, rows, is_last });
            }
        }
        Err(self.not_writable())
    }

    /// How many rows there are between; they are known to be few, but where a date is none.
    fn count(&self, connection: &mut Connection, after: Option<&[String]>, end: &[String]) -> Result<u64> {
        let index = quote::identifier(&self.key.index);
        let sql = format!(
            "SELECT COUNT(*) FROM {} FORCE INDEX ({index}) WHERE {}",
            self.name,
            self.range(after, end)
        );
        let row = connection.first(sql).doing(|| format!("counting the last rows of {}", self.name))?;
        Ok(row.and_then(|row| row.parse(0)).unwrap_or(0))
    }

    /// The condition for the rows behind one and up to another.
    pub(crate) fn range(&self, after: Option<&[String]>, up_to: &[String]) -> String {
        let behind =
            after.map(|after| format!("{} AND ", keys::behind(&self.key, after))).unwrap_or_default();
        format!("{behind}{}", keys::up_to(&self.key, up_to))
    }

    fn select(&self) -> String {
        let index = quote::identifier(&self.key.index);
        format!("SELECT {} FROM {} FORCE INDEX ({index})", self.reads.join(", "), self.name)
    }

    /// The values of a row as literals; up to the first that is a day which no month has, of which there is none: a date beside it is
    /// in its place then, and all rows of these days come before that.
    fn literals(&self, connection: &mut Connection, row: &Row) -> Result<Option<Vec<String>>> {
        let mut values = Vec::new();
        for (at, literal) in self.literals.iter().enumerate() {
            let Some(value) = row.bytes(at) else { return Ok(None) };
            if let Some(date) = self.beside(at, value) {
                values.push(quote::string(&date));
                break;
            }
            let Some(written) = written(connection, literal, value)? else { return Ok(None) };
            values.push(written);
        }
        Ok(Some(values))
    }

    fn beside(&self, at: usize, value: &[u8]) -> Option<String> {
        self.dates[at].then(|| dates::beside_invalid(value, self.key.columns[at].descending)).flatten()
    }

    /// Whether these literals of a row are its own values.
    fn is_row(&self, row: &Row, values: &[String]) -> bool {
        let last = values.len() - 1;
        row.bytes(last).is_none_or(|value| self.beside(last, value).is_none())
    }

    fn not_writable(&self) -> Error {
        Error::with_hint(
            format!(
                "{}: the values of the key {} in some rows cannot be written as literals",
                self.name, self.key.index
            ),
            "text that is invalid in its character set has no literal; --key walks along another unique key",
        )
    }
}

/// A value as a literal, if there is one: whether text is valid in a character set of more bytes, the server knows best.
fn written(connection: &mut Connection, literal: &Literal, value: &[u8]) -> Result<Option<String>> {
    let set = match (literal.write(value), literal) {
        (None, Literal::Text(set)) => set,
        (written, _) => return Ok(written),
    };
    let text = format!("_{set} {}", quote::hex(value));
    match connection.first(format!("SELECT {text} IS NULL")) {
        Err(drover_db::Error::Server(_)) => Ok(None),
        other => other.map(|_| Some(text)).doing(|| "asking whether text is valid"),
    }
}

/// Why a key cannot be walked.
fn obstacle(statement: &Statement, table: &Table, key: &UniqueKey, zone_is_steady: bool) -> Option<String> {
    let index = &key.index;
    for (column, _) in &key.columns {
        let facts = table.columns.iter().find(|facts| facts.name == *column)?;
        let is_set = statement.assigned.iter().any(|set| set.eq_ignore_ascii_case(column));
        let moves =
            statement.verb == Verb::Update && (!facts.generation.is_empty() || table.timed.contains(column));
        if is_set || moves {
            return Some(format!(
                "the statement changes {column} of {index}: a row could come again, or never"
            ));
        }
        if let Some(trigger) = table.triggers.iter().find(|trigger| trigger.may_set(column)) {
            let trigger = &trigger.name;
            return Some(format!(
                "the trigger {trigger} may change {column} of {index}: a row could come again, or never"
            ));
        }
        if facts.data_type == "timestamp" && !zone_is_steady {
            return Some(format!(
                "{column} of {index} is a TIMESTAMP, and the session's time zone may have hours that come twice"
            ));
        }
    }
    None
}

/// Whether each time of the session's zone is one moment.
fn has_steady_zone(connection: &mut Connection) -> Result<bool> {
    let row =
        connection.first("SELECT @@time_zone, @@system_time_zone").doing(|| "asking for the time zone")?;
    let (zone, system) = row.map(|row| (row.string(0), row.string(1))).unwrap_or_default();
    Ok(zone.starts_with(['+', '-']) || zone == "UTC" || zone == "SYSTEM" && system == "UTC")
}

fn no_key(table: &Name, wanted: Option<&str>, reasons: &[String]) -> Error {
    let what = match (wanted, reasons) {
        (Some(key), []) => format!("{table} has no key {key} that is unique, without NULLs, and whole"),
        (None, []) => format!(
            "{table} has no primary key and no other unique key without NULLs: there is nothing to go along"
        ),
        (_, reasons) => format!("{table} cannot be walked: {}", reasons.join("; ")),
    };
    Error::with_hint(
        what,
        "a unique key of NOT NULL columns that the statement does not change can be walked; --key names it",
    )
}

/// Whether the server takes an index in a comment behind DELETE.
pub(crate) fn takes_hints(connection: &mut Connection) -> Result<bool> {
    let server = server::Server::of(connection).doing(|| "asking for the version")?;
    Ok(server.vendor == server::Vendor::MySql && server.numbers() >= (8, 0, 20))
}
