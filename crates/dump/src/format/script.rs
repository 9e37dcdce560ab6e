//! Files of SQL statements that both drover and the vendors' command-line clients read. Statements are bytes: a
//! routine's text is in the character set it was written in.
//!
//! A file is: comment lines that begin with `-- `; perhaps a line `DELIMITER x`; the statements, each ended by the
//! delimiter and a newline; and, if the delimiter is not `;`, a line `DELIMITER ;`. The delimiter is one that no
//! statement contains, so that finding the statements needs no knowledge of SQL.

use drover_db::sql::Dialect;

use crate::{Error, Result};
use std::path::Path;

const CANDIDATES: [&str; 4] = [";", ";;", "//", "~~~"];

/// The bytes of a file that holds `statements`, with `comment` (one line) at its head.
pub(crate) fn render<S: AsRef<[u8]>>(comment: &str, statements: &[S]) -> Vec<u8> {
    let delimiter = delimiter(statements);
    let mut out = Vec::new();
    for line in comment.lines() {
        out.extend_from_slice(format!("-- {line}\n").as_bytes());
    }
    if delimiter != ";" {
        out.extend_from_slice(format!("DELIMITER {delimiter}\n").as_bytes());
    }
    for statement in statements {
        out.extend_from_slice(statement.as_ref());
        out.extend_from_slice(delimiter.as_bytes());
        out.push(b'\n');
    }
    if delimiter != ";" {
        out.extend_from_slice(b"DELIMITER ;\n");
    }
    out
}

fn delimiter<S: AsRef<[u8]>>(statements: &[S]) -> String {
    let numbered = (1..).map(|n| format!("~{n}~"));
    let mut candidates = CANDIDATES.iter().map(|&text| text.to_owned()).chain(numbered);
    let fits = |candidate: &String| {
        statements.iter().all(|statement| ends_only(statement.as_ref(), candidate.as_bytes()))
    };
    candidates.find(fits).unwrap_or_default() // the numbered ones never end, and a statement holds only so many
}

/// Whether the first place of `delimiter` in the statement and the delimiter behind it is the end of the statement.
fn ends_only(statement: &[u8], delimiter: &[u8]) -> bool {
    let ended = [statement, delimiter].concat();
    find(&ended, delimiter) == Some(statement.len())
}

fn find(text: &[u8], needle: &[u8]) -> Option<usize> {
    text.windows(needle.len()).position(|window| window == needle)
}

/// The statements of a file that [`render`] wrote.
pub(crate) fn parse(path: &Path, text: &[u8]) -> Result<Vec<Vec<u8>>> {
    parse_text(text)
        .ok_or_else(|| Error::found(format!("{}: not a whole file of statements", path.display())))
}

fn parse_text(text: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut rest = text;
    while rest.starts_with(b"-- ") {
        rest = line(rest)?.1;
    }
    let mut end: &[u8] = b";";
    let mut custom = false;
    if rest.starts_with(b"DELIMITER ") {
        let (first, tail) = line(rest)?;
        (end, rest, custom) = (&first[b"DELIMITER ".len()..], tail, true);
    }
    let mut statements = Vec::new();
    loop {
        if rest.is_empty() && !custom || custom && rest == b"DELIMITER ;\n" {
            return Some(statements);
        }
        let at = find(rest, end)?;
        statements.push(rest[..at].to_vec());
        rest = rest[at + end.len()..].strip_prefix(b"\n")?;
    }
}

/// How the last statement of a script is to be read: its first ones set it.
pub(crate) fn dialect(statements: &[Vec<u8>]) -> Dialect {
    let value = |variable: &str| {
        let prefix = format!("SET {variable} = ");
        let text = statements.iter().find_map(|statement| statement.strip_prefix(prefix.as_bytes()))?;
        Some(String::from_utf8_lossy(text).trim_matches('\'').to_owned())
    };
    Dialect::of(&value("sql_mode").unwrap_or_default(), &value("character_set_client").unwrap_or_default())
}

fn line(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = text.iter().position(|&b| b == b'\n')?;
    Some((&text[..at], &text[at + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_body_with_semicolons_gets_another_delimiter() {
        let text = render("a procedure", &["CREATE PROCEDURE p() BEGIN SELECT 1; END"]);
        assert_eq!(
            String::from_utf8(text).unwrap(),
            "-- a procedure\nDELIMITER ;;\nCREATE PROCEDURE p() BEGIN SELECT 1; END;;\nDELIMITER ;\n"
        );
    }

    #[test]
    fn a_cut_file_is_refused() {
        let text = render("x", &["CREATE TABLE a (b int)", "SELECT ';'"]);
        for cut in 1..text.len() {
            assert_ne!(parse_text(&text[..cut]), parse_text(&text), "cut at {cut}");
        }
    }

    proptest! {
        #[test]
        fn statements_come_back(statements in prop::collection::vec("[a;$/~1\n]{1,12}", 0..5)) {
            let text = render("some statements", &statements);
            let back = parse_text(&text).unwrap();
            prop_assert_eq!(back, statements.iter().map(|s| s.as_bytes().to_vec()).collect::<Vec<_>>());
        }

        #[test]
        fn no_bytes_make_it_panic(text in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = parse_text(&text);
        }
    }
}
