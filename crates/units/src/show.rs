//! Numbers as a person reads them.

use std::time::Duration;

/// Bytes in powers of 1000, with three digits: `1.23 MB`.
pub fn bytes(count: u64) -> String {
    let mut value = count as f64;
    for unit in ["B", "kB", "MB", "GB", "TB"] {
        if value < 999.5 {
            let digits = if unit == "B" { 0 } else { decimals(value) };
            return format!("{value:.digits$} {unit}");
        }
        value /= 1000.0;
    }
    format!("{value:.0} PB")
}

/// How many decimals a number below 1000 has that is shown with three digits.
fn decimals(value: f64) -> usize {
    if value >= 99.95 {
        0
    } else if value >= 9.995 {
        1
    } else {
        2
    }
}

/// A number with a comma before each three digits.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number of things: `1 table`, `2,000 tables`.
pub fn things(number: u64, thing: &str) -> String {
    format!("{} {thing}{}", count(number), if number == 1 { "" } else { "s" })
}

/// A length of time: `0.42 s`, `12.3 s`, `4 min 05 s`, `2 h 03 min`.
pub fn seconds(seconds: f64) -> String {
    match seconds {
        s if s < 10.0 => format!("{s:.2} s"),
        s if s < 60.0 => format!("{s:.1} s"),
        s if s < 3600.0 => format!("{} min {:02} s", s as u64 / 60, s as u64 % 60),
        s => format!("{} h {:02} min", s as u64 / 3600, s as u64 % 3600 / 60),
    }
}

/// A length of time as somebody has set it, with no more digits than it takes: `500 ms`, `2 s`, `90 s`.
pub fn limit(seconds: f64) -> String {
    if seconds < 1.0 { format!("{} ms", seconds * 1e3) } else { format!("{seconds} s") }
}

/// A length of time as it stands after "each": `second`, `5 min`, `day`.
pub fn span(seconds: u64) -> String {
    const UNITS: [(u64, &str, &str); 4] =
        [(86_400, "day", "days"), (3600, "hour", "h"), (60, "minute", "min"), (1, "second", "s")];
    let fits = |(unit, ..): &(u64, &str, &str)| seconds > 0 && seconds.is_multiple_of(*unit);
    let (unit, one, several) = UNITS.into_iter().find(fits).unwrap_or(UNITS[3]);
    if seconds == unit { one.to_owned() } else { format!("{} {several}", count(seconds / unit)) }
}

/// A length of time, as [`seconds`].
pub fn duration(duration: Duration) -> String {
    seconds(duration.as_secs_f64())
}

/// Bytes a second.
pub fn rate(count: u64, seconds: f64) -> String {
    format!("{}/s", bytes((count as f64 / seconds.max(0.001)) as u64))
}

/// Bytes a second as people say a network's rate, in bits and with at most three digits: `20 Mbit/s`, `1.5 Gbit/s`.
pub fn bit_rate(bytes: u64) -> String {
    let mut value = bytes as f64 * 8.0;
    let mut unit = "bit/s";
    for larger in ["kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"] {
        if value < 999.5 {
            break;
        }
        (value, unit) = (value / 1000.0, larger);
    }
    let number = format!("{value:.*}", decimals(value));
    let number =
        if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { &number };
    format!("{number} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_for_people() {
        assert_eq!(
            [bytes(0), bytes(999), bytes(1234), bytes(99_960), bytes(999_600)],
            ["0 B", "999 B", "1.23 kB", "100 kB", "1.00 MB"]
        );
        assert_eq!([count(0), count(999), count(1_234_567)], ["0", "999", "1,234,567"]);
        assert_eq!(
            [seconds(0.419), seconds(12.34), seconds(245.0), seconds(7380.0)],
            ["0.42 s", "12.3 s", "4 min 05 s", "2 h 03 min"]
        );
        assert_eq!(rate(1000, 0.5), "2.00 kB/s");
        assert_eq!([limit(0.5), limit(2.0), limit(2.5), limit(90.0)], ["500 ms", "2 s", "2.5 s", "90 s"]);
    }

    #[test]
    fn rates_of_networks() {
        assert_eq!(
            [1, 7000, 2_500_000, 187_500_000, 131_072, 25_000_000].map(bit_rate),
            ["8 bit/s", "56 kbit/s", "20 Mbit/s", "1.5 Gbit/s", "1.05 Mbit/s", "200 Mbit/s"]
        );
    }

    #[test]
    fn spans_of_time() {
        assert_eq!([1, 5, 60, 300].map(span), ["second", "5 s", "minute", "5 min"]);
        assert_eq!(
            [0, 90, 3600, 21_600, 86_400, 604_800].map(span),
            ["0 s", "90 s", "hour", "6 h", "day", "7 days"]
        );
    }

    #[test]
    fn one_thing_and_more() {
        assert_eq!([1, 0, 2000].map(|number| things(number, "row")), ["1 row", "0 rows", "2,000 rows"]);
    }
}
