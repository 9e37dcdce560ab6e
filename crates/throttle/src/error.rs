use std::io;
use std::path::{Path, PathBuf};

use drover_db::options::Address;

/// What cannot be watched, or ends the work.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A server did not answer what it was asked.
    #[error("{doing}: {source}")]
    Server {
        /// What was asked.
        doing: &'static str,
        /// The server's words.
        source: drover_db::Error,
    },
    /// The file system of this path does not tell its free space.
    #[error("{}: {source}", path.display())]
    Disk {
        /// The path.
        path: PathBuf,
        /// The system's words.
        source: io::Error,
    },
    /// The server has no number of this name in its status.
    #[error("the server has no status variable {0} that is a number")]
    NoStatus(String),
    /// The URL of a replica is none.
    #[error("--replica: {0}")]
    ReplicaUrl(String),
    /// There is nothing whose lag could be watched.
    #[error("--max-lag: the server is no replica and names none")]
    NoReplicas,
    /// A replica is registered without its address.
    #[error("--max-lag: the replica with server id {0} does not say where it is")]
    NoAddress(String),
    /// A server that is to be watched for its lag is no replica.
    #[error("--max-lag: {0} is no replica")]
    NoReplica(Address),
    /// A replica does not replicate, or does not say how far it is.
    #[error("--max-lag: nobody knows how far {0} is behind: its replication does not run")]
    UnknownLag(Address),
    /// The server does not tell what InnoDB has not purged.
    #[error("--max-history: the server does not tell the length of InnoDB's history list")]
    UnknownHistory,
    /// The server's disk can be seen neither from here nor by the server.
    #[error("--min-free: the free space on the server's disk cannot be known from here")]
    UnknownSpace,
    /// MariaDB's plugin DISKS lists no mount that holds the data directory.
    #[error("--min-free: no disk holds the data directory")]
    NoDisk,
    /// A limit is exceeded that ends the work.
    #[error("stopped by a limit: {}", .0.join(", "))]
    Exceeded(Vec<String>),
    /// A signal came, or another worker has failed, while the work paused.
    #[error("stopped by a signal")]
    Stopped,
}

/// The result of watching.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn server(doing: &'static str) -> impl FnOnce(drover_db::Error) -> Self {
        move |source| Self::Server { doing, source }
    }

    pub(crate) fn disk(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Disk { path: path.to_owned(), source }
    }

    /// Whether the connection to the server broke.
    pub(crate) fn is_lost(&self) -> bool {
        matches!(self, Self::Server { source, .. } if source.code().is_none())
    }

    /// What a person can do about it, where that is known.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Server { source, .. } => return source.hint(),
            Self::NoStatus(_) => "SHOW GLOBAL STATUS lists them",
            Self::NoReplicas => "name the replicas with --replica mysql://HOST:PORT, or leave --max-lag out",
            Self::NoAddress(_) => {
                "name all replicas with --replica mysql://HOST:PORT, or set report_host there"
            }
            Self::UnknownLag(_) => "START REPLICA there, or leave --max-lag out",
            Self::UnknownSpace => {
                "run drover on the server's host; or, on MariaDB, INSTALL SONAME 'disks' and grant FILE"
            }
            Self::Exceeded(_) => "resume with --resume at a calmer time, or set a higher limit",
            Self::Disk { .. }
            | Self::ReplicaUrl(_)
            | Self::NoReplica(_)
            | Self::UnknownHistory
            | Self::NoDisk
            | Self::Stopped => return None,
        };
        Some(hint.into())
    }
}
