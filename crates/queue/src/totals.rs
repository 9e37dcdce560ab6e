//! What is counted while workers work.

use std::sync::atomic::AtomicU64;

/// Counts of one process.
#[derive(Debug, Default)]
pub struct Totals {
    /// Tasks that were done and acknowledged.
    pub done: AtomicU64,
    /// Attempts that failed.
    pub failed: AtomicU64,
    /// Tasks that failed for the last time.
    pub dead: AtomicU64,
    /// Answers that came too late.
    pub refused: AtomicU64,
}
