//! The course of one measurement: warming up until the disk is steady, then measuring.
//!
//! Time is cut into slices. A disk counts as steady when over the last five of them the throughput kept to a narrow range and went
//! neither up nor down, with the limits that the Solid State Storage Performance Test Specification of the SNIA has for this: a
//! range of 20 % of the mean, and 10 % for the line through them. To both is added what chance alone makes of few requests.

use std::time::{Duration, Instant};

use super::cpu::cpu_time;

/// For how long to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// How long to warm up at least.
    pub warm_up: Duration,
    /// How long to wait at most until the disk is steady, the warm-up included.
    pub settle: Duration,
    /// For how long to measure.
    pub measured: Duration,
}

impl Timing {
    /// Measures for so long, after a warm-up that is half as long if not told otherwise, and at most three times as long on top.
    pub fn new(measured: Duration, warm_up: Option<Duration>) -> Self {
        let warm_up = warm_up.unwrap_or(measured / 2);
        Self { warm_up, settle: warm_up + measured * 3, measured }
    }
}

/// Where a measurement is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    WarmUp,
    Measuring,
    Done,
}

/// A measurement on its way.
pub(super) struct Course<'a> {
    timing: Timing,
    slice: Duration,
    each_slice: &'a dyn Fn(f64),
    warm_slices: Vec<Slice>,
    phase: Phase,
    phase_began: Instant,
    slice_began: Instant,
    is_steady: bool,
    warmed: Duration,
    measured: Duration,
    /// This process's CPU time while measuring; before its end, that when it began.
    cpu: Duration,
}

#[derive(Debug, Clone, Copy)]
struct Slice {
    requests: u64,
    /// Requests a second.
    rate: f64,
}

/// So many slices are looked at.
const WINDOW: usize = 5;
/// Their largest and smallest rate lie at most this part of the mean apart.
const RANGE: f64 = 0.2;
/// The line through them rises or falls by at most this part of the mean.
const DRIFT: f64 = 0.1;

impl<'a> Course<'a> {
    /// `each_slice` is told the reads and writes a second of each slice.
    pub(super) fn new(timing: Timing, each_slice: &'a dyn Fn(f64)) -> Self {
        let now = Instant::now();
        Self {
            timing,
            slice: (timing.measured / 10).clamp(Duration::from_millis(50), Duration::from_secs(1)),
            each_slice,
            warm_slices: Vec::new(),
            phase: Phase::WarmUp,
            phase_began: now,
            slice_began: now,
            is_steady: false,
            warmed: Duration::ZERO,
            measured: Duration::ZERO,
            cpu: Duration::ZERO,
        }
    }

    /// When the slice ends that time is in.
    pub(super) fn slice_end(&self) -> Instant {
        self.slice_began + self.slice
    }

    /// Whether latencies count.
    pub(super) fn is_measuring(&self) -> bool {
        self.phase == Phase::Measuring
    }

    /// Ends a slice in which so many reads and writes were done, and says where the measurement is from now on.
    pub(super) fn turn(&mut self, requests: u64, now: Instant) -> Phase {
        let rate = requests as f64 / (now - self.slice_began).as_secs_f64().max(1e-9);
        (self.each_slice)(rate);
        self.slice_began = now;
        let in_phase = now - self.phase_began;
        match self.phase {
            Phase::WarmUp => {
                self.warm_slices.push(Slice { requests, rate });
                self.is_steady = is_steady(&self.warm_slices);
                let may_begin = self.is_steady || in_phase >= self.timing.settle;
                if in_phase >= self.timing.warm_up && may_begin {
                    (self.phase, self.phase_began, self.warmed) = (Phase::Measuring, now, in_phase);
                    self.cpu = cpu_time();
                }
            }
            Phase::Measuring if in_phase >= self.timing.measured => {
                (self.phase, self.measured) = (Phase::Done, in_phase);
                self.cpu = cpu_time().saturating_sub(self.cpu);
            }
            Phase::Measuring | Phase::Done => {}
        }
        self.phase
    }

    /// Whether the disk was steady when measuring began.
    pub(super) fn was_steady(&self) -> bool {
        self.is_steady
    }

    /// How long warming up took.
    pub(super) fn warmed(&self) -> Duration {
        self.warmed
    }

    /// How long was measured.
    pub(super) fn measured(&self) -> Duration {
        self.measured
    }

    /// The CPU time that this process took meanwhile.
    pub(super) fn cpu(&self) -> Duration {
        self.cpu
    }
}

fn is_steady(slices: &[Slice]) -> bool {
    let Some(last) = slices.last_chunk::<WINDOW>() else { return false };
    let rates = last.map(|slice| slice.rate);
    let mean = rates.iter().sum::<f64>() / WINDOW as f64;
    let requests = last.iter().map(|slice| slice.requests).sum::<u64>() as f64 / WINDOW as f64;
    if mean <= 0.0 {
        return false;
    }
    // Five counts of n that only chance spreads lie 2.3 times the root of n apart, in the mean; three are seldom exceeded by much.
    let by_chance = 3.0 / requests.sqrt();
    let (low, high) =
        rates.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), rate| (low.min(*rate), high.max(*rate)));
    (high - low) / mean <= RANGE + by_chance && drift(&rates).abs() / mean <= DRIFT + by_chance
}

/// By how much the line through these values, by least squares, rises from the first to the last.
fn drift(rates: &[f64; WINDOW]) -> f64 {
    let middle = (WINDOW - 1) as f64 / 2.0;
    let from_middle = |number: usize| number as f64 - middle;
    let covariance: f64 = rates.iter().enumerate().map(|(number, rate)| from_middle(number) * rate).sum();
    let variance: f64 = (0..WINDOW).map(|number| from_middle(number).powi(2)).sum();
    covariance / variance * (WINDOW - 1) as f64
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    fn steady(rates: &[f64]) -> bool {
        is_steady(&rates.iter().map(|rate| Slice { requests: 1_000_000, rate: *rate }).collect::<Vec<_>>())
    }

    #[test]
    fn steady_is_neither_wide_nor_on_its_way() {
        assert!(steady(&[500.0, 100.0, 101.0, 99.0, 100.0, 100.0]));
        assert!(steady(&[92.0, 108.0, 100.0, 108.0, 92.0]), "a range of 16 %");
        assert!(!steady(&[100.0, 100.0, 80.0, 101.0, 100.0]), "a range of 21 %");
        assert!(!steady(&[92.0, 96.0, 100.0, 104.0, 108.0]), "a rise of 16 %");
        assert!(!steady(&[100.0; 4]), "too few");
        assert!(!steady(&[0.0; 5]), "nothing is done at all");
    }

    #[test]
    fn few_requests_may_vary_more() {
        let slices = |requests: u64| [80.0, 120.0, 95.0, 120.0, 80.0].map(|rate| Slice { requests, rate });
        assert!(is_steady(&slices(100)) && !is_steady(&slices(10_000)));
    }

    /// Goes through slices of a second each with these numbers of requests, and says in which phase each left the course.
    fn phases(timing: Timing, requests: &[u64]) -> (Vec<Phase>, bool, Duration, Duration) {
        let told = RefCell::new(Vec::new());
        let tell = |rate: f64| told.borrow_mut().push(rate as u64);
        let mut course = Course::new(timing, &tell);
        let began = course.slice_began;
        let phases = requests
            .iter()
            .zip(1..)
            .map(|(requests, second)| course.turn(*requests, began + Duration::from_secs(second)))
            .collect();
        let result = (phases, course.was_steady(), course.warmed(), course.measured());
        assert_eq!(told.borrow().len(), requests.len());
        result
    }

    #[test]
    fn measuring_begins_when_it_is_steady() {
        let seconds = Duration::from_secs;
        let timing = Timing { warm_up: seconds(2), settle: seconds(20), measured: seconds(3) };
        let requests = [90_000, 50_000, 10_000, 10_000, 10_000, 10_000, 10_000, 10_000, 10_000, 10_000];
        let (phases, was_steady, warmed, measured) = phases(timing, &requests);
        assert_eq!(phases[5], Phase::WarmUp);
        assert_eq!(phases[6..9], [Phase::Measuring; 3]);
        assert_eq!(phases[9], Phase::Done);
        assert_eq!((was_steady, warmed, measured), (true, seconds(7), seconds(3)));
    }

    #[test]
    fn waiting_has_an_end_which_is_told() {
        let seconds = Duration::from_secs;
        let timing = Timing { warm_up: seconds(1), settle: seconds(6), measured: seconds(1) };
        let (phases, was_steady, warmed, _) = phases(timing, &[1000, 9000, 1000, 9000, 1000, 9000, 1000]);
        assert_eq!((phases[4], phases[5], phases[6]), (Phase::WarmUp, Phase::Measuring, Phase::Done));
        assert_eq!((was_steady, warmed), (false, seconds(6)));
    }
}
