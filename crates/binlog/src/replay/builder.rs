//! Makes transactions of events, piece by piece, and hands them on.

mod computed;
mod guard;
mod order;
mod rows;

use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};

use crate::Result;
use crate::chain::{Item, Trouble};
use crate::definitions::Definitions;
use crate::event::{Gtid, MariadbGtid, Query, Rotate, TableMap};
use crate::filter::{DOUBT_HINT, Filter, PARTLY, Wants};
use crate::loads::{Ending, Load, dialect};
use crate::log::{Kind, MAGIC};
use crate::objects::{rows_follow, without_rows};
use crate::rows::{Retyped, Tables};
use crate::shortened::shortened_for_error;
use crate::source::as_named;
use crate::sql::{DefaultCollations, Session, push_xa};
use drover_db::Vendor;
use drover_db::sql::events::off_as_on_a_replica;

use super::collations::{of_session, with_defaults, with_known};
use super::decoder::{Decoder, Step};
use super::definitions::{Class, classify};
use super::dry_run::Said;
use super::events::Batch;
use super::sink::Sink;
use super::transaction::{Definition, Mode, Order, Piece, Start, Transaction};
use super::types::with_json_as_text;
use super::{not_kept, position, tables};

use order::GroupClock;

/// A transaction is handed on when it has so many bytes, and what follows is while it is applied.
const LARGE: usize = 4 << 20;
/// So many pieces may wait behind those of a large transaction, each of about a megabyte.
const MOST_PIECES: usize = 4;

/// Makes transactions.
pub(super) struct Builder<'f, 's, 'a> {
    decoder: Decoder<'f>,
    sink: &'s mut Sink<'a>,
    /// What the target's tables are, once that was asked for.
    definitions: Option<Definitions>,
    /// Tables whose rows cannot be applied, as was said.
    refused: BTreeSet<String>,
    /// By a table's number, how its rows must be written for the target, if not as they are.
    retyped: HashMap<u64, Option<Retyped>>,
    /// What the session of statements is set to.
    session: Session,
    batch: Batch,
    statements: Vec<Vec<u8>>,
    /// What the rows are called of which these are, where each is of one.
    names: Vec<String>,
    now: Option<OpenTransaction>,
    clock: GroupClock,
    ordinal: u64,
    /// Whether what comes undoes the logs, from their end on.
    is_backwards: bool,
}

/// The transaction at hand.
struct OpenTransaction {
    transaction: Transaction,
    /// Where its pieces go, once it was handed on.
    sender: Option<SyncSender<Piece>>,
    end: Vec<u8>,
    /// Whether its rows are those of a table that it makes, and nothing else can be done in it.
    takes_rows_only: bool,
    /// Whether it is to be taken as applied.
    was_applied: bool,
    /// Whether it changes tables that keep no transactions, and that was said.
    stays: bool,
}

impl<'f, 's, 'a> Builder<'f, 's, 'a> {
    /// `definitions` tell of tables what the logs do not.
    pub(super) fn new(
        filter: Filter<'f>,
        sink: &'s mut Sink<'a>,
        is_backwards: bool,
        definitions: Option<Definitions>,
    ) -> Self {
        let batch = if sink.skips_missing { Batch::of_single_rows() } else { Batch::default() };
        let session = Session::of_server(Arc::clone(&sink.target.collations));
        Self {
            decoder: Decoder::new(filter, Tables::with(definitions.clone())),
            sink,
            definitions,
            refused: BTreeSet::new(),
            retyped: HashMap::new(),
            session,
            batch,
            statements: Vec::new(),
            names: Vec::new(),
            now: None,
            clock: GroupClock::default(),
            ordinal: 0,
            is_backwards,
        }
    }

    /// Takes in an event.
    pub(super) fn see(&mut self, item: &Item<'_>) -> Result<ControlFlow<()>, Trouble> {
        let Some(seen) = self.decoder.see(item)? else { return Ok(ControlFlow::Break(())) };
        if seen.enters {
            self.sink.enter(&self.decoder.log);
        }
        self.sink.earlier.see_origin(item, &self.decoder.log)?;
        // A replica's relay log has the one of the log that is relayed behind its own.
        let is_first = item.event.position == MAGIC.len() as u64;
        if item.event.kind == Kind::FORMAT_DESCRIPTION && is_first {
            self.sink.see_log(&self.decoder.log, &item.event.header)?;
        }
        let next = Rotate::next_log(&item.event, item.format)?;
        self.sink.report.next_log = next.map(|next| as_named(&self.decoder.log, &next));
        if item.place.begins() {
            self.begin(item, seen.is_wanted)?;
        }
        if self.now.is_some() {
            self.take(item, seen.load)?;
            if let Some(doubt) = self.decoder.filter.take_doubt() {
                self.problem(item, &doubt, DOUBT_HINT)?;
            }
        } else if item.event.kind == Kind::INCIDENT && seen.is_wanted {
            self.take(item, None)?;
        }
        if item.place.ends() {
            self.sink.left = self.now.is_none().then(|| (Arc::clone(&self.decoder.log), item.event.end));
            if self.now.is_some() {
                self.end(item.event.end)?;
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// The logs are at their end. Tells where a transaction begins whose end is not there.
    pub(super) fn finish(self) -> Option<Start> {
        self.now.map(|now| now.transaction.at)
    }

    fn begin(&mut self, item: &Item<'_>, takes: bool) -> Result<(), Trouble> {
        self.abandon()?;
        self.batch.clear();
        self.decoder.before.clear();
        let at = self.at(item);
        if !takes || self.sink.was_applied(&at) {
            return Ok(());
        }
        let event = &item.event;
        let gtid = Gtid::parse(event.kind, event.body, event.header.server_id)?;
        self.sink.check_origin(&at, &event.header, gtid.as_ref())?;
        self.ordinal += 1;
        let order = match self.is_backwards {
            true => Order::Serial,
            false => self.clock.order(item, gtid.as_ref(), self.ordinal),
        };
        let (ordinal, pieces) = (self.ordinal, Vec::new());
        let transaction = Transaction {
            ordinal,
            at,
            order,
            mode: Mode::Rows,
            is_guarded: false,
            pieces,
            session: None,
            rest: None,
            size: 0,
        };
        self.now = Some(OpenTransaction {
            transaction,
            sender: None,
            end: b"COMMIT".to_vec(),
            takes_rows_only: false,
            was_applied: false,
            stays: false,
        });
        if matches!(gtid, Some(Gtid::Mariadb(_)))
            && let Some(name) = MariadbGtid::xa_name(event.body)?
        {
            let mut text = Vec::new();
            push_xa(b"XA START ", &name, &mut text);
            self.prepare(item, text)?;
        }
        Ok(())
    }

    /// A transaction that the log does not end, since its server went down, was rolled back there.
    fn abandon(&mut self) -> Result<()> {
        let Some(now) = self.now.take() else { return Ok(()) };
        drop(now.sender);
        self.session.forget();
        self.sink.abandoned(&now.transaction.at)
    }

    fn take(&mut self, item: &Item<'_>, load: Option<Load>) -> Result<(), Trouble> {
        match self.decoder.step(item, load)? {
            Step::Nothing => Ok(()),
            Step::Table(map) => self.describe(item, &map),
            Step::Rows => self.rows(item),
            Step::Prepares(start) => self.prepare(item, start),
            Step::EndsWith(end) => {
                self.set_end(end);
                Ok(())
            }
            Step::Statement(query) => self.query(item, &query),
            Step::Load(load) => self.load(item, load),
            Step::Problem { what, hint } => self.problem(item, &what, &hint),
        }
    }

    fn describe(&mut self, item: &Item<'_>, map: &TableMap<'_>) -> Result<(), Trouble> {
        let (event, format) = (&item.event, item.format);
        if !self.wants_table(map.schema, map.table) {
            return Ok(());
        }
        self.sink.see_name(&self.at(item), map.schema, map.table)?;
        let retyped = self.retyped(item, map, format)?;
        match &retyped {
            Some(retyped) => self.batch.describe(&event.header, map, &retyped.describe(map), format),
            None => self.batch.describe(&event.header, map, event.body, format),
        }
        self.retyped.insert(map.id, retyped);
        let is_guarded = self.sink.is_guarded(map.schema, map.table)?;
        Ok(self.guard(is_guarded)?)
    }

    /// Something that cannot be applied.
    fn problem(&mut self, item: &Item<'_>, what: &str, hint: &str) -> Result<(), Trouble> {
        if let Some(now) = &mut self.now {
            // A worker that waits for more of it rolls it back.
            now.sender = None;
        }
        Ok(self.sink.problem(&self.at(item), what, hint)?)
    }

    fn at(&self, item: &Item<'_>) -> Start {
        Start { log: Arc::clone(&self.decoder.log), position: item.event.position }
    }

    fn query(&mut self, item: &Item<'_>, query: &Query<'_>) -> Result<(), Trouble> {
        if !self.takes(item, query)? {
            return Ok(());
        }
        self.sink.see_names(&self.at(item), query)?;
        self.sink.see_statement(&self.at(item), query)?;
        self.sink.see_boundaries(&self.at(item), query)?;
        self.flush_rows()?;
        self.settings(item, query)?;
        self.sink.report.statements += 1;
        self.sink.touch(query.schema)?;
        let (text, error) = (self.for_target(item, query)?, query.error);
        if self.is_prepared() {
            self.in_prepared(item, query)?;
            return Ok(self.push(Piece::Statement(text, error))?);
        }
        if query.is_xa_end() {
            self.sink.see_xa(&self.at(item))?;
            self.set_mode(Mode::Prepared);
            self.set_end(text);
            return Ok(self.note()?);
        }
        self.apply_statement(item, query, text)
    }

    /// A statement, as the target takes it, on its way into the transaction.
    fn apply_statement(&mut self, item: &Item<'_>, query: &Query<'_>, text: Vec<u8>) -> Result<(), Trouble> {
        let error = query.error;
        // What ends a transaction was dealt with: no BEGIN comes before this one.
        let is_alone = item.place.ends();
        match classify(query.text, dialect(query)?) {
            Class::Rows => {
                self.set_mode(Mode::Statements);
                let stays = is_alone || self.sink.may_stay(query)?;
                self.guard(stays)?;
                self.push(Piece::Statement(text, error))?;
            }
            Class::Other if !is_alone => {
                self.set_mode(Mode::Statements);
                self.push(Piece::Statement(text, error))?;
            }
            Class::Definition | Class::Other => {
                self.set_mode(Mode::Definitions);
                self.define(item, query, text)?;
            }
        }
        Ok(())
    }

    fn define(&mut self, item: &Item<'_>, query: &Query<'_>, text: Vec<u8>) -> Result<(), Trouble> {
        let (at, schema, dialect) = (self.at(item), query.schema.to_vec(), dialect(query)?);
        let (position, error) = (at.position, query.error);
        let told = not_kept::told_of(query.text, &text, dialect, item.format, self.sink.target());
        told.into_iter().for_each(|(what, reason)| self.sink.report.tell(&at, what, reason));
        self.sink.defines(&at, query, &text, dialect)?;
        self.definitions.iter().for_each(Definitions::forget);
        let opens_transaction = rows_follow(&text, dialect).is_some();
        let definition = Definition { position, schema, text, error, opens_transaction };
        if let Some(now) = &mut self.now {
            now.takes_rows_only = opens_transaction;
        }
        Ok(self.push(Piece::Definition(definition))?)
    }

    /// A statement as the target takes it; a dry run asks whether it does.
    fn for_target(&mut self, item: &Item<'_>, query: &Query<'_>) -> Result<Vec<u8>, Trouble> {
        let dialect = dialect(query)?;
        let off = off_as_on_a_replica(query.text, dialect);
        let off = off.map(|(text, name)| {
            self.sink.report.switched_off(query.schema, &name);
            text
        });
        let mut text = off.unwrap_or_else(|| query.text.to_vec());
        let target = self.sink.target();
        let others = [
            (!target.takes_rows_with_table()).then(|| without_rows(&text, dialect)),
            (item.format.is_mariadb() && target.vendor == Vendor::MySql)
                .then(|| with_json_as_text(&text, dialect)),
        ];
        text = others.into_iter().flatten().flatten().next().unwrap_or(text);
        text = not_kept::as_there(text, dialect, item.format, target);
        let is_definition = classify(query.text, dialect) != Class::Rows;
        let (named, kept) = with_defaults(&text, dialect, DefaultCollations::of(query, item.format)?, target);
        text = named.unwrap_or(text);
        self.sink.report.took_nearest(kept);
        if let Some((other, found)) = with_known(&text, dialect, query, &self.sink.target().collations)? {
            self.sink.report.took_nearest(found);
            text = other;
        }
        let found = of_session(&text, dialect, (query, item.format), self.sink.target())?;
        self.sink.report.took_nearest(found);
        let (kept, found) = tables::with_kept(&text, dialect, (query, item.format), self.sink.target())?;
        text = kept.unwrap_or(text);
        self.sink.report.took_nearest(found);
        let lacking = tables::lacking_engine(&text, dialect, query, self.sink.target())?;
        if let Some(engine) = lacking.filter(|_| query.error == 0) {
            self.problem(
                item,
                &format!("the target has no engine {engine}: {}", shortened_for_error(query.text)),
                tables::NO_ENGINE,
            )?;
        }
        if query.error == 0 {
            let header = self.decoder.filter.header_of(query, &item.event.header)?;
            let said = Said { query, header: &header, format: item.format };
            self.sink.try_text(&self.at(item), said, &text, is_definition)?;
        }
        Ok(text)
    }

    /// Whether the rows of a table are to be applied.
    fn wants_table(&self, schema: &[u8], table: &[u8]) -> bool {
        !position::is_own_table(schema, table) && self.decoder.filter.wants_table(schema, table)
    }

    /// Whether a statement is to be applied.
    fn takes(&mut self, item: &Item<'_>, query: &Query<'_>) -> Result<bool, Trouble> {
        let made = self.decoder.filter.learn_schema(query)?;
        let wants = self.decoder.filter.wants_statement(query)?;
        if let Some(schema) = made {
            if wants.is_taken() {
                self.sink.meet_schema(&self.at(item), &schema)?;
            }
            self.sink.note_schema(&schema)?;
        }
        if wants.is_taken() && self.decoder.filter.wants_kind(item.event.header.kind) {
            return Ok(true);
        }
        self.decoder.before.clear();
        // Of other tables than those that are wanted it need not be told.
        self.sink.report.passed_over += u64::from(wants != Wants::No);
        if wants == Wants::Partly {
            let what = format!("{PARTLY}: {}", shortened_for_error(query.text));
            self.problem(
                item,
                &what,
                "name these with --database or --table too, from the beginning on, or leave it out with --exclude-gtids",
            )?;
        }
        Ok(false)
    }

    /// What the session must be set to.
    fn settings(&mut self, item: &Item<'_>, query: &Query<'_>) -> Result<(), Trouble> {
        let mut text = Vec::new();
        let header = self.decoder.filter.header_of(query, &item.event.header)?;
        let at = Start { log: Arc::clone(&self.decoder.log), position: item.event.position };
        self.sink.try_session_of(&at, Said { query, header: &header, format: item.format })?;
        if let Some(now) = &mut self.now {
            now.transaction.session.get_or_insert_with(|| self.session.clone());
        }
        self.before_transaction(item, query)?;
        self.decoder.before.prepare(&mut self.session, query, &header, item.format, &mut text)?;
        Piece::settings(text).map_or(Ok(()), |piece| Ok(self.push(piece)?))
    }

    /// What MySQL does not set within a transaction is set before it begins.
    fn before_transaction(&mut self, item: &Item<'_>, query: &Query<'_>) -> Result<(), Trouble> {
        let Some(OpenTransaction { transaction, sender: None, .. }) = &mut self.now else { return Ok(()) };
        if self.sink.target().vendor != Vendor::MySql || transaction.pieces.is_empty() {
            return Ok(());
        }
        let mut text = Vec::new();
        self.session.before_transaction(query, item.format, &mut text)?;
        if let Some(text) = text.trim_ascii_end().strip_suffix(b";") {
            transaction.pieces.insert(0, Piece::Settings(text.to_vec(), 1));
        }
        Ok(())
    }

    fn load(&mut self, item: &Item<'_>, load: Load) -> Result<(), Trouble> {
        let Some(statement) = &load.statement else { return Ok(()) };
        let query = statement.query();
        if !self.takes(item, &query)? {
            return Ok(());
        }
        let what = match (load.ending, load.lacks_beginning, &load.spool) {
            (Ending::Loaded, false, Some(_)) => None,
            (Ending::Failed(code), ..) => {
                Some(format!("it ended with error {code}, after some rows had come in"))
            }
            (_, true, _) => Some("its file begins before the logs do".into()),
            (_, _, None) => Some("its file is not in the log".into()),
            _ => return Ok(()),
        };
        if let Some(what) = what {
            let what = format!("LOAD DATA: {what}: {}", shortened_for_error(query.text));
            let hint =
                "drover binlog extract writes what there is; then go on behind it with --start-position";
            return self.problem(item, &what, hint);
        }
        self.sink.see_names(&self.at(item), &query)?;
        self.sink.see_statement(&self.at(item), &query)?;
        self.sink.see_boundaries(&self.at(item), &query)?;
        self.flush_rows()?;
        self.settings(item, &query)?;
        self.set_mode(Mode::Statements);
        let stays = item.place.ends() || self.sink.may_stay(&query)?;
        self.guard(stays)?;
        self.sink.loads(&self.at(item))?;
        let text = statement.for_file(b"drover", true);
        Ok(self.push(Piece::Load(text, load.spool))?)
    }

    fn set_mode(&mut self, mode: Mode) {
        let Some(OpenTransaction { transaction, .. }) = &mut self.now else { return };
        let is_stronger = !matches!(
            (transaction.mode, mode),
            (Mode::Definitions | Mode::Prepared, Mode::Rows | Mode::Statements)
        );
        if is_stronger {
            transaction.mode = mode;
            transaction.order = Order::Serial;
        }
    }

    fn is_prepared(&self) -> bool {
        self.now.as_ref().is_some_and(|now| now.transaction.mode == Mode::Prepared)
    }

    fn set_end(&mut self, end: Vec<u8>) {
        if let Some(now) = &mut self.now {
            now.end = end;
        }
    }

    fn push(&mut self, piece: Piece) -> Result<()> {
        let Some(now) = &mut self.now else { return Ok(()) };
        if now.was_applied {
            return Ok(());
        }
        if let Some(sender) = &now.sender {
            return self.sink.send(sender, piece);
        }
        now.transaction.size += piece.size();
        now.transaction.pieces.push(piece);
        if now.transaction.size < LARGE {
            return Ok(());
        }
        self.before_large()?;
        let Some(now) = self.now.as_mut().filter(|now| !now.was_applied) else { return Ok(()) };
        let (sender, rest) = sync_channel(MOST_PIECES);
        let Transaction { ordinal, mode, is_guarded, .. } = now.transaction;
        let at = now.transaction.at.clone();
        let behind = Transaction {
            ordinal,
            at,
            order: Order::Serial,
            mode,
            is_guarded,
            pieces: Vec::new(),
            session: None,
            rest: None,
            size: 0,
        };
        let mut large = std::mem::replace(&mut now.transaction, behind);
        (large.rest, large.order) = (Some(rest), Order::Serial);
        now.sender = Some(sender);
        self.sink.submit(large)
    }

    /// The transaction at hand is whole.
    fn end(&mut self, position: u64) -> Result<(), Trouble> {
        self.flush_rows()?;
        self.settle_for_rows()?;
        let Some(OpenTransaction { mut transaction, sender, end, was_applied, .. }) = self.now.take() else {
            return Ok(());
        };
        let position = if self.is_backwards { transaction.at.position } else { position };
        let last = Piece::End { text: end, position };
        let commits_by_itself = matches!(transaction.mode, Mode::Definitions | Mode::Prepared);
        match sender {
            Some(sender) => self.sink.send(&sender, last)?,
            None if was_applied || (transaction.pieces.is_empty() && !commits_by_itself) => {
                if was_applied {
                    // Its settings were not sent.
                    self.session.forget();
                }
                self.sink.pass(transaction, position);
                return Ok(());
            }
            None => {
                transaction.pieces.push(last);
                self.sink.submit(transaction)?;
            }
        }
        self.sink.report.transactions += 1;
        if commits_by_itself {
            self.sink.drain()?;
            self.session.forget();
        }
        Ok(())
    }
}

const NO_HINT: &str = "";
