//! Rows of tasks as they come from a server, and as they go back to it.

use std::ops::ControlFlow;

use drover_db::wire::{LargeRow, RawRow, next_field};
use drover_db::{Connection, quote};

use crate::error::Doing;
use crate::{Error, Result};

/// Reads the rows of a statement with `N` columns, one after the other.
pub(crate) fn each<const N: usize>(
    connection: &mut Connection,
    sql: &str,
    doing: &str,
    mut row: impl FnMut([Option<&str>; N]) -> Result<()>,
) -> Result<()> {
    each_while(connection, sql, doing, |fields| row(fields).map(ControlFlow::Continue))
}

/// Reads rows as long as `row` wants more; passes over those that are left.
pub(crate) fn each_while<const N: usize>(
    connection: &mut Connection,
    sql: &str,
    doing: &str,
    row: impl FnMut([Option<&str>; N]) -> Result<ControlFlow<()>>,
) -> Result<()> {
    connection.ask(sql).doing(|| doing)?;
    each_asked(connection, doing, row)
}

/// The same of a statement that was sent before.
pub(crate) fn each_asked<const N: usize>(
    connection: &mut Connection,
    doing: &str,
    mut row: impl FnMut([Option<&str>; N]) -> Result<ControlFlow<()>>,
) -> Result<()> {
    let mut stream = connection.answer().doing(|| doing)?;
    let mut whole = Vec::new();
    while let Some(next) = stream.next_row().doing(|| doing)? {
        let mut fields = [None; N];
        match next {
            RawRow::Whole(mut payload) => {
                for field in &mut fields {
                    let value = next_field(&mut payload).ok_or_else(|| short(doing))?;
                    *field = value.bytes().map(|bytes| text(bytes, doing)).transpose()?;
                }
            }
            RawRow::Large(large) => {
                whole = gather::<N>(large).map_err(|source| Error::found(format!("{doing}: {source}")))?;
                for (field, bytes) in fields.iter_mut().zip(&whole) {
                    *field = bytes.as_deref().map(|bytes| text(bytes, doing)).transpose()?;
                }
            }
        }
        if row(fields)?.is_break() {
            break;
        }
        whole.clear();
    }
    stream.finish().doing(|| doing)?;
    Ok(())
}

/// Keeps what is read at once to some megabytes: how many rows are asked for depends on how large those before them were.
#[derive(Debug, Clone)]
pub(crate) struct Budget {
    /// Bytes of a row.
    row: usize,
    /// Bytes of the rows that were read of the present statement, and how many these are.
    bytes: usize,
    rows: usize,
}

impl Budget {
    /// So many bytes are read at once, and one row more.
    const BYTES: usize = 8 << 20;
    /// What is assumed of rows before the first one is seen.
    const UNSEEN: usize = 128 << 10;
    const SMALLEST: usize = 128;

    pub(crate) fn new() -> Self {
        Self { row: Self::UNSEEN, bytes: 0, rows: 0 }
    }

    /// How many rows to ask for.
    pub(crate) fn begin(&mut self, most: usize) -> usize {
        (self.bytes, self.rows) = (0, 0);
        (Self::BYTES / self.row).clamp(1, most.max(1))
    }

    /// A row with so many bytes of payload was read; whether to go on.
    pub(crate) fn goes_on(&mut self, payload: Option<&str>) -> ControlFlow<()> {
        self.bytes += payload.map_or(0, str::len);
        self.rows += 1;
        self.row = (self.bytes / self.rows).max(Self::SMALLEST);
        if self.bytes >= Self::BYTES { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

fn gather<const N: usize>(mut row: LargeRow<'_>) -> std::io::Result<Vec<Option<Vec<u8>>>> {
    let mut fields = Vec::with_capacity(N);
    for _ in 0..N {
        if row.next_field()?.is_none() {
            fields.push(None);
            continue;
        }
        let mut value = Vec::new();
        loop {
            let piece = row.piece()?;
            if piece.is_empty() {
                break;
            }
            value.extend_from_slice(piece);
        }
        fields.push(Some(value));
    }
    Ok(fields)
}

fn text<'a>(bytes: &'a [u8], doing: &str) -> Result<&'a str> {
    std::str::from_utf8(bytes)
        .map_err(|_| Error::found(format!("{doing}: the server sent text that is not UTF-8")))
}

fn short(doing: &str) -> Error {
    Error::found(format!("{doing}: the server sent a row with too few columns"))
}

/// A number of a row; 0 where there is none.
pub(crate) fn number<T: std::str::FromStr + Default>(field: Option<&str>) -> T {
    field.and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// A text as SQL, or NULL.
pub(crate) fn or_null(text: Option<&str>) -> String {
    text.map_or_else(|| "NULL".into(), quote::string)
}

/// Numbers with commas between.
pub(crate) fn list(numbers: impl IntoIterator<Item = u64>) -> String {
    let texts: Vec<_> = numbers.into_iter().map(|number| number.to_string()).collect();
    texts.join(",")
}

/// What stands between this row and the ones before it.
pub(crate) fn comma(text: &str) -> &'static str {
    if text.is_empty() { "" } else { "," }
}
