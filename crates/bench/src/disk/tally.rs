//! How long requests took.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;

use super::load::Kind;
use crate::{Error, Result};

/// What is longer is counted as this long: a quarter of an hour, in nanoseconds.
const LONGEST: u64 = 900_000_000_000;

/// Latencies of each kind of requests, to three digits.
#[derive(Debug, Clone)]
pub struct Tally {
    reads: Histogram<u64>,
    writes: Histogram<u64>,
    fsyncs: Histogram<u64>,
}

/// How long requests of a kind took, from when they were handed over until their end was seen, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Latency {
    /// How many there were.
    pub count: u64,
    /// The mean.
    pub mean_ms: f64,
    /// Half of them took at most this.
    pub p50_ms: f64,
    /// 90 % of them.
    pub p90_ms: f64,
    /// 99 % of them.
    pub p99_ms: f64,
    /// 99.9 % of them.
    pub p99_9_ms: f64,
    /// The longest.
    pub max_ms: f64,
}

/// How what was measured tells the latency of one kind of requests.
pub(super) type LatencyOf<T> = fn(&T) -> Option<Latency>;

impl Tally {
    /// An empty one.
    pub(super) fn new() -> Result<Self> {
        let empty = Histogram::new_with_bounds(1, LONGEST, 3)
            .map_err(|error| Error::found(format!("cannot count latencies: {error:?}")))?;
        Ok(Self { reads: empty.clone(), writes: empty.clone(), fsyncs: empty })
    }

    /// Counts a request.
    pub(super) fn record(&mut self, kind: Kind, took: Duration) {
        self.of_mut(kind).saturating_record(took.as_nanos().min(u128::from(LONGEST)) as u64);
    }

    /// Counts what another one has counted.
    pub(super) fn add(&mut self, other: &Self) -> Result<()> {
        for kind in [Kind::Read, Kind::Write, Kind::Fsync] {
            self.of_mut(kind)
                .add(other.of(kind))
                .map_err(|error| Error::found(format!("cannot add latencies up: {error:?}")))?;
        }
        Ok(())
    }

    /// How many requests of a kind there were.
    pub fn count(&self, kind: Kind) -> u64 {
        self.of(kind).len()
    }

    /// How long they took; none if there were none.
    pub fn latency(&self, kind: Kind) -> Option<Latency> {
        let of = self.of(kind);
        let at = |share: f64| milliseconds(of.value_at_quantile(share) as f64);
        (!of.is_empty()).then(|| Latency {
            count: of.len(),
            mean_ms: milliseconds(of.mean()),
            p50_ms: at(0.5),
            p90_ms: at(0.9),
            p99_ms: at(0.99),
            p99_9_ms: at(0.999),
            max_ms: milliseconds(of.max() as f64),
        })
    }

    fn of(&self, kind: Kind) -> &Histogram<u64> {
        match kind {
            Kind::Read => &self.reads,
            Kind::Write => &self.writes,
            Kind::Fsync => &self.fsyncs,
        }
    }

    fn of_mut(&mut self, kind: Kind) -> &mut Histogram<u64> {
        match kind {
            Kind::Read => &mut self.reads,
            Kind::Write => &mut self.writes,
            Kind::Fsync => &mut self.fsyncs,
        }
    }
}

fn milliseconds(nanoseconds: f64) -> f64 {
    nanoseconds / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_sorted_values() {
        let mut tally = Tally::new().unwrap();
        (1..=1000).for_each(|number| tally.record(Kind::Read, Duration::from_micros(number)));
        tally.record(Kind::Fsync, Duration::from_secs(3600));
        let reads = tally.latency(Kind::Read).unwrap();
        let near = |value: f64, exact: f64| (value / exact - 1.0).abs() < 0.001;
        assert!(near(reads.p50_ms, 0.5) && near(reads.p90_ms, 0.9) && near(reads.p99_ms, 0.99), "{reads:?}");
        assert!(
            near(reads.p99_9_ms, 0.999) && near(reads.max_ms, 1.0) && near(reads.mean_ms, 0.5005),
            "{reads:?}"
        );
        assert_eq!((reads.count, tally.count(Kind::Write), tally.latency(Kind::Write)), (1000, 0, None));
        assert!(near(tally.latency(Kind::Fsync).unwrap().max_ms, 900_000.0));
    }

    #[test]
    fn tallies_add_up() {
        let (mut one, mut other) = (Tally::new().unwrap(), Tally::new().unwrap());
        one.record(Kind::Write, Duration::from_millis(1));
        other.record(Kind::Write, Duration::from_millis(3));
        one.add(&other).unwrap();
        let latency = one.latency(Kind::Write).unwrap();
        assert!(latency.count == 2 && (latency.mean_ms - 2.0).abs() < 0.01, "{latency:?}");
    }
}
