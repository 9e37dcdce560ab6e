//! The statement of a load: which table, which file, and how it reads when it is to load another file.

use std::ops::Range;

use drover_db::sql::{Dialect, LeadBytes, Token, tokens_in_comments};

use crate::event::{Duplicates, ExecuteLoad, OldLoad, Query, Setting};
use crate::log::Short;
use crate::sql::charset;
use crate::sql::text::push_hex;

/// A statement that loads a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Statement {
    thread: u32,
    seconds: u32,
    error: u16,
    status: Vec<u8>,
    schema: Vec<u8>,
    text: Vec<u8>,
    /// Where in the text the words ` INFILE 'name' INTO` are, or those that stand there.
    name: Range<usize>,
    duplicates: Duplicates,
    dialect: Dialect,
}

/// A table's name, and its schema's where that is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TableName {
    pub(crate) schema: Option<Vec<u8>>,
    pub(crate) name: Vec<u8>,
}

impl Statement {
    pub(super) fn of(load: &ExecuteLoad<'_>) -> Result<Self, Short> {
        let Query { thread, seconds, error, status, schema, text } = load.query;
        Ok(Self {
            thread,
            seconds,
            error,
            status: status.to_vec(),
            schema: schema.to_vec(),
            text: text.to_vec(),
            name: load.name_start..load.name_end,
            duplicates: load.duplicates,
            dialect: dialect(&load.query)?,
        })
    }

    /// Of a server before 5.0.3.
    pub(super) fn of_old(load: &OldLoad<'_>) -> Self {
        let (text, name) = load.statement_and_name();
        Self {
            thread: load.thread,
            seconds: 0,
            error: 0,
            status: Vec::new(),
            schema: load.schema.to_vec(),
            text,
            name,
            duplicates: load.clauses.duplicates,
            dialect: Dialect::default(),
        }
    }

    /// As it stands in the log, with its settings.
    pub(crate) fn query(&self) -> Query<'_> {
        let Self { thread, seconds, error, status, schema, text, .. } = self;
        Query { thread: *thread, seconds: *seconds, error: *error, status, schema, text }
    }

    /// The words from TABLE on: the table, and how the file is read.
    pub(crate) fn clauses(&self) -> Vec<u8> {
        // Both ends of the range were compared with the length when it was read.
        let behind = self.text.get(self.name.end..).unwrap_or_default();
        match self.dialect.no_backslash_escapes {
            true => without_backslashes(behind).unwrap_or_else(|| behind.to_vec()),
            false => behind.to_vec(),
        }
    }

    /// The same statement for the file `name`, which the client reads, or the server.
    pub(crate) fn for_file(&self, name: &[u8], is_local: bool) -> Vec<u8> {
        let before = self.text.get(..self.name.start).unwrap_or_default();
        let mut out = before.trim_ascii_end().to_vec();
        out.extend_from_slice(if is_local { b" LOCAL INFILE " } else { b" INFILE " });
        self.push_string(name, &mut out);
        out.extend_from_slice(self.duplicates.words());
        out.extend_from_slice(b" INTO ");
        out.extend_from_slice(self.clauses().trim_ascii_start());
        out
    }

    /// The table, where the text tells it as the servers write it.
    pub(crate) fn table(&self) -> Option<TableName> {
        table_behind(self.text.get(self.name.end..)?, self.dialect)
    }

    /// A string literal in a session with the statement's settings.
    fn push_string(&self, text: &[u8], out: &mut Vec<u8>) {
        out.push(b'\'');
        for &byte in text {
            if byte == b'\'' || (byte == b'\\' && !self.dialect.no_backslash_escapes) {
                out.push(byte);
            }
            out.push(byte);
        }
        out.push(b'\'');
    }
}

/// How a statement's text is to be read, by the settings of its session.
pub(crate) fn dialect(query: &Query<'_>) -> Result<Dialect, Short> {
    const ANSI_QUOTES: u64 = 1 << 2;
    const NO_BACKSLASH_ESCAPES: u64 = 1 << 20;
    let mut dialect = Dialect::default();
    for setting in query.settings() {
        match setting? {
            Setting::SqlMode(bits) => {
                dialect.ansi_quotes = bits & ANSI_QUOTES != 0;
                dialect.no_backslash_escapes = bits & NO_BACKSLASH_ESCAPES != 0;
            }
            Setting::Charset(client, _, _) => {
                dialect.lead_bytes = LeadBytes::of(charset::name(client.into()).unwrap_or_default());
            }
            _ => {}
        }
    }
    Ok(dialect)
}

/// What the text of a load tells that a client sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    /// Where the rows were to go; `None` if the name cannot be told.
    pub(crate) table: Option<TableName>,
    /// What it says of rows that are there.
    pub(crate) duplicates: Duplicates,
}

/// What a statement `LOAD DATA … INTO TABLE …` or `LOAD XML …` tells as a client sent it; `None` for any other statement. Nobody
/// knows the sql_mode that the client had: a name in double quotes is one if nothing else could stand there.
pub(crate) fn asked(text: &[u8]) -> Option<Asked> {
    let plain = asked_as(text, Dialect::default())?;
    let ansi = Dialect { ansi_quotes: true, ..Dialect::default() };
    if plain.table.is_some() { Some(plain) } else { asked_as(text, ansi) }
}

fn asked_as(text: &[u8], dialect: Dialect) -> Option<Asked> {
    let mut code = tokens_in_comments(text, dialect).filter(Token::is_code);
    let begins = code.next()?.is_word("LOAD")
        && code.next().is_some_and(|token| token.is_word("DATA") || token.is_word("XML"));
    if !begins {
        return None;
    }
    let mut duplicates = Duplicates::Error;
    let has_table = code.by_ref().any(|token| {
        if token.is_word("IGNORE") {
            duplicates = Duplicates::Ignore;
        } else if token.is_word("REPLACE") {
            duplicates = Duplicates::Replace;
        }
        token.is_word("INTO")
    });
    has_table.then(|| Asked { table: table_after(code), duplicates })
}

fn table_behind(text: &[u8], dialect: Dialect) -> Option<TableName> {
    table_after(tokens_in_comments(text, dialect).filter(Token::is_code))
}

/// TABLE and a name.
fn table_after<'a>(mut code: impl Iterator<Item = Token<'a>>) -> Option<TableName> {
    if !code.next()?.is_word("TABLE") {
        return None;
    }
    let first = code.next()?.name()?;
    if !code.next().is_some_and(|token| token.is_symbol(b'.')) {
        return Some(TableName { schema: None, name: first });
    }
    Some(TableName { schema: Some(first), name: code.next()?.name()? })
}

/// What servers write of the clauses has backslashes also where the session's sql_mode makes them ordinary characters (found with
/// MariaDB 10.11 and MySQL 9.7; a replica fails at it). The same with literals of bytes; `None` if it is not the servers' writing.
fn without_backslashes(behind: &[u8]) -> Option<Vec<u8>> {
    const CLAUSES: [(&[u8], bool); 5] = [
        (b" FIELDS TERMINATED BY ", true),
        (b" ENCLOSED BY ", true),
        (b" ESCAPED BY ", true),
        (b" LINES TERMINATED BY ", true),
        (b" STARTING BY ", false),
    ];
    let start = behind.windows(CLAUSES[0].0.len()).position(|words| words == CLAUSES[0].0)?;
    let (mut out, mut rest) = (behind.get(..start)?.to_vec(), behind.get(start..)?);
    for (words, is_always_there) in CLAUSES {
        let rest_if_optional = rest.strip_prefix(b" OPTIONALLY");
        let there = rest_if_optional.unwrap_or(rest).strip_prefix(words);
        let Some(literal) = there else {
            if is_always_there {
                return None;
            }
            continue;
        };
        if rest_if_optional.is_some() {
            out.extend_from_slice(b" OPTIONALLY");
        }
        out.extend_from_slice(words);
        let (value, behind) = unescaped(literal)?;
        push_hex(&value, &mut out);
        rest = behind;
    }
    out.extend_from_slice(rest);
    Some(out)
}

/// The value of a literal with backslashes, and what comes behind it. Source: `sql/log_event.cc`, `pretty_print_str()`.
fn unescaped(literal: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut rest = literal.strip_prefix(b"'")?;
    let mut value = Vec::new();
    loop {
        let (&byte, behind) = rest.split_first()?;
        rest = behind;
        match byte {
            b'\'' => return Some((value, rest)),
            b'\\' => {
                let (&escaped, behind) = rest.split_first()?;
                rest = behind;
                value.push(match escaped {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'b' => 8,
                    b'0' => 0,
                    itself => itself,
                });
            }
            itself => value.push(itself),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::log::Kind;

    /// The servers' text around the words about the file, with this `sql_mode`.
    fn statement(before: &str, file: &str, behind: &str, duplicates: Duplicates, sql_mode: u64) -> Statement {
        let text = [before, file, behind].concat().into_bytes();
        let status = [&[1][..], &sql_mode.to_le_bytes()].concat();
        let query = Query { thread: 1, seconds: 0, error: 0, status: &status, schema: b"s", text: &text };
        let (name_start, name_end) = (before.len(), before.len() + file.len());
        Statement::of(&ExecuteLoad { query, file: 1, name_start, name_end, duplicates }).unwrap()
    }

    fn text(bytes: Vec<u8>) -> String {
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn the_file_is_another_and_all_else_stays() {
        let behind = r" TABLE `t` FIELDS TERMINATED BY '\t' (`id`, @`v`) SET `v`= concat(@v, 'x')";
        let statement = statement(
            "LOAD DATA CONCURRENT",
            " LOCAL INFILE '/a' IGNORE INTO",
            behind,
            Duplicates::Ignore,
            0,
        );
        assert_eq!(
            text(statement.for_file(b"/it's\\here", true)),
            format!(r"LOAD DATA CONCURRENT LOCAL INFILE '/it''s\\here' IGNORE INTO{behind}")
        );
        assert!(
            text(statement.for_file(b"/b", false))
                .starts_with("LOAD DATA CONCURRENT INFILE '/b' IGNORE INTO TABLE")
        );
    }

    #[test]
    fn a_statement_as_a_client_wrote_it_to_an_old_server() {
        let old = statement(
            "load /* c */ data ",
            "infile 'x' replace into",
            "\ttable `s` . t2",
            Duplicates::Replace,
            0,
        );
        assert_eq!(
            text(old.for_file(b"y", true)),
            "load /* c */ data LOCAL INFILE 'y' REPLACE INTO table `s` . t2"
        );
        assert_eq!(old.table(), Some(TableName { schema: Some(b"s".to_vec()), name: b"t2".to_vec() }));
    }

    #[test]
    fn backslashes_where_they_are_ordinary_characters() {
        const NO_BACKSLASH_ESCAPES: u64 = 1 << 20;
        let behind = concat!(
            r" TABLE `t` FIELDS TERMINATED BY '\t' OPTIONALLY ENCLOSED BY '\'' ESCAPED BY '\\' ",
            r"LINES TERMINATED BY '\r\n' STARTING BY '' (`v`) SET `v`= concat('\', v)"
        );
        let written =
            statement("LOAD DATA", " INFILE 'x' INTO", behind, Duplicates::Error, NO_BACKSLASH_ESCAPES);
        assert_eq!(
            text(written.for_file(br"a\b", true)),
            concat!(
                r"LOAD DATA LOCAL INFILE 'a\b' INTO TABLE `t` FIELDS TERMINATED BY X'09' OPTIONALLY ENCLOSED BY X'27' ",
                r"ESCAPED BY X'5C' LINES TERMINATED BY X'0D0A' STARTING BY X'' (`v`) SET `v`= concat('\', v)"
            )
        );
        let by_a_client = r" TABLE t FIELDS ESCAPED BY '\' (v)";
        let kept =
            statement("LOAD DATA", " INFILE 'x' INTO", by_a_client, Duplicates::Error, NO_BACKSLASH_ESCAPES);
        assert!(text(kept.for_file(b"y", true)).ends_with(by_a_client));
    }

    #[test]
    fn tables_in_what_clients_wrote() {
        use Duplicates::{Error, Ignore, Replace};
        let told = |text: &str| {
            let Asked { table, duplicates } = asked(text.as_bytes())?;
            let part = |part| String::from_utf8(part).unwrap();
            let name = |table: TableName| [table.schema.map_or(String::new(), part), part(table.name)];
            Some((table.map(name), duplicates))
        };
        for (statement, schema, name, duplicates) in [
            ("LOAD DATA INFILE 'into table x' INTO TABLE t", "", "t", Error),
            ("/* job 7 */ load data local infile \"f\" ignore into table a.b (c)", "a", "b", Ignore),
            (
                "-- x\nLOAD DATA LOW_PRIORITY INFILE 'f' INTO TABLE /* y */ `a``b` . `c.d`",
                "a`b",
                "c.d",
                Error,
            ),
            ("LOAD /*!50000 DATA */ INFILE 'f' REPLACE INTO/**/TABLE`t`IGNORE 1 LINES", "", "t", Replace),
            ("LOAD DATA INFILE 'f' INTO TABLE \"s\".\"t\"", "s", "t", Error),
            ("LOAD XML INFILE 'f' INTO TABLE t ROWS IDENTIFIED BY '<r>'", "", "t", Error),
        ] {
            let table = Some([schema.to_owned(), name.to_owned()]);
            assert_eq!(told(statement), Some((table, duplicates)), "{statement}");
        }
        for none in ["", "LOAD", "LOAD INDEX INTO CACHE t", "INSERT INTO t VALUES ('LOAD DATA')", "LOAD DATA"]
        {
            assert_eq!(told(none), None, "{none}");
        }
    }

    proptest! {
        #[test]
        fn names_of_files_come_back(name in prop::collection::vec(1..=255_u8, 0..40), plain: bool) {
            let mode = if plain { 1 << 20 } else { 0 };
            let statement = statement("LOAD DATA", " INFILE 'x' INTO", " TABLE t", Duplicates::Error, mode);
            let made = statement.for_file(&name, true);
            let literal = made.strip_prefix(b"LOAD DATA LOCAL INFILE ").and_then(|rest| rest.strip_suffix(b" INTO TABLE t"));
            let inner = literal.and_then(|text| text.strip_prefix(b"'")).and_then(|text| text.strip_suffix(b"'")).unwrap();
            let mut read = Vec::new();
            let mut bytes = inner.iter();
            while let Some(&byte) = bytes.next() {
                read.push(byte);
                if byte == b'\'' || (byte == b'\\' && !plain) {
                    prop_assert_eq!(bytes.next(), Some(&byte));
                }
            }
            prop_assert_eq!(read, name);
        }

        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
            let _ = (asked(&bytes), without_backslashes(&bytes));
            for kind in [Kind::LOAD, Kind::NEW_LOAD, Kind::CREATE_FILE] {
                if let Ok(load) = OldLoad::parse(kind, &bytes) {
                    let statement = Statement::of_old(&load);
                    prop_assert_eq!(statement.for_file(load.file_name, false), statement.query().text);
                    prop_assert_eq!(statement.table().map(|table| table.name), Some(load.table.to_vec()));
                }
            }
        }
    }
}
