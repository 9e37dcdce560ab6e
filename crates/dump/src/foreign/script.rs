//! One script of a dump: its statements with their places, and what they mean where they stand.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use drover_db::sql::Dialect;
use drover_db::{Connection, Server, Stop, Vendor, quote};

use super::input;
use super::splitter::{Broken, MYSQLDUMP_END, MYSQLPUMP_END, Rule, Splitter};
use crate::dump::catalog::Name;
use crate::error::Doing;
use crate::progress::Progress;
use crate::{Error, Result};
pub(super) use drover_db::schemas::is_system;
use drover_format::kind::{self, Kind, Qualified};

const CUT: &str = "mysqldump was cut off or the file was; make the dump again";

/// How much of a statement is shown, in characters.
const SHOWN: usize = 100;

/// A statement and where it stands.
#[derive(Debug, Clone)]
pub(super) struct Statement {
    /// The file, as a person knows it.
    pub(super) file: Arc<str>,
    /// The line of its first byte, from 1.
    pub(super) line: u64,
    pub(super) text: Vec<u8>,
    pub(super) kind: Kind,
    /// Tables and sequences that it reads, besides the one that it changes.
    pub(super) reads: Vec<Qualified>,
    /// The default schema here, by its name in the dump.
    pub(super) schema: Option<Arc<str>>,
    pub(super) dialect: Dialect,
    /// Whether the script has said by now which sql_mode it is written for.
    pub(super) sets_mode: bool,
    /// The server that was dumped, if the script tells.
    pub(super) dumped: Option<Server>,
}

impl Statement {
    /// The error for what is not run of a dump.
    pub(super) fn refused(&self, why: &str) -> Error {
        Error::with_hint(
            format!("{}: {why}", self.place()),
            "a dump holds definitions, rows and settings of the session: run other statements with the server's own client",
        )
    }

    /// The file, the line and how the statement begins.
    pub(super) fn place(&self) -> String {
        let text = String::from_utf8_lossy(&self.text[..self.text.len().min(4 * SHOWN)]);
        let mut begin: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if begin.chars().count() > SHOWN || self.text.len() > 4 * SHOWN {
            begin = begin.chars().take(SHOWN).collect::<String>() + "…";
        }
        format!("{}, line {}: {begin}", self.file, self.line)
    }

    /// What a name in the statement stands for.
    pub(super) fn name(&self, name: &Qualified) -> Result<Name> {
        let schema = name.schema.as_deref().or(self.schema.as_deref());
        let schema = schema.ok_or_else(|| no_schema(&self.place()))?;
        Ok(Name::new(schema, &name.name))
    }

    /// The tables and sequences that it reads, under their names in the dump.
    pub(super) fn reads(&self) -> Result<Vec<Name>> {
        self.reads.iter().map(|name| self.name(name)).collect()
    }

    /// The table that gets rows.
    pub(super) fn filled(&self) -> Result<Option<Name>> {
        match &self.kind {
            Kind::Insert(table) | Kind::InsertInOrder(table) | Kind::Load(_, table) => {
                self.name(table).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// The table, view or sequence that is created.
    pub(super) fn created(&self) -> Result<Option<Name>> {
        match &self.kind {
            Kind::CreateTable(name)
            | Kind::CreateTableFrom(name)
            | Kind::CreateTableElsewhere(name)
            | Kind::CreateView(name)
            | Kind::CreateSequence(name) => self.name(name).map(Some),
            _ => Ok(None),
        }
    }

    /// What a view or stored program is called that is created.
    pub(super) fn program(&self) -> Result<Option<String>> {
        let (word, name) = match &self.kind {
            Kind::CreateView(name) => ("VIEW", name),
            Kind::CreateTrigger { name, .. } => ("TRIGGER", name),
            Kind::CreateProgram(word, name) => (*word, name),
            _ => return Ok(None),
        };
        Ok(Some(format!("{} {}", word.to_lowercase(), self.name(name)?)))
    }

    /// Whether a default schema matters to the statement.
    pub(super) fn needs_schema(&self) -> bool {
        !matches!(
            self.kind,
            Kind::Session
                | Kind::Server
                | Kind::Use(_)
                | Kind::CreateSchema(_)
                | Kind::DropSchema(_)
                | Kind::Lock
                | Kind::Transaction
                | Kind::PassedOver
                | Kind::Refused(_)
        )
    }

    /// The schema of the server's own that the statement works in.
    pub(super) fn system_schema(&self) -> Option<&str> {
        let own = match &self.kind {
            Kind::CreateSchema(name) | Kind::AlterSchema(name) | Kind::DropSchema(name) => {
                Some(name.as_str())
            }
            Kind::Session | Kind::Use(_) => None,
            kind => kind.object().and_then(|name| name.schema.as_deref()).or(self.schema.as_deref()),
        };
        own.filter(|name| is_system(name))
    }
}

fn no_schema(place: &str) -> Error {
    Error::with_hint(
        format!("{place}: the dump does not say into which schema this goes"),
        "name a default schema: --url mysql://user@host/SCHEMA",
    )
}

/// A script that is being read.
pub(super) struct Script<'a> {
    file: Arc<str>,
    splitter: Splitter<Box<dyn Read + Send + 'a>>,
    schema: Option<Arc<str>>,
    /// The default schema if the script names none.
    fallback: Option<Arc<str>>,
    dialect: Dialect,
    /// The character set of the text, if names in it are not in UTF-8.
    character_set: Option<String>,
    /// Heads of dumps that were read.
    heads: usize,
    begun: bool,
    sets_mode: bool,
    /// The statement behind a head that made another schema the default one.
    held: Option<(u64, Vec<u8>)>,
    has_statements: bool,
}

impl<'a> Script<'a> {
    pub(super) fn open(
        path: &Path,
        rule: Rule,
        fallback: Option<&str>,
        progress: Option<&'a Progress>,
        stop: &'a Stop,
    ) -> Result<Self> {
        Ok(Self {
            file: input::shown(path).into(),
            splitter: Splitter::new(input::open_any(path, progress, stop)?, rule),
            schema: None,
            fallback: fallback.map(Into::into),
            dialect: Dialect::default(),
            character_set: None,
            heads: 0,
            begun: false,
            sets_mode: false,
            held: None,
            has_statements: false,
        })
    }

    /// The next statement. After a [`Kind::Session`] the caller has [`Self::set_session`] to call.
    pub(super) fn next(&mut self) -> Result<Option<Statement>> {
        let Some((line, text)) = self.next_text()? else { return Ok(None) };
        if self.splitter.notes().heads > self.heads
            && let Some(schema) = self.begin_part()?
        {
            self.held = Some((line, text));
            self.schema = Some(schema.as_str().into());
            return Ok(Some(self.statement(line, use_statement(&schema).into_bytes(), Kind::Use(schema))));
        }
        let (kind, reads) = self.read(&text);
        match &kind {
            Kind::Use(schema) => self.schema = Some(schema.as_str().into()),
            Kind::Session => self.sets_mode |= contains(&text, b"sql_mode"),
            _ => {}
        }
        let statement = Statement { reads, ..self.statement(line, text, kind) };
        self.check_names(&statement)?;
        Ok(Some(statement))
    }

    fn next_text(&mut self) -> Result<Option<(u64, Vec<u8>)>> {
        if let Some(held) = self.held.take() {
            return Ok(Some(held));
        }
        let mut text = Vec::new();
        let next = self.splitter.next(&mut text).map_err(|broken| broken_file(&self.file, &broken))?;
        if !self.begun {
            self.begun = true;
            let notes = self.splitter.notes();
            self.schema = notes.database.as_deref().map(Into::into).or_else(|| self.fallback.clone());
            self.heads = self.heads.max(usize::from(notes.heads == 1));
        }
        self.has_statements |= next.is_some();
        Ok(next.map(|line| (line, text)))
    }

    /// Another dump begins in the same file: the one before must be whole. Gives the schema that is the default one from here on,
    /// if that is another.
    fn begin_part(&mut self) -> Result<Option<String>> {
        let notes = self.splitter.notes();
        self.heads = notes.heads;
        if let Some(line) = notes.cut_before {
            return Err(Error::with_hint(
                format!(
                    "{}, line {line}: another dump begins, and the one before is not whole: its last line, \"-- Dump completed\", is missing",
                    self.file
                ),
                CUT,
            ));
        }
        let schema = notes.database.clone().or_else(|| self.fallback.as_deref().map(str::to_owned));
        if schema.is_none() {
            self.schema = None;
        }
        Ok(schema.filter(|schema| self.schema.as_deref() != Some(schema)))
    }

    fn statement(&self, line: u64, text: Vec<u8>, kind: Kind) -> Statement {
        let (file, schema, dialect) = (Arc::clone(&self.file), self.schema.clone(), self.dialect);
        let (reads, sets_mode) = (Vec::new(), self.sets_mode);
        let dumped = if kind.is_data() { None } else { self.dumped() };
        Statement { file, line, text, kind, reads, schema, dialect, sets_mode, dumped }
    }

    fn dumped(&self) -> Option<Server> {
        let version = self.splitter.notes().server.as_deref()?;
        let is_mariadb = version.to_ascii_lowercase().contains("mariadb");
        let vendor = if is_mariadb { Vendor::MariaDb } else { Vendor::MySql };
        // So clients of MySQL call MariaDB.
        let version = version.strip_prefix("5.5.5-").filter(|_| is_mariadb).unwrap_or(version);
        Some(Server { vendor, version: version.into(), comment: String::new() })
    }

    /// What the statement is that was found last, and what it reads.
    fn read(&self, text: &[u8]) -> (Kind, Vec<Qualified>) {
        if self.splitter.has_plain_rows() {
            let kind = Kind::of_clear(text, self.dialect);
            if matches!(kind, Kind::Insert(_) | Kind::InsertInOrder(_)) {
                return (kind, Vec::new());
            }
        }
        let kind = Kind::of(text, self.dialect);
        match kind::reads(&kind, text, self.dialect) {
            Ok(reads) => (kind, reads),
            Err(why) => (Kind::Refused(why), Vec::new()),
        }
    }

    /// The schema that the dump's head names.
    pub(super) fn schema_of_head(&self) -> Option<&str> {
        self.splitter.notes().database.as_deref()
    }

    /// Refuses a script in which there is nothing.
    pub(super) fn check_not_empty(&self) -> Result<()> {
        match self.has_statements {
            true => Ok(()),
            false => Err(Error::with_hint(
                format!("{}: there is no statement in it", self.file),
                "the tool that made it has failed, or the file was cut off: make the dump again",
            )),
        }
    }

    /// How the statements from here on are written.
    pub(super) fn set_session(&mut self, session: &Session) {
        self.dialect = session.dialect;
        self.splitter.set_dialect(session.dialect);
        self.splitter.set_longest(session.longest);
        let is_utf8 = session.character_set.starts_with("utf8")
            || ["binary", "ascii"].contains(&&*session.character_set);
        self.character_set = (!is_utf8).then(|| session.character_set.clone());
    }

    /// Names are compared with the target's, which are UTF-8.
    fn check_names(&self, statement: &Statement) -> Result<()> {
        let Some(character_set) = &self.character_set else { return Ok(()) };
        match statement.kind.names().iter().all(|name| name.is_ascii()) {
            true => Ok(()),
            false => Err(Error::with_hint(
                format!("{}: a name beyond ASCII, written in {character_set}", statement.place()),
                "make the dump with --default-character-set=utf8mb4",
            )),
        }
    }

    /// Whether mysqldump, mariadb-dump or mysqldump-php says that it wrote this.
    pub(super) fn is_mysqldump(&self) -> bool {
        self.splitter.notes().is_dump
    }

    /// Refuses a script, read to its end, whose writer was cut off.
    pub(super) fn check_end(&self) -> Result<()> {
        let notes = self.splitter.notes();
        let last = if notes.is_pump { MYSQLPUMP_END } else { MYSQLDUMP_END };
        match (notes.is_dump || notes.is_pump, notes.is_completed) {
            (true, false) => Err(Error::with_hint(
                format!("{}: the dump is not whole: its last line, \"{last}\", is missing", self.file),
                CUT,
            )),
            (false, true) => Err(Error::with_hint(
                format!(
                    "{}: the dump is not whole: it has the last line of one, and not the first",
                    self.file
                ),
                "put the pieces of the dump together: cat PIECE … | drover restore -",
            )),
            _ => Ok(()),
        }
    }
}

fn broken_file(file: &str, broken: &Broken) -> Error {
    match broken {
        Broken::Read(error) => input::unreadable(file, error),
        Broken::TooLong { line, bytes, most } => Error::with_hint(
            format!(
                "{file}, line {line}: a statement of {} that begins here is longer than the target takes (max_allowed_packet: {} bytes)",
                bytes.map_or_else(|| "more than 1 GiB".into(), |bytes| format!("{bytes} bytes")),
                most
            ),
            "SET GLOBAL max_allowed_packet to more on the target (at most 1 GiB)",
        ),
        Broken::Unfinished { line, within } => Error::with_hint(
            format!(
                "{file}, line {line}: the file ends, or does not end, in the middle of {within} that begins here"
            ),
            "the file was cut off, or is not a dump",
        ),
    }
}

/// What a session's settings mean for reading and loading.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Session {
    pub(super) dialect: Dialect,
    pub(super) character_set: String,
    pub(super) foreign_key_checks: bool,
    /// What tables get that name no engine.
    pub(super) engine: String,
    /// The longest statement that the server takes, in bytes.
    pub(super) longest: usize,
}

impl Session {
    pub(super) fn of(connection: &mut Connection) -> Result<Self> {
        let row = connection
            .first(
                "SELECT @@sql_mode, @@character_set_client, @@foreign_key_checks, @@default_storage_engine, \
                 @@max_allowed_packet",
            )
            .doing(|| "asking for the session's settings")?
            .ok_or_else(|| Error::found("the server does not tell the session's settings"))?;
        // Its letters take the places of `|` and brackets.
        if row.string(1) == "swe7" {
            return Err(Error::with_hint(
                "the dump is written in swe7, which is not read here",
                "make the dump with --default-character-set=utf8mb4",
            ));
        }
        Ok(Self {
            dialect: Dialect::of(&row.string(0), &row.string(1)),
            character_set: row.string(1),
            foreign_key_checks: row.string(2) == "1",
            engine: row.string(3),
            longest: row.parse(4).unwrap_or(usize::MAX),
        })
    }

    /// Whether a SET can change any of this.
    pub(super) fn is_concerned(text: &[u8]) -> bool {
        let words: [&[u8]; 6] =
            [b"sql_mode", b"character", b"names", b"charset", b"foreign_key", b"storage_engine"];
        words.iter().any(|word| contains(text, word))
    }
}

/// The statement that makes a schema the default one.
pub(super) fn use_statement(schema: &str) -> String {
    format!("USE {}", quote::identifier(schema))
}

/// Whether the text has a word in it, in letters of any case.
pub(super) fn contains(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|window| window.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(text: &str) -> (tempfile::TempDir, std::path::PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.sql");
        std::fs::write(&path, text).unwrap();
        (dir, path)
    }

    #[test]
    fn names_are_those_of_the_schema_in_use() {
        let (_dir, path) = script(
            "-- Host: x    Database: shop\nCREATE TABLE `a` (b int);\nUSE `other`;\nINSERT INTO a VALUES (1);\n",
        );
        let stop = Stop::default();
        let mut script = Script::open(&path, Rule::Delimiter, Some("fallback"), None, &stop).unwrap();
        let created = script.next().unwrap().unwrap();
        assert_eq!(created.created().unwrap(), Some(Name::new("shop", "a")));
        assert!(created.place().ends_with("a.sql, line 2: CREATE TABLE `a` (b int)"), "{}", created.place());
        assert_eq!(script.next().unwrap().unwrap().kind, Kind::Use("other".into()));
        assert_eq!(script.next().unwrap().unwrap().filled().unwrap(), Some(Name::new("other", "a")));
        assert!(script.next().unwrap().is_none());
        assert!(script.check_end().is_ok());
    }

    #[test]
    fn a_dump_without_its_first_or_its_last_line_is_not_whole() {
        let pump = "-- Dump created by MySQL pump utility, version: 5.7.10\n";
        let php = "-- mysqldump-php https://github.com/ifsnop/mysqldump-php\n";
        for (text, is_whole) in [
            ("-- MySQL dump 10.13\nSELECT 1;\n", false),
            ("SELECT 1;\n-- Dump completed on 2026-01-01\n", false),
            (&format!("{pump}SELECT 1;\n"), false),
            (&format!("{pump}SELECT 1;\n-- Dump end time: Sun Dec  6\n"), true),
            (&format!("{php}SELECT 1;\n"), false),
            (&format!("{php}SELECT 1;\n-- Dump completed on: Sun, 06 Dec 2026 10:00:00 +0000\n"), true),
            ("SELECT 1;\n", true),
        ] {
            let (_dir, path) = script(text);
            let stop = Stop::default();
            let mut script = Script::open(&path, Rule::Delimiter, None, None, &stop).unwrap();
            while script.next().unwrap().is_some() {}
            let said = script.check_end().map_err(|error| error.to_string());
            assert_eq!(said.is_ok(), is_whole, "{text}: {said:?}");
        }
    }

    #[test]
    fn a_second_dump_in_the_same_file() {
        let head = |schema: &str| format!("-- MySQL dump 10.13\n-- Host: x    Database: {schema}\n");
        let whole = "CREATE TABLE `a` (b int);\n-- Dump completed on 2026\n";
        let (_dir, path) = script(&[&head("one"), whole, &head("two"), whole].concat());
        let stop = Stop::default();
        let mut script = Script::open(&path, Rule::Delimiter, None, None, &stop).unwrap();
        let mut next = || script.next().unwrap().unwrap();
        assert_eq!(next().created().unwrap(), Some(Name::new("one", "a")));
        assert_eq!(next().kind, Kind::Use("two".into()));
        assert_eq!(next().created().unwrap(), Some(Name::new("two", "a")));
        assert!(script.next().unwrap().is_none() && script.check_end().is_ok());
        for (first, second) in
            [(whole, "CREATE TABLE `a` (b int);\n"), ("CREATE TABLE `a` (b int);\n", whole)]
        {
            let (_dir, path) = self::script(&[&head("one"), first, &head("two"), second].concat());
            let mut script = Script::open(&path, Rule::Delimiter, None, None, &stop).unwrap();
            let error = loop {
                match script.next() {
                    Err(error) => break error,
                    Ok(Some(_)) => {}
                    Ok(None) => break script.check_end().unwrap_err(),
                }
            };
            assert!(error.to_string().contains("not whole"), "{error}");
        }
    }

    #[test]
    fn what_the_server_keeps_for_itself() {
        let (_dir, path) = script("USE mysql;\nDROP TABLE x;\nCREATE TABLE shop.a (b int);\nSET @a = 1;");
        let stop = Stop::default();
        let mut script = Script::open(&path, Rule::Delimiter, None, None, &stop).unwrap();
        let mut next = || script.next().unwrap().unwrap().system_schema().map(str::to_owned);
        assert_eq!([next(), next(), next(), next()], [None, Some("mysql".into()), None, None]);
    }
}
