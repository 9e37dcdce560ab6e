//! What a replay is asked for, and what is looked at before anything is read or changed.

use std::collections::BTreeSet;

use drover_db::server;
use drover_db::session::Use;
use drover_report::Progress;
use drover_throttle::{Side, Throttle, Work};

use crate::chain::Chain;
use crate::filter::FilterArgs;
use crate::log::MAGIC;
use crate::server::Origin;
use crate::source::Source;
use crate::{Error, Result};

use super::after::After;
use super::args::ReplayArgs;
use super::destination::{Destination, SideSession};
use super::events::Target;
use super::marks::LowWaterMark;
use super::position::{Found, Positions};
use super::refusals::{elsewhere, refuse_another, refuse_itself, refuse_others};
use super::report::Problem;
use super::scheduled::running_events;
use super::{logged, provenance};

/// What a replay is asked for.
#[derive(Clone, Copy)]
pub(super) struct Request<'a> {
    pub(super) args: &'a ReplayArgs,
    /// The server of `--from`.
    pub(super) origin: Option<&'a Origin>,
    /// What is known of the dump of `--after`.
    pub(super) after: Option<&'a After>,
    pub(super) destination: &'a Destination,
    pub(super) progress: &'a Progress,
    /// Whether a dry run ends at the first thing that the target's cluster refuses.
    pub(super) ends_at_refusal: bool,
}

/// Where a replay begins to read.
pub(super) struct Beginning {
    /// Where an earlier run ended.
    pub(super) mark: Option<LowWaterMark>,
    /// Whether it goes on there: backwards, all has to be read before anything is undone.
    pub(super) goes_on: bool,
    /// Whether that is in the log where the first run began.
    pub(super) is_in_first: bool,
    /// What is wanted from there on.
    pub(super) filter: FilterArgs,
}

impl Beginning {
    /// The log and the position to go on at.
    pub(super) fn goes_on_at(&self) -> Option<(&str, u64)> {
        self.mark.as_ref().filter(|_| self.goes_on).map(|mark| (&*mark.log, mark.position))
    }
}

impl Request<'_> {
    /// The target, and what of it a dry run tells and a replay refuses.
    pub(super) fn see_target(&self, session: &mut SideSession<'_>) -> Result<(Target, Vec<Problem>)> {
        const LOOKING: &str = "looking at the target";
        let Self { args, destination, .. } = *self;
        if session.with(LOOKING, server::is_tidb)? {
            return Err(Error::found(
                "TiDB takes no events of a binary log (BINLOG statements): nothing can be replayed there",
            ));
        }
        let target = session.with(LOOKING, Target::of)?;
        if target.max_packet < Target::LEAST_PACKET {
            return Err(small_packets(target.max_packet));
        }
        if let Some(origin) = self.origin.filter(|_| !args.flashback) {
            refuse_itself(origin, destination, &mut session.connection)?;
        }
        let unlogged = if args.skip_binlog { None } else { session.with(LOOKING, logged::refusal)? };
        if let Some(Problem { what, hint, .. }) = unlogged.as_ref().filter(|_| !args.dry_run) {
            return Err(Error::with_hint(format!("{what}: nothing was changed"), hint));
        }
        if !args.dry_run {
            try_session(args, &target, destination)?;
        }
        let events = if args.allow_events { None } else { session.with(LOOKING, running_events)? };
        if let Some(Problem { what, hint, .. }) = events.as_ref().filter(|_| !args.dry_run) {
            return Err(Error::with_hint(what, hint));
        }
        Ok((target, unlogged.into_iter().chain(events).collect()))
    }

    /// Begins to watch what the target bears. Of logs that are followed, a signal is the end of what is read.
    pub(super) fn throttle(&self) -> Result<Throttle<'_>> {
        let Self { args, destination, progress, .. } = *self;
        let followed = self.origin.filter(|_| args.follows());
        let stop = followed.map_or(&destination.stop, |origin| &origin.stop);
        let target = Side::only(&args.throttle, &args.server, &destination.options, Work::Restore);
        Ok(Throttle::start(args.throttle.max_rate, &[target], stop, progress)?)
    }

    /// Looks at what the dump of `--after` tells.
    pub(super) fn check_dump(&self) -> Result<()> {
        let Some(after) = self.after else { return Ok(()) };
        after.check_rows(&self.args.filter)?;
        after.check_source()
    }

    /// What an earlier run left, if this one goes on there: these must be its logs.
    pub(super) fn find_earlier(
        &self,
        positions: &Positions,
        session: &mut SideSession<'_>,
    ) -> Result<Option<Found>> {
        let logs = &self.args.files.logs;
        if self.origin.is_none() && !self.args.flashback {
            provenance::outlast(&Source::find(logs)?);
        }
        let found = found(self.args, self.after, positions, session)?;
        if let Some(found) = found.as_ref().filter(|_| self.origin.is_none()) {
            found.provenance.check(&Source::find(logs)?).map_err(elsewhere)?;
        }
        Ok(found)
    }

    /// Where to begin.
    pub(super) fn beginning(&self, found: Option<&Found>) -> Result<Beginning> {
        let Self { args, after, .. } = *self;
        let mark = found.map(|found| found.mark.clone()).filter(|mark| !mark.log.is_empty());
        let goes_on = mark.is_some() && !args.flashback;
        let begins = args.beginning(after, goes_on)?;
        // Where it goes on is behind where it began: what came before that in the same log was not applied.
        let first = match after.filter(|_| args.filter.start_position.is_none()) {
            Some(after) => Some(after.log.clone()),
            None => Source::find(&args.files.logs)?.first().map(Source::log_name),
        };
        let goes_on_in = mark.as_ref().filter(|_| goes_on).map(|mark| &*mark.log);
        let is_in_first = goes_on_in.is_none_or(|log| first.is_some_and(|first| first == log));
        let filter = FilterArgs { start_position: begins.filter(|_| is_in_first), ..args.filter.clone() };
        Ok(Beginning { mark, goes_on, is_in_first, filter })
    }

    /// Looks whether the log where the dump was taken is that log.
    pub(super) fn check_first_log(&self) -> Result<()> {
        let Some(after) = self.after else { return Ok(()) };
        after.check_log(first_log(self.args, self.origin, after)?)
    }

    /// The schemas that are wanted behind a dump.
    pub(super) fn schemas(
        &self,
        positions: &Positions,
        session: &mut SideSession<'_>,
    ) -> Result<Option<BTreeSet<Vec<u8>>>> {
        self.after.map(|after| schemas_of(after, self.args, positions, session)).transpose()
    }
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
    session: &mut SideSession<'_>,
) -> Result<BTreeSet<Vec<u8>>> {
    const LISTING: &str = "listing schemas";
    let bytes = |schemas: Vec<String>| schemas.into_iter().map(String::into_bytes);
    let of_dump = bytes(after.schemas.clone());
    if args.resume {
        let made = session.with(LISTING, |connection| positions.made_schemas(connection))?;
        return Ok(of_dump.chain(bytes(made)).collect());
    }
    refuse_others(after, args, &mut session.connection, session.destination)?;
    let there = session.rows(LISTING, "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA")?;
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
pub(super) fn found(
    args: &ReplayArgs,
    after: Option<&After>,
    positions: &Positions,
    session: &mut SideSession<'_>,
) -> Result<Option<Found>> {
    const LOOKING: &str = "looking for an earlier replay";
    if args.dry_run {
        return match session.with(LOOKING, |connection| positions.find(connection))? {
            None if args.resume => Err(nothing_to_resume(args)),
            Some(found) if !args.resume && !args.restart => Err(there_already(args, &found)),
            Some(found) => refuse_another(args, after, &found).map(|()| Some(found).filter(|_| args.resume)),
            found => Ok(found.filter(|_| args.resume)),
        };
    }
    if !session.with(LOOKING, |connection| positions.lock(connection))? {
        let what = format!("a replay named '{}' is at work on the target", args.replay_name());
        return Err(Error::with_hint(what, "wait until it has ended, or give this one another --name"));
    }
    let Some(found) = session.with(LOOKING, |connection| positions.find(connection))? else {
        return if args.resume { Err(nothing_to_resume(args)) } else { Ok(None) };
    };
    if !args.resume && !args.restart {
        return Err(there_already(args, &found));
    }
    refuse_another(args, after, &found)?;
    session.with(LOOKING, |connection| positions.end_sessions(connection, &found))?;
    let found = session.with(LOOKING, |connection| positions.find(connection))?;
    Ok(found.filter(|_| args.resume))
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
    let LowWaterMark { log, position } = &found.mark;
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
