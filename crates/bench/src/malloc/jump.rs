//! Where a curve jumps, and why.

use serde::{Deserialize, Serialize};

use super::curve::Point;
use super::sweep::{cost_name, size_name};
use crate::{figure, statistics};

/// A step of a curve over which the cost jumps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Jump {
    /// The last size below it, in bytes.
    pub below_bytes: u64,
    /// The first size above it, in bytes.
    pub from_bytes: u64,
    /// How many times as much an allocation costs from there on; where pages are touched, beyond what their number explains.
    pub factor: f64,
    /// Whether pages are touched, so that `factor` compares the cost of a byte.
    #[serde(default)]
    pub touched: bool,
    /// Whether that is more than the noise.
    pub is_beyond_noise: bool,
    /// What happens there.
    pub cause: Cause,
    /// Nanoseconds of an allocation below it.
    pub ns_below: f64,
    /// Nanoseconds of an allocation from there on.
    pub ns_from: f64,
    /// Minor page faults of an allocation below it.
    pub faults_below: f64,
    /// Minor page faults of an allocation from there on.
    pub faults_from: f64,
}

/// What happens at a jump.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Blocks begin to be mappings of their own. glibc said so of these blocks.
    MmapThreshold,
    /// The heap begins to shrink with each block that is freed. Its end was seen to move.
    TrimThreshold,
    /// Each allocation costs more, and has more page faults. Nothing else is known.
    CostAndFaults,
}

/// Where nothing but cost and faults rises, less than this is no jump.
const LEAST_FACTOR: f64 = 1.5;

/// The jumps of a curve, the largest first: each step over which blocks begin to be mappings or to shrink the heap, and of those where
/// only cost and page faults rise beyond the noise, the largest.
pub(super) fn find(points: &[Point], touched: bool) -> Vec<Jump> {
    let jumps = points.windows(2).filter_map(|pair| over(&pair[0], &pair[1], touched));
    let mut jumps: Vec<Jump> = jumps.collect();
    jumps.sort_by(|one, other| other.factor.total_cmp(&one.factor));
    let mut has_unnamed = false;
    // The first one that has no name is the largest of them.
    jumps.retain(|jump| jump.cause != Cause::CostAndFaults || !std::mem::replace(&mut has_unnamed, true));
    jumps
}

fn over(below: &Point, from: &Point, touched: bool) -> Option<Jump> {
    // Writing to pages costs by the page: what is beyond that is the jump.
    let growth = if touched { from.bytes as f64 / below.bytes as f64 } else { 1.0 };
    let factor = from.median_ns / (below.median_ns * growth);
    let grown: Vec<f64> = below.noise.iter().map(|ns| ns * growth).collect();
    let difference = statistics::difference(&grown, &from.noise, statistics::CHANCE);
    let is_beyond_noise = difference.is_some_and(|difference| difference.low > 0.0);
    let begins = |share: fn(&Point) -> Option<f64>| {
        share(below).is_some_and(|share| share < 0.5) && share(from).is_some_and(|share| share >= 0.5)
    };
    let has_more_faults = from.faults > below.faults * growth * 1.1 + 0.1;
    let cause = if begins(|point| point.mappings) {
        Cause::MmapThreshold
    } else if begins(|point| point.given_back) {
        Cause::TrimThreshold
    } else if is_beyond_noise && has_more_faults && factor >= LEAST_FACTOR {
        Cause::CostAndFaults
    } else {
        return None;
    };
    Some(Jump {
        below_bytes: below.bytes,
        from_bytes: from.bytes,
        factor,
        touched,
        is_beyond_noise,
        cause,
        ns_below: below.median_ns,
        ns_from: from.median_ns,
        faults_below: below.faults,
        faults_from: from.faults,
    })
}

impl Jump {
    /// What it is, in a sentence.
    pub fn what(&self) -> String {
        let from = size_name(self.from_bytes);
        match self.cause {
            Cause::MmapThreshold => {
                format!("mmap threshold: from {from} on each allocation is a mapping of its own")
            }
            Cause::TrimThreshold => {
                format!("trim threshold: from {from} on each free gives memory back to the system")
            }
            Cause::CostAndFaults => {
                let (below, above) = (figure(self.faults_below), figure(self.faults_from));
                format!("from {from} on each allocation has {above} page faults instead of {below}")
            }
        }
    }

    /// By how much the cost changes.
    pub fn by_how_much(&self) -> String {
        let (below, from) = (cost_name(self.ns_below), cost_name(self.ns_from));
        let size = size_name(self.below_bytes);
        format!("{from} instead of {below} at {size}: {}", self.change())
    }

    fn change(&self) -> String {
        if !self.is_beyond_noise {
            return "no more than the noise of the repeats explains".to_owned();
        }
        let of = if self.touched { " for each byte" } else { "" };
        format!("{} times as much{of}", figure(self.factor))
    }
}

#[cfg(test)]
mod tests {
    use super::super::curve::tests::point;
    use super::*;
    use proptest::prelude::*;

    fn mapped(bytes: u64, ns: &[f64], share: f64) -> Point {
        Point { mappings: Some(share), given_back: Some(0.0), ..point(bytes, ns, share) }
    }

    #[test]
    fn a_jump_has_the_name_of_its_cause() {
        let points = [
            mapped(64, &[10.0, 11.0, 10.5], 0.0),
            Point { given_back: Some(1.0), ..mapped(128, &[500.0, 510.0, 505.0], 0.0) },
            Point { given_back: Some(0.0), ..mapped(256, &[600.0, 590.0, 610.0], 1.0) },
        ];
        let jumps = find(&points, false);
        let found: Vec<_> =
            jumps.iter().map(|jump| (jump.cause, jump.below_bytes, jump.from_bytes)).collect();
        assert_eq!(found, [(Cause::TrimThreshold, 64, 128), (Cause::MmapThreshold, 128, 256)]);
        assert!(jumps.iter().all(|jump| jump.is_beyond_noise), "{jumps:?}");
        assert!(jumps[0].what().contains("from 128 B on"), "{}", jumps[0].what());
        assert!(jumps[1].by_how_much().contains("600 ns instead of 505 ns at 128 B"), "{jumps:?}");
    }

    #[test]
    fn a_threshold_is_found_whatever_it_costs() {
        let points = [mapped(64, &[10.0, 12.0], 0.1), mapped(128, &[11.0, 9.0], 0.9)];
        let jumps = find(&points, false);
        assert_eq!((jumps.len(), jumps[0].cause), (1, Cause::MmapThreshold));
        assert!(
            !jumps[0].is_beyond_noise
                && jumps[0].by_how_much().ends_with("no more than the noise of the repeats explains"),
            "{jumps:?}"
        );
    }

    #[test]
    fn without_a_name_it_takes_cost_and_faults() {
        let (cheap, dear) = (&[10.0, 11.0, 10.5][..], &[500.0, 510.0, 505.0][..]);
        let jump = |faults| find(&[point(64, cheap, 0.0), point(128, dear, faults)], false);
        assert_eq!(jump(1.0)[0].cause, Cause::CostAndFaults);
        assert!(jump(0.0).is_empty());
        let noisy = find(&[point(64, &[10.0, 900.0, 20.0], 0.0), point(128, dear, 1.0)], false);
        assert!(noisy.is_empty(), "{noisy:?}");
        let several = [point(64, cheap, 0.0), point(128, &[50.0, 51.0], 1.0), point(256, dear, 2.0)];
        let jumps = find(&several, false);
        assert_eq!((jumps.len(), jumps[0].from_bytes), (1, 256));
    }

    #[test]
    fn more_pages_alone_are_no_jump() {
        let points = [point(64, &[100.0, 101.0], 16.0), point(128, &[210.0, 211.0], 32.0)];
        assert!(find(&points, true).is_empty());
        let points = [point(64, &[100.0, 101.0], 0.0), point(128, &[2100.0, 2101.0], 32.0)];
        let jumps = find(&points, true);
        assert!((jumps[0].factor - 10.4).abs() < 0.1, "{jumps:?}");
        let text = jumps[0].by_how_much();
        assert!(
            text.ends_with("2.10 µs instead of 100 ns at 64 B: 10.5 times as much for each byte"),
            "{text}"
        );
    }

    proptest! {
        /// Wherever blocks begin to be mappings, there it is found.
        #[test]
        fn a_planted_threshold_is_found(at in 1_usize..30, noise in prop::collection::vec(0.9..1.1_f64, 30 * 3)) {
            let point = |step: usize| {
                let ns = if step < at { 30.0 } else { 900.0 };
                let times: Vec<f64> = noise[step * 3..][..3].iter().map(|factor| ns * factor).collect();
                mapped(1 << step.min(40), &times, if step < at { 0.0 } else { 1.0 })
            };
            let points: Vec<Point> = (0..30).map(point).collect();
            let jumps = find(&points, false);
            prop_assert_eq!(jumps.len(), 1);
            prop_assert_eq!((jumps[0].below_bytes, jumps[0].from_bytes), (1 << (at - 1), 1 << at));
            prop_assert!(jumps[0].is_beyond_noise);
        }
    }
}
