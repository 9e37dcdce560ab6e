//! What time it is for a shard: its server's clock counts, not the shepherd's.

use std::time::{Duration, Instant};

use drover_db::Connection;

use crate::Result;
use crate::error::Doing;
use crate::rows::number;

/// The server's clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    at: Instant,
    millis: u64,
    /// How long the server took to tell, so much may it be wrong.
    took: Duration,
}

/// How far the server's clock has gone otherwise than this process's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Back(Duration),
    Forward(Duration),
}

impl Clock {
    /// As it is now.
    pub(crate) fn of(connection: &mut Connection) -> Result<Self> {
        let asked = Instant::now();
        let row = connection.first("SELECT UNIX_TIMESTAMP(NOW(3))").doing(|| "asking for the time")?;
        let text = row.and_then(|row| row.text(0));
        let (at, millis) = (Instant::now(), (number::<f64>(text.as_deref()) * 1000.0) as u64);
        Ok(Self { at, millis, took: at - asked })
    }

    /// Whether the server's clock was set since an earlier look.
    pub(crate) fn step_since(&self, before: &Self) -> Option<Step> {
        /// Clocks that are set right drift apart by less between two looks.
        const LEAST: Duration = Duration::from_secs(5);
        let expected = before.millis(self.at);
        let step = Duration::from_millis(self.millis.abs_diff(expected));
        match step > LEAST + before.took + self.took {
            false => None,
            true if self.millis < expected => Some(Step::Back(step)),
            true => Some(Step::Forward(step)),
        }
    }

    /// What it showed then, in milliseconds since 1970.
    pub(crate) fn millis(&self, then: Instant) -> u64 {
        let since = then.saturating_duration_since(self.at).as_millis() as u64;
        let before = self.at.saturating_duration_since(then).as_millis() as u64;
        (self.millis + since).saturating_sub(before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_was_set_is_noticed() {
        let (at, minute) = (Instant::now(), Duration::from_secs(60));
        let clock = |at, millis, took| Clock { at, millis, took: Duration::from_secs(took) };
        let before = clock(at, 10_000_000, 0);
        let after = |millis, took| clock(at + minute, millis, took).step_since(&before);
        assert_eq!((after(10_060_000, 0), after(10_064_000, 0), after(10_056_000, 0)), (None, None, None));
        let hour = Duration::from_secs(3600);
        assert_eq!(after(10_060_000 - 3_600_000, 0), Some(Step::Back(hour)));
        assert_eq!(after(10_060_000 + 3_600_000, 0), Some(Step::Forward(hour)));
        assert_eq!(after(10_040_000, 30), None, "it has answered late");
    }
}
