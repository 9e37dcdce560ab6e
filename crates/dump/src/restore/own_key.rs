//! The column that MySQL adds to tables without a primary key where `sql_generate_invisible_primary_key` is ON, as on Azure, and the account
//! may not switch that off for its session.

use drover_db::Connection;
use drover_db::table::ColumnFacts;

use crate::Result;
use crate::error::Doing;
use drover_format::manifest::Table;

const COLUMN: &str = "my_row_id";

/// Whether one of a table's columns may be it.
pub(super) fn may_be_there(columns: &[ColumnFacts]) -> bool {
    columns.iter().any(|column| column.name == COLUMN)
}

/// Reads as if no table had it, unless the dump's has.
pub(super) fn without<T>(
    connection: &mut Connection,
    table: &Table,
    read: impl FnOnce(&mut Connection) -> Result<T>,
) -> Result<T> {
    if table.columns.iter().any(|column| column.name == COLUMN) {
        return read(connection);
    }
    show(connection, "OFF")?;
    let found = read(connection);
    show(connection, "ON")?;
    found
}

/// Other servers have no such setting, nor such columns.
fn show(connection: &mut Connection, on: &str) -> Result<()> {
    const NAME: &str = "show_gipk_in_create_table_and_information_schema";
    connection.set_if_taken(NAME, on).map(drop).doing(|| format!("setting {NAME}"))
}
