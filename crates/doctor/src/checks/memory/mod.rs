//! What the server's memory is asked of, and what its sessions take.

use crate::check::Check;

/// Its checks.
pub(super) const CHECKS: &[Check] = &[];
