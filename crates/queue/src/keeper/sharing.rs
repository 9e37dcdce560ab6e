//! How the shepherds of one shard share the work: new tasks, lanes without an owner, and tasks that one has not begun while others are
//! idle.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use super::{AHEAD, Keeper, LANES_AT_ONCE, MOST_READ, PATIENT};
use crate::desk::StreamName;
use crate::error::Doing;
use crate::intake::Moved;
use crate::lane::{self, Lane};
use crate::{Result, lease, session};

/// While there are others, one takes as much as it does in this time.
const WHILE: Duration = Duration::from_millis(250);
/// How often one that has workers without tasks looks for lanes, if there were some lately.
pub(super) const TAKE_AGAIN: Duration = Duration::from_millis(20);
/// So long after it had lanes.
const LINGER: Duration = Duration::from_secs(1);

/// How many tasks a shepherd does in a while.
#[derive(Debug)]
pub(super) struct Appetite {
    least: usize,
    since: Instant,
    done: usize,
    per_second: f64,
}

impl Appetite {
    pub(super) fn new(workers: u32) -> Self {
        Self { least: 2 * workers as usize, since: Instant::now(), done: 0, per_second: 0.0 }
    }

    /// So many tasks have come to their end.
    pub(super) fn did(&mut self, tasks: usize) {
        self.done += tasks;
        let passed = self.since.elapsed();
        if passed >= WHILE {
            self.per_second = self.done as f64 / passed.as_secs_f64();
            (self.since, self.done) = (Instant::now(), 0);
        }
    }

    /// So many it takes.
    pub(super) fn tasks(&self) -> usize {
        ((self.per_second * WHILE.as_secs_f64()) as usize).clamp(self.least, MOST_READ.max(self.least))
    }
}

impl Keeper<'_> {
    /// Puts tasks that were moved in on the desk. More than it does itself in a while are left to whoever comes first.
    pub(super) fn accept(&mut self, moved: Moved) -> Result<()> {
        if moved.locked > 0 {
            self.tell_locked(&format!(
                "another session has locked {} rows of queue_inbox: they are taken in when it has ended its transaction",
                moved.locked
            ));
        }
        let mut waiting: usize = self.desk.ready(self.at).values().sum();
        let most = if self.shepherds > 1 { self.appetite.tasks() } else { AHEAD };
        let mut given_back = Vec::new();
        let mut kept = HashSet::new();
        // Who has nothing to do is told. The others come by themselves.
        let are_for_others = self.idle > 0 || moved.lanes.iter().any(|lane| self.leaves_to_others(lane.kind));
        for lane in moved.lanes {
            if waiting > most || self.rests(lane.kind) {
                given_back.push(lane.lane);
            } else {
                waiting += lane.tasks as usize;
                kept.insert(lane.lane);
                self.lanes.insert(lane.lane, lane);
            }
        }
        self.desk.put(moved.tasks.into_iter().filter(|task| kept.contains(&task.lane)));
        self.give_back(given_back, are_for_others)
    }

    /// Whether others may run tasks of a kind, and this one may not: fewer may run at once than there are shepherds.
    pub(super) fn leaves_to_others(&self, kind: u16) -> bool {
        self.own.of(kind).is_paused && !self.books.kinds.of(kind).is_paused
    }

    /// Gives lanes back, and tells the others if they are for them.
    pub(super) fn give_back(&mut self, lanes: Vec<u64>, are_for_others: bool) -> Result<()> {
        if lanes.is_empty() {
            return Ok(());
        }
        self.may_be_free = true;
        self.patiently(|connection, shepherd| {
            lane::release(connection, shepherd, &lanes)?;
            match are_for_others {
                true => crate::settings::ring(connection).doing(|| "giving lanes back"),
                false => Ok(()),
            }
        })
    }

    /// Takes lanes that nobody owns for each line that has too little to read from: while there are other shepherds, as many as it needs
    /// for a while, as a lane may be of one task.
    pub(super) fn take_lanes(&mut self, ready: &HashMap<StreamName, usize>) -> Result<()> {
        let enough = if self.shepherds > 1 { self.appetite.tasks() } else { MOST_READ };
        let mut has: HashMap<StreamName, usize> = ready.clone();
        for lane in self.lanes.values().filter(|lane| !lane.is_read()) {
            *has.entry(lane.stream(self.at)).or_default() += enough.max(lane.unread() as usize);
        }
        let mut all: usize = has.values().sum();
        let mut wanted = Vec::new();
        let mut more = false;
        for free in self.patiently(|connection, _| lane::free(connection))? {
            if self.rests(free.kind) {
                continue;
            }
            let stream =
                StreamName { shard: self.at, kind: free.kind, priority: free.priority, tenant: free.tenant };
            let has = has.entry(stream).or_default();
            // Each line gets its turn.
            let is_short = *has == 0 || *has < enough && (all < enough || self.shepherds < 2);
            if wanted.len() < LANES_AT_ONCE && is_short {
                (*has, all) = (*has + free.tasks as usize, all + free.tasks as usize);
                wanted.push(free.lane);
            } else {
                more = true;
            }
        }
        let taken = self.patiently(|connection, shepherd| lane::take(connection, shepherd, &wanted))?;
        more |= taken.len() < wanted.len(); // others were there first
        for lane in taken {
            self.lanes.insert(lane.lane, lane);
        }
        self.may_be_free = more;
        self.taken_at = if wanted.is_empty() { self.taken_at } else { Instant::now() };
        Ok(())
    }

    /// Has lanes looked for, if there were some lately and there are workers without tasks: who leaves some does not ring.
    pub(super) fn look_for_more(&mut self) {
        if self.is_waiting_for_lanes() {
            self.may_be_free = true;
        }
    }

    pub(super) fn is_waiting_for_lanes(&self) -> bool {
        self.shepherds > 1
            && self.taken_at.elapsed() < LINGER
            && self.desk.running() < self.workers
            && self.desk.ready(self.at).is_empty()
    }

    /// Shepherds that have nothing to do get half of what another one has not begun.
    pub(super) fn share(&mut self) -> Result<()> {
        if self.shepherds < 2 && !self.is_hungry {
            return Ok(());
        }
        let has_nothing = self.desk.running() < self.workers
            && !self.may_be_free
            && self.taken_at.elapsed() > LINGER
            && self.lanes.values().all(Lane::is_read)
            && self.desk.ready(self.at).is_empty();
        if has_nothing != self.is_hungry {
            self.is_hungry = has_nothing;
            self.patiently(|connection, shepherd| lease::tell_hunger(connection, shepherd, has_nothing))?;
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
            let shepherd = self.books.shepherd;
            session::tried(&mut self.connection, PATIENT, |connection| lane.cut(connection, shepherd, at))?;
        }
        Ok(())
    }
}
