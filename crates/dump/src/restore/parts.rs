//! Rows of a file on their way into a server that limits its transactions: TiDB keeps what a transaction has written in memory, and ends it
//! beyond a limit (its manual: "Transaction overview", size limit; `tidb_mem_quota_query`). They are committed in parts there. A table that
//! came in parts is begun anew by a run that goes on, as one without transactions is.

use drover_db::{Connection, Server};

use super::inflow::Inflow;
use super::loaded::Loaded;
use super::way::{Rows, Way};
use crate::Result;
use crate::error::Doing;
use drover_format::manifest::Table;

/// Text that is committed together, in bytes. What TiDB counts is several times as much: the keys, and what it needs to find them.
const PART: u64 = 16 << 20;

/// Whether a table's rows come in parts.
pub(crate) fn are_needed(server: &Server, table: &Table) -> bool {
    server.is_tidb() && table.files.iter().any(|file| file.bytes > PART)
}

/// Rows on their way, in the transaction that is open.
pub(super) struct Parts<'a> {
    way: Way,
    rows: Rows<'a>,
    /// Whether they are committed part by part.
    is_cut: bool,
    inflow: Option<Inflow>,
    /// Bytes of the part that is open.
    open: u64,
    /// What came of those that are committed.
    committed: Loaded,
}

impl<'a> Parts<'a> {
    /// Makes the server wait for lines.
    pub(super) fn begin(
        connection: &mut Connection,
        way: Way,
        rows: Rows<'a>,
        is_cut: bool,
    ) -> drover_db::Result<Self> {
        let inflow = Some(Inflow::begin(connection, way, rows)?);
        Ok(Self { way, rows, is_cut, inflow, open: 0, committed: Loaded::default() })
    }

    /// Sends the next piece of the lines.
    pub(super) fn send(
        &mut self,
        connection: &mut Connection,
        text: &[u8],
        doing: impl Fn() -> String,
    ) -> Result<()> {
        let Some(end) = self.end_of_part(text) else { return self.pass(connection, text, doing) };
        let (part, next) = text.split_at(end);
        self.pass(connection, part, &doing)?;
        self.commit(connection, &doing)?;
        self.pass(connection, next, doing)
    }

    /// Where the part ends, if it is large enough and a line ends here: within a row a newline is escaped.
    fn end_of_part(&self, text: &[u8]) -> Option<usize> {
        let is_full = self.is_cut && self.open + text.len() as u64 > PART;
        is_full.then(|| text.iter().rposition(|&byte| byte == b'\n').map(|last| last + 1)).flatten()
    }

    fn pass(&mut self, connection: &mut Connection, text: &[u8], doing: impl Fn() -> String) -> Result<()> {
        self.open += text.len() as u64;
        match &mut self.inflow {
            Some(inflow) => inflow.send(connection, text, doing),
            None => Ok(()), // it was refused
        }
    }

    fn commit(&mut self, connection: &mut Connection, doing: &impl Fn() -> String) -> Result<()> {
        let Some(inflow) = self.inflow.take() else { return Ok(()) };
        let loaded = inflow.end(connection, doing)?;
        for sql in ["COMMIT", "START TRANSACTION"] {
            connection.execute(sql).doing(doing)?;
        }
        let before = self.committed.affected;
        self.committed.add(loaded, before);
        self.inflow = Some(Inflow::begin(connection, self.way, self.rows).doing(doing)?);
        self.open = 0;
        Ok(())
    }

    /// Whether a part is committed: then the file cannot come once more.
    pub(super) fn has_committed(&self) -> bool {
        self.committed.affected > 0
    }

    /// Ends, also after an error, so that the connection stays usable; tells what the server did with the lines of all parts.
    pub(super) fn end(mut self, connection: &mut Connection, doing: impl Fn() -> String) -> Result<Loaded> {
        if let Some(inflow) = self.inflow.take() {
            let loaded = inflow.end(connection, doing)?;
            let before = self.committed.affected;
            self.committed.add(loaded, before);
        }
        Ok(self.committed)
    }
}
