//! The options of `drover chunk`.

use std::path::PathBuf;

use drover_db::options::{Load, Secret, ServerArgs};
use drover_throttle::Limits;
use drover_units::read::{Rate, Size, Time};

/// How the lag of a replica is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum LagBy {
    /// By a row that is written at the primary ten times a second, and read at the replica: what is seen there was applied. Also
    /// where a replica has its changes from another replica.
    Heartbeat,
    /// By the position up to which the replica says that it has applied its source's log (SHOW REPLICA STATUS). Takes a privilege
    /// there, and a replica of this very server.
    Status,
}

// Given to each option by itself: clap's `next_help_heading` would go on to the options of the command.
const THROTTLE: &str = "Throttle";

/// Runs one big DELETE, UPDATE or INSERT … SELECT as small transactions over ranges of the table's key.
#[derive(Debug, Clone, clap::Args)]
pub struct ChunkArgs {
    /// The statement: 'DELETE FROM t WHERE …', 'UPDATE t SET … WHERE …' or 'INSERT INTO u SELECT … FROM t WHERE …'
    pub statement: String,

    /// The schema of tables that the statement names without one [default: that of --url]
    #[arg(short = 'D', long, value_name = "NAME")]
    pub database: Option<String>,

    /// Print what would be done, and change nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,

    /// Go on with a run though the table was altered or rebuilt since. Of another table of the same name it would change other rows than
    /// the run began with
    #[arg(long)]
    pub altered: bool,

    /// Run though the account may not see all triggers (TRIGGER), with a warning. One that changes the key, or leads back to a table that
    /// the statement uses, has rows changed twice or left out
    #[arg(long)]
    pub allow_hidden_triggers: bool,

    /// Walk the table along this unique key [default: the primary key, or another one that the statement does not change]
    #[arg(long, value_name = "NAME")]
    pub key: Option<String>,

    /// Keep the rows that a DELETE removes in this file, in the form of a dump's row files; packed if its name ends with .zst
    #[arg(long, value_name = "FILE")]
    pub archive: Option<PathBuf>,

    /// The most that a transaction adds to the binary log, about
    #[arg(long, value_name = "SIZE", default_value = "512k", help_heading = THROTTLE)]
    pub chunk_size: Size,

    /// The longest that a transaction takes, about
    #[arg(long, value_name = "TIME", default_value = "100ms", help_heading = THROTTLE)]
    pub chunk_time: Time,

    /// Keep each replica's lag below this; without it replicas are not looked at: 2s
    #[arg(long, value_name = "TIME", help_heading = THROTTLE)]
    pub max_lag: Option<Time>,

    /// A replica to watch for --max-lag, instead of those that SHOW REPLICAS names: mysql://HOST:PORT (repeatable)
    #[arg(long, value_name = "URL", value_parser = clap::value_parser!(Secret), requires = "max_lag", help_heading = THROTTLE)]
    pub replica: Vec<Secret>,

    /// How the lag is read
    #[arg(long, value_name = "HOW", default_value = "heartbeat", help_heading = THROTTLE)]
    pub lag_by: LagBy,

    /// Write no more than so many bytes of binary log a second: 2M
    #[arg(long, value_name = "RATE", help_heading = THROTTLE)]
    pub max_rate: Option<Rate>,

    /// Pause while a status variable of the server is above its limit: Threads_running=50 (repeatable, or with commas between)
    #[arg(long, value_name = "NAME=LIMIT", value_delimiter = ',', help_heading = THROTTLE)]
    pub max_load: Vec<Load>,

    /// Stop, with exit code 2, when a status variable is above its limit; the same command goes on (repeatable)
    #[arg(long, value_name = "NAME=LIMIT", value_delimiter = ',', help_heading = THROTTLE)]
    pub critical_load: Vec<Load>,

    /// Pause while InnoDB's history list is longer than this
    #[arg(long, value_name = "N", help_heading = THROTTLE)]
    pub max_history: Option<u64>,

    /// Pause while this file exists
    #[arg(long, value_name = "FILE", help_heading = THROTTLE)]
    pub pause_file: Option<PathBuf>,

    /// Where the server is.
    #[command(flatten)]
    pub server: ServerArgs,
}

impl ChunkArgs {
    /// The limits on the server's load.
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            max_load: self.max_load.clone(),
            critical_load: self.critical_load.clone(),
            max_history: self.max_history,
            holds_history: false,
        }
    }
}
