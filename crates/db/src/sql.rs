//! A tokenizer for SQL text as the servers print it: enough to find names, strings and parentheses without being
//! misled by quotes and comments. It keeps every byte: the tokens' texts put together are the input.

pub mod events;

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// White space.
    Space,
    /// `-- …`, `# …` or `/* … */`; also a version comment `/*!…*/`, whole.
    Comment,
    /// A name, keyword or number without quotes.
    Word,
    /// A name in backticks, or in double quotes under ANSI_QUOTES.
    Quoted,
    /// A string literal.
    String,
    /// Any other single byte.
    Symbol,
}

/// A piece of SQL text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token<'a> {
    /// What it is.
    pub kind: Kind,
    /// Its bytes, with quotes.
    pub text: &'a [u8],
}

impl Token<'_> {
    /// Whether it is this keyword, letter case apart.
    pub fn is_word(&self, word: &str) -> bool {
        self.kind == Kind::Word && self.text.eq_ignore_ascii_case(word.as_bytes())
    }

    /// Whether it is this single byte outside of names, strings and comments.
    pub fn is_symbol(&self, symbol: u8) -> bool {
        self.kind == Kind::Symbol && self.text == [symbol]
    }

    /// The name it stands for, if it can stand for one.
    pub fn name(&self) -> Option<Vec<u8>> {
        match self.kind {
            Kind::Word => Some(self.text.to_vec()),
            Kind::Quoted => {
                let quote = *self.text.first()?;
                let inner = self.text.get(1..self.text.len().checked_sub(1)?)?;
                let mut name = Vec::with_capacity(inner.len());
                let mut bytes = inner.iter();
                while let Some(&byte) = bytes.next() {
                    name.push(byte);
                    if byte == quote {
                        bytes.next(); // a quote within is doubled
                    }
                }
                Some(name)
            }
            _ => None,
        }
    }

    /// Whether it means anything to the server: neither space nor comment.
    pub fn is_code(&self) -> bool {
        !matches!(self.kind, Kind::Space | Kind::Comment)
    }
}

/// How text is to be read: what the sql_mode and the character set change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Dialect {
    /// `"` quotes names.
    pub ansi_quotes: bool,
    /// `\` is an ordinary character in strings.
    pub no_backslash_escapes: bool,
    /// Which bytes begin a character of two bytes whose second one may look like ASCII.
    pub lead_bytes: LeadBytes,
}

/// Character sets in which the second byte of a character may be `\`, a backtick or another ASCII byte.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LeadBytes {
    /// None: ASCII, the ISO sets, UTF-8, EUC.
    #[default]
    None,
    /// 0x81 to 0xfe: gbk, gb18030, big5.
    Gbk,
    /// 0x81 to 0x9f and 0xe0 to 0xfc: sjis, cp932.
    Sjis,
}

impl Dialect {
    /// What a stored program's sql_mode and character set make of its text.
    pub fn of(sql_mode: &str, character_set: &str) -> Self {
        let has = |mode: &str| sql_mode.split(',').any(|part| part.trim().eq_ignore_ascii_case(mode));
        let lead_bytes = match character_set {
            "gbk" | "gb18030" | "big5" => LeadBytes::Gbk,
            "sjis" | "cp932" => LeadBytes::Sjis,
            _ => LeadBytes::None,
        };
        Self {
            ansi_quotes: has("ANSI_QUOTES"),
            no_backslash_escapes: has("NO_BACKSLASH_ESCAPES"),
            lead_bytes,
        }
    }

    fn width(self, byte: u8) -> usize {
        let two = match self.lead_bytes {
            LeadBytes::None => false,
            LeadBytes::Gbk => matches!(byte, 0x81..=0xfe),
            LeadBytes::Sjis => matches!(byte, 0x81..=0x9f | 0xe0..=0xfc),
        };
        1 + usize::from(two)
    }
}

/// Cuts `text` into tokens.
pub fn tokens(text: &[u8], dialect: Dialect) -> impl Iterator<Item = Token<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (kind, length) = next(rest, dialect)?;
        let (text, tail) = rest.split_at(length.min(rest.len()));
        rest = tail;
        Some(Token { kind, text })
    })
}

/// Cuts `text` into tokens, those in version comments too: of such a comment only what opens it (`/*!50001`) and what ends
/// it are comments.
pub fn tokens_in_comments(text: &[u8], dialect: Dialect) -> impl Iterator<Item = Token<'_>> {
    let mut rest = text;
    let mut open = false;
    std::iter::from_fn(move || {
        let (kind, length) = match version_comment(rest) {
            Some(length) => {
                open = true;
                (Kind::Comment, length)
            }
            None if open && rest.starts_with(b"*/") => {
                open = false;
                (Kind::Comment, 2)
            }
            None => next(rest, dialect)?,
        };
        let (text, tail) = rest.split_at(length.min(rest.len()));
        rest = tail;
        Some(Token { kind, text })
    })
}

/// The length of what opens a version comment, with its number.
fn version_comment(text: &[u8]) -> Option<usize> {
    let opening = [&b"/*!"[..], b"/*M!"].into_iter().find(|opening| text.starts_with(opening))?;
    Some(opening.len() + run(&text[opening.len()..], |byte| byte.is_ascii_digit()))
}

fn next(text: &[u8], dialect: Dialect) -> Option<(Kind, usize)> {
    let first = *text.first()?;
    Some(match first {
        b if b.is_ascii_whitespace() => (Kind::Space, run(text, |b| b.is_ascii_whitespace())),
        b'`' => (Kind::Quoted, quoted(text, dialect, false)),
        b'"' if dialect.ansi_quotes => (Kind::Quoted, quoted(text, dialect, false)),
        b'"' | b'\'' => (Kind::String, quoted(text, dialect, !dialect.no_backslash_escapes)),
        b'#' => (Kind::Comment, run(text, |b| b != b'\n')),
        b'-' if is_dash_comment(text) => (Kind::Comment, run(text, |b| b != b'\n')),
        b'/' if text.starts_with(b"/*") => (Kind::Comment, block_comment(text)),
        b if is_word(b) => (Kind::Word, word(text, dialect)),
        _ => (Kind::Symbol, 1),
    })
}

fn run(text: &[u8], belongs: impl Fn(u8) -> bool) -> usize {
    text.iter().position(|&b| !belongs(b)).unwrap_or(text.len())
}

/// `--` begins a comment only before white space, a control character or the end.
fn is_dash_comment(text: &[u8]) -> bool {
    text.starts_with(b"--") && text.get(2).is_none_or(|&b| b <= b' ')
}

fn block_comment(text: &[u8]) -> usize {
    let body = &text[2..];
    body.windows(2).position(|pair| pair == b"*/").map_or(text.len(), |at| at + 4)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || byte >= 0x80
}

fn word(text: &[u8], dialect: Dialect) -> usize {
    let mut at = 0;
    while let Some(&byte) = text.get(at).filter(|&&byte| is_word(byte)) {
        at += dialect.width(byte);
    }
    at
}

fn quoted(text: &[u8], dialect: Dialect, backslash: bool) -> usize {
    let quote = text[0];
    let mut at = 1;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'\\' if backslash => at += 2,
            _ if byte == quote && text.get(at + 1) == Some(&quote) => at += 2,
            _ if byte == quote => return at + 1,
            _ => at += dialect.width(byte),
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn kinds(text: &str, dialect: Dialect) -> Vec<(Kind, String)> {
        tokens(text.as_bytes(), dialect)
            .filter(Token::is_code)
            .map(|token| (token.kind, String::from_utf8_lossy(token.text).into_owned()))
            .collect()
    }

    #[test]
    fn quotes_and_comments_hide_what_is_in_them() {
        let text = "a /* ` */ `b``c` 'd''e\\'f' -- '\n\"g\" # `\n5--3";
        let found: Vec<_> = kinds(text, Dialect::default()).into_iter().map(|(_, text)| text).collect();
        assert_eq!(found, ["a", "`b``c`", "'d''e\\'f'", "\"g\"", "5", "-", "-", "3"]);
    }

    #[test]
    fn the_sql_mode_changes_what_quotes_mean() {
        let ansi = Dialect { ansi_quotes: true, ..Dialect::default() };
        assert_eq!(kinds("\"a\"", ansi)[0].0, Kind::Quoted);
        let plain = Dialect { no_backslash_escapes: true, ..Dialect::default() };
        assert_eq!(kinds(r"'\' b", plain).len(), 2);
    }

    #[test]
    fn a_second_byte_that_looks_like_a_backslash() {
        let text = b"'\x95\x5c' x";
        let gbk = Dialect { lead_bytes: LeadBytes::Gbk, ..Dialect::default() };
        assert_eq!(tokens(text, gbk).filter(Token::is_code).count(), 2);
        assert_eq!(tokens(text, Dialect::default()).filter(Token::is_code).count(), 1);
    }

    #[test]
    fn version_comments_are_code() {
        let text = "/*!50003 CREATE*/ /*!50017 DEFINER=`a`*/ x*/*y*/2 /*M!100100 '*/' */ /* no */";
        let code = tokens_in_comments(text.as_bytes(), Dialect::default()).filter(Token::is_code);
        let found: Vec<_> = code.map(|token| String::from_utf8_lossy(token.text).into_owned()).collect();
        assert_eq!(found, ["CREATE", "DEFINER", "=", "`a`", "x", "*", "2", "'*/'"]);
    }

    #[test]
    fn names_lose_their_quotes() {
        let name =
            |text: &'static str| tokens(text.as_bytes(), Dialect::default()).next().and_then(|t| t.name());
        assert_eq!(name("`a``b`"), Some(b"a`b".to_vec()));
        assert_eq!(name("shop"), Some(b"shop".to_vec()));
        assert_eq!(name("'x'"), None);
        assert_eq!(name("`"), None);
    }

    proptest! {
        #[test]
        fn every_byte_is_kept(text in prop::collection::vec(any::<u8>(), 0..200), ansi: bool, plain: bool) {
            for lead_bytes in [LeadBytes::None, LeadBytes::Gbk, LeadBytes::Sjis] {
                let dialect = Dialect { ansi_quotes: ansi, no_backslash_escapes: plain, lead_bytes };
                let together: Vec<u8> = tokens(&text, dialect).flat_map(|token| token.text.iter().copied()).collect();
                prop_assert_eq!(&together, &text);
                let in_comments = tokens_in_comments(&text, dialect).flat_map(|token| token.text.iter().copied());
                prop_assert_eq!(in_comments.collect::<Vec<u8>>(), text.clone());
            }
        }
    }
}
