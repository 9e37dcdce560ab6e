//! Reads the logs from where a replay begins to their end.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use drover_report::Progress;

use crate::chain::{Chain, Item};
use crate::definitions::Definitions;
use crate::filter::{Filter, FilterArgs};
use crate::{Result, flashback};

use super::ahead::Ahead;
use super::builder::Builder;
use super::destination::Destination;
use super::earlier::Earlier;
use super::sink::Sink;

const NOTHING_CHANGED: &str = "nothing was changed: run the same command once more";

/// The logs, and what of them is wanted.
pub(super) struct Reading<'a> {
    pub(super) chain: Chain,
    /// What of it was read already.
    pub(super) ahead: Ahead,
    pub(super) filter: FilterArgs,
    /// The only schemas that are wanted.
    pub(super) schemas: Option<BTreeSet<Vec<u8>>>,
    /// Whether only a signal ends them, within a transaction perhaps.
    pub(super) follows: bool,
    pub(super) destination: &'a Destination,
    pub(super) progress: &'a Progress,
}

impl Reading<'_> {
    /// Reads on to the first transaction, and looks whether it is to be applied to this target.
    pub(super) fn look_ahead(&mut self, earlier: &mut Earlier) -> Result<()> {
        let mut filter = Filter::new(&self.filter, self.chain.logs());
        let read = Ahead::read(&mut self.chain, &mut filter, earlier, self.destination, self.follows);
        self.ahead = read.map_err(|error| error.with_way_on(NOTHING_CHANGED))?;
        Ok(())
    }

    /// Reads the logs to their end.
    pub(super) fn into_sink(mut self, sink: &mut Sink<'_>) -> Result<()> {
        let (counter, progress) = (self.chain.counter(), self.progress);
        let stopped = || self.destination.stop.is_requested();
        let is_backwards = sink.earlier.is_backwards;
        let mut filter = Filter::new(&self.filter, self.chain.logs()).of_schemas(self.schemas.take());
        let ahead = std::mem::take(&mut self.ahead);
        let everything = FilterArgs::default();
        let wanted = if is_backwards { Filter::new(&everything, 0) } else { filter.clone() };
        let tables = match is_backwards {
            true => Some(Definitions::of(&self.destination.as_origin())?),
            false => None,
        };
        let mut builder = Builder::new(wanted, sink, is_backwards, tables.clone());
        let mut told = 0;
        let mut see = |item: &Item<'_>| {
            let bytes = counter.bytes();
            progress.done(bytes - told);
            progress.count(0, bytes - told);
            told = bytes;
            builder.see(item)
        };
        let read = match is_backwards {
            false => ahead.give(&mut see).and_then(|flow| match flow {
                ControlFlow::Break(()) => Ok(0),
                ControlFlow::Continue(()) => self.chain.walk(&stopped, see).map(|()| 0),
            }),
            true => flashback::walk(&mut self.chain, &mut filter, tables, &stopped, see),
        };
        let unfinished = builder.finish();
        sink.report.bytes = counter.bytes();
        sink.report.abandoned.extend(unfinished.filter(|_| !self.follows).map(|at| at.to_string()));
        let changes = !(sink.report.dry_run || is_backwards);
        let way_on = if changes { "the same command with --resume resumes it" } else { NOTHING_CHANGED };
        sink.earlier.provenance.ends = self.chain.ended_behind().cloned();
        let passed_over = read.map_err(|error| error.with_way_on(way_on))?;
        sink.report.passed_over += passed_over;
        Ok(())
    }
}
