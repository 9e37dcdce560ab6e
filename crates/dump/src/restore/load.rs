//! Loading rows, and whether the server did what it was to do. One file: streamed to the server, checked against the manifest,
//! committed only then.

use std::cell::Cell;

use drover_db::table::Column;
use drover_db::{Connection, er};
use drover_store::Store;
use drover_throttle::Throttle;

use super::loaded::Loaded;
use super::parts::Parts;
use super::rows_only;
use super::staging::{self, Staging};
use super::steps::Steps;
use super::targets::{Target, is_transactional};
use super::way::{Rows, Way};
use crate::error::Doing;
use crate::progress::Progress;
use crate::translate::Current;
use crate::{Error, Result};
use drover_format::manifest::{Chunk, Manifest, Table};
use drover_format::row_file::RowReader;

/// Text is read from the decompressor in pieces of this many bytes.
const PIECE: usize = 256 << 10;
/// Where two that load into one table each wait for the other, one is told to try again, so many times at most.
pub(crate) const ATTEMPTS: usize = 100;

/// What servers say of text that is invalid in its character set: "Incorrect string value", "Invalid … character string", and "Cannot
/// convert string" from MySQL 8.0 on.
pub(super) const OF_INVALID_TEXT: [u16; 3] =
    [er::TRUNCATED_WRONG_VALUE_FOR_FIELD, er::INVALID_CHARACTER_STRING, er::CANNOT_CONVERT_STRING];

/// Why rows were not loaded.
pub(crate) enum Refusal {
    /// All rows would be in, but for text that is invalid in its column's character set.
    InvalidText(Error),
    /// Anything else.
    Other(Error),
}

impl Refusal {
    /// Of rows that went this way.
    pub(crate) fn of(way: Way, error: Error) -> Self {
        if is_of_invalid_text(way, &error) { Self::InvalidText(error) } else { Self::Other(error) }
    }
}

/// Whether text is refused that is invalid in its character set: as part of a statement it makes that invalid, where LOAD DATA warns of it.
pub(crate) fn is_of_invalid_text(way: Way, error: &Error) -> bool {
    let Error::Server { source, .. } = error else { return false };
    matches!(way, Way::Inserts(_)) && source.code().is_some_and(|code| OF_INVALID_TEXT.contains(&code))
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

impl From<drover_format::Error> for Refusal {
    fn from(error: drover_format::Error) -> Self {
        Self::Other(error.into())
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::InvalidText(error) | Refusal::Other(error) => error,
        }
    }
}

/// What a load is to come to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Expected<'a> {
    /// What is loaded: a file or a chunk.
    pub(crate) unit: &'static str,
    pub(crate) rows: u64,
    /// Values that are the error value of an ENUM.
    pub(crate) enum_errors: u64,
    /// The columns that are loaded.
    pub(crate) columns: &'a [Column],
}

impl<'a> Expected<'a> {
    pub(crate) fn of(unit: &'static str, table: &'a Table, chunk: &Chunk) -> Self {
        Self { unit, rows: chunk.rows, enum_errors: chunk.enum_errors, columns: &table.columns }
    }

    /// Whether a warning is about what the server computes of the values, and not about a value that is loaded: of a generated column, a
    /// CHECK, a key on an expression. It may have said so where the row came from, too.
    fn is_computed(&self, (code, text): &(u16, String)) -> bool {
        match *code {
            er::TRUNCATED_WRONG_VALUE => {
                text.starts_with("Truncated incorrect ") && !text.contains(" for column ")
            }
            er::DIVISION_BY_ZERO => true,
            er::WARN_DATA_OUT_OF_RANGE | er::WARN_DATA_TRUNCATED | er::TRUNCATED_WRONG_VALUE_FOR_FIELD => {
                // 'n' or `schema`.`table`.`n`
                let named =
                    text.rsplit_once(" for column ").and_then(|(_, rest)| rest.rsplit_once(" at row "));
                let name = named.map(|(name, _)| name.trim_end_matches(['\'', '`']));
                name.is_some_and(|name| !self.columns.iter().any(|column| name.ends_with(&column.name)))
            }
            _ => false,
        }
    }

    /// Compares what the server did with what was sent.
    pub(crate) fn check(
        self,
        loaded: &Loaded,
        doing: impl Fn() -> String,
    ) -> std::result::Result<(), Refusal> {
        let Self { unit, rows, enum_errors, .. } = self;
        let Loaded { affected, warnings, said } = loaded;
        let are_all_listed = said.len() as u64 == *warnings;
        if *affected == rows && are_all_listed && said.iter().all(|warning| self.is_computed(warning)) {
            return Ok(());
        }
        let is_enum_error = |(code, _): &(u16, String)| *code == er::WARN_DATA_TRUNCATED;
        let expected = *warnings <= enum_errors && !said.is_empty() && said.iter().all(is_enum_error);
        if *affected == rows && expected {
            return Ok(());
        }
        let is_invalid = |(code, _): &(u16, String)| OF_INVALID_TEXT.contains(code);
        let invalid_text =
            *affected == rows && said.iter().all(|warning| is_invalid(warning) || is_enum_error(warning));
        let why = said.iter().find_map(|(code, _)| why_refused(*code)).unwrap_or_default();
        let said: Vec<_> = said.iter().take(3).map(|(_, text)| format!("\n  {text}")).collect();
        let error = Error::with_hint(
            format!(
                "{}: the {unit} holds {rows} rows, the server took {affected} with {warnings} warnings{}",
                doing(),
                said.concat()
            ),
            format!("{why}nothing of this {unit} was kept; row numbers are those in the {unit}"),
        );
        Err(if invalid_text { Refusal::InvalidText(error) } else { Refusal::Other(error) })
    }
}

/// What may be the reason of a warning that only another server gives.
fn why_refused(code: u16) -> Option<&'static str> {
    match code {
        // ER_DUP_ENTRY
        er::DUP_ENTRY => Some(
            "a unique key of this server takes values for equal that are different where they come from, as a collation does that is another one \
             here (--check lists those); ",
        ),
        // ER_WARN_DATA_OUT_OF_RANGE
        er::WARN_DATA_OUT_OF_RANGE => Some(
            "the column's type ends sooner on this server, as TIME does on MySQL, and TIMESTAMP there and on MariaDB before 11.5 (docs/translation.md); ",
        ),
        _ => None,
    }
}

/// One file to load.
pub(super) struct Load<'a> {
    pub(super) store: &'a Store,
    pub(super) manifest: &'a Manifest,
    pub(super) target: &'a Target<'a>,
    pub(super) chunk: &'a Chunk,
    /// Where it is noted with its rows, if the table can be changed in one transaction with that.
    pub(super) steps: Option<&'a Steps>,
    /// Which of the file's rows are loaded, if not all.
    pub(super) current: Option<Current>,
    /// What makes workers wait.
    pub(super) throttle: &'a Throttle<'a>,
    pub(super) progress: &'a Progress,
    /// How much of the file's text the progress has counted: what is sent once more counts once.
    pub(super) counted: Cell<u64>,
    /// Whether rows are committed before all of the file's are in.
    pub(super) in_parts: bool,
    /// Whether some are, so that the file cannot come once more.
    pub(super) has_begun: Cell<bool>,
}

impl Load<'_> {
    /// Loads the file in a transaction of its own.
    pub(super) fn run(&self, connection: &mut Connection) -> Result<()> {
        if self.chunk.rows == 0 {
            return Ok(());
        }
        self.throttle.pass()?;
        for _ in 1..ATTEMPTS {
            match self.attempt(connection) {
                Err(error) if is_deadlock(&error) && !self.has_begun.get() => {}
                other => return other,
            }
        }
        self.attempt(connection)
    }

    fn attempt(&self, connection: &mut Connection) -> Result<()> {
        loop {
            let way = self.target.way();
            match self.attempt_by(connection, way) {
                Err(error) if !self.has_begun.get() && self.target.has_other_way(way, &error) => {
                    self.target.turn_from(way);
                }
                result => return result,
            }
        }
    }

    fn attempt_by(&self, connection: &mut Connection, way: Way) -> Result<()> {
        connection.execute("START TRANSACTION").doing(|| self.doing())?;
        let target = self.target;
        let rows = target.rows(&target.name, &target.table.computed, &self.chunk.file);
        let loaded = self.load_into(connection, way, rows);
        match loaded.and_then(|()| self.commit(connection).map_err(Refusal::Other)) {
            Ok(()) => {}
            Err(error) => {
                // If this fails the connection is gone, and the server rolls back by itself.
                let _ = connection.execute("ROLLBACK");
                match self.has_begun.get() {
                    true => return Err(self.left_half_way(error)),
                    false => self.another_way(connection, error)?,
                }
            }
        }
        self.progress.count(self.chunk.rows, 0);
        Ok(())
    }

    /// Commits the rows, and with them that they are there.
    pub(super) fn commit(&self, connection: &mut Connection) -> Result<()> {
        if let Some(steps) = self.steps {
            steps.note(connection, &self.chunk.file)?;
        }
        connection.execute("COMMIT").map(drop).doing(|| self.doing())
    }

    /// After a refusal: text that is invalid in its character set has a way around the check.
    fn another_way(&self, connection: &mut Connection, error: Refusal) -> Result<()> {
        let error = match error {
            Refusal::InvalidText(error) => error,
            Refusal::Other(error) => return Err(error),
        };
        let table = self.target.table;
        if !is_transactional(table) {
            // Nothing was rolled back.
            if table.files.len() > 1 {
                return Err(Error::with_hint(
                    error.to_string(),
                    "the table has no transactions and more than one file, so these rows cannot come once more by another way: drover copy brings \
                     them, or a dump with --chunk-size 1024G, which cuts no table",
                ));
            }
            rows_only::empty(connection, &self.target.name, table)?;
        }
        staging::load(connection, self).map_err(|second| staging::also_failed(error, second))
    }

    /// The error for a file of which parts are in.
    fn left_half_way(&self, error: Refusal) -> Error {
        let anew = || {
            format!("the first rows of the file are in {}: --resume begins this table anew", self.target.name)
        };
        match Error::from(error) {
            Error::Found { what, .. } => Error::with_hint(what, anew()),
            Error::Format(error) => Error::with_hint(error.to_string(), anew()),
            other => other,
        }
    }

    fn doing(&self) -> String {
        format!("loading {} into {}", self.store.path(&self.chunk.file).display(), self.target.name)
    }

    /// Loads the file into the table of bytes that stands in for the target; nothing is committed.
    pub(super) fn load_bytes(
        &self,
        connection: &mut Connection,
        staging: &Staging,
    ) -> std::result::Result<(), Refusal> {
        let rows = staging.rows(self.target.rows(staging.bytes(), &[], &self.chunk.file));
        self.load_into(connection, self.target.way_of_bytes(), rows)
    }

    /// Loads the file as these rows; nothing is committed.
    fn load_into(
        &self,
        connection: &mut Connection,
        way: Way,
        rows: Rows<'_>,
    ) -> std::result::Result<(), Refusal> {
        let table = self.target.table;
        let mut reader = RowReader::open(self.store, self.manifest, &table.script, self.chunk)?;
        let mut parts = Parts::begin(connection, way, rows, self.in_parts).doing(|| self.doing())?;
        let sent = self.send(connection, &mut parts, &mut reader);
        self.has_begun.set(parts.has_committed());
        let loaded = parts.end(connection, || self.doing());
        let refused = |error| Refusal::of(way, error);
        sent.map_err(refused)?;
        self.check_file(reader)?;
        Expected::of("file", self.target.table, self.chunk).check(&loaded.map_err(refused)?, || self.doing())
    }

    fn send(&self, connection: &mut Connection, parts: &mut Parts<'_>, reader: &mut RowReader) -> Result<()> {
        let (mut buffer, mut rest) = (vec![0; PIECE], Vec::new());
        let mut sent = 0;
        loop {
            let count = reader.read(&mut buffer)?;
            if count == 0 {
                return Ok(());
            }
            sent += count as u64;
            // Of what is loaded in part, the manifest at hand says only what that comes to.
            if sent > self.chunk.bytes && self.current.is_none() {
                return Err(self.too_much());
            }
            match &self.current {
                Some(current) => {
                    parts.send(connection, &current.filter(&buffer[..count], &mut rest), || self.doing())
                }
                None => parts.send(connection, &buffer[..count], || self.doing()),
            }?;
            self.count(sent);
            self.throttle.spend(count as u64);
        }
    }

    /// The error for a file that gives more text than was put into it: packed, it may give any amount.
    fn too_much(&self) -> Error {
        Error::found(format!(
            "{}: the file is damaged: it holds more than the {} bytes of rows that the manifest says",
            self.store.path(&self.chunk.file).display(),
            self.chunk.bytes
        ))
    }

    /// Notes that so much of the text was sent.
    fn count(&self, sent: u64) {
        let more = sent.saturating_sub(self.counted.get());
        self.counted.set(self.counted.get() + more);
        self.progress.count(0, more);
        self.progress.done(more);
    }

    fn check_file(&self, reader: RowReader) -> Result<()> {
        let stored = reader.finish()?;
        if stored.bytes == self.chunk.stored_bytes && stored.checksum == self.chunk.checksum {
            return Ok(());
        }
        Err(Error::found(format!(
            "{}: the file is damaged: its checksum is {}, the manifest says {}",
            self.store.path(&self.chunk.file).display(),
            stored.checksum,
            self.chunk.checksum
        )))
    }
}

/// Whether the server rolled back to end a deadlock, or as another transaction was first: the same may go well another time.
pub(crate) fn is_deadlock(error: &Error) -> bool {
    // Of TiDB (its manual, Error Codes): 8022 and 9007 another transaction was first, 8028 the schema changed.
    matches!(error, Error::Server { source, .. } if matches!(source.code(), Some(er::LOCK_DEADLOCK | er::TIDB_TRANSACTION_RETRIED_OUT | er::TIDB_SCHEMA_CHANGED | er::TIDB_WRITE_CONFLICT)))
}
