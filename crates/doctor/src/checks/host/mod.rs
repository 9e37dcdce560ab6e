//! The host at large.

mod swap;

use crate::check::Check;

/// Its checks.
pub(super) const CHECKS: &[Check] = &[swap::CHECK];
