//! What a dump looks like on disk; docs/dump-format.md is its specification.

pub(crate) mod digest;
pub(crate) mod files;
pub mod manifest;
pub(crate) mod names;
pub(crate) mod script;
pub(crate) mod text;
