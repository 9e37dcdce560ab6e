//! What a server can hold of accounts, asked of the server itself.

use std::collections::{BTreeMap, BTreeSet};

use drover_db::{Connection, Server, Vendor, server};

use super::read;
use super::sql::Form;
use crate::Result;
use crate::error::Doing;

/// What a server can hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) vendor: Vendor,
    /// Major, minor and patch number.
    pub(crate) version: (u32, u32, u32),
    /// The privileges that it knows, in capitals.
    pub(crate) privileges: BTreeSet<String>,
    /// The authentication plugins that are loaded.
    pub(crate) plugins: BTreeSet<String>,
    /// Whether a schema can be taken out of a global grant; then `_` and `%` in schema names stand for themselves.
    pub(crate) partial_revokes: bool,
    /// Which settings it has of those that decide what accounts may do.
    pub(crate) settings: BTreeMap<String, String>,
    /// What of an account MySQL's own table has no column for.
    pub(crate) lacking: BTreeSet<&'static str>,
}

impl Facts {
    /// Asks the server.
    pub(crate) fn of(connection: &mut Connection) -> Result<Self> {
        let server = Server::of(connection).doing(|| "asking for the server's version")?;
        let vendor = server.vendor;
        let rows = connection.query("SHOW PRIVILEGES").doing(|| "asking which privileges there are")?;
        let privileges = rows.into_iter().map(|row| row.string(0).to_uppercase());
        let rows = connection
            .query(
                "SELECT PLUGIN_NAME FROM information_schema.PLUGINS WHERE PLUGIN_TYPE = 'AUTHENTICATION' AND PLUGIN_STATUS = \
                 'ACTIVE'",
            )
            .doing(|| "asking for the authentication plugins")?;
        let plugins = rows.into_iter().map(|row| row.string(0));
        let lacking = match vendor {
            Vendor::MariaDb => BTreeSet::new(),
            Vendor::MySql => {
                let rows = connection.query("SHOW COLUMNS FROM mysql.user");
                let rows = rows.doing(|| "asking what accounts have")?;
                let there: BTreeSet<_> = rows.into_iter().map(|row| row.string(0).to_lowercase()).collect();
                LATER.into_iter().filter(|column| !there.contains(*column)).collect()
            }
        };
        let partial =
            server::variable(connection, "GLOBAL.partial_revokes").doing(|| "reading partial_revokes")?;
        Ok(Self {
            vendor,
            version: server.numbers(),
            privileges: privileges.filter(|name| !NO_PRIVILEGES.contains(&name.as_str())).collect(),
            plugins: plugins.collect(),
            partial_revokes: partial.as_deref() == Some("1"),
            settings: read::settings(connection)?,
            lacking,
        })
    }

    /// Whether CREATE USER takes all of an account: MySQL from 5.7.6 on, as it can lock one.
    pub(crate) fn makes_whole(&self) -> bool {
        !self.lacking.contains("account_locked")
    }

    /// Whether it is a MySQL before 8.0.
    pub(crate) fn lacks_roles(&self) -> bool {
        self.lacking.contains("create_role_priv")
    }

    /// How its statements are written.
    pub(crate) fn form(&self) -> Form {
        match (self.vendor, self.makes_whole()) {
            (Vendor::MariaDb, _) => Form::MariaDb,
            (Vendor::MySql, true) => Form::MySql,
            (Vendor::MySql, false) => Form::MySqlBefore57,
        }
    }
}

/// Columns of `mysql.user` that came with 5.6.6 (the first), 5.7.4, 5.7.6, 8.0.3, 8.0.13 and 8.0.14.
const LATER: [&str; 8] = [
    "password_expired",
    "password_lifetime",
    "account_locked",
    "create_role_priv",
    "password_reuse_history",
    "password_reuse_time",
    "password_require_current",
    "user_attributes",
];

/// What SHOW PRIVILEGES lists and ALL PRIVILEGES does not hold.
const NO_PRIVILEGES: [&str; 3] = ["USAGE", "PROXY", "GRANT OPTION"];
