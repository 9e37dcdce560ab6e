//! Moving the tasks of a shard to others, while all of them are worked on.
//!
//! There is no transaction over two servers. So tasks go in batches, each in three steps: the source packs it, which takes the tasks out of
//! its tables and puts them into `queue_transit`, where nobody works on them; the target stores them and notes the batch in
//! `queue_received`; the source removes the batch. Each step is one transaction. Whatever is killed between, the next move delivers what
//! is in transit, and a target that has noted a batch does not take it again. So no task is lost, and none is on two shards to be done.

mod deliver;
mod pack;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use drover_db::{Connection, Stop};
use serde::Serialize;

use crate::drain;
use crate::error::Doing;
use crate::place::Placement;
use crate::shard::{Shard, Shards};
use crate::{Error, Result, identity, lease, push, schedule, schema, session, settings};
use deliver::Target;
use pack::{Batch, Source};

/// What was moved.
#[derive(Debug, Clone, Default, Serialize)]
pub struct MoveReport {
    /// The shard that they were on.
    pub from: String,
    /// Tasks that came to other shards, dead ones too.
    pub tasks: u64,
    /// Tasks that were left out, since their object has an unfinished one where they came.
    pub merged: u64,
    /// Where they went, by shard.
    pub targets: Vec<Moved>,
    /// Builds that are not published yet: their tasks are still on the shard.
    pub builds: Vec<String>,
    /// How long it took.
    pub seconds: f64,
}

/// What came to one shard.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Moved {
    /// Its name.
    pub shard: String,
    /// How many tasks.
    pub tasks: u64,
}

/// How far a move is.
#[derive(Debug, Default)]
pub struct MoveProgress {
    /// Tasks that have arrived.
    pub moved: AtomicU64,
    /// Tasks that shepherds have and that have to come to their end first.
    pub running: AtomicU64,
}

/// Moves all tasks of a shard to one other, or to all others as they are placed. The shard drains from then on.
///
/// # Errors
/// If a shard cannot be reached, or another move takes over. What has not arrived is not lost: the next move goes on.
pub fn move_tasks(
    shards: &Shards,
    from: &str,
    to: Option<&str>,
    progress: &MoveProgress,
    stop: &Stop,
) -> Result<MoveReport> {
    let begun = Instant::now();
    let source = drain::named(shards, Some(from))?;
    let mut mover = Mover::open(shards, source, to, progress)?;
    let worked = mover.work(stop);
    let left = mover.leave();
    worked.and(left)?;
    let targets = mover.targets.iter().flatten();
    let moved = |target: &Target<'_>| Moved { shard: target.name().to_owned(), tasks: target.tasks };
    Ok(MoveReport {
        from: source.name.clone(),
        tasks: mover.targets.iter().flatten().map(|target| target.tasks).sum(),
        merged: mover.source.merged + mover.targets.iter().flatten().map(|target| target.merged).sum::<u64>(),
        targets: targets.map(moved).collect(),
        builds: drain::loading(&mut mover.source.connection, source)?,
        seconds: begun.elapsed().as_secs_f64(),
    })
}

/// How often the lease is renewed, between two batches.
const RENEW_EVERY: Duration = Duration::from_secs(2);
/// How long it lasts. A batch takes long where a server is busy; and the next move takes over at once.
const LEASE: Duration = Duration::from_secs(30);

/// A move at work. On the source it is a shepherd without workers: its lanes and the inbox are its own as long as its lease holds.
struct Mover<'a> {
    shards: &'a Shards,
    source: Source<'a>,
    /// By shard; `None` for those that get none.
    targets: Vec<Option<Target<'a>>>,
    progress: &'a MoveProgress,
    renew_at: Instant,
}

impl<'a> Mover<'a> {
    fn open(
        shards: &'a Shards,
        from: &'a Shard,
        to: Option<&str>,
        progress: &'a MoveProgress,
    ) -> Result<Self> {
        let mut connection = session::open(from)?;
        schema::check(&mut connection).map_err(|error| error.of(from))?;
        let own = identity::of(&mut connection, from)?;
        let (targets, placement) = targets(shards, from, to, &own)?;
        session::retried(&mut connection, |connection| {
            drain::set(connection, true).doing(|| from.doing("draining"))
        })?;
        let shepherd = enter(&mut connection, from)?;
        let ids = targets.iter().map(|target| target.as_ref().map(|target| target.id.clone())).collect();
        let source =
            Source::new(connection, from, shepherd, placement, ids).map_err(|error| error.of(from))?;
        Ok(Self { shards, source, targets, progress, renew_at: Instant::now() })
    }

    fn work(&mut self, stop: &Stop) -> Result<()> {
        const LONGEST_PAUSE: Duration = Duration::from_millis(500);
        self.deliver_what_is_left()?;
        let mut pause = Duration::from_millis(5);
        loop {
            if stop.is_requested() {
                return Err(Error::Stopped);
            }
            self.renew()?;
            if self.step()? {
                pause = Duration::from_millis(5);
            } else if self.is_empty()? {
                return self.finish();
            } else {
                std::thread::sleep(pause);
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    }

    /// Does something on the source; its name is in the error.
    fn there<T>(&mut self, work: impl FnOnce(&mut Source<'a>) -> Result<T>) -> Result<T> {
        let shard = self.source.shard;
        work(&mut self.source).map_err(|error| error.of(shard))
    }

    /// The same, tried again if another session was in the way: what is one statement, or only reads.
    fn patiently<T>(&mut self, work: impl FnMut(&mut Source<'a>) -> Result<T>) -> Result<T> {
        self.there(|source| source.retried(work))
    }

    fn renew(&mut self) -> Result<()> {
        if Instant::now() >= self.renew_at {
            self.patiently(Source::renew)?;
            self.renew_at = Instant::now() + RENEW_EVERY;
        }
        Ok(())
    }

    /// Moves a batch of whatever there is; whether there was anything. The inbox and the others come when no lane is left.
    fn step(&mut self) -> Result<bool> {
        if self.send(Source::pack_lane)? {
            return Ok(true);
        }
        let mut any = self.send(Source::pack_dead)?;
        if self.patiently(Source::take_intake)? {
            any |= self.send(Source::pack_inbox)?;
            any |= self.send(Source::pack_later)?;
        }
        Ok(any)
    }

    /// Packs something, and delivers it.
    fn send(&mut self, pack: impl FnOnce(&mut Source<'a>) -> Result<Option<Vec<Batch>>>) -> Result<bool> {
        let Some(batches) = self.there(pack)? else { return Ok(false) };
        batches.iter().try_for_each(|batch| self.deliver(batch))?;
        Ok(true)
    }

    fn deliver(&mut self, batch: &Batch) -> Result<()> {
        let tasks = self.patiently(|source| source.read(batch))?;
        let target = self.targets.iter_mut().flatten().find(|target| target.id == batch.target);
        let Some(target) = target else {
            let what = "some of its tasks are on their way to a shard that is none of those meant now";
            return Err(Error::with_hint(
                self.source.shard.doing(what),
                "move once more with the shards and the --to of before: it goes on where it was",
            ));
        };
        let arrived = target.store(batch, &tasks)?;
        self.there(|source| source.remove(batch))?;
        self.progress.moved.fetch_add(arrived, Ordering::Relaxed);
        Ok(())
    }

    /// What an earlier move has packed.
    fn deliver_what_is_left(&mut self) -> Result<()> {
        for batch in self.patiently(Source::in_transit)? {
            self.renew()?;
            self.deliver(&batch)?;
        }
        Ok(())
    }

    fn is_empty(&mut self) -> Result<bool> {
        let left = self.patiently(Source::left)?;
        self.progress.running.store(left.unwrap_or(0), Ordering::Relaxed);
        Ok(left.is_none())
    }

    /// Closes what was open, and takes the schedules along.
    fn finish(&mut self) -> Result<()> {
        self.patiently(Source::drop_finished)?;
        self.targets.iter_mut().flatten().try_for_each(Target::finish)?;
        let mut placement = Placement::new(self.shards);
        self.targets.iter().enumerate().for_each(|(at, target)| placement.set(at, target.is_some()));
        schedule::carry(self.shards, self.source.shard, &placement)
    }

    /// Gives back what it has.
    fn leave(&mut self) -> Result<()> {
        self.there(|Source { connection, shepherd, .. }| {
            lease::leave(connection, *shepherd)?;
            let sql = format!("UPDATE queue_meta SET mover = 0 WHERE mover = {shepherd}");
            session::retried(connection, |connection| {
                connection.execute(&sql).doing(|| "ending the move").map(drop)
            })
        })
    }
}

/// Work of one transaction, which is tried again if another session was in the way.
fn transact<S, T>(
    of: &mut S,
    connection: impl Fn(&mut S) -> &mut Connection,
    mut work: impl FnMut(&mut S) -> Result<T>,
) -> Result<T> {
    let doing = || "moving tasks";
    session::retried_by(of, &connection, |of| {
        connection(of).execute("START TRANSACTION").doing(doing)?;
        let done = work(of)?;
        connection(of).execute("COMMIT").doing(doing)?;
        Ok(done)
    })
}

/// Enters the mover as a shepherd; one that is there already has to leave. It leaves last, so that at no time the shard looks as if
/// nobody moved its tasks.
fn enter(connection: &mut Connection, from: &Shard) -> Result<u32> {
    let doing = || from.doing("entering the move");
    let sql =
        "SELECT shepherd FROM queue_shepherd WHERE workers = 0 AND shepherd = (SELECT mover FROM queue_meta)";
    let before = connection.first(sql).doing(doing)?.and_then(|row| row.parse::<u32>(0));
    let name = lease::Name { name: "move".into(), workers: 0, lease: LEASE, begun: Instant::now() };
    let shepherd = lease::enter(connection, &name)?;
    let sql = format!("UPDATE queue_meta SET mover = {shepherd}");
    session::retried(connection, |connection| connection.execute(&sql).doing(doing))?;
    if let Some(before) = before {
        lease::leave(connection, before)?;
    }
    session::retried(connection, |connection| settings::ring(connection).doing(doing))?;
    Ok(shepherd)
}

fn taken_over() -> Error {
    Error::with_hint(
        "the move has lost its lease, or another one has taken over",
        "run it once more: it goes on where it was",
    )
}

/// The shards that the tasks go to, and how.
fn targets<'a>(
    shards: &'a Shards,
    from: &Shard,
    to: Option<&str>,
    own: &str,
) -> Result<(Vec<Option<Target<'a>>>, Placement)> {
    if let Some(to) = to {
        drain::named(shards, Some(to))?;
    }
    let mut placement = Placement::new(shards);
    let mut targets: Vec<Option<Target<'a>>> = Vec::new();
    for (at, shard) in shards.shards.iter().enumerate() {
        let is_meant = shard.name != from.name && to.is_none_or(|to| to == shard.name);
        let target = if is_meant { open_target(shard, own, to.is_some())? } else { None };
        placement.set(at, target.is_some());
        targets.push(target);
    }
    let ids: Vec<_> = targets.iter().flatten().map(|target| &target.id).collect();
    match &*ids {
        [] => Err(Error::with_hint(
            from.doing("there is no other shard that takes tasks"),
            "name one in the file of --shards, or end its draining with `drover queue drain SHARD --undo`",
        )),
        _ if ids.iter().any(|id| ids.iter().filter(|other| *other == id).count() > 1) => {
            Err(Error::found("two shards of the file are the same tables"))
        }
        _ => Ok((targets, placement)),
    }
}

/// A shard that tasks may go to; `None` if it takes none, which is an error if it `is_named`.
fn open_target<'a>(shard: &'a Shard, own: &str, is_named: bool) -> Result<Option<Target<'a>>> {
    if shard.is_draining && !is_named {
        return Ok(None);
    }
    let mut connection = session::open(shard)?;
    schema::check(&mut connection).map_err(|error| error.of(shard))?;
    let id = identity::of(&mut connection, shard)?;
    if id == own {
        return Err(Error::found(shard.doing("these are the tables that the tasks are to be moved from")));
    }
    match push::takes(&mut connection, shard)? {
        true => Ok(Some(Target::new(connection, shard, id))),
        false if is_named => Err(Error::with_hint(
            shard.doing("it is being drained, and takes no tasks"),
            "`drover queue drain SHARD --undo` has it take tasks again",
        )),
        false => Ok(None),
    }
}
