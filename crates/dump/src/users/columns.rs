//! Privileges on columns as the catalogue has them, for servers whose SHOW GRANTS does not quote names of columns.

use std::collections::{BTreeMap, BTreeSet};

use drover_db::Connection;
use drover_db::grants::{Grant, Privilege, Scope, Who};

use super::read::{each, rows};
use crate::{Error, Result};

/// All that there is on a table; a server that finds them together prints ALL PRIVILEGES, and no columns (`TABLE_ACLS` in
/// `sql/auth/auth_acls.h`).
const ALL_ON_A_TABLE: [&str; 12] = [
    "ALTER",
    "CREATE",
    "CREATE VIEW",
    "DELETE",
    "DROP",
    "INDEX",
    "INSERT",
    "REFERENCES",
    "SELECT",
    "SHOW VIEW",
    "TRIGGER",
    "UPDATE",
];

/// What an account may do on tables of which it may do something on some columns: one grant for each of them.
pub(super) fn grants(connection: &mut Connection, who: &Who) -> Result<Vec<Grant>> {
    let host = who.host.as_deref().unwrap_or_default();
    let mut grants = BTreeMap::new();
    let tables = rows(connection, "SELECT * FROM mysql.tables_priv", "mysql.tables_priv")?;
    let columns = rows(connection, "SELECT * FROM mysql.columns_priv", "mysql.columns_priv")?;
    let is_own = |user: &str, from: &str| user == who.name && from.eq_ignore_ascii_case(host);
    for row in each(&tables).filter(|row| is_own(&row.string("User"), &row.string("Host"))) {
        let held = set(&row.string("Table_priv"));
        if row.string("Column_priv").is_empty() || ALL_ON_A_TABLE.iter().all(|name| held.contains(*name)) {
            continue;
        }
        let names = held.iter().filter(|name| *name != "GRANT");
        let grant = Grant {
            on: Scope::Table(row.string("Db"), row.string("Table_name")),
            revoked: false,
            grant_option: held.contains("GRANT"),
            privileges: names.map(|name| Privilege::new(name)).collect(),
        };
        grants.insert((row.string("Db"), row.string("Table_name")), grant);
    }
    for row in each(&columns).filter(|row| is_own(&row.string("User"), &row.string("Host"))) {
        if let Some(grant) = grants.get_mut(&(row.string("Db"), row.string("Table_name"))) {
            let columns = vec![row.string("Column_name")];
            let on_it = set(&row.string("Column_priv"));
            grant
                .privileges
                .extend(on_it.into_iter().map(|name| Privilege { name, columns: columns.clone() }));
        }
    }
    Ok(grants.into_values().collect())
}

/// `Select,Create View`
fn set(text: &str) -> BTreeSet<String> {
    text.split(',').filter(|name| !name.is_empty()).map(str::to_uppercase).collect()
}

/// The tables of privileges are not what the server goes by.
pub(super) fn other_tables(who: &Who, shown: usize, found: usize) -> Error {
    Error::with_hint(
        format!(
            "accounts cannot be read: SHOW GRANTS has privileges of {who} on columns of {shown} tables, mysql.tables_priv on columns of {found}"
        ),
        "FLUSH PRIVILEGES has the server read its tables of privileges anew",
    )
}
