//! Where tasks lie in memory between the shards and the workers: what is ready, by priority and tenant; what is given out, and
//! until when; and what came of it, which each shard's keeper takes back. All rules that need no server hold here.

mod limits;
mod mail;
mod ready;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::kinds::Kinds;
use crate::task::Outcome;
use limits::{Pace, Rules};
use mail::Letterbox;
use ready::Ready;

pub(crate) use mail::{Finished, Mail};
pub(crate) use ready::{Queued, StreamName};

/// So many answers are not little.
const MANY: usize = 2048;

/// An answer of a worker's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    /// The lease of the task it answers.
    pub(crate) lease: u64,
    /// What came of it.
    pub(crate) outcome: Outcome,
}

/// What is given out.
#[derive(Debug)]
struct Out {
    queued: Arc<Queued>,
    begun: Instant,
    /// When its time-out began.
    heard: Instant,
    hand: Hand,
}

/// Who has a task, where one has several that are given up together; 0 where each is given up alone.
pub(crate) type Hand = u64;

#[derive(Debug, Default)]
struct Inner {
    ready: Ready,
    out: HashMap<u64, Out>,
    pace: HashMap<u16, Pace>,
    rules: Rules,
    /// By shard, until when its tasks may be begun.
    leased: HashMap<usize, Instant>,
    next_lease: u64,
    is_closed: bool,
}

/// The desk.
#[derive(Debug)]
pub(crate) struct Desk {
    inner: Mutex<Inner>,
    /// For workers that wait for tasks.
    more: Condvar,
    boxes: Vec<Letterbox>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner) // nothing is left half done by a panic: there is none under a lock
}

impl Desk {
    /// For so many shards.
    pub(crate) fn new(shards: usize) -> Self {
        let inner = Inner { rules: Rules::new(shards), next_lease: 1, ..Inner::default() };
        let boxes = (0..shards).map(|_| Letterbox::default()).collect();
        Self { inner: Mutex::new(inner), more: Condvar::new(), boxes }
    }

    /// New rules of a shard: this shepherd's part of them.
    pub(crate) fn rule(&self, shard: usize, kinds: Kinds) {
        lock(&self.inner).rules.set(shard, kinds);
        self.more.notify_all();
    }

    /// The lease on a shard holds until then: later none of its tasks is begun, as they may be another shepherd's.
    pub(crate) fn leased(&self, shard: usize, until: Instant) {
        lock(&self.inner).leased.insert(shard, until);
        self.more.notify_all();
    }

    /// Puts tasks on the desk.
    pub(crate) fn put(&self, tasks: impl IntoIterator<Item = Queued>) {
        let mut inner = lock(&self.inner);
        for queued in tasks {
            inner.ready.put(queued);
        }
        drop(inner);
        self.more.notify_all();
    }

    /// The weight of the tasks of each line that are ready: how many they are, where large ones count as several.
    pub(crate) fn ready(&self, shard: usize) -> HashMap<StreamName, usize> {
        lock(&self.inner).ready.weights(shard)
    }

    /// Takes up to `most` tasks that may be begun now, waiting for the first one up to `wait`. `None` when there will be no more.
    pub(crate) fn take(&self, most: usize, wait: Duration) -> Option<Vec<Arc<Queued>>> {
        self.take_for(0, most, wait)
    }

    /// The same for one who has several at a time. If one of them is given up, so are all.
    pub(crate) fn take_for(&self, hand: Hand, most: usize, wait: Duration) -> Option<Vec<Arc<Queued>>> {
        /// What holds tasks back, such as a rate, is looked at so often.
        const TICK: Duration = Duration::from_millis(10);
        let until = Instant::now() + wait;
        let mut inner = lock(&self.inner);
        loop {
            if inner.is_closed {
                return None;
            }
            let now = Instant::now();
            let taken = inner.take(hand, most, now);
            if !taken.is_empty() || now >= until {
                drop(inner);
                self.tell_taken(&taken);
                return Some(taken);
            }
            let held = !inner.ready.is_empty();
            let pause = if held { TICK.min(until - now) } else { until - now };
            inner = self.more.wait_timeout(inner, pause).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn tell_taken(&self, taken: &[Arc<Queued>]) {
        let mut last = usize::MAX;
        for queued in taken {
            if queued.shard != last {
                last = queued.shard;
                self.tell(last, |mail| mail.taken = true);
            }
        }
    }

    /// Takes answers back; how many were refused, because their tasks were no longer theirs.
    pub(crate) fn answer(&self, answers: impl IntoIterator<Item = Answer>) -> usize {
        let now = Instant::now();
        let mut refused = 0;
        let mut finished = Vec::new();
        let mut inner = lock(&self.inner);
        for Answer { lease, outcome } in answers {
            match inner.back(lease) {
                Some(Out { queued, begun, .. }) => {
                    finished.push(Finished { queued, outcome, ran: now - begun, begun });
                }
                None => refused += 1,
            }
        }
        self.deliver(finished);
        drop(inner); // so that each task is either out or in the mail
        self.more.notify_all();
        refused
    }

    /// A worker is still at it.
    pub(crate) fn beat(&self, lease: u64) -> bool {
        let mut inner = lock(&self.inner);
        let Some(out) = inner.out.get_mut(&lease) else { return false };
        out.heard = Instant::now();
        true
    }

    /// Gives up tasks of which nothing was heard in time; their leases. Of those of one hand that has failed which it had longest, and
    /// the others are given out again: it may not even have begun them.
    pub(crate) fn expire(&self) -> Vec<u64> {
        let now = Instant::now();
        let mut inner = lock(&self.inner);
        let mut late = inner.late(now);
        late.sort_unstable();
        let mut finished = Vec::new();
        let mut hands = HashSet::new();
        for lease in &late {
            let Some(Out { queued, begun, heard, hand }) = inner.back(*lease) else { continue };
            let outcome = match hand == 0 || hands.insert(hand) {
                true => Outcome::Failed(format!("nothing was heard of it for {} s", (now - heard).as_secs())),
                false => Outcome::Returned,
            };
            finished.push(Finished { queued, outcome, ran: now - begun, begun });
        }
        self.deliver(finished);
        self.more.notify_all();
        late
    }

    fn deliver(&self, finished: Vec<Finished>) {
        let mut by_shard: HashMap<usize, Vec<Finished>> = HashMap::new();
        for finished in finished {
            by_shard.entry(finished.queued.shard).or_default().push(finished);
        }
        for (shard, finished) in by_shard {
            self.tell(shard, |mail| mail.finished.extend(finished));
        }
    }

    /// Forgets all of a shard's: it is lost, or its tasks are another shepherd's. Answers will be refused; how many were before they were
    /// taken from here.
    pub(crate) fn forget(&self, shard: usize) -> usize {
        let mut inner = lock(&self.inner);
        drop(inner.ready.retain(shard, |_| false));
        let gone: Vec<_> =
            inner.out.iter().filter(|(_, out)| out.queued.shard == shard).map(|(lease, _)| *lease).collect();
        for lease in gone {
            inner.back(lease);
        }
        drop(inner);
        let mut refused = 0;
        self.tell(shard, |mail| {
            let is_answer = |finished: &Finished| finished.outcome != Outcome::Returned;
            refused =
                std::mem::take(&mut mail.finished).iter().filter(|finished| is_answer(finished)).count();
        });
        refused
    }

    /// Takes a shard's ready tasks of the lanes that are meant off the desk.
    pub(crate) fn withdraw(&self, shard: usize, is_meant: impl Fn(u64) -> bool) -> Vec<Queued> {
        lock(&self.inner).ready.retain(shard, |queued| !is_meant(queued.lane))
    }

    /// How many tasks of each lane of a shard are ready.
    pub(crate) fn ready_by_lane(&self, shard: usize) -> HashMap<u64, u32> {
        lock(&self.inner).ready.by_lane(shard)
    }

    /// Halves what is left of a lane of `tasks` tasks: takes the far half of it off the desk, and gives its first task. `None` if
    /// there is too little left that is not given out.
    pub(crate) fn halve(&self, shard: usize, lane: u64, settled: u32, tasks: u32) -> Option<u32> {
        let mut inner = lock(&self.inner);
        let is_of = |queued: &Queued| queued.shard == shard && queued.lane == lane;
        let running = inner.out.values().map(|out| &*out.queued).filter(|queued| is_of(queued));
        let mail = self.boxes.get(shard).map(|of_shard| lock(&of_shard.mail));
        let answered = mail.iter().flat_map(|mail| &mail.finished).map(|finished| &*finished.queued);
        let out = running.chain(answered.filter(|queued| is_of(queued)));
        let first = out.map(|queued| queued.seq + 1).fold(settled, u32::max);
        let at = first + tasks.checked_sub(first).filter(|left| *left >= 2)?.div_ceil(2);
        drop(mail);
        drop(inner.ready.retain(shard, |queued| !is_of(queued) || queued.seq < at));
        Some(at)
    }

    /// The lanes of a shard of which tasks are given out, or are in the keeper's mail; with the number after the last of these.
    pub(crate) fn busy(&self, shard: usize) -> HashMap<u64, u32> {
        let inner = lock(&self.inner);
        let mut busy = HashMap::new();
        let mut add = |queued: &Queued| {
            let after = busy.entry(queued.lane).or_default();
            *after = u32::max(*after, queued.seq + 1);
        };
        inner.out.values().filter(|out| out.queued.shard == shard).for_each(|out| add(&out.queued));
        if let Some(of_shard) = self.boxes.get(shard) {
            lock(&of_shard.mail).finished.iter().for_each(|finished| add(&finished.queued));
        }
        busy
    }

    /// Which of these leases are no longer given out.
    pub(crate) fn gone(&self, leases: impl Iterator<Item = u64>) -> Vec<u64> {
        let inner = lock(&self.inner);
        leases.filter(|lease| !inner.out.contains_key(lease)).collect()
    }

    /// How many tasks are given out.
    pub(crate) fn running(&self) -> usize {
        lock(&self.inner).out.len()
    }

    /// Takes all back that is given out: their workers are not waited for any longer.
    pub(crate) fn give_up(&self) {
        let mut inner = lock(&self.inner);
        let leases: Vec<_> = inner.out.keys().copied().collect();
        leases.into_iter().for_each(|lease| drop(inner.back(lease)));
    }

    /// Gives out nothing more.
    pub(crate) fn close(&self) {
        lock(&self.inner).is_closed = true;
        self.more.notify_all();
    }

    /// Tells a keeper something.
    pub(crate) fn tell(&self, shard: usize, what: impl FnOnce(&mut Mail)) {
        let Some(of_shard) = self.boxes.get(shard) else { return };
        what(&mut lock(&of_shard.mail));
        of_shard.came.notify_one();
    }

    /// What a keeper was told, once it was told something, or after `wait`. What came of tasks stays in the box until `settle_at`, if
    /// it is not much.
    pub(crate) fn mail(&self, shard: usize, wait: Duration, settle_at: Instant) -> Mail {
        let Some(of_shard) = self.boxes.get(shard) else { return Mail::default() };
        let begun = Instant::now();
        let mut mail = lock(&of_shard.mail);
        loop {
            let now = Instant::now();
            if mail.finished.len() >= MANY || now >= settle_at && !mail.finished.is_empty() {
                return std::mem::take(&mut mail);
            }
            let passed = now.saturating_duration_since(begun);
            if mail.rung || mail.taken || passed >= wait {
                let finished = std::mem::take(&mut mail.finished);
                let told = std::mem::take(&mut *mail);
                mail.finished = finished;
                return told;
            }
            let mut rest = wait - passed;
            if !mail.finished.is_empty() {
                rest = rest.min(settle_at.saturating_duration_since(now));
            }
            mail = of_shard.came.wait_timeout(mail, rest).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Inner {
    /// Tasks of which nothing was heard in time, and what else those have who have them.
    fn late(&self, now: Instant) -> Vec<u64> {
        let is_late = |out: &Out| {
            now.saturating_duration_since(out.heard)
                >= self.rules.of(out.queued.shard, out.queued.task.kind).timeout
        };
        let late: HashSet<_> = self.out.values().filter(|out| is_late(out)).map(|out| out.hand).collect();
        let is_meant = |out: &Out| late.contains(&out.hand) && (out.hand != 0 || is_late(out));
        match late.is_empty() {
            true => Vec::new(),
            false => self.out.iter().filter(|(_, out)| is_meant(out)).map(|(lease, _)| *lease).collect(),
        }
    }

    fn take(&mut self, hand: Hand, most: usize, now: Instant) -> Vec<Arc<Queued>> {
        let Self { ready, out, pace, rules, leased, next_lease, .. } = self;
        let mut taken = Vec::new();
        let may_begin = |line: &StreamName, wanted: usize| {
            if leased.get(&line.shard).is_some_and(|until| now >= *until) {
                return 0;
            }
            let pace = pace.entry(line.kind).or_default();
            let count = pace.allows(rules.of(line.shard, line.kind), now).min(wanted);
            pace.begin(count);
            count
        };
        ready.take(most, may_begin, |mut queued| {
            queued.task.lease = *next_lease;
            *next_lease += 1;
            let queued = Arc::new(queued);
            let is_out = Out { queued: Arc::clone(&queued), begun: now, heard: now, hand };
            out.insert(queued.task.lease, is_out);
            taken.push(queued);
        });
        taken
    }

    fn back(&mut self, lease: u64) -> Option<Out> {
        let out = self.out.remove(&lease)?;
        if let Some(pace) = self.pace.get_mut(&out.queued.task.kind) {
            pace.running = pace.running.saturating_sub(1);
        }
        Some(out)
    }
}
