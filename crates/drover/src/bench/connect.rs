//! `drover bench connect`.

use std::sync::Arc;

use drover_bench::Report;
use drover_bench::connect::args::ConnectArgs;
use drover_bench::connect::cost::Quantity;
use drover_bench::connect::profile::Profile;
use drover_bench::connect::report::{Comparison, ConnectDetail, Rate};
use drover_bench::connect::{Named, words};
use drover_bench::figure;
use drover_db::Stop;
use drover_db::options::ServerArgs;
use drover_units::show::seconds;

use super::shown::watched;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::report::Outcome;

pub(super) fn run(args: &ConnectArgs, printer: &Printer, stop: &Arc<Stop>) -> Result<Outcome, Failure> {
    let existing = args.is_existing().then(|| printer.connection(&args.server)).transpose()?;
    let rate_of = args.rate_of.as_ref().map(|url| {
        let server = ServerArgs {
            url: Some(url.clone()),
            no_defaults: args.server.no_defaults,
            ..ServerArgs::default()
        };
        printer.connection_to("the server of --rate-of", &server)
    });
    let named = Named { existing, rate_of: rate_of.transpose()? };
    let report = watched(printer, |progress| drover_bench::connect::run(args, &named, stop, progress))?;
    report.warnings.iter().for_each(|warning| printer.warning(warning));
    printer.result(&report, text(&report))?;
    Ok(Outcome::Done)
}

fn text(report: &Report<ConnectDetail>) -> String {
    let detail = &report.detail;
    let server = report.environment.server.as_ref();
    let server = server.map_or_else(String::new, |server| format!("{} {}\n", server.comment, server.version));
    let parts = detail.comparisons.iter().map(|comparison| part(comparison, detail.rate));
    let rate = detail.rate.counted_seconds.map_or_else(String::new, |over| {
        format!("{} connects/s, counted for {}\n", figure(detail.rate.per_second), seconds(over))
    });
    format!("{server}{}\n{rate}{}", words::sessions(detail), parts.collect::<String>())
}

/// Those of the others stand in the page and in the JSON.
const SHOWN: [Quantity; 3] = [Quantity::ServerCpu, Quantity::Time, Quantity::PageFaults];

fn part(comparison: &Comparison, rate: Rate) -> String {
    let heading = if comparison.name.is_empty() { String::new() } else { format!("{}. ", comparison.name) };
    let mut text = format!("\n{heading}{}\n", words::rounds(comparison));
    let mut rows = words::kinds(comparison, rate);
    if !comparison.name.is_empty() {
        let names = comparison.kinds.iter().map(|kind| words::kind(kind).to_owned()).collect();
        rows.insert(0, ("per connect".to_owned(), names));
    }
    text += &table(&rows);
    for kind in comparison.kinds.iter().skip(1) {
        let effects = comparison.effects.iter().filter(|effect| effect.to == kind.value);
        let effects = effects.filter(|effect| SHOWN.contains(&effect.quantity)).map(|effect| {
            let (found, note) = words::effect(effect, rate.per_second);
            (effect.quantity.name().to_owned(), vec![found, note])
        });
        let from = comparison.kinds.first().map_or("", words::kind);
        text += &format!("\n{} against {from}:\n{}", words::kind(kind), left(&effects.collect::<Vec<_>>()));
    }
    comparison.profile.as_ref().map_or(text.clone(), |profile| text + &functions(comparison, profile))
}

/// Where the time goes: the first functions of the profile.
fn functions(comparison: &Comparison, profile: &Profile) -> String {
    const FIRST: usize = 15;
    let names = comparison.kinds.iter().map(|kind| format!("{} µs", words::kind(kind))).collect();
    let functions = profile.functions.iter().take(FIRST).map(|function| {
        let name = format!("{} ({})", shortened(&function.name), function.object);
        (name, function.microseconds.iter().map(|microseconds| figure(*microseconds)).collect())
    });
    let rows: Vec<(String, Vec<String>)> =
        [("server CPU per connect, by function".to_owned(), names)].into_iter().chain(functions).collect();
    format!("\n{}", table(&rows))
}

/// Names of C++ functions tell their arguments too.
fn shortened(name: &str) -> String {
    const MOST: usize = 60;
    if name.chars().count() <= MOST {
        name.to_owned()
    } else {
        name.chars().take(MOST - 1).chain(['…']).collect()
    }
}

/// Lines of a name to the left and cells to the right.
fn table(rows: &[(String, Vec<String>)]) -> String {
    aligned(rows, |cell, width| format!("{cell:>width$}"))
}

/// The same with the cells to the left.
fn left(rows: &[(String, Vec<String>)]) -> String {
    aligned(rows, |cell, width| format!("{cell:<width$}"))
}

fn aligned(rows: &[(String, Vec<String>)], cell: impl Fn(&str, usize) -> String) -> String {
    let width = |text: &str| text.chars().count();
    let first = rows.iter().map(|(name, _)| width(name)).max().unwrap_or(0);
    let columns = rows.iter().map(|(_, cells)| cells.len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|column| {
            rows.iter().filter_map(|(_, cells)| cells.get(column)).map(|cell| width(cell)).max().unwrap_or(0)
        })
        .collect();
    let mut text = String::new();
    for (name, cells) in rows {
        let cells = cells.iter().zip(&widths).map(|(text, width)| cell(text, *width));
        let line = [format!("  {name:<first$}")].into_iter().chain(cells).collect::<Vec<_>>().join("  ");
        text += line.trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_aligned() {
        let row = |name: &str, cells: &[&str]| {
            (name.to_owned(), cells.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>())
        };
        let rows = [row("a", &["128K", "5M"]), row("longer", &["9 µs", "10 µs"])];
        assert_eq!(table(&rows), "  a       128K     5M\n  longer  9 µs  10 µs\n");
        assert_eq!(left(&rows), "  a       128K  5M\n  longer  9 µs  10 µs\n");
        assert_eq!(shortened(&"x".repeat(80)).chars().count(), 60);
    }
}
