//! Pushing tasks into the inbox.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use drover_db::{Connection, quote};

use crate::error::Doing;
use crate::identity::Identities;
use crate::place::Placement;
use crate::record::Record;
use crate::rows::or_null;
use crate::shard::{Shard, Shards};
use crate::state::{self, State};
use crate::{Error, Result, session};

/// A statement holds at most so many tasks, and about so many bytes of text.
const MOST: usize = 1000;
const TEXT: usize = 512 << 10;
/// How often is looked whether shards drain.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// What holds for tasks that do not say otherwise.
#[derive(Debug, Clone, Default)]
pub struct Defaults {
    /// What kind they are.
    pub kind: u16,
    /// The higher, the sooner.
    pub priority: i8,
    /// Whose they are.
    pub tenant: String,
    /// From when on they may be begun, in milliseconds since 1970.
    pub not_before_ms: Option<u64>,
    /// JSON.
    pub payload: Option<String>,
}

/// Puts tasks into the inboxes of shards.
pub struct Pusher<'a> {
    shards: &'a Shards,
    placement: Placement,
    defaults: Defaults,
    connections: Vec<Option<Connection>>,
    identities: Identities,
    /// When was looked whether shards drain.
    looked: Instant,
    rows: Vec<(usize, String)>,
    pushed: u64,
}

impl<'a> Pusher<'a> {
    /// Connects as the shards are needed.
    pub fn new(shards: &'a Shards, defaults: Defaults) -> Self {
        Self {
            shards,
            placement: Placement::new(shards),
            defaults,
            connections: shards.shards.iter().map(|_| None).collect(),
            identities: Identities::default(),
            looked: Instant::now(),
            rows: shards.shards.iter().map(|_| (0, String::new())).collect(),
            pushed: 0,
        }
    }

    /// Takes a task. It is in its inbox after [`Pusher::flush`] at the latest.
    ///
    /// # Errors
    /// If all shards are being drained, or one cannot be reached.
    pub fn push(&mut self, record: &Record) -> Result<()> {
        let tenant = record.tenant.clone().unwrap_or_else(|| self.defaults.tenant.clone());
        let drawn = self.pushed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(std::process::id());
        if self.looked.elapsed() > LOOK_EVERY {
            self.look_again()?;
        }
        let at = self.shard_for(&record.object_id, &tenant, drawn)?;
        let Defaults { kind, priority, not_before_ms, payload, .. } = &self.defaults;
        let Some((count, rows)) = self.rows.get_mut(at) else { return Ok(()) };
        let not_before = record.not_before_ms.or(*not_before_ms);
        let _ = write!(
            rows,
            "{}({},{},{},{},{},{})",
            if *count == 0 { "" } else { "," },
            record.kind.unwrap_or(*kind),
            quote::string(&record.object_id),
            or_null(record.payload.as_deref().or(payload.as_deref())),
            record.priority.unwrap_or(*priority),
            quote::string(&tenant),
            not_before.map_or("NULL".to_owned(), |ms| format!(
                "FROM_UNIXTIME({}.{:03})",
                ms / 1000,
                ms % 1000
            )),
        );
        *count += 1;
        self.pushed += 1;
        if *count >= MOST || rows.len() >= TEXT {
            self.send(at)?;
        }
        Ok(())
    }

    /// The shard for a task. Whether one drains is asked when it is connected to: no other is waited for.
    fn shard_for(&mut self, object_id: &str, tenant: &str, drawn: u64) -> Result<usize> {
        loop {
            let at = self.placement.of(object_id, tenant, drawn).ok_or_else(|| all_drained(self.shards))?;
            let (Some(shard), Some(connection)) = (self.shards.shards.get(at), self.connections.get_mut(at))
            else {
                return Ok(at);
            };
            if connection.is_some() {
                return Ok(at);
            }
            let opened = connection.insert(session::open(shard)?);
            self.identities.enter(opened, shard)?;
            if !takes(opened, shard)? {
                self.placement.set(at, false);
            }
        }
    }

    /// Asks those shards again that are connected to. That one is lost is said when tasks are sent there.
    fn look_again(&mut self) -> Result<()> {
        self.looked = Instant::now();
        for (at, (shard, connection)) in self.shards.shards.iter().zip(&mut self.connections).enumerate() {
            match connection.as_mut().map(|connection| takes(connection, shard)) {
                Some(Ok(takes)) => self.placement.set(at, takes),
                Some(Err(Error::Server { .. })) | None => {}
                Some(Err(error)) => return Err(error),
            }
        }
        Ok(())
    }

    /// Sends what is left; how many tasks were pushed in all.
    ///
    /// # Errors
    /// If a shard cannot be reached: the error says which.
    pub fn flush(&mut self) -> Result<u64> {
        for at in 0..self.rows.len() {
            self.send(at)?;
        }
        Ok(self.pushed)
    }

    fn send(&mut self, at: usize) -> Result<()> {
        let Some((count, rows)) = self.rows.get_mut(at) else { return Ok(()) };
        if *count == 0 {
            return Ok(());
        }
        let (Some(shard), Some(connection)) = (self.shards.shards.get(at), self.connections.get_mut(at))
        else {
            return Ok(());
        };
        let Some(connection) = connection else { return Ok(()) }; // there is one where there are rows
        let sql = format!(
            "INSERT INTO queue_inbox (kind, object_id, payload, priority, tenant, not_before) VALUES {rows}"
        );
        session::retried(connection, |connection| {
            connection.execute(&sql).doing(|| shard.doing("pushing tasks"))
        })?;
        (*count, *rows) = (0, String::new());
        Ok(())
    }
}

/// Whether a shard takes tasks.
pub(crate) fn takes(connection: &mut Connection, shard: &Shard) -> Result<bool> {
    match State::load(connection).map_err(|error| error.of(shard))? {
        State::Open => Ok(!shard.is_draining),
        State::Draining | State::Moving => Ok(false),
        State::Closed => Err(state::is_closed().of(shard)),
    }
}

/// The error for tasks that no shard takes.
pub(crate) fn all_drained(shards: &Shards) -> Error {
    match shards.shards.len() {
        1 => Error::with_hint(
            "the queue is being drained: it takes no more tasks",
            "`drover queue drain --undo` has it take tasks again",
        ),
        _ => Error::with_hint(
            "all shards are being drained",
            "`drover queue drain SHARD --undo` has one take tasks again, if the file does not say `drain = true`",
        ),
    }
}
