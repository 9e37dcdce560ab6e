//! INSERTs of many tasks, which no server finds too long: they are cut, and a large payload does not go to the server and back at all. As
//! text it may be twice as long as it is, so one that came in by itself need not fit into `max_allowed_packet` together with others, or
//! even alone; a statement that is too long ends the connection.

use drover_db::{Connection, quote};

/// A statement that is so long takes no more rows. With one more row it is shorter than a MB, the least that servers take as a rule.
const LONG: usize = 512 << 10;
/// A longer payload is copied by the server itself.
const LARGE: usize = 64 << 10;

/// A task's row.
#[derive(Debug)]
pub(crate) enum Row {
    /// In parentheses.
    Values(String),
    /// A SELECT that gives it.
    Copied(String),
}

impl Row {
    /// With what comes before and after the payload, as SQL; `origin` is where the payload lies on the server, such as `t WHERE id = 1`.
    pub(crate) fn new(
        before: &str,
        payload: Option<&str>,
        after: &str,
        origin: impl FnOnce() -> String,
    ) -> Self {
        match payload {
            Some(large) if large.len() > LARGE => {
                Self::Copied(format!("SELECT {before}, payload, {after} FROM {}", origin()))
            }
            Some(small) => Self::Values(format!("({before},{},{after})", quote::string(small))),
            None => Self::Values(format!("({before},NULL,{after})")),
        }
    }
}

/// The statements for one table.
pub(crate) struct Inserts {
    /// `INSERT INTO …`, without the rows.
    head: String,
    statements: Vec<String>,
    /// Whether the last statement takes more rows.
    is_open: bool,
}

impl Inserts {
    pub(crate) fn new(table: &str, columns: &str) -> Self {
        Self { head: format!("INSERT INTO {table} ({columns})"), statements: Vec::new(), is_open: false }
    }

    pub(crate) fn push(&mut self, row: &Row) {
        let row = match row {
            Row::Values(row) => row,
            Row::Copied(select) => {
                self.statements.push(format!("{} {select}", self.head));
                self.is_open = false;
                return;
            }
        };
        match self.statements.last_mut().filter(|_| self.is_open) {
            Some(statement) => {
                statement.push(',');
                statement.push_str(row);
                self.is_open = statement.len() < LONG;
            }
            None => {
                self.statements.push(format!("{} VALUES {row}", self.head));
                self.is_open = row.len() < LONG;
            }
        }
    }

    /// Runs them, in the transaction that is open; how many rows came.
    pub(crate) fn run(&self, connection: &mut Connection) -> drover_db::Result<u64> {
        self.statements.iter().try_fold(0, |rows, sql| Ok(rows + connection.execute(sql)?.affected))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_statement_is_long_and_large_payloads_are_copied() {
        let mut inserts = Inserts::new("t", "a, payload, b");
        let some = "x".repeat(50_000);
        let large = "\"".repeat(LARGE + 1);
        for payload in [Some(&*some); 30].into_iter().chain([Some(&*large), None, Some("'")]) {
            inserts.push(&Row::new("1", payload, "2", || "s WHERE id = 7".into()));
        }
        assert!(inserts.statements.iter().all(|sql| sql.len() < LONG + 2 * LARGE));
        let rows: usize = inserts.statements.iter().map(|sql| sql.matches(",2)").count()).sum();
        assert_eq!(rows, 32, "and the one that is copied");
        let [.., copied, last] = &*inserts.statements else { panic!() };
        assert_eq!(copied, "INSERT INTO t (a, payload, b) SELECT 1, payload, 2 FROM s WHERE id = 7");
        assert_eq!(last, "INSERT INTO t (a, payload, b) VALUES (1,NULL,2),(1,'''',2)");
    }
}
