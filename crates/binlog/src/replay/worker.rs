//! Applies transactions over one connection.

use std::io::Read as _;

use drover_db::session::Use;
use drover_db::{Connection, Watched, er};

use super::definitions::{ALREADY_SO, fingerprint};
use super::destination::Destination;
use super::events::Target;
use super::position::{Pending, Positions};
use super::queue::Queue;
use super::transaction::{Definition, Mode, Piece, RowStatement, Start, Transaction};
use crate::loads::Spool;
use crate::shortened::shortened_for_error;
use crate::{Error, Result};

/// A connection to the target, and what it does.
pub(super) struct Worker<'a> {
    number: usize,
    context: &'a Context<'a>,
    session: Session,
    /// The usual one, while a transaction is prepared in another, and those in which some are, with their names.
    usual: Option<Session>,
    prepared: Vec<(Vec<u8>, Session)>,
    /// One with the settings that a session begins with, to look at definitions.
    side: Option<Session>,
    /// What an earlier run was at when it ended, which only the first worker comes by.
    pending: Option<Pending>,
    /// Statements that were not sent yet, with `;` between, and how many these are.
    packet: Vec<u8>,
    statements: usize,
}

/// A connection, and what breaks it at a request.
type Session = (Connection, Watched<'static>);

/// What all workers share.
pub(super) struct Context<'a> {
    pub(super) destination: &'a Destination,
    pub(super) target: &'a Target,
    pub(super) positions: &'a Positions,
    pub(super) queue: &'a Queue,
    /// What each session begins with.
    pub(super) settings: &'a [Vec<u8>],
}

/// What is done for a transaction, from piece to piece.
struct Work<'a> {
    at: &'a Start,
    ordinal: u64,
    mode: Mode,
    /// Whether a transaction is open on the target.
    is_open: bool,
    /// Whether it takes rows of a new table only, and no position.
    is_closed_to_others: bool,
    /// Whether an earlier run has done all of it.
    is_done: bool,
    /// Rows that were not there.
    missing: Vec<String>,
}

/// What others were in the way of is rolled back, and done again.
const ATTEMPTS: u32 = 20;
/// Blocks of files are sent in so many bytes.
const BLOCK: usize = 64 << 10;

impl<'a> Worker<'a> {
    /// Connects.
    pub(super) fn new(number: usize, context: &'a Context<'a>, pending: Option<Pending>) -> Result<Self> {
        let session = context.connect(number)?;
        Ok(Self {
            number,
            context,
            session,
            usual: None,
            prepared: Vec::new(),
            side: None,
            pending,
            packet: Vec::new(),
            statements: 0,
        })
    }

    /// Applies what the queue has until there will be no more.
    pub(super) fn run(&mut self) {
        while let Some(transaction) = self.context.queue.next(self.number) {
            let ordinal = transaction.ordinal;
            match self.apply(transaction) {
                Ok(end) => self.context.queue.complete(ordinal, end),
                Err(error) => return self.context.queue.fail(error),
            }
        }
    }

    /// Applies a transaction, and tells where the log goes on behind it.
    fn apply(&mut self, mut transaction: Transaction) -> Result<u64> {
        let can_repeat = matches!(transaction.mode, Mode::Rows | Mode::Statements)
            && !transaction.is_guarded
            && transaction.rest.is_none()
            && !transaction.pieces.iter().any(|piece| matches!(piece, Piece::Load(..)));
        let mut attempts = 1;
        loop {
            match self.attempt(&mut transaction) {
                Err(Error::Target { source, .. })
                    if can_repeat && attempts < ATTEMPTS && source.is_contended() =>
                {
                    attempts += 1;
                    self.clear();
                    self.execute(b"ROLLBACK", &transaction.at)?;
                    self.settle_again(&transaction)?;
                }
                Err(error) => {
                    self.forget_unless_some_stays(&transaction, &error)?;
                    return Err(error);
                }
                done => return done,
            }
        }
    }

    /// A transaction that may change tables which keep none, and that the server refused before it changed one: nothing of it is there. That
    /// something is, the server says as it rolls back.
    fn forget_unless_some_stays(&mut self, transaction: &Transaction, error: &Error) -> Result<()> {
        let is_refused =
            matches!(error, Error::Target { source, .. } if matches!(**source, drover_db::Error::Server(_)));
        let commits_at_end = matches!(transaction.mode, Mode::Rows | Mode::Statements);
        if !(transaction.is_guarded && is_refused && commits_at_end) {
            return Ok(());
        }
        self.clear();
        match self.session.0.execute(b"ROLLBACK") {
            Ok(done) if done.warnings == 0 => self.note_refused(0, &transaction.at),
            _ => Ok(()),
        }
    }

    /// Takes back the note that something is being done.
    fn note_refused(&mut self, number: usize, at: &Start) -> Result<()> {
        let context = self.context;
        let (connection, _) = match &mut self.side {
            Some(side) => side,
            None => self.side.insert(context.destination.connect()?),
        };
        let noted = connection.execute(context.positions.nothing_pending(number));
        noted.map(drop).map_err(|source| context.destination.failed(format!("{at}: noting it"), source))
    }

    /// Sets the session to what it was when the transaction began, for it is applied once more.
    fn settle_again(&mut self, transaction: &Transaction) -> Result<()> {
        let settings = transaction.session.as_ref().and_then(|session| Piece::settings(session.again()));
        if let Some(Piece::Settings(text, statements)) = settings {
            self.push_packed(&text, statements, &transaction.at)?;
        }
        self.flush(&transaction.at)
    }

    fn attempt(&mut self, transaction: &mut Transaction) -> Result<u64> {
        let Transaction { at, ordinal, mode, .. } = &*transaction;
        let mut work = Work {
            at: &at.clone(),
            ordinal: *ordinal,
            mode: *mode,
            is_open: false,
            is_closed_to_others: false,
            is_done: false,
            missing: Vec::new(),
        };
        self.begin_prepared(transaction)?;
        for piece in &mut transaction.pieces {
            if let Some(end) = self.take(piece, &mut work)? {
                self.context.queue.miss(work.missing);
                return Ok(end);
            }
        }
        let rest = transaction.rest.take();
        for mut piece in rest.iter().flatten() {
            if let Some(end) = self.take(&mut piece, &mut work)? {
                self.context.queue.miss(work.missing);
                return Ok(end);
            }
        }
        // The log has no end for it: nothing of it may stay.
        self.clear();
        self.execute(b"ROLLBACK", work.at)?;
        self.context.settings.iter().try_for_each(|setting| self.execute(setting, work.at))?;
        Ok(work.at.position)
    }

    /// Does a piece; at the end, tells where the log goes on.
    fn take(&mut self, piece: &mut Piece, work: &mut Work<'_>) -> Result<Option<u64>> {
        if let Piece::End { text, position } = piece {
            return self.end(text, *position, work).map(|()| Some(*position));
        }
        if work.is_done {
            return Ok(None);
        }
        match piece {
            Piece::Settings(text, statements) => self.push_several(text, *statements, work)?,
            Piece::Rows(text) => {
                self.open(work)?;
                self.push(text, work)?;
            }
            Piece::Row(text, name) => self.row(text, name, work)?,
            Piece::RowStatement(row) => self.row_statement(row, work)?,
            Piece::Statement(text, error) => {
                self.open(work)?;
                self.flush(work.at)?;
                let ended = self.statement(text, *error, work.at);
                match work.mode {
                    Mode::Prepared => self.unless_done_before(ended, work.at.position, work)?,
                    _ => ended?,
                }
            }
            Piece::Definition(definition) => self.define(definition, work)?,
            Piece::Load(text, spool) => {
                self.open(work)?;
                self.flush(work.at)?;
                let spool =
                    spool.take().ok_or_else(|| Error::found(format!("{}: a file is gone", work.at)))?;
                self.load(text, spool, work.at)?;
            }
            Piece::End { .. } => {}
        }
        Ok(None)
    }

    /// Applies one row, unless it is not there.
    fn row(&mut self, text: &[u8], name: &str, work: &mut Work<'_>) -> Result<()> {
        self.open(work)?;
        self.flush(work.at)?;
        match self.session.0.execute(text) {
            Ok(_) => Ok(()),
            Err(source) if source.code() == Some(er::KEY_NOT_FOUND) => {
                work.missing.push(name.to_owned());
                Ok(())
            }
            Err(source) => Err(self.context.destination.failed(name, source)),
        }
    }

    /// Does what happened to one row, which must come out as it is in the log: so nothing may be wrong with the values.
    fn row_statement(&mut self, row: &RowStatement, work: &mut Work<'_>) -> Result<()> {
        self.open(work)?;
        self.flush(work.at)?;
        let name = &row.name;
        let done = self.session.0.execute(&row.text);
        let done = done.map_err(|source| self.context.destination.failed(name, source))?;
        if done.warnings > 0 {
            let warnings = self
                .session
                .0
                .query("SHOW WARNINGS")
                .map_err(|source| self.context.destination.failed(name, source))?;
            let of_values =
                warnings.into_iter().filter(|row| row.parse(1) != Some(er::BINLOG_UNSAFE_STATEMENT));
            let words: Vec<_> = of_values.map(|row| row.string(2)).collect();
            if !words.is_empty() {
                return Err(Error::found(format!(
                    "{name}: the target would take other values than the log's: {}",
                    words.join("; ")
                )));
            }
        }
        // What did not change was found all the same: `Rows matched: 1  Changed: 0  Warnings: 0`.
        match done.affected > 0 || done.info.contains("matched: 1") {
            true => Ok(()),
            false if row.may_be_missing => {
                work.missing.push(name.clone());
                Ok(())
            }
            false => Err(self.context.destination.failed(name, missing_row())),
        }
    }

    /// Opens a transaction, unless one is open.
    fn open(&mut self, work: &mut Work<'_>) -> Result<()> {
        if work.is_open || work.mode == Mode::Prepared {
            return Ok(());
        }
        work.is_open = true;
        self.push(b"START TRANSACTION", work)
    }

    /// Commits, with the position where that can be.
    fn end(&mut self, text: &[u8], end: u64, work: &mut Work<'_>) -> Result<()> {
        let position = self.position(work.ordinal, end);
        let rolls_back = text.eq_ignore_ascii_case(b"ROLLBACK");
        match work.mode {
            _ if work.is_done => {
                if let Some(usual) = self.usual.take() {
                    self.session = usual;
                }
                self.push(&position, work)?;
            }
            Mode::Rows | Mode::Statements if !work.is_open => self.push(&position, work)?,
            Mode::Prepared => {
                self.flush(work.at)?;
                self.end_prepared(text, work)?;
                self.push(&position, work)?;
            }
            _ if work.is_closed_to_others => {
                self.push(text, work)?;
                self.push(&position, work)?;
                // Nothing could be set for the rows to come.
                self.context.settings.iter().try_for_each(|setting| self.push(setting, work))?;
            }
            _ if rolls_back && work.is_open => {
                self.push(text, work)?;
                self.push(&position, work)?;
            }
            _ => {
                if work.is_open && self.context.target.is_in_galera {
                    let is_open = self.session.0.check_in_transaction();
                    is_open.map_err(|source| {
                        self.context.destination.failed(format!("{}: applying it", work.at), source)
                    })?;
                }
                self.push(&position, work)?;
                if work.is_open {
                    self.push(b"COMMIT", work)?;
                }
            }
        }
        self.flush(work.at)
    }

    /// A session that has prepared a transaction can do nothing but end it, but for MySQL from 8.0.29 on: another one takes its place meanwhile. If
    /// one of MariaDB were closed, another session could not be sure to end the transaction: XA COMMIT says that it has, and does nothing, as long as InnoDB
    /// has not taken note of the close (found with 10.11).
    fn begin_prepared(&mut self, transaction: &Transaction) -> Result<()> {
        // Settings may come before.
        let first = transaction.pieces.iter().find(|piece| !matches!(piece, Piece::Settings(..)));
        let begins = matches!(first, Some(Piece::Statement(text, _)) if text.starts_with(b"XA START "));
        if transaction.mode == Mode::Prepared && begins && !self.context.target.detaches_prepared {
            let session = self.context.begin_session()?;
            self.usual = Some(std::mem::replace(&mut self.session, session));
        }
        Ok(())
    }

    /// Prepares a transaction, or ends one that was, in the session that prepared it.
    fn end_prepared(&mut self, text: &[u8], work: &mut Work<'_>) -> Result<()> {
        let name = text.splitn(3, |&byte| byte == b' ').nth(2).unwrap_or_default();
        let known = self.prepared.iter().position(|(prepared, _)| prepared.eq_ignore_ascii_case(name));
        if let Some(index) = known {
            let (_, session) = self.prepared.swap_remove(index);
            self.usual = Some(std::mem::replace(&mut self.session, session));
        }
        let ended = self.statement(text, 0, work.at);
        match self.is_pending(work.at.position, work.at) {
            true => self.unless_done_before(ended, work.at.position, work)?,
            false => self.unless_refused(ended, work)?,
        }
        if let Some(usual) = self.usual.take() {
            let session = std::mem::replace(&mut self.session, usual);
            if text.starts_with(b"XA PREPARE ") {
                self.prepared.push((name.to_vec(), session));
            }
        }
        Ok(())
    }

    /// Whether an earlier run ended at the event that begins there.
    fn is_pending(&self, position: u64, at: &Start) -> bool {
        let pending = self.pending.as_ref();
        pending.is_some_and(|pending| pending.log == *at.log && pending.position == position)
    }

    /// Runs a statement that commits by itself. What it changes is noted before, so that it can be told later whether it was run.
    fn define(&mut self, definition: &Definition, work: &mut Work<'_>) -> Result<()> {
        let Definition { position, schema, text, error, .. } = definition;
        self.flush(work.at)?;
        let print = self.fingerprint(schema, text, work.at)?;
        let was_begun = self.is_pending(*position, work.at);
        let was_run = was_begun
            && self
                .pending
                .as_ref()
                .is_some_and(|pending| !pending.state.is_empty() && pending.state != print);
        if !was_run {
            if !was_begun {
                let note = self.context.positions.pending(self.number, work.at, *position, &print);
                self.execute(&note, work.at)?;
            }
            let ended = self.statement(text, *error, work.at);
            match was_begun {
                true => self.unless_done_before(ended, *position, work)?,
                false => self.unless_refused(ended, work)?,
            }
        }
        self.context.positions.defined();
        if definition.opens_transaction {
            (work.is_open, work.is_closed_to_others) = (!was_run, true);
            work.is_done = was_run;
        }
        Ok(())
    }

    fn fingerprint(&mut self, schema: &[u8], text: &[u8], at: &Start) -> Result<String> {
        let destination = self.context.destination;
        let (connection, _) = match &mut self.side {
            Some(side) => side,
            None => self.side.insert(destination.connect()?),
        };
        let doing = || format!("{at}: looking at what the statement changes");
        fingerprint(connection, schema, text).map_err(|source| destination.failed(doing(), source))
    }

    /// A statement that the server refused was not run: who goes on must not take its effect for what another run did.
    fn unless_refused(&mut self, ended: Result<()>, work: &Work<'_>) -> Result<()> {
        if let Err(Error::Target { source, .. }) = &ended
            && matches!(**source, drover_db::Error::Server(_))
        {
            let number = if work.mode == Mode::Prepared { 0 } else { self.number };
            self.note_refused(number, work.at)?;
        }
        ended
    }

    /// A statement that an earlier run began may have come to its end: then it fails now with what it did.
    fn unless_done_before(&self, ended: Result<()>, position: u64, work: &mut Work<'_>) -> Result<()> {
        match ended {
            Err(Error::Target { source, .. })
                if self.is_pending(position, work.at)
                    && source.code().is_some_and(|code| ALREADY_SO.contains(&code)) =>
            {
                work.is_done = work.mode == Mode::Prepared;
                Ok(())
            }
            other => other,
        }
    }

    /// Runs a statement of the log, which must end as it did there.
    fn statement(&mut self, text: &[u8], error: u16, at: &Start) -> Result<()> {
        match (self.session.0.execute(text), error) {
            (Ok(_), 0) => Ok(()),
            (Ok(_), code) => Err(Error::found(format!(
                "{at}: a statement ended with error {code} there and with none here: {}",
                shortened_for_error(text)
            ))),
            (Err(source), code) if code != 0 && source.code() == Some(code) => Ok(()),
            (Err(source), _) => {
                let doing = format!("{at}: {}", shortened_for_error(text));
                Err(self.context.destination.failed(doing, source))
            }
        }
    }

    fn load(&mut self, text: &[u8], spool: Spool, at: &Start) -> Result<()> {
        let doing = || format!("{at}: {}", shortened_for_error(text));
        let failed = |source| self.context.destination.failed(doing(), source);
        let mut file = spool.into_reader().map_err(Error::file("the file of a LOAD DATA".as_ref()))?;
        self.session.0.begin_load(text).map_err(failed)?;
        let mut block = vec![0; BLOCK];
        loop {
            let read = file.read(&mut block).map_err(Error::file("the file of a LOAD DATA".as_ref()))?;
            if read == 0 {
                break;
            }
            self.session.0.send(&block[..read]).map_err(failed)?;
        }
        self.session.0.end_load().map(drop).map_err(failed)
    }

    fn position(&self, ordinal: u64, end: u64) -> Vec<u8> {
        let (mark, done) = self.context.queue.position_with(ordinal, end);
        self.context.positions.update(self.number, &mark, &done)
    }

    /// Adds a statement to those that are sent together.
    fn push(&mut self, text: &[u8], work: &Work<'_>) -> Result<()> {
        self.push_several(text, 1, work)
    }

    fn push_several(&mut self, text: &[u8], statements: usize, work: &Work<'_>) -> Result<()> {
        self.push_packed(text, statements, work.at)
    }

    fn push_packed(&mut self, text: &[u8], statements: usize, at: &Start) -> Result<()> {
        if self.packet.len() + text.len() + 2 > self.context.target.max_packet.saturating_sub(1) {
            self.flush(at)?;
        }
        if !self.packet.is_empty() {
            self.packet.extend_from_slice(b";\n");
        }
        self.packet.extend_from_slice(text);
        self.statements += statements;
        // Of statements that are sent together it does not always say that the transaction was rolled back amid them.
        if self.context.target.is_in_galera { self.flush(at) } else { Ok(()) }
    }

    fn flush(&mut self, at: &Start) -> Result<()> {
        if self.packet.is_empty() {
            return Ok(());
        }
        let packet = std::mem::take(&mut self.packet);
        let done = self.session.0.execute_several(&packet, self.statements);
        self.packet = packet;
        self.clear();
        done.map_err(|source| self.context.destination.failed(format!("{at}: applying it"), source))
    }

    fn clear(&mut self) {
        self.packet.clear();
        self.statements = 0;
    }

    fn execute(&mut self, statement: &[u8], at: &Start) -> Result<()> {
        let done = self.session.0.execute(statement);
        done.map(drop).map_err(|source| self.context.destination.failed(format!("{at}: applying it"), source))
    }
}

fn missing_row() -> drover_db::Error {
    let message = "the target has no such row".into();
    drover_db::Error::Server(drover_db::ServerError {
        code: er::KEY_NOT_FOUND,
        state: "HY000".into(),
        message,
    })
}

impl Context<'_> {
    /// A session that is made ready, and is known to be one of this replay.
    fn connect(&self, worker: usize) -> Result<Session> {
        let (mut connection, watched) = self.begin_session()?;
        self.lock(&mut connection, worker)?;
        Ok((connection, watched))
    }

    fn lock(&self, connection: &mut Connection, worker: usize) -> Result<()> {
        let locked = self.positions.lock_worker(connection, worker);
        locked.map_err(|source| self.destination.failed("making a session ready", source))
    }

    fn begin_session(&self) -> Result<Session> {
        let (mut connection, watched) = self.destination.connect()?;
        let failed = |source| self.destination.failed("making a session ready", source);
        connection.allow_several().map_err(failed)?;
        connection.set_up(Use::Replay).map_err(failed)?;
        for statement in self.settings.iter().chain(&self.target.begin_session()) {
            connection.execute(statement).map_err(failed)?;
        }
        Ok((connection, watched))
    }
}
