//! How far a replay is: which transactions were applied, in a text that each commits with it.
//!
//! Workers commit in no fixed order. What one writes names the last transaction up to which all were applied, and each behind it that was:
//! all it knows, so that what was committed is told by what any of them wrote last.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use super::transaction::Start;
use crate::log::MAGIC;

/// Where a log begins.
pub(super) const BEGIN: u64 = MAGIC.len() as u64;

/// A place up to which all was applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LowWaterMark {
    /// The log's name, without a path.
    pub(super) log: Arc<str>,
    /// In bytes.
    pub(super) position: u64,
}

/// The transactions that were begun.
#[derive(Debug)]
pub(super) struct Marks {
    mark: LowWaterMark,
    /// By their ordinals, those above the mark.
    begun: BTreeMap<u64, Begun>,
}

#[derive(Debug)]
struct Begun {
    at: Start,
    /// Where it ends, of one that was applied.
    end: Option<u64>,
}

impl Marks {
    pub(super) fn from(mark: LowWaterMark) -> Self {
        Self { mark, begun: BTreeMap::new() }
    }

    /// Where all was applied before.
    pub(super) fn mark(&self) -> &LowWaterMark {
        &self.mark
    }

    /// The beginning of the log in which the first transaction begins that was not applied, if that is another one than the mark's.
    pub(super) fn next_log(&self) -> Option<LowWaterMark> {
        let (_, first) = self.begun.first_key_value()?;
        let is_next = !self.mark.log.is_empty() && first.at.log != self.mark.log;
        is_next.then(|| LowWaterMark { log: Arc::clone(&first.at.log), position: BEGIN })
    }

    /// A transaction is about to be applied.
    pub(super) fn begin(&mut self, ordinal: u64, at: Start) {
        self.begun.insert(ordinal, Begun { at, end: None });
    }

    /// A transaction was applied, and the log goes on at `end`.
    pub(super) fn complete(&mut self, ordinal: u64, end: u64) {
        if let Some(begun) = self.begun.get_mut(&ordinal) {
            begun.end = Some(end);
        }
        while let Some(first) = self.begun.first_entry()
            && let Some(position) = first.get().end
        {
            self.mark = LowWaterMark { log: Arc::clone(&first.get().at.log), position };
            first.remove();
        }
    }

    /// What to write with a transaction that will have been applied then: the mark, and those behind it.
    pub(super) fn with(&self, ordinal: u64, end: u64) -> (LowWaterMark, String) {
        let mut mark = self.mark.clone();
        let (mut done, mut is_whole) = (String::new(), true);
        for (&number, begun) in &self.begun {
            let end = if number == ordinal { Some(end) } else { begun.end };
            match end {
                None => is_whole = false,
                Some(position) if is_whole => {
                    mark = LowWaterMark { log: Arc::clone(&begun.at.log), position }
                }
                Some(_) => {
                    done.push_str(&begun.at.log);
                    done.push(':');
                    done.push_str(&begun.at.position.to_string());
                    done.push('\n');
                }
            }
        }
        (mark, done)
    }
}

/// The transactions in what [`Marks::with`] wrote: the log's name and where they begin.
pub(super) fn read_done(done: &str) -> HashSet<(String, u64)> {
    let entry = |line: &str| {
        let (log, position) = line.rsplit_once(':')?;
        Some((log.to_owned(), position.parse().ok()?))
    };
    done.lines().filter_map(entry).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn start(position: u64) -> Start {
        Start { log: "log".into(), position }
    }

    #[test]
    fn the_next_log_is_where_it_goes_on() {
        let mut marks = Marks::from(LowWaterMark { log: "log".into(), position: 4 });
        marks.begin(0, start(4));
        assert_eq!(marks.next_log(), None);
        marks.begin(1, Start { log: "next".into(), position: 107 });
        assert_eq!(marks.next_log(), None);
        marks.complete(0, 104);
        assert_eq!(marks.next_log(), Some(LowWaterMark { log: "next".into(), position: 4 }));
        marks.complete(1, 200);
        assert_eq!(marks.next_log(), None);
    }

    proptest! {
        /// However commits are ordered, what was written last by each worker tells exactly what was committed.
        #[test]
        fn what_workers_wrote_tells_what_was_committed(
            order in Just((0..40_u64).collect::<Vec<_>>()).prop_shuffle(),
            committed in 0..40_usize,
            workers in 1..5_u64,
        ) {
            let mut marks = Marks::from(LowWaterMark { log: "log".into(), position: 4 });
            let mut written = BTreeMap::new();
            (0..40).for_each(|ordinal| marks.begin(ordinal, start(100 * ordinal + 4)));
            for &ordinal in &order[..committed] {
                let end = 100 * ordinal + 104;
                written.insert(ordinal % workers, marks.with(ordinal, end));
                marks.complete(ordinal, end);
            }
            let mark = written.values().map(|(mark, _)| mark.position).max().unwrap_or(4);
            let done: HashSet<_> = written.values().flat_map(|(_, done)| read_done(done)).collect();
            for ordinal in 0..40 {
                let position = 100 * ordinal + 4;
                let told = position < mark || done.contains(&("log".to_owned(), position));
                prop_assert_eq!(told, order[..committed].contains(&ordinal), "{}", ordinal);
            }
        }
    }
}
