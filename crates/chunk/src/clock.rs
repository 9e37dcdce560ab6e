//! How many bytes the server has written to its binary log, counted over its files.

use drover_db::{Connection, er, server};

use crate::Result;
use crate::error::Doing;

/// A place in the log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) file: String,
    pub(crate) position: u64,
}

impl Place {
    /// Whether this is not behind another place of the same server's log. The files' names end with a number that grows, and gets
    /// more digits when it must.
    pub(crate) fn is_up_to(&self, other: &Self) -> bool {
        let order = |place: &Self| (place.file.len(), place.file.clone(), place.position);
        order(self) <= order(other)
    }
}

/// Counts the bytes of a server's log from where it was first looked at.
#[derive(Debug, Default)]
pub(crate) struct LogClock {
    place: Option<Place>,
    bytes: u64,
    /// The statement that this server understands.
    statement: Option<&'static str>,
}

/// What the servers call it, the newest name first.
const STATEMENTS: [&str; 2] = ["SHOW BINARY LOG STATUS", "SHOW MASTER STATUS"];

impl LogClock {
    /// Bytes so far; `None` if there is no log.
    ///
    /// # Errors
    /// If the account may not see it, or the connection is lost.
    pub(crate) fn read(&mut self, connection: &mut Connection) -> Result<Option<u64>> {
        let Some(now) = self.look(connection)? else { return Ok(None) };
        let more = match self.place.take() {
            None => 0,
            Some(before) if before.file == now.file => now.position.saturating_sub(before.position),
            Some(before) => between(connection, &before, &now)?,
        };
        self.bytes += more;
        self.place = Some(now);
        Ok(Some(self.bytes))
    }

    /// Where the log was when it was last looked at.
    pub(crate) fn place(&self) -> Place {
        self.place.clone().unwrap_or_default()
    }

    fn look(&mut self, connection: &mut Connection) -> Result<Option<Place>> {
        let doing = || "asking for the position in the binary log";
        if self.place.is_none() && self.statement.is_none() && server::is_tidb(connection).doing(doing)? {
            return Ok(None); // SHOW MASTER STATUS tells the time there
        }
        let rows = match self.statement {
            Some(statement) => connection.query(statement).doing(doing)?,
            None => match connection.query(STATEMENTS[0]) {
                Err(error) if error.code() == Some(er::PARSE_ERROR) => {
                    self.statement = Some(STATEMENTS[1]);
                    connection.query(STATEMENTS[1]).doing(doing)?
                }
                other => {
                    self.statement = Some(STATEMENTS[0]);
                    other.doing(doing)?
                }
            },
        };
        let place = |row: &drover_db::Row| Some(Place { file: row.text(0)?, position: row.parse(1)? });
        Ok(rows.first().and_then(place))
    }
}

/// The bytes from a place in one file to one in a later file. A file that was purged meanwhile is counted as empty.
fn between(connection: &mut Connection, before: &Place, now: &Place) -> Result<u64> {
    let rows = connection.query("SHOW BINARY LOGS").doing(|| "asking for the sizes of the binary logs")?;
    let files =
        rows.rows.iter().map(|row| Place { file: row.string(0), position: row.parse(1).unwrap_or(0) });
    let passed = files.filter(|file| before.is_up_to(file) && file.file != now.file && file.is_up_to(now));
    let all: u64 = passed.map(|file| file.position).sum();
    Ok((all + now.position).saturating_sub(before.position))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_the_order_of_their_numbers() {
        let place = |file: &str, position| Place { file: file.into(), position };
        assert!(place("binlog.000009", 9).is_up_to(&place("binlog.000010", 4)));
        assert!(place("binlog.999999", 9).is_up_to(&place("binlog.1000000", 4)));
        assert!(place("binlog.000009", 4).is_up_to(&place("binlog.000009", 4)));
        assert!(!place("binlog.000009", 5).is_up_to(&place("binlog.000009", 4)));
    }
}
