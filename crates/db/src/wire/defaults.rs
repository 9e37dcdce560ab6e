//! What every session of drover is set to before anything else, whatever a server's global settings or its `init_connect` say: each of
//! these can lose rows, repeat them, or end the work in statements that are right. `DEFAULT` would take the global value.

use super::connection::Connection;
use crate::{Error, Result, er};

/// Name and value, with what another value does.
const SETTINGS: [(&str, &str); 9] = [
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

impl Connection {
    /// Makes the session independent of global settings, in one round trip.
    pub(super) fn set_defaults(&mut self) -> Result<()> {
        let all: Vec<_> = SETTINGS.iter().map(|(name, value)| format!("{name} = {value}")).collect();
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
}
