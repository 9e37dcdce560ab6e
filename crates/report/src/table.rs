//! Tables.

use std::fmt::{self, Formatter};

use crate::chart::percent;
use crate::escape::Escaped;
use drover_units::Unit;
use drover_units::show;

/// A table. Of a very long one the page shows the beginning, and says how much it leaves out.
#[derive(Debug, Clone)]
pub struct Table {
    title: String,
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
    most: usize,
}

/// A column.
#[derive(Debug, Clone)]
pub struct Column {
    name: String,
    kind: Kind,
    has_bars: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Digits,
    Amount(Unit),
}

/// What stands in a row under a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// Text as it is.
    Text(String),
    /// A number of the column's unit. Above 2^53 the last digits may be others.
    Amount(f64),
    /// Nothing is known.
    Missing,
}

impl Column {
    /// Longer texts are broken into lines wherever that is needed, in bytes.
    const LONG: usize = 40;

    /// One of texts.
    pub fn text(name: &str) -> Self {
        Self { name: name.to_owned(), kind: Kind::Text, has_bars: false }
    }

    /// One of numbers that are names, such as positions in a file: digits that can be copied.
    pub fn digits(name: &str) -> Self {
        Self { name: name.to_owned(), kind: Kind::Digits, has_bars: false }
    }

    /// One of numbers.
    pub fn amount(name: &str, unit: Unit) -> Self {
        Self { name: name.to_owned(), kind: Kind::Amount(unit), has_bars: false }
    }

    /// With a bar beside each number, as long as the number is large beside the column's largest.
    #[must_use]
    pub fn with_bars(self) -> Self {
        Self { has_bars: true, ..self }
    }

    fn class(&self) -> &'static str {
        match self.kind {
            Kind::Text => "",
            Kind::Digits | Kind::Amount(_) => " class=\"number\"",
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<u64> for Cell {
    fn from(number: u64) -> Self {
        Self::Amount(number as f64)
    }
}

impl From<u32> for Cell {
    fn from(number: u32) -> Self {
        Self::Amount(f64::from(number))
    }
}

impl From<f64> for Cell {
    fn from(number: f64) -> Self {
        Self::Amount(number)
    }
}

impl<T: Into<Self>> From<Option<T>> for Cell {
    fn from(cell: Option<T>) -> Self {
        cell.map_or(Self::Missing, Into::into)
    }
}

impl Table {
    /// So many rows are shown, if not told otherwise.
    const MOST: usize = 200;

    /// One without rows. The title may be empty where the section's says all.
    pub fn new(title: &str, columns: impl IntoIterator<Item = Column>) -> Self {
        Self {
            title: title.to_owned(),
            columns: columns.into_iter().collect(),
            rows: Vec::new(),
            most: Self::MOST,
        }
    }

    /// Adds a row, with a cell for each column.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// With all rows shown, however many there are.
    #[must_use]
    pub fn whole(self) -> Self {
        Self { most: usize::MAX, ..self }
    }

    pub(crate) fn html(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if !self.title.is_empty() {
            writeln!(f, "<h3>{}</h3>", Escaped(&self.title))?;
        }
        // What is wider than the page is moved sideways, by keys too.
        let name = Escaped(self.name());
        writeln!(f, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{name}\"><table>")?;
        write!(f, "<thead><tr>")?;
        for column in &self.columns {
            let span = if column.has_bars { " colspan=\"2\"" } else { "" };
            write!(f, "<th scope=\"col\"{}{span}>{}</th>", column.class(), Escaped(&column.name))?;
        }
        writeln!(f, "</tr></thead>\n<tbody>")?;
        let largest: Vec<f64> = (0..self.columns.len()).map(|column| self.largest(column)).collect();
        for row in self.rows.iter().take(self.most) {
            write!(f, "<tr>")?;
            for (index, column) in self.columns.iter().enumerate() {
                column.cell(f, row.get(index).unwrap_or(&Cell::Missing), largest[index], index == 0)?;
            }
            writeln!(f, "</tr>")?;
        }
        writeln!(f, "</tbody></table></div>")?;
        match self.rows.len().saturating_sub(self.most) {
            0 => Ok(()),
            more => writeln!(f, "<p class=\"note\">{} more not shown.</p>", show::things(more as u64, "row")),
        }
    }

    fn name(&self) -> &str {
        let first = self.columns.first().map_or("", |column| column.name.as_str());
        if self.title.is_empty() { first } else { &self.title }
    }

    fn largest(&self, column: usize) -> f64 {
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        let amounts = cells.map(|cell| if let Cell::Amount(amount) = cell { *amount } else { 0.0 });
        amounts.filter(|amount| amount.is_finite()).fold(0.0, f64::max)
    }
}

impl Column {
    fn cell(&self, f: &mut Formatter<'_>, cell: &Cell, largest: f64, is_first: bool) -> fmt::Result {
        if self.has_bars {
            let part = if let Cell::Amount(amount) = cell { amount / largest } else { 0.0 };
            write!(f, "<td class=\"bar\">")?;
            bar(f, part, "c1")?;
            write!(f, "</td>")?;
        }
        let text = match (cell, self.kind) {
            (Cell::Text(text), _) => text.clone(),
            (Cell::Amount(amount), Kind::Amount(unit)) => unit.text(*amount),
            (Cell::Amount(amount), _) => format!("{amount:.0}"),
            (Cell::Missing, _) => String::new(),
        };
        let long = if text.len() > Self::LONG { " class=\"long\"" } else { self.class() };
        // A row's first cell is what the row is about.
        let (open, close) = if is_first { ("th scope=\"row\"", "th") } else { ("td", "td") };
        write!(f, "<{open}{long}>{}</{close}>", Escaped(&text))
    }
}

/// A bar that fills this part of its place.
pub(crate) fn bar(f: &mut Formatter<'_>, part: f64, class: &str) -> fmt::Result {
    let part = if part.is_finite() { part.clamp(0.0, 1.0) } else { 0.0 };
    write!(
        f,
        "<svg class=\"bar\" aria-hidden=\"true\"><rect class=\"{class}\" width=\"{}\" height=\"100%\"/></svg>",
        percent(part)
    )
}
