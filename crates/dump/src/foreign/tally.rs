//! What was loaded so far, what the server said of it, and the report that is made of that.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use drover_db::Server;
use serde::Serialize;

use crate::Error;
use crate::dump::catalog::Name;
use drover_format::Rewrite;

/// Warnings and left-out statements that are kept word by word.
const KEPT: usize = 100;

/// What came of restoring another tool's dump.
#[derive(Debug, Clone, Serialize)]
pub struct ForeignReport {
    /// What the dump was recognised as.
    pub kind: String,
    /// How its rows were loaded: in parallel, or why not.
    pub loading: String,
    /// The server that was filled.
    pub server: Server,
    /// The tables that got rows or were created, by name.
    pub tables: Vec<ForeignTable>,
    /// Rows, as the server counted them.
    pub rows: u64,
    /// Bytes of the statements and row files, decompressed.
    pub bytes: u64,
    /// Statements that were run.
    pub statements: u64,
    /// Wall-clock time of the whole command, in seconds.
    pub seconds: f64,
    /// The part of it in which the throttle let the work wait.
    pub paused_seconds: f64,
    /// Connections that loaded rows.
    pub threads: usize,
    /// What the server warned of, with file and line: the first hundred.
    pub warnings: Vec<String>,
    /// How many warnings were about rows: values that the server did not take as they were.
    pub row_warnings: u64,
    /// Where the dump tells a number of rows and the server counted another one.
    pub differences: Vec<String>,
    /// What definitions of tables ask for and the target does not keep, or not as it is asked for.
    pub rewrites: Vec<Rewrite>,
    /// Views and stored programs that got another definer: `--definer`.
    pub definers_changed: usize,
    /// Statements of the dump that were not run, and why.
    pub left_out: Vec<String>,
    /// Always false: such a dump holds no digests that rows could be compared with.
    pub verified: bool,
}

/// A table of such a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ForeignTable {
    /// The schema that it was restored into.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// Rows that were loaded, as the server counted them.
    pub rows: u64,
    /// The number that the dump tells, if it tells one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<u64>,
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct TableTally {
    pub(super) rows: u64,
    pub(super) expected: Option<u64>,
    pub(super) done: bool,
}

#[derive(Debug, Default)]
pub(super) struct Counts {
    /// By the names on the target.
    pub(super) tables: BTreeMap<Name, TableTally>,
    pub(super) bytes: u64,
    pub(super) statements: u64,
    pub(super) warnings: Vec<String>,
    pub(super) row_warnings: u64,
    pub(super) left_out: BTreeSet<String>,
    pub(super) rewrites: BTreeSet<Rewrite>,
    /// What got another definer.
    pub(super) redefined: BTreeSet<String>,
}

/// Counters that all workers share.
#[derive(Debug, Default)]
pub(super) struct Tally(Mutex<Counts>);

impl Tally {
    pub(super) fn lock(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Statements were run, with so many bytes.
    pub(super) fn ran(&self, statements: u64, bytes: u64) {
        let mut counts = self.lock();
        counts.statements += statements;
        counts.bytes += bytes;
    }

    /// A table was created or got rows.
    pub(super) fn rows(&self, table: &Name, rows: u64) {
        let mut counts = self.lock();
        let table = counts.tables.entry(table.clone()).or_default();
        table.rows += rows;
        table.done = false;
    }

    /// A table that was to be created is not there.
    pub(super) fn not_made(&self, table: &Name) {
        self.lock().tables.remove(table);
    }

    /// Rows of a table were removed again.
    pub(super) fn removed(&self, table: &Name, rows: u64) {
        if let Some(table) = self.lock().tables.get_mut(table) {
            table.rows = table.rows.saturating_sub(rows);
        }
    }

    /// All of them were.
    pub(super) fn emptied(&self, table: &Name) {
        self.removed(table, u64::MAX);
    }

    /// A table has all that the dump holds for it.
    pub(super) fn done(&self, table: &Name) {
        self.lock().tables.entry(table.clone()).or_default().done = true;
    }

    pub(super) fn warn(&self, warnings: impl IntoIterator<Item = String>, of_rows: u64) {
        let mut counts = self.lock();
        counts.row_warnings += of_rows;
        for warning in warnings {
            if counts.warnings.len() < KEPT {
                counts.warnings.push(warning);
            }
        }
    }

    /// The target does not keep what was asked for.
    pub(super) fn rewritten(&self, rewrites: impl Iterator<Item = Rewrite>) {
        self.lock().rewrites.extend(rewrites);
    }

    pub(super) fn left_out(&self, what: String) {
        let mut counts = self.lock();
        if counts.left_out.len() < KEPT {
            counts.left_out.insert(what);
        }
    }

    /// The error that ended the restore, with what is on the target now.
    pub(super) fn explain(&self, error: Error) -> Error {
        if matches!(error, Error::Stopped) {
            return error;
        }
        let counts = self.lock();
        let names = |done: bool| {
            let found = counts.tables.iter().filter(move |(_, table)| table.done == done);
            found.map(|(name, _)| name.to_string()).collect::<Vec<_>>()
        };
        let (whole, part) = (names(true), names(false));
        if whole.is_empty() && part.is_empty() {
            return error;
        }
        let state = format!(
            "loaded until then, and left there: {}; in part: {}. When the cause is removed, restore again with --drop-existing",
            listed(&whole),
            listed(&part)
        );
        let hint = error.hint().map_or_else(|| state.clone(), |hint| format!("{hint}\nhint: {state}"));
        Error::with_hint(error.to_string(), hint)
    }
}

/// The first few names, and how many there are besides.
fn listed(names: &[String]) -> String {
    const SHOWN: usize = 8;
    match names.len() {
        0 => "nothing".into(),
        count if count <= SHOWN => names.join(", "),
        count => format!("{} and {} more", names[..SHOWN].join(", "), count - SHOWN),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_tells_what_is_on_the_target() {
        let tally = Tally::default();
        assert_eq!(tally.explain(Error::found("x")).hint(), None);
        tally.rows(&Name::new("s", "a"), 1);
        tally.done(&Name::new("s", "a"));
        tally.rows(&Name::new("s", "b"), 1);
        let error = tally.explain(Error::with_hint("x", "y"));
        assert_eq!(error.to_string(), "x");
        let hint = error.hint().unwrap();
        assert!(
            hint.starts_with("y\nhint: loaded until then, and left there: `s`.`a`; in part: `s`.`b`."),
            "{hint}"
        );
    }

    #[test]
    fn long_lists_are_cut() {
        let names: Vec<_> = (0..10).map(|number| number.to_string()).collect();
        assert_eq!(listed(&names), "0, 1, 2, 3, 4, 5, 6, 7 and 2 more");
        assert_eq!(listed(&[]), "nothing");
    }
}
