//! Rows' lines as values in binary, for a prepared statement that takes many rows.

use drover_db::table::text;
use drover_db::wire::{ManyRows, ParameterKind, Value};

use super::fields::{Fields, Form};

/// Turns lines into values.
#[derive(Debug)]
pub struct Parameters {
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
    pub fn new(kinds: &[ParameterKind]) -> Self {
        let rows = ManyRows::new(kinds.iter().copied());
        let (kinds, value) = (kinds.to_vec(), Vec::new());
        let values = Values { rows, kinds, seen: 0, value, is_escaped: false, is_unfit: false };
        Self { fields: Fields::default(), values }
    }

    /// Takes the next piece of the lines apart.
    pub fn pass(&mut self, lines: &[u8]) {
        // The rows have a place of their own.
        self.fields.pass(&mut self.values, lines, &mut Vec::new());
    }

    /// What has come of the lines.
    pub fn rows(&mut self) -> &mut ManyRows {
        &mut self.values.rows
    }

    /// Bytes of what is there, of a value that is not whole too.
    pub fn size(&self) -> usize {
        self.values.rows.len() + self.values.value.len()
    }

    /// Whether a line had more or fewer fields, or one that is not of its kind.
    pub fn is_unfit(&self) -> bool {
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
        let value = self.kinds.get(column).and_then(|kind| kind.of_text(&self.value));
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

#[cfg(test)]
mod tests {
    use drover_db::wire::Moment;
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
