//! A page, from its head to its foot.

use std::fmt::{self, Display, Formatter};

use crate::escape::Escaped;
use crate::figures::Figures;
use crate::lines::Lines;
use crate::parts::Parts;
use crate::table::Table;
use crate::terms::Terms;
use crate::timeline::Timeline;

/// The style of pages: colours of both schemes, type, tables and charts.
pub const STYLE: &str = include_str!("page.css");

/// A page, whose HTML is what it displays as.
#[derive(Debug, Clone)]
pub struct Page {
    title: String,
    subtitle: String,
    sections: Vec<Section>,
    foot: String,
}

/// A part of a page with a heading.
#[derive(Debug, Clone)]
pub struct Section {
    heading: String,
    note: String,
    blocks: Vec<Block>,
}

/// What sections consist of.
#[derive(Debug, Clone)]
pub enum Block {
    /// A paragraph.
    Text(String),
    /// Texts with a word before each.
    Terms(Terms),
    /// The few numbers that say the most.
    Figures(Figures),
    /// A table.
    Table(Table),
    /// A table that the reader opens.
    Folded(String, Table),
    /// Parts of a whole.
    Parts(Parts),
    /// Amounts over time.
    Timeline(Timeline),
    /// Curves.
    Lines(Lines),
}

impl Page {
    /// A page without sections.
    pub fn new(title: &str) -> Self {
        let none = String::new;
        Self { title: title.to_owned(), subtitle: none(), sections: Vec::new(), foot: none() }
    }

    /// With a line below the title.
    #[must_use]
    pub fn subtitle(self, subtitle: impl Into<String>) -> Self {
        Self { subtitle: subtitle.into(), ..self }
    }

    /// With a last line, such as what made the page and how its numbers are to be read.
    #[must_use]
    pub fn foot(self, foot: impl Into<String>) -> Self {
        Self { foot: foot.into(), ..self }
    }

    /// Adds a section.
    #[must_use]
    pub fn section(mut self, section: Section) -> Self {
        self.sections.push(section);
        self
    }
}

impl Section {
    /// A section with nothing in it yet. Without a heading (where that is empty) it goes on from what is above.
    pub fn new(heading: &str) -> Self {
        Self { heading: heading.to_owned(), note: String::new(), blocks: Vec::new() }
    }

    /// With a line below the heading that says how to read what follows.
    #[must_use]
    pub fn note(self, note: impl Into<String>) -> Self {
        Self { note: note.into(), ..self }
    }

    /// Adds what comes next.
    #[must_use]
    pub fn with(mut self, block: impl Into<Block>) -> Self {
        self.blocks.push(block.into());
        self
    }

    fn html(&self, f: &mut Formatter<'_>, id: &str) -> fmt::Result {
        writeln!(f, "<section>")?;
        if !self.heading.is_empty() {
            writeln!(f, "<h2>{}</h2>", Escaped(&self.heading))?;
        }
        paragraph(f, "note", &self.note)?;
        for (number, block) in self.blocks.iter().enumerate() {
            block.html(f, &format!("{id}b{number}"))?;
        }
        writeln!(f, "</section>")
    }
}

impl Block {
    fn html(&self, f: &mut Formatter<'_>, id: &str) -> fmt::Result {
        match self {
            Self::Text(text) => paragraph(f, "text", text),
            Self::Terms(terms) => terms.html(f),
            Self::Figures(figures) => figures.html(f),
            Self::Table(table) => table.html(f),
            Self::Folded(summary, table) => {
                write!(f, "<details><summary>{}</summary>", Escaped(summary))?;
                table.html(f)?;
                writeln!(f, "</details>")
            }
            Self::Parts(parts) => parts.html(f),
            Self::Timeline(timeline) => timeline.html(f, id),
            Self::Lines(lines) => lines.html(f, id),
        }
    }
}

impl From<Figures> for Block {
    fn from(figures: Figures) -> Self {
        Self::Figures(figures)
    }
}

impl From<Terms> for Block {
    fn from(terms: Terms) -> Self {
        Self::Terms(terms)
    }
}

impl From<Table> for Block {
    fn from(table: Table) -> Self {
        Self::Table(table)
    }
}

impl From<Parts> for Block {
    fn from(parts: Parts) -> Self {
        Self::Parts(parts)
    }
}

impl From<Timeline> for Block {
    fn from(timeline: Timeline) -> Self {
        Self::Timeline(timeline)
    }
}

impl From<Lines> for Block {
    fn from(lines: Lines) -> Self {
        Self::Lines(lines)
    }
}

fn paragraph(f: &mut Formatter<'_>, class: &str, text: &str) -> fmt::Result {
    if text.is_empty() { Ok(()) } else { writeln!(f, "<p class=\"{class}\">{}</p>", Escaped(text)) }
}

impl Display for Page {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let title = Escaped(&self.title);
        // The policy has the browser hold the page to what it promises: nothing is fetched, nothing is run.
        writeln!(
            f,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\"/>\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
             <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<header>\n<h1>{title}</h1>"
        )?;
        paragraph(f, "subtitle", &self.subtitle)?;
        writeln!(f, "</header>\n<main>")?;
        for (number, section) in self.sections.iter().enumerate() {
            section.html(f, &format!("s{number}"))?;
        }
        writeln!(f, "</main>")?;
        if !self.foot.is_empty() {
            writeln!(f, "<footer>{}</footer>", Escaped(&self.foot))?;
        }
        writeln!(f, "</body>\n</html>")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;
    use quick_xml::Reader;
    use quick_xml::events::Event;

    use crate::{Axis, Cell, Column};
    use drover_units::Unit;

    use super::*;

    /// A page with all there is, on which every text is this one.
    fn full(text: &str, amounts: &[u64]) -> Page {
        let mut table = Table::new(
            text,
            [Column::text(text), Column::amount(text, Unit::Bytes).with_bars(), Column::digits(text)],
        );
        let mut parts = Parts::new(Unit::Bytes, &[text, text]).most(5);
        let mut timeline = Timeline::new(5, 3600).measure(text, Unit::Bytes).measure(text, Unit::Count);
        let mut lines = Lines::new(text, Axis::log(text, Unit::Count), Axis::linear(text, Unit::Seconds));
        for (number, &amount) in amounts.iter().enumerate() {
            table.row([text.into(), amount.into(), Cell::Missing]);
            parts.add(number % 2, text, amount);
            timeline.span((amount % (1 << 32)) as i64, &[amount as f64, 1.0]);
        }
        parts.rest(text, 1);
        lines.curve(text, amounts.iter().enumerate().map(|(number, &amount)| (number as f64, amount as f64)));
        lines.level(text, 1.0);
        let section = Section::new(text).note(text).with(Figures::new().with(text, text, text)).with(parts);
        let section =
            section.with(Block::Text(text.to_owned())).with(Block::Folded(text.to_owned(), table.clone()));
        let section = section.with(Terms::new().text(text, text).code(text, text));
        let section = section.with(table).with(timeline).with(lines);
        Page::new(text)
            .subtitle(text)
            .foot(text)
            .section(Section::new("").with(Figures::new()))
            .section(section)
    }

    /// Reads a page as XML, which it is but for its first line: elements are closed, attributes quoted, ids not given twice. Returns
    /// its elements and its text.
    fn read(html: &str) -> (Vec<String>, String) {
        let mut reader = Reader::from_str(html);
        let (mut elements, mut all_text, mut ids) = (Vec::new(), String::new(), HashSet::new());
        let mut depth = 0;
        loop {
            let event = reader.read_event().unwrap();
            depth += i32::from(matches!(event, Event::Start(_))) - i32::from(matches!(event, Event::End(_)));
            match event {
                Event::Start(element) | Event::Empty(element) => {
                    elements.push(String::from_utf8(element.name().as_ref().to_vec()).unwrap());
                    for attribute in element.attributes() {
                        let attribute = attribute.unwrap();
                        let is_id = attribute.key.as_ref() == b"id";
                        assert!(!is_id || ids.insert(attribute.value.to_vec()), "{attribute:?}");
                    }
                }
                Event::Text(text) => all_text += &text.decode().unwrap(),
                Event::Eof => {
                    assert_eq!(depth, 0);
                    return (elements, all_text);
                }
                _ => {}
            }
        }
    }

    #[test]
    fn a_page_needs_nothing_else() {
        let html = full("shop.orders", &[5, 1, 3]).to_string();
        for word in ["http:", "https:", "url(", "@import", "<script", "<link", "<img", "src=", "href="] {
            assert!(!html.contains(word), "{word}");
        }
    }

    #[test]
    fn names_stay_names() {
        let (plain, _) = read(&full("x", &[5, 1, 3]).to_string());
        let (odd, text) = read(&full("</title><b onclick='x'>\"&amp;\0", &[5, 1, 3]).to_string());
        assert_eq!(plain, odd);
        assert!(!text.contains('\0'));
    }

    #[test]
    fn a_page_of_nothing() {
        let (elements, _) = read(&full("", &[]).to_string());
        assert_eq!(elements.iter().filter(|element| *element == "section").count(), 2);
    }

    proptest! {
        #[test]
        fn pages_are_well_formed(text in any::<String>(), amounts in prop::collection::vec(any::<u64>(), 0..30)) {
            let (plain, _) = read(&full("x", &amounts).to_string());
            let (odd, _) = read(&full(&format!("x{text}"), &amounts).to_string());
            prop_assert_eq!(plain, odd);
        }
    }

    /// Each colour's `--name` with its relative luminance (WCAG 2.2), in one of the style sheet's two lists.
    fn luminances(list: usize) -> Vec<(String, f64)> {
        let block = STYLE.split(":root {").nth(list + 1).unwrap().split('}').next().unwrap();
        let colours = block.split(';').filter_map(|line| line.trim().strip_prefix("--")?.split_once(": #"));
        let linear = |part: &str| match f64::from(u8::from_str_radix(part, 16).unwrap()) / 255.0 {
            value if value <= 0.04045 => value / 12.92,
            value => ((value + 0.055) / 1.055).powf(2.4),
        };
        let luminance = |hex: &str| {
            0.2126 * linear(&hex[0..2]) + 0.7152 * linear(&hex[2..4]) + 0.0722 * linear(&hex[4..6])
        };
        colours.map(|(name, hex)| (name.to_owned(), luminance(hex))).collect()
    }

    #[test]
    fn colours_stand_out_from_the_paper() {
        for list in 0..2 {
            let all = luminances(list);
            let (_, paper) = &all[0];
            for (name, luminance) in &all[1..] {
                let contrast = (luminance.max(*paper) + 0.05) / (luminance.min(*paper) + 0.05);
                // What WCAG asks for text, and for what a chart is read by.
                let least = match name.as_str() {
                    "ink" | "soft" => 4.5,
                    "grid" | "base" | "shade" => continue,
                    _ => 3.0,
                };
                assert!(contrast >= least, "{list} {name} {contrast}");
            }
            assert_eq!(all.len(), 13);
        }
    }
}
