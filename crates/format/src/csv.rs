//! Rows as comma-separated values (RFC 4180) in UTF-8, for other programs; docs/formats.md specifies them.

use drover_db::table::{ValueKind, text};

use super::fields::{Fields, Form};
use super::manifest::Table;
use super::utf8::Utf8;

/// Turns lines into records.
#[derive(Debug)]
pub struct Csv {
    fields: Fields,
    records: Records,
}

impl Csv {
    /// For a table whose columns hold values of these kinds; text comes in UTF-8.
    pub fn new(kinds: Vec<ValueKind>) -> Self {
        let invalid = vec![0; kinds.len()];
        let (utf8, geometry) = (Utf8::default(), Geometry::default());
        let records = Records { kinds, invalid, utf8, is_invalid: false, is_escaped: false, geometry };
        Self { fields: Fields::default(), records }
    }

    /// Appends what the next piece of the lines comes to.
    pub(super) fn pass(&mut self, lines: &[u8], out: &mut Vec<u8>) {
        self.fields.pass(&mut self.records, lines, out);
    }

    /// How many values of each column are no valid UTF-8.
    pub(super) fn invalid(&self) -> &[u64] {
        &self.records.invalid
    }
}

/// The first record: the names of the columns.
pub fn header(table: &Table) -> Vec<u8> {
    let quoted = |name: &String| format!("\"{}\"", name.replace('"', "\"\""));
    let is_plain = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let name = |name: &String| if is_plain(name) { name.clone() } else { quoted(name) };
    let names: Vec<_> = table.columns.iter().map(|column| name(&column.name)).collect();
    (names.join(",") + "\n").into_bytes()
}

#[derive(Debug)]
struct Records {
    kinds: Vec<ValueKind>,
    invalid: Vec<u64>,
    utf8: Utf8,
    /// Whether the value at hand is invalid, and whether its next byte is behind a backslash.
    is_invalid: bool,
    is_escaped: bool,
    geometry: Geometry,
}

impl Records {
    #[inline]
    fn write(&mut self, column: usize, bytes: &[u8], cut: bool, out: &mut Vec<u8>) {
        match self.kinds.get(column) {
            Some(ValueKind::Number | ValueKind::Word) | None => out.extend_from_slice(bytes),
            Some(ValueKind::Bytes) => hex(bytes, out),
            Some(ValueKind::Geometry) => self.geometry.write(bytes, out),
            Some(ValueKind::Utf8 | ValueKind::Utf8mb3 | ValueKind::OtherText) => {
                self.is_invalid |= !self.utf8.pass(bytes, cut, out);
            }
        }
    }

    #[inline]
    fn is_text(&self, column: usize) -> bool {
        matches!(self.kinds.get(column), Some(ValueKind::Utf8 | ValueKind::Utf8mb3 | ValueKind::OtherText))
    }
}

impl Form for Records {
    const MARKS: [u8; 2] = [b'"', b'\\'];

    fn begin_row(&mut self, _text: &[u8], _out: &mut Vec<u8>) {}

    #[inline]
    fn null(&mut self, _column: usize, _out: &mut Vec<u8>) {}

    #[inline]
    fn begin_value(&mut self, column: usize, _text: &[u8], out: &mut Vec<u8>) {
        (self.is_invalid, self.is_escaped, self.geometry) = (false, false, Geometry::default());
        match self.kinds.get(column) {
            Some(ValueKind::Bytes) => out.extend_from_slice(b"0x"),
            _ if self.is_text(column) => out.push(b'"'),
            _ => {}
        }
    }

    #[inline]
    fn piece(&mut self, column: usize, mut bytes: &[u8], cut: bool, out: &mut Vec<u8>) {
        if let (true, [escape, rest @ ..]) = (self.is_escaped, bytes) {
            self.is_escaped = false;
            self.write(column, &[text::unescaped(*escape)], false, out);
            bytes = rest;
        }
        self.write(column, bytes, cut, out);
    }

    fn mark(&mut self, column: usize, mark: u8, out: &mut Vec<u8>) {
        if self.is_text(column) {
            self.is_invalid |= !self.utf8.end(out);
        }
        match mark {
            b'\\' if !self.is_escaped => self.is_escaped = true,
            b'"' if self.is_text(column) => out.extend_from_slice(b"\"\""),
            mark => {
                self.is_escaped = false;
                self.write(column, &[mark], false, out);
            }
        }
    }

    #[inline]
    fn end_value(&mut self, column: usize, out: &mut Vec<u8>) {
        match self.kinds.get(column) {
            Some(ValueKind::Geometry) => self.geometry.end(out),
            _ if self.is_text(column) => {
                self.is_invalid |= !self.utf8.end(out);
                out.push(b'"');
            }
            _ => {}
        }
        if let Some(invalid) = self.invalid.get_mut(column) {
            *invalid += u64::from(self.is_invalid);
        }
    }

    #[inline]
    fn between(&mut self, out: &mut Vec<u8>) {
        out.push(b',');
    }

    #[inline]
    fn end_row(&mut self, out: &mut Vec<u8>) {
        out.push(b'\n');
    }
}

fn hex(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for byte in bytes {
        out.extend_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
}

/// A geometry on its way from the servers' form to EWKB: the SRID comes behind the type, which says that there is one.
#[derive(Debug, Default)]
struct Geometry {
    /// SRID, order of bytes and type, as far as they have come.
    head: Vec<u8>,
}

impl Geometry {
    /// Bytes of SRID, order of bytes and type.
    const HEAD: usize = 9;

    fn write(&mut self, mut bytes: &[u8], out: &mut Vec<u8>) {
        let missing = Self::HEAD - self.head.len();
        if missing > 0 {
            let (first, rest) = bytes.split_at(missing.min(bytes.len()));
            self.head.extend_from_slice(first);
            bytes = rest;
            if let &[a, b, c, d, order, t0, t1, t2, t3] = self.head.as_slice() {
                hex(&with_srid([a, b, c, d], order, [t0, t1, t2, t3]), out);
            }
        }
        hex(bytes, out);
    }

    /// What is too short for a geometry is written as it is.
    fn end(&mut self, out: &mut Vec<u8>) {
        if self.head.len() < Self::HEAD {
            hex(&self.head, out);
        }
    }
}

/// The beginning of EWKB. The servers write the SRID and WKB with the lowest byte first.
fn with_srid(srid: [u8; 4], order: u8, kind: [u8; 4]) -> Vec<u8> {
    const HAS_SRID: u32 = 0x2000_0000;
    if srid == [0; 4] || order != 1 {
        return [&[order][..], &kind].concat();
    }
    let kind = u32::from_le_bytes(kind) | HAS_SRID;
    [&[order][..], &kind.to_le_bytes(), &srid].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use drover_db::table::text::escape_into;
    use proptest::prelude::*;

    /// Reads records as RFC 4180 says; a field without quotes that is empty is NULL.
    fn parsed(text: &[u8]) -> Vec<Vec<Option<Vec<u8>>>> {
        let (mut records, mut record, mut at) = (Vec::new(), Vec::new(), 0);
        while at < text.len() {
            let mut value = Vec::new();
            let is_quoted = text[at] == b'"';
            at += usize::from(is_quoted);
            loop {
                match text[at] {
                    b'"' if is_quoted && text[at + 1] == b'"' => {
                        value.push(b'"');
                        at += 2;
                    }
                    b'"' if is_quoted => {
                        at += 1;
                        break;
                    }
                    b',' | b'\n' if !is_quoted => break,
                    byte => {
                        value.push(byte);
                        at += 1;
                    }
                }
            }
            record.push((is_quoted || !value.is_empty()).then_some(value));
            if text[at] == b'\n' {
                records.push(std::mem::take(&mut record));
            }
            at += 1;
        }
        records
    }

    fn written(kinds: &[ValueKind], rows: &[Vec<Option<Vec<u8>>>], cut: usize) -> (Vec<u8>, Vec<u64>) {
        let mut lines = Vec::new();
        for row in rows {
            for (index, value) in row.iter().enumerate() {
                if index > 0 {
                    lines.push(b'\t');
                }
                match value {
                    Some(value) => escape_into(&mut lines, value),
                    None => lines.extend_from_slice(b"\\N"),
                }
            }
            lines.push(b'\n');
        }
        let (mut csv, mut out) = (Csv::new(kinds.to_vec()), Vec::new());
        let (first, second) = lines.split_at(cut.min(lines.len()));
        csv.pass(first, &mut out);
        csv.pass(second, &mut out);
        (out, csv.invalid().to_vec())
    }

    proptest! {
        #[test]
        fn values_come_back_wherever_the_lines_are_cut(
            rows in prop::collection::vec((
                prop::option::of("[a,\"\t\n\\\\é日\u{1f600}N\u{0}]{0,8}"),
                prop::option::of(prop::collection::vec(any::<u8>(), 0..12)),
                prop::option::of("-?[0-9]{1,5}"),
            ), 0..5),
            cut in 0usize..100,
        ) {
            let bytes = |text: Option<String>| text.map(String::into_bytes);
            let mut rows: Vec<_> = rows.into_iter().map(|(a, b, c)| vec![bytes(a), b, bytes(c)]).collect();
            let (text, invalid) = written(&[ValueKind::Utf8, ValueKind::Bytes, ValueKind::Number], &rows, cut);
            for bytes in rows.iter_mut().filter_map(|row| row[1].as_mut()) {
                let mut shown = b"0x".to_vec();
                hex(bytes, &mut shown);
                *bytes = shown;
            }
            prop_assert_eq!(parsed(&text), rows);
            prop_assert_eq!(invalid, [0, 0, 0]);
        }

        #[test]
        fn a_geometry_is_the_same_wherever_it_is_cut(cut in 0usize..40) {
            let point = b"\xe6\x10\0\0\x01\x01\0\0\0\0\0\0\0\0\0\xf0?\0\0\0\0\0\0\0@";
            let (text, _) = written(&[ValueKind::Geometry], &[vec![Some(point.to_vec())]], cut);
            prop_assert_eq!(text, b"0101000020e6100000000000000000f03f0000000000000040\n");
        }
    }

    #[test]
    fn what_is_no_text_is_replaced_and_counted() {
        let rows = [vec![Some(b"a\xff\"b".to_vec())], vec![Some("é".into())], vec![Some(b"\xe9".to_vec())]];
        let (text, invalid) = written(&[ValueKind::Utf8], &rows, 0);
        assert_eq!(String::from_utf8(text).unwrap(), "\"a\u{fffd}\"\"b\"\n\"é\"\n\"\u{fffd}\"\n");
        assert_eq!(invalid, [2]);
    }

    #[test]
    fn geometries_without_srid_and_what_is_none() {
        let point = |srid: u8| Some([&[srid, 0, 0, 0, 1, 1, 0, 0, 0][..], &[0; 16]].concat());
        let rows = [vec![point(0)], vec![Some(b"\x01".to_vec())], vec![None]];
        let (text, _) = written(&[ValueKind::Geometry], &rows, 0);
        assert_eq!(String::from_utf8(text).unwrap(), format!("0101000000{}\n01\n\n", "00".repeat(16)));
    }
}
