//! Statements to a node, as root over its socket.

use std::path::Path;

use drover_db::options::ConnectOptions;
use drover_db::{Connection, Result, Row};

/// A session of root.
pub(crate) fn connect(socket: &Path) -> Result<Connection> {
    Connection::open(&ConnectOptions::by_socket("root", socket))
}

/// Runs statements one after the other.
pub(crate) fn run<S: AsRef<str>>(socket: &Path, statements: &[S]) -> Result<()> {
    let mut connection = connect(socket)?;
    statements.iter().try_for_each(|sql| connection.execute(sql.as_ref()).map(|_| ()))
}

/// The first row of a query.
pub(crate) fn row(socket: &Path, sql: &str) -> Result<Option<Row>> {
    connect(socket)?.first(sql)
}

/// The first column of the first row; empty if there is no row.
pub(crate) fn value(socket: &Path, sql: &str) -> Result<String> {
    Ok(row(socket, sql)?.map(|row| row.string(0)).unwrap_or_default())
}
