//! What a dump looks like on disk; docs/dump-format.md is its specification.

pub(crate) mod bulk;
pub(crate) mod contents;
pub(crate) mod csv;
pub(crate) mod digest;
mod fields;
pub(crate) mod files;
mod frames;
pub(crate) mod inserts;
pub(crate) mod known_sql;
pub(crate) mod literals;
pub mod manifest;
mod missing;
pub(crate) mod names;
pub(crate) mod outcome;
pub(crate) mod parameters;
pub(crate) mod row_file;
pub(crate) mod script;
mod snapshot;
mod table;
mod trusted;
mod utf8;
