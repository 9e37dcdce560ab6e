//! What the manifest tells of the schemas, the script of each object, and the plan of each table.

use std::collections::{BTreeMap, BTreeSet};

use drover_db::{Connection, Vendor};

use super::{Plans, Source};
use crate::Result;
use crate::ddl::{with_inherited_collations, without_auto_increment};
use crate::dump::catalog::{self, ColumnFacts, Name, Relation, RelationKind};
use crate::dump::objects::Scripts;
use crate::dump::tables::TablePlan;
use crate::dump::warnings::{kept_elsewhere, without_history};
use drover_format::manifest::{RowFormat, Schema, Script};
use drover_format::names;

impl Source<'_> {
    /// Writes all scripts; gives the schemas without their rows, and how each table is to be read.
    pub(super) fn describe(
        &mut self,
        coordinator: &mut Connection,
        table_locks: Option<&mut Connection>,
        without_transactions: &BTreeSet<Name>,
    ) -> Result<(Vec<Schema>, Vec<TablePlan>)> {
        let mut plans = BTreeMap::new();
        let (locked, free): (Vec<_>, Vec<_>) =
            self.tables().cloned().partition(|table| without_transactions.contains(&table.name));
        for table in free {
            let (plan, create) = self.plan(coordinator, table)?;
            plans.insert(plan.relation.name.clone(), (plan, create));
        }
        if let Some(connection) = table_locks {
            for table in locked {
                let (mut plan, create) = self.plan(connection, table)?;
                plan.is_locked = true;
                plans.insert(plan.relation.name.clone(), (plan, create));
            }
        }
        let mut names = self.selected.schemas();
        if !self.contents.has_definitions() {
            // Nothing would be known of a schema without tables but its name.
            names.retain(|name| plans.keys().any(|table| table.schema == *name));
        }
        let schemas: Result<Vec<_>> = names
            .iter()
            .map(|name| match self.contents.has_definitions() {
                true => self.describe_schema(coordinator, name, &mut plans),
                false => self.describe_rows(name, &plans),
            })
            .collect();
        let plans = plans.into_values().map(|(plan, _)| plan);
        let plans = plans.filter(|plan| self.contents.has_rows() && !plan.relation.rows_elsewhere());
        Ok((schemas?, plans.collect()))
    }

    /// How a table is read, and the statement that creates it.
    fn plan(&mut self, connection: &mut Connection, mut table: Relation) -> Result<(TablePlan, Vec<u8>)> {
        let leaves_history = table.kind == RelationKind::VersionedTable
            && (self.holds.no_history.is_some() || self.has_numbered_history(connection, &table.name)?);
        if leaves_history {
            table.kind = RelationKind::Table;
        }
        let format = self.place.format;
        let (mut plan, create) = TablePlan::new(connection, table, format, &self.masks, &mut self.warnings)?;
        if plan.has_small_partitions(self.place.statement_bytes()) {
            plan.partitions.clear();
        }
        plan.condition = self.conditions.get(&plan.relation.name).cloned();
        if leaves_history {
            // A partition that is named shows its rows of the past too.
            plan.read_whole();
        }
        if !self.holds.negative_zeros {
            plan.without_negative_zeros();
        }
        if !self.holds.documents {
            plan.with_documents_as_printed();
        }
        Ok((plan, create))
    }

    /// Whether rows of the past are told by numbers of transactions, which only the server that gave them understands: loaded, they would
    /// be rows of now.
    fn has_numbered_history(&mut self, connection: &mut Connection, name: &Name) -> Result<bool> {
        let is_number = |facts: &ColumnFacts| facts.is_row_time() && facts.data_type == "bigint";
        let found = catalog::columns(connection, name)?.iter().any(is_number);
        if found {
            self.warnings.push(without_history(name));
        }
        Ok(found)
    }

    fn describe_schema(
        &mut self,
        coordinator: &mut Connection,
        name: &str,
        plans: &mut Plans,
    ) -> Result<Schema> {
        let relations: Vec<_> =
            self.selected.relations.iter().filter(|relation| relation.name.schema == name).cloned().collect();
        let whole = self.selected.whole.contains(name);
        let server = self.server.clone();
        let by_hand = self.place.format.is_one_file().then_some(&server);
        let (scripts, script) = Scripts::begin(coordinator, &self.place.store, name, by_hand)?;
        let (mut tables, mut sequences, mut views) = (Vec::new(), Vec::new(), Vec::new());
        for relation in relations {
            let relation_name = relation.name.name.clone();
            match relation.kind {
                RelationKind::View => views.push(relation_name),
                RelationKind::Sequence => sequences.push(scripts.sequence(coordinator, &relation_name)?),
                RelationKind::Table | RelationKind::VersionedTable => {
                    let Some((plan, create)) = plans.get_mut(&relation.name) else { continue };
                    let script = self.table_script(&scripts, plan, create.clone())?;
                    tables.push(plan.describe(script));
                    if plan.relation.rows_elsewhere() {
                        self.warnings.push(kept_elsewhere(&plan.relation.name));
                    }
                }
            }
        }
        let table_names = tables.iter().map(|table| table.name.clone()).collect();
        Ok(Schema {
            name: name.into(),
            script,
            sequences,
            views: scripts.views(coordinator, &views, &mut self.views, &mut self.warnings)?,
            routines: if whole { scripts.routines(coordinator)? } else { Vec::new() },
            triggers: scripts.triggers(coordinator, &table_names)?,
            events: if whole { scripts.events(coordinator)? } else { Vec::new() },
            tables,
        })
    }

    /// A table's script, in a file of its own or before the rows.
    fn table_script(&self, scripts: &Scripts<'_>, plan: &mut TablePlan, create: Vec<u8>) -> Result<Script> {
        let (vendor, Name { schema, name }) = (self.server.vendor, &plan.relation.name);
        if self.place.format != RowFormat::Sql || !self.contents.has_rows() || plan.relation.rows_elsewhere()
        {
            return scripts.table(vendor, name, create);
        }
        // ARCHIVE takes no row below the next value that its definition gives.
        let is_archive = plan.relation.engine.as_deref() == Some("ARCHIVE");
        let create = if is_archive { without_auto_increment(&create) } else { create };
        let create = match vendor {
            Vendor::MySql => with_inherited_collations(&create),
            Vendor::MariaDb => create,
        };
        let text = scripts.table_text(vendor, name, create);
        let file = format!("{}.{}", names::path(schema, name), self.place.extension());
        let script = Script { bytes: Some(text.len() as u64), ..Script::of(file, &text) };
        plan.script_text = text;
        Ok(script)
    }

    /// A schema of which nothing is dumped but rows.
    fn describe_rows(&mut self, name: &str, plans: &Plans) -> Result<Schema> {
        self.place.store.folder(&names::file_name(name))?;
        let plans = plans.values().map(|(plan, _)| plan).filter(|plan| plan.relation.name.schema == name);
        let (elsewhere, plans): (Vec<_>, Vec<_>) = plans.partition(|plan| plan.relation.rows_elsewhere());
        self.warnings.extend(elsewhere.into_iter().map(|plan| kept_elsewhere(&plan.relation.name)));
        Ok(Schema {
            name: name.into(),
            script: Script::default(),
            tables: plans.into_iter().map(|plan| plan.describe(Script::default())).collect(),
            sequences: Vec::new(),
            views: Vec::new(),
            routines: Vec::new(),
            triggers: Vec::new(),
            events: Vec::new(),
        })
    }
}
