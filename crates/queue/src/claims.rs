//! Unique tasks: an object has at most one unfinished task of its kind, and that one holds the object's claim, a row of
//! `queue_unique`. Lanes say whether their tasks hold claims, so that the rule may change at any time.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use drover_db::{Connection, quote};

use crate::Result;
use crate::error::Doing;
use crate::rows::{each, list, number};

/// A task and what it is about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Claimant<'a> {
    pub(crate) kind: u16,
    pub(crate) object_id: &'a str,
    pub(crate) task: u64,
}

const DOING: &str = "claiming unique tasks";

/// Claims the objects for their tasks, in the transaction that is open; for each task, whether it has its object's claim. `build` is
/// the one that they belong to. What a build that is not published yet has claimed gives way to a task that is not of a build: that
/// one is to be seen now.
pub(crate) fn claim(
    connection: &mut Connection,
    tasks: &[Claimant<'_>],
    build: Option<u32>,
) -> Result<Vec<bool>> {
    if tasks.is_empty() {
        return Ok(Vec::new());
    }
    let mut first = BTreeMap::new(); // in the order of the key, as all lock them
    for task in tasks {
        first.entry((task.kind, task.object_id)).or_insert(task.task);
    }
    let of_build = build.map_or_else(|| "NULL".to_owned(), |build| build.to_string());
    let mut rows = String::new();
    for ((kind, object), task) in &first {
        let comma = if rows.is_empty() { "" } else { "," };
        let _ = write!(rows, "{comma}({kind},{},{task},{of_build})", quote::string(object));
    }
    let sql = format!("INSERT IGNORE INTO queue_unique (kind, object_id, task, build) VALUES {rows}");
    let inserted = connection.execute(sql).doing(|| DOING)?.affected;
    if inserted == tasks.len() as u64 {
        return Ok(vec![true; tasks.len()]);
    }
    let mut holders = holders(connection, first.keys().copied())?;
    if build.is_none() {
        for (&(kind, object), task) in &first {
            let Some(holder) = holders.get_mut(&(kind, object.to_owned())) else { continue };
            if let Some(loading) = holder.loading {
                let sql = format!(
                    "UPDATE queue_unique SET task = {task}, build = NULL WHERE kind = {kind} AND object_id = {} AND build = {loading}",
                    quote::string(object)
                );
                connection.execute(sql).doing(|| DOING)?;
                holder.task = *task;
            }
        }
    }
    let has = |task: &Claimant<'_>| {
        holders.get(&(task.kind, task.object_id.to_owned())).is_some_and(|holder| holder.task == task.task)
    };
    Ok(tasks.iter().map(has).collect())
}

/// For each task, whether it has its object's claim.
pub(crate) fn held(connection: &mut Connection, tasks: &[Claimant<'_>]) -> Result<Vec<bool>> {
    let holders = holders(connection, tasks.iter().map(|task| (task.kind, task.object_id)))?;
    let has = |task: &Claimant<'_>| {
        holders.get(&(task.kind, task.object_id.to_owned())).is_some_and(|holder| holder.task == task.task)
    };
    Ok(tasks.iter().map(has).collect())
}

struct Holder {
    task: u64,
    /// Its build, if that is not published yet.
    loading: Option<u32>,
}

fn holders<'a>(
    connection: &mut Connection,
    objects: impl Iterator<Item = (u16, &'a str)>,
) -> Result<HashMap<(u16, String), Holder>> {
    let mut by_kind: BTreeMap<u16, Vec<String>> = BTreeMap::new();
    for (kind, object) in objects {
        by_kind.entry(kind).or_default().push(quote::string(object));
    }
    let mut holders = HashMap::new();
    for (kind, objects) in by_kind {
        let sql = format!(
            "SELECT u.object_id, u.task, b.build FROM queue_unique u LEFT JOIN queue_build b ON b.build = u.build AND b.state = 'loading' \
             WHERE u.kind = {kind} AND u.object_id IN ({})",
            objects.join(",")
        );
        each::<3>(connection, &sql, DOING, |[object, task, loading]| {
            let holder = Holder { task: number(task), loading: loading.map(|_| number(loading)) };
            holders.insert((kind, object.unwrap_or_default().to_owned()), holder);
            Ok(())
        })?;
    }
    Ok(holders)
}

/// Ends the claims of tasks, in the transaction that is open; what they do not hold stays.
pub(crate) fn release<'a>(
    connection: &mut Connection,
    tasks: impl Iterator<Item = Claimant<'a>>,
) -> Result<()> {
    let mut by_kind: BTreeMap<u16, BTreeMap<String, u64>> = BTreeMap::new();
    for task in tasks {
        by_kind.entry(task.kind).or_default().insert(quote::string(task.object_id), task.task);
    }
    for (kind, tasks) in by_kind {
        let objects: Vec<_> = tasks.keys().map(String::as_str).collect();
        let sql = format!(
            "DELETE FROM queue_unique WHERE kind = {kind} AND object_id IN ({}) AND task IN ({})",
            objects.join(","),
            list(tasks.values().copied())
        );
        connection.execute(sql).doing(|| "freeing unique tasks")?;
    }
    Ok(())
}
