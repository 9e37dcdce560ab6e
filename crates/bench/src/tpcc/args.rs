//! The command line of `drover bench tpcc`.

use drover_db::options::ServerArgs;
use drover_units::read::per_second;

use super::versus::args::VersusArgs;
use crate::measuring::MeasureArgs;

/// Options of `bench tpcc`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct TpccArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: Option<TpccCommand>,

    /// What to compare, where there is no command.
    #[command(flatten)]
    pub versus: VersusArgs,
}

/// What can be done.
#[derive(Debug, clap::Subcommand)]
pub enum TpccCommand {
    /// Make the tables and fill them
    Load(LoadArgs),
    /// Run the five transactions and measure them
    Run(RunArgs),
    /// Check that the tables are consistent, by the specification's conditions and some more
    Check(CheckArgs),
    /// Drop what load made
    Clean(CleanArgs),
}

/// Where the tables are.
#[derive(Debug, Clone, clap::Args)]
pub struct PlaceArgs {
    /// Schema of the tables
    #[arg(short = 'D', long, value_name = "SCHEMA")]
    pub database: Option<String>,

    /// The server.
    #[command(flatten)]
    pub server: ServerArgs,
}

/// Options of `load`.
#[derive(Debug, clap::Args)]
pub struct LoadArgs {
    /// How many warehouses; each takes 100 MB or so
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=32_767))]
    pub warehouses: u32,

    /// Connections that load at once [default: two for each processor, from 2 to 16]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub threads: Option<u32>,

    /// What random numbers come from; the same seed loads the same rows
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub seed: u64,

    /// Drop the tables first that are there under these names
    #[arg(long)]
    pub drop_existing: bool,

    /// Where the tables are to be.
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// Options of `run`.
#[derive(Debug, clap::Args)]
#[command(mut_arg("repeat", |repeat| repeat.default_value("1")))]
pub struct RunArgs {
    /// Connections, each of which is a terminal with a home warehouse
    #[arg(
        short,
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=MOST_CONNECTIONS),
        required_unless_present = "sweep",
        conflicts_with = "sweep",
    )]
    pub connections: Option<u32>,

    /// For how many seconds to measure, each time
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=86_400))]
    pub seconds: u32,

    /// Measure with each of these numbers of connections, such as 1,2,4,8,16
    #[arg(
        long,
        value_name = "N,…",
        value_delimiter = ',',
        value_parser = clap::value_parser!(u32).range(1..=MOST_CONNECTIONS),
    )]
    pub sweep: Vec<u32>,

    /// Wait as people at terminals do, who type and think: a connection does 1.3 New-Orders a minute at most
    #[arg(long, conflicts_with = "rate")]
    pub think: bool,

    /// Begin so many transactions a second, whether or not earlier ones are done; latency counts from when each was to begin
    #[arg(long, value_name = "NUMBER", value_parser = rate)]
    pub rate: Option<f64>,

    /// How the beginnings lie in time
    #[arg(long, value_enum, requires = "rate", default_value = "poisson")]
    pub arrivals: Schedule,

    /// How to measure.
    #[command(flatten)]
    pub measure: MeasureArgs,

    /// Where the tables are.
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// More would not tell more, and each takes a thread.
const MOST_CONNECTIONS: i64 = 1000;

/// How the beginnings of transactions lie in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Schedule {
    /// At random, as those of many people who know nothing of each other
    Poisson,
    /// At equal distances
    Even,
}

/// Options of `check`.
#[derive(Debug, clap::Args)]
pub struct CheckArgs {
    /// Connections that check at once [default: two for each processor, from 2 to 16]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub threads: Option<u32>,

    /// Where the tables are.
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// Options of `clean`.
#[derive(Debug, clap::Args)]
pub struct CleanArgs {
    /// Where the tables are.
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// Threads, where nobody says how many.
pub(super) fn threads(said: Option<u32>) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    said.map_or((2 * cores).clamp(2, 16), |threads| threads as usize)
}

fn rate(text: &str) -> Result<f64, String> {
    per_second(text)
        .and_then(|rate| if rate <= 1e6 { Ok(rate) } else { Err("write at most 1000000 a second".into()) })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    /// About the program.
    #[derive(Debug, Parser)]
    #[command(disable_help_flag = true)]
    struct Program {
        #[command(flatten)]
        tpcc: TpccArgs,
    }

    fn run(line: &str) -> Result<RunArgs, clap::Error> {
        match Program::try_parse_from(line.split(' '))?.tpcc.command {
            Some(TpccCommand::Run(args)) => Ok(args),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn one_repeat_unless_told_otherwise() {
        assert_eq!(run("tpcc run -c 4").unwrap().measure.repeat, 1);
        assert_eq!(run("tpcc run -c 4 --repeat 3").unwrap().measure.repeat, 3);
    }

    #[test]
    fn connections_or_a_sweep() {
        assert_eq!(run("tpcc run --sweep 1,2,4").unwrap().sweep, [1, 2, 4]);
        for wrong in [
            "tpcc run",
            "tpcc run -c 4 --sweep 1,2",
            "tpcc run -c 0",
            "tpcc run --sweep 1,x",
            "tpcc run -c 1 --rate 0",
        ] {
            assert!(run(wrong).is_err(), "{wrong}");
        }
        for wrong in ["tpcc run -c 1 --rate 5 --think", "tpcc run -c 1 --arrivals even"] {
            assert!(run(wrong).is_err(), "{wrong}");
        }
    }
}
