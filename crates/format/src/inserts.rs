//! Rows as INSERT statements of many rows, each on a line of its own. `inserts/reader.rs` makes lines of them again.
//!
//! A value in quotes has the escapes of its line, which mean the same there, and its quotes doubled: so each form is made of the
//! other without being understood. `_binary` before it says that its bytes are those of the column's own character set. A session whose own
//! character set were `binary` would need no such word, but MySQL 5.7 and later read expressions of the table in it (boundaries of partitions,
//! generated columns) when they open the table, and put rows elsewhere.

mod reader;

use drover_db::table::ValueKind;
use drover_db::{Vendor, quote};

use super::fields::{Fields, Form};
use super::manifest::{Column, Table};
use super::utf8::Utf8;

pub(super) use reader::Reader;

/// A statement ends with the row that makes it longer than this many bytes.
const STATEMENT: u64 = 1 << 20;

/// Lets MariaDB take the error value of an ENUM.
const LOOSELY: &[u8] = b"SET STATEMENT sql_mode = 'NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES' FOR ";

/// Turns lines into statements.
#[derive(Debug)]
pub struct Inserts {
    fields: Fields,
    statements: Statements,
}

impl Inserts {
    /// For a table whose columns hold values of these kinds, and where these texts in these columns stand for the error value of
    /// an ENUM.
    pub fn new(
        vendor: Vendor,
        table: &Table,
        kinds: &[ValueKind],
        error_marks: Vec<(usize, Vec<u8>)>,
    ) -> Self {
        let columns: Vec<_> =
            table.columns.iter().zip(kinds).map(|(column, kind)| Written::new(column, *kind)).collect();
        let computed = vec!["DEFAULT"; table.computed.len()].join(",");
        let comma = if columns.is_empty() || computed.is_empty() { "" } else { "," };
        let statements = Statements {
            head: head(table),
            row_end: format!("{comma}{computed})"),
            invalid: vec![0; columns.len()],
            columns,
            error_marks: if vendor == Vendor::MariaDb { error_marks } else { Vec::new() },
            is_loose: false,
            utf8: Utf8::of(vendor),
            is_invalid: false,
            is_quoted: false,
            began: None,
            written: 0,
            longest: 0,
        };
        Self { fields: Fields::default(), statements }
    }

    /// Appends what the next piece of the lines comes to; what `out` holds already counts as written.
    pub(super) fn pass(&mut self, lines: &[u8], out: &mut Vec<u8>) {
        self.fields.pass(&mut self.statements, lines, out);
        self.statements.written += out.len() as u64;
    }

    /// Appends what ends the last statement.
    pub(super) fn finish(&mut self, out: &mut Vec<u8>) {
        if self.statements.began.is_some() {
            self.statements.end(out);
        }
    }

    /// How many values of each column are no valid text, as far as it is seen here.
    pub(super) fn invalid(&self) -> &[u64] {
        &self.statements.invalid
    }

    /// Bytes of the longest statement.
    pub(super) fn longest(&self) -> u64 {
        self.statements.longest
    }
}

/// What every statement begins with, up to its first row.
fn head(table: &Table) -> Vec<u8> {
    let names = table.columns.iter().map(|column| &column.name).chain(&table.computed);
    let names: Vec<_> = names.map(|name| quote::identifier(name)).collect();
    format!("INSERT INTO {} ({}) VALUES\n", quote::identifier(&table.name), names.join(",")).into_bytes()
}

/// How the values of a column are written.
#[derive(Debug)]
struct Written {
    kind: ValueKind,
    /// What stands before and behind a value, with its quotes.
    open: Vec<u8>,
    close: Vec<u8>,
}

impl Written {
    fn new(column: &Column, kind: ValueKind) -> Self {
        let expression = column.load.as_deref().unwrap_or("@value");
        let (before, behind) = expression.split_once("@value").unwrap_or_default();
        let mark = if matches!(kind, ValueKind::Number | ValueKind::Word) { "" } else { "_binary" };
        Self { kind, open: format!("{before}{mark}'").into_bytes(), close: format!("'{behind}").into_bytes() }
    }
}

#[derive(Debug)]
struct Statements {
    head: Vec<u8>,
    columns: Vec<Written>,
    row_end: String,
    /// What MariaDB takes only if it is not strict.
    error_marks: Vec<(usize, Vec<u8>)>,
    /// Whether the statement at hand may hold it.
    is_loose: bool,
    invalid: Vec<u64>,
    utf8: Utf8,
    /// Whether the value at hand is invalid, and whether it is in quotes.
    is_invalid: bool,
    is_quoted: bool,
    /// Where the statement at hand began, if there is one; bytes written before those at hand.
    began: Option<u64>,
    written: u64,
    longest: u64,
}

impl Statements {
    /// Whether the row that `text` begins with has the error value of an ENUM; of a row that is not whole nobody knows.
    fn may_have_error(&self, text: &[u8]) -> bool {
        let Some(end) = text.iter().position(|&byte| byte == b'\n') else { return true };
        let mut fields = text[..end].split(|&byte| byte == b'\t').enumerate();
        fields.any(|(column, field)| self.error_marks.iter().any(|(at, mark)| *at == column && mark == field))
    }

    fn at(&self, out: &[u8]) -> u64 {
        self.written + out.len() as u64
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(b";\n");
        let began = self.began.take().unwrap_or_default();
        self.longest = self.longest.max(self.at(out) - began);
    }
}

impl Form for Statements {
    const MARKS: [u8; 2] = [b'\''; 2];

    fn begin_row(&mut self, text: &[u8], out: &mut Vec<u8>) {
        let is_loose = !self.error_marks.is_empty() && self.may_have_error(text);
        if self.began.is_some() && is_loose != self.is_loose {
            self.end(out);
        }
        if self.began.is_some() {
            out.extend_from_slice(b",\n(");
            return;
        }
        (self.began, self.is_loose) = (Some(self.at(out)), is_loose);
        if is_loose {
            out.extend_from_slice(LOOSELY);
        }
        out.extend_from_slice(&self.head);
        out.push(b'(');
    }

    #[inline]
    fn null(&mut self, _column: usize, out: &mut Vec<u8>) {
        out.extend_from_slice(b"NULL");
    }

    #[inline]
    fn begin_value(&mut self, column: usize, text: &[u8], out: &mut Vec<u8>) {
        // A table in which the server computes every column has lines all the same.
        let Some(written) = self.columns.get(column) else { return };
        // The number -0 has no sign.
        let may_be_minus_zero = matches!(text, [b'-'] | [b'-', b'0', ..]);
        self.is_quoted = written.kind != ValueKind::Number || may_be_minus_zero;
        self.is_invalid = false;
        if self.is_quoted {
            out.extend_from_slice(&written.open);
        }
    }

    #[inline]
    fn piece(&mut self, column: usize, bytes: &[u8], cut: bool, out: &mut Vec<u8>) {
        let Some(written) = self.columns.get(column) else { return };
        out.extend_from_slice(bytes);
        let is_valid = match written.kind {
            ValueKind::Utf8 => self.utf8.pass(bytes, cut, &mut ()),
            ValueKind::Utf8mb3 => {
                self.utf8.pass(bytes, cut, &mut ()) && bytes.iter().all(|&byte| byte < 0xf0)
            }
            _ => true,
        };
        self.is_invalid |= !is_valid;
    }

    fn mark(&mut self, _column: usize, _mark: u8, out: &mut Vec<u8>) {
        self.is_invalid |= !self.utf8.end(&mut ());
        out.extend_from_slice(b"''");
    }

    #[inline]
    fn end_value(&mut self, column: usize, out: &mut Vec<u8>) {
        let Some(written) = self.columns.get(column) else { return };
        if self.is_quoted {
            out.extend_from_slice(&written.close);
        }
        self.is_invalid |= !self.utf8.end(&mut ());
        self.invalid[column] += u64::from(self.is_invalid);
    }

    #[inline]
    fn between(&mut self, out: &mut Vec<u8>) {
        out.push(b',');
    }

    #[inline]
    fn end_row(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.row_end.as_bytes());
        if self.at(out) - self.began.unwrap_or_default() >= STATEMENT {
            self.end(out);
        }
    }
}

#[cfg(test)]
mod tests;
