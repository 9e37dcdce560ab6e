//! Draining: a shard that takes no more tasks from `push` and `build`, and is worked off; one whose tasks are being moved away; and one
//! that is closed, because it has moved to another server. What holds is in the shard's own `queue_meta`, for every client at once.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use drover_db::{Connection, Stop};
use serde::Serialize;

use crate::error::Doing;
use crate::lapse::Lapses;
use crate::place::Places;
use crate::rows::{each, number};
use crate::schema::CLOSED_INBOX;
use crate::shard::{Shard, Shards};
use crate::state::{CLOSED, DRAINING, OPEN, State};
use crate::{Error, Result, lease, session, stat};

/// Has a shard drain, or take tasks again.
pub(crate) fn set(connection: &mut Connection, drains: bool) -> drover_db::Result<()> {
    let state = if drains { DRAINING } else { OPEN };
    connection.execute(format!("UPDATE queue_meta SET state = {state}, bell = bell + 1")).map(drop)
}

/// What is wanted of a shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drain {
    /// It is to take no more tasks.
    Begin,
    /// The same, and to be waited for until it is empty.
    Wait,
    /// All are to leave it, since it moves to another server.
    Close,
    /// It is to take tasks again.
    Undo,
}

/// How far a shard is that drains.
#[derive(Debug, Clone, Default, Serialize)]
pub struct DrainReport {
    /// Its name; empty where there is only one.
    pub shard: String,
    /// Whether it takes no more tasks.
    pub is_draining: bool,
    /// Whether it is closed.
    pub is_closed: bool,
    /// Tasks that are in the inbox, ready or running.
    pub waiting: u64,
    /// Tasks that wait for a time.
    pub later: u64,
    /// Those that failed for the last time.
    pub dead: u64,
    /// Tasks that run.
    pub running: u64,
    /// Tasks on their way to other shards, by a move that did not come to its end.
    pub in_transit: u64,
    /// Builds that have not been published: more tasks come with them.
    pub builds: Vec<String>,
    /// In how long what waits will be done at the present rate, in seconds; absent if nothing is being done, or some of it is paused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eta_seconds: Option<f64>,
}

impl DrainReport {
    /// Whether nothing is left that is to be done some time.
    pub fn is_empty(&self) -> bool {
        self.waiting + self.later + self.in_transit == 0 && self.builds.is_empty()
    }

    fn of(shard: &Shard) -> Result<Self> {
        let stat = stat::of_shard(shard)?;
        let sum = |field: fn(&stat::KindStat) -> u64| stat.kinds.iter().map(field).sum::<u64>();
        let rate: f64 = stat.kinds.iter().map(|kind| kind.rate).sum();
        let is_paused = stat.kinds.iter().any(|kind| kind.is_paused && kind.waiting > 0);
        let mut connection = session::open(shard)?;
        let mut waiting = sum(|kind| kind.waiting) + stat.inbox;
        if waiting == 0 {
            // What was committed late is no part of the inbox that `stat` looks at.
            let row = connection.first("SELECT COUNT(*) FROM queue_inbox");
            waiting =
                row.doing(|| shard.doing("looking at the inbox"))?.and_then(|row| row.parse(0)).unwrap_or(0);
        }
        Ok(Self {
            shard: stat.name.clone(),
            is_draining: stat.is_draining,
            is_closed: false,
            waiting,
            later: sum(|kind| kind.later),
            dead: sum(|kind| kind.dead),
            running: stat.shepherds.iter().map(|shepherd| u64::from(shepherd.running)).sum(),
            in_transit: stat.in_transit,
            builds: loading(&mut connection, shard)?,
            eta_seconds: (rate > 0.0 && waiting > 0 && !is_paused).then(|| waiting as f64 / rate),
        })
    }
}

/// What is left of a shard that is waited for.
#[derive(Debug, Default)]
pub struct DrainProgress {
    /// Tasks that are to be done.
    pub left: AtomicU64,
    /// Tasks that run.
    pub running: AtomicU64,
}

/// The shard of that name, or the only one.
pub(crate) fn named<'a>(shards: &'a Shards, name: Option<&str>) -> Result<&'a Shard> {
    let names = || shards.shards.iter().map(|shard| &*shard.name).collect::<Vec<_>>().join(", ");
    match (name, &*shards.shards) {
        (None, [only]) => Ok(only),
        (None, _) => Err(Error::with_hint("no shard is named", format!("name one of {}", names()))),
        (Some(name), all) => all.iter().find(|shard| shard.name == name).ok_or_else(|| {
            let hint = match all {
                [only] if only.name.is_empty() => "a URL names the only shard: leave the name out".to_owned(),
                _ => format!("name one of {}", names()),
            };
            Error::with_hint(format!("there is no shard '{name}'"), hint)
        }),
    }
}

/// The builds that have tasks for a shard and are not published.
pub(crate) fn loading(connection: &mut Connection, shard: &Shard) -> Result<Vec<String>> {
    let mut builds = Vec::new();
    let sql = "SELECT job, tasks, places FROM queue_build WHERE state = 'loading'";
    each::<3>(connection, sql, "reading queue_build", |[job, tasks, places]| {
        let places = places.and_then(|places| serde_json::from_str::<Places>(places).ok());
        if number::<u64>(tasks) > 0 || places.is_none_or(|places| places.may_have(shard)) {
            builds.push(job.unwrap_or_default().to_owned());
        }
        Ok(())
    })?;
    Ok(builds)
}

/// Drains a shard, or ends that; tells how far it is.
///
/// # Errors
/// If the shard cannot be reached, or is not to be opened while tasks are on their way from it.
pub fn drain(
    shards: &Shards,
    name: Option<&str>,
    what: Drain,
    progress: &DrainProgress,
    stop: &Stop,
) -> Result<DrainReport> {
    let shard = named(shards, name)?;
    match what {
        Drain::Begin => begin(shard)?,
        Drain::Undo => undo(shard)?,
        Drain::Wait => {
            begin(shard)?;
            return wait(shard, progress, stop);
        }
        Drain::Close => return close(shard, progress, stop),
    }
    DrainReport::of(shard)
}

fn begin(shard: &Shard) -> Result<()> {
    let mut connection = session::open(shard)?;
    crate::schema::check(&mut connection).map_err(|error| error.of(shard))?;
    session::retried(&mut connection, |connection| set(connection, true).doing(|| shard.doing("draining")))
}

fn wait(shard: &Shard, progress: &DrainProgress, stop: &Stop) -> Result<DrainReport> {
    const EVERY: Duration = Duration::from_millis(500);
    loop {
        let report = DrainReport::of(shard)?;
        progress.left.store(report.waiting + report.later + report.in_transit, Ordering::Relaxed);
        progress.running.store(report.running, Ordering::Relaxed);
        if report.is_empty() {
            return Ok(report);
        }
        if stop.is_requested() {
            return Err(Error::Stopped);
        }
        std::thread::sleep(EVERY);
    }
}

/// Opens a shard again that drained or was closed.
fn undo(shard: &Shard) -> Result<()> {
    let doing = || shard.doing("opening the shard again");
    let mut connection = session::open_any(shard)?;
    refuse_moving(&mut connection, shard)?;
    let transit = connection.first("SELECT COUNT(*) FROM queue_transit").doing(doing)?;
    if let Some(count) = transit.and_then(|row| row.parse::<u64>(0)).filter(|count| *count > 0) {
        return Err(Error::with_hint(
            shard.doing(&format!("{count} of its tasks are on their way to other shards")),
            "let `drover queue move` come to its end first: it goes on where it was",
        ));
    }
    if has_table(&mut connection, CLOSED_INBOX).doing(doing)? {
        connection.execute(format!("RENAME TABLE {CLOSED_INBOX} TO queue_inbox")).doing(doing)?;
    }
    session::retried(&mut connection, |connection| set(connection, false).doing(doing))
}

/// Has all shepherds leave a shard, and closes its tables for those who insert. What runs comes to its end before.
fn close(shard: &Shard, progress: &DrainProgress, stop: &Stop) -> Result<DrainReport> {
    const EVERY: Duration = Duration::from_millis(100);
    let doing = || shard.doing("closing the shard");
    let mut connection = session::open_any(shard)?;
    refuse_moving(&mut connection, shard)?;
    if !has_table(&mut connection, CLOSED_INBOX).doing(doing)? {
        let sql = format!("UPDATE queue_meta SET state = {CLOSED}, bell = bell + 1");
        session::retried(&mut connection, |connection| connection.execute(&sql).doing(doing))?;
        let mut lapses = Lapses::default();
        while lease::bury(&mut connection, 0, &mut lapses)?.shepherds > 0 {
            if stop.is_requested() {
                return Err(Error::Stopped);
            }
            let row = connection.first("SELECT SUM(running) FROM queue_shepherd").doing(doing)?;
            progress.running.store(row.and_then(|row| row.parse(0)).unwrap_or(0), Ordering::Relaxed);
            std::thread::sleep(EVERY);
        }
        // It waits for open transactions that have inserted.
        connection.execute(format!("RENAME TABLE queue_inbox TO {CLOSED_INBOX}")).doing(doing)?;
    }
    Ok(DrainReport {
        shard: shard.name.clone(),
        is_draining: true,
        is_closed: true,
        ..DrainReport::default()
    })
}

fn refuse_moving(connection: &mut Connection, shard: &Shard) -> Result<()> {
    match State::load(connection).map_err(|error| error.of(shard))? {
        State::Moving => Err(Error::with_hint(
            shard.doing("its tasks are being moved at this moment"),
            "wait until `drover queue move` has ended",
        )),
        _ => Ok(()),
    }
}

fn has_table(connection: &mut Connection, name: &str) -> drover_db::Result<bool> {
    Ok(connection.first(format!("SHOW TABLES LIKE '{name}'"))?.is_some())
}
