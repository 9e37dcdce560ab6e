//! Tasks that come again and again. A schedule is a row on the shard where its tasks belong; the shepherd that takes in what comes
//! there pushes its task when it is due.

mod cron;
mod fire;
mod table;

pub(crate) use fire::{Fired, LATEST, fire};
pub(crate) use table::read;

use drover_db::Connection;
use jiff::Timestamp;
use serde::{Serialize, Serializer};
use xxhash_rust::xxh3::xxh3_64;

use crate::error::Doing;
use crate::identity::refuse_same;
use crate::place::Placement;
use crate::push::{self, all_drained};
use crate::record::Record;
use crate::rows::number;
use crate::settings::ring;
use crate::shard::{Shard, Shards};
use crate::{Error, Result, session};
use cron::Cron;

/// The longest name, in characters.
const LONGEST_NAME: usize = 64;

/// Tasks that are to come again and again.
#[derive(Debug, Clone, Default)]
pub struct NewSchedule {
    /// What the schedule is called.
    pub name: String,
    /// When its tasks come: an expression as cron takes it.
    pub cron: String,
    /// The time zone that this is meant in, by its name in the IANA database.
    pub timezone: String,
    /// Its tasks.
    pub task: Record,
}

/// A schedule, and what came of it.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Schedule {
    /// Its shard; empty where there is only one.
    pub shard: String,
    /// What it is called.
    pub name: String,
    /// When its tasks come.
    pub cron: String,
    /// The time zone that this is meant in.
    pub timezone: String,
    /// The kind of its tasks.
    pub kind: u16,
    /// What they are about.
    pub object_id: String,
    /// JSON that goes with them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<String>,
    /// The higher, the sooner.
    pub priority: i8,
    /// Whose they are.
    pub tenant: String,
    /// Whether none comes.
    pub is_paused: bool,
    /// When the next one comes, in milliseconds since 1970.
    #[serde(rename = "next", serialize_with = "as_time")]
    pub next_ms: Option<u64>,
    /// When the last one came.
    #[serde(rename = "last", serialize_with = "as_time")]
    pub last_ms: Option<u64>,
    /// How many came.
    pub fired: u64,
    /// How many were left out, since another one came for them.
    pub missed: u64,
    /// Why none comes any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Schedule {
    /// When the next one comes, as clocks in its zone show it.
    pub fn next_there(&self) -> Option<String> {
        self.there(self.next_ms?)
    }

    /// When the last one came, as clocks in its zone show it.
    pub fn last_there(&self) -> Option<String> {
        self.there(self.last_ms?)
    }

    /// The same, to be set elsewhere.
    fn renewed(&self) -> NewSchedule {
        let task = Record {
            object_id: self.object_id.clone(),
            kind: Some(self.kind),
            payload: self.payload.clone(),
            priority: Some(self.priority),
            tenant: Some(self.tenant.clone()),
            not_before_ms: None,
        };
        let Self { name, cron, timezone, .. } = self.clone();
        NewSchedule { name, cron, timezone, task }
    }

    fn there(&self, millis: u64) -> Option<String> {
        let zone = jiff::tz::TimeZone::get(&self.timezone).ok()?;
        Some(time(millis)?.to_zoned(zone).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string())
    }
}

/// As `2026-03-01T04:05:06Z`.
fn in_utc(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn time(millis: u64) -> Option<Timestamp> {
    Timestamp::from_millisecond(i64::try_from(millis).ok()?).ok()
}

/// The same, or null.
fn as_time<S: Serializer>(millis: &Option<u64>, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    millis.and_then(time).map(in_utc).serialize(serializer)
}

/// Sets a schedule, a new one or instead of what has its name. It goes where its tasks belong; what came of it so far stays.
///
/// # Errors
/// If the expression or the zone is wrong, no time ever comes, a shard is not reached, or all are being drained.
pub fn set(shards: &Shards, new: &NewSchedule) -> Result<Schedule> {
    refuse_same(shards)?;
    let mut placement = Placement::new(shards);
    loop {
        let at = home(&placement, new).ok_or_else(|| all_drained(shards))?;
        let Some(home) = shards.shards.get(at) else { return Err(all_drained(shards)) };
        let mut connection = session::open(home)?;
        if push::takes(&mut connection, home)? {
            return set_on(shards, home, &mut connection, new);
        }
        placement.set(at, false);
    }
}

/// Takes the schedules of a shard whose tasks were moved to where tasks go now.
///
/// # Errors
/// If a schedule cannot be set there, such as one that somebody wrote into the table; the others before it are there then.
pub(crate) fn carry(shards: &Shards, from: &Shard, placement: &Placement) -> Result<()> {
    let mut connection = session::open(from)?;
    let all = match session::retried(&mut connection, |connection| read(connection, true)) {
        Err(error) if table::is_too_old(&error) => Vec::new(),
        other => other.map_err(|error| error.of(from))?,
    };
    for old in all {
        let new = old.renewed();
        let Some(home) = home(placement, &new).and_then(|at| shards.shards.get(at)) else { continue };
        set_on(shards, home, &mut session::open(home)?, &new).map_err(|error| {
            Error::with_hint(
                from.doing(&format!("schedule '{}' stays: {error}", new.name)),
                "set it anew, or drop it, with `drover queue schedule`; the tasks have been moved",
            )
        })?;
    }
    Ok(())
}

/// Tried again if another session was in the way, on whichever shard.
fn set_on(shards: &Shards, home: &Shard, connection: &mut Connection, new: &NewSchedule) -> Result<Schedule> {
    check(new)?;
    session::retried(connection, |connection| try_set_on(shards, home, connection, new))
}

fn try_set_on(
    shards: &Shards,
    home: &Shard,
    connection: &mut Connection,
    new: &NewSchedule,
) -> Result<Schedule> {
    let cron = Cron::parse(&new.cron, &new.timezone)?;
    let timezone = cron::zone_name(&new.timezone)?;
    let now = now_ms(connection, home)?;
    let next = cron.next(now).ok_or_else(|| {
        Error::with_hint(
            format!("'{}' does not come within four years", new.cron),
            "no such month has such a day: see the day of the month and the month",
        )
    })?;
    let mut elsewhere = take(shards, home, &new.name)?;
    table::begin(connection, home)?;
    let here = table::hold(connection, home, &new.name)?;
    let old = here.or_else(|| elsewhere.as_ref().map(|(_, _, old)| old.clone())).unwrap_or_default();
    let is_same = old.cron == new.cron && old.timezone == timezone;
    let schedule = Schedule {
        shard: home.name.clone(),
        name: new.name.clone(),
        cron: new.cron.clone(),
        timezone,
        kind: new.task.kind.unwrap_or_default(),
        object_id: new.task.object_id.clone(),
        payload: new.task.payload.clone(),
        priority: new.task.priority.unwrap_or_default(),
        tenant: new.task.tenant.clone().unwrap_or_default(),
        // One that is due comes, even if the same is set once more before.
        next_ms: (!old.is_paused).then(|| old.next_ms.filter(|_| is_same).unwrap_or(next)),
        error: None,
        ..old
    };
    table::write(connection, home, &schedule)?;
    // In this order none is lost by a kill in between: it is on both then, until it is set once more.
    commit(connection, home)?;
    if let Some((shard, connection, _)) = &mut elsewhere {
        table::remove(connection, shard, &new.name)?;
        connection.execute("COMMIT").doing(|| shard.doing("setting a schedule"))?;
    }
    Ok(schedule)
}

/// Holds the schedule of this name in a transaction, if it is on another shard than this one.
fn take<'a>(
    shards: &'a Shards,
    home: &Shard,
    name: &str,
) -> Result<Option<(&'a Shard, Connection, Schedule)>> {
    for shard in shards.shards.iter().filter(|shard| shard.name != home.name) {
        let mut connection = session::open(shard)?;
        table::begin(&mut connection, shard)?;
        if let Some(found) = table::hold(&mut connection, shard, name)? {
            return Ok(Some((shard, connection, found)));
        }
    }
    Ok(None)
}

/// The shard that its tasks belong on.
fn home(placement: &Placement, new: &NewSchedule) -> Option<usize> {
    let tenant = new.task.tenant.as_deref().unwrap_or_default();
    placement.of(&new.task.object_id, tenant, xxh3_64(new.name.as_bytes()))
}

fn check(new: &NewSchedule) -> Result<()> {
    if new.name.trim().is_empty() || new.name.chars().count() > LONGEST_NAME {
        return Err(Error::found(format!("a schedule's name has from 1 to {LONGEST_NAME} characters")));
    }
    new.task.check().map_err(|why| Error::found(format!("schedule '{}': {why}", new.name)))
}

/// All schedules, by their names.
///
/// # Errors
/// If a shard is not reached, or its queue was made by a drover that knew no schedules.
pub fn list(shards: &Shards) -> Result<Vec<Schedule>> {
    refuse_same(shards)?;
    let mut all = Vec::new();
    for shard in &shards.shards {
        let mut connection = session::open(shard)?;
        let there = read(&mut connection, true).map_err(|error| error.of(shard))?;
        all.extend(there.into_iter().map(|one| Schedule { shard: shard.name.clone(), ..one }));
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(all)
}

/// Drops a schedule. Tasks that came of it stay.
///
/// # Errors
/// If there is none of this name, or a shard is not reached that may have it.
pub fn drop_schedule(shards: &Shards, name: &str) -> Result<()> {
    change(shards, name, |connection, shard, _| table::remove(connection, shard, name))
}

/// Lets no more tasks of a schedule come.
///
/// # Errors
/// If there is none of this name, or a shard is not reached that may have it.
pub fn pause(shards: &Shards, name: &str) -> Result<()> {
    change(shards, name, |connection, shard, old| {
        let paused = Schedule { is_paused: true, next_ms: None, ..old };
        table::write(connection, shard, &paused)
    })
}

/// Lets them come again, from now on: what would have come meanwhile does not.
///
/// # Errors
/// If there is none of this name, or a shard is not reached that may have it.
pub fn resume(shards: &Shards, name: &str) -> Result<()> {
    change(shards, name, |connection, shard, old| {
        if old.next_ms.is_some() {
            return Ok(());
        }
        let now = now_ms(connection, shard)?;
        let next_ms = Cron::parse(&old.cron, &old.timezone).map_err(|error| error.of(shard))?.next(now);
        table::write(connection, shard, &Schedule { is_paused: false, next_ms, error: None, ..old })
    })
}

/// Changes the schedule of this name, wherever it is.
fn change(
    shards: &Shards,
    name: &str,
    work: impl Fn(&mut Connection, &Shard, Schedule) -> Result<()>,
) -> Result<()> {
    let mut silent = None;
    for shard in &shards.shards {
        let steps = |connection: &mut Connection| -> Result<bool> {
            table::begin(connection, shard)?;
            let Some(old) = table::hold(connection, shard, name)? else { return Ok(false) };
            work(connection, shard, old)?;
            commit(connection, shard)?;
            Ok(true)
        };
        let changed =
            session::open(shard).and_then(|mut connection| session::retried(&mut connection, steps));
        match changed {
            Ok(true) => return Ok(()),
            Ok(false) => {}
            Err(error) => drop(silent.get_or_insert(error)),
        }
    }
    Err(silent.unwrap_or_else(|| {
        Error::with_hint(
            format!("there is no schedule '{name}'"),
            "`drover queue schedule list` tells which there are",
        )
    }))
}

/// Ends the transaction, and tells shepherds.
fn commit(connection: &mut Connection, shard: &Shard) -> Result<()> {
    connection.execute("COMMIT").doing(|| shard.doing("setting a schedule"))?;
    session::retried(connection, |connection| ring(connection).doing(|| shard.doing("telling shepherds")))
}

/// The server's clock.
fn now_ms(connection: &mut Connection, shard: &Shard) -> Result<u64> {
    let sql = "SELECT CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS UNSIGNED)";
    let row = connection.first(sql).doing(|| shard.doing("asking for the time"))?;
    Ok(number(row.and_then(|row| row.text(0)).as_deref()))
}
