//! `drover binlog cost`: what logs cost, and what they would cost with other settings.
//!
//! One pass: [`model`] charges each event's bytes, as `stat` does, and puts it into the logs that could be. [`walk`] finds the values of
//! rows, [`shape`] says which of them a row image holds, [`lane`] packs them into events as a server does, [`squeeze`] compresses these.
//! [`text`] tells statements apart, [`safety`] judges them, [`link`] has the logs go over a link of some rate.

mod cures;
mod lane;
mod link;
mod model;
mod page;
mod report;
mod safety;
mod shape;
mod squeeze;
mod text;
mod walk;

pub use cures::Basis;
pub use link::{LagReport, LagSpan};
pub use report::{CostReport, CureReport, LinkReport, StatementCost, TableCost};
pub use safety::{Safety, SafetyVerdict};
pub use shape::KeySource;

use std::path::PathBuf;

use crate::args::LogArgs;
use crate::definitions::{ColumnsArgs, Definitions};
use crate::server::Origin;
use crate::{Error, Result};

/// `drover binlog cost`.
#[derive(Debug, clap::Args)]
pub struct CostArgs {
    /// The logs.
    #[command(flatten)]
    pub logs: LogArgs,

    /// Which server tells of keys.
    #[command(flatten)]
    pub columns: ColumnsArgs,

    /// Tell the lag that a link of this rate would have had, such as 10Mbit or 2MB/s
    #[arg(long, value_name = "RATE", value_parser = drover_units::read::bit_rate)]
    pub link: Option<u64>,

    /// Tell of each statement why it is unsafe to be logged as a statement
    #[arg(long)]
    pub safety: bool,

    /// Tell what compression of the log and of the connection would save too: all is compressed here for that, which takes far longer
    #[arg(long)]
    pub compression: bool,

    /// With --compression: the server's max_allowed_packet, which a compressed transaction has to fit (MySQL)
    #[arg(long, value_name = "SIZE", default_value = "1G", value_parser = drover_units::read::bytes, requires = "compression")]
    pub max_allowed_packet: u64,

    /// With --compression: binlog_transaction_compression_level_zstd (MySQL)
    #[arg(long, value_name = "LEVEL", default_value_t = 3, value_parser = clap::value_parser!(i32).range(1..=22), requires = "compression")]
    pub zstd_level: i32,

    /// With --compression: log_bin_compress_min_len, in bytes (MariaDB)
    #[arg(long, value_name = "BYTES", default_value_t = 256, requires = "compression")]
    pub compress_min_len: usize,

    /// The server's binlog_row_event_max_size, in bytes: how many rows an event holds hangs on it
    #[arg(long, value_name = "BYTES", default_value_t = 8192)]
    pub row_event_max_size: usize,

    /// How many of the largest transactions to name
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,

    /// Write a page with charts here too: one file that needs nothing else
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// Reads the logs and tells what they cost. `origin` is the server of `--from-server`, `tables_of` that of `--columns-of`; `stopped` is
/// asked now and then whether to stop.
///
/// # Errors
/// If a log cannot be read, or is damaged; if a server cannot be asked; if the page cannot be written.
pub fn cost(
    args: &CostArgs,
    origin: Option<&Origin>,
    tables_of: Option<&Origin>,
    stopped: &dyn Fn() -> bool,
) -> Result<CostReport> {
    let mut chain = args.logs.open(origin, None)?;
    // A server whose logs are read has the tables too.
    let definitions = tables_of.or(origin).map(Definitions::of).transpose()?;
    let limits = squeeze::Limits {
        payload: args.max_allowed_packet,
        level: args.zstd_level,
        least: args.compress_min_len,
    };
    let mut squeezes = [None, None, None];
    if args.compression {
        for squeeze in &mut squeezes {
            let made = squeeze::Squeeze::new(limits);
            *squeeze = Some(made.map_err(|source| Error::found(format!("zstd: {source}")))?);
        }
    }
    let shapes = shape::Shapes::with(definitions);
    let mut model = model::Model::new(args.top, shapes, args.row_event_max_size, squeezes, args.link);
    chain.walk(stopped, |item| {
        model.see(item)?;
        Ok(std::ops::ControlFlow::Continue(()))
    })?;
    let report = CostReport::new(model, args.compression, args.link);
    if let Some(path) = &args.html {
        std::fs::write(path, report.page().to_string()).map_err(Error::file(path))?;
    }
    Ok(report)
}
