//! What a replay tells at its end.

use std::collections::BTreeSet;

use serde::Serialize;

use super::collations::NearestCollation;
use super::not_kept::NotKept;
use super::transaction::Start;

/// What was applied, or in a dry run what would be.
#[derive(Debug, Default, Serialize)]
pub struct ReplayReport {
    /// Whether nothing was applied.
    pub dry_run: bool,
    /// Whether the logs were undone, from their end on.
    pub flashback: bool,
    /// The replay's name.
    pub name: String,
    /// Transactions.
    pub transactions: u64,
    /// Transactions that an earlier run had applied, of the log where this one goes on.
    pub applied_before: u64,
    /// Statements of the logs.
    pub statements: u64,
    /// Events of rows.
    pub row_events: u64,
    /// Files that were loaded.
    pub loads: u64,
    /// What was read of the logs, in bytes as they lie there.
    pub bytes: u64,
    /// For how long it paused at limits of `--max-load` and the like, in seconds.
    pub paused_seconds: f64,
    /// The last log that was read, and where in it the last transaction ends up to which all was applied.
    pub log: String,
    /// In bytes.
    pub position: u64,
    /// The log that comes behind those that were read, where the last of them is at its end.
    pub next_log: Option<String>,
    /// Transactions whose end is not in the logs, as LOG: at POSITION. They were not applied: their server did not commit them, or
    /// a later log, or the rest of the last, has their end.
    pub abandoned: Vec<String>,
    /// Statements that were left out, of which nobody knows whether they changed something in the tables that are wanted.
    pub passed_over: u64,
    /// Scheduled events of the logs' server that are off on the target, as on a replica; 100 at most.
    pub events_off: Vec<String>,
    /// The statement that switches the first of them on, with the account that it runs as; empty in a dry run.
    pub event_on: String,
    /// Collations of definitions that the target lacks, and the nearest that took their places.
    pub collations: Vec<NearestCollation>,
    /// What the target does not keep of definitions and rows, without an error; 100 at most.
    pub not_kept: Vec<NotKept>,
    /// With `--after`, schemas that the dump does not have and the logs have not made since: their rows were left out.
    pub left_out: BTreeSet<String>,
    /// With `--skip-missing`, how many rows were not there.
    pub missing_rows: u64,
    /// The first thousand of these, as LOG: at POSITION: TABLE WHERE CONDITION.
    pub missing: Vec<String>,
    /// What cannot be applied; found by a dry run.
    pub problems: Vec<Problem>,
}

/// At most so many entries of one kind are listed.
const MOST: usize = 100;

impl ReplayReport {
    /// A statement has a scheduled event run, which it does not on the target.
    pub(super) fn switched_off(&mut self, schema: &[u8], name: &[u8]) {
        let name = String::from_utf8_lossy(name);
        let name = match name.contains('.') {
            true => name.into_owned(),
            false => format!("{}.{name}", String::from_utf8_lossy(schema)),
        };
        if !self.events_off.contains(&name) && self.events_off.len() < MOST {
            self.events_off.push(name);
        }
    }

    /// Statements name collations that the target lacks, or have its own default where the log's server had another one.
    pub(super) fn took_nearest(&mut self, found: Vec<NearestCollation>) {
        for one in found {
            if self.collations.len() < MOST && !self.collations.contains(&one) {
                self.collations.push(one);
            }
        }
    }

    /// Whether it was told that this is not kept.
    pub(super) fn tells(&self, what: &str) -> bool {
        self.not_kept.iter().any(|one| one.what == what)
    }

    /// Tells once that something is not kept.
    pub(super) fn tell(&mut self, at: &Start, what: String, reason: &str) {
        if self.not_kept.len() < MOST && !self.tells(&what) {
            self.not_kept.push(NotKept { at: at.to_string(), what, reason: reason.into() });
        }
    }
}

/// Something that cannot be applied.
#[derive(Debug, Clone, Serialize)]
pub struct Problem {
    /// Where it is in the logs, as LOG: at POSITION; empty for what is wrong with the target.
    pub at: String,
    /// What it is.
    pub what: String,
    /// What a person can do about it; may be empty.
    pub hint: String,
}
