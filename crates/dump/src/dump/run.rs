//! The dump from its first connection to its manifest.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use drover_db::options::ConnectOptions;
use drover_db::{Connection, Server, Stop, server};
use serde::Serialize;

use super::args::DumpArgs;
use super::catalog::{self, Name, Relation, RelationKind};
use super::grants;
use super::objects::Scripts;
use super::ranges::{self, Range, Ranges};
use super::reader::{self, Job, Patience, Place};
use super::select::{self, Selected};
use super::snapshot::{self, Taken, Wish};
use super::tables::{self, TablePlan};
use crate::error::Doing;
use crate::format::manifest::{Chunk, FORMAT, Manifest, Schema, Snapshot, Table};
use crate::progress::Progress;
use crate::session::{self, Purpose};
use crate::{Error, Result, pool};

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
    /// How many schemas it holds.
    pub schemas: usize,
    /// How many tables it holds.
    pub tables: usize,
    /// Rows in all tables.
    pub rows: u64,
    /// Bytes of the rows' text.
    pub bytes: u64,
    /// Bytes of the row files as stored.
    pub stored_bytes: u64,
    /// Wall-clock time of the whole command.
    pub seconds: f64,
    /// Workers that read rows.
    pub threads: usize,
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
    progress.phase("reading the catalogue");
    let mut coordinator = session::open(options, Purpose::Dump)?;
    let _watched = stop.watch(&coordinator).doing(|| "watching a connection")?;
    let result = Dump::new(args, options, &mut coordinator)
        .and_then(|mut dump| dump.run(&mut coordinator, stop, progress, started_at));
    let (manifest, threads) = match result {
        Err(_) if stop.is_requested() => return Err(Error::Stopped),
        other => other?,
    };
    Ok(DumpReport {
        directory: args.out.clone(),
        server: manifest.server.clone(),
        schemas: manifest.schemas.len(),
        tables: manifest.tables().count(),
        rows: manifest.rows(),
        bytes: manifest.bytes(),
        stored_bytes: manifest.stored_bytes(),
        seconds: started.elapsed().as_secs_f64(),
        threads,
        snapshot: manifest.snapshot,
        warnings: manifest.warnings,
    })
}

struct Dump<'a> {
    args: &'a DumpArgs,
    options: &'a ConnectOptions,
    server: Server,
    selected: Selected,
    threads: usize,
    place: Place,
    warnings: Vec<String>,
}

impl<'a> Dump<'a> {
    fn new(args: &'a DumpArgs, options: &'a ConnectOptions, coordinator: &mut Connection) -> Result<Self> {
        let server = Server::of(coordinator).doing(|| "asking for the server's version")?;
        let schemas = catalog::schemas(coordinator)?;
        let selected = select::select(args, &schemas, catalog::relations(coordinator)?)?;
        grants::check(coordinator, &selected)?;
        let threads = match args.threads {
            Some(threads) => usize::from(threads),
            None => session::default_threads(coordinator)?,
        };
        make_directory(&args.out)?;
        let place =
            Place { root: args.out.clone(), compressor: args.compress, chunk_bytes: args.chunk_size.0 };
        Ok(Self { args, options, server, selected, threads, place, warnings: Vec::new() })
    }

    fn run(
        &mut self,
        coordinator: &mut Connection,
        stop: &Stop,
        progress: &Progress,
        started_at: String,
    ) -> Result<(Manifest, usize)> {
        let without_transactions = self.without_transactions(coordinator)?;
        progress.phase("taking the snapshot");
        let mut taken = self.take_snapshot(coordinator, &without_transactions, stop)?;
        progress.phase("reading the definitions");
        let (mut schemas, plans) =
            self.describe(coordinator, taken.table_locks.as_mut(), &without_transactions)?;
        snapshot::release_ddl(coordinator)?;
        let settings = settings(coordinator)?;
        let snapshot = taken.snapshot.clone();
        self.warnings.extend(taken.warnings.iter().cloned());

        progress.phase("dumping");
        let chunks = self.read_rows(taken, &plans, &schemas, &without_transactions, stop, progress)?;
        fill_in(&mut schemas, chunks);
        self.warnings.extend(retyped(&schemas));
        progress.phase("writing the manifest");
        let manifest = Manifest {
            format: FORMAT,
            drover: env!("CARGO_PKG_VERSION").into(),
            server: self.server.clone(),
            settings,
            snapshot,
            started_at,
            finished_at: jiff::Timestamp::now().to_string(),
            compression: self.args.compress.compression(),
            schemas,
            warnings: self.warnings.clone(),
        };
        manifest.store(&self.args.out)?;
        Ok((manifest, self.threads))
    }

    fn tables(&self) -> impl Iterator<Item = &Relation> {
        let is_table = |relation: &&Relation| {
            matches!(relation.kind, RelationKind::Table | RelationKind::VersionedTable)
        };
        self.selected.relations.iter().filter(is_table)
    }

    /// Tables that no transaction can show as they were; one that the server cannot open is an error.
    fn without_transactions(&self, coordinator: &mut Connection) -> Result<BTreeSet<Name>> {
        let engines = catalog::transactional_engines(coordinator)?;
        let mut names = BTreeSet::new();
        for table in self.tables() {
            match &table.engine {
                None => return Err(cannot_open(coordinator, &table.name)),
                Some(engine) if engines.contains(engine) || table.rows_elsewhere() => {}
                Some(_) => drop(names.insert(table.name.clone())),
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
        let without_transactions: Vec<_> = without_transactions.iter().cloned().collect();
        let wish = Wish {
            options: self.options,
            vendor: self.server.vendor,
            threads: self
                .threads
                .min(self.tables().map(|table| ranges::most_workers(table, &self.place)).sum())
                .max(1),
            lock_timeout: self.args.lock_timeout,
            tables: &tables,
            without_transactions: &without_transactions,
            own: &[],
            stop,
        };
        snapshot::take(coordinator, &wish)
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
            plans.insert(table.name.clone(), TablePlan::new(coordinator, table, &mut self.warnings)?);
        }
        if let Some(connection) = table_locks {
            for table in locked {
                plans.insert(table.name.clone(), TablePlan::new(connection, table, &mut self.warnings)?);
            }
        }
        let mut names: BTreeSet<String> = self.selected.whole.clone();
        names.extend(self.selected.relations.iter().map(|relation| relation.name.schema.clone()));
        let schemas: Result<Vec<_>> =
            names.iter().map(|name| self.describe_schema(coordinator, name, &plans)).collect();
        let plans = plans.into_values().map(|(plan, _)| plan).filter(|plan| !plan.relation.rows_elsewhere());
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
        let (scripts, script) = Scripts::begin(coordinator, &self.place.root, name)?;
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
                        let name = &plan.relation.name;
                        self.warnings.push(format!(
                            "table {name} shows rows that are kept elsewhere: they are not in the dump"
                        ));
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

    /// Reads all tables: first those that are locked, so that they can be unlocked, then the others, largest first.
    fn read_rows(
        &self,
        mut taken: Taken,
        plans: &[TablePlan],
        schemas: &[Schema],
        without_transactions: &BTreeSet<Name>,
        stop: &Stop,
        progress: &Progress,
    ) -> Result<BTreeMap<Name, Vec<Chunk>>> {
        progress.expect(plans.iter().map(|plan| tables::weight(&plan.relation)).sum());
        let is_locked = |plan: &&TablePlan| without_transactions.contains(&plan.relation.name);
        let (locked, free): (Vec<_>, Vec<_>) = plans.iter().partition(is_locked);
        let own: Vec<_> = taken.workers.iter().chain(&taken.table_locks).map(Connection::id).collect();
        let patience = Patience { lock_timeout: self.args.lock_timeout, own: &own };
        let read = |connection: &mut Connection, range: &Range<'_>| {
            reader::read(connection, range, patience, progress)
        };
        let mut chunks = BTreeMap::new();
        if let Some(connection) = taken.table_locks.take() {
            // Dropped at the end, it gives the locks back.
            chunks = read_tables(&mut [connection], &self.jobs(&locked, schemas, progress)?, stop, read)?;
        }
        let then_let_go = |connection: &mut Connection, range: &Range<'_>| {
            and_let_go(connection, |connection| read(connection, range))
        };
        chunks.extend(read_tables(
            &mut taken.workers,
            &self.jobs(&free, schemas, progress)?,
            stop,
            then_let_go,
        )?);
        Ok(chunks)
    }

    fn jobs<'b>(
        &'b self,
        plans: &[&'b TablePlan],
        schemas: &'b [Schema],
        progress: &'b Progress,
    ) -> Result<Vec<Job<'b>>> {
        let table = |plan: &TablePlan| described(schemas, &plan.relation.name);
        plans.iter().map(|plan| Ok(Job::new(plan, table(plan)?, &self.place, progress))).collect()
    }
}

/// Reads tables, largest first, and parts of tables when there are no more tables.
fn read_tables(
    workers: &mut [Connection],
    jobs: &[Job<'_>],
    stop: &Stop,
    read: impl Fn(&mut Connection, &Range<'_>) -> Result<Vec<Chunk>> + Sync,
) -> Result<BTreeMap<Name, Vec<Chunk>>> {
    let ranges: Vec<_> = jobs.iter().flat_map(Range::of).map(Arc::new).collect();
    let mut tasks = ranges.clone();
    tasks.sort_by_key(|range| range.weight()); // the pool takes the last one first
    let ranges = Ranges::new(ranges);
    let work = |connection: &mut Connection, range: Arc<Range<'_>>| {
        range.is_in(read(connection, &range)?);
        Ok(Vec::new())
    };
    let seek = |connection: &mut Connection| and_let_go(connection, |connection| ranges.take(connection));
    pool::run(workers, tasks, stop, work, seek)?;
    let mut chunks: BTreeMap<Name, Vec<Chunk>> = BTreeMap::new();
    for range in ranges.into_inner() {
        chunks.entry(range.job.name().clone()).or_default().extend(range.into_chunks());
    }
    Ok(chunks)
}

/// Undoing a savepoint gives back the locks on tables' definitions, so that DDL need not wait for the dump's end.
fn and_let_go<T>(connection: &mut Connection, work: impl FnOnce(&mut Connection) -> Result<T>) -> Result<T> {
    connection.execute("SAVEPOINT drover").doing(|| "setting a savepoint")?;
    let result = work(connection)?;
    connection.execute("ROLLBACK TO SAVEPOINT drover").doing(|| "undoing a savepoint")?;
    Ok(result)
}

fn described<'a>(schemas: &'a [Schema], name: &Name) -> Result<&'a Table> {
    schemas
        .iter()
        .filter(|schema| schema.name == name.schema)
        .flat_map(|schema| &schema.tables)
        .find(|table| table.name == name.name)
        .ok_or_else(|| Error::found(format!("table {name} was never described")))
}

fn fill_in(schemas: &mut [Schema], mut chunks: BTreeMap<Name, Vec<Chunk>>) {
    for schema in schemas {
        for table in &mut schema.tables {
            table.files = chunks.remove(&Name::new(&schema.name, &table.name)).unwrap_or_default();
        }
    }
}

/// What text cannot keep is said for each table.
fn retyped(schemas: &[Schema]) -> Vec<String> {
    let tables = schemas.iter().flat_map(|schema| schema.tables.iter().map(move |table| (schema, table)));
    let rows = tables.map(|(schema, table)| {
        (Name::new(&schema.name, &table.name), table.files.iter().map(|file| file.retyped).sum::<u64>())
    });
    let say = |(name, rows): (Name, u64)| {
        format!(
            "table {name}: {rows} rows hold JSON with a DECIMAL inside, which loading makes a DOUBLE: 1.10 becomes 1.1, and \
             digits beyond the 17th are lost"
        )
    };
    rows.filter(|(_, rows)| *rows > 0).map(say).collect()
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

/// Makes the directory, for this user only, or takes one that is empty.
fn make_directory(path: &Path) -> Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    match fs::DirBuilder::new().recursive(true).mode(0o700).create(path) {
        Ok(()) => {}
        Err(source) => return Err(Error::File { path: path.to_owned(), source }),
    }
    let first = fs::read_dir(path).map_err(Error::file(path))?.next().transpose();
    let first: Option<fs::DirEntry> =
        first.map_err(|source: io::Error| Error::File { path: path.to_owned(), source })?;
    match first {
        None => Ok(()),
        Some(_) if path.join(crate::format::manifest::FILE_NAME).exists() => Err(Error::with_hint(
            format!("{}: there is a dump in this directory already", path.display()),
            "choose another directory",
        )),
        Some(_) => Err(Error::with_hint(
            format!("{}: the directory is not empty", path.display()),
            "choose another directory, or remove this one if it is what is left of an unfinished dump",
        )),
    }
}
