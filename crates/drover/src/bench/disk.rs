//! `drover bench disk`.

use std::sync::Arc;

use drover_bench::disk::args::DiskArgs;
use drover_bench::disk::knee::KneeFinding;
use drover_bench::disk::require::{Reach, Required};
use drover_bench::disk::sweep::size_name;
use drover_bench::disk::{Curve, DiskDetail, FileFacts, Latency, Point};
use drover_bench::{Report, figure};
use drover_db::Stop;
use drover_host::Storage;
use drover_units::{Unit, show};

use super::shown::{columns, watched};
use crate::failure::Failure;
use crate::printer::Printer;
use crate::report::Outcome;

/// That a disk is too slow at all sizes is a finding.
pub(super) fn run(args: &DiskArgs, printer: &Printer, stop: &Arc<Stop>) -> Result<Outcome, Failure> {
    let report = watched(printer, |progress| drover_bench::disk::run(args, stop, progress))?;
    report.warnings.iter().for_each(|warning| printer.warning(warning));
    printer.result(&report, text(&report))?;
    let is_too_slow =
        |curve: &Curve| curve.required.is_some_and(|required| required.reach == Reach::BelowTheSweep);
    Ok(if report.detail.curves.iter().any(is_too_slow) { Outcome::Found } else { Outcome::Done })
}

fn text(report: &Report<DiskDetail>) -> String {
    let detail = &report.detail;
    let paths = detail
        .files
        .iter()
        .zip(&report.environment.storage)
        .map(|(file, storage)| of_path(detail, file, storage));
    [detail.load()].into_iter().chain(paths).collect::<Vec<_>>().join("\n\n")
}

fn of_path(detail: &DiskDetail, file: &FileFacts, storage: &Storage) -> String {
    let points = detail.points.iter().filter(|point| point.path == file.path);
    let head = ["", "depth", "MB/s", "", "requests", "read p99", "write p99", "fsync p99"].map(str::to_owned);
    let rows: Vec<_> = [head].into_iter().chain(points.map(row)).collect();
    let curves = detail.curves.iter().filter(|curve| curve.path == file.path);
    let answers = curves.flat_map(|curve| [required(curve), knee(curve)]).flatten();
    let lines = [format!("{}: {}", file.path.display(), place(storage)), columns(&rows)];
    lines.into_iter().chain(answers).collect::<Vec<_>>().join("\n")
}

/// `ext4 on sda (scheduler mq-deadline)`
fn place(storage: &Storage) -> String {
    match storage.device() {
        Some(device) => {
            let scheduler = device.scheduler.as_deref().unwrap_or("none");
            format!("{} on {} (scheduler {scheduler})", storage.file_system, device.name)
        }
        None => storage.file_system.clone(),
    }
}

fn row(point: &Point) -> [String; 8] {
    let half = point
        .mb_per_second
        .interval
        .map_or_else(String::new, |interval| format!("± {}", figure((interval.high - interval.low) / 2.0)));
    let p99 = |latency: Option<Latency>| {
        latency.map_or_else(String::new, |latency| Unit::Seconds.text(latency.p99_ms / 1e3))
    };
    [
        size_name(point.size_bytes),
        point.depth.to_string(),
        figure(point.mb_per_second.median),
        half,
        Unit::PerSecond.text(point.iops.median),
        p99(point.read),
        p99(point.write),
        p99(point.fsync),
    ]
}

fn required(curve: &Curve) -> Option<String> {
    let required = curve.required?;
    let rate = format!("depth {}: {} MB/s", curve.depth, required.mb_per_second);
    Some(match required.reach {
        Reach::Within { bytes } => format!("{rate} up to {}{}", show::bytes(bytes), interval(&required)),
        Reach::BelowTheSweep => format!("{rate} at no size of the sweep"),
        Reach::BeyondTheSweep => format!("{rate} at all sizes of the sweep"),
    })
}

fn interval(required: &Required) -> String {
    let end = |bytes: Option<u64>, none: &str| bytes.map_or_else(|| none.to_owned(), show::bytes);
    if !required.has_interval {
        return String::new();
    }
    format!(
        " (95 %: {} to {})",
        end(required.low_bytes, "below the sweep"),
        end(required.high_bytes, "beyond it")
    )
}

/// Nothing where the sweep is too short to show one.
fn knee(curve: &Curve) -> Option<String> {
    match &curve.knee {
        KneeFinding::Knee(knee) => Some(format!(
            "depth {}: the knee is at {} (95 %: {} to {}): a doubling costs {:.0} % of the throughput below it, {:.0} % above",
            curve.depth,
            show::bytes(knee.bytes),
            show::bytes(knee.low_bytes),
            show::bytes(knee.high_bytes),
            knee.cost_below * 100.0,
            knee.cost_above * 100.0
        )),
        KneeFinding::None => Some(format!("depth {}: no knee", curve.depth)),
        KneeFinding::TooFewSizes => None,
    }
}
