//! How many connects a second a running server has.

use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use drover_db::options::ConnectOptions;
use drover_db::{Connection, Stop};

use super::report::Rate;
use crate::{Error, Progress, Result};

/// Counts for so long. Logins that fail are connects too, as the server counts them.
///
/// # Errors
/// If the server cannot be asked, or a stop was asked for.
pub(super) fn count(
    options: &ConnectOptions,
    over: Duration,
    stop: &Arc<Stop>,
    progress: &Progress,
) -> Result<Rate> {
    progress.phase(format!("counting connects on {}", options.address), over);
    let doing = || format!("counting connects on {}", options.address);
    let (mut connection, _watched) = stop.connect(options).map_err(Error::server(doing()))?;
    let (before, begun) = (connections(&mut connection).map_err(Error::server(doing()))?, Instant::now());
    while begun.elapsed() < over {
        if stop.is_requested() {
            return Err(Error::Stopped);
        }
        sleep(over.saturating_sub(begun.elapsed()).min(Duration::from_millis(100)));
    }
    let (after, seconds) = (connections(&mut connection).map_err(Error::server(doing()))?, begun.elapsed());
    let _all_is_counted = connection.quit();
    let per_second =
        after.zip(before).map(|(after, before)| after.saturating_sub(before) as f64 / seconds.as_secs_f64());
    let per_second =
        per_second.ok_or_else(|| Error::found(format!("{}: it does not tell 'Connections'", doing())))?;
    Ok(Rate { per_second, counted_seconds: Some(seconds.as_secs_f64()) })
}

fn connections(connection: &mut Connection) -> drover_db::Result<Option<u64>> {
    let row = connection.first("SHOW GLOBAL STATUS LIKE 'Connections'")?;
    Ok(row.and_then(|row| row.parse(1)))
}
