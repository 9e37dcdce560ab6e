//! The options that say how much a command may ask of the servers.

use drover_db::options::{Load, Secret};
use drover_units::read::{Rate, Size, Time};

// Given to each option by itself: clap's `next_help_heading` would go on to the options of the command.
const HEADING: &str = "Throttle";

/// Limits under which the work pauses or stops; see docs/throttle.md.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct ThrottleArgs {
    /// Read or write no more than so many bytes of rows' text a second, over all workers: 20M
    #[arg(long, alias = "rate", value_name = "RATE", help_heading = HEADING)]
    pub max_rate: Option<Rate>,

    /// Pause while a status variable of the server is above its limit: Threads_running=50 (repeatable, or with commas between)
    #[arg(long, value_name = "NAME=LIMIT", value_delimiter = ',', help_heading = HEADING)]
    pub max_load: Vec<Load>,

    /// Stop, with exit code 2, when a status variable is above its limit: Threads_running=200 (repeatable, or with commas
    /// between)
    #[arg(long, value_name = "NAME=LIMIT", value_delimiter = ',', help_heading = HEADING)]
    pub critical_load: Vec<Load>,

    /// Pause while the server or one of its replicas is further behind its source than this: 500ms, 10s
    #[arg(long, value_name = "TIME", help_heading = HEADING)]
    pub max_lag: Option<Time>,

    /// A replica to watch for --max-lag, instead of those that SHOW REPLICAS names: mysql://HOST:PORT (repeatable)
    #[arg(long, value_name = "URL", value_parser = clap::value_parser!(Secret), requires = "max_lag", help_heading = HEADING)]
    pub replica: Vec<Secret>,

    /// Longest history list of InnoDB. A restore pauses above it; a dump, whose own snapshot holds the history, ends
    #[arg(long, value_name = "N", help_heading = HEADING)]
    pub max_history: Option<u64>,

    /// Pause while less disk space than this is free: where the dump is written, and where the server keeps its data: 10G
    #[arg(long, value_name = "SIZE", help_heading = HEADING)]
    pub min_free: Option<Size>,
}

impl ThrottleArgs {
    /// Whether anything is to be looked at.
    pub(super) fn watches(&self) -> bool {
        !self.max_load.is_empty()
            || !self.critical_load.is_empty()
            || self.max_lag.is_some()
            || self.max_history.is_some()
            || self.min_free.is_some()
    }
}
