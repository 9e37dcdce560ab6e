//! The settings of drover's sessions, in one place. Each is set by itself: a server that does not have a setting, or
//! does not let this account change it, answers with an error that is passed over unless the setting is needed.

use drover_db::options::{ConnectOptions, Logged};
use drover_db::table::column::SET_NEVER;
use drover_db::{Connection, er, quote};

use crate::Result;
use crate::error::Doing;

struct Setting {
    name: &'static str,
    /// As SQL.
    value: &'static str,
    /// Whether the work would be wrong without it.
    needed: bool,
}

const fn needed(name: &'static str, value: &'static str) -> Setting {
    Setting { name, value, needed: true }
}

const fn wanted(name: &'static str, value: &'static str) -> Setting {
    Setting { name, value, needed: false }
}

/// How drover's own texts and values are written and read.
const OWN: &[Setting] = &[
    needed("character_set_client", "utf8mb4"),
    needed("collation_connection", "utf8mb4_bin"),
    // TIMESTAMP values are written and read in this zone, which has no daylight saving.
    needed("time_zone", "'+00:00'"),
];

/// Other tools' dumps say themselves how they are to be read; where they do not, they rely on what a client has that
/// nobody told otherwise, and on the server's own time zone.
const FOREIGN: &[Setting] = &[
    needed("character_set_client", "utf8mb4"),
    // With the collation that the server takes for it by default, which programs keep.
    needed("character_set_connection", "utf8mb4"),
    // What a server no longer takes as it is, is told with the file and line, and does not keep the rest out.
    needed("sql_mode", "'NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES,NO_ENGINE_SUBSTITUTION'"),
    // Their rows may go into tables that others work with, who are not to be waited for all day.
    wanted("innodb_lock_wait_timeout", "DEFAULT"),
    // Warnings beyond these are not listed; 65535 is the most.
    wanted("max_error_count", "65535"),
];

/// What all sessions have.
const COMMON: &[Setting] = &[
    // A slow disk on our side, or a slow server on the other one, must not end the connection.
    wanted("net_read_timeout", "86400"),
    wanted("net_write_timeout", "86400"),
    // A session also waits while others of the same work do: amid its transaction too (MariaDB).
    wanted("idle_transaction_timeout", "0"),
    wanted("idle_readonly_transaction_timeout", "0"),
    wanted("idle_write_transaction_timeout", "0"),
    wanted("max_statement_time", "0"),
    wanted("max_execution_time", "0"),
    // Tables without a primary key show the one that MySQL generated for them, and keep it.
    wanted("show_gipk_in_create_table_and_information_schema", "ON"),
    // MariaDB's limits on temporary tables and memory: catalogues are read by way of both.
    wanted("tmp_disk_table_size", "18446744073709551615"),
    wanted("max_session_mem_used", "9223372036854775807"),
    wanted("sql_quote_show_create", "1"),
    // MySQL adds it to the statements of views.
    wanted("sql_buffer_result", "0"),
    // MySQL: a definition has what was said when the table was made, no more (a row format that was nobody's choice) and no less.
    wanted("show_create_table_verbosity", "OFF"),
    wanted("show_create_table_skip_secondary_engine", "OFF"),
    wanted("show_old_temporals", "OFF"),
    wanted("group_concat_max_len", "CAST(GREATEST(@@SESSION.group_concat_max_len, 1048576) AS UNSIGNED)"),
];

const DUMP: &[Setting] = &[
    needed("sql_mode", "''"),
    // MariaDB hides options that it does not know in comments, unless it is told to bear with them.
    wanted("sql_mode", "'IGNORE_BAD_TABLE_OPTIONS'"),
    // Values and texts come as the bytes that are stored.
    needed("character_set_results", "NULL"),
    needed("transaction_isolation", "'REPEATABLE-READ'"),
    // Sizes as they are now: they decide the order of the work.
    wanted("information_schema_stats_expiry", "0"),
    wanted("query_cache_type", "OFF"),
    // Under the lock of the snapshot a node of a cluster applies nothing, and a session that waits for that waits in vain: the first
    // connection has waited already.
    wanted("wsrep_sync_wait", "0"),
    wanted("group_replication_consistency", "'EVENTUAL'"),
    // Where statements are logged, MariaDB keeps the locks on tables' definitions when a savepoint is undone.
    wanted("sql_log_bin", "0"),
];

const RESTORE: &[Setting] = &[
    // Strict, but for the dates and zeros that a table may hold.
    needed(
        "sql_mode",
        "'NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES,STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'",
    ),
    needed("character_set_results", "utf8mb4"),
    needed("foreign_key_checks", "0"),
    // Without these checks MariaDB takes the first rows of a table in a way of its own: no other worker may add to the table
    // meanwhile, and rows in the order of their key take 13 % longer. They cost nothing: unique keys of large tables come later.
    needed("unique_checks", "1"),
    // Rows that were there before a constraint are restored all the same (MariaDB).
    wanted("check_constraint_checks", "OFF"),
    // Rows of the past keep their times (MariaDB from 10.11 on).
    wanted("system_versioning_insert_history", "ON"),
    wanted("sql_generate_invisible_primary_key", "OFF"),
    wanted("sql_require_primary_key", "OFF"),
    // Older servers let a foreign key name columns that are no unique key (MySQL from 8.4 on does not by default).
    wanted("restrict_fk_on_non_standard_key", "OFF"),
    // A row format that the target no longer takes is a difference that verification reports, not a reason to stop.
    wanted("innodb_strict_mode", "OFF"),
    wanted("max_error_count", "65535"),
    // Two that load into one table may come to wait for each other, however slow they are.
    wanted("innodb_lock_wait_timeout", "86400"),
    // A TIMESTAMP without a default has none, as every definition that a server prints says: where this is OFF, the first one of
    // a table would follow the clock. MySQL before 8.0 asks for SUPER, and MariaDB has it for sessions from 10.5.17 on.
    wanted("explicit_defaults_for_timestamp", "ON"),
    // What an index build may use, in bytes a statement; the default of 1 MiB makes it merge many small runs.
    wanted("innodb_ddl_buffer_size", "67108864"),
    // MariaDB refuses ROW_FORMAT=COMPRESSED with it (error 140): tables say themselves what they compress.
    wanted("innodb_compression_default", "OFF"),
    // At READ COMMITTED nothing can be changed where changes are logged as statements.
    wanted("transaction_isolation", "'REPEATABLE-READ'"),
    wanted("innodb_ddl_threads", "2"),
    // TiDB: rows keep the ids that it drew at random, and a row may be as long as its store takes.
    wanted("allow_auto_random_explicit_insert", "ON"),
    wanted("tidb_txn_entry_size_limit", "125829120"),
];

/// MariaDB before 11.1 calls the isolation level by its old name.
fn older_name(name: &str) -> Option<&'static str> {
    (name == "transaction_isolation").then_some("tx_isolation")
}

/// Tells MySQL not to time what this session does, which it does for each row that is written: 4 to 7 % of its work. The
/// session stays in its list of processes.
const UNTIMED: &str = "UPDATE performance_schema.threads SET INSTRUMENTED = 'NO', HISTORY = 'NO' \
                       WHERE PROCESSLIST_ID = CONNECTION_ID()";

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

/// What a session is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Dump,
    Restore,
    /// Restoring what another tool dumped.
    Foreign,
}

/// Opens a session; where the server is full it waits for a moment.
pub(crate) fn open(options: &ConnectOptions, purpose: Purpose) -> Result<Connection> {
    set_up(Connection::open(options), options, purpose)
}

/// Opens a session, if the server is not full.
pub(crate) fn open_if_any(options: &ConnectOptions, purpose: Purpose) -> Result<Option<Connection>> {
    match Connection::open_if_any(options) {
        Err(error) if error.is_full() => Ok(None),
        opened => set_up(opened, options, purpose).map(Some),
    }
}

fn set_up(
    opened: drover_db::Result<Connection>,
    options: &ConnectOptions,
    purpose: Purpose,
) -> Result<Connection> {
    let mut connection = opened.doing(|| "connecting")?;
    if purpose != Purpose::Dump {
        log(&mut connection, options.logged)?;
        match connection.execute(UNTIMED) {
            Err(drover_db::Error::Server(_)) => {} // without the privilege it is only slower
            other => drop(other.doing(|| "connecting")?),
        }
    }
    set(&mut connection, purpose)?;
    Ok(connection)
}

/// Has what the session changes logged in this way.
fn log(connection: &mut Connection, logged: Logged) -> Result<()> {
    match logged {
        Logged::AsUsual => Ok(()),
        // Statements are safe to log only in this isolation level.
        Logged::AsStatements => [
            "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
            "SET SESSION binlog_format = STATEMENT",
        ]
        .iter()
        .try_for_each(|sql| connection.execute(sql).map(drop))
        .doing(|| "logging the restore as statements (--log-statements)"),
        Logged::Not => connection
            .execute("SET SESSION sql_log_bin = 0")
            .map(drop)
            .doing(|| "leaving the restore out of the binary log (--skip-binlog)"),
    }
}

/// Opens `count` sessions, at least one; where the server gives out fewer, as many as leave [`SPARE`] ones for what else has to be asked.
pub(crate) fn open_many(options: &ConnectOptions, purpose: Purpose, count: usize) -> Result<Vec<Connection>> {
    let mut sessions = vec![open(options, purpose)?];
    let is_limited = number(&mut sessions[0], "SELECT @@max_user_connections")? > 0;
    let tried = if is_limited { count + SPARE } else { count };
    while sessions.len() < tried {
        let Some(session) = open_if_any(options, purpose)? else {
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
pub(crate) fn set(connection: &mut Connection, purpose: Purpose) -> Result<()> {
    let (text, special) = match purpose {
        Purpose::Dump => (OWN, DUMP),
        Purpose::Restore => (OWN, RESTORE),
        Purpose::Foreign => (FOREIGN, RESTORE),
    };
    // What is special to a text comes last.
    for setting in COMMON.iter().chain(special).chain(text) {
        let mut result = connection.execute(format!("SET SESSION {} = {}", setting.name, setting.value));
        if let (Err(drover_db::Error::Server(_)), Some(name)) = (&result, older_name(setting.name)) {
            result = connection.execute(format!("SET SESSION {name} = {}", setting.value));
        }
        match result {
            Err(drover_db::Error::Server(_)) if !setting.needed => {}
            other => drop(other.doing(|| format!("setting {}", setting.name))?),
        }
    }
    if purpose == Purpose::Restore {
        connection.execute(SET_NEVER).doing(|| "asking for the last TIMESTAMP")?;
    }
    Ok(())
}

/// Lets the session create tables as older servers had them; [`set`] ends it.
pub(crate) fn bear_old_tables(connection: &mut Connection) -> Result<()> {
    const MODE: &str = "NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES,NO_ENGINE_SUBSTITUTION";
    connection.execute(format!("SET SESSION sql_mode = '{MODE}'")).doing(|| "setting sql_mode")?;
    // MariaDB only, so that options it does not know are kept; MySQL has none such.
    let _ = connection.execute(format!("SET SESSION sql_mode = '{MODE},IGNORE_BAD_TABLE_OPTIONS'"));
    Ok(())
}

/// Limits how long the session waits for a lock on a table or the whole server, in seconds.
pub(crate) fn limit_lock_wait(connection: &mut Connection, seconds: u64) -> Result<()> {
    connection
        .execute(format!("SET SESSION lock_wait_timeout = {}", seconds.clamp(1, 31_536_000)))
        .doing(|| "setting lock_wait_timeout")?;
    Ok(())
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
