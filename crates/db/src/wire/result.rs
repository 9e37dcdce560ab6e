//! Small results, read whole: what the catalogue and the variables hold.

use std::str::FromStr;

/// A row that was read whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row(Vec<Option<Vec<u8>>>);

impl Row {
    pub(crate) fn new(values: Vec<Option<Vec<u8>>>) -> Self {
        Self(values)
    }

    /// The bytes of column `index` (from 0); `None` for NULL and for a column that is not there.
    pub fn bytes(&self, index: usize) -> Option<&[u8]> {
        self.0.get(index)?.as_deref()
    }

    /// The text of column `index`; bytes that are not UTF-8 are replaced, so this is for names and messages, not data.
    pub fn text(&self, index: usize) -> Option<String> {
        self.bytes(index).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }

    /// The text of column `index`, empty for NULL.
    pub fn string(&self, index: usize) -> String {
        self.text(index).unwrap_or_default()
    }

    /// Column `index` as a number or another type that is read from text; `None` if it is NULL or not of that type.
    pub fn parse<T: FromStr>(&self, index: usize) -> Option<T> {
        self.text(index)?.parse().ok()
    }

    /// How many columns it has.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it has no columns.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A result that was read whole.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rows {
    /// The columns' names.
    pub columns: Vec<String>,
    /// The rows, in the server's order.
    pub rows: Vec<Row>,
}

impl Rows {
    /// The place of the column called `name`, letter case apart.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.eq_ignore_ascii_case(name))
    }

    /// The first row.
    pub fn first(&self) -> Option<&Row> {
        self.rows.first()
    }

    /// The text of the first row's column called `name`.
    pub fn first_text(&self, name: &str) -> Option<String> {
        self.first()?.text(self.column(name)?)
    }
}

impl IntoIterator for Rows {
    type Item = Row;
    type IntoIter = std::vec::IntoIter<Row>;
    fn into_iter(self) -> Self::IntoIter {
        self.rows.into_iter()
    }
}
