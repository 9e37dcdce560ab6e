//! Whether a shard takes tasks. What holds is in its own `queue_meta`, for every client at once.

use drover_db::Connection;

use crate::error::Doing;
use crate::{Error, Result};

/// What a shard does at the moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum State {
    /// It takes tasks.
    #[default]
    Open,
    /// It takes no more, and is worked off.
    Draining,
    /// Its tasks are being moved to other shards: nothing more is begun there.
    Moving,
    /// It is another server's now: nothing more is begun there, and those who work on it leave.
    Closed,
}

pub(crate) const OPEN: u8 = 0;
pub(crate) const DRAINING: u8 = 1;
pub(crate) const CLOSED: u8 = 2;

impl State {
    /// Whether no task is begun there.
    pub(crate) fn rests(self) -> bool {
        matches!(self, Self::Moving | Self::Closed)
    }

    /// Reads it. A shard's tasks are being moved as long as the mover has a lease.
    pub(crate) fn load(connection: &mut Connection) -> Result<Self> {
        let sql = "SELECT state, EXISTS (SELECT 1 FROM queue_shepherd WHERE shepherd = queue_meta.mover) FROM queue_meta";
        let row = connection.first(sql).doing(|| "reading queue_meta")?;
        let number = |at: usize| row.as_ref().and_then(|row| row.parse::<u8>(at)).unwrap_or(OPEN);
        Ok(match (number(0), number(1)) {
            (CLOSED, _) => Self::Closed,
            (_, 1) => Self::Moving,
            (DRAINING, _) => Self::Draining,
            _ => Self::Open,
        })
    }
}

/// The error for tables that are another server's now.
pub(crate) fn is_closed() -> Error {
    Error::with_hint(
        "these tables are closed, as of a shard that moves to another server",
        "name that one's URL, and start anew what still uses this one; here `drover queue drain --undo` opens them again",
    )
}

/// Refuses tables that are closed. Where there are none yet, or others, that is somebody else's to say.
pub(crate) fn refuse_closed(connection: &mut Connection) -> Result<()> {
    match connection.first("SELECT state FROM queue_meta") {
        Ok(Some(row)) if row.parse(0) == Some(CLOSED) => Err(is_closed()),
        Ok(_) | Err(drover_db::Error::Server(_)) => Ok(()),
        Err(error) => Err(error).doing(|| "looking for the queue"),
    }
}
