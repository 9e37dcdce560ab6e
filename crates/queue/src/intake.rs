//! The way in: tasks that anybody inserted, and later ones whose time has come, are moved into segments, where they are worked off.
//!
//! Rows of the inbox are removed in the transaction that moves them. So whatever is still in it was not moved, however late its
//! transaction committed and whatever its number is: reading on from the last number is only the fast way, and looking back some
//! seconds, and now and then at all of it, finds the rest.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use drover_db::{Connection, quote};

use crate::claims;
use crate::counts::Counts;
use crate::desk::Queued;
use crate::error::Doing;
use crate::incoming::{Incoming, MOST, Source, give_numbers, read_inbox, read_later, write_later};
use crate::inserts::Inserts;
use crate::kinds::Kinds;
use crate::lane::{Lane, LaneIds};
use crate::progress::MOST_TASKS;
use crate::rows::{Budget, comma};
use crate::schema::{self, INTAKE};
use crate::segments::new_segment;
use crate::{Error, Result};

/// A segment that takes tasks in is closed after so many, or after so long: it can be dropped from then on.
const SEGMENT_TASKS: u64 = 500_000;
const SEGMENT_LASTS: Duration = Duration::from_secs(3600);
/// A transaction that takes longer than this to commit is found by looking at all of the inbox.
const LOOK_BACK: Duration = Duration::from_secs(3);
/// How often is looked back so far.
const LOOK_BACK_EVERY: Duration = Duration::from_millis(500);
/// How often is looked at all of the inbox, at most; and so many times as long as that takes at least.
const SWEEP_EVERY: Duration = Duration::from_secs(5);
const SWEEP_SHARE: u32 = 50;
/// For so long rows that are locked are left out, after one was.
const CAREFUL_FOR: Duration = Duration::from_secs(60);

/// What a shepherd knows of a shard whatever it does there.
#[derive(Debug)]
pub(crate) struct Books {
    /// Its number.
    pub(crate) shepherd: u32,
    pub(crate) kinds: Kinds,
    pub(crate) counts: Counts,
}

/// What was moved.
#[derive(Debug, Default)]
pub(crate) struct Moved {
    /// Lanes that the mover owns.
    pub(crate) lanes: Vec<Lane>,
    /// Their tasks.
    pub(crate) tasks: Vec<Queued>,
    /// How many were read; fewer than could be, and there are no more.
    pub(crate) read: usize,
    /// How many of these somebody else has locked.
    pub(crate) locked: usize,
}

/// Where the reading of the inbox is.
#[derive(Debug)]
pub(crate) struct Intake {
    shard: usize,
    ids: LaneIds,
    /// The highest number that was read.
    pub(crate) last: u64,
    /// What `last` was when.
    marks: VecDeque<(Instant, u64)>,
    looked_back: Instant,
    swept: Instant,
    sweep_every: Duration,
    /// When the first later task is due, as far as is known, in milliseconds since 1970.
    later_from: u64,
    later_swept: Instant,
    budget: Budget,
    /// Until then rows are left that somebody has locked, instead of waiting for them.
    careful_until: Option<Instant>,
    segment: Option<Open>,
    /// Whether it was looked for a segment that another shepherd left open.
    has_looked: bool,
}

/// The segment that takes tasks in.
#[derive(Debug, Clone, Copy)]
struct Open {
    segment: u32,
    /// How many it took from this shepherd, and since when.
    rows: u64,
    since: Instant,
}

impl Intake {
    pub(crate) fn new(shard: usize) -> Self {
        let now = Instant::now();
        Self {
            shard,
            ids: LaneIds::default(),
            last: 0,
            marks: VecDeque::new(),
            looked_back: now,
            swept: now,
            sweep_every: SWEEP_EVERY,
            later_from: 0,
            later_swept: now,
            segment: None,
            budget: Budget::new(),
            careful_until: None,
            has_looked: false,
        }
    }

    /// When there is something to look after without being rung.
    pub(crate) fn next_look(&self) -> Instant {
        let look_back = self.looked_back + LOOK_BACK_EVERY;
        let has_young = self.marks.iter().any(|(_, mark)| *mark < self.last);
        let sweep = self.swept + self.sweep_every;
        if has_young { look_back.min(sweep) } else { sweep }
    }

    /// Moves what has come into the inbox; looks back where it is time for that.
    pub(crate) fn inbox(&mut self, connection: &mut Connection, books: &mut Books) -> Result<Moved> {
        let now = Instant::now();
        let is_sweep = now >= self.swept + self.sweep_every;
        let looks_back = now >= self.looked_back + LOOK_BACK_EVERY;
        let from = if is_sweep {
            0
        } else if looks_back {
            self.last_long_ago(now)
        } else {
            self.last
        };
        let (mut incoming, has_more) = read_inbox(connection, from, &mut self.budget)?;
        if is_sweep {
            self.swept = Instant::now();
            self.sweep_every = SWEEP_EVERY.max((self.swept - now) * SWEEP_SHARE);
        }
        if looks_back || is_sweep {
            self.looked_back = now;
        }
        let read = incoming.len();
        let last = incoming.last().map_or(self.last, |last| self.last.max(last.row));
        let moved = self.move_in(connection, &mut incoming, Source::Inbox, last, books)?;
        if read > 0 {
            self.last = last;
            self.marks.push_back((now, last));
        }
        if has_more && (looks_back || is_sweep) {
            (self.swept, self.looked_back) = (now, now); // what lies behind these is read next, from `last` on
        }
        Ok(Moved { read, ..moved })
    }

    /// What the highest number was some seconds ago.
    fn last_long_ago(&mut self, now: Instant) -> u64 {
        while let [(_, _), (second, _), ..] = self.marks.make_contiguous()
            && *second + LOOK_BACK <= now
        {
            self.marks.pop_front();
        }
        match self.marks.front() {
            Some((at, mark)) if *at + LOOK_BACK <= now => *mark,
            Some(_) => 0,
            None => self.last,
        }
    }

    /// Moves later tasks whose time has come; also gives when the next one is due, if one is.
    pub(crate) fn later(
        &mut self,
        connection: &mut Connection,
        books: &mut Books,
    ) -> Result<(Moved, Option<Duration>)> {
        let now = Instant::now();
        if now >= self.later_swept + SWEEP_EVERY {
            (self.later_from, self.later_swept) = (0, now);
        }
        let (mut incoming, _) = read_later(connection, self.later_from, &mut self.budget)?;
        let read = incoming.len();
        let moved = self.move_in(connection, &mut incoming, Source::Later, self.last, books)?;
        if let Some(last) = incoming.last() {
            self.later_from = last.due_ms;
        }
        let next = connection
            .first(format!(
                "SELECT CAST(due_ms AS SIGNED) - CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED) FROM queue_later \
                 WHERE due_ms >= {} ORDER BY due_ms LIMIT 1",
                self.later_from
            ))
            .doing(|| "reading queue_later")?
            .and_then(|row| row.parse::<f64>(0))
            .map(|millis| Duration::from_millis(millis.max(0.0) as u64));
        Ok((Moved { read, ..moved }, next))
    }

    /// `last` is the highest number of the inbox that will have been read.
    fn move_in(
        &mut self,
        connection: &mut Connection,
        incoming: &mut [Incoming],
        source: Source,
        last: u64,
        books: &mut Books,
    ) -> Result<Moved> {
        if incoming.is_empty() {
            return Ok(Moved::default());
        }
        let segment = self.open_segment(connection, incoming.len() as u64)?;
        self.ids.refill(connection)?;
        let before = books.counts.clone();
        let moved =
            self.move_at_once(connection, incoming, source, last, segment, books).inspect_err(|error| {
                books.counts = before;
                if error.is_passing() {
                    self.careful_until = Some(Instant::now() + CAREFUL_FOR);
                }
            })?;
        if let Some(open) = &mut self.segment {
            open.rows += moved.tasks.len() as u64;
        }
        Ok(moved)
    }

    /// All of it in one transaction, which holds the intake's row: nobody else moves tasks meanwhile.
    fn move_at_once(
        &mut self,
        connection: &mut Connection,
        incoming: &mut [Incoming],
        source: Source,
        last: u64,
        segment: u32,
        books: &mut Books,
    ) -> Result<Moved> {
        let doing = || "moving tasks in";
        connection.execute("START TRANSACTION").doing(doing)?;
        let Held { now_ms, given } = hold(connection, books.shepherd)?;
        let given = if source == Source::Inbox { give_numbers(incoming, given) } else { given };
        let incoming = &*incoming;
        let read = incoming.len();
        let is_careful = self.careful_until.is_some_and(|until| Instant::now() < until);
        let free = if is_careful { source.free(connection, incoming)? } else { None };
        let free = free.map(|free| incoming.iter().filter(|task| free.contains(&task.row)).collect());
        let incoming: Vec<&Incoming> = free.unwrap_or_else(|| incoming.iter().collect());
        let mine = claim(connection, &incoming, source, &books.kinds)?;
        let (mut ready, mut later) = (Vec::new(), Vec::new());
        for (task, is_mine) in incoming.iter().copied().zip(mine) {
            let count = books.counts.of((now_ms / 60_000) as u32, task.kind);
            match source {
                Source::Inbox => count.taken += 1,
                Source::Later => count.later -= 1,
            }
            if !is_mine {
                count.merged += 1;
            } else if source == Source::Inbox && task.due_ms > 0 {
                count.later += 1;
                later.push(task);
            } else {
                ready.push(task);
            }
        }
        let moved = self.write_lanes(connection, &ready, source, segment, books)?;
        write_later(connection, &later)?;
        if source.remove(connection, &incoming)? != incoming.len() as u64 {
            return Err(Error::found("somebody else removed tasks from the queue's tables meanwhile"));
        }
        if source == Source::Inbox {
            connection
                .execute(format!(
                    "UPDATE queue_lane SET first_task = {last}, origin = {given} WHERE lane = {INTAKE}"
                ))
                .doing(doing)?;
        }
        books.counts.store(connection, books.shepherd)?;
        connection.execute("COMMIT").doing(doing)?;
        Ok(Moved { locked: read - incoming.len(), ..moved })
    }

    /// Writes tasks into the open segment, a lane for each line of them.
    fn write_lanes(
        &mut self,
        connection: &mut Connection,
        ready: &[&Incoming],
        source: Source,
        segment: u32,
        books: &Books,
    ) -> Result<Moved> {
        let shepherd = books.shepherd;
        let mut lines: BTreeMap<(u16, i8, &str), Vec<&Incoming>> = BTreeMap::new();
        for task in ready {
            lines.entry((task.kind, task.priority, &task.tenant)).or_default().push(task);
        }
        let mut moved = Moved::default();
        let columns = "lane, seq, task, kind, object_id, payload, attempts, created";
        let mut rows = Inserts::new(&schema::segment(segment), columns);
        let mut lanes = String::new();
        for ((kind, priority, tenant), tasks) in lines {
            debug_assert!(tasks.len() <= MOST_TASKS as usize && MOST <= MOST_TASKS as usize);
            let (lane, is_unique) = (self.ids.next(), books.kinds.of(kind).is_unique);
            let first = tasks.iter().map(|task| &*task.created).min().unwrap_or_default();
            let _ = write!(
                lanes,
                "{}({lane},{shepherd},{segment},{kind},{priority},{},{},{},{})",
                comma(&lanes),
                quote::string(tenant),
                tasks.len(),
                quote::string(first),
                u8::from(is_unique),
            );
            for (seq, task) in tasks.iter().enumerate() {
                rows.push(&task.in_segment(lane, seq, source));
                moved.tasks.push(task.queued(self.shard, lane, seq as u32));
            }
            let mut made = Lane::taken(lane, segment, kind, priority, tenant, tasks.len() as u32);
            made.is_unique = is_unique;
            moved.lanes.push(made);
        }
        if !lanes.is_empty() {
            let written = rows.run(connection).doing(|| "moving tasks in")?;
            if written != ready.len() as u64 {
                return Err(Error::found("somebody else removed tasks from the queue's tables meanwhile"));
            }
            connection
                .execute(format!(
                    "INSERT INTO queue_lane (lane, owner, segment, kind, priority, tenant, tasks, created, is_unique) VALUES {lanes}"
                ))
                .doing(|| "moving tasks in")?;
        }
        Ok(moved)
    }

    /// The segment that takes tasks in: one that is open, or a new one.
    fn open_segment(&mut self, connection: &mut Connection, more: u64) -> Result<u32> {
        if let Some(open) = self.segment {
            if open.rows + more <= SEGMENT_TASKS {
                return Ok(open.segment);
            }
            self.close_segment(connection)?;
        }
        let segment = match open_segment(connection)? {
            Some(segment) => segment,
            None => new_segment(connection, None)?,
        };
        self.segment = Some(Open { segment, rows: 0, since: Instant::now() });
        Ok(segment)
    }

    /// Closes the segment if it is old: a finished task is kept for `keep` at least, and not much longer. Whether it did.
    pub(crate) fn close_old(&mut self, connection: &mut Connection, keep: Duration) -> Result<bool> {
        let lasts = match keep.is_zero() {
            true => SEGMENT_LASTS,
            false => (keep / 4).clamp(Duration::from_secs(1), SEGMENT_LASTS),
        };
        if !std::mem::replace(&mut self.has_looked, true) && self.segment.is_none() {
            // One of a shepherd before this one may have rows.
            let segment = open_segment(connection)?;
            self.segment = segment.map(|segment| Open { segment, rows: 1, since: Instant::now() });
        }
        match self.segment {
            Some(open) if open.rows > 0 && open.since.elapsed() >= lasts => {
                self.close_segment(connection)?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    fn close_segment(&mut self, connection: &mut Connection) -> Result<()> {
        let Some(Open { segment, .. }) = self.segment else { return Ok(()) };
        connection
            .execute(format!("UPDATE queue_segment SET is_open = 0 WHERE segment = {segment}"))
            .doing(|| "closing a segment")?;
        self.segment = None;
        Ok(())
    }
}

/// The segment that is open, if one is.
fn open_segment(connection: &mut Connection) -> Result<Option<u32>> {
    let sql =
        "SELECT segment FROM queue_segment WHERE is_open = 1 AND build IS NULL ORDER BY segment DESC LIMIT 1";
    let row = connection.first(sql).doing(|| "looking for a segment")?;
    Ok(row.and_then(|row| row.parse(0)))
}

/// What is said when another shepherd has taken over.
pub(crate) const LOST: &str = "another shepherd has taken over";

/// Makes sure that no other shepherd moves tasks before the transaction ends; gives the server's time, in milliseconds since 1970.
pub(crate) fn hold_intake(connection: &mut Connection, shepherd: u32) -> Result<u64> {
    Ok(hold(connection, shepherd)?.now_ms)
}

/// What is known to who holds the intake.
struct Held {
    /// The server's time, in milliseconds since 1970.
    now_ms: u64,
    /// The highest number that a task of the inbox was given.
    given: u64,
}

fn hold(connection: &mut Connection, shepherd: u32) -> Result<Held> {
    let sql = format!(
        "SELECT owner, UNIX_TIMESTAMP(NOW(3)), COALESCE(origin, first_task, 0) FROM queue_lane WHERE lane = {INTAKE} FOR UPDATE"
    );
    let row = connection.first(sql).doing(|| "moving tasks in")?;
    match row.as_ref().and_then(|row| row.parse::<u32>(0)) {
        Some(owner) if owner == shepherd => {
            let seconds = row.as_ref().and_then(|row| row.parse::<f64>(1)).unwrap_or_default();
            let given = row.and_then(|row| row.parse(2)).unwrap_or_default();
            Ok(Held { now_ms: (seconds * 1000.0) as u64, given })
        }
        _ => Err(Error::found(LOST)),
    }
}

/// For each task, whether it may run: of an object's unfinished ones only one, where the kind asks for that.
fn claim(
    connection: &mut Connection,
    incoming: &[&Incoming],
    source: Source,
    kinds: &Kinds,
) -> Result<Vec<bool>> {
    let (unique, other): (Vec<&Incoming>, Vec<_>) =
        incoming.iter().copied().partition(|task| kinds.of(task.kind).is_unique);
    if source == Source::Later {
        // They may have claims of when the rule was another one.
        claims::release(connection, other.into_iter().map(Incoming::claimant))?;
    }
    let claimants: Vec<_> = unique.into_iter().map(Incoming::claimant).collect();
    let mut mine = claims::claim(connection, &claimants, None)?.into_iter();
    Ok(incoming.iter().map(|task| !kinds.of(task.kind).is_unique || mine.next() == Some(true)).collect())
}
