//! What a newer server does not have.

use crate::check::Check;

/// Its checks.
pub(super) const CHECKS: &[Check] = &[];
