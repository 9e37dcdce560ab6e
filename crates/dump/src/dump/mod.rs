//! Dumping: select what is asked for, take one snapshot over all workers, describe every object, read every row.

pub(crate) mod args;
mod by_hand;
pub(crate) mod catalog;
pub(crate) mod chosen;
mod csv_columns;
pub(crate) mod destination;
mod generated;
pub(crate) mod grants;
pub(crate) mod hold;
pub(crate) mod identity;
pub(crate) mod job;
pub(crate) mod journal;
mod lockless;
mod members;
mod objects;
mod position;
pub(crate) mod programs;
pub(crate) mod ranges;
pub(crate) mod reader;
mod run;
pub(crate) mod select;
pub(crate) mod snapshot;
pub(crate) mod source;
mod span;
pub(crate) mod tables;
mod users;
mod view_order;
pub(crate) mod views;
mod waits;
pub(crate) mod warnings;
pub(crate) mod wish;

pub use args::{DumpArgs, SourceArgs};
pub use run::{DumpReport, dump};
