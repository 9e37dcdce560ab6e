//! The page of a comparison.

use std::path::Path;

use drover_report::{Axis, Block, Cell, Column, Figures, Lines, Page, Section, Table};
use drover_units::Unit;
use drover_units::show::things;

use super::VersusDetail;
use crate::Result;
use crate::page::{self, figure};
use crate::report::Report;
use crate::statistics;

pub(super) fn write(report: &Report<VersusDetail>, path: &Path) -> Result<()> {
    let detail = &report.detail;
    let title = format!("New-Orders a minute, by {}", detail.changed);
    let page = page::page(&title, report)
        .section(summary(detail))
        .section(Section::new("Each repeat").note(
            "All of them run in each repeat, in an order of its own. What the machine itself does between repeats shows in all curves; \
             what the change does is the distance between them.",
        ).with(Block::Lines(curves(detail))))
        .section(Section::new("Figures").with(Block::Table(page::measures(&report.measures))))
        .section(page::environment(report))
        .foot("Each is compared with the first one of the same repeat; intervals hold the true mean in 95 of 100 such measurements.");
    page::write(&rules(detail).into_iter().fold(page, Page::section), path)
}

/// How to keep the best one, if there is one.
fn rules(detail: &VersusDetail) -> Option<Section> {
    let rules = detail.to_keep.join(" ");
    let how = format!(
        "This rule of udev sets it again after a boot, in /etc/udev/rules.d/60-scheduler.rules: {rules}"
    );
    (!rules.is_empty()).then(|| Section::new("To keep the best one").note(how))
}

fn summary(detail: &VersusDetail) -> Section {
    let mut figures = Figures::new();
    for variant in &detail.variants {
        figures = figures.with(&variant.name, figure(statistics::median(&variant.nopm)), variant.words());
    }
    let note = format!(
        "{}, {}, {} s each time.",
        things(detail.warehouses.into(), "warehouse"),
        things(detail.connections.into(), "connection"),
        detail.seconds_each
    );
    let columns = [
        Column::text(detail.changed),
        Column::amount("New-Orders a minute", Unit::Count).with_bars(),
        Column::text("their p99"),
    ];
    let mut table = Table::new("", columns).whole();
    for variant in &detail.variants {
        table.row([
            Cell::Text(variant.name.clone()),
            Cell::Amount(statistics::median(&variant.nopm).round()),
            Cell::Text(format!("{} ms", figure(statistics::median(&variant.new_order_p99_ms)))),
        ]);
    }
    Section::new("").note(note).with(Block::Figures(figures)).with(Block::Table(table))
}

fn curves(detail: &VersusDetail) -> Lines {
    let x = Axis::linear("repeat", Unit::Count);
    let mut lines =
        Lines::new("New-Orders a minute in each repeat", x, Axis::linear("New-Orders a minute", Unit::Count));
    for variant in &detail.variants {
        lines.curve(&variant.name, (1..).zip(&variant.nopm).map(|(repeat, nopm)| (f64::from(repeat), *nopm)));
    }
    lines
}
