//! Amounts as people write them.

use std::time::Duration;

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
