//! What the server did with rows that came.

use drover_db::wire::Outcome;
use drover_db::{Connection, er};

use super::objects::OLD_FASHIONED;

/// Whether a warning is about the statement, not about its rows. 5.7 says of each that fills a partitioned table of MyISAM that such tables
/// go out of use.
fn is_of_statement(code: u16) -> bool {
    code == er::BINLOG_UNSAFE_STATEMENT || OLD_FASHIONED.contains(&code)
}

/// What the server did with lines.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    /// Rows that came in.
    pub(crate) affected: u64,
    pub(crate) warnings: u64,
    /// The first of them: number and words.
    pub(crate) said: Vec<(u16, String)>,
}

impl Loaded {
    pub(super) fn of(connection: &mut Connection, outcome: &Outcome) -> drover_db::Result<Self> {
        let warnings = counted(&outcome.info, "Warnings:").unwrap_or_else(|| u64::from(outcome.warnings));
        let said = if warnings == 0 { Vec::new() } else { connection.query("SHOW WARNINGS")?.rows };
        let said = said.iter().map(|row| (row.parse(1).unwrap_or(0), row.string(2)));
        let (of_statement, said): (Vec<_>, Vec<_>) = said.partition(|(code, _)| is_of_statement(*code));
        let warnings = warnings.saturating_sub(of_statement.len() as u64);
        Ok(Self { affected: outcome.affected, warnings, said })
    }

    /// Adds what came of the next rows; numbers of rows count from the first of all.
    pub(super) fn add(&mut self, next: Self, rows_before: u64) {
        self.affected += next.affected;
        self.warnings += next.warnings;
        self.said.extend(next.said.into_iter().map(|(code, text)| (code, renumbered(text, rows_before))));
    }
}

/// `… at row 3` where there were so many rows before.
fn renumbered(text: String, rows_before: u64) -> String {
    match text.rsplit_once(" at row ").and_then(|(words, row)| Some((words, row.parse::<u64>().ok()?))) {
        Some((words, row)) => format!("{words} at row {}", row + rows_before),
        None => text,
    }
}

/// A number in the server's summary, such as that behind `Warnings:`.
fn counted(info: &str, word: &str) -> Option<u64> {
    info.split_once(word)?.1.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_of_a_load() {
        let info = "Records: 3  Deleted: 0  Skipped: 1  Warnings: 70000";
        assert_eq!((counted(info, "Records:"), counted(info, "Warnings:")), (Some(3), Some(70_000)));
        assert_eq!(counted("", "Warnings:"), None);
    }
}
