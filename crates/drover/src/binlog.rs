//! `drover binlog`: which command does the work, and what its report looks like on a terminal.

use std::sync::Arc;

use drover_binlog::server::Origin;
use drover_binlog::{
    BinlogArgs, BinlogCommand, ColumnsArgs, Destination, ExtractReport, LogArgs, ReplayArgs, ReplayReport,
    SqlReport,
};
use drover_db::Stop;
use drover_units::show::things;

use crate::after;
use crate::binlog_text::{replay_text, stat_text};
use crate::cost;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::progress;
use crate::report::Outcome;

pub(crate) fn run(args: &BinlogArgs, printer: &Printer, stop: &Arc<Stop>) -> Result<Outcome, Failure> {
    let stopped = || stop.is_requested();
    match &args.command {
        BinlogCommand::Ls(args) => {
            let origin = origin(&args.logs, printer, stop)?;
            printer.stream(&args.logs, |is_json, out| {
                drover_binlog::ls(args, origin.as_ref(), is_json, out, &stopped)
            })?;
        }
        BinlogCommand::Stat(args) => {
            let origin = origin(&args.logs, printer, stop)?;
            let report = drover_binlog::stat(args, origin.as_ref(), &stopped)?;
            printer.result(&report, stat_text(&report))?;
        }
        BinlogCommand::Cost(args) => {
            let origin = origin(&args.logs, printer, stop)?;
            let tables_of = tables_of(&args.columns, printer, stop)?;
            let report = drover_binlog::cost(args, origin.as_ref(), tables_of.as_ref(), &stopped)?;
            printer.result(&report, cost::text(&report, args.safety))?;
        }
        BinlogCommand::Sql(args) => {
            let origin = origin(&args.logs, printer, stop)?;
            let tables_of = tables_of(&args.columns, printer, stop)?;
            let mut report = None;
            printer.stream(&args.logs, |is_json, out| {
                drover_binlog::sql(args, origin.as_ref(), tables_of.as_ref(), is_json, out, &stopped)
                    .map(|written| report = Some(written))
            })?;
            return Ok(report.map_or(Outcome::Done, |report| sql_written(printer, &report)));
        }
        BinlogCommand::Extract(args) => {
            let origin = origin(&args.logs, printer, stop)?;
            let tables_of = tables_of(&args.columns, printer, stop)?;
            let mut report = None;
            printer.stream(&args.logs, |is_json, out| {
                drover_binlog::extract(args, origin.as_ref(), tables_of.as_ref(), is_json, out, &stopped)
                    .map(|listed| report = Some(listed))
            })?;
            return Ok(report.map_or(Outcome::Done, |report| extracted(printer, &report)));
        }
        BinlogCommand::Replay(args) => return replay(args, printer, stop),
    }
    Ok(Outcome::Done)
}

fn replay(args: &ReplayArgs, printer: &Printer, stop: &Arc<Stop>) -> Result<Outcome, Failure> {
    let origin = match &args.from {
        None => None,
        Some(_) => {
            let options = printer.connection_to("the server to read", &args.source_server())?;
            Some(Origin { options, stop: Arc::clone(stop) })
        }
    };
    let mut after = args.after.as_deref().map(after::of).transpose()?;
    let destination = Destination { options: printer.connection(&args.server)?, stop: of_target(args, stop) };
    if let (Some(dump), Some(after)) = (&args.after, &mut after) {
        after.compare = Some(after::comparing(dump.clone(), destination.options.clone(), Arc::clone(stop)));
    }
    let report = progress::show(printer, |progress| {
        drover_binlog::replay(args, origin.as_ref(), after.as_ref(), &destination, progress)
    })?;
    replayed(printer, &report)
}

/// What stops the work on the target. Where logs are followed, a signal is the end of what is read: what was read is applied and noted. A
/// second signal ends the process.
fn of_target(args: &ReplayArgs, stop: &Arc<Stop>) -> Arc<Stop> {
    if args.follows() { Arc::default() } else { Arc::clone(stop) }
}

/// The server that the logs are read from, if they are a server's.
fn origin(args: &LogArgs, printer: &Printer, stop: &Arc<Stop>) -> Result<Option<Origin>, Failure> {
    if !args.from.from_server {
        return Ok(None);
    }
    let options = printer.connection(&args.from.server)?;
    Ok(Some(Origin { options, stop: Arc::clone(stop) }))
}

/// The server whose tables tell of columns, if one was named.
fn tables_of(args: &ColumnsArgs, printer: &Printer, stop: &Arc<Stop>) -> Result<Option<Origin>, Failure> {
    let Some(server) = args.server() else { return Ok(None) };
    let options = printer.connection_to("the server that has the tables", &server)?;
    Ok(Some(Origin { options, stop: Arc::clone(stop) }))
}

/// What cannot be applied is a finding.
fn replayed(printer: &Printer, replay: &ReplayReport) -> Result<Outcome, Failure> {
    for at in &replay.abandoned {
        printer.warning(&format!("{at}: a transaction whose end is not in the logs; it was not applied"));
    }
    passed_over(printer, replay.passed_over);
    if !replay.left_out.is_empty() {
        let schemas: Vec<_> = replay.left_out.iter().map(String::as_str).collect();
        let schemas = schemas.join(", ");
        printer.warning(&format!("rows of schemas that the dump does not have were left out: {schemas}"));
    }
    printer.result(replay, replay_text(replay))?;
    let is_all = replay.problems.is_empty() && replay.missing_rows == 0 && replay.not_kept.is_empty();
    Ok(if is_all { Outcome::Done } else { Outcome::Found })
}

fn passed_over(printer: &Printer, statements: u64) {
    let what = match statements {
        0 => return,
        1 => "1 statement was passed over: the log does not tell whether it changed these tables".into(),
        many => format!(
            "{many} statements were passed over: the log does not tell whether they changed these tables"
        ),
    };
    printer.warning(&what);
}

/// What could not be written as SQL is a finding.
fn sql_written(printer: &Printer, sql: &SqlReport) -> Outcome {
    if !sql.without_names.is_empty() && !printer.is_json() {
        let tables = sql.without_names.join(", ");
        printer.warning(&format!(
            "the log does not tell the names of the columns of {tables}: they are called ?1, ?2 …, which no server takes; \
             --columns-of takes them from a server that has the tables"
        ));
    }
    passed_over(printer, sql.passed_over);
    if sql.partly > 0 {
        let statements = things(sql.partly, "statement");
        printer.warning(&format!("{statements} of what is wanted and of what is not: see the comments"));
    }
    if sql.not_understood > 0 {
        let events = things(sql.not_understood, "event");
        printer.warning(&format!("{events} could not be read: see the comments"));
    }
    if sql.partly + sql.not_understood == 0 { Outcome::Done } else { Outcome::Found }
}

/// A file that is not there as a whole is a finding; the list says which it is.
fn extracted(printer: &Printer, extract: &ExtractReport) -> Outcome {
    if extract.not_whole == 0 {
        return Outcome::Done;
    }
    printer.warning(&format!("{} not whole: see the list", things(extract.not_whole, "load")));
    Outcome::Found
}
