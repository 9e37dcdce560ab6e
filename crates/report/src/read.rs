//! Amounts as people write them.

use std::time::Duration;

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
    let power = match unit.bytes().next() {
        None | Some(b'B') => 0,
        Some(b'k' | b'K') => 1,
        Some(b'm' | b'M') => 2,
        Some(b'g' | b'G') => 3,
        Some(b't' | b'T') => 4,
        Some(_) => return Err(wrong()),
    };
    let base = match (power, unit.get(1..).unwrap_or_default()) {
        (0, "") | (_, "" | "i" | "iB") => 1024.0_f64,
        (1.., "B") => 1000.0,
        _ => return Err(wrong()),
    };
    let number: f64 = number.parse().map_err(|_| wrong())?;
    let bytes = number * base.powi(power);
    // What an f64 holds exactly.
    if (0.0..=9_007_199_254_740_992.0).contains(&bytes) { Ok(bytes.round() as u64) } else { Err(wrong()) }
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
}
