//! The restore of another tool's dump, from what it is to what came of it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;

use drover_db::collations::defaults;
use drover_db::options::ConnectOptions;
use drover_db::session::Use;
use drover_db::sql::partitions;
use drover_db::{Cluster, Connection, Server, Stop, Vendor};
use drover_throttle::{Side, Throttle};

use super::context::Context;
use super::directory::{How, Loader, Plan, Planned, Step};
use super::history;
use super::input;
use super::inventory::Inventory;
use super::mydumper::{self, Layout, Part, Said};
use super::replicated;
use super::script::Script;
use super::source::{Source, recognise};
use super::splitter::Rule;
use super::stream::{self, Loaded};
use super::tables::{self, File};
use super::tally::{ForeignReport, ForeignTable, Tally};
use super::target::Target;
use crate::definer::{Asked, Definers};
use crate::dump::catalog::Name;
use crate::error::Doing;
use crate::progress::Progress;
use crate::restore::RestoreArgs;
use crate::restore::global::{LocalInfile, RedoLog};
use crate::restore::rename::{Case, Renames};
use crate::session;
use crate::{Error, Result};

/// Compressed rows are about this many times smaller.
const PACKING: u64 = 3;

/// Whether what is to be restored is another tool's dump.
pub fn is_foreign(args: &RestoreArgs) -> bool {
    recognise(&args.dir).is_some()
}

/// Restores another tool's dump.
///
/// # Errors
/// If a statement fails; the error names its file and line, and the hint what was loaded until then.
pub fn restore_foreign(
    args: &RestoreArgs,
    options: &ConnectOptions,
    stop: &Stop,
    progress: &Progress,
) -> Result<ForeignReport> {
    let started = Instant::now();
    let source = recognise(&args.dir)
        .ok_or_else(|| Error::found(format!("{}: no dump of another tool", args.dir.display())))?;
    refuse_options(args)?;
    progress.phase("reading the dump");
    // The default schema may be one that is made only now.
    let default = options.database.as_deref();
    let options = &ConnectOptions { database: None, ..args.target.options(options) };
    let mut coordinator = session::open(options, Use::Script)?;
    let _watched = stop.watch(&coordinator).doing(|| "watching a connection")?;
    let mut probe = session::open(options, Use::Script)?;
    let _watched_too = stop.watch(&probe).doing(|| "watching a connection")?;
    let side = Side::only(&args.throttle, &args.server, options, drover_throttle::Work::Restore);
    let throttle = Throttle::start(args.throttle.max_rate, &[side], stop, progress)?;
    let shared = Shared { args, options, default, stop, progress, throttle: &throttle };
    let result = survey(args, source, default, &mut probe, stop)
        .and_then(|found| load(&shared, &mut coordinator, &mut probe, found));
    match result {
        Err(_) if stop.is_requested() => Err(Error::Stopped),
        Err(error) => Err(error),
        Ok(report) => {
            let (seconds, paused_seconds) =
                (started.elapsed().as_secs_f64(), throttle.paused().as_secs_f64());
            Ok(ForeignReport { seconds, paused_seconds, ..report })
        }
    }
}

/// What the command was given.
struct Shared<'a> {
    args: &'a RestoreArgs,
    options: &'a ConnectOptions,
    /// The default schema.
    default: Option<&'a str>,
    stop: &'a Stop,
    progress: &'a Progress,
    throttle: &'a Throttle<'a>,
}

fn refuse_options(args: &RestoreArgs) -> Result<()> {
    let refuse = |option: &str| {
        Err(Error::found(format!(
            "{option} is for dumps that drover made: this one was made by another tool"
        )))
    };
    if args.resume {
        return refuse("--resume");
    }
    if args.users {
        return refuse("--users");
    }
    if args.check {
        return refuse("--check");
    }
    if args.target.skip_refused {
        return refuse("--skip-refused");
    }
    if !args.target.into.is_empty() && input::is_stdin(&args.dir) {
        return Err(Error::with_hint(
            "--into needs to read the dump twice, to know what it holds: it cannot be piped in",
            "write it to a file first, or restore it into a private server and from there",
        ));
    }
    Ok(())
}

/// What was found out before anything is changed.
struct Found {
    kind: String,
    /// `None` if the dump can be read only once.
    inventory: Option<Inventory>,
    work: Work,
    /// What the dump tells of tables, by their names in it.
    said: BTreeMap<Name, Said>,
    /// Files that are no part of it.
    others: Vec<String>,
    /// What nothing tells to be right or wrong.
    doubts: Vec<String>,
    /// Whether rows are loaded from files by name.
    has_row_files: bool,
    bytes: u64,
}

enum Work {
    Script,
    Directory(Plan),
}

fn survey(
    args: &RestoreArgs,
    source: Source,
    default: Option<&str>,
    probe: &mut Connection,
    stop: &Stop,
) -> Result<Found> {
    let path = &args.dir;
    match source {
        Source::Script if input::is_stdin(path) => Ok(Found::script("a script from standard input", None, 0)),
        Source::Script => {
            let found = read(
                &File::new(path.clone(), Rule::Delimiter, default.map(str::to_owned))?,
                false,
                probe,
                stop,
            )?;
            let bytes = std::fs::metadata(path).map_err(Error::file(path))?.len();
            let kind = if found.is_mysqldump {
                "a dump of mysqldump, mariadb-dump or mysqldump-php"
            } else {
                "a script"
            };
            Ok(Found::script(kind, Some(found), bytes))
        }
        Source::Mydumper => survey_mydumper(path, probe, stop),
        Source::Tables => survey_tables(path, default, probe, stop),
    }
}

impl Found {
    fn script(kind: &str, inventory: Option<Inventory>, bytes: u64) -> Self {
        Self {
            kind: kind.into(),
            inventory,
            work: Work::Script,
            said: BTreeMap::new(),
            others: Vec::new(),
            doubts: Vec::new(),
            has_row_files: false,
            bytes,
        }
    }
}

/// What a file holds; a session of its own tells how it is to be read.
fn read(file: &File, may_be_empty: bool, probe: &mut Connection, stop: &Stop) -> Result<Inventory> {
    // A server that cannot begin a session anew keeps the settings of the file before, which are the same tool's.
    match probe.reset() {
        Ok(()) | Err(drover_db::Error::Server(_)) => {}
        Err(source) => return Err(Error::Server { doing: "beginning a session".into(), source }),
    }
    probe.set("sql_mode", "'', NAMES utf8mb4").doing(|| "setting sql_mode")?;
    let mut script = Script::open(&file.path, file.rule, file.schema.as_deref(), None, stop)?;
    let found = Inventory::read(&mut script, probe, stop)?;
    if !may_be_empty {
        script.check_not_empty()?;
    }
    Ok(found)
}

fn survey_tables(dir: &Path, default: Option<&str>, probe: &mut Connection, stop: &Stop) -> Result<Found> {
    let mut others = Vec::new();
    let files = tables::layout(dir, default, &mut others)?;
    let (mut all, mut with_tables, mut views) = (None::<Inventory>, Vec::new(), Vec::new());
    // Rows of tables that another file makes come when all tables are made.
    let mut rows_only = Vec::new();
    let bytes = files.iter().map(|file| file.bytes).sum();
    let has_row_files = files.iter().any(|file| file.rows.is_some());
    let mut plan = Plan::default();
    for file in files.iter().cloned() {
        let found = read(&file, false, probe, stop)?;
        if let (Some(rows), Some(table)) = (tables::missing_rows(&file, &files), found.table_without_rows()) {
            return Err(Error::with_hint(
                format!(
                    "{}: the rows of {table} are missing, while other tables have such a file",
                    rows.display()
                ),
                "copy the whole directory, or make the dump again; if the table is to have no rows, make an empty file of that name",
            ));
        }
        all.as_ref().map_or(Ok(()), |all| all.check_made_once(&found))?;
        let beside = file.rows.as_ref().map_or(0, |_| file.bytes);
        found.created.iter().for_each(|name| *plan.sizes.entry(name.clone()).or_default() += beside);
        let strangers: Vec<_> =
            found.filled.keys().filter(|name| !found.created.contains(*name)).cloned().collect();
        let planned = Planned { file, table: None, fills: strangers.clone() };
        match () {
            () if !strangers.is_empty() => rows_only.push((planned, strangers)),
            () if found.has_tables => with_tables.push(planned),
            () => views.push(planned),
        }
        match &mut all {
            Some(all) => all.extend(found),
            None => all = Some(found),
        }
    }
    let inventory = all.unwrap_or_default();
    for (name, bytes) in inventory.filled.iter().filter(|(name, _)| !inventory.ordered.contains(*name)) {
        *plan.sizes.entry(name.clone()).or_default() += bytes;
    }
    let rows_only = rows_of_others(rows_only, &inventory)?;
    plan.steps = vec![
        Step { phase: "loading", how: How::AtOnce, programs: false, files: with_tables },
        Step { phase: "loading rows", how: How::AtOnce, programs: false, files: rows_only },
        Step { phase: "creating views and programs", how: How::InTurn, programs: false, files: views },
    ];
    Ok(Found {
        kind: "a directory of scripts, one a table".into(),
        inventory: Some(inventory),
        work: Work::Directory(plan),
        said: BTreeMap::new(),
        others,
        doubts: Vec::new(),
        has_row_files,
        bytes,
    })
}

/// Files that fill tables which another file makes, or the target has. A trigger made there would see their rows.
fn rows_of_others(files: Vec<(Planned, Vec<Name>)>, all: &Inventory) -> Result<Vec<Planned>> {
    for (planned, tables) in &files {
        let made_elsewhere = |name: &&Name| all.created.contains(*name) && all.triggered.contains_key(*name);
        if let Some(name) = tables.iter().find(made_elsewhere) {
            return Err(Error::with_hint(
                format!(
                    "{}: rows of {name}, on which another file makes a trigger",
                    planned.file.path.display()
                ),
                "the trigger would run for each row: restore the file without it, this file, and then the trigger",
            ));
        }
    }
    Ok(files.into_iter().map(|(planned, _)| planned).collect())
}

fn survey_mydumper(dir: &Path, probe: &mut Connection, stop: &Stop) -> Result<Found> {
    let Layout { mut pieces, said, has_row_files, others, doubts } = mydumper::layout(dir)?;
    let bytes = pieces.iter().map(|piece| piece.file.bytes).sum();
    let mut all = Inventory::default();
    // File names are not always the names themselves: the statements tell those.
    let (mut schemas, mut names) = (BTreeMap::new(), BTreeMap::new());
    pieces.sort_by_key(|piece| piece.part);
    for piece in &mut pieces {
        let schema = schemas.get(&piece.schema).cloned().unwrap_or_else(|| piece.schema.clone());
        if piece.part != Part::Schema {
            piece.file.schema = Some(schema.clone());
        }
        if piece.part == Part::Rows {
            continue;
        }
        let found = read(&piece.file, true, probe, stop)?;
        let nothing = || {
            Error::with_hint(
                format!(
                    "{}: the definition is missing: mydumper could not read it",
                    piece.file.path.display()
                ),
                "look into mydumper's messages, and make the dump again",
            )
        };
        match piece.part {
            Part::Schema => {
                schemas.insert(piece.schema.clone(), found.schemas.first().ok_or_else(nothing)?.clone());
            }
            Part::Table => {
                let name = found.created.first().ok_or_else(nothing)?.clone();
                names.insert((piece.schema.clone(), piece.table.clone().unwrap_or_default()), name);
            }
            _ => {}
        }
        all.extend(found);
    }
    let name_of = |(schema, table): (String, String)| {
        let real = schemas.get(&schema).unwrap_or(&schema);
        names.get(&(schema.clone(), table.clone())).cloned().unwrap_or_else(|| Name::new(real, &table))
    };
    let plan = mydumper_plan(pieces, &name_of);
    all.filled.extend(plan.sizes.clone());
    let said = said.into_iter().map(|(key, said)| (name_of(key), said)).collect();
    let (kind, work) = ("a directory of mydumper's".into(), Work::Directory(plan));
    Ok(Found { kind, inventory: Some(all), work, said, others, doubts, has_row_files, bytes })
}

fn mydumper_plan(pieces: Vec<mydumper::Piece>, name_of: &dyn Fn((String, String)) -> Name) -> Plan {
    let mut plan = Plan::default();
    let step = |part: Part| match part {
        Part::Schema => ("creating the schemas", How::InOrder),
        Part::Sequence => ("creating the sequences", How::InOrder),
        Part::Table => ("creating the tables", How::AtOnce),
        Part::Rows => ("loading", How::AtOnce),
        Part::Programs => ("creating routines", How::InOrder),
        Part::View => ("creating views", How::InTurn),
        Part::Triggers => ("creating triggers", How::InOrder),
        Part::Events => ("creating events", How::InOrder),
    };
    let programs = |part: Part| matches!(part, Part::Programs | Part::Triggers | Part::Events);
    for piece in pieces {
        let table =
            (piece.part == Part::Rows).then(|| name_of((piece.schema, piece.table.unwrap_or_default())));
        if let Some(table) = &table {
            let is_packed = piece.file.path.extension().is_some_and(|end| end != "sql");
            let packing = if is_packed { PACKING } else { 1 };
            *plan.sizes.entry(table.clone()).or_default() += piece.file.bytes * packing;
        }
        let planned = Planned { file: piece.file, table, fills: Vec::new() };
        let (phase, how) = step(piece.part);
        match plan.steps.last_mut().filter(|last| last.phase == phase) {
            Some(last) => last.files.push(planned),
            None => {
                plan.steps.push(Step { phase, how, programs: programs(piece.part), files: vec![planned] })
            }
        }
    }
    plan
}

/// What all parts of the restore share.
fn context<'a>(
    shared: &Shared<'a>,
    coordinator: &mut Connection,
    observer: &'a mut Connection,
    found: &Found,
) -> Result<Context<'a>> {
    let Shared { args, options, default, stop, progress, throttle } = *shared;
    let server = Server::of(coordinator).doing(|| "asking for the server's version")?;
    let case = Case::of(coordinator)?;
    let renames = match &found.inventory {
        Some(inventory) => inventory.renames(&args.target.into, case)?,
        None => Renames::in_case(case),
    };
    let dir = if args.dir.is_dir() { Some(args.dir.as_path()) } else { args.dir.parent() };
    let tally = Tally::default();
    let target = Target::read(coordinator)?;
    let cluster = Cluster::of(coordinator).doing(|| "asking for the target's cluster")?;
    let drop_existing = args.target.drop_existing;
    let references = found.inventory.as_ref().map(|found| found.references.clone()).unwrap_or_default();
    Ok(Context {
        options,
        stop,
        progress,
        throttle,
        renames,
        default,
        definers: Definers::of(&args.target.definer, coordinator)?,
        drop_existing,
        is_piped: input::is_stdin(&args.dir),
        dir,
        tally,
        target,
        observer: Mutex::new(observe(observer)?),
        references,
        default_collations: defaults::of_connection(coordinator, defaults::SETS)
            .doing(|| "asking for default collations")?,
        partitions_innodb_only: server.vendor == Vendor::MySql
            && partitions::only_of_some_engines(coordinator)
                .doing(|| "asking which tables may have partitions")?,
        server,
        cluster,
    })
}

fn load(
    shared: &Shared<'_>,
    coordinator: &mut Connection,
    observer: &mut Connection,
    found: Found,
) -> Result<ForeignReport> {
    let Shared { args, options, default, stop, progress, .. } = *shared;
    let context = context(shared, coordinator, observer, &found)?;
    let mut redo_log = RedoLog::new(options, args.target.disable_redo)?;
    if let Some(inventory) = &found.inventory {
        inventory.schema_of_head.iter().try_for_each(|head| context.check_default(head))?;
        replicated::check(coordinator, &context, inventory)?;
        Asked::of(coordinator, &context.definers, &inventory.with_definers, false)?.into_result()?;
        inventory.make_room(coordinator, &context)?;
    }
    let _local_infile = match found.has_row_files {
        true => Some(LocalInfile::ensure(options, args.target.enable_local_infile)?),
        false => None,
    };
    if args.target.disable_redo {
        redo_log.disable()?;
    }
    let threads = match args.threads {
        Some(threads) => usize::from(threads),
        None => session::default_threads(coordinator)?,
    };
    context.tally.warn(found.doubts.iter().cloned(), 0);
    progress.expect(found.bytes);
    progress.phase("loading");
    let loaded = match &found.work {
        Work::Script => {
            let script = Script::open(&args.dir, Rule::Delimiter, default, Some(progress), stop)?;
            stream::load(script, coordinator, &context, found.inventory.as_ref(), threads)
        }
        Work::Directory(plan) => Loader::new(&context, plan).run(coordinator, threads).map(|()| Loaded {
            threads,
            how: format!("the files of all tables over {threads} connections at once"),
        }),
    };
    let loaded = loaded.map_err(|error| context.tally.explain(error))?;
    redo_log.enable()?;
    compare_checksums(coordinator, &context, &found.said)?;
    history::check(coordinator, &context)?;
    Ok(report(&context, found, loaded))
}

/// A session that shows definitions as servers print them, whatever the dump has set in it.
fn observe(connection: &mut Connection) -> Result<&mut Connection> {
    connection
        .set("sql_mode", "'', SESSION sql_quote_show_create = 1, NAMES utf8mb4")
        .doing(|| "setting sql_mode")?;
    Ok(connection)
}

/// mydumper can note what CHECKSUM TABLE said of a table. The same again proves the rows; another one may only mean another
/// version or format of rows.
fn compare_checksums(
    connection: &mut Connection,
    context: &Context<'_>,
    said: &BTreeMap<Name, Said>,
) -> Result<()> {
    for (name, checksum) in said.iter().filter_map(|(name, said)| Some((name, said.checksum?))) {
        let table = context.target(name);
        context.progress.phase("comparing checksums");
        let row = connection
            .first(format!("CHECKSUM TABLE {table}"))
            .doing(|| format!("reading the checksum of {table}"))?;
        if row.and_then(|row| row.parse::<u64>(1)) != Some(checksum) {
            let text = "its CHECKSUM TABLE is not the one that the dump tells: that depends on the server's version and \
                        the format of rows, too";
            context.tally.warn([format!("{table}: {text}")], 0);
        }
    }
    Ok(())
}

fn report(context: &Context<'_>, found: Found, loaded: Loaded) -> ForeignReport {
    let mut counts = context.tally.lock();
    for (name, said) in &found.said {
        let name = context.target(name);
        // Of a table whose files are all missing nothing was counted.
        if let Some(rows) = said.rows.filter(|rows| *rows > 0 || counts.tables.contains_key(&name)) {
            counts.tables.entry(name).or_default().expected = Some(rows);
        }
    }
    let differs = |(name, table): (&Name, &super::tally::TableTally)| {
        let expected = table.expected.filter(|expected| *expected != table.rows)?;
        Some(format!("{name}: the dump tells {expected} rows, the server took {}", table.rows))
    };
    let differences = counts.tables.iter().filter_map(differs).collect();
    let table = |(name, table): (&Name, &super::tally::TableTally)| ForeignTable {
        schema: name.schema.clone(),
        name: name.name.clone(),
        rows: table.rows,
        expected: table.expected,
    };
    let others = found.others.iter().map(|file| format!("{file}: not a file that the dump's tool writes"));
    ForeignReport {
        kind: found.kind,
        loading: loaded.how,
        server: context.server.clone(),
        tables: counts.tables.iter().map(table).collect(),
        rows: counts.tables.values().map(|table| table.rows).sum(),
        bytes: counts.bytes,
        statements: counts.statements,
        seconds: 0.0,
        paused_seconds: 0.0,
        threads: loaded.threads,
        warnings: counts.warnings.clone(),
        row_warnings: counts.row_warnings,
        differences,
        rewrites: counts.rewrites.iter().cloned().collect(),
        definers_changed: counts.redefined.len(),
        left_out: counts.left_out.iter().cloned().chain(others).collect(),
        verified: false,
    }
}
