//! Reading the rows of all tables with the workers that share the snapshot.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use drover_db::{Connection, Stop};

use super::super::catalog::Name;
use super::super::journal::Journal;
use super::super::ranges::{Range, Ranges};
use super::super::reader::{self, Job, Patience};
use super::super::snapshot::Taken;
use super::super::tables::{self, TablePlan};
use super::Dump;
use crate::error::Doing;
use crate::format::manifest::{Chunk, Schema, Table};
use crate::progress::Progress;
use crate::{Error, Result, pool};

impl Dump<'_> {
    /// Reads all tables: first those that are locked, so that they can be unlocked, then the others, largest first.
    pub(super) fn read_rows(
        &self,
        mut taken: Taken,
        plans: &[TablePlan],
        schemas: &[Schema],
        journal: &Journal,
        stop: &Stop,
        progress: &Progress,
    ) -> Result<(BTreeMap<Name, Vec<Chunk>>, Duration)> {
        progress.expect(plans.iter().map(|plan| tables::weight(&plan.relation)).sum());
        let is_locked = |plan: &&TablePlan| plan.is_locked;
        let (locked, free): (Vec<_>, Vec<_>) = plans.iter().partition(is_locked);
        let own: Vec<_> = taken.workers.iter().chain(&taken.table_locks).map(Connection::id).collect();
        let patience = Patience { lock_timeout: self.args.lock_timeout, own: &own, guard: self.guard };
        let read = |connection: &mut Connection, range: &Range<'_>| {
            reader::read(connection, range, patience, progress)
        };
        let locked = self.jobs(&locked, schemas, journal, progress)?;
        let free = self.jobs(&free, schemas, journal, progress)?;
        let (locked, free) = (self.ranges(&locked)?, self.ranges(&free)?);
        journal.settle()?;
        let mut chunks = BTreeMap::new();
        if let Some(connection) = taken.table_locks.take() {
            // Dropped at the end, it gives the locks back.
            (chunks, _) = self.read_ranges(&mut [connection], locked, stop, read)?;
        }
        let then_let_go = |connection: &mut Connection, range: &Range<'_>| {
            and_let_go(connection, |connection| read(connection, range))
        };
        let (others, tail) = self.read_ranges(&mut taken.workers, free, stop, then_let_go)?;
        chunks.extend(others);
        Ok((chunks, tail))
    }

    fn jobs<'b>(
        &'b self,
        plans: &[&'b TablePlan],
        schemas: &'b [Schema],
        journal: &'b Journal,
        progress: &'b Progress,
    ) -> Result<Vec<Job<'b>>> {
        let table = |plan: &TablePlan| described(schemas, &plan.relation.name);
        plans.iter().map(|plan| Ok(Job::new(plan, table(plan)?, &self.place, journal, progress))).collect()
    }

    /// What each table is begun with.
    fn ranges<'b>(&self, jobs: &'b [Job<'b>]) -> Result<Vec<Arc<Range<'b>>>> {
        let mut ranges = Vec::new();
        for job in jobs {
            ranges.extend(Range::of(job, &self.kept.of(job.name()))?.into_iter().map(Arc::new));
        }
        Ok(ranges)
    }

    /// Reads ranges, the largest first, and parts of them when there are no more.
    fn read_ranges(
        &self,
        workers: &mut [Connection],
        ranges: Vec<Arc<Range<'_>>>,
        stop: &Stop,
        read: impl Fn(&mut Connection, &Range<'_>) -> Result<Vec<Chunk>> + Sync,
    ) -> Result<(BTreeMap<Name, Vec<Chunk>>, Duration)> {
        let mut tasks = Vec::new();
        for range in &ranges {
            range.job.has_files(range.kept());
            if range.kept().is_empty() || self.wanted.consistent {
                range.job.has_range();
                tasks.push(Arc::clone(range));
            } else {
                range.job.keeps(range.kept());
                range.is_in(range.kept().to_vec())?;
            }
        }
        tasks.sort_by_key(|range| range.weight()); // the pool takes the last one first
        let ranges = Ranges::new(ranges);
        let work = |connection: &mut Connection, range: Arc<Range<'_>>| {
            range.is_in(read(connection, &range)?)?;
            Ok(Vec::new())
        };
        let seek = |connection: &mut Connection| and_let_go(connection, |connection| ranges.take(connection));
        let tail = pool::run(workers, tasks, stop, work, seek)?;
        let mut chunks: BTreeMap<Name, Vec<Chunk>> = BTreeMap::new();
        for range in ranges.into_inner() {
            chunks.entry(range.job.name().clone()).or_default().extend(range.into_chunks());
        }
        Ok((chunks, tail))
    }
}

/// Undoing a savepoint gives back the locks on tables' definitions, so that DDL need not wait for the dump's end.
fn and_let_go<T>(connection: &mut Connection, work: impl FnOnce(&mut Connection) -> Result<T>) -> Result<T> {
    connection.execute("SAVEPOINT drover").doing(|| "setting a savepoint")?;
    let result = work(connection)?;
    connection.execute("ROLLBACK TO SAVEPOINT drover").doing(|| "undoing a savepoint")?;
    Ok(result)
}

fn described<'a>(schemas: &'a [Schema], name: &Name) -> Result<&'a Table> {
    schemas
        .iter()
        .filter(|schema| schema.name == name.schema)
        .flat_map(|schema| &schema.tables)
        .find(|table| table.name == name.name)
        .ok_or_else(|| Error::found(format!("table {name} was never described")))
}
