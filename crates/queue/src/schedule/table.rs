//! The table of schedules.

use drover_db::{Connection, er, quote};

use super::Schedule;
use crate::error::Doing;
use crate::rows::{each, number, or_null};
use crate::shard::Shard;
use crate::{Error, Result};

const COLUMNS: &str = "name, cron, zone, kind, object_id, payload, priority, tenant, is_paused, next_ms, last_ms, fired, missed, error";

/// All schedules of a shard; without their payloads, unless these are wanted. There are none where the queue was made before there
/// was a table for them, unless these are wanted.
pub(crate) fn read(connection: &mut Connection, wants_payloads: bool) -> Result<Vec<Schedule>> {
    let columns = match wants_payloads {
        true => COLUMNS.to_owned(),
        false => COLUMNS.replace("payload", "NULL"),
    };
    match select(connection, &format!("SELECT {columns} FROM queue_schedule ORDER BY name")) {
        Err(error) if !wants_payloads && is_too_old(&error) => Ok(Vec::new()),
        other => other,
    }
}

/// Whether the queue was made before there were schedules.
pub(super) fn is_too_old(error: &Error) -> bool {
    error.code() == Some(er::NO_SUCH_TABLE)
}

/// Those that are due, which nobody else changes before the transaction ends.
pub(super) fn hold_due(connection: &mut Connection, now_ms: u64, most: usize) -> Result<Vec<Schedule>> {
    let columns = COLUMNS.replace("payload", "NULL");
    select(
        connection,
        &format!(
            "SELECT {columns} FROM queue_schedule WHERE next_ms <= {now_ms} ORDER BY next_ms, name LIMIT {most} FOR UPDATE"
        ),
    )
}

/// The one of this name, which nobody else changes before the transaction ends.
pub(super) fn hold(connection: &mut Connection, shard: &Shard, name: &str) -> Result<Option<Schedule>> {
    let name = quote::string(name);
    let sql = format!("SELECT {COLUMNS} FROM queue_schedule WHERE name = {name} FOR UPDATE");
    Ok(select(connection, &sql).map_err(|error| error.of(shard))?.pop())
}

fn select(connection: &mut Connection, sql: &str) -> Result<Vec<Schedule>> {
    let mut found = Vec::new();
    each::<14>(connection, sql, "reading queue_schedule", |fields| {
        let [name, cron, zone, kind, object_id, payload, priority, tenant, rest @ ..] = fields;
        let [is_paused, next, last, fired, missed, error] = rest;
        let text = |field: Option<&str>| field.unwrap_or_default().to_owned();
        found.push(Schedule {
            shard: String::new(),
            name: text(name),
            cron: text(cron),
            timezone: text(zone),
            kind: number(kind),
            object_id: text(object_id),
            payload: payload.map(str::to_owned),
            priority: number(priority),
            tenant: text(tenant),
            is_paused: is_paused == Some("1"),
            next_ms: next.map(|next| number(Some(next))),
            last_ms: last.map(|last| number(Some(last))),
            fired: number(fired),
            missed: number(missed),
            error: error.map(str::to_owned),
        });
        Ok(())
    })?;
    Ok(found)
}

/// Begins a transaction.
pub(super) fn begin(connection: &mut Connection, shard: &Shard) -> Result<()> {
    connection.execute("START TRANSACTION").doing(|| shard.doing("setting a schedule")).map(drop)
}

/// Writes a schedule, in the place of what has its name.
pub(super) fn write(connection: &mut Connection, shard: &Shard, schedule: &Schedule) -> Result<()> {
    let number = |millis: Option<u64>| millis.map_or_else(|| "NULL".to_owned(), |millis| millis.to_string());
    let sql = format!(
        "REPLACE INTO queue_schedule ({COLUMNS}) VALUES ({}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {})",
        quote::string(&schedule.name),
        quote::string(&schedule.cron),
        quote::string(&schedule.timezone),
        schedule.kind,
        quote::string(&schedule.object_id),
        or_null(schedule.payload.as_deref()),
        schedule.priority,
        quote::string(&schedule.tenant),
        u8::from(schedule.is_paused),
        number(schedule.next_ms),
        number(schedule.last_ms),
        schedule.fired,
        schedule.missed,
        or_null(schedule.error.as_deref()),
    );
    connection.execute(sql).doing(|| shard.doing("setting a schedule")).map(drop)
}

/// Removes a schedule.
pub(super) fn remove(connection: &mut Connection, shard: &Shard, name: &str) -> Result<()> {
    let sql = format!("DELETE FROM queue_schedule WHERE name = {}", quote::string(name));
    connection.execute(sql).doing(|| shard.doing("dropping a schedule")).map(drop)
}
