//! A way in for text that is not valid in its column's character set, as old upgrades leave it behind. LOAD DATA and INSERT
//! check every value: MariaDB puts a `?` for each bad byte, MySQL cuts the value off. A value that is copied between
//! columns of the same type is not checked, and a MERGE table may call text what its MyISAM table calls bytes: so the
//! file is loaded as bytes, seen as text, and copied. MySQL from 8.0 on checks what it copies into a VARCHAR all the same.

use drover_db::{Connection, Row, quote};

use super::load::{Load, OF_INVALID_TEXT};
use super::loaded::Loaded;
use super::way::Rows;
use crate::dump::catalog::Name;
use crate::error::Doing;
use crate::{Error, Result};
use drover_format::digest::Digest;
use drover_format::manifest::{Column, Table};

/// The error for rows for which the way around failed too.
pub(crate) fn also_failed(first: Error, second: Error) -> Error {
    let hint = match &second {
        Error::Found { hint: Some(hint), .. } => Some(hint.clone()),
        Error::Format(_) if second.hint().is_some() => second.hint(),
        Error::Server { .. } | Error::Found { .. } | Error::Format(_) => first.hint(),
        Error::File { .. } | Error::Store(_) | Error::Throttle(_) | Error::Stopped => return second,
    };
    Error::Found { what: format!("{first}\n  and the way around failed: {second}"), hint }
}

/// Loads a file by way of two tables that are dropped again.
pub(super) fn load(connection: &mut Connection, load: &Load<'_>) -> Result<()> {
    let Load { target, chunk, .. } = load;
    let staging = Staging::begin(connection, &target.name, target.table, &chunk.file)?;
    let loaded = load.load_bytes(connection, &staging).map_err(Error::from);
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
    columns: Vec<Staged>,
    /// The table's columns, and what makes of their values what the table of bytes holds.
    loaded: Vec<Column>,
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
        let loaded = table.columns.iter().map(|column| as_loaded(column, &columns)).collect();
        let staging = Self { target: target.clone(), file: file.into(), bytes, text, columns, loaded };
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

    /// The same rows as they go into it.
    pub(crate) fn rows<'r>(&'r self, rows: Rows<'r>) -> Rows<'r> {
        Rows { columns: &self.loaded, ..rows }
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
            .doing(doing)
            .map_err(still_checked)?;
        let loaded = Loaded::of(connection, &outcome).doing(doing)?;
        if loaded.affected == rows && loaded.warnings == 0 {
            return Ok(());
        }
        Err(Error::found(format!(
            "{}: {} rows with {} warnings",
            self.doing(),
            loaded.affected,
            loaded.warnings
        )))
    }

    /// Drops both tables.
    pub(crate) fn end(self, connection: &mut Connection) -> Result<()> {
        self.drop_both(connection)
    }

    fn drop_both(&self, connection: &mut Connection) -> Result<()> {
        let sql = format!("DROP TABLE IF EXISTS {}, {}", self.text, self.bytes);
        connection.execute(sql).map(drop).doing(|| format!("dropping {}", self.bytes))
    }

    fn list(&self, kind: fn(&Staged) -> &String) -> String {
        let define = |column: &Staged| format!("{} {}", quote::identifier(&column.name), kind(column));
        self.columns.iter().map(define).collect::<Vec<_>>().join(", ")
    }

    fn doing(&self) -> String {
        format!("copying {} into {} past the check of its text", self.file, self.target)
    }
}

/// The error of a server that checks what it copies, with what can be done.
fn still_checked(error: Error) -> Error {
    let is_of_text = matches!(&error, Error::Server { source, .. } if source.code().is_some_and(|code| OF_INVALID_TEXT.contains(&code)));
    if !is_of_text {
        return error;
    }
    Error::with_hint(
        error.to_string(),
        "MySQL from 8.0 on takes bytes that are invalid in their character set into TEXT columns and CHAR columns of up to 255 bytes, not into \
         VARCHAR: mend the text where it comes from, or make the column TEXT or VARBINARY there",
    )
}

/// A column of the two tables.
#[derive(Debug)]
struct Staged {
    name: String,
    as_bytes: String,
    as_text: String,
    /// What makes its bytes of a value, if that is not the value itself.
    padded: Option<String>,
}

fn as_loaded(column: &Column, staged: &[Staged]) -> Column {
    let padded = staged.iter().find(|one| one.name == column.name).and_then(|one| one.padded.clone());
    Column { load: padded.or_else(|| column.load.clone()), ..column.clone() }
}

fn columns(connection: &mut Connection, target: &Name, table: &Table) -> Result<Vec<Staged>> {
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

fn column(row: &Row) -> Staged {
    /// The most that a BINARY has.
    const LONGEST_BINARY: u64 = 255;
    let null = if row.string(7) == "NO" { " NOT NULL" } else { " NULL" };
    let set =
        row.text(4).map(|set| format!(" CHARACTER SET {set} COLLATE {}", row.string(5))).unwrap_or_default();
    let column_type = row.string(3);
    let octets = row.parse::<u64>(6).unwrap_or(0);
    let mut padded = None;
    let as_bytes = match (row.string(8).to_ascii_lowercase().as_str(), row.text(4)) {
        ("varchar", Some(_)) => format!("varbinary({octets})"),
        ("char", Some(set)) if (1..=LONGEST_BINARY).contains(&octets) => {
            padded = Some(format!("RPAD(@value, {octets}, {})", space(&set)));
            format!("binary({octets})")
        }
        (kind @ ("tinytext" | "text" | "mediumtext" | "longtext"), Some(_)) => kind.replace("text", "blob"),
        _ => format!("{column_type}{set}"),
    };
    let as_text = format!("{column_type}{set}{null}");
    Staged { name: row.string(2), as_bytes: as_bytes + null, as_text, padded }
}

/// What fills up a CHAR in a character set.
fn space(set: &str) -> &'static str {
    match set {
        "ucs2" | "utf16" => "x'0020'",
        "utf16le" => "x'2000'",
        "utf32" => "x'00000020'",
        _ => "x'20'",
    }
}
