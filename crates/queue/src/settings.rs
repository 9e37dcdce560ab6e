//! Setting what holds for kinds.

use std::time::Duration;

use drover_db::Connection;

use crate::error::Doing;
use crate::shard::Shards;
use crate::{Result, session};

/// What is to hold; what is absent stays as it is.
#[derive(Debug, Clone, Default)]
pub struct Change {
    /// Whether an object has at most one unfinished task.
    pub is_unique: Option<bool>,
    /// How often a task is tried.
    pub max_attempts: Option<u16>,
    /// How long it waits after the first failure.
    pub backoff: Option<Duration>,
    /// How long it waits at most.
    pub backoff_max: Option<Duration>,
    /// How long nothing may be heard of a task that runs.
    pub timeout: Option<Duration>,
    /// How many are begun a second; 0 for any number.
    pub rate: Option<f64>,
    /// How many run at once; 0 for any number.
    pub concurrency: Option<u32>,
    /// How long finished tasks are kept.
    pub keep: Option<Duration>,
    /// Whether none is begun.
    pub is_paused: Option<bool>,
}

impl Change {
    /// Whether all is to stay as it is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.columns().is_empty()
    }

    fn columns(&self) -> Vec<(&'static str, String)> {
        let millis = |time: &Duration| time.as_millis().to_string();
        let flag = |flag: &bool| u8::from(*flag).to_string();
        let all = [
            ("is_unique", self.is_unique.as_ref().map(flag)),
            ("max_attempts", self.max_attempts.map(|n| n.to_string())),
            ("backoff_ms", self.backoff.as_ref().map(millis)),
            ("backoff_max_ms", self.backoff_max.as_ref().map(millis)),
            ("timeout_ms", self.timeout.as_ref().map(millis)),
            ("rate", self.rate.map(|rate| rate.to_string())),
            ("concurrency", self.concurrency.map(|n| n.to_string())),
            ("keep_s", self.keep.map(|time| time.as_secs().to_string())),
            ("is_paused", self.is_paused.as_ref().map(flag)),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

/// Pauses one kind or all on every shard, or goes on with it. All are all: what was said of single kinds before no longer holds.
///
/// # Errors
/// If a shard fails: the error says which, and those before it have it.
pub fn pause(shards: &Shards, kind: Option<u16>, is_paused: bool) -> Result<()> {
    let change = Change { is_paused: Some(is_paused), ..Change::default() };
    let all = ["UPDATE queue_kind SET is_paused = NULL WHERE kind >= 0"];
    apply(shards, kind, &change, if kind.is_none() { &all } else { &[] })
}

/// Sets it on every shard, for one kind or for all that do not say otherwise; shepherds hear of it at once.
///
/// # Errors
/// If a shard fails: the error says which, and those before it have it.
pub fn set(shards: &Shards, kind: Option<u16>, change: &Change) -> Result<()> {
    apply(shards, kind, change, &[])
}

/// Sets it, after these statements.
fn apply(shards: &Shards, kind: Option<u16>, change: &Change, before: &[&str]) -> Result<()> {
    let columns = change.columns();
    let kind = kind.map_or(-1, i32::from);
    let names: Vec<_> = columns.iter().map(|(name, _)| *name).collect();
    let values: Vec<_> = columns.iter().map(|(_, value)| value.as_str()).collect();
    let updates: Vec<_> = names.iter().map(|name| format!("{name} = VALUES({name})")).collect();
    let sql = format!(
        "INSERT INTO queue_kind (kind, {}) VALUES ({kind}, {}) ON DUPLICATE KEY UPDATE {}",
        names.join(", "),
        values.join(", "),
        updates.join(", ")
    );
    for shard in &shards.shards {
        let mut connection = session::open(shard)?;
        session::retried(&mut connection, |connection| {
            let mut run =
                |sql: &str| connection.execute(sql).doing(|| shard.doing("setting rules")).map(drop);
            [&["START TRANSACTION"], before, &[&sql, "COMMIT"]]
                .concat()
                .into_iter()
                .try_for_each(&mut run)?;
            ring(connection).doing(|| shard.doing("telling shepherds"))
        })?;
    }
    Ok(())
}

/// Tells shepherds that there is something new.
pub(crate) fn ring(connection: &mut Connection) -> drover_db::Result<()> {
    connection.execute("UPDATE queue_meta SET bell = bell + 1").map(drop)
}
