//! Amounts of money, which are never added up with a floating point.

use std::io::Write as _;

/// An amount in hundredths.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Cents(pub(super) i64);

/// An amount as a decimal number, such as `-12.30`.
#[derive(Debug, Clone, Copy)]
pub(super) struct CentsText {
    bytes: [u8; 24],
    length: usize,
}

impl Cents {
    /// Reads a decimal number with at most two digits behind the point.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let (is_negative, digits) = match text {
            [b'-', digits @ ..] => (true, digits),
            digits => (false, digits),
        };
        let (whole, part) = match digits.iter().position(|byte| *byte == b'.') {
            Some(point) => (&digits[..point], &digits[point + 1..]),
            None => (digits, &digits[..0]),
        };
        let part = match part {
            [] => 0,
            [tenths] => number(&[*tenths])? * 10,
            [_, _] => number(part)?,
            _ => return None,
        };
        let size = number(whole)?.checked_mul(100)?.checked_add(part)?;
        Some(Self(if is_negative { -size } else { size }))
    }

    /// As a decimal number.
    pub(super) fn text(self) -> CentsText {
        let mut text = CentsText { bytes: [0; 24], length: 0 };
        let (sign, size) = (if self.0 < 0 { "-" } else { "" }, self.0.unsigned_abs());
        let mut rest = &mut text.bytes[..];
        // A sign, 18 digits and the point fit in.
        let _ = write!(rest, "{sign}{}.{:02}", size / 100, size % 100);
        let left = rest.len();
        text.length = text.bytes.len() - left;
        text
    }
}

impl CentsText {
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

fn number(digits: &[u8]) -> Option<i64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_i64, |number, byte| {
        let digit = byte.is_ascii_digit().then(|| i64::from(byte - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn decimals() {
        for (text, cents) in
            [("0.00", 0), ("12.34", 1234), ("-10.00", -1000), ("7", 700), ("1.5", 150), ("-0.05", -5)]
        {
            assert_eq!(Cents::parse(text.as_bytes()), Some(Cents(cents)), "{text}");
        }
        for text in ["", "-", ".5", "1.234", "1x", "1.-2", "99999999999999999999"] {
            assert_eq!(Cents::parse(text.as_bytes()), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn amounts_read_back(cents in -1_000_000_000_000_i64..1_000_000_000_000) {
            prop_assert_eq!(Cents::parse(Cents(cents).text().as_bytes()), Some(Cents(cents)));
        }

        #[test]
        fn no_text_makes_it_panic(text in any::<Vec<u8>>()) {
            let _ = Cents::parse(&text);
        }
    }
}
