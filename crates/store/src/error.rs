use std::io;
use std::path::{Path, PathBuf};

use crate::Failure;

/// Why a store could not be opened, read or written; each error names the file, the directory or the bucket.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file, directory or object could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// Its path or URL.
        path: PathBuf,
        /// The system's words, or a [`Failure`] of the object store.
        source: io::Error,
    },
    /// Another run writes into this directory.
    #[error("{}: another run is at work in this directory", _0.display())]
    Held(PathBuf),
    /// A URL that names no bucket and prefix. What is no name is not quoted: a person may have put keys there.
    #[error("{0}")]
    Url(&'static str),
    /// An endpoint that is no address. It is not quoted: it may be a password.
    #[error(
        "the address of the object store is not one that begins with https:// or http://, without a name and password"
    )]
    Endpoint,
    /// The environment has no keys for this bucket.
    #[error("s3://{0}: there are no keys for it in the environment")]
    Keys(String),
    /// The bucket cannot be asked anything.
    #[error("s3://{bucket}: {doing}: {source}")]
    Bucket {
        /// Its name.
        bucket: String,
        /// What failed.
        doing: &'static str,
        /// Why.
        source: io::Error,
    },
}

/// The result of a store.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::File { path: path.to_owned(), source }
    }

    /// What a person can do about it, where that is known.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::File { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                Some("free some space there")
            }
            Self::File { source, .. } => Failure::of(source)?.hint(),
            Self::Held(_) => Some("wait until it has ended, or choose another directory"),
            Self::Url(_) => Some("an object store is named by s3://BUCKET/PREFIX"),
            Self::Endpoint => Some("see --s3-endpoint, AWS_ENDPOINT_URL_S3 and AWS_ENDPOINT_URL"),
            Self::Keys(_) => {
                Some("set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and AWS_SESSION_TOKEN if there is one")
            }
            Self::Bucket { .. } => None,
        }
    }
}
