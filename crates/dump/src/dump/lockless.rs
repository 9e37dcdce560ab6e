//! A snapshot by an account that may hold nobody back, neither all writers nor those of the tables.

use drover_db::{Connection, Vendor, quote};

use super::wish::Wish;
use crate::Result;
use crate::error::Doing;
use drover_format::manifest::Snapshot;

/// Keeps one worker, or all of them with --inconsistent; gives the warning that says so. The workers' transactions have begun, and nothing proves
/// that two of them see the same: the binary log's position does not, as changes that are not logged (`sql_log_bin`, filters, a replica's work)
/// leave it where it is.
///
/// The positions in `snapshot` were read at another moment, so they are removed. MariaDB tells where the kept transaction's own snapshot is.
pub(super) fn settle(
    workers: &mut Vec<Connection>,
    snapshot: &mut Snapshot,
    wish: &Wish<'_>,
    refusal: &str,
) -> Result<String> {
    (snapshot.binlog_file, snapshot.binlog_position, snapshot.gtid_set) = (None, None, None);
    snapshot.query_id = None;
    (snapshot.replicates_from, snapshot.gtid_slave_pos) = (Vec::new(), None);
    if wish.inconsistent {
        snapshot.inconsistent = true;
        return Ok(format!(
            "the account may not lock ({refusal}), and --inconsistent was given: rows of different tables, and of different parts of one, may \
             belong to different moments"
        ));
    }
    workers.truncate(1);
    if let (Some(worker), Vendor::MariaDb) = (workers.first_mut(), wish.server.vendor) {
        place(worker, snapshot)?;
    }
    let unknown = match snapshot.binlog_file {
        Some(_) => "",
        None => "; where that lies in the binary log is not known, so no logs can be applied behind it",
    };
    Ok(format!("the account may not lock ({refusal}): one connection reads all, in one transaction{unknown}"))
}

/// Where the transaction's snapshot lies in the binary log.
fn place(worker: &mut Connection, snapshot: &mut Snapshot) -> Result<()> {
    let status =
        worker.query("SHOW STATUS LIKE 'binlog_snapshot_%'").doing(|| "asking where the snapshot is")?;
    let told = |name: &str| {
        let row = status.rows.iter().find(|row| row.string(0).eq_ignore_ascii_case(name))?;
        Some(row.string(1)).filter(|value| !value.is_empty())
    };
    let position = told("binlog_snapshot_position").and_then(|position| position.parse::<u64>().ok());
    let Some((file, position)) = told("binlog_snapshot_file").zip(position) else { return Ok(()) };
    let sql = format!("SELECT BINLOG_GTID_POS({}, {position})", quote::string(&file));
    snapshot.gtid_set = match worker.first(sql) {
        Ok(row) => row.and_then(|row| row.text(0)).filter(|set| !set.is_empty()),
        Err(drover_db::Error::Server(_)) => None,
        Err(error) => return Err(error).doing(|| "asking for the GTIDs of the snapshot"),
    };
    (snapshot.binlog_file, snapshot.binlog_position) = (Some(file), Some(position));
    Ok(())
}
