//! What all parts of a restore share, and what is not run of a dump.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

use drover_db::collations::defaults::{Conversion, name_them, of_server};
use drover_db::options::ConnectOptions;
use drover_db::sql::literals::{Keeper, Respelled, beyond_utf8mb3, introducers};
use drover_db::sql::partitions;
use drover_db::sql::phrase::Phrase;
use drover_db::{Cluster, Connection, Server, Stop, Vendor, replays};
use drover_throttle::Throttle;

use super::references::References;
use super::script::{Statement, is_system};
use super::tally::Tally;
use super::target::Target;
use crate::definer::Definers;
use crate::dump::catalog::Name;
use crate::error::Doing;
use crate::progress::Progress;
use crate::restore::rename::Renames;
use crate::{Error, Result};
use drover_format::kind::Kind;

/// Why a change of what is the target's own is refused.
pub(super) const NOT_MADE: &str = "it changes what this dump does not make";

/// The error for rows that come from where the dump does not put them.
pub(super) fn reads_other(statement: &Statement, name: &Name) -> Error {
    Error::with_hint(
        format!("{}: it reads {name}, which is no table or sequence that this dump makes", statement.place()),
        "rows of a dump come from the dump: run the statement with the server's own client",
    )
}

/// Shared by the workers.
pub(super) struct Context<'a> {
    pub(super) options: &'a ConnectOptions,
    pub(super) stop: &'a Stop,
    pub(super) progress: &'a Progress,
    pub(super) throttle: &'a Throttle<'a>,
    pub(super) renames: Renames,
    /// The schema that the URL or an option file names.
    pub(super) default: Option<&'a str>,
    pub(super) definers: Definers,
    pub(super) drop_existing: bool,
    /// Whether the dump can be read only once.
    pub(super) is_piped: bool,
    /// Where files that are loaded by name lie.
    pub(super) dir: Option<&'a Path>,
    pub(super) tally: Tally,
    pub(super) target: Target,
    /// A session that no setting of the dump reaches: it looks at what was made.
    pub(super) observer: Mutex<&'a mut Connection>,
    /// The columns that foreign keys of the dump refer to.
    pub(super) references: References,
    pub(super) server: Server,
    /// Whether the target partitions tables of InnoDB only.
    pub(super) partitions_innodb_only: bool,
    /// What the target takes for a character set that is named alone.
    pub(super) default_collations: BTreeMap<String, String>,
    /// The cluster that the target is in.
    pub(super) cluster: Option<Cluster>,
}

impl Context<'_> {
    /// A name of the dump as it is on the target.
    pub(super) fn target(&self, name: &Name) -> Name {
        self.renames.relation(&name.schema, &name.name)
    }

    /// Refuses a dump whose head names another schema than the connection's options: a client would fill the one, and the head the other.
    pub(super) fn check_default(&self, head: &str) -> Result<()> {
        let to = self.renames.any_schema(head);
        let is_other = |default: &&str| self.renames.any_schema(default) != to;
        let Some(default) = self.default.filter(is_other) else { return Ok(()) };
        if is_system(head) || self.renames.schema(head) != head {
            return Ok(());
        }
        let into = match self.is_piped {
            false => format!("--into {head}={default} restores it into `{default}`"),
            true => format!(
                "write the dump to a file to restore it into `{default}` with --into {head}={default}"
            ),
        };
        Err(Error::with_hint(
            format!(
                "the dump is of the schema `{head}`, and the URL or an option file names `{default}`: nothing was changed"
            ),
            format!("{into}; without a schema in the URL it goes into `{to}`"),
        ))
    }

    /// The error for something that the target has already.
    pub(super) fn already_there(&self, before: &str, name: &Name) -> Error {
        let hint = match self.is_piped {
            false => {
                "--drop-existing drops what the dump also holds; --into OLD=NEW restores into another schema"
            }
            true => {
                "--drop-existing drops what the dump also holds; write the dump to a file to restore it into another schema with \
                 --into OLD=NEW"
            }
        };
        Error::with_hint(format!("{before}the target already has {name}"), hint)
    }

    /// A definition with the collations that character sets named alone had where the dump was made, if it tells.
    pub(super) fn collated<'s>(&self, statement: &Statement, text: &'s [u8]) -> Cow<'s, [u8]> {
        let Some(dumped) = &statement.dumped else { return text.into() };
        let is_program = matches!(&statement.kind, Kind::CreateProgram(..) | Kind::CreateTrigger { .. });
        let mut phrase = Phrase::in_comments(text, statement.dialect);
        let before = phrase.clone();
        let is = |set: &str| self.default_collations.get(set).cloned();
        let kept = name_them(&mut phrase, |set| of_server(dumped, set), is, is_program);
        let said = kept.into_iter().map(|Conversion { text, from, to }| {
            let place = format!("{}, line {}", statement.file, statement.line);
            format!("{place}: {text} has the collation {to} on the target, and had {from}; COLLATE {from} behind it keeps that")
        });
        self.tally.warn(said, 0);
        if phrase == before { text.into() } else { phrase.to_text().into() }
    }

    /// A definition of a table with its literals as the target, a MariaDB, keeps them. What a MariaDB printed has been misread before, and
    /// stays.
    pub(super) fn with_kept_literals<'s>(
        &self,
        statement: &Statement,
        text: Cow<'s, [u8]>,
        reads_utf8mb4: bool,
    ) -> Cow<'s, [u8]> {
        let utf8mb3 = match self.default_collations.get("utf8mb3") {
            Some(collation) if collation.starts_with("utf8_") => "utf8",
            _ => "utf8mb3",
        };
        let keeper = Keeper { version: self.server.numbers(), utf8mb3, reads_utf8mb4 };
        let mut phrase = Phrase::in_comments(&text, statement.dialect);
        let is_of_mariadb = statement.dumped.as_ref().is_some_and(|dumped| dumped.vendor == Vendor::MariaDb);
        let before = phrase.clone();
        let respelled = match is_of_mariadb {
            true => beyond_utf8mb3(&mut phrase, keeper),
            false => introducers(&mut phrase, keeper),
        };
        let lost = respelled.into_iter().filter(|respelled| respelled.loses);
        let said = lost.map(|Respelled { from, to, reason, .. }| {
            format!("{}, line {}: {from} becomes {to}: {reason}", statement.file, statement.line)
        });
        self.tally.warn(said, 0);
        if phrase == before { text } else { phrase.to_text().into() }
    }

    /// The same with its partitions in InnoDB, where the target, a MySQL, has no others.
    pub(super) fn with_partitions<'s>(&self, statement: &Statement, text: Cow<'s, [u8]>) -> Cow<'s, [u8]> {
        if !self.partitions_innodb_only {
            return text;
        }
        let mut phrase = Phrase::in_comments(&text, statement.dialect);
        let before = phrase.clone();
        partitions::in_innodb(&mut phrase);
        if phrase == before { text } else { phrase.to_text().into() }
    }

    /// Tells replays, once, that a schema is filled anew.
    pub(super) fn note_filled(&self, connection: &mut Connection, schema: &str) -> Result<()> {
        if !self.target.fill(schema) {
            return Ok(());
        }
        replays::note_filled(connection, schema).doing(|| "noting for replays that the target is filled")
    }

    /// Whether a statement is to be run; what is left out for a reason that a person should know is noted.
    ///
    /// # Errors
    /// If the statement would change what is not the dump's, or cannot do what it says.
    pub(super) fn takes(&self, statement: &Statement) -> Result<bool> {
        if let Some(schema) = statement.system_schema() {
            self.tally
                .left_out(format!("everything in schema {schema}: the server's own tables and accounts"));
            return Ok(false);
        }
        for name in statement.reads()? {
            if !self.target.may_be_read(&self.target(&name)) {
                return Err(reads_other(statement, &name));
            }
        }
        match &statement.kind {
            Kind::Server => {
                // Only the first two words: there may be a password behind them.
                let words =
                    String::from_utf8_lossy(&statement.text[..statement.text.len().min(100)]).into_owned();
                let words: Vec<_> =
                    words.split_whitespace().filter(|word| !word.starts_with("/*")).take(2).collect();
                let place = format!("{}, line {}", statement.file, statement.line);
                self.tally.left_out(format!("{place}: {} …: not a part of the data", words.join(" ")));
                Ok(false)
            }
            Kind::DropSchema(schema) => {
                self.tally.left_out(format!("DROP DATABASE {schema}: it may hold more than the dump"));
                Ok(false)
            }
            Kind::Refused(why) => Err(statement.refused(why)),
            Kind::PassedOver => Ok(false),
            // Rows are committed in batches of drover's own. Locks would make the workers wait for each other, and nobody
            // else is to be kept from tables that were not there before.
            Kind::Lock | Kind::Transaction => Ok(false),
            // What the target had is dropped before what the dump makes: the rest of it is not the dump's to drop.
            Kind::DropProgram(word, name) => {
                Ok(self.target.has_made_program(word, &self.target(&statement.name(name)?)))
            }
            Kind::Drop(names) => {
                let names: Result<Vec<_>> =
                    names.iter().map(|name| statement.name(name).map(|name| self.target(&name))).collect();
                Ok(self.target.has_made_all(&names?))
            }
            Kind::Empty(name) | Kind::DisableKeys(name) | Kind::EnableKeys(name) => {
                Ok(self.target.is_filled_here(&self.target(&statement.name(name)?)))
            }
            _ => match self.changes_own(statement)? {
                Some(false) => Err(statement.refused(NOT_MADE)),
                _ => Ok(true),
            },
        }
    }

    /// Whether what a statement changes is this dump's; `None` of a statement that may change something else.
    fn changes_own(&self, statement: &Statement) -> Result<Option<bool>> {
        let target = |name| statement.name(name).map(|name| self.target(&name));
        Ok(Some(match &statement.kind {
            Kind::AlterSchema(name) => self.target.has_entered(&self.renames.any_schema(name)),
            Kind::ChangeRows(name) => self.target.is_filled_here(&target(name)?),
            Kind::AlterTable(name) | Kind::SetValue(name) => self.target.has_made(&target(name)?),
            Kind::CreateTrigger { table, .. } => {
                let table = target(table)?;
                self.target.has_made(&table) || self.target.is_filled_here(&table)
            }
            _ => return Ok(None),
        }))
    }
}
