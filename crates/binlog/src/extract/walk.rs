//! Goes from event to event and gives each load its line and its files.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use crate::chain::{Item, Trouble};
use crate::event::{OldLoad, file_id};
use crate::filter::{Filter, Verdict};
use crate::loads::{Ending, FileKey, Keep, Load, Loads, Spool, Spot, Statement, TableName};
use crate::log::{Event, Kind, Short};
use crate::rows::Tables;
use crate::sql::Before;
use crate::{Error, Result};

use super::list::{Ended, Line, List};
use super::name::stem;
use super::place::Directory;
use super::rebuild::{Rebuilder, Rebuilt};
use super::script;

/// Finds loads.
pub(super) struct Walk<'a, 'o> {
    filter: Filter<'a>,
    directory: Option<Directory>,
    list: &'a mut List<'o>,
    loads: Loads,
    rebuilder: Rebuilder,
    /// Files that are under way and whose last block is in what is wanted: that counts if they never end.
    wanted: BTreeSet<FileKey>,
    before: Before,
    /// Where a payload begins, and how many loads of it were listed.
    payload: (Option<Spot>, u32),
}

impl<'a, 'o> Walk<'a, 'o> {
    pub(super) fn new(
        filter: Filter<'a>,
        tables: Tables,
        directory: Option<Directory>,
        list: &'a mut List<'o>,
    ) -> Self {
        let keep = directory.as_ref().map_or(Keep::Count, Directory::keep);
        Self {
            filter,
            directory,
            list,
            loads: Loads::new(keep.clone()),
            rebuilder: Rebuilder::new(keep, tables),
            wanted: BTreeSet::new(),
            before: Before::default(),
            payload: (None, 0),
        }
    }

    /// Takes in an event; breaks off where nothing behind it is wanted.
    pub(super) fn see(&mut self, item: &Item<'_>) -> std::result::Result<ControlFlow<()>, Trouble> {
        let verdict = self.filter.verdict(item)?;
        if verdict == Verdict::Stop {
            return Ok(ControlFlow::Break(()));
        }
        let takes = verdict == Verdict::Take;
        if item.place.begins() {
            self.before.clear();
        }
        if let Some(rebuilt) = self.rebuilder.see(item, takes)? {
            self.rebuilt(rebuilt)?;
        }
        if let Some(load) = self.loads.see(item)? {
            self.ended(item, takes, load)?;
        }
        self.note(item, takes)?;
        Ok(ControlFlow::Continue(()))
    }

    /// Nothing more is seen. Where the logs are at their end, what is under way has none.
    pub(super) fn finish(mut self, is_end: bool) -> Result<()> {
        if is_end {
            self.unfinished()?;
        }
        self.directory.as_ref().map_or(Ok(()), Directory::sync)
    }

    fn unfinished(&mut self) -> Result<()> {
        if let Some(rebuilt) = self.rebuilder.unfinished() {
            self.rebuilt(rebuilt)?;
        }
        let loads = std::mem::replace(&mut self.loads, Loads::new(Keep::Count));
        for load in loads.unfinished() {
            if self.wanted.contains(&load.key) {
                self.load(None, load).map_err(|trouble| match trouble {
                    Trouble::Other(error) => error,
                    // It has no event that could be.
                    Trouble::Malformed => Error::found("a load does not hold what it should"),
                })?;
            }
        }
        Ok(())
    }

    /// Keeps what later events depend on.
    fn note(&mut self, item: &Item<'_>, takes: bool) -> std::result::Result<(), Trouble> {
        let event = &item.event;
        match event.kind {
            Kind::INTVAR | Kind::RAND | Kind::USER_VAR => self.before.note(event)?,
            Kind::BEGIN_LOAD_QUERY | Kind::CREATE_FILE | Kind::APPEND_BLOCK => {
                let number = number_of_file(event)?;
                let key = (event.header.server_id, number);
                if takes {
                    self.wanted.insert(key)
                } else {
                    self.wanted.remove(&key)
                };
                self.before.clear();
            }
            Kind::QUERY | Kind::EXECUTE_LOAD_QUERY | Kind::EXEC_LOAD => self.before.clear(),
            _ => {}
        }
        Ok(())
    }

    /// A load ended with the event, or is known by it to have no end.
    fn ended(&mut self, item: &Item<'_>, takes: bool, load: Load) -> std::result::Result<(), Trouble> {
        // One without a file has no number.
        let was_wanted = load.spool.is_some() && self.wanted.remove(&load.key);
        let is_unfinished = load.ending == Ending::Unfinished;
        let is_wanted =
            if is_unfinished { was_wanted } else { takes && self.filter.wants_kind(item.event.header.kind) };
        if !is_wanted {
            return Ok(());
        }
        let item = if is_unfinished { None } else { Some(item) };
        self.load(item, load)
    }

    /// Lists a load and writes its files. The item is the event that it ended with.
    fn load(&mut self, item: Option<&Item<'_>>, mut load: Load) -> std::result::Result<(), Trouble> {
        let (schema, table) = load.statement.as_ref().map(table_of).unwrap_or_default();
        let thread = load.statement.as_ref().map(|statement| statement.query().thread);
        let is_wanted = self.filter.wants_load(thread, &schema, &table);
        self.filter.refuse_doubt(&load.start.log, load.start.position)?;
        if !is_wanted {
            return Ok(());
        }
        let mut line = Line {
            server_id: load.key.0,
            thread,
            lacks_beginning: load.lacks_beginning,
            time: item.map_or(0, |item| item.event.header.timestamp),
            statement: load.statement.as_ref().map(|statement| text(statement.query().text)),
            ..line(&load.start, &load.end, &schema, &table, load.spool.as_ref())
        };
        (line.ended, line.error) = match load.ending {
            Ending::Loaded => (Ended::Loaded, None),
            Ending::Failed(code) => (Ended::Failed, Some(code)),
            Ending::Deleted => (Ended::Failed, None),
            Ending::Unfinished => (Ended::Unfinished, None),
        };
        let number = self.number(&load.start, load.is_packed);
        if let Some(directory) = &self.directory
            && let Some(spool) = load.spool.take()
        {
            let is_whole = load.ending != Ending::Unfinished && !load.lacks_beginning;
            let stem = stem(&load.start.log, load.start.position, number, &schema, &table);
            let mut files = Files::new(directory, &stem, if is_whole { "" } else { ".incomplete" });
            let is_loaded = is_whole && load.ending != Ending::Deleted;
            if let (Some(item), Some(statement), true) = (item, &load.statement, is_loaded) {
                files.script = Some(script::of_load(item, &load, statement, &mut self.before, &files.data)?);
            }
            files.put(spool, &mut line)?;
        }
        Ok(self.list.line(&line)?)
    }

    /// Lists a load that was logged as rows, and writes a file made of them.
    fn rebuilt(&mut self, rebuilt: Rebuilt) -> Result<()> {
        let (schema, table) = rebuilt.table();
        if !rebuilt.is_wanted {
            return Ok(());
        }
        let is_wanted = self.filter.wants_load(None, schema, table);
        self.filter.refuse_doubt(&rebuilt.start.log, rebuilt.start.position)?;
        if !is_wanted || !self.filter.wants_kind(rebuilt.header.kind) {
            return Ok(());
        }
        let mut line = Line {
            server_id: rebuilt.header.server_id,
            time: rebuilt.header.timestamp,
            is_rebuilt: true,
            rows: Some(rebuilt.rows),
            rows_left_out: rebuilt.left_out,
            doubtful_values: rebuilt.doubtful,
            lacks_names: rebuilt.lacks_names(),
            statement: Some(text(&rebuilt.statement)),
            ended: if rebuilt.is_ended { Ended::Loaded } else { Ended::Unfinished },
            ..line(&rebuilt.start, &rebuilt.end, schema, table, Some(&rebuilt.spool))
        };
        let number = self.number(&rebuilt.start, rebuilt.is_packed);
        if let Some(directory) = &self.directory {
            let stem = stem(&rebuilt.start.log, rebuilt.start.position, number, schema, table);
            let mark = if rebuilt.is_ended { ".rebuilt" } else { ".rebuilt.incomplete" };
            let mut files = Files::new(directory, &stem, mark);
            if rebuilt.is_ended {
                files.script = Some(rebuilt.script(&files.data));
            }
            files.put(rebuilt.spool, &mut line)?;
        }
        self.list.line(&line).map_err(Error::writing)
    }

    /// Loads in one payload have all the same position: they are numbered, from 1.
    fn number(&mut self, start: &Spot, is_packed: bool) -> u32 {
        if !is_packed {
            return 1;
        }
        let (payload, count) = &mut self.payload;
        *count = if payload.as_ref() == Some(start) { *count + 1 } else { 1 };
        *payload = Some(start.clone());
        *count
    }
}

/// The files of a load.
struct Files<'a> {
    directory: &'a Directory,
    names: [String; 2],
    /// The path of the one that is loaded.
    data: PathBuf,
    /// What is in the other one.
    script: Option<Vec<u8>>,
}

impl<'a> Files<'a> {
    fn new(directory: &'a Directory, stem: &str, mark: &str) -> Self {
        let names = [format!("{stem}{mark}.data"), format!("{stem}{mark}.sql")];
        let data = directory.path_of(&names[0]);
        Self { directory, names, data, script: None }
    }

    /// Writes both, or neither if one is there already.
    fn put(self, spool: Spool, line: &mut Line) -> Result<()> {
        let Self { directory, names: [data, script], .. } = &self;
        directory.check(data)?;
        if self.script.is_some() {
            directory.check(script)?;
        }
        directory.put(data, spool.into_reader().map_err(Error::file(&self.data))?)?;
        line.file = Some(shown(&self.data));
        if let Some(text) = &self.script {
            directory.put_bytes(script, text)?;
            line.statement_file = Some(shown(&directory.path_of(script)));
        }
        Ok(())
    }
}

/// The schema and the name of the table that a statement loads into, as far as they can be told.
fn table_of(statement: &Statement) -> (Vec<u8>, Vec<u8>) {
    let default = statement.query().schema.to_vec();
    match statement.table() {
        Some(TableName { schema, name }) => (schema.unwrap_or(default), name),
        None => (default, Vec::new()),
    }
}

fn number_of_file(event: &Event<'_>) -> std::result::Result<u32, Short> {
    match event.kind {
        Kind::CREATE_FILE => {
            OldLoad::parse(event.kind, event.body)?.block.map(|block| block.file).ok_or(Short)
        }
        _ => file_id(event.body),
    }
}

fn line(start: &Spot, end: &Spot, schema: &[u8], table: &[u8], spool: Option<&Spool>) -> Line {
    Line {
        log: start.log.to_string(),
        start: start.position,
        stop: end.position,
        stop_log: (start.log != end.log).then(|| end.log.to_string()),
        schema: text(schema),
        table: text(table),
        size: spool.map(Spool::len),
        ..Line::default()
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
