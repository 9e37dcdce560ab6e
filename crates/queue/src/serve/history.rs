//! What happened over the last hours, as the charts of the page want it.

use serde::Serialize;

use super::tally::MINUTES;
use super::watch::State;
use crate::counts::{Count, Histogram};

/// Minute by minute; the lists are all of the same length.
#[derive(Debug, Default, Serialize)]
pub(crate) struct History {
    /// The first minute, as minutes since 1970.
    first_minute: u32,
    taken: Vec<i64>,
    done: Vec<i64>,
    /// Attempts that failed.
    failed: Vec<i64>,
    /// Given up, less those that were given another try.
    died: Vec<i64>,
    wait_p50_ms: Vec<Option<u64>>,
    wait_p99_ms: Vec<Option<u64>>,
    run_p50_us: Vec<Option<u64>>,
    run_p99_us: Vec<Option<u64>>,
}

impl History {
    /// Of one kind or of all; the minute that has only begun is not told of.
    pub(crate) fn of(state: &State, kind: Option<u16>) -> Self {
        let (counts, this) = state.history(kind);
        let last = this.saturating_sub(1);
        let oldest = this.saturating_sub(MINUTES);
        let first_minute = counts.keys().next().copied().unwrap_or(last).clamp(oldest, last);
        let mut history = Self { first_minute, ..Self::default() };
        let nothing = Count::default();
        (first_minute..=last).for_each(|minute| history.add(counts.get(&minute).unwrap_or(&nothing)));
        history
    }

    fn add(&mut self, count: &Count) {
        let quantile = |histogram: &Histogram, share| histogram.quantile(share);
        self.taken.push(count.taken);
        self.done.push(count.done);
        self.failed.push(count.failed);
        self.died.push(count.died);
        self.wait_p50_ms.push(quantile(&count.waits, 0.5));
        self.wait_p99_ms.push(quantile(&count.waits, 0.99));
        self.run_p50_us.push(quantile(&count.runs, 0.5));
        self.run_p99_us.push(quantile(&count.runs, 0.99));
    }
}
