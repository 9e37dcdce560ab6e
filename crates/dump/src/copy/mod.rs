//! Copying: what a dump reads goes straight to where a restore would put it, and nothing lies between but a directory that
//! notes how far the copy is.

mod args;
mod check;
mod earlier;
mod load;
mod rows;
mod run;
mod same;
mod state;

pub use args::CopyArgs;
pub use check::check_copy;
pub use run::{CopyReport, copy};
pub use state::renames;
