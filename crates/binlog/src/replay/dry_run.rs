//! What a dry run asks of the target for each statement of the logs.

use std::collections::BTreeSet;

use drover_db::sql::Dialect;
use drover_db::{Connection, er, quote, server};

use crate::event::Query;
use crate::log::{Format, Header};
use crate::objects::Objects;
use crate::shortened::shortened_for_error;
use crate::{Error, Result};

use super::definitions::stands_in;
use super::destination::{Destination, SideSession};
use super::events::Target;
use super::programs::Rights;
use super::report::Problem;
use super::transaction::Start;
use super::trial::Trial;

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

/// What a dry run finds.
pub(super) struct DryRun<'a> {
    destination: &'a Destination,
    target: &'a Target,
    problems: Vec<Problem>,
    /// What definitions the logs have so far.
    defined: String,
    /// What the account may do, once that was asked.
    rights: Option<Rights>,
    /// The session in which statements are tried.
    trial: Option<Trial<'a>>,
    /// The schemas, once they were asked for.
    schemas: Option<Schemas>,
    /// Whether what the target's cluster refuses ends it.
    ends_at_refusal: bool,
}

/// More text of definitions is not kept: then no table is said to be missing.
const MOST_DEFINED: usize = 4 << 20;
/// At most so many problems are listed.
const MOST_PROBLEMS: usize = 100;

impl<'a> DryRun<'a> {
    /// These problems are known before the first event.
    pub(super) fn new(
        destination: &'a Destination,
        target: &'a Target,
        problems: Vec<Problem>,
        ends_at_refusal: bool,
    ) -> Self {
        Self {
            destination,
            target,
            problems,
            defined: String::new(),
            rights: None,
            trial: None,
            schemas: None,
            ends_at_refusal,
        }
    }

    /// What was found.
    pub(super) fn into_problems(self) -> Vec<Problem> {
        self.problems
    }

    /// Something that cannot be applied.
    pub(super) fn problem(&mut self, at: &Start, what: &str, hint: &str) {
        if self.problems.len() < MOST_PROBLEMS {
            self.problems.push(Problem { at: at.to_string(), what: what.into(), hint: hint.into() });
        }
    }

    /// Something that the target's cluster refuses.
    pub(super) fn refused_by_cluster(&mut self, at: &Start, what: &str, hint: &'static str) -> Result<()> {
        if self.ends_at_refusal {
            return Err(Error::Refused { what: format!("{at}: {what} (nothing was changed)"), hint });
        }
        self.problem(at, what, hint);
        Ok(())
    }

    /// A table that is not there is a problem, unless the logs may make it.
    pub(super) fn miss(&mut self, schema: &[u8], table: &[u8]) {
        let [schema, table] = [schema, table].map(|name| String::from_utf8_lossy(name));
        if !self.may_be_made(&table) {
            let what = format!("there is no table {schema}.{table}, and nothing in the logs makes it");
            let hint = "restore the dump first, and begin where it was taken: --after and the dump";
            self.problems.push(Problem { at: String::new(), what, hint: hint.into() });
        }
    }

    /// Tries whether the account may apply rows at all.
    pub(super) fn try_session(&mut self, session: &mut SideSession<'_>, target: &Target) -> Result<()> {
        for statement in target.begin_session() {
            match session.connection.execute(statement) {
                Ok(_) => {}
                Err(source @ drover_db::Error::Server(_)) => {
                    let error = self.destination.failed("BINLOG", source);
                    let (what, hint) = (error.to_string(), error.hint().unwrap_or_default());
                    self.problems.push(Problem { at: String::new(), what, hint });
                    break;
                }
                Err(source) => return Err(self.destination.failed("trying a session", source)),
            }
        }
        Ok(())
    }

    /// Whether the target would take a statement's session, and has its schema.
    pub(super) fn try_session_of(
        &mut self,
        session: &mut SideSession<'_>,
        at: &Start,
        said: Said<'_>,
    ) -> Result<()> {
        let Said { query, header, format } = said;
        if header.flags & Header::SUPPRESS_USE == 0 && !query.schema.is_empty() {
            self.try_schema(session, at, query)?;
        }
        let refused = self.trial()?.refuses_settings(query, header, format)?;
        if let Some(source) = refused {
            self.refused(at, "the session of a statement", query.text, source);
        }
        Ok(())
    }

    /// Whether the target would understand a definition.
    pub(super) fn try_text(&mut self, at: &Start, said: Said<'_>, text: &[u8]) -> Result<()> {
        let Said { query, header, format } = said;
        let refused = self.trial()?.refuses_text(query, header, format, text)?;
        if let Some(source) = refused.filter(|source| !self.is_of_the_logs(source)) {
            self.refused(at, "the target does not know this", text, source);
        }
        Ok(())
    }

    /// Whether a statement that changes rows may call a function that the target lacks.
    pub(super) fn may_lack_function(&mut self, text: &[u8], dialect: Dialect) -> Result<bool> {
        self.trial()?.may_lack_function(text, dialect)
    }

    /// Whether it is a function that is missing and the logs may make: `FUNCTION schema.name does not exist`.
    fn is_of_the_logs(&self, source: &drover_db::Error) -> bool {
        let drover_db::Error::Server(error) = source else { return false };
        let name = error.message.split(' ').nth(1).and_then(|name| name.rsplit('.').next());
        error.code == er::SP_DOES_NOT_EXIST && name.is_none_or(|name| self.may_be_made(&name.to_lowercase()))
    }

    fn refused(&mut self, at: &Start, what: &str, text: &[u8], source: drover_db::Error) {
        let error = self.destination.failed(format!("{what}: {}", shortened_for_error(text)), source);
        let hint = error.hint().unwrap_or_else(|| {
            "the logs' server has what the target has not: leave the transaction out with --exclude-gtids, or go on behind it with \
             --start-position, after you did there what comes nearest"
                .to_owned()
        });
        self.problem(at, &error.to_string(), &hint);
    }

    fn trial(&mut self) -> Result<&mut Trial<'a>> {
        let trial = match self.trial.take() {
            Some(trial) => trial,
            None => Trial::begin(self.destination, self.target)?,
        };
        Ok(self.trial.insert(trial))
    }

    /// A schema that a session was in and that is not there.
    fn try_schema(&mut self, session: &mut SideSession<'_>, at: &Start, query: &Query<'_>) -> Result<()> {
        let schemas = self.schemas(session)?;
        let name = schemas.named(query.schema);
        if !schemas.names.insert(name.clone()) {
            return Ok(());
        }
        let what = format!(
            "the session was in the schema {name}, which the target does not have: {}",
            shortened_for_error(query.text)
        );
        let hint = format!("restore that schema too, or CREATE DATABASE {} there", quote::identifier(&name));
        self.problem(at, &what, &hint);
        Ok(())
    }

    /// A statement changes definitions: what the logs have made so far, and what the account may not make.
    pub(super) fn try_definition(
        &mut self,
        session: &mut SideSession<'_>,
        at: &Start,
        query: &Query<'_>,
        text: &[u8],
        dialect: Dialect,
    ) -> Result<()> {
        if let (Ok(made), Ok(dropped)) = (Objects::made_schema(query), Objects::dropped_schema(query)) {
            let schemas = self.schemas(session)?;
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
            None => session.with("asking what the account may do", Rights::of)?,
        };
        let refusals = rights.refusals(text, dialect);
        self.rights = Some(rights);
        for (what, hint) in refusals {
            self.problem(at, &format!("{}: {what}", shortened_for_error(query.text)), hint);
        }
        Ok(())
    }

    /// Whether the logs define the table: then it may be another one than is there.
    pub(super) fn is_only_planned(&self, table: &[u8]) -> bool {
        self.may_be_made(&String::from_utf8_lossy(table))
    }

    /// Whether the logs may make a table that is not there.
    pub(super) fn may_be_made(&self, table: &str) -> bool {
        self.defined.len() > MOST_DEFINED || stands_in(&self.defined, table)
    }

    fn schemas(&mut self, session: &mut SideSession<'_>) -> Result<&mut Schemas> {
        let schemas = match self.schemas.take() {
            Some(schemas) => schemas,
            None => session.with("listing schemas", Schemas::of)?,
        };
        Ok(self.schemas.insert(schemas))
    }
}
