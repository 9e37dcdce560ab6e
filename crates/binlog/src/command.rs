//! `drover binlog`: its commands.

use crate::cost::CostArgs;
use crate::extract::ExtractArgs;
use crate::ls::LsArgs;
use crate::replay::ReplayArgs;
use crate::sql::SqlArgs;
use crate::stat::StatArgs;

/// Binary logs.
#[derive(Debug, clap::Args)]
pub struct BinlogArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: BinlogCommand,
}

/// What can be done with binary logs.
#[derive(Debug, clap::Subcommand)]
#[allow(clippy::large_enum_variant, reason = "there is one of it in a process")]
pub enum BinlogCommand {
    /// List transactions or events
    Ls(LsArgs),
    /// Apply logs to a server: each transaction as a whole, and it goes on where it was ended
    Replay(ReplayArgs),
    /// Print statements, and rows as statements or as JSON lines
    Sql(SqlArgs),
    /// Tell what fills the logs: types, tables, statements, the largest transactions, the rate over time
    Stat(StatArgs),
    /// Tell what logs cost, by table, statement and minute, and what they would cost with other settings
    Cost(CostArgs),
    /// Get back the files that LOAD DATA put into the logs, each with the statement that loads it again
    Extract(ExtractArgs),
}
