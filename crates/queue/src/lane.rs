//! Lanes: so many tasks of a segment that have kind, priority and tenant in common. A lane has one owner at a time, who reads its
//! tasks in order and notes in its row which are settled; nobody locks or changes a task's own row.

use std::ops::{ControlFlow, Range};

use drover_db::Connection;

use crate::Result;
use crate::desk::{Queued, StreamName};
use crate::error::{Doing, Error};
use crate::progress::Progress;
use crate::rows::{Budget, each, each_asked, list, number};
use crate::schema::{self, INTAKE};
use crate::task::{ObjectId, Task};

/// A lane that this shepherd owns.
#[derive(Debug)]
pub(crate) struct Lane {
    pub(crate) lane: u64,
    pub(crate) segment: u32,
    pub(crate) kind: u16,
    pub(crate) priority: i8,
    pub(crate) tenant: Box<str>,
    pub(crate) tasks: u32,
    /// Whether its tasks hold the claims of their objects.
    pub(crate) is_unique: bool,
    /// Which rows of the segment are its own: those of this lane, from this number on.
    origin: u64,
    first: u32,
    /// The number of its first task, where the tasks have no numbers of their own.
    first_task: u64,
    created_ms: u64,
    pub(crate) progress: Progress,
    /// The first task that was not read, and the one after the last that was asked for.
    next: u32,
    asked: u32,
    budget: Budget,
}

impl Lane {
    /// One that was just made, and of which all tasks are known.
    pub(crate) fn taken(lane: u64, segment: u32, kind: u16, priority: i8, tenant: &str, tasks: u32) -> Self {
        let progress = Progress::new(tasks);
        Self {
            lane,
            segment,
            kind,
            priority,
            tenant: tenant.into(),
            tasks,
            is_unique: false,
            origin: lane,
            first: 0,
            first_task: 0,
            created_ms: 0,
            progress,
            next: tasks,
            asked: tasks,
            budget: Budget::new(),
        }
    }

    /// The line in which its tasks wait.
    pub(crate) fn stream(&self, shard: usize) -> StreamName {
        StreamName { shard, kind: self.kind, priority: self.priority, tenant: self.tenant.clone() }
    }

    /// Whether its tasks came by a build. Others may have taken their claims before it was published.
    pub(crate) fn is_built(&self) -> bool {
        self.first_task > 0
    }

    /// Which rows of the segment are its own: those of this lane, from this number on.
    pub(crate) fn rows(&self) -> (u64, u32) {
        (self.origin, self.first)
    }

    /// Where one of its tasks lies, as SQL.
    pub(crate) fn place(&self, seq: u32) -> String {
        format!(
            "{} WHERE lane = {} AND seq = {}",
            schema::segment(self.segment),
            self.origin,
            self.first + seq
        )
    }

    /// What the number of a row is added to for its task's, where the tasks have no numbers of their own.
    pub(crate) fn first_task(&self) -> u64 {
        self.first_task
    }

    /// When its tasks were made that do not say otherwise, as SQL.
    pub(crate) fn created(&self) -> String {
        format!("FROM_UNIXTIME({}.{:03})", self.created_ms / 1000, self.created_ms % 1000)
    }

    /// Whether all its tasks were read.
    pub(crate) fn is_read(&self) -> bool {
        self.next >= self.tasks
    }

    /// Has tasks read again, from the first one on that is not settled.
    pub(crate) fn rewind(&mut self) {
        self.next = self.progress.settled();
    }

    /// Asks for up to `most` tasks on, or fewer if they are large; [`Lane::read`] takes the answer.
    pub(crate) fn ask(&mut self, connection: &mut Connection, most: usize) -> Result<()> {
        let table = schema::segment(self.segment);
        let most = self.budget.begin(most);
        self.asked = self.tasks.min(self.next.saturating_add(most as u32));
        let sql = format!(
            "SELECT seq, task, object_id, payload, attempts, UNIX_TIMESTAMP(created) FROM {table} \
             WHERE lane = {} AND seq >= {} AND seq < {} ORDER BY seq",
            self.origin,
            self.first + self.next,
            self.first + self.asked,
        );
        connection.ask(sql).doing(|| "reading tasks")
    }

    /// Asks once more for what was asked for, and could not be read.
    pub(crate) fn ask_again(&mut self, connection: &mut Connection) -> Result<()> {
        self.ask(connection, (self.asked - self.next) as usize)
    }

    /// Reads the tasks that were asked for. Nothing about the lane may have changed since.
    pub(crate) fn read(&mut self, connection: &mut Connection, shard: usize) -> Result<Vec<Queued>> {
        let table = schema::segment(self.segment);
        let (from, end) = (self.next, self.asked);
        let mut tasks = Vec::with_capacity((end - from) as usize);
        let mut expected = from;
        let mut flow = ControlFlow::Continue(());
        each_asked::<6>(connection, "reading tasks", |[seq, task, object, payload, attempts, created]| {
            let seq = number::<u32>(seq).wrapping_sub(self.first);
            if seq != expected {
                return Err(gap(&table, self.lane, expected));
            }
            expected += 1;
            flow = self.budget.goes_on(payload);
            if self.progress.is_settled(seq) {
                return Ok(flow);
            }
            tasks.push(Queued {
                shard,
                lane: self.lane,
                seq,
                priority: self.priority,
                created_ms: match created {
                    Some(_) => (number::<f64>(created) * 1000.0).round() as u64,
                    None => self.created_ms,
                },
                task: Task {
                    id: task.map_or(self.first_task + u64::from(self.first + seq), |task| number(Some(task))),
                    lease: 0,
                    kind: self.kind,
                    object_id: ObjectId::parse(object.unwrap_or_default()),
                    payload: payload.map(Into::into),
                    attempt: number::<u16>(attempts).saturating_add(1),
                    tenant: self.tenant.clone(),
                },
            });
            Ok(flow)
        })?;
        if expected != end && flow.is_continue() {
            return Err(gap(&table, self.lane, expected));
        }
        self.next = expected;
        Ok(tasks)
    }

    /// How many of its tasks were not read.
    pub(crate) fn unread(&self) -> u32 {
        self.tasks.saturating_sub(self.next)
    }

    /// Cuts it at a task: those from there on become a lane of their own, which anybody may take. None of them may be given out. If all
    /// of them are settled, it stays whole: a lane of which nothing is left would never come to its end.
    pub(crate) fn cut(&mut self, connection: &mut Connection, shepherd: u32, at: u32) -> Result<()> {
        let doing = || "cutting a lane";
        let (low, high) = self.progress.split(at);
        if high.is_finished() {
            return Ok(());
        }
        let new = draw(connection, 1)?.start;
        let beyond = |progress: &Progress| match progress.beyond() {
            empty if empty.is_empty() => "''".to_owned(),
            beyond => drover_db::quote::hex(&beyond),
        };
        let insert = format!(
            "INSERT INTO queue_lane (lane, owner, segment, kind, priority, tenant, tasks, first_task, origin, first, created, done, settled, \
             is_unique, beyond) SELECT {new}, 0, segment, kind, priority, tenant, {}, first_task, {}, {}, created, {}, {}, is_unique, {} \
             FROM queue_lane WHERE lane = {} AND owner = {shepherd}",
            self.tasks - at,
            self.origin,
            self.first + at,
            high.done(),
            high.settled(),
            beyond(&high),
            self.lane
        );
        let update = format!(
            "UPDATE queue_lane SET tasks = {at}, done = {}, settled = {}, beyond = {} WHERE lane = {} AND owner = {shepherd}",
            low.done(),
            low.settled(),
            beyond(&low),
            self.lane
        );
        connection.execute("START TRANSACTION").doing(doing)?;
        for sql in [insert, update] {
            if connection.execute(sql).doing(doing)?.affected != 1 {
                return Err(Error::found(crate::intake::LOST));
            }
        }
        crate::settings::ring(connection).doing(doing)?;
        connection.execute("COMMIT").doing(doing)?;
        (self.tasks, self.progress, self.next) = (at, low, self.next.min(at));
        Ok(())
    }

    /// Writes what is settled, in the transaction that is open; whether the lane is still this shepherd's.
    pub(crate) fn store(&self, connection: &mut Connection, shepherd: u32) -> Result<bool> {
        let is_mine = format!("WHERE lane = {} AND owner = {shepherd}", self.lane);
        let sql = match self.progress.is_finished() {
            true => format!("DELETE FROM queue_lane {is_mine}"),
            false => {
                let beyond = self.progress.beyond();
                let beyond = if beyond.is_empty() { "''".to_owned() } else { drover_db::quote::hex(&beyond) };
                format!(
                    "UPDATE queue_lane SET done = {}, settled = {}, beyond = {beyond} {is_mine}",
                    self.progress.done(),
                    self.progress.settled(),
                )
            }
        };
        Ok(connection.execute(sql).doing(|| "acknowledging")?.affected == 1)
    }
}

/// The error for a row that is not there.
pub(crate) fn gap(table: &str, lane: u64, expected: u32) -> Error {
    Error::with_hint(
        format!("{table}: task {expected} of lane {lane} is gone"),
        "somebody removed rows from the queue's tables; restore the table, or settle the lane by hand",
    )
}

/// A lane that nobody owns.
#[derive(Debug)]
pub(crate) struct Free {
    pub(crate) lane: u64,
    pub(crate) kind: u16,
    pub(crate) priority: i8,
    pub(crate) tenant: Box<str>,
    /// Tasks that are left of it.
    pub(crate) tasks: u32,
}

/// The lanes that nobody owns, in the order in which they are to be worked off.
pub(crate) fn free(connection: &mut Connection) -> Result<Vec<Free>> {
    let sql = format!(
        "SELECT lane, kind, priority, tenant, tasks - done FROM queue_lane WHERE owner = 0 AND lane > {INTAKE} ORDER BY priority DESC, created, lane"
    );
    let mut lanes = Vec::new();
    each::<5>(connection, &sql, "looking for lanes", |[lane, kind, priority, tenant, tasks]| {
        lanes.push(Free {
            lane: number(lane),
            kind: number(kind),
            priority: number(priority),
            tenant: tenant.unwrap_or_default().into(),
            tasks: number(tasks),
        });
        Ok(())
    })?;
    Ok(lanes)
}

/// Takes lanes that nobody owns; gives those that it got.
pub(crate) fn take(connection: &mut Connection, shepherd: u32, lanes: &[u64]) -> Result<Vec<Lane>> {
    if lanes.is_empty() {
        return Ok(Vec::new());
    }
    let lanes = list(lanes.iter().copied());
    connection
        .execute(format!(
            "UPDATE queue_lane SET owner = {shepherd} WHERE lane IN ({lanes}) AND owner = 0 \
             AND EXISTS (SELECT 1 FROM queue_shepherd WHERE shepherd = {shepherd})"
        ))
        .doing(|| "taking lanes")?;
    let sql = format!(
        "SELECT lane, segment, kind, priority, tenant, tasks, COALESCE(first_task, 0), UNIX_TIMESTAMP(created), settled, HEX(beyond), \
             COALESCE(origin, lane), first, is_unique \
         FROM queue_lane WHERE lane IN ({lanes}) AND owner = {shepherd} ORDER BY priority DESC, created, lane"
    );
    let mut taken = Vec::new();
    each::<13>(connection, &sql, "taking lanes", |fields| {
        taken.push(lane_of(fields)?);
        Ok(())
    })?;
    Ok(taken)
}

/// A lane by its columns, as [`take`] asks for them.
fn lane_of(fields: [Option<&str>; 13]) -> Result<Lane> {
    let [
        lane,
        segment,
        kind,
        priority,
        tenant,
        tasks,
        first,
        created,
        settled,
        beyond,
        origin,
        first_row,
        unique,
    ] = fields;
    let (lane, tasks) = (number(lane), number::<u32>(tasks));
    let progress = unhex(beyond.unwrap_or_default())
        .filter(|_| number::<u32>(first_row).checked_add(tasks).is_some())
        .and_then(|beyond| Progress::decode(tasks, number(settled), &beyond))
        .ok_or_else(|| Error::found(format!("queue_lane: what is settled of lane {lane} makes no sense")))?;
    Ok(Lane {
        lane,
        segment: number(segment),
        kind: number(kind),
        priority: number(priority),
        tenant: tenant.unwrap_or_default().into(),
        tasks,
        is_unique: unique == Some("1"),
        origin: number(origin),
        first: number(first_row),
        first_task: number(first),
        created_ms: (number::<f64>(created) * 1000.0).round() as u64,
        next: progress.settled(),
        asked: 0,
        progress,
        budget: Budget::new(),
    })
}

/// Gives lanes back, so that anybody may take them.
pub(crate) fn release(connection: &mut Connection, shepherd: u32, lanes: &[u64]) -> Result<()> {
    if lanes.is_empty() {
        return Ok(());
    }
    let lanes = list(lanes.iter().copied());
    connection
        .execute(format!("UPDATE queue_lane SET owner = 0 WHERE lane IN ({lanes}) AND owner = {shepherd}"))
        .doing(|| "giving lanes back")?;
    Ok(())
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |at: usize| text.as_bytes().get(at).and_then(|byte| (*byte as char).to_digit(16));
    (0..text.len().div_ceil(2)).map(|at| Some((digit(2 * at)? << 4 | digit(2 * at + 1)?) as u8)).collect()
}

/// Numbers for new lanes, which are drawn many at a time.
#[derive(Debug, Default)]
pub(crate) struct LaneIds(Range<u64>);

impl LaneIds {
    /// Draws more, so that there are enough for one move.
    pub(crate) fn refill(&mut self, connection: &mut Connection) -> Result<()> {
        const FEW: u64 = 5000;
        const MANY: u64 = 20_000;
        if self.0.end - self.0.start >= FEW {
            return Ok(());
        }
        self.0 = draw(connection, MANY)?;
        Ok(())
    }

    /// The next number.
    pub(crate) fn next(&mut self) -> u64 {
        self.0.next().unwrap_or(u64::MAX) // never: a move needs no more than `refill` leaves
    }
}

/// Draws `count` numbers for lanes.
pub(crate) fn draw(connection: &mut Connection, count: u64) -> Result<Range<u64>> {
    connection
        .execute(format!("UPDATE queue_meta SET next_lane = LAST_INSERT_ID(next_lane) + {count}"))
        .doing(|| "numbering lanes")?;
    let row = connection.first("SELECT LAST_INSERT_ID()").doing(|| "numbering lanes")?;
    let first = row.and_then(|row| row.parse::<u64>(0)).ok_or_else(|| Error::found("queue_meta is empty"))?;
    Ok(first..first + count)
}
