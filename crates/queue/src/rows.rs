//! Rows of tasks as they come from a server, and as they go back to it.

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
    let mut stream = connection.stream(sql).doing(|| doing)?;
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
        row(fields)?;
        whole.clear();
    }
    Ok(())
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
