//! What can go wrong in a chunked statement.

use std::io;
use std::path::{Path, PathBuf};

/// An error that ends the command. What was committed before stays, and is noted.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server said no, or is gone.
    #[error("{doing}: {source}")]
    Server {
        /// What was being done, with the table it was done to.
        doing: String,
        /// The server's words.
        source: drover_db::Error,
    },
    /// The archive could not be written or read.
    #[error("{}: {source}", path.display())]
    File {
        /// Its path.
        path: PathBuf,
        /// The system's words.
        source: io::Error,
    },
    /// A limit on the server cannot be watched.
    #[error(transparent)]
    Throttle(drover_throttle::Error),
    /// Something else is wrong with what was asked for or found.
    #[error("{what}")]
    Found {
        /// What is wrong.
        what: String,
        /// What a person can do about it.
        hint: Option<String>,
    },
    /// A signal stopped the work.
    #[error("stopped by a signal")]
    Stopped,
}

impl Error {
    pub(crate) fn found(what: impl Into<String>) -> Self {
        Self::Found { what: what.into(), hint: None }
    }

    pub(crate) fn with_hint(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Found { what: what.into(), hint: Some(hint.into()) }
    }

    pub(crate) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::File { path: path.to_owned(), source }
    }

    /// The server's error number, if it is one of the server.
    pub(crate) fn code(&self) -> Option<u16> {
        match self {
            Self::Server { source, .. } => source.code(),
            _ => None,
        }
    }

    /// Whether another session was in the way of a statement.
    pub(crate) fn is_contended(&self) -> bool {
        matches!(self, Self::Server { source, .. } if source.is_contended())
    }

    /// What a person can do about it, where that is known.
    pub fn hint(&self) -> Option<String> {
        const GO_ON: &str = "the same command goes on where it was";
        match self {
            Self::Server { source: drover_db::Error::Lost { .. }, .. } | Self::Stopped => Some(GO_ON.into()),
            Self::Server { source, .. } if source.is_denied() => {
                Some("grant the account that privilege, or use another account".into())
            }
            Self::Server { source, .. } => source.hint(),
            Self::File { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                Some(format!("free some space there; {GO_ON}"))
            }
            Self::File { .. } => None,
            Self::Throttle(error) => error.hint(),
            Self::Found { hint, .. } => hint.clone(),
        }
    }
}

impl From<drover_throttle::Error> for Error {
    fn from(error: drover_throttle::Error) -> Self {
        match error {
            drover_throttle::Error::Server { doing, source } => Self::Server { doing: doing.into(), source },
            error => Self::Throttle(error),
        }
    }
}

/// The result of this family.
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
