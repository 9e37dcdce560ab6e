//! What can go wrong in a dump, a restore or a verification; every error names its culprit.

use std::io;
use std::path::{Path, PathBuf};

use crate::definer::TRUST;
use crate::store;

/// Lock wait timeout, deadlock, limits on a statement's time, interrupted, out of memory, shutdown.
const PASSING: [u16; 8] = [1205, 1213, 1969, 3024, 1317, 1037, 1041, 1053];
/// Connection killed; table or disk full.
const ENDED_OR_FULL: [u16; 3] = [1927, 1114, 1021];

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
        matches!(self, Self::Server { source: drover_db::Error::Server(error), .. } if !PASSING.contains(&error.code))
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
                source.code().is_some_and(|code| PASSING.contains(&code) || ENDED_OR_FULL.contains(&code))
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

    /// Whether the account lacks a privilege on a schema, table or column: ER_DBACCESS_DENIED_ERROR, ER_TABLEACCESS_DENIED_ERROR,
    /// ER_COLUMNACCESS_DENIED_ERROR.
    pub(crate) fn is_denied(&self) -> bool {
        matches!(self, Self::Server { source, .. } if matches!(source.code(), Some(1044 | 1142 | 1143)))
    }

    /// What a person can do about it, where that is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Server { source, .. } => server_hint(source),
            Self::File { .. } if self.is_full_disk() => Some("free some space there".into()),
            Self::File { source, .. } => store::Failure::of(source)?.hint.map(Into::into),
            Self::Found { hint, .. } => hint.clone(),
            Self::Stopped => None,
        }
    }
}

fn server_hint(error: &drover_db::Error) -> Option<String> {
    match error.code() {
        Some(1044 | 1142 | 1143 | 1227 | 1370) => {
            Some("grant the account that privilege, or use another account".into())
        }
        Some(1418 | 1419) => {
            Some(format!("the server writes a binary log and trusts no such functions or triggers: {TRUST}"))
        }
        Some(1114 | 1021) => Some("the server's disk or tablespace is full: free some space there".into()),
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
