//! `clean`: drops what `load` made, and nothing else.

use std::sync::Arc;

use drover_db::Stop;
use drover_db::options::ConnectOptions;
use serde::Serialize;

use super::load::{drop_empty_schema, drop_tables};
use super::marker::{self, Marker};
use super::schema::TABLES;
use super::session::{Place, unless_stopped};
use crate::{Error, Result};

/// What was dropped.
#[derive(Debug, Clone, Serialize)]
pub struct CleanReport {
    /// The schema that held the tables.
    pub schema: String,
    /// The tables.
    pub tables: Vec<String>,
    /// Whether the schema was dropped too: the load had made it, and nothing else was in it.
    pub dropped_schema: bool,
}

/// Drops the tables of a load, also of one that was not finished.
///
/// # Errors
/// If the schema holds no load's tables, or the server refuses.
pub fn clean(options: &ConnectOptions, stop: &Arc<Stop>) -> Result<CleanReport> {
    unless_stopped(cleaned(options, stop), stop)
}

fn cleaned(options: &ConnectOptions, stop: &Arc<Stop>) -> Result<CleanReport> {
    let place = Place::of(options)?;
    let schema = place.schema;
    let (mut connection, _watched) = place.open(stop)?;
    let Some(marker) = Marker::find(&mut connection)? else {
        let what = format!(
            "schema {schema} holds nothing that `drover bench tpcc load` made: it has no table {}",
            marker::NAME
        );
        return Err(Error::with_hint(
            what,
            "tables of the same names that something else made are dropped by hand",
        ));
    };
    drop_tables(&mut connection)?;
    let dropped_schema = marker.made_schema && drop_empty_schema(&mut connection, schema)?;
    let tables = TABLES.iter().map(|table| table.name).chain([marker::NAME]).map(str::to_owned).collect();
    Ok(CleanReport { schema: schema.to_owned(), tables, dropped_schema })
}
