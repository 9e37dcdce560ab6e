//! Restoring: create the tables, load their rows, add what waited, create everything that reads or changes rows, and read
//! it all back to compare.

mod args;
pub(crate) mod begun;
pub(crate) mod check;
mod columns;
mod dependents;
mod events;
mod files;
mod filled;
pub(crate) mod global;
mod in_place;
pub(crate) mod inflow;
mod inserts;
pub(crate) mod load;
mod missing;
mod not_copied;
pub(crate) mod objects;
mod own_key;
mod parameters;
mod parts;
mod patches;
mod privileges;
pub(crate) mod rename;
pub(crate) mod rows_only;
pub(crate) mod run;
mod schemas;
pub(crate) mod scratch;
mod shown;
pub(crate) mod staging;
pub(crate) mod steps;
pub(crate) mod targets;
mod trial;
mod typed;
mod users;
pub(crate) mod verify;
mod views;

pub use args::{RestoreArgs, TargetArgs, VerifyArgs};
pub use check::{CheckReport, check};
pub use events::Events;
pub use filled::first_unlike;
pub use run::{RestoreReport, restore};
pub use users::UsersReport;
pub use verify::{Difference, VerifyReport, verify};
