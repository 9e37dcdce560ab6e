//! `drover binlog extract`: the files that LOAD DATA put into the logs, as they were, and the statements that load them again. Of
//! loads that were logged as rows the files are made anew from the rows.

mod field;
mod list;
mod name;
mod place;
mod rebuild;
mod script;
mod walk;

use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;

use crate::args::LogArgs;
use crate::definitions::{ColumnsArgs, Definitions};
use crate::filter::{Filter, FilterArgs};
use crate::rows::Tables;
use crate::server::Origin;
use crate::{Error, Result};

use list::List;
use place::Directory;
use walk::Walk;

/// `drover binlog extract`.
#[derive(Debug, clap::Args)]
pub struct ExtractArgs {
    /// The logs.
    #[command(flatten)]
    pub logs: LogArgs,

    /// What the log does not tell, of loads that were logged as rows.
    #[command(flatten)]
    pub columns: ColumnsArgs,

    /// Which loads.
    #[command(flatten)]
    pub filter: FilterArgs,

    /// Write the files, and beside each the statement that loads it again, into this directory; without it they are listed only
    #[arg(long, value_name = "DIRECTORY", help_heading = "What to write")]
    pub out: Option<PathBuf>,

    /// Replace files in the directory that have the same names
    #[arg(long, requires = "out", help_heading = "What to write")]
    pub force: bool,
}

/// What was found.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct ExtractReport {
    /// Loads that were listed.
    pub loads: u64,
    /// Those of them whose file is not there as a whole: it begins before the logs or is not ended in them, or its rows could not all be
    /// made anew.
    pub not_whole: u64,
}

/// Lists the loads, and writes their files if that is asked for; `origin` is the server of `--from-server`, `tables_of` that of
/// `--columns-of`. `stopped` is asked now and then whether to stop.
///
/// # Errors
/// If a log cannot be read or is damaged, after all before that was listed and written; if a file cannot be written.
pub fn extract(
    args: &ExtractArgs,
    origin: Option<&Origin>,
    tables_of: Option<&Origin>,
    is_json: bool,
    out: &mut dyn Write,
    stopped: &dyn Fn() -> bool,
) -> Result<ExtractReport> {
    let mut list = List::new(is_json, out);
    list.begin().map_err(Error::writing)?;
    let read = read(args, origin, tables_of, &mut list, stopped);
    let report = list.end().map_err(Error::writing)?;
    read.map(|()| report)
}

fn read(
    args: &ExtractArgs,
    origin: Option<&Origin>,
    tables_of: Option<&Origin>,
    list: &mut List<'_>,
    stopped: &dyn Fn() -> bool,
) -> Result<()> {
    let directory = args.out.as_deref().map(|path| Directory::open(path, args.force)).transpose()?;
    let wanted = args.filter.of_server(origin)?;
    let mut chain = args.logs.open(origin, Some(&wanted))?.without_gaps()?;
    let tables = Tables::with(tables_of.map(Definitions::of).transpose()?);
    let mut walk = Walk::new(Filter::new(&wanted, chain.logs()), tables, directory, list);
    let mut is_cut_off = false;
    let walked = chain.walk(stopped, |item| {
        let next = walk.see(item)?;
        is_cut_off |= next == ControlFlow::Break(());
        Ok(next)
    });
    // Where a log breaks off, what was under way is told before the damage.
    let is_end =
        matches!(walked, Ok(()) | Err(Error::Damaged { .. } | Error::Read { .. } | Error::Sent { .. }));
    let rest = walk.finish(is_end && !is_cut_off);
    walked.and(rest)
}
