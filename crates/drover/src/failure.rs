//! Why a command could not do its work, for a person: what went wrong, and what to do about it.

use std::path::Path;

use drover_db::options::OptionError;

/// An error and a hint.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) error: String,
    pub(crate) hint: Option<String>,
}

impl Failure {
    pub(crate) fn new(error: impl Into<String>) -> Self {
        Self { error: error.into(), hint: None }
    }

    /// A dump that failed leaves a directory that must not be taken for a dump.
    pub(crate) fn dump(error: drover_dump::Error, directory: &Path) -> Self {
        let stopped = matches!(error, drover_dump::Error::Stopped);
        let failure = Self::from(error);
        let place = directory.display();
        let hint = if drover_dump::is_object_store(directory) {
            format!("{place} may hold an unfinished dump, which restore refuses; --resume goes on with it")
        } else if directory.exists() && !directory.join(drover_dump::manifest::FILE_NAME).exists() {
            format!("{place} holds an unfinished dump, which restore refuses")
        } else {
            return failure;
        };
        if stopped { Self { hint: Some(hint), ..failure } } else { failure }
    }

    /// A copy that was stopped leaves tables behind, and a directory that tells which.
    pub(crate) fn copy(error: drover_dump::Error) -> Self {
        let stopped = matches!(error, drover_dump::Error::Stopped);
        let failure = Self::from(error);
        let hint = "the same command with --resume goes on";
        if stopped { Self { hint: Some(hint.into()), ..failure } } else { failure }
    }

    /// A restore that was stopped leaves tables behind.
    pub(crate) fn restore(error: drover_dump::Error) -> Self {
        let stopped = matches!(error, drover_dump::Error::Stopped);
        let failure = Self::from(error);
        let hint = "the target may hold a part of the dump: the same command with --resume goes on with it";
        if stopped { Self { hint: Some(hint.into()), ..failure } } else { failure }
    }

    /// One of another tool's dump cannot be resumed.
    pub(crate) fn restore_foreign(error: drover_dump::Error) -> Self {
        let stopped = matches!(error, drover_dump::Error::Stopped);
        let failure = Self::from(error);
        let hint =
            "the target may hold a part of the dump: the same command with --drop-existing begins anew";
        if stopped { Self { hint: Some(hint.into()), ..failure } } else { failure }
    }
}

impl From<drover_dump::Error> for Failure {
    fn from(error: drover_dump::Error) -> Self {
        Self { hint: error.hint(), error: error.to_string() }
    }
}

impl From<drover_chunk::Error> for Failure {
    fn from(error: drover_chunk::Error) -> Self {
        Self { hint: error.hint(), error: error.to_string() }
    }
}

impl From<drover_host::Error> for Failure {
    fn from(error: drover_host::Error) -> Self {
        Self { hint: error.hint(), error: error.to_string() }
    }
}

impl From<drover_queue::Error> for Failure {
    fn from(error: drover_queue::Error) -> Self {
        Self { hint: error.hint(), error: error.to_string() }
    }
}

impl From<drover_bench::Error> for Failure {
    fn from(error: drover_bench::Error) -> Self {
        Self { hint: error.hint(), error: error.to_string() }
    }
}

impl From<drover_binlog::Error> for Failure {
    fn from(error: drover_binlog::Error) -> Self {
        Self { hint: error.hint(), error: error.to_string() }
    }
}

impl From<drover_sandbox::Error> for Failure {
    fn from(error: drover_sandbox::Error) -> Self {
        Self { hint: error.hint(), error: error.to_string() }
    }
}

impl From<OptionError> for Failure {
    fn from(error: OptionError) -> Self {
        Self { hint: error.hint(), error: error.to_string() }
    }
}
