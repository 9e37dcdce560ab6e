//! How a link is set.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use drover_units::show;
use serde::{Deserialize, Serialize};

/// The longest delay of a link. With a round trip of more than some seconds servers give up logins (`connect_timeout`, 10 s).
pub const MAX_DELAY: Duration = Duration::from_secs(2);

/// How a link is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkSettings {
    /// Bytes a second, in each direction; at 0 nothing gets through.
    pub rate: u64,
    /// How long each byte is on its way in either direction; [`MAX_DELAY`] at most.
    #[serde(rename = "delay_seconds", with = "seconds")]
    pub delay: Duration,
    /// Whether it is cut. Nothing gets through then, nor does anybody learn of it: connections stay and wait, as when a cable is
    /// pulled out, and go on where they were.
    pub is_down: bool,
}

impl LinkSettings {
    /// A link of so many bytes a second, without delay.
    #[must_use]
    pub fn of_rate(rate: u64) -> Self {
        Self { rate, delay: Duration::ZERO, is_down: false }
    }

    /// How many bytes the link carries in such a time.
    pub(super) fn bytes_in(&self, time: Duration) -> f64 {
        self.rate as f64 * time.as_secs_f64()
    }
}

/// In words: `20 Mbit/s, 30 ms one way`.
impl fmt::Display for LinkSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_down {
            return f.write_str("down");
        }
        f.write_str(&show::bit_rate(self.rate))?;
        if self.delay.is_zero() {
            return Ok(());
        }
        write!(f, ", {} ms one way", self.delay.as_micros() as f64 / 1000.0)
    }
}

/// No code that holds one of this module's locks can panic halfway.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

mod seconds {
    use std::time::Duration;

    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(time.as_secs_f64())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        Duration::try_from_secs_f64(f64::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}
