//! Stopping work that waits on servers: a flag that workers look at, and the power to break the connections they wait on.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::wire::Breaker;
use crate::{Connection, Result};

/// Shared by the workers of a command and the signal handler.
#[derive(Debug, Default)]
pub struct Stop {
    requested: AtomicBool,
    /// Whether connections were broken, for a request or because some work failed.
    broken: AtomicBool,
    /// By a number of our own: two servers may give their connections the same id.
    breakers: Mutex<HashMap<u64, Breaker>>,
    next: AtomicU64,
}

impl Stop {
    /// Asks all work to stop and breaks the connections it may wait on.
    pub fn request(&self) {
        self.requested.store(true, Ordering::SeqCst);
        self.break_connections();
    }

    /// Whether a stop was asked for.
    pub fn is_requested(&self) -> bool {
        self.requested.load(Ordering::SeqCst)
    }

    /// Whether connections were broken: what was done over them is over.
    pub fn is_broken(&self) -> bool {
        self.broken.load(Ordering::SeqCst)
    }

    /// The flag itself, for work that only polls it.
    pub fn flag(&self) -> &AtomicBool {
        &self.requested
    }

    /// Breaks the watched connections: what waits on them ends with an error at once.
    pub fn break_connections(&self) {
        self.broken.store(true, Ordering::SeqCst);
        self.lock().values().for_each(Breaker::break_connection);
    }

    /// Watches a connection until the guard is dropped.
    ///
    /// # Errors
    /// If the system has no more file descriptors.
    pub fn watch(&self, connection: &Connection) -> Result<Watched<'_>> {
        Ok(self.watch_breaker(connection.breaker()?))
    }

    fn watch_breaker(&self, breaker: Breaker) -> Watched<'_> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.lock().insert(number, breaker);
        // Only now: a request before the insertion has not seen this connection.
        if self.is_requested() {
            self.break_connections();
        }
        Watched { stop: self, number }
    }

    /// A panic of one worker must not keep the others from being stopped.
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Breaker>> {
        self.breakers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection that [`Stop`] will break.
#[derive(Debug)]
pub struct Watched<'a> {
    stop: &'a Stop,
    number: u64,
}

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        self.stop.lock().remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    use super::*;

    /// Whether the other end of `stream` was broken; it sends nothing.
    fn is_broken(stream: &UnixStream) -> bool {
        stream.set_nonblocking(true).unwrap();
        matches!((&*stream).read(&mut [0]), Ok(0))
    }

    #[test]
    fn a_request_breaks_what_is_watched_then_and_later_and_nothing_else() {
        let pairs: [_; 3] = std::array::from_fn(|_| UnixStream::pair().unwrap());
        let breaker = |index: usize| Breaker::Unix(pairs[index].0.try_clone().unwrap());
        let stop = Stop::default();
        let _watched = stop.watch_breaker(breaker(0));
        drop(stop.watch_breaker(breaker(1)));
        stop.request();
        assert_eq!(pairs.each_ref().map(|(_, far)| is_broken(far)), [true, false, false]);
        let _late = stop.watch_breaker(breaker(2));
        assert!(is_broken(&pairs[2].1));
    }
}
