//! Lengths of time, sizes, rates and counts: how people write them in options, and how they are written for people. One grammar and one error
//! text for all commands.
//!
//! It knows nothing of servers or commands, needs nothing of ours, and everybody may import it.

pub mod read;
pub mod show;
mod unit;

pub use unit::{Multiple, Unit};
