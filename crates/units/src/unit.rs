//! What numbers are of.

use crate::show;

/// What a number is of, which says how it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Bytes, in powers of 1000.
    Bytes,
    /// A number of things.
    Count,
    /// A length of time, in seconds.
    Seconds,
    /// Bytes a second.
    BytesPerSecond,
    /// Things a second.
    PerSecond,
    /// A part of a whole, from 0 to 1, in percent.
    Share,
}

/// A larger or smaller unit: from where on numbers are written in it, how many of the smallest it is, what it is called.
pub type Multiple = (f64, f64, &'static str);

const BYTES: &[Multiple] = &[
    (0.0, 1.0, " B"),
    (1e3, 1e3, " kB"),
    (1e6, 1e6, " MB"),
    (1e9, 1e9, " GB"),
    (1e12, 1e12, " TB"),
    (1e15, 1e15, " PB"),
];
const BYTES_PER_SECOND: &[Multiple] = &[
    (0.0, 1.0, " B/s"),
    (1e3, 1e3, " kB/s"),
    (1e6, 1e6, " MB/s"),
    (1e9, 1e9, " GB/s"),
    (1e12, 1e12, " TB/s"),
];
const COUNT: &[Multiple] = &[(0.0, 1.0, ""), (1e6, 1e6, " M")];
const PER_SECOND: &[Multiple] = &[(0.0, 1.0, "/s"), (1e6, 1e6, " M/s")];
const SECONDS: &[Multiple] = &[
    (0.0, 1e-9, " ns"),
    (1e-6, 1e-6, " µs"),
    (1e-3, 1e-3, " ms"),
    (1.0, 1.0, " s"),
    (120.0, 60.0, " min"),
    (7200.0, 3600.0, " h"),
];
const SHARE: &[Multiple] = &[(0.0, 1e-2, " %")];

impl Unit {
    /// A number, with three digits or so; nothing for what is none.
    pub fn text(self, value: f64) -> String {
        if !value.is_finite() {
            return String::new();
        }
        match self {
            Self::Bytes => show::bytes(value as u64),
            Self::BytesPerSecond => format!("{}/s", show::bytes(value as u64)),
            Self::Count if value.fract() == 0.0 && value >= 0.0 => show::count(value as u64),
            Self::Seconds if value.fract() == 0.0 && (0.0..60.0).contains(&value) => format!("{value} s"),
            Self::Seconds if value >= 1.0 => show::seconds(value),
            Self::PerSecond if value >= 1000.0 => format!("{}/s", show::count(value as u64)),
            Self::Share => share(value),
            Self::Seconds | Self::Count | Self::PerSecond => {
                let (_, factor, name) = self.multiple(value);
                format!("{}{name}", three_digits(value / factor))
            }
        }
    }

    /// The unit in which numbers up to this one are written.
    pub fn multiple(self, high: f64) -> Multiple {
        let multiples = match self {
            Self::Bytes => BYTES,
            Self::BytesPerSecond => BYTES_PER_SECOND,
            Self::Count => COUNT,
            Self::PerSecond => PER_SECOND,
            Self::Seconds => SECONDS,
            Self::Share => SHARE,
        };
        let fitting = multiples.iter().rfind(|(from, _, _)| *from <= high);
        *fitting.unwrap_or(&multiples[0])
    }

    /// The unit of so much in a second.
    pub fn per_second(self) -> Option<Self> {
        match self {
            Self::Bytes => Some(Self::BytesPerSecond),
            Self::Count => Some(Self::PerSecond),
            Self::Seconds | Self::BytesPerSecond | Self::PerSecond | Self::Share => None,
        }
    }

    /// Whether there is nothing between two whole numbers.
    pub fn is_whole(self) -> bool {
        matches!(self, Self::Bytes | Self::Count)
    }
}

/// What is not nothing is not written as nothing.
fn share(value: f64) -> String {
    match value * 100.0 {
        percent if percent > 0.0 && percent < 0.05 => "< 0.1 %".into(),
        percent => format!("{percent:.1} %"),
    }
}

fn three_digits(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        size if size >= 99.95 => format!("{value:.0}"),
        size if size >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_all_units() {
        for (unit, value, text) in [
            (Unit::Bytes, 1_234_567.0, "1.23 MB"),
            (Unit::BytesPerSecond, 999.0, "999 B/s"),
            (Unit::Count, 1_234_567.0, "1,234,567"),
            (Unit::Count, 2.5, "2.50"),
            (Unit::PerSecond, 0.125, "0.12/s"),
            (Unit::PerSecond, 12_345.6, "12,345/s"),
            (Unit::Seconds, 0.000_42, "420 µs"),
            (Unit::Seconds, 21.3e-9, "21.3 ns"),
            (Unit::Seconds, 0.042, "42.0 ms"),
            (Unit::Seconds, 0.0, "0 s"),
            (Unit::Seconds, 3.0, "3 s"),
            (Unit::Seconds, 3.25, "3.25 s"),
            (Unit::Seconds, 245.0, "4 min 05 s"),
            (Unit::Share, 0.4321, "43.2 %"),
            (Unit::Share, 0.0, "0.0 %"),
            (Unit::Share, 0.000_01, "< 0.1 %"),
            (Unit::Count, f64::NAN, ""),
            (Unit::Bytes, f64::INFINITY, ""),
        ] {
            assert_eq!(unit.text(value), text, "{unit:?}");
        }
    }

    #[test]
    fn an_axis_has_one_unit() {
        assert_eq!(Unit::Bytes.multiple(999.0).2, " B");
        assert_eq!(Unit::Bytes.multiple(250e6).2, " MB");
        assert_eq!(Unit::Seconds.multiple(0.25).2, " ms");
        assert_eq!(Unit::Seconds.multiple(90.0).2, " s");
        assert_eq!(Unit::Seconds.multiple(600.0).2, " min");
        assert_eq!(Unit::Count.multiple(f64::NAN).2, "");
    }
}
