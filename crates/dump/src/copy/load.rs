//! Rows on their way into a table of the target: each chunk in a transaction of its own, which also notes that it is there.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

use drover_db::table::keys;
use drover_db::{Connection, quote};

use crate::dump::catalog::Name;
use crate::dump::destination::Destination;
use crate::dump::ranges::Range;
use crate::error::Doing;
use crate::restore::inflow::Inflow;
use crate::restore::load::{ATTEMPTS, Expected, Refusal, is_deadlock, is_of_invalid_text};
use crate::restore::rows_only;
use crate::restore::staging::{Staging, also_failed};
use crate::restore::steps::Steps;
use crate::restore::targets::Target;
use crate::restore::way::Way;
use crate::rows::Out;
use crate::{Error, Result};
use drover_format::manifest::{Chunk, Key};

/// What the step begins with that names the tables by way of which a chunk goes. A run that goes on drops them, since it may
/// have no chunk of that name.
pub(super) const STAGING: &str = "by way of ";

/// Loads the chunks of one range.
pub(super) struct Loads<'a> {
    connection: &'a mut Connection,
    target: &'a Target<'a>,
    steps: &'a Steps,
    /// Counts chunks whose rows had to come again.
    again: &'a AtomicU64,
    /// The name of the chunk at work.
    file: String,
    /// Where more of it goes.
    inflow: Option<Inflow>,
    /// How it goes there.
    way: Way,
    /// Why it could not be begun, or not gone on with, where another attempt may go well.
    put_off: Option<Error>,
    attempts: usize,
    /// Why the rows go past the check of their text: some were refused for it.
    invalid: Option<Error>,
    staging: Option<Staging>,
    /// Chunks of the range that are committed.
    committed: BTreeSet<String>,
}

impl<'a> Loads<'a> {
    pub(super) fn new(
        connection: &'a mut Connection,
        target: &'a Target<'a>,
        steps: &'a Steps,
        again: &'a AtomicU64,
    ) -> Self {
        Self {
            connection,
            target,
            steps,
            again,
            file: String::new(),
            inflow: None,
            way: target.way(),
            put_off: None,
            attempts: 0,
            invalid: None,
            staging: None,
            committed: BTreeSet::new(),
        }
    }

    fn doing(&self) -> String {
        doing(&self.file, &self.target.name)
    }

    fn execute(&mut self, sql: &str) -> Result<()> {
        self.connection.execute(sql).map(drop).doing(|| self.doing())
    }

    /// Has the server wait for the rows of the chunk.
    fn open(&mut self) -> Result<()> {
        let table = self.target.table;
        let mut way = self.target.way();
        if self.invalid.is_some() {
            let [text, bytes] = Staging::tables(&self.target.name, &self.file);
            self.steps.note(self.connection, &format!("{STAGING}{text}, {bytes}"))?;
            self.staging = Some(Staging::begin(self.connection, &self.target.name, table, &self.file)?);
            way = self.target.way_of_bytes();
        } else {
            self.execute("START TRANSACTION")?;
        }
        let (target, computed) = match &self.staging {
            Some(staging) => (staging.bytes(), &[][..]),
            None => (&self.target.name, &table.computed[..]),
        };
        let rows = self.target.rows(target, computed, &self.file);
        let rows = self.staging.as_ref().map_or(rows, |staging| staging.rows(rows));
        self.way = way;
        self.inflow = Some(Inflow::begin(self.connection, way, rows).doing(|| self.doing())?);
        Ok(())
    }

    /// Whether another attempt to load the chunk may go well after this error.
    fn may_go_well(&self, error: &Error) -> bool {
        is_deadlock(error) || self.target.has_other_way(self.way, error)
    }

    fn send(&mut self, text: &[u8]) -> Result<()> {
        if self.inflow.is_none() {
            self.open()?;
        }
        let (file, target) = (&self.file, &self.target.name);
        match &mut self.inflow {
            Some(inflow) => inflow.send(self.connection, text, || doing(file, target)),
            None => Ok(()),
        }
    }

    /// Commits the chunk if all of its rows are in as they were sent.
    fn close(&mut self, range: &Range<'_>, chunk: &Chunk) -> std::result::Result<(), Refusal> {
        let inflow = self.inflow.take();
        if let Some(error) = self.put_off.take() {
            if let Some(inflow) = inflow {
                let (file, target) = (&self.file, &self.target.name);
                let _ = inflow.end(self.connection, || doing(file, target)); // nothing comes of it
            }
            return Err(Refusal::of(self.way, error));
        }
        match inflow {
            Some(inflow) => self.end_load(inflow, chunk)?,
            None => self.execute("START TRANSACTION")?,
        }
        // What is committed must be known: the line of the journal is there before the rows are.
        range.has_chunk(chunk)?;
        range.job.journal.sync()?;
        self.steps.note(self.connection, &chunk.file)?;
        self.execute("COMMIT")?;
        match self.staging.take() {
            Some(staging) => Ok(staging.end(self.connection)?),
            None => Ok(()),
        }
    }

    fn end_load(&mut self, inflow: Inflow, chunk: &Chunk) -> std::result::Result<(), Refusal> {
        let doing = self.doing();
        let loaded = inflow.end(self.connection, || doing.clone());
        let loaded = loaded.map_err(|error| Refusal::of(self.way, error))?;
        Expected::of("chunk", self.target.table, chunk).check(&loaded, || doing.clone())?;
        match &self.staging {
            Some(staging) => Ok(staging.copy(self.connection, chunk.rows)?),
            None => Ok(()),
        }
    }

    /// Makes ready for the same rows to come again.
    ///
    /// # Errors
    /// If there is no use in that: the refusal.
    fn make_ready(&mut self, range: &Range<'_>, refusal: Refusal) -> Result<()> {
        // If this fails the connection is gone, and the server rolls back by itself.
        let _ = self.connection.execute("ROLLBACK");
        if let Some(staging) = self.staging.take() {
            // What is left is dropped by the next attempt, or by a run that goes on.
            let _ = staging.end(self.connection);
        }
        match refusal {
            Refusal::InvalidText(error) if self.invalid.is_none() => self.invalid = Some(error),
            Refusal::Other(error) if is_deadlock(&error) && self.attempts < ATTEMPTS => self.attempts += 1,
            // A file may hold what values cannot be, or is refused in words that say why.
            Refusal::Other(error) if self.may_go_well(&error) => self.target.turn_from(self.way),
            other => {
                let error = Error::from(other);
                return Err(match self.invalid.take() {
                    Some(first) => also_failed(first, error),
                    None => error,
                });
            }
        }
        self.again.fetch_add(1, Ordering::Relaxed);
        if range.job.table.key.is_none() {
            let committed = std::mem::take(&mut self.committed);
            self.empty(&committed)?;
        }
        Ok(())
    }

    /// Empties the table, into which these chunks were committed. The steps go first: without them rows are known to be of no
    /// use.
    fn empty(&mut self, committed: &BTreeSet<String>) -> Result<()> {
        self.steps.forget(self.connection, committed)?;
        rows_only::empty(self.connection, &self.target.name, self.target.table)
    }

    /// Deletes the rows of chunks that follow each other, and their steps with them.
    fn delete(&mut self, key: &Key, chunks: &[Chunk], names: &BTreeSet<String>) -> Result<()> {
        let (first, last) = (chunks.first(), chunks.last());
        let mut sql = format!("DELETE FROM {}", self.target.name);
        let partition = first.and_then(|chunk| chunk.partition.as_deref());
        if let Some(partition) = partition.filter(|_| !self.target.table.partitions.is_empty()) {
            sql.push_str(&format!(" PARTITION ({})", quote::identifier(partition)));
        }
        let behind = first.and_then(|chunk| chunk.after.as_deref());
        let up_to = last.and_then(|chunk| chunk.up_to.as_deref());
        let conditions = behind.map(|values| keys::behind(key, values)).into_iter();
        let conditions: Vec<_> = conditions.chain(up_to.map(|values| keys::up_to(key, values))).collect();
        if !conditions.is_empty() {
            sql.push_str(&format!(" WHERE {}", conditions.join(" AND ")));
        }
        self.execute("START TRANSACTION")?;
        self.execute(&sql)?;
        self.steps.forget(self.connection, names)?;
        self.execute("COMMIT")
    }
}

fn doing(file: &str, target: &Name) -> String {
    format!("loading {file} into {target}")
}

impl Out for Loads<'_> {
    fn write(&mut self, text: &[u8]) -> Result<()> {
        if text.is_empty() || self.put_off.is_some() {
            return Ok(());
        }
        match self.send(text) {
            Err(error) if self.may_go_well(&error) || is_of_invalid_text(self.way, &error) => {
                self.put_off = Some(error);
                Ok(())
            }
            other => other,
        }
    }
}

impl Destination for Loads<'_> {
    fn begin(&mut self, file: &str) -> Result<()> {
        file.clone_into(&mut self.file);
        Ok(())
    }

    fn end(&mut self, range: &Range<'_>, chunk: Chunk) -> Result<Option<Chunk>> {
        match self.close(range, &chunk) {
            Ok(()) => {
                self.attempts = 0;
                self.committed.insert(chunk.file.clone());
                Ok(Some(chunk))
            }
            Err(refusal) => self.make_ready(range, refusal).map(|()| None),
        }
    }

    fn take_away(&mut self, range: &Range<'_>, kept: &[Chunk]) -> Result<()> {
        let names = kept.iter().map(|chunk| chunk.file.clone()).collect();
        let Some(key) = &range.job.table.key else { return self.empty(&names) };
        for _ in 1..ATTEMPTS {
            match self.delete(key, kept, &names) {
                Err(error) if is_deadlock(&error) => {}
                other => return other,
            }
        }
        self.delete(key, kept, &names)
    }
}
