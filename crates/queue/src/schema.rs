//! The queue's tables.
//!
//! A task lies in one of them, and that is its state: the inbox, into which anybody inserts; a segment, from which it is worked
//! off; the table of later ones; the dead. Rows of segments are never changed: what is done of them is a few bytes in their
//! lane's row, and when all is done the segment is dropped whole.

use drover_db::Connection;
use drover_db::er;

use crate::error::Doing;
use crate::{Error, Result, session};

/// The version of these tables.
pub(crate) const VERSION: u32 = 3;

/// What each version changed, from the second on. Several clients may do it at once, and one may be killed in between.
const CHANGES: [&[&str]; 2] = [
    // Texts of utf8mb4_bin are equal where one has spaces at its end: the claim of 'x' was that of 'x ', too.
    &["ALTER TABLE queue_unique MODIFY object_id VARBINARY(760) NOT NULL"],
    // Others know how long a lease lasts; and no number comes again, also where the server forgets AUTO_INCREMENT.
    &[
        "ALTER TABLE queue_shepherd ADD lease_ms INT UNSIGNED NOT NULL DEFAULT 7000 AFTER expires",
        "ALTER TABLE queue_meta ADD next_shepherd INT UNSIGNED NOT NULL DEFAULT 1 AFTER next_task",
        "UPDATE queue_meta SET next_shepherd = 1 + GREATEST(next_shepherd, \
         (SELECT COALESCE(MAX(shepherd), 0) FROM queue_shepherd), (SELECT COALESCE(MAX(shepherd), 0) FROM queue_count), \
         (SELECT COALESCE(MAX(owner), 0) FROM queue_lane WHERE owner < 4294967295))",
        "UPDATE queue_lane AS intake JOIN (SELECT GREATEST((SELECT COALESCE(MAX(task), 0) FROM queue_later WHERE task < 17592186044416), \
         (SELECT COALESCE(MAX(task), 0) FROM queue_dead WHERE task < 17592186044416), \
         (SELECT COALESCE(MAX(task), 0) FROM queue_unique WHERE task < 17592186044416)) AS task) AS given \
         SET intake.origin = GREATEST(given.task, COALESCE(intake.origin, 0), COALESCE(intake.first_task, 0)) WHERE intake.lane = 0",
    ],
];

/// What a task is, in every table that holds tasks.
const TASK: &str = "object_id VARCHAR(190) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, \
                    payload MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL";
const KIND: &str = "kind SMALLINT UNSIGNED NOT NULL";
const TENANT: &str = "tenant VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT ''";
const PRIORITY: &str = "priority TINYINT NOT NULL DEFAULT 0";
const CREATED: &str = "created TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3)";

/// What follows all columns.
const ENGINE: &str = "ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARSET = utf8mb4";

/// The inbox is read in the order of its numbers: TiDB's servers draw them one by one from one of them, and not each some ten thousand
/// ahead. Source: its manual, "AUTO_INCREMENT", MySQL compatibility mode. Others take it for a comment.
const NUMBERED_IN_ORDER: &str = "/*T![auto_id_cache] AUTO_ID_CACHE=1 */";

/// Ids of tasks that came by a build begin here; those of the inbox are below. JSON's numbers hold both.
pub(crate) const FIRST_BUILT: u64 = 1 << 44;

/// The lane that stands for the inbox and the table of later tasks: who owns it moves their tasks into segments.
pub(crate) const INTAKE: u64 = 0;

/// The owner of lanes that a build has not published yet.
pub(crate) const BUILDING: u32 = u32::MAX;

/// The inbox of a closed shard: who still inserts into the old one is told that it is not there.
pub(crate) const CLOSED_INBOX: &str = "queue_inbox_closed";

/// The tables with the columns of each. A queue may have been made before there was a table `queue_schedule`.
fn tables() -> Vec<(&'static str, String)> {
    [of_tasks(), of_lanes(), of_jobs()].concat()
}

/// Tables of tasks that wait, and what is known of their kinds.
fn of_tasks() -> Vec<(&'static str, String)> {
    vec![
        (
            "queue_meta",
            "one TINYINT NOT NULL PRIMARY KEY, version INT UNSIGNED NOT NULL, bell BIGINT UNSIGNED NOT NULL, \
             next_lane BIGINT UNSIGNED NOT NULL, next_segment INT UNSIGNED NOT NULL, next_task BIGINT UNSIGNED NOT NULL, \
             next_shepherd INT UNSIGNED NOT NULL DEFAULT 1, \
             id CHAR(36) CHARACTER SET ascii NOT NULL, state TINYINT UNSIGNED NOT NULL DEFAULT 0, mover INT UNSIGNED NOT NULL DEFAULT 0"
                .into(),
        ),
        (
            "queue_kind",
            "kind INT NOT NULL PRIMARY KEY, is_unique BOOLEAN NULL, max_attempts INT UNSIGNED NULL, backoff_ms BIGINT UNSIGNED NULL, \
             backoff_max_ms BIGINT UNSIGNED NULL, timeout_ms BIGINT UNSIGNED NULL, rate DOUBLE NULL, concurrency INT UNSIGNED NULL, \
             keep_s BIGINT UNSIGNED NULL, is_paused BOOLEAN NULL"
                .into(),
        ),
        (
            "queue_inbox",
            format!(
                "id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, {KIND} DEFAULT 0, {TASK}, not_before TIMESTAMP(3) NULL, \
                 {PRIORITY}, {TENANT}, {CREATED}"
            ),
        ),
        (
            "queue_later",
            format!(
                "due_ms BIGINT UNSIGNED NOT NULL, task BIGINT UNSIGNED NOT NULL, {KIND}, {TASK}, {PRIORITY}, {TENANT}, \
                 attempts SMALLINT UNSIGNED NOT NULL, {CREATED}, is_back BOOLEAN NOT NULL, PRIMARY KEY (due_ms, task)"
            ),
        ),
        (
            "queue_dead",
            format!(
                "dead BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, task BIGINT UNSIGNED NOT NULL, {KIND}, {TASK}, {PRIORITY}, \
                 {TENANT}, attempts SMALLINT UNSIGNED NOT NULL, {CREATED}, died TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3), \
                 error VARCHAR(2000) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL"
            ),
        ),
    ]
}

/// Tables of tasks that are built or taken, and of who works.
fn of_lanes() -> Vec<(&'static str, String)> {
    vec![
        (
            "queue_segment",
            "segment INT UNSIGNED NOT NULL PRIMARY KEY, build INT UNSIGNED NULL, is_open BOOLEAN NOT NULL, finished TIMESTAMP(3) NULL"
                .into(),
        ),
        (
            "queue_lane",
            format!(
                "lane BIGINT UNSIGNED NOT NULL PRIMARY KEY, owner INT UNSIGNED NOT NULL, segment INT UNSIGNED NOT NULL, {KIND}, {PRIORITY}, \
                 {TENANT}, tasks INT UNSIGNED NOT NULL, first_task BIGINT UNSIGNED NULL, origin BIGINT UNSIGNED NULL, first INT UNSIGNED NOT NULL DEFAULT 0, \
                 {CREATED}, done INT UNSIGNED NOT NULL DEFAULT 0, \
                 settled INT UNSIGNED NOT NULL DEFAULT 0, \
                 is_unique BOOLEAN NOT NULL DEFAULT 0, beyond VARBINARY(8192) NOT NULL DEFAULT ''"
            ),
        ),
        (
            "queue_unique",
            format!(
                "{KIND}, object_id VARBINARY(760) NOT NULL, task BIGINT UNSIGNED NOT NULL, \
                 build INT UNSIGNED NULL, PRIMARY KEY (kind, object_id)"
            ),
        ),
        (
            "queue_shepherd",
            "shepherd INT UNSIGNED NOT NULL PRIMARY KEY, name VARCHAR(190) NOT NULL, pid INT UNSIGNED NOT NULL, \
             started TIMESTAMP(3) NOT NULL, expires TIMESTAMP(3) NOT NULL, \
             lease_ms INT UNSIGNED NOT NULL DEFAULT 7000, workers INT UNSIGNED NOT NULL, \
             running INT UNSIGNED NOT NULL, is_hungry BOOLEAN NOT NULL DEFAULT 0"
                .into(),
        ),
        (
            "queue_count",
            format!(
                "minute INT UNSIGNED NOT NULL, shepherd INT UNSIGNED NOT NULL, {KIND}, taken BIGINT NOT NULL DEFAULT 0, \
                 done BIGINT NOT NULL DEFAULT 0, failed BIGINT NOT NULL DEFAULT 0, died BIGINT NOT NULL DEFAULT 0, \
                 merged BIGINT NOT NULL DEFAULT 0, later BIGINT NOT NULL DEFAULT 0, wait_ms BIGINT NOT NULL DEFAULT 0, \
                 run_us BIGINT NOT NULL DEFAULT 0, waits VARBINARY(512) NOT NULL DEFAULT '', runs VARBINARY(512) NOT NULL DEFAULT '', \
                 PRIMARY KEY (minute, shepherd, kind)"
            ),
        ),
    ]
}

/// Tables of builds, schedules and moves.
fn of_jobs() -> Vec<(&'static str, String)> {
    vec![
        (
            "queue_build",
            format!(
                "build INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, job VARCHAR(64) CHARACTER SET ascii NOT NULL, {KIND}, \
                 state VARCHAR(16) CHARACTER SET ascii NOT NULL, tasks BIGINT UNSIGNED NOT NULL, merged BIGINT UNSIGNED NOT NULL, \
                 source VARCHAR(512) CHARACTER SET utf8mb4 NOT NULL, position BIGINT UNSIGNED NOT NULL, started TIMESTAMP(3) NOT NULL, \
                 ended TIMESTAMP(3) NULL, places MEDIUMTEXT CHARACTER SET utf8mb4 NULL, UNIQUE KEY (job)"
            ),
        ),
        (
            "queue_schedule",
            format!(
                "name VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY, cron VARCHAR(190) CHARACTER SET utf8mb4 NOT NULL, \
                 zone VARCHAR(64) CHARACTER SET utf8mb4 NOT NULL DEFAULT 'UTC', {KIND}, {TASK}, {PRIORITY}, {TENANT}, \
                 is_paused BOOLEAN NOT NULL DEFAULT 0, next_ms BIGINT UNSIGNED NULL, last_ms BIGINT UNSIGNED NULL, \
                 fired BIGINT UNSIGNED NOT NULL DEFAULT 0, missed BIGINT UNSIGNED NOT NULL DEFAULT 0, \
                 error VARCHAR(500) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL"
            ),
        ),
        (
            "queue_transit",
            format!(
                "batch VARCHAR(64) CHARACTER SET ascii NOT NULL, n BIGINT UNSIGNED NOT NULL, target CHAR(36) CHARACTER SET ascii NOT NULL, \
                 {KIND}, {TASK}, {PRIORITY}, {TENANT}, attempts SMALLINT UNSIGNED NOT NULL, {CREATED}, due_ms BIGINT UNSIGNED NULL, \
                 is_back BOOLEAN NOT NULL, died TIMESTAMP(3) NULL, error VARCHAR(2000) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL, \
                 PRIMARY KEY (batch, n)"
            ),
        ),
        (
            "queue_received",
            "batch VARCHAR(64) CHARACTER SET ascii NOT NULL PRIMARY KEY, received TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3)".into(),
        ),
    ]
}

/// Makes the tables that are missing; those that are there stay as they are.
pub(crate) fn create(connection: &mut Connection) -> Result<()> {
    let closed = format!("SHOW TABLES LIKE '{CLOSED_INBOX}'");
    if connection.first(closed).doing(|| "looking for the queue")?.is_some() {
        return Err(crate::state::is_closed());
    }
    for (name, columns) in tables() {
        let order = if name == "queue_inbox" { NUMBERED_IN_ORDER } else { "" };
        let sql = format!("CREATE TABLE IF NOT EXISTS {name} ({columns}) {ENGINE} {order}");
        session::retried(connection, |connection| {
            connection.execute(&sql).doing(|| format!("creating {name}"))
        })?;
    }
    let id = connection.first("SELECT UUID()").doing(|| "filling queue_meta")?;
    let id = id.map(|row| row.string(0)).unwrap_or_default();
    let first = [
        format!(
            "INSERT IGNORE INTO queue_meta (one, version, bell, next_lane, next_segment, next_task, id) \
             VALUES (1, {VERSION}, 0, 1, 1, {FIRST_BUILT}, '{id}')"
        ),
        format!(
            "INSERT IGNORE INTO queue_lane (lane, owner, segment, kind, tasks) VALUES ({INTAKE}, 0, 0, 0, 0)"
        ),
    ];
    for sql in first {
        session::retried(connection, |connection| connection.execute(&sql).doing(|| "filling queue_meta"))?;
    }
    upgrade(connection)
}

/// Makes the tables what this version has. Who only looks at a queue does not change it.
pub(crate) fn upgrade(connection: &mut Connection) -> Result<()> {
    session::retried(connection, try_upgrade)
}

fn try_upgrade(connection: &mut Connection) -> Result<()> {
    check(connection)?;
    let row = connection.first("SELECT version FROM queue_meta").doing(|| "looking for the queue")?;
    let version = row.and_then(|row| row.parse::<u32>(0)).unwrap_or(VERSION);
    for (next, changes) in (2..).zip(CHANGES).filter(|(next, _)| *next > version) {
        let doing = || format!("bringing the queue's tables to version {next}");
        for change in changes {
            match connection.execute(*change) {
                Err(error) if error.code() == Some(er::DUP_FIELDNAME) => {}
                done => drop(done.doing(doing)?),
            }
        }
        let sql = format!("UPDATE queue_meta SET version = {next} WHERE version < {next}");
        connection.execute(sql).doing(doing)?;
    }
    Ok(())
}

/// The name of a segment's table.
pub(crate) fn segment(number: u32) -> String {
    format!("queue_segment_{number}")
}

/// Makes the table of a segment. The kind is for people only, and is in no row of a build: that has one kind.
pub(crate) fn create_segment(connection: &mut Connection, number: u32) -> Result<()> {
    let name = segment(number);
    let sql = format!(
        "CREATE TABLE {name} (lane BIGINT UNSIGNED NOT NULL, seq INT UNSIGNED NOT NULL, task BIGINT UNSIGNED NULL, \
         kind SMALLINT UNSIGNED NULL, {TASK}, \
         attempts SMALLINT UNSIGNED NOT NULL DEFAULT 0, created TIMESTAMP(3) NULL, PRIMARY KEY (lane, seq)) {ENGINE}"
    );
    connection.execute(sql).doing(|| format!("creating {name}"))?;
    Ok(())
}

/// Whether the tables are there, and of the version that this drover knows.
pub(crate) fn check(connection: &mut Connection) -> Result<()> {
    let row = connection.first("SELECT version FROM queue_meta").doing(|| "looking for the queue")?;
    match row.and_then(|row| row.parse::<u32>(0)) {
        Some(1..=VERSION) => Ok(()),
        Some(other) => Err(Error::with_hint(
            format!("the queue's tables are of version {other}, and this drover knows version {VERSION}"),
            "use the drover that made them, or let that one work the queue off first",
        )),
        None => Err(Error::with_hint(
            "queue_meta is empty",
            "`drover queue init` was broken off: run it once more",
        )),
    }
}
