//! A node of a cluster applies what was committed on another one a moment later, or minutes later behind a large transaction. What is
//! read there meanwhile is the past: rows would be left out without a word. So a command's first connection to a server waits until all is
//! there that the cluster had committed before.
//!
//! Only this one: a snapshot is taken under a lock that keeps the node from applying anything, where each wait would be in vain.

use std::time::Duration;

use super::connection::Connection;
use super::stream::Deadline;
use crate::{Cluster, Error, Result, er};

/// What has a transaction wait at its beginning. Galera waits as long as `repl.causal_read_timeout` says, which is 30 s by default; Group
/// Replication as long as `wait_timeout`.
const WAITS: [(Cluster, &str, &str); 2] = [
    (Cluster::Galera, "wsrep_sync_wait = 1", "wsrep_sync_wait = 0"),
    (
        Cluster::GroupReplication,
        "group_replication_consistency = 'BEFORE', wait_timeout = 30",
        "group_replication_consistency = DEFAULT",
    ),
];

/// A member of a group that has lost its majority asks the others first, and waits for that for ever.
const PATIENCE: Duration = Duration::from_secs(40);

impl Connection {
    /// Waits until the server has applied all that its cluster has committed so far; at once where it is in none.
    pub(super) fn catch_up(&mut self) -> Result<()> {
        for (cluster, waits, afterwards) in WAITS {
            if self.takes(waits)? {
                self.wait_at_a_beginning(cluster)?;
                self.execute(format!("SET SESSION {afterwards}"))?;
                return self.set_defaults();
            }
        }
        Ok(())
    }

    fn takes(&mut self, settings: &str) -> Result<bool> {
        match self.execute(format!("SET SESSION {settings}")) {
            Err(Error::Server(_)) => Ok(false),
            other => other.map(|_| true),
        }
    }

    fn wait_at_a_beginning(&mut self, cluster: Cluster) -> Result<()> {
        let behind = |to: &str, why: String| Error::Behind { to: to.to_owned(), cluster, why };
        let deadline = (cluster == Cluster::GroupReplication).then(|| Deadline::after(PATIENCE));
        self.limit(deadline)?;
        let waited = self.execute("START TRANSACTION").and_then(|_| self.execute("COMMIT"));
        match waited {
            Err(Error::Server(error))
                if matches!(
                    error.code,
                    er::LOCK_WAIT_TIMEOUT
                        | er::GRP_TRX_CONSISTENCY_BEFORE
                        | er::GRP_TRX_CONSISTENCY_NOT_ALLOWED
                ) =>
            {
                Err(behind(&self.to, error.to_string()))
            }
            Err(Error::Lost { .. }) if deadline.is_some_and(|deadline| deadline.left().is_err()) => {
                Err(behind(
                    &self.to,
                    format!(
                        "no answer of the group in {} s, which may have lost its majority",
                        PATIENCE.as_secs()
                    ),
                ))
            }
            other => other.and_then(|_| self.limit(None)),
        }
    }

    fn limit(&mut self, deadline: Option<Deadline>) -> Result<()> {
        let is_set = self.packets.stream_mut().set_deadline(deadline);
        is_set.map_err(|source| self.lost(source))
    }
}
