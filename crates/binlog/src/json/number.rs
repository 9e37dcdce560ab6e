//! Numbers, as the server writes them.

use serde::Serialize;

/// Appends a whole number.
pub(super) fn write_int(number: i64, out: &mut Vec<u8>) {
    write_json(number, out);
}

/// Appends a whole number without a sign.
pub(super) fn write_uint(number: u64, out: &mut Vec<u8>) {
    write_json(number, out);
}

/// What serde_json writes of a number: of a double the fewest digits that tell it from all others, as the server does.
fn write_json(number: impl Serialize, out: &mut Vec<u8>) {
    let written = serde_json::to_writer(out, &number);
    debug_assert!(written.is_ok(), "a vector takes all that is written");
}

/// From here on the server writes whole numbers with an exponent. Source: MySQL `strings/dtoa.cc`, `MAX_DECPT_FOR_F_FORMAT`.
const LARGE: f64 = 1e15;

/// Appends a finite double. It has a point or an exponent, always, so that it is not taken for a whole number.
pub(super) fn write_double(number: f64, out: &mut Vec<u8>) {
    let start = out.len();
    write_json(number, out);
    let has_exponent = out[start..].contains(&b'e');
    if has_exponent || number.abs() >= LARGE {
        let digits = Digits::of(&out[start..]);
        out.truncate(start);
        digits.write(out);
    }
}

/// Appends a double as an SQL literal: with an exponent, without which it would be a decimal.
pub(super) fn write_sql_double(number: f64, out: &mut Vec<u8>) {
    let start = out.len();
    write_double(number, out);
    if !out[start..].contains(&b'e') {
        out.extend_from_slice(b"e0");
    }
}

/// The digits of a double other than zero.
struct Digits {
    is_negative: bool,
    /// The first of them is not 0, nor is the last.
    digits: [u8; Self::MOST],
    len: usize,
    /// Where the point stands: before this digit, from 0.
    point: i32,
}

impl Digits {
    /// No double needs more.
    const MOST: usize = 17;

    /// Reads the text of a number.
    fn of(text: &[u8]) -> Self {
        let mut found = Self { is_negative: false, digits: [b'0'; Self::MOST], len: 0, point: 0 };
        let (mut is_behind_point, mut exponent, mut zeros) = (false, 0, 0);
        for (index, &byte) in text.iter().enumerate() {
            match byte {
                b'-' => found.is_negative = true,
                b'.' => is_behind_point = true,
                b'e' => {
                    exponent = str::from_utf8(&text[index + 1..])
                        .ok()
                        .and_then(|text| text.parse().ok())
                        .unwrap_or(0);
                    break;
                }
                digit => {
                    found.point += i32::from(!is_behind_point);
                    // Zeros count only once another digit comes behind them.
                    if digit == b'0' && found.len > 0 {
                        zeros += 1;
                    } else if digit == b'0' {
                        found.point -= 1;
                    } else {
                        found.push(zeros, digit);
                        zeros = 0;
                    }
                }
            }
        }
        found.point += exponent;
        found
    }

    fn push(&mut self, zeros: usize, digit: u8) {
        self.len += zeros;
        if let Some(place) = self.digits.get_mut(self.len) {
            *place = digit;
            self.len += 1;
        }
    }

    /// Source: MySQL `strings/dtoa.cc`, `my_gcvt()`, for a field that is wide enough for every double.
    fn write(&self, out: &mut Vec<u8>) {
        if self.is_negative {
            out.push(b'-');
        }
        let digits = &self.digits[..self.len.min(Self::MOST)];
        match usize::try_from(self.point) {
            Ok(point) if point > 0 && point < digits.len() => {
                out.extend_from_slice(&digits[..point]);
                out.push(b'.');
                out.extend_from_slice(&digits[point..]);
            }
            Ok(point) if point > 0 && point <= 15 => {
                out.extend_from_slice(digits);
                out.resize(out.len() + point - digits.len(), b'0');
                out.extend_from_slice(b".0");
            }
            _ if (-14..=0).contains(&self.point) => {
                out.extend_from_slice(b"0.");
                out.resize(out.len() + self.point.unsigned_abs() as usize, b'0');
                out.extend_from_slice(digits);
            }
            _ => self.write_with_exponent(digits, out),
        }
    }

    fn write_with_exponent(&self, digits: &[u8], out: &mut Vec<u8>) {
        let (first, rest) = digits.split_at(digits.len().min(1));
        out.extend_from_slice(first);
        if !rest.is_empty() {
            out.push(b'.');
            out.extend_from_slice(rest);
        }
        out.push(b'e');
        write_int(i64::from(self.point) - 1, out);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text_of(number: f64) -> String {
        let mut out = Vec::new();
        write_double(number, &mut out);
        String::from_utf8(out).unwrap()
    }

    fn literal_of(number: f64) -> String {
        let mut out = Vec::new();
        write_sql_double(number, &mut out);
        String::from_utf8(out).unwrap()
    }

    /// As `SELECT CAST(… AS JSON)` of MySQL 9.7 shows them.
    #[test]
    fn doubles_as_the_server_writes_them() {
        for (number, text) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (-1.5, "-1.5"),
            (0.1, "0.1"),
            (1e-5, "0.00001"),
            (1e-10, "0.0000000001"),
            (1.25e-15, "0.00000000000000125"),
            (1e-15, "0.000000000000001"),
            (1e-16, "1e-16"),
            (-1.5e-16, "-1.5e-16"),
            (5e-324, "5e-324"),
            (100_000_000_000_000.0, "100000000000000.0"),
            (999_999_999_999_999.0, "999999999999999.0"),
            (1e15, "1e15"),
            (1_234_567_890_123_456.0, "1.234567890123456e15"),
            (1_234_567_890_123_456.8, "1234567890123456.8"),
            (9_007_199_254_740_992.0, "9.007199254740992e15"),
            (1e21, "1e21"),
            (1e300, "1e300"),
            (f64::MAX, "1.7976931348623157e308"),
            (-2.225_073_858_507_201_4e-308, "-2.2250738585072014e-308"),
            (123_456_789.012_345_67, "123456789.01234567"),
        ] {
            assert_eq!(text_of(number), text);
        }
    }

    #[test]
    fn doubles_as_literals() {
        assert_eq!(literal_of(1.0), "1.0e0");
        assert_eq!(literal_of(-0.0), "-0.0e0");
        assert_eq!(literal_of(1e300), "1e300");
    }

    proptest! {
        #[test]
        fn doubles_read_back(bits: u64) {
            let number = f64::from_bits(bits);
            prop_assume!(number.is_finite());
            for text in [text_of(number), literal_of(number)] {
                let read: f64 = text.parse().unwrap();
                prop_assert_eq!(read.to_bits(), bits, "{}", text);
            }
        }

        #[test]
        fn doubles_of_all_sizes_read_back(number in -1e18..1e18_f64, shift in -40..40) {
            let number = number * 10_f64.powi(shift);
            let text = text_of(number);
            prop_assert_eq!(text.parse::<f64>().unwrap().to_bits(), number.to_bits(), "{}", text);
            prop_assert!(text.contains(['.', 'e']), "{}", text);
        }
    }
}
