//! Rows' lines as the rows of an INSERT statement, for servers that take no files. A value has the escapes of its line, which mean the
//! same in a string, and its quotes doubled; unless it is text in UTF-8 it is marked as bytes, so that a column takes it as LOAD DATA would.

use super::fields::{Fields, Form};
use super::manifest::Column;

/// Turns lines into rows in parentheses.
#[derive(Debug)]
pub struct Literals {
    fields: Fields,
    rows: Rows,
    text: Vec<u8>,
}

#[derive(Debug)]
struct Rows {
    /// What stands before and behind the value of each column.
    columns: Vec<(Vec<u8>, Vec<u8>)>,
    /// Fields of the line at hand until now.
    seen: usize,
    /// Where each whole row ends, the comma behind it included.
    ends: Vec<usize>,
    is_malformed: bool,
}

impl Literals {
    /// For lines of these columns; `as_text` says which of them are text in UTF-8, and those beyond it are not.
    pub fn new(columns: &[Column], as_text: &[bool]) -> Self {
        let around = |(column, is_text): (&Column, &bool)| {
            let expression = column.load.as_deref().unwrap_or("@value");
            let (before, behind) = expression.split_once("@value").unwrap_or_default();
            let mark = if *is_text { "" } else { "_binary" };
            (format!("{before}{mark}'").into_bytes(), format!("'{behind}").into_bytes())
        };
        let as_text = as_text.iter().chain(std::iter::repeat(&false));
        let columns = columns.iter().zip(as_text).map(around).collect();
        let rows = Rows { columns, seen: 0, ends: Vec::new(), is_malformed: false };
        Self { fields: Fields::default(), rows, text: Vec::new() }
    }

    /// Takes the next piece of the lines apart.
    pub fn pass(&mut self, lines: &[u8]) {
        self.fields.pass(&mut self.rows, lines, &mut self.text);
    }

    /// How many rows are whole.
    pub fn rows(&self) -> usize {
        self.rows.ends.len()
    }

    /// As many of them from this one on as fit into so many bytes, but at least one, with commas between; and the number of the first
    /// that is not among them.
    pub fn some(&self, from: usize, most: usize) -> (&[u8], usize) {
        let start = from.checked_sub(1).map_or(0, |before| self.rows.ends[before]);
        let fit = self.rows.ends[from..].partition_point(|end| end - start <= most);
        let next = (from + fit.max(1)).min(self.rows());
        let end = next.checked_sub(1).map_or(0, |last| self.rows.ends[last]);
        (self.text[start..end].strip_suffix(b",").unwrap_or_default(), next)
    }

    /// Forgets the rows that are whole.
    pub fn forget(&mut self) {
        let whole = self.rows.ends.last().copied().unwrap_or_default();
        self.text.drain(..whole);
        self.rows.ends.clear();
    }

    /// Bytes of all that is there, of a row that is not whole too.
    pub fn size(&self) -> usize {
        self.text.len()
    }

    /// Whether a line had not as many fields as the others.
    pub fn is_malformed(&self) -> bool {
        self.rows.is_malformed
    }
}

impl Rows {
    fn field(&mut self) {
        self.seen += 1;
        // A table in which the server computes every column has lines of one empty field.
        self.is_malformed |= self.seen > self.columns.len().max(1);
    }
}

impl Form for Rows {
    const MARKS: [u8; 2] = [b'\''; 2];

    fn begin_row(&mut self, _text: &[u8], out: &mut Vec<u8>) {
        self.seen = 0;
        out.push(b'(');
    }

    #[inline]
    fn null(&mut self, _column: usize, out: &mut Vec<u8>) {
        self.field();
        out.extend_from_slice(b"NULL");
    }

    #[inline]
    fn begin_value(&mut self, column: usize, _text: &[u8], out: &mut Vec<u8>) {
        self.field();
        if let Some((open, _)) = self.columns.get(column) {
            out.extend_from_slice(open);
        }
    }

    #[inline]
    fn piece(&mut self, column: usize, bytes: &[u8], _cut: bool, out: &mut Vec<u8>) {
        if column < self.columns.len() {
            out.extend_from_slice(bytes);
        }
    }

    fn mark(&mut self, _column: usize, _mark: u8, out: &mut Vec<u8>) {
        out.extend_from_slice(b"''");
    }

    #[inline]
    fn end_value(&mut self, column: usize, out: &mut Vec<u8>) {
        if let Some((_, close)) = self.columns.get(column) {
            out.extend_from_slice(close);
        }
    }

    #[inline]
    fn between(&mut self, out: &mut Vec<u8>) {
        out.push(b',');
    }

    #[inline]
    fn end_row(&mut self, out: &mut Vec<u8>) {
        self.is_malformed |= self.seen != self.columns.len() && !self.columns.is_empty();
        out.extend_from_slice(b"),");
        self.ends.push(out.len());
    }
}

#[cfg(test)]
mod tests {
    use drover_db::sql::{Dialect, Kind, tokens};
    use drover_db::table::text;
    use proptest::prelude::*;

    use super::*;

    fn column(load: Option<&str>) -> Column {
        Column { name: "c".into(), read: None, load: load.map(Into::into) }
    }

    #[test]
    fn rows_as_they_stand_in_a_statement() {
        let mut literals = Literals::new(&[column(None), column(Some("CONVERT(@value USING utf8mb4)"))], &[]);
        literals.pass(b"1\t\\N\nit's\\n\ta\\\\\n2\t");
        let (rows, next) = literals.some(0, usize::MAX);
        let expected = br"(_binary'1',NULL),(_binary'it''s\n',CONVERT(_binary'a\\' USING utf8mb4))";
        assert_eq!((String::from_utf8_lossy(rows), next), (String::from_utf8_lossy(expected), 2));
        // A row that is too long by itself is told so by whoever sends it.
        assert_eq!(literals.some(0, 20), (&b"(_binary'1',NULL)"[..], 1));
        let second = &br"(_binary'it''s\n',CONVERT(_binary'a\\' USING utf8mb4))"[..];
        assert_eq!(literals.some(1, 20), (second, 2));
        literals.forget();
        assert_eq!(literals.rows(), 0);
        literals.pass(b"x\n");
        let third = &br"(_binary'2',CONVERT(_binary'x' USING utf8mb4))"[..];
        assert_eq!(literals.some(0, usize::MAX), (third, 1));
        assert!(!literals.is_malformed());
        literals.pass(b"1\n");
        assert!(literals.is_malformed());
        let mut literals = Literals::new(&[column(None), column(None)], &[true]);
        literals.pass(b"1\tx\n");
        assert_eq!(literals.some(0, usize::MAX), (&b"('1',_binary'x')"[..], 1));
    }

    #[test]
    fn a_table_without_values() {
        let mut literals = Literals::new(&[], &[]);
        literals.pass(b"\n\n");
        assert_eq!(literals.some(0, usize::MAX), (&b"(),()"[..], 2));
        assert!(!literals.is_malformed());
    }

    proptest! {
        /// As the server reads a string.
        #[test]
        fn the_values_are_those_of_the_lines(
            rows in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 1..4), piece in 1..40_usize,
            is_text in any::<bool>(),
        ) {
            let mut lines = Vec::new();
            for value in &rows {
                text::escape_into(&mut lines, value);
                lines.push(b'\n');
            }
            let mut literals = Literals::new(&[column(None)], &[is_text]);
            lines.chunks(piece).for_each(|piece| literals.pass(piece));
            let (text, next) = literals.some(0, usize::MAX);
            prop_assert_eq!(next, rows.len());
            let strings = tokens(text, Dialect::default()).filter(|token| token.kind == Kind::String);
            let values: Vec<_> = strings.map(|token| unquoted(token.text)).collect();
            prop_assert_eq!(values, rows);
        }
    }

    fn unquoted(text: &[u8]) -> Vec<u8> {
        let (mut value, mut bytes) = (Vec::new(), text[1..text.len() - 1].iter());
        while let Some(&byte) = bytes.next() {
            value.push(match byte {
                b'\\' => text::unescaped(*bytes.next().unwrap()),
                b'\'' => *bytes.next().unwrap(),
                byte => byte,
            });
        }
        value
    }
}
