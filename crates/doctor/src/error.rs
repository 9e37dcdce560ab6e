//! Why an examination could not be made. What a check cannot see is no error: it is told as unknown.

use std::io;
use std::path::{Path, PathBuf};

/// An error that ends the command.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// Its path.
        path: PathBuf,
        /// The system's words.
        source: io::Error,
    },
    /// The host could not be changed.
    #[error(transparent)]
    Host(#[from] drover_host::Error),
    /// Something is wrong with what was asked for.
    #[error("{what}")]
    Found {
        /// What is wrong.
        what: String,
        /// What a person can do about it.
        hint: Option<String>,
    },
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

    /// What a person can do about it, where that is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Host(source) => source.hint(),
            Self::Found { hint, .. } => hint.clone(),
            Self::File { .. } => None,
        }
    }
}
