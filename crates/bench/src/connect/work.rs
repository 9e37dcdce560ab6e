//! What a session does between its login and its end.

use drover_db::Connection;
use serde::Serialize;

use crate::{Error, Result};

/// The schema of a private server that holds what sessions read.
pub(super) const SCHEMA: &str = "drover_bench";

/// What a session does. Some buffers are allocated by some statements only, so that a setting is judged by one that uses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// Nothing
    Connect,
    /// The statement of --query
    #[default]
    Query,
    /// Read the first row of a large MyISAM table, without an index: uses read_buffer_size, on MariaDB
    Scan,
    /// Sort 1,000 rows: uses sort_buffer_size
    Sort,
    /// Join two tables without an index: uses join_buffer_size
    Join,
    /// Group 1,000 rows in a temporary table in memory
    Group,
}

/// More than the 5 MiB of the buffer that is asked about most: a buffer is never larger than the file.
const SCANNED_ROWS: u32 = 16_384;
/// Rows of fixed length: CHAR takes 255 characters at most.
const SCANNED_COLUMNS: &str = "number INT, a CHAR(250), b CHAR(250), c CHAR(250), d CHAR(250)";
/// Rows that are sorted, joined and grouped.
const SMALL_ROWS: u32 = 1000;
/// As many rows in one INSERT.
const AT_ONCE: u32 = 1024;

impl Work {
    /// The statement, if there is one; `query` is that of the command line.
    pub(super) fn statement(self, query: &str) -> Option<String> {
        let rows = format!("{SCHEMA}.few");
        match self {
            Self::Connect => None,
            Self::Query => Some(query.to_owned()),
            Self::Scan => Some(format!("SELECT number FROM {SCHEMA}.many LIMIT 1")),
            Self::Sort => Some(format!("SELECT number FROM {rows} ORDER BY word, number")),
            Self::Join => Some(format!(
                "SELECT COUNT(*) FROM (SELECT number FROM {rows} LIMIT 100) a JOIN {rows} b ON b.number = a.number + 1"
            )),
            Self::Group => Some(format!("SELECT word, COUNT(*) FROM {rows} GROUP BY word")),
        }
    }

    /// Makes the tables that the statement reads.
    ///
    /// # Errors
    /// If the server refuses them, as where an engine is disabled.
    pub(super) fn prepare(self, root: &mut Connection, seed: u64) -> Result<()> {
        let doing = format!("making the tables of --work on the private server, in schema {SCHEMA}");
        let mut run = |sql: String| root.execute(sql).map(drop).map_err(Error::server(&*doing));
        let (table, definition, rows) = match self {
            Self::Connect | Self::Query => return Ok(()),
            Self::Scan => ("many", format!("({SCANNED_COLUMNS}) ENGINE=MyISAM"), SCANNED_ROWS),
            Self::Sort | Self::Join | Self::Group => (
                "few",
                "(id INT PRIMARY KEY, number INT, word VARCHAR(64)) ENGINE=InnoDB".to_owned(),
                SMALL_ROWS,
            ),
        };
        run(format!("CREATE SCHEMA {SCHEMA}"))?;
        // One byte a character, so that CHAR is as long as it says.
        run(format!("CREATE TABLE {SCHEMA}.{table} {definition} CHARACTER SET latin1"))?;
        let mut random = fastrand::Rng::with_seed(seed);
        for first in (0..rows).step_by(AT_ONCE as usize) {
            let values = (first..rows.min(first + AT_ONCE)).map(|id| self.row(id, &mut random));
            let values = values.collect::<Vec<_>>().join(", ");
            run(format!("INSERT INTO {SCHEMA}.{table} VALUES {values}"))?;
        }
        // Else the first sessions would find another plan than the later ones.
        run(format!("ANALYZE TABLE {SCHEMA}.{table}"))
    }

    fn row(self, id: u32, random: &mut fastrand::Rng) -> String {
        let (number, word) = (random.u32(..SMALL_ROWS), random.u32(..SMALL_ROWS / 10));
        match self {
            Self::Scan => format!("({number}, 'word {word}', '', '', '')"),
            _ => format!("({id}, {number}, 'word {word}')"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_query_is_the_persons_own() {
        assert_eq!(Work::Query.statement("DO 1").as_deref(), Some("DO 1"));
        assert_eq!(Work::Connect.statement("DO 1"), None);
        assert!(Work::Scan.statement("DO 1").unwrap().contains("drover_bench.many"));
    }

    #[test]
    fn the_scanned_table_is_larger_than_the_buffers_that_people_set() {
        let characters = SCANNED_COLUMNS.matches("CHAR(250)").count() as u32 * 250;
        assert!(SCANNED_ROWS * characters > 16_000_000);
    }
}
