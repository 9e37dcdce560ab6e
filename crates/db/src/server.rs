//! What a server is. Features are probed where they are used; the vendor and the version are for messages, for the
//! record in a manifest, and for the few things that differ by vendor and cannot be probed.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::{Connection, Result, er};

/// Who makes the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Vendor {
    /// MariaDB.
    MariaDb,
    /// MySQL and those that follow its version numbers, such as Percona Server.
    MySql,
}

impl std::fmt::Display for Vendor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::MariaDb => "MariaDB",
            Self::MySql => "MySQL",
        })
    }
}

/// A server's vendor and version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Server {
    /// Who makes it.
    pub vendor: Vendor,
    /// What `SELECT VERSION()` says, such as `10.11.6-MariaDB-log`.
    pub version: String,
    /// What `@@version_comment` says.
    pub comment: String,
}

impl Server {
    /// Asks the server at the other end of `connection`.
    ///
    /// # Errors
    /// If the connection is lost.
    pub fn of(connection: &mut Connection) -> Result<Self> {
        let row = connection.first("SELECT VERSION(), @@version_comment")?;
        let (version, comment) = row.map(|row| (row.string(0), row.string(1))).unwrap_or_default();
        let vendor = match format!("{version} {comment}").to_ascii_lowercase().contains("mariadb") {
            true => Vendor::MariaDb,
            false => Vendor::MySql,
        };
        Ok(Self { vendor, version, comment })
    }

    /// Major, minor and patch number; 0 for what is not there.
    pub fn numbers(&self) -> (u32, u32, u32) {
        let mut parts =
            self.version.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse().unwrap_or(0));
        let mut next = || parts.next().unwrap_or(0);
        (next(), next(), next())
    }

    /// Whether it is TiDB, which follows MySQL's protocol and numbers, and has a store of its own. Its version may be set to anything
    /// (`server-version`); its comment may not.
    pub fn is_tidb(&self) -> bool {
        self.comment.starts_with("TiDB") || self.version.contains("-TiDB-")
    }

    /// The word that its statements have for a replica: REPLICA on MySQL from 8.0.22 and on MariaDB from 10.5.1 on, else SLAVE.
    pub fn replica_word(&self) -> &'static str {
        let first = match self.vendor {
            Vendor::MySql => (8, 0, 22),
            Vendor::MariaDb => (10, 5, 1),
        };
        if self.numbers() >= first { "REPLICA" } else { "SLAVE" }
    }
}

impl std::fmt::Display for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_tidb() {
            // "8.0.11-TiDB-v8.4.0": of MySQL it tells what it is compatible with.
            let own = self.version.split_once("-TiDB-v").and_then(|(_, own)| own.split('-').next());
            return write!(f, "TiDB {}", own.unwrap_or(&self.version));
        }
        let (major, minor, patch) = self.numbers();
        write!(f, "{} {major}.{minor}.{patch}", self.vendor)
    }
}

/// The value of a system variable, session scope first unless `name` says otherwise (`GLOBAL.sql_mode`); `None` if
/// the server does not have it, or not in that scope.
///
/// # Errors
/// If the server refuses to tell it, or the connection is lost.
pub fn variable(connection: &mut Connection, name: &str) -> Result<Option<String>> {
    match connection.first(format!("SELECT @@{name}")) {
        Ok(row) => Ok(row.and_then(|row| row.text(0))),
        // ER_UNKNOWN_SYSTEM_VARIABLE, ER_INCORRECT_GLOBAL_LOCAL_VAR
        Err(error)
            if matches!(error.code(), Some(er::UNKNOWN_SYSTEM_VARIABLE | er::INCORRECT_GLOBAL_LOCAL_VAR)) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Whether the server says that it has no such function. MySQL from 5.7 on calls that "No database selected" where no schema is chosen: it
/// looks for a stored one.
pub fn has_no_function(error: &crate::Error) -> bool {
    // ER_SP_DOES_NOT_EXIST, ER_NO_DB_ERROR
    matches!(error.code(), Some(er::SP_DOES_NOT_EXIST | er::NO_DB))
}

/// Whether it is TiDB: only that has time stamps of transactions. The server is asked once.
///
/// # Errors
/// If the server refuses to tell it, or the connection is lost.
pub fn is_tidb(connection: &mut Connection) -> Result<bool> {
    if let Some(known) = connection.is_tidb {
        return Ok(known);
    }
    let is_tidb = variable(connection, "tidb_current_ts")?.is_some();
    connection.is_tidb = Some(is_tidb);
    Ok(is_tidb)
}

/// Whether the server takes names of schemas and tables in any case for the same (`lower_case_table_names` is not 0), as on Windows and
/// where a managed server was made so.
///
/// # Errors
/// If the server refuses to tell it, or the connection is lost.
pub fn takes_any_case(connection: &mut Connection) -> Result<bool> {
    Ok(variable(connection, "GLOBAL.lower_case_table_names")?.is_some_and(|value| value != "0"))
}

/// Whether both connections lead to one server. Addresses do not tell, nor do ids, which are copied along with data directories: but
/// a lock by name is seen on its own server only. `one` must hold none that it needs, as old servers let it hold one only.
///
/// # Errors
/// If a server refuses locks by name, or a connection is lost.
pub fn is_same(one: &mut Connection, other: &mut Connection) -> Result<bool> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let name = format!("'drover_{:x}_{now:x}_{:x}'", std::process::id(), one.id());
    one.query(format!("SELECT GET_LOCK({name}, 0)"))?;
    let holder = other.first(format!("SELECT IS_USED_LOCK({name})"))?;
    one.query(format!("SELECT RELEASE_LOCK({name})"))?;
    Ok(holder.is_some_and(|row| row.text(0).is_some()))
}

/// An answer that takes no longer is not worth a larger statement.
const NEAR: Duration = Duration::from_millis(1);

/// Whether the server answers at once; a machine with other work is late now and then.
///
/// # Errors
/// That the connection is lost.
pub fn is_near(connection: &mut Connection) -> Result<bool> {
    for _ in 0..3 {
        let asked = Instant::now();
        connection.execute("DO 0")?;
        if asked.elapsed() < NEAR {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_numbers() {
        let server =
            |version: &str| Server { vendor: Vendor::MySql, version: version.into(), comment: String::new() };
        assert_eq!(server("10.11.19-MariaDB-0+deb12u1-log").numbers(), (10, 11, 19));
        assert_eq!(server("9.7.4-2").numbers(), (9, 7, 4));
        assert_eq!(server("").numbers(), (0, 0, 0));
    }

    #[test]
    fn tidb_is_no_mysql_of_that_number() {
        let server = |version: &str, comment: &str| Server {
            vendor: Vendor::MySql,
            version: version.into(),
            comment: comment.into(),
        };
        let own = "TiDB Server (Apache License 2.0) Community Edition, MySQL 8.0 compatible";
        assert!(server("8.0.11-TiDB-v8.4.0-alpha", "").is_tidb() && server("5.7.25", own).is_tidb());
        assert!(!server("8.0.11", "MySQL Community Server - GPL").is_tidb());
        assert_eq!(server("8.0.11-TiDB-v8.4.0-alpha-12-gabc", own).to_string(), "TiDB 8.4.0");
        assert_eq!(server("8.0.11", "").to_string(), "MySQL 8.0.11");
    }

    #[test]
    fn the_word_for_a_replica() {
        let word = |vendor, version: &str| {
            Server { vendor, version: version.into(), comment: String::new() }.replica_word()
        };
        assert_eq!([word(Vendor::MySql, "8.0.21"), word(Vendor::MySql, "8.0.22")], ["SLAVE", "REPLICA"]);
        assert_eq!([word(Vendor::MySql, "5.7.44-log"), word(Vendor::MySql, "9.7.4")], ["SLAVE", "REPLICA"]);
        assert_eq!(word(Vendor::MariaDb, "10.4.34-MariaDB"), "SLAVE");
        assert_eq!(word(Vendor::MariaDb, "10.11.19-MariaDB"), "REPLICA");
    }
}
