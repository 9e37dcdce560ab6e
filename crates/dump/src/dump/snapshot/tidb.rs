//! A snapshot of TiDB, which reads the past without any lock: all workers read as of one time stamp (TSO).

use drover_db::Connection;
use drover_db::session::Use;

use crate::dump::identity::Identity;
use crate::dump::wish::{Taken, Wish, now};
use crate::error::Doing;
use crate::session;
use crate::{Error, Result};
use drover_format::manifest::Snapshot;

/// What stands for a lock where none is needed.
const WITHOUT_LOCK: &str = "tidb_snapshot";

/// Takes the snapshot. `coordinator` reads the definitions of that moment afterwards, until [`leave`]. None if there are other tables than
/// were listed.
pub(super) fn take(coordinator: &mut Connection, wish: &Wish<'_>) -> Result<Option<Taken>> {
    leave(coordinator)?;
    let mut workers = session::open_many(wish.options, Use::Dump, wish.threads)?;
    let taken_at = jiff::Timestamp::now();
    let mut tso: Option<String> = None;
    for worker in &mut workers {
        // The first one's transaction stays open as long as there are workers: garbage collection keeps what it can see (for
        // tidb_gc_max_wait_time, a day).
        if let Some(tso) = &tso {
            see(worker, tso)?;
        }
        worker.execute(session::BEGIN_SNAPSHOT_WRITABLE).doing(|| "starting a worker's transaction")?;
        if tso.is_none() {
            let row = worker.first("SELECT @@tidb_current_ts").doing(|| "asking for the snapshot's time")?;
            tso = row.and_then(|row| row.text(0));
        }
    }
    // 0 would be no moment at all: each worker would read what is there now.
    let tso =
        tso.filter(|tso| tso != "0").ok_or_else(|| Error::found("TiDB tells no time of the snapshot"))?;
    see(coordinator, &tso)?;
    if !(wish.is_as_listed)(now(coordinator, None)?)? {
        leave(coordinator)?;
        return Ok(None);
    }
    let snapshot = Snapshot {
        taken_at: taken_at.to_string(),
        lock: WITHOUT_LOCK.into(),
        tso: tso.parse().ok(),
        ..Snapshot::default()
    };
    let (table_locks, identity) = (None, Identity::default());
    Ok(Some(Taken { workers, table_locks, snapshot, identity, warnings: Vec::new() }))
}

/// What helps where no cluster keeps it, as on one server with a store of its own (`-store unistore`).
const NO_SAFE_POINT: &str = "a cluster notes by itself up to when old rows are gone; on a single server for tests note it once: INSERT IGNORE INTO \
                             mysql.tidb VALUES ('tikv_gc_safe_point', '20160102-15:04:05 -0700', '')";

fn see(connection: &mut Connection, tso: &str) -> Result<()> {
    match connection.set("tidb_snapshot", format_args!("'{tso}'")).doing(|| "setting tidb_snapshot") {
        Err(error) if error.to_string().contains("tikv_gc_safe_point") => {
            Err(Error::with_hint(error.to_string(), NO_SAFE_POINT))
        }
        set => set.map(drop),
    }
}

/// Has the session read what is there now.
fn leave(connection: &mut Connection) -> Result<()> {
    see(connection, "")
}
