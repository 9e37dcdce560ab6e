//! What is the same in all statements: version comments, collations, and functions that only go by another name.

use drover_db::collations::nearest;
use drover_db::sql::literals::{Keeper, Respelled, beyond_utf8mb3, introducers};
use drover_db::sql::{Dialect, Kind, tokens};
use drover_db::{Server, Vendor};

use super::target::Target;
use super::{Notes, Why};
use drover_db::sql::phrase::Phrase;

/// The version in a comment like `/*!80023 x */` and what is in it.
pub(super) fn version_comment(text: &[u8]) -> Option<(bool, u32, &[u8])> {
    let inner = text.strip_prefix(b"/*")?.strip_suffix(b"*/")?;
    let (mariadb_only, rest) = match inner.strip_prefix(b"M!") {
        Some(rest) => (true, rest),
        None => (false, inner.strip_prefix(b"!")?),
    };
    let digits = rest.iter().take(6).take_while(|byte| byte.is_ascii_digit()).count();
    let digits = if digits < 5 { 0 } else { digits };
    let (number, code) = rest.split_at(digits);
    let version = std::str::from_utf8(number).ok().and_then(|number| number.parse().ok()).unwrap_or(0);
    Some((mariadb_only, version, code))
}

/// Whether a server takes what is in a version comment for code. MariaDB passes over 5.7 to 9.99, which are MySQL's.
fn executes(vendor: Vendor, version: u32, mariadb_only: bool, comment: u32) -> bool {
    match vendor {
        Vendor::MySql => !mariadb_only && comment <= version,
        Vendor::MariaDb => comment <= version && (mariadb_only || !(50_700..=99_999).contains(&comment)),
    }
}

/// Literals with introducers in the expressions of a column or constraint, as a MariaDB keeps them.
pub(super) fn literals(item: &mut Phrase, target: &Target, notes: &mut Notes) {
    note(introducers(item, keeper(target)), notes);
}

/// `char(0xc3b1 using koi8r)`, as a MariaDB has it or drover has written it there: MySQL would keep it without the character set.
pub(super) fn literals_in_char(item: &mut Phrase, notes: &mut Notes) {
    let mut at = 0;
    while at < item.len() {
        if let Some((end, literal)) = literal_in_char(item, at) {
            let from = item.part(at..end);
            notes.add(&from, &literal, Why::kept("the same text: MySQL keeps no character set of CHAR()"));
            item.replace(at..end, literal.as_bytes());
        }
        at += 1;
    }
}

/// Where such a call ends that begins there, and the literal that it is.
fn literal_in_char(item: &Phrase, at: usize) -> Option<(usize, String)> {
    if !item.token(at).is_word("CHAR") {
        return None;
    }
    let open = item.code(at + 1);
    if open >= item.len() || !item.token(open).is_symbol(b'(') {
        return None;
    }
    let end = item.closed(open);
    let words: Vec<_> = (open + 1..end - 1).filter(|&at| item.token(at).is_code()).collect();
    let [numbers @ .., using, set] = &words[..] else { return None };
    if !item.token(*using).is_word("USING") {
        return None;
    }
    let set = String::from_utf8(item.token(*set).text.to_ascii_lowercase()).ok()?;
    let unit = match set.as_str() {
        "ucs2" | "utf16" | "utf16le" => 2,
        "utf32" => 4,
        _ => 1,
    };
    let mut hex = String::new();
    for (place, &number) in numbers.iter().enumerate() {
        match place % 2 {
            0 => hex.push_str(&bytes_of_char(item.token(number).text, unit)?),
            _ if item.token(number).is_symbol(b',') => {}
            _ => return None,
        }
    }
    (!numbers.is_empty()).then(|| (end, format!("_{set} X'{hex}'")))
}

/// A number's bytes in hexadecimal, as CHAR() makes text of them.
fn bytes_of_char(number: &[u8], unit: usize) -> Option<String> {
    let text = std::str::from_utf8(number).ok()?;
    let value = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => u32::from_str_radix(hex, 16).ok()?,
        None => text.parse().ok()?,
    };
    let bytes = value.to_be_bytes();
    let least = bytes.iter().position(|byte| *byte != 0).map_or(1, |zeros| 4 - zeros);
    let many = least.next_multiple_of(unit);
    Some(bytes[4 - many..].iter().map(|byte| format!("{byte:02X}")).collect())
}

/// Literals without them there, which a MariaDB before 10.11 keeps in utf8mb3.
pub(super) fn literals_of_four_bytes(item: &mut Phrase, target: &Target, notes: &mut Notes) {
    if target.vendor == Vendor::MariaDb {
        note(beyond_utf8mb3(item, keeper(target)), notes);
    }
}

fn keeper(target: &Target) -> Keeper<'static> {
    let utf8mb3 = if target.character_sets.contains_key("utf8mb3") { "utf8mb3" } else { "utf8" };
    Keeper { version: target.server.numbers(), utf8mb3, reads_utf8mb4: true }
}

fn note(respelled: Vec<Respelled>, notes: &mut Notes) {
    for Respelled { from, to, reason, loses } in respelled {
        notes.add(&from, &to, Why { reason: reason.into(), loses });
    }
}

fn number(server: &Server) -> u32 {
    if server.is_tidb() {
        // It reads them all. Source: `startWithSlash` in its pkg/parser/lexer.go.
        return u32::MAX;
    }
    let (major, minor, patch) = server.numbers();
    major * 10_000 + minor * 100 + patch
}

/// What the old server took for code becomes code, and what it took for a comment stays one.
pub(super) fn unwrap_comments(phrase: &mut Phrase, old: &Server, new: &Server, notes: &mut Notes) {
    let mut at = 0;
    while at < phrase.len() {
        let text = phrase.token(at).text.to_vec();
        at += 1;
        if phrase.token(at - 1).kind != Kind::Comment {
            continue;
        }
        let Some((mariadb_only, version, code)) = version_comment(&text) else { continue };
        let by_old = executes(old.vendor, number(old), mariadb_only, version);
        let by_new = executes(new.vendor, number(new), mariadb_only, version);
        let from = String::from_utf8_lossy(&text).into_owned();
        let with = match (by_old, by_new) {
            (true, false) => [b" ", code.trim_ascii(), b" "].concat(),
            (false, true) => [b"/* ".as_slice(), &text[3..]].concat(),
            _ => continue,
        };
        let reason = "the target reads this comment otherwise than the old server did";
        notes.add(&from, String::from_utf8_lossy(&with).trim(), Why::kept(reason));
        phrase.replace(at - 1..at, &with);
    }
}

/// Takes away the comment marks of all version comments that the old server executes: a definition of a table or schema
/// can then be read as a whole. What the target takes all the same needs no word.
pub(super) fn open_comments(text: &[u8], old: &Server) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::with_capacity(text.len()), text);
    let mut is_open = false;
    while let Some(token) = tokens(rest, Dialect::default()).next() {
        let marks = match token.kind {
            Kind::Comment => opening(token.text, old),
            // What is in such a comment is code: a `*/` in a string does not end it.
            Kind::Symbol if is_open && rest.starts_with(b"*/") => 2,
            _ => 0,
        };
        match marks {
            0 => out.extend_from_slice(token.text),
            _ => is_open = token.kind == Kind::Comment,
        }
        rest = &rest[if marks == 0 { token.text.len() } else { marks }..];
        if marks > 0 {
            // One space stays, so that no words run together.
            rest = if is_open { rest.trim_ascii_start() } else { rest };
            while !is_open && out.last() == Some(&b' ') {
                out.pop();
            }
        }
    }
    out
}

/// What MySQL prints in a comment behind a key that its optimizer does not use, with the comment's version; columns have another one.
pub(super) const HIDDEN_KEY: (u32, &str) = (80_000, "INVISIBLE");

/// Notes what stands in comments that only a later version of the same vendor reads.
pub(super) fn unread_comments(text: &[u8], target: &Target, notes: &mut Notes) {
    for comment in tokens(text, Dialect::default()).filter(|token| token.kind == Kind::Comment) {
        let Some((only, version, code)) = version_comment(comment.text) else { continue };
        let code = String::from_utf8_lossy(code).trim().to_owned();
        // A hidden key is noted where the keys are rewritten, with its name.
        let is_of_key = (version, code.as_str()) == HIDDEN_KEY;
        if is_of_key || executes(target.vendor, number(&target.server), only, version) {
            continue;
        }
        let why = match code.ends_with("ENCRYPTION='N'") {
            true => Why::kept("not to encrypt is what it does anyway"),
            false => Why::lost("the target's version does not know it, and passes over it"),
        };
        notes.add(&code, "", why);
    }
}

/// How long the mark is with which a comment begins that the server takes for code; 0 if it is no such comment.
fn opening(comment: &[u8], server: &Server) -> usize {
    match version_comment(comment) {
        Some((only, version, code)) if executes(server.vendor, number(server), only, version) => {
            comment.len() - code.len() - b"*/".len()
        }
        _ => 0,
    }
}

/// Puts the nearest collation for each that the target does not have. A collation is what follows the word COLLATE, or
/// a setting that is called after one.
pub(super) fn collations(phrase: &mut Phrase, target: &Target, notes: &mut Notes) {
    for at in 0..phrase.len() {
        let token = phrase.token(at);
        if token.kind != Kind::Word || !names_collation(phrase, at) {
            continue;
        }
        let name = String::from_utf8_lossy(token.text).to_ascii_lowercase();
        if target.has_collation(&name) {
            continue;
        }
        let Some(found) = nearest(&name, |name| target.has_collation(name)) else { continue };
        notes.add(&name, &found.name, Why { reason: found.reason, loses: found.loses });
        phrase.replace(at..at + 1, found.name.as_bytes());
    }
}

fn names_collation(phrase: &Phrase, at: usize) -> bool {
    let Some(mut before) = phrase.before(at) else { return false };
    if phrase.token(before).is_symbol(b'=') {
        let Some(word) = phrase.before(before) else { return false };
        before = word;
    }
    ["COLLATE", "collation_connection"].iter().any(|word| phrase.token(before).is_word(word))
}

/// MySQL from 8.0.4 on prints `a REGEXP b` as a function that MariaDB and older versions of MySQL do not have.
pub(super) fn functions(phrase: &mut Phrase, target: &Target, notes: &mut Notes) {
    if target.has_regexp_like {
        return;
    }
    let mut at = 0;
    while at < phrase.len() {
        let is_call = phrase.token(at).is_word("regexp_like") && phrase.token(at + 1).is_symbol(b'(');
        // One behind a schema's name is a person's.
        if is_call && !phrase.before(at).is_some_and(|before| phrase.token(before).is_symbol(b'.')) {
            regexp_like(phrase, at, target, notes);
        }
        at += 1;
    }
}

fn regexp_like(phrase: &mut Phrase, at: usize, target: &Target, notes: &mut Notes) {
    let end = phrase.closed(at + 1);
    let (mut depth, mut commas) = (0usize, Vec::new());
    for inner in at + 1..end {
        match phrase.token(inner) {
            token if token.is_symbol(b'(') => depth += 1,
            token if token.is_symbol(b')') => depth = depth.saturating_sub(1),
            token if token.is_symbol(b',') && depth == 1 => commas.push(inner),
            _ => {}
        }
    }
    let [comma] = commas[..] else { return };
    let pattern = phrase.part(comma + 1..end - 1);
    let with = format!("({} regexp {pattern})", phrase.part(at + 2..comma));
    match target.vendor {
        Vendor::MySql if !is_plain(&pattern) => {
            let reason = "the target's patterns are of POSIX and compare bytes: \\d, \\b and (? mean something else, . and [^a] take one byte, \
                          $ passes over no line break";
            notes.add(&phrase.part(at..end), &with, Why::lost(reason));
        }
        _ => notes.add("regexp_like(a, b)", "a regexp b", Why::kept("the same under the target's name")),
    }
    phrase.replace(at..end, with.as_bytes());
}

/// Whether a pattern is a literal that means the same to MySQL before 8.0.4, whose expressions are Henry Spencer's, and to later ones, which
/// have those of ICU. Source: MySQL's manual, "Regular Expressions" of 5.7 and of 8.0.
fn is_plain(pattern: &str) -> bool {
    let literal = pattern.trim();
    let literal = literal.strip_prefix('_').map_or(literal, |rest| {
        rest.trim_start_matches(|letter: char| letter.is_ascii_alphanumeric()).trim_start()
    });
    let Some(text) = literal.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')) else {
        return false;
    };
    let (mut in_list, mut before) = (false, b'(');
    for byte in text.bytes() {
        let is_letter = byte.is_ascii_alphanumeric();
        let is_plain = match byte {
            _ if in_list => is_letter || matches!(byte, b'-' | b']'),
            b'[' => true,
            // An empty part is an error to the older ones.
            b'|' | b')' => !matches!(before, b'(' | b'|'),
            b'*' | b'+' | b'?' => before.is_ascii_alphanumeric() || matches!(before, b')' | b']'),
            _ => is_letter || b" ^(_-,:;@#/=".contains(&byte),
        };
        if !is_plain {
            return false;
        }
        in_list = byte == b'[' || in_list && byte != b']';
        before = byte;
    }
    !in_list && !matches!(before, b'(' | b'|')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(vendor: Vendor) -> Server {
        let version = if vendor == Vendor::MySql { "9.7.4" } else { "10.11.19-MariaDB" };
        Server { vendor, version: version.into(), comment: String::new() }
    }

    fn changed(text: &str, change: impl Fn(&mut Phrase, &mut Notes)) -> (String, usize) {
        let (mut phrase, mut notes) = (Phrase::of(text.as_bytes(), Dialect::default()), Notes::new("x"));
        change(&mut phrase, &mut notes);
        (String::from_utf8(phrase.to_text()).unwrap(), notes.rewrites.len())
    }

    #[test]
    fn comments_mean_what_they_meant() {
        let (mysql, mariadb) = (server(Vendor::MySql), server(Vendor::MariaDb));
        let to =
            |text: &str, old, new| changed(text, |phrase, notes| unwrap_comments(phrase, old, new, notes)).0;
        assert_eq!(to("a /*!80000 b */ c", &mysql, &mariadb), "a  b  c");
        assert_eq!(to("a /*!80000 b */ c", &mariadb, &mysql), "a /* 80000 b */ c");
        assert_eq!(to("a /*M! b */ c", &mariadb, &mysql), "a  b  c");
        assert_eq!(to("a /*!100100 b*/", &mariadb, &mysql), "a  b ");
        assert_eq!(
            to("a /*!50000 b */ '/*M! c*/' /* d */", &mariadb, &mysql),
            "a /*!50000 b */ '/*M! c*/' /* d */"
        );
    }

    #[test]
    fn comments_that_are_code_lose_their_marks() {
        let open =
            |text: &str| String::from_utf8(open_comments(text.as_bytes(), &server(Vendor::MySql))).unwrap();
        assert_eq!(open("a /*!80023 INVISIBLE */, b /* c */"), "a INVISIBLE, b /* c */");
        assert_eq!(
            open(")\n/*!50100 PARTITION BY HASH (`a`)\n(COMMENT = 'x */ y') */"),
            ")\nPARTITION BY HASH (`a`)\n(COMMENT = 'x */ y')"
        );
        assert_eq!(open("'/*!80000 */' /*M! b */ /*!999999 c */"), "'/*!80000 */' /*M! b */ /*!999999 c */");
    }

    #[test]
    fn only_collations_are_taken_for_collations() {
        let target = Target::of(Vendor::MySql);
        let to = |text: &str| changed(text, |phrase, notes| collations(phrase, &target, notes)).0;
        assert_eq!(
            to("SET collation_connection = utf8mb4_uca1400_ai_ci"),
            "SET collation_connection = utf8mb4_0900_ai_ci"
        );
        assert_eq!(to("(a COLLATE utf8mb4_nopad_bin)"), "(a COLLATE utf8mb4_0900_bin)");
        assert_eq!(to("SELECT utf8mb4_nopad_bin"), "SELECT utf8mb4_nopad_bin");
        assert_eq!(to("COLLATE utf8mb4_bin"), "COLLATE utf8mb4_bin");
    }

    #[test]
    fn regexp_is_an_operator_there() {
        let target = Target::of(Vendor::MariaDb);
        let to = |text: &str| changed(text, |phrase, notes| functions(phrase, &target, notes));
        assert_eq!(to("(regexp_like(f(a, b),'^x,') and 1)"), ("((f(a, b) regexp '^x,') and 1)".into(), 1));
        assert_eq!(to("regexp_like(a,'b','i')"), ("regexp_like(a,'b','i')".into(), 0));
        assert_eq!(to("`s`.regexp_like(a,'b')"), ("`s`.regexp_like(a,'b')".into(), 0));
    }

    #[test]
    fn patterns_mean_something_else_to_older_versions() {
        let target = Target { has_regexp_like: false, ..Target::of(Vendor::MySql) };
        let loses = |pattern: &str| {
            let text = format!("regexp_like(`a`,{pattern})");
            let (mut phrase, mut notes) = (Phrase::of(text.as_bytes(), Dialect::default()), Notes::new("x"));
            functions(&mut phrase, &target, &mut notes);
            assert_eq!(String::from_utf8(phrase.to_text()).unwrap(), format!("(`a` regexp {pattern})"));
            notes.rewrites[0].loses
        };
        for same in ["'^ab'", "_utf8mb4'a|b c'", "'^(ab)*c[a-z0-9]+d?'", "_latin1 'x'"] {
            assert!(!loses(same), "{same}");
        }
        for other in [
            "'a.b'",
            "'a$'",
            "'\\\\d'",
            "'[^a]'",
            "'[[:alpha:]]'",
            "'(?i)a'",
            "'a+?'",
            "'^*a'",
            "'é'",
            "`b`",
            "'a{2}'",
            "''",
            "'a''b'",
            "'a|'",
            "concat('a','b')",
        ] {
            assert!(loses(other), "{other}");
        }
        assert!(Target::of(Vendor::MySql).has_regexp_like);
    }
}
