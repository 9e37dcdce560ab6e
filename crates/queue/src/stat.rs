//! What a queue holds and how fast it moves, from counts that are kept: no table of tasks is ever counted.

use std::collections::BTreeMap;

use drover_db::Connection;
use serde::Serialize;

use crate::counts::Histogram;
use crate::error::Doing;
use crate::identity::Identities;
use crate::kinds::Kinds as Rules;
use crate::rows::{each, number};
use crate::schedule::{self, Schedule};
use crate::schema::{BUILDING, INTAKE};
use crate::shard::{Shard, Shards};
use crate::state::State;
use crate::{Result, schema, session};

/// So many rows of the inbox are counted; beyond that their number is reckoned from their ids.
const MOST_COUNTED: u64 = 10_000;

/// A queue at a moment.
#[derive(Debug, Clone, Serialize)]
pub struct StatReport {
    /// All shards.
    pub shards: Vec<ShardStat>,
    /// The kinds over all shards.
    pub kinds: Vec<KindStat>,
}

/// One shard.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ShardStat {
    /// Its name; empty where there is only one.
    pub name: String,
    /// Why nothing is known of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Whether it takes no more tasks.
    pub is_draining: bool,
    /// Whether its tasks are being moved to other shards at this moment.
    pub is_moving: bool,
    /// Tasks that have left it and have not been noted as arrived elsewhere.
    pub in_transit: u64,
    /// Tasks in the inbox, which no shepherd has taken yet.
    pub inbox: u64,
    /// Whether that is reckoned from ids, and may be too many.
    pub inbox_is_estimate: bool,
    /// What it holds of each kind.
    pub kinds: Vec<KindStat>,
    /// Who works on it.
    pub shepherds: Vec<ShepherdStat>,
    /// Builds that are loading, and the latest ones.
    pub builds: Vec<BuildStat>,
    /// Tasks that come again and again, without their payloads.
    pub schedules: Vec<Schedule>,
}

/// Tasks of one kind.
#[derive(Debug, Clone, Default, Serialize)]
pub struct KindStat {
    /// The kind.
    pub kind: u16,
    /// Ready or running.
    pub waiting: u64,
    /// Those that wait for a time: after a failure, or as they were pushed.
    pub later: u64,
    /// Those that failed for the last time.
    pub dead: u64,
    /// Done so far.
    pub done: u64,
    /// Attempts that failed so far.
    pub failed: u64,
    /// Left out so far, since their object had an unfinished one.
    pub merged: u64,
    /// Whether no more of them are begun; over several shards, on any of them.
    pub is_paused: bool,
    /// Done a second, over the last minute or two, or since the first shepherd came if that is less.
    pub rate: f64,
    /// How long the oldest one that waits has been there, in seconds; 0 if none does.
    pub oldest_seconds: f64,
    /// In how long all that wait will be done at this rate, in seconds; absent if nothing is being done, or they are paused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eta_seconds: Option<f64>,
    /// How long half of those done lately had waited, and all but one in a hundred, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<Latency>,
    /// How long they ran, in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_us: Option<Latency>,
    #[serde(skip)]
    pub(crate) waits: Histogram,
    #[serde(skip)]
    pub(crate) runs: Histogram,
}

/// The middle and the slow end, at most twice too high.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Latency {
    /// Half were faster.
    pub p50: u64,
    /// Of a hundred, one was slower.
    pub p99: u64,
}

impl Latency {
    fn of(histogram: &Histogram) -> Option<Self> {
        Some(Self { p50: histogram.quantile(0.5)?, p99: histogram.quantile(0.99)? })
    }
}

/// A shepherd.
#[derive(Debug, Clone, Serialize)]
pub struct ShepherdStat {
    /// Its number on this shard.
    pub shepherd: u32,
    /// What it calls itself.
    pub name: String,
    /// Tasks it can run at once.
    pub workers: u32,
    /// Tasks it runs.
    pub running: u32,
    /// For how long it has been there, in seconds.
    pub seconds: f64,
    /// Whether its lease has run out.
    pub is_late: bool,
}

/// A build.
#[derive(Debug, Clone, Serialize)]
pub struct BuildStat {
    /// Its name.
    pub job: String,
    /// The kind of its tasks.
    pub kind: u16,
    /// loading, published or cancelled.
    pub state: String,
    /// Tasks that are stored.
    pub tasks: u64,
    /// What they are read from.
    pub source: String,
    /// For how long it has been loading, or did, in seconds.
    pub seconds: f64,
}

/// Asks all shards at once.
///
/// # Errors
/// If no shard answers, or two are the same tables.
pub fn stat(shards: &Shards) -> Result<StatReport> {
    let identities = &Identities::default();
    let asked: Vec<Result<ShardStat>> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            shards.shards.iter().map(|shard| scope.spawn(|| of_known(shard, identities))).collect();
        let panicked = |_| Err(crate::Error::found("a shard's thread ended by a panic"));
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(panicked)).collect()
    });
    if let Some(error) = identities.clash() {
        return Err(error);
    }
    let mut stats = Vec::new();
    let mut answered = false;
    let mut first = None;
    for (shard, asked) in shards.shards.iter().zip(asked) {
        match asked {
            Ok(stat) => {
                answered = true;
                stats.push(stat);
            }
            Err(error) => {
                let stat = ShardStat {
                    name: shard.name.clone(),
                    error: Some(error.to_string()),
                    ..ShardStat::default()
                };
                stats.push(stat);
                first.get_or_insert(error);
            }
        }
    }
    match (answered, first) {
        (false, Some(error)) => Err(error),
        _ => Ok(StatReport::of(stats)),
    }
}

impl StatReport {
    /// The report of these shards.
    pub(crate) fn of(shards: Vec<ShardStat>) -> Self {
        Self { kinds: sum(&shards), shards }
    }
}

fn sum(shards: &[ShardStat]) -> Vec<KindStat> {
    let mut kinds: BTreeMap<u16, KindStat> = BTreeMap::new();
    for stat in shards.iter().flat_map(|shard| &shard.kinds) {
        let all =
            kinds.entry(stat.kind).or_insert_with(|| KindStat { kind: stat.kind, ..KindStat::default() });
        all.waiting += stat.waiting;
        all.later += stat.later;
        all.dead += stat.dead;
        all.done += stat.done;
        all.failed += stat.failed;
        all.merged += stat.merged;
        all.rate += stat.rate;
        all.is_paused |= stat.is_paused;
        all.oldest_seconds = all.oldest_seconds.max(stat.oldest_seconds);
        all.waits.join(&stat.waits);
        all.runs.join(&stat.runs);
    }
    kinds.into_values().map(KindStat::reckoned).collect()
}

impl KindStat {
    fn reckoned(mut self) -> Self {
        let is_done = self.rate > 0.0 && self.waiting > 0 && !self.is_paused;
        self.eta_seconds = is_done.then(|| self.waiting as f64 / self.rate);
        self.wait_ms = Latency::of(&self.waits);
        self.run_us = Latency::of(&self.runs);
        self
    }
}

pub(crate) fn of_shard(shard: &Shard) -> Result<ShardStat> {
    of_known(shard, &Identities::default())
}

fn of_known(shard: &Shard, identities: &Identities) -> Result<ShardStat> {
    let mut connection = session::open(shard)?;
    schema::check(&mut connection)?;
    identities.enter(&mut connection, shard)?;
    look(&mut connection, shard, |connection, kinds| {
        totals(connection, kinds)?;
        lately(connection, kinds)
    })
}

/// What a shard holds; `counts` adds what was counted.
pub(crate) fn look(
    connection: &mut Connection,
    shard: &Shard,
    counts: impl FnOnce(&mut Connection, &mut Kinds) -> Result<()>,
) -> Result<ShardStat> {
    let mut kinds = BTreeMap::new();
    lanes(connection, &mut kinds)?;
    counts(connection, &mut kinds)?;
    let rules = Rules::load(connection)?;
    kinds.values_mut().for_each(|stat| stat.is_paused = rules.of(stat.kind).is_paused);
    let (inbox, inbox_is_estimate) = inbox(connection)?;
    let state = State::load(connection)?;
    let transit = connection.first("SELECT COUNT(*) FROM queue_transit").doing(|| "reading queue_transit")?;
    Ok(ShardStat {
        name: shard.name.clone(),
        error: None,
        is_draining: shard.is_draining || state != State::Open,
        is_moving: state == State::Moving,
        in_transit: transit.and_then(|row| row.parse(0)).unwrap_or(0),
        inbox,
        inbox_is_estimate,
        kinds: kinds.into_values().map(KindStat::reckoned).collect(),
        shepherds: shepherds(connection)?,
        builds: builds(connection)?,
        schedules: schedules(connection, shard)?,
    })
}

/// What there is of each kind.
pub(crate) type Kinds = BTreeMap<u16, KindStat>;

/// What there is of a kind, to be added to.
pub(crate) fn of(kinds: &mut Kinds, kind: u16) -> &mut KindStat {
    kinds.entry(kind).or_insert_with(|| KindStat { kind, ..KindStat::default() })
}

fn lanes(connection: &mut Connection, kinds: &mut Kinds) -> Result<()> {
    let sql = format!(
        "SELECT kind, SUM(tasks - done), UNIX_TIMESTAMP(NOW(3)) - UNIX_TIMESTAMP(MIN(created)) FROM queue_lane \
         WHERE owner <> {BUILDING} AND lane > {INTAKE} GROUP BY kind"
    );
    each::<3>(connection, &sql, "reading queue_lane", |[kind, waiting, oldest]| {
        let stat = of(kinds, number(kind));
        stat.waiting = number(waiting);
        stat.oldest_seconds = number::<f64>(oldest).max(0.0);
        Ok(())
    })
}

fn totals(connection: &mut Connection, kinds: &mut Kinds) -> Result<()> {
    let sql = "SELECT kind, SUM(done), SUM(failed), SUM(died), SUM(merged), SUM(later) FROM queue_count GROUP BY kind";
    each::<6>(connection, sql, "reading queue_count", |[kind, done, failed, died, merged, later]| {
        let count = |field| number::<i64>(field).max(0) as u64;
        let stat = of(kinds, number(kind));
        (stat.done, stat.failed, stat.dead) = (count(done), count(failed), count(died));
        (stat.merged, stat.later) = (count(merged), count(later));
        Ok(())
    })
}

/// What was done of a kind in this minute and the one before, by the server's clock.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Lately {
    /// In the minute before, and in this one.
    pub(crate) done: [i64; 2],
}

impl Lately {
    /// How many a second. The time counts since the beginning of the minute before, or of this one if nothing was done before; and if
    /// the first shepherd came later, or all that waits, since then.
    pub(crate) fn rate(self, into_minute: f64, worked: f64, kind: &KindStat) -> f64 {
        let [before, this] = self.done;
        let mut span = if before > 0 { into_minute + 60.0 } else { into_minute }.min(worked);
        if before <= 0 && kind.waiting > 0 {
            span = span.min(kind.oldest_seconds);
        }
        (before + this).max(0) as f64 / span.max(1.0)
    }
}

/// For how long the shepherd has worked that came first, in seconds; endless if there is none, or one that has left did something lately,
/// or by the server's clock the first is still to come.
pub(crate) fn worked(connection: &mut Connection) -> Result<f64> {
    let sql = "SELECT UNIX_TIMESTAMP(NOW(3)) - UNIX_TIMESTAMP(MIN(started)) FROM queue_shepherd WHERE workers > 0 AND NOT EXISTS \
               (SELECT 1 FROM queue_count WHERE minute BETWEEN FLOOR(UNIX_TIMESTAMP(NOW(3)) / 60) - 1 AND FLOOR(UNIX_TIMESTAMP(NOW(3)) / 60) AND done > 0 \
               AND shepherd NOT IN (SELECT shepherd FROM queue_shepherd))";
    let row = connection.first(sql).doing(|| "reading queue_shepherd")?;
    Ok(row.and_then(|row| row.parse(0)).filter(|worked| *worked >= 0.0).unwrap_or(f64::INFINITY))
}

/// Rate and latencies of this minute and the one before.
fn lately(connection: &mut Connection, kinds: &mut Kinds) -> Result<()> {
    let worked = worked(connection)?;
    let sql = "SELECT kind, minute < FLOOR(UNIX_TIMESTAMP(NOW(3)) / 60), done, waits, runs, MOD(UNIX_TIMESTAMP(NOW(3)), 60) \
               FROM queue_count WHERE minute BETWEEN FLOOR(UNIX_TIMESTAMP(NOW(3)) / 60) - 1 AND FLOOR(UNIX_TIMESTAMP(NOW(3)) / 60)";
    let mut all: BTreeMap<u16, Lately> = BTreeMap::new();
    let mut into_minute = 0.0;
    each::<6>(connection, sql, "reading queue_count", |[kind, is_before, done, waits, runs, seconds]| {
        let lately = all.entry(number(kind)).or_default();
        lately.done[usize::from(is_before != Some("1"))] += number::<i64>(done);
        into_minute = number(seconds);
        let stat = of(kinds, number(kind));
        stat.waits.join(&Histogram::decode(waits.unwrap_or_default()));
        stat.runs.join(&Histogram::decode(runs.unwrap_or_default()));
        Ok(())
    })?;
    for (kind, lately) in all {
        let stat = of(kinds, kind);
        stat.rate = lately.rate(into_minute, worked, stat);
    }
    Ok(())
}

/// While a shepherd takes tasks in, what it took lies below the number that the intake's row holds, but for what it will find in some
/// seconds. Without one there may be more below: the server may have forgotten with which number it went on.
fn inbox(connection: &mut Connection) -> Result<(u64, bool)> {
    let doing = || "looking at the inbox";
    let taken = format!(
        "COALESCE((SELECT first_task FROM queue_lane WHERE lane = {INTAKE} \
         AND owner IN (SELECT shepherd FROM queue_shepherd WHERE expires > NOW(3))), 0)"
    );
    let sql = format!(
        "SELECT COUNT(*), MIN(id) FROM (SELECT id FROM queue_inbox WHERE id > {taken} ORDER BY id LIMIT {}) AS some",
        MOST_COUNTED + 1
    );
    let row = connection.first(sql).doing(doing)?;
    let field = |at: usize| row.as_ref().and_then(|row| row.parse::<u64>(at)).unwrap_or(0);
    let (count, first) = (field(0), field(1));
    if count <= MOST_COUNTED {
        return Ok((count, false));
    }
    let last =
        connection.first("SELECT MAX(id) FROM queue_inbox").doing(doing)?.and_then(|row| row.parse::<u64>(0));
    Ok((last.unwrap_or(first).saturating_sub(first) + 1, true))
}

/// A lease lasts five minutes at most: one that holds for longer was renewed before the server's clock went back.
fn shepherds(connection: &mut Connection) -> Result<Vec<ShepherdStat>> {
    let sql = "SELECT shepherd, name, workers, running, GREATEST(0, UNIX_TIMESTAMP(NOW(3)) - UNIX_TIMESTAMP(started)), \
               expires < NOW(3) OR expires > NOW(3) + INTERVAL 301 SECOND FROM queue_shepherd ORDER BY shepherd";
    let mut found = Vec::new();
    each::<6>(
        connection,
        sql,
        "reading queue_shepherd",
        |[shepherd, name, workers, running, seconds, late]| {
            found.push(ShepherdStat {
                shepherd: number(shepherd),
                name: name.unwrap_or_default().into(),
                workers: number(workers),
                running: number(running),
                seconds: number(seconds),
                is_late: late == Some("1"),
            });
            Ok(())
        },
    )?;
    Ok(found)
}

fn schedules(connection: &mut Connection, shard: &Shard) -> Result<Vec<Schedule>> {
    let found = schedule::read(connection, false)?.into_iter();
    Ok(found.map(|one| Schedule { shard: shard.name.clone(), ..one }).collect())
}

fn builds(connection: &mut Connection) -> Result<Vec<BuildStat>> {
    let sql = "SELECT job, kind, state, tasks, source, UNIX_TIMESTAMP(COALESCE(ended, NOW(3))) - UNIX_TIMESTAMP(started) \
               FROM queue_build ORDER BY state = 'loading' DESC, build DESC LIMIT 20";
    let mut found = Vec::new();
    each::<6>(connection, sql, "reading queue_build", |[job, kind, state, tasks, source, seconds]| {
        found.push(BuildStat {
            job: job.unwrap_or_default().into(),
            kind: number(kind),
            state: state.unwrap_or_default().into(),
            tasks: number(tasks),
            source: source.unwrap_or_default().into(),
            seconds: number(seconds),
        });
        Ok(())
    })?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_of_the_time_in_which_something_was_done() {
        let kind = |waiting, oldest_seconds| KindStat { waiting, oldest_seconds, ..KindStat::default() };
        let rate = |done, worked, kind| Lately { done }.rate(30.0, worked, &kind);
        let ever = f64::INFINITY;
        assert_eq!(rate([60, 30], ever, kind(0, 0.0)), 1.0);
        assert_eq!(rate([0, 30], ever, kind(0, 0.0)), 1.0, "nothing was done in the minute before");
        assert_eq!(rate([0, 30], 5.0, kind(7, 5000.0)), 6.0, "the first shepherd has just come");
        assert_eq!(rate([0, 30], ever, kind(7, 5.0)), 6.0, "what waits has just come");
        assert_eq!(rate([60, 30], ever, kind(7, 5.0)), 1.0);
        assert_eq!(rate([0, 30], 0.1, kind(0, 0.0)), 30.0);
        assert_eq!(rate([0, -3], ever, kind(0, 0.0)), 0.0);
    }
}
