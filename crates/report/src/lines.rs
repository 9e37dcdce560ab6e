//! Curves: how one measure goes with another.

use std::collections::BTreeMap;
use std::fmt::{self, Formatter, Write as _};

use crate::axis::{Range, Tick, linear, logarithmic, rounded, spaced};
use crate::chart::{Frame, Pixels, colour, longest, percent, short};
use crate::escape::Escaped;
use crate::table::{Cell, Column, Table};
use drover_units::Unit;

pub use crate::axis::Scale;

/// Several curves over one axis.
#[derive(Debug, Clone)]
pub struct Lines {
    title: String,
    x: Axis,
    y: Axis,
    curves: Vec<Curve>,
    levels: Vec<(String, f64)>,
}

/// An axis.
#[derive(Debug, Clone)]
pub struct Axis {
    /// What is on it.
    pub name: String,
    /// What its numbers are of.
    pub unit: Unit,
    /// How they are spread.
    pub scale: Scale,
}

/// A curve.
#[derive(Debug, Clone)]
struct Curve {
    name: String,
    points: Vec<(f64, f64)>,
}

/// In pixels.
const HEIGHT: f64 = 240.0;
/// A curve of more points has none of its own drawn.
const MOST_POINTS: usize = 60;
/// The side of the square that curves are drawn in before it is stretched.
const SIDE: f64 = 1000.0;

impl Axis {
    /// A linear axis.
    pub fn linear(name: &str, unit: Unit) -> Self {
        Self { name: name.to_owned(), unit, scale: Scale::Linear }
    }

    /// A logarithmic axis.
    pub fn log(name: &str, unit: Unit) -> Self {
        Self { name: name.to_owned(), unit, scale: Scale::Log }
    }
}

impl Lines {
    /// Axes without curves.
    pub fn new(title: &str, x: Axis, y: Axis) -> Self {
        Self { title: title.to_owned(), x, y, curves: Vec::new(), levels: Vec::new() }
    }

    /// Adds a curve: what the legend calls it, and its points in the order in which they are joined. A point that is no number is a
    /// gap.
    pub fn curve(&mut self, name: &str, points: impl IntoIterator<Item = (f64, f64)>) {
        self.curves.push(Curve { name: name.to_owned(), points: points.into_iter().collect() });
    }

    /// Adds a line across, such as what is required, with what stands at it.
    pub fn level(&mut self, name: &str, y: f64) {
        self.levels.push((name.to_owned(), y));
    }

    pub(crate) fn html(&self, f: &mut Formatter<'_>, id: &str) -> fmt::Result {
        let title = format!("{}: {} by {}", self.title, self.y.name, self.x.name);
        writeln!(f, "<figure><figcaption>{}</figcaption>", Escaped(&self.title))?;
        self.legend(f)?;
        let ((x_range, x), (y_range, y)) = self.axes();
        let (description, label) = (self.description(), longest(&y));
        let frame =
            Frame { id, title: &title, description: &description, height: HEIGHT, label, x: &x, y: &y };
        write!(f, "<p class=\"axis\">{}</p>", Escaped(&self.y.name))?;
        frame.draw(f, |f| {
            for (number, curve) in self.curves.iter().enumerate() {
                self.draw_curve(f, curve, &colour(number), (&x_range, &y_range))?;
            }
            for (name, level) in &self.levels {
                draw_level(f, name, y_range.place(*level))?;
            }
            Ok(())
        })?;
        write!(f, "<p class=\"axis x\">{}</p>", Escaped(&self.x.name))?;
        writeln!(f, "</figure>\n<details><summary>The figures of the curves</summary>")?;
        self.table().html(f)?;
        writeln!(f, "</details>")
    }

    fn axes(&self) -> ((Range, Vec<Tick>), (Range, Vec<Tick>)) {
        let points =
            || self.curves.iter().flat_map(|curve| &curve.points).filter(|point| self.has_place(point));
        let (left, right) = extent(points().map(|point| point.0));
        let levels = self.levels.iter().map(|level| level.1).filter(|level| self.y.holds(*level));
        let (low, high) = extent(points().map(|point| point.1).chain(levels));
        let x = match self.x.scale {
            Scale::Linear => linear(self.x.unit, left, right, 8),
            Scale::Log => logarithmic(self.x.unit, left, right, 9),
        };
        let y = match self.y.scale {
            Scale::Linear => rounded(self.y.unit, low, high, 5),
            Scale::Log => logarithmic(self.y.unit, low, high, 7),
        };
        ((x.0, spaced(x.1)), y)
    }

    fn has_place(&self, (x, y): &(f64, f64)) -> bool {
        self.x.holds(*x) && self.y.holds(*y)
    }

    fn draw_curve(
        &self,
        f: &mut Formatter<'_>,
        curve: &Curve,
        class: &str,
        (x_range, y_range): (&Range, &Range),
    ) -> fmt::Result {
        let places: Vec<_> =
            curve.points.iter().map(|&(x, y)| Some((x_range.place(x)?, y_range.place(y)?))).collect();
        writeln!(
            f,
            "<svg width=\"100%\" height=\"{HEIGHT}\" viewBox=\"0 0 {SIDE} {SIDE}\" preserveAspectRatio=\"none\">\
             <path class=\"curve {class}\" d=\"{}\"/></svg>",
            path(&places)
        )?;
        if curve.points.len() > MOST_POINTS {
            return Ok(());
        }
        for ((x, y), place) in curve.points.iter().zip(&places) {
            let Some((left, up)) = place else { continue };
            let told = format!("{}\u{2002}{}: {}", self.x.unit.text(*x), curve.name, self.y.unit.text(*y));
            writeln!(
                f,
                "<circle class=\"{class}\" cx=\"{}\" cy=\"{}\" r=\"3\"><title>{}</title></circle>",
                percent(*left),
                Pixels(HEIGHT * (1.0 - up)),
                Escaped(&told)
            )?;
        }
        Ok(())
    }

    fn legend(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "<ul class=\"legend\">")?;
        for (number, curve) in self.curves.iter().enumerate() {
            let line = format!("<path class=\"curve {}\" d=\"M0 5H26\"/>", colour(number));
            write!(
                f,
                "<li><svg class=\"line\" aria-hidden=\"true\">{line}</svg>{}</li>",
                Escaped(&curve.name)
            )?;
        }
        writeln!(f, "</ul>")
    }

    /// What each curve reaches, in words.
    fn description(&self) -> String {
        let mut text = String::new();
        for curve in &self.curves {
            let points = curve.points.iter().filter(|point| self.has_place(point));
            let Some((x, y)) = points.max_by(|one, other| one.1.total_cmp(&other.1)) else { continue };
            text +=
                &format!("{}: at most {}, at {}. ", curve.name, self.y.unit.text(*y), self.x.unit.text(*x));
        }
        text
    }

    fn table(&self) -> Table {
        let mut by_x: BTreeMap<Ordered, Vec<Cell>> = BTreeMap::new();
        for (number, curve) in self.curves.iter().enumerate() {
            for (x, y) in curve.points.iter().filter(|(x, y)| x.is_finite() && y.is_finite()) {
                let row = by_x.entry(Ordered(*x)).or_insert_with(|| vec![Cell::Missing; self.curves.len()]);
                row[number] = Cell::Amount(*y);
            }
        }
        let curves = self.curves.iter().map(|curve| Column::amount(&curve.name, self.y.unit));
        let columns = [Column::amount(&self.x.name, self.x.unit)].into_iter().chain(curves);
        let mut table = Table::new("", columns).whole();
        for (Ordered(x), cells) in by_x {
            table.row([Cell::Amount(x)].into_iter().chain(cells));
        }
        table
    }
}

impl Axis {
    /// Whether a number can have a place on it.
    fn holds(&self, value: f64) -> bool {
        value.is_finite() && (self.scale == Scale::Linear || value > 0.0)
    }
}

/// A number that others can be before or after.
#[derive(Debug, Clone, Copy)]
struct Ordered(f64);

impl PartialEq for Ordered {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ordered {}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// A line across at a place on the y axis, and what it means.
fn draw_level(f: &mut Formatter<'_>, name: &str, place: Option<f64>) -> fmt::Result {
    let Some(up) = place else { return Ok(()) };
    let y = HEIGHT * (1.0 - up);
    let text = if y < 20.0 { y + 15.0 } else { y - 6.0 };
    writeln!(
        f,
        "<line class=\"level\" x1=\"0\" x2=\"100%\" y1=\"{0}\" y2=\"{0}\"/>\
         <text class=\"level\" x=\"100%\" y=\"{1}\">{2}</text>",
        Pixels(y),
        Pixels(text),
        Escaped(name)
    )
}

/// The smallest and the largest of some numbers; 0 and 1 where there are none.
fn extent(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let none = (f64::INFINITY, f64::NEG_INFINITY);
    let (low, high) = values.fold(none, |(low, high), value| (low.min(value), high.max(value)));
    if low <= high { (low, high) } else { (0.0, 1.0) }
}

/// The path through some places, with gaps.
fn path(places: &[Option<(f64, f64)>]) -> String {
    let mut path = String::new();
    let mut is_drawing = false;
    for place in places {
        if let Some((left, up)) = place {
            let step = if is_drawing { 'L' } else { 'M' };
            // Writing to a string cannot fail.
            let _ = write!(path, "{step}{} {}", short(left * SIDE), short((1.0 - up) * SIDE));
        }
        is_drawing = place.is_some();
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_has_gaps() {
        assert_eq!(
            path(&[Some((0.0, 0.0)), Some((0.5, 1.0)), None, Some((1.0, 0.25))]),
            "M0 1000L500 0M1000 750"
        );
        assert_eq!(path(&[]), "");
    }

    #[test]
    fn axes_reach_over_all_that_has_a_place() {
        let mut lines =
            Lines::new("Waits", Axis::log("connections", Unit::Count), Axis::linear("wait", Unit::Seconds));
        lines.curve("99 %", [(0.0, 1.0), (1.0, 0.1), (100.0, 0.4), (1000.0, f64::NAN)]);
        lines.level("required", 0.5);
        let ((x, _), (y, _)) = lines.axes();
        assert_eq!([x.place(1.0), x.place(100.0), x.place(0.0)], [Some(0.0), Some(1.0), None]);
        assert_eq!([y.place(0.0), y.place(0.5)], [Some(0.0), Some(1.0)]);
        assert_eq!(lines.description(), "99 %: at most 400 ms, at 100. ");
    }
}
