//! Restoring: create the tables, load their rows, add what waited, create everything that reads or changes rows, and read
//! it all back to compare.

mod args;
mod begun;
mod check;
pub(crate) mod global;
mod load;
mod objects;
pub(crate) mod rename;
mod rows_only;
mod run;
mod staging;
mod steps;
mod targets;
mod trial;
mod users;
mod verify;
mod views;

pub use args::{RestoreArgs, TargetArgs, VerifyArgs};
pub use check::{CheckReport, check};
pub use run::{RestoreReport, restore};
pub use users::UsersReport;
pub use verify::{Difference, VerifyReport, verify};
