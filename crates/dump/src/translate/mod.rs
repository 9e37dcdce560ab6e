//! What one vendor's server prints, written so that the other's takes it. Everything here is a function over text: what the
//! target takes is asked before ([`target`]), and what is changed is noted with its reason.

mod column_defaults;
mod columns;
pub(crate) mod defaults;
mod described;
mod finding;
mod generated;
mod ignored;
mod keys;
mod options;
mod rows;
mod settings;
mod syntax;
mod table;
mod target;
mod tidb;
mod translator;
mod words;

pub(crate) use described::{Described, describe};
pub(crate) use finding::Finding;
pub(crate) use ignored::{Ignored, ignored, passed_over};
pub(crate) use rows::Current;
pub(crate) use target::{no_history, takes_history};
pub(crate) use translator::{Translator, version, without};

use drover_format::Rewrite;

/// Why something is rewritten.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Why {
    reason: String,
    loses: bool,
}

impl Why {
    /// Nothing is lost by it.
    fn kept(reason: &str) -> Self {
        Self { reason: reason.into(), loses: false }
    }

    fn lost(reason: &str) -> Self {
        Self { reason: reason.into(), loses: true }
    }
}

/// The rewrites of one object.
#[derive(Debug)]
struct Notes {
    object: String,
    rewrites: Vec<Rewrite>,
}

impl Notes {
    fn new(object: &str) -> Self {
        Self { object: object.into(), rewrites: Vec::new() }
    }

    fn add(&mut self, from: &str, to: &str, why: Why) {
        let (object, from, to) = (self.object.clone(), one_line(from), one_line(to));
        self.rewrites.push(Rewrite { object, from, to, reason: why.reason, loses: why.loses });
    }
}

/// The text with single spaces between its words.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
