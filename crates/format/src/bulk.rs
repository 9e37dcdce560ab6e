//! Rows' lines as the values of a prepared statement.

use drover_db::table::text;
use drover_db::wire::BulkRows;

use super::fields::{Fields, Form};

/// Turns lines into values.
#[derive(Debug)]
pub struct Bulk {
    fields: Fields,
    values: Values,
}

#[derive(Debug)]
struct Values {
    rows: BulkRows,
    /// Fields of each line, and of the one at hand until now.
    columns: usize,
    seen: usize,
    /// Whether the next byte is behind a backslash.
    is_escaped: bool,
    /// Whether a line had more or fewer fields.
    is_malformed: bool,
}

impl Bulk {
    /// For lines of so many fields.
    pub fn new(columns: usize) -> Self {
        let rows = BulkRows::default();
        let values = Values { rows, columns, seen: 0, is_escaped: false, is_malformed: false };
        Self { fields: Fields::default(), values }
    }

    /// Takes the next piece of the lines apart.
    pub fn pass(&mut self, lines: &[u8]) {
        // The rows have a place of their own.
        self.fields.pass(&mut self.values, lines, &mut Vec::new());
    }

    /// What has come of the lines; those that the server took are to be taken out.
    pub fn rows(&mut self) -> &mut BulkRows {
        &mut self.values.rows
    }

    /// Whether a line had not as many fields as the others.
    pub fn is_malformed(&self) -> bool {
        self.values.is_malformed
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
        self.rows.null();
    }

    #[inline]
    fn begin_value(&mut self, _column: usize, _text: &[u8], _out: &mut Vec<u8>) {
        self.seen += 1;
        self.is_escaped = false;
        self.rows.begin_value();
    }

    #[inline]
    fn piece(&mut self, _column: usize, mut bytes: &[u8], _cut: bool, _out: &mut Vec<u8>) {
        if let (true, [escaped, rest @ ..]) = (self.is_escaped, bytes) {
            self.is_escaped = false;
            self.rows.append(&[text::unescaped(*escaped)]);
            bytes = rest;
        }
        self.rows.append(bytes);
    }

    fn mark(&mut self, _column: usize, mark: u8, _out: &mut Vec<u8>) {
        if self.is_escaped {
            self.rows.append(&[mark]);
        }
        self.is_escaped = !self.is_escaped;
    }

    #[inline]
    fn end_value(&mut self, _column: usize, _out: &mut Vec<u8>) {
        self.rows.end_value();
    }

    #[inline]
    fn between(&mut self, _out: &mut Vec<u8>) {}

    #[inline]
    fn end_row(&mut self, _out: &mut Vec<u8>) {
        self.is_malformed |= self.seen != self.columns;
        self.rows.end_row();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn value() -> impl Strategy<Value = Option<Vec<u8>>> {
        let byte = prop_oneof![4 => any::<u8>(), 1 => prop::sample::select(b"\t\n\\\0Nnt0".to_vec())];
        prop::option::of(prop::collection::vec(byte, 0..300))
    }

    fn line(row: &[Option<Vec<u8>>]) -> Vec<u8> {
        let mut line = Vec::new();
        for (column, value) in row.iter().enumerate() {
            if column > 0 {
                line.push(b'\t');
            }
            match value {
                Some(value) => text::escape_into(&mut line, value),
                None => line.extend_from_slice(b"\\N"),
            }
        }
        line.push(b'\n');
        line
    }

    proptest! {
        #[test]
        fn the_values_are_those_that_the_lines_were_made_of(
            rows in prop::collection::vec(prop::collection::vec(value(), 3), 0..5),
            piece in 1..50_usize,
        ) {
            let (mut expected, mut lines) = (BulkRows::default(), Vec::new());
            for row in &rows {
                lines.extend(line(row));
                for value in row {
                    match value {
                        Some(value) => {
                            expected.begin_value();
                            expected.append(value);
                            expected.end_value();
                        }
                        None => expected.null(),
                    }
                }
                expected.end_row();
            }
            let mut bulk = Bulk::new(3);
            lines.chunks(piece).for_each(|piece| bulk.pass(piece));
            prop_assert!(!bulk.is_malformed());
            prop_assert_eq!(bulk.rows(), &mut expected);
        }
    }

    #[test]
    fn a_line_with_more_or_fewer_fields_is_malformed() {
        for (lines, is_malformed) in [("a\tb\n", false), ("a\n", true), ("\\N\tb\tc\n", true), ("\n", true)] {
            let mut bulk = Bulk::new(2);
            bulk.pass(lines.as_bytes());
            assert_eq!(bulk.is_malformed(), is_malformed, "{lines:?}");
        }
    }
}
