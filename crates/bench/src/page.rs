//! What all pages of results have in common.

use std::path::Path;

use drover_report::{Block, Cell, Column, Page, Section, Table};

use crate::report::{Measure, Report};
use crate::{Error, Result};

/// A page with its head; sections of the bench's own come next.
pub(crate) fn page<D>(title: &str, report: &Report<D>) -> Page {
    let subtitle = format!("drover {}, {}, seed {}", report.drover, report.started_at, report.seed);
    let page = Page::new(title).subtitle(subtitle);
    if report.warnings.is_empty() {
        return page;
    }
    let section = Section::new("To be known");
    page.section(
        report.warnings.iter().fold(section, |section, text| section.with(Block::Text(text.clone()))),
    )
}

/// The table of what is compared between results.
pub(crate) fn measures(measures: &[Measure]) -> Table {
    let columns = [
        Column::text("measure"),
        Column::text("median"),
        Column::text("95 % of means within"),
        Column::text("each repeat"),
    ];
    let mut table = Table::new("", columns);
    for measure in measures {
        let with_unit = |value: f64| format!("{} {}", figure(value), measure.unit);
        let interval = measure.interval.map_or_else(
            || "not known of one repeat".to_owned(),
            |interval| format!("{} to {}", figure(interval.low), with_unit(interval.high)),
        );
        let each = measure.values.iter().map(|value| figure(*value)).collect::<Vec<_>>().join(", ");
        table.row([
            Cell::Text(measure.name.clone()),
            Cell::Text(with_unit(measure.median)),
            Cell::Text(interval),
            Cell::Text(each),
        ]);
    }
    table
}

/// The last section of each page: on what it was measured.
pub(crate) fn environment<D>(report: &Report<D>) -> Section {
    let mut table = Table::new("", [Column::text("what"), Column::text("value")]).whole();
    for (name, value) in report.environment.facts() {
        table.row([Cell::Text(name), Cell::Text(value)]);
    }
    Section::new("Measured on").with(Block::Table(table))
}

/// Writes a page.
pub(crate) fn write(page: &Page, path: &Path) -> Result<()> {
    std::fs::write(path, page.to_string()).map_err(Error::file(path))
}

/// A number with three digits or so: `0.0123`, `1.23`, `123`, `12,346`.
pub fn figure(value: f64) -> String {
    match value.abs() {
        size if size >= 1000.0 => {
            let sign = if value < 0.0 { "-" } else { "" };
            format!("{sign}{}", drover_units::show::count(size.round() as u64))
        }
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        0.0 => "0".to_owned(),
        size => {
            let digits = (2.0 - size.log10().floor()).clamp(0.0, 12.0) as usize;
            format!("{value:.digits$}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_or_so() {
        let figures = [0.0, 0.012_34, 0.5, 1.234, 12.34, 123.4, 12_345.6, -1234.0].map(figure);
        assert_eq!(figures, ["0", "0.0123", "0.500", "1.23", "12.3", "123", "12,346", "-1,234"]);
    }
}
