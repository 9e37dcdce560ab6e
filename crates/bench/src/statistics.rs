//! What a handful of repeats says, and how sure it is.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF as _, StudentsT};

/// How often an interval misses the true value.
pub const CHANCE: f64 = 0.05;

/// An interval that holds the true value in 95 of 100 measurements like this one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

impl Interval {
    /// The share by which a ratio with this logarithm is above 1. Ends that no number holds are cut.
    fn of_ratio(self) -> Self {
        const MOST: f64 = 700.0;
        Self { low: self.low.max(-MOST).exp_m1(), high: self.high.min(MOST).exp_m1() }
    }

    /// Whether a value lies in it.
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

/// The value in the middle; 0 of none.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        count if count % 2 == 1 => sorted[count / 2],
        count => f64::midpoint(sorted[count / 2 - 1], sorted[count / 2]),
    }
}

/// The mean; 0 of none.
pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// The variance of the population that these values were drawn from; 0 of fewer than two.
pub fn variance(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64
}

/// Where the mean of all such measurements lies, by Student's t; nothing is known of fewer than two.
pub fn mean_interval(values: &[f64]) -> Option<Interval> {
    interval_at(values, CHANCE)
}

fn interval_at(values: &[f64], chance: f64) -> Option<Interval> {
    if values.len() < 2 {
        return None;
    }
    let quantile = t_quantile((values.len() - 1) as f64, chance);
    let half = quantile * (variance(values) / values.len() as f64).sqrt();
    Some(Interval { low: mean(values) - half, high: mean(values) + half })
}

/// Where the difference of two means lies, that of `b` less that of `a`, by Welch's t, which does not take both to be equally
/// noisy; nothing is known where one of them has fewer than two values. The interval misses the true value with this chance.
pub fn difference(a: &[f64], b: &[f64], chance: f64) -> Option<Interval> {
    if a.len() < 2 || b.len() < 2 {
        return None;
    }
    let (from_a, from_b) = (variance(a) / a.len() as f64, variance(b) / b.len() as f64);
    let difference = mean(b) - mean(a);
    let spread = from_a + from_b;
    if spread == 0.0 {
        return Some(Interval { low: difference, high: difference });
    }
    let freedom =
        spread.powi(2) / (from_a.powi(2) / (a.len() - 1) as f64 + from_b.powi(2) / (b.len() - 1) as f64);
    let half = t_quantile(freedom, chance) * spread.sqrt();
    Some(Interval { low: difference - half, high: difference + half })
}

/// Where the mean of pairs' differences lies: what was measured in turns under the same conditions is compared turn by turn, so
/// that what drifts between the turns cancels out. The interval misses the true value with this chance.
pub fn paired_difference(a: &[f64], b: &[f64], chance: f64) -> Option<Interval> {
    interval_at(&a.iter().zip(b).map(|(a, b)| b - a).collect::<Vec<_>>(), chance)
}

/// By which share `b` lies above `a` (below, if negative), with what [`difference`] says of the logarithms: nothing that is positive falls by
/// more than all of it, and twice as much is as far from the same as half as much. Nothing is known where a value is not positive.
pub fn change(a: &[f64], b: &[f64], chance: f64) -> Option<Interval> {
    difference(&logarithms(a)?, &logarithms(b)?, chance).map(Interval::of_ratio)
}

/// The same of pairs, as of [`paired_difference`].
pub fn paired_change(a: &[f64], b: &[f64], chance: f64) -> Option<Interval> {
    paired_difference(&logarithms(a)?, &logarithms(b)?, chance).map(Interval::of_ratio)
}

fn logarithms(values: &[f64]) -> Option<Vec<f64>> {
    values.iter().map(|value| (*value > 0.0).then(|| value.ln())).collect()
}

/// The chance for each of so many intervals that leaves [`CHANCE`] for any of them to miss: Bonferroni's correction, which
/// holds however the measures depend on each other.
pub fn chance_of_each(intervals: usize) -> f64 {
    CHANCE / intervals.max(1) as f64
}

/// The value that Student's t with so many degrees of freedom lies beyond, on either side, with this chance.
pub(crate) fn t_quantile(freedom: f64, chance: f64) -> f64 {
    match StudentsT::new(0.0, 1.0, freedom.max(1.0)) {
        Ok(distribution) => distribution.inverse_cdf(1.0 - chance / 2.0),
        Err(_) => f64::INFINITY, // freedom is no number: nothing is known
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn middles() {
        assert_eq!((median(&[]), median(&[3.0, 1.0, 2.0]), median(&[4.0, 1.0])), (0.0, 2.0, 2.5));
        assert_eq!((mean(&[]), mean(&[1.0, 2.0, 6.0])), (0.0, 3.0));
        assert_eq!((variance(&[5.0]), variance(&[1.0, 3.0])), (0.0, 2.0));
    }

    /// As R's `t.test(c(10, 12, 11, 13))` and `t.test(c(14, 15, 13, 16), c(10, 12, 11, 13))` give them.
    #[test]
    fn intervals_are_students_and_welchs() {
        let near = |interval: Option<Interval>, low: f64, high: f64| {
            let interval = interval.unwrap();
            assert!((interval.low - low).abs() < 0.01 && (interval.high - high).abs() < 0.01, "{interval:?}");
        };
        near(mean_interval(&[10.0, 12.0, 11.0, 13.0]), 9.446, 13.554);
        let (a, b) = ([10.0, 12.0, 11.0, 13.0], [14.0, 15.0, 13.0, 16.0]);
        near(difference(&a, &b, CHANCE), 0.766, 5.234);
    }

    /// Rows of table 1.3.6.7.2 of the NIST/SEMATECH e-Handbook of Statistical Methods.
    #[test]
    fn quantiles_are_those_of_the_handbook() {
        for (freedom, two_sided, expected) in [
            (1.0, 0.05, 12.706),
            (4.0, 0.05, 2.776),
            (10.0, 0.05, 2.228),
            (8.0, 0.01, 3.355),
            (60.0, 0.002, 3.232),
        ] {
            assert!((t_quantile(freedom, two_sided) - expected).abs() < 0.001, "{freedom}, {two_sided}");
        }
        assert_eq!(t_quantile(f64::NAN, CHANCE).max(12.0), t_quantile(1.0, CHANCE));
    }

    #[test]
    fn of_single_values_nothing_is_known() {
        assert_eq!(mean_interval(&[1.0]), None);
        assert_eq!(difference(&[1.0], &[2.0, 3.0], CHANCE), None);
        assert_eq!(paired_difference(&[1.0], &[2.0], CHANCE), None);
    }

    #[test]
    fn a_change_is_one_of_the_ratio() {
        let exactly = |change: Option<Interval>, share: f64| {
            let change = change.unwrap();
            assert!((change.low - share).abs() < 1e-9 && (change.high - share).abs() < 1e-9, "{change:?}");
        };
        exactly(change(&[100.0, 100.0], &[150.0, 150.0], CHANCE), 0.5);
        exactly(paired_change(&[100.0, 10.0, 1000.0], &[50.0, 5.0, 500.0], CHANCE), -0.5);
        // Turned around, it is the other ratio.
        let (a, b) = ([10.0, 12.0, 11.0], [20.0, 23.0, 25.0]);
        let (up, down) = (change(&a, &b, CHANCE).unwrap(), change(&b, &a, CHANCE).unwrap());
        assert!(((1.0 + up.low) * (1.0 + down.high) - 1.0).abs() < 1e-9, "{up:?} {down:?}");
        assert_eq!(change(&[1.0, 0.0], &[1.0, 2.0], CHANCE), None);
        let wide = change(&[1.0, 1e9], &[1.0, 1e9], 1e-6).unwrap();
        assert!(wide.low >= -1.0 && wide.high.is_finite(), "{wide:?}");
    }

    #[test]
    fn pairs_cancel_what_drifts() {
        let (a, b) = ([10.0, 20.0, 30.0], [11.0, 21.5, 31.0]);
        let paired = paired_difference(&a, &b, CHANCE).unwrap();
        assert!(paired.low > 0.0, "{paired:?}");
        assert!(difference(&a, &b, CHANCE).unwrap().contains(0.0));
    }

    proptest! {
        #[test]
        fn more_freedom_is_a_smaller_quantile(freedom in 1.0..500.0_f64, more in 0.01..50.0_f64) {
            let (t, next) = (t_quantile(freedom, CHANCE), t_quantile(freedom + more, CHANCE));
            prop_assert!(t >= next && next >= 1.959 && t <= 12.707);
        }

        #[test]
        fn the_mean_lies_in_its_interval(values in prop::collection::vec(0.0..1e6_f64, 2..20)) {
            prop_assert!(mean_interval(&values).unwrap().contains(mean(&values)));
        }
    }
}
