//! Proof that all connections of a command lead to one server. An address may stand for several: a reader endpoint, a proxy or a
//! balancer that deals connections out, a name with more than one address; and what is read of one and written to another is lost
//! or mixed without a word. Servers' names, numbers and ids prove nothing, as copies of a server share them. A lock by name does:
//! the first connection, which does nothing else, holds one that only its own server knows.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::connection::Connection;
use super::stream::Deadline;
use crate::options::{Address, ConnectOptions};
use crate::{Error, Result};

/// What connections with the same options share: those of clones too. By default it proves nothing.
#[derive(Clone, Default)]
pub struct OneServer(Option<Arc<Shared>>);

struct Shared {
    /// Whether another server may take the place of one that is gone, as the next primary does.
    may_move: bool,
    anchors: Mutex<HashMap<Address, Arc<Mutex<Anchor>>>>,
}

/// The connection that holds the lock.
struct Anchor {
    connection: Connection,
    /// The lock's name as SQL; none if the server has no such locks, or refuses them.
    lock: Option<String>,
    /// What the server is called, for messages, and as all there is to go by where there is no lock.
    server: String,
}

/// ER_SUBQUERY_NO_1_ROW
const TWO_ROWS: u16 = 1242;

impl OneServer {
    /// All connections must lead to the server of the first, and to one that is called the same where it was lost.
    pub fn proved() -> Self {
        Self(Some(Arc::new(Shared { may_move: false, anchors: Mutex::default() })))
    }

    /// Those that are open at the same time must lead to one server; when it is gone, the next may lead to another.
    pub fn that_may_move() -> Self {
        Self(Some(Arc::new(Shared { may_move: true, anchors: Mutex::default() })))
    }

    /// The server's number of the connection that holds the lock, as far as there is one.
    pub fn anchor(&self, address: &Address) -> Option<u32> {
        let anchor = Arc::clone(lock(&self.0.as_ref()?.anchors).get(address)?);
        Some(lock(&anchor).connection.id())
    }

    /// Proves it of a new connection.
    pub(super) fn check(&self, connection: &mut Connection, options: &ConnectOptions) -> Result<()> {
        let Some(shared) = &self.0 else { return Ok(()) };
        let anchor = &shared.anchor(options)?;
        let known = lock(anchor).lock.clone();
        if known.map_or(Ok(false), |known| connection.sees(&known))? {
            return Ok(());
        }
        let mut anchor = lock(anchor);
        // Another thread may have put a new one in its place meanwhile.
        for may_renew in [true, false] {
            let (first, other) = (anchor.server.clone(), connection.server_called()?);
            let is_seen = match &anchor.lock {
                Some(lock) => connection.sees(lock)?,
                None => first == other,
            };
            if is_seen {
                return Ok(());
            }
            let is_gone = may_renew && !anchor.is_held(options.connect_timeout);
            if !is_gone || !(shared.may_move || first == other) {
                return Err(Error::OtherServer { to: connection.to.clone(), first, other });
            }
            *anchor = Anchor::open(options)?;
        }
        Ok(())
    }
}

impl Shared {
    fn anchor(&self, options: &ConnectOptions) -> Result<Arc<Mutex<Anchor>>> {
        let mut anchors = lock(&self.anchors);
        if let Some(anchor) = anchors.get(&options.address) {
            return Ok(Arc::clone(anchor));
        }
        let anchor = Arc::new(Mutex::new(Anchor::open(options)?));
        anchors.insert(options.address.clone(), Arc::clone(&anchor));
        Ok(anchor)
    }
}

impl Anchor {
    fn open(options: &ConnectOptions) -> Result<Self> {
        let mut connection = Connection::log_in(options)?;
        connection.set_defaults()?;
        let server = connection.server_called()?;
        // Not a SELECT: a proxy that has those read elsewhere is found out by that.
        let name =
            format!("'drover_{:x}'", RandomState::new().hash_one((std::process::id(), connection.id())));
        let lock = match connection.execute(format!("DO GET_LOCK({name}, 0)")) {
            Ok(_) => Some(name),
            Err(Error::Server(_)) => None,
            Err(error) => return Err(error),
        };
        Ok(Self { connection, lock, server })
    }

    /// Whether its server is there, and still knows the lock. Nobody waits for ever to learn it.
    fn is_held(&mut self, patience: Duration) -> bool {
        let Self { connection, lock, .. } = self;
        let stream = connection.packets.stream_mut();
        if stream.set_deadline(Some(Deadline::after(patience))).is_err() {
            return false;
        }
        match lock {
            Some(lock) => connection.sees(lock).unwrap_or(false),
            None => connection.execute("DO 0").is_ok(),
        }
    }
}

impl Drop for Anchor {
    /// The server counts no client that went without a word.
    fn drop(&mut self) {
        self.connection.say_goodbye();
    }
}

impl Connection {
    /// Whether the lock of this name is held on the server that this connection's SELECTs are sent to, and its other statements too.
    fn sees(&mut self, lock: &str) -> Result<bool> {
        let holder = self.first(format!("SELECT IS_USED_LOCK({lock})"))?;
        if holder.is_none_or(|row| row.text(0).is_none()) {
            return Ok(false);
        }
        let two_rows_if_not =
            format!("DO (SELECT 1 UNION ALL SELECT 1 FROM DUAL WHERE IS_USED_LOCK({lock}) IS NULL)");
        match self.execute(two_rows_if_not) {
            Err(Error::Server(error)) if error.code == TWO_ROWS => Ok(false),
            other => other.map(|_| true),
        }
    }

    fn server_called(&mut self) -> Result<String> {
        let row = self.first("SELECT @@hostname, @@port, @@server_id")?;
        let field = |at: usize| row.as_ref().map(|row| row.string(at)).unwrap_or_default();
        Ok(format!("{}:{} (server_id {})", field(0), field(1), field(2)))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// It is no part of what is asked for.
impl PartialEq for OneServer {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for OneServer {}

impl fmt::Debug for OneServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "OneServer" } else { "any server" })
    }
}
