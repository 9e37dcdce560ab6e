//! An attempt to connect and log in: how long it may take as a whole, and what ends it before that.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use super::stream::{Breaker, Deadline};
use crate::{Stop, Watched};

/// All attempts of this process: a signal ends them wherever they are made.
static ATTEMPTS: LazyLock<Stop> = LazyLock::new(Stop::default);

/// How long to wait at once for what nothing can break, before the attempt is looked at again.
const TURN: Duration = Duration::from_millis(50);

/// Ends the logins that are under way anywhere in this process, as a signal wants it. Connections are left as they are, and later
/// logins too: what is left behind may have to be removed.
pub fn interrupt_logins() {
    ATTEMPTS.break_connections();
}

pub(super) struct Attempt<'a> {
    deadline: Deadline,
    state: Arc<State>,
    _watched: [Option<Watched<'a>>; 2],
}

#[derive(Default)]
struct State {
    is_ended: AtomicBool,
    breaker: Mutex<Option<Breaker>>,
}

impl State {
    fn end(&self) {
        self.is_ended.store(true, Ordering::SeqCst);
        let breaker = self.breaker.lock().unwrap_or_else(PoisonError::into_inner);
        breaker.iter().for_each(Breaker::break_connection);
    }
}

impl<'a> Attempt<'a> {
    /// Begins one that ends after `time`, with [`interrupt_logins`], and with `stop`.
    pub(super) fn begin(time: Duration, stop: Option<&'a Stop>) -> Self {
        let state = Arc::<State>::default();
        let watched = [Some(&*ATTEMPTS), stop].map(|stop| {
            let state = Arc::clone(&state);
            stop.map(|stop| stop.watch_other(move || state.end()))
        });
        Self { deadline: Deadline::after(time), state, _watched: watched }
    }

    pub(super) fn deadline(&self) -> Deadline {
        self.deadline
    }

    /// Whether it was ended, and not by its deadline.
    pub(super) fn is_ended(&self) -> bool {
        self.state.is_ended.load(Ordering::SeqCst)
    }

    /// How much time is left.
    ///
    /// # Errors
    /// If none is, or the attempt was ended.
    pub(super) fn left(&self) -> io::Result<Duration> {
        if self.is_ended() { Err(ended()) } else { self.deadline.left() }
    }

    /// How long to wait before this is asked again.
    ///
    /// # Errors
    /// As of [`Attempt::left`].
    pub(super) fn turn(&self) -> io::Result<Duration> {
        Ok(self.left()?.min(TURN))
    }

    /// From here on the end of the attempt breaks this connection, and no earlier one.
    ///
    /// # Errors
    /// If the attempt was ended.
    pub(super) fn ends_with(&self, breaker: Breaker) -> io::Result<()> {
        *self.state.breaker.lock().unwrap_or_else(PoisonError::into_inner) = Some(breaker);
        // Only now: an end before that has not seen this connection.
        if self.is_ended() { Err(ended()) } else { Ok(()) }
    }
}

fn ended() -> io::Error {
    io::Error::other("the attempt to connect was ended")
}
