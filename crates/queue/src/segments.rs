//! Segments that are worked off are dropped whole.

use std::time::Duration;

use drover_db::Connection;

use crate::Result;
use crate::error::Doing;
use crate::schema;

/// Drops the segments of which all lanes have been finished for as long as finished tasks are kept; whether any is left that will
/// have to be dropped some time.
pub(crate) fn drop_finished(connection: &mut Connection, keep: Duration) -> Result<bool> {
    let sql = format!(
        "SELECT segment, COALESCE(finished <= NOW(3) - INTERVAL {} SECOND, -1) FROM queue_segment \
         WHERE is_open = 0 AND segment NOT IN (SELECT segment FROM queue_lane)",
        keep.as_secs()
    );
    let rows = connection.query(sql).doing(|| "looking for finished segments")?.rows;
    let mut left = false;
    for row in rows {
        let Some(segment) = row.parse::<u32>(0) else { continue };
        match row.parse::<i8>(1) {
            Some(1) => drop_one(connection, segment)?,
            Some(-1) if keep.is_zero() => drop_one(connection, segment)?,
            Some(-1) => {
                left = true;
                connection
                    .execute(format!("UPDATE queue_segment SET finished = NOW(3) WHERE segment = {segment}"))
                    .doing(|| "noting a finished segment")?;
            }
            _ => left = true,
        }
    }
    Ok(left)
}

fn drop_one(connection: &mut Connection, segment: u32) -> Result<()> {
    connection
        .execute(format!("DROP TABLE IF EXISTS {}", schema::segment(segment)))
        .doing(|| "dropping a finished segment")?;
    connection
        .execute(format!("DELETE FROM queue_segment WHERE segment = {segment}"))
        .doing(|| "dropping a finished segment")?;
    Ok(())
}
