//! The binary log, and the replicas that read it.

mod disk;
mod expiry;
mod format;
mod image;
mod logs;
mod relay;
mod replica;
pub(super) mod replicas;
mod sync;
mod unsafe_statements;

use crate::check::Check;

/// Its checks.
pub(super) const CHECKS: &[Check] = &[
    format::CHECK,
    unsafe_statements::CHECK,
    image::CHECK,
    sync::CHECK,
    relay::CHECK,
    replica::CHECK,
    expiry::CHECK,
    disk::CHECK,
];
