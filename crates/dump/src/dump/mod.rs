//! Dumping: select what is asked for, take one snapshot over all workers, describe every object, read every row.

pub(crate) mod args;
pub(crate) mod catalog;
pub(crate) mod columns;
mod grants;
mod journal;
mod members;
mod objects;
pub(crate) mod programs;
mod ranges;
mod reader;
mod run;
mod select;
mod snapshot;
pub(crate) mod tables;
pub(crate) mod views;
mod waits;

pub use args::DumpArgs;
pub use run::{DumpReport, dump};
