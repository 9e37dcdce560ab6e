//! The server at large.

pub(super) mod history;
