//! The dump from its first connection to its manifest.

mod reading;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use drover_db::options::ConnectOptions;
use drover_db::{Connection, Server, Stop, server};
use serde::Serialize;

use super::args::DumpArgs;
use super::catalog::{self, Name, Relation, RelationKind};
use super::chosen;
use super::grants;
use super::journal::{Journal, Kept, Wanted};
use super::objects::Scripts;
use super::ranges;
use super::reader::Place;
use super::select::{self, Selected};
use super::snapshot::{self, Taken, Wish};
use super::tables::TablePlan;
use super::users;
use super::warnings::{kept_elsewhere, mixed, retyped};
use crate::error::Doing;
use crate::format::manifest::{Chunk, Contents, FORMAT, Manifest, Schema, Script, Snapshot, Table};
use crate::format::names;
use crate::guard::{Guard, Work};
use crate::mask::{self, Rules};
use crate::progress::Progress;
use crate::session::{self, Purpose};
use crate::store::Store;
use crate::{Error, Result};

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

/// What a finished dump is.
#[derive(Debug, Clone, Serialize)]
pub struct DumpReport {
    /// Where it is.
    pub directory: PathBuf,
    /// The server that was dumped.
    pub server: Server,
    /// Whether it holds definitions and rows, or one of them only.
    pub contents: Contents,
    /// How many schemas it holds.
    pub schemas: usize,
    /// How many tables it holds.
    pub tables: usize,
    /// Accounts and roles that it holds; absent without `--users`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accounts: Option<usize>,
    /// Rows in all tables.
    pub rows: u64,
    /// Bytes of the rows' text.
    pub bytes: u64,
    /// Bytes of the row files as stored.
    pub stored_bytes: u64,
    /// Wall-clock time of the whole command.
    pub seconds: f64,
    /// The part of it in which a guard let the work wait.
    pub paused_seconds: f64,
    /// Workers that read rows.
    pub threads: usize,
    /// From when the first of them had nothing more to read to when the last one was ready.
    pub tail_seconds: f64,
    /// The moment that all rows belong to.
    pub snapshot: Snapshot,
    /// What a reader of the dump should know.
    pub warnings: Vec<String>,
}

/// Dumps what `args` asks for.
///
/// # Errors
/// If anything asked for cannot be dumped as it was at the snapshot. The directory then has no manifest.
pub fn dump(
    args: &DumpArgs,
    options: &ConnectOptions,
    stop: &Stop,
    progress: &Progress,
) -> Result<DumpReport> {
    let started = Instant::now();
    let started_at = jiff::Timestamp::now().to_string();
    let store = Store::open(&args.out, &args.store)?;
    let _store_watched = store.watch(stop);
    progress.phase("reading the catalogue");
    let mut coordinator = session::open(options, Purpose::Dump)?;
    let _watched = stop.watch(&coordinator).doing(|| "watching a connection")?;
    let guard = start_guard(args, options, &store, stop, progress)?;
    let result = Dump::new(args, options, store, &guard, &mut coordinator)
        .and_then(|mut dump| dump.run(&mut coordinator, stop, progress, started_at));
    let Done { manifest, threads, tail } = match result {
        Err(_) if stop.is_requested() => return Err(Error::Stopped),
        other => other?,
    };
    Ok(DumpReport {
        directory: args.out.clone(),
        server: manifest.server.clone(),
        contents: manifest.contents,
        schemas: manifest.schemas.len(),
        tables: manifest.tables().count(),
        accounts: manifest.users.as_ref().map(|users| users.accounts),
        rows: manifest.rows(),
        bytes: manifest.bytes(),
        stored_bytes: manifest.stored_bytes(),
        seconds: started.elapsed().as_secs_f64(),
        paused_seconds: guard.paused().as_secs_f64(),
        threads,
        tail_seconds: tail.as_secs_f64(),
        snapshot: manifest.snapshot,
        warnings: manifest.warnings,
    })
}

/// The guards look at the disk that the dump will be on, if it will be on one: its directory may not be there yet.
fn start_guard<'a>(
    args: &DumpArgs,
    options: &ConnectOptions,
    store: &Store,
    stop: &'a Stop,
    progress: &'a Progress,
) -> Result<Guard<'a>> {
    let there = |dir: &Path| dir.ancestors().find(|path| path.is_dir()).map(Path::to_owned);
    let writes_to = store.directory().map(|dir| there(dir).unwrap_or_else(|| ".".into()));
    Guard::start(&args.guard, &args.server, options, Work::Dump(writes_to.as_deref()), stop, progress)
}

/// What a dump comes to.
struct Done {
    manifest: Manifest,
    threads: usize,
    tail: Duration,
}

struct Dump<'a> {
    args: &'a DumpArgs,
    options: &'a ConnectOptions,
    guard: &'a Guard<'a>,
    server: Server,
    selected: Selected,
    contents: Contents,
    /// For tables of which not all rows are dumped.
    conditions: BTreeMap<Name, String>,
    masks: Rules,
    threads: usize,
    place: Place,
    wanted: Wanted,
    /// What an earlier run left.
    kept: Kept,
    warnings: Vec<String>,
}

impl<'a> Dump<'a> {
    fn new(
        args: &'a DumpArgs,
        options: &'a ConnectOptions,
        store: Store,
        guard: &'a Guard<'a>,
        coordinator: &mut Connection,
    ) -> Result<Self> {
        let server = Server::of(coordinator).doing(|| "asking for the server's version")?;
        let schemas = catalog::schemas(coordinator)?;
        let selected = select::select(args, &schemas, catalog::relations(coordinator)?)?;
        grants::check(coordinator, &selected)?;
        let with_rows = selected.relations.iter().filter(|relation| has_rows(relation));
        let conditions = chosen::bind(coordinator, &args.conditions, with_rows.clone(), args.lock_timeout)?;
        let masks = args.mask.as_deref().map_or_else(|| Ok(Rules::default()), Rules::load)?;
        mask::bind(coordinator, &masks, with_rows)?;
        let threads = match args.threads {
            Some(threads) => usize::from(threads),
            None => session::default_threads(coordinator)?,
        };
        let wanted = Wanted::new(args, &masks);
        let kept = make_place(&store, args.resume, &wanted)?;
        let wanted = kept.join(&store, wanted)?;
        let place = Place { store, compressor: args.compress, chunk_bytes: args.chunk_size.0 };
        Ok(Self {
            args,
            options,
            guard,
            server,
            selected,
            contents: args.contents(),
            conditions,
            masks,
            threads,
            place,
            wanted,
            kept,
            warnings: Vec::new(),
        })
    }

    fn run(
        &mut self,
        coordinator: &mut Connection,
        stop: &Stop,
        progress: &Progress,
        started_at: String,
    ) -> Result<Done> {
        let without_transactions = self.without_transactions(coordinator)?;
        self.guard.pass()?;
        progress.phase("taking the snapshot");
        let mut taken = self.take_snapshot(coordinator, &without_transactions, stop)?;
        progress.phase("reading the definitions");
        let (mut schemas, plans) =
            self.describe(coordinator, taken.table_locks.as_mut(), &without_transactions)?;
        let users = self.args.users.then(|| users::dump(coordinator, &self.place.store)).transpose()?;
        snapshot::release_ddl(coordinator)?;
        let settings = settings(coordinator)?;
        let snapshot = taken.snapshot.clone();
        self.warnings.extend(taken.warnings.iter().cloned());

        progress.phase("looking at what is there");
        let earlier = self.keep_what_is_whole(&schemas)?;
        let snapshots = earlier.iter().chain([&snapshot]).cloned().collect();
        let journal = Journal::begin(&self.place.store, &self.wanted, snapshots, all_tables(&schemas))?;
        progress.phase("dumping");
        let (chunks, tail) = self.read_rows(taken, &plans, &schemas, &journal, stop, progress)?;
        fill_in(&mut schemas, chunks);
        self.warnings.extend(retyped(&schemas));
        let earlier_snapshots = still_needed(earlier, &schemas);
        self.warnings.extend(mixed(&earlier_snapshots, &snapshot, &schemas));
        progress.phase("writing the manifest");
        let manifest = Manifest {
            format: FORMAT,
            drover: env!("CARGO_PKG_VERSION").into(),
            server: self.server.clone(),
            settings,
            snapshot,
            earlier_snapshots,
            started_at,
            finished_at: jiff::Timestamp::now().to_string(),
            compression: self.args.compress.compression(),
            contents: self.contents,
            schemas,
            users,
            warnings: self.warnings.clone(),
        };
        manifest.store(&self.place.store)?;
        journal.end()?;
        Ok(Done { manifest, threads: self.threads, tail })
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

    fn take_snapshot(
        &self,
        coordinator: &mut Connection,
        without_transactions: &BTreeSet<Name>,
        stop: &Stop,
    ) -> Result<Taken> {
        let tables: Vec<_> = self.tables().map(|table| table.name.clone()).collect();
        let workers = self.tables().map(|table| ranges::most_workers(table, &self.place)).sum();
        let without_transactions: Vec<_> = without_transactions.iter().cloned().collect();
        let wish = Wish {
            options: self.options,
            vendor: self.server.vendor,
            threads: if self.contents.has_rows() { self.threads.min(workers).max(1) } else { 1 },
            lock_timeout: self.args.lock_timeout,
            tables: &tables,
            without_transactions: &without_transactions,
            own: &[],
            stop,
        };
        let mut taken = snapshot::take(coordinator, &wish)?;
        if !self.conditions.is_empty() {
            let connections = taken.workers.iter_mut().chain(&mut taken.table_locks);
            taken.warnings.extend(chosen::stop_clock(connections, &taken.snapshot.taken_at)?);
        }
        Ok(taken)
    }

    /// Writes all scripts; gives the schemas without their rows, and how each table is to be read.
    fn describe(
        &mut self,
        coordinator: &mut Connection,
        table_locks: Option<&mut Connection>,
        without_transactions: &BTreeSet<Name>,
    ) -> Result<(Vec<Schema>, Vec<TablePlan>)> {
        let mut plans = BTreeMap::new();
        let (locked, free): (Vec<_>, Vec<_>) =
            self.tables().cloned().partition(|table| without_transactions.contains(&table.name));
        for table in free {
            let (mut plan, create) = TablePlan::new(coordinator, table, &self.masks, &mut self.warnings)?;
            plan.condition = self.conditions.get(&plan.relation.name).cloned();
            plans.insert(plan.relation.name.clone(), (plan, create));
        }
        if let Some(connection) = table_locks {
            for table in locked {
                let (mut plan, create) = TablePlan::new(connection, table, &self.masks, &mut self.warnings)?;
                plan.is_locked = true;
                plan.condition = self.conditions.get(&plan.relation.name).cloned();
                plans.insert(plan.relation.name.clone(), (plan, create));
            }
        }
        let mut names: BTreeSet<String> = self.selected.whole.clone();
        names.extend(self.selected.relations.iter().map(|relation| relation.name.schema.clone()));
        if !self.contents.has_definitions() {
            // Nothing would be known of a schema without tables but its name.
            names.retain(|name| plans.keys().any(|table| table.schema == *name));
        }
        let schemas: Result<Vec<_>> = names
            .iter()
            .map(|name| match self.contents.has_definitions() {
                true => self.describe_schema(coordinator, name, &plans),
                false => self.describe_rows(name, &plans),
            })
            .collect();
        let plans = plans.into_values().map(|(plan, _)| plan);
        let plans = plans.filter(|plan| self.contents.has_rows() && !plan.relation.rows_elsewhere());
        Ok((schemas?, plans.collect()))
    }

    fn describe_schema(
        &mut self,
        coordinator: &mut Connection,
        name: &str,
        plans: &BTreeMap<Name, (TablePlan, Vec<u8>)>,
    ) -> Result<Schema> {
        let relations: Vec<_> =
            self.selected.relations.iter().filter(|relation| relation.name.schema == name).cloned().collect();
        let whole = self.selected.whole.contains(name);
        let (scripts, script) = Scripts::begin(coordinator, &self.place.store, name)?;
        let (mut tables, mut sequences, mut views) = (Vec::new(), Vec::new(), Vec::new());
        for relation in relations {
            let relation_name = relation.name.name.clone();
            match relation.kind {
                RelationKind::View => views.push(relation_name),
                RelationKind::Sequence => sequences.push(scripts.sequence(coordinator, &relation_name)?),
                RelationKind::Table | RelationKind::VersionedTable => {
                    let Some((plan, create)) = plans.get(&relation.name) else { continue };
                    tables.push(plan.describe(scripts.table(
                        self.server.vendor,
                        &relation_name,
                        create.clone(),
                    )?));
                    if plan.relation.rows_elsewhere() {
                        self.warnings.push(kept_elsewhere(&plan.relation.name));
                    }
                }
            }
        }
        let table_names = tables.iter().map(|table| table.name.clone()).collect();
        Ok(Schema {
            name: name.into(),
            script,
            sequences,
            views: scripts.views(coordinator, &views, &mut self.warnings)?,
            routines: if whole { scripts.routines(coordinator)? } else { Vec::new() },
            triggers: scripts.triggers(coordinator, &table_names)?,
            events: if whole { scripts.events(coordinator)? } else { Vec::new() },
            tables,
        })
    }

    /// A schema of which nothing is dumped but rows.
    fn describe_rows(&mut self, name: &str, plans: &BTreeMap<Name, (TablePlan, Vec<u8>)>) -> Result<Schema> {
        self.place.store.folder(&names::file_name(name))?;
        let plans = plans.values().map(|(plan, _)| plan).filter(|plan| plan.relation.name.schema == name);
        let (elsewhere, plans): (Vec<_>, Vec<_>) = plans.partition(|plan| plan.relation.rows_elsewhere());
        self.warnings.extend(elsewhere.into_iter().map(|plan| kept_elsewhere(&plan.relation.name)));
        Ok(Schema {
            name: name.into(),
            script: Script::default(),
            tables: plans.into_iter().map(|plan| plan.describe(Script::default())).collect(),
            sequences: Vec::new(),
            views: Vec::new(),
            routines: Vec::new(),
            triggers: Vec::new(),
            events: Vec::new(),
        })
    }

    /// Keeps the files of an earlier run that are whole and of tables that are as they were, and removes all others. Gives
    /// the earlier snapshots.
    fn keep_what_is_whole(&mut self, schemas: &[Schema]) -> Result<Vec<Snapshot>> {
        let tables = all_tables(schemas).map(|(schema, table)| (Name::new(&schema, &table.name), table));
        self.kept.sift(&self.place.store, &tables.collect(), self.threads);
        self.kept.belongs_to_earlier();
        let extension = format!(".{}", self.place.compressor.compression().extension());
        for schema in schemas {
            let folder = names::file_name(&schema.name);
            for name in self.place.store.list(&folder)? {
                let file = format!("{folder}/{name}");
                if file.ends_with(&extension) && !self.kept.holds(&file) {
                    self.place.store.remove(&file)?;
                }
            }
        }
        Ok(std::mem::take(&mut self.kept.snapshots))
    }
}

fn is_table(relation: &Relation) -> bool {
    matches!(relation.kind, RelationKind::Table | RelationKind::VersionedTable)
}

fn has_rows(relation: &Relation) -> bool {
    is_table(relation) && !relation.rows_elsewhere()
}

fn all_tables(schemas: &[Schema]) -> impl Iterator<Item = (String, Table)> {
    schemas.iter().flat_map(|schema| schema.tables.iter().map(|table| (schema.name.clone(), table.clone())))
}

/// The earlier snapshots, if any rows belong to them.
fn still_needed(earlier: Vec<Snapshot>, schemas: &[Schema]) -> Vec<Snapshot> {
    let chunks = || schemas.iter().flat_map(|schema| &schema.tables).flat_map(|table| &table.files);
    if chunks().any(|chunk| chunk.earlier.is_some()) { earlier } else { Vec::new() }
}

fn fill_in(schemas: &mut [Schema], mut chunks: BTreeMap<Name, Vec<Chunk>>) {
    for schema in schemas {
        for table in &mut schema.tables {
            table.files = chunks.remove(&Name::new(&schema.name, &table.name)).unwrap_or_default();
        }
    }
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

/// Makes the directory, for this user only, or takes a place that is empty or holds an unfinished dump to go on with.
fn make_place(store: &Store, resume: bool, wanted: &Wanted) -> Result<Kept> {
    store.prepare()?;
    let (place, kind) = (store.path(""), store.kind());
    let is_empty = store.list("")?.is_empty();
    if store.has(crate::format::manifest::FILE_NAME)? {
        return Err(Error::with_hint(
            format!("{}: there is a dump in this {kind} already, and it is whole", place.display()),
            format!("choose another {kind}"),
        ));
    }
    match Kept::load(store)? {
        Some(kept) if resume => Ok(kept),
        Some(_) => Err(Error::with_hint(
            format!("{}: there is an unfinished dump in this {kind}", place.display()),
            format!("--resume goes on with it; or choose another {kind}, or remove this one"),
        )),
        None if is_empty => {
            Journal::begin(store, wanted, Vec::new(), std::iter::empty())?.settle()?;
            Ok(Kept::default())
        }
        None => Err(Error::with_hint(
            format!("{}: the {kind} is not empty", place.display()),
            format!("choose another {kind}; nothing in it says that it is an unfinished dump"),
        )),
    }
}
