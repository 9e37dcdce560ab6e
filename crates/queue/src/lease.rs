//! Who works on a shard. Each shepherd has a row that it renews; its number there is what its lanes' rows carry, and every change
//! to a lane asks for that number. Whoever finds a row that ran out removes it and frees its lanes: from then on nothing that the
//! other one still sends is taken.

use std::time::{Duration, Instant};

use drover_db::{Connection, quote};

use crate::Result;
use crate::error::Doing;
use crate::lapse::{Lapses, LeaseRow};
use crate::rows::number;
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

/// Enters a shepherd; gives its number, which no other one ever had: one that was only stopped may still have it. The others hear of it
/// when they can see it.
pub(crate) fn enter(connection: &mut Connection, name: &Name) -> Result<u32> {
    let sql = format!(
        "INSERT INTO queue_shepherd (shepherd, name, pid, started, expires, lease_ms, workers, running) \
         VALUES (LAST_INSERT_ID(), {}, {}, NOW(3) - INTERVAL {} MICROSECOND, NOW(3) + INTERVAL {} MICROSECOND, {}, {}, 0)",
        quote::string(&name.name),
        std::process::id(),
        name.begun.elapsed().as_micros(),
        name.lease.as_micros(),
        name.lease.as_millis(),
        name.workers
    );
    let steps = |connection: &mut Connection| -> drover_db::Result<u32> {
        connection.execute("START TRANSACTION")?;
        connection.execute("UPDATE queue_meta SET next_shepherd = LAST_INSERT_ID(next_shepherd) + 1")?;
        let row = connection.first("SELECT LAST_INSERT_ID()")?;
        connection.execute(&sql)?;
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
    let sql = format!("SELECT COUNT(*) FROM queue_shepherd WHERE is_hungry = 1 AND shepherd <> {shepherd}");
    let row = connection.first(sql).doing(|| "reading queue_shepherd")?;
    Ok(row.and_then(|row| row.parse(0)).unwrap_or(0))
}

/// Frees the lanes of those whose leases ran out, as `lapses` tells from this look and those before; where this shepherd stands among
/// those that are left. One without workers only moves tasks away, and is not among them.
pub(crate) fn bury(connection: &mut Connection, own: u32, lapses: &mut Lapses) -> Result<Standing> {
    // Shards see them come in another order if they come at the same time.
    let order = "FLOOR(UNIX_TIMESTAMP(started)), name, pid, shepherd";
    let rows = connection
        .query(format!(
            "SELECT shepherd, workers > 0, expires, TIMESTAMPDIFF(MICROSECOND, NOW(3), expires), lease_ms \
             FROM queue_shepherd ORDER BY {order}"
        ))
        .doing(|| "reading queue_shepherd")?
        .rows;
    let now = Instant::now();
    let mut standing = Standing { rank: 0, shepherds: 0 };
    let mut others = Vec::new();
    for row in rows {
        let shepherd = number::<u32>(row.text(0).as_deref());
        if shepherd != own {
            let left = number::<i64>(row.text(3).as_deref()).max(0).unsigned_abs();
            let lease = Duration::from_millis(number(row.text(4).as_deref()));
            let of_row = LeaseRow { expires: row.string(2), left: Duration::from_micros(left), lease };
            if lapses.has_run_out(shepherd, &of_row, now) {
                // Unless it was renewed since.
                free(connection, shepherd, &format!(" AND expires = {}", quote::string(&of_row.expires)))?;
                continue;
            }
            others.push(shepherd);
        }
        if row.string(1) != "1" {
            continue;
        }
        if shepherd == own {
            standing.rank = standing.shepherds;
        }
        standing.shepherds += 1;
    }
    lapses.keep(&others);
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
