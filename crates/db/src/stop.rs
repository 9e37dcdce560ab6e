//! Stopping work that waits on servers: a flag that workers look at, and the power to break the connections they wait on.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::options::ConnectOptions;
use crate::wire::Breaker;
use crate::{Connection, Result};

/// Shared by the workers of a command and the signal handler.
#[derive(Debug, Default)]
pub struct Stop {
    requested: AtomicBool,
    /// Whether connections were broken, for a request or because some work failed.
    broken: AtomicBool,
    /// By a number of our own: two servers may give their connections the same id.
    breakers: Mutex<HashMap<u64, Ending>>,
    next: AtomicU64,
}

/// How to end what workers wait on.
enum Ending {
    Connection(Breaker),
    Other(Box<dyn Fn() + Send>),
}

impl Ending {
    fn end(&self) {
        match self {
            Self::Connection(breaker) => breaker.break_connection(),
            Self::Other(end) => end(),
        }
    }
}

impl fmt::Debug for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connection(breaker) => breaker.fmt(f),
            Self::Other(_) => f.write_str("Other"),
        }
    }
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
        self.lock().values().for_each(Ending::end);
    }

    /// Watches a connection until the guard is dropped.
    ///
    /// # Errors
    /// If the system has no more file descriptors.
    pub fn watch(&self, connection: &Connection) -> Result<Watched<'_>> {
        Ok(self.watch_ending(Ending::Connection(connection.breaker()?)))
    }

    /// Watches a connection that outlives the borrow of this.
    ///
    /// # Errors
    /// If the system has no more file descriptors.
    pub fn watch_shared(self: &Arc<Self>, connection: &Connection) -> Result<Watched<'static>> {
        let number = self.insert(Ending::Connection(connection.breaker()?));
        Ok(Watched { stop: Holder::Shared(Arc::clone(self)), number })
    }

    /// Connects, and watches the connection; a request ends the login too, wherever it is.
    ///
    /// # Errors
    /// As of [`Connection::open`], or if the system has no more file descriptors.
    pub fn connect(self: &Arc<Self>, options: &ConnectOptions) -> Result<(Connection, Watched<'static>)> {
        let connection = Connection::open_until(options, self)?;
        let watched = self.watch_shared(&connection)?;
        Ok((connection, watched))
    }

    /// Does the same for something that is no connection to a server: `end` must not wait, and may come more than once.
    pub fn watch_other(&self, end: impl Fn() + Send + 'static) -> Watched<'_> {
        self.watch_ending(Ending::Other(Box::new(end)))
    }

    /// How much is watched.
    #[cfg(test)]
    pub(crate) fn watched(&self) -> usize {
        self.lock().len()
    }

    fn watch_ending(&self, ending: Ending) -> Watched<'_> {
        Watched { stop: Holder::Borrowed(self), number: self.insert(ending) }
    }

    fn insert(&self, ending: Ending) -> u64 {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.lock().insert(number, ending);
        // Only now: a request before the insertion has not seen this connection.
        if self.is_requested() {
            self.break_connections();
        }
        number
    }

    /// A panic of one worker must not keep the others from being stopped.
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Ending>> {
        self.breakers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection, or something else, that [`Stop`] will end.
#[derive(Debug)]
pub struct Watched<'a> {
    stop: Holder<'a>,
    number: u64,
}

#[derive(Debug)]
enum Holder<'a> {
    Borrowed(&'a Stop),
    Shared(Arc<Stop>),
}

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        let stop = match &self.stop {
            Holder::Borrowed(stop) => stop,
            Holder::Shared(stop) => &**stop,
        };
        stop.lock().remove(&self.number);
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
        let breaker = |index: usize| Ending::Connection(Breaker::Unix(pairs[index].0.try_clone().unwrap()));
        let stop = Stop::default();
        let _watched = stop.watch_ending(breaker(0));
        drop(stop.watch_ending(breaker(1)));
        stop.request();
        assert_eq!(pairs.each_ref().map(|(_, far)| is_broken(far)), [true, false, false]);
        let _late = stop.watch_ending(breaker(2));
        assert!(is_broken(&pairs[2].1));
    }
}
