//! Latencies, to three digits: from when a transaction was begun, and from when it was to begin. Where a server stands still, the second
//! one tells it for all that had to wait, and not only for those that happened to be under way.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;

/// Digits of latencies that are kept.
const DIGITS: u8 = 3;
/// In units of this many nanoseconds.
const UNIT: u128 = 1000;
/// Shares of the curve.
const CURVE: [f64; 14] = [0.0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999, 0.9999, 1.0];

/// How often which latency was.
#[derive(Debug, Clone)]
pub(super) struct Latencies {
    counts: Histogram<u64>,
}

/// What latencies were, in milliseconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Percentiles {
    /// The mean.
    pub mean_ms: f64,
    /// Half of all are no more.
    pub p50_ms: f64,
    /// 90 of 100 are no more.
    pub p90_ms: f64,
    /// 95 of 100.
    pub p95_ms: f64,
    /// 99 of 100.
    pub p99_ms: f64,
    /// 999 of 1000.
    pub p999_ms: f64,
    /// The longest.
    pub max_ms: f64,
    /// Which share of all, from 0 to 1, is no more than so many milliseconds.
    pub curve: Vec<(f64, f64)>,
}

impl Default for Latencies {
    fn default() -> Self {
        // Three digits are within what it can.
        match Histogram::new(DIGITS) {
            Ok(counts) => Self { counts },
            Err(error) => unreachable!("{error}"),
        }
    }
}

impl Latencies {
    pub(super) fn note(&mut self, latency: Duration) {
        let units = u64::try_from(latency.as_nanos().div_ceil(UNIT)).unwrap_or(u64::MAX);
        // It grows as it must; an hour is more than any that is waited for.
        let _ = self.counts.record(units.min(3_600_000_000));
    }

    pub(super) fn add(&mut self, other: &Self) {
        // Both grow as they must, so there is nothing that would not fit.
        let _ = self.counts.add(&other.counts);
    }

    pub(super) fn percentiles(&self) -> Percentiles {
        if self.counts.is_empty() {
            return Percentiles::default();
        }
        let at = |share: f64| self.counts.value_at_quantile(share) as f64 / 1000.0;
        Percentiles {
            mean_ms: self.counts.mean() / 1000.0,
            p50_ms: at(0.5),
            p90_ms: at(0.9),
            p95_ms: at(0.95),
            p99_ms: at(0.99),
            p999_ms: at(0.999),
            max_ms: at(1.0),
            curve: CURVE.iter().map(|share| (*share, at(*share))).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_have_three_digits() {
        let (mut one, mut other) = (Latencies::default(), Latencies::default());
        (1..=500_u64).for_each(|ms| one.note(Duration::from_millis(ms)));
        (501..=1000_u64).for_each(|ms| other.note(Duration::from_millis(ms)));
        one.add(&other);
        let all = one.percentiles();
        for (found, expected) in [
            (all.p50_ms, 500.0),
            (all.p90_ms, 900.0),
            (all.p99_ms, 990.0),
            (all.max_ms, 1000.0),
            (all.mean_ms, 500.5),
        ] {
            assert!((found - expected).abs() <= expected / 500.0, "{found} for {expected}");
        }
        assert!(all.curve.is_sorted_by(|one, other| one.1 <= other.1));
    }

    #[test]
    fn none_and_a_very_long_one() {
        assert_eq!(Latencies::default().percentiles(), Percentiles::default());
        let mut long = Latencies::default();
        long.note(Duration::MAX);
        assert!(long.percentiles().max_ms > 3_590_000.0);
    }
}
