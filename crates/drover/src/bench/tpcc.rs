//! `drover bench tpcc`.

use std::fmt::Write as _;
use std::sync::Arc;

use drover_bench::Report;
use drover_bench::figure;
use drover_bench::tpcc::args::{PlaceArgs, TpccArgs, TpccCommand};
use drover_bench::tpcc::{
    self, CheckReport, Checked, CleanReport, Compared, Load, LoadDetail, OfKind, Run, RunDetail, Verdict,
    Violation,
};
use drover_db::Stop;
use drover_db::options::ConnectOptions;
use drover_units::show::{bytes, count, rate, seconds, things};

use super::shown::{columns, measures, watched};
use crate::failure::Failure;
use crate::printer::Printer;
use crate::report::Outcome;

pub(super) fn run(args: &TpccArgs, printer: &Printer, stop: &Arc<Stop>) -> Result<Outcome, Failure> {
    match &args.command {
        Some(TpccCommand::Load(args)) => {
            let options = options(&args.place, printer)?;
            let report = watched(printer, |progress| tpcc::load(args, &options, stop, progress))?;
            report.warnings.iter().for_each(|warning| printer.warning(warning));
            printer.result(&report, load_text(&report))?;
            Ok(Outcome::Done)
        }
        Some(TpccCommand::Run(args)) => {
            let options = options(&args.place, printer)?;
            let report = watched(printer, |progress| tpcc::run(args, &options, stop, progress))?;
            report.warnings.iter().for_each(|warning| printer.warning(warning));
            printer.result(&report, run_text(&report))?;
            Ok(if report.detail.has_errors() { Outcome::Found } else { Outcome::Done })
        }
        Some(TpccCommand::Check(args)) => {
            let options = options(&args.place, printer)?;
            let report = watched(printer, |progress| tpcc::check(args, &options, stop, progress))?;
            printer.result(&report, check_text(&report))?;
            Ok(if report.violated().next().is_some() { Outcome::Found } else { Outcome::Done })
        }
        Some(TpccCommand::Clean(args)) => {
            let report = tpcc::clean(&options(&args.place, printer)?, stop)?;
            printer.result(&report, clean_text(&report))?;
            Ok(Outcome::Done)
        }
        None => super::versus::run(&args.versus, printer, stop),
    }
}

/// Where the server is, with the schema of the tables.
fn options(place: &PlaceArgs, printer: &Printer) -> Result<ConnectOptions, Failure> {
    let options = printer.connection(&place.server)?;
    let database = place.database.clone().or(options.database);
    Ok(ConnectOptions { database, ..options })
}

fn load_text(report: &Report<LoadDetail>) -> String {
    let detail = &report.detail;
    format!(
        "loaded    {} into schema {} with {}, seed {}\n\
         rows      {} ({}) in {}, {} a second, {}\n\
         indexes   {}",
        things(detail.warehouses.into(), "warehouse"),
        detail.schema,
        things(detail.threads as u64, "connection"),
        report.seed,
        count(detail.rows),
        bytes(detail.bytes),
        seconds(detail.rows_seconds),
        count((detail.rows as f64 / detail.rows_seconds.max(1e-9)) as u64),
        rate(detail.bytes, detail.rows_seconds),
        seconds(detail.indexes_seconds),
    )
}

fn run_text(report: &Report<RunDetail>) -> String {
    let detail = &report.detail;
    let mut text = format!(
        "schema    {}, {}; {}; {} s each after {} s of warm-up, seed {}\n",
        detail.schema,
        things(detail.warehouses.into(), "warehouse"),
        load(detail.load),
        figure(detail.seconds_each),
        figure(detail.warm_up_seconds),
        report.seed
    );
    if let [run] = &detail.runs[..] {
        text += &run_head(run);
        text += &transactions(run);
    } else {
        text += &runs(&detail.runs);
        // Of one run each there is nothing to say beyond them.
        if report.measures.iter().any(|measure| measure.interval.is_some()) {
            text += "\n";
            text += &measures(&report.measures);
            text += "\n";
        }
    }
    text + "\n" + &inputs(&detail.runs) + "\n" + &deviations(detail)
}

fn load(load: Load) -> String {
    match load {
        Load::Closed => "closed loop".to_owned(),
        Load::Think => "closed loop with keying and think times".to_owned(),
        Load::Open { rate, .. } => format!("open loop, {} transactions a second", figure(rate)),
    }
}

fn run_head(run: &Run) -> String {
    format!(
        "reached   {} New-Orders a minute with {}, {} transactions a second in all\n\
         client    {:.1} % of the processors, {} µs a transaction\n\n",
        figure(run.nopm),
        things(run.connections.into(), "connection"),
        figure(run.transactions_a_second),
        run.client.share_of_machine * 100.0,
        figure(run.client.microseconds_per_transaction),
    )
}

/// A line for each type of transaction; times are milliseconds from when transactions were to begin, and of p99 also from when they were
/// sent.
fn transactions(run: &Run) -> String {
    let head = [
        "ms",
        "done",
        "share",
        "p50",
        "p90",
        "p99",
        "p99.9",
        "longest",
        "p99 sent",
        "retries",
        "rolled back",
    ];
    let row = |of_kind: &OfKind| {
        let at = &of_kind.from_intended;
        [
            of_kind.kind.name().to_owned(),
            count(of_kind.done),
            format!("{:.1} %", of_kind.share * 100.0),
            figure(at.p50_ms),
            figure(at.p90_ms),
            figure(at.p99_ms),
            figure(at.p999_ms),
            figure(at.max_ms),
            figure(of_kind.service.p99_ms),
            count(of_kind.retries.all()),
            count(of_kind.rolled_back),
        ]
    };
    let rows: Vec<_> =
        [head.map(str::to_owned)].into_iter().chain(run.transactions.iter().map(row)).collect();
    columns(&rows) + "\n"
}

/// A line for each run.
fn runs(runs: &[Run]) -> String {
    let head = ["connections", "repeat", "New-Orders/min", "p90 ms", "p99 ms", "retries", "client CPU"];
    let row = |run: &Run| {
        let (p90, p99) = run
            .of_kind(tpcc::Kind::NewOrder)
            .map_or((0.0, 0.0), |of_kind| (of_kind.from_intended.p90_ms, of_kind.from_intended.p99_ms));
        [
            run.connections.to_string(),
            run.repeat.to_string(),
            figure(run.nopm),
            figure(p90),
            figure(p99),
            count(run.retries()),
            format!("{:.1} %", run.client.share_of_machine * 100.0),
        ]
    };
    let rows: Vec<_> = [head.map(str::to_owned)].into_iter().chain(runs.iter().map(row)).collect();
    columns(&rows) + "\n"
}

/// Whether what was drawn is within the specification's limits.
fn inputs(runs: &[Run]) -> String {
    let of = |verdict: Verdict| {
        runs.iter().flat_map(|run| &run.audit).filter(move |audited| audited.verdict == verdict)
    };
    let few = of(Verdict::TooFew).count();
    match (of(Verdict::Outside).count(), few) {
        (0, 0) => "inputs    all shares within the specification's limits".to_owned(),
        (0, few) => format!(
            "inputs    within the specification's limits, but for {few} of which too few were drawn to tell"
        ),
        (outside, _) => format!("inputs    {outside} outside the specification's limits"),
    }
}

fn deviations(detail: &RunDetail) -> String {
    let mut text = "This is no TPC-C result. It deviates from the specification in these:\n".to_owned();
    for line in detail.card.iter().filter(|line| !line.is_kept) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {:<11} {}", line.clause, line.text);
    }
    text
}

fn check_text(report: &CheckReport) -> String {
    let mut text = format!(
        "schema    {}, {}, {} since the load\n",
        report.schema,
        things(report.warehouses.into(), "warehouse"),
        things(report.runs, "run"),
    );
    let violated = report.violated().count();
    let what = if violated == 0 { "all hold".to_owned() } else { format!("{violated} violated") };
    let _ = writeln!(
        text,
        "checked   {} in {}: {what}",
        things(report.checked() as u64, "condition"),
        seconds(report.seconds)
    );
    for condition in &report.conditions {
        if let Some(why) = &condition.not_checked {
            let _ = writeln!(text, "left out  {} ({}): {why}", condition.id, condition.rule);
        }
    }
    report.violated().for_each(|condition| text += &violations(condition));
    text
}

fn violations(condition: &Checked) -> String {
    let rows = things(condition.violations, "row");
    let mut text = format!("violated  {} in {rows}: {}\n", condition.id, condition.rule);
    for example in &condition.examples {
        let _ = writeln!(text, "          {}", violation(example));
    }
    let more = condition.violations - condition.examples.len() as u64;
    if more > 0 {
        let _ = writeln!(text, "          and {} more", count(more));
    }
    text
}

fn violation(violation: &Violation) -> String {
    let key: Vec<_> = violation.key.iter().map(|(name, value)| format!("{name} {value}")).collect();
    let said =
        |compared: &Compared| format!("{} is {}", compared.what, compared.value.as_deref().unwrap_or("NULL"));
    format!("{} {}: {}, {}", violation.table, key.join(", "), said(&violation.left), said(&violation.right))
}

fn clean_text(report: &CleanReport) -> String {
    let schema = if report.dropped_schema { ", and the schema" } else { "" };
    format!("dropped   {} of schema {}{schema}", things(report.tables.len() as u64, "table"), report.schema)
}
