//! Tasks on their way in: rows of the inbox, and of the table of later tasks.

use std::collections::HashSet;
use std::ops::ControlFlow;

use drover_db::{Connection, er, quote, server};

use crate::Result;
use crate::claims::Claimant;
use crate::desk::Queued;
use crate::error::Doing;
use crate::exact;
use crate::inserts::{Inserts, Row};
use crate::rows::{Budget, each_while, list, number};
use crate::task::{ObjectId, Task};

/// So many tasks are moved at once.
pub(crate) const MOST: usize = 5000;

/// A task on its way in.
#[derive(Debug, Clone)]
pub(crate) struct Incoming {
    /// The number of its row in the inbox.
    pub(crate) row: u64,
    /// Its own number.
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

    /// Its row in a segment.
    pub(crate) fn in_segment(&self, lane: u64, seq: usize, source: Source) -> Row {
        let before = format!("{lane},{seq},{},{},{}", self.task, self.kind, quote::string(&self.object_id));
        let after = format!("{},{}", self.attempts, quote::string(&self.created));
        Row::new(&before, self.payload.as_deref(), &after, || match source {
            Source::Inbox => self.in_inbox(),
            Source::Later => {
                format!("queue_later WHERE due_ms = {} AND task = {}", self.due_ms, self.task)
            }
        })
    }

    /// Its row in the table of later tasks, if it is in the inbox.
    fn later(&self) -> Row {
        let before = format!(
            "{},{},{},{}",
            round_up(self.due_ms),
            self.task,
            self.kind,
            quote::string(&self.object_id)
        );
        let after = format!(
            "{},{},{},{},0",
            self.priority,
            quote::string(&self.tenant),
            self.attempts,
            quote::string(&self.created)
        );
        Row::new(&before, self.payload.as_deref(), &after, || self.in_inbox())
    }

    fn in_inbox(&self) -> String {
        format!("queue_inbox WHERE id = {}", self.row)
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
    pub(crate) fn remove(self, connection: &mut Connection, tasks: &[&Incoming]) -> Result<u64> {
        let doing = || "moving tasks in";
        match self {
            Self::Inbox => {
                let keys: Vec<_> = tasks.iter().map(|task| [task.row]).collect();
                exact::delete(connection, "queue_inbox", ["id"], &keys).doing(doing)
            }
            Self::Later => {
                let keys: Vec<_> = tasks.iter().map(|task| [task.due_ms, task.task]).collect();
                exact::delete(connection, "queue_later", ["due_ms", "task"], &keys).doing(doing)
            }
        }
    }

    /// Locks those that nobody else has locked, in the transaction that is open; the numbers of their rows. `None` where that is not known: no
    /// stranger locks later tasks, and servers before MySQL 8.0 and MariaDB 10.6 cannot pass over rows.
    pub(crate) fn free(
        self,
        connection: &mut Connection,
        tasks: &[Incoming],
    ) -> Result<Option<HashSet<u64>>> {
        let (Self::Inbox, Some(first), Some(last)) = (self, tasks.first(), tasks.last()) else {
            return Ok(None);
        };
        if server::is_tidb(connection).doing(|| "moving tasks in")? {
            return without_skipping(connection, tasks).map(Some);
        }
        let sql = format!(
            "SELECT id FROM queue_inbox WHERE id BETWEEN {} AND {} FOR UPDATE SKIP LOCKED",
            first.row, last.row
        );
        match connection.query(sql) {
            Ok(rows) => Ok(Some(rows.rows.iter().filter_map(|row| row.parse(0)).collect())),
            Err(error) if exact::is_unknown_syntax(&error) => Ok(None),
            Err(error) => Err(error).doing(|| "moving tasks in"),
        }
    }
}

/// The same for TiDB, which takes SKIP LOCKED, and gives rows that others have locked all the same: halves are tried until it is known which
/// rows these are.
fn without_skipping(connection: &mut Connection, tasks: &[Incoming]) -> Result<HashSet<u64>> {
    let (mut free, mut parts) = (HashSet::new(), vec![tasks]);
    while let Some(part) = parts.pop() {
        let ids = list(part.iter().map(|task| task.row));
        let sql = format!("SELECT id FROM queue_inbox WHERE id IN ({ids}) FOR UPDATE NOWAIT");
        match connection.query(sql) {
            Ok(rows) => free.extend(rows.rows.iter().filter_map(|row| row.parse::<u64>(0))),
            Err(error) if error.code() == Some(er::LOCK_NOWAIT) && part.len() == 1 => {}
            Err(error) if error.code() == Some(er::LOCK_NOWAIT) => {
                let (low, high) = part.split_at(part.len() / 2);
                parts.extend([high, low]);
            }
            Err(error) => return Err(error).doing(|| "moving tasks in"),
        }
    }
    Ok(free)
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
                row: number(task),
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

/// Gives tasks of the inbox their numbers, `given` being the highest one that was ever given; the highest one from then on. A task has
/// the number of its row if that is higher. Rows come with lower ones where a transaction was committed late, and from servers that
/// forget with which number they went on: MySQL before 8.0 and MariaDB before 10.2.4, when they are started anew and the inbox is empty.
pub(crate) fn give_numbers(tasks: &mut [Incoming], given: u64) -> u64 {
    tasks.iter_mut().fold(given, |given, task| {
        task.task = task.row.max(given + 1);
        task.task
    })
}

/// Puts tasks of the inbox off.
pub(crate) fn write_later(connection: &mut Connection, later: &[&Incoming]) -> Result<()> {
    let rows: Vec<_> = later.iter().map(|task| task.later()).collect();
    insert_later(connection, &rows)
}

/// Puts rows into the table of later tasks.
pub(crate) fn insert_later<'r>(
    connection: &mut Connection,
    rows: impl IntoIterator<Item = &'r Row>,
) -> Result<()> {
    let columns = "due_ms, task, kind, object_id, payload, priority, tenant, attempts, created, is_back";
    let mut inserts = Inserts::new("queue_later", columns);
    rows.into_iter().for_each(|row| inserts.push(row));
    inserts.run(connection).doing(|| "putting tasks off").map(drop)
}

/// Times are kept in tenths of a second, so that many share one and can be removed together.
pub(crate) fn round_up(millis: u64) -> u64 {
    millis.div_ceil(100) * 100
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_number_is_given_twice() {
        let task = |row| Incoming {
            row,
            task: row,
            kind: 0,
            object_id: String::new(),
            payload: None,
            priority: 0,
            tenant: String::new(),
            attempts: 0,
            created: String::new(),
            created_ms: 0,
            due_ms: 0,
        };
        let mut given = 0;
        let mut numbers = Vec::new();
        for rows in [&[1, 2, 5][..], &[3, 6], &[8, 9], &[1, 2]] {
            let mut tasks: Vec<_> = rows.iter().map(|&row| task(row)).collect();
            given = give_numbers(&mut tasks, given);
            numbers.extend(tasks.iter().map(|task| task.task));
        }
        assert_eq!((numbers, given), (vec![1, 2, 5, 6, 7, 8, 9, 10, 11], 11));
    }
}
