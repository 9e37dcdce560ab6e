//! Who works on a shard. Each shepherd has a row that it renews; its number there is what its lanes' rows carry, and every change
//! to a lane asks for that number. Whoever finds a row that ran out removes it and frees its lanes: from then on nothing that the
//! other one still sends is taken.

use std::time::{Duration, Instant};

use drover_db::Connection;

use crate::Result;
use crate::error::Doing;
use crate::schema::INTAKE;
use crate::session;

/// A row that was not renewed for so long is somebody's who is gone, unless a shepherd says otherwise.
pub const LEASE: Duration = Duration::from_secs(7);

/// What a shepherd tells of itself.
#[derive(Debug, Clone)]
pub(crate) struct Name {
    pub(crate) name: String,
    pub(crate) workers: u32,
    /// A row that it did not renew for so long has run out.
    pub(crate) lease: Duration,
    /// When it began, over whatever connection.
    pub(crate) begun: Instant,
}

/// Where a shepherd stands among all that are there. As they stand by the time at which they began, it is the same on all shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Standing {
    /// How many are before it.
    pub(crate) rank: u32,
    /// How many there are.
    pub(crate) shepherds: u32,
}

/// Enters a shepherd; gives its number. The others hear of it when they can see it.
pub(crate) fn enter(connection: &mut Connection, name: &Name) -> Result<u32> {
    let sql = format!(
        "INSERT INTO queue_shepherd (name, pid, started, expires, workers, running) \
         VALUES ({}, {}, NOW(3) - INTERVAL {} MICROSECOND, NOW(3) + INTERVAL {} MICROSECOND, {}, 0)",
        drover_db::quote::string(&name.name),
        std::process::id(),
        name.begun.elapsed().as_micros(),
        name.lease.as_micros(),
        name.workers
    );
    let steps = |connection: &mut Connection| -> drover_db::Result<u32> {
        connection.execute("START TRANSACTION")?;
        connection.execute(&sql)?;
        let row = connection.first("SELECT LAST_INSERT_ID()")?;
        crate::settings::ring(connection)?; // limits are shared from now on
        connection.execute("COMMIT")?;
        Ok(row.and_then(|row| row.parse(0)).unwrap_or(0))
    };
    session::retried(connection, |connection| steps(connection).doing(|| "entering queue_shepherd"))
}

/// Renews the row; whether it is still there.
pub(crate) fn renew(
    connection: &mut Connection,
    shepherd: u32,
    running: usize,
    lease: Duration,
) -> Result<bool> {
    let sql = format!(
        "UPDATE queue_shepherd SET expires = NOW(3) + INTERVAL {} MICROSECOND, running = {running} WHERE shepherd = {shepherd}",
        lease.as_micros()
    );
    if connection.execute(sql).doing(|| "renewing the lease")?.affected > 0 {
        return Ok(true);
    }
    // Nothing changes within one millisecond either.
    is_there(connection, shepherd)
}

/// Whether the row is still there: nobody has taken the shepherd for dead.
pub(crate) fn is_there(connection: &mut Connection, shepherd: u32) -> Result<bool> {
    let sql = format!("SELECT 1 FROM queue_shepherd WHERE shepherd = {shepherd}");
    Ok(connection.first(sql).doing(|| "renewing the lease")?.is_some())
}

/// Says whether a shepherd has nothing to do; if so, all others hear of it.
pub(crate) fn tell_hunger(connection: &mut Connection, shepherd: u32, is_hungry: bool) -> Result<()> {
    let doing = || "telling of an idle shepherd";
    let sql =
        format!("UPDATE queue_shepherd SET is_hungry = {} WHERE shepherd = {shepherd}", u8::from(is_hungry));
    connection.execute(sql).doing(doing)?;
    if is_hungry {
        crate::settings::ring(connection).doing(doing)?;
    }
    Ok(())
}

/// How many other shepherds have nothing to do.
pub(crate) fn hungry(connection: &mut Connection, shepherd: u32) -> Result<usize> {
    let sql = format!(
        "SELECT COUNT(*) FROM queue_shepherd WHERE is_hungry = 1 AND shepherd <> {shepherd} AND expires > NOW(3)"
    );
    let row = connection.first(sql).doing(|| "reading queue_shepherd")?;
    Ok(row.and_then(|row| row.parse(0)).unwrap_or(0))
}

/// Frees the lanes of those whose rows ran out; where this shepherd stands among those that are left. One without workers only moves
/// tasks away, and is not among them.
pub(crate) fn bury(connection: &mut Connection, own: u32) -> Result<Standing> {
    // Shards see them come in another order if they come at the same time.
    let order = "FLOOR(UNIX_TIMESTAMP(started)), name, pid, shepherd";
    let rows = connection
        .query(format!("SELECT shepherd, expires < NOW(3), workers > 0 FROM queue_shepherd ORDER BY {order}"))
        .doing(|| "reading queue_shepherd")?
        .rows;
    let mut standing = Standing { rank: 0, shepherds: 0 };
    for row in rows {
        let (Some(shepherd), is_dead) = (row.parse::<u32>(0), row.string(1) == "1") else { continue };
        if is_dead {
            free(connection, shepherd, " AND expires < NOW(3)")?;
            continue;
        }
        if row.string(2) != "1" {
            continue;
        }
        if shepherd == own {
            standing.rank = standing.shepherds;
        }
        standing.shepherds += 1;
    }
    Ok(standing)
}

/// Ends a shepherd's own work: its lanes are anybody's.
pub(crate) fn leave(connection: &mut Connection, shepherd: u32) -> Result<()> {
    free(connection, shepherd, "")
}

fn free(connection: &mut Connection, shepherd: u32, only_if: &str) -> Result<()> {
    let steps = |connection: &mut Connection| -> drover_db::Result<()> {
        connection.execute("START TRANSACTION")?;
        let gone = connection
            .execute(format!("DELETE FROM queue_shepherd WHERE shepherd = {shepherd}{only_if}"))?
            .affected;
        // Who leaves may have been removed by others, and have taken a lane since without knowing.
        if gone > 0 || only_if.is_empty() {
            connection.execute(format!("UPDATE queue_lane SET owner = 0 WHERE owner = {shepherd}"))?;
            connection.execute("UPDATE queue_meta SET bell = bell + 1")?;
        }
        connection.execute("COMMIT").map(drop)
    };
    session::retried(connection, |connection| steps(connection).doing(|| "freeing lanes"))
}

/// Gives the inbox and the later tasks back, so that anybody may take them.
pub(crate) fn release_intake(connection: &mut Connection, shepherd: u32) -> Result<()> {
    let sql = format!("UPDATE queue_lane SET owner = 0 WHERE lane = {INTAKE} AND owner = {shepherd}");
    connection.execute(sql).doing(|| "giving the inbox back").map(drop)
}

/// Takes the inbox and the later tasks, if nobody has them.
pub(crate) fn take_intake(connection: &mut Connection, shepherd: u32) -> Result<bool> {
    let sql = format!(
        "UPDATE queue_lane SET owner = {shepherd} WHERE lane = {INTAKE} AND owner = 0 \
         AND EXISTS (SELECT 1 FROM queue_shepherd WHERE shepherd = {shepherd})"
    );
    Ok(connection.execute(sql).doing(|| "taking the inbox")?.affected > 0)
}
