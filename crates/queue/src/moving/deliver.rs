//! The target of a move: batches are stored, each once.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use drover_db::{Connection, quote};

use super::pack::{Batch, Task};
use crate::build::draw_tasks;
use crate::claims::{self, Claimant};
use crate::counts;
use crate::error::Doing;
use crate::incoming::insert_later;
use crate::inserts::{Inserts, Row};
use crate::kinds::Kinds;
use crate::lane;
use crate::rows::or_null;
use crate::schema;
use crate::segments::new_segment;
use crate::shard::Shard;
use crate::{Error, Result, session, settings};

/// Segments of tasks that were moved are those of a build with this number, which no build has.
const MOVED: u32 = 0;
/// Such a segment is closed after so many tasks.
const SEGMENT_TASKS: u64 = 500_000;
/// What was received is remembered for so many days: no batch is on its way for longer.
const REMEMBERED: u32 = 90;

pub(super) struct Target<'a> {
    shard: &'a Shard,
    connection: Connection,
    pub(super) id: String,
    segment: Option<(u32, u64)>,
    /// Tasks that came here.
    pub(super) tasks: u64,
    /// Tasks whose object has an unfinished one here.
    pub(super) merged: u64,
}

/// A task with its number on the target.
type Numbered<'t> = (u64, &'t Task);

impl<'a> Target<'a> {
    pub(super) fn new(connection: Connection, shard: &'a Shard, id: String) -> Self {
        Self { shard, connection, id, segment: None, tasks: 0, merged: 0 }
    }

    pub(super) fn name(&self) -> &str {
        &self.shard.name
    }

    /// Stores a batch, if it is not stored already; how many tasks came.
    pub(super) fn store(&mut self, batch: &Batch, tasks: &[Task]) -> Result<u64> {
        if tasks.is_empty() {
            return Ok(0); // another move has removed it, since it had arrived
        }
        let count = tasks.len() as u64;
        let stored = match self.store_in_segment(batch, tasks) {
            // Another move has closed the segment meanwhile: the next one is another segment.
            Err(_) if self.segment.is_none() => self.store_in_segment(batch, tasks),
            stored => stored,
        };
        let Some(stored) = stored.map_err(|error| error.of(self.shard))? else { return Ok(0) };
        self.tasks += stored;
        self.merged += count - stored;
        if let Some((_, rows)) = &mut self.segment {
            *rows += stored;
        }
        Ok(stored)
    }

    /// How many were stored; `None` if they had been before.
    fn store_in_segment(&mut self, batch: &Batch, tasks: &[Task]) -> Result<Option<u64>> {
        let count = tasks.len() as u64;
        let segment = self.retried(|target| target.open_segment(count))?;
        let first_lane = self.retried(|target| lane::draw(&mut target.connection, count))?.start;
        let first_task = self.retried(|target| draw_tasks(&mut target.connection, count))?.start;
        let kinds = self.retried(|target| Kinds::load(&mut target.connection))?;
        let numbered: Vec<Numbered<'_>> = (first_task..).zip(tasks).collect();
        super::transact(
            self,
            |target| &mut target.connection,
            |target| target.try_store(batch, &numbered, &kinds, segment, first_lane),
        )
    }

    /// In the transaction that is open; `None` if it was stored before.
    fn try_store(
        &mut self,
        batch: &Batch,
        tasks: &[Numbered<'_>],
        kinds: &Kinds,
        segment: u32,
        first_lane: u64,
    ) -> Result<Option<u64>> {
        let doing = || "storing tasks that are moved";
        let note =
            format!("INSERT IGNORE INTO queue_received (batch) VALUES ({})", quote::string(&batch.name));
        if self.connection.execute(note).doing(doing)?.affected == 0 {
            return Ok(None);
        }
        let (dead, alive): (Vec<Numbered<'_>>, Vec<_>) =
            tasks.iter().partition(|(_, task)| task.died.is_some());
        let alive = self.claim(alive, kinds)?;
        let (later, ready): (Vec<Numbered<'_>>, Vec<_>) =
            alive.into_iter().partition(|(_, task)| task.due_ms.is_some());
        self.write_lanes(&ready, kinds, segment, first_lane)?;
        insert_later(&mut self.connection, &later_rows(&later))?;
        self.write_dead(&dead)?;
        self.count("later", &later, 1)?;
        self.count("died", &dead, 1)?;
        settings::ring(&mut self.connection).doing(doing)?;
        Ok(Some((ready.len() + later.len() + dead.len()) as u64))
    }

    /// Those that have their objects' claims, where the kind asks for that. The others are counted and left out.
    fn claim<'t>(&mut self, tasks: Vec<Numbered<'t>>, kinds: &Kinds) -> Result<Vec<Numbered<'t>>> {
        let is_unique = |task: &Task| kinds.of(task.kind).is_unique;
        let claimant = |(number, task): &Numbered<'t>| Claimant {
            kind: task.kind,
            object_id: &task.object_id,
            task: *number,
        };
        let claimants: Vec<_> = tasks.iter().filter(|(_, task)| is_unique(task)).map(claimant).collect();
        let mut mine = claims::claim(&mut self.connection, &claimants, None)?.into_iter();
        let (kept, merged): (Vec<_>, Vec<_>) =
            tasks.into_iter().partition(|(_, task)| !is_unique(task) || mine.next() == Some(true));
        self.count("merged", &merged, 1)?;
        Ok(kept)
    }

    /// A lane for each line of them, which anybody may take.
    fn write_lanes(
        &mut self,
        tasks: &[Numbered<'_>],
        kinds: &Kinds,
        segment: u32,
        first_lane: u64,
    ) -> Result<()> {
        if tasks.is_empty() {
            return Ok(());
        }
        let doing = || "storing tasks that are moved";
        // As long as this holds the row, nobody closes the segment and drops it for being empty.
        let hold = format!("SELECT is_open FROM queue_segment WHERE segment = {segment} FOR UPDATE");
        if self.connection.first(hold).doing(doing)?.is_none_or(|row| row.string(0) != "1") {
            self.segment = None;
            return Err(Error::found("another move has closed the segment meanwhile"));
        }
        let mut lines: BTreeMap<(u16, i8, &str), Vec<&Numbered<'_>>> = BTreeMap::new();
        for numbered in tasks {
            let task = numbered.1;
            lines.entry((task.kind, task.priority, &task.tenant)).or_default().push(numbered);
        }
        let columns = "lane, seq, task, object_id, payload, attempts, created";
        let mut rows = Inserts::new(&schema::segment(segment), columns);
        let mut lanes = String::new();
        for (lane, ((kind, priority, tenant), tasks)) in (first_lane..).zip(lines) {
            let first = tasks.iter().map(|(_, task)| &*task.created).min().unwrap_or_default();
            let _ = write!(
                lanes,
                "{}({lane},0,{segment},{kind},{priority},{},{},{},{})",
                comma(&lanes),
                quote::string(tenant),
                tasks.len(),
                quote::string(first),
                u8::from(kinds.of(kind).is_unique),
            );
            for (seq, (number, task)) in tasks.into_iter().enumerate() {
                rows.push(&Row::Values(format!(
                    "({lane},{seq},{number},{},{},{},{})",
                    quote::string(&task.object_id),
                    or_null(task.payload.as_deref()),
                    task.attempts,
                    quote::string(&task.created),
                )));
            }
        }
        rows.run(&mut self.connection).doing(doing)?;
        let sql = format!(
            "INSERT INTO queue_lane (lane, owner, segment, kind, priority, tenant, tasks, created, is_unique) VALUES {lanes}"
        );
        self.connection.execute(sql).doing(doing).map(drop)
    }

    fn write_dead(&mut self, dead: &[Numbered<'_>]) -> Result<()> {
        let columns = "task, kind, object_id, payload, priority, tenant, attempts, created, died, error";
        let mut rows = Inserts::new("queue_dead", columns);
        for (number, task) in dead {
            let Some((died, error)) = &task.died else { continue };
            rows.push(&Row::Values(format!(
                "({number},{},{},{},{},{},{},{},{},{})",
                task.kind,
                quote::string(&task.object_id),
                or_null(task.payload.as_deref()),
                task.priority,
                quote::string(&task.tenant),
                task.attempts,
                quote::string(&task.created),
                quote::string(died),
                quote::string(error),
            )));
        }
        rows.run(&mut self.connection).doing(|| "storing tasks that are moved").map(drop)
    }

    fn count(&mut self, column: &str, tasks: &[Numbered<'_>], each: i64) -> Result<()> {
        let mut kinds: BTreeMap<u16, i64> = BTreeMap::new();
        tasks.iter().for_each(|(_, task)| *kinds.entry(task.kind).or_default() += each);
        kinds.into_iter().try_for_each(|(kind, count)| counts::add(&mut self.connection, kind, column, count))
    }

    /// A segment for so many more tasks: one that an earlier move has left open, or a new one.
    fn open_segment(&mut self, more: u64) -> Result<u32> {
        if let Some((segment, rows)) = self.segment {
            if rows + more <= SEGMENT_TASKS {
                return Ok(segment);
            }
            self.close_segment()?;
        }
        let sql = format!("SELECT segment FROM queue_segment WHERE is_open = 1 AND build = {MOVED} LIMIT 1");
        let open = self.connection.first(sql).doing(|| self.shard.doing("looking for a segment"))?;
        let segment = match open.and_then(|row| row.parse(0)) {
            Some(segment) => segment,
            None => new_segment(&mut self.connection, Some(MOVED))?,
        };
        self.segment = Some((segment, 0));
        Ok(segment)
    }

    fn close_segment(&mut self) -> Result<()> {
        let Some((segment, _)) = self.segment else { return Ok(()) };
        let sql = format!("UPDATE queue_segment SET is_open = 0 WHERE segment = {segment}");
        self.connection.execute(sql).doing(|| self.shard.doing("closing a segment"))?;
        self.segment = None;
        Ok(())
    }

    /// One statement after another: tried again if another session was in the way.
    fn retried<T>(&mut self, work: impl FnMut(&mut Self) -> Result<T>) -> Result<T> {
        session::retried_by(self, |target| &mut target.connection, work)
    }

    /// Closes what is open, and forgets what was received long ago.
    pub(super) fn finish(&mut self) -> Result<()> {
        let sql = format!("DELETE FROM queue_received WHERE received < NOW(3) - INTERVAL {REMEMBERED} DAY");
        self.retried(|target| {
            target.close_segment()?;
            target.connection.execute(&sql).doing(|| target.shard.doing("forgetting old moves")).map(drop)
        })
    }
}

fn comma(text: &str) -> &'static str {
    if text.is_empty() { "" } else { "," }
}

fn later_rows(later: &[Numbered<'_>]) -> Vec<Row> {
    let row = |(number, task): &Numbered<'_>| {
        Row::Values(format!(
            "({},{number},{},{},{},{},{},{},{},{})",
            task.due_ms.unwrap_or(0),
            task.kind,
            quote::string(&task.object_id),
            or_null(task.payload.as_deref()),
            task.priority,
            quote::string(&task.tenant),
            task.attempts,
            quote::string(&task.created),
            u8::from(task.is_back),
        ))
    };
    later.iter().map(row).collect()
}
