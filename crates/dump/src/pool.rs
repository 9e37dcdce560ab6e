//! Workers, one connection each, that take tasks from one queue. A task may put others in the queue. The first error
//! ends all: the other workers' connections are broken, so that nobody waits for a statement that no longer matters.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use drover_db::{Connection, Stop};

use crate::error::Doing;
use crate::{Error, Result};

struct State<T> {
    /// The next task is the last one.
    tasks: Vec<T>,
    running: usize,
    error: Option<Error>,
}

struct Queue<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

impl<T> Queue<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next task; waits while others may still add some. `None` when all is done or an error ended it.
    fn take(&self) -> Option<T> {
        let mut state = self.lock();
        loop {
            if state.error.is_some() {
                return None;
            }
            if let Some(task) = state.tasks.pop() {
                state.running += 1;
                return Some(task);
            }
            if state.running == 0 {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Notes the end of a task; whether it was the first to fail.
    fn finish(&self, result: Result<Vec<T>>) -> bool {
        let mut state = self.lock();
        state.running -= 1;
        let first = match result {
            Ok(more) => {
                state.tasks.extend(more);
                false
            }
            Err(error) => state.error.is_none().then(|| state.error = Some(error)).is_some(),
        };
        drop(state);
        self.changed.notify_all();
        first
    }
}

/// Runs `work` on all `tasks`, the last one first, over the given connections; what a task returns is done next.
///
/// # Errors
/// The first error of a task, or [`Error::Stopped`] if a signal came.
pub(crate) fn run<T: Send>(
    connections: &mut [Connection],
    tasks: Vec<T>,
    stop: &Stop,
    work: impl Fn(&mut Connection, T) -> Result<Vec<T>> + Sync,
) -> Result<()> {
    let queue =
        Queue { state: Mutex::new(State { tasks, running: 0, error: None }), changed: Condvar::new() };
    std::thread::scope(|scope| {
        for connection in connections {
            scope.spawn(|| worker(connection, &queue, stop, &work));
        }
    });
    let error = queue.lock().error.take();
    match error {
        _ if stop.is_requested() => Err(Error::Stopped),
        Some(error) => Err(error),
        None => Ok(()),
    }
}

fn worker<T>(
    connection: &mut Connection,
    queue: &Queue<T>,
    stop: &Stop,
    work: &(impl Fn(&mut Connection, T) -> Result<Vec<T>> + Sync),
) {
    let watched = stop.watch(connection).doing(|| "watching a connection");
    while let Some(task) = queue.take() {
        let result = match &watched {
            _ if stop.is_requested() => Err(Error::Stopped),
            Ok(_) => work(connection, task),
            Err(error) => Err(Error::found(error.to_string())),
        };
        if queue.finish(result) {
            stop.break_connections();
        }
    }
}
