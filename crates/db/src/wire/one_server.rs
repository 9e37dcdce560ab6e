//! Proof that all connections of a command lead to one server. An address may stand for several: a reader endpoint, a proxy or a
//! balancer that deals connections out, a name with more than one address; and what is read of one and written to another is lost
//! or mixed without a word. Servers' names, numbers and ids prove nothing, as copies of a server share them. A lock by name does:
//! the first connection, which does nothing else, holds one that only its own server knows. When that connection is lost, nothing
//! proves any more that a new one leads to the same server, and the command ends.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::connection::Connection;
use super::result::Row;
use super::stream::Deadline;
use crate::options::{Address, ConnectOptions};
use crate::{Error, Result, er, server};

/// What connections with the same options share: those of clones too. By default it proves nothing.
#[derive(Clone, Default)]
pub struct OneServer(Option<Arc<Shared>>);

struct Shared {
    /// Whether another server may take the place of one that is gone, as the next primary does.
    may_move: bool,
    /// Whether the server may be behind its cluster.
    may_lag: bool,
    anchors: Mutex<HashMap<Address, Arc<Mutex<Anchor>>>>,
    /// The servers that have caught up with their clusters since the command began.
    current: Mutex<HashSet<Address>>,
}

/// The connection that holds the lock.
struct Anchor {
    connection: Connection,
    mark: Mark,
    /// What the server is called, for messages.
    server: String,
}

/// What tells the anchor's server from others.
#[derive(Clone)]
enum Mark {
    /// The lock's name as SQL.
    Lock(String),
    /// The server has no such locks, or refuses them, as clusters may.
    Traits(Traits),
    /// All servers of a TiDB cluster have the same rows, so that any of them is as good. To ask it for a lock takes a second: it tries to
    /// take the lock for as long (`IsUsedAdvisoryLock` in its pkg/session/session.go).
    Tidb,
}

/// What a copy of the server may share, but seldom all of it.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Traits {
    called: String,
    /// MySQL's `server_uuid`, MariaDB's `server_uid` (since 10.11); empty if there is none.
    id: String,
    /// When it was started, by its own clock, in seconds; each reading of it may differ by one.
    started: i64,
}

impl OneServer {
    /// All connections must lead to the server of the first, and no new one is taken where that was lost.
    pub fn proved() -> Self {
        Self::shared(false, false)
    }

    /// Those that are open at the same time must lead to one server; when it is gone, the next may lead to another.
    /// How current each of them is, its sessions' settings say.
    pub fn that_may_move() -> Self {
        Self::shared(true, true)
    }

    /// As [`OneServer::proved`], of a server that is asked how far behind it is.
    pub fn that_may_lag() -> Self {
        Self::shared(false, true)
    }

    fn shared(may_move: bool, may_lag: bool) -> Self {
        let (anchors, current) = (Mutex::default(), Mutex::default());
        Self(Some(Arc::new(Shared { may_move, may_lag, anchors, current })))
    }

    /// The server's number of the connection that holds the lock, as far as there is one.
    pub fn anchor(&self, address: &Address) -> Option<u32> {
        let anchor = Arc::clone(lock(&self.0.as_ref()?.anchors).get(address)?);
        Some(lock(&anchor).connection.id())
    }

    /// Has the server catch up with its cluster, if that is still to be done.
    pub(super) fn catch_up(&self, connection: &mut Connection, options: &ConnectOptions) -> Result<()> {
        let Some(shared) = self.0.as_ref().filter(|shared| !shared.may_lag) else { return Ok(()) };
        // Held meanwhile: nobody reads there before.
        let mut current = lock(&shared.current);
        if !current.contains(&options.address) {
            connection.catch_up()?;
            current.insert(options.address.clone());
        }
        Ok(())
    }

    /// Proves it of a new connection.
    pub(super) fn check(&self, connection: &mut Connection, options: &ConnectOptions) -> Result<()> {
        let Some(shared) = &self.0 else { return Ok(()) };
        let anchor = &shared.anchor(options)?;
        let known = lock(anchor).mark.clone();
        if matches!(&known, Mark::Lock(name) if connection.sees(name)?) {
            return Ok(());
        }
        let mut anchor = lock(anchor);
        // Another thread may have put a new one in its place meanwhile.
        for may_renew in [true, false] {
            if anchor.mark.is_of(connection)? {
                return Ok(());
            }
            let (to, first, other) =
                (connection.to.clone(), anchor.server.clone(), connection.server_called()?);
            match anchor.sees_itself(options.connect_timeout) {
                Ok(false) | Err(_) if may_renew && shared.may_move => {}
                Err(_) if first == other => return Err(Error::Unproved { to, server: first }),
                _ => return Err(Error::OtherServer { to, first, other }),
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
        if server::is_tidb(&mut connection)? {
            return Ok(Self { connection, mark: Mark::Tidb, server });
        }
        // Not a SELECT: a proxy that has those read elsewhere is found out by that.
        let name =
            format!("'drover_{:x}'", RandomState::new().hash_one((std::process::id(), connection.id())));
        let mark = match connection.execute(format!("DO GET_LOCK({name}, 0)")) {
            Ok(_) => Mark::Lock(name),
            Err(Error::Server(_)) => Mark::Traits(connection.traits()?),
            Err(error) => return Err(error),
        };
        Ok(Self { connection, mark, server })
    }

    /// Whether it sees its own mark: an error if its connection is lost; it does not where statements of one connection are sent to
    /// several servers. Nobody waits for ever to learn it.
    fn sees_itself(&mut self, patience: Duration) -> Result<bool> {
        let Self { connection, mark, .. } = self;
        let is_set = connection.packets.stream_mut().set_deadline(Some(Deadline::after(patience)));
        is_set.map_err(|source| connection.lost(source))?;
        mark.is_of(connection)
    }
}

impl Mark {
    fn is_of(&self, connection: &mut Connection) -> Result<bool> {
        match self {
            Self::Lock(name) => connection.sees(name),
            Self::Traits(traits) => Ok(traits.may_be(&connection.traits()?)),
            Self::Tidb => server::is_tidb(connection),
        }
    }
}

impl Traits {
    fn may_be(&self, other: &Self) -> bool {
        let started = other.started;
        self.started.abs_diff(started) <= 2 && Self { started, ..self.clone() } == *other
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
            Err(Error::Server(error)) if error.code == er::SUBQUERY_NO_1_ROW => Ok(false),
            other => other.map(|_| true),
        }
    }

    fn traits(&mut self) -> Result<Traits> {
        let of_row = |row: Option<Row>| row.map(|row| row.string(1)).unwrap_or_default();
        let id = self.first("SHOW GLOBAL VARIABLES WHERE Variable_name IN ('server_uuid', 'server_uid')")?;
        let uptime = self.first("SHOW GLOBAL STATUS LIKE 'Uptime'")?;
        let now = self.first("SELECT 'now', UNIX_TIMESTAMP()")?;
        let seconds = |row| of_row(row).parse().unwrap_or(0_i64);
        Ok(Traits { called: self.server_called()?, id: of_row(id), started: seconds(now) - seconds(uptime) })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_lock_servers_are_told_by_their_traits() {
        let traits =
            |called: &str, id: &str, started| Traits { called: called.into(), id: id.into(), started };
        let first = traits("db:3306 (server_id 1)", "a", 1000);
        for (same, other) in [
            (true, traits("db:3306 (server_id 1)", "a", 1001)),
            (false, traits("db:3306 (server_id 1)", "a", 1003)),
            (false, traits("db:3306 (server_id 1)", "a", 900)),
            (false, traits("db:3306 (server_id 1)", "b", 1000)),
            (false, traits("db:3306 (server_id 2)", "a", 1000)),
        ] {
            assert_eq!(first.may_be(&other), same, "{other:?}");
        }
    }
}
