//! What MySQL prints otherwise from one patch release of a series to the next: in 8.0 the widths of whole numbers and YEAR went with 8.0.19,
//! and utf8 became utf8mb3 with 8.0.28 and 8.0.30. Source: release notes; found with 8.0.12 and 8.0.33.

use drover_db::sql::{Dialect, Kind, tokens};
use drover_db::{Server, Vendor};

const WITH_WIDTH: [&str; 7] = ["tinyint", "smallint", "mediumint", "int", "bigint", "integer", "year"];

/// Whether two servers of one series may print a definition in these two ways.
pub(super) fn may_differ(a: &Server, b: &Server) -> bool {
    a.vendor == Vendor::MySql && a.numbers() != b.numbers()
}

/// Statements as any patch release would print them.
pub(super) fn as_of_any(statements: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    statements.iter().map(|statement| as_one(statement)).collect()
}

fn as_one(text: &[u8]) -> Vec<u8> {
    let tokens: Vec<_> = tokens(text, Dialect::default()).collect();
    let (mut out, mut at) = (Vec::with_capacity(text.len()), 0);
    while let Some(token) = tokens.get(at) {
        let is_width = |more: &[drover_db::sql::Token<'_>]| {
            more.len() == 3
                && more[0].is_symbol(b'(')
                && more[1].text.iter().all(u8::is_ascii_digit)
                && more[2].is_symbol(b')')
        };
        let has_width = WITH_WIDTH.iter().any(|word| token.is_word(word));
        match utf8mb3(token.text).filter(|_| token.kind == Kind::Word) {
            Some(name) => out.extend_from_slice(&name),
            None => out.extend_from_slice(token.text),
        }
        at += if has_width && tokens.get(at + 1..at + 4).is_some_and(is_width) { 4 } else { 1 };
    }
    out
}

/// The later name of a character set, a collation or an introducer of utf8.
fn utf8mb3(word: &[u8]) -> Option<Vec<u8>> {
    let (start, rest) = match word.strip_prefix(b"_") {
        Some(rest) => (&b"_"[..], rest),
        None => (&b""[..], word),
    };
    let rest = rest.strip_prefix(b"utf8").filter(|rest| rest.is_empty() || rest.starts_with(b"_"))?;
    Some([start, b"utf8mb3", rest].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_patch_releases_print_is_the_same() {
        let older: &[u8] =
            b"CREATE TABLE `t` (`int(11)` int(11) unsigned zerofill, b bigint(20), y year(4), c char(3), \
            x varchar(5) CHARACTER SET utf8 COLLATE utf8_bin DEFAULT _utf8'utf8') CHARSET=utf8mb4";
        let later: &[u8] =
            b"CREATE TABLE `t` (`int(11)` int unsigned zerofill, b bigint, y year, c char(3), \
            x varchar(5) CHARACTER SET utf8mb3 COLLATE utf8mb3_bin DEFAULT _utf8mb3'utf8') CHARSET=utf8mb4";
        assert_eq!(as_one(older), later);
        assert_eq!(as_one(later), later);
        let server =
            |version: &str| Server { vendor: Vendor::MySql, version: version.into(), comment: String::new() };
        assert!(may_differ(&server("8.0.12"), &server("8.0.33")));
        assert!(!may_differ(&server("8.0.33"), &server("8.0.33-0ubuntu")));
    }
}
