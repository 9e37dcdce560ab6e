//! The run: a part, what it has cost, the size of the next one, and when that may come.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use drover_db::options::ConnectOptions;
use drover_db::{Connection, Stop, Watched, server};
use drover_report::Progress;
use drover_throttle::Limits;

use crate::archive::Archive;
use crate::args::{ChunkArgs, LagBy};
use crate::clock::LogClock;
use crate::error::Doing;
use crate::flow::{Flow, Verdict};
use crate::plan::Plan;
use crate::replica::{How, Marker, Session, Watcher, reach};
use crate::report::{Archived, ChunkReport, Report};
use crate::size::{Sizer, Written};
use crate::state::{State, Tally, Task};
use crate::worker::{self, Attempt, Worker};
use crate::{Error, Result};

/// How often it is looked whether the next part may come.
const GLANCE: Duration = Duration::from_millis(5);
/// Time that a part took beyond its share of --max-rate is made up for by those after it, up to so much.
const CREDIT: Duration = Duration::from_millis(100);
/// A wait is told from this length on.
const TOLD: Duration = Duration::from_secs(1);
/// How long to try again where others hold a lock.
const LOCK_PATIENCE: Duration = Duration::from_secs(600);
/// How long to leave them to it.
const LOCK_PAUSE: Duration = Duration::from_millis(200);

/// A report, and what is to be forgotten when it was printed.
#[derive(Debug)]
pub struct Done {
    /// What was done, or would be.
    pub report: Report,
    forget: Option<(Connection, Watched<'static>, State)>,
}

impl Done {
    /// Forgets the run: the same command then begins anew. Until then it only gives the report again, as nobody knows whether a
    /// person has seen it.
    ///
    /// # Errors
    /// What the server said.
    pub fn forget(self) -> Result<()> {
        match self.forget {
            Some((mut connection, _watched, state)) => state.forget(&mut connection),
            None => Ok(()),
        }
    }
}

/// Runs a statement in parts, or goes on with a run that did not come to its end.
///
/// # Errors
/// Why the statement cannot be run in parts, or what ended the run; what was committed is noted, and the same command goes on.
pub fn chunk(
    args: &ChunkArgs,
    options: &ConnectOptions,
    stop: &Arc<Stop>,
    progress: &Progress,
) -> Result<Done> {
    let result = run(args, options, stop, progress);
    // What broke the connections was the signal.
    match result {
        Err(Error::Server { .. }) if stop.is_requested() => Err(Error::Stopped),
        other => other,
    }
}

fn run(args: &ChunkArgs, options: &ConnectOptions, stop: &Arc<Stop>, progress: &Progress) -> Result<Done> {
    progress.phase("planning");
    let database = args.database.clone().or_else(|| options.database.clone());
    let options = ConnectOptions { database, ..options.clone() };
    let (mut connection, watched) = worker::open(stop, &options)?;
    let plan = Plan::make(&mut connection, args, &options)?;
    let observed = Observed::reach(&mut connection, args, stop, &plan)?;
    if args.dry_run {
        let first_rows = Sizer::new(args.chunk_size.0, args.chunk_time.0).rows(None);
        let report = Report::Plan(plan.report(&mut connection, first_rows)?);
        return Ok(Done { report, forget: None });
    }
    let Some(task) = &plan.task else {
        let report = Report::Done(report(&plan, &plan.tally, 0, false, None, args));
        return Ok(Done { report, forget: None });
    };
    let run = Run { args, options: &options, stop, progress, plan: &plan, task };
    let report = Report::Done(run.go(&mut connection, observed)?);
    Ok(Done { report, forget: Some((connection, watched, plan.state)) })
}

fn report(
    plan: &Plan,
    tally: &Tally,
    chunks: u64,
    has_log: bool,
    archive: Option<Archived>,
    args: &ChunkArgs,
) -> ChunkReport {
    ChunkReport {
        statement: plan.statement.verb.name(),
        table: plan.table.name.to_string(),
        key: plan.walk.key.index.clone(),
        rows: tally.rows,
        walked: tally.walked,
        chunks,
        chunks_before: plan.parts_before.unwrap_or(0),
        seconds: tally.seconds,
        binlog_bytes: has_log.then_some(tally.binlog_bytes),
        max_lag_seconds: tally.max_lag_seconds.filter(|_| args.max_lag.is_some()),
        waited_seconds: tally.waited.values().fold(0.0, |all, seconds| all + seconds),
        waited: tally.waited.clone(),
        archive,
        warnings: plan.warnings.clone(),
    }
}

/// What the run waits for, which could be asked before anything was begun.
struct Observed {
    limits: Limits,
    server_id: u64,
    replicas: Vec<Session>,
}

impl Observed {
    fn reach(connection: &mut Connection, args: &ChunkArgs, stop: &Arc<Stop>, plan: &Plan) -> Result<Self> {
        let limits = args.limits();
        let server_id = server_id(connection)?;
        if plan.tally.is_finished {
            return Ok(Self { limits, server_id, replicas: Vec::new() });
        }
        if limits.are_given() {
            limits.look(connection)?;
        }
        if args.max_lag.is_some() {
            // Replicas are compared with it.
            LogClock::default().read(connection)?;
        }
        let replicas = plan.replicas.iter();
        let replicas = replicas.map(|replica| reach(stop, replica, args.lag_by, server_id, connection));
        Ok(Self { server_id, replicas: replicas.collect::<Result<_>>()?, limits })
    }
}

struct Run<'a> {
    args: &'a ChunkArgs,
    options: &'a ConnectOptions,
    stop: &'a Arc<Stop>,
    progress: &'a Progress,
    plan: &'a Plan,
    task: &'a Task,
}

impl Run<'_> {
    fn go(&self, connection: &mut Connection, observed: Observed) -> Result<ChunkReport> {
        let (plan, is_new) = (self.plan, self.plan.parts_before.is_none());
        let mut warnings = Vec::new();
        let clock = clock(connection, self.args.max_rate.is_some(), &mut warnings)?;
        let open = |path: &Path| {
            Archive::open(path, plan.tally.archived_bytes, is_new, &plan.table.name, &plan.table.columns)
        };
        let archive = self.task.archive.as_deref().map(open).transpose()?;
        if is_new {
            self.begin(connection)?;
        }
        let has_log = clock.is_some();
        let mut worker =
            Worker { connection, plan, archive, clock, looked: None, written: Written::default() };
        let (tally, chunks) = match plan.tally.is_finished {
            true => (plan.tally.clone(), plan.parts_before.unwrap_or(0)),
            false => match self.watched(&mut worker, observed) {
                Ok(done) => done,
                Err(error) => return Err(self.ended(worker.connection, error)),
            },
        };
        let archived =
            worker.archive.as_ref().zip(self.task.archive.as_ref()).map(|(archive, path)| Archived {
                file: path.clone(),
                rows: tally.archived_rows,
                bytes: tally.archived_bytes,
                // zstd takes no file of no frame.
                unpack: archive.unpack.clone().filter(|_| tally.archived_rows > 0),
                load: archive.load.clone(),
            });
        let mut report = report(plan, &tally, chunks, has_log, archived, self.args);
        report.warnings.extend(warnings);
        Ok(report)
    }

    /// A run that the server does not let begin leaves no archive: it would be in the way of the next one.
    fn begin(&self, connection: &mut Connection) -> Result<()> {
        let begun = self.plan.state.begin(connection, self.task);
        if let (Err(Error::Server { source: drover_db::Error::Server(_), .. }), Some(path)) =
            (&begun, &self.task.archive)
        {
            std::fs::remove_file(path).map_err(Error::file(path))?;
        }
        begun
    }

    /// A run that has changed nothing leaves nothing that would be in the way of the next one; of another, what ended it says how it is
    /// forgotten if it can never be finished.
    fn ended(&self, connection: &mut Connection, error: Error) -> Error {
        // Where the server does not answer, nobody knows whether the first part was committed.
        let Ok(Some((_, _, parts))) = self.plan.state.read(connection) else { return error };
        if parts == 0 {
            if self.plan.state.forget(connection).is_ok()
                && let Some(archive) = &self.task.archive
            {
                let _ = std::fs::remove_file(archive);
            }
            return error;
        }
        let is_of_server = matches!(&error, Error::Server { source: drover_db::Error::Server(_), .. });
        match is_of_server && error.hint().is_none() && !self.stop.is_requested() {
            true => Error::with_hint(
                error.to_string(),
                format!(
                    "{parts} parts are done: with the cause mended, the same command resumes the run; DROP TABLE {} forgets it",
                    self.plan.state.name()
                ),
            ),
            false => error,
        }
    }

    /// Works, while the threads watch that are asked for.
    fn watched(&self, worker: &mut Worker<'_>, observed: Observed) -> Result<(Tally, u64)> {
        let names: Vec<_> = self.plan.replicas.iter().map(|replica| replica.address.to_string()).collect();
        let allowed = self.args.max_lag.map(|lag| lag.0);
        let flow = Flow::new(allowed, &names);
        let Observed { limits, server_id, replicas } = observed;
        let marks = allowed.is_some();
        let beats = marks && self.args.lag_by == LagBy::Heartbeat;
        let marker = (limits.are_given() || marks).then(|| {
            Marker::new(self.stop, self.options, &flow, limits, marks, beats.then_some(&self.plan.state))
        });
        let marker = match marker {
            Some(mut marker) => marker.step().map(|()| Some(marker))?,
            None => None,
        };
        let watchers = replicas.into_iter().enumerate().map(|(index, session)| {
            let how = match self.args.lag_by {
                LagBy::Heartbeat => How::Heartbeat(&self.plan.state),
                LagBy::Status => How::Status(server_id),
            };
            Watcher::new(session, &flow, index, how)
        });
        let watchers: Vec<_> = watchers.collect();
        let over = AtomicBool::new(false);
        let is_over = || over.load(Ordering::Relaxed) || self.stop.is_requested();
        std::thread::scope(|scope| {
            marker.into_iter().for_each(|marker| drop(scope.spawn(|| marker.run(&is_over))));
            watchers.into_iter().for_each(|watcher| drop(scope.spawn(|| watcher.run(&is_over))));
            let result = Work::new(self, worker, &flow).run();
            over.store(true, Ordering::Relaxed);
            result
        })
    }
}

fn server_id(connection: &mut Connection) -> Result<u64> {
    let id = server::variable(connection, "server_id").doing(|| "reading server_id")?;
    Ok(id.and_then(|id| id.parse().ok()).unwrap_or(0))
}

/// What measures the log, if there is one and this account may see it.
fn clock(
    connection: &mut Connection,
    is_needed: bool,
    warnings: &mut Vec<String>,
) -> Result<Option<LogClock>> {
    const NO_LOG: &str = "--max-rate counts bytes of the binary log, and the server writes none";
    let mut clock = LogClock::default();
    match clock.read(connection) {
        Ok(Some(_)) => Ok(Some(clock)),
        Ok(None) if is_needed => {
            Err(Error::with_hint(NO_LOG, "--chunk-time and --max-load limit the work there"))
        }
        Ok(None) => Ok(None),
        Err(Error::Server { source: source @ drover_db::Error::Server(_), .. }) if is_needed => {
            Err(Error::with_hint(
                format!(
                    "--max-rate counts bytes of the binary log, whose length this account may not see: {source}"
                ),
                "GRANT BINLOG MONITOR (MariaDB) or REPLICATION CLIENT (MySQL) ON *.* to the account, or leave --max-rate out",
            ))
        }
        Err(Error::Server { source: source @ drover_db::Error::Server(_), .. }) => {
            warnings.push(format!(
                "parts are sized by their time only, as the binary log's length is not to be seen: {source}"
            ));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Part after part.
struct Work<'r, 'w, 'c> {
    run: &'r Run<'r>,
    worker: &'w mut Worker<'c>,
    flow: &'r Flow,
    sizer: Sizer,
    tally: Tally,
    parts: u64,
    begun: Instant,
    /// When the next part may be written, by --max-rate.
    not_before: Instant,
    /// Since when others hold a lock.
    locked: Option<Instant>,
}

impl<'r, 'w, 'c> Work<'r, 'w, 'c> {
    fn new(run: &'r Run<'r>, worker: &'w mut Worker<'c>, flow: &'r Flow) -> Self {
        let now = Instant::now();
        Self {
            run,
            worker,
            flow,
            sizer: Sizer::new(run.args.chunk_size.0, run.args.chunk_time.0),
            tally: run.plan.tally.clone(),
            parts: run.plan.parts_before.unwrap_or(0),
            begun: now,
            not_before: now,
            locked: None,
        }
    }

    fn run(mut self) -> Result<(Tally, u64)> {
        self.worker.prepare()?;
        let progress = self.run.progress;
        progress.expect(self.run.plan.table.rows.max(self.tally.walked));
        progress.done(self.tally.walked);
        while !self.tally.is_finished {
            self.part()?;
            self.tell();
        }
        self.tally.seconds = self.seconds();
        self.note_lag();
        Ok((self.tally, self.parts))
    }

    fn seconds(&self) -> f64 {
        self.run.plan.tally.seconds + self.begun.elapsed().as_secs_f64()
    }

    /// Says what is being done, and how far the replicas are.
    fn tell(&self) {
        let doing = self.run.plan.statement.verb.doing();
        match (self.run.args.max_lag, self.flow.lag(Instant::now()).0) {
            (Some(_), Some(lag)) => {
                self.run.progress.phase(&format!("{doing}, lag {:.1} s", lag.as_secs_f64()))
            }
            _ => self.run.progress.phase(doing),
        }
    }

    fn note_lag(&mut self) {
        if self.run.args.max_lag.is_some() {
            let seen = self.flow.lag(Instant::now()).1.as_secs_f64();
            self.tally.max_lag_seconds = Some(self.tally.max_lag_seconds.unwrap_or(0.0).max(seen));
        }
    }

    fn part(&mut self) -> Result<()> {
        let rows = self.sizer.rows(self.flow.most_bytes());
        let last = self.tally.last.as_deref();
        let border = self.run.plan.walk.border(self.worker.connection, last, &self.run.task.end, rows)?;
        self.wait(self.sizer.bytes_of(border.rows))?;
        self.note_lag();
        match self.worker.part(self.parts, &self.tally, &border, self.seconds())? {
            Attempt::Done { tally, bytes, is_looked_at, time } => {
                self.sizer.learn(border.rows, is_looked_at.then_some(bytes), time);
                self.flow.wrote(bytes);
                self.run.progress.done(border.rows);
                self.run.progress.count(tally.rows - self.tally.rows, bytes);
                self.spend(bytes);
                (self.tally, self.locked) = (tally, None);
                self.parts += 1;
                Ok(())
            }
            Attempt::Locked(why) => self.leave_lock(&why),
        }
    }

    fn spend(&mut self, bytes: u64) {
        if let Some(rate) = self.run.args.max_rate {
            let cost = Duration::from_secs_f64(bytes as f64 / rate.0.max(1) as f64);
            let now = Instant::now();
            self.not_before = self.not_before.max(now.checked_sub(CREDIT).unwrap_or(now)) + cost;
        }
    }

    /// Leaves a lock to those who hold it, for a while.
    fn leave_lock(&mut self, why: &str) -> Result<()> {
        let since = *self.locked.get_or_insert_with(Instant::now);
        if since.elapsed() > LOCK_PATIENCE {
            return Err(Error::with_hint(
                format!("a lock that others hold was waited for, for {} s: {why}", since.elapsed().as_secs()),
                "look for a transaction that was left open; the same command goes on",
            ));
        }
        self.sizer.shrink();
        self.run.progress.pause(Some("others hold a lock".into()));
        std::thread::sleep(LOCK_PAUSE);
        self.run.progress.pause(None);
        *self.tally.waited.entry("lock".into()).or_default() += LOCK_PAUSE.as_secs_f64();
        Ok(())
    }

    /// Waits until a part of about so many bytes may be written.
    fn wait(&mut self, bytes: u64) -> Result<()> {
        let begun = Instant::now();
        let mut is_told = false;
        loop {
            if self.run.stop.is_requested() {
                return Err(Error::Stopped);
            }
            let now = Instant::now();
            let (kind, why) = match self.objection(bytes, now) {
                Verdict::Go => break,
                Verdict::Wait(kind, why) => (kind, why),
                Verdict::Stop(why) => {
                    return Err(Error::with_hint(
                        format!("stopped by --critical-load: {why}"),
                        "the same command goes on, at a calmer time or with another limit",
                    ));
                }
            };
            if begun.elapsed() > TOLD {
                is_told = true;
                self.run.progress.pause(Some(why));
            }
            std::thread::sleep(GLANCE);
            *self.tally.waited.entry(kind.into()).or_default() += now.elapsed().as_secs_f64();
        }
        if is_told {
            self.run.progress.pause(None);
        }
        Ok(())
    }

    fn objection(&self, bytes: u64, now: Instant) -> Verdict {
        if let Some(file) = self.run.args.pause_file.as_deref().filter(|file| file.exists()) {
            return Verdict::Wait("pause", format!("{} exists", file.display()));
        }
        if now < self.not_before {
            return Verdict::Wait("rate", "--max-rate".into());
        }
        self.flow.verdict(bytes, now)
    }
}
