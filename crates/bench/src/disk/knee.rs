//! The knee of a curve: the size from which on the throughput falls much faster than before, such as where a cache ends.
//!
//! Three shapes are fitted to the throughput over the logarithm of the size, by least squares of the relative deviations: a straight
//! line, a line with one bend, and a line with two. A bend is believed if the F-test says that it explains more than chance would,
//! with p below 0.001 after multiplying it by the number of gaps between sizes that the bend could have been in. A knee is the first
//! bend that turns downwards by much: beyond it a doubling of the size costs at least 10 % of the throughput more than before it. So
//! a straight line has no knee, however steep it is, nor has a flat one; and what small curvature a lucky measurement proves is none.

use serde::Serialize;

use super::require::At;
use crate::statistics::{CHANCE, mean, t_quantile};

/// What a curve says of its knee.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "finding", rename_all = "snake_case")]
pub enum KneeFinding {
    /// There it is.
    Knee(Knee),
    /// There is none, or none that the noise does not hide.
    None,
    /// So few sizes could not show one.
    TooFewSizes,
}

/// A knee.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Knee {
    /// Where it is, in bytes.
    pub bytes: u64,
    /// The smallest size that it may be at in truth, in 95 of 100 measurements: one of those that were measured.
    pub low_bytes: u64,
    /// The largest such size.
    pub high_bytes: u64,
    /// The throughput there, in MB/s.
    pub mb_per_second: f64,
    /// Which share of that a doubling of the size costs below it.
    pub cost_below: f64,
    /// Which share a doubling costs above it.
    pub cost_above: f64,
}

/// Fewer sizes are fitted by a line with one bend as well as by chance.
const FEWEST_SIZES: usize = 5;
/// How sure a bend must be.
const LEVEL: f64 = 0.001;
/// How sure another one must be where there is one: what ends a fall is often weak beside the fall.
const NEXT_LEVEL: f64 = 0.05;
/// By which share of the throughput a doubling must cost more above the knee than below.
const LEAST_BEND: f64 = 0.1;
/// How finely bends are looked for, in doublings.
const STEP: f64 = 1.0 / 16.0;
/// At most so many places are tried.
const MOST_PLACES: f64 = 100.0;

/// Looks for a knee; `sizes` in ascending order, each with a value at least.
pub fn knee(sizes: &[At]) -> KneeFinding {
    if sizes.len() < FEWEST_SIZES {
        return KneeFinding::TooFewSizes;
    }
    let Some(curve) = Curve::of(sizes) else { return KneeFinding::None };
    let best = curve.best_shape();
    best.and_then(|best| curve.knee_of(&best)).map_or(KneeFinding::None, KneeFinding::Knee)
}

/// A curve that shapes are fitted to.
struct Curve {
    points: Vec<Point>,
    /// The sum of squares within sizes: what no shape can explain.
    within: f64,
    /// How many values there are in all.
    values: f64,
}

/// The mean of a size's values.
struct Point {
    /// The logarithm of the size, to base 2.
    x: f64,
    y: f64,
    /// How much a squared deviation from it counts: the number of values, by the square of the throughput.
    weight: f64,
}

/// A line with bends.
#[derive(Debug, Clone)]
struct Fit {
    /// At which x the bends are, in ascending order.
    bends: Vec<f64>,
    /// Of 1, of x, and of what x lies beyond each bend.
    coefficients: Vec<f64>,
    /// The sum of squared relative deviations.
    squares: f64,
}

impl Curve {
    /// None if one of the sizes had no throughput at all: then there are no relative deviations.
    fn of(sizes: &[At]) -> Option<Self> {
        let (mut points, mut within, mut values) = (Vec::new(), 0.0, 0.0);
        for at in sizes {
            let (y, count) = (mean(&at.mb_per_second), at.mb_per_second.len() as f64);
            if y <= 0.0 {
                return None;
            }
            points.push(Point { x: (at.bytes as f64).log2(), y, weight: count / y.powi(2) });
            within += at.mb_per_second.iter().map(|value| (value / y - 1.0).powi(2)).sum::<f64>();
            values += count;
        }
        Some(Self { points, within, values })
    }

    /// The fits of the shape that explains the curve best among those with bends; none if a straight line does as well.
    fn best_shape(&self) -> Option<Vec<Fit>> {
        let straight = self.fit(&[])?;
        // What is no more than the error of the arithmetic is a straight line.
        if straight.squares <= self.values * 1e-18 {
            return None;
        }
        let (one, two) = (self.one_bend(), self.two_bends());
        let (least_one, least_two) = (least(&one), least(&two));
        let gaps = (self.points.len() - 3) as f64;
        let one_is_sure = least_one.is_some_and(|fit| self.p_of_2(straight.squares, fit) * gaps < LEVEL);
        let pairs = gaps * (gaps + 1.0) / 2.0;
        let two_are_sure = least_two.is_some_and(|fit| match least_one {
            Some(one) if one_is_sure => self.p_of_2(one.squares, fit) * gaps < NEXT_LEVEL,
            _ => self.p_of_4(straight.squares, fit) * pairs < LEVEL,
        });
        match (one_is_sure, two_are_sure) {
            (_, true) => Some(two),
            (true, false) => Some(one),
            (false, false) => None,
        }
    }

    /// How likely chance alone lets two more parameters explain as much: the F distribution with 2 and d degrees of freedom has its
    /// upper tail in closed form, and with the ratio of the sums of squares it is a power of that.
    fn p_of_2(&self, before: f64, fit: &Fit) -> f64 {
        let half = self.freedom(fit) / 2.0;
        if half <= 0.0 { 1.0 } else { (fit.squares / before).powf(half) }
    }

    /// The same for four more parameters: the incomplete beta function with d/2 and 2.
    fn p_of_4(&self, before: f64, fit: &Fit) -> f64 {
        let (half, ratio) = (self.freedom(fit) / 2.0, fit.squares / before);
        if half <= 0.0 { 1.0 } else { ratio.powf(half) * (1.0 + half * (1.0 - ratio)) }
    }

    /// Values less parameters; where a bend is, is one.
    fn freedom(&self, fit: &Fit) -> f64 {
        self.values - (fit.coefficients.len() + fit.bends.len()) as f64
    }

    /// At least two sizes lie on each side of a bend, so that there is a slope on each.
    fn places(&self) -> Vec<f64> {
        let (first, last) = (self.points[1].x, self.points[self.points.len() - 2].x);
        let steps = ((last - first) / STEP).ceil().clamp(1.0, MOST_PLACES);
        (0..=steps as u32).map(|step| first + (last - first) * f64::from(step) / steps).collect()
    }

    fn one_bend(&self) -> Vec<Fit> {
        self.places().iter().filter_map(|place| self.fit(&[*place])).collect()
    }

    fn two_bends(&self) -> Vec<Fit> {
        let places = self.places();
        let pairs = places
            .iter()
            .enumerate()
            .flat_map(|(number, first)| places[number + 1..].iter().map(move |second| [*first, *second]));
        pairs.filter_map(|bends| self.fit(&bends)).collect()
    }

    /// The line with these bends that lies nearest; none where the sizes do not tell them apart.
    fn fit(&self, bends: &[f64]) -> Option<Fit> {
        // Sums stay small when x begins at 0.
        let from = self.points[0].x;
        let basis = |x: f64| -> Vec<f64> {
            [1.0, x - from].into_iter().chain(bends.iter().map(|bend| (x - bend).max(0.0))).collect()
        };
        let count = 2 + bends.len();
        let mut equations = vec![vec![0.0; count + 1]; count];
        for point in &self.points {
            let basis = basis(point.x);
            for (row, left) in equations.iter_mut().zip(&basis) {
                for (cell, right) in row.iter_mut().zip(basis.iter().chain([&point.y])) {
                    *cell += point.weight * left * right;
                }
            }
        }
        let coefficients = solved(equations)?;
        let squares = self.points.iter().map(|point| {
            let fitted: f64 =
                basis(point.x).iter().zip(&coefficients).map(|(part, times)| part * times).sum();
            point.weight * (point.y - fitted).powi(2)
        });
        let squares = squares.sum::<f64>() + self.within;
        Some(Fit { bends: bends.to_vec(), coefficients, squares })
    }

    /// The knee of all fits of a shape: it may be wherever one fits nearly as well as the nearest, and is taken to be in the middle of
    /// that. Between two sizes with a cliff between them, no place is better than another.
    fn knee_of(&self, fits: &[Fit]) -> Option<Knee> {
        let best = least(fits)?;
        let bend = (0..best.bends.len()).find(|bend| {
            let (below, above) = self.costs(best, *bend);
            above - below >= LEAST_BEND
        })?;
        let freedom = self.freedom(best).max(1.0);
        let limit = best.squares * (1.0 + t_quantile(freedom, CHANCE).powi(2) / freedom);
        let near: Vec<&Fit> = fits.iter().filter(|fit| fit.squares <= limit).collect();
        let places = near.iter().map(|fit| fit.bends[bend]);
        let (low, high) =
            places.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        let off = |fit: &Fit| (fit.bends[bend] - f64::midpoint(low, high)).abs();
        let middle = near.into_iter().min_by(|one, other| {
            off(one).total_cmp(&off(other)).then(one.squares.total_cmp(&other.squares))
        })?;
        let (below, above) = self.costs(middle, bend);
        Some(Knee {
            bytes: bytes(middle.bends[bend]),
            low_bytes: bytes(self.size_below(low)),
            high_bytes: bytes(self.size_above(high)),
            mb_per_second: self.level(middle, middle.bends[bend]),
            cost_below: below,
            cost_above: above,
        })
    }

    /// The largest size that was measured up to this one. What the curve does between two sizes nobody has seen, so an interval ends
    /// at sizes.
    fn size_below(&self, x: f64) -> f64 {
        self.points.iter().map(|point| point.x).rfind(|size| *size <= x).unwrap_or(x)
    }

    /// The smallest size that was measured from this one on.
    fn size_above(&self, x: f64) -> f64 {
        self.points.iter().map(|point| point.x).find(|size| *size >= x).unwrap_or(x)
    }

    /// Which share of the throughput at a bend a doubling costs below and above it.
    fn costs(&self, fit: &Fit, bend: usize) -> (f64, f64) {
        let level = self.level(fit, fit.bends[bend]);
        let slope = |bends: usize| fit.coefficients[1..2 + bends].iter().sum::<f64>();
        (-slope(bend) / level, -slope(bend + 1) / level)
    }

    fn level(&self, fit: &Fit, x: f64) -> f64 {
        let line = fit.coefficients[0] + fit.coefficients[1] * (x - self.points[0].x);
        let beyond =
            fit.bends.iter().zip(&fit.coefficients[2..]).map(|(bend, times)| (x - bend).max(0.0) * times);
        line + beyond.sum::<f64>()
    }
}

fn least(fits: &[Fit]) -> Option<&Fit> {
    fits.iter().min_by(|one, other| one.squares.total_cmp(&other.squares))
}

fn bytes(x: f64) -> u64 {
    x.exp2().round() as u64
}

/// Solves linear equations, whose last column is the right side, by elimination with pivots; none where they do not tell.
fn solved(mut rows: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    /// What is left of a pivot that rounding alone made, beside what stood there at first.
    const SINGULAR: f64 = 1e-10;
    let count = rows.len();
    let scales: Vec<f64> = (0..count).map(|column| rows[column][column]).collect();
    for column in 0..count {
        let pivot = (column..count)
            .max_by(|one, other| rows[*one][column].abs().total_cmp(&rows[*other][column].abs()))?;
        rows.swap(column, pivot);
        if rows[column][column].abs() <= SINGULAR * scales[column].abs() {
            return None;
        }
        let (done, left) = rows.split_at_mut(column + 1);
        let upper = done.last()?;
        for row in left {
            let times = row[column] / upper[column];
            row.iter_mut().zip(upper).skip(column).for_each(|(cell, above)| *cell -= times * above);
        }
    }
    let mut solution = vec![0.0; count];
    for column in (0..count).rev() {
        let known: f64 = (column + 1..count).map(|other| rows[column][other] * solution[other]).sum();
        solution[column] = (rows[column][count] - known) / rows[column][column];
    }
    Some(solution)
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::super::testing::{FINDING_OF_2007, noisy};
    use super::*;

    const GIB: f64 = (1_u64 << 30) as f64;

    /// Three repeats at 1, 2, 4 … GiB of a curve over the size in GiB.
    fn measured(curve: impl Fn(f64) -> f64, sizes: u32, noise: f64, random: &mut Rng) -> Vec<At> {
        let at = |doubling: u32| {
            let gib = f64::from(1_u32 << doubling);
            At {
                bytes: (gib * GIB) as u64,
                mb_per_second: (0..3).map(|_| noisy(curve(gib), noise, random)).collect(),
            }
        };
        (0..sizes).map(at).collect()
    }

    /// Level up to the knee, and from there on each doubling costs a quarter of the level.
    fn bend(gib: f64, planted: f64) -> f64 {
        400.0 * (1.0 - 0.25 * (gib / planted).log2().max(0.0)).max(0.05)
    }

    /// A cache in front of a disk that is a tenth as fast: what the cache holds of the working set comes from it.
    fn cache(gib: f64, planted: f64) -> f64 {
        let hits = (planted / gib).min(1.0);
        1.0 / (hits / 1000.0 + (1.0 - hits) / 100.0)
    }

    /// A device that is throttled beyond a border: level, a cliff, level.
    fn cliff(gib: f64, planted: f64) -> f64 {
        if gib <= planted { 300.0 } else { 60.0 }
    }

    const SHAPES: [fn(f64, f64) -> f64; 3] = [bend, cache, cliff];

    /// Plants a knee somewhere, and says where and what was found in 8 sizes of three repeats each.
    fn planted(shape: fn(f64, f64) -> f64, seed: u64, noise: f64) -> (f64, KneeFinding) {
        let mut random = Rng::with_seed(seed);
        let planted = 2_f64.powf(1.5 + 3.0 * random.f64());
        (planted, knee(&measured(|gib| shape(gib, planted), 8, noise, &mut random)))
    }

    #[test]
    fn a_planted_knee_is_found_ten_times_out_of_ten() {
        for (number, shape) in SHAPES.into_iter().enumerate() {
            for seed in 0..10 {
                let (planted, found) = planted(shape, seed, 0.04);
                let KneeFinding::Knee(knee) = found else { panic!("shape {number}, seed {seed}: {found:?}") };
                let off = (knee.bytes as f64 / GIB / planted).log2();
                // Sizes are a doubling apart.
                assert!(off.abs() < 1.0, "shape {number}, seed {seed}, planted at {planted}: {knee:?}");
            }
        }
    }

    #[test]
    fn few_of_a_hundred_are_missed_or_out_of_their_interval() {
        for (number, shape) in SHAPES.into_iter().enumerate() {
            let is_wrong = |seed: &u64| match planted(shape, *seed, 0.03) {
                (planted, KneeFinding::Knee(knee)) => {
                    !(knee.low_bytes as f64..=knee.high_bytes as f64).contains(&(planted * GIB))
                }
                _ => true,
            };
            let wrong = (1000..1100).filter(is_wrong).count();
            assert!(wrong <= 5, "{wrong} of 100 of shape {number}");
        }
    }

    /// Flat and straight curves, more and less noisy. One in a thousand may deceive: none of ten does, and hardly one of two hundred.
    #[test]
    fn flat_and_straight_curves_have_none() {
        let is_deceived = |seed: u64, curve: &dyn Fn(f64) -> f64, noise: f64| {
            knee(&measured(curve, 7, noise, &mut Rng::with_seed(seed))) != KneeFinding::None
        };
        let flat = |_: f64| 250.0;
        let straight = |gib: f64| 250.0 - 30.0 * gib.log2();
        for curve in [&flat as &dyn Fn(f64) -> f64, &straight] {
            for noise in [0.0, 0.01, 0.05, 0.1] {
                assert!((0..10).all(|seed| !is_deceived(seed, curve, noise)), "noise {noise}");
                let deceived = (10..210).filter(|seed| is_deceived(*seed, curve, noise)).count();
                assert!(deceived <= 2, "{deceived} of 200 at noise {noise}");
            }
        }
    }

    /// Its throughput fell evenly with every doubling.
    #[test]
    fn the_finding_of_2007_is_a_straight_line() {
        let five = |noise: &[f64]| {
            let sizes = FINDING_OF_2007.map(|(gigabytes, values)| At {
                bytes: gigabytes * 1_000_000_000,
                mb_per_second: noise.iter().map(|noise| mean(values) * noise).collect(),
            });
            // A fifth size on the same line, so that a bend could be seen at all.
            let more = At {
                bytes: 1_500_000_000_000,
                mb_per_second: noise.iter().map(|noise| 7.0 * noise).collect(),
            };
            knee(&sizes.into_iter().chain([more]).collect::<Vec<_>>())
        };
        assert_eq!(five(&[0.97, 1.03, 1.0]), KneeFinding::None);
        let four = FINDING_OF_2007
            .map(|(gigabytes, values)| At { bytes: gigabytes, mb_per_second: values.to_vec() });
        assert_eq!(knee(&four), KneeFinding::TooFewSizes);
    }

    #[test]
    fn a_curve_without_noise_shows_its_knee_exactly() {
        let curve = |gib: f64| 100.0 - 20.0 * (gib / 8.0).log2().max(0.0);
        let found = knee(&measured(curve, 8, 0.0, &mut Rng::with_seed(1)));
        let KneeFinding::Knee(knee) = found else { panic!("{found:?}") };
        assert_eq!(knee.bytes, 8 << 30);
        assert!((knee.mb_per_second - 100.0).abs() < 1e-6 && knee.cost_below.abs() < 1e-6, "{knee:?}");
        assert!((knee.cost_above - 0.2).abs() < 1e-6, "{knee:?}");
    }

    #[test]
    fn what_stops_falling_has_no_knee_there() {
        let curve = |gib: f64| 100.0 + 50.0 * (16.0 / gib).log2().max(0.0);
        assert_eq!(knee(&measured(curve, 8, 0.02, &mut Rng::with_seed(1))), KneeFinding::None);
    }

    #[test]
    fn equations_are_solved_or_refused() {
        let solution = solved(vec![vec![2.0, 1.0, 5.0], vec![1.0, 3.0, 10.0]]).unwrap();
        assert!((solution[0] - 1.0).abs() < 1e-12 && (solution[1] - 3.0).abs() < 1e-12);
        assert_eq!(solved(vec![vec![1.0, 2.0, 3.0], vec![2.0, 4.0, 6.0]]), None);
    }
}
