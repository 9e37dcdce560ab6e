//! What all parts of a store know of its own files.

use std::io;

/// The largest file that is read as a whole, in bytes.
pub(crate) const WHOLE: u64 = 512 << 20;

/// The file that is locked while a run writes. One that was left by a process that was killed is not.
pub(crate) const LOCK: &str = "run.lock";

/// The error for a file that is not read as a whole.
pub(crate) fn too_large() -> io::Error {
    io::Error::other(format!("it is larger than {} MiB: no manifest, script or journal is", WHOLE >> 20))
}
