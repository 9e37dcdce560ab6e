//! Grants that the target cannot take, since it will not have what they are on: known before they are tried, and where an earlier run has
//! tried them.

use std::collections::BTreeSet;

use drover_db::grants::{Grant, Scope};
use drover_db::{Connection, quote};

use super::objects::each;
use super::rename::Renames;
use crate::Result;
use crate::error::Doing;
use crate::users::Account;
use drover_format::manifest::Manifest;

/// The tables and routines that will be there, by schema and name in lower case, as some servers have them.
pub(super) struct There {
    tables: BTreeSet<(String, String)>,
    routines: BTreeSet<(String, String)>,
}

impl There {
    /// What a restore makes, and what the target has of what these accounts hold something on.
    pub(super) fn of(
        connection: &mut Connection,
        manifest: &Manifest,
        renames: &Renames,
        accounts: &[Account],
    ) -> Result<Self> {
        let mut there = Self { tables: BTreeSet::new(), routines: BTreeSet::new() };
        for (schema, table) in manifest.tables() {
            there.tables.insert(key(renames.schema(&schema.name), &table.name));
        }
        for (schema, object) in
            each(manifest, |schema| &schema.views).chain(each(manifest, |schema| &schema.sequences))
        {
            there.tables.insert(key(renames.schema(&schema.name), &object.name));
        }
        for (schema, routine) in each(manifest, |schema| &schema.routines) {
            there.routines.insert(key(renames.schema(&schema.name), &routine.name));
        }
        let grants = || accounts.iter().flat_map(|account| &account.grants);
        let of_tables = grants().filter_map(|grant| match &grant.on {
            Scope::Table(schema, _) => Some(schema.as_str()),
            _ => None,
        });
        let of_routines = grants().filter_map(|grant| match &grant.on {
            Scope::Routine(_, schema, _) => Some(schema.as_str()),
            _ => None,
        });
        there.tables.extend(listed(connection, "TABLE", of_tables.collect())?);
        there.routines.extend(listed(connection, "ROUTINE", of_routines.collect())?);
        Ok(there)
    }

    /// Why a grant cannot be made, in the server's words. One of CREATE may be on a table that is not there.
    pub(super) fn refusal(&self, grant: &Grant) -> Option<String> {
        let creates = |grant: &Grant| grant.privileges.iter().any(|one| one.is_all() || one.name == "CREATE");
        match &grant.on {
            Scope::Table(schema, name) if !creates(grant) && !self.tables.contains(&key(schema, name)) => {
                Some(format!("Table '{schema}.{name}' doesn't exist"))
            }
            Scope::Routine(_, schema, name) if !self.routines.contains(&key(schema, name)) => {
                Some(format!("FUNCTION or PROCEDURE {name} does not exist"))
            }
            _ => None,
        }
    }
}

fn key(schema: &str, name: &str) -> (String, String) {
    (schema.to_lowercase(), name.to_lowercase())
}

fn listed(connection: &mut Connection, kind: &str, schemas: BTreeSet<&str>) -> Result<Vec<(String, String)>> {
    if schemas.is_empty() {
        return Ok(Vec::new());
    }
    let names: Vec<_> = schemas.into_iter().map(quote::string).collect();
    let sql = format!(
        "SELECT {kind}_SCHEMA, {kind}_NAME FROM information_schema.{kind}S WHERE {kind}_SCHEMA IN ({})",
        names.join(", ")
    );
    let rows = connection.query(sql).doing(|| "listing what accounts hold privileges on")?;
    Ok(rows.into_iter().map(|row| key(&row.string(0), &row.string(1))).collect())
}
