//! The dump from its first connection to its manifest.

mod reading;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use drover_db::options::ConnectOptions;
use drover_db::session::Use;
use drover_db::{Connection, Server, Stop};
use drover_store::{Lock, Store, lock};
use drover_throttle::{Side, Throttle, Work};
use serde::Serialize;

use super::args::DumpArgs;
use super::by_hand;
use super::catalog::Name;
use super::job::Place;
use super::journal::{Journal, Kept, Wanted};
use super::source::Source;
use crate::error::Doing;
use crate::progress::Progress;
use crate::session;
use crate::{Error, Result};
use drover_format::manifest::{Contents, Manifest, RowFormat, Schema, Snapshot, Table};
use drover_format::names;

/// What a finished dump is.
#[derive(Debug, Clone, Serialize)]
pub struct DumpReport {
    /// Where it is.
    pub directory: PathBuf,
    /// The server that was dumped.
    pub server: Server,
    /// Whether it holds definitions and rows, or one of them only.
    pub contents: Contents,
    /// What stands in the row files.
    pub format: RowFormat,
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
    /// The part of it in which the throttle let the work wait.
    pub paused_seconds: f64,
    /// Workers that read rows.
    pub threads: usize,
    /// From when the first of them had nothing more to read to when the last one was ready.
    pub tail_seconds: f64,
    /// The moment that all rows belong to, but for those that an earlier run wrote.
    pub snapshot: Snapshot,
    /// Of which moments the rows are, if they are of several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mixed: Option<String>,
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
    let chunk_bytes = args.chunk_bytes()?;
    let store = Store::open(&args.out, &args.store)?;
    let _store_watched = store.watch(stop);
    progress.phase("reading the catalogue");
    let mut coordinator = session::open(options, Use::Dump)?;
    let _watched = stop.watch(&coordinator).doing(|| "watching a connection")?;
    let throttle = start_throttle(args, options, &store, stop, progress)?;
    let place = Place { store, format: args.format, compressor: args.compressor(), chunk_bytes };
    let result = Source::new(&args.source, options, place, &throttle, &mut coordinator).and_then(|source| {
        let mut dump = Dump::new(args, source)?;
        dump.run(&mut coordinator, stop, progress)
    });
    let Done { manifest, threads, tail } = match result {
        Err(_) if stop.is_requested() => return Err(Error::Stopped),
        other => other?,
    };
    Ok(DumpReport {
        directory: args.out.clone(),
        server: manifest.server.clone(),
        contents: manifest.contents,
        format: manifest.row_format,
        schemas: manifest.schemas.len(),
        tables: manifest.tables().count(),
        accounts: manifest.users.as_ref().map(|users| users.accounts),
        rows: manifest.rows(),
        bytes: manifest.bytes(),
        stored_bytes: manifest.stored_bytes(),
        seconds: started.elapsed().as_secs_f64(),
        paused_seconds: throttle.paused().as_secs_f64(),
        threads,
        tail_seconds: tail.as_secs_f64(),
        mixed: manifest.mixed(),
        snapshot: manifest.snapshot,
        warnings: manifest.warnings,
    })
}

/// The disk that the dump will be on is watched, if it will be on one: its directory may not be there yet.
fn start_throttle<'a>(
    args: &DumpArgs,
    options: &ConnectOptions,
    store: &Store,
    stop: &'a Stop,
    progress: &'a Progress,
) -> Result<Throttle<'a>> {
    let there = |dir: &Path| dir.ancestors().find(|path| path.is_dir()).map(Path::to_owned);
    let writes_to = store.directory().map(|dir| there(dir).unwrap_or_else(|| ".".into()));
    let side = Side::only(&args.throttle, &args.server, options, Work::Dump(writes_to.as_deref()));
    Ok(Throttle::start(args.throttle.max_rate, &[side], stop, progress)?)
}

/// What a dump comes to.
struct Done {
    manifest: Manifest,
    threads: usize,
    tail: Duration,
}

struct Dump<'a> {
    source: Source<'a>,
    wanted: Wanted,
    /// What an earlier run left.
    kept: Kept,
    /// Keeps other runs out of the directory.
    _lock: Option<Lock>,
}

impl<'a> Dump<'a> {
    fn new(args: &DumpArgs, source: Source<'a>) -> Result<Self> {
        let Place { store, format, compressor, .. } = &source.place;
        let compression = compressor.compression();
        let wanted = Wanted::new(source.args, &source.masks, *format, compression, args.consistent_resume);
        store.prepare()?;
        let lock = Lock::take(store)?;
        let kept = make_place(store, args.resume, &wanted)?;
        let wanted = kept.join(store, "dump", wanted)?;
        Ok(Self { source, wanted, kept, _lock: lock })
    }

    fn run(&mut self, coordinator: &mut Connection, stop: &Stop, progress: &Progress) -> Result<Done> {
        let (taken, mut view) = self.source.view(coordinator, stop, progress)?;
        progress.phase("looking at what is there");
        let shapes = view.shapes();
        let earlier = self.keep_what_is_whole(&view.manifest.schemas, &shapes)?;
        let snapshots = earlier.iter().chain([&view.manifest.snapshot]).cloned().collect();
        let store = &self.source.place.store;
        let journal = Journal::begin(store, &self.wanted, snapshots, &shapes)?;
        progress.phase("dumping");
        let (chunks, tail) = self.read_rows(taken, &view, &journal, stop, progress)?;
        view.complete(chunks, earlier);
        progress.phase("writing the manifest");
        if view.manifest.row_format == RowFormat::Sql {
            view.manifest.by_hand = Some(by_hand::write(store, &view.manifest, &view.views)?);
        }
        check_sizes(store, &view.manifest)?;
        store.sync()?;
        view.manifest.store(store)?;
        journal.end()?;
        lock::leave_prefix(store)?;
        Ok(Done { manifest: view.manifest, threads: self.source.threads, tail })
    }

    /// Keeps the files of an earlier run that are whole and of tables that are as they were, and removes all others. Gives
    /// the earlier snapshots.
    fn keep_what_is_whole(
        &mut self,
        schemas: &[Schema],
        shapes: &BTreeMap<Name, Table>,
    ) -> Result<Vec<Snapshot>> {
        let Source { place, threads, .. } = &self.source;
        self.kept.sift(&place.store, shapes, *threads);
        self.kept.belongs_to_earlier();
        let extension = format!(".{}", place.extension());
        for schema in schemas {
            let folder = names::file_name(&schema.name);
            let has_rows = self.source.contents.has_rows();
            let whole = schema.tables.iter().filter(|table| has_rows && !table.rows_elsewhere);
            let whole: BTreeSet<_> =
                whole.map(|table| names::path(&schema.name, &table.name) + &extension).collect();
            let is_rows = |file: &str| match place.format.is_one_file() {
                true => whole.contains(file), // a script's name may end in the same way
                false => file.ends_with(&extension),
            };
            for name in place.store.list(&folder)? {
                let file = format!("{folder}/{name}");
                if is_rows(&file) && !self.kept.holds(&file) {
                    place.store.remove(&file)?;
                }
            }
        }
        Ok(std::mem::take(&mut self.kept.snapshots))
    }
}

/// Takes a place that is empty or holds an unfinished dump to go on with.
fn make_place(store: &Store, resume: bool, wanted: &Wanted) -> Result<Kept> {
    let (place, kind) = (store.path(""), store.kind());
    let is_empty = store.is_empty()?;
    refuse_whole(store)?;
    if resume || is_empty {
        lock::take_prefix(store)?;
        // One that was alive may have come to its end meanwhile.
        refuse_whole(store)?;
    }
    match Kept::load(store)? {
        Some(kept) if resume => Ok(kept),
        Some(_) => Err(Error::with_hint(
            format!("{}: there is an unfinished dump in this {kind}", place.display()),
            format!("--resume resumes it; or choose another {kind}, or remove this one"),
        )),
        None if is_empty => {
            Journal::begin(store, wanted, Vec::new(), &BTreeMap::new())?.settle()?;
            Ok(Kept::default())
        }
        None => Err(Error::with_hint(
            format!("{}: the {kind} is not empty", place.display()),
            format!("choose another {kind}; nothing in it says that it is an unfinished dump"),
        )),
    }
}

fn refuse_whole(store: &Store) -> Result<()> {
    let (place, kind) = (store.path(""), store.kind());
    if store.has(drover_format::manifest::FILE_NAME)? {
        return Err(Error::with_hint(
            format!("{}: there is a dump in this {kind} already, and it is whole", place.display()),
            format!("choose another {kind}"),
        ));
    }
    Ok(())
}

/// The row files must be as long as the manifest is about to say.
fn check_sizes(store: &Store, manifest: &Manifest) -> Result<()> {
    let files: Vec<_> = manifest.tables().flat_map(|(_, table)| &table.files).collect();
    let sizes = store.sizes(files.iter().map(|file| file.file.as_str()))?;
    match files.iter().zip(sizes).find(|(file, size)| file.stored_bytes != *size) {
        None => Ok(()),
        Some((file, size)) => Err(Error::with_hint(
            format!(
                "{}: {size} bytes are there, {} were written: something else has changed it",
                store.path(&file.file).display(),
                file.stored_bytes
            ),
            "--resume writes it anew",
        )),
    }
}
