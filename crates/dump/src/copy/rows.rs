//! The rows of all tables, from the workers' snapshot into the target: a worker has a connection to either server.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use drover_db::Connection;
use drover_db::session::Use;

use super::load::Loads;
use crate::dump::catalog::Name;
use crate::dump::hold::{self, Group, Patience};
use crate::dump::job::Job;
use crate::dump::journal::{Journal, Kept};
use crate::dump::ranges::{self, Chunks, Range, Ranges};
use crate::dump::reader;
use crate::dump::source::{Source, View};
use crate::dump::tables;
use crate::dump::wish::Taken;
use crate::pool::{self, Worker};
use crate::restore::job::Restore;
use crate::restore::steps::Steps;
use crate::restore::targets::{Target, kill};
use crate::session;
use crate::{Error, Result};

/// What a worker copies over.
struct Pair {
    source: Connection,
    target: Connection,
}

impl Worker for Pair {
    fn connections(&self) -> Vec<&Connection> {
        vec![&self.source, &self.target]
    }
}

enum Task<'t> {
    Copy(Group<'t>),
    Index(&'t Target<'t>),
}

/// Rows on their way.
pub(super) struct Filling<'a> {
    pub(super) source: &'a Source<'a>,
    pub(super) view: &'a View,
    pub(super) journal: &'a Journal,
    /// What an earlier run has copied.
    pub(super) kept: &'a Kept,
    /// Whether that stays only if it is the same in the snapshot of this run.
    pub(super) consistent: bool,
    pub(super) restore: &'a Restore<'a>,
    pub(super) steps: &'a Steps,
    /// By the tables' names on the source.
    pub(super) targets: BTreeMap<Name, &'a Target<'a>>,
    /// Counts chunks whose rows had to come again.
    pub(super) again: &'a AtomicU64,
    /// Whether both are one server, on which locks may wait for each other.
    pub(super) is_same: bool,
}

/// The chunks that were copied.
pub(super) struct Filled {
    pub(super) chunks: Chunks,
    /// From when the first worker had nothing more to do to when the last one was ready.
    pub(super) tail: Duration,
    /// That the target gave fewer connections than there are workers, if it did.
    pub(super) fewer: Option<String>,
}

impl Filling<'_> {
    /// Copies all tables: first those that are locked, so that they can be unlocked, then the others, largest first. A table's
    /// indexes are built as soon as its last rows are in.
    pub(super) fn run(&self, mut taken: Taken) -> Result<Filled> {
        let mut targets = session::open_many(self.restore.options, Use::Restore, taken.workers.len())?;
        let fewer = session::fewer(taken.workers.len(), &targets);
        taken.workers.truncate(targets.len());
        if self.is_same {
            let limit = |target| session::limit_lock_wait(target, self.source.args.lock_timeout);
            targets.iter_mut().try_for_each(limit)?;
        }
        self.steps.mark(&mut targets)?;
        let ids: Vec<_> = targets.iter().map(Connection::id).collect();
        let result = self.copy(taken, targets);
        if result.is_err() {
            kill(self.restore.options, &ids);
        }
        Ok(Filled { fewer, ..result? })
    }

    fn copy(&self, mut taken: Taken, mut targets: Vec<Connection>) -> Result<Filled> {
        self.expect();
        let own: Vec<_> = taken.workers.iter().chain(&taken.table_locks).map(Connection::id).collect();
        let identity = std::mem::take(&mut taken.identity);
        let patience = Patience {
            lock_timeout: self.source.args.lock_timeout,
            own: &own,
            throttle: self.source.throttle,
            identity: &identity,
            stop: self.restore.stop,
            progress: self.restore.progress,
            phase: "copying",
        };
        let jobs = Job::all(
            &self.view.manifest,
            &self.view.plans,
            &self.source.place,
            self.journal,
            self.restore.progress,
        )?;
        let (locked, free): (Vec<_>, Vec<_>) = jobs.iter().partition(|job| job.plan.is_locked);
        let (locked, free) = (ranges::all(&locked, self.kept)?, ranges::all(&free, self.kept)?);
        self.journal.settle()?;
        let mut chunks = BTreeMap::new();
        let mut waiting: Vec<_> = self.without_rows_to_come(&locked, &free);
        if let Some(source) = taken.table_locks.take() {
            let target = targets.pop().ok_or_else(|| Error::found("no connection to the target"))?;
            let mut pair = [Pair { source, target }];
            let (copied, indexes) = self.copy_locked(&mut pair, locked, patience)?;
            chunks = copied;
            waiting.extend(indexes);
            // The source's connection gives the locks back as it goes.
            let [Pair { target, .. }] = pair;
            targets.push(target);
        }
        let pairs = taken.workers.into_iter().zip(targets);
        let mut pairs: Vec<_> = pairs.map(|(source, target)| Pair { source, target }).collect();
        let (others, tail) = self.copy_free(&mut pairs, free, waiting, patience)?;
        chunks.extend(others);
        Ok(Filled { chunks, tail, fewer: None })
    }

    fn expect(&self) {
        let progress = self.restore.progress;
        let weight: u64 = self.view.plans.iter().map(|plan| tables::weight(&plan.relation)).sum();
        progress.expect(weight + self.targets.values().map(|target| target.index_work()).sum::<u64>());
        if !self.restore.args.no_verify {
            progress.expect(weight / 4);
        }
    }

    fn target(&self, range: &Range<'_>) -> Result<&Target<'_>> {
        let name = range.job.name();
        let target = self.targets.get(name).copied();
        target.ok_or_else(|| Error::found(format!("table {name} was never made on the target")))
    }

    /// Targets whose keys wait for no rows, since all are there.
    fn without_rows_to_come<'t>(
        &'t self,
        locked: &[Arc<Range<'_>>],
        free: &[Arc<Range<'_>>],
    ) -> Vec<&'t Target<'t>> {
        let is_to_come = |name: &Name| {
            let of_table = locked.iter().chain(free).filter(|range| range.job.name() == name);
            of_table.into_iter().any(|range| range.kept().is_empty() || self.consistent)
        };
        let there = self.targets.iter().filter(|(name, target)| !target.keys.is_empty() && !is_to_come(name));
        there.map(|(_, target)| *target).collect()
    }

    /// Copies the tables that are locked on the source; gives the targets whose keys can be added then, when nobody waits
    /// for that any more.
    fn copy_locked<'t>(
        &'t self,
        pair: &mut [Pair; 1],
        locked: Vec<Arc<Range<'t>>>,
        patience: Patience<'_>,
    ) -> Result<(Chunks, Vec<&'t Target<'t>>)> {
        let (ranges, tasks) = Ranges::begin(locked, self.consistent)?;
        let indexes = std::sync::Mutex::new(Vec::new());
        let work = |pair: &mut Pair, group: Group<'t>| {
            let complete = self.copy_group(pair, &group, patience)?;
            indexes.lock().unwrap_or_else(std::sync::PoisonError::into_inner).extend(complete);
            Ok(Vec::new())
        };
        pool::run(pair, hold::in_groups(tasks, 1), self.restore.stop, work, pool::nothing_to_seek)?;
        let indexes = indexes.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        Ok((ranges.into_chunks(), indexes))
    }

    fn copy_free<'t>(
        &'t self,
        pairs: &mut [Pair],
        free: Vec<Arc<Range<'t>>>,
        waiting: Vec<&'t Target<'t>>,
        patience: Patience<'_>,
    ) -> Result<(Chunks, Duration)> {
        let (ranges, copies) = Ranges::begin(free, self.consistent)?;
        let indexes = waiting.into_iter().map(Task::Index);
        let copies = hold::in_groups(copies, patience.identity.most_at_once());
        let tasks = indexes.chain(copies.into_iter().map(Task::Copy)).collect();
        let work = |pair: &mut Pair, task: Task<'t>| match task {
            Task::Copy(group) => {
                let complete = self.copy_group(pair, &group, patience)?;
                Ok(complete.into_iter().map(Task::Index).collect())
            }
            Task::Index(target) => {
                target.add_keys(&mut pair.target)?;
                self.restore.progress.done(target.index_work());
                Ok(Vec::new())
            }
        };
        let seek = |pair: &mut Pair| {
            let taken = hold::take(&mut pair.source, &ranges)?;
            Ok(taken.map(|range| Task::Copy(vec![range])))
        };
        let tail = pool::run(pairs, tasks, self.restore.stop, work, seek)?;
        Ok((ranges.into_chunks(), tail))
    }

    /// Copies ranges; gives the targets that are complete then and have keys to add.
    fn copy_group<'t>(
        &'t self,
        pair: &mut Pair,
        group: &[Arc<Range<'t>>],
        patience: Patience<'_>,
    ) -> Result<Vec<&'t Target<'t>>> {
        let mut complete = Vec::new();
        let Pair { source, target: connection } = pair;
        hold::read_all(source, group, patience, |source, range, hold| {
            let target = self.target(range)?;
            let mut loads = Loads::new(connection, target, self.steps, self.again);
            let read = reader::read(source, range, &mut loads, hold)?;
            range.is_in(read.chunks)?;
            if read.was_last && !target.keys.is_empty() {
                complete.push(target);
            }
            Ok(())
        })?;
        Ok(complete)
    }
}
