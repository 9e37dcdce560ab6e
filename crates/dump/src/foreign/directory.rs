//! Directories of scripts, in steps: what one step makes the next one uses. Within a step of rows each worker takes a file
//! at a time, with a session that is as new.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use drover_db::Connection;
use drover_db::session::Use;

use super::context::Context;
use super::deferred::{Deferred, SMALL};
use super::player::{BATCH, Player};
use super::script::{Script, Session, Statement, is_system};
use super::tab;
use super::tables::File;
use crate::dump::catalog::Name;
use crate::error::Doing;
use crate::session;
use crate::{Error, Result, pool};
use drover_format::kind::Kind;

/// How the files of a step follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    InOrder,
    /// By all workers, the largest first.
    AtOnce,
    /// What fails is tried again as long as others succeed: views may read each other.
    InTurn,
}

/// A file of a step.
#[derive(Debug, Clone)]
pub(super) struct Planned {
    pub(super) file: File,
    /// The only table that it fills, by its name in the dump, if other files may fill it too.
    pub(super) table: Option<Name>,
    /// Tables that it fills and that another file makes, or the target has.
    pub(super) fills: Vec<Name>,
}

impl Planned {
    /// Whether all that fill these tables are to be one after the other.
    fn is_one_by_one(&self, context: &Context<'_>) -> bool {
        let mut tables = self.table.iter().chain(&self.fills);
        tables.any(|name| context.target.is_one_by_one(&context.target(name)))
    }
}

/// A part of the work.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) phase: &'static str,
    pub(super) how: How,
    /// Whether they hold programs, for which the dump may give no sql_mode: then the server's own counts.
    pub(super) programs: bool,
    pub(super) files: Vec<Planned>,
}

/// All of it.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) steps: Vec<Step>,
    /// Bytes of rows, about, for each table by its name in the dump.
    pub(super) sizes: BTreeMap<Name, u64>,
}

enum Task<'a> {
    /// Files one after the other.
    Files(Vec<&'a Planned>),
    Keys(Name, Deferred),
}

pub(super) struct Loader<'a, 'c> {
    context: &'a Context<'c>,
    plan: &'a Plan,
    /// What waits for the last file of a table, by its name on the target.
    deferred: Mutex<BTreeMap<Name, Deferred>>,
    /// Files that have not been loaded, by the table's name in the dump.
    left: BTreeMap<Name, AtomicUsize>,
}

impl<'a, 'c> Loader<'a, 'c> {
    pub(super) fn new(context: &'a Context<'c>, plan: &'a Plan) -> Self {
        let mut left: BTreeMap<Name, AtomicUsize> = BTreeMap::new();
        let tables =
            plan.steps.iter().flat_map(|step| &step.files).filter_map(|planned| planned.table.clone());
        tables.for_each(|table| *left.entry(table).or_default().get_mut() += 1);
        Self { context, plan, deferred: Mutex::default(), left }
    }

    /// Does all steps.
    pub(super) fn run(&self, coordinator: &mut Connection, threads: usize) -> Result<()> {
        let mut connections = session::open_many(self.context.options, Use::Script, threads)?;
        for step in &self.plan.steps {
            self.context.progress.phase(step.phase);
            match step.how {
                How::InOrder => {
                    step.files.iter().try_for_each(|planned| self.play(coordinator, step, planned))?;
                }
                How::AtOnce => self.at_once(&mut connections, step)?,
                How::InTurn => self.in_turn(coordinator, step)?,
            }
        }
        // A table of which there are no rows has no last file.
        let waiting = std::mem::take(&mut *self.deferred.lock().unwrap_or_else(PoisonError::into_inner));
        for deferred in waiting.values() {
            deferred.add(&mut Player { connection: coordinator, context: self.context })?;
        }
        Ok(())
    }

    fn at_once(&self, connections: &mut [Connection], step: &Step) -> Result<()> {
        let (mut in_order, mut files): (Vec<_>, Vec<_>) =
            step.files.iter().partition(|planned| planned.is_one_by_one(self.context));
        files.sort_by_key(|planned| planned.file.bytes);
        in_order.sort_by(|one, other| one.file.path.cmp(&other.file.path));
        let tasks =
            files.into_iter().map(|planned| vec![planned]).chain([in_order]).map(Task::Files).collect();
        let work = |connection: &mut Connection, task: Task<'_>| match task {
            Task::Files(files) => {
                let mut more = Vec::new();
                for planned in files {
                    self.play(connection, step, planned)?;
                    more.extend(self.after(planned));
                }
                Ok(more)
            }
            Task::Keys(table, deferred) => {
                new_session(connection, false)?;
                deferred.add(&mut Player { connection, context: self.context })?;
                self.context.tally.done(&table);
                Ok(Vec::new())
            }
        };
        pool::run(connections, tasks, self.context.stop, work, pool::nothing_to_seek).map(drop)
    }

    /// What is to be done after the last file of a table.
    fn after<'t>(&self, planned: &Planned) -> Option<Task<'t>> {
        let table = planned.table.as_ref()?;
        let was_last = self.left.get(table).is_some_and(|left| left.fetch_sub(1, Ordering::SeqCst) == 1);
        if !was_last {
            return None;
        }
        let table = self.context.target(table);
        let deferred = self.deferred.lock().unwrap_or_else(PoisonError::into_inner).remove(&table);
        if deferred.is_none() {
            self.context.tally.done(&table);
        }
        deferred.map(|deferred| Task::Keys(table, deferred))
    }

    fn in_turn(&self, connection: &mut Connection, step: &Step) -> Result<()> {
        let mut waiting: Vec<_> = step.files.iter().collect();
        loop {
            let (before, mut again, mut first) = (waiting.len(), Vec::new(), None);
            for planned in waiting {
                match self.play(connection, step, planned) {
                    Ok(()) => {}
                    Err(
                        error @ (Error::Server { source: drover_db::Error::Server(_), .. }
                        | Error::Found { .. }
                        | Error::Format(_)),
                    ) => {
                        first.get_or_insert(error);
                        again.push(planned);
                    }
                    Err(error) => return Err(error),
                }
            }
            match first {
                None => return Ok(()),
                Some(error) if again.len() == before => return Err(error),
                Some(_) => waiting = again,
            }
        }
    }

    /// Runs a file in a session of its own.
    fn play(&self, connection: &mut Connection, step: &Step, planned: &Planned) -> Result<()> {
        new_session(connection, step.programs)?;
        let file = &planned.file;
        let Context { progress, stop, .. } = self.context;
        let script = Script::open(&file.path, file.rule, file.schema.as_deref(), Some(progress), stop)?;
        let session = Session::of(connection)?;
        let player = Player { connection, context: self.context };
        let mut playing = Playing {
            loader: self,
            planned,
            script,
            player,
            session,
            batch: Vec::new(),
            bytes: 0,
            own: Vec::new(),
            row_files: 0,
        };
        playing.run()
    }
}

/// As after a login, and set up. A server that cannot begin a session anew gets one that keeps settings of the last file:
/// that is set up again, too.
fn new_session(connection: &mut Connection, programs: bool) -> Result<()> {
    match connection.reset() {
        Ok(()) | Err(drover_db::Error::Server(_)) => {}
        Err(source) => return Err(Error::Server { doing: "beginning a session".into(), source }),
    }
    session::set(connection, Use::Script)?;
    if programs {
        connection.set("sql_mode", "@@GLOBAL.sql_mode").doing(|| "setting sql_mode")?;
    }
    Ok(())
}

/// A file at work.
struct Playing<'p, 'a, 'c> {
    loader: &'p Loader<'a, 'c>,
    planned: &'p Planned,
    script: Script<'p>,
    player: Player<'p, 'c>,
    session: Session,
    batch: Vec<Statement>,
    bytes: usize,
    /// Tables that this file alone makes and fills, and what waits for their rows.
    own: Vec<(Name, Option<Deferred>)>,
    /// How often the rows beside the script were loaded.
    row_files: usize,
}

impl Playing<'_, '_, '_> {
    fn run(&mut self) -> Result<()> {
        self.script.set_session(&self.session);
        let mut entered = false;
        while let Some(statement) = self.script.next()? {
            if self.player.context.stop.is_requested() {
                return Err(Error::Stopped);
            }
            if let (false, true, Some(schema)) = (entered, statement.needs_schema(), &statement.schema)
                && !is_system(schema)
            {
                self.player.enter(schema)?;
            }
            entered |= statement.needs_schema() || matches!(statement.kind, Kind::Use(_));
            if self.player.context.takes(&statement)? {
                self.take(statement)?;
            }
        }
        self.flush()?;
        if let (Some(rows), true) = (&self.planned.file.rows, self.row_files != 1) {
            let script = self.planned.file.path.display();
            let what =
                format!("{}: the script beside it, {script}, does not create just one table", rows.display());
            return Err(Error::found(what));
        }
        for (table, deferred) in std::mem::take(&mut self.own) {
            if let Some(deferred) = deferred {
                deferred.add(&mut self.player)?;
            }
            self.player.context.tally.done(&table);
        }
        self.script.check_end()
    }

    fn take(&mut self, statement: Statement) -> Result<()> {
        match &statement.kind {
            Kind::Session => {
                self.flush()?;
                self.player.set(&statement)?;
                if Session::is_concerned(&statement.text) {
                    self.session = Session::of(self.player.connection)?;
                    self.script.set_session(&self.session);
                }
                Ok(())
            }
            Kind::Use(schema) if is_system(schema) => Ok(()),
            Kind::Use(schema) => {
                self.flush()?;
                self.player.enter(&schema.clone())
            }
            kind if kind.is_data() => self.rows(statement),
            Kind::CreateTable(_) => self.create_table(&statement),
            _ => {
                self.flush()?;
                self.player.run(&statement)
            }
        }
    }

    fn rows(&mut self, statement: Statement) -> Result<()> {
        if self.batch.first().is_some_and(|first| first.filled().ok() != statement.filled().ok()) {
            self.flush()?;
        }
        self.bytes += statement.text.len();
        self.batch.push(statement);
        if self.bytes >= BATCH { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        let batch = std::mem::take(&mut self.batch);
        self.bytes = 0;
        let Some(table) = batch.first().map(Statement::filled).transpose()?.flatten() else { return Ok(()) };
        self.player.run_batch(&self.player.context.target(&table), &batch)
    }

    fn create_table(&mut self, statement: &Statement) -> Result<()> {
        self.flush()?;
        let Some(name) = statement.created()? else { return Ok(()) };
        let context = self.player.context;
        let target = context.target(&name);
        let text = context.renames.statement(&statement.text, statement.dialect);
        let large = self.loader.plan.sizes.get(&name).is_some_and(|bytes| *bytes >= SMALL);
        let taken_out = match large {
            true => {
                let is_needed = |key: &[Vec<u8>]| context.references.need(&name, key);
                Deferred::take_out(statement, &text, &target, &self.session, is_needed)
            }
            false => None,
        };
        let deferred = match taken_out {
            Some((create, deferred)) => {
                self.player.run_as(statement, &create)?;
                Some(deferred)
            }
            None => {
                self.player.run_as(statement, &text)?;
                None
            }
        };
        if self.loader.left.contains_key(&name) {
            let mut waiting = self.loader.deferred.lock().unwrap_or_else(PoisonError::into_inner);
            waiting.extend(deferred.map(|deferred| (target, deferred)));
            return Ok(());
        }
        self.own.push((target.clone(), deferred));
        self.rows_beside(&target)
    }

    /// Rows in a file of their own go in before what else is made on the table: it may have triggers.
    fn rows_beside(&mut self, table: &Name) -> Result<()> {
        let Some(path) = &self.planned.file.rows else { return Ok(()) };
        self.row_files += 1;
        self.player.begin_rows(table)?;
        let row_end = self.player.context.target.row_end(self.player.connection, table)?;
        let statement = tab::statement(self.player.connection, path, table, row_end.as_ref())?;
        let Some(statement) = statement else { return Ok(()) };
        let outcome = self.player.upload(&statement.text, path, &statement)?;
        if outcome.warnings > 0 {
            self.player.collect_warnings(&statement, outcome.warnings)?;
        }
        self.player.context.tally.rows(table, outcome.affected);
        self.player.context.tally.ran(1, 0);
        self.player.context.progress.count(outcome.affected, 0);
        Ok(())
    }
}
