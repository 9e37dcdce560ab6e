//! What a server may be a node of.

/// What keeps the nodes alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cluster {
    /// MySQL's own.
    GroupReplication,
    /// MariaDB's and Percona XtraDB Cluster's.
    Galera,
}
