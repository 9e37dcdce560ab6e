//! What a dry run asks of the target for each statement of the logs.

use std::collections::BTreeSet;

use drover_db::sql::Dialect;
use drover_db::{Connection, er, quote, server};

use crate::Result;
use crate::event::Query;
use crate::log::{Format, Header};
use crate::objects::Objects;

use super::definitions::stands_in;
use super::programs::Rights;
use super::sink::{Goes, MOST_DEFINED, Sink};
use super::transaction::Start;
use super::trial::Trial;
use super::worker::shortened;

/// A statement, and how its session is set.
#[derive(Clone, Copy)]
pub(super) struct Said<'q> {
    pub(super) query: &'q Query<'q>,
    pub(super) header: &'q Header,
    pub(super) format: &'q Format,
}

/// The target's schemas, and those that the logs have made so far.
#[derive(Debug)]
pub(super) struct Schemas {
    names: BTreeSet<String>,
    folds: bool,
}

impl Schemas {
    fn of(connection: &mut Connection) -> drover_db::Result<Self> {
        let folds = server::takes_any_case(connection)?;
        let mut schemas = Self { names: BTreeSet::new(), folds };
        for row in connection.query("SELECT SCHEMA_NAME FROM information_schema.SCHEMATA")? {
            let name = schemas.named(row.string(0).as_bytes());
            schemas.names.insert(name);
        }
        Ok(schemas)
    }

    fn named(&self, name: &[u8]) -> String {
        let name = String::from_utf8_lossy(name);
        if self.folds { name.to_lowercase() } else { name.into_owned() }
    }
}

impl<'a> Sink<'a> {
    /// Whether the target would take a statement's session, and has its schema.
    pub(super) fn try_session_of(&mut self, at: &Start, said: Said<'_>) -> Result<()> {
        if let Goes::ToWorkers(..) = self.goes {
            return Ok(());
        }
        let Said { query, header, format } = said;
        if header.flags & Header::SUPPRESS_USE == 0 && !query.schema.is_empty() {
            self.try_schema(at, query)?;
        }
        let refused = self.trial()?.refuses_settings(query, header, format)?;
        match refused {
            Some(source) => self.refused(at, "the session of a statement", query.text, source),
            None => Ok(()),
        }
    }

    /// Whether the target would understand a definition.
    pub(super) fn try_text(&mut self, at: &Start, said: Said<'_>, text: &[u8]) -> Result<()> {
        if let Goes::ToWorkers(..) = self.goes {
            return Ok(());
        }
        let Said { query, header, format } = said;
        let refused = self.trial()?.refuses_text(query, header, format, text)?;
        match refused {
            Some(source) if self.is_of_the_logs(&source) => Ok(()),
            Some(source) => self.refused(at, "the target does not know this", text, source),
            None => Ok(()),
        }
    }

    /// Whether a statement that changes rows may call a function that the target lacks.
    pub(super) fn may_lack_function(&mut self, text: &[u8], dialect: Dialect) -> Result<bool> {
        match self.goes {
            Goes::ToWorkers(..) => Ok(false),
            Goes::Nowhere => self.trial()?.may_lack_function(text, dialect),
        }
    }

    /// Whether it is a function that is missing and the logs may make: `FUNCTION schema.name does not exist`.
    fn is_of_the_logs(&self, source: &drover_db::Error) -> bool {
        let drover_db::Error::Server(error) = source else { return false };
        let name = error.message.split(' ').nth(1).and_then(|name| name.rsplit('.').next());
        error.code == er::SP_DOES_NOT_EXIST && name.is_none_or(|name| self.may_be_made(&name.to_lowercase()))
    }

    fn refused(&mut self, at: &Start, what: &str, text: &[u8], source: drover_db::Error) -> Result<()> {
        let error = self.destination.failed(format!("{what}: {}", shortened(text)), source);
        let hint = error.hint().unwrap_or_else(|| {
            "the logs' server has what the target has not: leave the transaction out with --exclude-gtids, or go on behind it with \
             --start-position, after you did there what comes nearest"
                .to_owned()
        });
        self.problem(at.clone(), &error.to_string(), &hint)
    }

    fn trial(&mut self) -> Result<&mut Trial<'a>> {
        let trial = match self.trial.take() {
            Some(trial) => trial,
            None => Trial::begin(self.destination)?,
        };
        Ok(self.trial.insert(trial))
    }

    /// A schema that a session was in and that is not there.
    fn try_schema(&mut self, at: &Start, query: &Query<'_>) -> Result<()> {
        let schemas = self.schemas()?;
        let name = schemas.named(query.schema);
        if !schemas.names.insert(name.clone()) {
            return Ok(());
        }
        let what = format!(
            "the session was in the schema {name}, which the target does not have: {}",
            shortened(query.text)
        );
        let hint = format!("restore that schema too, or CREATE DATABASE {} there", quote::identifier(&name));
        self.problem(at.clone(), &what, &hint)
    }

    /// A statement changes definitions: what the logs have made so far, and what the account may not make.
    pub(super) fn try_definition(
        &mut self,
        at: &Start,
        query: &Query<'_>,
        text: &[u8],
        dialect: Dialect,
    ) -> Result<()> {
        if let (Ok(made), Ok(dropped)) = (Objects::made_schema(query), Objects::dropped_schema(query)) {
            let schemas = self.schemas()?;
            if let Some(made) = made {
                let name = schemas.named(&made);
                schemas.names.insert(name);
            }
            if let Some(dropped) = dropped {
                let name = schemas.named(&dropped);
                schemas.names.remove(&name);
            }
        }
        if self.defined.len() <= MOST_DEFINED {
            self.defined.push_str(&String::from_utf8_lossy(query.text).to_lowercase());
        }
        let mut rights = match self.rights.take() {
            Some(rights) => rights,
            None => Rights::of(&mut self.connection)
                .map_err(|source| self.destination.failed("asking what the account may do", source))?,
        };
        let refusals = rights.refusals(text, dialect);
        self.rights = Some(rights);
        refusals.into_iter().try_for_each(|(what, hint)| {
            self.problem(at.clone(), &format!("{}: {what}", shortened(query.text)), hint)
        })
    }

    /// Whether it is a dry run, and the logs define the table: then it may be another one than is there.
    pub(super) fn is_only_planned(&self, table: &[u8]) -> bool {
        matches!(self.goes, Goes::Nowhere) && self.may_be_made(&String::from_utf8_lossy(table))
    }

    /// Whether the logs may make a table that is not there.
    pub(super) fn may_be_made(&self, table: &str) -> bool {
        self.defined.len() > MOST_DEFINED || stands_in(&self.defined, table)
    }

    fn schemas(&mut self) -> Result<&mut Schemas> {
        let schemas = match self.schemas.take() {
            Some(schemas) => schemas,
            None => Schemas::of(&mut self.connection)
                .map_err(|source| self.destination.failed("listing schemas", source))?,
        };
        Ok(self.schemas.insert(schemas))
    }
}
