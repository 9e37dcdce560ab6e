//! Lanes whose owner is nobody. A lane's owner is a shepherd that has a row in `queue_shepherd`, or 0: one that was taken by a statement
//! which came to the server after its shepherd had been removed would wait for ever.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use drover_db::Connection;

use crate::Result;
use crate::error::Doing;
use crate::rows::number;
use crate::schema::{BUILDING, INTAKE};
use crate::session;

/// How often is looked for them.
const EVERY: Duration = Duration::from_secs(6);
/// An owner that is in no row for so long has none: one that enters is seen in it before it takes a lane.
const LASTS: Duration = Duration::from_secs(6);

/// The owners that were in no row, and since when.
#[derive(Debug)]
pub(crate) struct Orphans {
    looked: Option<Instant>,
    seen: HashMap<u32, Instant>,
}

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Lanes that were freed.
    pub(crate) freed: u64,
    /// Whether there are lanes that anybody may take.
    pub(crate) any_free: bool,
}

impl Orphans {
    pub(crate) fn new() -> Self {
        Self { looked: None, seen: HashMap::new() }
    }

    /// Frees the lanes of owners that were nobody long enough, if it is time to look.
    pub(crate) fn free(&mut self, connection: &mut Connection) -> Result<Found> {
        let now = Instant::now();
        if self.looked.is_some_and(|at| now < at + EVERY) {
            return Ok(Found::default());
        }
        self.looked = Some(now);
        let mut owners = nobodies(connection)?;
        let before = owners.len();
        owners.retain(|owner| *owner != 0);
        let mut found = Found { freed: 0, any_free: owners.len() < before };
        self.seen.retain(|owner, _| owners.contains(owner));
        for owner in owners {
            if now >= *self.seen.entry(owner).or_insert(now) + LASTS {
                found.freed += free(connection, owner)?;
            }
        }
        Ok(found)
    }
}

/// Owners of lanes that are in no row of `queue_shepherd`; 0 if there are lanes that anybody may take.
fn nobodies(connection: &mut Connection) -> Result<Vec<u32>> {
    let sql = format!(
        "SELECT DISTINCT owner FROM queue_lane WHERE owner <> {BUILDING} AND (lane > {INTAKE} OR owner <> 0) \
         AND owner NOT IN (SELECT shepherd FROM queue_shepherd)"
    );
    let rows = connection.query(sql).doing(|| "looking for lanes of nobody")?.rows;
    Ok(rows.iter().map(|row| number(row.text(0).as_deref())).collect())
}

fn free(connection: &mut Connection, owner: u32) -> Result<u64> {
    let sql = format!(
        "UPDATE queue_lane SET owner = 0 WHERE owner = {owner} \
         AND NOT EXISTS (SELECT 1 FROM queue_shepherd WHERE shepherd = {owner})"
    );
    let doing = || "freeing lanes of nobody";
    session::retried(connection, |connection| {
        let freed = connection.execute(&sql).doing(doing)?.affected;
        if freed > 0 {
            crate::settings::ring(connection).doing(doing)?;
        }
        Ok(freed)
    })
}
