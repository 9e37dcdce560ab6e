//! The restore from the manifest to the proof.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use drover_db::options::ConnectOptions;
use drover_db::session::Use;
use drover_db::{Connection, Server, Stop};
use drover_store::Store;
use drover_throttle::{Side, Throttle, Work};

use super::args::RestoreArgs;
use super::begun::Begun;
use super::check::{Preparation, Prepared, may_create};
use super::job::Restore;
use super::load::Load;
use super::parts;
use super::rename::{Case, Renames};
use super::report::RestoreReport;
use super::steps::{Steps, lock_schemas, note_of_restore};
use super::targets::{Coming, Target, is_transactional, kill};
use super::users::Users;
use super::verify;
use crate::definer::Definers;
use crate::dump::warnings::lost_documents;
use crate::error::Doing;
use crate::progress::Progress;
use crate::session;
use crate::translate::Translator;
use crate::{Error, Result, pool};
use drover_format::Rewrite;
use drover_format::manifest::{Manifest, RowFormat};
use drover_format::row_file;

/// Restores a dump.
///
/// # Errors
/// If anything of the dump could not be restored as it was; what was restored until then stays.
pub fn restore(
    args: &RestoreArgs,
    options: &ConnectOptions,
    stop: &Stop,
    progress: &Progress,
) -> Result<RestoreReport> {
    let started = Instant::now();
    let options = &args.target.options(options);
    progress.phase("reading the manifest");
    let store = &Store::open(&args.dir, &args.store)?;
    let _store_watched = store.watch(stop);
    let manifest = Manifest::with_rows(store)?;
    if manifest.row_format == RowFormat::Csv && manifest.contents.has_rows() {
        return Err(row_file::not_read_back(store).into());
    }
    let mut coordinator = session::open(options, Use::Restore)?;
    let _watched = stop.watch(&coordinator).doing(|| "watching a connection")?;
    let renames = Renames::new(&args.target.into, &manifest, Case::of(&mut coordinator)?)?;
    let skip = args.target.skip_refused;
    let definers = &Definers::of(&args.target.definer, &mut coordinator)?;
    let definers_changed = may_create(store, &manifest, definers, &mut coordinator, skip, args.users)?;
    let preparation = Preparation {
        store,
        options,
        stop,
        progress,
        renames: &renames,
        definers,
        always: skip,
        note: Some(note_of_restore(&manifest, &renames)),
        is_check: false,
        resume: args.resume,
    };
    let Prepared { manifest, translator, told, .. } = preparation.for_target(&manifest, &mut coordinator)?;
    let side = Side::only(&args.throttle, &args.server, options, Work::Restore);
    let throttle = &Throttle::start(args.throttle.max_rate, &[side], stop, progress)?;
    let restore = Restore {
        args: &args.target,
        resume: args.resume,
        users: args.users,
        options,
        store,
        manifest: &manifest,
        renames: &renames,
        definers,
        definers_changed,
        translator: translator.as_ref(),
        throttle,
        stop,
        progress,
    };
    let mut report = match restore.run(&mut coordinator, args.threads) {
        Err(_) if stop.is_requested() => return Err(Error::Stopped),
        other => other?,
    };
    report.warnings.splice(0..0, told);
    report.seconds = started.elapsed().as_secs_f64();
    report.paused_seconds = throttle.paused().as_secs_f64();
    Ok(report)
}

/// A table whose files are being loaded.
struct Filling<'t> {
    target: &'t Target<'t>,
    /// The files that are to be loaded.
    files: Vec<usize>,
    /// How many of them have not been.
    left: AtomicUsize,
}

enum Task<'t> {
    Load(&'t Filling<'t>, usize),
    Index(&'t Target<'t>),
}

impl Restore<'_> {
    fn run(&self, coordinator: &mut Connection, threads: Option<u16>) -> Result<RestoreReport> {
        let threads = match threads {
            Some(threads) => usize::from(threads),
            None => session::default_threads(coordinator)?,
        };
        // What is there is looked at, and proved again, while nobody else fills it.
        lock_schemas(coordinator, self.manifest, self.renames)?;
        let steps = Steps::of_restore(coordinator, self.manifest, self.renames)?;
        let has_no_steps = self.resume && !steps.is_there;
        if has_no_steps && !self.args.drop_existing {
            steps.refuse_others()?;
        }
        if has_no_steps && self.has_all(coordinator)? {
            let proof = self.prove_again(coordinator, &steps, threads)?;
            let is_proved = proof.verify.as_ref().is_some_and(|verify| verify.differences.is_empty());
            if is_proved || !self.args.drop_existing {
                return Ok(proof);
            }
        }
        let mut begun = self.begin(coordinator, steps)?;
        let filled = self.fill(coordinator, &mut begun, threads);
        // With the first error all connections are broken.
        filled.map_err(|error| match session::open(self.options, Use::Restore) {
            Ok(mut connection) => begun.steps.explained(&mut connection, error),
            Err(_) => error,
        })
    }

    fn fill(&self, coordinator: &mut Connection, begun: &mut Begun, threads: usize) -> Result<RestoreReport> {
        let server = begun.server.clone();
        let targets = self.create_tables(coordinator, begun, |_, table| Coming {
            bytes: table.bytes(),
            keeps: is_transactional(table) && !parts::are_needed(&server, table),
        })?;
        let loading = Instant::now();
        self.expect(&targets);
        self.progress.phase("loading");
        let (loaded, fewer) = self.load_rows(&targets, begun, threads)?;
        let mut report = self.finish(coordinator, begun, &targets, self.manifest, loading, threads)?;
        begun.steps.check_own(coordinator)?;
        begun.steps.end(coordinator)?;
        report.warnings.extend(fewer);
        Ok(RestoreReport { there_bytes: report.bytes.saturating_sub(loaded), ..report })
    }

    /// Proves what an earlier run has completed, also with `--no-verify`: it may have been ended before it could say so, and nothing else
    /// tells that all is there. Accounts that are not are made.
    pub(crate) fn prove_again(
        &self,
        coordinator: &mut Connection,
        steps: &Steps,
        threads: usize,
    ) -> Result<RestoreReport> {
        let mut users = self.users(coordinator, steps)?;
        let mut verify = self.prove(self.manifest, threads)?;
        if let Some(users) = &mut users {
            users.create(coordinator)?;
            users.finish(coordinator)?;
            users.verify(coordinator, &mut verify)?;
        }
        let verify = Some(verify);
        let mut warnings = vec!["all of it was there already: nothing was loaded".into()];
        let events_off = self.events_of_earlier(coordinator, verify.as_ref(), &mut warnings)?;
        let server = Server::of(coordinator).doing(|| "asking for the server's version")?;
        Ok(RestoreReport {
            rewrites: self.rewrites(&server),
            server,
            tables: self.manifest.tables().count(),
            rows: self.manifest.rows(),
            bytes: self.manifest.bytes(),
            there_bytes: self.manifest.bytes(),
            seconds: 0.0,
            paused_seconds: 0.0,
            load_seconds: 0.0,
            definers_changed: 0,
            mixed: self.manifest.mixed(),
            warnings,
            users: users.map(Users::report),
            events_off,
            events_unsure: None,
            refused: self.translator.map(Translator::refused).unwrap_or_default(),
            verify,
        })
    }

    /// What the target has otherwise than the dump. Of a copy it is known what its rows have lost when they have been read.
    pub(super) fn rewrites(&self, server: &Server) -> Vec<Rewrite> {
        let mut rewrites = self.translator.map(Translator::rewrites).unwrap_or_default();
        rewrites.extend(lost_documents(self.manifest, server).filter(|_| !self.manifest.copied));
        rewrites
    }

    fn expect(&self, targets: &[Target<'_>]) {
        let work = targets.iter().map(|target| target.table.bytes() + target.index_work()).sum();
        self.progress.expect(work);
        if !self.args.no_verify {
            self.progress.expect(verify::work(self.manifest));
        }
    }

    /// Loads all files that have not been, the largest first; a table's indexes are built as soon as its last file is in. The bytes of
    /// their text, and whether there were fewer workers than asked for.
    fn load_rows(
        &self,
        targets: &[Target<'_>],
        begun: &Begun,
        threads: usize,
    ) -> Result<(u64, Option<String>)> {
        let steps = &begun.steps;
        let fillings: Vec<_> = targets.iter().map(|target| Filling::new(target, steps)).collect();
        let bytes = fillings.iter().map(Filling::bytes).sum();
        let mut tasks: Vec<_> = fillings
            .iter()
            .flat_map(|filling| filling.files.iter().map(move |&file| Task::Load(filling, file)))
            .collect();
        let loaded =
            fillings.iter().filter(|filling| filling.files.is_empty() && !filling.target.keys.is_empty());
        tasks.extend(loaded.map(|filling| Task::Index(filling.target)));
        tasks.sort_by_key(|task| match task {
            Task::Load(filling, file) => filling.target.table.files[*file].bytes,
            Task::Index(_) => 0,
        });
        let threads = threads.min(tasks.len().max(1));
        let mut connections = session::open_many(self.options, Use::Restore, threads)?;
        let fewer = session::fewer(threads, &connections);
        steps.mark(&mut connections)?;
        let ids: Vec<_> = connections.iter().map(Connection::id).collect();
        let result = pool::run(
            &mut connections,
            tasks,
            self.stop,
            |connection, task| self.work(connection, task, &begun.server, steps),
            pool::nothing_to_seek,
        );
        if result.is_err() {
            kill(self.options, &ids);
        }
        result.map(|_| (bytes, fewer))
    }

    fn work<'t>(
        &self,
        connection: &mut Connection,
        task: Task<'t>,
        server: &Server,
        steps: &Steps,
    ) -> Result<Vec<Task<'t>>> {
        match task {
            Task::Load(filling, file) => {
                let target = filling.target;
                let in_parts = parts::are_needed(server, target.table);
                let has_steps = is_transactional(target.table) && !in_parts;
                let load = Load {
                    store: self.store,
                    manifest: self.manifest,
                    target,
                    chunk: &target.table.files[file],
                    steps: has_steps.then_some(steps),
                    current: self.translator.and_then(|translator| translator.current(target.table)),
                    throttle: self.throttle,
                    progress: self.progress,
                    counted: Cell::new(0),
                    in_parts,
                    has_begun: Cell::new(false),
                };
                load.run(connection)?;
                let was_last = filling.left.fetch_sub(1, Ordering::SeqCst) == 1;
                Ok(if was_last && !target.keys.is_empty() { vec![Task::Index(target)] } else { Vec::new() })
            }
            Task::Index(target) => {
                target.add_keys(connection)?;
                self.progress.done(target.index_work());
                Ok(Vec::new())
            }
        }
    }
}

impl<'t> Filling<'t> {
    fn new(target: &'t Target<'t>, steps: &Steps) -> Self {
        let is_left = |file: &usize| !target.keeps || !steps.has(&target.table.files[*file].file);
        let files: Vec<_> = (0..target.table.files.len()).filter(is_left).collect();
        let left = AtomicUsize::new(files.len());
        Self { target, files, left }
    }

    fn bytes(&self) -> u64 {
        self.files.iter().map(|&file| self.target.table.files[file].bytes).sum()
    }
}
