//! A shepherd: keepers for all shards, and workers that take tasks from the desk between them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use drover_db::Stop;
use serde::Serialize;

use crate::bell::{Bell, Seen};
use crate::desk::Desk;
use crate::identity::Identities;
use crate::keeper::{Keeper, Post, Signals};
use crate::lease::{self, Name};
use crate::renewal::{Lease, Renewal};
use crate::session;
use crate::shard::{Shard, Shards};
use crate::totals::Totals;
use crate::workers::Hands;
use crate::{Error, Result};

/// How a shepherd works.
#[derive(Debug, Clone)]
pub struct WorkOptions {
    /// What it is called, in `queue stat`.
    pub name: String,
    /// How many tasks run at once.
    pub workers: u32,
    /// Whether it ends when nothing is left to do.
    pub until_empty: bool,
    /// How long tasks that run are waited for when it is to stop.
    pub grace: Duration,
    /// Others take its tasks when nothing was heard of it for so long.
    pub lease: Duration,
}

/// What a shepherd did.
#[derive(Debug, Clone, Serialize)]
pub struct WorkReport {
    /// Tasks that were done.
    pub done: u64,
    /// Attempts that failed.
    pub failed: u64,
    /// Tasks that failed for the last time.
    pub dead: u64,
    /// Answers that came too late: their tasks had been given up.
    pub refused: u64,
    /// How long it worked.
    pub seconds: f64,
}

/// Works until it is stopped, or, if it is to, until nothing is left. `trouble` hears of shards that cannot be worked on; they
/// are tried again and again.
///
/// # Errors
/// If no shard can be worked on at the beginning, or two turn out to be the same tables.
pub fn work(
    shards: &Shards,
    options: &WorkOptions,
    hands: &Hands<'_>,
    totals: &Totals,
    stop: &Stop,
    trouble: &(dyn Fn(&str) + Sync),
) -> Result<WorkReport> {
    let started = Instant::now();
    check(&shards.shards, trouble)?;
    let identities = &Identities::default();
    let desk = Desk::new(shards.shards.len());
    let signals = Signals::new(shards.shards.len());
    let leases: Vec<_> = shards.shards.iter().map(|_| Lease::default()).collect();
    let name =
        Name { name: options.name.clone(), workers: options.workers, lease: options.lease, begun: started };
    let shepherd =
        &Shepherd { desk: &desk, signals: &signals, identities, totals, name: &name, options, stop, trouble };
    let result = std::thread::scope(|scope| {
        for (at, (shard, lease)) in shards.shards.iter().zip(&leases).enumerate() {
            scope.spawn(move || shepherd.keep(at, shard, lease));
            scope.spawn(move || shepherd.listen(at, shard));
            let renewal = Renewal { lease, shard, at, desk: shepherd.desk, name: shepherd.name };
            scope.spawn(move || renewal.run());
        }
        let workers = scope.spawn(|| hands.work(&desk, totals, options.workers));
        shepherd.watch(|| workers.is_finished());
        workers.join().unwrap_or_else(|_| Err(Error::found("a worker's thread ended by a panic")))
    });
    result?;
    if let Some(error) = identities.clash() {
        return Err(error);
    }
    let count = |total: &AtomicU64| total.load(Ordering::Relaxed);
    Ok(WorkReport {
        done: count(&totals.done),
        failed: count(&totals.failed),
        dead: count(&totals.dead),
        refused: count(&totals.refused),
        seconds: started.elapsed().as_secs_f64(),
    })
}

/// Looks whether the shards can be worked on: it is an error only if none can.
fn check(shards: &[Shard], trouble: &(dyn Fn(&str) + Sync)) -> Result<()> {
    let mut first = None;
    for shard in shards {
        let look = crate::session::open(shard)
            .and_then(|mut connection| crate::probe::probe(&mut connection, shard));
        match look {
            Ok(()) => return Ok(()),
            Err(error) => {
                if shards.len() > 1 {
                    trouble(&error.to_string());
                }
                first.get_or_insert(error);
            }
        }
    }
    Err(first.unwrap_or_else(|| Error::found("the queue has no shards")))
}

struct Shepherd<'a> {
    desk: &'a Desk,
    signals: &'a Signals,
    identities: &'a Identities,
    totals: &'a Totals,
    name: &'a Name,
    options: &'a WorkOptions,
    stop: &'a Stop,
    trouble: &'a (dyn Fn(&str) + Sync),
}

impl Shepherd<'_> {
    /// Gives up what is overdue, and ends the work when it is time.
    fn watch(&self, workers_ended: impl Fn() -> bool) {
        const TICK: Duration = Duration::from_millis(20);
        let mut empty_since = None;
        while !self.stop.is_requested() && !workers_ended() && self.identities.clash().is_none() {
            std::thread::sleep(TICK);
            self.desk.expire();
            if !self.options.until_empty || !self.is_empty() {
                empty_since = None;
            } else if empty_since.get_or_insert_with(Instant::now).elapsed() > 3 * TICK {
                break;
            }
        }
        self.desk.close();
        let give_up = Instant::now() + self.options.grace;
        while !workers_ended() && Instant::now() < give_up {
            std::thread::sleep(TICK);
            self.desk.expire();
        }
        self.desk.give_up();
        self.signals.closing.store(true, Ordering::SeqCst);
        (0..self.signals.empty.len()).for_each(|shard| self.desk.tell(shard, |mail| mail.ring(0, false)));
        self.stop.break_connections(); // those of the bells
    }

    fn is_empty(&self) -> bool {
        self.desk.running() == 0 && self.signals.empty.iter().all(|empty| empty.load(Ordering::SeqCst))
    }

    fn is_closing(&self) -> bool {
        self.signals.closing.load(Ordering::SeqCst)
    }

    /// Keeps a shard, over one connection after the other if need be.
    fn keep(&self, at: usize, shard: &Shard, lease: &Lease) {
        let _closed_at_the_end = lease.closing();
        let mut left = None;
        let mut pause = Pause::default();
        let post = Post {
            shard,
            at,
            desk: self.desk,
            signals: self.signals,
            identities: self.identities,
            totals: self.totals,
            name: self.name,
            lease,
            until_empty: self.options.until_empty,
            trouble: &|told| (self.trouble)(&shard.doing(told)),
        };
        loop {
            let result = Keeper::open(&post, left).and_then(|mut keeper| {
                pause = Pause::default();
                let result = keeper.run();
                left = keeper.shepherd();
                result
            });
            let is_lost = lease.end();
            let Err(error) = result else { return };
            let error =
                if is_lost || is_buried(shard, left) { Error::found(crate::intake::LOST) } else { error };
            let refused = self.desk.forget(at);
            self.totals.refused.fetch_add(refused as u64, Ordering::Relaxed);
            if self.is_closing() || self.identities.clash().is_some() {
                return;
            }
            (self.trouble)(&shard.doing(&error.to_string()));
            pause.sleep(|| self.is_closing());
        }
    }

    /// Listens to a shard's bell.
    fn listen(&self, at: usize, shard: &Shard) {
        let mut pause = Pause::default();
        while !self.is_closing() {
            let heard = Bell::open(shard).and_then(|mut bell| {
                let _watched = self.stop.watch(bell.connection());
                let mut seen = bell.look(Seen::default())?;
                pause = Pause::default();
                self.desk.tell(at, |mail| mail.ring(seen.inbox, true));
                while !self.is_closing() {
                    if bell.wait(seen)? {
                        let before = seen;
                        seen = bell.look(before)?;
                        let changed = seen.bell != before.bell || seen.inbox == before.inbox;
                        self.desk.tell(at, |mail| mail.ring(seen.inbox, changed));
                    }
                }
                Ok(())
            });
            if heard.is_err() {
                pause.sleep(|| self.is_closing()); // the keeper tells of it
            }
        }
    }
}

/// Whether others have taken a shepherd for dead: what it has worked on since looks as if somebody had removed it.
fn is_buried(shard: &Shard, shepherd: Option<u32>) -> bool {
    let Some(shepherd) = shepherd else { return false };
    session::open(shard)
        .and_then(|mut connection| lease::is_there(&mut connection, shepherd))
        .is_ok_and(|is| !is)
}

/// A pause before the next try, longer each time.
#[derive(Debug, Default)]
struct Pause(u32);

impl Pause {
    fn sleep(&mut self, is_over: impl Fn() -> bool) {
        self.0 = (self.0 + 1).min(5);
        let until = Instant::now() + Duration::from_millis(50 << self.0);
        while Instant::now() < until && !is_over() {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
