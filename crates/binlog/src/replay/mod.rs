//! `drover binlog replay`: applies logs to a server, each transaction as a whole, and goes on where it was ended.
//!
//! One thread reads the logs and makes statements of the events ([`builder`]): BINLOG statements of rows ([`events`]), others as they were
//! run, files over the wire. Workers with a connection each apply them ([`worker`]), several at once where the log's server tells that it did
//! so too ([`queue`]). With each transaction its position is committed ([`marks`], [`position`]); what commits by itself is
//! recognised by what it changed ([`definitions`]).

mod after;
mod ahead;
mod applied;
mod args;
mod builder;
mod cluster;
mod collations;
mod computed;
mod constraints;
mod definitions;
mod dry_run;
mod events;
mod logged;
mod marks;
mod names;
mod not_kept;
mod passwords;
mod position;
mod programs;
mod provenance;
mod queue;
mod refusals;
mod report;
mod scheduled;
mod selection;
mod sink;
mod staying;
mod tables;
mod transaction;
mod trial;
mod types;
mod worker;

use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::thread;

use drover_db::options::ConnectOptions;
use drover_db::session::Use;
use drover_db::{Connection, Stop, Watched, er, server};
use drover_report::Progress;

use crate::chain::{Chain, Item};
use crate::definitions::Definitions;
use crate::filter::{Filter, FilterArgs};
use crate::log::MAGIC;
use crate::server::Origin;
use crate::source::Source;
use crate::{Error, Result, flashback};

pub use after::{After, Compare, Partial};
pub use args::{Interrupted, ReplayArgs};
pub use collations::NearestCollation;
pub use not_kept::NotKept;
pub use report::{Problem, ReplayReport};

use ahead::Ahead;
use applied::{Applied, Before};
use builder::Builder;
use cluster::Node;
use events::Target;
use marks::Mark;
use names::Names;
use position::{Found, Positions};
use queue::Queue;
use refusals::{
    refuse_another, refuse_filled, refuse_half_filled, refuse_itself, refuse_made_anew, refuse_others,
    see_server,
};
use scheduled::{running_events, switch_on};
use sink::{Goes, Sink};
use staying::Staying;
use worker::{Context, Worker};

/// The server that logs are applied to, and what stops the work.
#[derive(Debug, Clone)]
pub struct Destination {
    /// Where it is.
    pub options: ConnectOptions,
    /// A request breaks the connections: what was not committed is rolled back. Of logs that are followed it is another one than the
    /// origin's, whose request is the end of what is read.
    pub stop: Arc<Stop>,
}

impl Destination {
    /// As a server that is asked for definitions of tables.
    fn as_origin(&self) -> Origin {
        Origin { options: self.options.clone(), stop: Arc::clone(&self.stop) }
    }

    fn connect(&self) -> Result<(Connection, Watched<'static>)> {
        let failed = |source| self.failed("connecting", source);
        let (mut connection, watched) = self.stop.connect(&self.options).map_err(failed)?;
        logged::log_rows(&mut connection).map_err(failed)?;
        Ok((connection, watched))
    }

    fn failed(&self, doing: impl Into<String>, source: drover_db::Error) -> Error {
        if self.stop.is_requested() {
            return Error::Stopped;
        }
        Error::Target { doing: doing.into(), source: Box::new(source) }
    }
}

/// Applies logs to `destination`; `origin` is the server of `--from`, `after` tells of the dump of `--after`.
///
/// # Errors
/// If a log cannot be read or is damaged, after all before that was applied; if the target refuses something: the error says what
/// and where, and the same command goes on from there with `--resume`.
pub fn replay(
    args: &ReplayArgs,
    origin: Option<&Origin>,
    after: Option<&After>,
    destination: &Destination,
    progress: &Progress,
) -> Result<ReplayReport> {
    run(args, false, origin, after, destination, progress)
}

/// The same; `is_trial` ends a dry run at the first thing that the target's cluster refuses.
fn run(
    args: &ReplayArgs,
    is_trial: bool,
    origin: Option<&Origin>,
    after: Option<&After>,
    destination: &Destination,
    progress: &Progress,
) -> Result<ReplayReport> {
    let failed = |source| destination.failed("looking at the target", source);
    let selection = args.selection(after);
    let args = &ReplayArgs { filter: args.filter.of_logs(origin, after)?, ..args.clone() };
    let (mut connection, _watched) = destination.connect()?;
    if server::is_tidb(&mut connection).map_err(failed)? {
        return Err(Error::found(
            "TiDB takes no events of a binary log (BINLOG statements): nothing can be replayed there",
        ));
    }
    let target = Target::of(&mut connection).map_err(failed)?;
    if target.max_packet < Target::LEAST_PACKET {
        return Err(small_packets(target.max_packet));
    }
    if let Some(origin) = origin.filter(|_| !args.flashback) {
        refuse_itself(origin, destination, &mut connection)?;
    }
    let unlogged = if args.skip_binlog { None } else { logged::refusal(&mut connection).map_err(failed)? };
    if let Some(Problem { what, hint, .. }) = unlogged.as_ref().filter(|_| !args.dry_run) {
        return Err(Error::with_hint(format!("{what}: nothing was changed"), hint));
    }
    if !args.dry_run {
        try_session(args, &target, destination)?;
    }
    let events = if args.allow_events { None } else { running_events(&mut connection).map_err(failed)? };
    if let Some(Problem { what, hint, .. }) = events.as_ref().filter(|_| !args.dry_run) {
        return Err(Error::with_hint(what, hint));
    }
    if let Some(after) = after {
        after.check_rows(&args.filter)?;
        after.check_source()?;
    }
    if origin.is_none() && !args.flashback {
        provenance::outlast(&Source::find(&args.files.logs)?);
    }
    let mut positions = Positions::of(&args.replay_name());
    let found = earlier(args, after, &positions, &mut connection, destination)?;
    if let Some(found) = found.as_ref().filter(|_| origin.is_none()) {
        found.provenance.check(&Source::find(&args.files.logs)?).map_err(sink::elsewhere)?;
    }
    let mark = found.as_ref().map(|found| found.mark.clone()).filter(|mark| !mark.log.is_empty());
    // Backwards, all has to be read before anything is undone.
    let goes_on = mark.as_ref().filter(|_| !args.flashback).map(|mark| (&*mark.log, mark.position));
    let begins = args.beginning(after, goes_on.is_some())?;
    // Where it goes on is behind where it began: what came before that in the same log was not applied.
    let first = match after.filter(|_| args.filter.start_position.is_none()) {
        Some(after) => Some(after.log.clone()),
        None => Source::find(&args.files.logs)?.first().map(Source::log_name),
    };
    let begins_here = goes_on.is_none_or(|(log, _)| first.is_some_and(|first| first == log));
    let filter = FilterArgs { start_position: begins.filter(|_| begins_here), ..args.filter.clone() };
    let at = goes_on.or(after.map(|after| (&*after.log, after.position)));
    let schemas = after.map(|after| schemas_of(after, args, &positions, &mut connection, destination));
    let schemas = schemas.transpose()?;
    if let Some(after) = after.filter(|_| mark.is_none()) {
        after.check_log(first_log(args, origin, after)?)?;
    }
    let node = Node::of(&mut connection, args.skip_binlog).map_err(failed)?;
    if node.is_some() && !args.dry_run && !args.follows() {
        cluster::refuse_beforehand(args, origin, after, destination, progress)?;
    }
    let mut provenance = found.as_ref().map(|found| found.provenance.clone()).unwrap_or_default();
    if let Some(origin) = origin {
        // Before anything is sent: what is asked of a server that is followed ends with a signal, and then nothing is followed.
        see_server(&mut provenance, origin)?;
    }
    let mut chain = args.logs().open_at(origin, Some(&filter), at)?.without_gaps()?;
    if let (Some(found), Some((_, BEGIN))) = (&found, goes_on)
        && let (Some(state), Some((log, _))) = (&found.provenance.ends, found.provenance.last())
    {
        chain.begin_behind(log.to_owned(), state.clone());
    }
    progress.phase("checking that each log is whole");
    chain.check_ends(&|| destination.stop.is_requested())?;
    progress.expect(chain.size());
    let follows = args.follows();
    if let Some(found) = &found {
        refuse_filled(found, &selection, schemas.as_ref())?;
        refuse_made_anew(found, after, &mut connection, destination)?;
    }
    if !args.flashback {
        refuse_half_filled(args, schemas.as_ref(), &mut connection, destination)?;
    }
    let mut reading =
        Reading { chain, ahead: Ahead::default(), filter: &filter, schemas, follows, destination, progress };
    provenance.is_anew |= args.restart;
    if let Some(after) = after {
        provenance.holds = after.schemas.iter().map(|schema| provenance::quoted(schema)).collect();
    }
    let applied = match args.flashback {
        true => None,
        false => {
            if !args.dry_run {
                Positions::lock_start(&mut connection).map_err(failed)?;
            }
            let mut others = positions.others(&mut connection).map_err(failed)?;
            others.retain(|_, other| other.provenance.may_share(&selection, &provenance.holds));
            let begins_anywhere = mark.is_none() && args.begins_anywhere(after);
            let before = begins_anywhere.then(|| Before::excluding(args.filter.exclude_gtids.clone()));
            let (anew, goes_on) = (provenance.is_anew, goes_on.is_some());
            Some(Applied::of(&mut connection, anew, goes_on, others, before).map_err(failed)?)
        }
    };
    let report = ReplayReport {
        dry_run: args.dry_run,
        flashback: args.flashback,
        name: args.replay_name(),
        problems: unlogged.into_iter().chain(events).collect(),
        ..ReplayReport::default()
    };
    let begins_as_before = found.is_some() && goes_on.is_none() && !args.flashback;
    let names = Names::of(&args.filter, &provenance, &mut connection).map_err(failed)?;
    let mut sink = Sink {
        names,
        destination,
        target: &target,
        connection,
        goes: Goes::Nowhere,
        provenance,
        applied,
        found,
        interrupted: args.interrupted,
        begins_as_before,
        tables: HashMap::new(),
        kept: HashMap::new(),
        staying: Staying::default(),
        computed: HashMap::new(),
        report,
        left: None,
        defined: String::new(),
        loads_are_checked: false,
        is_backwards: args.flashback,
        skips_missing: args.skip_missing,
        rights: None,
        trial: None,
        schemas: None,
        made_schemas: 0,
        node,
        is_trial,
    };
    sink.see_selection(&selection)?;
    match goes_on {
        None if after.is_some() => sink.see_start("", true)?,
        None => sink.see_start(&args.start(), true)?,
        Some(_) if begins_here => {}
        Some(_) => sink.see_start(&args.start(), false)?,
    }
    if !args.flashback {
        reading.look_ahead(&mut sink)?;
    }
    if let Some(after) = after.filter(|_| !args.resume && !is_trial) {
        progress.phase("comparing the target with the dump");
        after.check_target(&args.filter)?;
    }
    if !args.dry_run {
        positions.create(&mut sink.connection).map_err(failed)?;
        return apply(args, &positions, mark, reading, sink);
    }
    progress.phase(if is_trial { "looking for what the cluster refuses" } else { "dry run" });
    reading.into_sink(&mut sink)?;
    sink.try_session()?;
    Ok(sink.report)
}

/// What each worker begins with is tried while nothing is changed: an account may lack the privilege for it.
fn try_session(args: &ReplayArgs, target: &Target, destination: &Destination) -> Result<()> {
    let (mut connection, _watched) = destination.connect()?;
    let failed = |source| {
        destination.failed("trying whether the account may apply logs (nothing was changed)", source)
    };
    connection.set_up(Use::Replay).map_err(failed)?;
    for statement in args.session_settings().iter().chain(&target.begin_session()) {
        connection.execute(statement).map_err(failed)?;
    }
    Ok(())
}

/// The log that a dump was taken at, from its beginning.
fn first_log(args: &ReplayArgs, origin: Option<&Origin>, after: &After) -> Result<Chain> {
    // Files are read from their beginning anyway.
    let from = if origin.is_some() { MAGIC.len() as u64 } else { after.position };
    args.logs().open_at(origin, None, Some((&after.log, from)))
}

/// The schemas that are wanted behind a dump: those that it has, and those that the logs have made since. What the logs say of one that
/// was restored under another name would have nowhere to go, or go to another one.
fn schemas_of(
    after: &After,
    args: &ReplayArgs,
    positions: &Positions,
    connection: &mut Connection,
    destination: &Destination,
) -> Result<BTreeSet<Vec<u8>>> {
    let failed = |source| destination.failed("listing schemas", source);
    let bytes = |schemas: Vec<String>| schemas.into_iter().map(String::into_bytes);
    let of_dump = bytes(after.schemas.clone());
    if args.resume {
        let made = positions.made_schemas(connection).map_err(failed)?;
        return Ok(of_dump.chain(bytes(made)).collect());
    }
    refuse_others(after, args, connection, destination)?;
    let there = connection.query("SELECT SCHEMA_NAME FROM information_schema.SCHEMATA").map_err(failed)?;
    let there: BTreeSet<_> = there.into_iter().map(|row| row.string(0)).collect();
    let is_missing =
        |schema: &&String| !there.contains(*schema) && args.filter.takes_schema(schema.as_bytes());
    match after.schemas.iter().find(is_missing) {
        None => Ok(of_dump.collect()),
        Some(schema) => Err(Error::with_hint(
            format!("--after: the target has no schema '{schema}', which the dump has"),
            "restore the dump first, without --into: logs go to schemas of their own names only; --database leaves out what was not restored",
        )),
    }
}

/// What earlier runs left, if this one goes on where they ended. Keeps others of the same name away, and ends what is left of
/// those before: what they have committed is known only then.
fn earlier(
    args: &ReplayArgs,
    after: Option<&After>,
    positions: &Positions,
    connection: &mut Connection,
    destination: &Destination,
) -> Result<Option<Found>> {
    let failed = |source| destination.failed("looking for an earlier replay", source);
    if args.dry_run {
        return match positions.find(connection).map_err(failed)? {
            None if args.resume => Err(nothing_to_resume(args)),
            Some(found) if !args.resume && !args.restart => Err(there_already(args, &found)),
            Some(found) => refuse_another(args, after, &found).map(|()| Some(found).filter(|_| args.resume)),
            found => Ok(found.filter(|_| args.resume)),
        };
    }
    if !positions.lock(connection).map_err(failed)? {
        let what = format!("a replay named '{}' is at work on the target", args.replay_name());
        return Err(Error::with_hint(what, "wait until it has ended, or give this one another --name"));
    }
    let Some(found) = positions.find(connection).map_err(failed)? else {
        return if args.resume { Err(nothing_to_resume(args)) } else { Ok(None) };
    };
    if !args.resume && !args.restart {
        return Err(there_already(args, &found));
    }
    refuse_another(args, after, &found)?;
    positions.end_sessions(connection, &found).map_err(failed)?;
    positions.find(connection).map(|found| found.filter(|_| args.resume)).map_err(failed)
}

/// Applies what is read, from the mark on.
fn apply(
    args: &ReplayArgs,
    positions: &Positions,
    mark: Option<Mark>,
    reading: Reading<'_>,
    mut sink: Sink<'_>,
) -> Result<ReplayReport> {
    let Sink { destination, target, .. } = sink;
    let failed = |source| destination.failed("noting the beginning", source);
    reading.progress.phase(if args.flashback { "undoing" } else { "replaying" });
    let mark = mark.unwrap_or(Mark { log: "".into(), position: 0 });
    let (workers, settings) = (args.workers(), args.session_settings());
    let begun = positions.begin(&mut sink.connection, sink.found.as_ref(), &sink.provenance, &mark, workers);
    begun.map_err(failed)?;
    let queue = Queue::new(workers, mark);
    let context = Context { destination, target, positions, queue: &queue, settings: &settings };
    let pending = sink.found.as_ref().and_then(|found| found.pending.clone());
    let first = |number| pending.clone().filter(|_| number == 0);
    let applying: Result<Vec<_>> =
        (0..workers).map(|number| Worker::new(number, &context, first(number))).collect();
    let applying = applying?;
    let mut sink = Sink { goes: Goes::ToWorkers(&queue, positions), ..sink };
    let done = thread::scope(|scope| {
        for mut worker in applying {
            scope.spawn(move || worker.run());
        }
        let read = reading.into_sink(&mut sink);
        let applied = queue.drain();
        queue.close();
        read.and(applied)
    });
    let done = done.map_err(|error| queue.error().unwrap_or(error));
    let mut mark = None;
    if args.flashback && done.is_err() && sink.found.is_none() && queue.mark().log.is_empty() {
        // Nothing was undone, so there is nothing to go on with. If this fails too, the next run says that one was begun.
        let _ = sink.connection.execute(positions.forget());
    }
    if done.is_err() && !args.flashback {
        mark = queue.next_log();
        if let Some(next) = &mark {
            move_on(&mut sink, positions, next);
        }
    }
    done.map_err(|error| match (error, args.flashback) {
        (Error::Stopped, _) => Error::StoppedMidway,
        (error, true) => not_undone(error),
        (error, false) => with_position(error, &mark.unwrap_or_else(|| queue.mark())),
    })?;
    (sink.report.missing_rows, sink.report.missing) = queue.missing();
    let mark = match &sink.report.next_log {
        // All was applied, and the next log is where to go on.
        Some(next) if !args.flashback && !queue.mark().log.is_empty() => {
            Mark { log: next.as_str().into(), position: BEGIN }
        }
        _ => match sink.left.take().filter(|_| args.resume && args.filter.start_position.is_some()) {
            // That it was left out is said by no later run.
            Some((log, position)) if !args.flashback => Mark { log, position },
            _ => queue.mark(),
        },
    };
    let noted = sink.connection.execute(positions.note_provenance(&sink.provenance));
    noted.map_err(|source| destination.failed("noting a log", source))?;
    let noted = sink.connection.execute(positions.update(0, &mark, ""));
    let noted = noted.and_then(|_| positions.outlast(&mut sink.connection));
    noted.map_err(|source| destination.failed("noting the end", source))?;
    (sink.report.log, sink.report.position) = (mark.log.to_string(), mark.position);
    if let Some(event) = sink.report.events_off.first() {
        let on = switch_on(&mut sink.connection, event);
        sink.report.event_on = on.map_err(|source| destination.failed("asking for an event", source))?;
    }
    Ok(sink.report)
}

/// Notes that the log where it ended is the one where it goes on: who passes over its first transaction names that log. If this fails,
/// the next run says where it is.
fn move_on(sink: &mut Sink<'_>, positions: &Positions, mark: &Mark) {
    sink.provenance.ends = None;
    for note in [positions.note_provenance(&sink.provenance), positions.move_on(mark)] {
        let _ = sink.connection.execute(note);
    }
}

/// Where a log begins.
const BEGIN: u64 = MAGIC.len() as u64;

const NOTHING_CHANGED: &str = "nothing was changed: run the same command once more";

/// The logs, and what of them is wanted.
struct Reading<'a> {
    chain: Chain,
    /// What of it was read already.
    ahead: Ahead,
    filter: &'a FilterArgs,
    /// The only schemas that are wanted.
    schemas: Option<BTreeSet<Vec<u8>>>,
    /// Whether only a signal ends them, within a transaction perhaps.
    follows: bool,
    destination: &'a Destination,
    progress: &'a Progress,
}

impl Reading<'_> {
    /// Reads on to the first transaction, and has the sink look whether it is to be applied to this target.
    fn look_ahead(&mut self, sink: &mut Sink<'_>) -> Result<()> {
        let mut filter = Filter::new(self.filter, self.chain.logs());
        let read = Ahead::read(&mut self.chain, &mut filter, sink, self.follows);
        self.ahead = read.map_err(|error| error.with_way_on(NOTHING_CHANGED))?;
        Ok(())
    }

    /// Reads the logs to their end.
    fn into_sink(mut self, sink: &mut Sink<'_>) -> Result<()> {
        let (counter, progress) = (self.chain.counter(), self.progress);
        let stopped = || self.destination.stop.is_requested();
        let is_backwards = sink.is_backwards;
        let mut filter = Filter::new(self.filter, self.chain.logs()).of_schemas(self.schemas.take());
        let ahead = std::mem::take(&mut self.ahead);
        let everything = FilterArgs::default();
        let wanted = if is_backwards { Filter::new(&everything, 0) } else { filter.clone() };
        let tables = match is_backwards {
            true => Some(Definitions::of(&self.destination.as_origin())?),
            false => None,
        };
        let mut builder = Builder::new(wanted, sink, is_backwards, tables.clone());
        let mut told = 0;
        let mut see = |item: &Item<'_>| {
            let bytes = counter.bytes();
            progress.done(bytes - told);
            progress.count(0, bytes - told);
            told = bytes;
            builder.see(item)
        };
        let read = match is_backwards {
            false => ahead.give(&mut see).and_then(|flow| match flow {
                ControlFlow::Break(()) => Ok(0),
                ControlFlow::Continue(()) => self.chain.walk(&stopped, see).map(|()| 0),
            }),
            true => flashback::walk(&mut self.chain, &mut filter, tables, &stopped, see),
        };
        let unfinished = builder.finish();
        sink.report.bytes = counter.bytes();
        sink.report.abandoned.extend(unfinished.filter(|_| !self.follows).map(|at| at.to_string()));
        let changes = !(sink.report.dry_run || is_backwards);
        let way_on = if changes { "the same command with --resume resumes it" } else { NOTHING_CHANGED };
        sink.provenance.ends = self.chain.ended_behind().cloned();
        let passed_over = read.map_err(|error| error.with_way_on(way_on))?;
        sink.report.passed_over += passed_over;
        Ok(())
    }
}

fn small_packets(max_packet: usize) -> Error {
    let least = Target::LEAST_PACKET >> 10;
    Error::with_hint(
        format!(
            "the target takes statements of {max_packet} bytes at most (max_allowed_packet), and replay needs {least} KiB"
        ),
        "SET GLOBAL max_allowed_packet = 64 << 20 there",
    )
}

/// To begin anew in silence would apply a second time what a replay of another name has applied.
fn nothing_to_resume(args: &ReplayArgs) -> Error {
    Error::with_hint(
        format!("--resume: the target holds no position of a replay named '{}'", args.replay_name()),
        "leave out --resume to begin one; or give the --name of the one to resume: it is made of the log's, `binlog` for a directory or --from",
    )
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
        "--resume goes on behind it; --restart forgets it, as after the target was filled anew; --name tells replays apart, of several servers, and \
         of other schemas behind another dump",
    )
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
fn with_position(error: Error, mark: &Mark) -> Error {
    let Mark { log, position } = mark;
    match (error, log.is_empty()) {
        (Error::Target { doing, source }, false) => {
            let doing =
                format!("{doing} (all up to {log} at {position} was applied; --resume resumes there)");
            Error::Target { doing, source }
        }
        (error, _) => error,
    }
}
