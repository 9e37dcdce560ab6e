//! What a server, a disk, an allocator and a login can bear: numbers that a person can trust and show.
//!
//! Every measurement says on what it was made ([`Environment`]), how often, and how far its repeats lie apart ([`Measure`]);
//! [`compare`] tells whether two of them differ by more than that. Nothing here advises.

pub mod args;
pub mod compare;
pub mod connect;
pub mod disk;
mod environment;
mod error;
mod loops;
pub mod malloc;
mod measuring;
mod page;
pub mod private;
mod progress;
mod report;
pub mod statistics;
pub mod tpcc;

pub use environment::Environment;
pub use error::Error;
pub use page::figure;
pub use progress::{Progress, ProgressSnapshot};
pub use report::{Better, Measure, Report};

/// What a measurement gives.
pub type Result<T> = std::result::Result<T, Error>;
