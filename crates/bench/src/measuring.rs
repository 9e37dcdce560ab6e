//! What every measurement is told on the command line.

use std::path::PathBuf;
use std::time::Duration;

use drover_units::read::duration;

/// Options of every measurement.
#[derive(Debug, Clone, clap::Args)]
pub struct MeasureArgs {
    /// What random numbers come from; the same seed gives the same input
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub seed: u64,

    /// How often to measure; the noise is known from two on
    #[arg(long, value_name = "TIMES", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeat: u32,

    /// For how long to run before measuring
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub warm_up: Option<Duration>,

    /// Write the result as a page with charts, which needs no network
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}
