//! The page of a disk's results.

use drover_report::{Axis, Block, Cell, Column, Figures, Lines, Page, Section, Table};
use drover_units::Unit;

use super::detail::{DiskDetail, Point};
use super::knee::KneeFinding;
use super::require::{Reach, Required};
use super::sweep::size_name;
use super::tally::{Latency, LatencyOf};
use crate::page;
use crate::report::Report;

/// A page with all that was measured.
pub(super) fn page(report: &Report<DiskDetail>) -> Page {
    let detail = &report.detail;
    page::page("How the disk bears random reads and writes", report)
        .section(answers(detail))
        .section(throughput(detail))
        .section(latencies(detail))
        .section(points(detail))
        .section(
            Section::new("To compare")
                .note("What drover bench compare looks at.")
                .with(Block::Folded("All repeats".to_owned(), page::measures(&report.measures))),
        )
        .section(page::environment(report))
}

/// The few numbers that say the most.
fn answers(detail: &DiskDetail) -> Section {
    let mut figures = Figures::new();
    for curve in &detail.curves {
        let name = detail.name_of(curve);
        if let Some(required) = &curve.required {
            let (value, note) = required_text(required);
            let title = format!("Largest size at {} MB/s", required.mb_per_second);
            figures = figures.with(&title, value, format!("{name}\n{note}"));
        }
        let (value, note) = knee_text(&curve.knee);
        figures = figures.with("Knee", value, format!("{name}\n{note}"));
    }
    Section::new("").with(Block::Text(detail.load())).with(figures)
}

fn required_text(required: &Required) -> (String, String) {
    let interval = || {
        let end = |bytes: Option<u64>, none: &str| {
            bytes.map_or_else(|| none.to_owned(), |bytes| Unit::Bytes.text(bytes as f64))
        };
        let (low, high) =
            (end(required.low_bytes, "below the sweep"), end(required.high_bytes, "beyond the sweep"));
        if required.has_interval {
            format!("95 %: {low} to {high}")
        } else {
            "how sure, is not known of one repeat".to_owned()
        }
    };
    match required.reach {
        Reach::Within { bytes } => (Unit::Bytes.text(bytes as f64), interval()),
        Reach::BelowTheSweep => ("none".to_owned(), "no size was fast enough".to_owned()),
        Reach::BeyondTheSweep => ("all".to_owned(), "even the largest was fast enough".to_owned()),
    }
}

fn knee_text(finding: &KneeFinding) -> (String, String) {
    match finding {
        KneeFinding::Knee(knee) => (
            Unit::Bytes.text(knee.bytes as f64),
            format!(
                "95 %: {} to {}\na doubling costs {:.0} % below, {:.0} % above",
                Unit::Bytes.text(knee.low_bytes as f64),
                Unit::Bytes.text(knee.high_bytes as f64),
                knee.cost_below * 100.0,
                knee.cost_above * 100.0
            ),
        ),
        KneeFinding::None => ("none".to_owned(), "the curve does not bend down".to_owned()),
        KneeFinding::TooFewSizes => ("unknown".to_owned(), "it takes five sizes or more".to_owned()),
    }
}

fn throughput(detail: &DiskDetail) -> Section {
    let mut lines = Lines::new(
        "Throughput over size",
        Axis::log("over how much data the requests are spread", Unit::Bytes),
        Axis::linear("reads and writes together", Unit::BytesPerSecond),
    );
    for curve in &detail.curves {
        let points =
            detail.points_of(curve).map(|point| (point.size_bytes as f64, point.mb_per_second.median * 1e6));
        lines.curve(&detail.name_of(curve), points);
    }
    if let Some(required) = detail.curves.first().and_then(|curve| curve.required) {
        lines.level(&format!("{} MB/s required", required.mb_per_second), required.mb_per_second * 1e6);
    }
    Section::new("Throughput").note("Medians of all repeats.").with(lines)
}

fn latencies(detail: &DiskDetail) -> Section {
    let kinds: [(&str, LatencyOf<Point>); 3] =
        [("reads", |point| point.read), ("writes", |point| point.write), ("fsyncs", |point| point.fsync)];
    let section =
        Section::new("Latency").note("99 of 100 requests took at most so long; of all repeats together.");
    kinds.into_iter().fold(section, |section, (kind, of)| {
        let mut lines = Lines::new(
            &format!("p99 of {kind}"),
            Axis::log("over how much data the requests are spread", Unit::Bytes),
            Axis::log("time", Unit::Seconds),
        );
        let mut has_points = false;
        for curve in &detail.curves {
            let points: Vec<_> = detail
                .points_of(curve)
                .filter_map(|point| Some((point.size_bytes as f64, of(point)?.p99_ms / 1e3)))
                .collect();
            has_points |= !points.is_empty();
            lines.curve(&detail.name_of(curve), points);
        }
        if has_points { section.with(lines) } else { section }
    })
}

fn points(detail: &DiskDetail) -> Section {
    let columns = [
        Column::text("path"),
        Column::text("size"),
        Column::digits("depth"),
        Column::amount("throughput", Unit::BytesPerSecond),
        Column::text("95 % of means within, MB/s"),
        Column::amount("requests", Unit::PerSecond),
    ];
    let kinds = ["read", "write", "fsync"];
    let shares = ["p50", "p90", "p99", "p99.9", "max"];
    let latencies = kinds.iter().flat_map(|kind| {
        shares.iter().map(move |share| Column::amount(&format!("{kind} {share}"), Unit::Seconds))
    });
    let mut table = Table::new("", columns.into_iter().chain(latencies)).whole();
    for point in &detail.points {
        let interval = point
            .mb_per_second
            .interval
            .map(|interval| format!("{} to {}", crate::figure(interval.low), crate::figure(interval.high)));
        let row = [
            Cell::Text(point.path.display().to_string()),
            Cell::Text(size_name(point.size_bytes)),
            Cell::from(point.depth),
            Cell::Amount(point.mb_per_second.median * 1e6),
            Cell::from(interval),
            Cell::Amount(point.iops.median),
        ];
        let latencies = [point.read, point.write, point.fsync].into_iter().flat_map(cells);
        table.row(row.into_iter().chain(latencies));
    }
    Section::new("All points").with(table)
}

fn cells(latency: Option<Latency>) -> [Cell; 5] {
    let Some(latency) = latency else { return [const { Cell::Missing }; 5] };
    [latency.p50_ms, latency.p90_ms, latency.p99_ms, latency.p99_9_ms, latency.max_ms]
        .map(|milliseconds| Cell::Amount(milliseconds / 1e3))
}
