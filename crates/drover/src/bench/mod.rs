//! `drover bench`: which measurement does the work, and what its result looks like on a terminal.

mod compare;
mod connect;
mod disk;
mod malloc;
mod shown;
mod tpcc;
mod versus;

use std::sync::Arc;

use drover_bench::args::{BenchArgs, BenchCommand};
use drover_db::Stop;

use crate::failure::Failure;
use crate::printer::Printer;
use crate::report::Outcome;

pub(crate) use malloc::child;

pub(crate) fn run(args: &BenchArgs, printer: &Printer, stop: &Arc<Stop>) -> Result<Outcome, Failure> {
    match &args.command {
        BenchCommand::Tpcc(args) => tpcc::run(args, printer, stop),
        BenchCommand::Disk(args) => disk::run(args, printer, stop),
        BenchCommand::Malloc(args) => malloc::run(args, printer, stop),
        BenchCommand::Connect(args) => connect::run(args, printer, stop),
        BenchCommand::Compare(args) => compare::run(args, printer),
        BenchCommand::PutBack => put_back(printer),
    }
}

/// Whoever has started this reads what could not be undone.
fn put_back(printer: &Printer) -> Result<Outcome, Failure> {
    let failures = drover_host::undo::put_back(std::io::stdin());
    printer.result(&failures, failures.join("\n"))?;
    Ok(if failures.is_empty() { Outcome::Done } else { Outcome::Found })
}
