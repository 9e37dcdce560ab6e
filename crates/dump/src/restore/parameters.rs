//! Rows on their way as the values of prepared INSERT statements of many rows each, where the server takes no files and has no command for
//! many rows (MariaDB's bulk protocol). benchmarks/files measures it.

use drover_db::Connection;
use drover_db::wire::RowInserts;

use super::loaded::Loaded;
use super::way::{BATCH, LONGEST_ROW, PIECE, Rows};
use crate::error::Doing;
use crate::{Error, Result};
use drover_format::parameters::Parameters;

/// Rows on their way.
pub(crate) struct ManyValues {
    statements: RowInserts,
    lines: Parameters,
    loaded: Loaded,
}

impl ManyValues {
    pub(super) fn new(rows: Rows<'_>) -> Self {
        let head = format!("INSERT INTO {} ({}) VALUES ", rows.target, rows.names());
        Self {
            statements: RowInserts::new(head, rows.columns.len(), rows.is_near),
            lines: Parameters::new(rows.kinds),
            loaded: Loaded::default(),
        }
    }

    pub(super) fn send(
        &mut self,
        connection: &mut Connection,
        text: &[u8],
        doing: &impl Fn() -> String,
    ) -> Result<()> {
        text.chunks(PIECE).try_for_each(|piece| {
            self.lines.pass(piece);
            self.execute(connection, false, doing)
        })
    }

    /// Ends; `rest` is what came of the last rows.
    pub(super) fn end(
        self,
        connection: &mut Connection,
        rest: Result<()>,
        doing: impl Fn() -> String,
    ) -> Result<Loaded> {
        let closed = self.statements.close(connection);
        rest?;
        closed.doing(&doing)?;
        Ok(self.loaded)
    }

    /// Executes statements for the rows that wait: for as many as make up the largest statement, or for all.
    pub(super) fn execute(
        &mut self,
        connection: &mut Connection,
        all: bool,
        doing: &impl Fn() -> String,
    ) -> Result<()> {
        if self.lines.is_unfit() {
            return Err(Error::found(format!("{}: a line has another form than the table", doing())));
        }
        while let Some(outcome) = self.statements.execute(connection, self.lines.rows(), all).doing(doing)? {
            connection.check_in_transaction().doing(doing)?;
            let before = self.loaded.affected;
            self.loaded.add(Loaded::of(connection, &outcome).doing(doing)?, before);
        }
        self.lines.rows().forget();
        if self.loaded.warnings > 0 {
            return Err(Error::found(format!("{}: the server warns of values", doing())));
        }
        if self.lines.size() > BATCH + LONGEST_ROW {
            return Err(Error::found(format!("{}: a row is longer than {LONGEST_ROW} bytes", doing())));
        }
        Ok(())
    }
}
