//! A server as it is read: what of it, and the snapshot.

mod describe;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use drover_db::grants::Held;
use drover_db::options::ConnectOptions;
use drover_db::{Connection, Server, Stop, server};
use drover_throttle::Throttle;

use super::args::SourceArgs;
use super::catalog::{self, Name, Relation, RelationKind};
use super::chosen;
use super::grants;
use super::identity::{Identity, Numbering};
use super::job::Place;
use super::ranges::{self, Chunks};
use super::select::{self, Selected};
use super::snapshot;
use super::tables::TablePlan;
use super::users;
use super::waits;
use super::warnings::{about_rows, left_out, not_told_apart, prepared, unfinished};
use super::wish::{Taken, Wish};
use crate::error::Doing;
use crate::mask::{self, Rules};
use crate::progress::Progress;
use crate::session;
use crate::{Error, Result};
use drover_format::digest::Digest;
use drover_format::manifest::{Contents, FORMAT, Manifest, Schema, Script, Snapshot, Table, Users};

/// Settings on which the meaning of data or objects may depend.
const SETTINGS: &[&str] = &[
    "character_set_server",
    "collation_server",
    "default_storage_engine",
    "explicit_defaults_for_timestamp",
    "innodb_page_size",
    "log_bin",
    "lower_case_table_names",
    "max_allowed_packet",
    "server_id",
    "sql_mode",
    "system_time_zone",
    "time_zone",
];

/// What can be held where the rows go.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Holds {
    /// Why no rows of the past, if none can be.
    pub(crate) no_history: Option<&'static str>,
    /// Zeros with a sign.
    pub(crate) negative_zeros: bool,
    /// JSON as a type of its own; else it is text.
    pub(crate) documents: bool,
}

impl Holds {
    const ALL: Self = Self { no_history: None, negative_zeros: true, documents: true };
}

/// What is read of a server.
pub(crate) struct Source<'a> {
    pub(crate) args: &'a SourceArgs,
    options: &'a ConnectOptions,
    pub(crate) throttle: &'a Throttle<'a>,
    pub(crate) server: Server,
    pub(crate) selected: Selected,
    pub(crate) contents: Contents,
    /// For tables of which not all rows are read.
    conditions: BTreeMap<Name, String>,
    pub(crate) masks: Rules,
    pub(crate) threads: usize,
    pub(crate) place: Place,
    pub(crate) holds: Holds,
    started_at: String,
    /// What may be there besides, and is not seen.
    hidden: Option<String>,
    /// The statements of all views.
    views: BTreeMap<Name, Vec<u8>>,
    /// What a reader of the rows should know.
    warnings: Vec<String>,
}

/// Tables with the statements that create them.
type Plans = BTreeMap<Name, (TablePlan, Vec<u8>)>;

/// What a server held at the moment of a snapshot.
pub(crate) struct View {
    /// As yet without rows.
    pub(crate) manifest: Manifest,
    /// How each table with rows is to be read.
    pub(crate) plans: Vec<TablePlan>,
    /// The statements of all views.
    pub(crate) views: BTreeMap<Name, Vec<u8>>,
}

impl View {
    /// What must be the same of a table for rows that were read at another moment to be of use: all but the next
    /// AUTO_INCREMENT value, which moves on with every row. Where the script stands before the rows it matters: a file that is
    /// kept has it as it was.
    pub(crate) fn shapes(&self) -> BTreeMap<Name, Table> {
        let definitions: BTreeMap<_, _> =
            self.plans.iter().map(|plan| (&plan.relation.name, [&*plan.definition, &*plan.mark])).collect();
        let shape = |(schema, table): (&Schema, &Table)| {
            let name = Name::new(&schema.name, &table.name);
            let of_definition = Digest::of(&definitions.get(&name)?.concat());
            let script = match table.script.bytes {
                Some(_) => table.script.clone(),
                None => Script { checksum: of_definition, ..table.script.clone() },
            };
            Some((name, Table { script, ..table.clone() }))
        };
        self.manifest.tables().filter_map(shape).collect()
    }

    /// Takes in the rows, some of which may belong to earlier snapshots.
    pub(crate) fn complete(&mut self, mut chunks: Chunks, earlier: Vec<Snapshot>) {
        let manifest = &mut self.manifest;
        for schema in &mut manifest.schemas {
            for table in &mut schema.tables {
                table.files = chunks.remove(&Name::new(&schema.name, &table.name)).unwrap_or_default();
            }
        }
        let about_rows = about_rows(manifest);
        manifest.warnings.extend(about_rows);
        if manifest.tables().flat_map(|(_, table)| &table.files).any(|chunk| chunk.earlier.is_some()) {
            manifest.earlier_snapshots = earlier;
        }
        manifest.warnings.extend(manifest.mixed());
        manifest.finished_at = jiff::Timestamp::now().to_string();
    }
}

/// What came of an attempt to see all at one moment.
enum Seen {
    All(Box<(Taken, View)>),
    /// There were others than were listed.
    Others(Others),
}

/// Tables that came or went between the list and the lock.
#[derive(Default)]
struct Others(BTreeSet<Name>);

impl Others {
    fn first(&self) -> String {
        let first: Vec<_> = self.0.iter().take(3).map(Name::to_string).collect();
        first.join(", ")
    }

    fn error(&self) -> Error {
        Error::with_hint(
            format!(
                "tables were created, dropped or renamed while the snapshot was being taken: {}",
                self.first()
            ),
            "run it again when no definitions are being changed, or leave these tables out with --exclude",
        )
    }
}

/// What is selected of all that is there, and may be read.
/// TiDB's own schema of what it measures; on any other server it is somebody's.
const METRICS: &str = "METRICS_SCHEMA";

fn list(args: &SourceArgs, held: &Held, connection: &mut Connection) -> Result<Selected> {
    let mut schemas = catalog::schemas(connection)?;
    let is_tidb = server::is_tidb(connection).doing(|| "asking for the server's version")?;
    schemas.retain(|schema| !(is_tidb && schema == METRICS));
    let selected = select::select(args, &schemas, catalog::relations(connection)?)?;
    grants::check(connection, held, &selected)?;
    Ok(selected)
}

impl<'a> Source<'a> {
    /// Looks at what is asked for; nothing is locked.
    ///
    /// # Errors
    /// If there is no such thing, or the account cannot see all of it.
    pub(crate) fn new(
        args: &'a SourceArgs,
        options: &'a ConnectOptions,
        place: Place,
        throttle: &'a Throttle<'a>,
        coordinator: &mut Connection,
    ) -> Result<Self> {
        let server = Server::of(coordinator).doing(|| "asking for the server's version")?;
        if args.users && server.is_tidb() {
            return Err(Error::with_hint(
                "accounts of TiDB are not read: nothing was written",
                "leave out --users, and make them on the new server by hand: SHOW CREATE USER and SHOW GRANTS tell them",
            ));
        }
        if args.users {
            users::check(coordinator)?;
        }
        let held = grants::held(coordinator)?;
        let selected = list(args, &held, coordinator)?;
        let hidden = if args.what.is_empty() { grants::hidden_schemas(&held) } else { None };
        let with_rows = selected.relations.iter().filter(|relation| has_rows(relation));
        let conditions = chosen::bind(coordinator, &args.conditions, with_rows.clone(), args.lock_timeout)?;
        let masks = args.mask.as_deref().map_or_else(|| Ok(Rules::default()), Rules::load)?;
        mask::bind(coordinator, &masks, with_rows)?;
        let threads = match args.threads {
            Some(threads) => usize::from(threads),
            None => session::default_threads(coordinator)?,
        };
        Ok(Self {
            args,
            options,
            throttle,
            server,
            selected,
            contents: args.contents(),
            conditions,
            masks,
            threads,
            place,
            holds: Holds::ALL,
            hidden,
            started_at: jiff::Timestamp::now().to_string(),
            views: BTreeMap::new(),
            warnings: Vec::new(),
        })
    }

    /// Takes the snapshot and describes all there is at that moment; writes the scripts.
    ///
    /// Where tables are locked for it, a FLUSH TABLES of somebody else has MySQL hold up all who open such a table, also by a
    /// view or a MERGE table, until it is unlocked, even if the flush gives up. To wait for that is to wait for ourselves:
    /// all locks are given back instead, and the snapshot is taken once more.
    pub(crate) fn view(
        &mut self,
        coordinator: &mut Connection,
        stop: &Stop,
        progress: &Progress,
    ) -> Result<(Taken, View)> {
        const ATTEMPTS: usize = 10;
        let mut attempts = 0;
        loop {
            attempts += 1;
            let locked = self.without_transactions(coordinator)?;
            match self.view_at_once(coordinator, &locked, stop, progress) {
                Ok(Seen::All(all)) => return Ok(*all),
                Ok(Seen::Others(names)) if attempts < ATTEMPTS && self.may_be_listed_anew() => {
                    progress.phase(&format!("listing the tables anew, as {} came or went", names.first()));
                    self.selected = list(self.args, &grants::held(coordinator)?, coordinator)?;
                }
                Ok(Seen::Others(names)) => return Err(names.error()),
                Err(error)
                    if attempts < ATTEMPTS
                        && (waits::is_deadlock(&error)
                            || !locked.is_empty() && waits::has_timed_out(&error)) =>
                {
                    snapshot::release_ddl(coordinator)?;
                    self.views.clear();
                    self.warnings.clear();
                    std::thread::sleep(Duration::from_millis(200));
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Conditions and masks were looked at with the tables that were there.
    fn may_be_listed_anew(&self) -> bool {
        self.conditions.is_empty() && self.args.mask.is_none()
    }

    /// Waits a second at most for whoever holds up a definition, if tables are `locked` for it.
    fn view_at_once(
        &mut self,
        coordinator: &mut Connection,
        locked: &BTreeSet<Name>,
        stop: &Stop,
        progress: &Progress,
    ) -> Result<Seen> {
        self.throttle.pass()?;
        progress.phase("taking the snapshot");
        let others = RefCell::default();
        let Some(mut taken) = self.take_snapshot(coordinator, locked, stop, &others)? else {
            return Ok(Seen::Others(others.into_inner()));
        };
        progress.phase("reading the definitions");
        if !locked.is_empty() {
            session::limit_lock_wait(coordinator, 1)?;
        }
        let (schemas, mut plans) = self.describe(coordinator, taken.table_locks.as_mut(), locked)?;
        for plan in &mut plans {
            plan.mark = taken.identity.mark(coordinator, &plan.relation.name)?;
        }
        session::limit_lock_wait(coordinator, self.args.lock_timeout)?;
        let users = self.users(coordinator)?;
        snapshot::release_ddl(coordinator)?;
        self.warnings.extend(taken.warnings.iter().cloned());
        self.warnings.extend(prepared(&taken.snapshot.prepared));
        let manifest = self.manifest(coordinator, schemas, users, taken.snapshot.clone())?;
        let view = View { manifest, plans, views: std::mem::take(&mut self.views) };
        Ok(Seen::All(Box::new((taken, view))))
    }

    /// Describes all there is as it is now, for a trial: nothing is locked, and no rows belong to it.
    pub(crate) fn look(&mut self, coordinator: &mut Connection, progress: &Progress) -> Result<Manifest> {
        progress.phase("reading the definitions");
        let (schemas, _) = self.describe(coordinator, None, &BTreeSet::new())?;
        let users = self.users(coordinator)?;
        self.manifest(coordinator, schemas, users, Snapshot::default())
    }

    fn users(&mut self, coordinator: &mut Connection) -> Result<Option<Users>> {
        let mut dump = || users::dump(coordinator, &self.place.store, &mut self.warnings);
        self.args.users.then(&mut dump).transpose()
    }

    /// As yet without rows.
    fn manifest(
        &mut self,
        coordinator: &mut Connection,
        schemas: Vec<Schema>,
        users: Option<Users>,
        snapshot: Snapshot,
    ) -> Result<Manifest> {
        Ok(Manifest {
            format: FORMAT,
            drover: env!("CARGO_PKG_VERSION").into(),
            server: self.server.clone(),
            settings: settings(coordinator)?,
            snapshot,
            earlier_snapshots: Vec::new(),
            started_at: self.started_at.clone(),
            finished_at: String::new(),
            compression: self.place.compressor.compression(),
            row_format: self.place.format,
            contents: self.contents,
            copied: false,
            schemas,
            users,
            by_hand: None,
            warnings: self.standing_warnings().chain(std::mem::take(&mut self.warnings)).collect(),
            target: None,
        })
    }

    /// What is to be said whenever the tables are looked at.
    fn standing_warnings(&self) -> impl Iterator<Item = String> + use<> {
        let left_out = self.selected.left_out.iter().map(|(schema, why)| left_out(schema, *why));
        let unfinished = self.selected.unfinished.iter().map(unfinished);
        self.hidden.iter().cloned().chain(left_out).chain(unfinished).collect::<Vec<_>>().into_iter()
    }

    fn tables(&self) -> impl Iterator<Item = &Relation> {
        self.selected.relations.iter().filter(|relation| is_table(relation))
    }

    /// Tables that no transaction can show as they were; one that the server cannot open is an error.
    fn without_transactions(&self, coordinator: &mut Connection) -> Result<BTreeSet<Name>> {
        let engines = catalog::transactional_engines(coordinator)?;
        let mut names = BTreeSet::new();
        for table in self.tables() {
            match &table.engine {
                None => return Err(cannot_open(coordinator, &table.name)),
                Some(engine) if engines.contains(engine) || table.rows_elsewhere() => {}
                Some(_) if self.contents.has_rows() => drop(names.insert(table.name.clone())),
                Some(_) => {}
            }
        }
        Ok(names)
    }

    /// The tables of which it is seen now that they are there and were not listed, or the other way round.
    fn others(&self, now: &[Name]) -> Result<Others> {
        let listed = now.iter().cloned().map(Relation::named).collect();
        let schemas: BTreeSet<_> =
            now.iter().map(|name| name.schema.clone()).chain(self.selected.schemas()).collect();
        let is_own = |schema: &String| self.server.is_tidb() && schema == METRICS;
        let schemas: Vec<_> = schemas.into_iter().filter(|schema| !is_own(schema)).collect();
        let now = select::select(self.args, &schemas, listed)?;
        let names = |selected: &Selected| -> BTreeSet<_> {
            selected.relations.iter().map(|relation| relation.name.clone()).collect()
        };
        Ok(Others(names(&now).symmetric_difference(&names(&self.selected)).cloned().collect()))
    }

    /// None if there are `others` than were listed.
    fn take_snapshot(
        &self,
        coordinator: &mut Connection,
        without_transactions: &BTreeSet<Name>,
        stop: &Stop,
        others: &RefCell<Others>,
    ) -> Result<Option<Taken>> {
        let tables: Vec<_> = self.tables().map(|table| table.name.clone()).collect();
        let workers = self.tables().map(|table| ranges::most_workers(table, &self.place)).sum();
        let without_transactions: Vec<_> = without_transactions.iter().cloned().collect();
        let (numbering, warning) = self.numbering(coordinator)?;
        let numbers = RefCell::default();
        let wish = Wish {
            options: self.options,
            server: &self.server,
            threads: if self.contents.has_rows() { self.threads.min(workers).max(1) } else { 1 },
            lock_timeout: self.args.lock_timeout,
            tables: &tables,
            without_transactions: &without_transactions,
            own: &[],
            stop,
            is_as_listed: &|now| {
                *others.borrow_mut() = self.others(&now.names)?;
                *numbers.borrow_mut() = now.numbers;
                Ok(others.borrow().0.is_empty())
            },
            numbering,
            max_lock_time: Duration::from_secs(self.args.max_lock_time),
            inconsistent: self.args.inconsistent,
        };
        let Some(mut taken) = snapshot::take(coordinator, &wish)? else { return Ok(None) };
        let known = numbering.zip(numbers.into_inner());
        taken.identity = Identity::new(self.options, coordinator, self.server.vendor, known)?;
        taken.warnings.extend(warning);
        if !self.conditions.is_empty() {
            let connections = taken.workers.iter_mut().chain(&mut taken.table_locks);
            taken.warnings.extend(chosen::stop_clock(connections, &taken.snapshot.taken_at)?);
        }
        Ok(Some(taken))
    }

    /// What tells tables apart whose names are exchanged, and what of it there is to be warned of.
    fn numbering(&self, coordinator: &mut Connection) -> Result<(Option<Numbering>, Option<String>)> {
        let is_read = |table: &&Relation| self.contents.has_rows() && table.is_innodb();
        let tables: Vec<_> = self.tables().filter(is_read).map(|table| table.name.clone()).collect();
        if tables.is_empty() {
            return Ok((None, None));
        }
        let chosen =
            Numbering::choose(coordinator, &tables).doing(|| "asking for InnoDB's numbers of tables")?;
        let (numbering, left_out) = match chosen {
            None => (None, tables),
            Some((numbering, left_out)) => (Some(numbering), left_out),
        };
        if left_out.is_empty() {
            return Ok((numbering, None));
        }
        let are_hidden =
            Numbering::are_hidden(coordinator).doing(|| "asking for InnoDB's numbers of tables")?;
        Ok((numbering, Some(not_told_apart(&left_out, are_hidden))))
    }

    /// How many rows of the past each table has, whose rows of now are read.
    pub(crate) fn past_rows(&self, connection: &mut Connection) -> Result<Vec<(Name, u64)>> {
        let is_versioned = |table: &&Relation| table.kind == RelationKind::VersionedTable;
        let mut past = Vec::new();
        for table in self.tables().filter(is_versioned).filter(|_| self.contents.has_rows()) {
            let name = &table.name;
            let sql = format!(
                "SELECT (SELECT COUNT(*) FROM {name} FOR SYSTEM_TIME ALL) - (SELECT COUNT(*) FROM {name})"
            );
            let row = connection.first(sql).doing(|| format!("counting the rows of the past of {name}"))?;
            past.push((name.clone(), row.and_then(|row| row.parse(0)).unwrap_or(0)));
        }
        Ok(past)
    }
}

fn is_table(relation: &Relation) -> bool {
    matches!(relation.kind, RelationKind::Table | RelationKind::VersionedTable)
}

fn has_rows(relation: &Relation) -> bool {
    is_table(relation) && !relation.rows_elsewhere()
}

/// Asks for the table once more, to hear why it cannot be opened.
fn cannot_open(coordinator: &mut Connection, name: &Name) -> Error {
    match coordinator.query(format!("SELECT 1 FROM {name} LIMIT 0")) {
        Err(source) => Error::Server { doing: format!("opening table {name}"), source },
        Ok(_) => Error::found(format!("the server names no storage engine for table {name}")),
    }
}

fn settings(coordinator: &mut Connection) -> Result<BTreeMap<String, String>> {
    let mut settings = BTreeMap::new();
    for name in SETTINGS {
        let global = format!("GLOBAL.{name}");
        if let Some(value) = server::variable(coordinator, &global).doing(|| format!("reading {name}"))? {
            settings.insert((*name).to_owned(), value);
        }
    }
    Ok(settings)
}
