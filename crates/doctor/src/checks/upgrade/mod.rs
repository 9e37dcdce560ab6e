//! What a newer server, or one of another vendor, does not have.

mod accounts;
mod against;
mod collations;
mod defaults;
mod engines;
mod inventory;
mod settings;
mod sql_mode;
mod syntax;
mod types;
mod variables;
mod words;

use crate::check::Check;

/// Its checks.
pub(super) const CHECKS: &[Check] = &[
    variables::CHECK,
    sql_mode::CHECK,
    accounts::CHECK,
    words::CHECK,
    syntax::CHECK,
    types::CHECK,
    engines::CHECK,
    collations::CHECK,
    defaults::CHECK,
];
