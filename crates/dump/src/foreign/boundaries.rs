//! Rows of scripts whose sessions are not in Unicode, as mydumper's, and partitions with boundaries of text: MySQL may have put them elsewhere. See
//! [`with_text_boundaries`].

use drover_db::sql::partitions::with_text_boundaries;
use drover_db::{Connection, Error};

use super::context::Context;
use crate::Result;
use crate::dump::catalog::Name;
use crate::error::Doing;

/// Has the server move such rows into their partitions, and tells of it.
pub(super) fn check(connection: &mut Connection, context: &Context<'_>) -> Result<()> {
    // Those are the ones that read them so.
    if !context.partitions_innodb_only || context.server.is_tidb() {
        return Ok(());
    }
    let with_text = with_text_boundaries(connection).doing(|| "asking for partitions")?;
    let is_one = |name: &Name| with_text.contains(&(name.schema.to_lowercase(), name.name.to_lowercase()));
    let tables: Vec<_> = context.tally.lock().tables.keys().filter(|name| is_one(name)).cloned().collect();
    for table in tables {
        let told = match connection.query(format!("ALTER TABLE {table} REPAIR PARTITION ALL")) {
            Ok(answers) => answers
                .into_iter()
                .filter(|row| row.string(2) == "warning")
                .map(|row| row.string(3))
                .collect(),
            Err(Error::Server(error)) => vec![format!("rows may be in wrong partitions: {}", error.message)],
            Err(source) => {
                return Err(source).doing(|| format!("looking for rows of {table} in wrong partitions"));
            }
        };
        let why = "the dump's sessions are not in Unicode, in which MySQL reads the boundaries";
        context.tally.warn(told.into_iter().map(|told: String| format!("{table}: {told}: {why}")), 0);
    }
    Ok(())
}
