//! The few numbers that say the most.

use std::fmt::{self, Formatter};

use crate::escape::Escaped;

/// A row of large numbers.
#[derive(Debug, Clone, Default)]
pub struct Figures {
    all: Vec<(String, String, String)>,
}

impl Figures {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one: what it is, its value, and a note of some lines, or of none.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<String>, note: impl Into<String>) -> Self {
        self.all.push((name.to_owned(), value.into(), note.into()));
        self
    }

    pub(crate) fn html(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let all = self.all.len().max(1);
        // On one line, or on two that are as long as each other where that is too narrow.
        writeln!(f, "<dl class=\"figures\" style=\"--all:{all};--half:{}\">", all.div_ceil(2))?;
        for (name, value, note) in &self.all {
            write!(f, "<div><dt>{}</dt><dd class=\"value\">{}</dd>", Escaped(name), Escaped(value))?;
            for line in note.lines() {
                write!(f, "<dd class=\"note\">{}</dd>", Escaped(line))?;
            }
            writeln!(f, "</div>")?;
        }
        writeln!(f, "</dl>")
    }
}
