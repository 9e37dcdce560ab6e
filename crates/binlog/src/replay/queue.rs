//! Hands transactions to workers: each when those that it depends on were applied.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::marks::{LowWaterMark, Marks};
use super::transaction::{Order, Start, Transaction};
use crate::{Error, Result};

/// So many bytes may wait for a worker; one transaction may always.
const MOST_WAITING: usize = 8 << 20;
/// So many transactions may.
const MOST_TRANSACTIONS: usize = 256;
/// So many may be above the mark: each commit writes the names of those that were applied before their turn.
const MOST_BEGUN: usize = 512;

/// The transactions between the reader of the logs and the workers.
pub(super) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
    workers: usize,
}

struct State {
    waiting: VecDeque<Transaction>,
    waiting_size: usize,
    /// Those that wait or are being applied.
    open: BTreeMap<u64, Order>,
    marks: Marks,
    is_closed: bool,
    /// The first error of a worker, until it is asked for.
    failed: Option<Error>,
    has_failed: bool,
    /// How many rows were not there, and what the first of them are called.
    missing: (u64, Vec<String>),
}

/// So many rows that were not there are named.
const MOST_MISSING: usize = 1000;

impl Queue {
    /// For so many workers. All up to the mark was applied before.
    pub(super) fn new(workers: usize, mark: LowWaterMark) -> Self {
        let state = State {
            waiting: VecDeque::new(),
            waiting_size: 0,
            open: BTreeMap::new(),
            marks: Marks::from(mark),
            is_closed: false,
            failed: None,
            has_failed: false,
            missing: (0, Vec::new()),
        };
        Self { state: Mutex::new(state), changed: Condvar::new(), workers }
    }

    /// Hands in the next transaction of the logs, when it may be begun and there is room.
    ///
    /// # Errors
    /// With that of a worker.
    pub(super) fn submit(&self, transaction: Transaction) -> Result<()> {
        let mut state = self.lock();
        while !state.has_failed && !state.takes(&transaction, self.workers) {
            state = self.wait(state);
        }
        state.check()?;
        let Transaction { ordinal, order, size, .. } = transaction;
        state.marks.begin(ordinal, transaction.at.clone());
        state.open.insert(ordinal, order);
        state.waiting_size += size;
        state.waiting.push_back(transaction);
        self.changed.notify_all();
        Ok(())
    }

    /// A transaction of which nothing is to be applied.
    pub(super) fn pass(&self, ordinal: u64, at: Start, end: u64) {
        let mut state = self.lock();
        state.marks.begin(ordinal, at);
        state.marks.complete(ordinal, end);
    }

    /// A transaction was applied but for these rows, which were not there.
    pub(super) fn miss(&self, rows: Vec<String>) {
        let (count, named) = &mut self.lock().missing;
        *count += rows.len() as u64;
        let room = MOST_MISSING.saturating_sub(named.len());
        named.extend(rows.into_iter().take(room));
    }

    /// How many rows were not there, and what the first of them are called.
    pub(super) fn missing(&self) -> (u64, Vec<String>) {
        self.lock().missing.clone()
    }

    /// Waits until all that was handed in was applied.
    ///
    /// # Errors
    /// With that of a worker.
    pub(super) fn drain(&self) -> Result<()> {
        let mut state = self.lock();
        while !state.has_failed && !state.open.is_empty() {
            state = self.wait(state);
        }
        state.check()
    }

    /// No more is handed in.
    pub(super) fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_all();
    }

    /// The next transaction for a worker; `None` when there will be none. Only the first worker takes those that are serial: it has the
    /// settings of the statements before.
    pub(super) fn next(&self, worker: usize) -> Option<Transaction> {
        let mut state = self.lock();
        loop {
            if state.has_failed {
                return None;
            }
            let is_mine = |transaction: &Transaction| worker == 0 || transaction.order != Order::Serial;
            if state.waiting.front().is_some_and(is_mine) {
                let transaction = state.waiting.pop_front()?;
                state.waiting_size -= transaction.size;
                self.changed.notify_all();
                return Some(transaction);
            }
            if state.is_closed && state.waiting.is_empty() {
                return None;
            }
            state = self.wait(state);
        }
    }

    /// What is to be written with a transaction that is about to be committed.
    pub(super) fn position_with(&self, ordinal: u64, end: u64) -> (LowWaterMark, String) {
        self.lock().marks.with(ordinal, end)
    }

    /// A transaction was applied.
    pub(super) fn complete(&self, ordinal: u64, end: u64) {
        let mut state = self.lock();
        state.open.remove(&ordinal);
        state.marks.complete(ordinal, end);
        self.changed.notify_all();
    }

    /// A worker cannot go on. What others have begun they end.
    pub(super) fn fail(&self, error: Error) {
        let mut state = self.lock();
        state.has_failed = true;
        state.failed.get_or_insert(error);
        self.changed.notify_all();
    }

    /// The error of a worker, if there was one and nobody was told.
    pub(super) fn error(&self) -> Option<Error> {
        self.lock().failed.take()
    }

    /// Up to where all was applied.
    pub(super) fn mark(&self) -> LowWaterMark {
        self.lock().marks.mark().clone()
    }

    /// Where that is in the next log already, its beginning.
    pub(super) fn next_log(&self) -> Option<LowWaterMark> {
        self.lock().marks.next_log()
    }

    /// A panic of one thread must not keep the others from ending.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn check(&mut self) -> Result<()> {
        match (self.has_failed, self.failed.take()) {
            (false, _) => Ok(()),
            (true, Some(error)) => Err(error),
            // The error was told before.
            (true, None) => Err(Error::Stopped),
        }
    }

    fn takes(&self, transaction: &Transaction, workers: usize) -> bool {
        let has_room = self.waiting.is_empty()
            || (self.waiting_size + transaction.size <= MOST_WAITING
                && self.waiting.len() < MOST_TRANSACTIONS);
        // One worker applies them in their order.
        has_room && self.open.len() < MOST_BEGUN && (workers == 1 || self.may_begin(transaction.order))
    }

    /// Whether all that it depends on was applied.
    fn may_begin(&self, order: Order) -> bool {
        match order {
            Order::Serial => self.open.is_empty(),
            Order::Clocked { log, last_committed, .. } => self.open.values().all(|open| match *open {
                Order::Serial => false,
                Order::Clocked { log: its_log, sequence_number, .. } => {
                    its_log == log && sequence_number > last_committed
                }
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread;

    use super::super::transaction::Mode;
    use super::*;

    fn transaction(ordinal: u64, order: Order) -> Transaction {
        let at = Start { log: "log".into(), position: 4 + ordinal };
        let (mode, pieces) = (Mode::Rows, Vec::new());
        Transaction {
            ordinal,
            at,
            order,
            mode,
            is_guarded: false,
            pieces,
            session: None,
            rest: None,
            size: 1,
        }
    }

    /// Every transaction begins after those that it depends on have ended, whatever the workers do.
    #[test]
    fn dependencies_hold() {
        let queue = Queue::new(4, LowWaterMark { log: "log".into(), position: 4 });
        let ended: Vec<_> = (0..300).map(|_| Arc::new(AtomicU64::new(0))).collect();
        let order = |ordinal: u64| match ordinal {
            _ if ordinal.is_multiple_of(37) => Order::Serial,
            _ => Order::Clocked {
                log: 0,
                sequence_number: ordinal,
                last_committed: ordinal.saturating_sub(ordinal % 5 + 1),
            },
        };
        thread::scope(|scope| {
            for worker in 0..4 {
                let (queue, ended) = (&queue, &ended);
                scope.spawn(move || {
                    while let Some(transaction) = queue.next(worker) {
                        let after = match transaction.order {
                            Order::Serial => transaction.ordinal.saturating_sub(1),
                            Order::Clocked { last_committed, .. } => last_committed,
                        };
                        let is_ended = |ordinal: u64| ended[ordinal as usize].load(Ordering::SeqCst) == 1;
                        assert!((0..=after).all(|before| before == transaction.ordinal || is_ended(before)));
                        ended[transaction.ordinal as usize].store(1, Ordering::SeqCst);
                        queue.complete(transaction.ordinal, 5 + transaction.ordinal);
                    }
                });
            }
            for ordinal in 0..300 {
                queue.submit(transaction(ordinal, order(ordinal))).unwrap();
            }
            queue.drain().unwrap();
            queue.close();
        });
        assert_eq!(queue.mark().position, 304);
    }

    #[test]
    fn a_failure_ends_the_waiting() {
        let queue = Queue::new(1, LowWaterMark { log: "log".into(), position: 4 });
        queue.submit(transaction(0, Order::Serial)).unwrap();
        queue.fail(Error::found("no"));
        assert_eq!(queue.drain().unwrap_err().to_string(), "no");
        assert!(queue.next(0).is_none() && queue.error().is_none());
    }
}
