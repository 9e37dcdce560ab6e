//! Renewing a shepherd's lease on a shard: over a connection of its own, which changes nothing but the shepherd's own row. So the lease
//! holds while the keeper's connection waits, for an inbox that somebody has locked or for a slow statement; and what runs meanwhile
//! is not given to others.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use drover_db::Connection;
use drover_db::wire::Breaker;

use crate::Result;
use crate::desk::Desk;
use crate::error::Doing;
use crate::lease::{self, Name};
use crate::session;
use crate::shard::Shard;

/// A keeper that has waited for so long for one thing waits for a server that is gone: its connection is broken.
const STUCK: Duration = Duration::from_secs(300);
/// Until the next try, if the lease could not be renewed.
const AGAIN: Duration = Duration::from_millis(200);

/// How often a lease of this length is renewed: several times before it runs out, and before the server takes the connection for idle.
pub(crate) fn every(lease: Duration) -> Duration {
    const LONGEST: Duration = Duration::from_secs(3);
    (lease * 3 / 7).min(LONGEST)
}

/// What the keeper of a shard and the thread that renews its lease share.
#[derive(Debug, Default)]
pub(crate) struct Lease {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    held: Option<Held>,
    /// Ends what the thread that renews it waits for.
    renewal: Option<Breaker>,
    /// Whether there will be no other keeper.
    is_closed: bool,
}

/// The lease of a keeper that is at work.
#[derive(Debug)]
struct Held {
    /// The shepherd's number on the shard.
    shepherd: u32,
    /// Ends what the keeper waits for.
    keeper: Breaker,
    renew_at: Instant,
    /// When the keeper was last seen not to wait for its server.
    moved: Instant,
    is_lost: bool,
}

/// Closes a lease when the thread of its keepers ends.
pub(crate) struct Closing<'a>(&'a Lease);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        (state.held, state.is_closed) = (None, true);
        if let Some(renewal) = &state.renewal {
            renewal.break_connection();
        }
        self.0.changed.notify_all();
    }
}

impl Lease {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner) // nothing is left half done by a panic: there is none under a lock
    }

    /// Has the thread that renews it end when this is dropped.
    pub(crate) fn closing(&self) -> Closing<'_> {
        Closing(self)
    }

    /// A keeper has entered its shepherd over this connection.
    pub(crate) fn begin(&self, shepherd: u32, keeper: &Connection, length: Duration) -> Result<()> {
        let keeper = keeper.breaker().doing(|| "entering queue_shepherd")?;
        let now = Instant::now();
        let held = Held { shepherd, keeper, renew_at: now + every(length), moved: now, is_lost: false };
        self.state().held = Some(held);
        self.changed.notify_all();
        Ok(())
    }

    /// The keeper is at work no more; whether others have taken its lease.
    pub(crate) fn end(&self) -> bool {
        self.state().held.take().is_some_and(|held| held.is_lost)
    }

    /// The keeper does not wait for its server.
    pub(crate) fn moved(&self) {
        if let Some(held) = &mut self.state().held {
            held.moved = Instant::now();
        }
    }

    /// Waits until a lease is to be renewed: whose. `None` if there will be none.
    fn due(&self) -> Option<u32> {
        let mut state = self.state();
        while !state.is_closed {
            let now = Instant::now();
            state = match state.held.as_ref().filter(|held| !held.is_lost) {
                Some(held) if now >= held.renew_at => return Some(held.shepherd),
                Some(held) => {
                    let wait = held.renew_at - now;
                    self.changed.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
        None
    }

    fn is_stuck(&self) -> bool {
        self.state().held.as_ref().is_some_and(|held| held.moved.elapsed() > STUCK)
    }

    fn next_at(&self, shepherd: u32, at: Instant) {
        if let Some(held) = self.state().held.as_mut().filter(|held| held.shepherd == shepherd) {
            held.renew_at = at;
        }
    }

    /// Has the keeper begin anew.
    fn lose(&self, shepherd: u32) {
        if let Some(held) = self.state().held.as_mut().filter(|held| held.shepherd == shepherd) {
            held.is_lost = true;
            held.keeper.break_connection();
        }
    }
}

/// Renews the leases of a shard's keepers, one after the other.
pub(crate) struct Renewal<'a> {
    pub(crate) lease: &'a Lease,
    pub(crate) shard: &'a Shard,
    /// The shard's number on the desk.
    pub(crate) at: usize,
    pub(crate) desk: &'a Desk,
    pub(crate) name: &'a Name,
}

impl Renewal<'_> {
    /// Returns when the lease is closed.
    pub(crate) fn run(&self) {
        let mut connection = None;
        while let Some(shepherd) = self.lease.due() {
            if self.lease.is_stuck() {
                self.lease.lose(shepherd);
                continue;
            }
            let asked = Instant::now();
            let next = match self.renew(&mut connection, shepherd) {
                Ok(true) => {
                    self.desk.leased(self.at, asked + self.name.lease);
                    asked + every(self.name.lease)
                }
                Ok(false) => {
                    self.lease.lose(shepherd);
                    continue;
                }
                Err(_) => {
                    connection = None; // the keeper tells of it
                    Instant::now() + AGAIN
                }
            };
            self.lease.next_at(shepherd, next);
        }
    }

    fn renew(&self, connection: &mut Option<Connection>, shepherd: u32) -> Result<bool> {
        let connection = match connection {
            Some(connection) => connection,
            None => {
                let opened = connection.insert(session::brief(session::open_any(self.shard)?, self.shard)?);
                let breaker = opened.breaker().doing(|| "renewing the lease")?;
                self.lease.state().renewal = Some(breaker);
                opened
            }
        };
        lease::renew(connection, shepherd, self.desk.running(), self.name.lease)
    }
}
