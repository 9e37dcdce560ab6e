//! The numbers that InnoDB gives to tables: a name that means another table, or one that was emptied by TRUNCATE, has another number.

use std::collections::BTreeMap;

use super::Name;
use crate::wire::Rows;
use crate::{Connection, Error, Result, Row, er, quote};

/// A view in which the server numbers InnoDB's tables, or the files that hold one each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Numbering {
    view: &'static str,
    number: &'static str,
    /// Whether names stand there as people write them, not as files are called.
    is_plain: bool,
}

impl Numbering {
    /// From MySQL 8.0 on, the only one with an index; tables that share a file are not in it.
    const FILES: Self = Self { view: "INNODB_TABLESPACES_BRIEF", number: "SPACE", is_plain: true };
    /// From MySQL 8.0 on.
    const TABLES: Self = Self { view: "INNODB_TABLES", number: "TABLE_ID", is_plain: false };
    /// MariaDB, and MySQL before 8.0.
    const SYS_TABLES: Self = Self { view: "INNODB_SYS_TABLES", number: "TABLE_ID", is_plain: false };

    /// The best first.
    const ALL: [Self; 3] = [Self::FILES, Self::TABLES, Self::SYS_TABLES];

    /// The first one that numbers all `tables`, or the last one that this server shows this account, with the tables that it leaves out.
    ///
    /// # Errors
    /// If the connection is lost.
    pub fn choose(connection: &mut Connection, tables: &[Name]) -> Result<Option<(Self, Vec<Name>)>> {
        let mut chosen = None;
        for numbering in Self::ALL {
            let rows = match connection.query(numbering.all()) {
                Ok(rows) => rows,
                Err(error) if is_refused(&error) => continue,
                Err(error) => return Err(error),
            };
            let numbers = Numbers::read(&rows);
            let mut left_out = Vec::new();
            for table in tables {
                let key = numbering.key(connection, table)?;
                if key.is_none_or(|key| numbers.of(&key).next().is_none()) {
                    left_out.push(table.clone());
                }
            }
            let is_complete = left_out.is_empty();
            chosen = Some((numbering, left_out));
            if is_complete {
                break;
            }
        }
        Ok(chosen)
    }

    /// Whether the server has a view that it does not show this account, as it lacks PROCESS.
    ///
    /// # Errors
    /// If the connection is lost.
    pub fn are_hidden(connection: &mut Connection) -> Result<bool> {
        // MariaDB does not look at the privilege for LIMIT 0.
        for numbering in Self::ALL {
            match connection.query(format!("{} LIMIT 1", numbering.all())) {
                Err(error) if error.is_denied() => return Ok(true),
                Err(error) if !is_refused(&error) => return Err(error),
                _ => {}
            }
        }
        Ok(false)
    }

    /// Whether one table is found without looking at all.
    pub fn has_index(self) -> bool {
        self == Self::FILES
    }

    /// Asks for the numbers of all tables.
    pub fn all(self) -> String {
        format!("SELECT NAME, {} FROM information_schema.{}", self.number, self.view)
    }

    /// Asks for those of one table, and of what begins as its partitions do if it has such: that has no index to serve it.
    pub fn of(self, key: &str, is_partitioned: bool) -> String {
        let text = |suffix: &str| quote::string(&format!("{key}{suffix}"));
        match is_partitioned {
            false => format!("{} WHERE NAME = {}", self.all(), text("")),
            // '#P#' (older servers) or '#p#'
            true => format!("{} WHERE NAME > {} AND NAME < {}", self.all(), text("#P"), text("#q")),
        }
    }

    /// What stands for a table; `None` if the server does not tell how it calls a file of that name.
    ///
    /// # Errors
    /// If the connection is lost.
    pub fn key(self, connection: &mut Connection, table: &Name) -> Result<Option<String>> {
        if self.is_plain {
            return Ok(Some(format!("{}/{}", table.schema, table.name)));
        }
        let schema = file_name(connection, &table.schema)?;
        let name = file_name(connection, &table.name)?;
        Ok(schema.zip(name).map(|(schema, name)| format!("{schema}/{name}")))
    }

    /// What reading it is called.
    pub fn doing(self) -> String {
        format!("reading information_schema.{}", self.view)
    }
}

/// Whether the server does not have a view, or does not show it this account.
fn is_refused(error: &Error) -> bool {
    error.is_denied()
        || matches!(
            error.code(),
            Some(
                er::UNKNOWN_TABLE | er::NO_SUCH_TABLE | er::NOT_SUPPORTED_YET | er::OPTION_PREVENTS_STATEMENT
            )
        )
}

/// What a file of that name is called on the server: all but ASCII letters, digits and the underscore stands for itself as a code.
fn file_name(connection: &mut Connection, name: &str) -> Result<Option<String>> {
    if let Some(plain) = ascii_file_name(name) {
        return Ok(Some(plain));
    }
    let sql = format!("SELECT CAST(CONVERT({} USING filename) AS BINARY)", quote::string(name));
    match connection.first(sql) {
        // MySQL from 8.0 on
        Err(error) if error.code() == Some(er::UNKNOWN_CHARACTER_SET) => Ok(None),
        other => Ok(other?.and_then(|row| row.text(0))),
    }
}

/// The same for what is ASCII only.
fn ascii_file_name(name: &str) -> Option<String> {
    let code = |c: char| match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' => c.to_string(),
        _ => format!("@{:04x}", u32::from(c)),
    };
    name.is_ascii().then(|| name.chars().map(code).collect())
}

/// Tables and partitions with their numbers.
#[derive(Debug, Default)]
pub struct Numbers(BTreeMap<String, u64>);

impl Numbers {
    /// The answer to [`Numbering::all`].
    pub fn read(rows: &Rows) -> Self {
        let entry = |row: &Row| Some((row.text(0)?, row.parse(1)?));
        Self(rows.rows.iter().filter_map(entry).collect())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a table is there that has no partitions.
    pub fn is_plain(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// What stands for a table, to tell it from another one later; empty if it is not there.
    pub fn mark(&self, numbering: Numbering, key: &str) -> String {
        self.of(key).map(|(_, number)| format!("{} {number}\n", numbering.view)).collect()
    }

    /// Those of a table, or of all its partitions.
    pub fn of<'a>(&'a self, key: &str) -> Box<dyn Iterator<Item = (&'a str, u64)> + 'a> {
        if let Some((name, number)) = self.0.get_key_value(key) {
            return Box::new(std::iter::once((name.as_str(), *number)));
        }
        let from = format!("{key}#");
        let is_partition = {
            let from = from.clone();
            move |name: &str| {
                let rest = name.strip_prefix(&from);
                rest.is_some_and(|rest| rest.starts_with("p#") || rest.starts_with("P#"))
            }
        };
        let to = format!("{key}$");
        let among = self.0.range(from..to).map(|(name, number)| (name.as_str(), *number));
        Box::new(among.filter(move |(name, _)| is_partition(name)))
    }
}

/// What stands for the table that has a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mark {
    /// Another table that comes to have the name has another one, and so has the same table when it was emptied by TRUNCATE or rebuilt.
    Of(String),
    /// This account may not see it: that takes PROCESS.
    Hidden,
    /// The server has no number for it: it is none of InnoDB's, or the server's views do not tell.
    NotNumbered,
}

/// What stands for the table that has this name now.
///
/// # Errors
/// If the connection is lost.
pub fn mark(connection: &mut Connection, table: &Name) -> Result<Mark> {
    let mut none = Mark::NotNumbered;
    for numbering in Numbering::ALL {
        let Some(key) = numbering.key(connection, table)? else { continue };
        for is_partitioned in [false, true] {
            let rows = match connection.query(numbering.of(&key, is_partitioned)) {
                Err(error) if is_refused(&error) => {
                    if error.is_denied() {
                        none = Mark::Hidden;
                    }
                    break;
                }
                other => other?,
            };
            let mark = Numbers::read(&rows).mark(numbering, &key);
            if !mark.is_empty() {
                return Ok(Mark::Of(mark));
            }
        }
    }
    Ok(none)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(names: &[(&str, u64)]) -> Numbers {
        Numbers(names.iter().map(|(name, number)| ((*name).to_owned(), *number)).collect())
    }

    fn of(numbers: &Numbers, key: &str) -> Vec<u64> {
        numbers.of(key).map(|(_, number)| number).collect()
    }

    #[test]
    fn a_table_has_its_own_number_or_those_of_its_partitions() {
        let all = numbers(&[
            ("s/t", 1),
            ("s/t2", 2),
            ("s/parts#P#p0", 3),
            ("s/parts#p#p1#sp#s", 4),
            ("s/parts#x", 5),
            ("s/parts2#P#p0", 6),
        ]);
        assert_eq!(of(&all, "s/t"), [1]);
        assert_eq!(of(&all, "s/parts"), [3, 4]);
        assert_eq!(of(&all, "s/part"), [] as [u64; 0]);
        assert_eq!(of(&all, ""), [] as [u64; 0]);
    }

    #[test]
    fn names_of_files() {
        assert_eq!(ascii_file_name("Shop_1").as_deref(), Some("Shop_1"));
        assert_eq!(ascii_file_name("a-b#p#x/y$").as_deref(), Some("a@002db@0023p@0023x@002fy@0024"));
        assert_eq!(ascii_file_name("Ä"), None);
    }

    #[test]
    fn a_partition_is_asked_for_by_what_its_name_begins_with() {
        assert_eq!(
            Numbering::FILES.of("s/t", true),
            "SELECT NAME, SPACE FROM information_schema.INNODB_TABLESPACES_BRIEF WHERE NAME > 's/t#P' AND NAME < 's/t#q'"
        );
    }
}
