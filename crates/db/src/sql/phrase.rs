//! A piece of SQL as tokens that can be looked through and changed.

use std::ops::Range;

use super::{Dialect, Kind, Token, tokens, tokens_in_comments};

/// Tokens that own their text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phrase {
    pieces: Vec<(Kind, Vec<u8>)>,
    dialect: Dialect,
}

impl Phrase {
    /// Cuts `text` into tokens.
    pub fn of(text: &[u8], dialect: Dialect) -> Self {
        let pieces = tokens(text, dialect).map(|token| (token.kind, token.text.to_vec())).collect();
        Self { pieces, dialect }
    }

    /// As [`Phrase::of`], with what stands in version comments as tokens of its own.
    pub fn in_comments(text: &[u8], dialect: Dialect) -> Self {
        let pieces =
            tokens_in_comments(text, dialect).map(|token| (token.kind, token.text.to_vec())).collect();
        Self { pieces, dialect }
    }

    /// How it was cut.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Its text.
    pub fn to_text(&self) -> Vec<u8> {
        self.pieces.iter().flat_map(|(_, text)| text.iter().copied()).collect()
    }

    /// How many tokens it has.
    pub fn len(&self) -> usize {
        self.pieces.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// The token at `at`; an empty symbol beyond the end, which is like no other.
    pub fn token(&self, at: usize) -> Token<'_> {
        match self.pieces.get(at) {
            Some((kind, text)) => Token { kind: *kind, text },
            None => Token { kind: Kind::Symbol, text: b"" },
        }
    }

    /// The next place at `from` or behind it that holds neither space nor comment; the length if there is none.
    pub fn code(&self, from: usize) -> usize {
        (from..self.len()).find(|&at| self.token(at).is_code()).unwrap_or(self.len())
    }

    /// The code token before `at`.
    pub fn before(&self, at: usize) -> Option<usize> {
        (0..at).rev().find(|&at| self.token(at).is_code())
    }

    /// The places of code outside of all parentheses; the parentheses themselves are among them.
    pub fn top(&self) -> Vec<usize> {
        let (mut depth, mut top) = (0usize, Vec::new());
        for at in (0..self.len()).filter(|&at| self.token(at).is_code()) {
            let token = self.token(at);
            if token.is_symbol(b')') {
                depth = depth.saturating_sub(1);
            }
            if depth == 0 {
                top.push(at);
            }
            if token.is_symbol(b'(') {
                depth += 1;
            }
        }
        top
    }

    /// Where these words stand one after the other outside of parentheses: from the first to behind the last.
    pub fn find(&self, words: &[&str]) -> Option<Range<usize>> {
        let top = self.top();
        let is_it =
            |places: &&[usize]| places.iter().zip(words).all(|(&at, word)| self.token(at).is_word(word));
        let places = top.windows(words.len()).find(is_it)?;
        Some(*places.first()?..*places.last()? + 1)
    }

    /// Behind the parenthesis that closes the one at `open`.
    pub fn closed(&self, open: usize) -> usize {
        let mut depth = 0usize;
        for at in open..self.len() {
            match self.token(at) {
                token if token.is_symbol(b'(') => depth += 1,
                token if token.is_symbol(b')') => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return at + 1;
                    }
                }
                _ => {}
            }
        }
        self.len()
    }

    /// The text of the tokens in `range`.
    pub fn part(&self, range: Range<usize>) -> String {
        let end = range.end.min(self.len());
        let text: Vec<u8> =
            self.pieces[range.start.min(end)..end].iter().flat_map(|(_, text)| text.clone()).collect();
        String::from_utf8_lossy(&text).into_owned()
    }

    /// Puts `text` in the place of the tokens in `range`.
    pub fn replace(&mut self, range: Range<usize>, text: &[u8]) {
        let end = range.end.min(self.len());
        let new = Self::of(text, self.dialect).pieces;
        self.pieces.splice(range.start.min(end)..end, new);
    }

    /// Takes out the tokens in `range`, with the space before them; gives their text.
    pub fn cut(&mut self, range: Range<usize>) -> String {
        let text = self.part(range.clone());
        let is_space = |at: usize| self.token(at).kind == Kind::Space;
        let start = if range.start > 0 && is_space(range.start - 1) { range.start - 1 } else { range.start };
        self.replace(start..range.end, b"");
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn phrase(text: &str) -> Phrase {
        Phrase::of(text.as_bytes(), Dialect::default())
    }

    #[test]
    fn words_are_found_outside_of_parentheses_only() {
        let mut phrase = phrase("`a` int DEFAULT (NOT /* x */ NULL) NOT  NULL");
        let found = phrase.find(&["NOT", "NULL"]).unwrap();
        assert_eq!(phrase.cut(found), "NOT  NULL");
        assert_eq!(phrase.to_text(), b"`a` int DEFAULT (NOT /* x */ NULL)");
        assert_eq!(phrase.find(&["NOT", "NULL"]), None);
    }

    #[test]
    fn a_group_ends_with_its_own_parenthesis() {
        let phrase = phrase("f(a, (b), ')') c");
        assert_eq!(phrase.part(0..phrase.closed(1)), "f(a, (b), ')')");
        assert_eq!(phrase.part(phrase.closed(1)..99), " c");
    }

    proptest! {
        #[test]
        fn what_is_not_changed_is_kept(text in prop::collection::vec(any::<u8>(), 0..100), at in 0usize..50) {
            let mut phrase = Phrase::of(&text, Dialect::default());
            prop_assert_eq!(phrase.to_text(), text.clone());
            phrase.replace(at..at, b"");
            prop_assert_eq!(phrase.to_text(), text);
        }
    }
}
