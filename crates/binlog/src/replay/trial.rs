//! In a dry run, what the target says of a session's settings and of a statement's words. Settings are those of a session of its own; a
//! statement is prepared, for which a server reads it and runs nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use drover_db::sql::{Dialect, Kind, Token, tokens_in_comments};
use drover_db::{Connection, Watched, er, quote};
use memchr::memmem;

use super::destination::Destination;
use super::events::Target;
use crate::Result;
use crate::event::Query;
use crate::log::{Format, Header, Short};
use crate::sql::Session;

/// A session in which settings and statements are tried.
pub(super) struct Trial<'a> {
    destination: &'a Destination,
    target: &'a Target,
    connection: Connection,
    /// So that a request to stop breaks the connection.
    _watched: Watched<'static>,
    /// Settings that were tried, and whether the target has them.
    known: BTreeMap<Vec<u8>, bool>,
    /// Words before a parenthesis, in lower case, and whether the target has no function of that name.
    lacking: BTreeMap<Vec<u8>, bool>,
    /// What the session is set to.
    current: Vec<u8>,
    /// The schema that statements are to be in, whether or not the session could be set to it.
    schema: Vec<u8>,
}

/// Errors that tell that a server cannot read a statement, whatever definitions there are: syntax, character set, a collation of another
/// one, collation, type. Source: MySQL `share/messages_to_clients.txt`, MariaDB `sql/share/errmsg-utf8.txt`.
const UNREADABLE: [u16; 5] = [
    er::PARSE_ERROR,
    er::UNKNOWN_CHARACTER_SET,
    er::COLLATION_CHARSET_MISMATCH,
    er::UNKNOWN_COLLATION,
    er::UNKNOWN_DATA_TYPE,
];

impl<'a> Trial<'a> {
    pub(super) fn begin(destination: &'a Destination, target: &'a Target) -> Result<Self> {
        let (connection, watched) = destination.connect()?;
        let mut trial = Self {
            destination,
            target,
            connection,
            _watched: watched,
            known: BTreeMap::new(),
            lacking: BTreeMap::new(),
            current: Vec::new(),
            schema: Vec::new(),
        };
        trial.enter_any()?;
        Ok(trial)
    }

    /// Why the target does not take the settings of a statement's session; told once.
    pub(super) fn refuses_settings(
        &mut self,
        query: &Query<'_>,
        header: &Header,
        format: &Format,
    ) -> Result<Option<drover_db::Error>> {
        let Ok(settings) = self.settings(query, header, format) else { return Ok(None) };
        if self.known.contains_key(&settings) {
            return Ok(None);
        }
        let refused = self.set(&settings)?;
        self.known.insert(settings, refused.is_none());
        Ok(refused)
    }

    /// Why the target cannot read a statement of a session with these settings.
    pub(super) fn refuses_text(
        &mut self,
        query: &Query<'_>,
        header: &Header,
        format: &Format,
        text: &[u8],
    ) -> Result<Option<drover_db::Error>> {
        let Ok(settings) = self.settings(query, header, format) else { return Ok(None) };
        if self.known.get(&settings) != Some(&true) {
            return Ok(None);
        }
        if self.current != settings {
            self.set(&settings)?;
        }
        self.enter(query.schema)?;
        match self.connection.prepare_query(text) {
            Ok(statement) => {
                let closed = self.connection.close(statement);
                closed.map(|()| None).map_err(|source| self.failed(source))
            }
            Err(drover_db::Error::Server(error)) => {
                let is_unreadable = UNREADABLE.contains(&error.code) || error.code == er::SP_DOES_NOT_EXIST;
                Ok(is_unreadable.then_some(drover_db::Error::Server(error)))
            }
            Err(source) => Err(self.failed(source)),
        }
    }

    /// Whether a statement may call a function that the target lacks: then it is worth while to have it prepared.
    pub(super) fn may_lack_function(&mut self, text: &[u8], dialect: Dialect) -> Result<bool> {
        for word in called(text, dialect) {
            if self.lacks(&word)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn lacks(&mut self, word: &[u8]) -> Result<bool> {
        if let Some(&lacks) = self.lacking.get(word) {
            return Ok(lacks);
        }
        let lacks = match self.connection.prepare_query([b"SELECT ", word, b"()"].concat()) {
            Ok(statement) => {
                self.connection.close(statement).map_err(|source| self.failed(source))?;
                false
            }
            Err(drover_db::Error::Server(error)) => error.code == er::SP_DOES_NOT_EXIST,
            Err(source) => return Err(self.failed(source)),
        };
        self.lacking.insert(word.to_vec(), lacks);
        Ok(lacks)
    }

    /// In no schema a server does not read a statement to its end: it says that none was selected.
    fn enter_any(&mut self) -> Result<()> {
        let schemas = self.connection.query("SHOW DATABASES").map_err(|source| self.failed(source))?;
        // Names in this one are looked up while a statement is read.
        let others = |name: &String| !name.eq_ignore_ascii_case("information_schema");
        for name in schemas.into_iter().map(|row| row.string(0)).filter(others) {
            if self.uses(name.as_bytes())? {
                break;
            }
        }
        Ok(())
    }

    /// One that the logs make is not there: then the session stays in the one that it was in.
    fn enter(&mut self, schema: &[u8]) -> Result<()> {
        if !schema.is_empty() && self.schema != schema {
            self.uses(schema)?;
            self.schema = schema.to_vec();
        }
        Ok(())
    }

    fn uses(&mut self, schema: &[u8]) -> Result<bool> {
        match self.connection.execute(format!("USE {}", quote::identifier(&String::from_utf8_lossy(schema))))
        {
            Ok(_) => Ok(true),
            Err(drover_db::Error::Server(_)) => Ok(false),
            Err(source) => Err(self.failed(source)),
        }
    }

    /// Sets the session, line by line; tells why that is refused.
    fn set(&mut self, settings: &[u8]) -> Result<Option<drover_db::Error>> {
        self.current.clear();
        for line in settings.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            match self.connection.execute(line.strip_suffix(b";").unwrap_or(line)) {
                Ok(_) => {}
                Err(error @ drover_db::Error::Server(_)) => return Ok(Some(error)),
                Err(source) => return Err(self.failed(source)),
            }
        }
        self.current = settings.to_vec();
        Ok(None)
    }

    /// All that a statement's session is set to, but its schema, its number and the time.
    fn settings(&self, query: &Query<'_>, header: &Header, format: &Format) -> Result<Vec<u8>, Short> {
        let query = Query { thread: 0, ..*query };
        let header = Header { flags: header.flags | Header::SUPPRESS_USE, ..*header };
        let mut text = Vec::new();
        let mut session = Session::of_server(Arc::clone(&self.target.collations));
        session.prepare(&query, &header, format, &mut text)?;
        let time = memmem::rfind(&text, b"SET @@session.timestamp").unwrap_or(text.len());
        text.truncate(time);
        Ok(text)
    }

    fn failed(&self, source: drover_db::Error) -> crate::Error {
        self.destination.failed("trying a statement", source)
    }
}

/// Words that may be names of functions, in lower case.
fn called(text: &[u8], dialect: Dialect) -> Vec<Vec<u8>> {
    let code: Vec<_> = tokens_in_comments(text, dialect).filter(Token::is_code).collect();
    let calls = code.windows(2).filter(|pair| pair[0].kind == Kind::Word && pair[1].is_symbol(b'('));
    calls.map(|pair| pair[0].text.to_ascii_lowercase()).collect()
}
