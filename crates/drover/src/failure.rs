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
        let place = directory.display();
        let holds = match drover_store::is_object_store(directory) {
            true => "may hold",
            false if is_unfinished(directory) => "holds",
            false => return Self::from(error),
        };
        let how = format!(
            "{place} {holds} an unfinished dump, which restore refuses: the same command with --resume resumes it"
        );
        Self::resumable(error, &how, "--resume resumes it, or choose another place with --out")
    }

    /// A copy that was interrupted leaves tables behind, and a directory that tells which.
    pub(crate) fn copy(error: drover_dump::Error) -> Self {
        let full = "--resume resumes it, or begin anew with another directory: --state";
        Self::resumable(error, "the same command with --resume resumes it", full)
    }

    /// A restore that was interrupted leaves tables behind.
    pub(crate) fn restore(error: drover_dump::Error) -> Self {
        let how = "the target may hold a part of the dump: the same command with --resume resumes it";
        Self::resumable(error, how, how)
    }

    /// One of another tool's dump cannot be resumed.
    pub(crate) fn restore_foreign(error: drover_dump::Error) -> Self {
        let how = "the target may hold a part of the dump: the same command with --drop-existing begins anew";
        Self::resumable(error, how, how)
    }

    /// Says how an interrupted command goes on, or one for which there was no space, beside what else can be done.
    fn resumable(error: drover_dump::Error, how: &str, full: &str) -> Self {
        let next = match () {
            () if error.is_full_disk() => full,
            () if error.is_interruption() => how,
            () => return Self::from(error),
        };
        let first = error.hint().map_or_else(String::new, |first| format!("{first}; "));
        Self { error: error.to_string(), hint: Some(first + next) }
    }
}

fn is_unfinished(directory: &Path) -> bool {
    directory.exists() && !directory.join(drover_dump::manifest::FILE_NAME).exists()
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

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    fn full() -> drover_dump::Error {
        drover_dump::Error::File { path: "copy.json".into(), source: io::ErrorKind::StorageFull.into() }
    }

    fn lost() -> drover_dump::Error {
        let source = io::ErrorKind::ConnectionReset.into();
        let source = drover_db::Error::Lost { to: "host".into(), source };
        drover_dump::Error::Server { doing: "loading".into(), source }
    }

    #[test]
    fn interrupted_work_can_be_resumed() {
        let hint = |failure: Failure| failure.hint.unwrap_or_default();
        assert!(
            hint(Failure::copy(full())).contains("--state") && !hint(Failure::copy(full())).contains("--out")
        );
        let dir = tempfile::tempdir().unwrap();
        let dump = |error| hint(Failure::dump(error, dir.path()));
        assert!(dump(full()).contains("--out"));
        for error in [|| drover_dump::Error::Stopped, lost] {
            let hints = [dump(error()), hint(Failure::restore(error())), hint(Failure::copy(error()))];
            for hint in hints {
                assert!(hint.contains("with --resume resumes it"), "{hint}");
            }
            assert!(hint(Failure::restore_foreign(error())).contains("--drop-existing"));
        }
        assert!(hint(Failure::restore(lost())).contains("error log"));
        std::fs::write(dir.path().join(drover_dump::manifest::FILE_NAME), "").unwrap();
        assert_eq!(dump(drover_dump::Error::Stopped), "");
    }
}
