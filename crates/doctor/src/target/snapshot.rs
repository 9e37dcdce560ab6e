//! What a snapshot of a server holds.

use std::collections::{BTreeMap, BTreeSet};

use drover_db::Vendor;
use serde::{Deserialize, Serialize};

/// Names.
type Names = BTreeSet<String>;

/// What a server takes, as it comes: without plugins that have to be loaded first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Who makes it.
    pub vendor: Vendor,
    /// The version that was asked, such as `11.8.9`.
    pub version: String,
    /// Global variables.
    pub variables: Names,
    /// Names of other servers' variables that are options here, though no variables.
    pub options: Names,
    /// Names of other servers' variables with which it starts, and warns that they do nothing.
    pub ignored: Names,
    /// Names of other servers' variables with which it does not start.
    pub refused: Names,
    /// The values of [`DEFAULTS`] where nobody sets them.
    pub defaults: BTreeMap<String, String>,
    /// Values of sql_mode, one each.
    pub sql_modes: Names,
    /// Authentication plugins.
    pub authentication: Names,
    /// Words that name no column or table without quotes, in capitals.
    pub reserved_words: Names,
    /// Types of columns, in small letters.
    pub types: Names,
    /// Kinds of tables as information_schema.TABLES calls them.
    pub tables: Names,
    /// Storage engines, in capitals.
    pub engines: Names,
    /// Character sets.
    pub character_sets: Names,
    /// Collations, by their full names.
    pub collations: Names,
}

impl Snapshot {
    /// The series: major and minor number.
    pub fn series(&self) -> (u32, u32) {
        let mut parts = self.version.split('.').map(|part| part.parse().unwrap_or(0));
        let mut next = || parts.next().unwrap_or(0);
        (next(), next())
    }

    /// As `--target` takes it: `mariadb-11.8`.
    pub fn name(&self) -> String {
        let vendor = match self.vendor {
            Vendor::MariaDb => "mariadb",
            Vendor::MySql => "mysql",
        };
        let (major, minor) = self.series();
        format!("{vendor}-{major}.{minor}")
    }
}

/// As people call it: `MariaDB 11.8`.
impl std::fmt::Display for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (major, minor) = self.series();
        write!(f, "{} {major}.{minor}", self.vendor)
    }
}

/// Variables whose defaults people rely on without knowing, and what comes of another one.
pub const DEFAULTS: [(&str, &str); 36] = [
    ("character_set_server", "new schemas take it"),
    ("collation_server", "new schemas take it: other texts are equal, and texts sort otherwise"),
    (
        "character_set_collations",
        "a character set alone means another collation: columns that are made anew do not fit old ones",
    ),
    ("sql_mode", "statements are refused that were taken, or the other way round"),
    (
        "old_mode",
        "old habits that are no longer kept by themselves, such as utf8 for the character set of three bytes",
    ),
    ("explicit_defaults_for_timestamp", "a TIMESTAMP column that says nothing else is another one"),
    ("transaction_isolation", "transactions see other rows"),
    (
        "innodb_snapshot_isolation",
        "a transaction that changes a row which has changed since it began gets error 1020 and must be tried again",
    ),
    ("innodb_autoinc_lock_mode", "the values that one INSERT gives need not follow one another"),
    ("innodb_strict_mode", "CREATE TABLE is refused where it warned, or the other way round"),
    ("innodb_default_row_format", "new tables are laid out otherwise"),
    ("innodb_flush_method", "files are read and written past the system's cache, or through it"),
    ("innodb_flush_log_at_trx_commit", "what a loss of power costs, and how fast commits are"),
    ("sync_binlog", "what a loss of power costs, and how fast commits are"),
    ("innodb_doublewrite", "what a loss of power costs, and how much is written"),
    ("innodb_adaptive_hash_index", "look-ups by key take another way"),
    ("innodb_change_buffering", "changes of secondary indexes are read in at once, or later"),
    ("innodb_buffer_pool_size", "memory"),
    ("innodb_log_buffer_size", "memory"),
    ("innodb_io_capacity", "how hard pages are written in the background"),
    ("innodb_undo_log_truncate", "undo files become shorter again"),
    ("innodb_lock_wait_timeout", "how long a statement waits for a row"),
    ("lock_wait_timeout", "how long a statement waits for a table"),
    ("wait_timeout", "how long an idle session stays"),
    ("max_allowed_packet", "larger values are refused"),
    ("group_concat_max_len", "longer results are cut"),
    ("tmp_table_size", "when temporary tables go to disk"),
    ("max_connections", "how many sessions there can be"),
    ("performance_schema", "memory, and what can be seen of a running server"),
    ("local_infile", "LOAD DATA LOCAL is refused, or taken"),
    ("event_scheduler", "events run, or do not"),
    ("authentication_policy", "new accounts log in by another plugin"),
    ("default_authentication_plugin", "new accounts log in by another plugin"),
    ("binlog_format", "what is written into the binary log"),
    ("binlog_expire_logs_seconds", "how long binary logs are kept"),
    ("restrict_fk_on_non_standard_key", "a foreign key needs a unique key with just its columns"),
];
