//! The dump from its first connection to its manifest.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use drover_db::options::ConnectOptions;
use drover_db::{Connection, Server, Stop, server};
use serde::Serialize;

use super::args::DumpArgs;
use super::catalog::{self, Name, Relation, RelationKind};
use super::grants;
use super::journal::{Journal, Kept, Wanted};
use super::objects::Scripts;
use super::ranges::{self, Range, Ranges};
use super::reader::{self, Job, Patience, Place};
use super::select::{self, Selected};
use super::snapshot::{self, Taken, Wish};
use super::tables::{self, TablePlan};
use crate::error::Doing;
use crate::format::manifest::{Chunk, FORMAT, Manifest, Schema, Snapshot, Table};
use crate::format::names;
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
    wanted: Wanted,
    /// What an earlier run left.
    kept: Kept,
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
        let kept = make_directory(args)?;
        let wanted = kept.join(&args.out, Wanted::new(args))?;
        let place =
            Place { root: args.out.clone(), compressor: args.compress, chunk_bytes: args.chunk_size.0 };
        Ok(Self { args, options, server, selected, threads, place, wanted, kept, warnings: Vec::new() })
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

        progress.phase("looking at what is there");
        let earlier = self.keep_what_is_whole(&schemas)?;
        let snapshots = earlier.iter().chain([&snapshot]).cloned().collect();
        let journal = Journal::begin(&self.args.out, &self.wanted, snapshots, all_tables(&schemas))?;
        progress.phase("dumping");
        let chunks = self.read_rows(taken, &plans, &schemas, &journal, stop, progress)?;
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
            schemas,
            warnings: self.warnings.clone(),
        };
        manifest.store(&self.args.out)?;
        journal.end()?;
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
                let (mut plan, create) = TablePlan::new(connection, table, &mut self.warnings)?;
                plan.is_locked = true;
                plans.insert(plan.relation.name.clone(), (plan, create));
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
        journal: &Journal,
        stop: &Stop,
        progress: &Progress,
    ) -> Result<BTreeMap<Name, Vec<Chunk>>> {
        progress.expect(plans.iter().map(|plan| tables::weight(&plan.relation)).sum());
        let is_locked = |plan: &&TablePlan| plan.is_locked;
        let (locked, free): (Vec<_>, Vec<_>) = plans.iter().partition(is_locked);
        let own: Vec<_> = taken.workers.iter().chain(&taken.table_locks).map(Connection::id).collect();
        let patience = Patience { lock_timeout: self.args.lock_timeout, own: &own };
        let read = |connection: &mut Connection, range: &Range<'_>| {
            reader::read(connection, range, patience, progress)
        };
        let locked = self.jobs(&locked, schemas, journal, progress)?;
        let free = self.jobs(&free, schemas, journal, progress)?;
        let (locked, free) = (self.ranges(&locked)?, self.ranges(&free)?);
        journal.settle()?;
        let mut chunks = BTreeMap::new();
        if let Some(connection) = taken.table_locks.take() {
            // Dropped at the end, it gives the locks back.
            chunks = self.read_ranges(&mut [connection], locked, stop, read)?;
        }
        let then_let_go = |connection: &mut Connection, range: &Range<'_>| {
            and_let_go(connection, |connection| read(connection, range))
        };
        chunks.extend(self.read_ranges(&mut taken.workers, free, stop, then_let_go)?);
        Ok(chunks)
    }

    fn jobs<'b>(
        &'b self,
        plans: &[&'b TablePlan],
        schemas: &'b [Schema],
        journal: &'b Journal,
        progress: &'b Progress,
    ) -> Result<Vec<Job<'b>>> {
        let table = |plan: &TablePlan| described(schemas, &plan.relation.name);
        plans.iter().map(|plan| Ok(Job::new(plan, table(plan)?, &self.place, journal, progress))).collect()
    }

    /// What each table is begun with.
    fn ranges<'b>(&self, jobs: &'b [Job<'b>]) -> Result<Vec<Arc<Range<'b>>>> {
        let mut ranges = Vec::new();
        for job in jobs {
            ranges.extend(Range::of(job, &self.kept.of(job.name()))?.into_iter().map(Arc::new));
        }
        Ok(ranges)
    }

    /// Reads ranges, the largest first, and parts of them when there are no more.
    fn read_ranges(
        &self,
        workers: &mut [Connection],
        ranges: Vec<Arc<Range<'_>>>,
        stop: &Stop,
        read: impl Fn(&mut Connection, &Range<'_>) -> Result<Vec<Chunk>> + Sync,
    ) -> Result<BTreeMap<Name, Vec<Chunk>>> {
        let mut tasks = Vec::new();
        for range in &ranges {
            range.job.has_files(range.kept());
            if range.kept().is_empty() || self.wanted.consistent {
                range.job.has_range();
                tasks.push(Arc::clone(range));
            } else {
                range.job.keeps(range.kept());
                range.is_in(range.kept().to_vec())?;
            }
        }
        tasks.sort_by_key(|range| range.weight()); // the pool takes the last one first
        let ranges = Ranges::new(ranges);
        let work = |connection: &mut Connection, range: Arc<Range<'_>>| {
            range.is_in(read(connection, &range)?)?;
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

    /// Keeps the files of an earlier run that are whole and of tables that are as they were, and removes all others. Gives
    /// the earlier snapshots.
    fn keep_what_is_whole(&mut self, schemas: &[Schema]) -> Result<Vec<Snapshot>> {
        let tables = all_tables(schemas).map(|(schema, table)| (Name::new(&schema, &table.name), table));
        self.kept.sift(&self.args.out, &tables.collect(), self.threads);
        self.kept.belongs_to_earlier();
        let extension = format!(".{}", self.place.compressor.compression().extension());
        for schema in schemas {
            let folder = names::file_name(&schema.name);
            let path = self.args.out.join(&folder);
            for entry in fs::read_dir(&path).map_err(Error::file(&path))? {
                let entry = entry.map_err(Error::file(&path))?;
                let file = format!("{folder}/{}", entry.file_name().to_string_lossy());
                if file.ends_with(&extension) && !self.kept.holds(&file) {
                    fs::remove_file(entry.path()).map_err(Error::file(&entry.path()))?;
                }
            }
        }
        Ok(std::mem::take(&mut self.kept.snapshots))
    }
}

fn all_tables(schemas: &[Schema]) -> impl Iterator<Item = (String, Table)> {
    schemas.iter().flat_map(|schema| schema.tables.iter().map(|table| (schema.name.clone(), table.clone())))
}

/// The earlier snapshots, if any rows belong to them.
fn still_needed(earlier: Vec<Snapshot>, schemas: &[Schema]) -> Vec<Snapshot> {
    let chunks = || schemas.iter().flat_map(|schema| &schema.tables).flat_map(|table| &table.files);
    if chunks().any(|chunk| chunk.earlier.is_some()) { earlier } else { Vec::new() }
}

/// That rows belong to different moments is said, and to which.
fn mixed(earlier: &[Snapshot], snapshot: &Snapshot, schemas: &[Schema]) -> Option<String> {
    let first = earlier.first()?;
    let chunks = || schemas.iter().flat_map(|schema| &schema.tables).flat_map(|table| &table.files);
    let old = chunks().filter(|chunk| chunk.earlier.is_some()).count();
    Some(format!(
        "this dump was ended before its time and went on with a new snapshot: {old} of {} files hold rows of an earlier \
         moment, from {} on, the others of {}; rows that were changed meanwhile may not fit together",
        chunks().count(),
        first.taken_at,
        snapshot.taken_at
    ))
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

/// Makes the directory, for this user only, or takes one that is empty or holds an unfinished dump to go on with.
fn make_directory(args: &DumpArgs) -> Result<Kept> {
    use std::os::unix::fs::DirBuilderExt as _;
    let path = &args.out;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(Error::file(path))?;
    let is_empty = fs::read_dir(path).map_err(Error::file(path))?.next().is_none();
    if path.join(crate::format::manifest::FILE_NAME).exists() {
        return Err(Error::with_hint(
            format!("{}: there is a dump in this directory already, and it is whole", path.display()),
            "choose another directory",
        ));
    }
    match Kept::load(path)? {
        Some(kept) if args.resume => Ok(kept),
        Some(_) => Err(Error::with_hint(
            format!("{}: there is an unfinished dump in this directory", path.display()),
            "--resume goes on with it; or choose another directory, or remove this one",
        )),
        None if is_empty => {
            Journal::begin(path, &Wanted::new(args), Vec::new(), std::iter::empty())?.settle()?;
            Ok(Kept::default())
        }
        None => Err(Error::with_hint(
            format!("{}: the directory is not empty", path.display()),
            "choose another directory; nothing in it says that it is an unfinished dump",
        )),
    }
}
