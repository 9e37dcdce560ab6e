//! `drover queue`: which part of the queue does the work, and what its report looks like on a terminal.

mod leaving;
mod schedule;

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead, BufReader, IsTerminal as _};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use drover_db::Stop;
use drover_db::options::{ConnectOptions, OneServer, Secret, ServerArgs};
use drover_queue::args::{
    BuildArgs, DeadAction, DeadArgs, KindArgs, PlaceArgs, PushArgs, QueueArgs, QueueCommand, ServeArgs,
    SetArgs, WorkArgs,
};
use drover_queue::{
    BuildOptions, BuildProgress, BuildReport, Change, DeadTask, Defaults, Hands, KindStat, Pusher, Record,
    ServeOptions, ShardStat, Shards, StatReport, Token, Totals, WebService, Which, WorkOptions, WorkReport,
};
use drover_report::plain::one_line;
use drover_units::show::{count, duration, things};
use serde::Serialize;

use crate::failure::Failure;
use crate::printer::Printer;
use crate::report::Outcome;

pub(crate) fn run(args: &QueueArgs, printer: &Printer, stop: &Arc<Stop>) -> Result<Outcome, Failure> {
    match &args.command {
        QueueCommand::Init(args) => {
            let shards = shards(&args.place, printer)?;
            drover_queue::init(&shards)?;
            printer.result(&Initialised { shards: shards.shards.len() }, String::new())?;
        }
        QueueCommand::Push(args) => return push(args, printer),
        QueueCommand::Build(args) => return build(args, printer, stop),
        QueueCommand::Work(args) => return work(args, printer, stop),
        QueueCommand::Stat(args) => {
            let stat = drover_queue::stat(&shards(&args.place, printer)?)?;
            let lost = stat.shards.iter().any(|shard| shard.error.is_some());
            printer.result(&stat, stat_text(&stat))?;
            return Ok(if lost { Outcome::Found } else { Outcome::Done });
        }
        QueueCommand::Serve(args) => serve(args, printer, stop)?,
        QueueCommand::Dead(args) => return dead(args, printer),
        QueueCommand::Schedule(args) => schedule::run(&args.command, printer)?,
        QueueCommand::Set(args) => set(args, printer)?,
        QueueCommand::Pause(args) => pause(args, printer, true)?,
        QueueCommand::Resume(args) => pause(args, printer, false)?,
        QueueCommand::Drain(args) => return leaving::drain(args, printer, stop),
        QueueCommand::Move(args) => return leaving::move_tasks(args, printer, stop),
    }
    Ok(Outcome::Done)
}

#[derive(Serialize)]
struct Initialised {
    shards: usize,
}

#[derive(Serialize)]
struct Pushed {
    pushed: u64,
}

#[derive(Serialize)]
struct Changed {
    tasks: u64,
}

/// The shards that the command line means.
fn shards(place: &PlaceArgs, printer: &Printer) -> Result<Shards, Failure> {
    let schema = place.database.as_deref();
    if let Some(file) = &place.shards {
        let shards = Shards::load(file, &place.server, schema)?;
        shards.warnings.iter().for_each(|warning| printer.warning(warning));
        return Ok(shards);
    }
    let options = printer.connection(&place.server)?;
    let database = schema.map(str::to_owned).or(options.database);
    // A queue goes on with the next primary.
    Ok(Shards::one(ConnectOptions { database, one_server: OneServer::that_may_move(), ..options }))
}

fn push(args: &PushArgs, printer: &Printer) -> Result<Outcome, Failure> {
    let shards = shards(&args.place, printer)?;
    let defaults = Defaults {
        kind: args.task.kind,
        priority: args.task.priority,
        tenant: args.task.tenant.clone(),
        not_before_ms: args
            .not_before
            .as_deref()
            .map(drover_queue::not_before)
            .transpose()
            .map_err(Failure::new)?,
        payload: args.payload.clone(),
    };
    let mut pusher = Pusher::new(&shards, defaults);
    for id in &args.object_ids {
        if id == "-" {
            for record in lines(BufReader::new(std::io::stdin()), "standard input".into(), |_| Ok(())) {
                pusher.push(&record?)?;
            }
            continue;
        }
        let record = Record { object_id: id.clone(), ..Record::default() };
        record.check().map_err(|error| Failure::new(format!("'{id}': {error}")))?;
        pusher.push(&record)?;
    }
    let pushed = pusher.flush()?;
    printer.result(&Pushed { pushed }, format!("{} pushed", things(pushed, "task")))?;
    Ok(Outcome::Done)
}

/// The tasks of a text, a line each; empty lines are passed over.
fn lines(
    reader: impl BufRead,
    name: String,
    check: impl Fn(&Record) -> Result<(), String>,
) -> impl Iterator<Item = drover_queue::Result<Record>> {
    let parse = move |(at, line): (usize, std::io::Result<String>)| {
        let wrong = |what: String| drover_queue::Error::Found {
            what: format!("{name}: line {}: {what}", at + 1),
            hint: None,
        };
        let line = line.map_err(|error| wrong(error.to_string()))?;
        match line.trim() {
            "" => Ok(None),
            line => {
                let record = Record::parse(line).map_err(&wrong)?;
                check(&record).map_err(wrong)?;
                Ok(Some(record))
            }
        }
    };
    drover_queue::lines(reader).enumerate().map(parse).filter_map(Result::transpose)
}

/// Whether a task says nothing that a build cannot hold.
fn fits_build(record: &Record, kind: u16) -> Result<(), String> {
    match record {
        Record { kind: Some(own), .. } if *own != kind => {
            Err(format!("its kind is {own}, and all tasks of a build have one, which is {kind}: see --kind"))
        }
        Record { not_before_ms: Some(_), .. } => {
            Err("a build's tasks have no not_before: push those that are to begin later".into())
        }
        _ => Ok(()),
    }
}

fn build(args: &BuildArgs, printer: &Printer, stop: &Arc<Stop>) -> Result<Outcome, Failure> {
    let shards = shards(&args.place, printer)?;
    if let (true, Some(job)) = (args.cancel, &args.job) {
        return match drover_queue::cancel(&shards, job)? {
            true => Ok(Outcome::Done),
            false => Err(Failure::new(format!("there is no build '{job}' that is not published yet"))),
        };
    }
    let source = match (&args.file, &args.from_query) {
        (Some(file), _) => file.display().to_string(),
        (None, query) => query.clone().unwrap_or_default(),
    };
    let job = args.job.clone().unwrap_or_else(|| drover_queue::new_job(args.task.kind));
    let options = BuildOptions {
        job,
        kind: args.task.kind,
        priority: args.task.priority,
        tenant: args.task.tenant.clone(),
        source,
        pauses: !args.no_pauses,
    };
    let fits = |record: &Record| fits_build(record, args.task.kind);
    let report = match (&args.file, &args.from_query, &args.source) {
        (_, Some(query), Some(url)) => {
            let server = source_server(url, &args.place.server);
            let source = printer.connection_to("the server to read", &server)?;
            let mut rows = drover_queue::QueryRows::open(&source, query)?;
            built(printer, |progress| {
                drover_queue::build(&shards, &options, rows.records()?, progress, stop)
            })?
        }
        (Some(file), ..) if file == Path::new("-") => {
            let records = lines(BufReader::new(std::io::stdin()), "standard input".into(), fits);
            built(printer, |progress| drover_queue::build(&shards, &options, records, progress, stop))?
        }
        (Some(file), ..) => {
            let opened =
                File::open(file).map_err(|error| Failure::new(format!("{}: {error}", file.display())))?;
            let reader = BufReader::with_capacity(1 << 20, opened);
            let records = lines(reader, file.display().to_string(), fits);
            built(printer, |progress| drover_queue::build(&shards, &options, records, progress, stop))?
        }
        _ => return Err(Failure::new("--from-query needs --source")),
    };
    printer.result(&report, build_text(&report))?;
    if options.pauses && report.tasks >= LARGE_BUILD {
        warn_of_slow_commits(&shards, printer);
    }
    Ok(Outcome::Done)
}

/// Builds of so many tasks take long enough for live traffic to notice.
const LARGE_BUILD: u64 = 100_000;

/// The build has gone well: a server that cannot be asked now is no error of it.
fn warn_of_slow_commits(shards: &Shards, printer: &Printer) {
    let slow = match drover_queue::slow_commits(shards) {
        Ok(slow) => slow,
        Err(error) => return printer.warning(&error.to_string()),
    };
    let slow: Vec<_> = slow.iter().map(|shard| shard.name.as_str()).collect();
    if let Some(first) = slow.first() {
        let of = if first.is_empty() { String::new() } else { format!(" of {}", slow.join(", ")) };
        printer.warning(&format!(
            "live inserts may have waited 100 ms now and then: innodb_log_writer_threads{of} is OFF, as MySQL has it on few processors; \
             SET GLOBAL innodb_log_writer_threads = ON ends that"
        ));
    }
}

/// The server of a URL. Where the queue is says nothing of it; only which option files are read does.
fn source_server(url: &Secret, queue: &ServerArgs) -> ServerArgs {
    ServerArgs {
        url: Some(url.clone()),
        defaults_file: queue.defaults_file.clone(),
        defaults_extra_file: queue.defaults_extra_file.clone(),
        defaults_group_suffix: queue.defaults_group_suffix.clone(),
        no_defaults: queue.no_defaults,
        ..ServerArgs::default()
    }
}

fn built(
    printer: &Printer,
    work: impl FnOnce(&BuildProgress) -> drover_queue::Result<BuildReport>,
) -> Result<BuildReport, Failure> {
    let progress = BuildProgress::default();
    let line = |seconds: f64| {
        let stored = progress.stored.load(Ordering::Relaxed);
        format!(
            "building: {}, {}/s",
            things(stored, "task"),
            count((stored as f64 / seconds.max(0.001)) as u64)
        )
    };
    Ok(watched(printer, line, || work(&progress))?)
}

fn build_text(report: &BuildReport) -> String {
    let mut text = format!(
        "{} published in {} ({}/s) as build '{}'",
        things(report.tasks, "task"),
        duration(Duration::from_secs_f64(report.seconds)),
        count((report.tasks as f64 / report.seconds.max(0.001)) as u64),
        report.job
    );
    if report.merged > 0 {
        let _ =
            write!(text, "\n{} left out: their objects have unfinished ones", things(report.merged, "task"));
    }
    text
}

fn work(args: &WorkArgs, printer: &Printer, stop: &Arc<Stop>) -> Result<Outcome, Failure> {
    let shards = shards(&args.place, printer)?;
    let options = WorkOptions {
        name: args.name.clone().unwrap_or_else(own_name),
        workers: args.procs,
        until_empty: args.until_empty,
        grace: args.grace,
        lease: args.lease,
    };
    let service = args.http.as_ref().map(|url| WebService::new(url.expose())).transpose()?;
    let hands = match (&args.exec, &service, &args.json_lines) {
        (Some(command), ..) => Hands::Exec(command),
        (_, Some(service), _) => Hands::Http(service),
        (.., command) => Hands::JsonLines(command.as_deref().unwrap_or_default()),
    };
    let totals = Totals::default();
    let last = AtomicU64::new(0);
    let line = |_: f64| {
        let done = totals.done.load(Ordering::Relaxed);
        let since = done - last.swap(done, Ordering::Relaxed);
        let failed = totals.failed.load(Ordering::Relaxed);
        format!("working: {} done, {} since the last line, {failed} failures", count(done), count(since))
    };
    let trouble = |text: &str| printer.status(&format!("warning: {text}"));
    let report =
        watched(printer, line, || drover_queue::work(&shards, &options, &hands, &totals, stop, &trouble))?;
    printer.result(&report, work_text(&report))?;
    Ok(if report.dead > 0 { Outcome::Found } else { Outcome::Done })
}

fn own_name() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("{}:{}", host.trim(), std::process::id())
}

fn work_text(report: &WorkReport) -> String {
    let mut text = format!(
        "{} done in {} ({}/s)",
        things(report.done, "task"),
        duration(Duration::from_secs_f64(report.seconds)),
        count((report.done as f64 / report.seconds.max(0.001)) as u64)
    );
    for (number, what) in [
        (report.failed.saturating_sub(report.dead), "failed and are tried again"),
        (report.dead, "failed for the last time: see `drover queue dead`"),
        (report.refused, "answered too late, and that was not taken"),
    ] {
        if number > 0 {
            let _ = write!(text, "\n{} {what}", count(number));
        }
    }
    text
}

/// Runs work, and prints a line every ten seconds meanwhile; on a terminal one that changes.
fn watched<T>(printer: &Printer, line: impl Fn(f64) -> String + Send, work: impl FnOnce() -> T) -> T {
    if !printer.shows_progress() {
        return work();
    }
    let every =
        if std::io::stderr().is_terminal() { Duration::from_secs(1) } else { Duration::from_secs(10) };
    let (finished, wait) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let begun = Instant::now();
        scope.spawn(move || {
            while matches!(wait.recv_timeout(every), Err(RecvTimeoutError::Timeout)) {
                printer.status(&line(begun.elapsed().as_secs_f64()));
            }
        });
        let result = work();
        drop(finished);
        result
    })
}

#[derive(Serialize)]
struct Serving {
    url: String,
}

fn serve(args: &ServeArgs, printer: &Printer, stop: &Arc<Stop>) -> Result<(), Failure> {
    let token = args.token_file.as_deref().map(Token::load).transpose()?;
    let shards = shards(&args.place, printer)?;
    if !args.listen.ip().is_loopback() {
        printer.warning(
            "whoever reaches this address can see the queue: see \"Security\" in docs/queue-serve.md",
        );
    }
    let mut printed = Ok(());
    let ready = |address: SocketAddr| {
        let url = format!("http://{address}/");
        printed = printer.result(&Serving { url: url.clone() }, url);
        Ok(())
    };
    drover_queue::serve(&shards, ServeOptions { listen: args.listen, token }, stop, ready)?;
    printed
}

fn dead(args: &DeadArgs, printer: &Printer) -> Result<Outcome, Failure> {
    let shards = shards(&args.place, printer)?;
    let is_chosen = args.all || !args.id.is_empty() || args.kind.is_some() || args.error.is_some();
    if args.action == DeadAction::Drop && !is_chosen {
        return Err(Failure {
            error: "which dead tasks are to be dropped was not said".into(),
            hint: Some("name them with --id, --kind or --error, or say --all".into()),
        });
    }
    let limit = args.limit.or((args.action == DeadAction::List).then_some(100));
    let which = Which {
        kind: args.kind,
        tasks: args.id.clone(),
        error: args.error.clone(),
        limit,
        ..Which::default()
    };
    match args.action {
        DeadAction::List => {
            let tasks = drover_queue::dead(&shards, &which)?;
            printer.result(&tasks, dead_text(&tasks))?;
            Ok(if tasks.is_empty() { Outcome::Done } else { Outcome::Found })
        }
        DeadAction::Retry => changed(printer, drover_queue::retry(&shards, &which)?, "given another try"),
        DeadAction::Drop => changed(printer, drover_queue::drop_dead(&shards, &which)?, "dropped"),
    }
}

fn changed(printer: &Printer, tasks: u64, what: &str) -> Result<Outcome, Failure> {
    printer.result(&Changed { tasks }, format!("{} {what}", things(tasks, "dead task")))?;
    Ok(Outcome::Done)
}

fn dead_text(tasks: &[DeadTask]) -> String {
    let mut text = String::new();
    for task in tasks {
        let at = if task.shard.is_empty() { String::new() } else { format!("{} ", task.shard) };
        let _ = writeln!(
            text,
            "{at}{}  kind {}  object {}  {}  died {}  {}",
            task.id,
            task.kind,
            one_line(&task.object_id),
            things(task.attempts.into(), "attempt"),
            task.died,
            one_line(task.error.lines().next().unwrap_or_default())
        );
    }
    text
}

fn set(args: &SetArgs, printer: &Printer) -> Result<(), Failure> {
    let change = Change {
        is_unique: args.unique,
        max_attempts: args.max_attempts,
        backoff: args.backoff,
        backoff_max: args.backoff_max,
        timeout: args.timeout,
        rate: args.rate,
        concurrency: args.concurrency,
        keep: args.keep,
        is_paused: None,
    };
    if change.is_empty() {
        let hint = Some("--max-attempts, --rate and others say what is to hold: see --help".into());
        return Err(Failure { hint, ..Failure::new("nothing to set") });
    }
    Ok(drover_queue::set(&shards(&args.place, printer)?, args.kind, &change)?)
}

fn pause(args: &KindArgs, printer: &Printer, is_paused: bool) -> Result<(), Failure> {
    drover_queue::pause(&shards(&args.place, printer)?, args.kind, is_paused)?;
    let kinds =
        args.kind.map_or_else(|| "tasks of all kinds".to_owned(), |kind| format!("tasks of kind {kind}"));
    if printer.shows_progress() {
        printer.status(&format!("{kinds} are {}", if is_paused { "paused" } else { "resumed" }));
    }
    Ok(())
}

fn stat_text(stat: &StatReport) -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{:>5} {:>12} {:>10} {:>8} {:>12} {:>9} {:>9} {:>9} {:>9} {:>9}",
        "kind", "waiting", "later", "dead", "done", "per s", "oldest", "wait p99", "run p99", "time left"
    );
    for kind in &stat.kinds {
        let _ = writeln!(text, "{}", kind_line(kind));
    }
    for shard in &stat.shards {
        shard_text(shard, stat.shards.len() > 1, &mut text);
    }
    text
}

fn kind_line(kind: &KindStat) -> String {
    let seconds = |seconds: f64| duration(Duration::from_secs_f64(seconds.max(0.0)));
    let dash = || "-".to_owned();
    format!(
        "{:>5} {:>12} {:>10} {:>8} {:>12} {:>9.1} {:>9} {:>9} {:>9} {:>9}",
        kind.kind,
        count(kind.waiting),
        count(kind.later),
        count(kind.dead),
        count(kind.done),
        kind.rate,
        if kind.waiting > 0 { seconds(kind.oldest_seconds) } else { dash() },
        kind.wait_ms.map_or_else(dash, |latency| format!("{} ms", count(latency.p99))),
        kind.run_us.map_or_else(dash, |latency| format!("{} ms", latency.p99.div_ceil(1000))),
        match kind.is_paused {
            true => "paused".to_owned(),
            false => kind.eta_seconds.map_or_else(dash, seconds),
        },
    )
}

fn shard_text(shard: &ShardStat, is_named: bool, text: &mut String) {
    if is_named {
        let waiting: u64 = shard.kinds.iter().map(|kind| kind.waiting).sum();
        let drains = match (shard.is_moving, shard.is_draining) {
            (true, _) => ", being moved to other shards",
            (_, true) => ", takes no more tasks",
            _ => "",
        };
        let _ = writeln!(text, "shard {}: {} waiting{drains}", shard.name, count(waiting));
    } else if shard.is_draining {
        let _ = writeln!(text, "it takes no more tasks: see `drover queue drain`");
    }
    if let Some(error) = &shard.error {
        let _ = writeln!(text, "  not reached: {}", one_line(error));
        return;
    }
    if shard.inbox > 0 {
        let about = if shard.inbox_is_estimate { "about " } else { "" };
        let _ =
            writeln!(text, "inbox: {about}{} that no shepherd has taken yet", things(shard.inbox, "task"));
    }
    if shard.in_transit > 0 {
        let _ = writeln!(text, "{} on their way to other shards", things(shard.in_transit, "task"));
    }
    for shepherd in &shard.shepherds {
        let late = if shepherd.is_late { ", nothing heard of it" } else { "" };
        let _ = writeln!(
            text,
            "shepherd {} ({}): {} of {} workers busy, for {}{late}",
            shepherd.shepherd,
            one_line(&shepherd.name),
            shepherd.running.min(shepherd.workers),
            shepherd.workers,
            duration(Duration::from_secs_f64(shepherd.seconds.max(0.0)))
        );
    }
    schedule::shard_text(&shard.schedules, text);
    for build in shard.builds.iter().filter(|build| build.state == "loading") {
        let _ = writeln!(
            text,
            "build '{}' of kind {}: {} stored",
            one_line(&build.job),
            build.kind,
            things(build.tasks, "task")
        );
    }
}
