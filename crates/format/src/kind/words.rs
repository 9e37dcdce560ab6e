//! The tokens of a statement, one after the other, and what a server may read of it otherwise: a version comment
//! (`/*!80016 …*/`) is code for one server and a comment for another.

use std::collections::VecDeque;

use drover_db::sql::{Dialect, Kind as TokenKind, Token, begins_unclear, tokens_in_comments};

use super::Qualified;

/// Every server that drover talks to reads version comments up to this version as code.
const OLDEST: u32 = 50_503;

/// The tokens of a statement, those in version comments too.
pub(super) struct Words<'a> {
    tokens: Box<dyn Iterator<Item = Token<'a>> + 'a>,
    ahead: VecDeque<(Token<'a>, bool)>,
    /// How many version comments may be passed that not every server reads: one that holds the whole statement.
    forgiven: usize,
    /// Whether more of them were passed: then servers read different statements.
    is_unclear: bool,
    /// Whether any was passed.
    has_versions: bool,
}

impl<'a> Words<'a> {
    pub(super) fn new(text: &'a [u8], dialect: Dialect) -> Self {
        let text = text.trim_ascii();
        Self {
            tokens: Box::new(tokens_in_comments(text, dialect)),
            ahead: VecDeque::new(),
            forgiven: usize::from(is_one_comment(text, dialect)),
            is_unclear: false,
            has_versions: false,
        }
    }

    /// Whether what was passed so far means something else to another server.
    pub(super) fn is_unclear(&self) -> bool {
        self.is_unclear
    }

    /// Whether what was read so far has version comments that not every server reads.
    pub(super) fn has_versions(&self) -> bool {
        self.has_versions
    }

    /// Passes over version comments from here on: what they hold changes nothing of importance.
    pub(super) fn bear_version_comments(&mut self) {
        self.forgiven = usize::MAX;
    }

    /// The next token that is code, and whether a version comment was opened before it that not every server reads.
    fn read(&mut self) -> Option<(Token<'a>, bool)> {
        let mut opened = false;
        loop {
            let token = self.tokens.next()?;
            if token.is_code() {
                return Some((token, opened));
            }
            if is_unclear_opening(&token) {
                self.has_versions = true;
                match self.forgiven.checked_sub(1) {
                    Some(left) => self.forgiven = left,
                    None => opened = true,
                }
            }
        }
    }

    pub(super) fn next(&mut self) -> Option<Token<'a>> {
        let (token, opened) = self.ahead.pop_front().or_else(|| self.read())?;
        self.is_unclear |= opened;
        Some(token)
    }

    pub(super) fn peek(&mut self) -> Option<Token<'a>> {
        self.peek_at(0)
    }

    /// The token so many places behind the next one.
    pub(super) fn peek_at(&mut self, place: usize) -> Option<Token<'a>> {
        while self.ahead.len() <= place {
            let token = self.read()?;
            self.ahead.push_back(token);
        }
        self.ahead.get(place).map(|(token, _)| *token)
    }

    /// The next token as an upper-case word; names in quotes are none.
    pub(super) fn word(&mut self) -> Option<String> {
        let token = self.next().filter(|token| token.kind == TokenKind::Word)?;
        Some(String::from_utf8_lossy(token.text).to_ascii_uppercase())
    }

    /// Takes the next token if it is this word.
    pub(super) fn is(&mut self, word: &str) -> bool {
        let found = self.peek().is_some_and(|token| token.is_word(word));
        if found {
            self.next();
        }
        found
    }

    pub(super) fn is_any(&mut self, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(word))
    }

    /// Takes these words if all of them are next.
    pub(super) fn are(&mut self, words: &[&str]) -> bool {
        let is_next = |(place, word): (usize, &&str)| {
            let token = self.peek_at(place);
            token.is_some_and(|token| token.is_word(word))
        };
        let found = words.iter().enumerate().all(is_next);
        if found {
            words.iter().for_each(|_| {
                self.next();
            });
        }
        found
    }

    pub(super) fn symbol(&mut self, symbol: u8) -> bool {
        let found = self.peek().is_some_and(|token| token.is_symbol(symbol));
        if found {
            self.next();
        }
        found
    }

    /// Whether nothing comes any more; what may come is said by the words given.
    pub(super) fn end_after(&mut self, words: &[&str]) -> bool {
        while self.is_any(words) {}
        self.peek().is_none()
    }

    pub(super) fn if_exists(&mut self) {
        if self.is("IF") {
            let _ = self.is("NOT");
            let _ = self.is("EXISTS");
        }
    }

    pub(super) fn name(&mut self) -> Option<String> {
        Some(String::from_utf8_lossy(&self.next()?.name()?).into_owned())
    }

    pub(super) fn qualified(&mut self) -> Option<Qualified> {
        let first = self.name()?;
        match self.symbol(b'.') {
            true => Some(Qualified { schema: Some(first), name: self.name()? }),
            false => Some(Qualified { schema: None, name: first }),
        }
    }

    /// Takes one of these words, if it is next, and gives it.
    pub(super) fn one_of(&mut self, wanted: &[&'static str]) -> Option<&'static str> {
        wanted.iter().find(|word| self.is(word)).copied()
    }

    /// Passes over tokens up to this word, which it takes.
    pub(super) fn up_to(&mut self, wanted: &str) -> bool {
        std::iter::from_fn(|| self.next()).any(|token| token.is_word(wanted))
    }

    /// Passes over an account: `name`, `'name'@'host'`, CURRENT_USER().
    pub(super) fn account(&mut self) -> bool {
        let is_part =
            |token: &Token<'_>| matches!(token.kind, TokenKind::Word | TokenKind::Quoted | TokenKind::String);
        let Some(first) = self.next().filter(is_part) else { return false };
        if first.is_word("CURRENT_USER") || first.is_word("CURRENT_ROLE") {
            return !self.symbol(b'(') || self.symbol(b')');
        }
        !self.symbol(b'@') || self.next().is_some_and(|token| is_part(&token))
    }
}

/// Whether a token opens a version comment that is code for some servers only: for MariaDB alone, or from a later version on.
fn is_unclear_opening(token: &Token<'_>) -> bool {
    let Some(digits) = token.text.strip_prefix(b"/*!") else { return token.text.starts_with(b"/*M!") };
    let number = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse::<u32>().ok());
    // Of six digits MySQL may read five.
    let is_known = digits.is_empty() || digits.len() == 5 && number.is_some_and(|n| n <= OLDEST);
    !is_known
}

/// Whether servers, or one server in several character sets, read the bytes of the text as different tokens.
pub(super) fn has_unclear_bytes(text: &[u8], dialect: Dialect) -> bool {
    let mut rest = text;
    tokens_in_comments(text, dialect).any(|token| {
        let here = rest;
        rest = &rest[token.text.len()..];
        match token.kind {
            TokenKind::Symbol => begins_unclear(here),
            // A NUL ends a comment that the end of the line would.
            TokenKind::Comment => {
                !token.text.starts_with(b"/*") && (begins_unclear(here) || token.text.contains(&0))
            }
            _ => false,
        }
    })
}

/// Whether all servers read the same tokens, or none of them.
pub(super) fn is_clear(text: &[u8], dialect: Dialect) -> bool {
    let text = text.trim_ascii();
    is_one_comment(text, dialect)
        || !tokens_in_comments(text, dialect).any(|token| is_unclear_opening(&token))
}

/// Whether the whole text is one version comment, which servers either read or pass over.
fn is_one_comment(text: &[u8], dialect: Dialect) -> bool {
    let mut all = tokens_in_comments(text, dialect);
    let Some(first) = all.next().filter(is_unclear_opening) else { return false };
    let end = comment_end(text);
    let mut at = first.text.len();
    all.all(|token| {
        at += token.text.len();
        token.text != b"*/" || at == text.len()
    }) && end == Some(text.len())
}

/// Whether each version comment that some servers pass over ends for them where it ends for the others. No quote and no
/// other comment in it may hide its end.
pub(super) fn ends_are_clear(text: &[u8], dialect: Dialect) -> bool {
    let (mut at, mut end) = (0, None);
    for token in tokens_in_comments(text, dialect) {
        if is_unclear_opening(&token) {
            end = comment_end(&text[at..]).map(|length| at + length);
            if end.is_none() {
                return false;
            }
        }
        at += token.text.len();
        match end {
            Some(expected) if at == expected && token.text == b"*/" => end = None,
            Some(expected) if at >= expected => return false,
            _ => {}
        }
    }
    end.is_none()
}

/// Behind how many bytes a comment ends that the text begins with, if no other comment begins in it.
fn comment_end(text: &[u8]) -> Option<usize> {
    let body = text.get(2..)?;
    let length = body.windows(2).position(|pair| pair == b"*/")?;
    (!body[..length].windows(2).any(|pair| pair == b"/*")).then_some(length + 4)
}
