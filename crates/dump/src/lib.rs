//! Parallel logical dumps of MySQL and MariaDB servers, each proved by digests: dump, restore, verify.
//!
//! A dump is one snapshot over all workers. Rows pass from the server's packets to compressed text once, and are hashed on
//! the way; the manifest that makes a directory a dump is written last. docs/dump-format.md specifies the files.

mod copy;
mod ddl;
mod definer;
mod dump;
mod error;
mod foreign;
mod mask;
mod pattern;
mod pool;
mod progress;
mod restore;
mod rows;
mod schema;
mod session;
mod translate;
mod users;

pub use copy::{CopyArgs, CopyReport, check_copy, copy, renames as copy_renames};
pub use definer::Definer;
pub use drover_db::options::Load;
pub use drover_format::{NotHeld, Refusal, Rewrite, manifest};
pub use drover_report::{Progress, ProgressSnapshot};
pub use dump::{DumpArgs, DumpReport, SourceArgs, dump};
pub use error::{Error, Result};
pub use foreign::{ForeignReport, ForeignTable, is_foreign, restore_foreign};
#[doc(hidden)]
pub use foreign::{plain_rows_are_plain, statements};
pub use restore::{
    CheckReport, Difference, Events, RestoreArgs, RestoreReport, TargetArgs, UsersReport, VerifyArgs,
    VerifyReport, check, first_unlike, restore, verify,
};
