//! Acknowledging: what came of many tasks, in one transaction.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::Ordering;
use std::time::Duration;

use drover_db::{Connection, quote};

use crate::Result;
use crate::claims::{self, Claimant};
use crate::clock::Clock;
use crate::desk::{Finished, Queued};
use crate::error::Doing;
use crate::incoming::{insert_later, round_up};
use crate::inserts::{Inserts, Row};
use crate::intake::Books;
use crate::kinds::Kinds;
use crate::lane::Lane;
use crate::task::Outcome;
use crate::totals::Totals;

/// Longer texts of errors are cut.
const LONGEST_ERROR: usize = 2000;

/// What is to be acknowledged.
pub(crate) struct Settling {
    minute: u32,
    /// Lanes of which something is settled.
    lanes: BTreeSet<u64>,
    events: Vec<Event>,
    /// To be given out again.
    returned: Vec<Queued>,
    next_due: Option<Duration>,
    /// Answers for tasks of lanes that were lost before.
    refused: u64,
}

/// What happened to a task.
struct Event {
    lane: u64,
    kind: u16,
    what: What,
    /// The object whose claim ends, if the kind is one of unique tasks, and the task that has it.
    unclaimed: Option<(String, u64)>,
}

enum What {
    Done {
        waited_ms: u64,
        ran: Duration,
    },
    /// With its row; `is_failure` if an attempt went wrong.
    Later {
        row: Row,
        is_failure: bool,
    },
    Dead {
        row: Row,
    },
    /// Another task has its object's claim.
    Merged,
}

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Settled {
    /// Lanes of which something was settled.
    pub(crate) lanes: BTreeSet<u64>,
    /// Lanes that are another shepherd's by now.
    pub(crate) lost: BTreeSet<u64>,
    /// When the first task is due that was put off.
    pub(crate) next_due: Option<Duration>,
    /// To be given out again.
    pub(crate) returned: Vec<Queued>,
    done: u64,
    failed: u64,
    dead: u64,
    /// Answers for tasks of lanes that are another shepherd's by now.
    refused: u64,
}

impl Settled {
    /// Adds it to what the shepherd has done.
    pub(crate) fn count(&self, totals: &Totals) {
        totals.done.fetch_add(self.done, Ordering::Relaxed);
        totals.failed.fetch_add(self.failed, Ordering::Relaxed);
        totals.dead.fetch_add(self.dead, Ordering::Relaxed);
        totals.refused.fetch_add(self.refused, Ordering::Relaxed);
    }
}

impl Settling {
    /// Settles the tasks in their lanes' progress, which [`Settling::commit`] stores.
    pub(crate) fn new(
        finished: Vec<Finished>,
        lanes: &mut HashMap<u64, Lane>,
        kinds: &Kinds,
        clock: Clock,
    ) -> Self {
        let now_ms = clock.millis(std::time::Instant::now());
        let mut settling = Self {
            minute: (now_ms / 60_000) as u32,
            lanes: BTreeSet::new(),
            events: Vec::with_capacity(finished.len()),
            returned: Vec::new(),
            next_due: None,
            refused: 0,
        };
        for finished in finished {
            let Some(lane) = lanes.get_mut(&finished.queued.lane) else {
                settling.refused += u64::from(finished.outcome != Outcome::Returned);
                continue;
            };
            settling.add(finished, lane, kinds, clock, now_ms);
        }
        settling
    }

    /// Settles tasks of which another one has the claim.
    pub(crate) fn merged(tasks: &[Queued], lanes: &mut HashMap<u64, Lane>, clock: Clock) -> Self {
        let mut settling = Self::new(Vec::new(), lanes, &Kinds::default(), clock);
        for task in tasks {
            let Some(lane) = lanes.get_mut(&task.lane) else { continue };
            if lane.progress.settle(task.seq) {
                settling.lanes.insert(task.lane);
                let kind = task.task.kind;
                settling.events.push(Event { lane: task.lane, kind, what: What::Merged, unclaimed: None });
            }
        }
        settling
    }

    fn add(&mut self, finished: Finished, lane: &mut Lane, kinds: &Kinds, clock: Clock, now_ms: u64) {
        let Finished { queued, outcome, ran, begun } = finished;
        let (task, kind) = (&queued.task, kinds.of(queued.task.kind));
        let (what, ends) = match outcome {
            Outcome::Returned => {
                self.returned.push(queued.again());
                return;
            }
            Outcome::Done => {
                let waited_ms = clock.millis(begun).saturating_sub(queued.created_ms);
                (What::Done { waited_ms, ran }, true)
            }
            Outcome::Failed(error) if task.attempt >= kind.max_attempts => {
                (What::Dead { row: dead_row(&queued, &error, lane) }, true)
            }
            Outcome::Failed(_) => {
                let wait = kind.wait(task.attempt, random(task.lease));
                (self.put_off(&queued, lane, task.attempt, wait, now_ms, true), false)
            }
            Outcome::Postponed(millis) => {
                let wait = Duration::from_millis(millis);
                (self.put_off(&queued, lane, task.attempt - 1, wait, now_ms, false), false)
            }
        };
        if !lane.progress.settle(queued.seq) {
            return;
        }
        self.lanes.insert(queued.lane);
        let unclaimed = (ends && lane.is_unique).then(|| (task.object_id.to_string(), task.id));
        self.events.push(Event { lane: queued.lane, kind: task.kind, what, unclaimed });
    }

    fn put_off(
        &mut self,
        queued: &Queued,
        lane: &Lane,
        attempts: u16,
        wait: Duration,
        now_ms: u64,
        is_failure: bool,
    ) -> What {
        self.next_due = Some(self.next_due.map_or(wait, |next| next.min(wait)));
        let due = round_up(now_ms + wait.as_millis() as u64);
        let task = &queued.task;
        let before = format!("{due},{},{},{}", task.id, task.kind, object(queued));
        let tenant = quote::string(&task.tenant);
        let after = format!("{},{tenant},{attempts},{},1", queued.priority, created(queued));
        let row = Row::new(&before, task.payload.as_deref(), &after, || lane.place(queued.seq));
        What::Later { row, is_failure }
    }

    /// Stores it all, or nothing.
    pub(crate) fn commit(
        &self,
        connection: &mut Connection,
        books: &mut Books,
        lanes: &HashMap<u64, Lane>,
        is_intake: bool,
    ) -> Result<Settled> {
        let mut lost = BTreeSet::new();
        loop {
            let before = books.counts.clone();
            match self.try_commit(connection, books, lanes, is_intake, &lost) {
                Ok(None) => {
                    let lanes = self.lanes.difference(&lost).copied().collect();
                    let returned = self.returned.iter().map(Queued::again).collect();
                    return Ok(self.settled(lanes, lost, returned));
                }
                Ok(Some(lane)) => {
                    books.counts = before;
                    lost.insert(lane);
                    connection.execute("ROLLBACK").doing(|| "acknowledging")?;
                }
                Err(error) => {
                    books.counts = before;
                    return Err(error);
                }
            }
        }
    }

    fn settled(&self, lanes: BTreeSet<u64>, lost: BTreeSet<u64>, returned: Vec<Queued>) -> Settled {
        let (next_due, refused) = (self.next_due, self.refused);
        let mut settled = Settled { lanes, lost, next_due, returned, refused, ..Settled::default() };
        for event in &self.events {
            if settled.lost.contains(&event.lane) {
                settled.refused += u64::from(!matches!(event.what, What::Merged));
                continue;
            }
            match event.what {
                What::Done { .. } => settled.done += 1,
                What::Later { is_failure, .. } => settled.failed += u64::from(is_failure),
                What::Merged => {}
                What::Dead { .. } => (settled.failed, settled.dead) = (settled.failed + 1, settled.dead + 1),
            }
        }
        settled
    }

    /// Gives a lane that turns out to be lost.
    fn try_commit(
        &self,
        connection: &mut Connection,
        books: &mut Books,
        lanes: &HashMap<u64, Lane>,
        is_intake: bool,
        lost: &BTreeSet<u64>,
    ) -> Result<Option<u64>> {
        connection.execute("START TRANSACTION").doing(|| "acknowledging")?;
        for number in self.lanes.difference(lost) {
            let Some(lane) = lanes.get(number) else { continue };
            if !lane.store(connection, books.shepherd)? {
                return Ok(Some(*number));
            }
        }
        let columns = "task, kind, object_id, payload, priority, tenant, attempts, created, error";
        let (mut later, mut dead) = (Vec::new(), Inserts::new("queue_dead", columns));
        let mut unclaimed = Vec::new();
        for event in self.events.iter().filter(|event| !lost.contains(&event.lane)) {
            let count = books.counts.of(self.minute, event.kind);
            match &event.what {
                What::Done { waited_ms, ran } => count.done(*waited_ms, *ran),
                What::Later { row, is_failure } => {
                    count.failed += i64::from(*is_failure);
                    count.later += 1;
                    later.push(row);
                }
                What::Dead { row } => {
                    count.failed += 1;
                    count.died += 1;
                    dead.push(row);
                }
                What::Merged => count.merged += 1,
            }
            if let Some((object_id, task)) = &event.unclaimed {
                unclaimed.push(Claimant { kind: event.kind, object_id, task: *task });
            }
        }
        let is_later = !later.is_empty();
        insert_later(connection, later)?;
        dead.run(connection).doing(|| "burying tasks")?;
        claims::release(connection, unclaimed.into_iter())?;
        books.counts.store(connection, books.shepherd)?;
        if is_later && !is_intake {
            connection.execute("UPDATE queue_meta SET bell = bell + 1").doing(|| "ringing")?;
        }
        connection.execute("COMMIT").doing(|| "acknowledging")?;
        Ok(None)
    }
}

fn created(queued: &Queued) -> String {
    format!("FROM_UNIXTIME({}.{:03})", queued.created_ms / 1000, queued.created_ms % 1000)
}

fn object(queued: &Queued) -> String {
    quote::string(&queued.task.object_id.to_string())
}

fn dead_row(queued: &Queued, error: &str, lane: &Lane) -> Row {
    let task = &queued.task;
    let short: String = error.chars().take(LONGEST_ERROR).collect();
    let before = format!("{},{},{}", task.id, task.kind, object(queued));
    let after = format!(
        "{},{},{},{},{}",
        queued.priority,
        quote::string(&task.tenant),
        task.attempt,
        created(queued),
        quote::string(&short),
    );
    Row::new(&before, task.payload.as_deref(), &after, || lane.place(queued.seq))
}

/// A number from 0 to 1 that looks like chance.
fn random(seed: u64) -> f64 {
    let mixed = xxhash_rust::xxh3::xxh3_64_with_seed(&seed.to_le_bytes(), u64::from(std::process::id()));
    (mixed >> 11) as f64 / (1u64 << 53) as f64
}
