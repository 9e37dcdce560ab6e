//! Storing a build's tasks on one shard.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::ops::Range;
use std::time::Instant;

use drover_db::{Connection, quote};

use super::BuildOptions;
use super::pace::Pace;
use crate::claims::{self, Claimant};
use crate::error::Doing;
use crate::inserts::{Inserts, Row};
use crate::kinds::Kinds;
use crate::lane;
use crate::place::Places;
use crate::push;
use crate::record::Record;
use crate::rows::or_null;
use crate::schema::{self, BUILDING};
use crate::segments::new_segment;
use crate::shard::Shard;
use crate::{Error, Result, session};

/// So many tasks are stored in one transaction, and about so many bytes of payload.
const BATCH: usize = 500;
const BATCH_BYTES: usize = 4 << 20;
/// So many tasks a lane has: what one shepherd takes at a time.
const LANE: u32 = 8192;
/// So many tasks a segment has: what is dropped at a time.
const SEGMENT: u64 = 1_000_000;

/// Tasks for one shard.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) records: Vec<Record>,
    /// Records before this one, of all shards', are in this batch or in earlier ones.
    pub(super) end: u64,
    bytes: usize,
}

impl Batch {
    pub(super) fn push(&mut self, record: Record) {
        self.bytes += record.payload.as_deref().map_or(0, str::len);
        self.records.push(record);
    }

    pub(super) fn is_full(&self) -> bool {
        self.records.len() >= BATCH || self.bytes >= BATCH_BYTES
    }
}

/// A lane that is not full yet.
struct Open {
    lane: u64,
    tasks: u32,
    first_task: u64,
}

pub(super) struct Writer<'a> {
    shard: &'a Shard,
    options: &'a BuildOptions,
    connection: Connection,
    build: u32,
    /// Records before this one are stored.
    pub(super) position: u64,
    pub(super) tasks: u64,
    pub(super) merged: u64,
    pub(super) is_published: bool,
    /// Where all of the build's tasks go, if that was noted before.
    pub(super) places: Option<Places>,
    is_unique: bool,
    segment: Option<(u32, u64)>,
    lanes: HashMap<(i8, String), Open>,
    lane_ids: Range<u64>,
    task_ids: Range<u64>,
    pub(super) pace: Pace,
}

impl<'a> Writer<'a> {
    /// Enters the build, or finds where it was broken off.
    pub(super) fn open(shard: &'a Shard, options: &'a BuildOptions) -> Result<Self> {
        let mut connection = session::open(shard)?;
        schema::upgrade(&mut connection)?;
        let doing = || shard.doing("entering a build");
        let job = quote::string(&options.job);
        let sql = format!(
            "INSERT IGNORE INTO queue_build (job, kind, state, tasks, merged, source, position, started) \
             VALUES ({job}, {}, 'loading', 0, 0, {}, 0, NOW(3))",
            options.kind,
            quote::string(&options.source.chars().take(512).collect::<String>()),
        );
        session::retried(&mut connection, |connection| connection.execute(&sql).doing(doing))?;
        let sql = format!(
            "SELECT build, kind, state, tasks, merged, position, places FROM queue_build WHERE job = {job}"
        );
        let row = connection.first(sql).doing(doing)?.ok_or_else(|| Error::found(doing()))?;
        let number = |at: usize| row.parse::<u64>(at).unwrap_or(0);
        if number(1) != u64::from(options.kind) || row.string(2) == "cancelled" {
            return Err(Error::with_hint(
                shard.doing(&format!(
                    "build '{}' is one of kind {}, and {}",
                    options.job,
                    number(1),
                    row.string(2)
                )),
                "a new build needs another --job",
            ));
        }
        Ok(Self {
            shard,
            options,
            build: number(0) as u32,
            position: number(5),
            tasks: number(3),
            merged: number(4),
            is_published: row.string(2) == "published",
            places: row.text(6).and_then(|places| serde_json::from_str(&places).ok()),
            is_unique: Kinds::load(&mut connection)?.of(options.kind).is_unique,
            segment: None,
            lanes: HashMap::new(),
            lane_ids: 0..0,
            task_ids: 0..0,
            pace: Pace::new(),
            connection,
        })
    }

    /// Whether its shard takes tasks.
    pub(super) fn takes(&mut self) -> Result<bool> {
        push::takes(&mut self.connection, self.shard)
    }

    /// Has the build not been begun, if no shard takes its tasks.
    pub(super) fn forget(&mut self) -> Result<()> {
        let sql = format!("DELETE FROM queue_build WHERE build = {} AND places IS NULL", self.build);
        self.connection.execute(sql).doing(|| self.shard.doing("entering a build")).map(drop)
    }

    /// Notes where all of the build's tasks go, if that was not noted before.
    pub(super) fn note(&mut self, places: &Places) -> Result<()> {
        if self.places.as_ref() == Some(places) {
            return Ok(());
        }
        let doing = || self.shard.doing("entering a build");
        let text =
            serde_json::to_string(places).map_err(|error| Error::found(format!("{}: {error}", doing())))?;
        let sql = format!(
            "UPDATE queue_build SET places = {} WHERE build = {} AND places IS NULL",
            quote::string(&text),
            self.build
        );
        let noted =
            session::retried(&mut self.connection, |connection| connection.execute(&sql).doing(doing))?;
        if noted.affected == 0 {
            return Err(Error::with_hint(
                format!("{}: somebody else goes on with it, or it was begun with other shards", doing()),
                "let one command at a time build a job, with the shards that it was begun with",
            ));
        }
        Ok(())
    }

    /// Stores a batch; how many tasks it was.
    pub(super) fn store(&mut self, batch: &Batch) -> Result<u64> {
        if batch.end <= self.position || self.is_published {
            return Ok(0);
        }
        session::retried_by(
            self,
            |writer| &mut writer.connection,
            |writer| {
                writer.try_store(batch).inspect_err(|_| writer.lanes.clear()) // some may be in no row
            },
        )
    }

    fn try_store(&mut self, batch: &Batch) -> Result<u64> {
        let segment = self.segment(batch.records.len() as u64)?;
        self.draw(batch.records.len() as u64)?;
        let shard = self.shard;
        let doing = || shard.doing("storing a build's tasks");
        let begun = Instant::now();
        self.connection.execute("START TRANSACTION").doing(doing)?;
        let small = begun.elapsed();
        let records = self.claimed(&batch.records)?;
        let (rows, lanes) = self.write(&records, segment);
        let stored = records.len() as u64;
        let (tasks, merged) = (self.tasks + stored, self.merged + batch.records.len() as u64 - stored);
        let position = format!(
            "UPDATE queue_build SET position = {}, tasks = {tasks}, merged = {merged} WHERE build = {} AND state = 'loading'",
            batch.end, self.build
        );
        let connection = &mut self.connection;
        if connection.execute(position).doing(doing)?.affected == 0 {
            return Err(self.cancelled());
        }
        if !lanes.is_empty() {
            rows.run(connection).doing(doing)?;
            connection
                .execute(format!(
                    "INSERT INTO queue_lane (lane, owner, segment, kind, priority, tenant, tasks, first_task, is_unique) VALUES {lanes} \
                     ON DUPLICATE KEY UPDATE tasks = VALUES(tasks)"
                ))
                .doing(doing)?;
        }
        let begun = Instant::now();
        connection.execute("COMMIT").doing(doing)?;
        self.pace.heard(small + begun.elapsed());
        (self.tasks, self.merged, self.position) = (tasks, merged, batch.end);
        if let Some((_, in_segment)) = &mut self.segment {
            *in_segment += stored;
        }
        Ok(stored)
    }

    /// The records that become tasks. Where each object has one task only, they are those that get their objects' claims, with
    /// their numbers.
    fn claimed<'r>(&mut self, records: &'r [Record]) -> Result<Vec<(Option<u64>, &'r Record)>> {
        if !self.is_unique {
            return Ok(records.iter().map(|record| (None, record)).collect());
        }
        let kind = self.options.kind;
        let numbered: Vec<_> = (&mut self.task_ids).zip(records).collect(); // enough were drawn
        let claimants: Vec<_> = numbered
            .iter()
            .map(|(task, record)| Claimant { kind, object_id: &record.object_id, task: *task })
            .collect();
        let mine = claims::claim(&mut self.connection, &claimants, Some(self.build))?;
        let kept = numbered.into_iter().zip(mine).filter(|(_, is_mine)| *is_mine);
        Ok(kept.map(|((task, record), _)| (Some(task), record)).collect())
    }

    /// The tasks' rows and those of their lanes, as SQL.
    fn write(&mut self, records: &[(Option<u64>, &Record)], segment: u32) -> (Inserts, String) {
        let columns = "lane, seq, task, object_id, payload";
        let (mut rows, mut full) = (Inserts::new(&schema::segment(segment), columns), Vec::new());
        for (task, record) in records {
            let priority = record.priority.unwrap_or(self.options.priority);
            let tenant = record.tenant.as_deref().unwrap_or(&self.options.tenant);
            let line = (priority, tenant.to_owned());
            if self.lanes.get(&line).is_none_or(|lane| lane.tasks >= LANE) {
                let lane = self.new_lane();
                full.extend(self.lanes.insert(line.clone(), lane).map(|lane| (line.clone(), lane)));
            }
            let Some(lane) = self.lanes.get_mut(&line) else { continue }; // it was just put there
            rows.push(&Row::Values(format!(
                "({},{},{},{},{})",
                lane.lane,
                lane.tasks,
                task.map_or_else(|| "NULL".to_owned(), |task| task.to_string()),
                quote::string(&record.object_id),
                or_null(record.payload.as_deref())
            )));
            lane.tasks += 1;
        }
        let mut lanes = String::new();
        for ((priority, tenant), lane) in full.iter().map(|(line, lane)| (line, lane)).chain(&self.lanes) {
            let comma = if lanes.is_empty() { "" } else { "," };
            let _ = write!(
                lanes,
                "{comma}({},{BUILDING},{segment},{},{priority},{},{},{},{})",
                lane.lane,
                self.options.kind,
                quote::string(tenant),
                lane.tasks,
                lane.first_task,
                u8::from(self.is_unique)
            );
        }
        (rows, lanes)
    }

    /// Draws numbers for as many lanes and tasks as a batch may need.
    fn draw(&mut self, tasks: u64) -> Result<()> {
        const LANES: u64 = 1000;
        if self.lane_ids.end - self.lane_ids.start < tasks {
            self.lane_ids = lane::draw(&mut self.connection, LANES + tasks)?;
        }
        let needed = if self.is_unique { tasks } else { tasks * u64::from(LANE) };
        if self.task_ids.end - self.task_ids.start < needed {
            self.task_ids = draw_tasks(&mut self.connection, needed + LANES * u64::from(LANE))?;
        }
        Ok(())
    }

    fn new_lane(&mut self) -> Open {
        let first_task = self.task_ids.start.max(1);
        if !self.is_unique {
            self.task_ids.start += u64::from(LANE);
        }
        Open { lane: self.lane_ids.next().unwrap_or(u64::MAX), tasks: 0, first_task } // enough were drawn
    }

    /// The segment for so many more tasks. A lane lies in one segment.
    fn segment(&mut self, more: u64) -> Result<u32> {
        if let Some((segment, stored)) = self.segment
            && stored + more <= SEGMENT
        {
            return Ok(segment);
        }
        let segment = new_segment(&mut self.connection, Some(self.build))?;
        self.segment = Some((segment, 0));
        self.lanes.clear();
        Ok(segment)
    }

    /// Lets all see the build's tasks, at once.
    pub(super) fn publish(&mut self) -> Result<()> {
        if self.is_published {
            return Ok(());
        }
        let segments = format!("segment IN (SELECT segment FROM queue_segment WHERE build = {})", self.build);
        let steps = [
            "START TRANSACTION".to_owned(),
            format!(
                "UPDATE queue_build SET state = 'published', ended = NOW(3) WHERE build = {} AND state = 'loading'",
                self.build
            ),
            format!(
                "UPDATE queue_lane SET owner = 0, created = NOW(3) WHERE owner = {BUILDING} AND {segments}"
            ),
            format!("UPDATE queue_segment SET is_open = 0 WHERE build = {}", self.build),
            format!(
                "INSERT INTO queue_count (minute, shepherd, kind, taken) VALUES (FLOOR(UNIX_TIMESTAMP() / 60), 0, {0}, {1}) \
                 ON DUPLICATE KEY UPDATE taken = taken + {1}",
                self.options.kind, self.tasks
            ),
            "UPDATE queue_meta SET bell = bell + 1".to_owned(),
            "COMMIT".to_owned(),
        ];
        let shard = self.shard;
        let is_published = session::retried(&mut self.connection, |connection| {
            for (at, sql) in steps.iter().enumerate() {
                let changed = connection.execute(sql).doing(|| shard.doing("publishing a build"))?;
                if at == 1 && changed.affected == 0 {
                    return Ok(false);
                }
            }
            Ok(true)
        })?;
        if !is_published {
            return Err(self.cancelled());
        }
        self.is_published = true;
        Ok(())
    }

    /// Somebody has cancelled it: what was stored since they looked is dropped, too.
    fn cancelled(&mut self) -> Error {
        let _ = self.connection.execute("ROLLBACK");
        match super::drop_stored(&mut self.connection, self.shard, self.build) {
            Ok(_) => Error::found(self.shard.doing(&format!("build '{}' was cancelled", self.options.job))),
            Err(error) => error,
        }
    }
}

/// Draws numbers for tasks.
pub(crate) fn draw_tasks(connection: &mut Connection, count: u64) -> Result<Range<u64>> {
    let doing = || "numbering tasks";
    connection
        .execute(format!("UPDATE queue_meta SET next_task = LAST_INSERT_ID(next_task) + {count}"))
        .doing(doing)?;
    let row = connection.first("SELECT LAST_INSERT_ID()").doing(doing)?;
    let first = row.and_then(|row| row.parse::<u64>(0)).ok_or_else(|| Error::found("queue_meta is empty"))?;
    Ok(first..first + count)
}
