//! Whether a name still means the table that it meant when the snapshot was taken. A transaction sees each InnoDB table as it was, but
//! finds it by the name of now: of two tables of one definition that exchange their names, each would be read as the other. So the numbers
//! that the server gives to tables are listed where DDL is held off, and looked at again while the lock that every reader has on a table
//! keeps its name to it.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use drover_db::options::ConnectOptions;
use drover_db::wire::Rows;
use drover_db::{Connection, Stop, Vendor, quote};

use super::catalog::Name;
use super::snapshot::is_refusal;
use crate::Result;
use crate::error::Doing;
use crate::session::{self, Purpose};

/// A view in which the server numbers InnoDB's tables, or the files that hold one each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Numbering {
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

    /// The first one that numbers all `tables`, or the last one that this server shows this account, with the tables that it leaves out.
    pub(crate) fn choose(connection: &mut Connection, tables: &[Name]) -> Result<Option<(Self, Vec<Name>)>> {
        let mut chosen = None;
        for numbering in [Self::FILES, Self::TABLES, Self::SYS_TABLES] {
            let rows = match connection.query(numbering.all()) {
                Ok(rows) => rows,
                Err(error) if is_unknown(&error) || is_refusal(&error) => continue,
                Err(error) => return Err(error).doing(|| numbering.doing()),
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

    /// Asks for the numbers of all tables.
    pub(crate) fn all(self) -> String {
        format!("SELECT NAME, {} FROM information_schema.{}", self.number, self.view)
    }

    /// Asks for those of one table, and of what begins as its partitions do if it has such: that has no index to serve it.
    fn of(self, key: &str, is_partitioned: bool) -> String {
        let text = |suffix: &str| quote::string(&format!("{key}{suffix}"));
        match is_partitioned {
            false => format!("{} WHERE NAME = {}", self.all(), text("")),
            // '#P#' (older servers) or '#p#'
            true => format!("{} WHERE NAME > {} AND NAME < {}", self.all(), text("#P"), text("#q")),
        }
    }

    /// What stands for a table; `None` if the server does not tell how it calls a file of that name.
    fn key(self, connection: &mut Connection, table: &Name) -> Result<Option<String>> {
        if self.is_plain {
            return Ok(Some(format!("{}/{}", table.schema, table.name)));
        }
        let schema = file_name(connection, &table.schema)?;
        let name = file_name(connection, &table.name)?;
        Ok(schema.zip(name).map(|(schema, name)| format!("{schema}/{name}")))
    }

    fn doing(self) -> String {
        format!("reading information_schema.{}", self.view)
    }
}

/// ER_UNKNOWN_TABLE, ER_NO_SUCH_TABLE
fn is_unknown(error: &drover_db::Error) -> bool {
    matches!(error.code(), Some(1109 | 1146))
}

/// What a file of that name is called on the server: all but ASCII letters, digits and the underscore stands for itself as a code.
fn file_name(connection: &mut Connection, name: &str) -> Result<Option<String>> {
    if let Some(plain) = ascii_file_name(name) {
        return Ok(Some(plain));
    }
    const ER_UNKNOWN_CHARACTER_SET: u16 = 1115;
    let sql = format!("SELECT CAST(CONVERT({} USING filename) AS BINARY)", quote::string(name));
    match connection.first(sql) {
        // MySQL from 8.0 on
        Err(error) if error.code() == Some(ER_UNKNOWN_CHARACTER_SET) => Ok(None),
        other => Ok(other
            .doing(|| format!("asking how a file of '{name}' is called"))?
            .and_then(|row| row.text(0))),
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
pub(crate) struct Numbers(BTreeMap<String, u64>);

impl Numbers {
    /// The answer to [`Numbering::all`].
    pub(crate) fn read(rows: &Rows) -> Self {
        let entry = |row: &drover_db::Row| Some((row.text(0)?, row.parse(1)?));
        Self(rows.rows.iter().filter_map(entry).collect())
    }

    /// Those of a table, or of all its partitions.
    fn of<'a>(&'a self, key: &str) -> Box<dyn Iterator<Item = (&'a str, u64)> + 'a> {
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

/// About how often all tables are looked at, where that is the only way to look at some.
const LOOKS: usize = 64;

/// What tables were called when the snapshot was taken.
#[derive(Debug, Default)]
pub(crate) struct Identity(Option<Known>);

#[derive(Debug)]
struct Known {
    numbering: Numbering,
    then: Numbers,
    /// MySQL shows the catalogue as of a transaction's snapshot: this session has none.
    beside: Option<Mutex<Connection>>,
    /// For how many tables the server is asked at once.
    most_at_once: usize,
}

impl Identity {
    /// As the numbers were where DDL was held off.
    pub(crate) fn new(
        options: &ConnectOptions,
        coordinator: &mut Connection,
        vendor: Vendor,
        known: Option<(Numbering, Numbers)>,
    ) -> Result<Self> {
        let Some((numbering, then)) = known else { return Ok(Self::default()) };
        let beside = (vendor == Vendor::MySql).then(|| beside(options)).transpose()?;
        // Without an index, one table is looked for as long as all are.
        let is_shared = numbering != Numbering::FILES && session::can_do_without_waiting(coordinator)?;
        let most_at_once = if is_shared { (then.0.len() / LOOKS).clamp(16, 512) } else { 1 };
        Ok(Self(Some(Known { numbering, then, beside: beside.map(Mutex::new), most_at_once })))
    }

    /// How many tables had better be opened for one look.
    pub(crate) fn most_at_once(&self) -> usize {
        self.0.as_ref().map_or(1, |known| known.most_at_once)
    }

    /// Looks whether `worker`, which holds the locks that every reader has on the tables, holds them on those that had these names; gives
    /// the first one that is another table now.
    pub(crate) fn other_table<'n>(
        &self,
        worker: &mut Connection,
        stop: &Stop,
        names: &[&'n Name],
    ) -> Result<Option<&'n Name>> {
        let Some(known) = &self.0 else { return Ok(None) };
        let mut keys = Vec::new();
        for name in names {
            let key = known.numbering.key(worker, name)?;
            // A warning tells of those that have no number.
            keys.extend(key.filter(|key| known.then.of(key).next().is_some()).map(|key| (*name, key)));
        }
        let now = match &keys[..] {
            [] => return Ok(None),
            [(_, key)] => {
                known.ask(worker, stop, known.numbering.of(key, !known.then.0.contains_key(key)))?
            }
            _ => known.ask(worker, stop, known.numbering.all())?,
        };
        let other = keys.into_iter().find(|(_, key)| known.then.of(key).ne(now.of(key)));
        Ok(other.map(|(name, _)| name))
    }

    /// What stands for the table as it was, to tell it from another one of the same definition later.
    pub(crate) fn mark(&self, connection: &mut Connection, name: &Name) -> Result<Vec<u8>> {
        let Some(known) = &self.0 else { return Ok(Vec::new()) };
        let key = known.numbering.key(connection, name)?.unwrap_or_default();
        let numbers = known.then.of(&key).map(|(_, number)| format!("{} {number}\n", known.numbering.view));
        Ok(numbers.collect::<String>().into_bytes())
    }
}

impl Known {
    fn ask(&self, worker: &mut Connection, stop: &Stop, sql: String) -> Result<Numbers> {
        let rows = match &self.beside {
            None => worker.query(sql),
            Some(beside) => {
                let mut beside = beside.lock().unwrap_or_else(PoisonError::into_inner);
                let _watched = stop.watch(&beside).doing(|| "watching a connection")?;
                beside.query(sql)
            }
        };
        Ok(Numbers::read(&rows.doing(|| self.numbering.doing())?))
    }
}

fn beside(options: &ConnectOptions) -> Result<Connection> {
    let mut connection = session::open(options, Purpose::Dump)?;
    // Also where the server begins a transaction with the first statement (autocommit = 0).
    connection
        .execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
        .doing(|| "setting the isolation level")?;
    Ok(connection)
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
