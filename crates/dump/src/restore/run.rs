//! The restore from the manifest to the proof.

use std::sync::atomic::{AtomicUsize, Ordering};

use std::time::Instant;

use drover_db::options::ConnectOptions;
use drover_db::sql::{Dialect, Kind, tokens};
use drover_db::{Connection, Server, Stop, Vendor, quote};
use serde::Serialize;

use super::args::RestoreArgs;
use super::check::Prepared;
use super::global::LocalInfile;
use super::load::Load;
use super::objects::Scripts;
use super::rename::Renames;
use super::rows_only;
use super::steps::Steps;
use super::users::{Users, UsersReport};
use super::verify::{self, Verify, VerifyReport};
use crate::ddl::{CreateTable, without_auto_increment};
use crate::dump::catalog::{self, Name};
use crate::error::Doing;
use crate::format::manifest::{Manifest, Table};
use crate::guard::{self, Guard};
use crate::progress::Progress;
use crate::session::{self, Purpose};
use crate::store::Store;
use crate::translate::{Refusal, Rewrite, Translator};
use crate::{Error, Result, pool};

/// Tables whose text is smaller than this many bytes get their indexes before their rows: an ALTER TABLE costs more.
const SMALL: u64 = 4 << 20;

/// What came of a restore.
#[derive(Debug, Clone, Serialize)]
pub struct RestoreReport {
    /// The server that was filled.
    pub server: Server,
    /// Tables that were restored.
    pub tables: usize,
    /// Rows that were loaded.
    pub rows: u64,
    /// Bytes of the rows' text.
    pub bytes: u64,
    /// Wall-clock time of the whole command, in seconds.
    pub seconds: f64,
    /// The part of it in which a guard let the work wait.
    pub paused_seconds: f64,
    /// The part of it in which rows were loaded and indexes built, in seconds.
    pub load_seconds: f64,
    /// What the server warned of when objects were created.
    pub warnings: Vec<String>,
    /// What became of the accounts; absent without `--users`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub users: Option<UsersReport>,
    /// What was written otherwise for this server, or left out.
    pub rewrites: Vec<Rewrite>,
    /// What the server cannot hold, which was skipped.
    pub refused: Vec<Refusal>,
    /// The proof; absent if `--no-verify` was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verify: Option<VerifyReport>,
}

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
    progress.phase("reading the manifest");
    let store = &Store::open(&args.dir, &args.store)?;
    let _store_watched = store.watch(stop);
    let manifest = Manifest::read(store)?;
    let renames = Renames::new(&args.into, &manifest)?;
    let mut coordinator = session::open(options, Purpose::Restore)?;
    let _watched = stop.watch(&coordinator).doing(|| "watching a connection")?;
    let translated = Prepared::new(store, options, stop, progress, &manifest, &mut coordinator, false)
        .and_then(|prepared| prepared.without_refused(args.skip_refused));
    let Prepared { manifest, translator, .. } = match translated {
        Err(_) if stop.is_requested() => return Err(Error::Stopped),
        other => other?,
    };
    let manifest = match manifest.contents.has_definitions() {
        true => manifest,
        false => rows_only::on_target(&mut coordinator, manifest, &renames)?,
    };
    let translator = translator.as_ref();
    let guard = &Guard::start(&args.guard, &args.server, options, guard::Work::Restore, stop, progress)?;
    let (manifest, renames) = (&manifest, &renames);
    let restore = Restore { args, options, store, manifest, renames, translator, guard, stop, progress };
    match restore.run(&mut coordinator) {
        Err(_) if stop.is_requested() => Err(Error::Stopped),
        Err(error) => Err(error),
        Ok(report) => Ok(RestoreReport {
            seconds: started.elapsed().as_secs_f64(),
            paused_seconds: guard.paused().as_secs_f64(),
            ..report
        }),
    }
}

struct Restore<'a> {
    args: &'a RestoreArgs,
    options: &'a ConnectOptions,
    store: &'a Store,
    manifest: &'a Manifest,
    renames: &'a Renames,
    translator: Option<&'a Translator>,
    guard: &'a Guard<'a>,
    stop: &'a Stop,
    progress: &'a Progress,
}

/// A table on its way.
struct Target<'a> {
    name: Name,
    table: &'a Table,
    keys: Vec<Vec<u8>>,
    foreign_keys: Vec<Vec<u8>>,
    /// The files that are to be loaded.
    files: Vec<usize>,
    /// How many of them have not been.
    left: AtomicUsize,
}

enum Task<'a> {
    Load(&'a Target<'a>, usize),
    Index(&'a Target<'a>),
}

impl<'a> Restore<'a> {
    fn run(&self, coordinator: &mut Connection) -> Result<RestoreReport> {
        let server = Server::of(coordinator).doing(|| "asking for the server's version")?;
        let mut warnings = Vec::new();
        let _local_infile = LocalInfile::ensure(self.options, self.args.enable_local_infile)?;
        let threads = match self.args.threads {
            Some(threads) => usize::from(threads),
            None => session::default_threads(coordinator)?,
        };
        let scripts = Scripts { store: self.store, renames: self.renames, translator: self.translator };
        self.progress.phase("creating the tables");
        let mut steps = Steps::find(coordinator, self.manifest, self.renames)?;
        let mut users = self.users(coordinator, &steps)?;
        match steps.is_there && self.args.resume {
            true => steps.end_sessions(coordinator)?,
            false => {
                self.make_room(coordinator, &scripts, &steps)?;
                scripts.create_schemas(coordinator, self.manifest, &mut warnings)?;
                steps.begin(coordinator)?;
                users.iter().try_for_each(|users| users.note(coordinator, &steps))?;
            }
        }
        steps.lead(coordinator)?;
        let targets = self.create_tables(coordinator, &server, &scripts, &steps, &mut warnings)?;

        let loading = Instant::now();
        self.expect(&targets);
        self.progress.phase("loading");
        self.load_rows(&targets, &steps, threads)?;
        self.progress.phase("adding foreign keys");
        for target in &targets {
            if !steps.is_there || !has_constraint(coordinator, target)? {
                alter(coordinator, target, &target.foreign_keys)?;
            }
        }
        let load_seconds = loading.elapsed().as_secs_f64();
        self.progress.phase("creating routines, views, triggers and events");
        if steps.is_there {
            scripts.drop_programs(coordinator, self.manifest)?;
        }
        users.iter_mut().try_for_each(|users| users.create(coordinator))?;
        scripts.create_programs(coordinator, self.manifest, &mut warnings)?;
        users.iter_mut().try_for_each(|users| users.finish(coordinator))?;
        let mut verify = self.verify(threads)?;
        if let (Some(users), Some(report)) = (&users, &mut verify) {
            users.verify(coordinator, report)?;
        }
        steps.end(coordinator)?;
        Ok(RestoreReport {
            server,
            tables: targets.len(),
            rows: self.manifest.rows(),
            bytes: self.manifest.bytes(),
            seconds: 0.0,
            paused_seconds: 0.0,
            load_seconds,
            warnings: grouped(&warnings),
            rewrites: self.translator.map(Translator::rewrites).unwrap_or_default(),
            refused: self.translator.map(Translator::refused).unwrap_or_default(),
            users: users.map(Users::report),
            verify,
        })
    }

    fn users(&self, coordinator: &mut Connection, steps: &Steps) -> Result<Option<Users>> {
        let may_drop = |account: &str| {
            self.args.drop_existing || self.args.resume && steps.has(&format!("account {account}"))
        };
        let prepare = || Users::prepare(coordinator, self.store, self.manifest, self.renames, may_drop);
        self.args.users.then(prepare).transpose()
    }

    fn verify(&self, threads: usize) -> Result<Option<VerifyReport>> {
        if self.args.no_verify {
            return Ok(None);
        }
        let is_source = false;
        let (store, manifest, renames, progress) = (self.store, self.manifest, self.renames, self.progress);
        let verify = Verify { store, manifest, renames, translator: self.translator, is_source, progress };
        verify.run(self.options, threads, self.stop).map(Some)
    }

    fn make_room(&self, coordinator: &mut Connection, scripts: &Scripts<'_>, steps: &Steps) -> Result<()> {
        if !self.manifest.contents.has_definitions() {
            return rows_only::check(coordinator, self.manifest, self.renames, self.args.drop_existing);
        }
        if self.args.drop_existing {
            return scripts.drop_existing(coordinator, self.manifest);
        }
        let existing = scripts.existing(coordinator, self.manifest)?;
        let Some((_, first)) = existing.first() else { return Ok(()) };
        if steps.is_there {
            return Err(Error::with_hint(
                "the target has what an earlier restore of this dump left when it was ended: nothing was changed",
                "--resume goes on with it, --drop-existing begins anew",
            ));
        }
        let others = existing.len() - 1;
        let more = if others == 0 { String::new() } else { format!(" and {others} more of the dump") };
        Err(Error::with_hint(
            format!("the target already has {first}{more}: nothing was changed"),
            "--drop-existing drops what the dump also holds; --into OLD=NEW restores into another schema",
        ))
    }

    fn create_tables(
        &self,
        coordinator: &mut Connection,
        server: &Server,
        scripts: &Scripts<'_>,
        steps: &Steps,
        warnings: &mut Vec<String>,
    ) -> Result<Vec<Target<'a>>> {
        if !self.manifest.contents.has_definitions() {
            return self.tables_that_are_there(coordinator, steps);
        }
        // A column's default may be the next value of a sequence.
        for (schema, sequence) in super::objects::each(self.manifest, |schema| &schema.sequences) {
            let name = Name::new(self.renames.schema(&schema.name), &sequence.name);
            let step = format!("sequence {name}");
            if steps.has(&step) {
                continue;
            }
            if steps.is_there {
                coordinator
                    .execute(format!("DROP SEQUENCE IF EXISTS {name}"))
                    .doing(|| format!("dropping {name}"))?;
            }
            scripts.run_in(coordinator, &schema.name, &sequence.script, warnings)?;
            steps.note(coordinator, &step)?;
        }
        let there = if steps.is_there { catalog::relations(coordinator)? } else { Vec::new() };
        let both_mysql = [server, &self.manifest.server].iter().all(|server| server.vendor == Vendor::MySql);
        session::bear_old_tables(coordinator)?;
        let mut targets = Vec::new();
        for (schema, table) in self.manifest.tables() {
            let target = self.renames.schema(&schema.name);
            session::use_schema(coordinator, target)?;
            let mut create = scripts.read(&table.script)?.pop().unwrap_or_default();
            if table.engine == "ARCHIVE" {
                // It takes no row below the next value that its definition gives.
                create = without_auto_increment(&create);
            }
            let parts = CreateTable::parse(&create);
            let mut parts = parts
                .ok_or_else(|| Error::found(format!("{}: no CREATE TABLE statement", table.script.file)))?;
            if both_mysql {
                parts.inherit_collations();
            }
            let split =
                parts.split(table.bytes() >= SMALL && table.engine == "InnoDB" && !table.with_history);
            let name = Name::new(target, &table.name);
            let is_there = there.iter().any(|relation| relation.name == name);
            let keeps = is_there && is_transactional(table);
            if is_there && !keeps {
                // Nobody knows what of a file its rows hold.
                coordinator.execute(format!("DROP TABLE {name}")).doing(|| format!("dropping {name}"))?;
            }
            if !keeps {
                scripts.run(coordinator, &table.script, &[split.create], warnings)?;
            }
            let keys =
                if keeps && has_key(coordinator, &name, &split.keys)? { Vec::new() } else { split.keys };
            let left = |file: &usize| !keeps || !steps.has(&table.files[*file].file);
            let files: Vec<_> = (0..table.files.len()).filter(left).collect();
            let left = AtomicUsize::new(files.len());
            targets.push(Target { name, table, keys, foreign_keys: split.foreign_keys, files, left });
        }
        session::set(coordinator, Purpose::Restore)?;
        Ok(targets)
    }

    /// The targets of a dump that holds rows only.
    fn tables_that_are_there(&self, coordinator: &mut Connection, steps: &Steps) -> Result<Vec<Target<'a>>> {
        let mut targets = Vec::new();
        for (schema, table) in self.manifest.tables() {
            let name = Name::new(self.renames.schema(&schema.name), &table.name);
            let keeps = steps.is_there && is_transactional(table);
            if steps.is_there && !keeps {
                rows_only::empty(coordinator, &name)?;
            }
            let left = |file: &usize| !keeps || !steps.has(&table.files[*file].file);
            let files: Vec<_> = (0..table.files.len()).filter(left).collect();
            let left = AtomicUsize::new(files.len());
            targets.push(Target { name, table, keys: Vec::new(), foreign_keys: Vec::new(), files, left });
        }
        Ok(targets)
    }

    fn expect(&self, targets: &[Target<'_>]) {
        let work = targets.iter().map(|target| target.table.bytes() + target.index_work()).sum();
        self.progress.expect(work);
        if !self.args.no_verify {
            self.progress.expect(verify::work(self.manifest));
        }
    }

    /// Loads all files, the largest first; a table's indexes are built as soon as its last file is in.
    fn load_rows(&self, targets: &[Target<'_>], steps: &Steps, threads: usize) -> Result<()> {
        let mut tasks: Vec<_> = targets
            .iter()
            .flat_map(|target| target.files.iter().map(move |&file| Task::Load(target, file)))
            .collect();
        let loaded = targets.iter().filter(|target| target.files.is_empty() && !target.keys.is_empty());
        tasks.extend(loaded.map(Task::Index));
        tasks.sort_by_key(|task| match task {
            Task::Load(target, file) => target.table.files[*file].bytes,
            Task::Index(_) => 0,
        });
        let mut connections =
            session::open_many(self.options, Purpose::Restore, threads.min(tasks.len().max(1)))?;
        if !self.manifest.contents.has_definitions() {
            connections.iter_mut().try_for_each(rows_only::check_unique)?;
        }
        steps.mark(&mut connections)?;
        let ids: Vec<_> = connections.iter().map(Connection::id).collect();
        let result = pool::run(
            &mut connections,
            tasks,
            self.stop,
            |connection, task| self.work(connection, task, steps),
            pool::nothing_to_seek,
        );
        if result.is_err() {
            // A server does not notice that its client is gone while it builds an index.
            kill(self.options, &ids);
        }
        result.map(drop)
    }

    fn work<'t>(&self, connection: &mut Connection, task: Task<'t>, steps: &Steps) -> Result<Vec<Task<'t>>> {
        match task {
            Task::Load(target, file) => {
                let load = Load {
                    store: self.store,
                    compression: self.manifest.compression,
                    table: target.table,
                    target: target.name.clone(),
                    chunk: &target.table.files[file],
                    steps: is_transactional(target.table).then_some(steps),
                    current: self.translator.and_then(|translator| translator.current(target.table)),
                    guard: self.guard,
                    progress: self.progress,
                };
                load.run(connection)?;
                let was_last = target.left.fetch_sub(1, Ordering::SeqCst) == 1;
                Ok(if was_last && !target.keys.is_empty() { vec![Task::Index(target)] } else { Vec::new() })
            }
            Task::Index(target) => {
                alter(connection, target, &target.keys)?;
                self.progress.done(target.index_work());
                Ok(Vec::new())
            }
        }
    }
}

impl Target<'_> {
    /// What building the indexes costs, in the progress's unit.
    fn index_work(&self) -> u64 {
        self.table.bytes() / 4 * self.keys.len().min(4) as u64
    }
}

/// Whether rows and a step can be committed together.
fn is_transactional(table: &Table) -> bool {
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

/// The same warning of many scripts becomes one.
pub(super) fn grouped(warnings: &[String]) -> Vec<String> {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for warning in warnings {
        // No script's name holds a colon.
        let (script, message) = warning.split_once(": ").unwrap_or(("", warning));
        match groups.iter_mut().find(|(known, _)| *known == message) {
            Some((_, scripts)) if !scripts.contains(&script) => scripts.push(script),
            Some(_) => {}
            None => groups.push((message, vec![script])),
        }
    }
    let show = |(message, scripts): &(&str, Vec<&str>)| match scripts.as_slice() {
        [one] => format!("{one}: {message}"),
        [first, rest @ ..] => format!("{first} and {} more: {message}", rest.len()),
        [] => (*message).to_owned(),
    };
    groups.iter().map(show).collect()
}

fn alter(connection: &mut Connection, target: &Target<'_>, items: &[Vec<u8>]) -> Result<()> {
    if items.is_empty() {
        return Ok(());
    }
    let mut sql = format!("ALTER TABLE {} ", target.name).into_bytes();
    for (index, item) in items.iter().enumerate() {
        sql.extend_from_slice(if index == 0 { b"ADD " } else { b", ADD " });
        sql.extend_from_slice(item);
    }
    connection.execute(sql).doing(|| format!("adding keys to {}", target.name))?;
    Ok(())
}

fn kill(options: &ConnectOptions, ids: &[u32]) {
    // The error that led here is the one to report: that this fails too changes nothing.
    let Ok(mut connection) = Connection::open(options) else { return };
    for id in ids {
        let _ = connection.execute(format!("KILL {id}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_of_many_scripts_become_one() {
        let warnings = ["a.sql: x", "b.sql: y: z", "c.sql: x", "a.sql: x"].map(str::to_owned);
        assert_eq!(grouped(&warnings), ["a.sql and 1 more: x", "b.sql: y: z"]);
    }
}
