//! Which tables a shard is, whatever its URL says: a server has many names, and tables that are named twice would be worked on and counted
//! twice.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use drover_db::Connection;

use crate::error::Doing;
use crate::shard::{Shard, Shards};
use crate::{Error, Result, session};

/// The tables of the shards that were reached.
#[derive(Debug, Default)]
pub(crate) struct Identities {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// By the shard's name.
    known: BTreeMap<String, String>,
    /// Two shards that are the same tables.
    same: Option<[String; 2]>,
}

impl Identities {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner) // nothing is left half done by a panic: there is none under a lock
    }

    /// Looks which tables a shard is.
    ///
    /// # Errors
    /// If another one is the same.
    pub(crate) fn enter(&self, connection: &mut Connection, shard: &Shard) -> Result<()> {
        let id = of(connection, shard)?;
        let mut inner = self.inner();
        let is_same =
            |(name, known): &(&String, &String)| **name != shard.name && **known == id && !id.is_empty();
        let other = inner.known.iter().find(is_same).map(|(name, _)| name.clone());
        inner.known.insert(shard.name.clone(), id);
        let Some(other) = other else { return Ok(()) };
        inner.same = Some([other.clone(), shard.name.clone()]);
        Err(are_the_same(&other, &shard.name))
    }

    /// The error, if two shards turned out to be the same.
    pub(crate) fn clash(&self) -> Option<Error> {
        self.inner().same.as_ref().map(|[one, other]| are_the_same(one, other))
    }
}

fn are_the_same(one: &str, other: &str) -> Error {
    Error::with_hint(
        format!("shards '{one}' and '{other}' are the same tables"),
        "name each shard once: two URLs of the file lead to one schema of one server",
    )
}

/// Refuses shards of which two are the same tables. One that cannot be reached is somebody else's to tell of.
pub(crate) fn refuse_same(shards: &Shards) -> Result<()> {
    let identities = Identities::default();
    for shard in shards.shards.iter().filter(|_| shards.shards.len() > 1) {
        let _not_if_it_is_not_reached =
            session::open(shard).and_then(|mut connection| identities.enter(&mut connection, shard));
    }
    identities.clash().map_or(Ok(()), Err)
}

/// What no other tables have.
pub(crate) fn of(connection: &mut Connection, shard: &Shard) -> Result<String> {
    let row = connection.first("SELECT id FROM queue_meta").doing(|| shard.doing("reading queue_meta"))?;
    Ok(row.map(|row| row.string(0)).unwrap_or_default())
}
