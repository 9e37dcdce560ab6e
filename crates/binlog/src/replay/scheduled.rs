//! Scheduled events of the target: none may run while logs are applied, and those of the logs are off behind them.

use drover_db::{Connection, Row, quote, server};

use super::report::Problem;

/// Scheduled events that run on the target: what they change would come a second time from the logs, or in the way of them.
pub(super) fn running_events(connection: &mut Connection) -> drover_db::Result<Option<Problem>> {
    if server::variable(connection, "GLOBAL.event_scheduler")?.is_none_or(|value| value != "ON") {
        return Ok(None);
    }
    let rows = connection.query(
        "SELECT EVENT_SCHEMA, EVENT_NAME, DEFINER FROM information_schema.EVENTS WHERE STATUS = 'ENABLED' ORDER BY 1, 2",
    )?;
    let Some(first) = rows.first().map(alter_event) else { return Ok(None) };
    let names: Vec<_> =
        rows.rows.iter().map(|row| quote::qualified(&row.string(0), &row.string(1))).collect();
    let shown = names.iter().take(5).cloned().collect::<Vec<_>>().join(", ");
    Ok(Some(Problem {
        at: String::new(),
        what: format!("scheduled events run on the target, {} in all: {shown}", names.len()),
        hint: format!(
            "{first} DISABLE ON SLAVE, and so each that comes from the logs' server; with --allow-events all of them run on"
        ),
    }))
}

/// The beginning of a statement that changes an event, of its schema, name and DEFINER: without that it would run as who changes it.
fn alter_event(row: &Row) -> String {
    let definer = row.string(2);
    let definer = definer
        .rsplit_once('@')
        .map(|(user, host)| format!("DEFINER={}@{} ", quote::identifier(user), quote::identifier(host)));
    format!("ALTER {}EVENT {}", definer.unwrap_or_default(), quote::qualified(&row.string(0), &row.string(1)))
}

/// What switches an event on, by its schema and name.
pub(super) fn switch_on(connection: &mut Connection, event: &str) -> drover_db::Result<String> {
    let row = connection.first(format!(
        "SELECT EVENT_SCHEMA, EVENT_NAME, DEFINER FROM information_schema.EVENTS WHERE CONCAT(EVENT_SCHEMA, '.', EVENT_NAME) = {}",
        quote::string(event)
    ))?;
    Ok(row.map(|row| alter_event(&row) + " ENABLE").unwrap_or_default())
}
