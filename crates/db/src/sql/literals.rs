//! String literals in expressions of a table, written so that MariaDB keeps them.
//!
//! MariaDB keeps an expression as text. A literal behind an introducer (`_latin1'ü'`) is kept with `\xFC` for each byte that is not printable
//! ASCII, with no escapes, and cut after 511 characters; read again it is another text. Before 10.11 a literal without one is kept in utf8mb3:
//! characters beyond it become `?`. Sources: `Item_string::print()`, `ErrConvString`; tried on 10.2 to 11.8.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::Range;

use super::phrase::Phrase;
use super::{Dialect, Kind, Token};

/// How many characters of a literal are safe behind an introducer.
const KEPT: usize = 500;

/// A MariaDB, as far as it decides how literals must be written.
#[derive(Debug, Clone, Copy)]
pub struct Keeper<'a> {
    /// Its version.
    pub version: (u32, u32, u32),
    /// What it calls utf8mb3: that, or `utf8`.
    pub utf8mb3: &'a str,
    /// Whether what is written reaches it in utf8mb4. Else a literal in UTF-8 is never left without its introducer.
    pub reads_utf8mb4: bool,
}

/// A literal that is written otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Respelled {
    /// As it was.
    pub from: String,
    /// As it is.
    pub to: String,
    /// Why.
    pub reason: &'static str,
    /// Whether its character set is another one.
    pub loses: bool,
}

/// Writes each literal with an introducer in the expressions of a table, its columns and constraints as the server keeps it.
pub fn introducers(phrase: &mut Phrase, keeper: Keeper<'_>) -> Vec<Respelled> {
    let mut respelled = Vec::new();
    let collates_utf8mb3 = collates_utf8mb3(phrase);
    for at in (0..phrase.len()).rev() {
        let Some(literal) = Literal::behind_introducer(phrase, at) else { continue };
        let is_text = phrase.token(literal.place.end - 1).kind == Kind::String && !literal.is_hex;
        let is_alike = is_text && keeper.reads_utf8mb4;
        match literal.set.as_str() {
            "utf8mb4" if is_alike => phrase.replace(at..literal.place.end - 1, b""),
            "utf8" | "utf8mb3" if is_alike && !collates_utf8mb3 => {
                phrase.replace(at..literal.place.end - 1, b"");
            }
            set if literal.is_kept() && is_text => {
                phrase.replace(at..at + 1, format!("_{}", keeper.name(set)).as_bytes());
            }
            _ => respelled.extend(literal.spell(phrase, keeper)),
        }
    }
    respelled.extend(beyond_utf8mb3(phrase, keeper));
    respelled
}

/// Writes literals with characters that take four bytes in UTF-8 as a server keeps them that would lose them, where the text is in UTF-8.
pub fn beyond_utf8mb3(phrase: &mut Phrase, keeper: Keeper<'_>) -> Vec<Respelled> {
    let mut respelled = Vec::new();
    if keeper.version >= (10, 11, 0) || !keeper.reads_utf8mb4 {
        return respelled;
    }
    for at in places(phrase).into_iter().rev() {
        let token = phrase.token(at);
        let follows_word = at > 0 && phrase.token(at - 1).kind == Kind::Word;
        if token.kind == Kind::String && !follows_word && token.text.iter().any(|&byte| byte >= 0xf0) {
            let bytes = value(token, phrase.dialect());
            let literal = Literal { set: "utf8mb4".into(), bytes, is_hex: false, place: at..at + 1 };
            respelled.extend(literal.spell(phrase, keeper));
        }
    }
    respelled
}

/// Where expressions stand in the definition of a table, a column or a constraint: behind AS, CHECK and DEFAULT.
fn places(phrase: &Phrase) -> BTreeSet<usize> {
    let expression = |word: usize| {
        let first = phrase.code(word + 1);
        let token = phrase.token(word);
        match () {
            () if token.is_word("DEFAULT") && phrase.token(first).kind != Kind::String => {
                Some(first..value_end(phrase, first))
            }
            () if token.is_word("AS") || token.is_word("CHECK") => {
                Some(first..phrase.closed(first)).filter(|_| phrase.token(first).is_symbol(b'('))
            }
            () => None,
        }
    };
    (0..phrase.len()).filter_map(expression).flatten().collect()
}

/// Behind the value of a DEFAULT that begins at `first`.
pub fn value_end(phrase: &Phrase, first: usize) -> usize {
    let next = phrase.code(first + 1);
    let token = phrase.token(first);
    match () {
        () if token.is_symbol(b'(') => phrase.closed(first),
        () if token.is_symbol(b'-') || token.is_symbol(b'+') => value_end(phrase, next),
        // X'00' and _utf8mb4'x'
        () if token.kind == Kind::Word && phrase.token(first + 1).kind == Kind::String => first + 2,
        () if token.kind == Kind::Word && phrase.token(next).is_symbol(b'(') => phrase.closed(next),
        () if token.kind == Kind::Word && phrase.token(next).is_symbol(b'.') => {
            value_end(phrase, phrase.code(next + 1))
        }
        () => first + 1,
    }
}

/// Whether an expression in it has a collation of utf8mb3.
fn collates_utf8mb3(phrase: &Phrase) -> bool {
    let is_one = |&at: &usize| {
        let name = phrase.token(phrase.code(at + 1)).text.to_ascii_lowercase();
        phrase.token(at).is_word("COLLATE") && (name.starts_with(b"utf8_") || name.starts_with(b"utf8mb3_"))
    };
    places(phrase).iter().any(is_one)
}

impl<'a> Keeper<'a> {
    /// The character set's name there.
    fn name<'s>(&self, set: &'s str) -> &'s str
    where
        'a: 's,
    {
        if matches!(set, "utf8" | "utf8mb3") { self.utf8mb3 } else { set }
    }
}

/// A literal, with what it stands for.
struct Literal {
    set: String,
    bytes: Vec<u8>,
    is_hex: bool,
    place: Range<usize>,
}

impl Literal {
    fn behind_introducer(phrase: &Phrase, at: usize) -> Option<Self> {
        let word = phrase.token(at);
        let set = word.text.strip_prefix(b"_").filter(|_| word.kind == Kind::Word)?;
        let set = String::from_utf8_lossy(set).to_ascii_lowercase();
        let first = phrase.code(at + 1);
        let (token, next) = (phrase.token(first), phrase.token(first + 1));
        let (bytes, is_hex, end) = match token.kind {
            Kind::String => (value(token, phrase.dialect()), false, first + 1),
            Kind::Word if next.kind == Kind::String => {
                (number(token, next.within_quotes()?)?, true, first + 2)
            }
            Kind::Word => {
                let digits = token.text.strip_prefix(b"0")?;
                let base = Token { kind: Kind::Word, text: digits.get(..1)? };
                (number(base, &digits[1..])?, true, first + 1)
            }
            _ => return None,
        };
        Some(Self { set, bytes, is_hex, place: at..end })
    }

    /// Whether MariaDB reads again what it keeps of it.
    fn is_kept(&self) -> bool {
        let is_plain = |&byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'\'' | b'\\');
        self.bytes.len() <= KEPT && self.bytes.iter().all(is_plain)
    }

    /// Puts a function in its place that has the same value, character set and weight among collations.
    fn spell(self, phrase: &mut Phrase, keeper: Keeper<'_>) -> Option<Respelled> {
        let set = keeper.name(&self.set);
        let hex: String = self.bytes.iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02X}");
            hex
        });
        let is_old = keeper.version < (10, 5, 0);
        let mut reason = "MariaDB would misread the literal: the same bytes in the same character set";
        let mut loses = false;
        let to = match set {
            "binary" => format!("X'{hex}'"),
            _ if self.bytes.is_empty() => return None,
            "utf8mb4" | "utf8mb3" | "utf8" if is_old => format!("convert(X'{hex}' using {set})"),
            // What is kept of CHAR() has no character set there, and what CONVERT() gives in another one is read as utf8mb3.
            _ if is_old => {
                reason = "MariaDB before 10.5 would misread the literal: it is the same text in utf8mb4";
                loses = true;
                format!("convert(convert(X'{hex}' using {set}) using utf8mb4)")
            }
            _ => format!("char({} using {set})", units(&hex, set).join(",")),
        };
        let from = phrase.part(self.place.clone());
        phrase.replace(self.place, to.as_bytes());
        Some(Respelled { from, to, reason, loses })
    }
}

/// Bytes as the numbers that CHAR() takes: MariaDB fills each up to the shortest character of the set.
fn units(hex: &str, set: &str) -> Vec<String> {
    let digits = match set {
        "ucs2" | "utf16" | "utf16le" => 4,
        "utf32" => 8,
        _ => 2,
    };
    let padding = (digits - hex.len() % digits) % digits;
    let padded = [&"0".repeat(padding), hex].concat();
    padded.as_bytes().chunks(digits).map(|unit| format!("0x{}", String::from_utf8_lossy(unit))).collect()
}

/// The bytes of a string literal.
fn value(literal: Token<'_>, dialect: Dialect) -> Vec<u8> {
    let quote = literal.text.first().copied().unwrap_or_default();
    let (mut value, mut rest) = (Vec::new(), literal.within_quotes().unwrap_or_default());
    while let Some(&byte) = rest.first() {
        let width = dialect.lead_bytes.width(rest).clamp(1, rest.len());
        let escaped = rest.get(1).copied().filter(|_| byte == b'\\' && !dialect.no_backslash_escapes);
        let read = match escaped {
            Some(b'0') => &[0],
            Some(b'b') => &[8],
            Some(b'n') => b"\n",
            Some(b'r') => b"\r",
            Some(b't') => b"\t",
            Some(b'Z') => &[26],
            Some(b'%' | b'_') => &rest[..2],
            Some(_) => &rest[1..2],
            // A quote within is doubled.
            None if byte == quote => &rest[1..rest.len().min(2)],
            None => &rest[..width],
        };
        value.extend_from_slice(read);
        let is_pair = escaped.is_some() || byte == quote;
        rest = &rest[if is_pair { rest.len().min(2) } else { width }..];
    }
    value
}

/// The bytes that are written in this base, which `x` or `b` names.
fn number(base: Token<'_>, digits: &[u8]) -> Option<Vec<u8>> {
    let (radix, width) = match () {
        () if base.is_word("x") => (16, 2),
        () if base.is_word("b") => (2, 8),
        () => return None,
    };
    let digits = std::str::from_utf8(digits).ok()?;
    let padded = format!("{}{digits}", "0".repeat((width - digits.len() % width) % width));
    padded
        .as_bytes()
        .chunks(width)
        .map(|byte| u8::from_str_radix(std::str::from_utf8(byte).ok()?, radix).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Servers before 10.6 know utf8mb3 by its older name.
    fn written_to(text: &[u8], version: (u32, u32, u32), dialect: Dialect, reads_utf8mb4: bool) -> Vec<u8> {
        let utf8mb3 = if version < (10, 6, 0) { "utf8" } else { "utf8mb3" };
        let mut phrase = Phrase::of(text, dialect);
        introducers(&mut phrase, Keeper { version, utf8mb3, reads_utf8mb4 });
        phrase.to_text()
    }

    fn written(text: &[u8], version: (u32, u32, u32)) -> Vec<u8> {
        written_to(text, version, Dialect::default(), true)
    }

    fn to(version: (u32, u32, u32), text: &[u8]) -> String {
        String::from_utf8(written(text, version)).unwrap()
    }

    #[test]
    fn literals_that_mariadb_misreads() {
        let to = |text: &[u8]| to((11, 8, 2), text);
        assert_eq!(to(br"concat(_utf8mb4'a', _utf8mb3 'b\'c')"), r"concat('a', 'b\'c')");
        assert_eq!(to("(_utf8mb3'é')".as_bytes()), "('é')");
        assert_eq!(to(br"(_latin1'it\'s')"), "(char(0x69,0x74,0x27,0x73 using latin1))");
        assert_eq!(to(b"(_latin1'\xfc')"), "(char(0xFC using latin1))");
        assert_eq!(to(br"(_ucs2'\0a')"), "(char(0x0061 using ucs2))");
        assert_eq!(to(br"(_binary'\0\n\Z\t\%\\')"), "(X'000A1A095C255C')");
        assert_eq!(
            to(b"(_latin1 X'fc' + _latin1 0xFC + _ucs2 b'1100001')"),
            "(char(0xFC using latin1) + char(0xFC using latin1) + char(0x0061 using ucs2))"
        );
        assert_eq!(
            to("CHECK ((_utf8mb3'é' collate utf8mb3_bin))".as_bytes()),
            "CHECK ((char(0xC3,0xA9 using utf8mb3) collate utf8mb3_bin))"
        );
        for same in [
            "(_latin1'abc !#$%&()*+,-./:;<=>?@[]^_`{|}~\"')",
            "CHECK (_utf8mb3'a' collate utf8mb3_bin)",
            "`_latin1` 'é'",
        ] {
            assert_eq!(to(same.as_bytes()), same);
        }
        let long = format!("(_latin1'{}')", "a".repeat(501));
        assert!(to(long.as_bytes()).starts_with("(char(0x61,0x61,"));
    }

    #[test]
    fn older_ones_misread_more() {
        let smile = "`v` int AS (f('\u{1f600}', 'é')) COMMENT '\u{1f600}'";
        let spelled = smile.replacen("'\u{1f600}'", "char(0xF0,0x9F,0x98,0x80 using utf8mb4)", 1);
        assert_eq!(to((10, 5, 23), smile.as_bytes()), spelled);
        assert_eq!(to((10, 11, 2), smile.as_bytes()), smile);
        let collated = b"CHECK (_utf8mb3'a' collate utf8_bin)";
        assert_eq!(to((10, 5, 23), collated), "CHECK (_utf8'a' collate utf8_bin)");
        assert_eq!(
            to((10, 2, 11), b"(_latin1'\xfc')"),
            "(convert(convert(X'FC' using latin1) using utf8mb4))"
        );
        assert_eq!(
            to((10, 2, 11), "CHECK (`w` <> _utf8mb4'\u{1f600}')".as_bytes()),
            "CHECK (`w` <> convert(X'F09F9880' using utf8mb4))"
        );
    }

    #[test]
    fn whole_statements() {
        let text = "CREATE TABLE t (a int, b text COLLATE utf8mb3_bin AS (concat(_utf8mb3'é', '\u{1f600}')), \
                    CHECK (a <> _latin1'x' OR f('\u{1f600}')) ) COMMENT '\u{1f600}'";
        assert_eq!(
            to((10, 5, 9), text.as_bytes()),
            "CREATE TABLE t (a int, b text COLLATE utf8mb3_bin AS (concat('é', char(0xF0,0x9F,0x98,0x80 using utf8mb4))), \
             CHECK (a <> _latin1'x' OR f(char(0xF0,0x9F,0x98,0x80 using utf8mb4))) ) COMMENT '\u{1f600}'"
        );
    }

    /// In another character set, or without backslashes.
    #[test]
    fn sessions_of_others() {
        let plain = Dialect { no_backslash_escapes: true, ..Dialect::default() };
        let to =
            |text: &[u8], dialect| String::from_utf8(written_to(text, (11, 8, 2), dialect, false)).unwrap();
        assert_eq!(to(b"(_latin1'\\n')", plain), "(char(0x5C,0x6E using latin1))");
        assert_eq!(to(b"(_latin1'\\n')", Dialect::default()), "(char(0x0A using latin1))");
        assert_eq!(to("(_utf8mb4'é')".as_bytes(), plain), "(char(0xC3,0xA9 using utf8mb4))");
        assert_eq!(to(b"(_utf8mb4'a')", plain), "(_utf8mb4'a')");
        let sjis = Dialect::of("", "sjis");
        assert_eq!(to(b"(_sjis'\x83\x5c\\'')", sjis), "(char(0x83,0x5C,0x27 using sjis))");
    }

    fn as_mysql_prints(bytes: &[u8]) -> Vec<u8> {
        let one = |&byte: &u8| match byte {
            0 => br"\0".to_vec(),
            b'\n' => br"\n".to_vec(),
            b'\r' => br"\r".to_vec(),
            26 => br"\Z".to_vec(),
            b'\\' | b'\'' => vec![b'\\', byte],
            _ => vec![byte],
        };
        bytes.iter().flat_map(one).collect()
    }

    proptest! {
        #[test]
        fn any_bytes_are_kept(bytes in prop::collection::vec(any::<u8>(), 1..40)) {
            let text = [b"(_binary'".as_slice(), &as_mysql_prints(&bytes), b"')"].concat();
            let hex: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
            let is_plain = bytes.iter().all(|byte| matches!(byte, b' '..=b'&' | b'('..=b'[' | b']'..=b'~'));
            let expected = if is_plain { text.clone() } else { format!("(X'{hex}')").into_bytes() };
            prop_assert_eq!(written(&text, (11, 8, 2)), expected);
        }
    }
}
