//! The session that changes rows: a part is one transaction, and notes in it that it was done.

use std::sync::Arc;
use std::time::{Duration, Instant};

use drover_db::options::ConnectOptions;
use drover_db::session::Use;
use drover_db::{Connection, Stop, Watched};

use crate::archive::Archive;
use crate::clock::LogClock;
use crate::error::Doing;
use crate::key::Border;
use crate::plan::Plan;
use crate::size::Written;
use crate::state::Tally;
use crate::{Error, Result};

/// Opens a session.
///
/// # Errors
/// If it cannot be made as it has to be.
pub(crate) fn open(stop: &Arc<Stop>, options: &ConnectOptions) -> Result<(Connection, Watched<'static>)> {
    let (mut connection, watched) = stop.connect(options).doing(|| "connecting")?;
    connection.set_up(Use::Chunk).doing(|| "setting up a session")?;
    Ok((connection, watched))
}

/// What came of a part.
#[derive(Debug)]
pub(crate) enum Attempt {
    /// It is done: what all parts so far come to, and what this one took; about how many bytes it wrote, and whether these were looked at.
    Done { tally: Tally, bytes: u64, is_looked_at: bool, time: Duration },
    /// Somebody holds a lock that it needs.
    Locked(String),
}

/// The session, and what it writes.
#[derive(Debug)]
pub(crate) struct Worker<'a> {
    pub(crate) connection: &'a mut Connection,
    pub(crate) plan: &'a Plan,
    pub(crate) archive: Option<Archive>,
    /// `None` where there is no log, or this account may not see how long it is.
    pub(crate) clock: Option<LogClock>,
    /// When it was looked at how many bytes a part had written.
    pub(crate) looked: Option<Instant>,
    /// What parts have written that were looked at.
    pub(crate) written: Written,
}

/// It is looked no more often how many bytes a part has written: to tell it, MySQL takes the lock that all commits take.
const LOOK: Duration = Duration::from_millis(50);
/// The first parts are all looked at: they grow, and what a small one writes for each row is no measure for a larger one.
const FIRST: u64 = 20;

impl Worker<'_> {
    /// Prepares the session for parts.
    ///
    /// # Errors
    /// What the server said.
    pub(crate) fn prepare(&mut self) -> Result<()> {
        self.connection.set_isolation(self.plan.isolation).doing(|| "setting the isolation level")
    }

    /// Runs a part: the rows behind those of the tally, up to the border.
    ///
    /// # Errors
    /// What the server or the system said; the part was not done then.
    pub(crate) fn part(
        &mut self,
        parts: u64,
        before: &Tally,
        border: &Border,
        seconds: f64,
    ) -> Result<Attempt> {
        let looks = parts < FIRST || self.looked.is_none_or(|at| at.elapsed() >= LOOK);
        let log_before = if looks { self.log_bytes()? } else { 0 };
        let begun = Instant::now();
        let result = self.transaction(parts, before, border, seconds);
        match result {
            Ok(tally) => {
                let time = begun.elapsed();
                let changed = tally.rows - before.rows;
                let bytes = if looks {
                    let bytes = self.log_bytes()?.saturating_sub(log_before);
                    self.looked = Some(Instant::now());
                    self.written.learn(changed, bytes);
                    bytes
                } else {
                    self.written.by(changed)
                };
                let tally = Tally { binlog_bytes: tally.binlog_bytes + bytes, ..tally };
                Ok(Attempt::Done { tally, bytes, is_looked_at: looks, time })
            }
            Err(error) => {
                let undone = self.connection.execute("ROLLBACK").map(drop).doing(|| "undoing a part");
                if let Some(archive) = &mut self.archive {
                    archive.cut(before.archived_bytes)?;
                }
                match error.is_contended() {
                    true => undone.map(|()| Attempt::Locked(error.to_string())),
                    false => Err(error),
                }
            }
        }
    }

    fn log_bytes(&mut self) -> Result<u64> {
        let Some(clock) = &mut self.clock else { return Ok(0) };
        Ok(clock.read(self.connection)?.unwrap_or(0))
    }

    fn transaction(&mut self, parts: u64, before: &Tally, border: &Border, seconds: f64) -> Result<Tally> {
        let Self { connection, plan, archive, .. } = self;
        let range = plan.walk.range(before.last.as_deref(), &border.values);
        let doing = || format!("{} rows of {}", plan.statement.verb.doing(), plan.table.name);
        connection.execute("START TRANSACTION").doing(doing)?;
        let mut tally = Tally {
            last: Some(border.values.clone()),
            walked: before.walked + border.rows,
            is_finished: border.is_last,
            seconds,
            ..before.clone()
        };
        let kept = match archive {
            Some(archive) => Some(archive.keep(connection, &plan.rows_of(&range))?),
            None => None,
        };
        let changed = connection.execute(plan.part(&range)).doing(doing)?.affected;
        tally.rows += changed;
        if let Some((rows, length)) = kept {
            if rows != changed {
                return Err(Error::found(format!(
                    "{rows} rows of {} were kept in the archive, but {changed} would be deleted: the part was undone",
                    plan.table.name
                )));
            }
            (tally.archived_rows, tally.archived_bytes) = (tally.archived_rows + rows, length);
        }
        let noted =
            connection.execute(plan.state.advance(parts, &tally)?).doing(|| "noting that a part is done")?;
        if noted.affected != 1 {
            return Err(Error::with_hint(
                format!(
                    "{} does not hold any more what this run has noted there, as another session has changed it: this part was undone",
                    plan.state.name()
                ),
                "let one drover at a time run a statement, through one node of a cluster; if there is none, it was the last part of one that was \
                 killed, and the same command resumes the run",
            ));
        }
        connection.execute("COMMIT").doing(|| "committing a part")?;
        Ok(tally)
    }
}

impl Plan {
    /// What selects the rows that a part changes.
    fn rows_of(&self, range: &str) -> String {
        let index = drover_db::quote::identifier(&self.walk.key.index);
        let called = &self.statement.called;
        let alias = if *called == drover_db::quote::identifier(&self.table.name.name) {
            String::new()
        } else {
            format!(" AS {called}")
        };
        let own = self.statement.condition.as_ref().map(|own| format!("({own}\n) AND ")).unwrap_or_default();
        format!("FROM {}{alias} FORCE INDEX ({index}) WHERE {own}{range}", self.table.name)
    }
}
