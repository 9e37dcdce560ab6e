//! What is settled of a lane: all tasks up to one, and some beyond it.

use std::collections::VecDeque;

/// So many tasks a lane has at most: what is settled of it then always fits into its row.
pub(crate) const MOST_TASKS: u32 = 65_536;

/// Tasks of a word.
const WORD: u32 = u64::BITS;

/// Which tasks of a lane are settled. They are numbered from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Progress {
    tasks: u32,
    done: u32,
    /// The number of the first bit in `words`; all tasks below are settled.
    base: u32,
    words: VecDeque<u64>,
}

impl Progress {
    /// Of a lane of so many tasks, of which none is settled.
    pub(crate) fn new(tasks: u32) -> Self {
        Self { tasks, done: 0, base: 0, words: VecDeque::new() }
    }

    /// As it was stored; `None` if that cannot be of a lane of so many tasks.
    pub(crate) fn decode(tasks: u32, settled: u32, beyond: &[u8]) -> Option<Self> {
        if settled > tasks || tasks > MOST_TASKS || beyond.len() > MOST_TASKS as usize / 8 {
            return None;
        }
        let base = settled / WORD * WORD;
        let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
        let mut words: VecDeque<u64> = beyond.chunks(8).map(word).collect();
        if settled > base {
            if words.is_empty() {
                words.push_back(0);
            }
            words[0] |= (1 << (settled - base)) - 1; // there is one: see above
        }
        let beyond = words.iter().map(|word| word.count_ones()).sum::<u32>();
        let last = words.iter().rposition(|&word| word != 0);
        let end = last.map_or(base, |at| base + (at as u32 + 1) * WORD - words[at].leading_zeros());
        words.truncate(last.map_or(0, |at| at + 1));
        let mut progress = Self { tasks, done: base + beyond, base, words };
        progress.advance();
        (end <= tasks).then_some(progress)
    }

    /// Moves on over what is settled in a row.
    fn advance(&mut self) {
        while self.words.front() == Some(&u64::MAX) {
            self.words.pop_front();
            self.base += WORD;
        }
    }

    /// How many of its tasks are settled.
    pub(crate) fn done(&self) -> u32 {
        self.done
    }

    /// Whether all are.
    pub(crate) fn is_finished(&self) -> bool {
        self.done == self.tasks
    }

    /// Whether this one is.
    pub(crate) fn is_settled(&self, task: u32) -> bool {
        let Some(bit) = task.checked_sub(self.base) else { return true };
        self.words.get((bit / WORD) as usize).is_some_and(|word| word >> (bit % WORD) & 1 == 1)
    }

    /// Settles a task; whether it was not before.
    pub(crate) fn settle(&mut self, task: u32) -> bool {
        if task >= self.tasks || self.is_settled(task) {
            return false;
        }
        let bit = task - self.base; // not below: such tasks are settled
        let at = (bit / WORD) as usize;
        if at >= self.words.len() {
            self.words.resize(at + 1, 0);
        }
        self.words[at] |= 1 << (bit % WORD);
        self.done += 1;
        self.advance();
        true
    }

    /// Of the tasks below `at`, and of those from there on, which are numbered from 0 again.
    pub(crate) fn split(&self, at: u32) -> (Self, Self) {
        let part = |from: u32, end: u32| {
            let mut part = Self::new(end - from);
            for task in (from..end).filter(|&task| self.is_settled(task)) {
                part.settle(task - from);
            }
            part
        };
        let at = at.min(self.tasks);
        (part(0, at), part(at, self.tasks))
    }

    /// All tasks below this one are settled, and it is not.
    pub(crate) fn settled(&self) -> u32 {
        self.base + self.words.front().map_or(0, |word| word.trailing_ones())
    }

    /// What lies beyond [`Progress::settled`], as [`Progress::decode`] takes it: bits, the lowest first, from the last multiple of 64
    /// below it.
    pub(crate) fn beyond(&self) -> Vec<u8> {
        let mut bytes: Vec<u8> = self.words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let settled = self.settled() - self.base;
        if let Some(first) = self.words.front()
            && self.words.len() == 1
            && first.count_ones() == settled
        {
            bytes.clear(); // nothing beyond
        }
        let length = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        bytes.truncate(length);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_stored_comes_back(tasks in 1u32..2000, settled in prop::collection::vec(0u32..2100, 0..400)) {
            let mut progress = Progress::new(tasks);
            let mut known = std::collections::BTreeSet::new();
            for task in settled {
                prop_assert_eq!(progress.settle(task), task < tasks && known.insert(task));
            }
            let first_open = (0..).find(|task| !known.contains(task)).unwrap_or(0);
            prop_assert_eq!(progress.settled(), first_open);
            prop_assert_eq!(progress.done() as usize, known.len());
            let back = Progress::decode(tasks, progress.settled(), &progress.beyond()).unwrap();
            prop_assert_eq!((0..tasks).filter(|&task| back.is_settled(task)).collect::<std::collections::BTreeSet<_>>(), known);
            prop_assert_eq!((back.done(), back.settled()), (progress.done(), progress.settled()));
        }

        #[test]
        fn parts_hold_what_the_whole_did(tasks in 1u32..500, settled in prop::collection::vec(0u32..500, 0..200), at in 0u32..600) {
            let mut progress = Progress::new(tasks);
            for task in settled {
                progress.settle(task);
            }
            let (low, high) = progress.split(at);
            let border = at.min(tasks);
            for task in 0..tasks {
                let there = if task < border { low.is_settled(task) } else { high.is_settled(task - border) };
                prop_assert_eq!(there, progress.is_settled(task));
            }
            prop_assert_eq!(low.done() + high.done(), progress.done());
        }

        #[test]
        fn in_order_nothing_lies_beyond(tasks in 1u32..2000, done in 0u32..2000) {
            let mut progress = Progress::new(tasks);
            (0..done.min(tasks)).for_each(|task| assert!(progress.settle(task)));
            prop_assert!(progress.beyond().is_empty());
            prop_assert_eq!(progress.is_finished(), done >= tasks);
        }

        #[test]
        fn no_bytes_make_it_panic(tasks in any::<u32>(), settled in any::<u32>(), beyond in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = Progress::decode(tasks % (2 * MOST_TASKS), settled % MOST_TASKS, &beyond);
        }
    }

    /// Nobody writes it so, but a row may hold it.
    #[test]
    fn what_is_settled_in_a_row_may_be_told_beyond() {
        let progress = Progress::decode(300, 0, &[0xff; 17]).unwrap();
        assert_eq!((progress.settled(), progress.done()), (136, 136));
        let again = Progress::decode(300, progress.settled(), &progress.beyond()).unwrap();
        assert_eq!(again, progress);
        assert_eq!(Progress::decode(72, 0, &[0; 142]), Some(Progress::new(72)));
    }

    #[test]
    fn the_whole_lane_in_any_order_fits() {
        let mut progress = Progress::new(MOST_TASKS);
        (1..MOST_TASKS).for_each(|task| assert!(progress.settle(task)));
        assert_eq!((progress.settled(), progress.beyond().len()), (0, 8192));
        assert!(progress.settle(0) && progress.is_finished());
        assert!(progress.beyond().is_empty());
    }
}
