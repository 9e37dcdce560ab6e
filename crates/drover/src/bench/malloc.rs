//! `drover bench malloc`.

use std::process::ExitCode;
use std::sync::Arc;

use drover_bench::Report;
use drover_bench::malloc::args::{MallocArgs, Way};
use drover_bench::malloc::{
    BufferCost, CHILD, Curve, MallocDetail, OF_2007, ServerMemory, TABLE, cost_name, size_name,
};
use drover_db::Stop;

use super::shown::{columns, watched};
use crate::failure::Failure;
use crate::printer::Printer;
use crate::report::Outcome;

/// What a process does that `bench malloc` started to measure in, and nothing if this is none of them. That comes before the command line
/// is read and signals are listened for: both would be on the heap that is measured.
pub(crate) fn child() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    if !CHILD.iter().all(|expected| arguments.next().is_some_and(|argument| argument == *expected)) {
        return None;
    }
    let task = arguments.next()?;
    let printer = Printer::new(true, true, false);
    let answered = drover_bench::malloc::child(&task.to_string_lossy()).map_err(Failure::from);
    Some(match answered.and_then(|answer| printer.result(&answer, String::new())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            printer.failure(&failure);
            ExitCode::from(2)
        }
    })
}

pub(super) fn run(args: &MallocArgs, printer: &Printer, stop: &Arc<Stop>) -> Result<Outcome, Failure> {
    if let Some(option) = args.stray_option() {
        let hint = Some("add --server to see where that server's buffers lie on the curve".to_owned());
        return Err(Failure { error: format!("{option} is given, but no --server"), hint });
    }
    let server = args.server.then(|| printer.connection(&args.connection)).transpose()?;
    let report =
        watched(printer, |progress| drover_bench::malloc::run(args, server.as_ref(), stop, progress))?;
    report.warnings.iter().for_each(|warning| printer.warning(warning));
    printer.result(&report, text(&report, args.lists_sizes()))?;
    if let Some(path) = &args.measure.html {
        drover_bench::malloc::write_page(&report, path)?;
    }
    Ok(Outcome::Done)
}

fn text(report: &Report<MallocDetail>, all_sizes: bool) -> String {
    let detail = &report.detail;
    let mut parts = vec![detail.finding()];
    parts.extend([false, true].into_iter().filter_map(|touched| table(detail, touched, all_sizes)));
    parts.extend(jumps(detail));
    parts.extend(detail.server.as_ref().map(server));
    if !detail.not_installed.is_empty() {
        parts.push(format!("not installed: {}", detail.not_installed.join(", ")));
    }
    parts.join("\n\n")
}

/// What the table's sizes cost, or all sizes where these were named or none of the table's was measured.
fn table(detail: &MallocDetail, touched: bool, all_sizes: bool) -> Option<String> {
    let curves: Vec<&Curve> = detail.curves.iter().filter(|curve| curve.touched == touched).collect();
    let all_sizes = all_sizes || !detail.sizes.iter().any(|size| TABLE.contains(size));
    let is_shown = |size: &&u64| all_sizes || TABLE.contains(*size);
    let name = |curve: &&Curve| match curve.way {
        Way::Preload => curve.allocator.clone(),
        way => way.to_string(),
    };
    let title = if touched { "and touched" } else { "allocated" };
    // Those of 2007 are of blocks that were not touched: 38 ns for each page of a MiB is less than a page fault takes.
    let then = |cell: String| (!touched).then_some(cell);
    let heads = [title.to_owned()].into_iter().chain(curves.iter().map(name)).chain(then("2007".to_owned()));
    let row = |&bytes: &u64| {
        let cost = |curve: &&Curve| {
            curve.at(bytes).map_or_else(|| "-".to_owned(), |point| cost_name(point.median_ns))
        };
        let of_2007 = OF_2007.iter().find(|(size, _)| *size == bytes);
        // They were of 10,000 allocations, in milliseconds.
        let of_2007 = of_2007.map_or_else(String::new, |(_, ms)| cost_name(ms * 1e6 / 1e4));
        let cells = [size_name(bytes)].into_iter().chain(curves.iter().map(cost)).chain(then(of_2007));
        cells.collect::<Vec<_>>()
    };
    let rows: Vec<Vec<String>> =
        [heads.collect()].into_iter().chain(detail.sizes.iter().filter(is_shown).map(row)).collect();
    (!curves.is_empty()).then(|| columns(&rows))
}

fn jumps(detail: &MallocDetail) -> Option<String> {
    let of_curve = |curve: &Curve| {
        let name = curve.name();
        let line = move |jump: &drover_bench::malloc::Jump| {
            format!("{name}: {}\n    {}", jump.what(), jump.by_how_much())
        };
        curve.jumps.iter().map(line).collect::<Vec<_>>()
    };
    let lines: Vec<_> = detail.curves.iter().flat_map(of_curve).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn server(server: &ServerMemory) -> String {
    let place = match (&server.process, &server.unknown_because) {
        (Some(process), _) => format!("process {}", process.pid),
        (None, Some(why)) => format!("process unknown: {why}"),
        (None, None) => "process unknown".to_owned(),
    };
    let library = server.process.as_ref().and_then(|process| process.allocator.as_ref()?.library.as_ref());
    let library = library.map_or_else(String::new, |path| format!(" ({})", path.display()));
    let names = server.curves();
    let heads = ["buffer", "size", ""].map(str::to_owned).into_iter().chain(names.iter().cloned());
    let row = |buffer: &drover_bench::malloc::Buffer| {
        let is = if buffer.is_limit { "at most" } else { "as a whole" };
        let cost = |name: &String| buffer.on(name).map_or_else(|| "-".to_owned(), BufferCost::text);
        let first = [buffer.name.clone(), size_name(buffer.bytes), is.to_owned()];
        first.into_iter().chain(names.iter().map(cost)).collect::<Vec<_>>()
    };
    let rows: Vec<Vec<String>> =
        [heads.collect()].into_iter().chain(server.buffers.iter().map(row)).collect();
    format!(
        "server     {}, {place}\nallocator  {}{library}, its settings: {}\n{}",
        server.server,
        server.allocator(),
        server.tunables(),
        columns(&rows)
    )
}

#[cfg(test)]
mod tests {
    use drover_bench::malloc::{Allocator, Point};

    use super::*;

    #[test]
    fn this_process_was_not_started_to_measure() {
        assert!(child().is_none());
    }

    #[test]
    fn a_table_of_what_was_measured() {
        let curve = |way| Curve {
            allocator: "glibc".into(),
            way,
            touched: false,
            points: Vec::<Point>::new(),
            jumps: Vec::new(),
            not_measurable: Vec::new(),
        };
        let detail = MallocDetail {
            allocator: Allocator { name: "glibc".into(), library: None },
            tunables: Vec::new(),
            sizes: vec![64 << 10, 1 << 20],
            curves: vec![curve(Way::Cold), curve(Way::Preload)],
            mmap_threshold: None,
            not_installed: Vec::new(),
            server: None,
        };
        assert_eq!(
            table(&detail, false, false).unwrap(),
            "allocated  cold  glibc     2007\n1 MiB         -      -  9.80 µs"
        );
        assert!(table(&detail, false, true).unwrap().contains("64 KiB"));
        assert_eq!(table(&detail, true, false), None);
        let others = MallocDetail { sizes: vec![64 << 10], ..detail };
        assert!(table(&others, false, false).unwrap().contains("64 KiB"));
    }
}
