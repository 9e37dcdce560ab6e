//! Amounts over time, as columns.

use std::collections::BTreeMap;
use std::fmt::{self, Formatter};

use crate::axis::{Range, Tick, rounded};
use crate::calendar::{moment, ticks};
use crate::chart::{Frame, Pixels, longest, percent};
use crate::escape::Escaped;
use crate::table::{Cell, Column, Table};
use drover_units::Unit;
use drover_units::show;

/// Amounts over time: for each of several measures a row of columns, over one axis of time.
#[derive(Debug, Clone)]
pub struct Timeline {
    /// The length of the spans, in seconds.
    width: i64,
    /// How far the clock of the page is ahead of UTC, in seconds.
    offset: i64,
    measures: Vec<(String, Unit)>,
    spans: Vec<(i64, Vec<f64>)>,
}

/// Spans as they are drawn: by number, with as many amounts as there are measures.
#[derive(Debug, Clone, PartialEq)]
struct Spans {
    width: i64,
    /// How far the numbers' clock is ahead of UTC.
    shift: i64,
    first: i64,
    last: i64,
    by_number: BTreeMap<i64, Vec<f64>>,
}

/// A measure as it is drawn.
struct Row {
    measure: usize,
    title: String,
    description: String,
    range: Range,
    y: Vec<Tick>,
}

/// More columns are not told apart.
const MOST: i64 = 240;
/// Of a row of columns, in pixels.
const HEIGHT: f64 = 150.0;
/// A column, as a part of the chart.
const WIDEST: f64 = 0.05;
/// Lengths of spans that a person reads easily, in seconds.
const WIDTHS: [i64; 21] = [
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800,
    604_800, 2_419_200,
];

impl Timeline {
    /// One without spans: these are of `width` seconds each, and times are shown on a clock that is `offset` seconds ahead of UTC.
    pub fn new(width: u32, offset: i32) -> Self {
        Self {
            width: i64::from(width.max(1)),
            offset: offset.into(),
            measures: Vec::new(),
            spans: Vec::new(),
        }
    }

    /// Adds a measure.
    #[must_use]
    pub fn measure(mut self, name: &str, unit: Unit) -> Self {
        self.measures.push((name.to_owned(), unit));
        self
    }

    /// Adds a span that begins at `start`, in seconds since 1970, with what there was of each measure in it. Spans without anything
    /// need not be added, and those of one start add up.
    pub fn span(&mut self, start: i64, amounts: &[f64]) {
        self.spans.push((start, amounts.to_vec()));
    }

    /// The spans, made longer where they are too many to be drawn; `None` where there are none.
    fn spans(&self) -> Option<Spans> {
        let starts = || self.spans.iter().map(|(start, _)| *start);
        let (earliest, latest) = (starts().min()?, starts().max()?);
        // Days begin at midnight on the clock of the page where the given spans allow it.
        let shift = if self.offset % self.width == 0 { self.offset } else { 0 };
        let number = |start: i64, width: i64| start.saturating_add(shift).div_euclid(width);
        let fits = |width: i64| number(latest, width).saturating_sub(number(earliest, width)) < MOST;
        let longer = WIDTHS.into_iter().filter(|width| width % self.width == 0);
        let doubled = std::iter::successors(Some(self.width), |width| width.checked_mul(2));
        let width = longer.chain(doubled).find(|&width| fits(width))?;
        let (first, last) = (number(earliest, width), number(latest, width));
        let mut by_number: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
        for (start, amounts) in &self.spans {
            let into =
                by_number.entry(number(*start, width)).or_insert_with(|| vec![0.0; self.measures.len()]);
            for (sum, amount) in into.iter_mut().zip(amounts).filter(|(_, amount)| amount.is_finite()) {
                *sum += amount;
            }
        }
        Some(Spans { width, shift, first, last, by_number })
    }

    pub(crate) fn html(&self, f: &mut Formatter<'_>, id: &str) -> fmt::Result {
        let Some(spans) = self.spans() else { return writeln!(f, "<p class=\"note\">Nothing to show.</p>") };
        // Marks are on the clock of the page, wherever the spans begin.
        let clock = self.offset - spans.shift;
        let start = spans.start(spans.first).saturating_add(clock);
        let end = spans.start(spans.last).saturating_add(clock).saturating_add(spans.width);
        let x = ticks(start, end, 10);
        let rows: Vec<Row> = (0..self.measures.len()).map(|measure| self.row(&spans, measure)).collect();
        // One below the other, they stand over the same times.
        let label = rows.iter().map(|row| longest(&row.y)).max().unwrap_or(0);
        for (number, row) in rows.iter().enumerate() {
            let id = format!("{id}m{number}");
            let (title, description, y) = (&row.title, &row.description, &row.y);
            writeln!(f, "<figure><figcaption>{}</figcaption>", Escaped(title))?;
            let frame = Frame { id: &id, title, description, height: HEIGHT, label, x: &x, y };
            frame.draw(f, |f| self.columns(f, &spans, row))?;
            writeln!(f, "</figure>")?;
        }
        write!(f, "<details><summary>The figures of the columns</summary>")?;
        self.table(&spans).html(f)?;
        writeln!(f, "</details>")
    }

    /// How a measure is to be drawn.
    fn row(&self, spans: &Spans, measure: usize) -> Row {
        let (name, unit) = &self.measures[measure];
        let amounts = spans.by_number.iter().map(|(&number, amounts)| (number, amounts[measure]));
        let highest = amounts.max_by(|one, other| one.1.total_cmp(&other.1));
        let (number, highest) = highest.unwrap_or((spans.first, 0.0));
        let (range, y) = rounded(*unit, 0.0, highest, 4);
        let title = format!("{name} in each {}", show::span(spans.width.unsigned_abs()));
        let description = format!(
            "From {} to {}; the most is {}, from {} on.",
            self.shown(spans, spans.first),
            self.shown(spans, spans.last.saturating_add(1)),
            unit.text(highest),
            self.shown(spans, number)
        );
        Row { measure, title, description, range, y }
    }

    fn columns(&self, f: &mut Formatter<'_>, spans: &Spans, row: &Row) -> fmt::Result {
        let each = 1.0 / (spans.last - spans.first + 1) as f64;
        // Few columns have room between them.
        let wide = if each > 1.0 / 100.0 { (each * 0.85).min(WIDEST) } else { each };
        for (&number, amounts) in &spans.by_number {
            let at = (number - spans.first) as f64 * each;
            let tall = match row.range.place(amounts[row.measure]).unwrap_or(0.0) * HEIGHT {
                0.0 => 0.0,
                // What is not nothing is seen.
                tall => tall.max(1.0),
            };
            writeln!(
                f,
                "<g><title>{}</title><rect class=\"hit\" x=\"{}\" width=\"{}\" height=\"{HEIGHT}\"/>\
                 <rect class=\"c1 column\" x=\"{}\" width=\"{}\" y=\"{}\" height=\"{}\"/></g>",
                Escaped(&self.told(spans, number, amounts)),
                percent(at),
                percent(each),
                percent(at + (each - wide) / 2.0),
                percent(wide),
                Pixels(HEIGHT - tall),
                Pixels(tall),
            )?;
        }
        Ok(())
    }

    /// What a column says when it is pointed at.
    fn told(&self, spans: &Spans, number: i64, amounts: &[f64]) -> String {
        let mut text =
            format!("{} to {}", self.shown(spans, number), self.shown(spans, number.saturating_add(1)));
        for ((name, unit), amount) in self.measures.iter().zip(amounts) {
            text += &format!("\u{2002}{name}: {}", unit.text(*amount));
            if let Some(rate) = unit.per_second().filter(|_| spans.width > 1) {
                text += &format!(" ({})", rate.text(amount / spans.width as f64));
            }
        }
        text
    }

    fn table(&self, spans: &Spans) -> Table {
        let measures = self.measures.iter().map(|(name, unit)| Column::amount(name, *unit));
        let begins = format!("{} from", capital(&show::span(spans.width.unsigned_abs())));
        let mut table = Table::new("", [Column::text(&begins)].into_iter().chain(measures)).whole();
        for (&number, amounts) in &spans.by_number {
            let cells = amounts.iter().map(|&amount| Cell::Amount(amount));
            table.row([Cell::Text(self.shown(spans, number))].into_iter().chain(cells));
        }
        table
    }

    /// When a span begins, on the clock of the page.
    fn shown(&self, spans: &Spans, number: i64) -> String {
        moment(spans.start(number).saturating_add(self.offset - spans.shift))
    }
}

impl Spans {
    /// When a span begins, on the clock that the numbers are counted on.
    fn start(&self, number: i64) -> i64 {
        number.saturating_mul(self.width)
    }
}

fn capital(text: &str) -> String {
    let mut characters = text.chars();
    characters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().collect::<String>() + characters.as_str())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn timeline(width: u32, offset: i32, spans: &[(i64, f64)]) -> Timeline {
        let mut timeline = Timeline::new(width, offset).measure("Bytes", Unit::Bytes);
        spans.iter().for_each(|&(start, amount)| timeline.span(start, &[amount]));
        timeline
    }

    #[test]
    fn days_begin_at_midnight_on_the_clock_of_the_page() {
        const DAY: i64 = 86_400;
        // Two hours ahead of UTC, the day begins at 22:00 UTC.
        let hours: Vec<_> = (0..100 * 24).map(|hour| (hour * 3600, 1.0)).collect();
        let spans = timeline(3600, 7200, &hours).spans().unwrap();
        assert_eq!((spans.width, spans.first, spans.last), (12 * 3600, 0, 200));
        assert_eq!(
            spans.by_number.values().map(|amounts| amounts[0]).take(2).collect::<Vec<_>>(),
            [10.0, 12.0]
        );
        let spans = timeline(86_400, 7200, &[(0, 1.0), (400 * DAY, 1.0)]).spans().unwrap();
        assert_eq!((spans.width, spans.shift, spans.last), (2 * DAY, 0, 200));
    }

    #[test]
    fn spans_that_nobody_expects() {
        assert_eq!(timeline(1, 0, &[]).spans(), None);
        let spans = timeline(0, 0, &[(i64::MIN, 1.0), (i64::MAX, f64::NAN), (0, 2.0)]).spans().unwrap();
        assert_eq!(spans.by_number.values().map(|amounts| amounts[0]).sum::<f64>(), 3.0);
        assert!(spans.last - spans.first < MOST);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_when_spans_grow(
            width in 1..100_000_u32,
            offset in -50_000..50_000_i32,
            counts in prop::collection::vec((any::<u32>(), 1..1000_u32), 1..500),
        ) {
            let given: Vec<_> = counts.iter().map(|&(at, amount)| (i64::from(at - at % width), f64::from(amount))).collect();
            let spans = timeline(width, offset, &given).spans().unwrap();
            prop_assert_eq!(spans.width % i64::from(width), 0);
            prop_assert!(spans.last - spans.first < MOST);
            let (first, last) = (spans.start(spans.first) - spans.shift, spans.start(spans.last) - spans.shift);
            prop_assert!(given.iter().all(|(start, _)| (first..last + spans.width).contains(start)));
            let sum: f64 = spans.by_number.values().map(|amounts| amounts[0]).sum();
            prop_assert_eq!(sum, given.iter().map(|(_, amount)| amount).sum::<f64>());
        }
    }
}
