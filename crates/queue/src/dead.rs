//! Tasks that failed for the last time: a person looks at them, gives them another try, or drops them.

use std::ops::RangeInclusive;

use drover_db::Connection;
use serde::Serialize;

use crate::error::Doing;
use crate::identity::refuse_same;
use crate::rows::{each, number};
use crate::shard::{Shard, Shards};
use crate::task::ObjectId;
use crate::{Error, Result, exact, session};

/// So many are taken in one transaction.
const BATCH: u64 = 1000;

/// Which dead tasks are meant.
#[derive(Debug, Clone, Default)]
pub struct Which {
    /// Of this kind only.
    pub kind: Option<u16>,
    /// These only.
    pub tasks: Vec<u64>,
    /// Those whose error holds this text.
    pub error: Option<String>,
    /// Those only whose rows of `queue_dead` have these numbers; each shard numbers its own.
    pub rows: Option<RangeInclusive<u64>>,
    /// At most so many; of each shard.
    pub limit: Option<u64>,
}

impl Which {
    /// The same as SQL.
    pub(crate) fn condition(&self) -> String {
        let mut conditions = vec!["TRUE".to_owned()];
        conditions.extend(self.kind.map(|kind| format!("kind = {kind}")));
        if !self.tasks.is_empty() {
            conditions.push(format!("task IN ({})", crate::rows::list(self.tasks.iter().copied())));
        }
        conditions.extend(
            self.rows.as_ref().map(|rows| format!("dead BETWEEN {} AND {}", rows.start(), rows.end())),
        );
        let text = |text: &String| format!("LOCATE({}, error) > 0", drover_db::quote::string(text));
        conditions.extend(self.error.as_ref().map(text));
        conditions.join(" AND ")
    }
}

/// A dead task.
#[derive(Debug, Clone, Serialize)]
pub struct DeadTask {
    /// Its shard; empty where there is only one.
    pub shard: String,
    /// Its number.
    pub id: u64,
    /// Its kind.
    pub kind: u16,
    /// What it is about, as text.
    pub object_id: String,
    /// What came with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<String>,
    /// How often it was tried.
    pub attempts: u16,
    /// When it was given up, as `2026-03-01T04:05:06.789Z`.
    pub died: String,
    /// What went wrong at last.
    pub error: String,
}

/// The dead tasks that are meant, the latest first.
///
/// # Errors
/// If a shard fails.
pub fn dead(shards: &Shards, which: &Which) -> Result<Vec<DeadTask>> {
    refuse_same(shards)?;
    let mut tasks = Vec::new();
    for shard in &shards.shards {
        let mut connection = session::open(shard)?;
        let sql = format!(
            "SELECT task, kind, object_id, payload, attempts, died, error FROM queue_dead WHERE {} ORDER BY dead DESC LIMIT {}",
            which.condition(),
            which.limit.unwrap_or(u64::MAX)
        );
        each::<7>(
            &mut connection,
            &sql,
            "reading queue_dead",
            |[task, kind, object, payload, attempts, died, error]| {
                tasks.push(DeadTask {
                    shard: shard.name.clone(),
                    id: number(task),
                    kind: number(kind),
                    object_id: ObjectId::parse(object.unwrap_or_default()).to_string(),
                    payload: payload.map(str::to_owned),
                    attempts: number(attempts),
                    died: died.map(|died| died.replace(' ', "T") + "Z").unwrap_or_default(),
                    error: error.unwrap_or_default().into(),
                });
                Ok(())
            },
        )?;
    }
    Ok(tasks)
}

/// Gives dead tasks another try, as if they had just been pushed; how many.
///
/// # Errors
/// If a shard fails; what was moved before stays so.
pub fn retry(shards: &Shards, which: &Which) -> Result<u64> {
    each_shard(shards, which, true)
}

/// Drops dead tasks; how many.
///
/// # Errors
/// If a shard fails; what was dropped before stays so.
pub fn drop_dead(shards: &Shards, which: &Which) -> Result<u64> {
    each_shard(shards, which, false)
}

fn each_shard(shards: &Shards, which: &Which, again: bool) -> Result<u64> {
    refuse_same(shards)?;
    let mut all = 0;
    for shard in &shards.shards {
        let mut connection = session::open(shard)?;
        let most = which.limit.unwrap_or(u64::MAX);
        let mut done = 0;
        while done < most {
            let count = session::retried(&mut connection, |connection| {
                batch(connection, shard, which, (most - done).min(BATCH), again)
            })?;
            if count == 0 {
                break;
            }
            done += count;
        }
        all += done;
    }
    Ok(all)
}

fn batch(connection: &mut Connection, shard: &Shard, which: &Which, most: u64, again: bool) -> Result<u64> {
    let doing = || shard.doing("taking dead tasks");
    connection.execute("START TRANSACTION").doing(doing)?;
    let sql = format!(
        "SELECT dead FROM queue_dead WHERE {} ORDER BY dead LIMIT {most} FOR UPDATE",
        which.condition()
    );
    let mut found = Vec::new();
    each::<1>(connection, &sql, "reading queue_dead", |[dead]| {
        found.push(number::<u64>(dead));
        Ok(())
    })?;
    if found.is_empty() {
        connection.execute("COMMIT").doing(doing)?;
        return Ok(0);
    }
    let list = crate::rows::list(found.iter().copied());
    let minute = "FLOOR(UNIX_TIMESTAMP(NOW(3)) / 60)";
    let (later, insert) = match again {
        // Due at once; as tasks that were put off they keep their numbers.
        true => (
            "COUNT(*)",
            Some(format!(
                "INSERT INTO queue_later (due_ms, task, kind, object_id, payload, priority, tenant, attempts, created, is_back) SELECT \
                 100 * CEIL(UNIX_TIMESTAMP(NOW(3)) * 10), task, kind, object_id, payload, priority, tenant, 0, created, 1 FROM queue_dead \
                 WHERE dead IN ({list})"
            )),
        ),
        false => ("0", None),
    };
    let count = format!(
        "INSERT INTO queue_count (minute, shepherd, kind, died, later) SELECT {minute}, 0, kind, -COUNT(*), {later} FROM queue_dead \
         WHERE dead IN ({list}) GROUP BY kind \
         ON DUPLICATE KEY UPDATE died = queue_count.died + VALUES(died), later = queue_count.later + VALUES(later)"
    );
    let ring = "UPDATE queue_meta SET bell = bell + 1".to_owned();
    for sql in insert.into_iter().chain([count]) {
        connection.execute(sql).doing(doing)?;
    }
    let keys: Vec<_> = found.iter().map(|dead| [*dead]).collect();
    let gone = exact::delete(connection, "queue_dead", ["dead"], &keys).doing(doing)?;
    if gone != found.len() as u64 {
        return Err(Error::found(shard.doing("dead tasks vanished meanwhile")));
    }
    for sql in [ring, "COMMIT".to_owned()] {
        connection.execute(sql).doing(doing)?;
    }
    Ok(gone)
}
