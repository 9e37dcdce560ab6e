//! The keeper of a shard: the one thread that talks to it. It takes what has come in, reads lanes ahead of the workers, and
//! acknowledges what they have done, many tasks in one transaction.

mod feeding;
mod incoming;
mod sharing;
mod upkeep;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use drover_db::Connection;
use drover_units::show::duration;

use crate::Result;
use crate::clock::{Clock, Step};
use crate::counts::Counts;
use crate::desk::{Desk, Mail};
use crate::error::Error;
use crate::identity::Identities;
use crate::intake::{Books, Intake};
use crate::kinds::Kinds;
use crate::lane::Lane;
use crate::lapse::Lapses;
use crate::lease::{self, Name, Standing};
use crate::orphans::{Found, Orphans};
use crate::renewal::{self, Lease};
use crate::schedule::{self, Fired};
use crate::segments;
use crate::session;
use crate::settle::Settling;
use crate::shard::Shard;
use crate::state::{self, State};
use crate::totals::Totals;
use incoming::{Incoming, LATER_SWEEP};
use sharing::Appetite;

/// How often little is acknowledged. A transaction costs the server as much as some hundred tasks do.
const SETTLE_EVERY: Duration = Duration::from_millis(10);
/// So much of a shard is read ahead, of all lines together: tasks, of which large ones count as several.
const AHEAD: usize = 16_384;
/// At least so many of each line, and at most so many in one statement.
const LEAST_AHEAD: usize = 32;
const MOST_READ: usize = 4096;
/// So many lanes are taken at once.
const LANES_AT_ONCE: usize = 64;
/// What was done is not lost because another session is in the way: it is tried again so often, with a second or two between.
const PATIENT: u32 = 40;
/// How often is looked who else is there by who moves tasks in, if nobody rings.
const OTHERS_EVERY: Duration = Duration::from_secs(6);
/// So long the inbox is left alone that somebody else has locked.
const LOCKED_PAUSE: Duration = Duration::from_secs(1);
/// How often is said that it is locked.
const TELL_LOCKED_EVERY: Duration = Duration::from_secs(30);

/// What keepers and those who started them tell each other.
#[derive(Debug, Default)]
pub(crate) struct Signals {
    /// Give out nothing more, wait for what is out, and end.
    pub(crate) closing: AtomicBool,
    /// By shard, whether it has nothing left to do.
    pub(crate) empty: Vec<AtomicBool>,
}

impl Signals {
    /// For so many shards.
    pub(crate) fn new(shards: usize) -> Self {
        Self { closing: AtomicBool::new(false), empty: (0..shards).map(|_| AtomicBool::new(false)).collect() }
    }
}

/// Where a keeper stands, and for whom.
#[derive(Clone, Copy)]
pub(crate) struct Post<'a> {
    pub(crate) shard: &'a Shard,
    /// The shard's number on the desk.
    pub(crate) at: usize,
    pub(crate) desk: &'a Desk,
    pub(crate) signals: &'a Signals,
    pub(crate) identities: &'a Identities,
    pub(crate) totals: &'a Totals,
    pub(crate) name: &'a Name,
    /// What the thread that renews its lease is told.
    pub(crate) lease: &'a Lease,
    pub(crate) until_empty: bool,
    /// Hears of what a person should know.
    pub(crate) trouble: &'a (dyn Fn(&str) + Sync),
}

/// A keeper, while its connection holds.
pub(crate) struct Keeper<'a> {
    at: usize,
    desk: &'a Desk,
    signals: &'a Signals,
    totals: &'a Totals,
    connection: Connection,
    /// Whether the shard drains, and how.
    state: State,
    books: Books,
    /// Whether it has given its lease back.
    has_left: bool,
    /// This shepherd's part of the rules.
    own: Kinds,
    lanes: HashMap<u64, Lane>,
    /// The lane of which tasks were asked for and not read yet. Until they are, nothing else can be asked.
    asked: Option<u64>,
    clock: Clock,
    lease: &'a Lease,
    look_at: Instant,
    look_every: Duration,
    lapses: Lapses,
    /// When is looked who else is there, at the latest.
    others_at: Instant,
    /// When is said again that the inbox is locked.
    tell_locked_at: Instant,
    orphans: Orphans,
    trouble: &'a (dyn Fn(&str) + Sync),
    /// Until then it waits for more to acknowledge, unless there is much.
    settle_at: Instant,
    intake: Option<Incoming>,
    /// How many shepherds there are, and how many others have nothing to do.
    shepherds: u32,
    hungry: usize,
    /// How many tasks it can run at once.
    workers: usize,
    /// Others that had nothing to do when was looked last.
    idle: usize,
    /// When lanes were taken last.
    taken_at: Instant,
    /// Whether the others know that this one has nothing to do.
    is_hungry: bool,
    /// How much it takes at a time while there are others.
    appetite: Appetite,
    /// Whether there may be lanes that nobody owns.
    may_be_free: bool,
    /// Whether a lane was finished since segments were looked at.
    may_be_over: bool,
    /// When segments are looked at next.
    segments_at: Instant,
    fold_at: Instant,
    until_empty: bool,
}

impl<'a> Keeper<'a> {
    /// Connects, and enters the shepherd; `left` is the number that it had over an earlier connection.
    pub(crate) fn open(post: &Post<'a>, left: Option<u32>) -> Result<Self> {
        let Post { shard, at, desk, signals, identities, totals, name, lease, until_empty, trouble } = *post;
        crate::schema::upgrade(&mut session::open(shard)?)?;
        let mut connection = session::brief(session::open(shard)?, shard)?;
        if let Some(before) = left {
            lease::leave(&mut connection, before)?;
        }
        let (kinds, state, clock) = session::retried(&mut connection, |connection| {
            identities.enter(connection, shard)?;
            Ok((Kinds::load(connection)?, State::load(connection)?, Clock::of(connection)?))
        })?;
        let now = Instant::now();
        let shepherd = lease::enter(&mut connection, name)?;
        lease.begin(shepherd, &connection, name.lease)?;
        desk.leased(at, now + name.lease);
        Ok(Self {
            at,
            desk,
            signals,
            totals,
            connection,
            state,
            own: kinds.clone(),
            books: Books { shepherd, kinds, counts: Counts::default() },
            has_left: false,
            lanes: HashMap::new(),
            asked: None,
            clock,
            lease,
            look_at: now,
            look_every: renewal::every(name.lease),
            lapses: Lapses::default(),
            others_at: now,
            tell_locked_at: now,
            orphans: Orphans::new(),
            trouble,
            settle_at: now,
            intake: None,
            shepherds: 1,
            hungry: 0,
            workers: name.workers as usize,
            idle: 0,
            taken_at: now,
            is_hungry: false,
            appetite: Appetite::new(name.workers),
            may_be_free: true,
            may_be_over: true,
            segments_at: now + segments::EVERY,
            fold_at: now,
            until_empty,
        })
    }

    /// The number of its shepherd on this shard, unless it has left it.
    pub(crate) fn shepherd(&self) -> Option<u32> {
        (!self.has_left).then_some(self.books.shepherd)
    }

    /// Works until it is told to end, or the connection is lost.
    pub(crate) fn run(&mut self) -> Result<()> {
        loop {
            let closing = self.signals.closing.load(Ordering::SeqCst);
            let mail = self.desk.mail(self.at, self.pause(closing), self.settle_at);
            self.lease.moved();
            self.step(mail, closing)?;
            if closing && self.desk.running() == 0 {
                let mail = self.desk.mail(self.at, Duration::ZERO, Instant::now());
                self.step(mail, true)?;
                return self.leave();
            }
        }
    }

    fn leave(&mut self) -> Result<()> {
        if self.intake.is_some() && self.may_be_over {
            segments::drop_finished(&mut self.connection, self.books.kinds.longest_keep())?;
        }
        lease::leave(&mut self.connection, self.books.shepherd)?;
        self.has_left = true;
        Ok(())
    }

    /// How long there is nothing to do, if nothing comes.
    fn pause(&self, closing: bool) -> Duration {
        let now = Instant::now();
        let mut next = self.look_at;
        if self.asked.is_some() {
            next = next.min(now + SETTLE_EVERY);
        }
        if let Some(incoming) = self.intake.as_ref().filter(|_| !closing) {
            next = incoming.later_at.map_or(next, |at| next.min(at)).min(incoming.inbox_at);
            next = next.min(incoming.schedules_at);
        }
        if self.is_waiting_for_lanes() {
            next = next.min(now + sharing::TAKE_AGAIN);
        }
        if closing || self.until_empty {
            next = next.min(now + Duration::from_millis(20));
        }
        next.saturating_duration_since(now)
    }

    fn step(&mut self, mail: Mail, closing: bool) -> Result<()> {
        self.read_asked()?;
        if !mail.finished.is_empty() {
            self.settle(mail.finished)?;
        }
        let now = Instant::now();
        if now >= self.look_at || mail.changed {
            self.look_around(mail.changed)?;
        }
        if closing {
            return Ok(());
        }
        if let (true, Some(incoming)) = (mail.rung, &mut self.intake) {
            (incoming.inbox_at, incoming.later_at) = (now, Some(now));
            incoming.awaited = incoming.awaited.max(mail.inbox);
            incoming.pause = Duration::from_millis(1);
        }
        self.may_be_free |= mail.changed;
        if self.state.rests() {
            return self.rest();
        }
        self.fire(mail.changed)?;
        self.take_in()?;
        self.look_for_more();
        let next = self.feed()?;
        self.share()?;
        self.drop_segments()?;
        self.fold()?;
        if self.until_empty {
            self.look_whether_empty()?;
        }
        self.ask_ahead(next)
    }

    /// Gives back what has come to its end of a shard that is left, and leaves it if it is closed.
    fn rest(&mut self) -> Result<()> {
        self.may_be_free = true; // for the time after
        if let Some(empty) = self.signals.empty.get(self.at) {
            empty.store(false, Ordering::SeqCst);
        }
        self.give_back_paused()?;
        if self.state == State::Closed && self.lanes.is_empty() {
            self.leave()?;
            return Err(state::is_closed());
        }
        Ok(())
    }

    /// Looks for what the others do.
    fn look_around(&mut self, changed: bool) -> Result<()> {
        let now = Instant::now();
        self.free_orphans()?;
        let looks_at_all = changed || self.intake.is_none();
        if looks_at_all || now >= self.others_at {
            self.look_at_the_clock()?;
            if looks_at_all {
                self.books.kinds = self.patiently(|connection, _| Kinds::load(connection))?;
            }
            self.look_at_others()?;
        }
        if looks_at_all {
            self.state = self.patiently(|connection, _| State::load(connection))?;
            if self.state.rests() {
                self.intake = None;
                self.patiently(lease::release_intake)?;
            } else if self.intake.is_none() && self.patiently(lease::take_intake)? {
                self.may_be_over = true; // others may have finished lanes
                let now = Instant::now();
                self.intake = Some(Incoming {
                    intake: Intake::new(self.at),
                    inbox_at: now,
                    later_at: Some(now),
                    schedules_at: now,
                    all_schedules_at: now,
                    awaited: 0,
                    pause: Duration::ZERO,
                });
            }
        }
        self.give_back_paused()?;
        self.hungry = match self.shepherds {
            ..=1 => 0,
            _ => self.patiently(lease::hungry)?,
        };
        self.idle = self.hungry;
        self.look_at = (now + self.look_every).min(self.others_at);
        Ok(())
    }

    /// Looks who else is there, and takes its part of the rules.
    fn look_at_others(&mut self) -> Result<()> {
        let (shepherd, lapses) = (self.books.shepherd, &mut self.lapses);
        let Standing { rank, shepherds } = session::tried(&mut self.connection, PATIENT, |connection| {
            lease::bury(connection, shepherd, lapses)
        })?;
        let latest = Instant::now() + OTHERS_EVERY;
        self.others_at = self.lapses.next().map_or(latest, |next| next.min(latest));
        self.shepherds = shepherds;
        self.own = self.books.kinds.shared(rank, shepherds);
        self.desk.rule(self.at, self.own.clone());
        Ok(())
    }

    /// Looks at the server's clock, which may have been set, or be that of another machine after a failover.
    fn look_at_the_clock(&mut self) -> Result<()> {
        let clock = self.patiently(|connection, _| Clock::of(connection))?;
        let step = clock.step_since(&self.clock);
        self.clock = clock;
        let Some(step) = step else { return Ok(()) };
        let now = Instant::now();
        if let Some(incoming) = &mut self.intake {
            incoming.later_at = Some(now);
            (incoming.schedules_at, incoming.all_schedules_at) = (now, now);
        }
        (self.trouble)(&match step {
            Step::Back(by) => format!(
                "the server's clock went back by {}: tasks that were put off before that wait for as much longer",
                duration(by)
            ),
            Step::Forward(by) => format!(
                "the server's clock went forward by {}: tasks that wait for a time begin as much sooner",
                duration(by)
            ),
        });
        Ok(())
    }

    /// Frees lanes whose owner is nobody.
    fn free_orphans(&mut self) -> Result<()> {
        let orphans = &mut self.orphans;
        let Found { freed, any_free } =
            session::tried(&mut self.connection, PATIENT, |connection| orphans.free(connection))?;
        // Who listens for new lanes waits, too, while somebody has locked the inbox.
        self.may_be_free |= any_free || freed > 0;
        if freed > 0 {
            (self.trouble)(&format!(
                "{freed} lanes of tasks belonged to a shepherd that is gone: they are worked off now"
            ));
        }
        Ok(())
    }

    /// Pushes tasks of schedules that are due, if it is this keeper's to do, and time.
    fn fire(&mut self, changed: bool) -> Result<()> {
        let Some(incoming) = &mut self.intake else { return Ok(()) };
        if !changed && Instant::now() < incoming.schedules_at {
            return Ok(());
        }
        let shepherd = self.books.shepherd;
        let looks_at_all = changed || Instant::now() >= incoming.all_schedules_at;
        let fired = session::tried(&mut self.connection, 1, |connection| {
            schedule::fire(connection, shepherd, looks_at_all)
        });
        let now = Instant::now();
        match fired {
            Ok(Fired { any, wait, strays }) => {
                incoming.schedules_at = now + wait;
                if looks_at_all {
                    incoming.all_schedules_at = now + schedule::LATEST;
                }
                if any {
                    incoming.inbox_at = now;
                }
                strays.iter().for_each(|stray| (self.trouble)(&stray.to_string()));
                Ok(())
            }
            Err(error) => {
                incoming.schedules_at = now + LOCKED_PAUSE;
                self.is_locked(error)
            }
        }
    }

    /// Moves tasks in, if it is this keeper's to do, and time.
    fn take_in(&mut self) -> Result<()> {
        let Some(incoming) = &mut self.intake else { return Ok(()) };
        let now = Instant::now();
        let mut all = Vec::new();
        if now >= incoming.inbox_at {
            let moved = session::tried(&mut self.connection, 1, |connection| {
                incoming.intake.inbox(connection, &mut self.books)
            });
            incoming.plan_inbox(moved.as_ref().map_or(0, |moved| moved.read));
            if moved.is_err() {
                incoming.inbox_at = Instant::now() + LOCKED_PAUSE;
            }
            all.push(moved);
        }
        if incoming.later_at.is_some_and(|at| now >= at) {
            let moved = session::tried(&mut self.connection, 1, |connection| {
                incoming.intake.later(connection, &mut self.books)
            });
            let wait = match &moved {
                Ok((_, next)) => next.unwrap_or(LATER_SWEEP).min(LATER_SWEEP),
                Err(_) => LOCKED_PAUSE,
            };
            incoming.later_at = Some(Instant::now() + wait);
            all.push(moved.map(|(moved, _)| moved));
        }
        for moved in all {
            match moved {
                Ok(moved) => self.accept(moved)?,
                Err(error) => self.is_locked(error)?,
            }
        }
        Ok(())
    }

    /// Another session is in the way of what comes in, and all else goes on; other errors stay what they are.
    fn is_locked(&mut self, error: Error) -> Result<()> {
        if !error.is_passing() {
            return Err(error);
        }
        self.tell_locked(&format!("what comes in waits for another session: {error}"));
        Ok(())
    }

    fn tell_locked(&mut self, text: &str) {
        let now = Instant::now();
        if now >= self.tell_locked_at {
            self.tell_locked_at = now + TELL_LOCKED_EVERY;
            (self.trouble)(text);
        }
    }

    /// Does something on the server, and does it again where another session is in the way, which may be a FLUSH TABLES that holds up who
    /// only reads: with a connection that is given up, all that runs would be given out again.
    fn patiently<T>(&mut self, mut work: impl FnMut(&mut Connection, u32) -> Result<T>) -> Result<T> {
        let shepherd = self.books.shepherd;
        session::tried(&mut self.connection, PATIENT, |connection| work(connection, shepherd))
    }

    /// Whether this shepherd begins no task of this kind.
    fn rests(&self, kind: u16) -> bool {
        self.state.rests() || self.own.of(kind).is_paused
    }

    /// Gives back what belongs to kinds that are paused, or that others alone may run; if the whole shard rests, also what lies in a
    /// lane behind all that runs.
    fn give_back_paused(&mut self) -> Result<()> {
        let paused: HashSet<u64> =
            self.lanes.values().filter(|lane| self.rests(lane.kind)).map(|lane| lane.lane).collect();
        if paused.is_empty() {
            return Ok(());
        }
        self.desk.withdraw(self.at, |lane| paused.contains(&lane));
        let running = self.desk.busy(self.at);
        let (busy, idle): (Vec<u64>, Vec<u64>) =
            paused.into_iter().partition(|lane| running.contains_key(lane));
        for lane in &busy {
            let (Some(lane), Some(&after)) = (self.lanes.get_mut(lane), running.get(lane)) else { continue };
            if self.state.rests() && after < lane.tasks {
                let shepherd = self.books.shepherd;
                session::tried(&mut self.connection, PATIENT, |connection| {
                    lane.cut(connection, shepherd, after)
                })?;
            }
            lane.rewind();
        }
        let given: Vec<_> = idle.iter().filter_map(|lane| self.lanes.remove(lane)).collect();
        let are_for_others = given.iter().any(|lane| self.leaves_to_others(lane.kind));
        self.give_back(idle, are_for_others)
    }

    /// Acknowledges what workers have done.
    fn settle(&mut self, finished: Vec<crate::desk::Finished>) -> Result<()> {
        self.appetite.did(finished.len());
        let settling = Settling::new(finished, &mut self.lanes, &self.books.kinds, self.clock);
        self.commit(&settling)?;
        self.settle_at = Instant::now() + SETTLE_EVERY;
        Ok(())
    }

    fn commit(&mut self, settling: &Settling) -> Result<()> {
        let is_intake = self.intake.is_some();
        let settled = session::tried(&mut self.connection, PATIENT, |connection| {
            settling.commit(connection, &mut self.books, &self.lanes, is_intake)
        })?;
        settled.count(self.totals);
        for lane in &settled.lost {
            self.lanes.remove(lane);
            self.desk.withdraw(self.at, |of| of == *lane);
        }
        let over: Vec<u64> = settled.lanes.iter().copied().filter(|lane| self.is_over(*lane)).collect();
        for lane in over {
            self.lanes.remove(&lane);
            (self.may_be_over, self.may_be_free) = (true, true);
        }
        if let (Some(due), Some(incoming)) = (settled.next_due, &mut self.intake) {
            let due = Instant::now() + due;
            incoming.later_at = Some(incoming.later_at.map_or(due, |at| at.min(due)));
        }
        self.desk.put(settled.returned);
        Ok(())
    }

    fn is_over(&self, lane: u64) -> bool {
        self.lanes.get(&lane).is_some_and(|lane| lane.progress.is_finished())
    }
}
