//! How far one piece of work is whose size was only estimated.

use std::sync::atomic::{AtomicU64, Ordering};

pub use drover_report::Progress;

/// The share of one piece of work whose size was only estimated: never more than the estimate, all of it at the end.
#[derive(Debug)]
pub(crate) struct Share<'a> {
    progress: &'a Progress,
    weight: u64,
    expected: u64,
    seen: AtomicU64,
    credited: AtomicU64,
}

impl<'a> Share<'a> {
    /// A piece of work that counts `weight` in the total and has about `expected` steps.
    pub(crate) fn new(progress: &'a Progress, weight: u64, expected: u64) -> Self {
        let expected = expected.max(1);
        Self { progress, weight, expected, seen: AtomicU64::new(0), credited: AtomicU64::new(0) }
    }

    /// Notes that rows with so many bytes of text were read, one step each.
    pub(crate) fn read(&self, rows: u64, bytes: u64) {
        self.progress.count(rows, bytes);
        self.see(rows);
    }

    /// Notes that rows need not be read.
    pub(crate) fn skip(&self, rows: u64) {
        self.see(rows);
    }

    fn see(&self, rows: u64) {
        let seen = self.seen.fetch_add(rows, Ordering::Relaxed) + rows;
        let part = seen.min(self.expected) as f64 / self.expected as f64;
        self.credit(((self.weight as f64 * part) as u64).min(self.weight));
    }

    fn credit(&self, due: u64) {
        let before = self.credited.fetch_max(due, Ordering::Relaxed);
        self.progress.done(due.saturating_sub(before));
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        self.credit(self.weight);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_never_counts_more_or_less_than_its_weight() {
        let progress = Progress::default();
        progress.expect(100);
        let share = Share::new(&progress, 100, 10);
        share.read(5, 1000);
        assert_eq!((progress.snapshot().done, progress.snapshot().bytes), (50, 1000));
        share.read(50, 0);
        assert_eq!(progress.snapshot().done, 100);
        drop(share);
        assert_eq!(progress.snapshot().done, 100);
        progress.expect(7);
        drop(Share::new(&progress, 7, 0));
        assert_eq!(progress.snapshot().done, 107);
    }
}
