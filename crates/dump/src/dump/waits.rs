//! Who is in the way of a lock.

use drover_db::server::Server;
use drover_db::{Connection, ErrorKind, Row, er};

use crate::error::Doing;
use crate::{Error, Result};

/// Sessions that hold the locks which a global read lock waits for, where the server tells (MySQL's performance schema).
const HOLDERS: &str = "SELECT DISTINCT t.PROCESSLIST_ID, t.PROCESSLIST_USER, t.PROCESSLIST_HOST, t.PROCESSLIST_TIME, \
    COALESCE(t.PROCESSLIST_INFO, 'an open transaction or LOCK TABLES, idle at the moment'), \
    t.NAME LIKE 'thread/sql/replica%' OR t.NAME LIKE 'thread/sql/slave%' FROM performance_schema.metadata_locks l JOIN performance_schema.threads t ON t.THREAD_ID = l.OWNER_THREAD_ID \
    WHERE l.LOCK_STATUS = 'GRANTED' AND t.PROCESSLIST_ID <> CONNECTION_ID() AND t.PROCESSLIST_COMMAND <> 'Daemon' \
    AND ((l.OBJECT_TYPE IN ('GLOBAL', 'COMMIT', 'BACKUP LOCK') AND l.LOCK_TYPE LIKE '%EXCLUSIVE') \
      OR (l.OBJECT_TYPE = 'TABLE' AND (l.LOCK_TYPE IN ('SHARED_NO_READ_WRITE', 'EXCLUSIVE') \
        OR (t.PROCESSLIST_COMMAND = 'Query' AND l.OBJECT_SCHEMA <> 'performance_schema')))) \
    ORDER BY t.PROCESSLIST_TIME DESC LIMIT 3";

/// The longest-running statements: any server has these. MariaDB has what it applies as rows there, in places without a statement.
const RUNNING: &str = "SELECT ID, USER, HOST, TIME, COALESCE(INFO, 'changes of rows'), USER = 'system user' \
    FROM information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID() AND COMMAND <> 'Daemon' \
    AND (INFO IS NOT NULL OR COMMAND IN ('Slave_SQL', 'Slave_worker') AND STATE NOT LIKE '%waiting for%') \
    ORDER BY TIME DESC LIMIT 3";

/// Sessions that do nothing but may hold LOCK TABLES: the last suspects.
const IDLE: &str = "SELECT ID, USER, HOST, TIME, 'nothing at the moment: it may hold LOCK TABLES', 0 \
    FROM information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID() AND COMMAND = 'Sleep' \
    AND ID NOT IN (SELECT ID FROM information_schema.PROCESSLIST WHERE USER = 'event_scheduler') ORDER BY TIME DESC LIMIT 5";

/// Whether somebody else's lock kept a statement waiting for as long as it may.
pub(super) fn is_timeout(error: &drover_db::Error) -> bool {
    error.code() == Some(er::LOCK_WAIT_TIMEOUT) || error.kind() == Some(ErrorKind::TimedOut)
}

/// Whether that is what ended the work.
pub(super) fn has_timed_out(error: &Error) -> bool {
    matches!(error, Error::Server { source, .. } if is_timeout(source))
}

/// Whether the server ended a wait for a lock since others waited for what this session held: another time it may go well.
pub(super) fn is_deadlock(error: &Error) -> bool {
    matches!(error, Error::Server { source, .. } if source.code() == Some(er::LOCK_DEADLOCK))
}

/// Whether a session has waited for a lock on a table for so many seconds: for whichever table, since not every server tells, and as far
/// as this account may see it.
pub(super) fn has_waiter(connection: &mut Connection, seconds: u64) -> Result<bool> {
    let sql = format!(
        "SELECT 1 FROM information_schema.PROCESSLIST WHERE STATE LIKE 'Waiting for table%' AND TIME >= {seconds} LIMIT 1"
    );
    Ok(connection.first(sql).doing(|| "looking who waits for a table")?.is_some())
}

/// Sessions that are in the way, as far as this account may see them.
#[derive(Debug)]
pub(super) struct Blockers {
    /// One a line.
    pub(super) who: String,
    /// What can be done about them.
    pub(super) way_out: String,
}

impl Blockers {
    /// Asks for them; `own` are drover's connections.
    pub(super) fn find(connection: &mut Connection, own: &[u32]) -> Self {
        for sql in [HOLDERS, RUNNING, IDLE] {
            let rows = connection.query(sql).map(|rows| rows.rows).unwrap_or_default();
            let rows: Vec<_> = rows.iter().filter(|row| !is_own(row, own)).collect();
            if !rows.is_empty() {
                let lines: Vec<_> = rows.iter().map(|row| describe(row)).collect();
                let has_applier = rows.iter().any(|row| is_applier(row));
                let way_out = way_out(has_applier.then(|| replica_word(connection)));
                return Self { who: lines.join("\n  "), way_out };
            }
        }
        let nobody = "a session that this account cannot see (the PROCESS privilege shows all)";
        Self { who: nobody.into(), way_out: way_out(None) }
    }
}

/// What can be done: a client can be ended, and what applies is stopped with replication, in the server's word for a replica.
fn way_out(replica: Option<&str>) -> String {
    match replica {
        Some(replica) => format!(
            "wait until replication has applied that, or STOP {replica} SQL_THREAD and START {replica} SQL_THREAD afterwards"
        ),
        None => "wait until that is done or KILL it".into(),
    }
}

fn replica_word(connection: &mut Connection) -> &'static str {
    // A server that does not answer any more is met by what comes next.
    Server::of(connection).map_or("REPLICA", |server| server.replica_word())
}

fn is_own(row: &Row, own: &[u32]) -> bool {
    row.parse(0).is_some_and(|id| own.contains(&id))
}

fn is_applier(row: &Row) -> bool {
    row.parse(5) == Some(1)
}

fn describe(row: &Row) -> String {
    let statement: String = row.string(4).split_whitespace().collect::<Vec<_>>().join(" ");
    let mut short: String = statement.chars().take(200).collect();
    if short.len() < statement.len() {
        short.push('…');
    }
    let (id, time) = (row.string(0), row.string(3));
    match is_applier(row) {
        true => format!(
            "replication, which applies a transaction of its source (connection {id}), for {time} s: {short}"
        ),
        false => format!("connection {id} of {}@{}, for {time} s: {short}", row.string(1), row.string(2)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replication_is_stopped_in_the_word_of_the_server() {
        assert!(way_out(Some("SLAVE")).contains("or STOP SLAVE SQL_THREAD and START SLAVE SQL_THREAD"));
        assert!(way_out(None).contains("KILL"));
    }
}
