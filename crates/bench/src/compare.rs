//! Whether one result differs from another by more than their noise.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::environment::Environment;
use crate::report::{Better, Measure};
use crate::statistics::{self, Interval};
use crate::{Error, Result};

/// Changes that would not have been hidden by more repeats.
const HALF: f64 = -0.5;
const TWICE: f64 = 1.0;

/// What two results say about each other.
#[derive(Debug, Serialize)]
pub struct Comparison {
    /// The bench that made both.
    pub bench: String,
    /// The chance that a difference is claimed in any of the measures though A and B are equal and only noise lies between them. The
    /// intervals are made wider by the number of measures for it (Bonferroni).
    pub chance_of_false_claim: f64,
    /// What both measured.
    pub measures: Vec<Compared>,
    /// What only one of them measured.
    pub left_out: Vec<String>,
    /// What was not the same when they were made: name, in A, in B.
    pub differences: Vec<(String, String, String)>,
}

/// A measure of two results.
#[derive(Debug, Serialize)]
pub struct Compared {
    /// What it is.
    pub name: String,
    /// What it is of.
    pub unit: String,
    /// Which way is better.
    pub better: Better,
    /// A's median.
    pub a: f64,
    /// B's median.
    pub b: f64,
    /// By which share B lies above A (below it, if negative), with the interval's ends; none where one of the results has a single run.
    pub change: Option<Interval>,
    /// What that means.
    pub verdict: Verdict,
}

/// What a comparison says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// B is better than A, beyond the noise.
    Better,
    /// B is worse than A, beyond the noise.
    Worse,
    /// The noise hides the difference, if there is one; it is no large one.
    Same,
    /// The noise may hide that it is twice or half as much.
    TooFewRepeats,
    /// One of them was measured once only, so that nothing is known of the noise.
    Unknown,
}

impl Comparison {
    /// Whether B is worse in something.
    pub fn is_worse(&self) -> bool {
        self.measures.iter().any(|measure| measure.verdict == Verdict::Worse)
    }
}

/// The part of a result that is compared.
#[derive(Debug, Deserialize)]
struct Kept {
    bench: String,
    environment: Environment,
    measures: Vec<Measure>,
}

/// Compares two files that `--json` left.
///
/// # Errors
/// If one of them cannot be read, is no result, or they are of different benches.
pub fn compare(a: &Path, b: &Path) -> Result<Comparison> {
    let (kept_a, kept_b) = (read(a)?, read(b)?);
    if kept_a.bench != kept_b.bench {
        let what = format!(
            "{} is of `bench {}` and {} of `bench {}`",
            a.display(),
            kept_a.bench,
            b.display(),
            kept_b.bench
        );
        return Err(Error::with_hint(what, "compare results of the same bench"));
    }
    Ok(compared(kept_a, kept_b))
}

fn read(path: &Path) -> Result<Kept> {
    let text = std::fs::read(path).map_err(Error::file(path))?;
    serde_json::from_slice(&text).map_err(|error| {
        let what = format!("{}: not a result of `drover bench`: {error}", path.display());
        Error::with_hint(what, "`drover --json bench … > FILE` leaves one")
    })
}

fn compared(a: Kept, b: Kept) -> Comparison {
    let in_b = |name: &str| b.measures.iter().find(|measure| measure.name == name);
    let in_a = |name: &str| a.measures.iter().any(|measure| measure.name == name);
    let pairs: Vec<_> = a.measures.iter().filter_map(|of_a| Some((of_a, in_b(&of_a.name)?))).collect();
    let chance = statistics::chance_of_each(pairs.len());
    let measures = pairs.iter().map(|(of_a, of_b)| of_both(of_a, of_b, chance)).collect();
    let only_a = a.measures.iter().filter(|measure| in_b(&measure.name).is_none());
    let only_b = b.measures.iter().filter(|measure| !in_a(&measure.name));
    let left_out = only_a.chain(only_b).map(|measure| measure.name.clone()).collect();
    let differences = a.environment.differences(&b.environment);
    let chance_of_false_claim = statistics::CHANCE;
    Comparison { bench: a.bench, chance_of_false_claim, measures, left_out, differences }
}

fn of_both(a: &Measure, b: &Measure, chance: f64) -> Compared {
    let change =
        statistics::change(&a.values, &b.values, chance).or_else(|| from_zeros(&a.values, &b.values, chance));
    Compared {
        name: a.name.clone(),
        unit: a.unit.clone(),
        better: a.better,
        a: a.median,
        b: b.median,
        change,
        verdict: change.map_or(Verdict::Unknown, |change| verdict(change, a.better)),
    }
}

/// The change of what may be 0, as a share of A's mean.
fn from_zeros(a: &[f64], b: &[f64], chance: f64) -> Option<Interval> {
    let base = statistics::mean(a).abs();
    let difference = statistics::difference(a, b, chance).filter(|_| base > 0.0)?;
    let least = if b.iter().all(|value| *value >= 0.0) { -1.0 } else { f64::NEG_INFINITY };
    Some(Interval { low: (difference.low / base).max(least), high: difference.high / base })
}

/// What it means that the change lies in this interval.
pub fn verdict(change: Interval, better: Better) -> Verdict {
    match (change.low > 0.0, change.high < 0.0, better) {
        (true, _, Better::Higher) | (_, true, Better::Lower) => Verdict::Better,
        (true, _, Better::Lower) | (_, true, Better::Higher) => Verdict::Worse,
        _ if change.low < HALF || change.high > TWICE => Verdict::TooFewRepeats,
        _ => Verdict::Same,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(better: Better, values: &[f64]) -> Kept {
        let measures = vec![Measure::new("m", "/s", better, values.to_vec())];
        Kept { bench: "disk".into(), environment: Environment::default(), measures }
    }

    fn verdict_of(better: Better, a: &[f64], b: &[f64]) -> Verdict {
        compared(kept(better, a), kept(better, b)).measures[0].verdict
    }

    #[test]
    fn beyond_the_noise_and_within() {
        let (slow, fast, noisy) = ([100.0, 101.0, 99.0], [120.0, 121.0, 119.0], [80.0, 121.0, 104.0]);
        assert_eq!(verdict_of(Better::Higher, &slow, &fast), Verdict::Better);
        assert_eq!(verdict_of(Better::Lower, &slow, &fast), Verdict::Worse);
        assert_eq!(verdict_of(Better::Higher, &fast, &slow), Verdict::Worse);
        assert_eq!(verdict_of(Better::Higher, &slow, &noisy), Verdict::Same);
        assert_eq!(verdict_of(Better::Higher, &slow[..1], &fast), Verdict::Unknown);
    }

    /// New-Orders a minute and their p99 on a busy machine.
    #[test]
    fn nothing_falls_by_more_than_all_of_it() {
        let (before, after) = ([16410.0, 22860.0, 14310.0], [15555.0, 16260.0, 31455.0]);
        let many = |values: &[f64; 3]| {
            let measures = (0..11)
                .map(|at| Measure::new(format!("m{at}"), "/min", Better::Higher, values.to_vec()))
                .collect();
            Kept { bench: "tpcc run".into(), environment: Environment::default(), measures }
        };
        let comparison = compared(many(&before), many(&after));
        let measure = &comparison.measures[0];
        let change = measure.change.unwrap();
        assert!(change.low > -1.0 && change.contains(0.15) && change.high.is_finite(), "{change:?}");
        assert_eq!(measure.verdict, Verdict::TooFewRepeats);
        // One measure of quieter repeats says more.
        assert_eq!(
            verdict_of(Better::Higher, &[16410.0, 16860.0, 16310.0], &[15555.0, 16260.0, 16455.0]),
            Verdict::Same
        );
        let none = [0.0, 1.0, 0.0];
        let change = compared(kept(Better::Lower, &none), kept(Better::Lower, &none)).measures[0].change;
        assert!(change.unwrap().low >= -1.0, "{change:?}");
    }

    /// Two results of nothing but the same noise, over and over: 11 measures of 5 repeats, in part one noise for all of them; of rates, and
    /// of times that are often near their median and seldom far above it.
    #[test]
    fn equal_results_are_seldom_told_apart() {
        let mut random = fastrand::Rng::with_seed(47);
        let mut noise = || (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
        let mut result = |shared: f64, is_skewed: bool| {
            let drift: Vec<f64> = (0..5).map(|_| noise()).collect();
            let value = |noise: f64| if is_skewed { noise.exp() } else { 100.0 + noise };
            let mut values = || drift.iter().map(|of_all| value(shared * of_all + noise())).collect();
            let measures =
                (0..11).map(|at| Measure::new(format!("m{at}"), "/s", Better::Higher, values())).collect();
            Kept { bench: "disk".into(), environment: Environment::default(), measures }
        };
        const RUNS: usize = 1000;
        for (shared, is_skewed) in [(0.0, false), (1.0, false), (0.0, true), (1.0, true)] {
            let mut result = || result(shared, is_skewed);
            let claims = |comparison: &Comparison| {
                let verdicts = comparison.measures.iter().map(|measure| measure.verdict);
                verdicts.into_iter().any(|verdict| matches!(verdict, Verdict::Better | Verdict::Worse))
            };
            let false_claims = (0..RUNS).filter(|_| claims(&compared(result(), result()))).count();
            assert!(false_claims <= RUNS * 6 / 100, "{false_claims} of {RUNS} with {shared}, {is_skewed}");
        }
    }

    #[test]
    fn what_only_one_has_is_named() {
        let mut b = kept(Better::Higher, &[1.0, 2.0]);
        b.measures[0].name = "other".into();
        let comparison = compared(kept(Better::Higher, &[1.0, 2.0]), b);
        assert!(comparison.measures.is_empty());
        assert_eq!(comparison.left_out, ["m", "other"]);
    }
}
