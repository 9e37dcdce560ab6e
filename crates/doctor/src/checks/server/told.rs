//! How much a check of many tables says.

/// How many tables or indexes are listed one by one.
pub(super) const TOLD: usize = 10;
