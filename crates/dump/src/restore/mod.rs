//! Restoring: create the tables, load their rows, add what waited, create everything that reads or changes rows, and read
//! it all back to compare.

mod args;
mod global;
mod load;
mod objects;
mod rename;
mod run;
mod staging;
mod steps;
mod verify;
mod views;

pub use args::{RestoreArgs, VerifyArgs};
pub use run::{RestoreReport, restore};
pub use verify::{Difference, VerifyReport, verify};
