//! The result as a page.

use std::path::Path;

use drover_report::{Axis, Block, Cell, Column, Figures, Lines, Page, Section, Table};
use drover_units::Unit;

use super::args::Way;
use super::curve::Curve;
use super::detail::{MallocDetail, OF_2007};
use super::server::{Buffer, BufferCost, ServerMemory};
use super::sweep::{TABLE, cost_name, size_name};
use crate::Result;
use crate::report::Report;

/// Writes the result as a page.
///
/// # Errors
/// If the file cannot be written.
pub fn write_page(report: &Report<MallocDetail>, path: &Path) -> Result<()> {
    crate::page::write(&page(report), path)
}

fn page(report: &Report<MallocDetail>) -> Page {
    let detail = &report.detail;
    let page = crate::page::page("What an allocation costs", report)
        .section(Section::new("").with(figures(detail)).with(Block::Text(detail.finding() + ".")))
        .section(charts(detail))
        .section(jumps(detail))
        .section(beside_2007(detail));
    let page = match &detail.server {
        Some(server) => page.section(buffers(server)),
        None => page,
    };
    page.section(measures(report)).section(crate::page::environment(report)).foot(
        "The cost of an allocation is the time of malloc, and of free where the block is freed; \"touched\": with a write to each of \
         its pages. Each point is the median of fresh processes.",
    )
}

fn figures(detail: &MallocDetail) -> Figures {
    let threshold = detail.mmap_threshold.map_or_else(|| "none".to_owned(), size_name);
    let figures = Figures::new().with("Mappings begin at", threshold, "of a heap in which nothing was freed");
    let curve = |way, touched| {
        detail.curves.iter().find(move |curve: &&Curve| curve.way == way && curve.touched == touched)
    };
    let shown = [(Way::Dynamic, false), (Way::Fixed, false), (Way::Fixed, true)];
    let curves = shown.into_iter().filter_map(|(way, touched)| curve(way, touched));
    curves.fold(figures, |figures, curve| match (curve.at(TABLE[2]), curve.at(TABLE[0])) {
        (Some(large), Some(small)) => {
            let note = format!("{} at {}", cost_name(small.median_ns), size_name(small.bytes));
            let name = format!("{} of {}", size_name(large.bytes), curve.name());
            figures.with(&name, cost_name(large.median_ns), note)
        }
        _ => figures,
    })
}

fn charts(detail: &MallocDetail) -> Section {
    let note = "kB and MB are powers of 1000 here: 128 KiB is 131 kB. Both axes grow by ratios.";
    let section = Section::new("The curves").note(note);
    let others = detail.curves.iter().any(|curve| curve.way == Way::Preload);
    let charts = [(false, false), (true, false), (false, true), (true, true)];
    charts
        .into_iter()
        .filter(|(_, of_others)| others || !of_others)
        .fold(section, |section, (touched, of_others)| section.with(chart(detail, touched, of_others)))
}

/// A curve for each way, or for each allocator.
fn chart(detail: &MallocDetail, touched: bool, of_others: bool) -> Lines {
    let what = if touched { "allocated and touched" } else { "allocated" };
    let of = if of_others { ", by allocator" } else { "" };
    let axes = (Axis::log("size", Unit::Bytes), Axis::log("time of an allocation", Unit::Seconds));
    let mut lines = Lines::new(&format!("Blocks that are {what}{of}"), axes.0, axes.1);
    let belongs = |curve: &&Curve| {
        let compared = curve.way == Way::Dynamic || curve.way == Way::Preload;
        curve.touched == touched && if of_others { compared } else { curve.way != Way::Preload }
    };
    for curve in detail.curves.iter().filter(belongs) {
        let points = curve.points.iter().map(|point| (point.bytes as f64, point.median_ns * 1e-9));
        lines.curve(&super::curve::name(&curve.allocator, curve.way, false), points);
    }
    if let Some(server) = detail.server.as_ref().filter(|_| !of_others) {
        marks(&mut lines, server, touched);
    }
    lines
}

/// A point for each buffer of the server on the first curve that it lies on.
fn marks(lines: &mut Lines, server: &ServerMemory, touched: bool) {
    const GAP: (f64, f64) = (f64::NAN, f64::NAN);
    let place = |buffer: &Buffer| {
        let cost = buffer.costs.iter().find(|cost| cost.is_touched == touched)?;
        Some((buffer.bytes as f64, cost.ns * 1e-9))
    };
    // Points between gaps are not joined.
    lines.curve(
        "the server's buffers",
        server.buffers.iter().filter_map(place).flat_map(|place| [place, GAP]),
    );
}

fn jumps(detail: &MallocDetail) -> Section {
    let columns = [Column::text("way"), Column::text("what happens"), Column::text("cost of an allocation")];
    let mut table = Table::new("", columns);
    for curve in &detail.curves {
        for jump in &curve.jumps {
            table.row([curve.name(), jump.what(), jump.by_how_much()].map(Cell::Text));
        }
    }
    let note = "Where pages are touched, the factor is what is beyond their number.";
    Section::new("The jumps").note(note).with(table)
}

fn beside_2007(detail: &MallocDetail) -> Section {
    let note = "10,000 allocations each. Only two figures of 2007 were published.";
    let section = Section::new("Beside 2007").note(note);
    [false, true].into_iter().fold(section, |section, touched| section.with(table(detail, touched)))
}

fn table(detail: &MallocDetail, touched: bool) -> Table {
    let curves: Vec<&Curve> = detail.curves.iter().filter(|curve| curve.touched == touched).collect();
    let names = curves.iter().map(|curve| super::curve::name(&curve.allocator, curve.way, false));
    let columns = names.map(|name| Column::amount(&name, Unit::Seconds));
    let title = if touched { "With each page touched" } else { "Allocated" };
    // In 2007 a page of a MiB took 38 ns: that is no page fault, so nothing was touched.
    let then = (!touched).then(|| Column::amount("2007", Unit::Seconds));
    let mut table = Table::new(title, [Column::text("size")].into_iter().chain(then).chain(columns));
    for bytes in TABLE.into_iter().filter(|bytes| detail.sizes.contains(bytes)) {
        let then = OF_2007.into_iter().find(|(size, _)| *size == bytes).map(|(_, ms)| ms / 1000.0);
        let then = (!touched).then(|| Cell::from(then));
        let now =
            curves.iter().map(|curve| Cell::from(curve.at(bytes).map(|point| point.median_ns * 1e-9 * 1e4)));
        table.row([Cell::Text(size_name(bytes))].into_iter().chain(then).chain(now));
    }
    table
}

fn buffers(server: &ServerMemory) -> Section {
    let place = match (&server.process, &server.unknown_because) {
        (Some(process), _) => {
            let library = process.allocator.as_ref().and_then(|own| own.library.as_ref());
            let library = library.map_or_else(String::new, |path| format!(" ({})", path.display()));
            format!(
                "Process {}; allocator: {}{library}; its settings: {}.",
                process.pid,
                server.allocator(),
                server.tunables()
            )
        }
        (None, why) => {
            format!("Its allocator is unknown: {}.", why.as_deref().unwrap_or("it cannot be seen"))
        }
    };
    let names: Vec<String> = server.curves();
    let columns = names.iter().map(|name| Column::text(name));
    let first = [Column::text("buffer"), Column::text("size"), Column::text("is")];
    let mut table = Table::new("", first.into_iter().chain(columns)).whole();
    for buffer in &server.buffers {
        let is = if buffer.is_limit { "at most" } else { "as a whole" };
        let costs = names.iter().map(|name| Cell::from(buffer.on(name).map(BufferCost::text)));
        let first = [buffer.name.clone(), size_name(buffer.bytes), is.to_owned()].map(Cell::Text);
        table.row(first.into_iter().chain(costs));
    }
    Section::new(&format!("The buffers of {}", server.server)).note(place).with(table)
}

fn measures(report: &Report<MallocDetail>) -> Section {
    let note = "What `drover bench compare` looks at.";
    let table = crate::page::measures(&report.measures);
    Section::new("Repeats").note(note).with(Block::Folded("Each repeat".to_owned(), table))
}

#[cfg(test)]
mod tests {
    use super::super::allocators::Allocator;
    use super::super::curve::tests::point;
    use super::*;
    use crate::environment::Environment;
    use crate::report::Begun;

    fn detail() -> MallocDetail {
        let curve = |way, touched| Curve {
            allocator: "glibc".into(),
            way,
            touched,
            points: vec![point(128 << 10, &[20.0, 21.0], 0.0), point(1 << 20, &[900.0, 901.0], 1.0)],
            jumps: super::super::jump::find(
                &[point(1, &[1.0, 1.1], 0.0), point(2, &[90.0, 91.0], 1.0)],
                touched,
            ),
            not_measurable: Vec::new(),
        };
        let cost =
            BufferCost { curve: "glibc cold".into(), is_touched: false, ns: 20.0, is_above_jump: Some(true) };
        let server = ServerMemory {
            server: "MariaDB 10.11".into(),
            is_local: None,
            process: None,
            unknown_because: Some("it is <far> away".into()),
            curves_of: "glibc".into(),
            buffers: vec![Buffer {
                name: "b_size".into(),
                bytes: 128 << 10,
                is_limit: true,
                costs: vec![cost],
            }],
        };
        MallocDetail {
            allocator: Allocator { name: "glibc".into(), library: None },
            tunables: Vec::new(),
            sizes: vec![128 << 10, 1 << 20],
            curves: vec![curve(Way::Cold, false), curve(Way::Cold, true), curve(Way::Preload, false)],
            mmap_threshold: Some(131_049),
            not_installed: Vec::new(),
            server: Some(server),
        }
    }

    #[test]
    fn a_page_holds_what_was_found() {
        let report = Begun::now("malloc", 1).report(Environment::default(), Vec::new(), Vec::new(), detail());
        let html = page(&report).to_string();
        for words in
            ["from 131,049 bytes on", "98.0 ms", "2.60 ms", "b_size", "it is &lt;far&gt; away", "above"]
        {
            assert!(html.contains(words), "no {words:?} in {html}");
        }
    }
}
