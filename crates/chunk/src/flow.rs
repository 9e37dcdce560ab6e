//! When the next part may be written: what the replicas have applied, how fast they do, and what a person allows.
//!
//! The primary's log is marked ten times a second: a number, the time, and how many bytes were written until then. Of each replica it is
//! known which mark it has reached. The age of the first mark that it has not is its lag; the bytes behind the one that it has are under
//! way to it. What may be under way is so much as it has lately applied in 0.4 times the longest lag: enough to keep the link and the
//! replica at work while a mark makes its way back, and little enough that the lag stays below what is allowed.
//!
//! Where replicas hold the run back, it has time to spare, and spends it on small parts, which hold others up less on the primary.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::clock::Place;

/// The part of the longest lag for whose time bytes may be under way.
const UNDER_WAY: f64 = 0.4;
/// From this part of the longest lag on nothing is written.
const HOLD: f64 = 0.75;
/// So much may always be under way, in bytes: the rate is found by sending.
const LEAST: f64 = 256.0 * 1024.0;
/// A part is at most one of so many that may be under way,
const PARTS: f64 = 128.0;
/// but not for less than so many bytes: what a part costs besides its rows would hold up the run, and with it what may be under way.
const SMALL: u64 = 16 * 1024;
/// The best rate of this time counts: it is lower while we hold back.
const REMEMBERED: Duration = Duration::from_secs(6);
/// A replica or mark that was not heard of for so long is not known.
const STALE: Duration = Duration::from_secs(2);

/// A mark in the primary's log.
#[derive(Debug, Clone)]
pub(crate) struct Mark {
    pub(crate) number: u64,
    pub(crate) at: Instant,
    pub(crate) bytes: u64,
    pub(crate) place: Place,
}

/// What is known of a replica.
#[derive(Debug)]
struct Replica {
    name: String,
    /// The newest mark that it has reached.
    reached: Option<Mark>,
    heard: Instant,
    problem: Option<String>,
    /// When it was seen to have reached how many bytes.
    arrivals: VecDeque<(Instant, u64)>,
    /// Bytes a second, and when it was so.
    rates: VecDeque<(Instant, f64)>,
}

#[derive(Debug)]
struct State {
    marks: VecDeque<Mark>,
    replicas: Vec<Replica>,
    /// Bytes that were written since the last mark.
    unmarked: u64,
    /// What is wrong with the primary itself.
    pause: Vec<String>,
    critical: Vec<String>,
    problem: Option<String>,
    max_lag: Duration,
}

/// Whether the next part may be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    Go,
    /// What it waits for, in a word, and in full.
    Wait(&'static str, String),
    Stop(String),
}

/// What the threads share that watch, and the one that writes.
#[derive(Debug)]
pub(crate) struct Flow {
    /// The longest lag that is allowed; `None` where replicas are not looked at.
    allowed: Option<Duration>,
    state: Mutex<State>,
}

impl Flow {
    pub(crate) fn new(allowed: Option<Duration>, replicas: &[String]) -> Self {
        let replica = |name: &String| Replica {
            name: name.clone(),
            reached: None,
            heard: Instant::now(),
            problem: None,
            arrivals: VecDeque::new(),
            rates: VecDeque::new(),
        };
        let state = State {
            marks: VecDeque::new(),
            replicas: replicas.iter().map(replica).collect(),
            unmarked: 0,
            pause: Vec::new(),
            critical: Vec::new(),
            problem: None,
            max_lag: Duration::ZERO,
        };
        Self { allowed, state: Mutex::new(state) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a mark.
    pub(crate) fn mark(&self, mark: Mark) {
        let mut state = self.lock();
        (state.unmarked, state.problem) = (0, None);
        state.marks.push_back(mark);
        // Marks that all have reached are of no more use, but for the last one.
        let reached =
            state.replicas.iter().map(|replica| replica.reached.as_ref().map_or(0, |mark| mark.number));
        let reached = reached.min().unwrap_or(u64::MAX);
        while state.marks.len() > 1 && state.marks[0].number < reached {
            state.marks.pop_front();
        }
    }

    /// Notes what the primary's load says.
    pub(crate) fn load(&self, pause: Vec<String>, critical: Vec<String>) {
        let mut state = self.lock();
        (state.pause, state.critical) = (pause, critical);
    }

    /// Notes that the primary cannot be asked.
    pub(crate) fn primary_problem(&self, problem: String) {
        self.lock().problem = Some(problem);
    }

    /// Notes bytes of log that a part has written.
    pub(crate) fn wrote(&self, bytes: u64) {
        self.lock().unmarked += bytes;
    }

    /// Notes that a replica has seen the mark of that number.
    pub(crate) fn seen(&self, replica: usize, number: u64, now: Instant) {
        self.reached(replica, now, |mark| mark.number <= number);
    }

    /// Notes that a replica has applied the log up to there.
    pub(crate) fn applied(&self, replica: usize, place: &Place, now: Instant) {
        self.reached(replica, now, |mark| mark.place.is_up_to(place));
    }

    fn reached(&self, replica: usize, now: Instant, is_reached: impl Fn(&Mark) -> bool) {
        let mut state = self.lock();
        let newest = state.marks.iter().rfind(|mark| is_reached(mark)).cloned();
        let Some(replica) = state.replicas.get_mut(replica) else { return };
        (replica.heard, replica.problem) = (now, None);
        if let Some(mark) = newest
            && replica.reached.as_ref().is_none_or(|before| before.number < mark.number)
        {
            replica.arrived(now, mark, self.allowed.unwrap_or(STALE));
        }
        let lag = state.lag(now);
        state.max_lag = state.max_lag.max(lag.unwrap_or_default());
    }

    /// Notes that a replica cannot be asked, or does not replicate.
    pub(crate) fn replica_problem(&self, replica: usize, problem: String) {
        if let Some(replica) = self.lock().replicas.get_mut(replica) {
            replica.problem = Some(problem);
        }
    }

    /// The longest lag of all replicas now, and the longest since the beginning; `None` as long as one is not known.
    pub(crate) fn lag(&self, now: Instant) -> (Option<Duration>, Duration) {
        let state = self.lock();
        (state.lag(now), state.max_lag)
    }

    /// How many bytes a part may have, by what may be under way.
    pub(crate) fn most_bytes(&self) -> Option<u64> {
        let allowed = self.allowed?;
        let state = self.lock();
        let budgets = state.replicas.iter().map(|replica| replica.budget(allowed));
        budgets.min_by(f64::total_cmp).map(|budget| SMALL.max((budget / PARTS) as u64))
    }

    /// Whether a part of about so many bytes may be written.
    pub(crate) fn verdict(&self, bytes: u64, now: Instant) -> Verdict {
        let state = self.lock();
        if !state.critical.is_empty() {
            return Verdict::Stop(state.critical.join(", "));
        }
        if !state.pause.is_empty() {
            return Verdict::Wait("load", state.pause.join(", "));
        }
        if let Some(problem) = &state.problem {
            return Verdict::Wait("unknown", problem.clone());
        }
        match self.allowed {
            Some(allowed) => state.verdict(allowed, bytes, now),
            None => Verdict::Go,
        }
    }
}

impl State {
    fn lag(&self, now: Instant) -> Option<Duration> {
        self.replicas
            .iter()
            .map(|replica| self.lag_of(replica, now))
            .max()
            .flatten()
            .filter(|_| self.all_known())
    }

    fn all_known(&self) -> bool {
        self.replicas.iter().all(|replica| replica.reached.is_some())
    }

    fn lag_of(&self, replica: &Replica, now: Instant) -> Option<Duration> {
        let reached = replica.reached.as_ref()?;
        let next = self.marks.iter().find(|mark| mark.number > reached.number);
        Some(next.map_or(Duration::ZERO, |mark| now.saturating_duration_since(mark.at)))
    }

    fn verdict(&self, allowed: Duration, bytes: u64, now: Instant) -> Verdict {
        let Some(last) = self.marks.back() else {
            return Verdict::Wait("unknown", "the first mark was not written yet".into());
        };
        if now.saturating_duration_since(last.at) > STALE {
            return Verdict::Wait(
                "unknown",
                "the server takes no marks, so that the lag is not known".into(),
            );
        }
        for replica in &self.replicas {
            if let Some(verdict) = self.objection(replica, last, allowed, bytes, now) {
                return verdict;
            }
        }
        Verdict::Go
    }

    /// What a replica has against a part.
    fn objection(
        &self,
        replica: &Replica,
        last: &Mark,
        allowed: Duration,
        bytes: u64,
        now: Instant,
    ) -> Option<Verdict> {
        let name = &replica.name;
        if let Some(problem) = &replica.problem {
            return Some(Verdict::Wait("unknown", format!("{name}: {problem}")));
        }
        let Some(reached) = &replica.reached else {
            return Some(Verdict::Wait("unknown", format!("{name} has not reached the first mark yet")));
        };
        if now.saturating_duration_since(replica.heard) > STALE {
            return Some(Verdict::Wait("unknown", format!("{name} does not answer")));
        }
        let lag = self.lag_of(replica, now).unwrap_or_default();
        if lag > allowed.mul_f64(HOLD) {
            return Some(Verdict::Wait("lag", format!("{name} is {:.1} s behind", lag.as_secs_f64())));
        }
        let under_way = last.bytes.saturating_sub(reached.bytes) + self.unmarked;
        let is_full = under_way > 0 && (under_way + bytes) as f64 > replica.budget(allowed);
        is_full.then(|| Verdict::Wait("link", format!("{} kB are under way to {name}", under_way / 1000)))
    }
}

impl Replica {
    /// Notes a mark that was reached, and the rate since those before it.
    fn arrived(&mut self, now: Instant, mark: Mark, window: Duration) {
        self.arrivals.push_back((now, mark.bytes));
        // The oldest of a window, and all younger ones.
        while self.arrivals.get(1).is_some_and(|(at, _)| now.saturating_duration_since(*at) >= window) {
            self.arrivals.pop_front();
        }
        if let Some((at, bytes)) = self.arrivals.front() {
            let seconds = now.saturating_duration_since(*at).as_secs_f64();
            if seconds >= window.as_secs_f64() / 2.0 {
                self.rates.push_back((now, mark.bytes.saturating_sub(*bytes) as f64 / seconds));
            }
        }
        while self.rates.front().is_some_and(|(at, _)| now.saturating_duration_since(*at) > REMEMBERED) {
            self.rates.pop_front();
        }
        self.reached = Some(mark);
    }

    /// How many bytes may be under way to it.
    fn budget(&self, allowed: Duration) -> f64 {
        let best = self.rates.iter().map(|(_, rate)| *rate).max_by(f64::total_cmp).unwrap_or(0.0);
        (best * allowed.as_secs_f64() * UNDER_WAY).max(LEAST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALLOWED: Duration = Duration::from_secs(2);

    fn mark(number: u64, at: Instant, bytes: u64) -> Mark {
        Mark { number, at, bytes, place: Place { file: "b.1".into(), position: bytes } }
    }

    #[test]
    fn the_lag_is_the_age_of_the_first_mark_that_is_not_reached() {
        let flow = Flow::new(Some(ALLOWED), &["r".into()]);
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        (1..=10).for_each(|number| flow.mark(mark(number, at(number * 100), number)));
        assert_eq!(flow.lag(at(1000)).0, None);
        assert!(matches!(flow.verdict(1, at(1000)), Verdict::Wait("unknown", _)));
        flow.seen(0, 4, at(1000));
        assert_eq!(flow.lag(at(1000)), (Some(Duration::from_millis(500)), Duration::from_millis(500)));
        assert_eq!(flow.verdict(1, at(1000)), Verdict::Go);
        flow.seen(0, 4, at(2100));
        assert!(matches!(flow.verdict(1, at(2100)), Verdict::Wait("lag", _)));
        flow.applied(0, &Place { file: "b.1".into(), position: 10 }, at(2200));
        assert_eq!(flow.lag(at(2200)).0, Some(Duration::ZERO));
        assert!(matches!(flow.verdict(1, at(4000)), Verdict::Wait("unknown", _)), "marks are missing");
    }

    #[test]
    fn what_is_under_way_follows_the_rate_of_the_replica() {
        let flow = Flow::new(Some(ALLOWED), &["r".into()]);
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        assert_eq!(flow.most_bytes(), Some(16 * 1024), "nothing is known yet");
        // 5 MB a second, seen 100 ms after they were written.
        for number in 1..=40 {
            flow.mark(mark(number, at(number * 100), number * 500_000));
            flow.seen(0, number - 1, at(number * 100));
        }
        let budget = flow.most_bytes().unwrap() * 128;
        assert!((3_800_000..=4_200_000).contains(&budget), "{budget}");
        assert_eq!(flow.verdict(2_000_000, at(4000)), Verdict::Go);
        flow.wrote(3_000_000);
        assert!(matches!(flow.verdict(1_000_000, at(4000)), Verdict::Wait("link", _)));
    }

    #[test]
    fn what_cannot_be_read_is_waited_for() {
        let flow = Flow::new(None, &[]);
        let now = Instant::now();
        assert_eq!(flow.verdict(1, now), Verdict::Go);
        flow.load(vec!["Threads_running 60 > 50".into()], Vec::new());
        assert!(matches!(flow.verdict(1, now), Verdict::Wait("load", _)));
        flow.load(Vec::new(), vec!["Threads_running 600 > 500".into()]);
        assert!(matches!(flow.verdict(1, now), Verdict::Stop(_)));
        flow.load(Vec::new(), Vec::new());
        flow.primary_problem("gone".into());
        assert!(matches!(flow.verdict(1, now), Verdict::Wait("unknown", _)));
    }
}
