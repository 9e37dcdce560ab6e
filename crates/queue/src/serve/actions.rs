//! What can be done from the page: pausing kinds, and looking through dead tasks, giving them another try or dropping them. A shard
//! is called by a thread of its own, and waited for no longer than a while.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::watch::State;
use crate::dead::{self, Which};
use crate::error::Doing;
use crate::rows::{each, number};
use crate::settings;
use crate::shard::{Place, Shard, Shards};
use crate::{Error, Result, session};

/// So many of the latest dead tasks of a shard are looked through at once: who has millions of them gets an answer all the same.
const LOOKED_THROUGH: u64 = 10_000;
/// So many tasks and errors are shown of a shard.
const SHOWN: u64 = 50;
/// So many tasks are retried or dropped in a call; the page calls until none is left.
const AT_ONCE: u64 = 500;
/// So many calls wait for a shard.
const MOST_CALLS: usize = 8;

/// Which dead tasks are meant.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Filter {
    pub(crate) kind: Option<u16>,
    /// Text that their errors hold.
    pub(crate) error: Option<String>,
}

/// Dead tasks that were seen in a preview.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Previewed {
    pub(crate) shard: String,
    #[serde(default)]
    filter: Filter,
    /// One of them only.
    task: Option<u64>,
    /// The numbers of the first and the last row that the preview looked at.
    from: u64,
    to: u64,
}

/// The dead tasks of a shard that a filter lets through.
#[derive(Debug, Serialize)]
pub(crate) struct Preview {
    shard: String,
    from: u64,
    to: u64,
    matching: u64,
    /// Whether there are older ones that were not looked at.
    has_older: bool,
    /// The most frequent errors.
    errors: Vec<Group>,
    /// The latest.
    tasks: Vec<Fallen>,
}

/// Tasks of a kind that failed in the same way.
#[derive(Debug, Serialize)]
struct Group {
    kind: u16,
    error: String,
    tasks: u64,
}

/// A dead task, without its payload.
#[derive(Debug, Serialize)]
struct Fallen {
    id: u64,
    kind: u16,
    object_id: String,
    attempts: u16,
    /// In milliseconds since 1970.
    died_ms: u64,
    error: String,
}

/// What a person wants of kinds.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pause {
    /// All that do not say otherwise, if absent.
    kind: Option<u16>,
    is_paused: bool,
}

/// Looks through the latest dead tasks of a shard.
pub(crate) fn preview(shard: &Shard, filter: &Filter) -> Result<Preview> {
    let doing = || shard.doing("looking through dead tasks");
    let mut connection = session::open(shard)?;
    let mut at = |tail: String| {
        let row = connection
            .first(format!("SELECT dead FROM queue_dead ORDER BY dead DESC {tail}"))
            .doing(doing)?;
        Ok::<_, Error>(row.and_then(|row| row.parse::<u64>(0)))
    };
    let to = at("LIMIT 1".into())?.unwrap_or(0);
    let older = at(format!("LIMIT 1 OFFSET {LOOKED_THROUGH}"))?;
    let from = older.map_or(0, |older| older + 1);
    let which =
        Which { kind: filter.kind, error: filter.error.clone(), rows: Some(from..=to), ..Which::default() };
    let condition = which.condition();
    let count =
        connection.first(format!("SELECT COUNT(*) FROM queue_dead WHERE {condition}")).doing(doing)?;
    let (mut errors, mut tasks) = (Vec::new(), Vec::new());
    let sql = format!(
        "SELECT kind, LEFT(error, 120), COUNT(*) FROM queue_dead WHERE {condition} GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT {SHOWN}"
    );
    each::<3>(&mut connection, &sql, "reading queue_dead", |[kind, error, tasks]| {
        let error = error.unwrap_or_default().to_owned();
        errors.push(Group { kind: number(kind), error, tasks: number(tasks) });
        Ok(())
    })?;
    let sql = format!(
        "SELECT task, kind, object_id, attempts, FLOOR(1000 * UNIX_TIMESTAMP(died)), LEFT(error, 500) FROM queue_dead \
         WHERE {condition} ORDER BY dead DESC LIMIT {SHOWN}"
    );
    each::<6>(&mut connection, &sql, "reading queue_dead", |[task, kind, object, attempts, died, error]| {
        tasks.push(Fallen {
            id: number(task),
            kind: number(kind),
            object_id: object.unwrap_or_default().to_owned(),
            attempts: number(attempts),
            died_ms: number(died),
            error: error.unwrap_or_default().to_owned(),
        });
        Ok(())
    })?;
    let matching = count.and_then(|row| row.parse(0)).unwrap_or(0);
    Ok(Preview { shard: shard.name.clone(), from, to, matching, has_older: older.is_some(), errors, tasks })
}

/// Gives some of the tasks that were seen another try, or drops them; how many.
pub(crate) fn change(shard: &Shard, seen: &Previewed, again: bool) -> Result<u64> {
    let which = Which {
        kind: seen.filter.kind,
        tasks: seen.task.into_iter().collect(),
        error: seen.filter.error.clone(),
        rows: Some(seen.from..=seen.to),
        limit: Some(AT_ONCE),
    };
    match again {
        true => dead::retry(&alone(shard), &which),
        false => dead::drop_dead(&alone(shard), &which),
    }
}

/// Pauses a kind on a shard, or goes on with it.
pub(crate) fn pause(shard: &Shard, pause: Pause) -> Result<()> {
    settings::pause(&alone(shard), pause.kind, pause.is_paused)
}

fn alone(shard: &Shard) -> Shards {
    Shards { shards: vec![shard.clone()], place: Place::default(), warnings: Vec::new() }
}

/// A call that is under way, until this is dropped.
struct Call(Arc<State>, usize);

impl Call {
    fn calls(&self) -> Option<&AtomicUsize> {
        self.0.shards.get(self.1).map(|watched| &watched.calls)
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.calls().map(|calls| calls.fetch_sub(1, Ordering::SeqCst));
    }
}

/// Calls a shard and waits for it, at most so long; what began may be done all the same.
pub(crate) async fn call<T: Send + 'static>(
    state: &Arc<State>,
    at: usize,
    limit: Duration,
    work: impl FnOnce(&Shard) -> Result<T> + Send + 'static,
) -> std::result::Result<T, String> {
    let watched = state.shards.get(at).ok_or("there is no such shard")?;
    if !watched.is_reached() {
        return Err("the shard is not reached".into());
    }
    let before = watched.calls.fetch_add(1, Ordering::SeqCst);
    let call = Call(Arc::clone(state), at);
    if before >= MOST_CALLS {
        return Err("the shard still has to answer others".into());
    }
    let shard = watched.shard.clone();
    let (sender, answer) = tokio::sync::oneshot::channel();
    let run = move || {
        let _nobody_waits_any_more = sender.send(work(&shard).map_err(|error| error.to_string()));
        drop(call);
    };
    let thread = std::thread::Builder::new().name("call".into()).spawn(run);
    thread.map_err(|error| format!("starting a thread: {error}"))?;
    match tokio::time::timeout(limit, answer).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) => Err("the shard's thread ended by a panic".into()),
        Err(_) => Err(format!("the shard has not answered in {} ms", limit.as_millis())),
    }
}
