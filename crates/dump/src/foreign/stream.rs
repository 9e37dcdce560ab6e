//! One script: read from its begin to its end by one thread, which creates what it creates in its order; the rows go to
//! workers, several connections at once, where it is certain that their order does not count.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError, RwLock};

use drover_db::Connection;
use drover_db::session::Use;

use super::context::Context;
use super::deferred::{Deferred, SMALL};
use super::inventory::Inventory;
use super::player::{BATCH, Player};
use super::queue::{Item, Queue, Work};
use super::script::{Script, Session, Statement, is_system, use_statement};
use crate::dump::catalog::Name;
use crate::error::Doing;
use crate::session;
use crate::{Error, Result};
use drover_format::kind::Kind;

/// Statements that set the session, in the order of the file: a worker runs those that come before its rows.
type Settings = RwLock<Vec<Arc<Statement>>>;

/// How a script was loaded.
pub(super) struct Loaded {
    pub(super) threads: usize,
    pub(super) how: String,
}

/// Loads a script. Without an inventory (it cannot be read twice) what the target has is looked at as it comes.
pub(super) fn load(
    script: Script<'_>,
    coordinator: &mut Connection,
    context: &Context<'_>,
    inventory: Option<&Inventory>,
    threads: usize,
) -> Result<Loaded> {
    let threads = if can_begin_anew(coordinator)? { threads } else { 1 };
    let (queue, settings) = (Queue::default(), Settings::default());
    let mut connections = session::open_many(context.options, Use::Script, threads)?;
    let result = std::thread::scope(|scope| {
        for connection in &mut connections {
            scope.spawn(|| worker(connection, context, &queue, &settings));
        }
        let _ends = queue.ends_with_panic();
        let player = Player { connection: coordinator, context };
        let mut reader = Reader::new(script, player, &queue, &settings, inventory);
        let result = reader.run().map(|()| reader.serial);
        queue.close(result.is_err().then_some(Error::Stopped));
        if result.is_err() {
            context.stop.break_connections();
        }
        result
    });
    let serial = match (queue.into_error(), result) {
        _ if context.stop.is_requested() => return Err(Error::Stopped),
        // The reader only knows that a worker failed.
        (Some(error), _) if !matches!(error, Error::Stopped) => return Err(error),
        (_, result) => result?,
    };
    Ok(match serial {
        None => Loaded { threads, how: format!("the rows of all tables over {threads} connections at once") },
        Some(why) => Loaded { threads, how: format!("rows one statement after the other where {why}") },
    })
}

/// Whether the server can make a session as new. Where it cannot (MySQL before 5.7.3, MariaDB before 10.2.4), one worker
/// does all in the file's order, and never needs settings that came before.
fn can_begin_anew(connection: &mut Connection) -> Result<bool> {
    match connection.reset() {
        Ok(()) => session::set(connection, Use::Script).map(|()| true),
        Err(drover_db::Error::Server(_)) => Ok(false),
        Err(source) => Err(Error::Server { doing: "beginning a session".into(), source }),
    }
}

struct Reader<'a, 'c> {
    script: Script<'a>,
    player: Player<'a, 'c>,
    queue: &'a Queue,
    settings: &'a Settings,
    inventory: Option<&'a Inventory>,
    session: Session,
    /// The table, by its name in the dump, whose rows are being read, and what waits for its last one.
    current: Option<Name>,
    deferred: Option<Deferred>,
    /// The table whose rows were read last.
    latest: Option<Name>,
    batch: Vec<Statement>,
    batch_bytes: usize,
    /// Whether the batch is to be run after all before it.
    batch_in_order: bool,
    /// Tables whose rows fire triggers by now.
    triggered: BTreeSet<Name>,
    /// Why rows were not loaded in parallel, if some were not.
    serial: Option<String>,
}

impl<'a, 'c> Reader<'a, 'c> {
    fn new(
        script: Script<'a>,
        player: Player<'a, 'c>,
        queue: &'a Queue,
        settings: &'a Settings,
        inventory: Option<&'a Inventory>,
    ) -> Self {
        // Replaced before anything is read.
        let session = Session::default();
        Self {
            script,
            player,
            queue,
            settings,
            inventory,
            session,
            current: None,
            deferred: None,
            latest: None,
            batch: Vec::new(),
            batch_bytes: 0,
            batch_in_order: false,
            triggered: BTreeSet::new(),
            serial: None,
        }
    }

    fn run(&mut self) -> Result<()> {
        self.session = Session::of(self.player.connection)?;
        self.script.set_session(&self.session);
        let mut entered = false;
        while let Some(statement) = self.script.next()? {
            if self.player.context.stop.is_requested() {
                return Err(Error::Stopped);
            }
            if !entered && statement.needs_schema() {
                if let Some(head) = self.script.schema_of_head() {
                    self.player.context.check_default(head)?;
                }
                self.enter(statement.schema.clone())?;
            }
            entered |= statement.needs_schema() || matches!(statement.kind, Kind::Use(_));
            self.take(statement)?;
        }
        self.finish_table()?;
        self.queue.drain()?;
        self.script.check_not_empty()?;
        self.script.check_end()
    }

    /// The schema that the head of the dump names, if it is not made by the dump and no USE comes first.
    fn enter(&mut self, schema: Option<Arc<str>>) -> Result<()> {
        let Some(schema) = schema.filter(|schema| !is_system(schema)).map(|schema| schema.to_string()) else {
            return Ok(());
        };
        let statement = Statement {
            file: "the dump's head".into(),
            line: 1,
            text: use_statement(&schema).into_bytes(),
            kind: Kind::Use(schema.clone()),
            reads: Vec::new(),
            schema: None,
            dialect: self.session.dialect,
            sets_mode: false,
            dumped: None,
        };
        self.player.enter(&schema)?;
        self.note_setting(statement);
        Ok(())
    }

    fn take(&mut self, statement: Statement) -> Result<()> {
        if !self.player.context.takes(&statement)? {
            return Ok(());
        }
        match &statement.kind {
            Kind::Session => self.set(statement),
            Kind::Use(schema) if is_system(schema) => Ok(()),
            Kind::Use(schema) => {
                self.finish_table()?;
                self.player.enter(&schema.clone())?;
                self.note_setting(statement);
                Ok(())
            }
            Kind::Insert(_) | Kind::InsertInOrder(_) | Kind::Load(..) => self.rows(statement),
            Kind::CreateTable(_) => self.create_table(&statement),
            Kind::DisableKeys(_) => self.player.run(&statement),
            Kind::EnableKeys(table) => match self.is_latest(&statement.name(table)?) {
                true => self.after(statement),
                false => self.player.run(&statement),
            },
            Kind::CreateTrigger { table, .. } => {
                let table = statement.name(table)?;
                self.triggered.insert(table.clone());
                if self.is_latest(&table) {
                    return self.after(statement);
                }
                self.in_order(&statement)
            }
            // None of these reads rows.
            Kind::CreateSchema(_) | Kind::AlterSchema(_) | Kind::CreateSequence(_) | Kind::CreateView(_) => {
                self.finish_table()?;
                self.player.run(&statement)
            }
            _ => self.in_order(&statement),
        }
    }

    fn is_current(&self, table: &Name) -> bool {
        self.current.as_ref() == Some(table)
    }

    /// Whether the rows of no other table were read since this one's.
    fn is_latest(&self, table: &Name) -> bool {
        self.is_current(table) || self.latest.as_ref() == Some(table)
    }

    fn set(&mut self, mut statement: Statement) -> Result<()> {
        self.flush()?;
        if let Some(taken) = self.player.set(&statement)? {
            statement.text = taken;
        }
        if Session::is_concerned(&statement.text) {
            self.session = Session::of(self.player.connection)?;
            self.script.set_session(&self.session);
        }
        self.note_setting(statement);
        Ok(())
    }

    fn note_setting(&self, statement: Statement) {
        self.settings.write().unwrap_or_else(PoisonError::into_inner).push(Arc::new(statement));
    }

    fn settings(&self) -> usize {
        self.settings.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Runs a statement when everything before it is done.
    fn in_order(&mut self, statement: &Statement) -> Result<()> {
        self.finish_table()?;
        self.queue.drain()?;
        self.player.run(statement)
    }

    /// Runs a statement when the latest table has all its rows.
    fn after(&mut self, statement: Statement) -> Result<()> {
        self.finish_table()?;
        let Some(table) = &self.latest else { return Ok(()) };
        let table = self.player.context.target(table);
        self.queue.push(Item {
            table,
            work: Work::Finish(None, Some(Box::new(statement))),
            settings: self.settings(),
        })
    }

    fn create_table(&mut self, statement: &Statement) -> Result<()> {
        self.finish_table()?;
        self.latest = None;
        let Some(name) = statement.created()? else { return Ok(()) };
        let keys_can_wait = |found: &&Inventory| found.is_mysqldump && !found.ordered.contains(&name);
        let bytes = self.inventory.filter(keys_can_wait).and_then(|found| found.filled.get(&name));
        let large = bytes.is_some_and(|bytes| *bytes >= SMALL);
        let context = self.player.context;
        let target = context.target(&name);
        let text = context.renames.statement(&statement.text, statement.dialect);
        let taken_out = match large {
            true => {
                let is_needed = |key: &[Vec<u8>]| context.references.need(&name, key);
                Deferred::take_out(statement, &text, &target, &self.session, is_needed)
            }
            false => None,
        };
        match taken_out {
            Some((create, deferred)) => {
                self.player.run_as(statement, &create)?;
                self.deferred = Some(deferred);
            }
            None => self.player.run_as(statement, &text)?,
        }
        self.current = Some(name);
        Ok(())
    }

    fn rows(&mut self, statement: Statement) -> Result<()> {
        let Some(table) = statement.filled()? else { return Ok(()) };
        if !self.is_current(&table) {
            self.finish_table()?;
            self.begin_table(&table)?;
        }
        let why = self.why_serial(&statement, &table);
        if why.is_some() != self.batch_in_order {
            self.flush()?;
            self.batch_in_order = why.is_some();
        }
        self.serial = self.serial.take().or(why);
        self.batch_bytes += statement.text.len();
        self.batch.push(statement);
        if self.batch_bytes >= BATCH { self.flush() } else { Ok(()) }
    }

    fn begin_table(&mut self, table: &Name) -> Result<()> {
        let target = self.player.context.target(table);
        self.player.begin_rows(&target)?;
        self.current = Some(table.clone());
        Ok(())
    }

    /// Why a statement is to be run after all before it: only what the tools themselves write is known not to care.
    fn why_serial(&self, statement: &Statement, table: &Name) -> Option<String> {
        let why = match &statement.kind {
            _ if !self.script.is_mysqldump() => {
                "the file does not say that mysqldump, mariadb-dump or mysqldump-php wrote it"
            }
            Kind::InsertInOrder(_) => "they are REPLACE, INSERT IGNORE or INSERT … SELECT",
            Kind::Load(..) => "they are LOAD DATA",
            _ if self.session.foreign_key_checks => "foreign_key_checks is on",
            _ if self.triggered.contains(table) => "their table has a trigger by then",
            _ if self.player.context.target.is_one_by_one(&self.player.context.target(table)) => {
                "their table has a FTS_DOC_ID or a key WITHOUT OVERLAPS"
            }
            _ => return None,
        };
        Some(why.into())
    }

    /// Gives the batch that was gathered to the workers.
    fn flush(&mut self) -> Result<()> {
        let (Some(table), false) = (&self.current, self.batch.is_empty()) else { return Ok(()) };
        let table = self.player.context.target(table);
        let batch = std::mem::take(&mut self.batch);
        self.batch_bytes = 0;
        if self.batch_in_order {
            self.queue.drain()?;
            return self.player.run_batch(&table, &batch);
        }
        self.queue.push(Item { table, work: Work::Rows(batch), settings: self.settings() })
    }

    /// Ends the table whose rows were read.
    fn finish_table(&mut self) -> Result<()> {
        self.flush()?;
        let Some(table) = self.current.take() else { return Ok(()) };
        let deferred = self.deferred.take();
        let target = self.player.context.target(&table);
        self.latest = Some(table);
        self.queue.push(Item { table: target, work: Work::Finish(deferred, None), settings: self.settings() })
    }
}

fn worker(connection: &mut Connection, context: &Context<'_>, queue: &Queue, settings: &Settings) {
    let _ends = queue.ends_with_panic();
    let watched = context.stop.watch(connection).doing(|| "watching a connection");
    let mut watch_failed = watched.as_ref().err().map(|error| Error::found(error.to_string()));
    let mut player = Player { connection, context };
    let mut applied = 0;
    while let Some(item) = queue.take() {
        let result = match watch_failed.take() {
            Some(error) => Err(error),
            None if context.stop.is_requested() => Err(Error::Stopped),
            None if matches!(item.work, Work::Finish(None, None)) => work(&mut player, &item),
            None => apply(&mut player, settings, &mut applied, item.settings)
                .and_then(|()| work(&mut player, &item)),
        };
        if queue.ended(&item.table, result) {
            context.stop.break_connections();
        }
    }
}

/// Runs the settings that come before some work in the file. What follows a table's last row may come behind rows of other
/// tables, and under their settings: then the session begins anew.
fn apply(player: &mut Player<'_, '_>, settings: &Settings, applied: &mut usize, up_to: usize) -> Result<()> {
    if *applied > up_to {
        player.connection.reset().doing(|| "beginning a session")?;
        session::set(player.connection, Use::Script)?;
        *applied = 0;
    }
    let missing: Vec<_> = {
        let settings = settings.read().unwrap_or_else(PoisonError::into_inner);
        settings.get(*applied..up_to).unwrap_or_default().to_vec()
    };
    for statement in missing {
        match &statement.kind {
            Kind::Use(_) => player.run(&statement)?,
            _ => drop(player.set(&statement)?),
        }
        *applied += 1;
    }
    Ok(())
}

fn work(player: &mut Player<'_, '_>, item: &Item) -> Result<()> {
    match &item.work {
        Work::Rows(batch) => player.run_batch(&item.table, batch),
        Work::Finish(deferred, after) => {
            if let Some(deferred) = deferred {
                deferred.add(player)?;
            }
            if let Some(statement) = after {
                player.run(statement)?;
            }
            player.context.tally.done(&item.table);
            Ok(())
        }
    }
}
