//! `drover binlog`: which command does the work, and what its report looks like on a terminal.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use drover_binlog::server::Origin;
use drover_binlog::{
    After, BinlogArgs, BinlogCommand, ColumnsArgs, Compare, Destination, LogArgs, Partial, ReplayArgs,
    ReplayReport, StatReport,
};
use drover_db::Stop;
use drover_db::options::ConnectOptions;
use drover_dump::copy_renames;
use drover_dump::manifest::{Manifest, Schema, Snapshot, SourcePosition, Table};
use drover_report::plain::one_line;
use drover_units::show::{bytes, count, things};

use crate::failure::Failure;
use crate::printer::Printer;
use crate::progress;
use crate::report::Outcome;

pub(crate) fn run(args: &BinlogArgs, printer: &Printer, stop: &Arc<Stop>) -> Result<Outcome, Failure> {
    let stopped = || stop.is_requested();
    match &args.command {
        BinlogCommand::Ls(args) => {
            let origin = origin(&args.logs, printer, stop)?;
            printer.stream(&args.logs, |is_json, out| {
                drover_binlog::ls(args, origin.as_ref(), is_json, out, &stopped)
            })?;
        }
        BinlogCommand::Stat(args) => {
            let origin = origin(&args.logs, printer, stop)?;
            printer.stat(&drover_binlog::stat(args, origin.as_ref(), &stopped)?)?;
        }
        BinlogCommand::Cost(args) => {
            let origin = origin(&args.logs, printer, stop)?;
            let tables_of = tables_of(&args.columns, printer, stop)?;
            let report = drover_binlog::cost(args, origin.as_ref(), tables_of.as_ref(), &stopped)?;
            printer.cost(&report, args.safety)?;
        }
        BinlogCommand::Sql(args) => {
            let origin = origin(&args.logs, printer, stop)?;
            let tables_of = tables_of(&args.columns, printer, stop)?;
            let mut report = None;
            printer.stream(&args.logs, |is_json, out| {
                drover_binlog::sql(args, origin.as_ref(), tables_of.as_ref(), is_json, out, &stopped)
                    .map(|written| report = Some(written))
            })?;
            return Ok(report.map_or(Outcome::Done, |report| printer.sql(&report)));
        }
        BinlogCommand::Extract(args) => {
            let origin = origin(&args.logs, printer, stop)?;
            let tables_of = tables_of(&args.columns, printer, stop)?;
            let mut report = None;
            printer.stream(&args.logs, |is_json, out| {
                drover_binlog::extract(args, origin.as_ref(), tables_of.as_ref(), is_json, out, &stopped)
                    .map(|listed| report = Some(listed))
            })?;
            return Ok(report.map_or(Outcome::Done, |report| printer.extract(report)));
        }
        BinlogCommand::Replay(args) => return replay(args, printer, stop),
    }
    Ok(Outcome::Done)
}

fn replay(args: &ReplayArgs, printer: &Printer, stop: &Arc<Stop>) -> Result<Outcome, Failure> {
    let origin = match &args.from {
        None => None,
        Some(_) => {
            let options = printer.connection_to("the server to read", &args.source_server())?;
            Some(Origin { options, stop: Arc::clone(stop) })
        }
    };
    let mut after = args.after.as_deref().map(dump_before).transpose()?;
    let destination = Destination { options: printer.connection(&args.server)?, stop: of_target(args, stop) };
    if let (Some(dump), Some(after)) = (&args.after, &mut after) {
        after.compare = Some(comparing(dump.clone(), destination.options.clone(), Arc::clone(stop)));
    }
    let report = progress::show(printer, |progress| {
        drover_binlog::replay(args, origin.as_ref(), after.as_ref(), &destination, progress)
    })?;
    printer.replay(&report)
}

/// Compares the target with the dump that it was filled with.
fn comparing(dump: PathBuf, target: ConnectOptions, stop: Arc<Stop>) -> Compare {
    Compare(Arc::new(move |wants| {
        let progress = &drover_dump::Progress::default();
        match drover_dump::first_unlike(&dump, &target, wants, &stop, progress) {
            Ok(unlike) => Ok(unlike.map(|unlike| format!("{}: {}", unlike.object, unlike.what))),
            Err(error) => Err((error.to_string(), error.hint())),
        }
    }))
}

/// What stops the work on the target. Where logs are followed, a signal is the end of what is read: what was read is applied and noted. A
/// second signal ends the process.
fn of_target(args: &ReplayArgs, stop: &Arc<Stop>) -> Arc<Stop> {
    if args.follows() { Arc::default() } else { Arc::clone(stop) }
}

/// Where a dump or a copy was taken, and what it has. Rows of several moments have no one position from which the logs go on.
fn dump_before(dump: &Path) -> Result<After, Failure> {
    let manifest = Manifest::load(dump).map_err(drover_dump::Error::from)?;
    if let Some(mixed) = manifest.mixed() {
        let hint = match manifest.snapshot.inconsistent {
            true => {
                "take the dump again without --inconsistent, by an account that may lock: RELOAD on all, or LOCK TABLES on what is dumped"
            }
            false => {
                "begin anew; with --consistent-resume an interrupted run is resumed to rows of one moment"
            }
        };
        return Err(Failure {
            error: format!("{}: there is no one position to go on from: {mixed}", dump.display()),
            hint: Some(hint.into()),
        });
    }
    if !manifest.contents.has_rows() {
        return Err(Failure {
            error: format!(
                "{}: the dump has no rows (--no-data), which the logs would change",
                dump.display()
            ),
            hint: Some("take a dump with rows".into()),
        });
    }
    let partial = partial_tables(&manifest);
    let lower_case_table_names =
        manifest.settings.get("lower_case_table_names").and_then(|value| value.parse().ok());
    let Manifest { snapshot, schemas, .. } = manifest;
    let Snapshot {
        binlog_file,
        binlog_position,
        gtid_set,
        server_id,
        server_clock_us,
        query_id,
        replicates_from,
        logs_replicated,
        prepared,
        ..
    } = snapshot;
    let (log, position) = binlog_file.zip(binlog_position).ok_or_else(|| Failure {
        error: format!("{}: its server told no position in a binary log", dump.display()),
        hint: Some(
            "it wrote none, or the account lacked the right to see it; --start-position says where to begin"
                .into(),
        ),
    })?;
    let renames = copy_renames(dump)?;
    if let Some((old, new)) = renames.first() {
        return Err(Failure {
            error: format!(
                "{}: the copy gave the schema '{old}' the name '{new}', and logs go to schemas of their own names only",
                dump.display()
            ),
            hint: Some("what is to be followed has to be copied without --into".into()),
        });
    }
    let names = |schema: &Schema| -> Vec<_> {
        schema.tables.iter().map(|table| (schema.name.clone(), table.name.clone())).collect()
    };
    let tables = schemas.iter().flat_map(names).collect();
    let schemas = schemas.into_iter().map(|schema| schema.name).collect();
    let gtids = gtid_set.unwrap_or_default().parse();
    let gtids = gtids.map_err(|why| Failure {
        error: format!("{}: the manifest's gtid_set: {why}", dump.display()),
        hint: None,
    })?;
    let place = |source: SourcePosition| format!("{} at {}", source.file, source.position);
    let replicates_from = replicates_from.into_iter().map(place).collect();
    Ok(After {
        log,
        position,
        gtids,
        server_id,
        clock: server_clock_us,
        query_id,
        replicates_from,
        logs_replicated,
        prepared,
        schemas,
        tables,
        lower_case_table_names,
        partial,
        compare: None,
    })
}

/// Tables whose rows were left out or masked.
fn partial_tables(manifest: &Manifest) -> Vec<Partial> {
    let why = |table: &Table| {
        let masked =
            table.masks.keys().next().map(|column| format!("the column {column} is masked (--mask)"));
        let condition = table.condition.as_ref();
        masked.or_else(|| condition.map(|condition| format!("it has those where {condition} (--where)")))
    };
    let partial = |(schema, table): (&Schema, &Table)| {
        Some(Partial { schema: schema.name.clone(), table: table.name.clone(), why: why(table)? })
    };
    manifest.tables().filter_map(partial).collect()
}

/// The server that the logs are read from, if they are a server's.
fn origin(args: &LogArgs, printer: &Printer, stop: &Arc<Stop>) -> Result<Option<Origin>, Failure> {
    if !args.from.from_server {
        return Ok(None);
    }
    let options = printer.connection(&args.from.server)?;
    Ok(Some(Origin { options, stop: Arc::clone(stop) }))
}

/// The server whose tables tell of columns, if one was named.
fn tables_of(args: &ColumnsArgs, printer: &Printer, stop: &Arc<Stop>) -> Result<Option<Origin>, Failure> {
    let Some(server) = args.server() else { return Ok(None) };
    let options = printer.connection_to("the server that has the tables", &server)?;
    Ok(Some(Origin { options, stop: Arc::clone(stop) }))
}

/// What was applied, as a person reads it.
pub(crate) fn replay_text(replay: &ReplayReport) -> String {
    let mut out = String::new();
    let done = match (replay.dry_run, replay.flashback) {
        (false, false) => "applied",
        (true, false) => "would be applied",
        (false, true) => "undone",
        (true, true) => "would be undone",
    };
    let _ = writeln!(
        out,
        "{} {done}: {}, {}, {}; {} of logs",
        things(replay.transactions, "transaction"),
        things(replay.row_events, "row event"),
        things(replay.statements, "statement"),
        things(replay.loads, "file"),
        bytes(replay.bytes),
    );
    if replay.applied_before > 0 {
        let before = things(replay.applied_before, "transaction");
        let verb = if replay.applied_before == 1 { "was" } else { "were" };
        let _ = writeln!(out, "{before} of the log where it resumed {verb} applied by an earlier run");
    }
    if !replay.dry_run && !replay.log.is_empty() {
        let _ = writeln!(out, "the target is where {} is at {}", one_line(&replay.log), replay.position);
    }
    if !replay.events_off.is_empty() {
        let one = if replay.event_on.is_empty() {
            String::new()
        } else {
            format!("; {} has one run", replay.event_on)
        };
        let names = replay.events_off.join(", ");
        let _ = writeln!(
            out,
            "scheduled events are off on the target, as on a replica: {}",
            one_line(&(names + &one))
        );
    }
    for one in &replay.collations {
        let _ =
            writeln!(out, "collation {} is {} on the target: {}", one_line(&one.from), one.to, one.reason);
    }
    for one in &replay.not_kept {
        let verb = if replay.dry_run { "would not be kept" } else { "not kept" };
        let _ = writeln!(out, "{verb}: {}", one_line(&format!("{}: {}: {}", one.at, one.what, one.reason)));
    }
    if replay.missing_rows > 0 {
        let rows = things(replay.missing_rows, "row");
        let _ = writeln!(out, "{rows} not undone, as a later transaction deleted or changed them:");
    }
    for row in replay.missing.iter().take(MOST_MISSING) {
        let _ = writeln!(out, "  {row}");
    }
    let others = replay.missing_rows.saturating_sub(MOST_MISSING as u64);
    if others > 0 {
        let _ = writeln!(out, "  and {} (--json names the first thousand)", things(others, "other"));
    }
    for problem in &replay.problems {
        let at = if problem.at.is_empty() { String::new() } else { format!("{}: ", problem.at) };
        let _ = writeln!(out, "{}", one_line(&format!("cannot be applied: {at}{}", problem.what)));
        if !problem.hint.is_empty() {
            let _ = writeln!(out, "  hint: {}", one_line(&problem.hint));
        }
    }
    out
}

/// So many rows that were not there are named.
const MOST_MISSING: usize = 100;

/// So many tables and kinds of statements are named.
const MOST_NAMED: usize = 20;

/// What fills the logs, as a person reads it.
pub(crate) fn stat_text(stat: &StatReport) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{}, {}, {}",
        things(stat.logs.len() as u64, "log"),
        bytes(stat.bytes),
        things(stat.transactions, "transaction")
    );
    let mut parts: Vec<(u64, String, String)> = Vec::new();
    for table in &stat.by_table {
        let events = [
            (table.insert_events, "insert"),
            (table.update_events, "update"),
            (table.delete_events, "delete"),
        ];
        let events = events.iter().filter(|(events, _)| *events > 0);
        let events: Vec<_> = events.map(|(events, what)| format!("{} {what}", count(*events))).collect();
        let what = format!("{} events in {}", events.join(", "), things(table.transactions, "transaction"));
        parts.push((table.bytes, format!("{}.{}", table.schema, table.table), what));
    }
    for statement in &stat.by_statement {
        let what = things(statement.statements, "statement");
        parts.push((statement.bytes, statement.statement.clone(), what));
    }
    parts.sort_by_key(|part| std::cmp::Reverse(part.0));
    section(
        &mut out,
        "What fills them, with the share of what is around it",
        stat.bytes,
        &parts,
        stat.other_bytes,
    );
    let kinds: Vec<_> = stat
        .by_event
        .iter()
        .map(|kind| (kind.bytes, kind.event.clone(), things(kind.events, "event")))
        .collect();
    section(&mut out, "By type of event", stat.bytes, &kinds, 0);
    out
}

fn section(out: &mut String, title: &str, total: u64, parts: &[(u64, String, String)], other: u64) {
    let _ = writeln!(out, "\n{title}");
    let (named, rest) = parts.split_at(parts.len().min(MOST_NAMED));
    let mut row = |part: u64, name: &str, what: &str| {
        let percent = part as f64 * 100.0 / total.max(1) as f64;
        let name = one_line(name);
        let _ = writeln!(out, "{percent:>6.1} % {:>9}  {name:<32} {what}", bytes(part));
    };
    for (part, name, what) in named {
        row(*part, name, what);
    }
    if !rest.is_empty() {
        row(rest.iter().map(|(part, _, _)| part).sum(), &format!("{} others", rest.len()), "");
    }
    if other > 0 {
        row(other, "other", "belongs to none of these");
    }
}
