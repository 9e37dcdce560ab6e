//! What a run comes to.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;

/// What the command has to tell.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum Report {
    /// What would be done (`--dry-run`).
    Plan(PlanReport),
    /// What was done.
    Done(ChunkReport),
}

/// What would be done.
#[derive(Debug, Clone, Serialize)]
pub struct PlanReport {
    /// Always true: it tells the two kinds of documents apart.
    pub dry_run: bool,
    /// The table, with its schema, in backticks.
    pub table: String,
    /// The index that is walked.
    pub key: String,
    /// The server's guess of the table's rows, those that the condition leaves out too.
    pub rows: u64,
    /// The key of the last row, as SQL literals; rows that come behind it later are left alone. Empty for a table without rows.
    pub end: Vec<String>,
    /// The first part as it would be sent; absent for a table without rows.
    pub first_part: Option<String>,
    /// The isolation level of the parts.
    pub isolation: String,
    /// The replicas that would be watched.
    pub replicas: Vec<String>,
    /// How many parts an earlier run has done that this one would go on with; absent if there is none.
    pub parts_before: Option<u64>,
    /// What a person should know.
    pub warnings: Vec<String>,
}

/// What was done, by this run and those that it went on with.
#[derive(Debug, Clone, Serialize)]
pub struct ChunkReport {
    /// `delete`, `update` or `insert`.
    pub statement: &'static str,
    /// The table, with its schema, in backticks.
    pub table: String,
    /// The index that was walked.
    pub key: String,
    /// Rows that were changed, as the server counts them.
    pub rows: u64,
    /// Rows that were passed, about: those that the condition leaves out too.
    pub walked: u64,
    /// Transactions.
    pub chunks: u64,
    /// Of these, how many earlier runs of the same command had done.
    pub chunks_before: u64,
    /// How long it took, in seconds, pauses included; the time between two runs is not.
    pub seconds: f64,
    /// What it added to the binary log, in bytes, with what others wrote while a part was being written; absent without a log.
    pub binlog_bytes: Option<u64>,
    /// The longest lag of any replica that was seen, in seconds; absent where replicas were not watched.
    pub max_lag_seconds: Option<f64>,
    /// How long the work waited, in seconds.
    pub waited_seconds: f64,
    /// For what, in seconds: `lag`, `link` (enough is under way to a replica), `rate`, `load`, `pause` (the file of --pause-file), `lock`
    /// (a lock of others), `unknown` (something that is to be watched could not be).
    pub waited: BTreeMap<String, f64>,
    /// What was kept of deleted rows.
    pub archive: Option<Archived>,
    /// What a person should know.
    pub warnings: Vec<String>,
}

/// What an archive holds.
#[derive(Debug, Clone, Serialize)]
pub struct Archived {
    /// The file.
    pub file: PathBuf,
    /// Rows in it.
    pub rows: u64,
    /// Its length in bytes.
    pub bytes: u64,
    /// The command that unpacks it, of a file whose name ends with `.zst`.
    pub unpack: Option<String>,
    /// The statements that load it again, once it is unpacked.
    pub load: String,
}
