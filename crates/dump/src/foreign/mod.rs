//! Restoring what other tools dumped: mydumper's directories, directories of one script a table, and the scripts of
//! mysqldump and mariadb-dump. docs/foreign-dumps.md says what is recognised and how it is loaded.
//!
//! Every dump is read as scripts (`script.rs`) of statements that `splitter.rs` finds and `kind/` tells apart: what is no part
//! of a dump is refused there. First it is
//! read to see what it holds (`inventory.rs`), and the target is looked at; then it is run: one script by `stream.rs`, a
//! directory by `directory.rs`.

mod context;
mod deferred;
mod definition;
mod directory;
mod generated;
mod history;
mod input;
mod inventory;
mod kept;
mod modes;
mod mydumper;
mod player;
mod printed;
mod queue;
mod references;
mod replicated;
mod run;
mod script;
pub(crate) mod source;
mod splitter;
mod stream;
mod tab;
mod tables;
mod tally;
mod target;

pub use run::{is_foreign, restore_foreign};
#[doc(hidden)]
pub use splitter::{plain_rows_are_plain, statements};
pub use tally::{ForeignReport, ForeignTable};
