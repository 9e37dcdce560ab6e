//! What time it is for a shard: its server's clock counts, not the shepherd's.

use std::time::Instant;

use drover_db::Connection;

use crate::Result;
use crate::error::Doing;
use crate::rows::number;

/// The server's clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    at: Instant,
    millis: u64,
}

impl Clock {
    /// As it is now.
    pub(crate) fn of(connection: &mut Connection) -> Result<Self> {
        let row = connection.first("SELECT UNIX_TIMESTAMP(NOW(3))").doing(|| "asking for the time")?;
        let text = row.and_then(|row| row.text(0));
        Ok(Self { at: Instant::now(), millis: (number::<f64>(text.as_deref()) * 1000.0) as u64 })
    }

    /// What it showed then, in milliseconds since 1970.
    pub(crate) fn millis(&self, then: Instant) -> u64 {
        let since = then.saturating_duration_since(self.at).as_millis() as u64;
        let before = self.at.saturating_duration_since(then).as_millis() as u64;
        (self.millis + since).saturating_sub(before)
    }
}
