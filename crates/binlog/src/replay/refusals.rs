//! What is refused before the first row: logs of another server than before, the target that wrote them, and one that does not hold what
//! they begin behind.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::Duration;

use drover_db::{Connection, quote, server};

use super::after::After;
use super::args::ReplayArgs;
use super::destination::Destination;
use super::marks::LowWaterMark;
use super::position::Found;
use super::provenance::{Provenance, quoted};
use crate::filter::Filter;
use crate::server::{Origin, ServerLogs};
use crate::source::log_number;
use crate::{Error, Result};

/// The logs are of another server than before.
pub(super) fn elsewhere(why: String) -> Error {
    Error::with_hint(
        why,
        "are these the logs of another server? Give their replay another --name; or --restart, which forgets where this one was",
    )
}

/// The server that logs are read from: it must be the one of an earlier run.
pub(super) fn see_server(provenance: &mut Provenance, origin: &Origin) -> Result<()> {
    let (mut connection, _watched) = origin.connect()?;
    for name in ["GLOBAL.server_uuid", "GLOBAL.server_uid"] {
        let value = server::variable(&mut connection, name);
        if let Some(value) = value.map_err(|source| origin.failed("asking which server it is", source))? {
            provenance.see_server(&value).map_err(elsewhere)?;
            break;
        }
    }
    outlast(&mut connection, origin)?;
    drop(connection);
    see_last_log(provenance, origin)
}

/// The same as for files ([`super::provenance::outlast`]), by the server's clock.
fn outlast(connection: &mut Connection, origin: &Origin) -> Result<()> {
    let names = ServerLogs::names(origin)?;
    let Some(first) = names.first().filter(|name| log_number(name) == 1) else { return Ok(()) };
    let begun = ServerLogs::begun(origin, first)?;
    loop {
        let now = connection.first("SELECT UNIX_TIMESTAMP()");
        let now = now.map_err(|source| origin.failed("asking for the server's clock", source))?;
        if now.and_then(|row| row.parse(0)) != Some(begun) {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// The last log that an earlier run has read, where the server still has it, must be the one that it has by that name.
fn see_last_log(provenance: &Provenance, origin: &Origin) -> Result<()> {
    let Some((name, begun)) = provenance.last() else { return Ok(()) };
    if !ServerLogs::names(origin)?.iter().any(|log| log == name) {
        return Ok(());
    }
    let now = ServerLogs::begun(origin, name)?;
    match now == begun || now == 0 || begun == 0 {
        true => Ok(()),
        false => Err(elsewhere(format!(
            "the server's {name} is another log than the one that was applied: it was begun at {now}, that one at {begun} \
             (seconds since 1970)"
        ))),
    }
}

/// Where a replay behind a dump of other schemas is, a replay of this name would go on there, or forget it.
pub(super) fn refuse_another(args: &ReplayArgs, after: Option<&After>, found: &Found) -> Result<()> {
    let Some(after) = after else { return Ok(()) };
    let held = &found.provenance.holds;
    let own: BTreeSet<_> = after.schemas.iter().map(|schema| quoted(schema)).collect();
    if held.is_empty() || own.is_empty() || !held.is_disjoint(&own) {
        return Ok(());
    }
    let list = |schemas: &BTreeSet<String>| schemas.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    let name = args.replay_name();
    Err(Error::with_hint(
        format!(
            "the replay named '{name}' is behind a dump of {}, and this one of {}",
            list(held),
            list(&own)
        ),
        format!(
            "give this one a --name of its own; DELETE FROM drover.replay WHERE `name` = '{}' forgets where the other is",
            name.replace('\'', "''")
        ),
    ))
}

/// What the replay has applied is not in a schema that was filled once more.
pub(super) fn refuse_filled(
    found: &Found,
    selection: &str,
    schemas: Option<&BTreeSet<Vec<u8>>>,
) -> Result<()> {
    let Some(schema) = found.provenance.filled_since(selection, schemas) else { return Ok(()) };
    let LowWaterMark { log, position } = &found.mark;
    Err(Error::with_hint(
        format!(
            "the target's schema {schema} was filled anew since the replay came to {log} at {position}, by a restore or a copy: what it had applied is not there"
        ),
        FILLED_ANEW,
    ))
}

/// Who may not see where a replay is, as an account with rights to one schema, or another tool, fills it without a word: its tables tell, if each
/// was made since. Schemas without rows of the logs are as the dump has them.
pub(super) fn refuse_made_anew(
    found: &Found,
    after: Option<&After>,
    connection: &mut Connection,
    destination: &Destination,
) -> Result<()> {
    // Before the first transaction there is nothing that could be gone.
    let Some(noted) = found.noted.filter(|_| found.mark.position > 0) else { return Ok(()) };
    let rows = connection.query(
        format!("SELECT TABLE_SCHEMA, TABLE_NAME, {MADE} FROM information_schema.TABLES WHERE ENGINE IS NOT NULL AND TABLE_TYPE <> 'SEQUENCE'"),
    );
    let rows = rows.map_err(|source| destination.failed("asking when tables were made", source))?;
    let known = after.map(folded_tables);
    let mut schemas: BTreeMap<String, Vec<bool>> = BTreeMap::new();
    for row in rows {
        let (schema, table) = (row.string(0), row.string(1));
        let is_known = known.as_ref().is_none_or(|known| known.contains(&folded(&schema, &table)));
        if is_known && !table.starts_with("drover_") && found.provenance.touched.contains(&quoted(&schema)) {
            let is_made_since = row.parse::<u64>(2).is_some_and(|made| made > noted);
            schemas.entry(schema).or_default().push(is_made_since);
        }
    }
    // What was being done when the last run was killed may have been the making of a table.
    let is_anew = |made_since: &Vec<bool>| {
        made_since.iter().all(|&made_since| made_since) && (found.pending.is_none() || made_since.len() > 1)
    };
    let Some((schema, _)) = schemas.iter().find(|(_, made_since)| is_anew(made_since)) else { return Ok(()) };
    let LowWaterMark { log, position } = &found.mark;
    Err(Error::with_hint(
        format!(
            "all tables of the target's schema {schema:?} were made since the replay came to {log} at {position}: what it had applied is not there"
        ),
        FILLED_ANEW,
    ))
}

const FILLED_ANEW: &str = "--restart begins anew, with --after behind the dump; where the new rows are of that very place, --start-position \
                           and another --name begin there";

/// Servers may keep names in small letters.
fn folded(schema: &str, table: &str) -> (String, String) {
    (schema.to_lowercase(), table.to_lowercase())
}

/// The tables that the dump has.
fn folded_tables(after: &After) -> BTreeSet<(String, String)> {
    after.tables.iter().map(|(schema, table)| folded(schema, table)).collect()
}

/// When a table was made, in seconds since 1970 by the clock of its server.
const MADE: &str = "UNIX_TIMESTAMP() - TIMESTAMPDIFF(SECOND, CREATE_TIME, NOW())";
/// A table that the dump has not comes from the logs, if it is of their server; where it is there before, its rows would be there twice.
pub(super) fn refuse_others(
    after: &After,
    args: &ReplayArgs,
    connection: &mut Connection,
    destination: &Destination,
) -> Result<()> {
    let schemas: Vec<_> = after.schemas.iter().map(|schema| quote::string(schema)).collect();
    let there = connection.query(format!(
        "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES \
         WHERE TABLE_TYPE NOT LIKE '%VIEW' AND TABLE_TYPE <> 'SEQUENCE' AND TABLE_SCHEMA IN ({})",
        schemas.join(", ")
    ));
    let there = there.map_err(|source| destination.failed("listing tables", source))?;
    let known = folded_tables(after);
    let wanted = Filter::new(&args.filter, 0);
    let is_other = |row: &&drover_db::Row| {
        let (schema, table) = (row.string(0), row.string(1));
        !known.contains(&folded(&schema, &table))
            && !table.starts_with("drover_")
            && wanted.wants_table(schema.as_bytes(), table.as_bytes())
    };
    let Some(row) = there.rows.iter().find(is_other) else { return Ok(()) };
    let table = quote::qualified(&row.string(0), &row.string(1));
    Err(Error::with_hint(
        format!(
            "--after: the target has the table {table}, which the dump has not: what the logs put into it would be there twice"
        ),
        format!(
            "DROP TABLE {table} if the logs make it: restore --drop-existing drops what the dump has; --database and --table leave it out"
        ),
    ))
}

/// Where a restore or a copy has begun and not come to its end, the rows are not those that the logs change.
pub(super) fn refuse_half_filled(
    args: &ReplayArgs,
    schemas: Option<&BTreeSet<Vec<u8>>>,
    connection: &mut Connection,
    destination: &Destination,
) -> Result<()> {
    let noted = connection.query(
        "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES \
         WHERE TABLE_NAME LIKE 'drover\\_restore\\_%' OR TABLE_NAME LIKE 'drover\\_copy\\_%'",
    );
    let noted =
        noted.map_err(|source| destination.failed("looking for restores that have not ended", source))?;
    let is_same = |one: &[u8], other: &[u8]| match args.filter.may_fold() {
        true => quoted(&String::from_utf8_lossy(one)) == quoted(&String::from_utf8_lossy(other)),
        false => one == other,
    };
    let is_of_dump =
        |name: &[u8]| schemas.is_none_or(|schemas| schemas.iter().any(|schema| is_same(schema, name)));
    let is_wanted = |row: &&drover_db::Row| {
        let schema = row.string(0).into_bytes();
        args.filter.takes_schema(&schema) && is_of_dump(&schema)
    };
    let Some(row) = noted.rows.iter().find(is_wanted) else { return Ok(()) };
    let table = quote::qualified(&row.string(0), &row.string(1));
    Err(Error::with_hint(
        format!(
            "a restore or copy into the target has not come to its end, as {table} tells: the rows are not all there"
        ),
        format!(
            "resume it first, with --resume; DROP TABLE {table} where it is known that nothing is missing"
        ),
    ))
}

/// A server's own log would be applied to it once more.
pub(super) fn refuse_itself(
    origin: &Origin,
    destination: &Destination,
    target: &mut Connection,
) -> Result<()> {
    let (mut source, _watched) = origin.connect()?;
    let is_same = server::is_same(&mut source, target).map_err(|error| {
        destination.failed("finding out whether source and target are the same server", error)
    })?;
    match is_same {
        true => Err(Error::with_hint(
            "source and target are the same server: its log would be applied to it once more",
            "is one of the addresses wrong? --flashback undoes what a server did",
        )),
        false => Ok(()),
    }
}
