//! The server at large.

mod history;

use crate::check::Check;

/// Its checks.
pub(super) const CHECKS: &[Check] = &[history::CHECK];
