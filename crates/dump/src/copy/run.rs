//! The copy from its first connections to the proof.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

use drover_db::options::ConnectOptions;
use drover_db::session::Use;
use drover_db::{Connection, Server, Stop, Vendor};
use drover_store::{Lock, Store};
use drover_throttle::{Side, Throttle, Work};
use serde::Serialize;

use super::args::CopyArgs;
use super::earlier::{Earlier, relations};
use super::rows::{Filled, Filling};
use super::same;
use super::state::{self, Standing, State};
use crate::definer::Definers;
use crate::dump::catalog::Name;
use crate::dump::hold;
use crate::dump::job::Place;
use crate::dump::journal::{self, Journal, Kept, Wanted};
use crate::dump::source::{Holds, Source, View};
use crate::dump::tables::TablePlan;
use crate::dump::warnings::{lost_documents, lost_zeros};
use crate::dump::wish::Taken;
use crate::error::Doing;
use crate::progress::Progress;
use crate::restore::begun::Begun;
use crate::restore::check::{Preparation, Prepared, may_create};
use crate::restore::job::Restore;
use crate::restore::rename::{Case, Renames};
use crate::restore::steps::{Steps, lock_schemas};
use crate::restore::targets::{Coming, Target, is_transactional};
use crate::restore::{RestoreReport, rows_only};
use crate::session;
use crate::translate::Translator;
use crate::translate::{no_history, takes_history};
use crate::{Error, Result};
use drover_format::files::Compressor;
use drover_format::manifest::{Contents, Manifest, RowFormat, Schema, Snapshot, Table, TargetOutcome};
use drover_format::{NotHeld, Rewrite};

/// What came of a copy.
#[derive(Debug, Clone, Serialize)]
pub struct CopyReport {
    /// The server that was read.
    pub from: Server,
    /// The directory that notes what was copied.
    pub state: PathBuf,
    /// Whether definitions and rows were copied, or one of them only.
    pub contents: Contents,
    /// How many schemas were copied.
    pub schemas: usize,
    /// Workers that copied rows.
    pub threads: usize,
    /// From when the first of them had nothing more to do to when the last one was ready.
    pub tail_seconds: f64,
    /// Chunks whose rows had to be sent again.
    pub sent_again: u64,
    /// The moment that all rows belong to, but for those that an earlier run copied.
    pub snapshot: Snapshot,
    /// The moments of earlier runs whose rows are there too.
    pub earlier_snapshots: Vec<Snapshot>,
    /// What to know of the rows and of the server that was read.
    pub source_warnings: Vec<String>,
    /// What became of the server that was filled.
    #[serde(flatten)]
    pub restore: RestoreReport,
}

/// Copies what `args` asks for.
///
/// # Errors
/// If anything asked for could not be copied as it was at the snapshot; what was copied until then stays.
pub fn copy(
    args: &CopyArgs,
    from: &ConnectOptions,
    to: &ConnectOptions,
    stop: &Stop,
    progress: &Progress,
) -> Result<CopyReport> {
    let started = Instant::now();
    match connect(args, from, to, stop, progress) {
        Err(_) if stop.is_requested() => Err(Error::Stopped),
        Err(error) => Err(error),
        Ok(mut report) => {
            report.restore.seconds = started.elapsed().as_secs_f64();
            Ok(report)
        }
    }
}

fn connect(
    args: &CopyArgs,
    from: &ConnectOptions,
    to: &ConnectOptions,
    stop: &Stop,
    progress: &Progress,
) -> Result<CopyReport> {
    if let Some(schema) = from.database.as_ref().or(to.database.as_ref()) {
        return Err(Error::with_hint(
            format!("a server to copy from or to was given with the schema '{schema}'"),
            "name the schemas to be copied after the options, and with --into OLD=NEW what they become",
        ));
    }
    progress.phase("reading the catalogue");
    let to = &args.target.options(to);
    let store = Store::Directory(state::directory(args, from, to)?);
    let mut source = session::open(from, Use::Dump)?;
    let mut target = session::open(to, Use::Restore)?;
    let watch = |connection: &Connection| stop.watch(connection).doing(|| "watching a connection");
    let _watched = (watch(&source)?, watch(&target)?);
    let throttle = start_throttle(args, from, to, stop, progress)?;
    let (format, compressor) = (RowFormat::default(), Compressor::NONE);
    let place = Place { store, format, compressor, chunk_bytes: args.chunk_size.0 };
    let source_of_rows = Source::new(&args.source, from, place, &throttle, &mut source)?;
    let is_same = same::refuse(&mut source, &mut target, &source_of_rows.selected, &args.target.into)?;
    if is_same {
        // A global lock of somebody else waits for the tables that are locked here, and what is written here for that lock.
        session::limit_lock_wait(&mut target, args.source.lock_timeout)?;
    }
    let mut copy =
        Copy { args, from, to, throttle: &throttle, stop, progress, source: source_of_rows, is_same };
    let mut report = copy.run(&mut source, &mut target)?;
    report.restore.paused_seconds = throttle.paused().as_secs_f64();
    Ok(report)
}

fn start_throttle<'a>(
    args: &CopyArgs,
    from: &ConnectOptions,
    to: &ConnectOptions,
    stop: &'a Stop,
    progress: &'a Progress,
) -> Result<Throttle<'a>> {
    let (source, target) = (args.source_server(), args.target_server());
    let source = Side {
        name: Some("source"),
        args: args.source_throttle(),
        server: &source,
        options: from,
        work: Work::Dump(None),
    };
    let target = Side {
        name: Some("target"),
        args: args.throttle.clone(),
        server: &target,
        options: to,
        work: Work::Restore,
    };
    Ok(Throttle::start(args.throttle.max_rate, &[source, target], stop, progress)?)
}

struct Copy<'a> {
    args: &'a CopyArgs,
    from: &'a ConnectOptions,
    to: &'a ConnectOptions,
    throttle: &'a Throttle<'a>,
    stop: &'a Stop,
    progress: &'a Progress,
    source: Source<'a>,
    /// Whether both are one server.
    is_same: bool,
}

/// What is to be copied, as the source has it and as the target takes it.
struct Plan {
    view: View,
    /// As yet without rows.
    manifest: Manifest,
    translator: Option<Translator>,
    renames: Renames,
    definers: Definers,
    definers_changed: usize,
}

/// The rows that are to come, and what an earlier run has copied of them.
struct Rows {
    taken: Taken,
    kept: Kept,
    wanted: Wanted,
    /// Those that stay behind.
    history: Vec<Rewrite>,
}

impl Copy<'_> {
    fn run(&mut self, source: &mut Connection, target: &mut Connection) -> Result<CopyReport> {
        if self.args.source.threads.is_none() {
            self.source.threads = self.source.threads.min(session::default_threads(target)?);
        }
        let wanted = Wanted::new(
            &self.args.source,
            &self.source.masks,
            self.source.place.format,
            Compressor::NONE.compression(),
            self.args.consistent_resume,
        );
        self.store().prepare()?;
        let _lock = Lock::take(self.store())?;
        let (state, standing) = self.take_state(&wanted)?;
        let kept = match standing {
            Standing::Open(kept) => kept,
            Standing::Whole => return self.finished(&state, target),
        };
        let wanted = kept.join(self.store(), "copy", wanted)?;
        self.source.holds = held_by(target, &self.source.server)?;
        let (mut taken, view) = self.source.view(source, self.stop, self.progress)?;
        let plan = self.plan(view, target, state.note())?;
        let history = match taken.workers.first_mut() {
            Some(worker) => hold::and_let_go(worker, |worker| lost_history(&self.source, worker))?,
            None => Vec::new(),
        };
        self.carry_out(plan, Rows { taken, kept, wanted, history }, state, target)
    }

    fn store(&self) -> &Store {
        &self.source.place.store
    }

    fn take_state(&self, wanted: &Wanted) -> Result<(State, Standing)> {
        let schemas = self.source.selected.schemas();
        // Without a schema there are accounts alone.
        let first = schemas.first().map_or("", String::as_str);
        let renamed = self.args.target.into.iter().find(|rename| rename.old == first);
        let steps_in = renamed.map_or(first, |rename| rename.new.as_str());
        let state = State::new(self.args, self.from, self.to, steps_in);
        state.take(self.args, self.store(), wanted)
    }

    /// Finds out what the target takes of what the source has; nothing is changed there.
    fn plan(&self, mut view: View, target: &mut Connection, note: Name) -> Result<Plan> {
        view.manifest.copied = true;
        let skip = self.args.target.skip_refused;
        let (store, users) = (self.store(), self.args.source.users);
        let definers = Definers::of(&self.args.target.definer, target)?;
        let definers_changed = may_create(store, &view.manifest, &definers, target, skip, users)?;
        let renames = &Renames::new(&self.args.target.into, &view.manifest, Case::of(target)?)?;
        let preparation = Preparation {
            store,
            options: self.to,
            stop: self.stop,
            progress: self.progress,
            renames,
            definers: &definers,
            always: skip,
            note: Some(note),
            is_check: false,
            resume: false,
        };
        let prepared = preparation.run(&view.manifest, target)?;
        let Prepared { mut manifest, translator, told, .. } = prepared.without_refused(skip)?;
        view.manifest.warnings.extend(told);
        if let Some(translator) = &translator {
            view.manifest = translator.without_refused(&view.manifest);
        }
        let renames = Renames::new(&self.args.target.into, &view.manifest, Case::of(target)?)?;
        if !manifest.contents.has_definitions() {
            manifest = rows_only::on_target(target, manifest, &renames)?;
        }
        let is_held =
            |name: &Name| view.manifest.tables().any(|(schema, table)| is_table(name, schema, table));
        view.plans.retain(|plan| is_held(&plan.relation.name));
        read_whole(&mut view, &mut manifest);
        Ok(Plan { view, manifest, translator, renames, definers, definers_changed })
    }

    /// Changes the target.
    fn carry_out(
        &self,
        mut plan: Plan,
        rows: Rows,
        mut state: State,
        target: &mut Connection,
    ) -> Result<CopyReport> {
        let Rows { taken, mut kept, wanted, history } = rows;
        let changes = (plan.definers_changed, &plan.definers);
        let restore = self.restore(&plan.manifest, &plan.renames, changes, plan.translator.as_ref());
        let steps = state.steps(target)?;
        let made = relations(&plan.manifest, &plan.renames).iter().map(ToString::to_string).collect();
        if !(steps.is_there && restore.resume) {
            state.makes(&made, self.store())?;
        }
        let mut begun = restore.begin(target, steps)?;
        match begun.steps.is_there {
            true => {
                self.sift(&restore, &mut plan.view, &state, (&mut kept, &wanted), &mut begun.steps, target)?;
                state.makes(&made, self.store())?;
            }
            false => kept = Kept::default(),
        }
        let targets = make_targets(&restore, &plan.view, &kept, &mut begun, target)?;
        let there_bytes = kept.bytes();
        let earlier = std::mem::take(&mut kept.snapshots);
        let snapshots = earlier.iter().chain([&taken.snapshot]).cloned().collect();
        let journal = Journal::begin(self.store(), &wanted, snapshots, &plan.view.shapes())?;

        let loading = Instant::now();
        self.progress.phase("copying");
        let (threads, again) = (taken.workers.len(), AtomicU64::new(0));
        let filling = Filling {
            source: &self.source,
            view: &plan.view,
            journal: &journal,
            kept: &kept,
            consistent: wanted.consistent,
            restore: &restore,
            steps: &begun.steps,
            targets: by_source(&plan.manifest, &targets),
            again: &again,
            is_same: self.is_same,
        };
        let Filled { chunks, tail, fewer } = filling.run(taken)?;
        plan.view.complete(chunks, earlier);
        let filled = with_rows(&plan.manifest, &plan.view.manifest);
        let mut report = restore.finish(target, &mut begun, &targets, &filled, loading, threads)?;
        report.rewrites.extend(history);
        report.rewrites.extend(zeros_lost(&plan.view.manifest));
        report.rewrites.extend(lost_documents(&plan.view.manifest, &report.server));
        plan.view.manifest.target = Some(outcome(&report));
        report.warnings.extend(fewer);
        begun.steps.check_own(target)?;
        plan.view.manifest.store(self.store())?;
        journal.end()?;
        begun.steps.end(target)?;
        let report = self.report(plan.view.manifest, RestoreReport { there_bytes, ..report });
        Ok(CopyReport { threads, tail_seconds: tail.as_secs_f64(), sent_again: again.into_inner(), ..report })
    }

    fn restore<'r>(
        &'r self,
        manifest: &'r Manifest,
        renames: &'r Renames,
        (definers_changed, definers): (usize, &'r Definers),
        translator: Option<&'r Translator>,
    ) -> Restore<'r> {
        Restore {
            args: &self.args.target,
            resume: self.args.resume,
            users: self.args.source.users,
            options: self.to,
            store: self.store(),
            manifest,
            renames,
            definers,
            definers_changed,
            translator,
            throttle: self.throttle,
            stop: self.stop,
            progress: self.progress,
        }
    }

    /// Sorts out what an earlier run has left.
    fn sift(
        &self,
        restore: &Restore<'_>,
        view: &mut View,
        state: &State,
        (kept, wanted): (&mut Kept, &Wanted),
        steps: &mut Steps,
        target: &mut Connection,
    ) -> Result<()> {
        let crosses = restore.translator.is_some_and(Translator::crosses);
        let earlier = Earlier {
            state,
            manifest: restore.manifest,
            shapes: &view.shapes(),
            renames: restore.renames,
            all_or_nothing: &match crosses && wanted.consistent {
                true => ordered_by_text(view),
                false => BTreeSet::new(),
            },
        };
        let warnings = earlier.sift(target, kept, steps)?;
        view.manifest.warnings.extend(warnings);
        kept.belongs_to_earlier();
        Ok(())
    }

    /// A copy that was ended when all was done but to say so.
    fn finished(&self, state: &State, target: &mut Connection) -> Result<CopyReport> {
        let manifest = Manifest::read(self.store())?;
        if self.args.consistent_resume && manifest.mixed().is_some() {
            return Err(Error::with_hint(
                "this copy is finished, and its rows are of several moments: there is nothing to resume",
                "--drop-existing with --consistent-resume copies anew",
            ));
        }
        let renames = Renames::new(&self.args.target.into, &manifest, Case::of(target)?)?;
        let server = Server::of(target).doing(|| "asking for the server's version")?;
        let translator = Translator::new(target, self.store(), &manifest, &server)?;
        let held = match &translator {
            Some(translator) => translator.manifest(&manifest)?,
            None => manifest.clone(),
        };
        let definers = Definers::of(&self.args.target.definer, target)?;
        let restore = self.restore(&held, &renames, (0, &definers), translator.as_ref());
        lock_schemas(target, &held, &renames)?;
        let steps = state.steps(target)?;
        let mut report = restore.prove_again(target, &steps, self.source.threads)?;
        report.rewrites.extend(zeros_lost(&manifest));
        report.rewrites.extend(lost_documents(&manifest, &server));
        add_earlier(&mut report, manifest.target.clone().unwrap_or_default());
        steps.end(target)?;
        journal::remove(self.store())?;
        Ok(self.report(manifest, report))
    }

    fn report(&self, manifest: Manifest, mut restore: RestoreReport) -> CopyReport {
        restore.rewrites.sort();
        restore.refused.sort();
        let restore = RestoreReport { mixed: manifest.mixed(), ..restore };
        CopyReport {
            from: manifest.server,
            state: self.store().path(""),
            contents: manifest.contents,
            schemas: manifest.schemas.len(),
            threads: 0,
            tail_seconds: 0.0,
            sent_again: 0,
            snapshot: manifest.snapshot,
            earlier_snapshots: manifest.earlier_snapshots,
            source_warnings: manifest.warnings,
            restore,
        }
    }
}

/// What the target can hold of the values that a source has.
pub(super) fn held_by(target: &mut Connection, source: &Server) -> Result<Holds> {
    let takes_history = takes_history(target)?;
    let documents = has_json(target)?;
    let target = Server::of(target).doing(|| "asking for the server's version")?;
    let vendors = (source.vendor, target.vendor);
    Ok(Holds {
        no_history: (!takes_history).then(|| no_history(target.vendor)),
        negative_zeros: vendors != (Vendor::MySql, Vendor::MariaDb),
        documents,
    })
}

/// What is to be known of the target when nobody can ask for it any more.
fn outcome(report: &RestoreReport) -> TargetOutcome {
    TargetOutcome {
        refused: report.refused.clone(),
        rewrites: report.rewrites.clone(),
        not_held: report.users.iter().flat_map(|users| users.not_held.iter().cloned()).collect(),
        warnings: report.warnings.clone(),
        definers_changed: report.definers_changed,
    }
}

/// Adds what the run that has finished the copy reported, and this one cannot find out.
fn add_earlier(report: &mut RestoreReport, earlier: TargetOutcome) {
    add_new(&mut report.refused, earlier.refused);
    add_new(&mut report.rewrites, earlier.rewrites);
    add_new(&mut report.warnings, earlier.warnings);
    if let Some(users) = &mut report.users {
        let known: BTreeSet<_> = users.not_held.iter().filter_map(|one| one.statement.clone()).collect();
        let is_known =
            |one: &NotHeld| one.statement.as_ref().is_some_and(|statement| known.contains(statement));
        add_new(&mut users.not_held, earlier.not_held.into_iter().filter(|one| !is_known(one)).collect());
    }
    report.definers_changed = earlier.definers_changed;
}

fn add_new<T: Ord + Clone>(list: &mut Vec<T>, more: Vec<T>) {
    let known: BTreeSet<_> = list.iter().cloned().collect();
    list.extend(more.into_iter().filter(|one| !known.contains(one)));
}

/// Zeros whose sign was read away, as the target has none.
fn zeros_lost(manifest: &Manifest) -> impl Iterator<Item = Rewrite> {
    lost_zeros(&manifest.schemas).map(|(table, rows)| Rewrite {
        object: format!("table {table}"),
        from: format!("-0 (rows: {rows})"),
        to: "0".into(),
        reason: "MariaDB has no negative zero".into(),
        loses: true,
    })
}

/// Whether JSON is a type of its own there, as MySQL from 5.7 on has it.
fn has_json(target: &mut Connection) -> Result<bool> {
    match target.first("SELECT CAST('1' AS JSON)") {
        Err(error) if error.code().is_some() => Ok(false),
        other => other.map(|_| true).doing(|| "trying the type JSON"),
    }
}

/// Rows of the past that stay behind.
pub(super) fn lost_history(source: &Source<'_>, connection: &mut Connection) -> Result<Vec<Rewrite>> {
    let Some(why) = source.holds.no_history else { return Ok(Vec::new()) };
    let lost = |(table, rows): (Name, u64)| Rewrite {
        object: format!("table {table}"),
        from: format!("history (rows: {rows})"),
        to: String::new(),
        reason: format!("{why}: these rows are only on the source"),
        loses: true,
    };
    let past = source.past_rows(connection)?.into_iter();
    Ok(past.filter(|(_, rows)| *rows > 0).map(lost).collect())
}

fn is_table(name: &Name, schema: &Schema, table: &Table) -> bool {
    schema.name == name.schema && table.name == name.name
}

/// A table without a key, or one whose rows the target cannot take back, is copied by one worker from its beginning to its end,
/// so that it can be emptied and copied anew.
fn read_whole(view: &mut View, manifest: &mut Manifest) {
    let names = |manifest: &Manifest, is_one: fn(&Table) -> bool| -> BTreeSet<Name> {
        let tables = manifest.tables().filter(|(_, table)| is_one(table));
        tables.map(|(schema, table)| Name::new(&schema.name, &table.name)).collect()
    };
    let with_key = names(&view.manifest, |table| table.key.is_some());
    let transactional = names(manifest, is_transactional);
    let is_whole = |name: &Name| !with_key.contains(name) || !transactional.contains(name);
    view.plans.iter_mut().filter(|plan| is_whole(&plan.relation.name)).for_each(TablePlan::read_whole);
    for schema in view.manifest.schemas.iter_mut().chain(&mut manifest.schemas) {
        let is_whole = |table: &&mut Table| is_whole(&Name::new(&schema.name, &table.name));
        for table in schema.tables.iter_mut().filter(is_whole) {
            table.key = None;
            table.partitions.clear();
        }
    }
}

/// Makes the tables of the target, but for those of which rows of an earlier run stay.
fn make_targets<'m>(
    restore: &Restore<'m>,
    view: &View,
    kept: &Kept,
    begun: &mut Begun,
    target: &mut Connection,
) -> Result<Vec<Target<'m>>> {
    let sizes: BTreeMap<_, _> =
        view.plans.iter().map(|plan| (&plan.relation.name, plan.relation.bytes)).collect();
    let there = kept.names();
    restore.create_tables(target, begun, |name, _| Coming {
        bytes: sizes.get(name).copied().unwrap_or(0),
        keeps: there.contains(name),
    })
}

/// Tables whose key another vendor may order in another way.
fn ordered_by_text(view: &View) -> BTreeSet<Name> {
    let by_text = view.plans.iter().filter(|plan| !plan.compares_as_bytes());
    by_text.map(|plan| plan.relation.name.clone()).collect()
}

/// The targets by the names of their tables on the source.
fn by_source<'t>(manifest: &Manifest, targets: &'t [Target<'t>]) -> BTreeMap<Name, &'t Target<'t>> {
    let names = manifest.tables().map(|(schema, table)| Name::new(&schema.name, &table.name));
    names.zip(targets).collect()
}

/// What the target holds, with the chunks that were copied.
fn with_rows(held: &Manifest, copied: &Manifest) -> Manifest {
    let chunks: BTreeMap<_, _> =
        copied.tables().map(|(schema, table)| (Name::new(&schema.name, &table.name), &table.files)).collect();
    let mut held = held.clone();
    for schema in &mut held.schemas {
        for table in &mut schema.tables {
            let name = Name::new(&schema.name, &table.name);
            table.files = chunks.get(&name).map(|&chunks| chunks.clone()).unwrap_or_default();
        }
    }
    held
}
