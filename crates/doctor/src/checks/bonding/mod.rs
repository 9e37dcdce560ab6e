//! Network interfaces that are bound together.

mod delays;
mod each;
mod hash;
mod links;
mod mode;
mod module_options;
mod mtu;
mod partner;
mod round_robin;
mod single;
mod speed;
#[cfg(test)]
mod tests;
mod watch;

use crate::check::Check;

/// Its checks.
pub(super) const CHECKS: &[Check] = &[
    mode::CHECK,
    module_options::CHECK,
    watch::CHECK,
    links::CHECK,
    single::CHECK,
    partner::CHECK,
    hash::CHECK,
    mtu::CHECK,
    speed::CHECK,
    delays::CHECK,
    round_robin::CHECK,
];
