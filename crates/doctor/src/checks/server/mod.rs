//! The server at large.

mod accounts;
mod aio;
mod auto_increment;
mod backup;
mod buffer_pool;
mod cluster;
mod connections;
mod duplicate_index;
mod file_per_table;
mod general_log;
mod history;
mod index;
mod myisam;
mod open_files;
mod primary_key;
mod query_cache;
mod redo_log;
mod tmp_tables;
mod told;
mod writable_replica;

use crate::check::Check;

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
    auto_increment::CHECK,
    general_log::CHECK,
    accounts::CHECK,
    redo_log::CHECK,
    tmp_tables::CHECK,
    query_cache::CHECK,
    file_per_table::CHECK,
    writable_replica::CHECK,
    backup::CHECK,
];
