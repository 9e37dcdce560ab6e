//! What a dump looks like on disk; docs/dump-format.md is its specification.

mod contents;
pub(crate) mod digest;
pub(crate) mod files;
pub mod manifest;
mod missing;
pub(crate) mod names;
pub(crate) mod script;
pub(crate) mod text;
