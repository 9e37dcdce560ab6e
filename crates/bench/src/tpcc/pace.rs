//! When transactions begin: as soon as the one before is done, after people's typing and thinking, or at times that nobody's waiting
//! moves.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use fastrand::Rng;
use serde::Serialize;

use super::args::Schedule;
use super::kind::Kind;
use super::random::{Purpose, generator};

/// What decides when the next transaction begins.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Load {
    /// The end of the one before.
    Closed,
    /// The same, with keying and think times.
    Think,
    /// A rate that does not heed how long transactions take.
    Open {
        /// Transactions a second, of all connections together.
        rate: f64,
        /// How they lie in time.
        arrivals: Schedule,
    },
}

/// The same for one connection.
pub(super) enum Pace<'a> {
    Closed,
    Think(Rng),
    Open(&'a Arrivals),
}

impl Pace<'_> {
    /// When the next transaction, which is of this type, is to begin; `before` is the type of the one before, which ended then.
    pub(super) fn next(&mut self, kind: Kind, before: Option<Kind>, ended: Instant) -> Instant {
        match self {
            Self::Closed => ended,
            Self::Think(rng) => {
                let think = before.map_or(Duration::ZERO, |kind| exponential(rng, kind.mean_think()));
                ended + think + kind.keying()
            }
            Self::Open(arrivals) => arrivals.take(),
        }
    }
}

/// A time of this mean, as long waits are the rarer the longer they are; not above ten times the mean (clause 5.2.5.4).
fn exponential(rng: &mut Rng, mean: Duration) -> Duration {
    // Of numbers from 0 to below 1 the logarithm of 1 less them is finite.
    mean.mul_f64((-(1.0 - rng.f64()).ln()).min(10.0))
}

/// Beginnings at a rate, which connections take as they become free.
#[derive(Debug)]
pub(super) struct Arrivals {
    next: Mutex<(Instant, Rng)>,
    mean: Duration,
    schedule: Schedule,
}

impl Arrivals {
    /// The first of them is then.
    pub(super) fn from(start: Instant, rate: f64, schedule: Schedule, seed: u64) -> Self {
        let rng = generator(seed, Purpose::Arrivals, [0, 0]);
        Self { next: Mutex::new((start, rng)), mean: Duration::from_secs_f64(1.0 / rate), schedule }
    }

    /// The earliest that nobody took.
    pub(super) fn take(&self) -> Instant {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, rng) = &mut *next;
        let taken = *at;
        *at += match self.schedule {
            Schedule::Even => self.mean,
            Schedule::Poisson => exponential(rng, self.mean),
        };
        taken
    }

    /// How many are due before a time and were not taken; none are left then.
    pub(super) fn left_before(&self, end: Instant) -> u64 {
        let due = std::iter::repeat_with(|| self.take()).take_while(|at| *at < end);
        due.count() as u64
    }
}

/// Waits until then; false as soon as all is over.
pub(super) fn wait_until(at: Instant, is_over: impl Fn() -> bool) -> bool {
    const SLICE: Duration = Duration::from_millis(100);
    loop {
        let left = at.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        if is_over() {
            return false;
        }
        std::thread::sleep(left.min(SLICE));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_come_at_their_rate() {
        for schedule in [Schedule::Even, Schedule::Poisson] {
            let start = Instant::now();
            let arrivals = Arrivals::from(start, 1000.0, schedule, 1);
            assert_eq!(arrivals.take(), start);
            let count = arrivals.left_before(start + Duration::from_secs(20));
            assert!((19_500..=20_500).contains(&count), "{schedule:?}: {count}");
        }
    }

    #[test]
    fn thinking_has_its_mean_and_its_limit() {
        let mut rng = Rng::with_seed(1);
        let mean = Duration::from_secs(12);
        let times: Vec<_> = (0..100_000).map(|_| exponential(&mut rng, mean).as_secs_f64()).collect();
        let found = crate::statistics::mean(&times);
        assert!((11.8..12.2).contains(&found), "{found}");
        assert!(times.iter().all(|time| *time <= 120.0));
    }

    #[test]
    fn people_type_before_and_think_after() {
        let (mut think, ended) = (Pace::Think(Rng::with_seed(1)), Instant::now());
        assert_eq!(think.next(Kind::NewOrder, None, ended), ended + Duration::from_secs(18));
        assert!(think.next(Kind::Payment, Some(Kind::NewOrder), ended) > ended + Duration::from_secs(3));
        assert_eq!(Pace::Closed.next(Kind::Payment, Some(Kind::NewOrder), ended), ended);
    }
}
