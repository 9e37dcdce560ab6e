//! What the builder makes goes this way: to workers, or in a dry run to nobody. What is asked of the target for it is asked here.

use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use drover_db::sql::Dialect;
use drover_db::{Connection, quote};

use crate::Result;
use crate::chain::Trouble;
use crate::event::{Gtid, Query};
use crate::loads::dialect;
use crate::log::{Format, Header};
use crate::objects::{Object, Objects};
use crate::rows::{Kept, Table};

use super::applier::Applier;
use super::boundaries::Boundaries;
use super::cluster::{Node, Refusal};
use super::computed::{self, Computed, ComputedColumns};
use super::definitions::{Class, classify};
use super::destination::SideSession;
use super::dry_run::{DryRun, Said};
use super::earlier::Earlier;
use super::events::Target;
use super::names::{Looking, Misnamed, Names};
use super::report::ReplayReport;
use super::staying::Staying;
use super::target_tables::{TableFacts, TargetTables, as_made, may_be_kept_otherwise};
use super::transaction::{Piece, Start, Transaction};

/// Where transactions go.
pub(super) struct Sink<'a> {
    pub(super) target: &'a Target,
    pub(super) session: SideSession<'a>,
    pub(super) goes: Goes<'a>,
    pub(super) earlier: Earlier,
    /// Names that the servers compare otherwise; `None` where they compare alike.
    pub(super) names: Option<Names>,
    /// Where the target is a node of a cluster, what that refuses.
    pub(super) node: Option<Node>,
    pub(super) known: Known,
    pub(super) report: ReplayReport,
    /// Where the last transaction ends, if it was left out.
    pub(super) left: Option<(Arc<str>, u64)>,
    /// Whether rows that are not there are passed over.
    pub(super) skips_missing: bool,
}

/// What was asked of the target.
#[derive(Debug, Default)]
pub(super) struct Known {
    tables: TargetTables,
    /// What keeps no transactions.
    staying: Staying,
    boundaries: Boundaries,
    /// The generated columns of tables.
    computed: ComputedColumns,
    /// Whether it takes files from clients.
    takes_files: bool,
}

pub(super) enum Goes<'a> {
    ToWorkers(Applier<'a>),
    Nowhere(Box<DryRun<'a>>),
}

impl<'a> Sink<'a> {
    pub(super) fn target(&self) -> &Target {
        self.target
    }

    /// What tries things, if it is a dry run.
    fn dry_run(&mut self) -> Option<(&mut DryRun<'a>, &mut SideSession<'a>)> {
        match &mut self.goes {
            Goes::ToWorkers(_) => None,
            Goes::Nowhere(dry_run) => Some((dry_run, &mut self.session)),
        }
    }

    /// What applies, if anything is.
    fn applier(&mut self) -> Option<(&mut Applier<'a>, &mut SideSession<'a>)> {
        match &mut self.goes {
            Goes::ToWorkers(applier) => Some((applier, &mut self.session)),
            Goes::Nowhere(_) => None,
        }
    }

    /// All was read of a dry run: what it found.
    pub(super) fn end_dry_run(mut self) -> Result<ReplayReport> {
        if let Goes::Nowhere(mut dry_run) = self.goes {
            dry_run.try_session(&mut self.session, self.target)?;
            self.report.problems = dry_run.into_problems();
        }
        Ok(self.report)
    }

    /// A log begins.
    pub(super) fn enter(&mut self, log: &str) {
        log.clone_into(&mut self.report.log);
    }

    /// The log was begun by the server and at the time of this event.
    pub(super) fn see_log(&mut self, log: &str, first: &Header) -> Result<()> {
        self.earlier.see_log(log, first)?;
        self.note_provenance("noting a log")
    }

    fn note_provenance(&mut self, doing: &str) -> Result<()> {
        let Goes::ToWorkers(applier) = &self.goes else { return Ok(()) };
        applier.note_provenance(&mut self.session, &self.earlier.provenance, doing)
    }

    /// Rows of a schema are about to be changed.
    pub(super) fn touch(&mut self, schema: &[u8]) -> Result<()> {
        match self.earlier.touch(schema) {
            true => self.note_provenance("noting a schema"),
            false => Ok(()),
        }
    }

    /// Refuses a transaction that is to be applied, if the target has applied it already.
    pub(super) fn check_origin(&mut self, at: &Start, first: &Header, gtid: Option<&Gtid<'_>>) -> Result<()> {
        let checked = self.earlier.check_origin(at, first, gtid, self.session.destination);
        if checked.is_err() {
            self.drain()?;
        }
        checked
    }

    /// Whether an earlier run has applied the transaction that begins there; counts it if so.
    pub(super) fn was_applied(&mut self, at: &Start) -> bool {
        let was_applied = self.earlier.has(at);
        self.report.applied_before += u64::from(was_applied);
        was_applied
    }

    /// Whether a table keeps no transactions on the target.
    pub(super) fn is_guarded(&mut self, schema: &[u8], table: &[u8]) -> Result<bool> {
        self.facts(schema, table).map(|facts| facts.is_guarded)
    }

    /// Whether rows of a table are those of a sequence, which the target cannot take as rows.
    pub(super) fn is_set_by_function(&mut self, schema: &[u8], table: &[u8]) -> Result<bool> {
        Ok(self.target.sets_sequences() && self.facts(schema, table)?.is_sequence)
    }

    fn facts(&mut self, schema: &[u8], table: &[u8]) -> Result<TableFacts> {
        if let Some(known) = self.known.tables.known(schema, table) {
            return Ok(known.unwrap_or_default());
        }
        self.touch(schema)?;
        let facts = self.known.tables.ask(&mut self.session, schema, table)?;
        if let (None, Some((dry_run, _))) = (facts, self.dry_run()) {
            dry_run.miss(schema, table);
        }
        Ok(facts.unwrap_or_default())
    }

    /// The columns of a table on the target, if rows of this log may have to be written otherwise for it. `is_new` says that the same
    /// transaction makes it, in place of one that may be there.
    pub(super) fn kept(&mut self, table: &Table, format: &Format, is_new: bool) -> Result<Option<Arc<Kept>>> {
        if !may_be_kept_otherwise(table, format, self.target) {
            return Ok(None);
        }
        if is_new {
            return Ok(Some(Arc::new(as_made(table, self.target))));
        }
        let kept = self.known.tables.kept(&mut self.session, table, self.target)?;
        if let (true, Goes::ToWorkers(_)) = (kept.columns.is_empty(), &self.goes) {
            // The same transaction makes it: CREATE TABLE … SELECT.
            self.known.tables.forget_missing(table);
            return Ok(Some(Arc::new(as_made(table, self.target))));
        }
        Ok(Some(kept))
    }

    /// The generated columns of a table, if the target does not compute those that rows of this log leave out.
    pub(super) fn computed(&mut self, table: &Table, format: &Format) -> Result<Option<Arc<Computed>>> {
        match computed::are_left_out(format, self.target) {
            true => self.known.computed.of(&mut self.session, table),
            false => Ok(None),
        }
    }

    /// Whether a statement may change tables that keep no transactions: its own, or through triggers and functions.
    pub(super) fn may_stay(&mut self, query: &Query<'_>) -> Result<bool, Trouble> {
        if let Goes::Nowhere(_) = self.goes {
            return Ok(false);
        }
        match Objects::of(query)? {
            Objects::OfTransaction => return Ok(false),
            Objects::Untold => return Ok(self.known.staying.has_plain_tables(&mut self.session)?),
            Objects::OfServer => {}
            Objects::Named { changed, .. } => {
                for object in changed {
                    if let Object::Table(table) = object
                        && (self.is_guarded(&table.schema, &table.name)?
                            || self.known.staying.has_triggers(&mut self.session, &table)?
                                && self.known.staying.has_plain_tables(&mut self.session)?)
                    {
                        return Ok(true);
                    }
                }
            }
        }
        let Known { staying, .. } = &mut self.known;
        Ok(staying.calls_function(&mut self.session, query)?
            && staying.has_plain_tables(&mut self.session)?)
    }

    /// A statement is to be applied: its names must be what they are on the logs' server.
    pub(super) fn see_names(&mut self, at: &Start, query: &Query<'_>) -> Result<(), Trouble> {
        let Some(mut looking) = self.looking() else { return Ok(()) };
        let wrong = looking.see_names(query)?;
        Ok(self.misnamed(at, wrong)?)
    }

    /// The same for a table whose rows are to be changed.
    pub(super) fn see_name(&mut self, at: &Start, schema: &[u8], table: &[u8]) -> Result<()> {
        let Some(mut looking) = self.looking() else { return Ok(()) };
        let wrong = looking.see_name(schema, Some(table))?;
        self.misnamed(at, wrong)
    }

    fn looking(&mut self) -> Option<Looking<'_, 'a>> {
        let names = self.names.as_mut()?;
        Some(Looking { names, session: &mut self.session, provenance: &mut self.earlier.provenance })
    }

    fn misnamed(&mut self, at: &Start, wrong: Vec<Misnamed>) -> Result<()> {
        if self.names.as_mut().is_some_and(Names::takes_new) {
            self.note_provenance("noting a name")?;
        }
        wrong.into_iter().try_for_each(|(what, hint)| self.problem(at, &what, hint))
    }

    /// An XA transaction comes, or the end of one.
    pub(super) fn see_xa(&mut self, at: &Start) -> Result<()> {
        self.ask_node(at, Node::xa_refused)
    }

    /// Rows of a table come.
    pub(super) fn see_rows(&mut self, at: &Start, schema: &[u8], table: &[u8]) -> Result<()> {
        self.ask_node(at, |node, connection| node.rows_refused(connection, schema, table))
    }

    /// A statement comes: it may change rows.
    pub(super) fn see_statement(&mut self, at: &Start, query: &Query<'_>) -> Result<(), Trouble> {
        if self.node.is_none() || classify(query.text, dialect(query)?) != Class::Rows {
            return Ok(());
        }
        let objects = Objects::of(query)?;
        Ok(self.ask_node(at, |node, connection| node.statement_refused(connection, &objects))?)
    }

    /// A statement comes whose rows may get into other partitions.
    pub(super) fn see_boundaries(&mut self, at: &Start, query: &Query<'_>) -> Result<(), Trouble> {
        let misread = self.known.boundaries.misread(&mut self.session, self.target, query)?;
        for (table, set) in misread {
            let [schema, name] = [&table.schema, &table.name].map(|name| String::from_utf8_lossy(name));
            let table = quote::qualified(&schema, &name);
            let reason = format!(
                "the session of a statement is in {set}, in which MySQL reads the boundaries: rows may be in other \
                 partitions, until FLUSH TABLES {table} and ALTER TABLE {table} REPAIR PARTITION ALL"
            );
            self.report.tell(at, format!("partitions of {table}"), &reason);
        }
        Ok(())
    }

    fn ask_node(
        &mut self,
        at: &Start,
        ask: impl FnOnce(&mut Node, &mut Connection) -> drover_db::Result<Option<Refusal>>,
    ) -> Result<()> {
        let Some(node) = &mut self.node else { return Ok(()) };
        let asked = self.session.with("asking what the cluster takes", |connection| ask(node, connection))?;
        let Some((what, hint)) = asked else { return Ok(()) };
        match &mut self.goes {
            Goes::ToWorkers(applier) => applier.problem(at, &what, hint),
            Goes::Nowhere(dry_run) => dry_run.refused_by_cluster(at, &what, hint),
        }
    }

    /// A statement comes that changes definitions.
    pub(super) fn defines(
        &mut self,
        at: &Start,
        query: &Query<'_>,
        text: &[u8],
        dialect: Dialect,
    ) -> Result<()> {
        self.known = Known { takes_files: self.known.takes_files, ..Known::default() };
        self.names.iter_mut().for_each(Names::forget);
        if let (Some(node), Ok(objects)) = (&mut self.node, Objects::of(query)) {
            let learn = |connection: &mut Connection| node.learn(connection, query, &objects, dialect);
            self.session.with("asking for a table", learn)?;
        }
        match self.dry_run() {
            None => Ok(()),
            Some((dry_run, session)) => dry_run.try_definition(session, at, query, text, dialect),
        }
    }

    /// Whether the target would take a statement's session, and has its schema.
    pub(super) fn try_session_of(&mut self, at: &Start, said: Said<'_>) -> Result<()> {
        match self.dry_run() {
            None => Ok(()),
            Some((dry_run, session)) => dry_run.try_session_of(session, at, said),
        }
    }

    /// Whether the target would understand a definition, or a statement that may call what it lacks.
    pub(super) fn try_text(
        &mut self,
        at: &Start,
        said: Said<'_>,
        text: &[u8],
        is_definition: bool,
    ) -> Result<(), Trouble> {
        let Some((dry_run, _)) = self.dry_run() else { return Ok(()) };
        if is_definition || dry_run.may_lack_function(text, dialect(said.query)?)? {
            dry_run.try_text(at, said, text)?;
        }
        Ok(())
    }

    /// Whether it is a dry run, and the logs define the table: then it may be another one than is there.
    pub(super) fn is_only_planned(&self, table: &[u8]) -> bool {
        matches!(&self.goes, Goes::Nowhere(dry_run) if dry_run.is_only_planned(table))
    }

    /// Behind a dump, a schema is made that the dump has not: what the target has of it is not what the logs say.
    pub(super) fn meet_schema(&mut self, at: &Start, schema: &[u8]) -> Result<()> {
        self.drain()?;
        let name = String::from_utf8_lossy(schema);
        let there = self.session.first(
            "asking for a schema",
            format!("SELECT 1 FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = {}", quote::string(&name)),
        )?;
        if there.is_none() {
            return Ok(());
        }
        let what = format!(
            "the logs make the schema '{name}', which the dump of --after has not, and the target has one: what they put into it would be there twice"
        );
        let drop = format!("DROP DATABASE {} if it is from these logs", quote::identifier(&name));
        self.problem(at, &what, &format!("{drop}; --database with the others leaves it out"))
    }

    /// A schema is made that is wanted from then on, also by a run that goes on later.
    pub(super) fn note_schema(&mut self, schema: &[u8]) -> Result<()> {
        match self.applier() {
            None => Ok(()),
            Some((applier, session)) => applier.note_schema(session, schema),
        }
    }

    /// A file is to be loaded: the target must take it from a client.
    pub(super) fn loads(&mut self, at: &Start) -> Result<()> {
        self.report.loads += 1;
        if std::mem::replace(&mut self.known.takes_files, true) {
            return Ok(());
        }
        let is_on = self.session.first("asking for local_infile", "SELECT @@GLOBAL.local_infile")?;
        if is_on.is_some_and(|row| row.string(0) == "1") {
            return Ok(());
        }
        let what = "the log has LOAD DATA, and the target takes no files from clients";
        self.problem(at, what, "SET GLOBAL local_infile = ON there")
    }

    /// Something that cannot be applied: the end, but in a dry run.
    pub(super) fn problem(&mut self, at: &Start, what: &str, hint: &str) -> Result<()> {
        match &mut self.goes {
            Goes::ToWorkers(applier) => applier.problem(at, what, hint),
            Goes::Nowhere(dry_run) => {
                dry_run.problem(at, what, hint);
                Ok(())
            }
        }
    }

    /// Says beforehand that a transaction is being applied to tables that keep none. False if it is to be left out, since an earlier run
    /// came to it. Of one whose beginning was handed on, all before it was applied.
    pub(super) fn guard(&mut self, transaction: &Transaction, is_handed_on: bool) -> Result<bool> {
        let Goes::ToWorkers(applier) = &self.goes else { return Ok(true) };
        if !is_handed_on {
            applier.drain()?;
        }
        if !self.earlier.takes_begun(&transaction.at, is_handed_on)? {
            return Ok(false);
        }
        applier.note_begun(&mut self.session, &transaction.at).map(|()| true)
    }

    /// Says beforehand that a transaction is being applied whose position cannot be committed with it.
    pub(super) fn note(&mut self, transaction: &Transaction) -> Result<()> {
        let Goes::ToWorkers(applier) = &self.goes else { return Ok(()) };
        applier.drain()?;
        applier.note_begun(&mut self.session, &transaction.at)
    }

    /// Hands on a transaction, or the beginning of one.
    pub(super) fn submit(&mut self, transaction: Transaction) -> Result<()> {
        match &self.goes {
            Goes::ToWorkers(applier) => applier.submit(transaction),
            Goes::Nowhere(_) => Ok(()),
        }
    }

    /// Hands on a piece of one that was begun.
    pub(super) fn send(&mut self, sender: &SyncSender<Piece>, piece: Piece) -> Result<()> {
        match &self.goes {
            Goes::ToWorkers(applier) => applier.send(sender, piece),
            Goes::Nowhere(_) => Ok(()),
        }
    }

    /// A transaction of which nothing is to be applied.
    pub(super) fn pass(&mut self, transaction: Transaction, end: u64) {
        if let Goes::ToWorkers(applier) = &self.goes {
            applier.pass(transaction, end);
        }
    }

    /// A transaction was given up.
    pub(super) fn abandoned(&mut self, at: &Start) -> Result<()> {
        self.report.abandoned.push(at.to_string());
        self.drain()
    }

    /// Waits until all was applied.
    pub(super) fn drain(&self) -> Result<()> {
        match &self.goes {
            Goes::ToWorkers(applier) => applier.drain(),
            Goes::Nowhere(_) => Ok(()),
        }
    }
}
