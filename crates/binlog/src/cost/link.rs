//! The lag that a link of some rate would have had: what comes faster than it carries waits.

use std::collections::BTreeMap;

use serde::Serialize;

/// What a link makes of one log.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LagReport {
    /// The longest that a transaction waited until it was across, in seconds.
    pub longest: f64,
    /// For how long something waited, in seconds.
    pub busy: f64,
    /// When what came last was across, in seconds after it came.
    pub left_behind: f64,
}

/// The waiting at one time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LagSpan {
    /// When it begins, in seconds since 1970.
    pub start: u32,
    /// The longest lag in it for each log, in seconds, in the order of their list.
    pub lag: Vec<f64>,
}

/// A link that several logs would go over, each by itself.
#[derive(Debug)]
pub(super) struct Link {
    /// In bytes a second.
    rate: f64,
    queues: Vec<Queue>,
    last: Option<u32>,
    width: u32,
    spans: BTreeMap<u32, Vec<f64>>,
}

#[derive(Debug, Clone, Default)]
struct Queue {
    /// What waits, in bytes.
    waiting: f64,
    longest: f64,
    busy: f64,
}

/// More spans and they are made longer.
const MOST: usize = 500;

impl Link {
    pub(super) fn new(rate: u64, logs: usize) -> Self {
        let queues = vec![Queue::default(); logs];
        Self { rate: rate.max(1) as f64, queues, last: None, width: 1, spans: BTreeMap::new() }
    }

    /// A transaction that was committed in this second has so many bytes in each of the logs.
    pub(super) fn add(&mut self, second: u32, bytes: impl Iterator<Item = u64>) {
        // A clock that was set back does not undo what was carried.
        let last = self.last.unwrap_or(second);
        let now = second.max(last);
        self.carry(last, now);
        self.last = Some(now);
        for (queue, bytes) in self.queues.iter_mut().zip(bytes) {
            queue.waiting += bytes as f64;
            queue.longest = queue.longest.max(queue.waiting / self.rate);
        }
        self.note(now);
    }

    /// Time goes by: what waits is carried. The lag of each span is that at its beginning, or behind what came in it.
    fn carry(&mut self, from: u32, to: u32) {
        let mut at = from;
        while at < to {
            let next = (at - at % self.width).saturating_add(self.width).min(to);
            let seconds = f64::from(next - at);
            for queue in &mut self.queues {
                queue.busy += seconds.min(queue.waiting / self.rate);
                queue.waiting = (queue.waiting - seconds * self.rate).max(0.0);
            }
            if self.queues.iter().all(|queue| queue.waiting == 0.0) {
                return;
            }
            self.note(next);
            at = next;
        }
    }

    fn note(&mut self, second: u32) {
        let lags: Vec<f64> = self.queues.iter().map(|queue| queue.waiting / self.rate).collect();
        self.put(second, lags);
        while self.spans.len() > MOST {
            self.width *= 2;
            for (start, lags) in std::mem::take(&mut self.spans) {
                self.put(start, lags);
            }
        }
    }

    fn put(&mut self, second: u32, lags: Vec<f64>) {
        let into = self.spans.entry(second - second % self.width).or_default();
        into.resize(lags.len(), 0.0);
        into.iter_mut().zip(lags).for_each(|(most, lag)| *most = most.max(lag));
    }

    /// What came of each log, the length of the spans in seconds, and these.
    pub(super) fn into_report(mut self) -> (Vec<LagReport>, u32, Vec<LagSpan>) {
        let left: Vec<f64> = self.queues.iter().map(|queue| queue.waiting / self.rate).collect();
        if let Some(last) = self.last {
            let until = left.iter().copied().fold(0.0, f64::max).ceil();
            self.carry(last, last.saturating_add(until as u32));
        }
        let report = |(queue, left): (&Queue, f64)| LagReport {
            longest: queue.longest,
            busy: queue.busy,
            left_behind: left,
        };
        let reports = self.queues.iter().zip(left).map(report).collect();
        let spans = self.spans.into_iter().map(|(start, lag)| LagSpan { start, lag }).collect();
        (reports, self.width, spans)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_too_much_waits() {
        let mut link = Link::new(100, 2);
        link.add(10, [1000, 100].into_iter());
        link.add(15, [100, 0].into_iter());
        link.add(5, [100, 0].into_iter()); // a clock set back
        let (lags, width, spans) = link.into_report();
        assert_eq!(lags[0], LagReport { longest: 10.0, busy: 12.0, left_behind: 7.0 });
        assert_eq!(lags[1], LagReport { longest: 1.0, busy: 1.0, left_behind: 0.0 });
        assert_eq!((width, spans[0].lag[0], spans[1].lag[0]), (1, 10.0, 9.0));
        assert_eq!(spans.last().unwrap().start, 21);
    }

    proptest! {
        #[test]
        fn a_link_is_busy_for_as_long_as_it_needs(adds in prop::collection::vec((0..100_000_u32, 0..10_000_u64), 1..200)) {
            let mut link = Link::new(1000, 1);
            let mut times: Vec<_> = adds.iter().map(|add| add.0).collect();
            times.sort_unstable();
            for (second, (_, bytes)) in times.iter().zip(&adds) {
                link.add(*second, std::iter::once(*bytes));
            }
            let (lags, _, spans) = link.into_report();
            let needed = adds.iter().map(|add| add.1).sum::<u64>() as f64 / 1000.0;
            prop_assert!((lags[0].busy - needed).abs() < 1e-3, "{} {needed}", lags[0].busy);
            prop_assert!(spans.len() <= MOST);
            let most = spans.iter().map(|span| span.lag[0]).fold(0.0, f64::max);
            prop_assert!((most - lags[0].longest).abs() < 1e-6);
        }
    }
}
