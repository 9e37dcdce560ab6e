//! What a dump looks like on disk: its manifest, its files of rows and its scripts. docs/dump-format.md is the specification.
//!
//! It is for whoever writes, reads or translates dumps. It asks no server anything; [`drover_store`] says where files are.

pub mod bulk;
mod contents;
pub mod csv;
pub mod digest;
mod error;
mod fields;
pub mod files;
mod frames;
pub mod inserts;
pub mod kind;
pub mod known_sql;
pub mod literals;
mod loading;
pub mod manifest;
mod missing;
pub mod names;
mod outcome;
pub mod parameters;
pub mod row_file;
pub mod script;
mod snapshot;
mod table;
mod trusted;
mod utf8;

pub use contents::{Contents, Mask, RowFormat};
pub use error::{Error, Result};
pub use outcome::{NotHeld, Refusal, Rewrite};
