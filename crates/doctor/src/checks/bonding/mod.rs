//! Network interfaces that are bound together.

pub(super) mod watch;
