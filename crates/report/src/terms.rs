//! Texts with a word before each that says what it is.

use std::fmt::{self, Formatter};

use crate::escape::Escaped;

/// A list of words and texts.
#[derive(Debug, Clone, Default)]
pub struct Terms {
    all: Vec<(String, String, bool)>,
}

impl Terms {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a text.
    #[must_use]
    pub fn text(self, word: &str, text: impl Into<String>) -> Self {
        self.with(word, text.into(), false)
    }

    /// Adds something that is typed as it stands, such as a command.
    #[must_use]
    pub fn code(self, word: &str, code: impl Into<String>) -> Self {
        self.with(word, code.into(), true)
    }

    fn with(mut self, word: &str, text: String, is_code: bool) -> Self {
        self.all.push((word.to_owned(), text, is_code));
        self
    }

    pub(crate) fn html(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "<dl class=\"terms\">")?;
        for (word, text, is_code) in &self.all {
            write!(f, "<dt>{}</dt>", Escaped(word))?;
            match is_code {
                true => writeln!(f, "<dd><pre>{}</pre></dd>", Escaped(text))?,
                false => writeln!(f, "<dd>{}</dd>", Escaped(text))?,
            }
        }
        writeln!(f, "</dl>")
    }
}
