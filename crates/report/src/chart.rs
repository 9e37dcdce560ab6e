//! What all charts with two axes have in common: the frame, the lines across, the labels.
//!
//! Places along the x axis are in percent and those along the y axis in pixels, so that a chart fills its place and its text keeps
//! its size.

use std::fmt::{self, Formatter};

use crate::axis::Tick;
use crate::escape::Escaped;

/// A chart around its marks.
pub(crate) struct Frame<'a> {
    /// Its own among those of the page.
    pub(crate) id: &'a str,
    /// What it shows, and what is to be seen, for those who do not see it.
    pub(crate) title: &'a str,
    pub(crate) description: &'a str,
    /// In pixels.
    pub(crate) height: f64,
    /// How long the labels of the y axis may be, in characters.
    pub(crate) label: usize,
    pub(crate) x: &'a [Tick],
    pub(crate) y: &'a [Tick],
}

impl Frame<'_> {
    /// Draws it, and `marks` before its lines.
    pub(crate) fn draw(
        &self,
        f: &mut Formatter<'_>,
        marks: impl FnOnce(&mut Formatter<'_>) -> fmt::Result,
    ) -> fmt::Result {
        let Self { id, title, description, height, .. } = self;
        let class = if self.x.iter().any(|tick| tick.below.is_some()) { "chart two-lines" } else { "chart" };
        writeln!(
            f,
            "<svg class=\"{class}\" role=\"img\" aria-labelledby=\"{id}t {id}d\" height=\"{height}\" style=\"--axis:{}ch\">\n\
             <title id=\"{id}t\">{}</title>\n<desc id=\"{id}d\">{}</desc>",
            self.label + 2,
            Escaped(title),
            Escaped(description),
        )?;
        self.lines(f)?;
        marks(f)?;
        self.labels(f)?;
        writeln!(f, "</svg>")
    }

    fn lines(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let marks = self.y.iter().map(|tick| tick.at).filter(|at| *at > 0.0);
        for (at, class) in marks.map(|at| (at, "grid")).chain([(0.0, "base")]) {
            let y = self.y(at);
            writeln!(f, "<line class=\"{class}\" x1=\"0\" x2=\"100%\" y1=\"{y}\" y2=\"{y}\"/>")?;
        }
        Ok(())
    }

    fn labels(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let height = self.height;
        for tick in self.y {
            let (y, label) = (self.y(tick.at), Escaped(&tick.label));
            writeln!(f, "<text class=\"y\" x=\"-8\" y=\"{y}\" dy=\".35em\">{label}</text>")?;
        }
        for tick in self.x {
            let (x, label) = (percent(tick.at), Escaped(&tick.label));
            let minor = if tick.is_minor { " minor" } else { "" };
            writeln!(
                f,
                "<line class=\"base\" x1=\"{x}\" x2=\"{x}\" y1=\"{height}\" y2=\"{}\"/>",
                height + 4.0
            )?;
            writeln!(f, "<text class=\"x{minor}\" x=\"{x}\" y=\"{}\">{label}</text>", height + 18.0)?;
            if let Some(below) = &tick.below {
                writeln!(
                    f,
                    "<text class=\"x below\" x=\"{x}\" y=\"{}\">{}</text>",
                    height + 34.0,
                    Escaped(below)
                )?;
            }
        }
        Ok(())
    }

    /// Where a place on the y axis is, in pixels from above.
    pub(crate) fn y(&self, at: f64) -> Pixels {
        Pixels(self.height * (1.0 - at))
    }
}

/// How long the longest label is, in characters.
pub(crate) fn longest(ticks: &[Tick]) -> usize {
    ticks.iter().map(|tick| tick.label.chars().count()).max().unwrap_or(0)
}

/// A place or a length on the x axis, from 0 to 1.
pub(crate) fn percent(at: f64) -> String {
    format!("{}%", short(at * 100.0))
}

/// A place or a length on the y axis.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pixels(pub(crate) f64);

impl fmt::Display for Pixels {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&short(self.0))
    }
}

/// The class of a kind or a curve, which the style sheet gives a colour.
pub(crate) fn colour(number: usize) -> String {
    /// So many colours are told apart; then they begin again.
    const COLOURS: usize = 6;
    format!("c{}", number % COLOURS + 1)
}

/// A number with up to two decimals.
pub(crate) fn short(number: f64) -> String {
    let text = format!("{number:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(
            [short(0.0), short(100.0), short(33.333), short(0.5), short(1200.0)],
            ["0", "100", "33.33", "0.5", "1200"]
        );
        assert_eq!(percent(0.125), "12.5%");
    }
}
