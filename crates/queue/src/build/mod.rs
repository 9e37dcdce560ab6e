//! Building: tasks by the million, loaded into segments of their own over all shards at once, and published on each in one short
//! transaction. Nobody who inserts or works meanwhile touches a table or a row that a build touches.

mod pace;
mod query;
mod writer;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};

use drover_db::{Connection, Stop, quote};
use serde::Serialize;

use crate::error::Doing;
use crate::identity::refuse_same;
use crate::place::Placement;
use crate::push::all_drained;
use crate::record::Record;
use crate::shard::{Shard, Shards};
use crate::{Error, Result, schema, session};
use writer::{Batch, Writer};

pub use query::QueryRows;
pub(crate) use writer::draw_tasks;

/// What is to be built.
#[derive(Debug, Clone)]
pub struct BuildOptions {
    /// Its name: the same one goes on with a build that was broken off.
    pub job: String,
    /// The kind of all its tasks.
    pub kind: u16,
    /// Of tasks that do not say otherwise.
    pub priority: i8,
    /// Of tasks that do not say otherwise.
    pub tenant: String,
    /// What the tasks are read from, for `queue stat`.
    pub source: String,
    /// Whether it pauses between transactions, so that live traffic does not wait.
    pub pauses: bool,
}

/// A name for a build that was given none.
pub fn new_job(kind: u16) -> String {
    format!("{kind}-{}-{}", jiff::Timestamp::now().strftime("%Y%m%dT%H%M%S%3fZ"), std::process::id())
}

/// What was built.
#[derive(Debug, Clone, Serialize)]
pub struct BuildReport {
    /// The build's name.
    pub job: String,
    /// Tasks that were published.
    pub tasks: u64,
    /// Tasks that were left out, since their object had an unfinished one.
    pub merged: u64,
    /// Lines that were read.
    pub read: u64,
    /// How long it took.
    pub seconds: f64,
}

/// How far a build is.
#[derive(Debug, Default)]
pub struct BuildProgress {
    /// Tasks that are stored.
    pub stored: AtomicU64,
}

/// So many batches wait for a shard that is slower than the others.
const WAITING: usize = 4;

/// Builds from `records`, each with the number of its line, or the error that ends the build.
///
/// # Errors
/// If a record cannot be a task, or a shard fails. What was stored stays, unseen, for the same job to go on.
pub fn build(
    shards: &Shards,
    options: &BuildOptions,
    records: impl Iterator<Item = Result<Record>>,
    progress: &BuildProgress,
    stop: &Stop,
) -> Result<BuildReport> {
    let started = std::time::Instant::now();
    check_job(&options.job)?;
    refuse_same(shards)?;
    let mut writers: Vec<Option<Writer<'_>>> =
        shards.shards.iter().map(|shard| open(shard, options)).collect::<Result<_>>()?;
    let placement = placement(shards, &mut writers)?;
    if writers.iter().flatten().all(|writer| writer.is_published) {
        return Err(Error::with_hint(
            format!("build '{}' was published before", options.job),
            "a new build needs another --job",
        ));
    }
    let (read, writers) = written(shards, &placement, options, records, writers, progress, stop);
    let mut writers = writers?;
    let read = read?;
    let (mut tasks, mut merged) = (0, 0);
    for writer in &mut writers {
        writer.publish()?;
        tasks += writer.tasks;
        merged += writer.merged;
    }
    Ok(BuildReport {
        job: options.job.clone(),
        tasks,
        merged,
        read,
        seconds: started.elapsed().as_secs_f64(),
    })
}

/// Gives each record to the thread of its shard, which stores it; what was read, and the writers.
fn written<'a>(
    shards: &Shards,
    placement: &Placement,
    options: &BuildOptions,
    records: impl Iterator<Item = Result<Record>>,
    writers: Vec<Option<Writer<'a>>>,
    progress: &BuildProgress,
    stop: &Stop,
) -> (Result<u64>, Result<Vec<Writer<'a>>>) {
    let failed = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (mut lines, mut threads) = (Vec::new(), Vec::new());
        for writer in writers {
            let Some(mut writer) = writer else {
                lines.push(None);
                continue;
            };
            let (sender, receiver) = sync_channel::<Batch>(WAITING);
            lines.push(Some(Line {
                sender,
                batch: Batch::default(),
                from: writer.position,
                is_open: !writer.is_published,
            }));
            let failed = &failed;
            threads.push(scope.spawn(move || {
                for batch in receiver {
                    let stored =
                        writer.store(&batch).inspect_err(|_| failed.store(true, Ordering::SeqCst))?;
                    progress.stored.fetch_add(stored, Ordering::Relaxed);
                    if options.pauses {
                        std::thread::sleep(writer.pace.pause());
                    }
                }
                Ok(writer)
            }));
        }
        let read = distribute(shards, placement, options, records, lines, stop, &failed);
        let writers: Result<Vec<_>> = threads
            .into_iter()
            .map(|thread| {
                thread.join().unwrap_or_else(|_| Err(Error::found("a shard's thread ended by a panic")))
            })
            .collect();
        (read, writers)
    })
}

/// The longest name of a build, in bytes.
const LONGEST_JOB: usize = 64;

/// Whether the table of builds can hold its name.
fn check_job(job: &str) -> Result<()> {
    let fits =
        (1..=LONGEST_JOB).contains(&job.len()) && job.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    match fits && !job.ends_with(' ') {
        true => Ok(()),
        false => Err(Error::with_hint(
            format!("a build cannot be named '{job}'"),
            format!(
                "--job takes 1 to {LONGEST_JOB} letters, digits and signs of ASCII, without a blank at the end"
            ),
        )),
    }
}

/// Where the tasks of a shard go.
struct Line {
    sender: SyncSender<Batch>,
    batch: Batch,
    /// Records before this one are stored.
    from: u64,
    is_open: bool,
}

/// Where the tasks go: as it was noted when the build began, or else to those shards that take tasks now. It is noted on all shards
/// before the first task is stored, so that a build that goes on gives each task to the shard that it had.
fn placement(shards: &Shards, writers: &mut [Option<Writer<'_>>]) -> Result<Placement> {
    let noted = writers.iter().flatten().find_map(|writer| writer.places.clone());
    let placement = match &noted {
        Some(places) => Placement::noted(shards, places).map_err(|gone| {
            Error::with_hint(
                format!("the build was begun with a shard '{gone}', which is not named any more"),
                "name the shards as they were, or cancel the build with --cancel and begin a new one",
            )
        })?,
        None => {
            let mut placement = Placement::new(shards);
            for (at, writer) in writers.iter_mut().enumerate() {
                let takes = writer.as_mut().map_or(Ok(false), Writer::takes)?;
                placement.set(at, takes);
            }
            placement
        }
    };
    let places = noted.unwrap_or_else(|| placement.places(shards));
    if !(0..writers.len()).any(|at| placement.takes(at)) {
        writers.iter_mut().flatten().try_for_each(Writer::forget)?;
        return Err(all_drained(shards));
    }
    for (shard, writer) in shards.shards.iter().zip(writers) {
        match writer {
            Some(writer) => writer.note(&places)?,
            None if places.has(shard) => {
                return Err(Error::found(
                    shard.doing("the build was begun with it, and it cannot be reached"),
                ));
            }
            None => {}
        }
    }
    Ok(placement)
}

/// What stores a build's tasks on a shard; `None` where the file has it drain, and it cannot be reached.
fn open<'a>(shard: &'a Shard, options: &'a BuildOptions) -> Result<Option<Writer<'a>>> {
    match Writer::open(shard, options) {
        Err(_) if shard.is_draining => Ok(None),
        opened => opened.map(Some),
    }
}

#[allow(clippy::too_many_arguments, reason = "what one thread hands to the others")]
fn distribute(
    shards: &Shards,
    placement: &Placement,
    options: &BuildOptions,
    records: impl Iterator<Item = Result<Record>>,
    mut lines: Vec<Option<Line>>,
    stop: &Stop,
    failed: &AtomicBool,
) -> Result<u64> {
    let mut read = 0u64;
    for record in records {
        let record = record?;
        let tenant = record.tenant.as_deref().unwrap_or(&options.tenant);
        let at = placement.of(&record.object_id, tenant, read).ok_or_else(|| all_drained(shards))?;
        let Some(Some(line)) = lines.get_mut(at) else { continue };
        if line.is_open && read >= line.from {
            line.batch.push(record);
        }
        read += 1;
        line.batch.end = read;
        if line.batch.is_full() {
            if stop.is_requested() {
                return Err(Error::Stopped);
            }
            if failed.load(Ordering::SeqCst) || line.sender.send(std::mem::take(&mut line.batch)).is_err() {
                return Ok(read); // its writer tells why
            }
        }
    }
    for mut line in lines.into_iter().flatten() {
        line.batch.end = read;
        let _ = line.sender.send(line.batch);
    }
    Ok(read)
}

/// Drops what a build has stored that was not published; whether there was such a build. One that is at work ends with an error.
///
/// # Errors
/// If a shard fails. It can be called again then, to drop the rest.
pub fn cancel(shards: &Shards, job: &str) -> Result<bool> {
    let mut any = false;
    for shard in &shards.shards {
        any |= cancel_on(shard, job)?;
    }
    Ok(any)
}

fn cancel_on(shard: &Shard, job: &str) -> Result<bool> {
    let mut connection = session::open(shard)?;
    let doing = || shard.doing("cancelling a build");
    let sql = format!(
        "SELECT build FROM queue_build WHERE job = {} AND state IN ('loading', 'cancelled')",
        quote::string(job)
    );
    let Some(build) = connection.first(sql).doing(doing)?.and_then(|row| row.parse::<u32>(0)) else {
        return Ok(false);
    };
    // First of all: from here on its writer stores nothing more, as that would change the same row.
    let sql = format!(
        "UPDATE queue_build SET state = 'cancelled', ended = NOW(3) WHERE build = {build} AND state = 'loading'"
    );
    let was_loading = connection.execute(sql).doing(doing)?.affected > 0;
    Ok(drop_stored(&mut connection, shard, build)? || was_loading)
}

/// Drops what a cancelled build has stored; whether there was anything. If it was published meanwhile, nothing of it is dropped.
fn drop_stored(connection: &mut Connection, shard: &Shard, build: u32) -> Result<bool> {
    let doing = || shard.doing("cancelling a build");
    let is_cancelled = format!("SELECT 1 FROM queue_build WHERE build = {build} AND state = 'cancelled'");
    if connection.first(is_cancelled).doing(doing)?.is_none() {
        return Ok(false);
    }
    let segments = connection
        .query(format!("SELECT segment FROM queue_segment WHERE build = {build}"))
        .doing(doing)?
        .rows;
    for segment in segments.iter().filter_map(|row| row.parse::<u32>(0)) {
        release_claims(connection, shard, segment)?;
        for sql in [
            format!("DELETE FROM queue_lane WHERE segment = {segment} AND owner = {}", schema::BUILDING),
            format!("DROP TABLE IF EXISTS {}", schema::segment(segment)),
            format!("DELETE FROM queue_segment WHERE segment = {segment}"),
        ] {
            connection.execute(sql).doing(doing)?;
        }
    }
    Ok(!segments.is_empty())
}

/// Ends the claims of a segment's tasks, lane by lane.
fn release_claims(connection: &mut Connection, shard: &Shard, segment: u32) -> Result<()> {
    let doing = || shard.doing("cancelling a build");
    let sql = format!("SELECT lane, kind FROM queue_lane WHERE segment = {segment} AND is_unique = 1");
    for row in connection.query(sql).doing(doing)?.rows {
        let (lane, kind) = (row.string(0), row.string(1));
        let table = schema::segment(segment);
        let sql = format!(
            "DELETE u FROM queue_unique u JOIN {table} s ON u.kind = {kind} AND u.object_id = CAST(s.object_id AS BINARY) AND u.task = s.task \
             WHERE s.lane = {lane}"
        );
        connection.execute(sql).doing(doing)?;
    }
    Ok(())
}
