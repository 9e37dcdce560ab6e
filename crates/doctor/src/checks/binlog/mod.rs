//! The binary log, and the replicas that read it.

use crate::check::Check;

/// Its checks.
pub(super) const CHECKS: &[Check] = &[];
