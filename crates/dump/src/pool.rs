//! Workers, with a connection each or one to either of two servers, that take tasks from one queue. A task may put others
//! in the queue. The first error ends all: the other workers' connections are broken, so that nobody waits for a statement
//! that no longer matters.

use std::panic::resume_unwind;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use drover_db::{Connection, Stop};

use crate::error::Doing;
use crate::{Error, Result};

/// What a worker does its tasks over.
pub(crate) trait Worker: Send {
    /// The connections that it may wait on.
    fn connections(&self) -> Vec<&Connection>;
}

impl Worker for Connection {
    fn connections(&self) -> Vec<&Connection> {
        vec![self]
    }
}

struct State<T> {
    /// The next task is the last one.
    tasks: Vec<T>,
    /// Workers that do a task.
    running: usize,
    /// Workers that look for one.
    seeking: usize,
    error: Option<Error>,
}

/// How often a worker without a task looks for one.
const SEEK_EVERY: Duration = Duration::from_millis(5);

/// What a worker is to do.
enum Next<T> {
    Task(T),
    Seek,
    Stop,
}

struct Queue<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

impl<T> Queue<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next task. Waits while others may still add some, and looks for one meanwhile.
    fn take(&self) -> Next<T> {
        let mut state = self.lock();
        let mut has_waited = false;
        loop {
            if state.error.is_some() {
                return Next::Stop;
            }
            if let Some(task) = state.tasks.pop() {
                state.running += 1;
                return Next::Task(task);
            }
            if state.running == 0 && state.seeking == 0 {
                return Next::Stop;
            }
            if has_waited && state.running > 0 {
                state.seeking += 1;
                return Next::Seek;
            }
            let waited = self.changed.wait_timeout(state, SEEK_EVERY).unwrap_or_else(PoisonError::into_inner);
            has_waited = waited.1.timed_out();
            state = waited.0;
        }
    }

    /// Notes what came of a task or a search; whether it was the first to fail.
    fn ended(&self, counter: fn(&mut State<T>) -> &mut usize, result: Result<Vec<T>>) -> bool {
        let mut state = self.lock();
        *counter(&mut state) -= 1;
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

/// For work in which a task is never to be looked for.
pub(crate) fn nothing_to_seek<W, T>(_worker: &mut W) -> Result<Option<T>> {
    Ok(None)
}

/// Has the workers do `work` on all `tasks`, the last one first; what a task returns is done next. A worker
/// without a task calls `seek` now and then as long as others work. Gives how much later the last worker ended its last
/// task than the first one.
///
/// # Errors
/// The first error of a task, or [`Error::Stopped`] if a signal came.
pub(crate) fn run<W: Worker, T: Send>(
    workers: &mut [W],
    tasks: Vec<T>,
    stop: &Stop,
    work: impl Fn(&mut W, T) -> Result<Vec<T>> + Sync,
    seek: impl Fn(&mut W) -> Result<Option<T>> + Sync,
) -> Result<Duration> {
    let started = Instant::now();
    let state = State { tasks, running: 0, seeking: 0, error: None };
    let queue = Queue { state: Mutex::new(state), changed: Condvar::new() };
    let ends: Vec<_> = std::thread::scope(|scope| {
        let threads = workers.iter_mut().map(|worker| {
            scope.spawn(|| {
                let mut ended = started;
                run_tasks(worker, &queue, stop, &work, &seek, &mut ended);
                ended
            })
        });
        let threads: Vec<_> = threads.collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    let (first, last) = (ends.iter().min().copied(), ends.iter().max().copied());
    let error = queue.lock().error.take();
    match error {
        _ if stop.is_requested() => Err(Error::Stopped),
        Some(error) => Err(error),
        None => Ok(last.zip(first).map_or(Duration::ZERO, |(last, first)| last - first)),
    }
}

fn run_tasks<W: Worker, T>(
    worker: &mut W,
    queue: &Queue<T>,
    stop: &Stop,
    work: &(impl Fn(&mut W, T) -> Result<Vec<T>> + Sync),
    seek: &(impl Fn(&mut W) -> Result<Option<T>> + Sync),
    ended: &mut Instant,
) {
    let watched: Result<Vec<_>> = worker
        .connections()
        .into_iter()
        .map(|connection| stop.watch(connection).doing(|| "watching a connection"))
        .collect();
    let is_ready = || match &watched {
        _ if stop.is_requested() => Err(Error::Stopped),
        Ok(_) => Ok(()),
        Err(error) => Err(Error::found(error.to_string())),
    };
    loop {
        let failed_first = match queue.take() {
            Next::Task(task) => {
                let result = is_ready().and_then(|()| work(worker, task));
                *ended = Instant::now();
                queue.ended(|state| &mut state.running, result)
            }
            Next::Seek => {
                let result = is_ready().and_then(|()| seek(worker));
                queue.ended(|state| &mut state.seeking, result.map(|found| found.into_iter().collect()))
            }
            Next::Stop => return,
        };
        if failed_first {
            stop.break_connections();
        }
    }
}
