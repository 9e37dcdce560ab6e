//! What was measured: a curve for each way to allocate.

use serde::Serialize;

use super::args::Way;
use super::child::Answer;
use super::jump::{self, Jump};
use super::process::Answered;
use crate::statistics::{mean, median};

/// Costs by size, of one allocator in one way.
#[derive(Debug, Clone, Serialize)]
pub struct Curve {
    /// Whose blocks they are: `glibc`, `jemalloc`.
    pub allocator: String,
    /// How they were allocated.
    pub way: Way,
    /// Whether each page was written to.
    pub touched: bool,
    /// What was measured, the smallest size first.
    pub points: Vec<Point>,
    /// Where the cost jumps, the largest jump first.
    pub jumps: Vec<Jump>,
    /// What could not be measured.
    pub not_measurable: Vec<NotMeasurable>,
}

/// The cost of an allocation of one size.
#[derive(Debug, Clone, Serialize)]
pub struct Point {
    /// The size.
    pub bytes: u64,
    /// Nanoseconds of each repeat. With `free`, but in the way `cold`.
    pub ns: Vec<f64>,
    /// The repeat in the middle.
    pub median_ns: f64,
    /// Minor page faults of each allocation.
    pub faults: f64,
    /// Which share of the blocks were mappings of their own; glibc alone tells.
    pub mappings: Option<f64>,
    /// Which share of the blocks had the heap shrink when they were freed; where that can be told.
    pub given_back: Option<f64>,
    /// How many were timed, in all repeats together.
    pub allocations: u64,
    /// Nanoseconds by which the noise is known: of the repeats, or of the only one's batches.
    #[serde(skip)]
    pub(super) noise: Vec<f64>,
}

/// A size that has no point.
#[derive(Debug, Clone, Serialize)]
pub struct NotMeasurable {
    /// The size.
    pub bytes: u64,
    /// Why.
    pub why: String,
}

impl Curve {
    /// Sums up the answers to each size.
    pub(super) fn of(
        (allocator, way, touched): (&str, Way, bool),
        sizes: &[u64],
        answers: &[Vec<Answered<Answer>>],
    ) -> Self {
        let (mut points, mut not_measurable) = (Vec::new(), Vec::new());
        for (&bytes, answers) in sizes.iter().zip(answers) {
            match Point::of(bytes, answers) {
                Ok(point) => points.push(point),
                Err(why) => not_measurable.push(NotMeasurable { bytes, why }),
            }
        }
        let jumps = jump::find(&points, touched);
        Self { allocator: allocator.to_owned(), way, touched, points, jumps, not_measurable }
    }

    /// What it is called: `glibc cold, touched`, `jemalloc`.
    pub fn name(&self) -> String {
        name(&self.allocator, self.way, self.touched)
    }

    /// The point of a size.
    pub fn at(&self, bytes: u64) -> Option<&Point> {
        self.points.iter().find(|point| point.bytes == bytes)
    }
}

/// What the curve of an allocator in a way is called.
pub(super) fn name(allocator: &str, way: Way, touched: bool) -> String {
    let touched = if touched { ", touched" } else { "" };
    match way {
        Way::Preload => format!("{allocator}{touched}"),
        way => format!("{allocator} {way}{touched}"),
    }
}

impl Point {
    fn of(bytes: u64, answers: &[Answered<Answer>]) -> Answered<Self> {
        let measured: Vec<&Answer> =
            answers.iter().flatten().filter(|answer| !answer.ns.is_empty()).collect();
        let [first, others @ ..] = measured.as_slice() else {
            let why = answers.iter().find_map(|answer| answer.as_ref().err().cloned());
            return Err(why.unwrap_or_else(|| "malloc returned null: there is no memory for it".to_owned()));
        };
        let ns: Vec<f64> = measured.iter().map(|answer| median(&answer.ns)).collect();
        let mean_of = |value: fn(&Answer) -> Option<f64>| {
            let values: Vec<f64> = measured.iter().filter_map(|answer| value(answer)).collect();
            (!values.is_empty()).then(|| mean(&values))
        };
        Ok(Self {
            bytes,
            median_ns: median(&ns),
            faults: mean_of(|answer| Some(answer.faults)).unwrap_or(0.0),
            mappings: mean_of(|answer| answer.mappings),
            given_back: mean_of(|answer| answer.given_back),
            allocations: measured.iter().map(|answer| answer.allocations).sum(),
            noise: if others.is_empty() { first.ns.clone() } else { ns.clone() },
            ns,
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// What a process answers that had these times.
    fn answer(ns: &[f64], mappings: f64) -> Answer {
        Answer {
            library: None,
            ns: ns.to_vec(),
            allocations: 10,
            faults: 1.0,
            mappings: Some(mappings),
            given_back: None,
        }
    }

    #[test]
    fn repeats_are_summed_up() {
        let answers = [Ok(answer(&[1.0, 2.0, 9.0], 1.0)), Ok(answer(&[4.0], 0.0)), Err("killed".to_owned())];
        let point = Point::of(64, &answers).unwrap();
        assert_eq!((point.ns.as_slice(), point.median_ns), (&[2.0, 4.0][..], 3.0));
        assert_eq!((point.allocations, point.mappings, point.given_back), (20, Some(0.5), None));
        assert_eq!(point.noise, [2.0, 4.0]);
        let single = Point::of(64, &answers[..1]).unwrap();
        assert_eq!(single.noise, [1.0, 2.0, 9.0]);
    }

    #[test]
    fn what_was_never_measured_says_why() {
        let null = [Ok(answer(&[], 0.0)), Ok(answer(&[], 0.0))];
        let killed = [Ok(answer(&[], 0.0)), Err("signal 9".to_owned())];
        let curve = Curve::of(("glibc", Way::Cold, true), &[64, 128], &[null.to_vec(), killed.to_vec()]);
        assert!(curve.points.is_empty() && curve.at(64).is_none());
        assert!(curve.not_measurable[0].why.contains("null"), "{curve:?}");
        assert_eq!(curve.not_measurable[1].why, "signal 9");
        assert_eq!(curve.name(), "glibc cold, touched");
    }

    /// A point with these times in each repeat.
    pub(in super::super) fn point(bytes: u64, ns: &[f64], faults: f64) -> Point {
        Point {
            bytes,
            ns: ns.to_vec(),
            median_ns: median(ns),
            faults,
            mappings: None,
            given_back: None,
            allocations: 1,
            noise: ns.to_vec(),
        }
    }
}
