//! Network interfaces that are bound together.

mod watch;

use crate::check::Check;

/// Its checks.
pub(super) const CHECKS: &[Check] = &[watch::CHECK];
