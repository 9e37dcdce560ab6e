//! Whether a server can hold a queue at all: rather a refusal than tasks that run twice.

use drover_db::Connection;
use drover_db::er;

use crate::error::{Doing, STATEMENTS};
use crate::shard::{Shard, Shards};
use crate::{Error, Result, exact, schema, session};

/// Looks at the tables' engines, the isolation level and the binary log, and tries whether a lock on a row keeps another session off it.
/// Other clients may begin at the same time, on other nodes of a cluster too.
pub(crate) fn probe(connection: &mut Connection, shard: &Shard) -> Result<()> {
    session::retried(connection, |connection| {
        schema::check(connection)?;
        binary_log(connection, shard)?;
        engines(connection, shard)?;
        isolation(connection, shard)?;
        locks(connection, shard)
    })
}

/// What can be told while nothing was made.
pub(crate) fn beforehand(connection: &mut Connection, shard: &Shard) -> Result<()> {
    times(connection, shard)?;
    binary_log(connection, shard)
}

/// Whether the server has times with fractions of a second, without which no table of a queue can be made.
fn times(connection: &mut Connection, shard: &Shard) -> Result<()> {
    match connection.query("SELECT CAST(NULL AS DATETIME(3))") {
        Err(error) if exact::is_unknown_syntax(&error) => Err(Error::with_hint(
            shard.doing("the server has no DATETIME(3), which the queue's tables have: nothing was made"),
            "a queue needs MySQL 5.6 or later, or MariaDB",
        )),
        Err(source) => Err(Error::Server { doing: shard.doing("asking for the server's types"), source }),
        Ok(_) => Ok(()),
    }
}

fn engines(connection: &mut Connection, shard: &Shard) -> Result<()> {
    let sql = "SELECT TABLE_NAME, ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() \
               AND TABLE_NAME LIKE 'queue\\_%' AND NOT ENGINE <=> 'InnoDB' LIMIT 1";
    match connection.first(sql).doing(|| shard.doing("looking at the tables' engines"))? {
        None => Ok(()),
        Some(row) => Err(Error::with_hint(
            shard.doing(&format!(
                "table {} is kept by {}, which has no transactions",
                row.string(0),
                row.string(1)
            )),
            "the queue needs InnoDB: tasks would be lost or run twice",
        )),
    }
}

/// Statements in the log are refused at READ COMMITTED: it is said here, and not at the first task.
fn binary_log(connection: &mut Connection, shard: &Shard) -> Result<()> {
    let doing = || shard.doing("asking for the binary log's format");
    let is_on = drover_db::server::variable(connection, "log_bin").doing(doing)?;
    let format = drover_db::server::variable(connection, "binlog_format").doing(doing)?;
    match (is_on.as_deref(), format.as_deref()) {
        (Some("ON" | "1"), Some("STATEMENT")) => Err(Error::with_hint(
            shard.doing("the server logs statements (binlog_format=STATEMENT), and refuses the queue's"),
            STATEMENTS,
        )),
        _ => Ok(()),
    }
}

fn isolation(connection: &mut Connection, shard: &Shard) -> Result<()> {
    let mut level = None;
    for name in ["transaction_isolation", "tx_isolation"] {
        level = level.or(drover_db::server::variable(connection, name)
            .doing(|| shard.doing("asking for the isolation level"))?);
    }
    match level.as_deref() {
        Some("READ-COMMITTED") => Ok(()),
        other => Err(Error::found(shard.doing(&format!(
            "the session's isolation level is {}, and READ COMMITTED was asked for",
            other.unwrap_or("unknown")
        )))),
    }
}

/// Some servers take the syntax of a locking read and lock nothing.
fn locks(connection: &mut Connection, shard: &Shard) -> Result<()> {
    let doing = || shard.doing("trying whether a row can be locked");
    let mut other = session::open(shard)?;
    connection.execute("START TRANSACTION").doing(doing)?;
    // TiDB locks nothing outside of a transaction, and there the queue has no locking read.
    other.execute("START TRANSACTION").doing(doing)?;
    let lock = "SELECT one FROM queue_meta WHERE one = 1 FOR UPDATE";
    connection.query(lock).doing(doing)?;
    let mut tried = other.query(format!("{lock} NOWAIT"));
    if tried.as_ref().is_err_and(exact::is_unknown_syntax) {
        // Before MySQL 8.0 and MariaDB 10.3.
        other.set("innodb_lock_wait_timeout", 1).doing(doing)?;
        tried = other.query(lock);
    }
    let locked = match tried {
        Err(error) if matches!(error.code(), Some(er::LOCK_WAIT_TIMEOUT | er::LOCK_NOWAIT)) => Ok(true),
        Err(source) => Err(Error::Server { doing: doing(), source }),
        Ok(_) => Ok(false),
    };
    connection.execute("ROLLBACK").doing(doing)?;
    match locked? {
        true => Ok(()),
        false => Err(Error::with_hint(
            shard.doing("a locking read does not lock: another session could lock the same row"),
            "this server would run tasks twice; use MySQL or MariaDB with InnoDB",
        )),
    }
}

/// The shards on whose servers commits may wait 100 ms for nothing while others write much.
///
/// MySQL of few processors has each session write the redo log by itself (`innodb_log_writer_threads` = OFF). One that comes upon a
/// part of the log that another session has reserved and not filled yet waits for a signal; that may be lost, the wait then lasts
/// 100 ms, and all other commits wait behind it (`log_self_write_up_to` in its `log0write.cc`; seen with 9.7 on 2 processors).
///
/// # Errors
/// If a server cannot be asked.
pub fn slow_commits(shards: &Shards) -> Result<Vec<&Shard>> {
    let mut found = Vec::new();
    for shard in shards.shards.iter().filter(|shard| !shard.is_draining) {
        let setting = drover_db::server::variable(&mut session::open(shard)?, "innodb_log_writer_threads")
            .doing(|| shard.doing("asking for the server's settings"))?;
        if matches!(setting.as_deref(), Some("OFF" | "0")) {
            found.push(shard);
        }
    }
    Ok(found)
}
