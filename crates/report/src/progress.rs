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
pub struct ProgressSnapshot {
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
    pub fn snapshot(&self) -> ProgressSnapshot {
        let total = self.total.load(Ordering::Relaxed);
        ProgressSnapshot {
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
    pub fn pause(&self, reason: Option<String>) {
        *self.pause.lock().unwrap_or_else(PoisonError::into_inner) = reason;
    }

    /// Says what is being done, in a few words.
    pub fn phase(&self, phase: &str) {
        phase.clone_into(&mut self.phase.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Adds work that is to be done.
    pub fn expect(&self, work: u64) {
        self.total.fetch_add(work, Ordering::Relaxed);
    }

    /// Adds work that was done.
    pub fn done(&self, work: u64) {
        self.done.fetch_add(work, Ordering::Relaxed);
    }

    /// Adds rows that were read or written, and the bytes of their text.
    pub fn count(&self, rows: u64, bytes: u64) {
        self.rows.fetch_add(rows, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}
