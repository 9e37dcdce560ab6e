//! Pushing tasks into the inbox.

use std::fmt::Write as _;

use drover_db::{Connection, quote};

use crate::error::Doing;
use crate::place::Placement;
use crate::record::Record;
use crate::rows::or_null;
use crate::shard::Shards;
use crate::{Error, Result, session};

/// A statement holds at most so many tasks, and about so many bytes of text.
const MOST: usize = 1000;
const TEXT: usize = 512 << 10;

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
            rows: shards.shards.iter().map(|_| (0, String::new())).collect(),
            pushed: 0,
        }
    }

    /// Takes a task. It is in its inbox after [`Pusher::flush`] at the latest.
    ///
    /// # Errors
    /// If all shards are being drained, or one cannot be reached.
    pub fn push(&mut self, record: &Record) -> Result<()> {
        let Defaults { kind, priority, tenant, not_before_ms, payload } = &self.defaults;
        let tenant = record.tenant.as_deref().unwrap_or(tenant);
        let drawn = self.pushed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(std::process::id());
        let at = self.placement.of(&record.object_id, tenant, drawn).ok_or_else(all_drained)?;
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
            quote::string(tenant),
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
        let connection = match connection {
            Some(connection) => connection,
            None => connection.insert(session::open(shard)?),
        };
        let sql = format!(
            "INSERT INTO queue_inbox (kind, object_id, payload, priority, tenant, not_before) VALUES {rows}"
        );
        connection.execute(sql).doing(|| shard.doing("pushing tasks"))?;
        (*count, *rows) = (0, String::new());
        Ok(())
    }
}

/// The error for tasks that no shard takes.
pub(crate) fn all_drained() -> Error {
    Error::with_hint("all shards are being drained", "take `drain = true` off one of them")
}
