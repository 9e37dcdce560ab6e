//! Work that one thread finds and others do: batches of rows in the order of the file, bounded in bytes, and for each
//! table what is to be done after the last of its batches.

use std::collections::{HashMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::deferred::Deferred;
use super::script::Statement;
use crate::dump::catalog::Name;
use crate::{Error, Result};

/// Bytes of statements that wait at most, one batch apart.
const LIMIT: usize = 32 << 20;

/// Something for a worker.
pub(super) struct Item {
    /// The table's name on the target.
    pub(super) table: Name,
    pub(super) work: Work,
    /// How many settings come before it in the file.
    pub(super) settings: usize,
}

pub(super) enum Work {
    /// Rows, to be committed together.
    Rows(Vec<Statement>),
    /// What comes after a table's rows.
    Finish(Option<Deferred>, Option<Box<Statement>>),
}

impl Item {
    fn bytes(&self) -> usize {
        match &self.work {
            Work::Rows(statements) => statements.iter().map(|statement| statement.text.len()).sum(),
            Work::Finish(..) => 0,
        }
    }
}

#[derive(Default)]
struct State {
    items: VecDeque<Item>,
    bytes: usize,
    /// Work of each table that waits in `items` or runs.
    busy: HashMap<Name, usize>,
    /// What waits until its table is not busy: one at a time, in order, as triggers are.
    finishing: HashMap<Name, VecDeque<Item>>,
    running: usize,
    closed: bool,
    error: Option<Error>,
}

impl State {
    /// Some work of a table is done: what waits for its last comes before the rows of others.
    fn release(&mut self, table: &Name) {
        let left = self.busy.get_mut(table).map(|left| {
            *left -= 1;
            *left
        });
        if left != Some(0) {
            return;
        }
        match self.finishing.get_mut(table).and_then(VecDeque::pop_front) {
            Some(next) => {
                self.busy.insert(table.clone(), 1);
                self.items.push_front(next);
            }
            None => {
                self.busy.remove(table);
                self.finishing.remove(table);
            }
        }
    }
}

/// The queue between the reader and the workers.
#[derive(Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&'a self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts work in; waits while there is too much of it. [`Error::Stopped`] stands for a worker's error here.
    pub(super) fn push(&self, item: Item) -> Result<()> {
        let bytes = item.bytes();
        let mut state = self.lock();
        while state.error.is_none() && state.bytes > 0 && state.bytes + bytes > LIMIT {
            state = self.wait(state);
        }
        if state.error.is_some() {
            return Err(Error::Stopped);
        }
        if matches!(item.work, Work::Finish(..)) && state.busy.contains_key(&item.table) {
            state.finishing.entry(item.table.clone()).or_default().push_back(item);
        } else {
            *state.busy.entry(item.table.clone()).or_default() += 1;
            state.bytes += bytes;
            state.items.push_back(item);
        }
        drop(state);
        self.changed.notify_all();
        Ok(())
    }

    /// Waits until everything is done.
    pub(super) fn drain(&self) -> Result<()> {
        let mut state = self.lock();
        while state.error.is_none() && (state.running > 0 || !state.items.is_empty()) {
            state = self.wait(state);
        }
        if state.error.is_some() { Err(Error::Stopped) } else { Ok(()) }
    }

    /// The next work; `None` when there will be none.
    pub(super) fn take(&self) -> Option<Item> {
        let mut state = self.lock();
        loop {
            if state.error.is_some() {
                return None;
            }
            if let Some(item) = state.items.pop_front() {
                state.bytes -= item.bytes();
                state.running += 1;
                drop(state);
                self.changed.notify_all();
                return Some(item);
            }
            if state.closed && state.running == 0 {
                return None;
            }
            state = self.wait(state);
        }
    }

    /// Notes what came of some work; whether it was the first to fail.
    pub(super) fn ended(&self, table: &Name, result: Result<()>) -> bool {
        let mut state = self.lock();
        state.running -= 1;
        state.release(table);
        let first = result.is_err() && state.error.is_none();
        if let (true, Err(error)) = (first, result) {
            state.error = Some(error);
        }
        drop(state);
        self.changed.notify_all();
        first
    }

    /// Says that nothing more will be put in; with an error, that what is in it is not to be done.
    pub(super) fn close(&self, error: Option<Error>) {
        let mut state = self.lock();
        state.closed = true;
        if state.error.is_none() {
            state.error = error;
        }
        drop(state);
        self.changed.notify_all();
    }

    /// For a thread of either side: a panic of it must not leave the others waiting.
    pub(super) fn ends_with_panic(&self) -> EndsWithPanic<'_> {
        EndsWithPanic(self)
    }

    /// The error that ended the work.
    pub(super) fn into_error(self) -> Option<Error> {
        self.state.into_inner().unwrap_or_else(PoisonError::into_inner).error
    }
}

/// Closes the queue if its thread panics.
pub(super) struct EndsWithPanic<'a>(&'a Queue);

impl Drop for EndsWithPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.close(Some(Error::found("a thread of drover's panicked")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(table: &str, work: Work) -> Item {
        Item { table: Name::new("s", table), work, settings: 0 }
    }

    #[test]
    fn a_table_is_finished_after_its_last_batch() {
        let queue = Queue::default();
        let rows = || Work::Rows(Vec::new());
        queue.push(item("a", rows())).unwrap();
        queue.push(item("a", rows())).unwrap();
        queue.push(item("a", Work::Finish(None, None))).unwrap();
        queue.push(item("b", rows())).unwrap();
        let (first, second) = (queue.take().unwrap(), queue.take().unwrap());
        assert!(!queue.ended(&first.table, Ok(())));
        assert!(!queue.ended(&second.table, Ok(())));
        assert!(matches!(queue.take().unwrap().work, Work::Finish(..)), "before the rows of the next table");
        assert_eq!(queue.take().unwrap().table, Name::new("s", "b"));
    }

    #[test]
    fn what_follows_rows_comes_one_after_the_other() {
        let queue = Queue::default();
        let finish = |settings| Item { settings, ..item("a", Work::Finish(None, None)) };
        (0..3).for_each(|number| queue.push(finish(number)).unwrap());
        queue.push(item("b", Work::Rows(Vec::new()))).unwrap();
        let first = queue.take().unwrap();
        assert_eq!((first.settings, queue.take().unwrap().table), (0, Name::new("s", "b")));
        for expected in [1, 2] {
            assert!(!queue.ended(&first.table, Ok(())));
            assert_eq!(queue.take().unwrap().settings, expected);
        }
    }

    #[test]
    fn a_panic_ends_all() {
        let queue = Queue::default();
        queue.push(item("a", Work::Rows(Vec::new()))).unwrap();
        std::thread::scope(|scope| {
            let worker = scope.spawn(|| {
                let _ends = queue.ends_with_panic();
                let _taken = queue.take().unwrap();
                panic!("on purpose");
            });
            assert!(queue.drain().is_err() && worker.join().is_err());
        });
    }

    #[test]
    fn an_error_ends_all() {
        let queue = Queue::default();
        queue.push(item("a", Work::Rows(Vec::new()))).unwrap();
        let taken = queue.take().unwrap();
        assert!(queue.ended(&taken.table, Err(Error::found("x"))));
        assert!(queue.push(item("b", Work::Rows(Vec::new()))).is_err() && queue.drain().is_err());
        assert!(queue.take().is_none());
        assert_eq!(queue.into_error().unwrap().to_string(), "x");
    }
}
