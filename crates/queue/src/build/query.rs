//! Tasks from a statement's rows, as they come: no file between.

use drover_db::Connection;
use drover_db::options::ConnectOptions;
use drover_db::wire::{RawRow, RowStream, next_field};

use crate::error::Doing;
use crate::record::Record;
use crate::{Error, Result};

/// The rows of a statement.
pub struct QueryRows {
    connection: Connection,
    sql: String,
}

impl QueryRows {
    /// Connects to where the statement is to run.
    ///
    /// # Errors
    /// If that server cannot be reached.
    pub fn open(options: &ConnectOptions, sql: &str) -> Result<Self> {
        let mut connection = Connection::open(options).doing(|| "connecting to the server to read")?;
        let settings = [
            // The statement comes in this one, whatever the server or its init_connect took for the session.
            ("character_set_client", "utf8mb4"),
            ("character_set_connection", "utf8mb4"),
            ("character_set_results", "utf8mb4"),
            ("net_write_timeout", "86400"),
        ];
        for (name, value) in settings {
            connection.set(name, value).doing(|| "connecting to the server to read")?;
        }
        Ok(Self { connection, sql: sql.to_owned() })
    }

    /// Runs the statement; a record for each of its rows.
    ///
    /// # Errors
    /// If the server refuses it.
    pub fn records(&mut self) -> Result<impl Iterator<Item = Result<Record>>> {
        let stream = self.connection.stream(&self.sql).doing(|| "--from-query")?;
        if !(1..=2).contains(&stream.columns().len()) {
            return Err(Error::with_hint(
                format!("--from-query: it gives {} columns", stream.columns().len()),
                "select the object id, and with it the payload if there is one",
            ));
        }
        Ok(Records { stream, read: 0 })
    }
}

struct Records<'a> {
    stream: RowStream<'a>,
    read: u64,
}

impl Iterator for Records<'_> {
    type Item = Result<Record>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read += 1;
        let columns = self.stream.columns().len();
        match self.stream.next_row().doing(|| "--from-query") {
            Ok(None) => None,
            Err(error) => Some(Err(error)),
            Ok(Some(row)) => Some(
                record(row, columns)
                    .map_err(|what| Error::found(format!("--from-query: row {}: {what}", self.read))),
            ),
        }
    }
}

fn record(row: RawRow<'_>, columns: usize) -> std::result::Result<Record, String> {
    let RawRow::Whole(mut row) = row else { return Err("it is too large".into()) };
    let mut field = || -> std::result::Result<Option<String>, String> {
        let field = next_field(&mut row).ok_or("it has too few columns")?;
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).map_err(|_| "it is not UTF-8".to_owned());
        field.bytes().map(text).transpose()
    };
    let object_id = field()?.ok_or("the object id is NULL")?;
    let payload = if columns > 1 { field()? } else { None };
    let record = Record { object_id, payload, ..Record::default() };
    record.check()?;
    Ok(record)
}
