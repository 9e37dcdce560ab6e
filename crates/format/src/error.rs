//! Why a dump, or a file of it, is not what it should be.

use std::io;
use std::path::{Path, PathBuf};

use drover_store::Failure;

use crate::digest::Digest;
use crate::names::MANIFEST;

/// What is wrong with a dump; each error names the file or the place.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// Its path or URL.
        path: PathBuf,
        /// The system's words, or a [`Failure`] of the object store.
        source: io::Error,
    },
    /// The place of the dump cannot be used.
    #[error(transparent)]
    Store(#[from] drover_store::Error),
    /// The dump was to be in a directory that is not there.
    #[error("{}: there is no such directory", _0.display())]
    NoDirectory(PathBuf),
    /// There is no manifest.
    #[error("{}: there is no {MANIFEST}: this is not a dump, or one that was never finished", _0.display())]
    NoManifest(PathBuf),
    /// The manifest cannot be read.
    #[error("{}: not a manifest: {why}", path.display())]
    NotAManifest {
        /// Its path or URL.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A manifest could not be written as JSON.
    #[error("{MANIFEST}: {0}")]
    Unwritable(serde_json::Error),
    /// A later version of drover wrote it.
    #[error("{}: a newer format than this drover reads", _0.display())]
    Newer(PathBuf),
    /// The manifest has another checksum than it says.
    #[error("{}: it was changed after the dump: its checksum is {is}, it says {says}", path.display())]
    ChangedManifest {
        /// Its path or URL.
        path: PathBuf,
        /// What its bytes come to.
        is: Digest,
        /// What stands in it.
        says: String,
    },
    /// A script has another checksum than the manifest says.
    #[error("{}: the script was changed after the dump: its checksum is {is}, the manifest says {says}", path.display())]
    ChangedScript {
        /// Its path or URL.
        path: PathBuf,
        /// What its bytes come to.
        is: Digest,
        /// What the manifest says.
        says: Digest,
    },
    /// A row file has another size than the manifest says.
    #[error("{}: the file has {has} bytes, the manifest says {says}: it was cut or changed after the dump", path.display())]
    ChangedSize {
        /// Its path or URL.
        path: PathBuf,
        /// Its size in bytes.
        has: u64,
        /// What the manifest says.
        says: u64,
    },
    /// A compressed file that does not decompress.
    #[error("{}: the file is damaged: {why}", path.display())]
    Damaged {
        /// Its path or URL.
        path: PathBuf,
        /// What the decompressor says.
        why: String,
    },
    /// A script whose statements have no end.
    #[error("{}: not a whole file of statements", _0.display())]
    NotAScript(PathBuf),
    /// The manifest names a file that is not in the dump's directory.
    #[error("{}: names a file outside of the dump: '{file}'", path.display())]
    Outside {
        /// The manifest's path or URL.
        path: PathBuf,
        /// What it names.
        file: String,
    },
    /// Something that drover writes into no dump: a stranger may have.
    #[error("{}: not written by drover: {what}", path.display())]
    Foreign {
        /// The path or URL of the file.
        path: PathBuf,
        /// What stands there.
        what: String,
    },
    /// What a copy leaves holds no rows.
    #[error("{}: this is what a copy has left: its rows went to the other server, there are none here", _0.display())]
    Copied(PathBuf),
    /// Rows in a form that is not read back.
    #[error("{}: rows as CSV are for other programs, and are not restored", _0.display())]
    Csv(PathBuf),
}

/// The result of reading or writing a dump.
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
            Self::Store(error) => error.hint(),
            Self::NoManifest(_) => Some(
                "the manifest is written when all rows are there: the same `drover dump` or `drover copy` with --resume resumes it",
            ),
            Self::Newer(_) => Some("use the version of drover that wrote it, or a newer one"),
            Self::ChangedManifest { .. } => {
                Some("restore from another copy of the dump, or compare with one to see what was changed")
            }
            Self::ChangedScript { .. } => {
                Some("if you changed it on purpose, run it by hand and leave its table or object out")
            }
            Self::Foreign { .. } => Some(
                "restore another copy of the dump; if it was changed on purpose, run the changed script by hand with the server's own client",
            ),
            Self::Copied(_) => {
                Some("drover verify compares a server with it; drover dump makes what can be restored")
            }
            Self::Csv(_) => Some(
                "dump with --format tsv or sql to restore; what creates this dump's tables is in its scripts",
            ),
            Self::NoDirectory(_)
            | Self::NotAManifest { .. }
            | Self::Unwritable(_)
            | Self::ChangedSize { .. }
            | Self::Damaged { .. }
            | Self::NotAScript(_)
            | Self::Outside { .. } => None,
        }
    }
}
