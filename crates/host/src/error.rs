//! Why a host could not be read or changed; every error names the file or the device.

use std::io;
use std::path::{Path, PathBuf};

/// An error.
#[derive(Debug, thiserror::Error)]
pub enum Error {
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
}

impl Error {
    /// An error without a hint.
    pub fn found(what: impl Into<String>) -> Self {
        Self::Found { what: what.into(), hint: None }
    }

    /// An error with a hint.
    pub fn with_hint(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Found { what: what.into(), hint: Some(hint.into()) }
    }

    /// Gives an error of a file its path.
    pub fn file(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::File { path: path.to_owned(), source }
    }

    /// What a person can do about it, where that is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Found { hint, .. } => hint.clone(),
            Self::File { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                Some("run it as a user who may, such as root".into())
            }
            Self::File { .. } => None,
        }
    }
}
