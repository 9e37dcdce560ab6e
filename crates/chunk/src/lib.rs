//! One big DELETE, UPDATE or INSERT … SELECT as many small transactions over ranges of a key, so that neither a replica nor live
//! traffic waits for it; what each part costs, and how far the replicas are, says how large the next one is and when it may come.
//!
//! docs/chunk.md is about its use.

mod archive;
mod args;
mod clock;
mod code;
mod dates;
mod defaults;
mod error;
mod fixed;
mod flow;
mod foreign_keys;
mod functions;
mod key;
mod lineage;
mod plan;
mod program;
mod replica;
mod report;
mod run;
mod side_effects;
mod size;
mod state;
mod statement;
mod subquery;
mod table;
mod triggers;
mod worker;

pub use args::{ChunkArgs, LagBy};
pub use error::{Error, Result};
pub use report::{Archived, ChunkReport, PlanReport, Report};
pub use run::{Done, chunk};
#[doc(hidden)]
pub use statement::why_not;
