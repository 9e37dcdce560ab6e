//! `drover binlog sql`: what the logs hold, as SQL that a person reads and a server takes, or as JSON lines.

mod before;
pub(crate) mod charset;
mod collations;
mod default_collations;
mod history;
mod json_lines;
pub(crate) mod literal;
mod modes;
mod rows;
mod session;
mod statements;
pub(crate) mod text;
mod variables;

use std::io::Write;
use std::ops::ControlFlow;

use crate::args::LogArgs;
use crate::chain::Chain;
use crate::definitions::{ColumnsArgs, Definitions};
use crate::filter::{Filter, FilterArgs, Verdict};
use crate::rows::Tables;
use crate::server::Origin;
use crate::{Error, Result, flashback};

use statements::Printer;

pub(crate) use before::Before;
pub(crate) use default_collations::DefaultCollations;
pub(crate) use rows::{push_row, row_text};
pub(crate) use session::Session;
pub(crate) use statements::{push_statement, push_xa, xa_prepare};

/// `drover binlog sql`.
#[derive(Debug, clap::Args)]
pub struct SqlArgs {
    /// The logs.
    #[command(flatten)]
    pub logs: LogArgs,

    /// Print what undoes these rows, the last change first: INSERT for what was deleted, DELETE for what came in, UPDATE back. All is
    /// read before anything is printed; what cannot be undone is an error
    #[arg(long, conflicts_with_all = ["follow", "thread"])]
    pub flashback: bool,

    /// What the log does not tell.
    #[command(flatten)]
    pub columns: ColumnsArgs,

    /// Which transactions.
    #[command(flatten)]
    pub filter: FilterArgs,
}

/// What was written, and what could not be.
#[derive(Debug, Default, serde::Serialize)]
pub struct SqlReport {
    /// Transactions of which something was written.
    pub transactions: u64,
    /// Statements that stood in the log.
    pub statements: u64,
    /// Rows.
    pub rows: u64,
    /// Events that are of no known type, or of rows that cannot be read: each is a comment.
    pub not_understood: u64,
    /// Tables whose columns' names the log does not tell: their rows are called ?1, ?2…, which no server takes.
    pub without_names: Vec<String>,
    /// Statements that were passed over, where only some tables were wanted: whether they changed something in these nobody knows.
    pub passed_over: u64,
    /// Statements that name what is wanted and what is not: each is a comment.
    pub partly: u64,
}

/// Writes what was asked for; `origin` is the server of `--from-server`, `tables_of` that of `--columns-of`. `stopped` is
/// asked now and then whether to stop.
///
/// # Errors
/// If a log cannot be read or is damaged, after all before that was written; if the text cannot be written.
pub fn sql(
    args: &SqlArgs,
    origin: Option<&Origin>,
    tables_of: Option<&Origin>,
    is_json: bool,
    out: &mut dyn Write,
    stopped: &dyn Fn() -> bool,
) -> Result<SqlReport> {
    let wanted = args.filter.of_server(origin)?;
    let mut chain = args.logs.open(origin, Some(&wanted))?.without_gaps()?;
    let mut filter = Filter::new(&wanted, chain.logs());
    let definitions = tables_of.map(Definitions::of).transpose()?;
    let tables = Tables::with(definitions.clone());
    if args.flashback {
        let printer = Printer::of_flashback(is_json, tables, out);
        return undone(&mut chain, &mut filter, definitions, printer, stopped);
    }
    let mut printer = Printer::new(is_json, tables, out);
    let read = chain.walk(stopped, |item| {
        let verdict = filter.verdict(item)?;
        if verdict == Verdict::Stop {
            return Ok(ControlFlow::Break(()));
        }
        printer.print(item, verdict == Verdict::Take, &filter)?;
        filter.refuse_doubt(item.log, item.event.position)?;
        Ok(ControlFlow::Continue(()))
    });
    let report = printer.finish().map_err(Error::writing)?;
    read.map(|()| report)
}

/// Writes what undoes what the filter wants.
fn undone(
    chain: &mut Chain,
    filter: &mut Filter<'_>,
    definitions: Option<Definitions>,
    mut printer: Printer<'_>,
    stopped: &dyn Fn() -> bool,
) -> Result<SqlReport> {
    let all = FilterArgs::default();
    let all = Filter::new(&all, 1);
    let read = flashback::walk(chain, filter, definitions, stopped, |item| {
        printer.print(item, true, &all)?;
        Ok(ControlFlow::Continue(()))
    });
    let report = printer.finish().map_err(Error::writing)?;
    read.map(|passed_over| SqlReport { passed_over, ..report })
}
