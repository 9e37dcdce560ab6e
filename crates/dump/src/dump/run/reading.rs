//! Reading the rows of all tables with the workers that share the snapshot.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use drover_db::{Connection, Stop};

use super::super::destination::Files;
use super::super::hold::{self, Group, Patience};
use super::super::job::Job;
use super::super::journal::Journal;
use super::super::ranges::{self, Chunks, Range, Ranges};
use super::super::reader;
use super::super::source::View;
use super::super::tables;
use super::super::wish::Taken;
use super::Dump;
use crate::progress::Progress;
use crate::{Result, pool};

impl Dump<'_> {
    /// Reads all tables: first those that are locked, so that they can be unlocked, then the others, largest first.
    pub(super) fn read_rows(
        &self,
        mut taken: Taken,
        view: &View,
        journal: &Journal,
        stop: &Stop,
        progress: &Progress,
    ) -> Result<(Chunks, Duration)> {
        progress.expect(view.plans.iter().map(|plan| tables::weight(&plan.relation)).sum());
        let source = &self.source;
        let own: Vec<_> = taken.workers.iter().chain(&taken.table_locks).map(Connection::id).collect();
        let identity = std::mem::take(&mut taken.identity);
        let patience = Patience {
            lock_timeout: source.args.lock_timeout,
            own: &own,
            throttle: source.throttle,
            identity: &identity,
            stop,
            progress,
            phase: "dumping",
        };
        let read = |connection: &mut Connection, group: Group<'_>| {
            hold::read_all(connection, &group, patience, |connection, range, hold| {
                let mut files = Files::new(range.job);
                range.is_in(reader::read(connection, range, &mut files, hold)?.chunks)
            })
        };
        let jobs = Job::all(&view.manifest, &view.plans, &source.place, journal, progress)?;
        let (locked, free): (Vec<_>, Vec<_>) = jobs.iter().partition(|job| job.plan.is_locked);
        let (locked, free) = (ranges::all(&locked, &self.kept)?, ranges::all(&free, &self.kept)?);
        journal.settle()?;
        let mut chunks = BTreeMap::new();
        if let Some(connection) = taken.table_locks.take() {
            // Dropped at the end, it gives the locks back.
            (chunks, _) = self.read_ranges(&mut [connection], locked, 1, stop, read)?;
        }
        let at_once = identity.most_at_once();
        let (others, tail) = self.read_ranges(&mut taken.workers, free, at_once, stop, read)?;
        chunks.extend(others);
        Ok((chunks, tail))
    }

    /// Reads ranges, the largest first, and parts of them when there are no more.
    fn read_ranges<'r>(
        &self,
        workers: &mut [Connection],
        ranges: Vec<Arc<Range<'r>>>,
        at_once: usize,
        stop: &Stop,
        read: impl Fn(&mut Connection, Group<'r>) -> Result<()> + Sync,
    ) -> Result<(Chunks, Duration)> {
        let (ranges, tasks) = Ranges::begin(ranges, self.wanted.consistent)?;
        let work = |connection: &mut Connection, group| read(connection, group).map(|()| Vec::new());
        let can_be_cut = !self.source.place.format.is_one_file();
        let seek = |connection: &mut Connection| match can_be_cut {
            true => Ok(hold::take(connection, &ranges)?.map(|range| vec![range])),
            false => Ok(None),
        };
        let tail = pool::run(workers, hold::in_groups(tasks, at_once), stop, work, seek)?;
        Ok((ranges.into_chunks(), tail))
    }
}
