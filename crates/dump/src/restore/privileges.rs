//! Whether the account may do on the target what a restore does there, asked before the first change. What its grants do not show is asked
//! for with a statement that the server refuses in any case, as there is nothing that it names: for which reason tells.

use std::collections::{BTreeMap, BTreeSet};

use drover_db::grants::Held;
use drover_db::{Connection, er, quote};

use super::dependents;
use super::objects::{Scripts, each};
use super::rename::Renames;
use crate::error::Doing;
use crate::users::translate::escaped;
use crate::{Error, Result};
use drover_format::manifest::{Manifest, Object, Schema};

/// What nothing is restored without.
const OF_TABLES: [&str; 5] = ["SELECT", "INSERT", "CREATE", "DROP", "ALTER"];

/// What the account lacks, by schema of the target.
#[derive(Debug, Default)]
pub(super) struct Lacking {
    account: String,
    for_tables: BTreeMap<String, Vec<&'static str>>,
    for_programs: BTreeMap<String, Vec<&'static str>>,
}

impl Lacking {
    /// Asks about all schemas that are filled.
    pub(super) fn of(
        connection: &mut Connection,
        scripts: &Scripts<'_>,
        manifest: &Manifest,
    ) -> Result<Self> {
        let row = connection.first("SELECT CURRENT_USER()").doing(|| "asking for the account in use")?;
        let user = row.map(|row| row.string(0)).unwrap_or_default();
        let (name, host) = user.rsplit_once('@').unwrap_or((&user, ""));
        let account = format!("{}@{}", quote::identifier(name), quote::identifier(host));
        let held = Held::of(connection).doing(|| "reading the account's privileges")?;
        let mut lacking = Self { account, ..Self::default() };
        let mut asking = Asking { connection, held, renames: scripts.renames };
        let keys = dependents::foreign_keys(scripts, manifest)?;
        let with_parents: BTreeSet<_> = keys.into_iter().map(|(_, parent)| parent.schema).collect();
        let programs: BTreeSet<_> =
            programs(manifest).map(|(schema, _, privilege)| (schema.name.as_str(), privilege)).collect();
        for schema in &manifest.schemas {
            let target = scripts.renames.schema(&schema.name).to_owned();
            let refers = with_parents.contains(&target).then_some("REFERENCES");
            let has_tables = !schema.tables.is_empty() || !schema.sequences.is_empty();
            let of_tables = OF_TABLES.into_iter().filter(|_| has_tables).chain(refers);
            let of_tables = asking.lacking(schema, of_tables)?;
            let of_programs = programs.iter().filter(|(of, _)| *of == schema.name);
            let of_programs = asking.lacking(schema, of_programs.map(|(_, privilege)| *privilege))?;
            lacking.for_tables.extend((!of_tables.is_empty()).then(|| (target.clone(), of_tables)));
            lacking.for_programs.extend((!of_programs.is_empty()).then_some((target, of_programs)));
        }
        Ok(lacking)
    }

    /// The error for what no table comes without.
    pub(super) fn for_tables(&self) -> Option<Error> {
        self.error(&self.for_tables)
    }

    /// The error for everything.
    pub(super) fn for_all(&self) -> Option<Error> {
        let mut all = self.for_tables.clone();
        for (schema, privileges) in &self.for_programs {
            all.entry(schema.clone()).or_default().extend(privileges);
        }
        self.error(&all)
    }

    /// Why no programs of this kind can be made in a schema.
    pub(super) fn refusal(&self, schema: &str, privilege: &str) -> Option<String> {
        let is_lacking = self.for_programs.get(schema)?.contains(&privilege);
        let grant = self.grant(schema, &[privilege]);
        is_lacking.then(|| format!("the account lacks the privilege {privilege} there: {grant}"))
    }

    fn grant(&self, schema: &str, privileges: &[&str]) -> String {
        let on = quote::identifier(&escaped(schema));
        format!("GRANT {} ON {on}.* TO {}", privileges.join(", "), self.account)
    }

    fn error(&self, lacking: &BTreeMap<String, Vec<&'static str>>) -> Option<Error> {
        if lacking.is_empty() {
            return None;
        }
        let line = |(schema, privileges): (&String, &Vec<&str>)| {
            format!("\n  {}: {}", quote::identifier(schema), privileges.join(", "))
        };
        let lines: String = lacking.iter().map(line).collect();
        let grants: Vec<_> =
            lacking.iter().map(|(schema, privileges)| self.grant(schema, privileges)).collect();
        Some(Error::with_hint(
            format!("the account lacks privileges on the target: nothing was changed{lines}"),
            format!("{}; or use another account", grants.join("; ")),
        ))
    }
}

/// All views and programs with their schemas and the privilege that making them takes.
pub(super) fn programs(manifest: &Manifest) -> impl Iterator<Item = (&Schema, &Object, &'static str)> {
    let of = |objects: fn(&Schema) -> &Vec<Object>, privilege: &'static str| {
        each(manifest, objects).map(move |(schema, object)| (schema, object, privilege))
    };
    of(|schema| &schema.views, "CREATE VIEW")
        .chain(of(|schema| &schema.routines, "CREATE ROUTINE"))
        .chain(of(|schema| &schema.triggers, "TRIGGER"))
        .chain(of(|schema| &schema.events, "EVENT"))
}

struct Asking<'a> {
    connection: &'a mut Connection,
    held: Held,
    renames: &'a Renames,
}

impl Asking<'_> {
    fn lacking(
        &mut self,
        schema: &Schema,
        privileges: impl Iterator<Item = &'static str>,
    ) -> Result<Vec<&'static str>> {
        let mut lacking = Vec::new();
        for privilege in privileges {
            if !self.has(schema, privilege)? {
                lacking.push(privilege);
            }
        }
        Ok(lacking)
    }

    fn has(&mut self, schema: &Schema, privilege: &str) -> Result<bool> {
        let target = self.renames.schema(&schema.name);
        let on_table = |name: &String| self.held.on_table(privilege, target, name);
        let names = || schema.tables.iter().map(|table| &table.name);
        if self.held.on_schema(privilege, target) || names().next().is_some() && names().all(on_table) {
            return Ok(true);
        }
        let Some(sql) = probe(privilege, target) else { return Ok(false) };
        match self.connection.execute(sql) {
            Err(drover_db::Error::Server(error)) => Ok(!is_denial(error.code, &error.message, privilege)),
            other => other.map(|_| true).doing(|| "asking what the account may do"),
        }
    }
}

/// Whether a privilege is missing, and it is this one: ER_DBACCESS_DENIED_ERROR, ER_TABLEACCESS_DENIED_ERROR.
fn is_denial(code: u16, message: &str, privilege: &str) -> bool {
    code == er::DBACCESS_DENIED || code == er::TABLEACCESS_DENIED && message.contains(privilege)
}

/// A statement that takes this privilege and comes to nothing; `None` if there is no such statement.
fn probe(privilege: &str, schema: &str) -> Option<String> {
    let none = quote::qualified(schema, "drover_no_such_table");
    Some(match privilege {
        "SELECT" => format!("SELECT 1 FROM {none} LIMIT 1"),
        "INSERT" => format!("INSERT INTO {none} VALUES (1)"),
        // The key names no column of it.
        "CREATE" => format!("CREATE TABLE {none} (a INT, KEY (b))"),
        "REFERENCES" => {
            format!("CREATE TABLE {none} (a INT, KEY (b), FOREIGN KEY (a) REFERENCES {none} (a))")
        }
        "DROP" => format!("DROP TABLE {none}"),
        "ALTER" => format!("ALTER TABLE {none} COMMENT = ''"),
        "CREATE VIEW" => format!("CREATE VIEW {none} AS SELECT 1 FROM {none} AS n"),
        "TRIGGER" => format!("CREATE TRIGGER {none} BEFORE INSERT ON {none} FOR EACH ROW SET @drover = 1"),
        "EVENT" => format!("DROP EVENT {none}"),
        _ => return None,
    })
}
