//! All checks, one file each, in a folder for each area.

mod bonding;
mod host;
mod scheduler;
mod server;

use crate::check::Check;

/// All of them.
pub(crate) const ALL: &[Check] = &[
    scheduler::choice::CHECK,
    scheduler::elevator::CHECK,
    bonding::watch::CHECK,
    server::history::CHECK,
    host::swap::CHECK,
];
