//! The sessions of a queue, with the reason for each of their settings.

use drover_db::options::ConnectOptions;
use drover_db::{Connection, quote};

use crate::Result;
use crate::error::Doing;
use crate::shard::Shard;

/// What a session is set to; what is wanted only may be refused.
const SETTINGS: &[(&str, &str, bool)] = &[
    // No gaps are locked, so that those who insert wait for nobody.
    ("transaction_isolation", "'READ-COMMITTED'", true),
    ("character_set_client", "utf8mb4", true),
    ("character_set_results", "utf8mb4", true),
    ("collation_connection", "utf8mb4_bin", true),
    // Times are written and read in this zone, which has no daylight saving.
    ("time_zone", "'+00:00'", true),
    ("sql_mode", "'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'", true),
    ("autocommit", "1", true),
    // Whoever holds a row of the queue's is done with it at once, or is dead.
    ("innodb_lock_wait_timeout", "5", false),
    ("lock_wait_timeout", "30", false),
    // What is done of a lane is all of its row that changes.
    ("binlog_row_image", "'MINIMAL'", false),
    ("net_read_timeout", "600", false),
    ("net_write_timeout", "600", false),
    ("wait_timeout", "86400", false),
    ("max_statement_time", "0", false),
    ("max_execution_time", "0", false),
    ("query_cache_type", "OFF", false),
];

/// Opens a session in the queue's schema.
pub(crate) fn open(shard: &Shard) -> Result<Connection> {
    open_watched(shard, |_| Ok(()))
}

/// The same; `opened` sees the connection before anything is done with it.
pub(crate) fn open_watched(
    shard: &Shard,
    opened: impl FnOnce(&Connection) -> drover_db::Result<()>,
) -> Result<Connection> {
    shard.schema()?;
    let doing = || shard.doing("connecting");
    let mut connection = Connection::open(&shard.options).doing(doing)?;
    opened(&connection).doing(doing)?;
    set(&mut connection, shard)?;
    Ok(connection)
}

/// Opens a session, and makes the schema first if it is not there.
pub(crate) fn open_new(shard: &Shard) -> Result<Connection> {
    let schema = quote::identifier(shard.schema()?);
    let options = ConnectOptions { database: None, ..shard.options.clone() };
    let mut connection = Connection::open(&options).doing(|| shard.doing("connecting"))?;
    set(&mut connection, shard)?;
    for sql in [format!("CREATE DATABASE IF NOT EXISTS {schema}"), format!("USE {schema}")] {
        connection.execute(sql).doing(|| shard.doing(&format!("making schema {schema}")))?;
    }
    Ok(connection)
}

fn set(connection: &mut Connection, shard: &Shard) -> Result<()> {
    for (name, value, is_needed) in SETTINGS {
        let mut result = connection.execute(format!("SET SESSION {name} = {value}"));
        if result.is_err() && *name == "transaction_isolation" {
            result = connection.execute(format!("SET SESSION tx_isolation = {value}")); // MariaDB before 11.1
        }
        match result {
            Err(drover_db::Error::Server(_)) if !is_needed => {}
            other => drop(other.doing(|| shard.doing(&format!("setting {name}")))?),
        }
    }
    Ok(())
}
