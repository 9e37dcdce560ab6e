//! Stopping work that waits on servers: a flag that workers look at, and the power to break the connections they wait on.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::wire::Breaker;
use crate::{Connection, Result};

/// Shared by the workers of a command and the signal handler.
#[derive(Debug, Default)]
pub struct Stop {
    requested: AtomicBool,
    breakers: Mutex<HashMap<u32, Breaker>>,
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

    /// The flag itself, for work that only polls it.
    pub fn flag(&self) -> &AtomicBool {
        &self.requested
    }

    /// Breaks the watched connections: what waits on them ends with an error at once.
    pub fn break_connections(&self) {
        self.lock().values().for_each(Breaker::break_connection);
    }

    /// Watches a connection until the guard is dropped.
    ///
    /// # Errors
    /// If the system has no more file descriptors.
    pub fn watch(&self, connection: &Connection) -> Result<Watched<'_>> {
        let breaker = connection.breaker()?;
        if self.is_requested() {
            breaker.break_connection();
        }
        self.lock().insert(connection.id(), breaker);
        Ok(Watched { stop: self, id: connection.id() })
    }

    /// A panic of one worker must not keep the others from being stopped.
    fn lock(&self) -> MutexGuard<'_, HashMap<u32, Breaker>> {
        self.breakers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection that [`Stop`] will break.
#[derive(Debug)]
pub struct Watched<'a> {
    stop: &'a Stop,
    id: u32,
}

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        self.stop.lock().remove(&self.id);
    }
}
