//! The moment of a dump, as its manifest tells it.

use serde::{Deserialize, Serialize};

/// The moment that all rows belong to, and where it lies in the binary log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// When the lock was held, UTC, RFC 3339.
    pub taken_at: String,
    /// What held writers back while the snapshot was taken, such as `FLUSH TABLES WITH READ LOCK`, or `no lock`.
    pub lock: String,
    /// Whether rows may belong to different moments: nothing held writers back, and more than one transaction read them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inconsistent: bool,
    /// For how long writers were held back, in milliseconds.
    pub lock_held_ms: u64,
    /// The binary log's file at that moment; `None` if the server writes none or does not tell this account.
    pub binlog_file: Option<String>,
    /// The position in that file, in bytes.
    pub binlog_position: Option<u64>,
    /// MySQL's `gtid_executed` or MariaDB's `gtid_binlog_pos` at that moment.
    pub gtid_set: Option<String>,
    /// TiDB's time stamp of the moment (TSO), which stands for a position in a binary log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tso: Option<u64>,
    /// The server's `server_id`; `None` in manifests of older versions, as of the next two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_id: Option<u32>,
    /// MySQL's `server_uuid`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_uuid: Option<String>,
    /// What the server's clock showed while the lock was held, in microseconds since 1970: no log that it begins later is this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_clock_us: Option<u64>,
    /// The number of MariaDB's statement that asked for it: transactions that come later have higher ones in the log, until the server is
    /// started again. `None` in a Galera cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query_id: Option<u64>,
    /// If the server is itself a replica: each source's name, file and position.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replicates_from: Vec<SourcePosition>,
    /// Of a replica of MariaDB the last transactions that it had from its sources, its `gtid_slave_pos`: where a replica that is set up by the
    /// dump begins. `gtid_set` has those of the replica's own log, which lacks them where it does not log what it replicates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gtid_slave_pos: Option<String>,
    /// Whether a replica writes what it gets from its source into its own binary log (`log_slave_updates`, `log_replica_updates`); `None` if
    /// it is no replica. Of MariaDB, `false` also where the account may not see its sources, and it once had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logs_replicated: Option<bool>,
    /// Transactions that were prepared (XA), as XA RECOVER names them: what they changed is not in the dump, and not in the logs behind it. MySQL
    /// tells only accounts with XA_RECOVER_ADMIN.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prepared: Vec<String>,
}

/// How far a replica had applied its source's binary log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourcePosition {
    /// The channel's or connection's name; empty for the default one.
    pub channel: String,
    /// The source's binary log file.
    pub file: String,
    /// The position in that file, in bytes.
    pub position: u64,
}
