//! Looks at a host and the server on it, and says what is wrong, how it knows, what it costs here, and what to do.
//!
//! A [`Check`] is data and a small function over [`Facts`]; there is a file for each below `checks/`. What a check cannot see it
//! says, and that is never taken for being in order. Nothing here changes anything.

mod allocator;
pub mod args;
mod bond;
mod bonding_config;
mod check;
mod checks;
mod connect;
mod evidence;
mod examine;
mod facts;
mod fix_script;
pub mod ignore;
mod memory;
mod option_files;
mod page;
mod places;
pub mod plan;
mod report;
mod results;
mod run;
mod secret;
pub mod target;
#[cfg(test)]
mod testing;
mod unit;

pub use bond::Mode;
pub use check::{Area, Check, Finding, Grade, Outcome, Remedy, Tool, Weight};
pub use drover_host::Error;
pub use evidence::{Answer, Evidence, Kept, Moment, Seen, Unseen};
pub use facts::Facts;
pub use report::{Checked, IgnoredFinding, Report, State};
pub use run::{collect, run};

/// What an examination gives.
pub type Result<T> = std::result::Result<T, Error>;
