//! A task, and what came of it.

use std::fmt;

/// What a task is about: a whole number or a text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ObjectId {
    /// A whole number, as most are.
    Number(i64),
    /// Anything else.
    Text(Box<str>),
}

impl ObjectId {
    /// From its text: what is written as a whole number is one.
    pub fn parse(text: &str) -> Self {
        match text.parse::<i64>() {
            // Only as it would be written again: not 007, not +7.
            Ok(number)
                if !text.starts_with('+')
                    && (text == "0" || !text.trim_start_matches('-').starts_with('0')) =>
            {
                Self::Number(number)
            }
            _ => Self::Text(text.into()),
        }
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// A task as a worker gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Its number, which it keeps; of its shard's own.
    pub id: u64,
    /// The number of this giving out. An answer with another one is refused.
    pub lease: u64,
    /// What is to be done.
    pub kind: u16,
    /// What it is about.
    pub object_id: ObjectId,
    /// The text that came with it, JSON as a rule.
    pub payload: Option<Box<str>>,
    /// Which attempt this is, from 1.
    pub attempt: u16,
    /// Whose it is; empty for nobody's.
    pub tenant: Box<str>,
}

impl Task {
    /// About so many bytes it takes in memory.
    pub(crate) fn weight(&self) -> usize {
        const REST: usize = 256;
        REST + self.payload.as_ref().map_or(0, |payload| payload.len())
    }
}

/// What a worker says of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It is done.
    Done,
    /// It went wrong, and is to be tried again later, if it has attempts left.
    Failed(String),
    /// It cannot be done now, for no fault of its own: it comes back after so many milliseconds, and this counts as no attempt.
    Postponed(u64),
    /// Nobody has begun it: it is given out again.
    Returned,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_and_texts() {
        for text in ["0", "7", "-7", "9223372036854775807", "-9223372036854775808"] {
            assert!(matches!(ObjectId::parse(text), ObjectId::Number(_)), "{text}");
        }
        for text in ["", "-", "007", "+7", "-0", "7a", "9223372036854775808", " 7"] {
            assert!(matches!(ObjectId::parse(text), ObjectId::Text(_)), "{text}");
        }
    }

    proptest! {
        #[test]
        fn text_comes_back(text in ".{0,20}|-?[0-9]{1,20}") {
            prop_assert_eq!(ObjectId::parse(&text).to_string(), text);
        }
    }
}
