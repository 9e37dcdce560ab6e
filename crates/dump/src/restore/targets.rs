//! Tables of the target on their way: created without what can wait, and completed when their rows are in.

use std::sync::atomic::{AtomicBool, Ordering};

use drover_db::options::ConnectOptions;
use drover_db::session::Use;
use drover_db::sql::{Dialect, Kind, tokens};
use drover_db::wire::ParameterKind;
use drover_db::{Connection, Vendor, quote, server};

use super::begun::Begun;
use super::inflow;
use super::job::Restore;
use super::objects::{Scripts, each};
use super::rows_only;
use super::way::{self, Charset, Rows, Takes, Way};
use crate::ddl::{CreateTable, Split, auto_increment, without_auto_increment};
use crate::dump::catalog::{self, Name};
use crate::error::Doing;
use crate::session;
use crate::{Error, Result};
use drover_format::manifest::Table;

/// Tables whose text is smaller than this many bytes get their indexes before their rows: an ALTER TABLE costs more.
const SMALL: u64 = 4 << 20;

/// What is known of a table's rows before they come.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Coming {
    /// Of their text, about.
    pub(crate) bytes: u64,
    /// Whether those that are there stay.
    pub(crate) keeps: bool,
}

/// A table on its way.
#[derive(Debug)]
pub(crate) struct Target<'a> {
    pub(crate) name: Name,
    pub(crate) table: &'a Table,
    /// Of its text, about.
    bytes: u64,
    /// Whether there are rows of an earlier run.
    pub(crate) keeps: bool,
    /// Keys that wait for the rows.
    pub(crate) keys: Vec<Vec<u8>>,
    foreign_keys: Vec<Vec<u8>>,
    /// Whether rows come as values, until the server refuses some, and how else.
    takes_values: AtomicBool,
    otherwise: Way,
    /// Whether the server has no use for a file of them, and how they come then.
    takes_no_file: AtomicBool,
    instead: Option<Way>,
    /// Which columns' values stand in a statement as text.
    as_text: Vec<bool>,
    /// What they are in binary, if values come so.
    kinds: Vec<ParameterKind>,
    /// Whether the server answers at once.
    is_near: bool,
}

impl<'a> Target<'a> {
    fn new(
        name: Name,
        table: &'a Table,
        bytes: u64,
        keeps: bool,
        keys: Vec<Vec<u8>>,
        foreign_keys: Vec<Vec<u8>>,
    ) -> Self {
        let (takes_values, otherwise) = (AtomicBool::new(false), Way::File(Charset::Binary));
        let (takes_no_file, instead) = (AtomicBool::new(false), None);
        Self {
            name,
            table,
            bytes,
            keeps,
            keys,
            foreign_keys,
            takes_values,
            otherwise,
            takes_no_file,
            instead,
            as_text: Vec::new(),
            kinds: Vec::new(),
            is_near: false,
        }
    }

    /// Chooses how rows come in.
    fn choose_way(&mut self, connection: &mut Connection, vendor: Vendor, takes: Takes) -> Result<()> {
        let takes_values = is_transactional(self.table) && takes.values(&self.table.columns);
        *self.takes_values.get_mut() = takes_values;
        let charset = match !takes_values && self.bytes >= SMALL {
            true => way::charset(connection, vendor, self.table, &self.name)?,
            false => Charset::Binary,
        };
        if takes.takes_no_files() && !takes_values {
            let holds = way::holds(connection, self.table, &self.name)?;
            self.as_text = way::as_text(&holds);
            if is_transactional(self.table) && takes.many_values() {
                self.kinds = way::in_binary(&holds).unwrap_or_default();
                *self.takes_values.get_mut() = !self.kinds.is_empty();
            }
        }
        self.is_near = takes.is_near;
        self.otherwise = takes.otherwise(charset, self.table, &self.name)?;
        self.instead = takes.inserts(self.table);
        Ok(())
    }

    /// The rows of a file or a chunk, as they go into the table, or into what stands in for it and holds bytes.
    pub(crate) fn rows<'r>(&'r self, target: &'r Name, computed: &'r [String], file: &'r str) -> Rows<'r> {
        let is_itself = *target == self.name;
        Rows {
            columns: &self.table.columns,
            computed,
            target,
            file,
            as_text: if is_itself { &self.as_text } else { &[] },
            kinds: if is_itself { &self.kinds } else { &[] },
            is_near: self.is_near,
        }
    }

    /// How rows come in.
    pub(crate) fn way(&self) -> Way {
        match self.instead {
            _ if self.takes_values.load(Ordering::Relaxed) => Way::Values,
            Some(way) if self.takes_no_file.load(Ordering::Relaxed) => way,
            _ => self.otherwise,
        }
    }

    /// How they come into a table of bytes.
    pub(crate) fn way_of_bytes(&self) -> Way {
        match self.way() {
            Way::Values => self.otherwise.of_bytes(),
            way => way.of_bytes(),
        }
    }

    /// Whether rows that were refused on this way may be taken on another one.
    pub(crate) fn has_other_way(&self, way: Way, error: &Error) -> bool {
        match way {
            Way::Values => inflow::is_refused(error),
            Way::File(_) => self.instead.is_some() && inflow::is_unfilled(error),
            Way::Inserts(_) => false,
        }
    }

    /// From now on rows come otherwise.
    pub(crate) fn turn_from(&self, way: Way) {
        match way {
            Way::Values => self.takes_values.store(false, Ordering::Relaxed),
            Way::File(_) => self.takes_no_file.store(true, Ordering::Relaxed),
            Way::Inserts(_) => {}
        }
    }

    /// What building the indexes costs, in the progress's unit.
    pub(crate) fn index_work(&self) -> u64 {
        self.bytes / 4 * self.keys.len().min(4) as u64
    }

    /// Adds the keys that waited, in one statement.
    pub(crate) fn add_keys(&self, connection: &mut Connection) -> Result<()> {
        alter(connection, &self.name, &self.keys)
    }

    /// Adds the foreign keys; where an earlier run was here, those may be there.
    pub(super) fn add_foreign_keys(&self, connection: &mut Connection, goes_on: bool) -> Result<()> {
        match goes_on && has_constraint(connection, self)? {
            true => Ok(()),
            false => alter(connection, &self.name, &self.foreign_keys),
        }
    }
}

impl<'a> Restore<'a> {
    /// Creates the tables, or finds those that are to be filled; and the sequences, which a column's default may ask.
    pub(crate) fn create_tables(
        &self,
        coordinator: &mut Connection,
        begun: &mut Begun,
        coming: impl Fn(&Name, &Table) -> Coming,
    ) -> Result<Vec<Target<'a>>> {
        let mut targets = match self.manifest.contents.has_definitions() {
            true => self.make_tables(coordinator, begun, coming)?,
            false => self.tables_that_are_there(coordinator, begun.steps.is_there, coming)?,
        };
        let takes = Takes::of(coordinator, begun.takes_files())?;
        for target in &mut targets {
            target.choose_way(coordinator, begun.server.vendor, takes)?;
        }
        Ok(targets)
    }

    fn make_tables(
        &self,
        coordinator: &mut Connection,
        begun: &mut Begun,
        coming: impl Fn(&Name, &Table) -> Coming,
    ) -> Result<Vec<Target<'a>>> {
        let scripts = self.scripts();
        self.create_sequences(coordinator, &scripts, begun)?;
        let there = if begun.steps.is_there { catalog::relations(coordinator)? } else { Vec::new() };
        let servers = [&begun.server, &self.manifest.server];
        let both_mysql = servers.iter().all(|server| server.vendor == Vendor::MySql);
        session::bear_old_tables(coordinator)?;
        let mut targets = Vec::new();
        for (schema, table) in self.manifest.tables() {
            let name = self.renames.relation(&schema.name, &table.name);
            session::use_schema(coordinator, &name.schema)?;
            let Coming { bytes, keeps } = coming(&Name::new(&schema.name, &table.name), table);
            let split = split(&scripts, table, bytes, both_mysql)?;
            let is_there = there.iter().any(|relation| relation.name == name);
            let keeps = is_there && keeps;
            if is_there && !keeps {
                // Nobody knows what of a file its rows hold.
                coordinator.execute(format!("DROP TABLE {name}")).doing(|| format!("dropping {name}"))?;
            }
            if let Some(next) = auto_increment(&split.create).filter(|_| keeps) {
                // The source's may have moved on since the table was made.
                let sql = format!("ALTER TABLE {name} AUTO_INCREMENT = {next}");
                coordinator.execute(sql).doing(|| format!("setting the next value of {name}"))?;
            }
            if !keeps {
                let mut warnings = Vec::new();
                scripts.run(coordinator, &table.script, &[split.create], &mut warnings)?;
                begun.steps.note_warnings(coordinator, &warnings)?;
                begun.warnings.extend(warnings);
            }
            let keys =
                if keeps && has_key(coordinator, &name, &split.keys)? { Vec::new() } else { split.keys };
            targets.push(Target::new(name, table, bytes, keeps, keys, split.foreign_keys));
        }
        session::set(coordinator, Use::Restore)?;
        Ok(targets)
    }

    fn create_sequences(
        &self,
        coordinator: &mut Connection,
        scripts: &Scripts<'_>,
        begun: &mut Begun,
    ) -> Result<()> {
        let is_tidb = server::is_tidb(coordinator).doing(|| "asking which server it is")?;
        for (schema, sequence) in each(self.manifest, |schema| &schema.sequences) {
            let name = self.renames.relation(&schema.name, &sequence.name);
            let step = format!("sequence {name}");
            if begun.steps.has(&step) {
                continue;
            }
            if begun.steps.is_there {
                coordinator
                    .execute(format!("DROP SEQUENCE IF EXISTS {name}"))
                    .doing(|| format!("dropping {name}"))?;
            }
            let mut warnings = Vec::new();
            match is_tidb {
                true => scripts.make_sequence_of_tidb(
                    coordinator,
                    &schema.name,
                    &sequence.script,
                    &name.to_string(),
                )?,
                false => scripts.run_in(coordinator, &schema.name, &sequence.script, &mut warnings)?,
            }
            begun.steps.note_warnings(coordinator, &warnings)?;
            begun.warnings.extend(warnings);
            begun.steps.note(coordinator, &step)?;
        }
        Ok(())
    }

    /// The targets of rows that come without definitions.
    fn tables_that_are_there(
        &self,
        coordinator: &mut Connection,
        goes_on: bool,
        coming: impl Fn(&Name, &Table) -> Coming,
    ) -> Result<Vec<Target<'a>>> {
        let mut targets = Vec::new();
        for (schema, table) in self.manifest.tables() {
            let name = self.renames.relation(&schema.name, &table.name);
            let Coming { bytes, keeps } = coming(&Name::new(&schema.name, &table.name), table);
            let keeps = goes_on && keeps;
            if goes_on && !keeps {
                rows_only::empty(coordinator, &name, table)?;
            }
            targets.push(Target::new(name, table, bytes, keeps, Vec::new(), Vec::new()));
        }
        Ok(targets)
    }
}

/// The statement that makes a table, and what waits for its rows.
fn split(scripts: &Scripts<'_>, table: &Table, bytes: u64, both_mysql: bool) -> Result<Split> {
    let mut create = scripts.read(&table.script)?.pop().unwrap_or_default();
    if table.engine == "ARCHIVE" {
        // It takes no row below the next value that its definition gives.
        create = without_auto_increment(&create);
    }
    let parts = CreateTable::parse(&create);
    let mut parts =
        parts.ok_or_else(|| Error::found(format!("{}: no CREATE TABLE statement", table.script.file)))?;
    if both_mysql {
        parts.inherit_collations();
    }
    let can_wait = bytes >= SMALL && table.engine == "InnoDB" && !parts.is_versioned();
    Ok(parts.split(can_wait))
}

/// Whether rows and a step can be committed together.
pub(crate) fn is_transactional(table: &Table) -> bool {
    ["INNODB", "ROCKSDB"].contains(&table.engine.to_ascii_uppercase().as_str())
}

/// Whether the keys that waited are there: one statement adds them all, or none.
fn has_key(connection: &mut Connection, table: &Name, keys: &[Vec<u8>]) -> Result<bool> {
    let Some(name) = keys.first().and_then(|key| name_in(key)) else { return Ok(false) };
    let rows = connection
        .query(format!("SHOW INDEX FROM {table}"))
        .doing(|| format!("reading the keys of {table}"))?;
    let at = rows.column("Key_name").unwrap_or(usize::MAX);
    Ok(rows.rows.iter().any(|row| row.string(at) == name))
}

/// The same for foreign keys.
fn has_constraint(connection: &mut Connection, target: &Target<'_>) -> Result<bool> {
    let Some(name) = target.foreign_keys.first().and_then(|key| name_in(key)) else { return Ok(false) };
    let sql = format!(
        "SELECT CONSTRAINT_NAME FROM information_schema.TABLE_CONSTRAINTS WHERE CONSTRAINT_TYPE = 'FOREIGN KEY' AND \
         CONSTRAINT_SCHEMA = {} AND TABLE_NAME = {}",
        quote::string(&target.name.schema),
        quote::string(&target.name.name)
    );
    let rows = connection.query(sql).doing(|| format!("reading the foreign keys of {}", target.name))?;
    Ok(rows.rows.iter().any(|row| row.string(0) == name))
}

/// The first name in a definition: that of the key or constraint.
fn name_in(definition: &[u8]) -> Option<String> {
    let name = tokens(definition, Dialect::default()).find(|token| token.kind == Kind::Quoted)?.name()?;
    String::from_utf8(name).ok()
}

fn alter(connection: &mut Connection, table: &Name, items: &[Vec<u8>]) -> Result<()> {
    if items.is_empty() {
        return Ok(());
    }
    let mut sql = format!("ALTER TABLE {table} ").into_bytes();
    for (index, item) in items.iter().enumerate() {
        sql.extend_from_slice(if index == 0 { b"ADD " } else { b", ADD " });
        sql.extend_from_slice(item);
    }
    connection.execute(sql).doing(|| format!("adding keys to {table}"))?;
    Ok(())
}

/// Ends sessions: a server does not notice that its client is gone while it builds an index.
pub(crate) fn kill(options: &ConnectOptions, ids: &[u32]) {
    // The error that led here is the one to report: that this fails too changes nothing.
    let Ok(mut connection) = Connection::open(options) else { return };
    for id in ids {
        let _ = connection.execute(format!("KILL {id}"));
    }
}
