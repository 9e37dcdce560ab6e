//! What logs cost, as a page with charts.

use drover_report::{Axis, Block, Cell, Column, Figures, Lines, Page, Parts, Section, Table, Timeline};
use drover_units::Unit;
use drover_units::show::{bit_rate, bytes, count, span, things};
use jiff::Timestamp;
use jiff::tz::{Offset, TimeZone};

use crate::time::shown;

use super::cures::Basis;
use super::report::{CostReport, CureReport, LinkReport};
use super::safety::Safety;

/// So many statements are in the table; all are in the JSON.
const MOST_STATEMENTS: usize = 200;
/// So many curves are told apart.
const MOST_CURVES: usize = 4;

impl CostReport {
    /// A page that shows it, with times in the zone of this machine.
    pub fn page(&self) -> Page {
        self.page_in(&TimeZone::system())
    }

    /// With times on the clock that the zone had at the end of the last log.
    fn page_in(&self, zone: &TimeZone) -> Page {
        let end = self.logs.iter().filter_map(|log| log.last).max();
        let end = end.and_then(|end| Timestamp::from_second(end.into()).ok());
        let view = View { cost: self, offset: end.map_or(Offset::UTC, |end| zone.to_offset(end)) };
        let mut page = Page::new("What the binary logs cost")
            .subtitle(view.subtitle())
            .section(Section::new("").with(view.figures()))
            .section(view.cures());
        page = view.lag().into_iter().fold(page, Page::section);
        page = page.section(view.tables());
        page = view.over_time().into_iter().fold(page, Page::section);
        page = page.section(view.statements());
        page = view.transactions().into_iter().fold(page, Page::section);
        page.foot(format!(
            "Made by drover {} from its binlog cost. Sizes are in powers of 1000, times are UTC{:+}.",
            env!("CARGO_PKG_VERSION"),
            view.offset.seconds() / 3600
        ))
    }

    /// The cure that saves most, if any saves anything.
    pub fn best(&self) -> Option<&CureReport> {
        let cures = self.cures.iter().filter(|cure| cure.saved > 0.0);
        cures.min_by_key(|cure| cure.bytes)
    }
}

/// What is shown, and on which clock.
struct View<'a> {
    cost: &'a CostReport,
    offset: Offset,
}

impl View<'_> {
    fn subtitle(&self) -> String {
        let name = |name: &str| name.rsplit('/').next().unwrap_or(name).to_owned();
        let names = match &self.cost.logs[..] {
            [] => return "no log".into(),
            [one] => name(&one.name),
            [first, .., last] => format!("{} to {}", name(&first.name), name(&last.name)),
        };
        match self.cost.logs.iter().map(|log| &log.server_version).find(|version| !version.is_empty()) {
            Some(version) => format!("{names}, written by {version}"),
            None => names,
        }
    }

    fn figures(&self) -> Figures {
        let cost = self.cost;
        let mut figures = Figures::new()
            .with("Size", bytes(cost.bytes.total), format!("in {}", things(cost.logs.len() as u64, "log")))
            .with("Transactions", count(cost.transactions), "");
        if let Some((table, most)) = cost.bytes.by_table.iter().max_by_key(|(_, bytes)| **bytes) {
            figures = figures.with("Most by", percent(*most, cost.bytes.total), table.clone());
        }
        if let Some(best) = cost.best() {
            figures = figures.with("Best cure saves", Unit::Share.text(best.saved), best.title);
        }
        if let (Some(link), Some(lag)) = (&cost.link, cost.cures.first().and_then(|today| today.lag.as_ref()))
        {
            let note = format!("over {}", bit_rate(link.bytes_per_second));
            figures = figures.with("Longest lag", Unit::Seconds.text(lag.longest), note);
        }
        figures
    }

    /// What the logs would take.
    fn cures(&self) -> Section {
        let has_lag = self.cost.link.is_some();
        let mut columns = vec![
            Column::text("Log"),
            Column::amount("Bytes", Unit::Bytes).with_bars(),
            Column::amount("Saved", Unit::Share),
        ];
        if has_lag {
            columns.push(Column::amount("Longest lag", Unit::Seconds));
        }
        columns.extend([Column::text("Told"), Column::text("What to set")]);
        let mut table = Table::new("", columns);
        for cure in &self.cost.cures {
            let is_today = cure.settings.is_empty();
            let lag =
                has_lag.then(|| cure.lag.as_ref().map_or(Cell::Missing, |lag| Cell::Amount(lag.longest)));
            let told = if cure.basis == Basis::Exact { "exactly" } else { "about" };
            let saved = if is_today { Cell::Missing } else { Cell::Amount(cure.saved) };
            let cells = [cure.title.into(), cure.bytes.into(), saved];
            let rest = [told.into(), cure.settings.join(", ").as_str().into()];
            table.row(cells.into_iter().chain(lag).chain(rest));
        }
        let mut section = Section::new("What would help")
            .note("The same traffic with other settings. Exactly: made here byte for byte, as the server makes it.")
            .with(table);
        for why in self.cost.doubts() {
            section = section.with(Block::Text(format!("About: {why}.")));
        }
        section
    }

    /// Who fills the logs.
    fn tables(&self) -> Section {
        let cost = self.cost;
        let mut parts = Parts::new(Unit::Bytes, &["Rows, by table"]);
        for (table, bytes) in &cost.bytes.by_table {
            parts.add(0, table.as_str(), *bytes);
        }
        parts.rest("not rows", cost.bytes.other);
        let mut table = Table::new(
            "",
            [
                Column::text("Table"),
                Column::amount("Bytes", Unit::Bytes).with_bars(),
                Column::amount("Rows alone", Unit::Bytes),
                Column::amount("with MINIMAL", Unit::Bytes),
                Column::amount("with NOBLOB", Unit::Bytes),
                Column::text("Key"),
            ],
        );
        for one in &cost.tables {
            let key = match (one.key, one.has_key) {
                (super::shape::KeySource::Known, true) => "known",
                (super::shape::KeySource::Known, false) => "none",
                (super::shape::KeySource::Assumed, _) => "assumed",
            };
            table.row([
                one.table.as_str().into(),
                cost.bytes.by_table.get(&one.table).copied().into(),
                one.rows_bytes.into(),
                one.minimal_rows_bytes.into(),
                one.noblob_rows_bytes.into(),
                key.into(),
            ]);
        }
        Section::new("Who fills them")
            .note("Every byte is charged to what caused it: what is around rows (identifiers, descriptions, commits) to these, by their size.")
            .with(parts)
            .with(Block::Folded("All tables".into(), table))
    }

    /// The largest transactions.
    fn transactions(&self) -> Option<Section> {
        let largest = &self.cost.largest;
        largest.first()?;
        let columns = [
            Column::text("Begun"),
            Column::amount("Bytes", Unit::Bytes).with_bars(),
            Column::amount("Events", Unit::Count),
            Column::text("Log"),
            Column::digits("Position"),
        ];
        let mut table = Table::new("", columns);
        for one in largest {
            let name = one.log.rsplit('/').next().unwrap_or(&one.log);
            let begun = shown(one.time, &TimeZone::fixed(self.offset));
            table.row([begun.into(), one.bytes.into(), one.events.into(), name.into(), one.position.into()]);
        }
        Some(Section::new("The largest transactions").with(table))
    }

    fn over_time(&self) -> Option<Section> {
        let minutes = &self.cost.minutes;
        let spans = || minutes.spans.iter().filter(|span| span.start > 0);
        spans().nth(1)?;
        let mut timeline = Timeline::new(minutes.span_seconds, self.offset.seconds())
            .measure("Bytes", Unit::Bytes)
            .measure("Transactions", Unit::Count);
        for span in spans() {
            timeline.span(span.start.into(), &[span.bytes as f64, span.transactions as f64]);
        }
        let note = format!(
            "A transaction counts in the {} in which it was committed.",
            span(minutes.span_seconds.into())
        );
        Some(Section::new("When").note(note).with(timeline))
    }

    /// The lag today, and under the cures that save most.
    fn lag(&self) -> Option<Section> {
        let link = self.cost.link.as_ref()?;
        let rate = bit_rate(link.bytes_per_second);
        let heading = format!("The lag of a link of {rate}");
        let Some(first) = link.spans.first() else {
            return Some(Section::new(&heading).with(Block::Text("No transaction was there.".into())));
        };
        let note = format!(
            "How long it would take until all that was committed had been carried; from {} on.",
            shown(first.start, &TimeZone::fixed(self.offset))
        );
        let (x, y) = (Axis::linear("Time", Unit::Seconds), Axis::linear("Lag", Unit::Seconds));
        let mut lines = Lines::new("Lag over time", x, y);
        for cure in self.shown_curves() {
            lines.curve(self.cost.cures[cure].title, points(link, cure));
        }
        Some(Section::new(&heading).note(note).with(lines))
    }

    /// Today's log, and those of the cures that save most.
    fn shown_curves(&self) -> Vec<usize> {
        let mut cures: Vec<usize> = (1..self.cost.cures.len()).collect();
        cures.sort_by_key(|&cure| self.cost.cures[cure].bytes);
        cures.retain(|&cure| self.cost.cures[cure].saved > 0.0);
        cures.truncate(MOST_CURVES - 1);
        cures.insert(0, 0);
        cures.retain(|&cure| cure < self.cost.cures.len());
        cures
    }

    fn statements(&self) -> Section {
        let mut table = Table::new(
            "",
            [
                Column::text("Statement"),
                Column::amount("Bytes", Unit::Bytes).with_bars(),
                Column::amount("Run", Unit::Count),
                Column::text("As a statement"),
            ],
        );
        for one in self.cost.statements.iter().take(MOST_STATEMENTS) {
            let safety = match one.verdict.safety {
                Safety::Safe => "safe".to_owned(),
                Safety::Unsafe => one.verdict.reasons.join(", ").replace("BINLOG_STMT_UNSAFE_", ""),
                Safety::Unknown => "unknown".to_owned(),
            };
            table.row([one.text.as_str().into(), one.bytes.into(), one.count.into(), safety.as_str().into()]);
        }
        Section::new("Which statements")
            .note("Without their values. What is in capitals is why a statement is unsafe: BINLOG_STMT_UNSAFE_… of the server.")
            .with(table)
    }
}

impl CostReport {
    /// The minute in which most was committed: when it began, in the zone of this machine, and how many bytes. `None` where no time is
    /// known.
    pub fn busiest(&self) -> Option<(String, u64)> {
        let spans = self.minutes.spans.iter().filter(|span| span.start > 0);
        let most = spans.max_by_key(|span| span.bytes)?;
        Some((shown(most.start, &TimeZone::system()), most.bytes))
    }

    /// All reasons why sizes are not told exactly, each once.
    pub fn doubts(&self) -> Vec<&'static str> {
        let mut all: Vec<&'static str> = Vec::new();
        for why in self.cures.iter().flat_map(|cure| &cure.why) {
            if !all.contains(why) {
                all.push(why);
            }
        }
        all
    }
}

/// The lag of one log over time: between spans there is none.
fn points(link: &LinkReport, cure: usize) -> Vec<(f64, f64)> {
    let start = link.spans.first().map_or(0, |span| span.start);
    let mut points: Vec<(f64, f64)> = Vec::new();
    let width = link.span_seconds;
    let mut end = start;
    for span in &link.spans {
        if span.start > end {
            points.push((f64::from(end - start), 0.0));
            points.push((f64::from(span.start - start), 0.0));
        }
        let lag = span.lag.get(cure).copied().unwrap_or(0.0);
        points.push((f64::from(span.start - start), lag));
        end = span.start.saturating_add(width);
    }
    points.push((f64::from(end - start), 0.0));
    points
}

fn percent(part: u64, whole: u64) -> String {
    Unit::Share.text(part as f64 / whole.max(1) as f64)
}
