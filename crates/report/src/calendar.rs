//! Axes of time: marks at whole minutes, hours, days, months, years.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::Offset;

use crate::axis::Tick;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const MONTH: i64 = 30 * DAY;
/// 1970 began on a Thursday: the first Monday is this much later.
const FIRST_MONDAY: i64 = 4 * DAY;

/// How far marks are apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// So many seconds, counted from this second.
    Seconds(i64, i64),
    Months(i64),
}

/// Steps that a person reads easily.
const STEPS: [Step; 29] = [
    Step::Seconds(1, 0),
    Step::Seconds(2, 0),
    Step::Seconds(5, 0),
    Step::Seconds(10, 0),
    Step::Seconds(15, 0),
    Step::Seconds(30, 0),
    Step::Seconds(MINUTE, 0),
    Step::Seconds(2 * MINUTE, 0),
    Step::Seconds(5 * MINUTE, 0),
    Step::Seconds(10 * MINUTE, 0),
    Step::Seconds(15 * MINUTE, 0),
    Step::Seconds(30 * MINUTE, 0),
    Step::Seconds(HOUR, 0),
    Step::Seconds(2 * HOUR, 0),
    Step::Seconds(3 * HOUR, 0),
    Step::Seconds(6 * HOUR, 0),
    Step::Seconds(12 * HOUR, 0),
    Step::Seconds(DAY, 0),
    Step::Seconds(2 * DAY, 0),
    Step::Seconds(7 * DAY, FIRST_MONDAY),
    Step::Months(1),
    Step::Months(2),
    Step::Months(3),
    Step::Months(6),
    Step::Months(12),
    Step::Months(24),
    Step::Months(60),
    Step::Months(120),
    Step::Months(240),
];

/// A time in seconds since 1970 on the clock of the page, as `2026-11-22 03:15:00`; nothing where the calendar has none.
pub(crate) fn moment(seconds: i64) -> String {
    civil(seconds).map_or_else(String::new, |time| time.strftime("%Y-%m-%d %H:%M:%S").to_string())
}

/// Marks between two times in seconds since 1970 on the clock of the page; about `most` at most.
pub(crate) fn ticks(start: i64, end: i64, most: u32) -> Vec<Tick> {
    let length = end.saturating_sub(start);
    let fits = |step: &&Step| length / step.seconds() <= i64::from(most);
    let Some(step) = STEPS.iter().find(fits).filter(|_| length > 0) else { return Vec::new() };
    let mut day = String::new();
    let mut ticks = Vec::new();
    for (number, seconds) in step.marks(start, end) {
        let Some(time) = civil(seconds) else { continue };
        let (label, below) = step.labels(time);
        let below = (below != day).then(|| below.clone()).inspect(|below| day.clone_from(below));
        let at = (seconds - start) as f64 / length as f64;
        ticks.push(Tick {
            at,
            label,
            below: below.filter(|below| !below.is_empty()),
            is_minor: number % 2 != 0,
        });
    }
    ticks
}

impl Step {
    /// How long it is, or nearly.
    fn seconds(self) -> i64 {
        match self {
            Self::Seconds(seconds, _) => seconds,
            Self::Months(months) => months * MONTH,
        }
    }

    /// The marks between two times: their number, counted from a fixed one, and when they are.
    fn marks(self, start: i64, end: i64) -> Vec<(i64, i64)> {
        let (first, last) = (self.number(start), self.number(end));
        let (Some(first), Some(last)) = (first, last) else { return Vec::new() };
        let marks = (first..=last).filter_map(|number| Some((number, self.second(number)?)));
        marks.filter(|(_, second)| (start..=end).contains(second)).collect()
    }

    /// The number of the last mark before a time, or at it.
    fn number(self, seconds: i64) -> Option<i64> {
        match self {
            Self::Seconds(step, from) => Some(seconds.checked_sub(from)?.div_euclid(step)),
            Self::Months(months) => {
                let date = civil(seconds)?.date();
                Some((i64::from(date.year()) * 12 + i64::from(date.month()) - 1).div_euclid(months))
            }
        }
    }

    /// When a mark is.
    fn second(self, number: i64) -> Option<i64> {
        match self {
            Self::Seconds(step, from) => number.checked_mul(step)?.checked_add(from),
            Self::Months(months) => {
                let month = number * months;
                let year = i16::try_from(month.div_euclid(12)).ok()?;
                let month = i8::try_from(month.rem_euclid(12) + 1).ok()?;
                let first = Date::new(year, month, 1).ok()?.at(0, 0, 0, 0);
                Some(Offset::UTC.to_timestamp(first).ok()?.as_second())
            }
        }
    }

    /// What stands at a mark, and what below it where that changes.
    fn labels(self, time: DateTime) -> (String, String) {
        let (label, below) = match self {
            Self::Seconds(step, _) if step < MINUTE => ("%H:%M:%S", "%-d %b"),
            Self::Seconds(step, _) if step < DAY => ("%H:%M", "%-d %b"),
            Self::Seconds(..) => ("%-d %b", "%Y"),
            Self::Months(months) if months < 12 => ("%b", "%Y"),
            Self::Months(_) => ("%Y", ""),
        };
        (time.strftime(label).to_string(), time.strftime(below).to_string())
    }
}

fn civil(seconds: i64) -> Option<DateTime> {
    Some(Offset::UTC.to_datetime(Timestamp::from_second(seconds).ok()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// 2026-11-22 23:15:00.
    const START: i64 = 1_795_389_300;

    fn shown(length: i64) -> Vec<String> {
        let text =
            |tick: Tick| tick.label + &tick.below.map_or_else(String::new, |below| format!(" / {below}"));
        ticks(START, START + length, 6).into_iter().map(text).collect()
    }

    #[test]
    fn marks_are_at_whole_times() {
        assert_eq!(moment(START), "2026-11-22 23:15:00");
        assert_eq!(moment(i64::MAX), "");
        assert_eq!(
            shown(10),
            ["23:15:00 / 22 Nov", "23:15:02", "23:15:04", "23:15:06", "23:15:08", "23:15:10"]
        );
        assert_eq!(shown(2 * HOUR), ["23:30 / 22 Nov", "00:00 / 23 Nov", "00:30", "01:00"]);
        assert_eq!(shown(20 * DAY), ["23 Nov / 2026", "30 Nov", "7 Dec"]);
        assert_eq!(shown(100 * DAY), ["Dec / 2026", "Jan / 2027", "Feb", "Mar"]);
        assert_eq!(shown(4000 * DAY), ["2028", "2030", "2032", "2034", "2036"]);
        assert!(shown(0).is_empty() && shown(-5).is_empty());
    }

    proptest! {
        #[test]
        fn marks_are_on_the_axis_and_grow(start in any::<u32>(), length in 0..33_u32, most in 1..12_u32, offset in -50_000..50_000_i64) {
            let start = i64::from(start) + offset;
            let ticks = ticks(start, start + (1 << length), most);
            prop_assert!(ticks.len() <= most as usize + 3, "{ticks:?}");
            prop_assert!(ticks.iter().all(|tick| (0.0..=1.0).contains(&tick.at)), "{ticks:?}");
            prop_assert!(ticks.is_sorted_by(|one, other| one.at < other.at && one.is_minor != other.is_minor), "{ticks:?}");
        }

        #[test]
        fn no_time_is_too_odd(start in any::<i64>(), end in any::<i64>()) {
            prop_assert!(ticks(start, end, 8).len() <= 11);
        }
    }
}
