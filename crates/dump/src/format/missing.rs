//! What is not there, or not as the manifest says.

use drover_store::Store;

use super::digest::Digest;
use super::manifest::{FILE_NAME, Script};
use crate::{Error, Result};

/// Compares a script with its checksum; gives its text.
pub(super) fn check_script(store: &Store, script: &Script) -> Result<Vec<u8>> {
    let text = script.read(store)?;
    let checksum = Digest::of(&text);
    if checksum == script.checksum {
        return Ok(text);
    }
    Err(Error::with_hint(
        format!(
            "{}: the script was changed after the dump: its checksum is {checksum}, the manifest says {}",
            store.path(&script.file).display(),
            script.checksum
        ),
        "if you changed it on purpose, run it by hand and leave its table or object out",
    ))
}

/// What it means that there is no manifest.
pub(super) fn missing(store: &Store) -> Error {
    let place = store.path("");
    if store.directory().is_some_and(|dir| !dir.is_dir()) {
        return Error::found(format!("{}: there is no such directory", place.display()));
    }
    Error::with_hint(
        format!(
            "{}: there is no {FILE_NAME}: this is not a dump, or one that was never finished",
            place.display()
        ),
        "the manifest is written when all rows are there: the same `drover dump` or `drover copy` with --resume resumes it",
    )
}

/// What it means that there are no rows, but only what they came to.
pub(super) fn no_rows(store: &Store) -> Error {
    Error::with_hint(
        format!(
            "{}: this is what a copy has left: its rows went to the other server, there are none here",
            store.path("").display()
        ),
        "drover verify compares a server with it; drover dump makes what can be restored",
    )
}
