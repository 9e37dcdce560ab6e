//! Rows on their way as INSERT statements of text, where the server takes neither files nor their values.

use drover_db::Connection;

use super::loaded::Loaded;
use super::way::{BATCH, PIECE, Rows};
use crate::error::Doing;
use crate::{Error, Result};
use drover_format::literals::Literals;

/// Bytes of a statement where the answer comes at once: one of 256 KiB takes the server half as much time again for each row (measured with
/// MySQL 9.7.4).
const NEAR_BATCH: usize = 16 << 10;

/// Rows on their way.
pub(crate) struct Inserts {
    /// Up to the first row.
    head: Vec<u8>,
    lines: Literals,
    /// Bytes that a statement may have, and about how many it has.
    most: usize,
    batch: usize,
    rows: u64,
    pub(super) loaded: Loaded,
}

impl Inserts {
    /// `most` is how many bytes a statement may have.
    pub(super) fn new(rows: Rows<'_>, most: usize) -> Self {
        Self {
            head: rows.insert_head(),
            lines: Literals::new(rows.columns, rows.as_text),
            most,
            batch: if rows.is_near { NEAR_BATCH } else { BATCH },
            rows: 0,
            loaded: Loaded::default(),
        }
    }

    pub(super) fn send(
        &mut self,
        connection: &mut Connection,
        text: &[u8],
        doing: &impl Fn() -> String,
    ) -> Result<()> {
        let batch = (self.most / 4).min(self.batch);
        for piece in text.chunks(PIECE.min(batch)) {
            self.lines.pass(piece);
            if self.lines.size() >= batch {
                self.execute(connection, doing)?;
            }
        }
        Ok(())
    }

    /// Runs statements of the rows that are whole.
    pub(super) fn execute(&mut self, connection: &mut Connection, doing: &impl Fn() -> String) -> Result<()> {
        if self.lines.is_malformed() {
            return Err(Error::found(format!("{}: a line has more or fewer fields than the table", doing())));
        }
        let room = self.most.saturating_sub(self.head.len() + 1);
        let mut from = 0;
        while from < self.lines.rows() {
            let (rows, next) = self.lines.some(from, room);
            if rows.len() > room {
                return Err(self.too_long(doing()));
            }
            let outcome = connection.execute([&self.head, rows].concat()).doing(doing)?;
            let loaded = Loaded::of(connection, &outcome).doing(doing)?;
            self.loaded.add(loaded, self.rows);
            self.rows += (next - from) as u64;
            from = next;
        }
        self.lines.forget();
        if self.lines.size() > room { Err(self.too_long(doing())) } else { Ok(()) }
    }

    fn too_long(&self, doing: String) -> Error {
        Error::with_hint(
            format!(
                "{doing}: row {} is longer than the server takes in a statement (max_allowed_packet: {} bytes)",
                self.rows + 1,
                self.most
            ),
            "SET GLOBAL max_allowed_packet to more, or local_infile = ON (--enable-local-infile)",
        )
    }
}
