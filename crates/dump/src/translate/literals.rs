//! String literals in expressions of a table, written so that MariaDB keeps them.
//!
//! MariaDB keeps an expression as text. A literal behind an introducer (`_latin1'ü'`) is kept with `\xFC` for each byte that is not printable
//! ASCII, with no escapes, and cut after 511 characters; read again it is another text. Before 10.11 a literal without one is kept in utf8mb3:
//! characters beyond it become `?`. Sources: `Item_string::print()`, `ErrConvString`; tried on 10.2 to 11.8.

use std::fmt::Write as _;
use std::ops::Range;

use drover_db::sql::phrase::Phrase;
use drover_db::sql::{Kind, Token};

use super::target::Target;
use super::{Notes, Why, columns};

/// How many characters of a literal are safe behind an introducer.
const KEPT: usize = 500;

/// What each literal with an introducer is for MariaDB. The session's character set is utf8mb4.
pub(super) fn introducers(phrase: &mut Phrase, target: &Target, notes: &mut Notes) {
    let collates_utf8mb3 = collates_utf8mb3(phrase);
    for at in (0..phrase.len()).rev() {
        let Some(literal) = Literal::behind_introducer(phrase, at) else { continue };
        let is_text = phrase.token(literal.place.end - 1).kind == Kind::String && !literal.is_hex;
        match literal.set.as_str() {
            "utf8mb4" if is_text => phrase.replace(at..literal.place.end - 1, b""),
            "utf8" | "utf8mb3" if is_text && !collates_utf8mb3 => {
                phrase.replace(at..literal.place.end - 1, b"");
            }
            set if literal.is_kept() && is_text => {
                if let Some(known) = known(set, target) {
                    phrase.replace(at..at + 1, format!("_{known}").as_bytes());
                }
            }
            _ => literal.spell(phrase, target, notes),
        }
    }
    beyond_utf8mb3(phrase, target, notes);
}

/// Literals with characters that take four bytes in UTF-8, in the expressions of a column or constraint, for a MariaDB that loses them.
pub(super) fn beyond_utf8mb3(phrase: &mut Phrase, target: &Target, notes: &mut Notes) {
    if !target.is_mariadb_before((10, 11, 0)) {
        return;
    }
    for range in columns::expressions(phrase).into_iter().rev() {
        for at in range.rev() {
            let token = phrase.token(at);
            let follows_word = at > 0 && phrase.token(at - 1).kind == Kind::Word;
            if token.kind == Kind::String && !follows_word && token.text.iter().any(|&byte| byte >= 0xf0) {
                let bytes = value(token);
                Literal { set: "utf8mb4".into(), bytes, is_hex: false, place: at..at + 1 }
                    .spell(phrase, target, notes);
            }
        }
    }
}

/// The other name of utf8mb3, where the target knows only that.
fn known(set: &str, target: &Target) -> Option<&'static str> {
    let known = match set {
        "utf8mb3" => "utf8",
        "utf8" => "utf8mb3",
        _ => return None,
    };
    (!target.character_sets.contains(set) && target.character_sets.contains(known)).then_some(known)
}

/// Whether an expression in it has a collation of utf8mb3.
fn collates_utf8mb3(phrase: &Phrase) -> bool {
    let top = phrase.top();
    let is_one = |at: usize| {
        let name = phrase.token(phrase.code(at + 1)).text.to_ascii_lowercase();
        name.starts_with(b"utf8_") || name.starts_with(b"utf8mb3_")
    };
    (0..phrase.len()).any(|at| phrase.token(at).is_word("COLLATE") && !top.contains(&at) && is_one(at))
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
            Kind::String => (value(token), false, first + 1),
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
    fn spell(self, phrase: &mut Phrase, target: &Target, notes: &mut Notes) {
        let set = known(&self.set, target).unwrap_or(&self.set);
        let hex: String = self.bytes.iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02X}");
            hex
        });
        let is_old = target.is_mariadb_before((10, 5, 0));
        let mut why =
            Why::kept("MariaDB would misread the literal: the same bytes in the same character set");
        let with = match set {
            "binary" => format!("X'{hex}'"),
            _ if self.bytes.is_empty() => return,
            "utf8mb4" | "utf8mb3" | "utf8" if is_old => format!("convert(X'{hex}' using {set})"),
            // What is kept of CHAR() has no character set there, and what CONVERT() gives in another one is read as utf8mb3.
            _ if is_old => {
                why = Why::lost(
                    "MariaDB before 10.5 would misread the literal: it is the same text in utf8mb4",
                );
                format!("convert(convert(X'{hex}' using {set}) using utf8mb4)")
            }
            _ => format!("char({} using {set})", units(&hex, set).join(",")),
        };
        notes.add(&phrase.part(self.place.clone()), &with, why);
        phrase.replace(self.place, with.as_bytes());
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

/// The bytes of a string literal that is read with backslashes.
fn value(literal: Token<'_>) -> Vec<u8> {
    let quote = literal.text.first().copied().unwrap_or_default();
    let (mut value, mut bytes) = (Vec::new(), literal.within_quotes().unwrap_or_default().iter().copied());
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => match bytes.next() {
                Some(b'0') => value.push(0),
                Some(b'b') => value.push(8),
                Some(b'n') => value.push(b'\n'),
                Some(b'r') => value.push(b'\r'),
                Some(b't') => value.push(b'\t'),
                Some(b'Z') => value.push(26),
                Some(wild @ (b'%' | b'_')) => value.extend([b'\\', wild]),
                Some(itself) => value.push(itself),
                None => {}
            },
            // A quote within is doubled.
            _ if byte == quote => value.extend(bytes.next()),
            _ => value.push(byte),
        }
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
    use drover_db::sql::Dialect;
    use drover_db::{Server, Vendor};
    use proptest::prelude::*;

    use super::*;

    fn target(version: &str) -> Target {
        let server = Server { vendor: Vendor::MariaDb, version: version.into(), comment: String::new() };
        let mut target = Target { server, ..Target::of(Vendor::MariaDb) };
        if target.is_mariadb_before((10, 6, 0)) {
            target.character_sets.remove("utf8mb3");
            target.character_sets.insert("utf8".into());
        }
        target
    }

    fn written(text: &[u8], version: &str) -> Vec<u8> {
        let mut phrase = Phrase::of(text, Dialect::default());
        introducers(&mut phrase, &target(version), &mut Notes::new("x"));
        phrase.to_text()
    }

    fn to(version: &str, text: &[u8]) -> String {
        String::from_utf8(written(text, version)).unwrap()
    }

    #[test]
    fn literals_that_mariadb_misreads() {
        let to = |text: &[u8]| to("11.8.2-MariaDB", text);
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
            to("((_utf8mb3'é' collate utf8mb3_bin))".as_bytes()),
            "((char(0xC3,0xA9 using utf8mb3) collate utf8mb3_bin))"
        );
        for same in [
            "(_latin1'abc !#$%&()*+,-./:;<=>?@[]^_`{|}~\"')",
            "(_utf8mb3'a' collate utf8mb3_bin)",
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
        assert_eq!(to("10.5.23-MariaDB", smile.as_bytes()), spelled);
        assert_eq!(to("10.11.2-MariaDB", smile.as_bytes()), smile);
        let collated = b"(_utf8mb3'a' collate utf8_bin)";
        assert_eq!(to("10.5.23-MariaDB", collated), "(_utf8'a' collate utf8_bin)");
        assert_eq!(
            to("10.2.11-MariaDB", b"(_latin1'\xfc')"),
            "(convert(convert(X'FC' using latin1) using utf8mb4))"
        );
        assert_eq!(
            to("10.2.11-MariaDB", "CHECK (`w` <> _utf8mb4'\u{1f600}')".as_bytes()),
            "CHECK (`w` <> convert(X'F09F9880' using utf8mb4))"
        );
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
            prop_assert_eq!(written(&text, "11.8.2-MariaDB"), expected);
        }
    }
}
