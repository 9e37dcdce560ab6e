//! How much was written when.

use std::collections::BTreeMap;

use serde::Serialize;

/// A span of time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Span {
    /// When it begins, in seconds since 1970.
    pub start: u32,
    /// Bytes of the log whose transactions began in it.
    pub bytes: u64,
    /// How many transactions that are.
    pub transactions: u64,
}

/// Spans of one length, as short as they can be without becoming too many.
#[derive(Debug)]
pub(crate) struct Rate {
    /// In seconds.
    width: u32,
    /// More spans and they are made longer.
    most: usize,
    spans: BTreeMap<u32, Span>,
    /// The one that was counted in last, which is not among the others.
    last: Span,
}

/// More than these and they are made longer.
const MOST: usize = 2000;
/// Lengths that a person reads easily, in seconds.
const WIDTHS: [u32; 13] = [1, 5, 10, 30, 60, 300, 600, 1800, 3600, 6 * 3600, 86_400, 7 * 86_400, 28 * 86_400];

impl Rate {
    /// Spans of a second, as long as these are not too many.
    pub(crate) fn new() -> Self {
        Self { width: WIDTHS[0], most: MOST, spans: BTreeMap::new(), last: Span::default() }
    }

    /// Spans of a minute, in logs of up to a month.
    pub(crate) fn of_minutes() -> Self {
        Self { width: 60, most: 31 * 24 * 60, ..Self::new() }
    }

    /// Counts what came at this second.
    pub(crate) fn count(&mut self, second: u32, bytes: u64, transactions: u64) {
        let start = second - second % self.width;
        if start != self.last.start {
            self.put_last();
            self.last = Span { start, ..Span::default() };
        }
        self.last.bytes += bytes;
        self.last.transactions += transactions;
    }

    fn put_last(&mut self) {
        let last = std::mem::take(&mut self.last);
        self.put(last);
        while self.spans.len() > self.most {
            self.width = WIDTHS.into_iter().find(|&width| width > self.width).unwrap_or(u32::MAX);
            let finer = std::mem::take(&mut self.spans);
            finer.into_values().for_each(|span| self.put(span));
        }
    }

    fn put(&mut self, span: Span) {
        if span.transactions == 0 && span.bytes == 0 {
            return;
        }
        let start = span.start - span.start % self.width;
        let into = self.spans.entry(start).or_insert(Span { start, ..Span::default() });
        into.bytes += span.bytes;
        into.transactions += span.transactions;
    }

    /// The spans' length in seconds, and those in which something came.
    pub(crate) fn into_spans(mut self) -> (u32, Vec<Span>) {
        self.put_last();
        (self.width, self.spans.into_values().collect())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn nothing_is_lost_when_spans_grow(counts in prop::collection::vec((any::<u32>(), 1..1000_u64), 0..5000)) {
            let mut rate = Rate::new();
            for &(second, bytes) in &counts {
                rate.count(second, bytes, 1);
            }
            let (width, spans) = rate.into_spans();
            prop_assert!(spans.len() <= MOST);
            prop_assert!(spans.iter().all(|span| span.start % width == 0));
            prop_assert_eq!(spans.iter().map(|span| span.transactions).sum::<u64>(), counts.len() as u64);
            prop_assert_eq!(spans.iter().map(|span| span.bytes).sum::<u64>(), counts.iter().map(|count| count.1).sum::<u64>());
        }
    }
}
