//! Rows' lines on their way into a table: the file of a LOAD DATA, or, where the server takes them, the values of a prepared
//! INSERT, many rows at a time; and where it takes no files, those of many prepared ones, or statements of text. benchmarks/ways and
//! benchmarks/files measure what each costs the server. Either way the rows are part of the
//! transaction that is open, and nothing but values that the table holds as they were sent comes in without an error or a warning.

use drover_db::wire::Prepared;
use drover_db::{Connection, ErrorKind, er};
use drover_format::bulk::Bulk;

use super::inserts::Inserts;
use super::loaded::Loaded;
use super::parameters::ManyValues;
use super::way::{BATCH, LONGEST_ROW, PIECE, Rows, Way};
use crate::error::Doing;
use crate::{Error, Result};

/// Lines on their way.
pub(crate) struct Inflow {
    sending: Sending,
    /// Whether some were refused; nothing more is sent then, since the transaction may be gone.
    is_refused: bool,
}

enum Sending {
    File,
    Values(Box<Values>),
    ManyValues(Box<ManyValues>),
    Inserts(Box<Inserts>),
}

/// Values on their way.
pub(crate) struct Values {
    statement: Prepared,
    lines: Bulk,
    /// What the server did with those that it has.
    loaded: Loaded,
}

impl Inflow {
    /// Makes the server wait for lines.
    ///
    /// # Errors
    /// What the server said.
    pub(crate) fn begin(connection: &mut Connection, way: Way, rows: Rows<'_>) -> drover_db::Result<Self> {
        let sending = match way {
            Way::Values if !rows.kinds.is_empty() => Sending::ManyValues(Box::new(ManyValues::new(rows))),
            Way::Values => {
                let statement = connection.prepare(rows.insert())?;
                let lines = Bulk::new(rows.columns.len());
                Sending::Values(Box::new(Values { statement, lines, loaded: Loaded::default() }))
            }
            Way::File(charset) => {
                connection.begin_load(rows.load_data(charset))?;
                Sending::File
            }
            Way::Inserts(most) => Sending::Inserts(Box::new(Inserts::new(rows, most))),
        };
        Ok(Self { sending, is_refused: false })
    }

    /// Sends the next piece of the lines.
    ///
    /// # Errors
    /// What the server said, or that rows cannot come this way.
    pub(crate) fn send(
        &mut self,
        connection: &mut Connection,
        text: &[u8],
        doing: impl Fn() -> String,
    ) -> Result<()> {
        if self.is_refused {
            return Ok(());
        }
        let sent = match &mut self.sending {
            Sending::File => connection.send(text).doing(doing),
            Sending::ManyValues(values) => values.send(connection, text, &doing),
            Sending::Inserts(inserts) => inserts.send(connection, text, &doing),
            Sending::Values(values) => text.chunks(PIECE).try_for_each(|piece| {
                values.lines.pass(piece);
                if values.lines.rows().size() < BATCH { Ok(()) } else { values.execute(connection, &doing) }
            }),
        };
        self.is_refused = sent.is_err();
        sent
    }

    /// Ends, also after an error, so that the connection stays usable; tells what the server did with the lines.
    ///
    /// # Errors
    /// What the server said, or that rows cannot come this way.
    pub(crate) fn end(mut self, connection: &mut Connection, doing: impl Fn() -> String) -> Result<Loaded> {
        let rest = match &mut self.sending {
            _ if self.is_refused => Ok(()),
            Sending::File => Ok(()),
            Sending::ManyValues(values) => values.execute(connection, true, &doing),
            Sending::Inserts(inserts) => inserts.execute(connection, &doing),
            Sending::Values(values) => values.execute(connection, &doing),
        };
        match self.sending {
            Sending::File => {
                let outcome = connection.end_load().doing(&doing)?;
                Loaded::of(connection, &outcome).doing(doing)
            }
            Sending::ManyValues(values) => values.end(connection, rest, doing),
            Sending::Inserts(inserts) => rest.map(|()| inserts.loaded),
            Sending::Values(values) => {
                let Values { statement, loaded, .. } = *values;
                connection.close(statement).doing(&doing)?;
                rest.map(|()| loaded)
            }
        }
    }
}

impl Values {
    fn execute(&mut self, connection: &mut Connection, doing: &impl Fn() -> String) -> Result<()> {
        if self.lines.is_malformed() {
            return Err(Error::found(format!("{}: a line has more or fewer fields than the table", doing())));
        }
        let rows = self.lines.rows();
        if rows.rows() > 0 {
            let outcome = connection.execute_bulk(&self.statement, rows).doing(doing)?;
            connection.check_in_transaction().doing(doing)?;
            let before = self.loaded.affected;
            self.loaded.add(Loaded::of(connection, &outcome).doing(doing)?, before);
        }
        if rows.size() > LONGEST_ROW {
            return Err(Error::found(format!("{}: a row is longer than {LONGEST_ROW} bytes", doing())));
        }
        Ok(())
    }
}

/// Whether rows that were refused as values may be taken as a file, or refused in words that say why: no deadlock, and no session
/// that was ended by somebody.
pub(crate) fn is_refused(error: &Error) -> bool {
    match error {
        Error::Server { source, .. } => source
            .code()
            .is_some_and(|code| code != er::LOCK_DEADLOCK && ErrorKind::of(code) != ErrorKind::Ended),
        Error::Found { .. } | Error::Format(_) => true,
        Error::File { .. } | Error::Store(_) | Error::Throttle(_) | Error::Stopped => false,
    }
}

/// Whether the server says of a file that it has no value for a column. MySQL 8.0 before 8.0.33 says so of a geometry that must not be NULL,
/// though the file has one (found with 8.0.12).
pub(crate) fn is_unfilled(error: &Error) -> bool {
    matches!(error, Error::Server { source, .. } if source.code() == Some(er::NO_DEFAULT_FOR_FIELD))
}
