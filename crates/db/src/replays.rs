//! The table on a target in which replays of binary logs note where they are: what those have to know who fill it in another way.

use crate::{Connection, Result, quote};

/// The table.
pub const TABLE: &str = "`drover`.`replay`";

/// The `worker` of the row that tells where a replay's logs come from, a line for each fact; there are fewer workers.
pub const PROVENANCE: u16 = u16::MAX;

/// The `worker` of the row that names schemas which were filled since, in a line each, as Rust writes strings: a replay that is at work never
/// writes it.
pub const FILLED: u16 = PROVENANCE - 1;

/// Notes for each replay that a schema is filled anew: where it had come to is nowhere in these rows. Does nothing where there were no replays,
/// or none that the account can see.
///
/// # Errors
/// If the account may not change the table, or the connection fails.
pub fn note_filled(connection: &mut Connection, schema: &str) -> Result<()> {
    let there =
        "SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'drover' AND TABLE_NAME = 'replay'";
    if connection.first(there)?.is_none() {
        return Ok(());
    }
    let line = quote::hex(format!("{schema:?}\n").as_bytes());
    connection.execute(format!(
        "INSERT INTO {TABLE} (`name`, `worker`, `log`, `position`, `done`) \
         SELECT `name`, {FILLED}, '', 0, {line} FROM {TABLE} AS noted WHERE `worker` = {PROVENANCE} \
         ON DUPLICATE KEY UPDATE `done` = IF(INSTR({TABLE}.`done`, {line}) = 0, CONCAT({TABLE}.`done`, {line}), {TABLE}.`done`)"
    ))?;
    Ok(())
}
