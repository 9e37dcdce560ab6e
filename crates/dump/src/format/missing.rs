//! What is not there, or not as the manifest says.

use std::path::Path;

use super::digest::Digest;
use super::manifest::{FILE_NAME, Script};
use crate::{Error, Result};

/// Compares a script with its checksum.
pub(super) fn check_script(dir: &Path, script: &Script) -> Result<()> {
    let path = dir.join(&script.file);
    let text = std::fs::read(&path).map_err(Error::file(&path))?;
    let checksum = Digest::of(&text);
    if checksum == script.checksum {
        return Ok(());
    }
    Err(Error::with_hint(
        format!(
            "{}: the script was changed after the dump: its checksum is {checksum}, the manifest says {}",
            path.display(),
            script.checksum
        ),
        "if you changed it on purpose, run it by hand and leave its table or object out",
    ))
}

/// What an error means that came of reading the manifest.
pub(super) fn missing(dir: &Path, path: &Path, error: std::io::Error) -> Error {
    if error.kind() != std::io::ErrorKind::NotFound {
        return Error::File { path: path.to_owned(), source: error };
    }
    if !dir.is_dir() {
        return Error::found(format!("{}: there is no such directory", dir.display()));
    }
    Error::with_hint(
        format!(
            "{}: there is no {FILE_NAME}: this is not a dump, or one that was never finished",
            dir.display()
        ),
        "the manifest is written when all rows are in their files: the same `drover dump` with --resume goes on with it",
    )
}
