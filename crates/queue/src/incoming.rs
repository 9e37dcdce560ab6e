//! Tasks on their way in: rows of the inbox, and of the table of later tasks.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::ControlFlow;

use drover_db::{Connection, quote};

use crate::Result;
use crate::claims::Claimant;
use crate::desk::Queued;
use crate::error::Doing;
use crate::rows::{Budget, comma, each_while, number, or_null};
use crate::task::{ObjectId, Task};

/// So many tasks are moved at once.
pub(crate) const MOST: usize = 5000;

/// A task on its way in.
#[derive(Debug, Clone)]
pub(crate) struct Incoming {
    pub(crate) task: u64,
    pub(crate) kind: u16,
    pub(crate) object_id: String,
    pub(crate) payload: Option<String>,
    pub(crate) priority: i8,
    pub(crate) tenant: String,
    pub(crate) attempts: u16,
    pub(crate) created: String,
    pub(crate) created_ms: u64,
    /// When it may be begun, in milliseconds since 1970, if that is not now.
    pub(crate) due_ms: u64,
}

impl Incoming {
    pub(crate) fn claimant(&self) -> Claimant<'_> {
        Claimant { kind: self.kind, object_id: &self.object_id, task: self.task }
    }

    /// The same in its place in a lane.
    pub(crate) fn queued(&self, shard: usize, lane: u64, seq: u32) -> Queued {
        Queued {
            shard,
            lane,
            seq,
            priority: self.priority,
            created_ms: self.created_ms,
            task: Task {
                id: self.task,
                lease: 0,
                kind: self.kind,
                object_id: ObjectId::parse(&self.object_id),
                payload: self.payload.as_deref().map(Into::into),
                attempt: self.attempts.saturating_add(1),
                tenant: (*self.tenant).into(),
            },
        }
    }
}

/// Where tasks are moved from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    Inbox,
    Later,
}

impl Source {
    /// Removes them there; how many.
    pub(crate) fn remove(self, connection: &mut Connection, tasks: &[Incoming]) -> Result<u64> {
        match self {
            Self::Inbox => remove_inbox(connection, tasks),
            Self::Later => remove_later(connection, tasks),
        }
    }
}

/// The tasks of the inbox from a number on; whether there are more than these.
pub(crate) fn read_inbox(
    connection: &mut Connection,
    after: u64,
    budget: &mut Budget,
) -> Result<(Vec<Incoming>, bool)> {
    let sql = format!(
        "SELECT id, kind, object_id, payload, priority, tenant, 0, created, UNIX_TIMESTAMP(created), \
         IF(not_before > NOW(3), UNIX_TIMESTAMP(not_before), 0) FROM queue_inbox WHERE id > {after} ORDER BY id"
    );
    read(connection, &sql, "reading queue_inbox", budget)
}

/// The later tasks that are due, from a time on; whether there are more than these.
pub(crate) fn read_later(
    connection: &mut Connection,
    from: u64,
    budget: &mut Budget,
) -> Result<(Vec<Incoming>, bool)> {
    let sql = format!(
        "SELECT task, kind, object_id, payload, priority, tenant, attempts, created, UNIX_TIMESTAMP(created), due_ms / 1000 \
         FROM queue_later WHERE due_ms BETWEEN {from} AND CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS UNSIGNED) \
         ORDER BY due_ms, task"
    );
    read(connection, &sql, "reading queue_later", budget)
}

fn read(
    connection: &mut Connection,
    sql: &str,
    doing: &str,
    budget: &mut Budget,
) -> Result<(Vec<Incoming>, bool)> {
    let mut tasks = Vec::new();
    let most = budget.begin(MOST);
    let mut flow = ControlFlow::Continue(());
    each_while::<10>(
        connection,
        &format!("{sql} LIMIT {most}"),
        doing,
        |[task, kind, object, payload, priority, tenant, attempts, created, seconds, due]| {
            let millis = |seconds: Option<&str>| (number::<f64>(seconds) * 1000.0).round() as u64;
            tasks.push(Incoming {
                task: number(task),
                kind: number(kind),
                object_id: object.unwrap_or_default().to_owned(),
                payload: payload.map(str::to_owned),
                priority: number(priority),
                tenant: tenant.unwrap_or_default().to_owned(),
                attempts: number(attempts),
                created: created.unwrap_or_default().to_owned(),
                created_ms: millis(seconds),
                due_ms: millis(due),
            });
            flow = budget.goes_on(payload);
            Ok(flow)
        },
    )?;
    let has_more = tasks.len() == most || flow.is_break();
    Ok((tasks, has_more))
}

/// Puts tasks off.
pub(crate) fn write_later(connection: &mut Connection, later: &[&Incoming]) -> Result<()> {
    let mut rows = String::new();
    for task in later {
        let _ = write!(
            rows,
            "{}({},{},{},{},{},{},{},{},{},0)",
            comma(&rows),
            round_up(task.due_ms),
            task.task,
            task.kind,
            quote::string(&task.object_id),
            or_null(task.payload.as_deref()),
            task.priority,
            quote::string(&task.tenant),
            task.attempts,
            quote::string(&task.created),
        );
    }
    insert_later(connection, &rows)
}

/// Puts rows into the table of later tasks.
pub(crate) fn insert_later(connection: &mut Connection, rows: &str) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let columns = "due_ms, task, kind, object_id, payload, priority, tenant, attempts, created, is_back";
    connection
        .execute(format!("INSERT INTO queue_later ({columns}) VALUES {rows}"))
        .doing(|| "putting tasks off")?;
    Ok(())
}

/// Times are kept in tenths of a second, so that many share one and can be removed together.
pub(crate) fn round_up(millis: u64) -> u64 {
    millis.div_ceil(100) * 100
}

fn remove_inbox(connection: &mut Connection, tasks: &[Incoming]) -> Result<u64> {
    let (first, last) = match (tasks.first(), tasks.last()) {
        (Some(first), Some(last)) => (first.task, last.task),
        _ => return Ok(0),
    };
    let is_whole = last - first + 1 == tasks.len() as u64;
    let condition = match is_whole {
        true => format!("id BETWEEN {first} AND {last}"),
        false => format!("id IN ({})", crate::rows::list(tasks.iter().map(|task| task.task))),
    };
    let removed = connection
        .execute(format!("DELETE FROM queue_inbox WHERE {condition}"))
        .doing(|| "moving tasks in")?;
    Ok(removed.affected)
}

fn remove_later(connection: &mut Connection, tasks: &[Incoming]) -> Result<u64> {
    let mut by_time: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for task in tasks {
        by_time.entry(task.due_ms).or_default().push(task.task);
    }
    let mut removed = 0;
    for (due, tasks) in by_time {
        let sql = format!(
            "DELETE FROM queue_later WHERE due_ms = {due} AND task IN ({})",
            crate::rows::list(tasks)
        );
        removed += connection.execute(sql).doing(|| "moving tasks in")?.affected;
    }
    Ok(removed)
}
