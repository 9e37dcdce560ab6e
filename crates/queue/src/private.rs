//! Files of secrets that others may read.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;

/// The mode of a file of this user's that others may read or write. What is somebody else's is theirs to protect, as ssh has it with
/// keys.
pub(crate) fn open_to_others(about: &Metadata) -> Option<u32> {
    let is_own = about.uid() == rustix::process::getuid().as_raw();
    (is_own && about.mode() & 0o077 != 0).then(|| about.mode() & 0o7777)
}
