//! Counters that the work updates and a printer polls.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// How far a command is. All counters only grow.
#[derive(Debug, Default)]
pub struct Progress {
    phase: Mutex<String>,
    /// Why the work waits, if it does.
    pause: Mutex<Option<String>>,
    /// Work in all, in units of about one byte of rows; 0 as long as it is not known.
    total: AtomicU64,
    done: AtomicU64,
    rows: AtomicU64,
    bytes: AtomicU64,
}

/// The counters at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// What is being done, in a few words.
    pub phase: String,
    /// Whether a guard lets the work wait; the phase then says why.
    pub is_paused: bool,
    /// Work in all, estimated; 0 as long as it is not known.
    pub total: u64,
    /// Work done, in the same unit.
    pub done: u64,
    /// Rows read or written.
    pub rows: u64,
    /// Bytes of rows' text read or written.
    pub bytes: u64,
}

impl Progress {
    /// The counters now.
    pub fn snapshot(&self) -> Snapshot {
        let total = self.total.load(Ordering::Relaxed);
        Snapshot {
            phase: self.phase_now(),
            is_paused: self.pause.lock().unwrap_or_else(PoisonError::into_inner).is_some(),
            total,
            done: self.done.load(Ordering::Relaxed).min(total),
            rows: self.rows.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
        }
    }

    fn phase_now(&self) -> String {
        if let Some(reason) = &*self.pause.lock().unwrap_or_else(PoisonError::into_inner) {
            return format!("paused: {reason}");
        }
        self.phase.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Says why the work waits, or that it goes on.
    pub(crate) fn pause(&self, reason: Option<String>) {
        *self.pause.lock().unwrap_or_else(PoisonError::into_inner) = reason;
    }

    pub(crate) fn phase(&self, phase: &str) {
        phase.clone_into(&mut self.phase.lock().unwrap_or_else(PoisonError::into_inner));
    }

    pub(crate) fn expect(&self, work: u64) {
        self.total.fetch_add(work, Ordering::Relaxed);
    }

    pub(crate) fn done(&self, work: u64) {
        self.done.fetch_add(work, Ordering::Relaxed);
    }

    pub(crate) fn count(&self, rows: u64, bytes: u64) {
        self.rows.fetch_add(rows, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

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
