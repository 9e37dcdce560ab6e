//! The command line of `drover bench disk`.

use std::path::PathBuf;
use std::time::Duration;

use drover_units::read;

use super::engine::Engine;
use super::load::{FsyncRule, Mix};
use super::sweep::Sweep;
use crate::measuring::MeasureArgs;

/// Options of `bench disk`.
#[derive(Debug, clap::Args)]
pub struct DiskArgs {
    /// Directories on the disks to measure, such as mount points; nothing is written outside of them
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,

    /// Over how much data the requests are spread: 4G, 1G,2G,4G, or 1G..32G for these and the powers of two between
    #[arg(long, visible_alias = "size", value_name = "SIZES", default_value = "1G", value_parser = Sweep::parse)]
    pub sweep: Sweep,

    /// Reads to writes: 60:40, or the share of reads as 0.6 or 60%
    #[arg(long, value_name = "READS:WRITES", default_value = "60:40", value_parser = Mix::parse)]
    pub mix: Mix,

    /// How much a request reads or writes
    #[arg(long, value_name = "SIZE", default_value = "16k", value_parser = read::bytes)]
    pub block: u64,

    /// How many requests are under way at any time
    #[arg(long, value_name = "REQUESTS", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub depth: u32,

    /// Several depths, each of which is measured at each size: 1,4,16
    #[arg(
        long,
        value_name = "REQUESTS,…",
        value_delimiter = ',',
        conflicts_with = "depth",
        value_parser = clap::value_parser!(u32).range(1..=1024)
    )]
    pub depths: Vec<u32>,

    /// When written data is made durable: never, end, or every:N requests
    #[arg(long, value_name = "RULE", default_value = "every:100", value_parser = FsyncRule::parse)]
    pub fsync: FsyncRule,

    /// For how long to measure each size and depth
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = read::duration)]
    pub seconds: Duration,

    /// Find the largest size that is still this fast, such as 22MB/s
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub require: Option<u64>,

    /// How to hand requests to the kernel; if not given, by io_uring where the kernel lets it
    #[arg(long, value_name = "ENGINE")]
    pub engine: Option<Engine>,

    /// How to measure.
    #[command(flatten)]
    pub measure: MeasureArgs,
}

impl DiskArgs {
    /// The depths to measure at, in ascending order, each once.
    pub fn all_depths(&self) -> Vec<u32> {
        let mut depths = if self.depths.is_empty() { vec![self.depth] } else { self.depths.clone() };
        depths.sort_unstable();
        depths.dedup();
        depths
    }
}

/// Bytes a second. A bare number is refused: nobody who writes 22 means 22 bytes.
fn rate(text: &str) -> Result<u64, String> {
    let wrong = || "write a rate such as 22MB/s (powers of 1000) or 22M/s (powers of 1024)".to_owned();
    let amount = text.strip_suffix("/s").unwrap_or(text);
    let is_bare = !amount.ends_with(|c: char| c.is_ascii_alphabetic());
    match read::bytes(amount) {
        Ok(bytes) if bytes > 0 && !is_bare => Ok(bytes),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Line {
        #[command(flatten)]
        disk: DiskArgs,
    }

    fn parsed(line: &str) -> Result<DiskArgs, clap::Error> {
        Line::try_parse_from(["disk"].into_iter().chain(line.split_whitespace())).map(|line| line.disk)
    }

    #[test]
    fn rates() {
        assert_eq!(rate("22MB/s"), Ok(22_000_000));
        assert_eq!(rate("22M/s"), Ok(22 << 20));
        assert_eq!(rate("1.5GB"), Ok(1_500_000_000));
        for text in ["", "22", "22/s", "0MB/s", "fast", "-1MB/s"] {
            assert!(rate(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_not_said_is_as_sysbench_has_it() {
        let args = parsed("/data").unwrap();
        assert_eq!((args.block, args.all_depths()), (16 << 10, vec![32]));
        assert_eq!(args.mix.share_of_reads(), 0.6);
        assert_eq!(args.fsync, FsyncRule::parse("every:100").unwrap());
        assert_eq!((args.seconds, args.engine), (Duration::from_secs(10), None));
    }

    #[test]
    fn depths_are_one_or_several() {
        assert_eq!(parsed("/data --depths 16,1,4,4").unwrap().all_depths(), [1, 4, 16]);
        assert!(parsed("/data --depths 1,4 --depth 2").is_err());
        assert!(parsed("/data --depth 0").is_err());
        assert!(parsed("").is_err());
        assert_eq!(parsed("/data --engine threads").unwrap().engine, Some(Engine::Threads));
    }
}
