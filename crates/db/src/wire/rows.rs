//! Rows as they come, and what they may take in memory where they are read whole.

use std::io;

use mysql_common::packets::Column;

use super::connection::{Connection, State, is_end};
use super::fields::next_field;
use super::packet::{ERROR, LargeRow, Next, malformed, short_row};
use super::reply::{Outcome, server_error};
use super::result::Row;
use crate::Result;

/// What the rows of a result that is read whole may take in memory, in bytes. The columns of a million tables take less.
pub(super) const MAX_RESULT: usize = 1 << 30;
/// What a value takes beside its bytes.
pub(super) const PER_VALUE: usize = 40;

/// The rows of a statement, as they come. Dropped before its end, it leaves the connection unusable on purpose: what is
/// left may be gigabytes.
pub struct RowStream<'a> {
    pub(super) connection: &'a mut Connection,
    pub(super) columns: Vec<Column>,
    pub(super) done: Option<Outcome>,
}

impl RowStream<'_> {
    /// The columns' descriptions.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The next row; `None` after the last.
    ///
    /// # Errors
    /// What the server said, or that the connection is lost.
    #[inline]
    pub fn next_row(&mut self) -> Result<Option<RawRow<'_>>> {
        if self.done.is_some() {
            return Ok(None);
        }
        match self.connection.packets.next() {
            Ok(Next::Whole(range)) => {
                let payload = self.connection.packets.bytes(range.clone());
                if is_end(payload) {
                    let warnings =
                        payload.get(1..3).map_or(0, |bytes| u16::from_le_bytes([bytes[0], bytes[1]]));
                    self.done = Some(Outcome { warnings, ..Outcome::default() });
                    self.connection.state = State::Ready;
                    return Ok(None);
                }
                if payload.first() == Some(&ERROR) {
                    let error = server_error(payload);
                    self.connection.state = State::Ready;
                    return Err(error.into());
                }
                Ok(Some(RawRow::Whole(self.connection.packets.bytes(range))))
            }
            Ok(Next::Large) => Ok(Some(RawRow::Large(LargeRow::new(&mut self.connection.packets)))),
            Err(source) => Err(self.connection.lost(source)),
        }
    }

    /// Reads past the rows that are left.
    ///
    /// # Errors
    /// What the server said, or that the connection is lost.
    pub fn finish(mut self) -> Result<Outcome> {
        while self.next_row()?.is_some() {}
        Ok(self.done.unwrap_or_default())
    }
}

/// A row as it came.
pub enum RawRow<'a> {
    /// The payload, for [`super::next_field`].
    Whole(&'a [u8]),
    /// A row larger than the receive buffer.
    Large(LargeRow<'a>),
}

impl RawRow<'_> {
    /// The values of a row of `columns` columns; what they take in memory is taken off `left`.
    pub(super) fn into_values(self, columns: usize, left: &mut usize) -> io::Result<Row> {
        let mut values = Vec::with_capacity(columns);
        take(left, columns * PER_VALUE)?;
        match self {
            Self::Whole(mut payload) => {
                take(left, payload.len())?;
                for _ in 0..columns {
                    let field = next_field(&mut payload).ok_or_else(short_row)?;
                    values.push(field.bytes().map(<[u8]>::to_vec));
                }
                if !payload.is_empty() {
                    return Err(malformed("a row with more fields than columns"));
                }
            }
            Self::Large(mut row) => {
                for _ in 0..columns {
                    let is_null = row.next_field()?.is_none();
                    values.push(if is_null { None } else { Some(whole_field(&mut row, left)?) });
                }
            }
        }
        Ok(Row::new(values))
    }
}

/// Takes so much off what is left of a result's memory.
pub(super) fn take(left: &mut usize, bytes: usize) -> io::Result<()> {
    *left = left.checked_sub(bytes).ok_or_else(|| malformed("more rows than are read into memory, 1 GiB"))?;
    Ok(())
}

fn whole_field(row: &mut LargeRow<'_>, left: &mut usize) -> io::Result<Vec<u8>> {
    let mut value = Vec::new();
    loop {
        let piece = row.piece()?;
        if piece.is_empty() {
            return Ok(value);
        }
        take(left, piece.len())?;
        value.extend_from_slice(piece);
    }
}
