//! The host at large.

mod clock;
mod disk;
mod files;
mod numa;
mod oom;
mod swap;
#[cfg(test)]
mod testing;

use crate::check::Check;

/// Its checks.
pub(super) const CHECKS: &[Check] =
    &[swap::CHECK, oom::CHECK, disk::CHECK, numa::CHECK, files::CHECK, clock::CHECK];
