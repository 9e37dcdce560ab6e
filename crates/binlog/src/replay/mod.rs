//! `drover binlog replay`: applies logs to a server, each transaction as a whole, and goes on where it was ended.
//!
//! One thread reads the logs and makes statements of the events ([`builder`]): BINLOG statements of rows ([`events`]), others as they were
//! run, files over the wire. Workers with a connection each apply them ([`worker`]), several at once where the log's server tells that it did
//! so too ([`queue`]). With each transaction its position is committed ([`marks`], [`position`]); what commits by itself is
//! recognised by what it changed ([`definitions`]).

mod args;
mod builder;
mod definitions;
mod events;
mod marks;
mod position;
mod queue;
mod sink;
mod transaction;
mod worker;

use std::collections::HashMap;
use std::sync::Arc;
use std::thread;

use drover_db::options::ConnectOptions;
use drover_db::{Connection, Server, Stop, Watched, server};
use drover_report::Progress;
use serde::Serialize;

use crate::chain::{Chain, Item};
use crate::filter::{Filter, FilterArgs};
use crate::log::MAGIC;
use crate::server::Origin;
use crate::{Error, Result, flashback};

pub use args::{Interrupted, ReplayArgs};

use builder::Builder;
use events::Target;
use marks::Mark;
use position::{Found, Positions};
use queue::Queue;
use sink::{Goes, Sink};
use worker::{Context, Worker};

/// The server that logs are applied to, and what stops the work.
#[derive(Debug, Clone)]
pub struct Destination {
    /// Where it is.
    pub options: ConnectOptions,
    /// A request breaks the connections: what was not committed is rolled back.
    pub stop: Arc<Stop>,
}

impl Destination {
    fn connect(&self) -> Result<(Connection, Watched<'static>)> {
        let connection = Connection::open(&self.options);
        let watched = connection.and_then(|connection| {
            let watched = self.stop.watch_shared(&connection)?;
            Ok((connection, watched))
        });
        watched.map_err(|source| self.failed("connecting", source))
    }

    fn failed(&self, doing: impl Into<String>, source: drover_db::Error) -> Error {
        if self.stop.is_requested() {
            return Error::Stopped;
        }
        Error::Target { doing: doing.into(), source: Box::new(source) }
    }
}

/// What was applied, or in a dry run what would be.
#[derive(Debug, Default, Serialize)]
pub struct ReplayReport {
    /// Whether nothing was applied.
    pub dry_run: bool,
    /// Whether the logs were undone, from their end on.
    pub flashback: bool,
    /// The replay's name.
    pub name: String,
    /// Transactions.
    pub transactions: u64,
    /// Transactions that an earlier run had applied.
    pub applied_before: u64,
    /// Statements of the logs.
    pub statements: u64,
    /// Events of rows.
    pub row_events: u64,
    /// Files that were loaded.
    pub loads: u64,
    /// What was read of the logs, in bytes as they lie there.
    pub bytes: u64,
    /// The last log that was read, and where in it the last transaction ends up to which all was applied.
    pub log: String,
    /// In bytes.
    pub position: u64,
    /// The log that comes behind those that were read, where the last of them is at its end.
    pub next_log: Option<String>,
    /// Transactions whose end is not in the logs, as LOG: at POSITION. They were not applied: their server did not commit them, or
    /// a later log, or the rest of the last, has their end.
    pub abandoned: Vec<String>,
    /// With `--flashback`, statements of which nobody knows whether they changed something in the tables that are wanted.
    pub passed_over: u64,
    /// What cannot be applied; found by a dry run.
    pub problems: Vec<Problem>,
}

/// Something that cannot be applied.
#[derive(Debug, Clone, Serialize)]
pub struct Problem {
    /// Where it is in the logs, as LOG: at POSITION; empty for what is wrong with the target.
    pub at: String,
    /// What it is.
    pub what: String,
    /// What a person can do about it; may be empty.
    pub hint: String,
}

/// Applies logs to `destination`; `origin` is the server of `--from`.
///
/// # Errors
/// If a log cannot be read or is damaged, after all before that was applied; if the target refuses something: the error says what
/// and where, and the same command goes on from there with `--resume`.
pub fn replay(
    args: &ReplayArgs,
    origin: Option<&Origin>,
    destination: &Destination,
    progress: &Progress,
) -> Result<ReplayReport> {
    let failed = |source| destination.failed("looking at the target", source);
    let (mut connection, _watched) = destination.connect()?;
    let target = target(&mut connection).map_err(failed)?;
    let positions = Positions::of(&args.replay_name());
    let found = positions.find(&mut connection).map_err(failed)?;
    let found = match (found, args.resume, args.restart) {
        (Some(found), false, false) if !args.dry_run => return Err(there_already(args, &found)),
        (found, true, _) => found,
        _ => None,
    };
    let mark = found.as_ref().map(|found| found.mark.clone()).filter(|mark| !mark.log.is_empty());
    // Where it goes on is behind where it began.
    let filter = FilterArgs {
        start_position: args.filter.start_position.filter(|_| mark.is_none() || args.flashback),
        ..args.filter.clone()
    };
    // Backwards, all has to be read before anything is undone.
    let at = mark.as_ref().filter(|_| !args.flashback).map(|mark| (&*mark.log, mark.position));
    let chain = args.logs().open_at(origin, Some(&filter), at)?;
    progress.expect(chain.size());
    let report = ReplayReport {
        dry_run: args.dry_run,
        flashback: args.flashback,
        name: args.replay_name(),
        ..ReplayReport::default()
    };
    let sink = |goes, connection, found| Sink {
        destination,
        target: &target,
        connection,
        goes,
        found,
        interrupted: args.interrupted,
        tables: HashMap::new(),
        report,
        defined: String::new(),
        loads_are_checked: false,
        is_backwards: args.flashback,
    };
    if args.dry_run {
        progress.phase("dry run");
        let sink = sink(Goes::Nowhere, connection, found);
        let (read, mut sink) = read(chain, &filter, sink, destination, progress);
        read?;
        sink.try_session()?;
        return Ok(sink.report);
    }
    progress.phase("replaying");
    positions.create(&mut connection).map_err(failed)?;
    if !positions.lock(&mut connection).map_err(failed)? {
        let what = format!("a replay named '{}' is at work on the target", args.replay_name());
        return Err(Error::with_hint(what, "wait until it has ended, or give this one another --name"));
    }
    if let Some(found) = &found {
        positions.end_sessions(&mut connection, found).map_err(failed)?;
    }
    let mark = mark.unwrap_or(Mark { log: "".into(), position: 0 });
    let workers = args.workers();
    positions.begin(&mut connection, found.as_ref(), &mark, workers).map_err(failed)?;
    let queue = Queue::new(workers, mark);
    let settings = args.session_settings();
    let context =
        Context { destination, target: &target, positions: &positions, queue: &queue, settings: &settings };
    let pending = found.as_ref().and_then(|found| found.pending.clone());
    let mut applying = Vec::new();
    for number in 0..workers {
        applying.push(Worker::new(number, &context, pending.clone().filter(|_| number == 0))?);
    }
    let sink = sink(Goes::ToWorkers(&queue, &positions), connection, found);
    let (done, mut sink) = thread::scope(|scope| {
        for mut worker in applying {
            scope.spawn(move || worker.run());
        }
        let (read, sink) = read(chain, &filter, sink, destination, progress);
        let applied = queue.drain();
        queue.close();
        (read.and(applied), sink)
    });
    let done = done.map_err(|error| queue.error().unwrap_or(error));
    let mark = match (&done, &sink.report.next_log) {
        // All was applied, and the next log is where to go on.
        (Ok(()), Some(next)) if !args.flashback && !queue.mark().log.is_empty() => {
            Mark { log: next.as_str().into(), position: MAGIC.len() as u64 }
        }
        _ => queue.mark(),
    };
    if done.is_ok() {
        let update = positions.update(0, &mark, "");
        sink.connection.execute(update).map_err(|source| destination.failed("noting the end", source))?;
    }
    done.map_err(|error| with_position(error, &mark))?;
    (sink.report.log, sink.report.position) = (mark.log.to_string(), mark.position);
    Ok(sink.report)
}

/// Reads the logs to their end.
fn read<'a>(
    mut chain: Chain,
    filter: &FilterArgs,
    sink: Sink<'a>,
    destination: &Destination,
    progress: &Progress,
) -> (Result<()>, Sink<'a>) {
    let counter = chain.counter();
    let stopped = || destination.stop.is_requested();
    let mut filter = Filter::new(filter, chain.logs());
    let is_backwards = sink.is_backwards;
    let everything = FilterArgs::default();
    let wanted = if is_backwards { Filter::new(&everything, 0) } else { filter.clone() };
    let mut builder = Builder::new(wanted, sink, is_backwards);
    let mut told = 0;
    let see = |item: &Item<'_>| {
        let bytes = counter.bytes();
        progress.done(bytes - told);
        progress.count(0, bytes - told);
        told = bytes;
        builder.see(item)
    };
    let read = match is_backwards {
        false => chain.walk(&stopped, see).map(|()| 0),
        true => flashback::walk(&mut chain, &mut filter, &stopped, see),
    };
    let (mut sink, unfinished) = builder.finish();
    sink.report.bytes = counter.bytes();
    sink.report.abandoned.extend(unfinished.map(|at| at.to_string()));
    let read = read.map(|passed_over| sink.report.passed_over = passed_over);
    (read, sink)
}

fn target(connection: &mut Connection) -> drover_db::Result<Target> {
    let server = Server::of(connection)?;
    let max_packet = server::variable(connection, "max_allowed_packet")?;
    let max_packet = max_packet.and_then(|value| value.parse().ok()).unwrap_or(1 << 20);
    Ok(Target::new(&server, max_packet))
}

fn there_already(args: &ReplayArgs, found: &Found) -> Error {
    let Mark { log, position } = &found.mark;
    let name = args.replay_name();
    let what = match log.is_empty() {
        true => format!("a replay named '{name}' was begun on the target"),
        false => format!("a replay named '{name}' has come to {log} at {position} on the target"),
    };
    Error::with_hint(
        what,
        "--resume goes on behind it; --restart forgets it, as after the target was filled anew; --name tells replays of several servers apart",
    )
}

/// Where to go on is said with the error.
fn with_position(error: Error, mark: &Mark) -> Error {
    let Mark { log, position } = mark;
    match (error, log.is_empty()) {
        (Error::Target { doing, source }, false) => {
            let doing = format!("{doing} (all up to {log} at {position} was applied; --resume goes on)");
            Error::Target { doing, source }
        }
        (error, _) => error,
    }
}
