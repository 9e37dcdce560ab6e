//! Makes transactions of events, piece by piece, and hands them on.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};

use crate::Result;
use drover_db::sql::events::off_as_on_a_replica;
use drover_db::sql::{Dialect, tokens};

use crate::chain::{Item, Trouble};
use crate::definitions::Definitions;
use crate::event::{Gtid, MariadbGtid, Query, Rotate, Rows, TableMap, incident};
use crate::filter::{Filter, PARTLY, Verdict, Wants};
use crate::loads::{Ending, Keep, Load, Loads, dialect};
use crate::log::{Header, Kind, Place};
use crate::objects::rows_follow;
use crate::rows::{Row, RowReader, Table, Tables};
use crate::sql::{Before, Session, push_xa, row_text, xa_prepare};

use super::definitions::{Sort, sort};
use super::events::{Batch, RowsEvent, Unfit};
use super::sink::Sink;
use super::transaction::{Definition, Mode, Order, Piece, Start, Transaction};
use super::worker::shortened;

/// A transaction is handed on when it has so many bytes, and what follows is while it is applied.
const LARGE: usize = 4 << 20;
/// So many pieces may wait behind those of a large transaction, each of about a megabyte.
const MOST_PIECES: usize = 4;

/// Makes transactions.
pub(super) struct Builder<'f, 's, 'a> {
    filter: Filter<'f>,
    sink: &'s mut Sink<'a>,
    tables: Tables,
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
            tables: Tables::with(definitions),
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
        if item.event.kind == Kind::FORMAT_DESCRIPTION {
            self.sink.see_log(&self.log.1, &item.event.header)?;
        }
        self.sink.report.next_log = Rotate::next_log(&item.event, item.format)?;
        if item.place.begins() {
            self.begin(item, verdict == Verdict::Take)?;
        }
        if self.now.is_some() {
            self.take(item, load)?;
        } else if item.event.kind == Kind::INCIDENT && verdict == Verdict::Take {
            self.incident(item)?;
        }
        if item.place.ends() && self.now.is_some() {
            self.end(item.event.end)?;
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
        let at = Start { log: Arc::clone(&self.log.1), position: item.event.position };
        if !takes || self.sink.was_applied(&at) {
            return Ok(());
        }
        let event = &item.event;
        let gtid = Gtid::parse(event.kind, event.body, event.header.server_id)?;
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
            rest: None,
            size: 0,
        };
        self.now = Some(Now {
            transaction,
            sender: None,
            end: b"COMMIT".to_vec(),
            takes_rows_only: false,
            was_applied: false,
        });
        if matches!(gtid, Some(Gtid::Mariadb(_)))
            && let Some(name) = MariadbGtid::xa_name(event.body)?
        {
            let mut text = Vec::new();
            push_xa(b"XA START ", &name, &mut text);
            self.prepare(text)?;
        }
        Ok(())
    }

    /// A transaction that the log does not end, since its server went down, was rolled back there.
    fn abandon(&mut self) -> Result<()> {
        let Some(now) = self.now.take() else { return Ok(()) };
        drop(now.sender);
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
                if self.filter.wants_table(map.schema, map.table) {
                    self.batch.describe(&event.header, &map, event.body, format);
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
        let at = Start { log: Arc::clone(&self.log.1), position: item.event.position };
        Ok(self.sink.problem(at, what, hint)?)
    }

    fn rows(&mut self, item: &Item<'_>) -> Result<(), Trouble> {
        let event = &item.event;
        let (id, flags) = Rows::table_and_flags(event.kind, event.body, item.format)?;
        let tables = std::mem::take(&mut self.tables);
        let table = match tables.get(id) {
            Some(Ok(table)) => Some(table),
            // Its rows can be sent all the same, as long as they need not be looked into.
            Some(Err(_)) => None,
            None => {
                let what = format!("rows of table number {id}, which was not described");
                self.tables = tables;
                return self.problem(item, &what, NO_HINT);
            }
        };
        let taken = self.rows_of(item, table, tables.name(id).unwrap_or_default(), flags);
        self.tables = tables;
        taken
    }

    fn rows_of(
        &mut self,
        item: &Item<'_>,
        table: Option<&Table>,
        (schema, name): (&[u8], &[u8]),
        flags: u16,
    ) -> Result<(), Trouble> {
        let event = &item.event;
        let is_wanted = self.filter.wants_table(schema, name) && self.filter.wants_kind(event.header.kind);
        if self.filter.leaves_out(schema) {
            self.sink.report.left_out.insert(String::from_utf8_lossy(schema).into_owned());
        }
        let target = self.sink.target();
        if !is_wanted {
            if flags & Rows::STATEMENT_END != 0 {
                self.batch.end_statement(target, &mut self.statements);
            }
            return self.push_statements();
        }
        let rows = RowsEvent {
            header: &event.header,
            kind: event.kind,
            body: event.body,
            format: item.format,
            table,
        };
        match self.batch.take(&rows, target, &mut self.statements) {
            Ok(()) => self.name_rows(item, table)?,
            Err(Unfit::Malformed) => return Err(Trouble::Malformed),
            Err(Unfit::TooLarge(bytes)) => {
                let max = self.sink.target().max_packet;
                let what = format!(
                    "a row of {bytes} bytes does not fit into a statement of {max} bytes for the target"
                );
                return self.problem(item, &what, "SET GLOBAL max_allowed_packet there, to 1G at most");
            }
            Err(Unfit::Unknown(kind)) => {
                let what = format!("a {kind} event, which {} does not take", self.sink.target().vendor);
                return self.problem(item, &what, "drover binlog sql may show it as statements");
            }
        }
        self.sink.count_rows();
        self.push_statements()
    }

    /// What rows are called that may not be there.
    fn name_rows(&mut self, item: &Item<'_>, table: Option<&Table>) -> Result<(), Trouble> {
        let (Some(table), true) = (table, self.sink.skips_missing) else { return Ok(()) };
        let rows = Rows::parse(item.event.kind, item.event.body, item.format)?;
        let (mut reader, mut row) = (RowReader::new(table, rows)?, Row::default());
        while reader.next(&mut row)? {
            let (log, position) = (&self.log.1, item.event.position);
            self.names.push(format!("{log}: at {position}: {}", row_text(table, &row)));
        }
        Ok(())
    }

    fn push_statements(&mut self) -> Result<(), Trouble> {
        let mut names = std::mem::take(&mut self.names).into_iter();
        for text in std::mem::take(&mut self.statements) {
            self.settle_for_rows()?;
            self.push(match names.next() {
                Some(name) => Piece::Row(text, name),
                None => Piece::Rows(text),
            })?;
        }
        Ok(())
    }

    /// Behind statements, the session is set again to what rows need.
    fn settle_for_rows(&mut self) -> Result<()> {
        let needs_none = |now: &Now| now.transaction.mode == Mode::Rows || now.takes_rows_only;
        if self.now.as_ref().is_none_or(needs_none) {
            return Ok(());
        }
        let mut settings = Vec::new();
        self.session.prepare_events(&mut settings);
        settings.into_iter().try_for_each(|text| self.push(Piece::Settings(text, 1)))
    }

    /// Statements that were gathered come before what follows.
    fn flush_rows(&mut self) -> Result<(), Trouble> {
        self.batch.flush(&mut self.statements);
        self.push_statements()
    }

    fn query(&mut self, item: &Item<'_>, query: &Query<'_>) -> Result<(), Trouble> {
        if query.changes_nothing_yet()? {
            self.before.clear();
            return Ok(());
        }
        if query.is_begin() {
            return match query.text.eq_ignore_ascii_case(b"BEGIN") {
                true => Ok(()),
                false => self.prepare(query.text.to_vec()),
            };
        }
        if query.is_end() && item.place == Place::Last {
            self.set_end(query.text.to_vec());
            return Ok(());
        }
        if !self.takes(item, query)? {
            return Ok(());
        }
        self.flush_rows()?;
        self.settings(item, query)?;
        self.sink.count_statement();
        let off = off_as_on_a_replica(query.text, dialect(query)?);
        let off = off.map(|(text, name)| {
            self.sink.switched_off(query.schema, &name);
            text
        });
        let (text, error) = (off.unwrap_or_else(|| query.text.to_vec()), query.error);
        if self.is_prepared() {
            return Ok(self.push(Piece::Statement(text, error))?);
        }
        if query.is_xa_end() {
            self.set_mode(Mode::Prepared);
            self.set_end(text);
            return Ok(self.note()?);
        }
        // What ends a transaction was dealt with: no BEGIN comes before this one.
        let is_alone = item.place.ends();
        match sort(query.text, dialect(query)?) {
            Sort::Rows => {
                self.set_mode(Mode::Statements);
                self.guard(is_alone)?;
                self.push(Piece::Statement(text, error))?;
            }
            Sort::Other if !is_alone => {
                self.set_mode(Mode::Statements);
                self.push(Piece::Statement(text, error))?;
            }
            Sort::Definition | Sort::Other => {
                self.set_mode(Mode::Definitions);
                let (position, schema) = (item.event.position, query.schema.to_vec());
                let dialect = dialect(query)?;
                let at = Start { log: Arc::clone(&self.log.1), position };
                self.sink.defines(at, query, dialect)?;
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

    /// Whether a statement is to be applied.
    fn takes(&mut self, item: &Item<'_>, query: &Query<'_>) -> Result<bool, Trouble> {
        if let Some(schema) = self.filter.learn_schema(query)? {
            self.sink.note_schema(&schema)?;
        }
        let wants = self.filter.wants_statement(query)?;
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
                "name these with --database or --table too, or leave it out with --exclude-gtids",
            )?;
        }
        Ok(false)
    }

    /// What the session must be set to.
    fn settings(&mut self, item: &Item<'_>, query: &Query<'_>) -> Result<(), Trouble> {
        let mut text = Vec::new();
        let header = self.filter.header_of(query, &item.event.header)?;
        self.before.prepare(&mut self.session, query, &header, item.format, &mut text)?;
        text.truncate(text.trim_ascii_end().len());
        if text.last() == Some(&b';') {
            text.pop();
        }
        if text.is_empty() {
            return Ok(());
        }
        // They are in the ways of writing that a session begins with.
        let ends = tokens(&text, Dialect::default()).filter(|token| token.is_symbol(b';')).count();
        Ok(self.push(Piece::Settings(text, ends + 1))?)
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
        self.flush_rows()?;
        self.settings(item, &query)?;
        self.set_mode(Mode::Statements);
        self.guard(item.place.ends())?;
        self.sink.loads()?;
        let text = statement.for_file(b"drover", true);
        Ok(self.push(Piece::Load(text, load.spool))?)
    }

    /// A transaction that ends prepared.
    fn prepare(&mut self, start: Vec<u8>) -> Result<(), Trouble> {
        self.set_mode(Mode::Prepared);
        self.note()?;
        Ok(self.push(Piece::Statement(start, 0))?)
    }

    /// That a transaction will be prepared, or ended that was, is said beforehand: no position is committed with it.
    fn note(&mut self) -> Result<()> {
        let Some(now) = &mut self.now else { return Ok(()) };
        now.transaction.is_guarded = true;
        self.sink.note(&now.transaction)
    }

    /// What is done in tables without transactions is said beforehand.
    fn guard(&mut self, is_guarded: bool) -> Result<()> {
        let Some(now) = &mut self.now else { return Ok(()) };
        if !is_guarded || std::mem::replace(&mut now.transaction.is_guarded, true) {
            return Ok(());
        }
        now.transaction.order = Order::Serial;
        now.was_applied = !self.sink.guard(&now.transaction)?;
        Ok(())
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
            self.session = Session::default();
        }
        Ok(())
    }
}

const NO_HINT: &str = "";
