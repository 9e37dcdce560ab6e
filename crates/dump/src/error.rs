//! What can go wrong in a dump, a restore or a verification; every error names its culprit.

use std::io;
use std::path::{Path, PathBuf};

use crate::definer::TRUST;

use drover_db::{ErrorKind, er};
use drover_store::Failure;

/// Whether it says nothing of what was tried: another time that may go well.
fn is_passing(kind: ErrorKind) -> bool {
    use ErrorKind::{Contended, Ended, OutOfMemory, TimedOut};
    matches!(kind, Contended | TimedOut | Ended | OutOfMemory)
}

/// An error that ends the command.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server said no, or is gone.
    #[error("{doing}: {source}")]
    Server {
        /// What was being done, with the table or file it was done to.
        doing: String,
        /// The server's words.
        source: drover_db::Error,
    },
    /// A file or directory could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// Its path.
        path: PathBuf,
        /// The system's words.
        source: io::Error,
    },
    /// The place of a dump cannot be used; what cannot be read or written there is a [`Error::File`].
    #[error(transparent)]
    Store(drover_store::Error),
    /// A dump, or a file of it, is not what it should be; what cannot be read or written is a [`Error::File`].
    #[error(transparent)]
    Format(drover_format::Error),
    /// A limit on the servers cannot be watched, or ends the work.
    #[error(transparent)]
    Throttle(drover_throttle::Error),
    /// Something else is wrong with what was asked for or found.
    #[error("{what}")]
    Found {
        /// What is wrong, with the file, table or row where it is.
        what: String,
        /// What a person can do about it.
        hint: Option<String>,
    },
    /// A person or a signal stopped the work.
    #[error("stopped by a signal")]
    Stopped,
}

impl Error {
    /// An error without a hint.
    pub(crate) fn found(what: impl Into<String>) -> Self {
        Self::Found { what: what.into(), hint: None }
    }

    /// An error with a hint.
    pub(crate) fn with_hint(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Found { what: what.into(), hint: Some(hint.into()) }
    }

    pub(crate) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::File { path: path.to_owned(), source }
    }

    /// Whether the server has something against what was tried. That a lock was waited for in vain, that a statement was ended or that
    /// memory was short says nothing of it: another time it may go well.
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(self, Self::Server { source: drover_db::Error::Server(error), .. } if !is_passing(error.kind()))
    }

    /// Whether there was no space left for a file of this side.
    pub fn is_full_disk(&self) -> bool {
        matches!(self, Self::File { source, .. } if source.kind() == io::ErrorKind::StorageFull)
    }

    /// Whether the work was interrupted by what may be over another time: a signal, a server that was ended or restarted or had no space
    /// left, a connection that broke or was killed.
    pub fn is_interruption(&self) -> bool {
        match self {
            Self::Stopped => true,
            Self::Server { source: drover_db::Error::Lost { .. }, .. } => true,
            Self::Server { source, .. } => {
                source.kind().is_some_and(|kind| is_passing(kind) || kind == ErrorKind::Full)
            }
            _ => false,
        }
    }

    /// The server's words against what was tried; any other error stays one.
    pub(crate) fn refusal(self) -> Result<String> {
        let is_refusal = self.is_refusal();
        match self {
            Self::Server { source: drover_db::Error::Server(error), .. } if is_refusal => Ok(error.message),
            other => Err(other),
        }
    }

    /// The same of what the server cannot hold: that the account lacks a privilege there stays an error.
    pub(crate) fn refusal_by_server(self) -> Result<String> {
        if self.is_denied() { Err(self) } else { self.refusal() }
    }

    /// Whether the account lacks a privilege on a schema, table or column.
    pub(crate) fn is_denied(&self) -> bool {
        matches!(self, Self::Server { source, .. } if matches!(source.code(), Some(er::DBACCESS_DENIED | er::TABLEACCESS_DENIED | er::COLUMNACCESS_DENIED)))
    }

    /// What a person can do about it, where that is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Server { source, .. } => server_hint(source),
            Self::File { .. } if self.is_full_disk() => Some("free some space there".into()),
            Self::File { source, .. } => Failure::of(source)?.hint().map(Into::into),
            Self::Store(error) => error.hint().map(Into::into),
            Self::Format(error) => error.hint().map(Into::into),
            Self::Throttle(error) => error.hint(),
            Self::Found { hint, .. } => hint.clone(),
            Self::Stopped => None,
        }
    }
}

impl From<drover_store::Error> for Error {
    fn from(error: drover_store::Error) -> Self {
        match error {
            drover_store::Error::File { path, source } => Self::File { path, source },
            error => Self::Store(error),
        }
    }
}

impl From<drover_format::Error> for Error {
    fn from(error: drover_format::Error) -> Self {
        match error {
            drover_format::Error::File { path, source } => Self::File { path, source },
            drover_format::Error::Store(error) => error.into(),
            error => Self::Format(error),
        }
    }
}

impl From<drover_throttle::Error> for Error {
    fn from(error: drover_throttle::Error) -> Self {
        match error {
            drover_throttle::Error::Server { doing, source } => Self::Server { doing: doing.into(), source },
            drover_throttle::Error::Stopped => Self::Stopped,
            error => Self::Throttle(error),
        }
    }
}

fn server_hint(error: &drover_db::Error) -> Option<String> {
    match error.code() {
        _ if error.is_denied() => Some("grant the account that privilege, or use another account".into()),
        Some(er::BINLOG_UNSAFE_ROUTINE | er::BINLOG_CREATE_ROUTINE_NEED_SUPER) => {
            Some(format!("the server writes a binary log and trusts no such functions or triggers: {TRUST}"))
        }
        Some(er::RECORD_FILE_FULL | er::DISK_FULL) => {
            Some("the server's disk or tablespace is full: free some space there".into())
        }
        _ => error.hint(),
    }
}

/// The result of the dump family.
pub type Result<T> = std::result::Result<T, Error>;

/// Says what was being done when the server said no.
pub(crate) trait Doing<T> {
    fn doing<S: Into<String>>(self, what: impl FnOnce() -> S) -> Result<T>;
}

impl<T> Doing<T> for drover_db::Result<T> {
    fn doing<S: Into<String>>(self, what: impl FnOnce() -> S) -> Result<T> {
        self.map_err(|source| Error::Server { doing: what().into(), source })
    }
}
