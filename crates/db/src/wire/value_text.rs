//! Values from the text that servers show of them, as it stands in lines of LOAD DATA.

use super::binary::{Moment, ParameterKind, Value};

impl ParameterKind {
    /// A value of this kind from the text that the server shows of it; `None` if it is none, and of spans, of which servers have their own
    /// ideas.
    pub fn of_text(self, text: &[u8]) -> Option<Value<'_>> {
        match self {
            Self::Int => number(text).map(Value::Int),
            Self::Unsigned => number(text).map(Value::Unsigned),
            Self::Double => number(text).map(Value::Double),
            Self::Decimal => is_decimal(text).then_some(Value::Decimal(text)),
            Self::Text => Some(Value::Text(text)),
            Self::Bytes => Some(Value::Bytes(text)),
            Self::Moment => moment(text).map(Value::Moment),
            Self::Null | Self::Span => None,
        }
    }
}

fn number<T: std::str::FromStr>(text: &[u8]) -> Option<T> {
    let begins = matches!(text.strip_prefix(b"-").unwrap_or(text), [b'0'..=b'9', ..]);
    std::str::from_utf8(text).ok().filter(|_| begins)?.parse().ok()
}

fn is_decimal(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    digits.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'.')) && digits.iter().any(u8::is_ascii_digit)
}

/// `2026-11-30`, `2026-11-30 01:02:03` or that with up to six digits behind a point.
fn moment(text: &[u8]) -> Option<Moment> {
    let (date, time) = text.split_at_checked(10)?;
    let &[y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = date else { return None };
    let year = of_digits(&[y1, y2, y3, y4])? as u16;
    let of_date = Moment {
        year,
        month: of_digits(&[m1, m2])? as u8,
        day: of_digits(&[d1, d2])? as u8,
        ..Moment::default()
    };
    let Some((&[b' ', h1, h2, b':', i1, i2, b':', s1, s2], fraction)) = time.split_first_chunk::<9>() else {
        return time.is_empty().then_some(of_date);
    };
    let microsecond = match fraction {
        [] => 0,
        [b'.', digits @ ..] if (1..=6).contains(&digits.len()) => {
            of_digits(digits)? * 10_u32.pow(6 - digits.len() as u32)
        }
        _ => return None,
    };
    let [hour, minute, second] = [[h1, h2], [i1, i2], [s1, s2]].map(|digits| of_digits(&digits));
    Some(Moment { hour: hour? as u8, minute: minute? as u8, second: second? as u8, microsecond, ..of_date })
}

/// Of up to nine digits.
fn of_digits(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |sum, digit| digit.is_ascii_digit().then(|| sum * 10 + u32::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_are_what_they_were(int: i64, unsigned: u64, double in prop::num::f64::NORMAL | prop::num::f64::ZERO) {
            let [int_text, unsigned_text, double_text] =
                [int.to_string(), unsigned.to_string(), format!("{double:e}")].map(String::into_bytes);
            prop_assert_eq!(ParameterKind::Int.of_text(&int_text), Some(Value::Int(int)));
            prop_assert_eq!(ParameterKind::Unsigned.of_text(&unsigned_text), Some(Value::Unsigned(unsigned)));
            let back = ParameterKind::Double.of_text(&double_text);
            let Some(Value::Double(back)) = back else { panic!("{back:?}") };
            prop_assert_eq!(back.to_bits(), double.to_bits());
        }
    }

    #[test]
    fn what_is_not_of_its_kind_is_no_value() {
        let is_none = |kind: ParameterKind, text: &str| kind.of_text(text.as_bytes()).is_none();
        for text in ["", "+1", "1.0", "x", " 1", "9223372036854775808"] {
            assert!(is_none(ParameterKind::Int, text), "{text}");
        }
        for text in ["", "inf", "nan", "-", ".5", "1 "] {
            assert!(is_none(ParameterKind::Double, text), "{text}");
        }
        for text in ["", "-", ".", "1e5", "+1"] {
            assert!(is_none(ParameterKind::Decimal, text), "{text}");
        }
        for text in [
            "",
            "2026-11-3",
            "2026-11-30T01:02:03",
            "2026-11-30 01:02",
            "2026-11-30 01:02:03.",
            "2026-11-30 01:02:03.1234567",
        ] {
            assert!(is_none(ParameterKind::Moment, text), "{text}");
        }
        assert_eq!(ParameterKind::Moment.of_text(b"0000-00-00"), Some(Value::Moment(Moment::default())));
        let half = Moment { microsecond: 500_000, ..Moment::default() };
        assert_eq!(ParameterKind::Moment.of_text(b"0000-00-00 00:00:00.5"), Some(Value::Moment(half)));
        assert_eq!(ParameterKind::Decimal.of_text(b"-0.50"), Some(Value::Decimal(b"-0.50")));
    }
}
