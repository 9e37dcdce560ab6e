//! Axes of numbers: what they reach over, where a value stands on them, and where their marks are.

use drover_units::Unit;
use drover_units::show;

/// How numbers are spread over an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences are equally far.
    Linear,
    /// Equal ratios are equally far. There is no place for 0 and less.
    Log,
}

/// A mark on an axis.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tick {
    /// Where on the axis, from 0 to 1.
    pub(crate) at: f64,
    pub(crate) label: String,
    /// What stands in a second line, such as the day of a time.
    pub(crate) below: Option<String>,
    /// Whether the label is left out where there is little room.
    pub(crate) is_minor: bool,
}

/// What an axis reaches over.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Range {
    low: f64,
    high: f64,
    scale: Scale,
}

impl Range {
    /// Where a value stands, from 0 to 1; `None` where it has no place.
    pub(crate) fn place(&self, value: f64) -> Option<f64> {
        let (low, high, value) = match self.scale {
            Scale::Linear => (self.low, self.high, value),
            Scale::Log => (self.low.log10(), self.high.log10(), value.log10()),
        };
        let place = (value - low) / (high - low);
        (-1e-9..=1.0 + 1e-9).contains(&place).then(|| place.clamp(0.0, 1.0))
    }

    fn tick(&self, value: f64, label: String) -> Option<Tick> {
        Some(Tick { at: self.place(value)?, label, below: None, is_minor: false })
    }
}

/// A linear axis from 0, or from below it, that ends with a mark at or above `high`.
pub(crate) fn rounded(unit: Unit, low: f64, high: f64, most: u32) -> (Range, Vec<Tick>) {
    let (low, high) = (or_zero(low).min(0.0), or_zero(high).max(0.0));
    let high = if low < high { high } else { low + 1.0 };
    let step = step(unit, low, high, most);
    linear(unit, (low / step).floor() * step, (high / step).ceil() * step, most)
}

/// A linear axis over just these values, with at most one mark more than `most`.
pub(crate) fn linear(unit: Unit, low: f64, high: f64, most: u32) -> (Range, Vec<Tick>) {
    let (low, high) = (or_zero(low), or_zero(high));
    let range = Range { low, high: if low < high { high } else { low + 1.0 }, scale: Scale::Linear };
    let step = step(unit, range.low, range.high, most);
    let (_, factor, name) = unit.multiple(range.high.max(-range.low));
    let first = (range.low / step - 1e-9).ceil();
    let mut ticks: Vec<Tick> = (0..=most)
        .map(|index| (first + f64::from(index)) * step)
        .filter_map(|value| range.tick(value, label(value / factor, decimals(step / factor), name)))
        .collect();
    // Where numbers have no more digits, several would be called the same.
    ticks.dedup_by(|one, other| one.at <= other.at || one.label == other.label);
    (range, ticks)
}

/// These marks, every second one's label as one to leave out where there is little room, if all would be too long for that.
pub(crate) fn spaced(mut ticks: Vec<Tick>) -> Vec<Tick> {
    /// What a chart on a small screen has room for, and how many of them are between two labels.
    const ROOM: usize = 44;
    const BETWEEN: usize = 2;
    let length: usize = ticks.iter().map(|tick| tick.label.chars().count() + BETWEEN).sum();
    if length > ROOM && !ticks.iter().any(|tick| tick.is_minor) {
        ticks.iter_mut().skip(1).step_by(2).for_each(|tick| tick.is_minor = true);
    }
    ticks
}

/// An axis of ratios that begins and ends at 1, 2 or 5 times a power of ten. What is not above 0 has no place on it.
pub(crate) fn logarithmic(unit: Unit, low: f64, high: f64, most: u32) -> (Range, Vec<Tick>) {
    /// Nothing that is measured is smaller or larger.
    const EXPONENTS: std::ops::RangeInclusive<i32> = -12..=18;
    let all: Vec<(i32, f64)> = EXPONENTS
        .flat_map(|exponent| [1.0, 2.0, 5.0].map(|digit| (exponent, digit * 10_f64.powi(exponent))))
        .collect();
    let from = all.partition_point(|(_, value)| *value <= or_zero(low)).saturating_sub(1).min(all.len() - 2);
    let to = all.partition_point(|(_, value)| *value < or_zero(high)).clamp(from + 1, all.len() - 1);
    let range = Range { low: all[from].1, high: all[to].1, scale: Scale::Log };
    let marks = thinned(&all[from..=to], most as usize);
    let label = |value: f64| {
        // Minutes and hours are no powers of ten.
        let (_, factor, name) = unit.multiple(if unit == Unit::Seconds { value.min(1.0) } else { value });
        label(value / factor, decimals(value / factor), name)
    };
    let mark = |&(value, is_minor): &(f64, bool)| Some(Tick { is_minor, ..range.tick(value, label(value))? });
    (range, marks.iter().filter_map(mark).collect())
}

/// All of these, the powers of ten being the major ones, or only these, or some of these: at most so many.
fn thinned(all: &[(i32, f64)], most: usize) -> Vec<(f64, bool)> {
    let is_minor = |(exponent, value): &(i32, f64)| *value != 10_f64.powi(*exponent);
    let marks: Vec<_> = all.iter().map(|mark| (mark.1, is_minor(mark))).collect();
    if marks.len() <= most {
        return marks;
    }
    let powers: Vec<_> = marks.into_iter().filter(|(_, is_minor)| !is_minor).collect();
    let every = powers.len().div_ceil(most.max(1)).max(1);
    powers.into_iter().step_by(every).collect()
}

/// How far marks are apart: 1, 2 or 5 times a power of ten, in the unit that the numbers are written in.
fn step(unit: Unit, low: f64, high: f64, most: u32) -> f64 {
    let (_, factor, _) = unit.multiple(high.max(-low));
    let rough = (high - low) / factor / f64::from(most.max(1));
    let power = 10_f64.powf(rough.log10().floor());
    let nice =
        [1.0, 2.0, 5.0, 10.0].map(|digit| digit * power).into_iter().find(|step| *step >= rough * 0.999_999);
    let step = nice.filter(|step| step.is_normal()).unwrap_or(1.0) * factor;
    if unit.is_whole() { step.max(1.0) } else { step }
}

/// As many as multiples of a step need.
fn decimals(step: f64) -> usize {
    // Steps are not exactly powers of ten.
    (-(step * 1.000_001).log10().floor()).clamp(0.0, 15.0) as usize
}

fn label(number: f64, decimals: usize, name: &str) -> String {
    match number {
        0.0 => "0".into(),
        number if decimals == 0 && number > 0.0 => format!("{}{name}", show::count(number.round() as u64)),
        number => format!("{number:.decimals$}{name}"),
    }
}

fn or_zero(value: f64) -> f64 {
    if value.is_finite() { value } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn long_labels_are_left_out_by_turns_where_there_is_little_room() {
        let minor = |low, high| {
            let (_, ticks) = linear(Unit::Count, low, high, 8);
            spaced(ticks).iter().map(|tick| tick.is_minor).collect::<Vec<_>>()
        };
        assert_eq!(minor(0.0, 8.0), [false; 9]);
        assert_eq!(minor(60_000.0, 130_000.0), [false, true, false, true, false, true, false, true]);
    }

    fn labels((_, ticks): (Range, Vec<Tick>)) -> Vec<String> {
        ticks.into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn marks_are_where_a_person_would_put_them() {
        assert_eq!(
            labels(rounded(Unit::Bytes, 0.0, 873e6, 5)),
            ["0", "0.2 GB", "0.4 GB", "0.6 GB", "0.8 GB", "1.0 GB"]
        );
        assert_eq!(labels(rounded(Unit::Count, 0.0, 3.0, 5)), ["0", "1", "2", "3"]);
        assert_eq!(labels(rounded(Unit::Count, 0.0, 0.0, 5)), ["0", "1"]);
        assert_eq!(labels(rounded(Unit::Bytes, 0.0, 1.1e9, 4)), ["0", "0.5 GB", "1.0 GB", "1.5 GB"]);
        assert_eq!(labels(rounded(Unit::Seconds, 0.0, 0.42, 4)), ["0", "200 ms", "400 ms", "600 ms"]);
        assert_eq!(
            labels(rounded(Unit::Seconds, 0.0, 1000.0, 4)),
            ["0", "5 min", "10 min", "15 min", "20 min"]
        );
        assert_eq!(
            labels(rounded(Unit::PerSecond, 0.0, 12_345.0, 4)),
            ["0", "5,000/s", "10,000/s", "15,000/s"]
        );
        assert_eq!(labels(rounded(Unit::Share, 0.0, 0.5, 5)), ["0", "10 %", "20 %", "30 %", "40 %", "50 %"]);
        assert_eq!(labels(linear(Unit::Count, 8.0, 64.0, 6)), ["10", "20", "30", "40", "50", "60"]);
        assert_eq!(labels(logarithmic(Unit::Count, 1.0, 32.0, 8)), ["1", "2", "5", "10", "20", "50"]);
        assert_eq!(
            labels(logarithmic(Unit::Seconds, 1e-4, 90.0, 8)),
            ["100 µs", "1 ms", "10 ms", "100 ms", "1 s", "10 s", "100 s"]
        );
        assert_eq!(labels(logarithmic(Unit::Bytes, 0.0, f64::NAN, 8)).len(), 2);
    }

    #[test]
    fn what_has_no_place_is_left_out() {
        let (range, _) = logarithmic(Unit::Count, 1.0, 100.0, 8);
        assert_eq!(
            [range.place(1.0), range.place(10.0), range.place(100.0)],
            [Some(0.0), Some(0.5), Some(1.0)]
        );
        assert_eq!([range.place(0.0), range.place(-1.0), range.place(f64::NAN), range.place(1e9)], [None; 4]);
    }

    fn units() -> impl Strategy<Value = Unit> {
        prop::sample::select(vec![
            Unit::Bytes,
            Unit::Count,
            Unit::Seconds,
            Unit::BytesPerSecond,
            Unit::PerSecond,
            Unit::Share,
        ])
    }

    fn check(range: Range, ticks: &[Tick], most: u32) -> Result<(), TestCaseError> {
        prop_assert!(range.low < range.high || range.low.abs() > 1e15);
        prop_assert!(ticks.len() <= most as usize + 1, "{ticks:?}");
        prop_assert!(ticks.iter().all(|tick| (0.0..=1.0).contains(&tick.at)), "{ticks:?}");
        prop_assert!(
            ticks.is_sorted_by(|one, other| one.at < other.at && one.label != other.label),
            "{ticks:?}"
        );
        Ok(())
    }

    proptest! {
        #[test]
        fn marks_are_on_the_axis_and_grow(unit in units(), low in -6.0..12.0_f64, length in -3.0..12.0_f64, most in 2..12_u32) {
            let (low, high) = (10_f64.powf(low), 10_f64.powf(low) + 10_f64.powf(length));
            let (range, ticks) = linear(unit, low, high, most);
            check(range, &ticks, most)?;
            prop_assert_eq!([range.place(low), range.place(high)], [Some(0.0), Some(1.0)]);
            let (range, ticks) = rounded(unit, 0.0, high, most);
            check(range, &ticks, most + 1)?;
            prop_assert!(ticks.len() >= 2 && range.place(high).is_some(), "{ticks:?}");
            let (range, ticks) = logarithmic(unit, low, high, most);
            check(range, &ticks, most)?;
            prop_assert!(range.place(low).is_some() && range.place(high).is_some());
        }

        #[test]
        fn no_number_is_too_odd(unit in units(), low in any::<f64>(), high in any::<f64>(), most in 0..12_u32) {
            for (_, ticks) in [linear(unit, low, high, most), rounded(unit, low, high, most), logarithmic(unit, low, high, most)] {
                prop_assert!(ticks.iter().all(|tick| (0.0..=1.0).contains(&tick.at)));
            }
        }
    }
}
