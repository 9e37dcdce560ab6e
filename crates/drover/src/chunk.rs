//! `drover chunk`: runs it, and what its report looks like on a terminal.

use std::fmt::Write as _;
use std::sync::Arc;

use drover_chunk::{ChunkArgs, ChunkReport, PlanReport, Report};
use drover_db::Stop;
use drover_report::plain::one_line;
use drover_units::show::{bytes, count, rate, seconds, things};

use crate::failure::Failure;
use crate::printer::Printer;
use crate::progress;
use crate::report::Outcome;

pub(crate) fn run(args: &ChunkArgs, printer: &Printer, stop: &Arc<Stop>) -> Result<Outcome, Failure> {
    let options = printer.connection(&args.server)?;
    let done = progress::show(printer, |progress| drover_chunk::chunk(args, &options, stop, progress))?;
    warnings(&done.report).iter().for_each(|warning| printer.warning(warning));
    printer.result(&done.report, text(&done.report))?;
    // Only now: of a run that was forgotten nobody can tell that it was done.
    done.forget()?;
    Ok(Outcome::Done)
}

/// What a person should know.
fn warnings(report: &Report) -> &[String] {
    match report {
        Report::Plan(plan) => &plan.warnings,
        Report::Done(done) => &done.warnings,
    }
}

/// The report as a person reads it.
fn text(report: &Report) -> String {
    match report {
        Report::Plan(plan) => plan_text(plan),
        Report::Done(done) => done_text(done),
    }
}

fn plan_text(plan: &PlanReport) -> String {
    let (table, key) = (one_line(&plan.table), one_line(&plan.key));
    let mut out = format!("table     {table}, some {} rows, along its key {key}\n", count(plan.rows));
    let Some(part) = &plan.first_part else {
        out.push_str("there are no rows: nothing would be done\n");
        return out;
    };
    let _ = writeln!(out, "up to     {}", one_line(&plan.end.join(", ")));
    let _ = writeln!(out, "isolation {}", plan.isolation);
    if !plan.replicas.is_empty() {
        let _ = writeln!(out, "replicas  {}", one_line(&plan.replicas.join(", ")));
    }
    if let Some(parts) = plan.parts_before {
        let _ = writeln!(out, "goes on   behind {} that an earlier run has done", things(parts, "part"));
    }
    let _ = writeln!(out, "first part\n{part}");
    out
}

fn done_text(done: &ChunkReport) -> String {
    let (verb, preposition) = match done.statement {
        "delete" => ("deleted", "from"),
        "update" => ("updated", "of"),
        _ => ("inserted", "read from"),
    };
    let mut out = format!(
        "{:<9} {} {} {} in {}, {}\n",
        verb,
        things(done.rows, "row"),
        preposition,
        one_line(&done.table),
        things(done.chunks, "part"),
        seconds(done.seconds),
    );
    if done.chunks_before > 0 {
        let _ = writeln!(out, "of these  {} had been done before", things(done.chunks_before, "part"));
    }
    if let Some(written) = done.binlog_bytes {
        let _ = writeln!(out, "binlog    {}, {}", bytes(written), rate(written, done.seconds));
    }
    if let Some(lag) = done.max_lag_seconds {
        let _ = writeln!(out, "lag       at most {lag:.1} s");
    }
    if done.waited_seconds >= 0.1 {
        let reasons = done.waited.iter().filter(|(_, time)| **time >= 0.1);
        let reasons: Vec<_> = reasons.map(|(reason, time)| format!("{reason} {}", seconds(*time))).collect();
        let _ = writeln!(out, "waited    {}: {}", seconds(done.waited_seconds), reasons.join(", "));
    }
    if let Some(kept) = &done.archive {
        let _ = writeln!(
            out,
            "archive   {} in {}, {}",
            things(kept.rows, "row"),
            kept.file.display(),
            bytes(kept.bytes)
        );
        if let Some(unpack) = &kept.unpack {
            let _ = writeln!(out, "unpack by {unpack}");
        }
        let _ = writeln!(out, "loaded by {}", kept.load);
    }
    out
}
