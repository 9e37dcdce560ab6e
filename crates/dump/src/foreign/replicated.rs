//! Tables whose rows would not come to all nodes of the cluster that the target is in: refused before anything is changed where
//! definitions tell, else before the table gets its rows.

use drover_db::{Cluster, Connection, Substitutes};

use super::context::Context;
use super::inventory::Inventory;
use crate::dump::catalog::{self, Name};
use crate::error::Doing;
use crate::{Error, Result};

/// Tables that an error lists.
const SHOWN: usize = 10;
const HINT: &str = "restore it into a server outside of the cluster, ALTER these tables there, and bring them here with drover copy";

/// Refuses a dump with definitions of such tables, and one that fills such tables of the target.
pub(super) fn check(connection: &mut Connection, context: &Context<'_>, found: &Inventory) -> Result<()> {
    let Some(cluster) = context.cluster else { return Ok(()) };
    let substitutes = Substitutes::of(connection).doing(|| "asking what the target makes of definitions")?;
    let mut refused = Vec::new();
    for (name, definition) in &found.tables {
        let has_key = definition.may_have_key || substitutes.makes_keys || found.changed.contains_key(name);
        let engine = definition.engine.as_deref().filter(|engine| substitutes.keeps(engine));
        if let Some(why) = cluster.refuses_definition(engine, has_key) {
            refused.push(format!("{}: {why}", definition.place));
        }
    }
    for name in found.filled.keys().filter(|name| !found.created.contains(*name)) {
        let name = context.target(name);
        if let Some(why) = why_not(connection, cluster, &name)? {
            refused.push(format!("table {name}: {why}"));
        }
    }
    if refused.is_empty() {
        return Ok(());
    }
    let count = refused.len();
    let tables = if count == 1 { "table" } else { "tables" };
    let more = if count > SHOWN { format!("\n  and {} more", count - SHOWN) } else { String::new() };
    refused.truncate(SHOWN);
    Err(Error::with_hint(
        format!(
            "the cluster cannot hold {count} {tables} of the dump on all nodes: nothing was changed\n  {}{more}",
            refused.join("\n  ")
        ),
        HINT,
    ))
}

/// Refuses to put rows into such a table.
pub(super) fn check_one(connection: &mut Connection, cluster: Option<Cluster>, table: &Name) -> Result<()> {
    let Some(cluster) = cluster else { return Ok(()) };
    match why_not(connection, cluster, table)? {
        None => Ok(()),
        Some(why) => Err(Error::with_hint(format!("rows for {table}: {why}"), HINT)),
    }
}

fn why_not(connection: &mut Connection, cluster: Cluster, table: &Name) -> Result<Option<String>> {
    let Some(engine) = catalog::engine(connection, table)? else { return Ok(None) };
    let refused = cluster.refuses(connection, &table.to_string(), &engine);
    refused.doing(|| format!("trying to change {table}"))
}
