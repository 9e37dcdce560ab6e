//! Where transactions go: to workers, or in a dry run to nobody.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use drover_db::sql::Dialect;
use drover_db::{Connection, Row, Vendor, quote};

use crate::chain::Item;
use crate::event::{Gtid, Query, TableMap};
use crate::log::{Format, Header, Short};
use crate::rows::{Kept, KeptColumn, KeptHistory, Table};
use crate::source::log_number;
use crate::{Error, Result};

use super::applied::Applied;
use super::cluster::Node;
use super::collations::NearestCollation;
use super::computed::Computed;
use super::dry_run::Schemas;
use super::events::Target;
use super::names::Names;
use super::position::{Found, Positions};
use super::programs::Rights;
use super::provenance::{self, Provenance};
use super::queue::Queue;
use super::staying::Staying;
use super::transaction::{Piece, Start, Transaction};
use super::trial::Trial;
use super::{Destination, Interrupted, Problem, ReplayReport};

/// Where transactions go.
pub(super) struct Sink<'a> {
    pub(super) destination: &'a Destination,
    pub(super) target: &'a Target,
    /// For questions beside the work.
    pub(super) connection: Connection,
    pub(super) goes: Goes<'a>,
    /// Names that the servers compare otherwise; `None` where they compare alike.
    pub(super) names: Option<Names>,
    /// Where an earlier run ended.
    pub(super) found: Option<Found>,
    pub(super) provenance: Provenance,
    /// What of the logs the target has applied already; `None` where they are undone.
    pub(super) applied: Option<Applied>,
    pub(super) interrupted: Option<Interrupted>,
    /// Whether an earlier run began and applied nothing: then the first log must be the one that it began with.
    pub(super) begins_as_before: bool,
    /// Tables that were asked for; `None` for one that is not there.
    pub(super) tables: HashMap<(Vec<u8>, Vec<u8>), Option<TableFacts>>,
    /// What was asked of what keeps no transactions.
    pub(super) staying: Staying,
    /// The generated columns of tables that were asked for.
    pub(super) computed: HashMap<(Vec<u8>, Vec<u8>), Arc<Computed>>,
    /// The columns of tables that were asked for.
    pub(super) kept: HashMap<(Vec<u8>, Vec<u8>), Arc<Kept>>,
    pub(super) report: ReplayReport,
    /// Where the last transaction ends, if it was left out.
    pub(super) left: Option<(Arc<str>, u64)>,
    /// In a dry run, what definitions the log has so far.
    pub(super) defined: String,
    pub(super) loads_are_checked: bool,
    /// Whether the logs are undone, from their end on.
    pub(super) is_backwards: bool,
    /// Whether rows that are not there are passed over.
    pub(super) skips_missing: bool,
    /// In a dry run, what the account may do, once that was asked.
    pub(super) rights: Option<Rights>,
    /// In a dry run, the session in which statements are tried.
    pub(super) trial: Option<Trial<'a>>,
    /// In a dry run, the schemas, once they were asked for.
    pub(super) schemas: Option<Schemas>,
    /// How many schemas of the logs were noted.
    pub(super) made_schemas: usize,
    /// Where the target is a node of a cluster, what that refuses.
    pub(super) node: Option<Node>,
    /// Whether what the cluster refuses ends a dry run.
    pub(super) is_trial: bool,
}

/// What is to be known of a table of the target.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TableFacts {
    /// Whether it keeps no transactions.
    pub(super) is_guarded: bool,
    /// Whether it is a sequence (MariaDB).
    is_sequence: bool,
}

pub(super) enum Goes<'a> {
    ToWorkers(&'a Queue, &'a Positions),
    Nowhere,
}

/// More text of definitions is not kept: then no table is said to be missing.
pub(super) const MOST_DEFINED: usize = 4 << 20;
/// So many problems are told.
const MOST_PROBLEMS: usize = 100;

impl Sink<'_> {
    pub(super) fn target(&self) -> &Target {
        self.target
    }

    /// Where the options say to begin: a run that goes on must do so where the one before ended.
    pub(super) fn see_start(&mut self, start: &str, begins: bool) -> Result<()> {
        let hint = match begins {
            true => "begin there again; --restart begins anew",
            false => {
                "leave it out, and --resume goes on where it was; to go on behind that place, name the log where it went on first, and \
                 --start-position counts in it; --restart begins anew"
            }
        };
        self.provenance.see_start(start, begins).map_err(|why| Error::with_hint(why, hint))
    }

    /// What of the logs is wanted: it must be the same as in an earlier run.
    pub(super) fn see_selection(&mut self, selection: &str) -> Result<()> {
        self.provenance.see_selection(selection).map_err(|why| {
            Error::with_hint(
                why,
                "--resume goes on with the options of before; for another choice fill the target anew, and begin with --restart",
            )
        })
    }

    /// A log begins.
    pub(super) fn enter(&mut self, log: &str) {
        log.clone_into(&mut self.report.log);
    }

    /// The log was begun by the server and at the time of this event.
    pub(super) fn see_log(&mut self, log: &str, first: &Header) -> Result<()> {
        if std::mem::take(&mut self.begins_as_before) {
            self.provenance.check_first(log, first.server_id, first.timestamp).map_err(|(why, first)| {
                Error::with_hint(
                    why,
                    format!("name {first} first, and those behind it; --restart begins anew"),
                )
            })?;
        }
        self.provenance.see_log(log, first.server_id, first.timestamp).map_err(elsewhere)?;
        self.note_provenance("noting a log")
    }

    pub(super) fn note_provenance(&mut self, doing: &str) -> Result<()> {
        let Goes::ToWorkers(_, positions) = &self.goes else { return Ok(()) };
        let noted = self.connection.execute(positions.note_provenance(&self.provenance));
        noted.map(drop).map_err(|source| self.destination.failed(doing, source))
    }

    /// Rows of a schema are about to be changed.
    pub(super) fn touch(&mut self, schema: &[u8]) -> Result<()> {
        let schema = provenance::quoted(&String::from_utf8_lossy(schema));
        match self.provenance.touched.insert(schema) {
            true => self.note_provenance("noting a schema"),
            false => Ok(()),
        }
    }

    /// Takes in what a log tells of itself.
    pub(super) fn see_origin(&mut self, item: &Item<'_>, log: &str) -> Result<(), Short> {
        self.applied.as_mut().map_or(Ok(()), |applied| applied.see(item, log))
    }

    /// Refuses a transaction that is to be applied, if the target has applied it already.
    pub(super) fn check_origin(&mut self, at: &Start, first: &Header, gtid: Option<&Gtid<'_>>) -> Result<()> {
        let Some(applied) = &mut self.applied else { return Ok(()) };
        let checked = applied.check(at, first, gtid, self.destination);
        if checked.is_err() {
            self.drain()?;
        }
        checked
    }

    /// Whether an earlier run has applied the transaction that begins there; counts it if so.
    pub(super) fn was_applied(&mut self, at: &Start) -> bool {
        let was_applied = self.has(at);
        self.report.applied_before += u64::from(was_applied);
        was_applied
    }

    /// Whether an earlier run has applied the transaction that begins there.
    pub(super) fn has(&self, at: &Start) -> bool {
        let Some(Found { mark, done, provenance, .. }) = &self.found else { return false };
        let (its, marked) = (log_number(&at.log), log_number(&mark.log));
        let is_before = match (at.log == mark.log, self.is_backwards) {
            (true, false) => at.position < mark.position,
            (false, false) => !mark.log.is_empty() && provenance.is_later(&mark.log, &at.log),
            (true, true) => at.position >= mark.position,
            (false, true) => its > marked && !mark.log.is_empty(),
        };
        is_before || done.contains(&(at.log.to_string(), at.position))
    }

    /// Whether a table keeps no transactions on the target.
    pub(super) fn is_guarded(&mut self, map: &TableMap<'_>) -> Result<bool> {
        self.facts(map.schema, map.table).map(|facts| facts.is_guarded)
    }

    /// Whether rows of a table are those of a sequence, which the target cannot take as rows.
    pub(super) fn is_set_by_function(&mut self, schema: &[u8], table: &[u8]) -> Result<bool> {
        Ok(self.target.sets_sequences() && self.facts(schema, table)?.is_sequence)
    }

    pub(super) fn facts(&mut self, schema: &[u8], table: &[u8]) -> Result<TableFacts> {
        let key = (schema.to_vec(), table.to_vec());
        if let Some(known) = self.tables.get(&key) {
            return Ok(known.unwrap_or_default());
        }
        self.touch(schema)?;
        let schema = String::from_utf8_lossy(schema).into_owned();
        let table = String::from_utf8_lossy(table).into_owned();
        let row = self.connection.first(format!(
            "SELECT e.TRANSACTIONS, t.TABLE_TYPE FROM information_schema.TABLES t \
             LEFT JOIN information_schema.ENGINES e ON e.ENGINE = t.ENGINE \
             WHERE t.TABLE_SCHEMA = {} AND t.TABLE_NAME = {}",
            quote::string(&schema),
            quote::string(&table)
        ));
        let row = row.map_err(|source| self.destination.failed("asking for a table's engine", source))?;
        let known = row.map(|row| TableFacts {
            is_guarded: row.string(0) != "YES",
            is_sequence: row.string(1) == "SEQUENCE",
        });
        if known.is_none() {
            self.miss(&schema, &table);
        }
        self.tables.insert(key, known);
        Ok(known.unwrap_or_default())
    }

    /// The columns of a table on the target, if rows of this log may have to be written otherwise for it. `is_new` says that the same
    /// transaction makes it, in place of one that may be there.
    pub(super) fn kept(&mut self, table: &Table, format: &Format, is_new: bool) -> Result<Option<Arc<Kept>>> {
        let (on_mariadb, has_former) = (self.target.vendor == Vendor::MariaDb, self.target.has_former_times);
        if on_mariadb == format.is_mariadb()
            && !table.may_have_later_types(format)
            && !table.may_be_versioned()
            && !table.has_old_times()
            && !table.has_times_unlike(has_former)
        {
            return Ok(None);
        }
        if is_new {
            return Ok(Some(Arc::new(Kept::as_made(table, on_mariadb, has_former))));
        }
        let key = (table.schema.clone(), table.name.clone());
        if let Some(known) = self.kept.get(&key) {
            return Ok(Some(Arc::clone(known)));
        }
        let [schema, name] =
            [&table.schema, &table.name].map(|name| quote::string(&String::from_utf8_lossy(name)));
        let columns = format!(
            "SELECT c.COLUMN_NAME, LOWER(c.DATA_TYPE), COALESCE(c.CHARACTER_OCTET_LENGTH, 0), t.TABLE_TYPE = 'SYSTEM VERSIONED', \
             c.DATA_TYPE IN ('time', 'datetime', 'timestamp') AND c.COLUMN_TYPE LIKE '%/* %', \
             COALESCE(c.CHARACTER_SET_NAME = 'ascii', 0), c.COLUMN_TYPE LIKE '% COMPRESSED%' \
             FROM information_schema.COLUMNS c JOIN information_schema.TABLES t USING (TABLE_SCHEMA, TABLE_NAME) \
             WHERE TABLE_SCHEMA = {schema} AND TABLE_NAME = {name} ORDER BY c.ORDINAL_POSITION"
        );
        self.show_former_times()?;
        let rows = self.connection.query(columns);
        let rows = rows.map_err(|source| self.destination.failed("asking for a table's columns", source))?;
        let is_versioned = rows.rows.first().is_some_and(|row| row.string(3) == "1");
        let history = if is_versioned { Some(self.history(&schema, &name)?) } else { None };
        let knows_later = on_mariadb || !has_former;
        let column = |row: Row| KeptColumn {
            name: row.string(0),
            data_type: row.string(1),
            most: row.string(2).parse().unwrap_or(0),
            has_former_times: !knows_later || row.string(4) == "1",
            is_ascii: row.string(5) == "1",
            is_compressed: row.string(6) == "1",
        };
        let kept = Kept { columns: rows.into_iter().map(column).collect(), on_mariadb, history };
        if let (true, Goes::ToWorkers(..)) = (kept.columns.is_empty(), &self.goes) {
            // The same transaction makes it: CREATE TABLE … SELECT.
            return Ok(Some(Arc::new(Kept::as_made(table, on_mariadb, has_former))));
        }
        let kept = Arc::new(kept);
        self.kept.insert(key, Arc::clone(&kept));
        Ok(Some(kept))
    }

    /// Has MySQL 5.6 and 5.7 name the columns whose times are in the format of before 5.6.4. Other servers have no such setting.
    fn show_former_times(&mut self) -> Result<()> {
        let shown = self.connection.set_if_taken("show_old_temporals", "ON");
        shown.map(drop).map_err(|source| self.destination.failed("making a session ready", source))
    }

    /// How the target keeps the history of a table; its names are literals.
    fn history(&mut self, schema: &str, table: &str) -> Result<KeptHistory> {
        let sql = format!(
            "SELECT FROM_UNIXTIME(4294967295) IS NOT NULL, (SELECT ORDINAL_POSITION FROM information_schema.COLUMNS WHERE \
             TABLE_SCHEMA = {schema} AND TABLE_NAME = {table} AND GENERATION_EXPRESSION = 'ROW END')"
        );
        let row = self.connection.first(sql);
        let row = row.map_err(|source| self.destination.failed("asking for a table's history", source))?;
        let place = row.as_ref().and_then(|row| row.parse::<usize>(1));
        let ends_later = row.map(|row| row.string(0) == "1");
        Ok(KeptHistory { until: place.and_then(|place| place.checked_sub(1)), ends_later })
    }

    /// In a dry run, a table that is not there is a problem, unless the log may make it.
    fn miss(&mut self, schema: &str, table: &str) {
        if let (Goes::Nowhere, false) = (&self.goes, self.may_be_made(table)) {
            let what = format!("there is no table {schema}.{table}, and nothing in the logs makes it");
            let hint = "restore the dump first, and begin where it was taken: --after and the dump";
            self.report.problems.push(Problem { at: String::new(), what, hint: hint.into() });
        }
    }

    /// A statement changes definitions.
    pub(super) fn defines(
        &mut self,
        at: &Start,
        query: &Query<'_>,
        text: &[u8],
        dialect: Dialect,
    ) -> Result<()> {
        self.tables.clear();
        self.kept.clear();
        self.staying = Staying::default();
        self.computed.clear();
        self.names.iter_mut().for_each(Names::forget);
        self.learn_definition(query, dialect)?;
        match self.goes {
            Goes::ToWorkers(..) => Ok(()),
            Goes::Nowhere => self.try_definition(at, query, text, dialect),
        }
    }

    /// Behind a dump, a schema is made that the dump has not: what the target has of it is not what the logs say.
    pub(super) fn meet_schema(&mut self, at: Start, schema: &[u8]) -> Result<()> {
        if let Goes::ToWorkers(queue, _) = &self.goes {
            queue.drain()?;
        }
        let name = String::from_utf8_lossy(schema);
        let there = self.connection.first(format!(
            "SELECT 1 FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = {}",
            quote::string(&name)
        ));
        let there = there.map_err(|source| self.destination.failed("asking for a schema", source))?;
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
        let Goes::ToWorkers(queue, positions) = &self.goes else { return Ok(()) };
        queue.drain()?;
        if self.made_schemas == 0 {
            let noted = positions.made_schemas(&mut self.connection);
            self.made_schemas =
                noted.map_err(|source| self.destination.failed("asking for schemas", source))?.len();
        }
        let noted = self.connection.execute(positions.note_schema(self.made_schemas, schema));
        self.made_schemas += 1;
        noted.map(drop).map_err(|source| self.destination.failed("noting a schema", source))
    }

    /// A statement has a scheduled event run, which it does not on the target.
    pub(super) fn switched_off(&mut self, schema: &[u8], name: &[u8]) {
        let name = String::from_utf8_lossy(name);
        let name = match name.contains('.') {
            true => name.into_owned(),
            false => format!("{}.{name}", String::from_utf8_lossy(schema)),
        };
        if !self.report.events_off.contains(&name) && self.report.events_off.len() < MOST_PROBLEMS {
            self.report.events_off.push(name);
        }
    }

    /// Statements name collations that the target lacks, or have its own default where the log's server had another one.
    pub(super) fn took_nearest(&mut self, found: Vec<NearestCollation>) {
        let known = &mut self.report.collations;
        for one in found {
            if known.len() < MOST_PROBLEMS && !known.contains(&one) {
                known.push(one);
            }
        }
    }

    /// A file is to be loaded: the target must take it from a client.
    pub(super) fn loads(&mut self, at: Start) -> Result<()> {
        self.report.loads += 1;
        if std::mem::replace(&mut self.loads_are_checked, true) {
            return Ok(());
        }
        let is_on = self.connection.first("SELECT @@GLOBAL.local_infile");
        let is_on = is_on.map_err(|source| self.destination.failed("asking for local_infile", source))?;
        if is_on.is_some_and(|row| row.string(0) == "1") {
            return Ok(());
        }
        let what = "the log has LOAD DATA, and the target takes no files from clients";
        self.problem(at, what, "SET GLOBAL local_infile = ON there")
    }

    /// Something that cannot be applied: the end, but in a dry run.
    pub(super) fn problem(&mut self, at: Start, what: &str, hint: &str) -> Result<()> {
        if let Goes::ToWorkers(queue, _) = &self.goes {
            queue.drain()?;
            let what = format!("{at}: {what}");
            return Err(match hint {
                "" => Error::found(what),
                hint => Error::with_hint(what, hint),
            });
        }
        if self.report.problems.len() < MOST_PROBLEMS {
            let problem = Problem { at: at.to_string(), what: what.into(), hint: hint.into() };
            self.report.problems.push(problem);
        }
        Ok(())
    }

    /// Whether an earlier run ended within the transaction that begins there, behind having said so beforehand.
    pub(super) fn was_begun(&self, at: &Start) -> bool {
        let pending = self.found.as_ref().and_then(|found| found.pending.as_ref());
        pending.is_some_and(|pending| pending.log == *at.log && pending.position == at.position)
    }

    /// Says beforehand that a transaction is being applied to tables that keep none. False if it is to be left out, since an earlier run
    /// came to it. Of one whose beginning was handed on, all before it was applied.
    pub(super) fn guard(&mut self, transaction: &Transaction, is_handed_on: bool) -> Result<bool> {
        let Goes::ToWorkers(queue, _) = &self.goes else { return Ok(true) };
        if !is_handed_on {
            queue.drain()?;
        }
        match (self.was_begun(&transaction.at), self.interrupted) {
            (true, Some(Interrupted::Skip)) if !is_handed_on => return Ok(false),
            (false, _) | (true, Some(Interrupted::Again)) => {}
            _ => return Err(interrupted(&transaction.at)),
        }
        self.write_note(transaction).map(|()| true)
    }

    /// Says beforehand that a transaction is being applied whose position cannot be committed with it.
    pub(super) fn note(&mut self, transaction: &Transaction) -> Result<()> {
        self.drain()?;
        self.write_note(transaction)
    }

    fn write_note(&mut self, transaction: &Transaction) -> Result<()> {
        let Goes::ToWorkers(_, positions) = &self.goes else { return Ok(()) };
        let at = &transaction.at;
        let note = positions.pending(0, at, at.position, "");
        let noted = self.connection.execute(note);
        noted.map(drop).map_err(|source| self.destination.failed(format!("{at}: noting it"), source))
    }

    /// Hands on a transaction, or the beginning of one.
    pub(super) fn submit(&mut self, transaction: Transaction) -> Result<()> {
        match &self.goes {
            Goes::ToWorkers(queue, _) => queue.submit(transaction),
            Goes::Nowhere => Ok(()),
        }
    }

    /// Hands on a piece of one that was begun.
    pub(super) fn send(&mut self, sender: &SyncSender<Piece>, piece: Piece) -> Result<()> {
        let Goes::ToWorkers(queue, _) = &self.goes else { return Ok(()) };
        match sender.send(piece) {
            Ok(()) => Ok(()),
            // The worker is gone, and has said why.
            Err(_) => Err(queue.drain().err().unwrap_or(Error::Stopped)),
        }
    }

    /// In a dry run, tries whether the account may apply rows at all.
    pub(super) fn try_session(&mut self) -> Result<()> {
        for statement in self.target.begin_session() {
            match self.connection.execute(statement) {
                Ok(_) => {}
                Err(source @ drover_db::Error::Server(_)) => {
                    let error = self.destination.failed("BINLOG", source);
                    let (what, hint) = (error.to_string(), error.hint().unwrap_or_default());
                    self.report.problems.push(Problem { at: String::new(), what, hint });
                    break;
                }
                Err(source) => return Err(self.destination.failed("trying a session", source)),
            }
        }
        Ok(())
    }

    /// A transaction of which nothing is to be applied.
    pub(super) fn pass(&mut self, transaction: Transaction, end: u64) -> Result<()> {
        if let Goes::ToWorkers(queue, _) = &self.goes {
            queue.pass(transaction.ordinal, transaction.at, end);
        }
        Ok(())
    }

    /// A transaction was handed on as a whole.
    pub(super) fn ended(&mut self) {
        self.report.transactions += 1;
    }

    pub(super) fn count_rows(&mut self) {
        self.report.row_events += 1;
    }

    pub(super) fn count_statement(&mut self) {
        self.report.statements += 1;
    }

    /// A transaction was given up.
    pub(super) fn abandoned(&mut self, at: &Start) -> Result<()> {
        self.report.abandoned.push(at.to_string());
        self.drain()
    }

    /// Waits until all was applied.
    pub(super) fn drain(&mut self) -> Result<()> {
        match &self.goes {
            Goes::ToWorkers(queue, _) => queue.drain(),
            Goes::Nowhere => Ok(()),
        }
    }
}

pub(super) fn elsewhere(why: String) -> Error {
    Error::with_hint(
        why,
        "are these the logs of another server? Give their replay another --name; or --restart, which forgets where this one was",
    )
}

fn interrupted(at: &Start) -> Error {
    Error::with_hint(
        format!(
            "{at}: an earlier replay ended while it applied this transaction to tables that keep no transactions: \
             nobody knows how much of it is there"
        ),
        "look at the tables that it changes (drover binlog sql shows them), then give --interrupted again or --interrupted skip",
    )
}
