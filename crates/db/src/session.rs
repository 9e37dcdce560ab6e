//! What sessions are set to: one table of all settings with the reason for each, and the one place that sets them.
//!
//! At its login a session is set to what every session needs, whatever a server's global settings or its `init_connect` say,
//! and then set up for its use by [`Connection::set_up`]. A server that does not have a setting, or does not let this account
//! change it, is borne with unless the work would be wrong without it.

use std::fmt::{self, Display};

use crate::wire::Batch;
use crate::{Connection, Error, Result, er};

/// What every session is set to at its login: name and value, with what another value does. Each of these can lose rows, repeat them, or end
/// the work in statements that are right; `DEFAULT` would take the global value.
const EVERY: [(&str, &str); 9] = [
    // Cuts the rows of each SELECT, those of the catalogue too: the greatest value is no limit.
    ("sql_select_limit", "18446744073709551615"),
    // Refuses a SELECT that may look at more than max_join_size rows.
    ("sql_big_selects", "1"),
    // Refuses UPDATE and DELETE without a key in the condition.
    ("sql_safe_updates", "0"),
    // `column IS NULL` finds the row that was inserted last.
    ("sql_auto_is_null", "0"),
    // At their least they end statements that sort (1038), or compare but the beginnings of texts.
    ("sort_buffer_size", "CAST(GREATEST(@@SESSION.sort_buffer_size, 262144) AS UNSIGNED)"),
    ("max_sort_length", "CAST(GREATEST(@@SESSION.max_sort_length, 1024) AS UNSIGNED)"),
    // Ends a session that waits for other work of the same command.
    ("wait_timeout", "604800"),
    // Each COMMIT begins another transaction (1) or ends the connection (2).
    ("completion_type", "0"),
    // A statement is not done until COMMIT.
    ("autocommit", "1"),
];

/// All changes are refused, or statements end that take long. The names differ; each server reads the comments that it knows: MySQL
/// from 5.7 on those with `!`, MariaDB those with `M!`.
const BY_VENDOR: &str = "/*!50720 , transaction_read_only = 0 */ /*M!100001 , tx_read_only = 0 */ \
                         /*!50708 , max_execution_time = 0 */ /*M!100101 , max_statement_time = 0 */";

/// A wait for what other nodes of a cluster have committed would be taken for a login that hangs, and is in vain under a lock of all tables:
/// it is done once, by [`Connection::catch_up`]. Servers that were built without Galera do not know it.
const CLUSTER: &str = "/*M!100101 , wsrep_sync_wait = 0 */";

/// What a session is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// Reading definitions and rows.
    Dump,
    /// Writing what drover has dumped.
    Restore,
    /// Running what another tool has dumped.
    Script,
    /// Changing rows in parts beside live traffic.
    Chunk,
    /// Working with a queue.
    Queue,
    /// Applying what logs hold.
    Replay,
    /// Looking at a server without getting in its way.
    Doctor,
    /// A benchmark's statements.
    Tpcc,
    /// Making a benchmark's tables and rows: beside what its statements have.
    TpccLoad,
    /// Checking what a benchmark has left: beside what its statements have.
    TpccCheck,
}

const DUMP: &[Use] = &[Use::Dump];
const RESTORE: &[Use] = &[Use::Restore];
const SCRIPT: &[Use] = &[Use::Script];
const RESTORES: &[Use] = &[Use::Restore, Use::Script];
const COPIES: &[Use] = &[Use::Dump, Use::Restore, Use::Script];
const CHUNK: &[Use] = &[Use::Chunk];
const QUEUE: &[Use] = &[Use::Queue];
const REPLAY: &[Use] = &[Use::Replay];
const WRITES: &[Use] = &[Use::Restore, Use::Script, Use::Replay];
const DOCTOR: &[Use] = &[Use::Doctor];
const TPCC: &[Use] = &[Use::Tpcc];
const CHECK: &[Use] = &[Use::TpccCheck];

/// A row of the table.
struct Setting {
    name: &'static str,
    /// As SQL.
    value: &'static str,
    /// Whether the work would be wrong without it.
    needed: bool,
    uses: &'static [Use],
}

const fn needed(name: &'static str, value: &'static str, uses: &'static [Use]) -> Setting {
    Setting { name, value, needed: true, uses }
}

const fn wanted(name: &'static str, value: &'static str, uses: &'static [Use]) -> Setting {
    Setting { name, value, needed: false, uses }
}

/// All settings in the order in which they are set: of two rows for one name, the second counts where it is taken.
const TABLE: &[Setting] = &[
    // A slow disk on our side, or a slow server on the other one, must not end the connection.
    wanted("net_read_timeout", "86400", &[Use::Dump, Use::Restore, Use::Script, Use::TpccLoad]),
    wanted("net_write_timeout", "86400", COPIES),
    // Who holds locks beside live traffic, and is heard of no more amid a packet, is not waited for all day.
    wanted("net_read_timeout", "600", &[Use::Chunk, Use::Queue]),
    wanted("net_write_timeout", "600", &[Use::Chunk, Use::Queue]),
    // Once more behind a script that has set them, where the server cannot begin a session anew.
    wanted("max_statement_time", "0", COPIES),
    wanted("max_execution_time", "0", COPIES),
    // MariaDB: a session also waits while others of the same work do, amid its transaction too.
    wanted("idle_transaction_timeout", "0", &[Use::Dump, Use::Restore, Use::Script, Use::Chunk]),
    wanted("idle_readonly_transaction_timeout", "0", COPIES),
    wanted("idle_write_transaction_timeout", "0", &[Use::Dump, Use::Restore, Use::Script, Use::Chunk]),
    // MariaDB: what a session locks that nobody is behind any more.
    wanted("idle_write_transaction_timeout", "60", QUEUE),
    // Statements here end that take longer than a few seconds: MariaDB's is in seconds, MySQL's in milliseconds.
    wanted("max_statement_time", "2", DOCTOR),
    wanted("max_execution_time", "2000", DOCTOR),
    //
    // Texts and times.
    //
    // Names and texts in statements are written for these modes, whatever is the server's own.
    needed("sql_mode", "''", &[Use::Dump, Use::Doctor]),
    // MariaDB hides options that it does not know in comments, unless it is told to bear with them.
    wanted("sql_mode", "'IGNORE_BAD_TABLE_OPTIONS'", DUMP),
    // Strict, but for the dates and zeros that a table may hold.
    needed(
        "sql_mode",
        "'NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES,STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'",
        RESTORE,
    ),
    // What a server no longer takes as it is, is told with the file and line, and does not keep the rest out.
    needed("sql_mode", "'NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES,NO_ENGINE_SUBSTITUTION'", SCRIPT),
    needed("sql_mode", "'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'", &[Use::Queue, Use::Tpcc]),
    needed(
        "character_set_client",
        "utf8mb4",
        &[Use::Dump, Use::Restore, Use::Script, Use::Chunk, Use::Queue],
    ),
    needed("collation_connection", "utf8mb4_bin", &[Use::Dump, Use::Restore, Use::Queue]),
    // Other tools rely on what a client has that nobody told otherwise: the collation that the server takes by default.
    needed("character_set_connection", "utf8mb4", &[Use::Script, Use::Chunk]),
    // Values and texts come as the bytes that are stored.
    needed("character_set_results", "NULL", &[Use::Dump, Use::Chunk]),
    needed("character_set_results", "utf8mb4", &[Use::Restore, Use::Script, Use::Queue]),
    // Times are written and read in this zone, which has no daylight saving.
    needed("time_zone", "'+00:00'", &[Use::Dump, Use::Restore, Use::Queue]),
    // INNODB_TRX has the times of the host's zone (storage/innobase/handler/i_s.cc, field_store_time_t: localtime_r).
    needed("time_zone", "'SYSTEM'", DOCTOR),
    //
    // Transactions and locks.
    //
    needed("transaction_isolation", "'REPEATABLE-READ'", DUMP),
    // At READ COMMITTED nothing can be changed where changes are logged as statements.
    wanted("transaction_isolation", "'REPEATABLE-READ'", RESTORES),
    // No gaps are locked, so that those who insert wait for nobody.
    needed("transaction_isolation", "'READ-COMMITTED'", &[Use::Queue, Use::Replay]),
    // TiDB: a locking read locks, whatever clusters that were made long ago have as their default.
    wanted("tidb_txn_mode", "'pessimistic'", QUEUE),
    // Two that load into one table may come to wait for each other, however slow they are.
    wanted("innodb_lock_wait_timeout", "86400", &[Use::Restore, Use::TpccLoad]),
    // Scripts may go into tables that others work with, who are not to be waited for all day.
    wanted("innodb_lock_wait_timeout", "DEFAULT", SCRIPT),
    // Who waits for a lock holds others up: it is rather tried again.
    wanted("innodb_lock_wait_timeout", "2", CHUNK),
    wanted("lock_wait_timeout", "5", CHUNK),
    // Whoever holds a row of the queue's is done with it at once, or is dead.
    wanted("innodb_lock_wait_timeout", "5", QUEUE),
    wanted("lock_wait_timeout", "30", QUEUE),
    needed("lock_wait_timeout", "1", DOCTOR),
    //
    // What a restore may write.
    //
    needed("foreign_key_checks", "0", RESTORES),
    needed("foreign_key_checks", "1", TPCC),
    // Without these checks MariaDB takes the first rows of a table in a way of its own: no other worker may add to the table
    // meanwhile, and rows in the order of their key take 13 % longer. They cost nothing: unique keys of large tables come later.
    needed("unique_checks", "1", RESTORES),
    // Rows that were there before a constraint are restored all the same (MariaDB).
    wanted("check_constraint_checks", "OFF", RESTORES),
    // Rows of the past keep their times (MariaDB from 10.11 on).
    wanted("system_versioning_insert_history", "ON", RESTORES),
    wanted("sql_generate_invisible_primary_key", "OFF", WRITES),
    wanted("sql_require_primary_key", "OFF", WRITES),
    // Older servers let a foreign key name columns that are no unique key (MySQL from 8.4 on does not by default).
    wanted("restrict_fk_on_non_standard_key", "OFF", WRITES),
    // A statement of a log changes the tables that have history as it did there.
    wanted("system_versioning_alter_history", "KEEP", REPLAY),
    // A row format that the target no longer takes is a difference that verification reports, not a reason to stop.
    wanted("innodb_strict_mode", "OFF", WRITES),
    // A TIMESTAMP without a default has none, as every definition that a server prints says: where this is OFF, the first one of
    // a table would follow the clock. MySQL before 8.0 asks for SUPER, and MariaDB has it for sessions from 10.5.17 on.
    wanted("explicit_defaults_for_timestamp", "ON", RESTORES),
    // MariaDB refuses ROW_FORMAT=COMPRESSED with it (error 140): tables say themselves what they compress.
    wanted("innodb_compression_default", "OFF", RESTORES),
    // TiDB: rows keep the ids that it drew at random, and a row may be as long as its store takes.
    wanted("allow_auto_random_explicit_insert", "ON", RESTORES),
    wanted("tidb_txn_entry_size_limit", "125829120", RESTORES),
    // Warnings beyond these are not listed; 65535 is the most.
    wanted("max_error_count", "65535", RESTORES),
    // What an index build may use, in bytes a statement; the default of 1 MiB makes it merge many small runs.
    wanted("innodb_ddl_buffer_size", "67108864", &[Use::Restore, Use::Script, Use::TpccLoad]),
    wanted("innodb_ddl_threads", "2", RESTORES),
    //
    // How definitions are shown.
    //
    // Tables without a primary key show the one that MySQL generated for them, and keep it.
    wanted("show_gipk_in_create_table_and_information_schema", "ON", COPIES),
    wanted("sql_quote_show_create", "1", COPIES),
    // MySQL adds it to the statements of views.
    wanted("sql_buffer_result", "0", COPIES),
    // MySQL: a definition has what was said when the table was made, no more (a row format that was nobody's choice) and no less.
    wanted("show_create_table_verbosity", "OFF", COPIES),
    wanted("show_create_table_skip_secondary_engine", "OFF", COPIES),
    wanted("show_old_temporals", "OFF", COPIES),
    wanted(
        "group_concat_max_len",
        "CAST(GREATEST(@@SESSION.group_concat_max_len, 1048576) AS UNSIGNED)",
        COPIES,
    ),
    //
    // What statements may use, and where they look.
    //
    // MariaDB's limits on temporary tables and memory: catalogues are read by way of both.
    wanted("tmp_disk_table_size", "18446744073709551615", COPIES),
    wanted("max_session_mem_used", "9223372036854775807", COPIES),
    // MySQL would tell AUTO_INCREMENT and sizes as they were up to a day ago, and keep in a table of its own what it tells (manual,
    // Optimizing INFORMATION_SCHEMA Queries); sizes decide the order of a dump's work.
    wanted("information_schema_stats_expiry", "0", &[Use::Dump, Use::Doctor]),
    wanted("query_cache_type", "OFF", &[Use::Dump, Use::Queue]),
    // Sums by customer or item are joined in memory.
    wanted("tmp_table_size", "268435456", CHECK),
    wanted("max_heap_table_size", "268435456", CHECK),
    // MariaDB would compute a sum for each row of the table that it is joined to, as if few were asked for.
    wanted("optimizer_switch", "'split_materialized=off'", CHECK),
    // MariaDB 10.2.11 takes what is compared into the derived table by names that are not there (error 1054).
    wanted("optimizer_switch", "'condition_pushdown_for_derived=off'", CHECK),
    //
    // Logs and clusters.
    //
    // Where statements are logged, MariaDB keeps the locks on tables' definitions when a savepoint is undone.
    wanted("sql_log_bin", "0", DUMP),
    // InnoDB refuses changes at READ COMMITTED if they are to be logged as statements. Accounts without the privilege for this are
    // told what to do.
    wanted("binlog_format", "'ROW'", QUEUE),
    // What is done of a lane is all of its row that changes.
    wanted("binlog_row_image", "'MINIMAL'", QUEUE),
    // Under the lock of the snapshot a node of a cluster applies nothing, and a session that waits for that waits in vain: the first
    // connection has waited already.
    wanted("wsrep_sync_wait", "0", DUMP),
    wanted("group_replication_consistency", "'EVENTUAL'", DUMP),
    // What one node of a cluster has acknowledged, another one that takes over shows.
    wanted("group_replication_consistency", "'BEFORE_ON_PRIMARY_FAILOVER'", QUEUE),
    wanted("wsrep_sync_wait", "1", QUEUE),
];

/// Has MySQL not time what a session does, which it does for each row that is written: 4 to 7 % of its work. The session stays in its
/// list of processes.
const UNTIMED: &str = "UPDATE performance_schema.threads SET INSTRUMENTED = 'NO', HISTORY = 'NO' \
                       WHERE PROCESSLIST_ID = CONNECTION_ID()";

/// How much of what others do a transaction sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// What is not committed, too.
    ReadUncommitted,
    /// What is committed when a statement begins.
    ReadCommitted,
    /// What was committed when the transaction began.
    RepeatableRead,
}

/// As SQL has it.
impl Display for Isolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ReadUncommitted => "READ UNCOMMITTED",
            Self::ReadCommitted => "READ COMMITTED",
            Self::RepeatableRead => "REPEATABLE READ",
        })
    }
}

fn assignment(name: &str, value: impl Display) -> String {
    format!("SET SESSION {name} = {value}")
}

/// MariaDB before 11.1 calls the isolation level by its old name.
fn older_name(name: &str) -> Option<&'static str> {
    (name == "transaction_isolation").then_some("tx_isolation")
}

impl Connection {
    /// Makes the session independent of global settings, in one round trip.
    pub(crate) fn set_defaults(&mut self) -> Result<()> {
        let all: Vec<_> = EVERY.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        for cluster in [CLUSTER, ""] {
            match self.execute(format!("SET SESSION {} {BY_VENDOR} {cluster}", all.join(", "))) {
                Err(error) if error.code() == Some(er::UNKNOWN_SYSTEM_VARIABLE) => {}
                other => return other.map(drop),
            }
        }
        all.iter().try_for_each(|setting| self.set_if_known(setting))
    }

    fn set_if_known(&mut self, setting: &str) -> Result<()> {
        match self.execute(format!("SET SESSION {setting}")) {
            Err(Error::Server(error)) if error.code == er::UNKNOWN_SYSTEM_VARIABLE => Ok(()),
            other => other.map(drop),
        }
    }

    /// Sets the session up for its use, also again after a script changed it.
    ///
    /// # Errors
    /// If the server refuses what the work would be wrong without, or the connection is lost.
    pub fn set_up(&mut self, what: Use) -> Result<()> {
        let settings: Vec<_> = TABLE.iter().filter(|setting| setting.uses.contains(&what)).collect();
        let mut batch = Batch::default();
        settings.iter().for_each(|setting| batch.query(assignment(setting.name, setting.value)));
        self.send_batch(&mut batch)?;
        // All answers are read, whatever came of the first ones.
        let answers: Vec<_> = settings.iter().map(|_| self.next_rows()).collect();
        for (setting, answer) in settings.into_iter().zip(answers) {
            let set = match (answer, older_name(setting.name)) {
                (Err(Error::Server(_)), Some(name)) => self.set(name, setting.value),
                (answer, _) => answer.map(drop),
            };
            match set {
                Err(Error::Server(_)) if !setting.needed => {}
                other => other?,
            }
        }
        Ok(())
    }

    /// Gives a variable of the session this value, as SQL.
    ///
    /// # Errors
    /// What the server said, or that the connection is lost.
    pub fn set(&mut self, name: &str, value: impl Display) -> Result<()> {
        self.execute(assignment(name, value)).map(drop)
    }

    /// The same where the server has the variable and lets this account change it; whether it does.
    ///
    /// # Errors
    /// If the connection is lost.
    pub fn set_if_taken(&mut self, name: &str, value: impl Display) -> Result<bool> {
        match self.set(name, value) {
            Ok(()) => Ok(true),
            Err(Error::Server(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// What transactions of the session see from now on.
    ///
    /// # Errors
    /// What the server said, or that the connection is lost.
    pub fn set_isolation(&mut self, level: Isolation) -> Result<()> {
        self.execute(format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}")).map(drop)
    }

    /// Has MySQL not time what the session does; without the privilege it is only slower.
    ///
    /// # Errors
    /// If the connection is lost.
    pub fn leave_untimed(&mut self) -> Result<()> {
        match self.execute(UNTIMED) {
            Ok(_) | Err(Error::Server(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Each row has a use, and no name is needed twice for one.
    #[test]
    fn the_table_has_no_row_in_vain() {
        let all = [
            Use::Dump,
            Use::Restore,
            Use::Script,
            Use::Chunk,
            Use::Queue,
            Use::Replay,
            Use::Doctor,
            Use::Tpcc,
            Use::TpccLoad,
            Use::TpccCheck,
        ];
        for setting in TABLE {
            assert!(all.iter().any(|&one| setting.uses.contains(&one)), "{}", setting.name);
        }
        for one in all {
            let mut seen = BTreeSet::new();
            for setting in TABLE.iter().filter(|setting| setting.needed && setting.uses.contains(&one)) {
                assert!(seen.insert(setting.name), "{} for {one:?}", setting.name);
            }
        }
    }
}
