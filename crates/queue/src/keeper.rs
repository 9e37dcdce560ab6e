//! The keeper of a shard: the one thread that talks to it. It takes what has come in, reads lanes ahead of the workers, and
//! acknowledges what they have done, many tasks in one transaction.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use drover_db::Connection;

use crate::Result;
use crate::claims::{self, Claimant};
use crate::clock::Clock;
use crate::counts::{self, Counts};
use crate::desk::{Desk, Mail, Queued, StreamName};
use crate::drain::{self, State};
use crate::error::{Doing, Error};
use crate::intake::{Books, Intake, Moved};
use crate::kinds::Kinds;
use crate::lane::{self, Lane};
use crate::lease::{self, Name, Standing};
use crate::schedule;
use crate::schema::{BUILDING, INTAKE};
use crate::segments;
use crate::session;
use crate::settle::Settling;
use crate::shard::Shard;
use crate::shepherd::Totals;

/// How often a lease is renewed: several times in the time after which it runs out.
const RENEW_EVERY: Duration = Duration::from_secs(3);
/// How often little is acknowledged. A transaction costs the server as much as some hundred tasks do.
const SETTLE_EVERY: Duration = Duration::from_millis(10);
/// So much of a shard is read ahead, of all lines together: tasks, of which large ones count as several.
const AHEAD: usize = 16_384;
/// At least so many of each line, and at most so many in one statement.
const LEAST_AHEAD: usize = 32;
const MOST_READ: usize = 4096;
/// So many lanes are taken at once.
const LANES_AT_ONCE: usize = 64;

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
    pub(crate) totals: &'a Totals,
    pub(crate) name: &'a Name,
    pub(crate) until_empty: bool,
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
    /// This shepherd's part of the rules.
    own: Kinds,
    lanes: HashMap<u64, Lane>,
    /// The lane of which tasks were asked for and not read yet. Until they are, nothing else can be asked.
    asked: Option<u64>,
    clock: Clock,
    renew_at: Instant,
    /// Until then it waits for more to acknowledge, unless there is much.
    settle_at: Instant,
    intake: Option<Incoming>,
    /// How many shepherds there are, and how many others have nothing to do.
    shepherds: u32,
    hungry: usize,
    /// How many tasks it can run at once.
    workers: usize,
    /// Whether the others know that this one has nothing to do.
    is_hungry: bool,
    /// Whether there may be lanes that nobody owns.
    may_be_free: bool,
    /// Whether a lane was finished since segments were looked at.
    may_be_over: bool,
    /// When segments are looked at next.
    segments_at: Instant,
    fold_at: Instant,
    until_empty: bool,
}

/// What a keeper has who moves tasks in.
struct Incoming {
    intake: Intake,
    inbox_at: Instant,
    later_at: Option<Instant>,
    /// When a schedule may be due.
    schedules_at: Instant,
    /// A row was seen in the inbox that nobody has committed yet.
    awaited: u64,
    pause: Duration,
}

impl<'a> Keeper<'a> {
    /// Connects, and enters the shepherd; `left` is the number that it had over an earlier connection.
    pub(crate) fn open(post: &Post<'a>, left: Option<u32>) -> Result<Self> {
        let Post { shard, at, desk, signals, totals, name, until_empty } = *post;
        let mut connection = session::open(shard)?;
        crate::schema::check(&mut connection)?;
        if let Some(before) = left {
            lease::leave(&mut connection, before)?;
        }
        let kinds = Kinds::load(&mut connection)?;
        let state = State::load(&mut connection)?;
        let clock = Clock::of(&mut connection)?;
        lease::bury(&mut connection, 0)?;
        let shepherd = lease::enter(&mut connection, name)?;
        let now = Instant::now();
        Ok(Self {
            at,
            desk,
            signals,
            totals,
            connection,
            state,
            own: kinds.clone(),
            books: Books { shepherd, kinds, counts: Counts::default() },
            lanes: HashMap::new(),
            asked: None,
            clock,
            renew_at: now,
            settle_at: now,
            intake: None,
            shepherds: 1,
            hungry: 0,
            workers: name.workers as usize,
            is_hungry: false,
            may_be_free: true,
            may_be_over: true,
            segments_at: now + segments::EVERY,
            fold_at: now,
            until_empty,
        })
    }

    /// The number of its shepherd on this shard.
    pub(crate) fn shepherd(&self) -> u32 {
        self.books.shepherd
    }

    /// Works until it is told to end, or the connection is lost.
    pub(crate) fn run(&mut self) -> Result<()> {
        loop {
            let closing = self.signals.closing.load(Ordering::SeqCst);
            let mail = self.desk.mail(self.at, self.pause(closing), self.settle_at);
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
        lease::leave(&mut self.connection, self.books.shepherd)
    }

    /// How long there is nothing to do, if nothing comes.
    fn pause(&self, closing: bool) -> Duration {
        let now = Instant::now();
        let mut next = self.renew_at;
        if self.asked.is_some() {
            next = next.min(now + SETTLE_EVERY);
        }
        if let Some(incoming) = self.intake.as_ref().filter(|_| !closing) {
            next = incoming.later_at.map_or(next, |at| next.min(at)).min(incoming.inbox_at);
            next = next.min(incoming.schedules_at);
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
        if now >= self.renew_at || mail.changed {
            self.renew(mail.changed)?;
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
            return Err(drain::is_closed());
        }
        Ok(())
    }

    fn renew(&mut self, changed: bool) -> Result<()> {
        if !lease::renew(&mut self.connection, self.books.shepherd, self.desk.running())? {
            return Err(Error::found(crate::intake::LOST));
        }
        self.renew_at = Instant::now() + RENEW_EVERY;
        if changed || self.intake.is_none() {
            self.clock = Clock::of(&mut self.connection)?;
            self.books.kinds = Kinds::load(&mut self.connection)?;
            let Standing { rank, shepherds } = lease::bury(&mut self.connection, self.books.shepherd)?;
            self.shepherds = shepherds;
            self.own = self.books.kinds.shared(rank, shepherds);
            self.state = State::load(&mut self.connection)?;
            self.desk.rule(self.at, self.own.clone());
            if self.state.rests() {
                self.intake = None;
                lease::release_intake(&mut self.connection, self.books.shepherd)?;
            } else if self.intake.is_none() && lease::take_intake(&mut self.connection, self.books.shepherd)?
            {
                self.may_be_over = true; // others may have finished lanes
                let now = Instant::now();
                self.intake = Some(Incoming {
                    intake: Intake::new(self.at),
                    inbox_at: now,
                    later_at: Some(now),
                    schedules_at: now,
                    awaited: 0,
                    pause: Duration::ZERO,
                });
            }
        }
        self.give_back_paused()?;
        self.hungry =
            if self.shepherds > 1 { lease::hungry(&mut self.connection, self.books.shepherd)? } else { 0 };
        Ok(())
    }

    /// Pushes tasks of schedules that are due, if it is this keeper's to do, and time.
    fn fire(&mut self, changed: bool) -> Result<()> {
        let Some(incoming) = &mut self.intake else { return Ok(()) };
        if !changed && Instant::now() < incoming.schedules_at {
            return Ok(());
        }
        let shepherd = self.books.shepherd;
        let (fired, wait) =
            session::retried(&mut self.connection, |connection| schedule::fire(connection, shepherd))?;
        let now = Instant::now();
        incoming.schedules_at = now + wait;
        if fired {
            incoming.inbox_at = now;
        }
        Ok(())
    }

    /// Moves tasks in, if it is this keeper's to do, and time.
    fn take_in(&mut self) -> Result<()> {
        let Some(incoming) = &mut self.intake else { return Ok(()) };
        let now = Instant::now();
        let mut all = Vec::new();
        if now >= incoming.inbox_at {
            let moved = session::retried(&mut self.connection, |connection| {
                incoming.intake.inbox(connection, &mut self.books)
            })?;
            incoming.plan_inbox(moved.read);
            all.push(moved);
        }
        if incoming.later_at.is_some_and(|at| now >= at) {
            let (moved, next) = session::retried(&mut self.connection, |connection| {
                incoming.intake.later(connection, &mut self.books)
            })?;
            incoming.later_at = Some(Instant::now() + next.unwrap_or(LATER_SWEEP).min(LATER_SWEEP));
            all.push(moved);
        }
        for moved in all {
            self.accept(moved)?;
        }
        Ok(())
    }

    /// Puts tasks that were moved in on the desk. More than are read ahead are left to whoever comes first.
    fn accept(&mut self, moved: Moved) -> Result<()> {
        let waiting: usize = self.desk.ready(self.at).values().sum();
        let mut given_back = Vec::new();
        let mut kept = HashSet::new();
        let are_for_others = moved.lanes.iter().any(|lane| self.leaves_to_others(lane.kind));
        for lane in moved.lanes {
            if waiting > AHEAD || self.rests(lane.kind) {
                given_back.push(lane.lane);
            } else {
                kept.insert(lane.lane);
                self.lanes.insert(lane.lane, lane);
            }
        }
        self.desk.put(moved.tasks.into_iter().filter(|task| kept.contains(&task.lane)));
        self.give_back(given_back, are_for_others)
    }

    /// Whether others may run tasks of a kind, and this one may not: fewer may run at once than there are shepherds.
    fn leaves_to_others(&self, kind: u16) -> bool {
        self.own.of(kind).is_paused && !self.books.kinds.of(kind).is_paused
    }

    /// Gives lanes back, and tells the others if they are for them.
    fn give_back(&mut self, lanes: Vec<u64>, are_for_others: bool) -> Result<()> {
        if lanes.is_empty() {
            return Ok(());
        }
        self.may_be_free = true;
        lane::release(&mut self.connection, self.books.shepherd, &lanes)?;
        if are_for_others {
            crate::settings::ring(&mut self.connection).doing(|| "giving lanes back")?;
        }
        Ok(())
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
                lane.cut(&mut self.connection, self.books.shepherd, after)?;
            }
            lane.rewind();
        }
        let given: Vec<_> = idle.iter().filter_map(|lane| self.lanes.remove(lane)).collect();
        let are_for_others = given.iter().any(|lane| self.leaves_to_others(lane.kind));
        self.give_back(idle, are_for_others)
    }

    /// Reads lanes ahead of the workers, and takes more of them where one is read to its end. Gives the lane of which more will be
    /// needed next, and how many.
    fn feed(&mut self) -> Result<Option<(u64, usize)>> {
        let ready = self.desk.ready(self.at);
        if self.may_be_free {
            self.take_lanes(&ready)?;
        }
        let mut streams: BTreeMap<StreamName, Vec<u64>> = BTreeMap::new();
        for lane in self.lanes.values().filter(|lane| !lane.is_read() && !self.rests(lane.kind)) {
            streams.entry(lane.stream(self.at)).or_default().push(lane.lane);
        }
        let share = (AHEAD / streams.len().max(1)).clamp(LEAST_AHEAD, MOST_READ * 2);
        let mut streams: Vec<_> = streams.into_iter().collect();
        streams.sort_by_key(|(stream, _)| Reverse(stream.priority)); // the others wait for the desk, too
        let mut ahead: usize = ready.values().sum();
        let mut next = None;
        for (stream, mut lanes) in streams {
            lanes.sort_unstable();
            let mut waiting = ready.get(&stream).copied().unwrap_or(0);
            for lane in lanes {
                if waiting > share / 2 || (waiting > 0 && ahead > AHEAD) {
                    next = next.or(Some(lane).filter(|_| waiting <= share && ahead <= AHEAD));
                    break;
                }
                let mut is_over = false;
                while !is_over {
                    self.ask(lane, share.min(MOST_READ))?;
                    let tasks = self.read(lane)?;
                    // None where all were settled before, or are not to run.
                    is_over = !tasks.is_empty() || self.lanes.get(&lane).is_none_or(Lane::is_read);
                    let weight = tasks.iter().map(Queued::weight).sum::<usize>();
                    (waiting, ahead) = (waiting + weight, ahead + weight);
                    self.desk.put(tasks);
                }
            }
        }
        Ok(next.map(|lane| (lane, share.min(MOST_READ))))
    }

    /// Asks for the tasks that will be needed next, as the last thing of a step: the server reads them while this one waits.
    fn ask_ahead(&mut self, next: Option<(u64, usize)>) -> Result<()> {
        if let Some((lane, most)) = next.filter(|(lane, _)| self.lanes.contains_key(lane)) {
            self.ask(lane, most)?;
            self.asked = Some(lane);
        }
        Ok(())
    }

    /// Puts the tasks on the desk that were asked for.
    fn read_asked(&mut self) -> Result<()> {
        if let Some(lane) = self.asked.take() {
            let tasks = self.read(lane)?;
            self.desk.put(tasks);
        }
        Ok(())
    }

    /// Shepherds that have nothing to do get half of what another one has not begun.
    fn share(&mut self) -> Result<()> {
        if self.shepherds < 2 && !self.is_hungry {
            return Ok(());
        }
        let has_nothing = self.desk.running() < self.workers
            && !self.may_be_free
            && self.lanes.values().all(Lane::is_read)
            && self.desk.ready(self.at).is_empty();
        if has_nothing != self.is_hungry {
            self.is_hungry = has_nothing;
            lease::tell_hunger(&mut self.connection, self.books.shepherd, has_nothing)?;
        }
        if self.hungry == 0 {
            return Ok(());
        }
        let ready = self.desk.ready_by_lane(self.at);
        // Of what not all of them may run the hungry ones have no use, perhaps.
        let is_for_all =
            |kind: u16| self.books.kinds.of(kind).concurrency.is_none_or(|most| most >= self.shepherds);
        for _ in 0..std::mem::take(&mut self.hungry) {
            let left = |lane: &&mut Lane| lane.unread() + ready.get(&lane.lane).copied().unwrap_or(0);
            let lanes = self.lanes.values_mut().filter(|lane| is_for_all(lane.kind));
            let Some(lane) = lanes.max_by_key(left) else { break };
            let Some(at) = self.desk.halve(self.at, lane.lane, lane.progress.settled(), lane.tasks) else {
                break;
            };
            lane.cut(&mut self.connection, self.books.shepherd, at)?;
        }
        Ok(())
    }

    fn ask(&mut self, lane: u64, most: usize) -> Result<()> {
        let Some(lane) = self.lanes.get_mut(&lane) else { return Ok(()) };
        lane.ask(&mut self.connection, most)
    }

    /// Reads the tasks of a lane that were asked for; what must not run is settled.
    fn read(&mut self, lane: u64) -> Result<Vec<Queued>> {
        let Some(lane) = self.lanes.get_mut(&lane) else { return Ok(Vec::new()) };
        let tasks = lane.read(&mut self.connection, self.at)?;
        if !lane.is_unique || !lane.is_built() {
            return Ok(tasks);
        }
        let objects: Vec<_> = tasks.iter().map(|queued| queued.task.object_id.to_string()).collect();
        let both = tasks.iter().zip(&objects);
        let claimants: Vec<_> = both
            .map(|(queued, object_id)| Claimant { kind: queued.task.kind, object_id, task: queued.task.id })
            .collect();
        let mut held = claims::held(&mut self.connection, &claimants)?.into_iter();
        let (held, merged): (Vec<_>, Vec<_>) = tasks.into_iter().partition(|_| held.next() == Some(true));
        if !merged.is_empty() {
            let settling = Settling::merged(&merged, &mut self.lanes, self.clock);
            self.commit(&settling)?;
        }
        Ok(held)
    }

    /// Takes a lane that nobody owns for each line that has none to read from.
    fn take_lanes(&mut self, ready: &HashMap<StreamName, usize>) -> Result<()> {
        let mut fed: HashSet<StreamName> =
            self.lanes.values().filter(|lane| !lane.is_read()).map(|lane| lane.stream(self.at)).collect();
        fed.extend(ready.iter().filter(|(_, count)| **count > MOST_READ).map(|(stream, _)| stream.clone()));
        let mut wanted = Vec::new();
        let mut more = false;
        for free in lane::free(&mut self.connection)? {
            if self.rests(free.kind) {
                continue;
            }
            let stream =
                StreamName { shard: self.at, kind: free.kind, priority: free.priority, tenant: free.tenant };
            if wanted.len() < LANES_AT_ONCE && fed.insert(stream) {
                wanted.push(free.lane);
            } else {
                more = true;
            }
        }
        for lane in lane::take(&mut self.connection, self.books.shepherd, &wanted)? {
            self.lanes.insert(lane.lane, lane);
        }
        self.may_be_free = more;
        Ok(())
    }

    /// Acknowledges what workers have done.
    fn settle(&mut self, finished: Vec<crate::desk::Finished>) -> Result<()> {
        let settling = Settling::new(finished, &mut self.lanes, &self.books.kinds, self.clock);
        self.commit(&settling)?;
        self.settle_at = Instant::now() + SETTLE_EVERY;
        Ok(())
    }

    fn commit(&mut self, settling: &Settling) -> Result<()> {
        let is_intake = self.intake.is_some();
        let settled = session::retried(&mut self.connection, |connection| {
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

    /// Folds counts that are old, now and then.
    fn fold(&mut self) -> Result<()> {
        const EVERY: Duration = Duration::from_secs(600);
        let now = Instant::now();
        if self.intake.is_none() || now < self.fold_at {
            return Ok(());
        }
        self.fold_at = now + EVERY;
        while session::retried(&mut self.connection, counts::fold)? {}
        Ok(())
    }

    /// Drops segments of which all lanes are finished.
    fn drop_segments(&mut self) -> Result<()> {
        let now = Instant::now();
        let Some(incoming) = &mut self.intake else { return Ok(()) };
        if now < self.segments_at {
            return Ok(());
        }
        let keep = self.books.kinds.longest_keep();
        self.may_be_over |= incoming.intake.close_old(&mut self.connection, keep)?;
        let mut next = None;
        if self.may_be_over {
            next = segments::drop_finished(&mut self.connection, keep)?;
            self.may_be_over = next.is_some();
        }
        self.segments_at = now + next.unwrap_or(segments::EVERY);
        Ok(())
    }

    fn look_whether_empty(&mut self) -> Result<()> {
        let Some(empty) = self.signals.empty.get(self.at) else { return Ok(()) };
        if !self.lanes.is_empty() || self.may_be_free {
            empty.store(false, Ordering::SeqCst);
            return Ok(());
        }
        let lanes =
            format!("SELECT DISTINCT kind FROM queue_lane WHERE lane > {INTAKE} AND owner <> {BUILDING}");
        let doing = || "looking whether the queue is empty";
        let kinds = self.connection.query(lanes).doing(doing)?.rows;
        let is_open = |kind: u16| !self.rests(kind);
        let open = kinds.iter().filter_map(|row| row.parse(0)).any(is_open);
        let sql = "SELECT EXISTS (SELECT 1 FROM queue_inbox) + EXISTS (SELECT 1 FROM queue_later WHERE is_back = 1)";
        let row = self.connection.first(sql).doing(doing)?;
        let left = row.and_then(|row| row.parse::<u32>(0)).unwrap_or(1) + u32::from(open);
        empty.store(left == 0, Ordering::SeqCst);
        Ok(())
    }
}

/// How often the table of later tasks is looked at, if no task is known to be due.
const LATER_SWEEP: Duration = Duration::from_secs(15);

impl Incoming {
    /// When the inbox is read next, after so many tasks were read.
    fn plan_inbox(&mut self, read: usize) {
        let now = Instant::now();
        self.inbox_at = if read > 0 {
            self.pause = Duration::from_millis(1);
            now
        } else if self.awaited > self.intake.last && self.pause < Duration::from_secs(1) {
            self.pause *= 2;
            now + self.pause
        } else {
            self.intake.next_look()
        };
    }
}
