//! The page of a run: what it reached, how it went over time, latencies, and the compliance card.

use std::path::Path;

use drover_report::{Axis, Block, Cell, Column, Figures, Lines, Section, Table};
use drover_units::Unit;

use super::audit::{Audited, Verdict};
use super::detail::{Run, RunDetail};
use super::kind::Kind;
use super::latency::Percentiles;
use crate::page::{environment, figure, measures, page};
use crate::report::Report;
use crate::{Result, statistics};

/// Writes it.
pub(super) fn write(report: &Report<RunDetail>, path: &Path) -> Result<()> {
    let detail = &report.detail;
    let mut page = page("TPC-C-like load", report).section(summary(detail));
    if detail.connections().len() > 1 {
        page = page.section(sweep(detail));
    }
    // The last one: the first may have found a colder server.
    if let Some(run) = detail.runs.last() {
        page = page.section(over_time(detail)).section(latencies(run)).section(inputs(run));
    }
    let page = page
        .section(Section::new("What is compared").with(Block::Table(measures(&report.measures))))
        .section(card(detail))
        .section(environment(report))
        .foot("This is no TPC-C result: see the compliance card.");
    crate::page::write(&page, path)
}

fn summary(detail: &RunDetail) -> Section {
    let best = detail.runs.iter().max_by(|one, other| one.nopm.total_cmp(&other.nopm));
    let Some(best) = best else { return Section::new("") };
    let of_best: Vec<_> = detail.of_connections(best.connections).collect();
    let median =
        |read: fn(&Run) -> f64| statistics::median(&of_best.iter().map(|run| read(run)).collect::<Vec<_>>());
    let p90 = |run: &Run| run.of_kind(Kind::NewOrder).map_or(0.0, |of_kind| of_kind.from_intended.p90_ms);
    let retries: u64 = of_best.iter().map(|run| run.retries()).sum();
    let refused: u64 = of_best.iter().map(|run| run.refused()).sum();
    let figures = Figures::new()
        .with(
            "New-Orders a minute",
            figure(median(|run| run.nopm)),
            format!("with {} connections", best.connections),
        )
        .with(
            "90 of 100 New-Orders within",
            Unit::Seconds.text(median(p90) / 1000.0),
            "from when they were to begin",
        )
        .with("Tried again", figure(retries as f64), "deadlocks and the like")
        .with("Failed", figure(refused as f64), "refused by the server")
        .with(
            "Client's processors",
            Unit::Share.text(median(|run| run.client.share_of_machine)),
            format!("{} µs a transaction", figure(median(|run| run.client.microseconds_per_transaction))),
        );
    let text = format!(
        "{} warehouses in schema {}, {} s each after {} s of warm-up.",
        detail.warehouses,
        detail.schema,
        figure(detail.seconds_each),
        figure(detail.warm_up_seconds)
    );
    Section::new("").with(Block::Figures(figures)).with(Block::Text(text))
}

/// What each number of connections reached: the median of its repeats.
fn sweep(detail: &RunDetail) -> Section {
    let points: Vec<_> =
        detail.connections().into_iter().map(|connections| point(detail, connections)).collect();
    let mut against = Lines::new(
        "Response time against throughput",
        Axis::linear("New-Orders a minute", Unit::Count),
        Axis::linear("90 of 100 New-Orders within", Unit::Seconds),
    );
    against.curve(
        "one point for each number of connections",
        points.iter().map(|point| (point.nopm.round(), point.p90)),
    );
    let mut by_connections = Lines::new(
        "Throughput by connections",
        Axis::linear("connections", Unit::Count),
        Axis::linear("New-Orders a minute", Unit::Count),
    );
    by_connections
        .curve("New-Orders a minute", points.iter().map(|point| (point.connections, point.nopm.round())));
    let columns = [
        Column::amount("connections", Unit::Count),
        Column::amount("New-Orders a minute", Unit::Count).with_bars(),
        Column::amount("90 of 100 within", Unit::Seconds),
    ];
    let mut table = Table::new("", columns).whole();
    for point in &points {
        table.row([point.connections, point.nopm.round(), point.p90].map(Cell::Amount));
    }
    Section::new("Sweep over connections")
        .with(Block::Lines(against))
        .with(Block::Lines(by_connections))
        .with(Block::Table(table))
}

/// A number of connections, and what it reached.
struct Point {
    connections: f64,
    nopm: f64,
    /// In seconds.
    p90: f64,
}

fn point(detail: &RunDetail, connections: u32) -> Point {
    let of_runs = |read: &dyn Fn(&Run) -> f64| {
        statistics::median(&detail.of_connections(connections).map(read).collect::<Vec<_>>())
    };
    let p90 =
        |run: &Run| run.of_kind(Kind::NewOrder).map_or(0.0, |of_kind| of_kind.from_intended.p90_ms / 1000.0);
    Point { connections: connections.into(), nopm: of_runs(&|run| run.nopm), p90: of_runs(&p90) }
}

/// New-Orders in each second, as the rate of a minute. Of many runs the last ones.
fn over_time(detail: &RunDetail) -> Section {
    const MOST: usize = 6;
    let mut lines = Lines::new(
        "New-Orders a minute, second by second",
        Axis::linear("time", Unit::Seconds),
        Axis::linear("New-Orders a minute", Unit::Count),
    );
    let shown = &detail.runs[detail.runs.len().saturating_sub(MOST)..];
    for run in shown {
        let name = format!("{} connections, repeat {}", run.connections, run.repeat);
        let points = run
            .new_orders
            .iter()
            .enumerate()
            .map(|(second, count)| (second as f64 + 1.0, *count as f64 * 60.0));
        lines.curve(&name, points);
    }
    Section::new("Over time").with(Block::Lines(lines))
}

fn latencies(run: &Run) -> Section {
    let columns = [
        Column::text("type"),
        Column::amount("done", Unit::Count),
        Column::amount("share", Unit::Share),
        Column::amount("50 of 100", Unit::Seconds),
        Column::amount("90", Unit::Seconds),
        Column::amount("99", Unit::Seconds),
        Column::amount("99.9", Unit::Seconds),
        Column::amount("longest", Unit::Seconds),
        Column::amount("tried again", Unit::Count),
        Column::amount("rolled back", Unit::Count),
    ];
    let table = |title: &str, read: fn(&super::OfKind) -> &Percentiles| {
        let mut table = Table::new(title, columns.clone()).whole();
        for of_kind in &run.transactions {
            let at = read(of_kind);
            let times =
                [at.p50_ms, at.p90_ms, at.p99_ms, at.p999_ms, at.max_ms].map(|ms| Cell::Amount(ms / 1000.0));
            let head = [Cell::from(of_kind.kind.name()), of_kind.done.into(), of_kind.share.into()];
            let tail: [Cell; 2] = [of_kind.retries.all().into(), of_kind.rolled_back.into()];
            table.row(head.into_iter().chain(times).chain(tail));
        }
        table
    };
    let mut curves = Lines::new(
        "Share of transactions that took no longer",
        Axis::log("time", Unit::Seconds),
        Axis::linear("share", Unit::Share),
    );
    for of_kind in run.transactions.iter().filter(|of_kind| of_kind.done > 0) {
        let points = of_kind.from_intended.curve.iter().map(|(share, ms)| (*ms / 1000.0, *share));
        curves.curve(of_kind.kind.name(), points);
    }
    Section::new("Latency")
        .note(format!("Of the last run: {} connections, repeat {}.", run.connections, run.repeat))
        .with(Block::Table(table("From when they were to begin", |of_kind| &of_kind.from_intended)))
        .with(Block::Table(table("From when they were sent", |of_kind| &of_kind.service)))
        .with(Block::Lines(curves))
}

fn inputs(run: &Run) -> Section {
    let columns = ["input", "drawn", "allowed", "of", "verdict"].map(Column::text);
    let mut table = Table::new("", columns).whole();
    for audited in &run.audit {
        table.row(
            [
                audited.name.clone(),
                value(audited, audited.value),
                format!("{} to {}", value(audited, audited.least), value(audited, audited.most)),
                drover_units::show::count(audited.of),
                verdict(audited.verdict).to_owned(),
            ]
            .map(Cell::Text),
        );
    }
    Section::new("Inputs")
        .note("What was drawn in the last run, against the specification's limits.")
        .with(Block::Table(table))
}

/// A share in percent, or a number of lines.
fn value(audited: &Audited, value: f64) -> String {
    if audited.most > 1.0 { format!("{value:.2}") } else { format!("{:.2} %", value * 100.0) }
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Inside => "inside",
        Verdict::TooFew => "outside, as chance may have it in so few",
        Verdict::Outside => "outside",
    }
}

fn card(detail: &RunDetail) -> Section {
    let mut table = Table::new("", ["clause", "", "what"].map(Column::text)).whole();
    for line in &detail.card {
        let is_kept = if line.is_kept { "kept" } else { "deviates" };
        table.row([line.clause.as_str(), is_kept, line.text.as_str()].map(Cell::from));
    }
    Section::new("Compliance card")
        .note("By clauses of TPC Benchmark C, revision 5.11.")
        .with(Block::Table(table))
}
