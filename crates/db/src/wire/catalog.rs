//! Questions to the server's catalogue.

use super::{Connection, Rows};
use crate::{Result, er};

impl Connection {
    /// Reads what the server's catalogue says. Outside of a transaction it is asked anew where a change of a definition ended the statement, as one
    /// does that comes from another node of Galera (1213).
    ///
    /// # Errors
    /// What the server said, that the connection is lost, or that the rows have more than 1 GiB.
    pub fn query_catalog(&mut self, sql: impl AsRef<[u8]>) -> Result<Rows> {
        const RETRIES: usize = 5;
        for _ in 0..RETRIES {
            match self.query(sql.as_ref()) {
                Err(error) if error.code() == Some(er::LOCK_DEADLOCK) && !self.in_transaction => {}
                answer => return answer,
            }
        }
        self.query(sql)
    }
}
