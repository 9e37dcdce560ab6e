//! A limit on bytes a second, over all workers.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How far the work may run ahead, so that short waits need not be exact.
const AHEAD: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(super) struct Rate {
    bytes_a_second: u64,
    /// When all that was spent so far is paid.
    paid: Mutex<Instant>,
}

impl Rate {
    pub(super) fn new(bytes_a_second: u64) -> Self {
        Self { bytes_a_second: bytes_a_second.max(1), paid: Mutex::new(Instant::now()) }
    }

    /// Spends bytes; for how long whoever spent them is to wait.
    pub(super) fn spend(&self, bytes: u64, now: Instant) -> Duration {
        let mut paid = self.paid.lock().unwrap_or_else(PoisonError::into_inner);
        let cost = Duration::from_secs_f64(bytes as f64 / self.bytes_a_second as f64);
        *paid = (*paid).max(now) + cost;
        paid.saturating_duration_since(now + AHEAD)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_spent_takes_its_time_and_idle_time_is_not_saved_up() {
        let rate = Rate::new(1000);
        let start = Instant::now() + Duration::from_secs(1);
        assert_eq!(rate.spend(1000, start), Duration::from_secs(1) - AHEAD);
        assert_eq!(rate.spend(1000, start), Duration::from_secs(2) - AHEAD);
        let later = start + Duration::from_secs(60);
        assert_eq!(rate.spend(10, later), Duration::ZERO);
        assert_eq!(rate.spend(1000, later), Duration::from_millis(1010) - AHEAD);
    }
}
