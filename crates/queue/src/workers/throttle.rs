//! How many requests a web service gets at once. It gets half as many when it says that it is too much, and one more after so
//! many that went well as there may be; where even one at a time is too much, there are pauses between them.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The pauses between requests, where one at a time is too much: each is twice the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// Nobody waits longer than this with the next request, whatever the service asks for: it may have been about one task only.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// How long a task waits that was refused without a word of when: each refusal in a row doubles it.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(300);

/// Shared by all workers of a service.
#[derive(Debug)]
pub(super) struct Throttle {
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Debug)]
struct State {
    most: f64,
    /// How many may run, from 1 to `most`.
    limit: f64,
    running: u32,
    /// Refusals since the last success that were not of one volley.
    refusals: u32,
    /// Requests that began before this one had to begin say nothing new by being refused.
    slowed: Option<Instant>,
    not_before: Option<Instant>,
}

/// A request that may be made; its end makes room for another one.
#[derive(Debug)]
pub(super) struct Permit<'a> {
    throttle: &'a Throttle,
    begun: Instant,
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.throttle.lock().running -= 1;
        self.throttle.freed.notify_one();
    }
}

impl Throttle {
    /// At most so many at once.
    pub(super) fn new(most: u32) -> Self {
        let most = f64::from(most.max(1));
        let state = State { most, limit: most, running: 0, refusals: 0, slowed: None, not_before: None };
        Self { state: Mutex::new(state), freed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits up to `wait` until a request may be made.
    pub(super) fn enter(&self, wait: Duration) -> Option<Permit<'_>> {
        let until = Instant::now() + wait;
        let mut state = self.lock();
        loop {
            let now = Instant::now();
            let free_at = state.not_before.filter(|at| *at > now);
            if free_at.is_none() && f64::from(state.running) < state.limit.floor() {
                state.running += 1;
                return Some(Permit { throttle: self, begun: now });
            }
            if now >= until {
                return None;
            }
            let pause = free_at.map_or(until, |at| at.min(until)) - now;
            state = self.freed.wait_timeout(state, pause).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Permit<'_> {
    /// It went well.
    pub(super) fn succeeded(&self) {
        let mut state = self.throttle.lock();
        state.refusals = 0;
        state.not_before = None;
        state.limit = (state.limit + 1.0 / state.limit).min(state.most);
        drop(state);
        self.throttle.freed.notify_all();
    }

    /// The service had too much to do, and asked to wait so long, if it said that. How long the task is to wait.
    pub(super) fn refused(&self, asked: Option<Duration>) -> Duration {
        let mut state = self.throttle.lock();
        if state.slowed.is_none_or(|slowed| self.begun >= slowed) {
            let now = Instant::now();
            if state.limit < 2.0 {
                let pause = asked.unwrap_or_else(|| doubled(FIRST_PAUSE, state.refusals));
                state.not_before = Some(now + pause.min(LONGEST_PAUSE));
            }
            state.limit = (state.limit / 2.0).floor().max(1.0);
            state.refusals += 1;
            state.slowed = Some(now);
        }
        asked.unwrap_or_else(|| doubled(FIRST_WAIT, state.refusals.saturating_sub(1)).min(LONGEST_WAIT))
    }
}

fn doubled(first: Duration, times: u32) -> Duration {
    first * (1 << times.min(16))
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT_ONCE: Duration = Duration::ZERO;

    /// How many requests may begin now.
    fn room(throttle: &Throttle) -> usize {
        std::iter::from_fn(|| throttle.enter(AT_ONCE)).collect::<Vec<_>>().len()
    }

    #[test]
    fn refusals_halve_it_and_successes_bring_it_back() {
        let throttle = Throttle::new(16);
        assert_eq!(room(&throttle), 16);
        for left in [8, 4, 2, 1] {
            throttle.enter(AT_ONCE).unwrap().refused(None);
            assert_eq!(room(&throttle), left);
        }
        let mut successes = 0;
        while room(&throttle) < 16 {
            throttle.enter(AT_ONCE).unwrap().succeeded();
            successes += 1;
        }
        assert!((100..200).contains(&successes), "{successes}");
    }

    #[test]
    fn a_volley_of_refusals_counts_once() {
        let throttle = Throttle::new(16);
        let volley: Vec<_> = std::iter::from_fn(|| throttle.enter(AT_ONCE)).collect();
        for permit in &volley {
            assert_eq!(permit.refused(None), FIRST_WAIT);
        }
        drop(volley);
        assert_eq!(room(&throttle), 8);
    }

    #[test]
    fn one_at_a_time_that_is_too_much_pauses() {
        let throttle = Throttle::new(1);
        let wait = throttle.enter(AT_ONCE).unwrap().refused(None);
        assert_eq!(wait, FIRST_WAIT);
        assert_eq!(room(&throttle), 0);
        let begun = Instant::now();
        let permit = throttle.enter(Duration::from_secs(5)).unwrap();
        assert!(begun.elapsed() >= FIRST_PAUSE / 2, "{:?}", begun.elapsed());
        assert_eq!(permit.refused(None), FIRST_WAIT * 2);
    }

    #[test]
    fn what_the_service_asks_for_holds_for_the_task() {
        let throttle = Throttle::new(1);
        let asked = Duration::from_secs(3600);
        assert_eq!(throttle.enter(AT_ONCE).unwrap().refused(Some(asked)), asked);
        let not_before = throttle.lock().not_before.unwrap();
        assert!(not_before <= Instant::now() + LONGEST_PAUSE);
    }
}
