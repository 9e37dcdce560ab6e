//! The source of a move: tasks are taken out of its tables and packed into batches, each for one shard.

use std::collections::{BTreeMap, VecDeque};

use drover_db::{Connection, quote};

use crate::claims::{self, Claimant};
use crate::counts;
use crate::error::Doing;
use crate::intake::hold_intake;
use crate::kinds::Kinds;
use crate::lane::{self, Lane, gap};
use crate::lapse::Lapses;
use crate::place::Placement;
use crate::rows::{each, list, number};
use crate::schema::{BUILDING, INTAKE};
use crate::shard::Shard;
use crate::{Error, Result, exact, lease, schema, segments, session};

/// A batch has at most so many tasks, and about so many bytes of payloads.
const MOST: usize = 2000;
const MOST_BYTES: u64 = 4 << 20;
/// So many lanes are taken at once.
const LANES_AT_ONCE: usize = 64;

/// Tasks of the source that are on their way to one target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Batch {
    pub(super) name: String,
    /// The identity of the shard that they go to.
    pub(super) target: String,
}

/// A task on its way, as SQL may hold it.
#[derive(Debug, Clone)]
pub(super) struct Task {
    pub(super) kind: u16,
    pub(super) object_id: String,
    pub(super) payload: Option<String>,
    pub(super) priority: i8,
    pub(super) tenant: String,
    pub(super) attempts: u16,
    pub(super) created: String,
    /// If it waits for a time.
    pub(super) due_ms: Option<u64>,
    pub(super) is_back: bool,
    /// If it failed for the last time: when, and why.
    pub(super) died: Option<(String, String)>,
}

/// A row that is to be packed.
#[derive(Debug)]
struct Pick {
    /// Its key in its table.
    key: u64,
    task: u64,
    kind: u16,
    object_id: String,
    tenant: String,
}

impl Pick {
    fn claimant(&self) -> Claimant<'_> {
        Claimant { kind: self.kind, object_id: &self.object_id, task: self.task }
    }
}

pub(super) struct Source<'a> {
    pub(super) connection: Connection,
    pub(super) shard: &'a Shard,
    /// The mover's number there.
    pub(super) shepherd: u32,
    lapses: Lapses,
    has_intake: bool,
    /// Lanes that it has taken.
    lanes: VecDeque<Lane>,
    /// Tasks of which another one had the object's claim.
    pub(super) merged: u64,
    kinds: Kinds,
    placement: Placement,
    /// The identities of the shards.
    ids: Vec<Option<String>>,
    /// What the names of its batches begin with: no other move's do.
    run: String,
    packed: u64,
}

/// What differs between the tables that tasks are packed from.
struct Origin {
    table: String,
    key: &'static str,
    /// What else its rows have to be.
    condition: String,
    /// `kind` and all that follow it in `queue_transit`.
    columns: String,
    /// Whether rows leave their table. Those of segments are settled in their lane instead.
    is_emptied: bool,
}

impl<'a> Source<'a> {
    pub(super) fn new(
        mut connection: Connection,
        shard: &'a Shard,
        shepherd: u32,
        placement: Placement,
        ids: Vec<Option<String>>,
    ) -> Result<Self> {
        let row = connection.first("SELECT UUID()").doing(|| "numbering the move")?;
        let kinds = Kinds::load(&mut connection)?;
        Ok(Self {
            connection,
            shard,
            shepherd,
            lapses: Lapses::default(),
            has_intake: false,
            lanes: VecDeque::new(),
            merged: 0,
            kinds,
            placement,
            ids,
            run: row.map(|row| row.string(0)).unwrap_or_default(),
            packed: 0,
        })
    }

    /// Renews the mover's lease, and reads the rules anew.
    pub(super) fn renew(&mut self) -> Result<()> {
        if !lease::renew(&mut self.connection, self.shepherd, 0, super::LEASE)? {
            return Err(super::taken_over());
        }
        lease::bury(&mut self.connection, self.shepherd, &mut self.lapses)?;
        self.kinds = Kinds::load(&mut self.connection)?;
        Ok(())
    }

    /// Takes the inbox and the later tasks if it can; whether it has them.
    pub(super) fn take_intake(&mut self) -> Result<bool> {
        self.has_intake = self.has_intake || lease::take_intake(&mut self.connection, self.shepherd)?;
        Ok(self.has_intake)
    }

    /// Takes lanes that nobody owns.
    fn take_lanes(&mut self) -> Result<()> {
        let free = lane::free(&mut self.connection)?;
        let free: Vec<u64> = free.into_iter().take(LANES_AT_ONCE).map(|free| free.lane).collect();
        self.lanes = lane::take(&mut self.connection, self.shepherd, &free)?.into();
        Ok(())
    }

    /// How many tasks others have, if anything is left but what builds are loading. As long as nobody else has a lane, no task comes
    /// back from there.
    pub(super) fn left(&mut self) -> Result<Option<u64>> {
        let doing = || "looking whether the shard is empty";
        let sql = format!(
            "SELECT COALESCE(SUM(tasks - done), 0), COUNT(*) FROM queue_lane \
             WHERE lane > {INTAKE} AND owner NOT IN ({}, {BUILDING})",
            self.shepherd
        );
        let row = self.connection.first(sql).doing(doing)?;
        let number = |at: usize| row.as_ref().and_then(|row| row.parse::<u64>(at)).unwrap_or(1);
        if number(1) > 0 || !self.has_intake {
            return Ok(Some(number(0)));
        }
        let sql = "SELECT EXISTS (SELECT 1 FROM queue_inbox) + EXISTS (SELECT 1 FROM queue_later) \
                   + EXISTS (SELECT 1 FROM queue_dead) + EXISTS (SELECT 1 FROM queue_transit)";
        let some = self.connection.first(sql).doing(doing)?.and_then(|row| row.parse::<u32>(0));
        Ok(Some(0).filter(|_| some != Some(0)))
    }

    /// Packs tasks of a lane; `None` if there is none that nobody else has.
    pub(super) fn pack_lane(&mut self) -> Result<Option<Vec<Batch>>> {
        if self.lanes.is_empty() {
            self.retried(Self::take_lanes)?;
        }
        let Some(mut lane) = self.lanes.pop_front() else { return Ok(None) };
        let (mut picks, table) = (self.retried(|source| source.peek(&lane))?, schema::segment(lane.segment));
        if picks.is_empty() {
            return Err(gap(&table, lane.lane, lane.progress.settled()));
        }
        let (origin, first) = lane.rows();
        for pick in &picks {
            lane.progress.settle(pick.key as u32 - first); // it was picked from there on
        }
        let before = picks.len();
        if lane.is_unique && lane.is_built() {
            let claimants: Vec<_> = picks.iter().map(Pick::claimant).collect();
            let held = self.retried(|source| claims::held(&mut source.connection, &claimants))?;
            let mut held = held.into_iter();
            picks.retain(|_| held.next() == Some(true));
        }
        let merged = before - picks.len();
        let created = lane.created();
        let origin = Origin {
            table,
            key: "seq",
            condition: format!("lane = {origin}"),
            columns: format!(
                "{}, object_id, payload, {}, {}, attempts, COALESCE(created, {created}), NULL, 1, NULL, NULL",
                lane.kind,
                lane.priority,
                quote::string(&lane.tenant)
            ),
            is_emptied: false,
        };
        let batches = self.transact(|source| {
            if !lane.store(&mut source.connection, source.shepherd)? {
                return Err(super::taken_over());
            }
            source.count(lane.kind, "merged", merged as i64)?;
            if lane.is_unique {
                claims::release(&mut source.connection, picks.iter().map(Pick::claimant))?;
            }
            source.pack(&origin, &picks)
        })?;
        self.merged += merged as u64;
        if !lane.progress.is_finished() {
            self.lanes.push_front(lane);
        }
        Ok(Some(batches))
    }

    /// The next tasks of a lane that are not settled.
    fn peek(&mut self, lane: &Lane) -> Result<Vec<Pick>> {
        let (origin, first) = lane.rows();
        let sql = format!(
            "SELECT seq, COALESCE(task, {} + seq), {}, object_id, {}, COALESCE(LENGTH(payload), 0) FROM {} \
             WHERE lane = {origin} AND seq >= {} AND seq < {} ORDER BY seq LIMIT {MOST}",
            lane.first_task(),
            lane.kind,
            quote::string(&lane.tenant),
            schema::segment(lane.segment),
            first + lane.progress.settled(),
            first + lane.tasks,
        );
        self.picks(&sql, |seq| !lane.progress.is_settled(seq as u32 - first))
    }

    /// Packs what is in the inbox, which this mover owns; `None` if nothing is.
    pub(super) fn pack_inbox(&mut self) -> Result<Option<Vec<Batch>>> {
        // A number for the claims that no task has: the one of a row may be another task's by now.
        let sql = format!(
            "SELECT id, id + (1 << 63), kind, object_id, tenant, COALESCE(LENGTH(payload), 0) FROM queue_inbox ORDER BY id LIMIT {MOST}"
        );
        let columns = "kind, object_id, payload, priority, tenant, 0, created, \
                       IF(not_before > NOW(3), 100 * CEIL(UNIX_TIMESTAMP(not_before) * 10), NULL), 0, NULL, NULL";
        let picks = self.retried(|source| source.picks(&sql, |_| true))?;
        if picks.is_empty() {
            return Ok(None);
        }
        let origin = Origin {
            table: "queue_inbox".into(),
            key: "id",
            condition: "TRUE".into(),
            columns: columns.into(),
            is_emptied: true,
        };
        let (batches, merged) = self.transact(|source| {
            hold_intake(&mut source.connection, source.shepherd)?;
            let (mine, merged) = source.claim(&picks)?;
            for (kind, count) in by_kind(&picks) {
                source.count(kind, "taken", count)?;
            }
            for (kind, count) in by_kind(merged.iter().copied()) {
                source.count(kind, "merged", count)?;
            }
            source.remove_rows(&origin, &merged)?;
            Ok((source.pack(&origin, mine)?, merged.len() as u64))
        })?;
        self.merged += merged;
        Ok(Some(batches))
    }

    /// Which tasks of the inbox are the first ones of their objects, and which are left out. The claims are the target's to make.
    fn claim<'p>(&mut self, picks: &'p [Pick]) -> Result<(Vec<&'p Pick>, Vec<&'p Pick>)> {
        let unique: Vec<_> = picks.iter().filter(|pick| self.kinds.of(pick.kind).is_unique).collect();
        let claimants: Vec<_> = unique.iter().map(|pick| pick.claimant()).collect();
        let mut mine = claims::claim(&mut self.connection, &claimants, None)?.into_iter();
        let kinds = &self.kinds;
        let (mine, merged) =
            picks.iter().partition(|pick| !kinds.of(pick.kind).is_unique || mine.next() == Some(true));
        claims::release(&mut self.connection, claimants.into_iter())?;
        Ok((mine, merged))
    }

    /// Packs tasks that wait for a time; `None` if none do.
    pub(super) fn pack_later(&mut self) -> Result<Option<Vec<Batch>>> {
        let sql = format!(
            "SELECT MIN(due_ms), MAX(due_ms) FROM (SELECT due_ms FROM queue_later ORDER BY due_ms, task LIMIT {MOST}) AS first"
        );
        let dues = self.retried(|source| source.connection.query(&sql).doing(|| "reading queue_later"))?;
        let Some(Some(from)) = dues.first().map(|row| row.parse::<u64>(0)) else { return Ok(None) };
        let to = dues.first().and_then(|row| row.parse::<u64>(1)).unwrap_or(from);
        let condition = format!("due_ms BETWEEN {from} AND {to}");
        let sql = format!(
            "SELECT task, task, kind, object_id, tenant, COALESCE(LENGTH(payload), 0) FROM queue_later WHERE {condition} \
             ORDER BY due_ms, task LIMIT {MOST}"
        );
        let picks = self.retried(|source| source.picks(&sql, |_| true))?;
        let origin = Origin {
            table: "queue_later".into(),
            key: "task",
            condition,
            columns:
                "kind, object_id, payload, priority, tenant, attempts, created, due_ms, is_back, NULL, NULL"
                    .into(),
            is_emptied: true,
        };
        let batches = self.transact(|source| {
            hold_intake(&mut source.connection, source.shepherd)?;
            for (kind, count) in by_kind(&picks) {
                source.count(kind, "later", -count)?;
            }
            claims::release(&mut source.connection, picks.iter().map(Pick::claimant))?;
            source.pack(&origin, &picks)
        })?;
        Ok(Some(batches))
    }

    /// Packs dead tasks; `None` if there are none.
    pub(super) fn pack_dead(&mut self) -> Result<Option<Vec<Batch>>> {
        let sql = format!(
            "SELECT dead, task, kind, object_id, tenant, COALESCE(LENGTH(payload), 0) FROM queue_dead ORDER BY dead LIMIT {MOST} FOR UPDATE"
        );
        let origin = Origin {
            table: "queue_dead".into(),
            key: "dead",
            condition: "TRUE".into(),
            columns: "kind, object_id, payload, priority, tenant, attempts, created, NULL, 1, died, error"
                .into(),
            is_emptied: true,
        };
        let batches = self.transact(|source| {
            let picks = source.picks(&sql, |_| true)?;
            for (kind, count) in by_kind(&picks) {
                source.count(kind, "died", -count)?;
            }
            source.pack(&origin, &picks)
        })?;
        Ok(Some(batches).filter(|batches| !batches.is_empty()))
    }

    /// Rows of a statement (key, task, kind, object, tenant, bytes), as many as a batch has.
    fn picks(&mut self, sql: &str, is_meant: impl Fn(u64) -> bool) -> Result<Vec<Pick>> {
        let (mut picks, mut size) = (Vec::new(), 0u64);
        each::<6>(
            &mut self.connection,
            sql,
            "choosing tasks to move",
            |[key, task, kind, object, tenant, bytes]| {
                let key = number(key);
                if !is_meant(key) || size >= MOST_BYTES {
                    return Ok(());
                }
                size = size.saturating_add(number(bytes));
                picks.push(Pick {
                    key,
                    task: number(task),
                    kind: number(kind),
                    object_id: object.unwrap_or_default().into(),
                    tenant: tenant.unwrap_or_default().into(),
                });
                Ok(())
            },
        )?;
        Ok(picks)
    }

    /// Puts rows into batches, in the transaction that is open.
    fn pack<'p>(&mut self, origin: &Origin, picks: impl IntoIterator<Item = &'p Pick>) -> Result<Vec<Batch>> {
        let mut by_target: BTreeMap<usize, Vec<&Pick>> = BTreeMap::new();
        for pick in picks {
            let at = self.placement.of(&pick.object_id, &pick.tenant, pick.task).unwrap_or(usize::MAX);
            by_target.entry(at).or_default().push(pick);
        }
        let mut batches = Vec::new();
        for (at, picks) in by_target {
            let Some(Some(target)) = self.ids.get(at).cloned() else {
                return Err(Error::found("no shard takes its tasks"));
            };
            self.packed += 1;
            let batch = Batch { name: format!("{}:{}", self.run, self.packed), target };
            self.insert(origin, &batch, &picks)?;
            if origin.is_emptied {
                self.remove_rows(origin, &picks)?;
            }
            batches.push(batch);
        }
        Ok(batches)
    }

    fn insert(&mut self, origin: &Origin, batch: &Batch, picks: &[&Pick]) -> Result<()> {
        let Origin { table, key, condition, columns, .. } = origin;
        let sql = format!(
            "INSERT INTO queue_transit (batch, n, target, kind, object_id, payload, priority, tenant, attempts, created, due_ms, is_back, \
             died, error) SELECT '{}', {key}, '{}', {columns} FROM {table} WHERE {condition} AND {key} IN ({})",
            batch.name,
            batch.target,
            list(picks.iter().map(|pick| pick.key))
        );
        let doing = || "packing tasks to move";
        match self.connection.execute(sql).doing(doing)?.affected == picks.len() as u64 {
            true => Ok(()),
            false => Err(Error::found(format!("{}: somebody else removed some meanwhile", doing()))),
        }
    }

    fn remove_rows(&mut self, origin: &Origin, picks: &[&Pick]) -> Result<()> {
        if picks.is_empty() {
            return Ok(());
        }
        let Origin { table, key, condition, .. } = origin;
        let doing = || "packing tasks to move";
        let removed = match table.as_str() {
            // Their numbers are not the key.
            "queue_later" => {
                let list = list(picks.iter().map(|pick| pick.key));
                let sql = format!("DELETE FROM {table} WHERE {condition} AND {key} IN ({list})");
                self.connection.execute(sql).doing(doing)?.affected
            }
            _ => {
                let keys: Vec<_> = picks.iter().map(|pick| [pick.key]).collect();
                exact::delete(&mut self.connection, table, [key], &keys).doing(doing)?
            }
        };
        match removed == picks.len() as u64 {
            true => Ok(()),
            false => Err(Error::found(format!("{}: somebody else removed some meanwhile", doing()))),
        }
    }

    fn count(&mut self, kind: u16, column: &str, count: i64) -> Result<()> {
        counts::add(&mut self.connection, kind, column, count)
    }

    /// One statement, or what only reads: tried again if another session was in the way.
    pub(super) fn retried<T>(&mut self, work: impl FnMut(&mut Self) -> Result<T>) -> Result<T> {
        session::retried_by(self, |source| &mut source.connection, work)
    }

    /// All of it in one transaction, which is tried again if another session was in the way.
    fn transact<T>(&mut self, work: impl FnMut(&mut Self) -> Result<T>) -> Result<T> {
        super::transact(self, |source| &mut source.connection, work)
    }

    /// What was packed and has not been noted as arrived.
    pub(super) fn in_transit(&mut self) -> Result<Vec<Batch>> {
        let sql = "SELECT DISTINCT batch, target FROM queue_transit";
        let mut batches = Vec::new();
        each::<2>(&mut self.connection, sql, "reading queue_transit", |[name, target]| {
            let text = |field: Option<&str>| field.unwrap_or_default().to_owned();
            batches.push(Batch { name: text(name), target: text(target) });
            Ok(())
        })?;
        Ok(batches)
    }

    /// The tasks of a batch.
    pub(super) fn read(&mut self, batch: &Batch) -> Result<Vec<Task>> {
        let sql = format!(
            "SELECT kind, object_id, payload, priority, tenant, attempts, created, due_ms, is_back, died, error FROM queue_transit \
             WHERE batch = {} ORDER BY n",
            quote::string(&batch.name)
        );
        let mut tasks = Vec::new();
        each::<11>(&mut self.connection, &sql, "reading queue_transit", |fields| {
            let [kind, object, payload, priority, tenant, attempts, created, due, is_back, died, error] =
                fields;
            let text = |field: Option<&str>| field.unwrap_or_default().to_owned();
            tasks.push(Task {
                kind: number(kind),
                object_id: text(object),
                payload: payload.map(str::to_owned),
                priority: number(priority),
                tenant: text(tenant),
                attempts: number(attempts),
                created: text(created),
                due_ms: due.map(|_| number(due)),
                is_back: is_back == Some("1"),
                died: died.map(|died| (died.to_owned(), text(error))),
            });
            Ok(())
        })?;
        Ok(tasks)
    }

    /// Removes a batch that has arrived.
    pub(super) fn remove(&mut self, batch: &Batch) -> Result<()> {
        let sql = format!("DELETE FROM queue_transit WHERE batch = {}", quote::string(&batch.name));
        self.transact(|source| {
            source.connection.execute(&sql).doing(|| "removing what has arrived").map(drop)
        })
    }

    /// Drops segments of which nothing is left.
    pub(super) fn drop_finished(&mut self) -> Result<()> {
        segments::drop_finished(&mut self.connection, self.kinds.longest_keep()).map(drop)
    }
}

fn by_kind<'p>(picks: impl IntoIterator<Item = &'p Pick>) -> BTreeMap<u16, i64> {
    let mut kinds = BTreeMap::new();
    picks.into_iter().for_each(|pick| *kinds.entry(pick.kind).or_default() += 1);
    kinds
}
