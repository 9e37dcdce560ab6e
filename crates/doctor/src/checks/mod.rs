//! All checks, one file each, in a folder for each area.

mod binlog;
mod bonding;
mod host;
mod memory;
mod scheduler;
mod server;
mod upgrade;

use crate::check::Check;

/// All of them, in the order of areas.
pub(crate) fn all() -> impl Iterator<Item = &'static Check> {
    let areas = [
        scheduler::CHECKS,
        memory::CHECKS,
        bonding::CHECKS,
        binlog::CHECKS,
        upgrade::CHECKS,
        server::CHECKS,
        host::CHECKS,
    ];
    areas.into_iter().flatten()
}
