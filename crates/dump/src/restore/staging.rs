//! A way in for text that is not valid in its column's character set, as old upgrades leave it behind. LOAD DATA and INSERT
//! check every value: MariaDB puts a `?` for each bad byte, MySQL cuts the value off. A value that is copied between
//! columns of the same type is not checked, and a MERGE table may call text what its MyISAM table calls bytes: so the
//! file is loaded as bytes, seen as text, and copied.

use drover_db::{Connection, Row, quote};

use super::load::{self, Load};
use crate::dump::catalog::Name;
use crate::error::Doing;
use crate::format::digest::Digest;
use crate::format::manifest::Table;
use crate::{Error, Result};

/// "Incorrect string value".
pub(super) const ER_TRUNCATED_WRONG_VALUE_FOR_FIELD: u16 = 1366;

/// The error for rows for which the way around failed too.
pub(crate) fn also_failed(first: Error, second: Error) -> Error {
    let Error::Found { what, hint } = first else { return second };
    Error::Found { what: format!("{what}\n  and the way around failed: {second}"), hint }
}

/// Loads a file by way of two tables that are dropped again.
pub(super) fn load(connection: &mut Connection, load: &Load<'_>) -> Result<()> {
    let Load { target, chunk, .. } = load;
    let staging = Staging::begin(connection, &target.name, target.table, &chunk.file)?;
    let loaded = load.load_bytes(connection, staging.bytes()).map_err(Error::from);
    let copied =
        loaded.and_then(|()| staging.copy(connection, chunk.rows)).and_then(|()| load.commit(connection));
    if copied.is_err() {
        let _ = connection.execute("ROLLBACK"); // if this fails the connection is gone, and the server rolls back
    }
    let dropped = staging.end(connection);
    copied.and(dropped)
}

/// The two tables.
#[derive(Debug)]
pub(crate) struct Staging {
    target: Name,
    /// What is loaded, for messages.
    file: String,
    bytes: Name,
    text: Name,
    columns: Vec<Column>,
}

impl Staging {
    /// The tables by way of which a file goes into `target`: that of text, and that of bytes. The names are those of the file,
    /// so that a run that goes on finds what was left of one that was killed.
    pub(crate) fn tables(target: &Name, file: &str) -> [Name; 2] {
        let id = &Digest::of(file.as_bytes()).to_string()[..12];
        ["text", "bytes"].map(|what| Name::new(&target.schema, &format!("drover_{what}_{id}")))
    }

    /// Makes the table of bytes, into which the rows are to be loaded.
    pub(crate) fn begin(
        connection: &mut Connection,
        target: &Name,
        table: &Table,
        file: &str,
    ) -> Result<Self> {
        let [text, bytes] = Self::tables(target, file);
        let columns = columns(connection, target, table)?;
        let staging = Self { target: target.clone(), file: file.into(), bytes, text, columns };
        staging.drop_both(connection)?;
        let columns = staging.list(|column| &column.as_bytes);
        let create = format!("CREATE TABLE {} ({columns}) ENGINE = MyISAM", staging.bytes);
        connection.execute(create).doing(|| staging.doing())?;
        Ok(staging)
    }

    /// The table to load into.
    pub(crate) fn bytes(&self) -> &Name {
        &self.bytes
    }

    /// Copies so many rows, in a transaction that is left open.
    pub(crate) fn copy(&self, connection: &mut Connection, rows: u64) -> Result<()> {
        let (Self { target, bytes, text, .. }, doing) = (self, || self.doing());
        let columns = self.list(|column| &column.as_text);
        let create = format!("CREATE TABLE {text} ({columns}) ENGINE = MERGE UNION = ({bytes})");
        connection.execute(create).doing(doing)?;
        let names = quote::identifiers(self.columns.iter().map(|column| column.name.as_str()));
        connection.execute("START TRANSACTION").doing(doing)?;
        let outcome = connection
            .execute(format!("INSERT INTO {target} ({names}) SELECT {names} FROM {text}"))
            .doing(doing)?;
        let warnings = load::counted(&outcome.info, "Warnings:").unwrap_or(0);
        if outcome.affected == rows && warnings == 0 {
            return Ok(());
        }
        Err(Error::found(format!("{}: {} rows with {warnings} warnings", self.doing(), outcome.affected)))
    }

    /// Drops both tables.
    pub(crate) fn end(self, connection: &mut Connection) -> Result<()> {
        self.drop_both(connection)
    }

    fn drop_both(&self, connection: &mut Connection) -> Result<()> {
        let sql = format!("DROP TABLE IF EXISTS {}, {}", self.text, self.bytes);
        connection.execute(sql).map(drop).doing(|| format!("dropping {}", self.bytes))
    }

    fn list(&self, kind: fn(&Column) -> &String) -> String {
        let define = |column: &Column| format!("{} {}", quote::identifier(&column.name), kind(column));
        self.columns.iter().map(define).collect::<Vec<_>>().join(", ")
    }

    fn doing(&self) -> String {
        format!("copying {} into {} past the check of its text", self.file, self.target)
    }
}

#[derive(Debug)]
struct Column {
    name: String,
    as_bytes: String,
    as_text: String,
}

fn columns(connection: &mut Connection, target: &Name, table: &Table) -> Result<Vec<Column>> {
    let sql = format!(
        "SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, CHARACTER_SET_NAME, COLLATION_NAME, \
         CHARACTER_OCTET_LENGTH, IS_NULLABLE, DATA_TYPE FROM information_schema.COLUMNS WHERE {} ORDER BY ORDINAL_POSITION",
        target.condition()
    );
    let rows = connection.query(sql).doing(|| format!("reading the columns of {target}"))?;
    let is_loaded =
        |row: &Row| target.begins(row) && table.columns.iter().any(|column| column.name == row.string(2));
    Ok(rows.into_iter().filter(is_loaded).map(|row| column(&row)).collect())
}

fn column(row: &Row) -> Column {
    let null = if row.string(7) == "NO" { " NOT NULL" } else { " NULL" };
    let set =
        row.text(4).map(|set| format!(" CHARACTER SET {set} COLLATE {}", row.string(5))).unwrap_or_default();
    let column_type = row.string(3);
    let as_bytes = match (row.string(8).to_ascii_lowercase().as_str(), row.text(4)) {
        ("varchar", Some(_)) => format!("varbinary({})", row.string(6)),
        (kind @ ("tinytext" | "text" | "mediumtext" | "longtext"), Some(_)) => kind.replace("text", "blob"),
        // Of a CHAR the two engines' formats differ: a bad byte in one is still refused.
        _ => format!("{column_type}{set}"),
    };
    Column { name: row.string(2), as_bytes: as_bytes + null, as_text: format!("{column_type}{set}{null}") }
}
