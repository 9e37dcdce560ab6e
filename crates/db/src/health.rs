//! What is read of a server to know whether it bears more work. What is too much is for others to say.

use crate::options::Address;
use crate::wire::Rows;
use crate::{Connection, Result, Row, er, quote};

/// What a server says of its replication from others, a row for each source; no rows if it is no replica. The columns have
/// the names of the server's vendor and version.
///
/// # Errors
/// If the account may not see it, or the connection is lost.
pub fn replica_status(connection: &mut Connection) -> Result<Rows> {
    first_known(connection, &["SHOW ALL REPLICAS STATUS", "SHOW REPLICA STATUS"], "SHOW SLAVE STATUS")
}

/// A server that replicates from another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replica {
    /// Its `server_id`.
    pub server_id: String,
    /// Where it says that it is (`report_host`, `report_port`); `None` if it does not say.
    pub address: Option<Address>,
}

/// The replicas that are connected to a server now.
///
/// # Errors
/// If the account may not see them, or the connection is lost.
pub fn registered_replicas(connection: &mut Connection) -> Result<Vec<Replica>> {
    let rows = first_known(connection, &["SHOW REPLICAS", "SHOW REPLICA HOSTS"], "SHOW SLAVE HOSTS")?;
    Ok(rows.rows.iter().map(|row| replica(&rows, row)).collect())
}

fn replica(rows: &Rows, row: &Row) -> Replica {
    let host = rows.column("Host").map(|at| row.string(at)).unwrap_or_default();
    let port = rows.column("Port").and_then(|at| row.parse(at)).unwrap_or(3306);
    let is_told = !host.is_empty() && port > 0;
    Replica { server_id: row.string(0), address: is_told.then_some(Address::Tcp { host, port }) }
}

/// The result of the first of some statements that the server knows.
fn first_known(connection: &mut Connection, newer: &[&str], oldest: &str) -> Result<Rows> {
    for statement in newer {
        match connection.query(statement) {
            Err(error) if error.code() == Some(er::PARSE_ERROR) => {} // ER_PARSE_ERROR
            other => return other,
        }
    }
    connection.query(oldest)
}

/// The length of InnoDB's history list: transactions whose old rows are still kept. `None` if the server does not tell it.
///
/// # Errors
/// If the account may not see it (MySQL asks for PROCESS), or the connection is lost.
pub fn history_length(connection: &mut Connection) -> Result<Option<u64>> {
    const METRIC: &str = "SELECT COUNT FROM information_schema.INNODB_METRICS WHERE NAME = 'trx_rseg_history_len' AND \
                          STATUS = 'enabled'";
    let status = connection.query("SHOW GLOBAL STATUS LIKE 'Innodb_history_list_length'")?; // MariaDB
    match status.first() {
        Some(row) => Ok(row.parse(1)),
        None => Ok(connection.first(METRIC)?.and_then(|row| row.parse(0))),
    }
}

/// The values of global status variables, in the order of their names; `None` where there is none that is a number.
///
/// # Errors
/// If the connection is lost.
pub fn status(connection: &mut Connection, names: &[&str]) -> Result<Vec<Option<f64>>> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let list: Vec<_> = names.iter().map(|name| quote::string(name)).collect();
    let sql = format!("SHOW GLOBAL STATUS WHERE Variable_name IN ({})", list.join(", "));
    let rows = connection.query(sql)?;
    let value = |name: &&str| rows.rows.iter().find(|row| row.string(0).eq_ignore_ascii_case(name))?.parse(1);
    Ok(names.iter().map(value).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replicas_that_say_where_they_are() {
        let columns = ["Server_Id", "Host", "Port"].map(Into::into).to_vec();
        let row = |values: [&str; 3]| Row::new(values.map(|value| Some(value.into())).to_vec());
        let rows = Rows { columns, rows: Vec::new() };
        let of = |values| replica(&rows, &row(values));
        let address = Some(Address::Tcp { host: "b".into(), port: 3307 });
        assert_eq!(of(["2", "b", "3307"]), Replica { server_id: "2".into(), address });
        assert_eq!(of(["3", "", "3306"]), Replica { server_id: "3".into(), address: None });
        assert_eq!(of(["4", "b", "0"]).address, None);
    }
}
