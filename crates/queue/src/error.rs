//! What can go wrong with a queue; every error names the shard or the file it is about.

use std::io;
use std::path::{Path, PathBuf};

use drover_db::er;

/// What to do where statements are logged.
pub(crate) const STATEMENTS: &str = "let it log rows: SET GLOBAL binlog_format = 'ROW', and the same in its option file; or let the account \
                                     do that for itself, which on MySQL takes the privilege SESSION_VARIABLES_ADMIN, on MariaDB BINLOG ADMIN, \
                                     and SUPER on MySQL before 8.0 and MariaDB before 10.5";

/// An error that ends the command.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A server said no, or is gone.
    #[error("{doing}: {source}")]
    Server {
        /// What was being done, with the shard's name where there are several.
        doing: String,
        /// The server's words.
        source: drover_db::Error,
    },
    /// A file could not be read or written.
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
        /// What is wrong, and where.
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

    /// The server's error number, if a server sent one.
    pub(crate) fn code(&self) -> Option<u16> {
        match self {
            Self::Server { source, .. } => source.code(),
            _ => None,
        }
    }

    /// Whether the same may go well if it is tried again: another session was in the way, or was chosen to go first.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(self, Self::Server { source, .. } if source.is_contended())
    }

    /// Whether a signal ended a login.
    pub(crate) fn is_interrupted(&self) -> bool {
        matches!(self, Self::Server { source: drover_db::Error::Interrupted { .. }, .. })
    }

    /// What a person can do about it, where that is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Server { source, .. } => match source.code() {
                Some(er::NO_SUCH_TABLE) => Some("`drover queue init` makes the queue's tables".into()),
                // ER_BAD_DB_ERROR
                Some(er::BAD_DB) => Some(
                    "is the schema's name right? `drover queue init` makes it, and the queue's tables".into(),
                ),
                // ER_BINLOG_STMT_MODE_AND_ROW_ENGINE
                Some(er::BINLOG_STMT_MODE_AND_ROW_ENGINE) => Some(STATEMENTS.into()),
                _ if source.is_denied() => {
                    Some("grant the account that privilege, or use another account".into())
                }
                _ => source.hint(),
            },
            Self::Found { hint, .. } => hint.clone(),
            Self::File { .. } | Self::Stopped => None,
        }
    }
}

/// Says what was being done when a server said no.
pub(crate) trait Doing<T> {
    fn doing<S: Into<String>>(self, what: impl FnOnce() -> S) -> Result<T>;
}

impl<T> Doing<T> for drover_db::Result<T> {
    fn doing<S: Into<String>>(self, what: impl FnOnce() -> S) -> Result<T> {
        self.map_err(|source| Error::Server { doing: what().into(), source })
    }
}

/// The result of work on a queue.
pub type Result<T> = std::result::Result<T, Error>;
