//! The sessions of a dump and of a restore.

use drover_db::options::{ConnectOptions, Logged};
use drover_db::session::{Isolation, Use};
use drover_db::table::column::SET_NEVER;
use drover_db::{Connection, er, quote};

use crate::Result;
use crate::error::Doing;

/// Begins a transaction that sees one moment. READ ONLY is known to MySQL from 5.6.5 on; MariaDB reads this comment too.
pub(crate) const BEGIN_SNAPSHOT: &str = "START TRANSACTION WITH CONSISTENT SNAPSHOT /*!50605 , READ ONLY */";

/// The same where READ ONLY is refused, as it would have no effect there (TiDB).
pub(crate) const BEGIN_SNAPSHOT_WRITABLE: &str = "START TRANSACTION WITH CONSISTENT SNAPSHOT";

/// Begins a transaction that sees one moment, and changes nothing.
pub(crate) fn begin_snapshot(connection: &mut Connection) -> Result<()> {
    // ER_PARSE_ERROR, ER_NOT_SUPPORTED_YET
    let begun = match connection.execute(BEGIN_SNAPSHOT) {
        Err(error) if matches!(error.code(), Some(er::PARSE_ERROR | er::NOT_SUPPORTED_YET)) => {
            connection.execute(BEGIN_SNAPSHOT_WRITABLE)
        }
        begun => begun,
    };
    begun.map(drop).doing(|| "starting a worker's transaction")
}

/// Opens a session; where the server is full it waits for a moment.
pub(crate) fn open(options: &ConnectOptions, what: Use) -> Result<Connection> {
    set_up(Connection::open(options), options, what)
}

/// Opens a session, if the server is not full.
pub(crate) fn open_if_any(options: &ConnectOptions, what: Use) -> Result<Option<Connection>> {
    match Connection::open_if_any(options) {
        Err(error) if error.is_full() => Ok(None),
        opened => set_up(opened, options, what).map(Some),
    }
}

fn set_up(opened: drover_db::Result<Connection>, options: &ConnectOptions, what: Use) -> Result<Connection> {
    let mut connection = opened.doing(|| "connecting")?;
    if what != Use::Dump {
        log(&mut connection, options.logged)?;
        connection.leave_untimed().doing(|| "connecting")?;
    }
    set(&mut connection, what)?;
    Ok(connection)
}

/// Has what the session changes logged in this way.
fn log(connection: &mut Connection, logged: Logged) -> Result<()> {
    match logged {
        Logged::AsUsual => Ok(()),
        // Statements are safe to log only in this isolation level.
        Logged::AsStatements => connection
            .set_isolation(Isolation::RepeatableRead)
            .and_then(|()| connection.set("binlog_format", "STATEMENT"))
            .doing(|| "logging the restore as statements (--log-statements)"),
        Logged::Not => connection
            .set("sql_log_bin", 0)
            .doing(|| "leaving the restore out of the binary log (--skip-binlog)"),
    }
}

/// Opens `count` sessions, at least one; where the server gives out fewer, as many as leave [`SPARE`] ones for what else has to be asked.
pub(crate) fn open_many(options: &ConnectOptions, what: Use, count: usize) -> Result<Vec<Connection>> {
    let mut sessions = vec![open(options, what)?];
    let is_limited = number(&mut sessions[0], "SELECT @@max_user_connections")? > 0;
    let tried = if is_limited { count + SPARE } else { count };
    while sessions.len() < tried {
        let Some(session) = open_if_any(options, what)? else {
            sessions.truncate(sessions.len().saturating_sub(SPARE).max(1));
            break;
        };
        sessions.push(session);
    }
    sessions.truncate(count.max(1));
    Ok(sessions)
}

/// Sessions that are opened beside the workers' for a while.
const SPARE: usize = 2;

/// That there are fewer workers than asked for, if it is so.
pub(crate) fn fewer(asked: usize, workers: &[Connection]) -> Option<String> {
    let got = workers.len();
    (got < asked).then(|| {
        format!(
            "the server gives this account no more connections (max_user_connections, max_connections): {got} worker{} instead of {asked}",
            if got == 1 { "" } else { "s" }
        )
    })
}

/// Sets the session up, also again after a script changed it.
pub(crate) fn set(connection: &mut Connection, what: Use) -> Result<()> {
    connection.set_up(what).doing(|| "setting up a session")?;
    if what == Use::Restore {
        connection.execute(SET_NEVER).doing(|| "asking for the last TIMESTAMP")?;
    }
    Ok(())
}

/// Lets the session create tables as older servers had them; [`set`] ends it.
pub(crate) fn bear_old_tables(connection: &mut Connection) -> Result<()> {
    const MODE: &str = "NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES,NO_ENGINE_SUBSTITUTION";
    connection.set("sql_mode", format_args!("'{MODE}'")).doing(|| "setting sql_mode")?;
    // MariaDB only, so that options it does not know are kept; MySQL has none such.
    let with_unknown = format!("'{MODE},IGNORE_BAD_TABLE_OPTIONS'");
    connection.set_if_taken("sql_mode", with_unknown).map(drop).doing(|| "setting sql_mode")
}

/// Limits how long the session waits for a lock on a table or the whole server, in seconds.
pub(crate) fn limit_lock_wait(connection: &mut Connection, seconds: u64) -> Result<()> {
    connection.set("lock_wait_timeout", seconds.clamp(1, 31_536_000)).doing(|| "setting lock_wait_timeout")
}

/// Before a statement: it is refused where it would have to wait for a lock on a table. For servers that
/// [`can_do_without_waiting`].
pub(crate) const WITHOUT_WAITING: &str = "SET STATEMENT lock_wait_timeout = 0 FOR ";

/// Whether the server takes 0 for a time to wait: MariaDB from 10.3 on; elsewhere the shortest one is a second.
pub(crate) fn can_do_without_waiting(connection: &mut Connection) -> Result<bool> {
    match connection.first(format!("{WITHOUT_WAITING}SELECT @@lock_wait_timeout")) {
        Err(drover_db::Error::Server(_)) => Ok(false),
        other => Ok(other.doing(|| "asking for lock_wait_timeout")?.and_then(|row| row.parse(0)) == Some(0)),
    }
}

/// Makes `schema` the default one.
pub(crate) fn use_schema(connection: &mut Connection, schema: &str) -> Result<()> {
    connection
        .execute(format!("USE {}", quote::identifier(schema)))
        .doing(|| format!("using schema '{schema}'"))?;
    Ok(())
}

/// How many workers this machine and the server bear: two for each core here, since one waits while the other works,
/// but no more than half of the connections that the server has left.
pub(crate) fn default_threads(connection: &mut Connection) -> Result<usize> {
    let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    let limit = number(connection, "SELECT @@max_connections")?;
    let used = connection
        .query("SHOW GLOBAL STATUS LIKE 'Threads_connected'")
        .doing(|| "asking for Threads_connected")?
        .first()
        .and_then(|row| row.parse::<usize>(1))
        .unwrap_or(0);
    let left = limit.saturating_sub(used) / 2;
    Ok((cores * 2).clamp(4, 32).min(left).max(1))
}

fn number(connection: &mut Connection, sql: &str) -> Result<usize> {
    let row = connection.first(sql).doing(|| sql)?;
    Ok(row.and_then(|row| row.parse(0)).unwrap_or(0))
}
