//! A host: its files, the devices below them, and changes to it that are undone whatever becomes of this process.
//!
//! What is only looked at goes by way of [`Files`], so that a copy of another host can be looked at too. What is changed is this host.

pub mod device;
mod error;
mod files;
pub mod scheduler;
pub mod setting;
mod system;
pub mod undo;
mod unzstd;

pub use device::{Device, Devices, Storage};
pub use error::Error;
pub use files::{Files, Here, Tree};
pub use system::{Clock, Space, clock, space};
pub use unzstd::Unzstd;

/// What looking at a host or changing it gives.
pub type Result<T> = std::result::Result<T, Error>;
