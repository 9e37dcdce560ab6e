//! How far a run is, in a table on the server beside the one that is walked. Its row advances in the transaction of each part, so that a
//! part was done if and only if the table says so. The table is there from the first part until the report of the last one was printed;
//! who runs the same command again meanwhile goes on.

use std::collections::BTreeMap;
use std::path::PathBuf;

use drover_db::table::Name;
use drover_db::{Connection, er, quote};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::error::Doing;
use crate::{Error, Result};

/// How long to wait for the session of a run that was killed, in seconds: it may be at its last part still.
const PATIENCE: u32 = 10;

/// What a run is about; it stays the same from its beginning to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Task {
    /// As it was given.
    pub(crate) statement: String,
    /// With values in place of what tells the time.
    pub(crate) text: String,
    pub(crate) index: String,
    /// The key's columns.
    pub(crate) columns: Vec<String>,
    /// The key of the last row, as literals.
    pub(crate) end: Vec<String>,
    pub(crate) archive: Option<PathBuf>,
    /// The table that is walked.
    #[serde(default)]
    pub(crate) table: Option<String>,
    /// When the table was created, as the server tells it; another time is another table, or one that was rebuilt.
    #[serde(default)]
    pub(crate) created: Option<String>,
    /// What stands for the table in InnoDB: TRUNCATE does not change when it was created. `None` if the account may not see it.
    #[serde(default)]
    pub(crate) mark: Option<String>,
}

/// What was done so far.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Tally {
    /// The key of the last row that was passed, as literals.
    pub(crate) last: Option<Vec<String>>,
    pub(crate) rows: u64,
    pub(crate) walked: u64,
    pub(crate) binlog_bytes: u64,
    pub(crate) seconds: f64,
    pub(crate) waited: BTreeMap<String, f64>,
    pub(crate) max_lag_seconds: Option<f64>,
    pub(crate) archived_rows: u64,
    /// The archive's length.
    pub(crate) archived_bytes: u64,
    pub(crate) is_finished: bool,
}

/// The table of a run.
#[derive(Debug)]
pub(crate) struct State {
    table: Name,
    lock: String,
}

impl State {
    /// Of the run of a statement on a table, however the statement is spaced and its words are written.
    pub(crate) fn of(walked: &Name, statement: &str) -> Self {
        let id = xxh3_64(format!("{walked}\n{statement}").as_bytes());
        let lock = format!("drover_chunk_{id:016x}");
        Self { table: Name::new(&walked.schema, &lock), lock }
    }

    /// Keeps others from running the same; waits for the session of one that was killed. For as long as the connection lasts.
    ///
    /// # Errors
    /// If it is being run.
    pub(crate) fn lock(&self, connection: &mut Connection) -> Result<()> {
        let sql = format!("SELECT GET_LOCK({}, {PATIENCE})", quote::string(&self.lock));
        let row = connection.first(sql).doing(|| "making sure that nobody runs the same")?;
        match row.and_then(|row| row.parse::<u8>(0)) {
            Some(1) => Ok(()),
            _ => Err(self.taken(connection)),
        }
    }

    fn taken(&self, connection: &mut Connection) -> Error {
        let sql = format!("SELECT IS_USED_LOCK({})", quote::string(&self.lock));
        let id = connection.first(sql).ok().flatten().and_then(|row| row.text(0));
        let who = id.map(|id| format!(" (connection {id} of the server)")).unwrap_or_default();
        Error::with_hint(
            format!("this statement is being run by another drover{who}"),
            "wait until it ends; if it was killed and its session hangs, KILL that connection",
        )
    }

    /// Runs on the same table that were not finished, and that nobody is at: the statement of each, how many parts it has done, and the
    /// table that notes it. One that has done none is in nobody's way.
    ///
    /// # Errors
    /// What the server said.
    pub(crate) fn others(
        &self,
        connection: &mut Connection,
        walked: &Name,
    ) -> Result<Vec<(String, u64, String)>> {
        let sql = format!(
            "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = {} AND TABLE_NAME LIKE 'drover\\_chunk\\_%'",
            quote::string(&self.table.schema)
        );
        let rows = connection.query(sql).doing(|| "looking for runs that were not finished")?;
        let mut others = Vec::new();
        for name in rows.rows.iter().map(|row| row.string(0)).filter(|name| *name != self.table.name) {
            let lock = quote::string(&name);
            let other = Self { table: Name::new(&self.table.schema, &name), lock: name };
            let Ok(Some((task, tally, parts))) = other.read(connection) else { continue };
            let is_used = connection.first(format!("SELECT IS_USED_LOCK({lock})"));
            let is_used = is_used.doing(|| "looking for runs that were not finished")?;
            let is_used = is_used.is_some_and(|row| row.text(0).is_some());
            let is_of_table = task.table.as_ref().is_none_or(|table| *table == walked.to_string());
            if !is_used && !tally.is_finished && is_of_table && parts > 0 {
                others.push((task.statement, parts, other.name()));
            }
        }
        Ok(others)
    }

    /// The run that was begun earlier, if there is one, and how many parts it has done.
    ///
    /// # Errors
    /// What the server said, or that what the table holds is not to be understood.
    pub(crate) fn read(&self, connection: &mut Connection) -> Result<Option<(Task, Tally, u64)>> {
        let sql =
            format!("SELECT part, number, document FROM {} WHERE part IN ('task', 'state')", self.table);
        let rows = match connection.query(sql) {
            Err(error) if error.code() == Some(er::NO_SUCH_TABLE) => return Ok(None),
            other => other.doing(|| format!("reading {}", self.table))?,
        };
        let find = |part: &str| rows.rows.iter().find(|row| row.string(0) == part);
        let (Some(task), Some(state)) = (find("task"), find("state")) else { return Ok(None) };
        let parsed = |row: &drover_db::Row| row.bytes(2).unwrap_or_default().to_vec();
        let not_understood = |error: serde_json::Error| {
            Error::with_hint(
                format!("{} holds what this version does not understand: {error}", self.table),
                "finish that run with the version that began it, or drop the table to begin anew",
            )
        };
        let tally = serde_json::from_slice(&parsed(state)).map_err(not_understood)?;
        let task = serde_json::from_slice(&parsed(task)).map_err(not_understood)?;
        Ok(Some((task, tally, state.parse(1).unwrap_or(0))))
    }

    /// Begins a run.
    ///
    /// # Errors
    /// What the server said.
    pub(crate) fn begin(&self, connection: &mut Connection, task: &Task) -> Result<()> {
        let doing = || format!("creating {}, which notes how far the run is", self.table);
        connection
            .execute(format!(
                "CREATE TABLE IF NOT EXISTS {} (part VARCHAR(8) CHARACTER SET ascii NOT NULL PRIMARY KEY, number BIGINT UNSIGNED NOT \
                 NULL, document LONGBLOB) ENGINE = InnoDB",
                self.table
            ))
            .doing(doing)?;
        let begun = connection.execute(format!(
            "INSERT INTO {} (part, number, document) VALUES ('task', 0, {}), ('state', 0, {}), ('beat', 0, NULL)",
            self.table,
            document(task)?,
            document(&Tally::default())?
        ));
        match begun {
            // A lock by name keeps others out on one server only: another one has begun it on another node of the cluster.
            Err(error) if matches!(error.code(), Some(er::DUP_ENTRY | er::LOCK_DEADLOCK)) => {
                Err(Error::with_hint(
                    "this statement was begun by another drover at the same time, on another node of the cluster",
                    "wait until it ends; if it was killed, the same command resumes it",
                ))
            }
            other => other.map(drop).doing(doing),
        }
    }

    /// The statement that notes a part that is done, in its transaction; it changes one row.
    ///
    /// # Errors
    /// None that can be met: what was done can be written down.
    pub(crate) fn advance(&self, parts_before: u64, tally: &Tally) -> Result<String> {
        Ok(format!(
            "UPDATE {} SET number = {}, document = {} WHERE part = 'state' AND number = {parts_before}",
            self.table,
            parts_before + 1,
            document(tally)?
        ))
    }

    /// Writes a heartbeat.
    ///
    /// # Errors
    /// What the server said.
    pub(crate) fn beat(&self, connection: &mut Connection, number: u64) -> Result<()> {
        connection
            .execute(format!("UPDATE {} SET number = {number} WHERE part = 'beat'", self.table))
            .map(drop)
            .doing(|| format!("writing a heartbeat into {}", self.table))
    }

    /// The number of the last heartbeat.
    ///
    /// # Errors
    /// What the server said.
    pub(crate) fn last_beat(&self, connection: &mut Connection) -> Result<u64> {
        let sql = format!("SELECT number FROM {} WHERE part = 'beat'", self.table);
        let row = connection.first(sql).doing(|| format!("reading the heartbeat in {}", self.table))?;
        Ok(row.and_then(|row| row.parse(0)).unwrap_or(0))
    }

    /// Forgets a run: the same command then begins anew.
    ///
    /// # Errors
    /// What the server said.
    pub(crate) fn forget(&self, connection: &mut Connection) -> Result<()> {
        let sql = format!("DROP TABLE IF EXISTS {}", self.table);
        connection.execute(&sql).map(drop).doing(|| sql)
    }

    /// The table's name, for messages.
    pub(crate) fn name(&self) -> String {
        self.table.to_string()
    }
}

fn document(value: &impl Serialize) -> Result<String> {
    let text = serde_json::to_vec(value)
        .map_err(|error| Error::found(format!("the state cannot be written: {error}")))?;
    Ok(quote::hex(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_statement_on_each_table_has_its_own_state() {
        let of = |table: &str, statement: &str| State::of(&Name::new("s", table), statement).name();
        assert_eq!(of("t", "DELETE FROM t"), of("t", "DELETE FROM t"));
        assert_ne!(of("t", "DELETE FROM t"), of("u", "DELETE FROM t"));
        assert_ne!(of("t", "DELETE FROM t"), of("t", "DELETE FROM t WHERE 1"));
    }

    #[test]
    fn what_is_written_is_read() {
        let tally =
            Tally { last: Some(vec!["_utf8mb4 X'41'".into()]), rows: 7, seconds: 0.5, ..Tally::default() };
        let sql = State::of(&Name::new("s", "t"), "x").advance(3, &tally).unwrap();
        assert!(sql.contains("number = 4") && sql.ends_with("number = 3"), "{sql}");
        assert_eq!(serde_json::from_slice::<Tally>(&serde_json::to_vec(&tally).unwrap()).unwrap(), tally);
    }
}
