//! What a statement is made of.

use drover_db::sql::{Dialect, Kind, Token, tokens};

use crate::{Error, Result};

/// What a statement does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Delete,
    Update,
    /// INSERT … SELECT.
    Insert,
}

impl Verb {
    /// Its name in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Delete => "delete",
            Self::Update => "update",
            Self::Insert => "insert",
        }
    }

    /// What it is doing, for messages.
    pub(crate) fn doing(self) -> &'static str {
        match self {
            Self::Delete => "deleting",
            Self::Update => "updating",
            Self::Insert => "inserting",
        }
    }
}

/// A table as a statement names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reference {
    pub(crate) schema: Option<String>,
    pub(crate) name: String,
}

/// A token that means something, and where it begins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Code<'a> {
    pub(crate) token: Token<'a>,
    pub(crate) at: usize,
}

impl Code<'_> {
    pub(crate) fn end(&self) -> usize {
        self.at + self.token.text.len()
    }

    pub(crate) fn is(&self, word: &str) -> bool {
        self.token.is_word(word)
    }

    pub(crate) fn is_any(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(word))
    }

    pub(crate) fn is_symbol(&self, symbol: u8) -> bool {
        self.token.is_symbol(symbol)
    }

    pub(crate) fn name(&self) -> Option<String> {
        self.token.name().map(|name| String::from_utf8_lossy(&name).into_owned())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(self.token.text).into_owned()
    }
}

/// The tokens that mean something, without a semicolon at the end.
pub(crate) fn code_of(text: &str, dialect: Dialect) -> Result<Vec<Code<'_>>> {
    let mut at = 0;
    let mut code = Vec::new();
    for token in tokens(text.as_bytes(), dialect) {
        if token.kind == Kind::Comment && (token.text.starts_with(b"/*!") || token.text.starts_with(b"/*M!"))
        {
            return Err(Error::with_hint(
                "the statement has a version comment (/*! … */)",
                "write what this server is to do without it",
            ));
        }
        if token.is_code() {
            code.push(Code { token, at });
        }
        at += token.text.len();
    }
    while code.last().is_some_and(|last| last.is_symbol(b';')) {
        code.pop();
    }
    match code.iter().any(|code| code.is_symbol(b';')) {
        true => Err(Error::with_hint("these are several statements", "run them one by one")),
        false => Ok(code),
    }
}
