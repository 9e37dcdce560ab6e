//! What a server can hold of accounts, asked of the server itself.

use std::collections::BTreeSet;

use drover_db::{Connection, Server, Vendor, server};

use crate::Result;
use crate::error::Doing;

/// What a server can hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) vendor: Vendor,
    /// The privileges that it knows, in capitals.
    pub(crate) privileges: BTreeSet<String>,
    /// The authentication plugins that are loaded.
    pub(crate) plugins: BTreeSet<String>,
    /// Whether a schema can be taken out of a global grant; then `_` and `%` in schema names stand for themselves.
    pub(crate) partial_revokes: bool,
}

impl Facts {
    /// Asks the server.
    pub(crate) fn of(connection: &mut Connection) -> Result<Self> {
        let vendor = Server::of(connection).doing(|| "asking for the server's version")?.vendor;
        let rows = connection.query("SHOW PRIVILEGES").doing(|| "asking which privileges there are")?;
        let privileges = rows.into_iter().map(|row| row.string(0).to_uppercase());
        let rows = connection
            .query(
                "SELECT PLUGIN_NAME FROM information_schema.PLUGINS WHERE PLUGIN_TYPE = 'AUTHENTICATION' AND PLUGIN_STATUS = \
                 'ACTIVE'",
            )
            .doing(|| "asking for the authentication plugins")?;
        let plugins = rows.into_iter().map(|row| row.string(0));
        let partial =
            server::variable(connection, "GLOBAL.partial_revokes").doing(|| "reading partial_revokes")?;
        Ok(Self {
            vendor,
            privileges: privileges.filter(|name| !NO_PRIVILEGES.contains(&name.as_str())).collect(),
            plugins: plugins.collect(),
            partial_revokes: partial.as_deref() == Some("1"),
        })
    }
}

/// What SHOW PRIVILEGES lists and ALL PRIVILEGES does not hold.
const NO_PRIVILEGES: [&str; 3] = ["USAGE", "PROXY", "GRANT OPTION"];
