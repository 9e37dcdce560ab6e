//! A way in for text that is not valid in its column's character set, as old upgrades leave it behind. LOAD DATA and INSERT
//! check every value: MariaDB puts a `?` for each bad byte, MySQL cuts the value off. A value that is copied between
//! columns of the same type is not checked, and a MERGE table may call text what its MyISAM table calls bytes: so the
//! file is loaded as bytes, seen as text, and copied.

use drover_db::{Connection, Row, quote};

use super::load::{self, Load};
use crate::dump::catalog::Name;
use crate::error::Doing;
use crate::format::digest::Digest;
use crate::{Error, Result};

/// "Incorrect string value".
pub(super) const ER_TRUNCATED_WRONG_VALUE_FOR_FIELD: u16 = 1366;

/// Loads a file by way of two tables that are dropped again.
pub(super) fn load(connection: &mut Connection, load: &Load<'_>) -> Result<()> {
    // The names are those of the file, so that a restore that goes on finds what was left of one that was killed.
    let id = &Digest::of(load.chunk.file.as_bytes()).to_string()[..12];
    let bytes = Name::new(&load.target.schema, &format!("drover_bytes_{id}"));
    let text = Name::new(&load.target.schema, &format!("drover_text_{id}"));
    connection
        .execute(format!("DROP TABLE IF EXISTS {text}, {bytes}"))
        .doing(|| format!("dropping {bytes}"))?;
    let result = through(connection, load, &bytes, &text);
    let dropped = connection.execute(format!("DROP TABLE IF EXISTS {text}, {bytes}"));
    result?;
    dropped.map(drop).doing(|| format!("dropping {bytes}"))
}

fn through(connection: &mut Connection, load: &Load<'_>, bytes: &Name, text: &Name) -> Result<()> {
    let doing = || format!("copying {} into {} past the check of its text", load.chunk.file, load.target);
    let columns = columns(connection, load)?;
    let list = |kind: fn(&Column) -> &String| {
        let define = |column: &Column| format!("{} {}", quote::identifier(&column.name), kind(column));
        columns.iter().map(define).collect::<Vec<_>>().join(", ")
    };
    let as_bytes = format!("CREATE TABLE {bytes} ({}) ENGINE = MyISAM", list(|column| &column.as_bytes));
    let as_text =
        format!("CREATE TABLE {text} ({}) ENGINE = MERGE UNION = ({bytes})", list(|column| &column.as_text));
    connection.execute(as_bytes).doing(doing)?;
    load.load_into(connection, bytes, &[])?;
    connection.execute(as_text).doing(doing)?;

    let names = quote::identifiers(columns.iter().map(|column| column.name.as_str()));
    connection.execute("START TRANSACTION").doing(doing)?;
    let outcome = connection
        .execute(format!("INSERT INTO {} ({names}) SELECT {names} FROM {text}", load.target))
        .doing(doing)?;
    let warnings = load::counted(&outcome.info, "Warnings:").unwrap_or(0);
    if outcome.affected != load.chunk.rows || warnings > 0 {
        let _ = connection.execute("ROLLBACK"); // if this fails the connection is gone, and the server rolls back
        return Err(Error::found(format!("{}: {} rows with {warnings} warnings", doing(), outcome.affected)));
    }
    load.commit(connection)
}

struct Column {
    name: String,
    as_bytes: String,
    as_text: String,
}

fn columns(connection: &mut Connection, load: &Load<'_>) -> Result<Vec<Column>> {
    let sql = format!(
        "SELECT COLUMN_NAME, COLUMN_TYPE, CHARACTER_SET_NAME, COLLATION_NAME, CHARACTER_OCTET_LENGTH, IS_NULLABLE, \
         DATA_TYPE FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {} ORDER BY ORDINAL_POSITION",
        quote::string(&load.target.schema),
        quote::string(&load.target.name)
    );
    let rows = connection.query(sql).doing(|| format!("reading the columns of {}", load.target))?;
    let loaded = |row: &Row| load.table.columns.iter().any(|column| column.name == row.string(0));
    Ok(rows.into_iter().filter(loaded).map(|row| column(&row)).collect())
}

fn column(row: &Row) -> Column {
    let null = if row.string(5) == "NO" { " NOT NULL" } else { " NULL" };
    let set =
        row.text(2).map(|set| format!(" CHARACTER SET {set} COLLATE {}", row.string(3))).unwrap_or_default();
    let column_type = row.string(1);
    let as_bytes = match (row.string(6).to_ascii_lowercase().as_str(), row.text(2)) {
        ("varchar", Some(_)) => format!("varbinary({})", row.string(4)),
        (kind @ ("tinytext" | "text" | "mediumtext" | "longtext"), Some(_)) => kind.replace("text", "blob"),
        // Of a CHAR the two engines' formats differ: a bad byte in one is still refused.
        _ => format!("{column_type}{set}"),
    };
    Column { name: row.string(0), as_bytes: as_bytes + null, as_text: format!("{column_type}{set}{null}") }
}
