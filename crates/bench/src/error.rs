//! Why something could not be measured; every error names the file, the server or the setting it is about.

use std::io;
use std::path::{Path, PathBuf};

/// An error that ends the command.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A server said no, or is gone.
    #[error("{doing}: {source}")]
    Server {
        /// What was being done.
        doing: String,
        /// The server's words.
        source: drover_db::Error,
    },
    /// A private server could not be started.
    #[error(transparent)]
    Sandbox(#[from] drover_sandbox::Error),
    /// The host could not be read or changed.
    #[error(transparent)]
    Host(#[from] drover_host::Error),
    /// A file, a directory or a device could not be read or written.
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

    /// Gives an error of a file its path.
    pub(crate) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::File { path: path.to_owned(), source }
    }

    /// Gives an error of a server what was being done.
    pub(crate) fn server(doing: impl Into<String>) -> impl FnOnce(drover_db::Error) -> Self {
        move |source| Self::Server { doing: doing.into(), source }
    }

    /// The server's error number, if a server sent one.
    pub fn code(&self) -> Option<u16> {
        match self {
            Self::Server { source, .. } => source.code(),
            _ => None,
        }
    }

    /// What a person can do about it, where that is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Server { source, .. } => source.hint(),
            Self::Sandbox(source) => source.hint(),
            Self::Host(source) => source.hint(),
            Self::Found { hint, .. } => hint.clone(),
            Self::File { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                Some("run it as a user who may, such as root".into())
            }
            Self::File { .. } | Self::Stopped => None,
        }
    }
}
