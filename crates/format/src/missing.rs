//! What is not there, or not as the manifest says.

use drover_store::Store;

use super::digest::Digest;
use super::manifest::Script;
use crate::{Error, Result};

/// Compares a script with its checksum; gives its text.
pub(super) fn check_script(store: &Store, script: &Script) -> Result<Vec<u8>> {
    let text = script.read(store)?;
    let checksum = Digest::of(&text);
    if checksum == script.checksum {
        return Ok(text);
    }
    Err(Error::ChangedScript { path: store.path(&script.file), is: checksum, says: script.checksum })
}

/// What it means that there is no manifest.
pub(super) fn missing(store: &Store) -> Error {
    let place = store.path("");
    if store.directory().is_some_and(|dir| !dir.is_dir()) {
        return Error::NoDirectory(place);
    }
    Error::NoManifest(place)
}

/// What it means that there are no rows, but only what they came to.
pub(super) fn no_rows(store: &Store) -> Error {
    Error::Copied(store.path(""))
}
