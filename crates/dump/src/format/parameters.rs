//! Rows' lines as values in binary, for a prepared statement that takes many rows.

use drover_db::table::text;
use drover_db::wire::{ManyRows, Moment, ParameterKind, Value};

use super::fields::{Fields, Form};

/// Turns lines into values.
#[derive(Debug)]
pub(crate) struct Parameters {
    fields: Fields,
    values: Values,
}

#[derive(Debug)]
struct Values {
    rows: ManyRows,
    kinds: Vec<ParameterKind>,
    /// Fields of the line at hand until now.
    seen: usize,
    /// The value at hand.
    value: Vec<u8>,
    /// Whether the next byte is behind a backslash.
    is_escaped: bool,
    is_unfit: bool,
}

impl Parameters {
    /// For lines whose fields are of these kinds.
    pub(crate) fn new(kinds: &[ParameterKind]) -> Self {
        let rows = ManyRows::new(kinds.iter().copied());
        let (kinds, value) = (kinds.to_vec(), Vec::new());
        let values = Values { rows, kinds, seen: 0, value, is_escaped: false, is_unfit: false };
        Self { fields: Fields::default(), values }
    }

    /// Takes the next piece of the lines apart.
    pub(crate) fn pass(&mut self, lines: &[u8]) {
        // The rows have a place of their own.
        self.fields.pass(&mut self.values, lines, &mut Vec::new());
    }

    /// What has come of the lines.
    pub(crate) fn rows(&mut self) -> &mut ManyRows {
        &mut self.values.rows
    }

    /// Bytes of what is there, of a value that is not whole too.
    pub(crate) fn len(&self) -> usize {
        self.values.rows.len() + self.values.value.len()
    }

    /// Whether a line had more or fewer fields, or one that is not of its kind.
    pub(crate) fn is_unfit(&self) -> bool {
        self.values.is_unfit
    }
}

impl Form for Values {
    const MARKS: [u8; 2] = [b'\\'; 2];

    #[inline]
    fn begin_row(&mut self, _text: &[u8], _out: &mut Vec<u8>) {
        self.seen = 0;
    }

    #[inline]
    fn null(&mut self, _column: usize, _out: &mut Vec<u8>) {
        self.seen += 1;
        self.rows.push(Value::Null);
    }

    #[inline]
    fn begin_value(&mut self, _column: usize, _text: &[u8], _out: &mut Vec<u8>) {
        self.seen += 1;
        self.is_escaped = false;
        self.value.clear();
    }

    #[inline]
    fn piece(&mut self, _column: usize, mut bytes: &[u8], _cut: bool, _out: &mut Vec<u8>) {
        if let (true, [escaped, rest @ ..]) = (self.is_escaped, bytes) {
            self.is_escaped = false;
            self.value.push(text::unescaped(*escaped));
            bytes = rest;
        }
        self.value.extend_from_slice(bytes);
    }

    fn mark(&mut self, _column: usize, mark: u8, _out: &mut Vec<u8>) {
        if self.is_escaped {
            self.value.push(mark);
        }
        self.is_escaped = !self.is_escaped;
    }

    #[inline]
    fn end_value(&mut self, column: usize, _out: &mut Vec<u8>) {
        let value = self.kinds.get(column).and_then(|kind| parsed(*kind, &self.value));
        self.is_unfit |= value.is_none();
        self.rows.push(value.unwrap_or(Value::Null));
        self.value.clear();
    }

    #[inline]
    fn between(&mut self, _out: &mut Vec<u8>) {}

    #[inline]
    fn end_row(&mut self, _out: &mut Vec<u8>) {
        self.is_unfit |= self.seen != self.kinds.len();
        self.rows.end_row();
    }
}

/// A value from its text, if it is one of that kind.
fn parsed(kind: ParameterKind, text: &[u8]) -> Option<Value<'_>> {
    match kind {
        ParameterKind::Int => of_text(text).map(Value::Int),
        ParameterKind::Unsigned => of_text(text).map(Value::Unsigned),
        ParameterKind::Double => of_text(text).map(Value::Double),
        ParameterKind::Decimal => is_decimal(text).then_some(Value::Decimal(text)),
        ParameterKind::Text => Some(Value::Text(text)),
        ParameterKind::Bytes => Some(Value::Bytes(text)),
        ParameterKind::Moment => moment(text).map(Value::Moment),
        ParameterKind::Null | ParameterKind::Span => None,
    }
}

fn of_text<T: std::str::FromStr>(text: &[u8]) -> Option<T> {
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
    let year = number(&[y1, y2, y3, y4])? as u16;
    let of_date =
        Moment { year, month: number(&[m1, m2])? as u8, day: number(&[d1, d2])? as u8, ..Moment::default() };
    let Some((&[b' ', h1, h2, b':', i1, i2, b':', s1, s2], fraction)) = time.split_first_chunk::<9>() else {
        return time.is_empty().then_some(of_date);
    };
    let microsecond = match fraction {
        [] => 0,
        [b'.', digits @ ..] if (1..=6).contains(&digits.len()) => {
            number(digits)? * 10_u32.pow(6 - digits.len() as u32)
        }
        _ => return None,
    };
    let [hour, minute, second] = [[h1, h2], [i1, i2], [s1, s2]].map(|digits| number(&digits));
    Some(Moment { hour: hour? as u8, minute: minute? as u8, second: second? as u8, microsecond, ..of_date })
}

/// Of up to nine digits.
fn number(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |sum, digit| digit.is_ascii_digit().then(|| sum * 10 + u32::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KINDS: [ParameterKind; 3] = [ParameterKind::Int, ParameterKind::Bytes, ParameterKind::Moment];

    type Row = (Option<i64>, Option<Vec<u8>>, Option<u32>);

    fn rows() -> impl Strategy<Value = Vec<Row>> {
        let byte = prop_oneof![4 => any::<u8>(), 1 => prop::sample::select(b"\t\n\\\0Nnt0".to_vec())];
        let bytes = prop::option::of(prop::collection::vec(byte, 0..300));
        prop::collection::vec((any::<Option<i64>>(), bytes, prop::option::of(0..1_000_000_u32)), 0..5)
    }

    proptest! {
        #[test]
        fn the_values_are_those_that_the_lines_were_made_of(rows in rows(), piece in 1..50_usize) {
            let (mut expected, mut lines) = (ManyRows::new(KINDS), Vec::new());
            for (number, bytes, microsecond) in &rows {
                let (year, month, day, hour, minute, second) = (2026, 11, 30, 1, 2, 3);
                let moment = |&microsecond: &u32| Moment { year, month, day, hour, minute, second, microsecond };
                expected.push(number.map_or(Value::Null, Value::Int));
                expected.push(bytes.as_deref().map_or(Value::Null, Value::Bytes));
                expected.push(microsecond.as_ref().map_or(Value::Null, |of| Value::Moment(moment(of))));
                expected.end_row();
                let number = number.map_or("\\N".into(), |number| number.to_string());
                let time = microsecond.map_or("\\N".into(), |of| format!("2026-11-30 01:02:03.{of:06}"));
                lines.extend_from_slice(number.as_bytes());
                lines.push(b'\t');
                match bytes {
                    Some(bytes) => text::escape_into(&mut lines, bytes),
                    None => lines.extend_from_slice(b"\\N"),
                }
                lines.extend_from_slice(format!("\t{time}\n").as_bytes());
            }
            let mut parameters = Parameters::new(&KINDS);
            lines.chunks(piece).for_each(|piece| parameters.pass(piece));
            prop_assert!(!parameters.is_unfit());
            prop_assert_eq!(parameters.rows(), &mut expected);
        }

        #[test]
        fn numbers_are_what_they_were(int: i64, unsigned: u64, double in prop::num::f64::NORMAL | prop::num::f64::ZERO) {
            let [int_text, unsigned_text, double_text] =
                [int.to_string(), unsigned.to_string(), format!("{double:e}")].map(String::into_bytes);
            prop_assert_eq!(parsed(ParameterKind::Int, &int_text), Some(Value::Int(int)));
            prop_assert_eq!(parsed(ParameterKind::Unsigned, &unsigned_text), Some(Value::Unsigned(unsigned)));
            let back = parsed(ParameterKind::Double, &double_text);
            let Some(Value::Double(back)) = back else { panic!("{back:?}") };
            prop_assert_eq!(back.to_bits(), double.to_bits());
        }
    }

    #[test]
    fn what_is_not_of_its_kind_is_unfit() {
        let unfit = |kind, text: &str| parsed(kind, text.as_bytes()).is_none();
        for text in ["", "+1", "1.0", "x", " 1", "9223372036854775808"] {
            assert!(unfit(ParameterKind::Int, text), "{text}");
        }
        for text in ["", "inf", "nan", "-", ".5", "1 "] {
            assert!(unfit(ParameterKind::Double, text), "{text}");
        }
        for text in ["", "-", ".", "1e5", "+1"] {
            assert!(unfit(ParameterKind::Decimal, text), "{text}");
        }
        for text in [
            "",
            "2026-11-3",
            "2026-11-30T01:02:03",
            "2026-11-30 01:02",
            "2026-11-30 01:02:03.",
            "2026-11-30 01:02:03.1234567",
        ] {
            assert!(unfit(ParameterKind::Moment, text), "{text}");
        }
        assert_eq!(parsed(ParameterKind::Moment, b"0000-00-00"), Some(Value::Moment(Moment::default())));
        let half = Moment { microsecond: 500_000, ..Moment::default() };
        assert_eq!(parsed(ParameterKind::Moment, b"0000-00-00 00:00:00.5"), Some(Value::Moment(half)));
        assert_eq!(parsed(ParameterKind::Decimal, b"-0.50"), Some(Value::Decimal(b"-0.50")));
    }

    #[test]
    fn a_line_with_more_or_fewer_fields_is_unfit() {
        for (lines, is_unfit) in [("1\tb\n", false), ("1\n", true), ("\\N\tb\tc\n", true), ("\n", true)] {
            let mut parameters = Parameters::new(&[ParameterKind::Int, ParameterKind::Text]);
            parameters.pass(lines.as_bytes());
            assert_eq!(parameters.is_unfit(), is_unfit, "{lines:?}");
        }
    }
}
