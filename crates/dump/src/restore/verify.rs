//! Comparing a server with a dump: every row by the digest of its file, and the definition of every object.

mod reasons;

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use drover_db::options::ConnectOptions;
use drover_db::session::Use;
use drover_db::sql::Dialect;
use drover_db::table::{ColumnFacts, columns};
use drover_db::{Connection, Server, Stop, er, quote};
use drover_store::Store;

use super::args::VerifyArgs;
use super::events::{End, as_where_it_runs};
use super::objects::{Scripts, each};
use super::rename::{Case, Renames};
use super::shown::as_shown;
use super::verified::{Difference, Part, Verify, VerifyReport};
use super::{files, not_copied, own_key, patches, schemas, users};
use crate::ddl::{first_difference, without_auto_increment};
use crate::definer::Definers;
use crate::dump::catalog::{self, Name};
use crate::dump::chosen;
use crate::dump::hold;
use crate::dump::programs::{definition, schema_collation, without_delimiter};
use crate::dump::tables::{self, Bounds};
use crate::dump::views;
use crate::error::Doing;
use crate::foreign::source::recognise;
use crate::progress::{Progress, Share};
use crate::rows::{self, Meter, Sums};
use crate::session;
use crate::translate::defaults::in_full;
use crate::translate::{Translator, version};
use crate::{Error, Result, pool};
use drover_format::manifest::{Manifest, Object, Schema, Script, Table};

/// Compares a server with a dump, and the dump's files with its manifest. No connection is made with `--no-server`.
///
/// # Errors
/// If the comparison could not be made; a difference is no error but part of the report.
pub fn verify(
    args: &VerifyArgs,
    options: Option<&ConnectOptions>,
    stop: &Stop,
    progress: &Progress,
) -> Result<VerifyReport> {
    if recognise(&args.dir).is_some() {
        return Err(Error::with_hint(
            format!(
                "{}: this dump was made by another tool, which notes no digests of rows",
                args.dir.display()
            ),
            "restore it, and verify another server with a dump that drover made of that one",
        ));
    }
    let Some(options) = options else { return files::verify_alone(args, stop, progress) };
    let store = &Store::open(&args.dir, &args.store)?;
    let _store_watched = store.watch(stop);
    let manifest = Manifest::read(store)?;
    let mut connection = session::open(options, Use::Dump)?;
    let renames = Renames::new(&args.into, &manifest, Case::of(&mut connection)?)?;
    let threads = match args.threads {
        Some(threads) => usize::from(threads),
        None => session::default_threads(&mut connection)?,
    };
    let server = Server::of(&mut connection).doing(|| "asking for the server's version")?;
    let translator = Translator::for_reading(options, store, &manifest, &server)?;
    let dumped = manifest;
    let manifest = match &translator {
        Some(translator) => &translator.manifest(&dumped)?,
        None => &dumped,
    };
    let translator = translator.as_ref();
    progress.expect(work(manifest) + if args.no_files { 0 } else { files::work(&dumped) });
    let is_source = args.source;
    let definers = &Definers::of(&args.definer, &mut connection)?;
    let verify = Verify { store, manifest, renames: &renames, definers, translator, is_source, progress };
    let mut report = verify.run(options, threads, stop)?;
    if !args.no_files {
        files::compare(store, &dumped, files::threads(args), stop, progress, &mut report)?;
    }
    if args.users {
        users::verify(&mut connection, store, manifest, &renames, &mut report)?;
    }
    if !is_source {
        report.differences.extend(not_copied::differences(&dumped));
    }
    Ok(report)
}

/// The work of a verification, in the progress's unit.
pub(super) fn work(manifest: &Manifest) -> u64 {
    manifest.tables().map(|(_, table)| weight(table)).sum()
}

fn weight(table: &Table) -> u64 {
    table.bytes() / 4
}

impl Verify<'_> {
    pub(super) fn run(&self, options: &ConnectOptions, threads: usize, stop: &Stop) -> Result<VerifyReport> {
        let started = Instant::now();
        self.progress.phase("verifying");
        let mut connections = session::open_many(options, Use::Dump, threads)?;
        let fewer = session::fewer(threads, &connections);
        for connection in &mut connections {
            session::begin_snapshot(connection)?;
        }
        if self.is_source {
            let failed = chosen::stop_clock(connections.iter_mut(), &self.manifest.snapshot.taken_at)?;
            failed.map_or(Ok(()), |why| Err(Error::found(why)))?;
        }
        let is_read = |table: &Table| self.is_read(table) && !self.is_only_counted(table);
        let tables = self.manifest.tables().filter(|(_, table)| is_read(table)).count();
        let report =
            Mutex::new(VerifyReport { contents: self.manifest.contents, tables, ..VerifyReport::default() });
        pool::run(
            &mut connections,
            self.parts(),
            stop,
            |connection, part| {
                self.compare_rows(connection, &part, true, &report)?;
                Ok(Vec::new())
            },
            pool::nothing_to_seek,
        )?;
        let server = Server::of(&mut connections[0]).doing(|| "asking for the server's version")?;
        if server.vendor != self.manifest.server.vendor {
            self.compare_whole(&mut connections, stop, &report)?;
        }
        connections.truncate(1);
        let connection = &mut connections[0];
        // With read_only MariaDB refuses a COMMIT, of what has only read too (found with 10.5).
        connection.execute("ROLLBACK").doing(|| "ending a worker's transaction")?;
        let mut report = report.into_inner().unwrap_or_else(PoisonError::into_inner);
        report.warnings.extend(fewer);
        self.count_rows(connection, &mut report)?;
        self.compare_definitions(connection, &server, &mut report)?;
        report.differences.sort_by(|a, b| (&a.object, &a.file).cmp(&(&b.object, &b.file)));
        report.seconds = started.elapsed().as_secs_f64();
        Ok(report)
    }

    /// Whether only a copy can hold a table's rows, and not the server that was dumped.
    fn is_only_counted(&self, table: &Table) -> bool {
        self.is_source && !table.masks.is_empty() && self.is_read(table)
    }

    /// Compares how many rows there are in the tables of which no more is to be compared.
    fn count_rows(&self, connection: &mut Connection, report: &mut VerifyReport) -> Result<()> {
        for (schema, table) in self.manifest.tables().filter(|(_, table)| self.is_only_counted(table)) {
            let name = self.renames.relation(&schema.name, &table.name);
            let masked = quote::identifiers(table.masks.keys().map(String::as_str));
            report
                .only_counted
                .push(format!("{name}: masked columns {masked} are not what they were on the server"));
            let bounds = Bounds { condition: table.condition.as_deref(), ..Bounds::default() };
            let sql = format!("SELECT COUNT(*) {}", bounds.from(table, &name));
            let found = connection.first(sql).doing(|| format!("counting {name}"))?;
            let (found, then) = (found.and_then(|row| row.parse(0)).unwrap_or(0), table.rows());
            let what = (found != then).then(|| format!("{found} rows, the dump has {then}"));
            report.differences.extend(what.map(|what| Difference {
                object: name.to_string(),
                file: None,
                what,
            }));
        }
        Ok(())
    }

    /// Whether the dump knows the rows of a table.
    fn is_read(&self, table: &Table) -> bool {
        self.manifest.contents.has_rows() && !table.rows_elsewhere
    }

    /// The smallest part first: the pool begins at the end.
    pub(super) fn parts(&self) -> Vec<Part<'_>> {
        let mut parts = Vec::new();
        for (schema, table) in self.manifest.tables().filter(|(_, table)| self.is_read(table)) {
            if self.is_only_counted(table) {
                continue;
            }
            let target = self.renames.relation(&schema.name, &table.name);
            let condition = table.condition.as_deref().filter(|_| self.is_source);
            let part = |chunk| Part { table, target: target.clone(), chunk, condition };
            match table.key.is_none() {
                true => parts.push(part(None)),
                false => parts.extend(table.files.iter().map(|chunk| part(Some(chunk)))),
            }
        }
        parts.sort_by_key(|part| part.chunk.map_or_else(|| part.table.bytes(), |chunk| chunk.bytes));
        parts
    }

    /// Another vendor sorts texts otherwise, and may have other partitions: then other rows lie between the borders of a
    /// file. A table whose files differ is compared as a whole.
    fn compare_whole(
        &self,
        connections: &mut [Connection],
        stop: &Stop,
        report: &Mutex<VerifyReport>,
    ) -> Result<()> {
        let mut found = report.lock().unwrap_or_else(PoisonError::into_inner);
        let suspects: BTreeSet<_> = found.differences.drain(..).map(|difference| difference.object).collect();
        drop(found);
        let whole = |(schema, table): (&Schema, &Table)| {
            let target = self.renames.relation(&schema.name, &table.name);
            if !suspects.contains(&target.to_string()) {
                return Ok(None);
            }
            let held = match self.translator {
                Some(translator) => translator.as_held(self.manifest, table)?,
                None => None,
            };
            let table = Table { key: None, ..held.unwrap_or_else(|| table.clone()) };
            Ok(Some((target, table)))
        };
        let tables: Vec<_> =
            self.manifest.tables().filter_map(|table| whole(table).transpose()).collect::<Result<_>>()?;
        let parts = tables.iter().map(|(target, table)| {
            let target = target.clone();
            Part { table, target, chunk: None, condition: None }
        });
        let parts = parts.collect();
        let work = |connection: &mut Connection, part: Part<'_>| {
            // Its rows were counted when they were read by files.
            self.compare_rows(connection, &part, false, report)?;
            Ok(Vec::new())
        };
        pool::run(connections, parts, stop, work, pool::nothing_to_seek).map(drop)
    }

    pub(super) fn compare_rows(
        &self,
        connection: &mut Connection,
        part: &Part<'_>,
        is_counted: bool,
        report: &Mutex<VerifyReport>,
    ) -> Result<()> {
        let files = part.chunk.map_or(part.table.files.as_slice(), std::slice::from_ref);
        let expected = Sums::of(files);
        let share = Share::new(self.progress, expected.bytes / 4, expected.rows);
        let mut meter = Meter::new(&share);
        // A RENAME waits for all that have the table open, and other readers wait behind it.
        let found = match hold::and_let_go(connection, |connection| read(connection, part, &mut meter)) {
            // The table or a column of it is not there.
            Err(Error::Server { source: drover_db::Error::Server(error), .. }) if is_missing(error.code) => {
                Err(error.message)
            }
            Err(error) => return Err(error),
            Ok(found) => Ok(found),
        };
        let what = reasons::row_difference(part, &expected, &found);
        let what = match what {
            Some(what) => Some(what + reasons::of_documents(connection, &self.manifest.server, part)?),
            None => None,
        };
        let mut report = report.lock().unwrap_or_else(PoisonError::into_inner);
        let found = found.unwrap_or_default();
        if is_counted {
            report.rows += found.rows;
            report.bytes += found.bytes;
        }
        let file = part.chunk.map(|chunk| chunk.file.clone());
        report.differences.extend(what.map(|what| Difference {
            object: part.target.to_string(),
            file,
            what,
        }));
        Ok(())
    }

    /// Compares the statements that the server gives now with those in the scripts.
    fn compare_definitions(
        &self,
        connection: &mut Connection,
        server: &Server,
        report: &mut VerifyReport,
    ) -> Result<()> {
        if !self.manifest.contents.has_definitions() {
            return Ok(());
        }
        schemas::compare(self, connection, report)?;
        if version(server) != version(&self.manifest.server) {
            self.compare_columns(connection, report)?;
            return self.find_programs(connection, report);
        }
        let patched = patches::may_differ(server, &self.manifest.server);
        let written = |texts: Vec<Vec<u8>>| if patched { patches::as_of_any(texts) } else { texts };
        self.compare_tables(connection, written, report)?;
        self.compare_objects(connection, written, report)
    }

    /// Compares what creates each table; `written` gives statements as servers of every patch release print them.
    fn compare_tables(
        &self,
        connection: &mut Connection,
        written: impl Fn(Vec<Vec<u8>>) -> Vec<Vec<u8>>,
        report: &mut VerifyReport,
    ) -> Result<()> {
        for (schema, table) in self.manifest.tables() {
            let name = self.renames.relation(&schema.name, &table.name);
            // A script that is run by hand names all collations.
            let create_in_full = |create: &[u8]| in_full(create, &self.manifest.server);
            // A column's collation is known for its table's by the name that both have by then.
            let shown = |create: &[u8]| -> Vec<Vec<u8>> {
                let create = written(vec![without_auto_increment(&create_in_full(create))]);
                create.iter().map(|create| as_shown(create)).collect()
            };
            let last = |mut statements: Vec<Vec<u8>>| {
                statements.pop().map(|create| shown(&create)).unwrap_or_default()
            };
            let mut then = last(self.script(&table.script)?);
            let mut now = catalog::create_table(connection, &name).map(|create| shown(&create));
            if self.translator.is_some_and(Translator::implies_timestamps) {
                // The default that was given was said as a loss, and is no difference.
                let made = last(self.as_written().read(&table.script)?);
                if now.as_ref().is_ok_and(|now| self.is_alike(now, &made)) {
                    then = made;
                }
            }
            if now.as_ref().is_ok_and(|now| !self.is_alike(now, &then)) {
                let hidden = own_key::without(connection, table, |connection| {
                    catalog::create_table(connection, &name)
                })?;
                let hidden = shown(&hidden);
                if self.is_alike(&hidden, &then) {
                    report.keys_added.push(name.to_string());
                    now = Ok(hidden);
                }
            }
            self.compare(report, &name, now, then)?;
        }
        Ok(())
    }

    /// The same of all else.
    fn compare_objects(
        &self,
        connection: &mut Connection,
        written: impl Fn(Vec<Vec<u8>>) -> Vec<Vec<u8>>,
        report: &mut VerifyReport,
    ) -> Result<()> {
        for kind in KINDS {
            for (schema, object) in each(self.manifest, kind) {
                let name = Name::new(self.renames.schema(&schema.name), &object.name);
                let now = defined(connection, &name, object).map(&written);
                let then = written(self.script(&object.script)?);
                if object.kind == "EVENT" && self.has_dropped(connection, &then, &now)? {
                    report.definitions += 1;
                    continue;
                }
                let (now, then) = match object.kind.as_str() {
                    // One that runs there may be off here, as on a replica.
                    "EVENT" => (now.map(|now| as_where_it_runs(&now)), as_where_it_runs(&then)),
                    _ => (now, then),
                };
                if now.as_ref().is_ok_and(|now| self.is_alike(now, &then))
                    || !self.is_same_view(connection, &name, object)?
                {
                    self.compare(report, &name, now, then)?;
                } else {
                    report.definitions += 1;
                }
            }
        }
        Ok(())
    }

    /// Whether an event is not there that every server has dropped by now, as its time is over.
    fn has_dropped(
        &self,
        connection: &mut Connection,
        then: &[Vec<u8>],
        now: &Result<Vec<Vec<u8>>>,
    ) -> Result<bool> {
        match (now, End::of(then)) {
            (Err(Error::Server { source, .. }), Some(end))
                if source.code() == Some(er::EVENT_DOES_NOT_EXIST) =>
            {
                end.has_dropped(connection)
            }
            _ => Ok(false),
        }
    }

    /// Where definitions are written otherwise, looks at least for columns that the dump does not have: no row tells of them.
    fn compare_columns(&self, connection: &mut Connection, report: &mut VerifyReport) -> Result<()> {
        for (schema, table) in self.manifest.tables() {
            let name = self.renames.relation(&schema.name, &table.name);
            let list = |connection: &mut Connection| {
                columns(connection, &name).doing(|| format!("listing the columns of {name}"))
            };
            let mut columns = list(connection)?;
            if own_key::may_be_there(&columns) {
                let shown = columns.len();
                columns = own_key::without(connection, table, list)?;
                report.keys_added.extend((columns.len() < shown).then(|| name.to_string()));
            }
            let known = table.columns.iter().chain(&table.generated).map(|column| &column.name);
            let known: BTreeSet<_> = known.chain(&table.computed).collect();
            let is_more =
                |column: &&ColumnFacts| column.generation.is_empty() && !known.contains(&column.name);
            let more = columns.iter().filter(is_more).map(|column| column.name.as_str());
            report.differences.extend(more.map(|column| Difference {
                object: name.to_string(),
                file: None,
                what: format!("it has a column {} that the dump does not have", quote::identifier(column)),
            }));
            let what = super::columns::differences(connection, &self.as_written(), table, &name)?;
            let object = name.to_string();
            report.differences.extend(what.into_iter().map(|what| Difference {
                object: object.clone(),
                file: None,
                what,
            }));
        }
        Ok(())
    }

    /// The same for what reads or changes rows: whether it is there at all, but for what this target refuses.
    fn find_programs(&self, connection: &mut Connection, report: &mut VerifyReport) -> Result<()> {
        let refused = self.translator.map(Translator::refused).unwrap_or_default();
        for kind in KINDS {
            for (schema, object) in each(self.manifest, kind).filter(|(_, object)| !object.broken) {
                let name = Name::new(self.renames.schema(&schema.name), &object.name);
                let is_refused = refused.iter().any(|one| one.object.ends_with(&name.to_string()));
                let now = defined(connection, &name, object);
                if now.is_ok() || is_refused {
                    continue;
                }
                let then = self.script(&object.script)?;
                if object.kind == "EVENT" && self.has_dropped(connection, &then, &now)? {
                    continue;
                }
                let what = now.map_or_else(Error::refusal, |_| Ok(String::new()))?;
                report.differences.push(Difference { object: name.to_string(), file: None, what });
            }
        }
        Ok(())
    }

    /// Whether a view that the server cannot show as it was dumped is the same in the catalogue.
    fn is_same_view(&self, connection: &mut Connection, name: &Name, object: &Object) -> Result<bool> {
        let Some(then) = &object.catalogue else { return Ok(false) };
        let then = self.definers.statements(vec![then.clone().into_bytes()], Dialect::default());
        let then = self.renames.script(then).concat();
        Ok(views::from_catalogue(connection, name)?.is_some_and(|now| now.into_bytes() == then))
    }

    /// Whether these are the same definitions, in whatever case the server has names, and with or without a delimiter, which earlier
    /// versions of drover did not cut off.
    fn is_alike(&self, now: &[Vec<u8>], then: &[Vec<u8>]) -> bool {
        let comparable = |text: &Vec<u8>| self.renames.comparable(without_delimiter(text).to_vec());
        now == then || now.iter().map(comparable).eq(then.iter().map(comparable))
    }

    /// The scripts as the target got them.
    pub(super) fn as_written(&self) -> Scripts<'_> {
        let (store, renames, definers) = (self.store, self.renames, self.definers);
        Scripts { store, renames, definers, translator: self.translator }
    }

    fn script(&self, script: &Script) -> Result<Vec<Vec<u8>>> {
        Scripts { translator: None, ..self.as_written() }.read(script)
    }

    fn compare(
        &self,
        report: &mut VerifyReport,
        name: &Name,
        now: Result<Vec<Vec<u8>>>,
        then: Vec<Vec<u8>>,
    ) -> Result<()> {
        report.definitions += 1;
        let what = match now {
            Ok(now) if self.is_alike(&now, &then) => return Ok(()),
            Ok(now) => format!("its definition differs: {}", first_difference(&now, &then)),
            Err(error) => error.refusal()?,
        };
        report.differences.push(Difference { object: name.to_string(), file: None, what });
        Ok(())
    }
}

/// What reads or changes rows.
const KINDS: [fn(&Schema) -> &Vec<Object>; 4] =
    [|s| &s.views, |s| &s.routines, |s| &s.triggers, |s| &s.events];

/// How the server defines an object now.
fn defined(connection: &mut Connection, name: &Name, object: &Object) -> Result<Vec<Vec<u8>>> {
    session::use_schema(connection, &name.schema)?;
    let collation = schema_collation(connection)?;
    definition(connection, &object.kind, name, &collation)
}

/// Unknown schema, table, column or routine; no such index to force, or none of the partitions, the character set or the
/// collation that a border is written with.
fn is_missing(code: u16) -> bool {
    matches!(
        code,
        er::BAD_DB
            | er::BAD_FIELD
            | er::UNKNOWN_CHARACTER_SET
            | er::NO_SUCH_TABLE
            | er::KEY_DOES_NOT_EXIST
            | er::UNKNOWN_COLLATION
            | er::SP_DOES_NOT_EXIST
            | er::TRG_DOES_NOT_EXIST
            | er::EVENT_DOES_NOT_EXIST
            | er::UNKNOWN_PARTITION
            | er::PARTITION_CLAUSE_ON_NONPARTITIONED
    )
}

fn read(connection: &mut Connection, part: &Part<'_>, meter: &mut Meter<'_>) -> Result<Sums> {
    let what = format!("reading {} back", part.target);
    let sql = tables::select(part.table, &part.target, part.bounds(), &[]);
    let stream = connection.stream(sql).doing(|| what.clone())?;
    rows::sum(stream, &tables::shape(part.table), meter, &what)
}
