//! Amounts as people write them.

use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

/// A number of bytes, such as `20M`; from 1k to 1T.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size(pub u64);

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_within = |count: &u64| (1 << 10..=1 << 40).contains(count);
        let count = Some(bytes(text)?).filter(is_within);
        count.map(Self).ok_or_else(|| "write a size from 1k to 1T, such as 128M".into())
    }
}

/// So many bytes a second, such as `20M` or `20M/s`; from 1k to 1T.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate(pub u64);

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let size = text.strip_suffix("/s").unwrap_or(text).parse::<Size>();
        size.map(|Size(count)| Self(count))
            .map_err(|_| "write bytes a second from 1k to 1T, such as 20M or 20M/s".into())
    }
}

/// So many of something a second, such as `100`, `0.5` or `100/s`; more than none.
///
/// # Errors
/// What to write instead.
pub fn per_second(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix("/s").unwrap_or(text).parse().ok();
    let number = number.filter(|number: &f64| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| "write how many a second, such as 100 or 0.5".into())
}

/// A length of time, such as `500ms`, `2s` or `2m`; from 1 ms to a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Time(pub Duration);

impl FromStr for Time {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const LIMITS: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(86_400);
        let time = Some(duration(text)?).filter(|time| LIMITS.contains(time));
        time.map(Self).ok_or_else(|| "write a time from 1ms to 1d, such as 500ms, 2s or 2m".into())
    }
}

/// Reads a number of seconds between two limits, such as `10`, `10s` or `2m`, for what servers take in whole seconds.
pub fn whole_seconds(
    limits: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<u64, String> + Clone + Send + Sync {
    move |text| {
        let time = duration(text)?;
        let seconds =
            Some(time.as_secs()).filter(|seconds| time.subsec_nanos() == 0 && limits.contains(seconds));
        let (least, most) = (limits.start(), limits.end());
        seconds.ok_or_else(|| {
            format!("write a time of whole seconds from {least}s to {most}s, such as 10s or 2m")
        })
    }
}

/// 2^53: up to there an f64 holds whole numbers exactly.
const MOST_BYTES: f64 = 9_007_199_254_740_992.0;

/// A time such as 1.5s, 200ms, 10m, 2h or 7d; a number without a unit is one of seconds.
///
/// # Errors
/// What to write instead.
pub fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || "write a time such as 200ms, 30s, 10m, 2h or 7d".to_owned();
    let (number, unit) = number_and_unit(text);
    let seconds = match unit {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => return Err(wrong()),
    };
    let number: f64 = number.parse().map_err(|_| wrong())?;
    Duration::try_from_secs_f64(number * seconds)
        .ok()
        .filter(|time| time.as_secs() < 1 << 32)
        .ok_or_else(wrong)
}

/// A number of bytes such as 16k, 1.5G or 22MB. As in coreutils, k, M, G and T (and KiB and so on) are powers of 1024, and kB, MB, GB
/// and TB are powers of 1000; a number without a unit is one of bytes.
///
/// # Errors
/// What to write instead.
pub fn bytes(text: &str) -> Result<u64, String> {
    let wrong =
        || "write a size such as 16k, 512M or 1G (powers of 1024), or 22MB (powers of 1000)".to_owned();
    let (number, unit) = number_and_unit(text);
    let power = power(unit.strip_prefix('B').unwrap_or(unit)).ok_or_else(wrong)?;
    let base = match (power, unit.get(1..).unwrap_or_default()) {
        (0, "") | (_, "" | "i" | "iB") => 1024.0_f64,
        (1.., "B") => 1000.0,
        _ => return Err(wrong()),
    };
    let number: f64 = number.parse().map_err(|_| wrong())?;
    let bytes = number * base.powi(power);
    if (0.0..=MOST_BYTES).contains(&bytes) { Ok(bytes.round() as u64) } else { Err(wrong()) }
}

/// How the units of a rate end, and how many of them are a byte.
const RATE_UNITS: [(&str, f64); 5] = [("bit/s", 8.0), ("bit", 8.0), ("bps", 8.0), ("B/s", 1.0), ("B", 1.0)];

/// A rate of a network such as 10Mbit, 1Gbit/s, 100Mbps or 2MB/s, in bytes a second, of which it is at least one. k, M, G and T are
/// powers of 1000, Ki, Mi, Gi and Ti of 1024. What does not say whether it means bits or bytes is refused: 10, 10M, 10Mb.
///
/// # Errors
/// What to write instead.
pub fn bit_rate(text: &str) -> Result<u64, String> {
    let wrong = || "write a rate such as 10Mbit or 1Gbit/s (bits), or 2MB/s (bytes)".to_owned();
    let (number, unit) = number_and_unit(text);
    let of_unit = |&(end, count): &(&str, f64)| Some((unit.strip_suffix(end)?, count));
    let (prefix, units_of_byte) = RATE_UNITS.iter().find_map(of_unit).ok_or_else(wrong)?;
    let power = power(prefix).ok_or_else(wrong)?;
    let base = match prefix.get(1..).unwrap_or_default() {
        "" => 1000.0_f64,
        "i" => 1024.0,
        _ => return Err(wrong()),
    };
    let number: f64 = number.parse().map_err(|_| wrong())?;
    let bytes = number * base.powi(power) / units_of_byte;
    if (1.0..=MOST_BYTES).contains(&bytes) { Ok(bytes.round() as u64) } else { Err(wrong()) }
}

/// The power of 1000 or 1024 that a unit's first letter stands for.
fn power(unit: &str) -> Option<i32> {
    match unit.bytes().next() {
        None => Some(0),
        Some(b'k' | b'K') => Some(1),
        Some(b'm' | b'M') => Some(2),
        Some(b'g' | b'G') => Some(3),
        Some(b't' | b'T') => Some(4),
        Some(_) => None,
    }
}

fn number_and_unit(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn within_limits() {
        assert_eq!(
            ["128M", "2048", "1.5k"].map(str::parse),
            [Ok(Size(128 << 20)), Ok(Size(2048)), Ok(Size(1536))]
        );
        for wrong in ["", "M", "1023", "5T", "99999999999G", "-1M"] {
            assert!(wrong.parse::<Size>().is_err(), "{wrong}");
        }
        let time = |text: &str| text.parse::<Time>().map(|time| time.0.as_millis());
        assert_eq!(["2s", "2", "1.5s", "500ms", "2m"].map(time), [2000, 2000, 1500, 500, 120_000].map(Ok));
        for wrong in ["", "s", "0", "-1s", "2d", "nan", "inf", "1e9", "0.1ms"] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
        assert_eq!(
            ["20M", "20M/s", "1k/s"].map(str::parse),
            [Ok(Rate(20 << 20)), Ok(Rate(20 << 20)), Ok(Rate(1024))]
        );
        assert!(["", "/s", "20M/h", "1/s"].iter().all(|wrong| wrong.parse::<Rate>().is_err()));
        assert_eq!(["100", "0.5/s"].map(per_second), [Ok(100.0), Ok(0.5)]);
        assert!(["", "0", "-1", "nan", "inf", "1/h"].iter().all(|wrong| per_second(wrong).is_err()));
        let seconds = whole_seconds(1..=3600);
        assert_eq!(["10", "10s", "2m", "1h"].map(&seconds), [10, 10, 120, 3600].map(Ok));
        for wrong in ["", "0", "500ms", "1.5s", "61m", "-1"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times() {
        for (text, millis) in [
            ("200ms", 200),
            ("30s", 30_000),
            ("1.5s", 1500),
            ("10m", 600_000),
            ("2h", 7_200_000),
            ("7", 7000),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "s", "-1s", "1 week", "1e99d", "NaN"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes() {
        for (text, count) in [
            ("0", 0),
            ("512", 512),
            ("16k", 16 << 10),
            ("16KiB", 16 << 10),
            ("1.5G", 3 << 29),
            ("22MB", 22_000_000),
            ("4kB", 4000),
            ("2T", 2 << 40),
        ] {
            assert_eq!(bytes(text), Ok(count), "{text}");
        }
        for text in ["", "k", "-1k", "1 k", "16q", "1e99", "1kBB", "NaN", "9999999T", "1iB", "3é"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn rates() {
        for (text, count) in [
            ("10Mbit", 1_250_000),
            ("20Mbit/s", 2_500_000),
            ("100mbps", 12_500_000),
            ("2MB/s", 2_000_000),
            ("1Gbit", 125_000_000),
            ("56kbit", 7000),
            ("1.5MiB/s", 3 << 19),
            ("8bit", 1),
            ("300B", 300),
        ] {
            assert_eq!(bit_rate(text), Ok(count), "{text}");
        }
        for text in [
            "", "10", "10M", "10Mb", "10Mb/s", "Mbit", "0Mbit", "-1Mbit", "7bit", "1ibit", "9e9Tbit",
            "1 Mbit", "NaNbit",
        ] {
            assert!(bit_rate(text).is_err(), "{text}");
        }
    }
}
