//! `drover binlog stat`: what fills the logs.
//!
//! Every byte is charged to what caused it, so that the parts add up to the whole: the bytes of a transaction go to the tables whose
//! rows and the kinds of statements whose text are in it, in proportion to these; what belongs to no transaction is told apart.

mod causes;
mod kinds;
mod page;
mod rate;
mod report;
mod tally;

pub(crate) use causes::{Cause, Causes, Charged};
pub(crate) use rate::{Rate, Span};
pub use report::StatReport;
pub(crate) use report::{LogReport, TransactionReport};
pub(crate) use tally::Tally;

use std::path::PathBuf;

use crate::args::LogArgs;
use crate::filter::{Filter, FilterArgs};
use crate::server::Origin;
use crate::{Error, Result};

/// `drover binlog stat`.
#[derive(Debug, clap::Args)]
pub struct StatArgs {
    /// The logs.
    #[command(flatten)]
    pub logs: LogArgs,

    /// Which transactions.
    #[command(flatten)]
    pub filter: FilterArgs,

    /// How many of the largest and the longest transactions to name
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,

    /// Write a page with charts here too: one file that needs nothing else
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// Reads the logs and tells what fills them; `origin` is the server of `--from-server`. `stopped` is asked now and then whether
/// to stop.
///
/// # Errors
/// If a log cannot be read, or is damaged; if the page cannot be written.
pub fn stat(args: &StatArgs, origin: Option<&Origin>, stopped: &dyn Fn() -> bool) -> Result<StatReport> {
    let wanted = args.filter.of_server(origin)?;
    let mut chain = args.logs.open(origin, Some(&wanted))?;
    let filter = (!wanted.takes_all()).then(|| Filter::new(&wanted, chain.logs()));
    let mut tally = tally::Tally::new(args.top, filter);
    chain.walk(stopped, |item| {
        let flow = tally.see(item)?;
        tally.refuse_doubt(item)?;
        Ok(flow)
    })?;
    let report = tally.into_report();
    if let Some(path) = &args.html {
        std::fs::write(path, report.page().to_string()).map_err(Error::file(path))?;
    }
    Ok(report)
}
