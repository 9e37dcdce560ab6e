//! Has workers apply what is read, and notes where it ended.

use std::thread;

use drover_db::er;
use drover_throttle::Throttle;

use crate::{Error, Result};

use super::applier::Applier;
use super::args::ReplayArgs;
use super::marks::{BEGIN, LowWaterMark};
use super::position::Positions;
use super::queue::Queue;
use super::reading::Reading;
use super::report::ReplayReport;
use super::scheduled::switch_on;
use super::sink::{Goes, Sink};
use super::worker::{Context, Worker};

/// Applies what is read, from the mark on.
pub(super) fn apply<'a>(
    args: &ReplayArgs,
    positions: &'a Positions,
    (queue, throttle): (&'a Queue, &'a Throttle<'a>),
    reading: Reading<'_>,
    mut sink: Sink<'a>,
) -> Result<ReplayReport> {
    reading.progress.phase(if args.flashback { "undoing" } else { "replaying" });
    begin(args, positions, queue, &mut sink)?;
    let (destination, target, settings) = (sink.session.destination, sink.target, args.session_settings());
    let context = Context { destination, target, positions, queue, settings: &settings };
    let pending = sink.earlier.found.as_ref().and_then(|found| found.pending.clone());
    let first = |number| pending.clone().filter(|_| number == 0);
    let applying: Result<Vec<_>> =
        (0..args.workers()).map(|number| Worker::new(number, &context, first(number))).collect();
    let applying = applying?;
    sink.goes = Goes::ToWorkers(Applier::new(queue, positions, throttle, args.follows()));
    let done = thread::scope(|scope| {
        for mut worker in applying {
            scope.spawn(move || worker.run());
        }
        let read = reading.into_sink(&mut sink);
        let applied = queue.drain();
        queue.close();
        read.and(applied)
    });
    sink.report.paused_seconds = throttle.paused().as_secs_f64();
    match done {
        Ok(()) => end(args, positions, queue, sink),
        Err(error) => Err(ended_early(args, positions, queue, &mut sink, queue.error().unwrap_or(error))),
    }
}

/// Notes the beginning on the target.
fn begin(args: &ReplayArgs, positions: &Positions, queue: &Queue, sink: &mut Sink<'_>) -> Result<()> {
    let (found, provenance) = (sink.earlier.found.as_ref(), &sink.earlier.provenance);
    let (mark, workers) = (queue.mark(), args.workers());
    sink.session.with("noting the beginning", |connection| {
        positions.begin(connection, found, provenance, &mark, workers)
    })
}

/// All was applied.
fn end(args: &ReplayArgs, positions: &Positions, queue: &Queue, mut sink: Sink<'_>) -> Result<ReplayReport> {
    (sink.report.missing_rows, sink.report.missing) = queue.missing();
    let mark = match &sink.report.next_log {
        // All was applied, and the next log is where to go on.
        Some(next) if !args.flashback && !queue.mark().log.is_empty() => {
            LowWaterMark { log: next.as_str().into(), position: BEGIN }
        }
        _ => match sink.left.take().filter(|_| args.resume && args.filter.start_position.is_some()) {
            // That it was left out is said by no later run.
            Some((log, position)) if !args.flashback => LowWaterMark { log, position },
            _ => queue.mark(),
        },
    };
    let Sink { session, earlier, report, .. } = &mut sink;
    session.execute("noting a log", positions.note_provenance(&earlier.provenance))?;
    session.execute("noting the end", positions.update(0, &mark, ""))?;
    session.with("noting the end", |connection| positions.outlast(connection))?;
    (report.log, report.position) = (mark.log.to_string(), mark.position);
    if let Some(event) = report.events_off.first() {
        report.event_on = session.with("asking for an event", |connection| switch_on(connection, event))?;
    }
    Ok(sink.report)
}

/// What to say where it ended before its end, behind noting what the next run should know.
fn ended_early(
    args: &ReplayArgs,
    positions: &Positions,
    queue: &Queue,
    sink: &mut Sink<'_>,
    error: Error,
) -> Error {
    let mut mark = None;
    if args.flashback && sink.earlier.found.is_none() && queue.mark().log.is_empty() {
        // Nothing was undone, so there is nothing to go on with. If this fails too, the next run says that one was begun.
        let _ = sink.session.connection.execute(positions.forget());
    }
    if !args.flashback {
        mark = queue.next_log();
        if let Some(next) = &mark {
            move_on(sink, positions, next);
        }
    }
    match (error, args.flashback) {
        (Error::Stopped, _) => Error::StoppedMidway,
        (error, true) => not_undone(error),
        (error, false) => with_position(error, &mark.unwrap_or_else(|| queue.mark())),
    }
}

/// Notes that the log where it ended is the one where it goes on: who passes over its first transaction names that log. If this fails,
/// the next run says where it is.
fn move_on(sink: &mut Sink<'_>, positions: &Positions, mark: &LowWaterMark) {
    sink.earlier.provenance.ends = None;
    for note in [positions.note_provenance(&sink.earlier.provenance), positions.move_on(mark)] {
        let _ = sink.session.connection.execute(note);
    }
}

/// Rows that a later transaction changed cannot be undone before that one.
fn not_undone(error: Error) -> Error {
    let hint = match &error {
        Error::Target { source, .. } if source.code() == Some(er::KEY_NOT_FOUND) => {
            "a later transaction deleted or changed the row: undo that one too, or pass over what is missing with --skip-missing; \
             drover binlog sql --flashback prints what undoes it"
        }
        Error::Target { source, .. } if source.code() == Some(er::DUP_ENTRY) => {
            "a later transaction made a row with that key: undo that one too; drover binlog sql --flashback prints what undoes it"
        }
        _ => return error,
    };
    Error::with_hint(error.to_string(), hint)
}

/// Where to go on is said with the error.
fn with_position(error: Error, mark: &LowWaterMark) -> Error {
    let LowWaterMark { log, position } = mark;
    match (error, log.is_empty()) {
        (Error::Target { doing, source }, false) => {
            let doing =
                format!("{doing} (all up to {log} at {position} was applied; --resume resumes there)");
            Error::Target { doing, source }
        }
        (error, _) => error,
    }
}
