//! Rows into a table by prepared INSERT statements, where a server takes no files: one statement for very many rows and one for a few, as rows
//! come.

use super::bulk::Prepared;
use super::connection::Connection;
use super::many_rows::ManyRows;
use super::reply::Outcome;
use crate::Result;

/// Values of one statement where the answer comes at once: more of them take the server more time each (measured with MySQL 9.7.4: 2000
/// values take it 0.42 s of processor time for 120,000 rows of ten columns, 10,000 values 0.52 s, 50,000 values 0.80 s).
const VALUES: usize = 2000;
/// The same where each answer is waited for; the protocol numbers 65,535.
const VALUES_FROM_AFAR: usize = 40_000;
/// Bytes of the values of a statement, about: one for a single row may have more.
const BATCH: usize = 256 << 10;

/// The statements that add rows to a table.
#[derive(Debug)]
pub struct RowInserts {
    /// Up to the first row.
    head: String,
    /// A row.
    row: String,
    /// How many rows the statements have, the most first and one last; each is prepared when it is needed.
    statements: Vec<(usize, Option<Prepared>)>,
}

impl RowInserts {
    /// `head` is the statement up to the first row, `INSERT INTO t (a, b) VALUES `, for so many columns. `is_near` says whether the server
    /// answers at once.
    pub fn new(head: String, columns: usize, is_near: bool) -> Self {
        let (values, columns) = (if is_near { VALUES } else { VALUES_FROM_AFAR }, columns.max(1));
        let most = (values / columns).max(1);
        let mut sizes: Vec<_> = [most, most / 4, most / 16, 1].into_iter().filter(|size| *size > 0).collect();
        sizes.dedup();
        Self {
            head,
            row: format!("({})", vec!["?"; columns].join(",")),
            statements: sizes.into_iter().map(|size| (size, None)).collect(),
        }
    }

    /// Executes a statement for rows that wait, the largest that there are enough for; `None` if none is, or unless `all` of them are to be
    /// sent, if more rows would make a larger one.
    ///
    /// # Errors
    /// What the server said, or that the connection is lost. Nothing of these rows is in then.
    pub fn execute(
        &mut self,
        connection: &mut Connection,
        rows: &mut ManyRows,
        all: bool,
    ) -> Result<Option<Outcome>> {
        let Some(at) = self.next(rows, all) else { return Ok(None) };
        let (size, statement) = &mut self.statements[at];
        let prepared = match statement.take() {
            Some(prepared) => prepared,
            None => connection.prepare(self.head.clone() + &vec![self.row.as_str(); *size].join(","))?,
        };
        let outcome = connection.execute_rows(&prepared, rows, *size)?;
        *statement = Some(prepared);
        Ok(Some(outcome))
    }

    /// Which statement is next, if there are rows for it.
    fn next(&self, rows: &ManyRows, all: bool) -> Option<usize> {
        let waiting = rows.rows();
        let is_enough = |size: usize| size <= waiting && (size == 1 || rows.size(size) <= BATCH);
        let at = self.statements.iter().position(|(size, _)| is_enough(*size))?;
        let is_more_to_come = at > 0 && waiting < self.statements[0].0 && rows.size(waiting) < BATCH;
        (all || !is_more_to_come).then_some(at)
    }

    /// Ends the statements.
    ///
    /// # Errors
    /// That the connection is lost.
    pub fn close(self, connection: &mut Connection) -> Result<()> {
        let mut prepared = self.statements.into_iter().filter_map(|(_, statement)| statement);
        prepared.try_for_each(|statement| connection.close(statement))
    }
}

#[cfg(test)]
mod tests {
    use super::super::binary::{ParameterKind, Value};
    use super::*;

    fn rows(count: usize, bytes: usize) -> ManyRows {
        let mut rows = ManyRows::new([ParameterKind::Bytes]);
        for _ in 0..count {
            rows.push(Value::Bytes(&vec![b'x'; bytes]));
            rows.end_row();
        }
        rows
    }

    #[test]
    fn the_largest_statement_that_rows_make_up_is_next() {
        let inserts = RowInserts::new("INSERT INTO t VALUES ".into(), 1, true);
        let sizes: Vec<_> = inserts.statements.iter().map(|(size, _)| *size).collect();
        assert_eq!(sizes, [2000, 500, 125, 1]);
        let next = |count, bytes, all| inserts.next(&rows(count, bytes), all).map(|at| sizes[at]);
        assert_eq!(next(0, 1, true), None);
        assert_eq!(next(1999, 1, false), None, "more make up the largest");
        assert_eq!(next(1999, 1, true), Some(500));
        assert_eq!(next(2500, 1, false), Some(2000));
        assert_eq!(next(124, 1, true), Some(1));
        assert_eq!(next(600, 1000, false), Some(125), "as much as a statement has");
        assert_eq!(next(1, 300 << 10, false), Some(1));
    }

    #[test]
    fn a_row_of_very_many_columns_has_a_statement_of_its_own() {
        let inserts = RowInserts::new(String::new(), 3000, true);
        assert_eq!(inserts.statements.iter().map(|(size, _)| *size).collect::<Vec<_>>(), [1]);
    }
}
