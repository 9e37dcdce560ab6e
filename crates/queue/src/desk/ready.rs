//! Tasks that are ready to be given out: lines of one kind, priority and tenant, which take turns.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, VecDeque};

use crate::task::Task;

/// A task with the place where it lies.
#[derive(Debug)]
pub(crate) struct Queued {
    pub(crate) shard: usize,
    pub(crate) lane: u64,
    /// Its number in the lane, from 0.
    pub(crate) seq: u32,
    pub(crate) priority: i8,
    /// When it was made, in milliseconds since 1970, by the server's clock.
    pub(crate) created_ms: u64,
    pub(crate) task: Task,
}

impl Queued {
    /// How much room it takes in memory: 1 for a small one.
    pub(crate) fn weight(&self) -> usize {
        const UNIT: usize = 4096;
        1 + self.task.payload.as_deref().map_or(0, str::len) / UNIT
    }

    /// The same, to be given out once more.
    pub(crate) fn again(&self) -> Self {
        Self { task: self.task.clone(), ..*self }
    }
}

/// What tasks have in common that wait in one line.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct StreamName {
    pub(crate) shard: usize,
    pub(crate) kind: u16,
    pub(crate) priority: i8,
    pub(crate) tenant: Box<str>,
}

impl StreamName {
    fn of(queued: &Queued) -> Self {
        let tenant = queued.task.tenant.clone();
        Self { shard: queued.shard, kind: queued.task.kind, priority: queued.priority, tenant }
    }
}

/// Tasks of one kind and tenant from one shard, which wait in the order they came.
#[derive(Debug, Default)]
struct Stream {
    tasks: VecDeque<Queued>,
    /// Of all its tasks.
    weight: usize,
}

/// The lines of one priority. None of them is empty.
#[derive(Debug, Default)]
struct Level {
    streams: HashMap<StreamName, Stream>,
    /// Whose turn is next.
    turns: VecDeque<StreamName>,
}

/// All that is ready.
#[derive(Debug, Default)]
pub(super) struct Ready {
    levels: BTreeMap<Reverse<i8>, Level>,
}

impl Ready {
    pub(super) fn is_empty(&self) -> bool {
        self.levels.is_empty()
    }

    pub(super) fn put(&mut self, queued: Queued) {
        let level = self.levels.entry(Reverse(queued.priority)).or_default();
        let name = StreamName::of(&queued);
        let stream = level.streams.entry(name).or_insert_with_key(|name| {
            level.turns.push_back(name.clone());
            Stream::default()
        });
        stream.weight += queued.weight();
        stream.tasks.push_back(queued);
    }

    /// Takes up to `most` tasks, the highest priority first; lines of one priority in turn, each as much as the others.
    /// `may_begin` is told of a line and how many of it are wanted, and says how many may be begun.
    pub(super) fn take(
        &mut self,
        most: usize,
        mut may_begin: impl FnMut(&StreamName, usize) -> usize,
        mut give: impl FnMut(Queued),
    ) {
        let mut left = most;
        for level in self.levels.values_mut() {
            left -= level.take(left, &mut may_begin, &mut give);
        }
        self.levels.retain(|_, level| !level.turns.is_empty());
    }

    /// Takes out a shard's tasks that do not stay.
    pub(super) fn retain(&mut self, shard: usize, mut stays: impl FnMut(&Queued) -> bool) -> Vec<Queued> {
        let mut gone = Vec::new();
        for level in self.levels.values_mut() {
            for (_, stream) in level.streams.iter_mut().filter(|(name, _)| name.shard == shard) {
                gone.extend(stream.retain(&mut stays));
            }
            level.streams.retain(|_, stream| !stream.tasks.is_empty());
            level.turns.retain(|name| level.streams.contains_key(name));
        }
        self.levels.retain(|_, level| !level.turns.is_empty());
        gone
    }

    /// The weight of each of a shard's lines.
    pub(super) fn weights(&self, shard: usize) -> HashMap<StreamName, usize> {
        self.of(shard).map(|(name, stream)| (name.clone(), stream.weight)).collect()
    }

    /// How many tasks of each of a shard's lanes there are.
    pub(super) fn by_lane(&self, shard: usize) -> HashMap<u64, u32> {
        let mut ready = HashMap::new();
        let tasks = self.of(shard).flat_map(|(_, stream)| &stream.tasks);
        tasks.for_each(|queued| *ready.entry(queued.lane).or_default() += 1);
        ready
    }

    fn of(&self, shard: usize) -> impl Iterator<Item = (&StreamName, &Stream)> {
        self.levels.values().flat_map(|level| &level.streams).filter(move |(name, _)| name.shard == shard)
    }
}

impl Level {
    /// How many were taken.
    fn take(
        &mut self,
        most: usize,
        may_begin: &mut impl FnMut(&StreamName, usize) -> usize,
        give: &mut impl FnMut(Queued),
    ) -> usize {
        let (mut taken, mut stuck) = (0, 0);
        while taken < most && stuck < self.turns.len() {
            let Some(name) = self.turns.pop_front() else { break };
            let Some(stream) = self.streams.get_mut(&name) else { continue };
            let share = ((most - taken) / (self.turns.len() + 1)).max(1);
            let count = may_begin(&name, share.min(stream.tasks.len()));
            stuck = if count == 0 { stuck + 1 } else { 0 };
            for queued in stream.tasks.drain(..count) {
                stream.weight -= queued.weight();
                give(queued);
            }
            taken += count;
            match stream.tasks.is_empty() {
                true => drop(self.streams.remove(&name)),
                false => self.turns.push_back(name),
            }
        }
        taken
    }
}

impl Stream {
    fn retain(&mut self, mut stays: impl FnMut(&Queued) -> bool) -> VecDeque<Queued> {
        let (stay, gone): (VecDeque<_>, VecDeque<_>) =
            std::mem::take(&mut self.tasks).into_iter().partition(|queued| stays(queued));
        self.tasks = stay;
        self.weight -= gone.iter().map(Queued::weight).sum::<usize>();
        gone
    }
}
