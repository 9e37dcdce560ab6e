//! What is known of a table before its rows are read, and the statement that reads them.

use drover_db::{Connection, quote};

use super::catalog::{self, Name, Partition, Relation, RelationKind};
use super::columns::{self, ReadColumn};
use super::members;
use crate::Result;
use crate::ddl::without_auto_increment;
use crate::format::manifest::{Chunk, Column, Key, KeyColumn, Script, Table};
use crate::keys::{self, Literal};
use crate::rows::Shape;

/// A table and how it is read.
#[derive(Debug)]
pub(crate) struct TablePlan {
    pub(crate) relation: Relation,
    /// As the server gave it when the dump began, without AUTO_INCREMENT's value.
    pub(crate) definition: Vec<u8>,
    pub(crate) columns: Vec<ReadColumn>,
    pub(crate) partitions: Vec<Partition>,
    /// Whether one session has it locked until its rows are read, since no transaction shows them as they were.
    pub(crate) is_locked: bool,
    generated: Vec<Column>,
    computed: Vec<String>,
    key: Option<Key>,
}

impl TablePlan {
    /// Looks at a table; also gives the statement that creates it.
    pub(crate) fn new(
        connection: &mut Connection,
        relation: Relation,
        warnings: &mut Vec<String>,
    ) -> Result<(Self, Vec<u8>)> {
        let name = &relation.name;
        let shown = catalog::create_table(connection, name)?;
        let versioned = relation.kind == RelationKind::VersionedTable;
        let facts = catalog::columns(connection, name)?;
        let columns = columns::to_read(&facts, versioned);
        // Rows of the past have the keys of living ones, and an engine that does not keep the rows in the order of a key is
        // slow to read in it.
        let can_be_cut = !versioned && relation.is_clustered();
        let key = if can_be_cut { key(connection, name, &columns)? } else { None };
        let partitions = match can_be_cut && relation.partitioned {
            true => catalog::partitions(connection, name)?,
            false => Vec::new(),
        };
        let definition = without_auto_increment(&shown);
        let (create, warning) = members::mend(connection, name, &facts, shown)?;
        warnings.extend(warning);
        let (generated, computed) = (columns::to_prove(&facts), columns::to_compute(&facts));
        let is_locked = false;
        Ok((Self { relation, definition, columns, partitions, is_locked, generated, computed, key }, create))
    }

    /// The table as the manifest describes it, with no files yet.
    pub(crate) fn describe(&self, script: Script) -> Table {
        Table {
            name: self.relation.name.name.clone(),
            script,
            engine: self.relation.engine.clone().unwrap_or_default(),
            columns: self.columns.iter().map(|column| column.column.clone()).collect(),
            generated: self.generated.clone(),
            computed: self.computed.clone(),
            rows_elsewhere: self.relation.rows_elsewhere(),
            with_history: self.relation.kind == RelationKind::VersionedTable,
            key: self.key.clone(),
            partitions: self.partitions.iter().map(|partition| partition.name.clone()).collect(),
            files: Vec::new(),
        }
    }

    /// Where the columns of the key are among those that are read, and how their values are written.
    pub(crate) fn key_fields(&self) -> Vec<(usize, &Literal)> {
        let columns = self.key.iter().flat_map(|key| &key.columns);
        columns.filter_map(|column| field_of(&self.columns, &column.name)).collect()
    }

    /// Whether the key's values are compared as numbers or bytes, so that there is nothing to understand about them.
    pub(crate) fn compares_as_bytes(&self) -> bool {
        let is_plain =
            |literal: &Literal| matches!(literal, Literal::Bare | Literal::Quoted | Literal::Bytes);
        self.key_fields().iter().all(|(_, literal)| is_plain(literal))
    }

    /// The shape of the rows that come with [`TablePlan::stored`] behind all columns.
    pub(crate) fn shape(&self, table: &Table) -> Shape {
        let mark = |(index, column): (usize, &ReadColumn)| {
            column.error_mark.as_ref().map(|mark| (index, mark.clone().into_bytes()))
        };
        Shape {
            keys: self.key_fields().into_iter().map(|(field, _)| field).collect(),
            error_marks: self.columns.iter().enumerate().filter_map(mark).collect(),
            twins: (0..self.columns.len()).filter(|&index| self.columns[index].stored.is_some()).collect(),
            ..shape(table)
        }
    }

    /// What shows values as they are stored, where loading makes others of them.
    pub(crate) fn stored(&self) -> Vec<&str> {
        self.columns.iter().filter_map(|column| column.stored.as_deref()).collect()
    }
}

fn field_of<'a>(columns: &'a [ReadColumn], name: &str) -> Option<(usize, &'a Literal)> {
    let at = columns.iter().position(|column| column.column.name == name)?;
    Some((at, columns[at].literal.as_ref()?))
}

/// The key that a table can be cut by, if each of its values can be written as a literal.
fn key(connection: &mut Connection, name: &Name, columns: &[ReadColumn]) -> Result<Option<Key>> {
    let Some(found) = catalog::clustering_key(connection, name)? else { return Ok(None) };
    let column = |(name, descending): &(String, bool)| {
        let members = match field_of(columns, name)?.1 {
            Literal::Member(members) => members.iter().map(|(_, literal)| literal.clone()).collect(),
            _ => Vec::new(),
        };
        Some(KeyColumn { name: name.clone(), descending: *descending, members })
    };
    let columns: Option<Vec<_>> = found.columns.iter().map(column).collect();
    Ok(columns.map(|columns| Key { index: found.index, columns }))
}

/// The shape of the rows that [`select`] gives.
pub(crate) fn shape(table: &Table) -> Shape {
    Shape { columns: table.columns.len().max(1), generated: table.generated.len(), ..Shape::default() }
}

/// A part of a table's rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Bounds<'a> {
    pub(crate) partition: Option<&'a str>,
    pub(crate) behind: Option<&'a [String]>,
    pub(crate) up_to: Option<&'a [String]>,
}

impl<'a> Bounds<'a> {
    /// Those of a file.
    pub(crate) fn of(chunk: &'a Chunk) -> Self {
        Self {
            partition: chunk.partition.as_deref(),
            behind: chunk.after.as_deref(),
            up_to: chunk.up_to.as_deref(),
        }
    }

    /// `FROM`, with the conditions. The index is forced: without that the servers may sort.
    pub(crate) fn from(self, table: &Table, name: &Name) -> String {
        let mut sql = format!("FROM {name}");
        if let Some(partition) = self.partition {
            sql.push_str(&format!(" PARTITION ({})", quote::identifier(partition)));
        }
        if table.with_history {
            sql.push_str(" FOR SYSTEM_TIME ALL");
        }
        let Some(key) = &table.key else { return sql };
        sql.push_str(&format!(" FORCE INDEX ({})", quote::identifier(&key.index)));
        let conditions = [
            self.behind.map(|values| keys::behind(key, values)),
            self.up_to.map(|values| keys::up_to(key, values)),
        ];
        let conditions: Vec<_> = conditions.into_iter().flatten().collect();
        if !conditions.is_empty() {
            sql.push_str(&format!(" WHERE {}", conditions.join(" AND ")));
        }
        sql
    }
}

/// The statement that reads the rows within the bounds, in no order. `more` are expressions to select behind all columns.
pub(crate) fn select(table: &Table, name: &Name, bounds: Bounds<'_>, more: &[&str]) -> String {
    let read = |column: &Column| match &column.read {
        Some(expression) => expression.clone(),
        None => quote::identifier(&column.name),
    };
    let mut list: Vec<_> = table.columns.iter().map(read).collect();
    if list.is_empty() {
        list.push("1".into()); // a table in which the server computes every column
    }
    list.extend(table.generated.iter().map(read));
    list.extend(more.iter().map(|&expression| expression.to_owned()));
    format!("SELECT {} {}", list.join(", "), bounds.from(table, name))
}

/// A table's part in the work, in bytes; a small one still costs its statements.
pub(crate) fn weight(relation: &Relation) -> u64 {
    relation.bytes.max(64 << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(key: &[&str]) -> Table {
        let column = |name: &str, read: Option<&str>| Column {
            name: name.into(),
            read: read.map(Into::into),
            load: None,
        };
        let key_column =
            |name: &&str| KeyColumn { name: (*name).into(), descending: false, members: Vec::new() };
        let columns: Vec<_> = key.iter().map(key_column).collect();
        Table {
            name: "t".into(),
            script: Script::default(),
            engine: "InnoDB".into(),
            columns: vec![column("a", None), column("b", Some("CAST(`b` AS DOUBLE)"))],
            generated: vec![],
            computed: vec![],
            rows_elsewhere: false,
            with_history: false,
            key: (!columns.is_empty()).then(|| Key { index: "PRIMARY".into(), columns }),
            partitions: vec![],
            files: vec![],
        }
    }

    #[test]
    fn statements_that_read_a_table() {
        let name = Name::new("s", "t");
        let all = Bounds::default();
        assert_eq!(select(&table(&[]), &name, all, &[]), "SELECT `a`, CAST(`b` AS DOUBLE) FROM `s`.`t`");
        let (behind, up_to) = (["1".to_owned()], ["2".to_owned()]);
        let bounds = Bounds { partition: Some("p"), behind: Some(&behind), up_to: Some(&up_to) };
        assert_eq!(
            select(&table(&["a"]), &name, bounds, &["`b`"]),
            "SELECT `a`, CAST(`b` AS DOUBLE), `b` FROM `s`.`t` PARTITION (`p`) FORCE INDEX (`PRIMARY`) \
             WHERE `a` > 1 AND `a` <= 2"
        );
    }
}
