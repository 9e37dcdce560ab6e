//! The page of `bench connect`.

use std::path::Path;

use drover_report::{Axis, Block, Cell, Column, Figures, Lines, Section, Table};
use drover_units::Unit;

use super::cost::{Effect, Quantity};
use super::profile::Profile;
use super::report::{Comparison, ConnectDetail, Kind, Rate};
use super::words;
use crate::report::Report;
use crate::{Result, figure, page};

/// Writes it.
pub(super) fn write(report: &Report<ConnectDetail>, path: &Path) -> Result<()> {
    let detail = &report.detail;
    let mut html = page::page("What a connect costs", report).section(summary(detail));
    for comparison in &detail.comparisons {
        html = html.section(section(comparison, detail.rate));
    }
    let measures =
        Section::new("What can be compared").note("With the result of another run, by drover bench compare.");
    html = html.section(measures.with(page::measures(&report.measures))).section(page::environment(report));
    page::write(&html.foot("Made by drover bench connect."), path)
}

/// The figures that say the most: of each comparison what the last kind does to the server's CPU time, or to the time.
fn summary(detail: &ConnectDetail) -> Section {
    let mut figures = Figures::new();
    for comparison in &detail.comparisons {
        let Some(kind) = comparison.kinds.first() else { continue };
        if comparison.effects.is_empty() {
            for cost in &kind.costs {
                let value = format!("{} {}", figure(cost.mean), cost.quantity.unit());
                figures = figures.with(cost.quantity.name(), value, "per connect");
            }
        }
        for (from, to, effect) in main_effects(comparison) {
            let name = format!("{}={to}", comparison.name);
            let (value, note) = words::effect(effect, detail.rate.per_second);
            figures =
                figures.with(&name, value, format!("{}, against {from}\n{note}", effect.quantity.name()));
        }
    }
    let sessions = words::sessions(detail);
    Section::new("").note(sessions).with(figures)
}

/// For each kind but the first the effect that counts most.
fn main_effects(comparison: &Comparison) -> impl Iterator<Item = (&str, &str, &Effect)> {
    comparison.kinds.iter().skip(1).filter_map(move |kind| {
        let of = |quantity| {
            comparison.effects.iter().find(|effect| effect.to == kind.value && effect.quantity == quantity)
        };
        let effect = of(Quantity::ServerCpu).or_else(|| of(Quantity::Time))?;
        Some((effect.from.as_str(), effect.to.as_str(), effect))
    })
}

fn section(comparison: &Comparison, rate: Rate) -> Section {
    let heading = if comparison.name.is_empty() { "A connect" } else { &comparison.name };
    let mut section = Section::new(heading).note(words::rounds(comparison)).with(kinds(comparison, rate));
    if !comparison.effects.is_empty() {
        section = section.with(effects(comparison, rate));
    }
    section = section.with(by_round(comparison)).with(percentiles(comparison));
    match &comparison.profile {
        Some(profile) => section.with(functions(comparison, profile)),
        None => section,
    }
}

/// Costs and latencies, a column for each kind.
fn kinds(comparison: &Comparison, rate: Rate) -> Table {
    let names = comparison.kinds.iter().map(|kind| Column::text(words::kind(kind)));
    let mut table = Table::new("", [Column::text("per connect")].into_iter().chain(names)).whole();
    for (name, cells) in words::kinds(comparison, rate) {
        table.row([Cell::Text(name)].into_iter().chain(cells.into_iter().map(Cell::Text)));
    }
    table
}

fn effects(comparison: &Comparison, rate: Rate) -> Table {
    let columns = ["against", "of", "effect", "interval (95 % for all effects together)"].map(Column::text);
    let mut table = Table::new("Effects", columns).whole();
    for effect in &comparison.effects {
        let (value, note) = words::effect(effect, rate.per_second);
        let against = format!("{} against {}", words::value(&effect.to), words::value(&effect.from));
        table.row([against, effect.quantity.name().to_owned(), value, note].map(Cell::Text));
    }
    table
}

/// What a connect cost in each round.
fn by_round(comparison: &Comparison) -> Lines {
    let (quantity, title) = match comparison.kinds.first().and_then(|kind| kind.cost(Quantity::ServerCpu)) {
        Some(_) => (Quantity::ServerCpu, "Server CPU per connect, round by round"),
        None => (Quantity::Time, "Time of a connect, round by round"),
    };
    let mut lines =
        Lines::new(title, Axis::linear("round", Unit::Count), Axis::linear(quantity.name(), Unit::Seconds));
    for kind in &comparison.kinds {
        let points = kind.rounds.iter().zip(1_u32..);
        let points = points.filter_map(|(cost, round)| Some((f64::from(round), cost.of(quantity)? / 1e6)));
        lines.curve(words::kind(kind), points.collect::<Vec<_>>());
    }
    lines
}

/// How long sessions took.
fn percentiles(comparison: &Comparison) -> Lines {
    let axis = Axis::linear("share of the sessions that were faster", Unit::Share);
    let mut lines = Lines::new("How long sessions took", axis, Axis::log("time", Unit::Seconds));
    for kind in &comparison.kinds {
        let seconds = |(share, microseconds): (f64, f64)| (share, microseconds / 1e6);
        lines.curve(words::kind(kind), kind.session.curve().map(seconds));
    }
    lines
}

fn functions(comparison: &Comparison, profile: &Profile) -> Block {
    let kinds = comparison.kinds.iter().zip(&profile.samples);
    let names = kinds.map(|(kind, samples)| of_samples(kind, *samples));
    let columns = [Column::text("function"), Column::text("in")];
    let columns = columns.into_iter().chain(names.map(|name| Column::amount(&name, Unit::Seconds)));
    let mut table = Table::new("Where the server's time goes, per connect", columns).whole();
    for function in &profile.functions {
        let amounts = function.microseconds.iter().map(|microseconds| Cell::Amount(microseconds / 1e6));
        let first = [Cell::Text(function.name.clone()), Cell::Text(function.object.clone())];
        table.row(first.into_iter().chain(amounts));
    }
    Block::Table(table)
}

fn of_samples(kind: &Kind, samples: u64) -> String {
    format!("{} ({} samples)", words::kind(kind), drover_units::show::count(samples))
}
