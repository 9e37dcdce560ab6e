//! The devices below the server's files, and who orders their requests.

mod choice;
mod elevator;
mod measured;

use crate::check::Check;

/// Its checks.
pub(super) const CHECKS: &[Check] = &[choice::CHECK, elevator::CHECK];
