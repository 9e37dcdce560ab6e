//! Segments are made one after the other, and dropped whole when they are worked off.

use std::time::Duration;

use drover_db::Connection;

use crate::Result;
use crate::error::Doing;
use crate::schema;

/// How often is looked whether segments can be dropped, while there are some.
pub(crate) const EVERY: Duration = Duration::from_secs(2);
/// The same after one could not be, since somebody reads it.
const EVERY_BUSY: Duration = Duration::from_secs(60);

/// Drops the segments of which all lanes have been finished for as long as finished tasks are kept. If any is left that will have to
/// be dropped some time, after how long to look again.
pub(crate) fn drop_finished(connection: &mut Connection, keep: Duration) -> Result<Option<Duration>> {
    let sql = format!(
        "SELECT segment, COALESCE(finished <= NOW(3) - INTERVAL {} SECOND, -1) FROM queue_segment \
         WHERE is_open = 0 AND segment NOT IN (SELECT segment FROM queue_lane)",
        keep.as_secs()
    );
    let rows = connection.query(sql).doing(|| "looking for finished segments")?.rows;
    let mut next = None;
    for row in rows {
        let Some(segment) = row.parse::<u32>(0) else { continue };
        let is_over = match row.parse::<i8>(1) {
            Some(-1) if !keep.is_zero() => {
                connection
                    .execute(format!("UPDATE queue_segment SET finished = NOW(3) WHERE segment = {segment}"))
                    .doing(|| "noting a finished segment")?;
                false
            }
            over => matches!(over, Some(1 | -1)),
        };
        if !is_over {
            next = next.or(Some(EVERY));
        } else if !drop_one(connection, segment)? {
            return Ok(Some(EVERY_BUSY)); // the others are likely to be read, too
        }
    }
    Ok(next)
}

/// Makes a segment.
pub(crate) fn new_segment(connection: &mut Connection, build: Option<u32>) -> Result<u32> {
    connection
        .execute("UPDATE queue_meta SET next_segment = LAST_INSERT_ID(next_segment) + 1")
        .doing(|| "numbering a segment")?;
    let row = connection.first("SELECT LAST_INSERT_ID()").doing(|| "numbering a segment")?;
    let segment = row.and_then(|row| row.parse::<u32>(0)).unwrap_or(0);
    let build = build.map_or_else(|| "NULL".to_owned(), |build| build.to_string());
    schema::create_segment(connection, segment)?;
    connection
        .execute(format!(
            "INSERT INTO queue_segment (segment, build, is_open) VALUES ({segment}, {build}, 1)"
        ))
        .doing(|| "entering a segment")?;
    Ok(segment)
}

/// Whether it could be dropped. A dump that has read the table in a transaction which is still open keeps it: nobody waits for that.
fn drop_one(connection: &mut Connection, segment: u32) -> Result<bool> {
    let doing = || "dropping a finished segment";
    let wait = drover_db::server::variable(connection, "lock_wait_timeout").doing(doing)?;
    connection.set("lock_wait_timeout", 1).doing(doing)?;
    let dropped =
        connection.execute(format!("DROP TABLE IF EXISTS {}", schema::segment(segment))).doing(doing);
    let wait = wait.as_deref().unwrap_or("30");
    connection.set("lock_wait_timeout", wait).doing(doing)?;
    match dropped {
        Err(error) if error.is_passing() => return Ok(false),
        other => drop(other?),
    }
    connection.execute(format!("DELETE FROM queue_segment WHERE segment = {segment}")).doing(doing)?;
    Ok(true)
}
