//! Files of SQL statements that both drover and the vendors' command-line clients read. Statements are bytes: a
//! routine's text is in the character set it was written in.
//!
//! A file is: comment lines that begin with `-- `; perhaps a line ``USE `schema`;``; perhaps a line `DELIMITER x`; the
//! statements, each ended by the delimiter and a newline; and, if the delimiter is not `;`, a line `DELIMITER ;`. The
//! delimiter is one that no statement contains, so that finding the statements needs no knowledge of SQL.

use std::path::Path;

use drover_db::quote;
use drover_db::sql::Dialect;
use drover_store::Store;
use serde::{Deserialize, Serialize};

use super::digest::Digest;
use super::files::FileReader;
use crate::{Error, Result};

const CANDIDATES: [&str; 4] = [";", ";;", "//", "~~~"];

/// A file of statements, or what a file begins with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Script {
    /// Its path relative to the dump's directory.
    pub file: String,
    /// XXH3-128 of its bytes.
    pub checksum: Digest,
    /// How many bytes of the file's text, decompressed, it is; absent for a file of its own. Behind them are rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

impl Script {
    /// One that is written into a file.
    pub fn of(file: String, text: &[u8]) -> Self {
        Self { file, checksum: Digest::of(text), bytes: None }
    }

    /// Whether there is none, as in a dump that holds rows only.
    pub fn is_absent(&self) -> bool {
        self.file.is_empty()
    }

    /// Reads the file that it stands at the head of to its end: what packs it says there whether it is whole.
    pub fn read_to_end(&self, store: &Store) -> Result<()> {
        let mut reader = FileReader::beginning(store, &self.file, u64::MAX)?;
        let mut buffer = vec![0; 64 << 10];
        while reader.read(&mut buffer)? > 0 {}
        Ok(())
    }

    /// Its text.
    pub fn read(&self, store: &Store) -> Result<Vec<u8>> {
        const MOST: u64 = 256 << 20; // no server prints as much; what is cut has another checksum
        let Some(bytes) = self.bytes.map(|bytes| bytes.min(MOST)) else { return Ok(store.read(&self.file)?) };
        let mut reader = FileReader::beginning(store, &self.file, bytes)?;
        let (mut text, mut buffer) = (Vec::new(), vec![0; 64 << 10]);
        while (text.len() as u64) < bytes {
            match reader.read(&mut buffer)? {
                0 => break,
                count => text.extend_from_slice(&buffer[..count]),
            }
        }
        text.truncate(usize::try_from(bytes).unwrap_or(usize::MAX));
        Ok(text)
    }
}

/// The bytes of a file that holds `statements`, with `comment` (one line) at its head. With `schema`, they are for that one
/// whichever the client is in.
pub fn render<S: AsRef<[u8]>>(comment: &str, schema: Option<&str>, statements: &[S]) -> Vec<u8> {
    let delimiter = delimiter(statements);
    let mut out = Vec::new();
    for line in comment.lines() {
        out.extend_from_slice(format!("-- {line}\n").as_bytes());
    }
    if let Some(schema) = schema {
        out.extend_from_slice(use_line(schema).as_bytes());
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

/// Makes a schema the client's.
pub fn use_line(schema: &str) -> String {
    format!("USE {};\n", quote::identifier(schema))
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
pub fn parse(path: &Path, text: &[u8]) -> Result<Vec<Vec<u8>>> {
    parse_text(text).ok_or_else(|| Error::NotAScript(path.to_owned()))
}

fn parse_text(text: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut rest = text;
    while rest.starts_with(b"-- ") {
        rest = line(rest)?.1;
    }
    if let Some(name) = rest.strip_prefix(b"USE `") {
        rest = behind_name(name)?.strip_prefix(b";\n")?;
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

/// What stands behind a name's last backtick; those within are doubled.
fn behind_name(mut text: &[u8]) -> Option<&[u8]> {
    loop {
        text = &text[find(text, b"`")? + 1..];
        match text.strip_prefix(b"`") {
            Some(rest) => text = rest,
            None => return Some(text),
        }
    }
}

/// How the last statement of a script is to be read: its first ones set it.
pub fn dialect(statements: &[Vec<u8>]) -> Dialect {
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
    use crate::files::FileWriter;
    use proptest::prelude::*;

    #[test]
    fn a_body_with_semicolons_gets_another_delimiter() {
        let text = render("a procedure", None, &["CREATE PROCEDURE p() BEGIN SELECT 1; END"]);
        assert_eq!(
            String::from_utf8(text).unwrap(),
            "-- a procedure\nDELIMITER ;;\nCREATE PROCEDURE p() BEGIN SELECT 1; END;;\nDELIMITER ;\n"
        );
    }

    #[test]
    fn a_script_before_rows_is_read_without_them() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::Directory(dir.path().to_owned());
        for (name, method) in
            [("t.sql", "none"), ("t.sql.zst", "zstd"), ("t.sql.gz", "gzip"), ("t.sql.lz4", "lz4")]
        {
            let mut file = FileWriter::create(&store, name, method.parse().unwrap()).unwrap();
            file.write(b"CREATE TABLE t;\n").unwrap();
            file.write(&b"(1),\n".repeat(100_000)).unwrap();
            file.finish().unwrap();
            let script = Script { bytes: Some(16), ..Script::of(name.into(), b"CREATE TABLE t;\n") };
            assert_eq!(script.read(&store).unwrap(), b"CREATE TABLE t;\n", "{name}");
            // What is said of its length is a stranger's word.
            let script = Script { bytes: Some(u64::MAX), ..script };
            assert_eq!(script.read(&store).unwrap().len(), 500_016, "{name}");
        }
    }

    #[test]
    fn a_cut_file_is_refused() {
        let text = render("x", Some("s"), &["CREATE TABLE a (b int)", "SELECT ';'"]);
        for cut in 1..text.len() {
            assert_ne!(parse_text(&text[..cut]), parse_text(&text), "cut at {cut}");
        }
    }

    proptest! {
        #[test]
        fn statements_come_back(
            schema in prop::option::of("[a`;\n]{1,4}"),
            statements in prop::collection::vec("[a;$/~1\n]{1,12}", 0..5),
        ) {
            let text = render("some statements", schema.as_deref(), &statements);
            let back = parse_text(&text).unwrap();
            prop_assert_eq!(back, statements.iter().map(|s| s.as_bytes().to_vec()).collect::<Vec<_>>());
        }

        #[test]
        fn no_bytes_make_it_panic(text in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = parse_text(&text);
        }
    }
}
