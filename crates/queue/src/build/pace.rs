//! Keeping out of the way of live traffic. What a server makes everybody wait, it makes a build's own small statements wait, too: so
//! those that begin and end its transactions are timed, and it pauses after each one for as long as keeps all but a few short.

use std::time::Duration;

/// They may take so much longer than the quickest ones did.
const BEARABLE: Duration = Duration::from_millis(2);
/// The pause grows by the first factor where they took longer, and else shrinks by the second one: both balance where one in fifty is
/// too long.
const GROWTH: f64 = 2.0;
const DECAY: f64 = 0.986;
/// From nothing, a pause grows to this; and what is less than half of it is none.
const SHORTEST: Duration = Duration::from_millis(1);
/// Whatever the server has to do, a build goes on.
const LONGEST: Duration = Duration::from_millis(50);

/// The pace of a build on one shard.
#[derive(Debug)]
pub(super) struct Pace {
    pause: Duration,
    /// What the small statements take if nothing is in their way. It is forgotten slowly.
    quickest: Option<Duration>,
}

impl Pace {
    pub(super) fn new() -> Self {
        Self { pause: SHORTEST, quickest: None }
    }

    /// A transaction's small statements took so long.
    pub(super) fn heard(&mut self, took: Duration) {
        const FORGET: f64 = 1.001;
        let forgotten = self.quickest.map(|quickest| quickest.mul_f64(FORGET));
        let quickest = forgotten.map_or(took, |forgotten| forgotten.min(took));
        self.quickest = Some(quickest);
        self.pause = if took > quickest + BEARABLE {
            self.pause.mul_f64(GROWTH).clamp(SHORTEST, LONGEST)
        } else {
            self.pause.mul_f64(DECAY)
        };
    }

    /// How long to wait before the next batch.
    pub(super) fn pause(&self) -> Duration {
        if self.pause < SHORTEST / 2 { Duration::ZERO } else { self.pause }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUICK: Duration = Duration::from_micros(300);
    const SLOW: Duration = Duration::from_millis(9);

    #[test]
    fn a_quiet_server_is_not_waited_for() {
        let mut pace = Pace::new();
        (0..100).for_each(|_| pace.heard(QUICK));
        assert_eq!(pace.pause(), Duration::ZERO);
    }

    #[test]
    fn a_busy_one_is_and_never_too_long() {
        let mut pace = Pace::new();
        pace.heard(QUICK);
        (0..5).for_each(|_| pace.heard(SLOW));
        assert!(pace.pause() > Duration::from_millis(20), "{:?}", pace.pause());
        (0..100).for_each(|_| pace.heard(SLOW));
        assert_eq!(pace.pause(), LONGEST);
        (0..500).for_each(|_| pace.heard(QUICK));
        assert_eq!(pace.pause(), Duration::ZERO);
    }

    #[test]
    fn one_that_is_slow_by_itself_is_not_busy() {
        let mut pace = Pace::new();
        (0..1000).for_each(|turn| pace.heard(SLOW + Duration::from_micros(turn % 1500)));
        assert_eq!(pace.pause(), Duration::ZERO);
    }
}
