//! Rows on their way as the values of prepared INSERT statements of many rows each, where the server takes no files and has no command for
//! many rows (MariaDB's bulk protocol). benchmarks/files measures it.

use drover_db::Connection;
use drover_db::wire::Prepared;

use super::inflow::{BATCH, LONGEST_ROW, Loaded, PIECE, Rows};
use crate::error::Doing;
use crate::format::parameters::Parameters;
use crate::{Error, Result};

/// Values of one statement where the answer comes at once: more of them take the server more time each (measured with MySQL 9.7.4: 2000
/// values take it 0.42 s of processor time for 120,000 rows of ten columns, 10,000 values 0.52 s, 50,000 values 0.80 s).
const VALUES: usize = 2000;
/// The same where each answer is waited for; the protocol numbers 65,535.
const VALUES_FROM_AFAR: usize = 40_000;

/// Rows on their way.
pub(crate) struct ManyValues {
    /// Up to the first row.
    head: String,
    /// A row.
    row: String,
    /// How many rows the statements have, the most first and one last; each is prepared when it is needed.
    statements: Vec<(usize, Option<Prepared>)>,
    lines: Parameters,
    loaded: Loaded,
}

impl ManyValues {
    pub(super) fn new(rows: Rows<'_>) -> Self {
        let values = if rows.is_near { VALUES } else { VALUES_FROM_AFAR };
        let columns = rows.columns.len().max(1);
        let most = (values / columns).max(1);
        let mut sizes: Vec<_> = [most, most / 4, most / 16, 1].into_iter().filter(|size| *size > 0).collect();
        sizes.dedup();
        Self {
            head: format!("INSERT INTO {} ({}) VALUES ", rows.target, rows.names()),
            row: format!("({})", vec!["?"; columns].join(",")),
            statements: sizes.into_iter().map(|size| (size, None)).collect(),
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
        let mut prepared = self.statements.into_iter().filter_map(|(_, statement)| statement);
        let closed = prepared.try_for_each(|statement| connection.close(statement));
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
        while let Some(at) = self.next(all) {
            let size = self.statements[at].0;
            let statement = self.prepared(connection, at).doing(doing)?;
            let outcome = connection.execute_rows(&statement, self.lines.rows(), size).doing(doing)?;
            self.statements[at].1 = Some(statement);
            connection.check_in_transaction().doing(doing)?;
            let before = self.loaded.affected;
            self.loaded.add(Loaded::of(connection, &outcome).doing(doing)?, before);
        }
        self.lines.rows().forget();
        if self.loaded.warnings > 0 {
            return Err(Error::found(format!("{}: the server warns of values", doing())));
        }
        if self.lines.len() > BATCH + LONGEST_ROW {
            return Err(Error::found(format!("{}: a row is longer than {LONGEST_ROW} bytes", doing())));
        }
        Ok(())
    }

    /// Which statement is next, if there are rows for it.
    fn next(&mut self, all: bool) -> Option<usize> {
        let rows = self.lines.rows();
        let waiting = rows.rows();
        let is_enough = |size: usize| size <= waiting && (size == 1 || rows.size(size) <= BATCH);
        let at = self.statements.iter().position(|(size, _)| is_enough(*size))?;
        let is_more_to_come = at > 0 && waiting < self.statements[0].0 && rows.size(waiting) < BATCH;
        (all || !is_more_to_come).then_some(at)
    }

    fn prepared(&mut self, connection: &mut Connection, at: usize) -> drover_db::Result<Prepared> {
        let (size, statement) = &mut self.statements[at];
        match statement.take() {
            Some(statement) => Ok(statement),
            None => connection.prepare(self.head.clone() + &vec![self.row.as_str(); *size].join(",")),
        }
    }
}
