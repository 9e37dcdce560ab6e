//! A tokenizer for SQL text as the servers print it: enough to find names, strings and parentheses without being
//! misled by quotes and comments. It keeps every byte: the tokens' texts put together are the input.

pub mod events;
pub mod literals;
pub mod partitions;
pub mod phrase;
pub mod program;

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

impl<'a> Token<'a> {
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
                let inner = self.within_quotes()?;
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

    /// What stands between its quotes, as it is written. None of what has no quotes, and of a quote with nothing behind it, as untrusted
    /// text may end there.
    pub fn within_quotes(&self) -> Option<&'a [u8]> {
        let is_quoted = matches!(self.kind, Kind::Quoted | Kind::String);
        self.text.get(1..self.text.len().checked_sub(1)?).filter(|_| is_quoted)
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
    /// 0x81 to 0xfe: gbk, gb18030.
    Gbk,
    /// 0xa1 to 0xf9: big5.
    Big5,
    /// 0x81 to 0x9f and 0xe0 to 0xfc: sjis, cp932.
    Sjis,
}

impl LeadBytes {
    /// Those of a character set, by its name.
    pub fn of(character_set: &str) -> Self {
        match character_set {
            "gbk" | "gb18030" => Self::Gbk,
            "big5" => Self::Big5,
            "sjis" | "cp932" => Self::Sjis,
            _ => Self::None,
        }
    }

    /// How many bytes the character takes that `text` begins with, 1 or 2. A lead byte without a byte that can be the second one
    /// is a character of its own: a quote behind it ends a string.
    pub fn width(self, text: &[u8]) -> usize {
        let (Some(&first), Some(&second)) = (text.first(), text.get(1)) else { return 1 };
        let is_two = match self {
            Self::None => false,
            Self::Gbk => matches!(first, 0x81..=0xfe) && matches!(second, 0x40..=0x7e | 0x80..=0xfe),
            Self::Big5 => matches!(first, 0xa1..=0xf9) && matches!(second, 0x40..=0x7e | 0xa1..=0xfe),
            Self::Sjis => {
                matches!(first, 0x81..=0x9f | 0xe0..=0xfc) && matches!(second, 0x40..=0x7e | 0x80..=0xfc)
            }
        };
        1 + usize::from(is_two)
    }
}

impl Dialect {
    /// What a stored program's sql_mode and character set make of its text.
    pub fn of(sql_mode: &str, character_set: &str) -> Self {
        let has = |mode: &str| sql_mode.split(',').any(|part| part.trim().eq_ignore_ascii_case(mode));
        Self {
            ansi_quotes: has("ANSI_QUOTES"),
            no_backslash_escapes: has("NO_BACKSLASH_ESCAPES"),
            lead_bytes: LeadBytes::of(character_set),
        }
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
        b if is_space(b) => (Kind::Space, run(text, is_space)),
        b'`' => (Kind::Quoted, quoted(text, dialect, false)),
        b'"' if dialect.ansi_quotes => (Kind::Quoted, quoted(text, dialect, false)),
        b'"' | b'\'' => (Kind::String, quoted(text, dialect, !dialect.no_backslash_escapes)),
        b'#' | b'-' if begins_line_comment(text) => (Kind::Comment, run(text, |b| b != b'\n')),
        b'/' if text.starts_with(b"/*") => (Kind::Comment, block_comment(text)),
        b if is_word(b) => (Kind::Word, word(text, dialect)),
        _ => (Kind::Symbol, 1),
    })
}

fn run(text: &[u8], belongs: impl Fn(u8) -> bool) -> usize {
    text.iter().position(|&b| !belongs(b)).unwrap_or(text.len())
}

/// White space in every character set; 0x0b is not in Rust's.
fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t'..=b'\r' | b' ')
}

/// Whether `text` begins with a comment up to the end of its line: `#`, or `--` before white space, a control character or the end.
pub fn begins_line_comment(text: &[u8]) -> bool {
    text.starts_with(b"#") || text.starts_with(b"--") && text.get(2).is_none_or(|&b| b <= b' ' || b == 0x7f)
}

/// Whether `text`, outside of strings, begins with what one server reads as a comment and another one as code, or the same server in
/// another character set: each asks its character set what is white space or a control character (0xa0 is in latin1, 0x7f is
/// none in cp1251), and ends its reading at a NUL.
pub fn begins_unclear(text: &[u8]) -> bool {
    match text {
        [0, ..] => true,
        [b'-', b'-', third, ..] => matches!(third, 0 | 0x7f..),
        _ => false,
    }
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
    while text.get(at).is_some_and(|&byte| is_word(byte)) {
        at += dialect.lead_bytes.width(&text[at..]);
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
            _ => at += dialect.lead_bytes.width(&text[at..]),
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
    fn a_lead_byte_without_a_second_one() {
        for (lead_bytes, text, length) in [
            (LeadBytes::Gbk, &b"'\x81' x"[..], 3),
            (LeadBytes::Gbk, b"'\x81\x5c' x", 4),
            (LeadBytes::Big5, b"'\x81\x5c' x'", 7),
            (LeadBytes::Big5, b"'\xa1\x5c' x", 4),
            (LeadBytes::Sjis, b"'\xe0' x", 3),
        ] {
            let dialect = Dialect { lead_bytes, ..Dialect::default() };
            assert_eq!(tokens(text, dialect).next().map(|token| token.text.len()), Some(length), "{text:x?}");
        }
    }

    #[test]
    fn control_characters() {
        let found = |text: &'static str| kinds(text, Dialect::default()).into_iter().map(|(_, text)| text);
        assert!(found("a\x0bb\x0cc").eq(["a", "b", "c"]));
        assert!(found("a --\x7f b\n c --\x01 d").eq(["a", "c"]));
        for unclear in [&b"--\x7f"[..], b"--\xa0 x", b"--\0", b"\0"] {
            assert!(begins_unclear(unclear), "{unclear:x?}");
        }
        for clear in [&b"-- x"[..], b"--1", b"--", b"-\x7f", b"#\x7f"] {
            assert!(!begins_unclear(clear), "{clear:x?}");
        }
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

    #[test]
    fn what_stands_between_quotes() {
        let within = |text: &'static str| {
            tokens(text.as_bytes(), Dialect::default()).next().and_then(|t| t.within_quotes())
        };
        assert_eq!(within("'a''b'"), Some(&b"a''b"[..]));
        assert_eq!(within("``"), Some(&b""[..]));
        for text in ["'", "`", "\"", "ab"] {
            assert_eq!(within(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_byte_is_kept(text in prop::collection::vec(any::<u8>(), 0..200), ansi: bool, plain: bool) {
            for lead_bytes in [LeadBytes::None, LeadBytes::Gbk, LeadBytes::Big5, LeadBytes::Sjis] {
                let dialect = Dialect { ansi_quotes: ansi, no_backslash_escapes: plain, lead_bytes };
                let together: Vec<u8> = tokens(&text, dialect).flat_map(|token| token.text.iter().copied()).collect();
                prop_assert_eq!(&together, &text);
                let in_comments = tokens_in_comments(&text, dialect).flat_map(|token| token.text.iter().copied());
                prop_assert_eq!(in_comments.collect::<Vec<u8>>(), text.clone());
            }
        }
    }
}
