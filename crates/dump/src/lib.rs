//! Parallel logical dumps of MySQL and MariaDB servers, each proved by digests: dump, restore, verify.
//!
//! A dump is one snapshot over all workers. Rows pass from the server's packets to compressed text once, and are hashed on
//! the way; the manifest that makes a directory a dump is written last. docs/dump-format.md specifies the files.

mod ddl;
mod dump;
mod error;
mod format;
mod keys;
mod pool;
mod progress;
mod restore;
mod rows;
mod session;

pub use dump::{DumpArgs, DumpReport, dump};
pub use error::{Error, Result};
pub use format::manifest;
pub use progress::{Progress, Snapshot as ProgressSnapshot};
pub use restore::{Difference, RestoreArgs, RestoreReport, VerifyArgs, VerifyReport, restore, verify};
