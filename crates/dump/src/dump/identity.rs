//! Whether a name still means the table that it meant when the snapshot was taken. A transaction sees each InnoDB table as it was, but
//! finds it by the name of now: of two tables of one definition that exchange their names, each would be read as the other. So the numbers
//! that the server gives to tables are listed where DDL is held off, and looked at again while the lock that every reader has on a table
//! keeps its name to it.

use std::sync::{Mutex, PoisonError};

use drover_db::options::ConnectOptions;
use drover_db::session::{Isolation, Use};
pub(crate) use drover_db::table::{Numbering, Numbers};
use drover_db::{Connection, Stop, Vendor};

use super::catalog::Name;
use super::waits;
use crate::Result;
use crate::error::Doing;
use crate::session;

/// About how often all tables are looked at, where that is the only way to look at some.
const LOOKS: usize = 64;

const NAMING: &str = "asking how a table's file is called";

/// What tables were called when the snapshot was taken.
#[derive(Debug, Default)]
pub(crate) struct Identity(Option<Known>);

#[derive(Debug)]
struct Known {
    numbering: Numbering,
    then: Numbers,
    /// MySQL shows the catalogue as of a transaction's snapshot: this session has none. It waits for whoever waits for a table that a worker
    /// holds, and no longer than for [`BESIDE`].
    beside: Option<Mutex<Connection>>,
    /// For how many tables the server is asked at once.
    most_at_once: usize,
}

/// What a look at tables has told.
#[derive(Debug)]
pub(crate) enum Look<'n> {
    /// They are those of the snapshot.
    Same,
    /// This one is another table now.
    Other(&'n Name),
    /// Nothing: somebody waits for one of them, and the look would wait behind whoever does.
    IsWaitedFor,
}

/// How many seconds a look waits for a lock on a table's name: who is in the way waits for the worker that asks.
const BESIDE: u64 = 1;

impl Identity {
    /// As the numbers were where DDL was held off.
    pub(crate) fn new(
        options: &ConnectOptions,
        coordinator: &mut Connection,
        vendor: Vendor,
        known: Option<(Numbering, Numbers)>,
    ) -> Result<Self> {
        let Some((numbering, then)) = known else { return Ok(Self::default()) };
        let beside = (vendor == Vendor::MySql).then(|| beside(options)).transpose()?;
        // Without an index, one table is looked for as long as all are.
        let is_shared = !numbering.has_index() && session::can_do_without_waiting(coordinator)?;
        let most_at_once = if is_shared { (then.len() / LOOKS).clamp(16, 512) } else { 1 };
        Ok(Self(Some(Known { numbering, then, beside: beside.map(Mutex::new), most_at_once })))
    }

    /// How many tables had better be opened for one look.
    pub(crate) fn most_at_once(&self) -> usize {
        self.0.as_ref().map_or(1, |known| known.most_at_once)
    }

    /// Looks whether `worker`, which holds the locks that every reader has on the tables, holds them on those that had these names.
    pub(crate) fn look<'n>(
        &self,
        worker: &mut Connection,
        stop: &Stop,
        names: &[&'n Name],
    ) -> Result<Look<'n>> {
        let Some(known) = &self.0 else { return Ok(Look::Same) };
        let mut keys = Vec::new();
        for name in names {
            let key = known.numbering.key(worker, name).doing(|| NAMING)?;
            // A warning tells of those that have no number.
            keys.extend(key.filter(|key| known.then.of(key).next().is_some()).map(|key| (*name, key)));
        }
        let now = match &keys[..] {
            [] => return Ok(Look::Same),
            [(_, key)] => known.ask(worker, stop, known.numbering.of(key, !known.then.is_plain(key))),
            _ => known.ask(worker, stop, known.numbering.all()),
        };
        let now = match now {
            Err(error) if waits::has_timed_out(&error) => return Ok(Look::IsWaitedFor),
            now => now?,
        };
        let other = keys.into_iter().find(|(_, key)| known.then.of(key).ne(now.of(key)));
        Ok(other.map_or(Look::Same, |(name, _)| Look::Other(name)))
    }

    /// What stands for the table as it was, to tell it from another one of the same definition later.
    pub(crate) fn mark(&self, connection: &mut Connection, name: &Name) -> Result<Vec<u8>> {
        let Some(known) = &self.0 else { return Ok(Vec::new()) };
        let key = known.numbering.key(connection, name).doing(|| NAMING)?.unwrap_or_default();
        Ok(known.then.mark(known.numbering, &key).into_bytes())
    }
}

impl Known {
    fn ask(&self, worker: &mut Connection, stop: &Stop, sql: String) -> Result<Numbers> {
        let rows = match &self.beside {
            None => worker.query(sql),
            Some(beside) => {
                let mut beside = beside.lock().unwrap_or_else(PoisonError::into_inner);
                let _watched = stop.watch(&beside).doing(|| "watching a connection")?;
                beside.query(sql)
            }
        };
        Ok(Numbers::read(&rows.doing(|| self.numbering.doing())?))
    }
}

fn beside(options: &ConnectOptions) -> Result<Connection> {
    let mut connection = session::open(options, Use::Dump)?;
    // Also where the server begins a transaction with the first statement (autocommit = 0).
    connection.set_isolation(Isolation::ReadCommitted).doing(|| "setting the isolation level")?;
    session::limit_lock_wait(&mut connection, BESIDE)?;
    Ok(connection)
}
