//! What the server's memory is asked of, and what its sessions take.

mod allocator;
mod buffers;
mod fit;
mod session;
mod thp;
mod threads;

use crate::check::Check;

/// Its checks.
pub(super) const CHECKS: &[Check] =
    &[fit::CHECK, session::CHECK, allocator::CHECK, buffers::CHECK, threads::CHECK, thp::CHECK];
