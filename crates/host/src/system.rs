//! What only a system call tells: how full a file system is, and what the kernel thinks of its clock.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// How full a file system is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Space {
    /// Its size in bytes.
    pub bytes: u64,
    /// What of it a user without privileges may still take, in bytes.
    pub free: u64,
}

/// How full the file system is that a path lies on.
///
/// # Errors
/// If the path is not there, or cannot be searched.
pub fn space(path: &Path) -> io::Result<Space> {
    let told = rustix::fs::statvfs(path)?;
    Ok(Space { bytes: told.f_blocks * told.f_frsize, free: told.f_bavail * told.f_frsize })
}

/// What the kernel thinks of its clock: adjtimex(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clock {
    /// Whether something holds it to a time from elsewhere: `STA_UNSYNC` is not set.
    pub is_synchronized: bool,
    /// By how much it may be wrong at most, in microseconds, as whoever holds it has said; 16 s is as much as can be told.
    pub max_error_us: u64,
}

/// The state of this host's clock.
///
/// # Errors
/// If the kernel does not tell it.
#[allow(unsafe_code, reason = "no safe interface to adjtimex(2) is among the dependencies")]
pub fn clock() -> io::Result<Clock> {
    // SAFETY: all zeros is a valid `timex`; with `modes` 0 the kernel only fills it in.
    let mut told: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: it points to a `timex` that nobody else has.
    if unsafe { libc::adjtimex(&raw mut told) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Clock {
        is_synchronized: told.status & libc::STA_UNSYNC == 0,
        max_error_us: u64::try_from(told.maxerror).unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_host() {
        let space = space(Path::new("/")).unwrap();
        assert!(space.bytes > 0 && space.free <= space.bytes);
        assert!(super::space(Path::new("/no/such/path")).is_err());
        assert!(clock().is_ok());
    }
}
