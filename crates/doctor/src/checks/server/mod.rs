//! The server at large.

mod aio;
mod buffer_pool;
mod cluster;
mod connections;
mod duplicate_index;
mod history;
mod index;
mod myisam;
mod open_files;
mod primary_key;

use crate::check::Check;

/// How many tables or indexes are told one by one.
const TOLD: usize = 10;

/// Its checks.
pub(super) const CHECKS: &[Check] = &[
    history::CHECK,
    buffer_pool::CHECK,
    connections::CHECK,
    open_files::CHECK,
    aio::CHECK,
    primary_key::CHECK,
    duplicate_index::CHECK,
    myisam::CHECK,
];
