//! The host at large.

pub(super) mod swap;
