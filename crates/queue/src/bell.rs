//! How a shepherd hears at once that there is something to do, for less than one statement a second: the statement itself waits on
//! the server, and looks every few milliseconds for new rows of the inbox and for a change of `queue_meta.bell`, which everybody
//! else moves on who has something for shepherds.
//!
//! It reads rows that are not committed yet, since a statement that reads committed ones sees none that come after its beginning.
//! So it is a hint only. As it has no read view it does not keep the server from purging either.

use std::time::Duration;

use drover_db::session::Isolation;
use drover_db::{Connection, server};

use crate::Result;
use crate::error::Doing;
use crate::rows::number;
use crate::session;
use crate::shard::Shard;

/// How long a statement waits on the server, in steps of so many seconds.
const STEP: f64 = 0.02;
const STEPS: u32 = 400;

/// How often a server is asked that cannot wait.
const ASK_EVERY: Duration = Duration::from_millis(50);
/// So many times it is asked at once.
const ASKS: u32 = 160;

/// What the bell is set to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// The highest number in the inbox, committed or not.
    pub(crate) inbox: u64,
    /// `queue_meta.bell`.
    pub(crate) bell: u64,
}

/// A session that waits.
#[derive(Debug)]
pub(crate) struct Bell {
    connection: Connection,
    /// Whether the server shows no rows that are not committed, nor a statement anything that comes after its beginning (TiDB): it is asked
    /// again and again.
    asks: bool,
}

impl Bell {
    pub(crate) fn open(shard: &Shard) -> Result<Self> {
        let mut connection = session::open(shard)?;
        let doing = || shard.doing("setting the isolation level");
        let asks = server::is_tidb(&mut connection).doing(doing)?;
        if !asks {
            connection.set_isolation(Isolation::ReadUncommitted).doing(doing)?;
        }
        Ok(Self { connection, asks })
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The state of things now; `seen` is what it was.
    pub(crate) fn look(&mut self, seen: Seen) -> Result<Seen> {
        let sql = format!(
            "SELECT (SELECT COALESCE(MAX(id), {0}) FROM queue_inbox WHERE id > {0}), bell FROM queue_meta",
            seen.inbox
        );
        let row = self.connection.first(sql).doing(|| "listening")?;
        let field = |at: usize| row.as_ref().and_then(|row| row.text(at));
        Ok(Seen { inbox: number(field(0).as_deref()), bell: number(field(1).as_deref()) })
    }

    /// Waits until there is more than what was seen, or some time has passed; whether there is something to do.
    pub(crate) fn wait(&mut self, seen: Seen) -> Result<bool> {
        if self.asks {
            return self.wait_asking(seen);
        }
        let Seen { inbox, bell } = seen;
        // What hangs on `n` is reckoned anew in each step; a row that is found by a constant is read once.
        let sql = format!(
            "WITH RECURSIVE step (n, rings) AS (SELECT 0, CAST(0 AS UNSIGNED) UNION ALL SELECT n + 1, SLEEP({STEP}) \
             + (SELECT COUNT(*) FROM queue_meta WHERE one = 1 + 0 * n AND bell <> {bell}) \
             + COALESCE((SELECT 1 FROM queue_inbox WHERE id > {inbox} AND n >= 0 ORDER BY id LIMIT 1), 0) \
             FROM step WHERE rings = 0 AND n < {STEPS}) SELECT MAX(rings) FROM step"
        );
        let row = self.connection.first(sql).doing(|| "listening")?;
        Ok(row.and_then(|row| row.parse::<u64>(0)).is_some_and(|rings| rings > 0))
    }

    fn wait_asking(&mut self, Seen { inbox, bell }: Seen) -> Result<bool> {
        let sql = format!(
            "SELECT (SELECT COUNT(*) FROM queue_meta WHERE one = 1 AND bell <> {bell}) \
             + EXISTS (SELECT 1 FROM queue_inbox WHERE id > {inbox})"
        );
        for _ in 0..ASKS {
            let row = self.connection.first(&sql).doing(|| "listening")?;
            if row.and_then(|row| row.parse::<u64>(0)).is_some_and(|rings| rings > 0) {
                return Ok(true);
            }
            std::thread::sleep(ASK_EVERY);
        }
        Ok(false)
    }
}
