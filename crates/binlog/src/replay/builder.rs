//! Makes transactions of events, piece by piece, and hands them on.

mod computed;
mod guard;
mod rows;

use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};

use crate::Result;
use crate::chain::{Item, Trouble};
use crate::definitions::Definitions;
use crate::event::{Gtid, MariadbGtid, Query, Rotate, TableMap, incident};
use crate::filter::{DOUBT_HINT, Filter, PARTLY, Verdict, Wants};
use crate::loads::{Ending, Keep, Load, Loads, dialect};
use crate::log::{Header, Kind, MAGIC, Place};
use crate::objects::{rows_follow, without_rows};
use crate::rows::{Retyped, Tables};
use crate::source::as_named;
use crate::sql::{Before, DefaultCollations, Session, push_xa, xa_prepare};
use drover_db::Vendor;
use drover_db::sql::events::off_as_on_a_replica;

use super::collations::{with_defaults, with_known};
use super::definitions::{Sort, sort};
use super::dry_run::Said;
use super::events::Batch;
use super::sink::Sink;
use super::transaction::{Definition, Mode, Order, Piece, Start, Transaction};
use super::types::with_json_as_text;
use super::worker::shortened;
use super::{not_kept, position, tables};

/// A transaction is handed on when it has so many bytes, and what follows is while it is applied.
const LARGE: usize = 4 << 20;
/// So many pieces may wait behind those of a large transaction, each of about a megabyte.
const MOST_PIECES: usize = 4;

/// Makes transactions.
pub(super) struct Builder<'f, 's, 'a> {
    filter: Filter<'f>,
    sink: &'s mut Sink<'a>,
    tables: Tables,
    /// What the target's tables are, once that was asked for.
    definitions: Option<Definitions>,
    /// Tables whose rows cannot be applied, as was said.
    refused: BTreeSet<String>,
    /// By a table's number, how its rows must be written for the target, if not as they are.
    retyped: HashMap<u64, Option<Retyped>>,
    loads: Loads,
    before: Before,
    /// What the session of statements is set to.
    session: Session,
    batch: Batch,
    statements: Vec<Vec<u8>>,
    /// What the rows are called of which these are, where each is of one.
    names: Vec<String>,
    now: Option<Now>,
    log: (usize, Arc<str>),
    clock: GroupClock,
    ordinal: u64,
    /// Whether what comes undoes the logs, from their end on.
    is_backwards: bool,
}

/// The transaction at hand.
struct Now {
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

/// MariaDB tells of each transaction in which group it was committed: those of one group can be applied at once.
#[derive(Debug, Default)]
struct GroupClock {
    group: Option<u64>,
    /// The last transaction before the group.
    before: u64,
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
        Self {
            filter,
            sink,
            tables: Tables::with(definitions.clone()),
            definitions,
            refused: BTreeSet::new(),
            retyped: HashMap::new(),
            loads: Loads::new(Keep::in_temp()),
            before: Before::default(),
            session: Session::default(),
            batch,
            statements: Vec::new(),
            names: Vec::new(),
            now: None,
            log: (usize::MAX, "".into()),
            clock: GroupClock::default(),
            ordinal: 0,
            is_backwards,
        }
    }

    /// Takes in an event.
    pub(super) fn see(&mut self, item: &Item<'_>) -> Result<ControlFlow<()>, Trouble> {
        let verdict = self.filter.verdict(item)?;
        if verdict == Verdict::Stop {
            return Ok(ControlFlow::Break(()));
        }
        let load = self.loads.see(item)?;
        if item.number != self.log.0 {
            self.log = (item.number, crate::source::log_name(item.log.as_ref()).into());
            self.sink.enter(&self.log.1);
        }
        self.sink.see_origin(item, &self.log.1)?;
        // A replica's relay log has the one of the log that is relayed behind its own.
        let is_first = item.event.position == MAGIC.len() as u64;
        if item.event.kind == Kind::FORMAT_DESCRIPTION && is_first {
            self.sink.see_log(&self.log.1, &item.event.header)?;
        }
        let next = Rotate::next_log(&item.event, item.format)?;
        self.sink.report.next_log = next.map(|next| as_named(&self.log.1, &next));
        if item.place.begins() {
            self.begin(item, verdict == Verdict::Take)?;
        }
        if self.now.is_some() {
            self.take(item, load)?;
            if let Some(doubt) = self.filter.take_doubt() {
                self.problem(item, &doubt, DOUBT_HINT)?;
            }
        } else if item.event.kind == Kind::INCIDENT && verdict == Verdict::Take {
            self.incident(item)?;
        }
        if item.place.ends() {
            self.sink.left = self.now.is_none().then(|| (Arc::clone(&self.log.1), item.event.end));
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
        self.before.clear();
        let at = self.at(item);
        if !takes || self.sink.was_applied(&at) {
            return Ok(());
        }
        let event = &item.event;
        let gtid = Gtid::parse(event.kind, event.body, event.header.server_id)?;
        self.sink.check_origin(&at, &event.header, gtid.as_ref())?;
        self.ordinal += 1;
        let order = self.order(item, gtid.as_ref());
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
        self.now = Some(Now {
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

    fn order(&mut self, item: &Item<'_>, gtid: Option<&Gtid<'_>>) -> Order {
        let log = item.number;
        match gtid {
            _ if self.is_backwards => Order::Serial,
            Some(Gtid::Mysql(gtid)) => gtid.clock.map_or(Order::Serial, |clock| Order::Clocked {
                log,
                number: clock.number,
                after: clock.after,
            }),
            Some(Gtid::Mariadb(gtid)) => {
                if gtid.group.is_none() || gtid.group != self.clock.group {
                    self.clock = GroupClock { group: gtid.group, before: self.ordinal - 1 };
                }
                Order::Clocked { log: 0, number: self.ordinal, after: self.clock.before }
            }
            None => Order::Serial,
        }
    }

    fn take(&mut self, item: &Item<'_>, load: Option<Load>) -> Result<(), Trouble> {
        let (event, format) = (&item.event, item.format);
        match event.kind {
            Kind::TABLE_MAP => {
                let map = TableMap::parse(event.body, format)?;
                self.tables.learn(&map, event.body, format)?;
                if self.wants_table(map.schema, map.table) {
                    self.sink.see_name(&self.at(item), map.schema, Some(map.table))?;
                    let retyped = self.retyped(item, &map, format)?;
                    match &retyped {
                        Some(retyped) => {
                            self.batch.describe(&event.header, &map, &retyped.describe(&map), format);
                        }
                        None => self.batch.describe(&event.header, &map, event.body, format),
                    }
                    self.retyped.insert(map.id, retyped);
                    let is_guarded = self.sink.is_guarded(&map)?;
                    self.guard(is_guarded)?;
                }
            }
            kind if kind.row_change().is_some() => self.rows(item)?,
            Kind::QUERY => self.query(item, &Query::parse(event.body, format)?)?,
            Kind::EXECUTE_LOAD_QUERY | Kind::EXEC_LOAD | Kind::LOAD | Kind::NEW_LOAD => {
                self.load(item, load)?
            }
            Kind::INTVAR | Kind::RAND | Kind::USER_VAR => self.before.note(event)?,
            Kind::BEGIN_LOAD_QUERY | Kind::APPEND_BLOCK => self.before.clear(),
            Kind::XA_PREPARE => self.set_end(xa_prepare(event.body)?),
            Kind::INCIDENT => self.incident(item)?,
            Kind::MARIADB_PARTIAL_ROW_DATA => {
                self.problem(item, "a row in parts, which drover cannot put together", NO_HINT)?;
            }
            kind if kind.name().is_none() && event.header.flags & Header::IGNORABLE == 0 => {
                self.problem(item, &format!("an event of {kind}, which nobody knows"), NO_HINT)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn incident(&mut self, item: &Item<'_>) -> Result<(), Trouble> {
        let message = String::from_utf8_lossy(incident(item.event.body)?).into_owned();
        let hint = format!(
            "to apply what is there all the same: --stop-position {0}, then --start-position {0}",
            item.event.position
        );
        self.problem(item, &format!("the server says that events may be missing here: {message}"), &hint)
    }

    /// Something that cannot be applied.
    fn problem(&mut self, item: &Item<'_>, what: &str, hint: &str) -> Result<(), Trouble> {
        if let Some(now) = &mut self.now {
            // A worker that waits for more of it rolls it back.
            now.sender = None;
        }
        Ok(self.sink.problem(self.at(item), what, hint)?)
    }

    fn at(&self, item: &Item<'_>) -> Start {
        Start { log: Arc::clone(&self.log.1), position: item.event.position }
    }

    fn query(&mut self, item: &Item<'_>, query: &Query<'_>) -> Result<(), Trouble> {
        if query.changes_nothing_yet()? {
            self.before.clear();
            return Ok(());
        }
        if query.is_begin() {
            return match query.text.eq_ignore_ascii_case(b"BEGIN") {
                true => Ok(()),
                false => self.prepare(item, query.text.to_vec()),
            };
        }
        if query.is_end() && item.place == Place::Last {
            self.set_end(query.text.to_vec());
            return Ok(());
        }
        if position::is_own_statement(query.text) {
            self.before.clear();
            return Ok(());
        }
        if !self.takes(item, query)? {
            return Ok(());
        }
        self.sink.see_names(&self.at(item), query)?;
        self.sink.see_statement(&self.at(item), query)?;
        self.flush_rows()?;
        self.settings(item, query)?;
        self.sink.count_statement();
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
        // What ends a transaction was dealt with: no BEGIN comes before this one.
        let is_alone = item.place.ends();
        match sort(query.text, dialect(query)?) {
            Sort::Rows => {
                self.set_mode(Mode::Statements);
                let stays = is_alone || self.sink.may_stay(query)?;
                self.guard(stays)?;
                self.push(Piece::Statement(text, error))?;
            }
            Sort::Other if !is_alone => {
                self.set_mode(Mode::Statements);
                self.push(Piece::Statement(text, error))?;
            }
            Sort::Definition | Sort::Other => {
                self.set_mode(Mode::Definitions);
                let (at, schema, dialect) = (self.at(item), query.schema.to_vec(), dialect(query)?);
                let position = at.position;
                self.sink.see_kept(&at, query.text, &text, (item.format, dialect));
                self.sink.defines(&at, query, &text, dialect)?;
                self.definitions.iter().for_each(Definitions::forget);
                let opens_transaction = rows_follow(&text, dialect).is_some();
                let definition = Definition { position, schema, text, error, opens_transaction };
                if let Some(now) = &mut self.now {
                    now.takes_rows_only = opens_transaction;
                }
                self.push(Piece::Definition(definition))?;
            }
        }
        Ok(())
    }

    /// A statement as the target takes it; a dry run asks whether it does.
    fn for_target(&mut self, item: &Item<'_>, query: &Query<'_>) -> Result<Vec<u8>, Trouble> {
        let dialect = dialect(query)?;
        let off = off_as_on_a_replica(query.text, dialect);
        let off = off.map(|(text, name)| {
            self.sink.switched_off(query.schema, &name);
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
        let is_definition = sort(query.text, dialect) != Sort::Rows;
        let (named, kept) = with_defaults(&text, dialect, DefaultCollations::of(query, item.format)?, target);
        let is_named = named.is_some();
        text = named.unwrap_or(text);
        self.sink.took_nearest(kept);
        let target = self.sink.target();
        if (is_definition || is_named)
            && let Some((other, found)) = with_known(&text, dialect, &target.collations)
        {
            self.sink.took_nearest(found);
            text = other;
        }
        let (kept, found) = tables::with_kept(&text, dialect, (query, item.format), self.sink.target())?;
        text = kept.unwrap_or(text);
        self.sink.took_nearest(found);
        let lacking = tables::lacking_engine(&text, dialect, query, self.sink.target())?;
        if let Some(engine) = lacking.filter(|_| query.error == 0) {
            self.problem(
                item,
                &format!("the target has no engine {engine}: {}", shortened(query.text)),
                tables::NO_ENGINE,
            )?;
        }
        if query.error == 0 && (is_definition || self.sink.may_lack_function(&text, dialect)?) {
            let header = self.filter.header_of(query, &item.event.header)?;
            let at = Start { log: Arc::clone(&self.log.1), position: item.event.position };
            self.sink.try_text(&at, Said { query, header: &header, format: item.format }, &text)?;
        }
        Ok(text)
    }

    /// Whether the rows of a table are to be applied.
    fn wants_table(&self, schema: &[u8], table: &[u8]) -> bool {
        !position::is_own_table(schema, table) && self.filter.wants_table(schema, table)
    }

    /// Whether a statement is to be applied.
    fn takes(&mut self, item: &Item<'_>, query: &Query<'_>) -> Result<bool, Trouble> {
        let made = self.filter.learn_schema(query)?;
        let wants = self.filter.wants_statement(query)?;
        if let Some(schema) = made {
            if wants.is_taken() {
                let at = Start { log: Arc::clone(&self.log.1), position: item.event.position };
                self.sink.meet_schema(at, &schema)?;
            }
            self.sink.note_schema(&schema)?;
        }
        if wants.is_taken() && self.filter.wants_kind(item.event.header.kind) {
            return Ok(true);
        }
        self.before.clear();
        // Of other tables than those that are wanted it need not be told.
        self.sink.report.passed_over += u64::from(wants != Wants::No);
        if wants == Wants::Partly {
            let what = format!("{PARTLY}: {}", shortened(query.text));
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
        let header = self.filter.header_of(query, &item.event.header)?;
        let at = Start { log: Arc::clone(&self.log.1), position: item.event.position };
        self.sink.try_session_of(&at, Said { query, header: &header, format: item.format })?;
        if let Some(now) = &mut self.now {
            now.transaction.session.get_or_insert_with(|| self.session.clone());
        }
        self.before_transaction(item, query)?;
        self.before.prepare(&mut self.session, query, &header, item.format, &mut text)?;
        Piece::settings(text).map_or(Ok(()), |piece| Ok(self.push(piece)?))
    }

    /// What MySQL does not set within a transaction is set before it begins.
    fn before_transaction(&mut self, item: &Item<'_>, query: &Query<'_>) -> Result<(), Trouble> {
        let Some(Now { transaction, sender: None, .. }) = &mut self.now else { return Ok(()) };
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

    fn load(&mut self, item: &Item<'_>, load: Option<Load>) -> Result<(), Trouble> {
        let Some(load) = load else { return Ok(()) };
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
            let what = format!("LOAD DATA: {what}: {}", shortened(query.text));
            let hint =
                "drover binlog extract writes what there is; then go on behind it with --start-position";
            return self.problem(item, &what, hint);
        }
        self.sink.see_names(&self.at(item), &query)?;
        self.sink.see_statement(&self.at(item), &query)?;
        self.flush_rows()?;
        self.settings(item, &query)?;
        self.set_mode(Mode::Statements);
        let stays = item.place.ends() || self.sink.may_stay(&query)?;
        self.guard(stays)?;
        self.sink.loads(self.at(item))?;
        let text = statement.for_file(b"drover", true);
        Ok(self.push(Piece::Load(text, load.spool))?)
    }

    fn set_mode(&mut self, mode: Mode) {
        let Some(Now { transaction, .. }) = &mut self.now else { return };
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
        let Some(Now { mut transaction, sender, end, was_applied, .. }) = self.now.take() else {
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
                return Ok(self.sink.pass(transaction, position)?);
            }
            None => {
                transaction.pieces.push(last);
                self.sink.submit(transaction)?;
            }
        }
        self.sink.ended();
        if commits_by_itself {
            self.sink.drain()?;
            self.session.forget();
        }
        Ok(())
    }
}

const NO_HINT: &str = "";
