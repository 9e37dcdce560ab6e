//! Reading the rows of one table into its files.

use std::path::PathBuf;

use drover_db::wire::{RawRow, next_field};
use drover_db::{Connection, quote};

use super::catalog::{self, Name, Relation, RelationKind};
use super::columns::{self, ReadColumn};
use super::{members, waits};
use crate::ddl::without_auto_increment;
use crate::error::Doing;
use crate::format::files::{Compressor, FileWriter};
use crate::format::manifest::{Chunk, Column, Script, Table};
use crate::format::names;
use crate::progress::{Progress, Share};
use crate::rows::{Lines, METER_ROWS, Meter, Shape};
use crate::{Error, Result};

/// Text of about this many bytes goes into one file, if the table has a key to cut by. Small enough that several workers
/// can load one table and that a failed load loses little; large enough that a table of 300 GB has a few thousand files.
const FILE_BYTES: u64 = 128 << 20;

/// A table and how it is read.
#[derive(Debug)]
pub(crate) struct TablePlan {
    pub(crate) relation: Relation,
    /// As the server gave it when the dump began, without AUTO_INCREMENT's value.
    definition: Vec<u8>,
    columns: Vec<ReadColumn>,
    generated: Vec<Column>,
    computed: Vec<String>,
    key: Option<Vec<String>>,
}

/// Where files go.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) root: PathBuf,
    pub(crate) compressor: Compressor,
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
        // Rows of the past have the keys of living ones.
        let key = if versioned { None } else { catalog::primary_key(connection, name)? };
        let key = key.filter(|key| key.iter().all(|column| literal_of(&columns, column).is_some()));
        let definition = without_auto_increment(&shown);
        let (create, warning) = members::mend(connection, name, &facts, shown)?;
        warnings.extend(warning);
        let (generated, computed) = (columns::to_prove(&facts), columns::to_compute(&facts));
        Ok((Self { relation, definition, columns, generated, computed, key }, create))
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
            key: self.key.clone().unwrap_or_default(),
            files: Vec::new(),
        }
    }

    fn key_columns(&self) -> Vec<usize> {
        let place = |name: &String| self.columns.iter().position(|column| column.column.name == *name);
        self.key.iter().flatten().filter_map(place).collect()
    }
}

fn literal_of<'a>(columns: &'a [ReadColumn], name: &str) -> Option<&'a columns::Literal> {
    columns.iter().find(|column| column.column.name == name)?.literal.as_ref()
}

/// The shape of the rows that [`select`] gives.
pub(crate) fn shape(table: &Table) -> Shape {
    Shape { columns: table.columns.len().max(1), generated: table.generated.len(), ..Shape::default() }
}

/// The statement that reads a table's rows: in the order of its key, and within the bounds of one file if one is given.
/// `more` are expressions to select behind all columns.
pub(crate) fn select(table: &Table, name: &Name, bounds: Option<&Chunk>, more: &[&str]) -> String {
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
    let mut sql = format!("SELECT {} FROM {name}", list.join(", "));
    if table.with_history {
        sql.push_str(" FOR SYSTEM_TIME ALL");
    }
    if table.key.is_empty() {
        return sql;
    }
    sql.push_str(" FORCE INDEX (PRIMARY)");
    let mut conditions = Vec::new();
    if let Some(values) = bounds.and_then(|chunk| chunk.after.as_ref()) {
        conditions.push(beyond(&table.key, values, ">"));
    }
    if let Some(values) = bounds.and_then(|chunk| chunk.up_to.as_ref()) {
        conditions.push(format!("NOT {}", beyond(&table.key, values, ">")));
    }
    if !conditions.is_empty() {
        sql.push_str(&format!(" WHERE {}", conditions.join(" AND ")));
    }
    sql.push_str(&format!(" ORDER BY {}", quote::identifiers(table.key.iter().map(String::as_str))));
    sql
}

/// `(a, b) > (1, 2)` in the form for which the servers use an index: `(a > 1 OR (a = 1 AND (b > 2)))`.
fn beyond(key: &[String], values: &[String], operator: &str) -> String {
    let (Some(column), Some(value)) = (key.first(), values.first()) else { return "FALSE".into() };
    let column = quote::identifier(column);
    match key.len() {
        1 => format!("({column} {operator} {value})"),
        _ => {
            let rest = beyond(&key[1..], &values[1..], operator);
            format!("({column} {operator} {value} OR ({column} = {value} AND {rest}))")
        }
    }
}

/// How long a worker waits for a table that somebody else has locked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience<'a> {
    /// One attempt, in seconds; the workers' lock_wait_timeout.
    pub(crate) lock_timeout: u64,
    /// Connections of drover's own, which are in nobody's way.
    pub(crate) own: &'a [u32],
}

impl Patience<'_> {
    /// So many times as long as for the snapshot: nobody else waits meanwhile.
    const ATTEMPTS: u64 = 30;

    /// Takes the lock on the table's definition that every reader has, for as long as the transaction or its savepoint.
    fn open(self, connection: &mut Connection, name: &Name, progress: &Progress) -> Result<()> {
        let sql = format!("SELECT 1 FROM {name} LIMIT 0");
        for _ in 0..Self::ATTEMPTS {
            match connection.query(&sql) {
                Err(error) if waits::is_timeout(&error) => {
                    progress.phase(&format!("waiting for a lock on {name}"));
                }
                other => return other.map(drop).doing(|| format!("opening table {name}")),
            }
        }
        Err(Error::with_hint(
            format!(
                "table {name} was locked for {} s while the dump was running; in the way:\n  {}",
                self.lock_timeout * Self::ATTEMPTS,
                waits::blockers(connection, self.own)
            ),
            "end that session or wait until it is done, and dump again; --lock-timeout makes drover wait longer",
        ))
    }
}

/// Reads one table into its files.
pub(crate) fn dump(
    connection: &mut Connection,
    plan: &TablePlan,
    table: &Table,
    place: &Place,
    patience: Patience<'_>,
    progress: &Progress,
) -> Result<Vec<Chunk>> {
    let name = &plan.relation.name;
    let read = |connection: &mut Connection| {
        patience.open(connection, name, progress)?;
        progress.phase("dumping");
        Cutter::new(plan, table, place).read(connection, progress)
    };
    let chunks = read(connection).map_err(|error| explain(error, name))?;
    // The rows hold a lock on the table's definition until the savepoint is undone: what it is now, it was then.
    check_definition(connection, plan)?;
    Ok(chunks)
}

/// Errors that mean that the table is not what it was when the snapshot was taken.
fn explain(error: Error, name: &Name) -> Error {
    let Error::Server { source, .. } = &error else { return error };
    let what = match source.code() {
        Some(1146 | 1932) => "was dropped or renamed",
        Some(1412) => "was altered, truncated or made anew",
        Some(1054) => "lost a column",
        _ => return error,
    };
    Error::with_hint(
        format!("table {name} {what} while the dump was running: its rows as of the snapshot cannot be read"),
        "dump again at a time when no table is being altered",
    )
}

fn check_definition(connection: &mut Connection, plan: &TablePlan) -> Result<()> {
    let name = &plan.relation.name;
    let now = catalog::create_table(connection, name).map_err(|error| explain(error, name))?;
    if without_auto_increment(&now) == plan.definition {
        return Ok(());
    }
    Err(Error::with_hint(
        format!("table {name} was altered while the dump was running"),
        "dump again at a time when no table is being altered",
    ))
}

/// Cuts a table's rows into files.
struct Cutter<'a> {
    plan: &'a TablePlan,
    table: &'a Table,
    place: &'a Place,
    shape: Shape,
    key_columns: Vec<usize>,
    chunks: Vec<Chunk>,
}

impl<'a> Cutter<'a> {
    fn new(plan: &'a TablePlan, table: &'a Table, place: &'a Place) -> Self {
        let mark = |(index, column): (usize, &ReadColumn)| {
            column.error_mark.as_ref().map(|mark| (index, mark.clone().into_bytes()))
        };
        let error_marks = plan.columns.iter().enumerate().filter_map(mark).collect();
        let twins = (0..plan.columns.len()).filter(|&index| plan.columns[index].stored.is_some()).collect();
        let shape = Shape { error_marks, twins, ..shape(table) };
        Self { plan, table, place, shape, key_columns: plan.key_columns(), chunks: Vec::new() }
    }

    fn read(&mut self, connection: &mut Connection, progress: &Progress) -> Result<Vec<Chunk>> {
        let name = self.plan.relation.name.clone();
        let shape = self.shape.clone();
        let stored: Vec<_> = self.plan.columns.iter().filter_map(|column| column.stored.as_deref()).collect();
        let mut stream = connection
            .stream(select(self.table, &name, None, &stored))
            .doing(|| format!("reading the rows of {name}"))?;
        let mut lines = Lines::new(&shape, Some(self.create_file(0)?));
        let share = Share::new(progress, weight(&self.plan.relation), self.plan.relation.rows);
        let (mut meter, mut rows, mut bytes) = (Meter::new(progress, share), 0, 0);
        while let Some(row) = stream.next_row().doing(|| format!("reading the rows of {name}"))? {
            let last_key = if lines.bytes() >= FILE_BYTES { self.key_of(&row) } else { None };
            lines.add(row).map_err(|error| at_row(error, &name, rows))?;
            rows += 1;
            if rows % METER_ROWS == 0 {
                meter.reached(rows, bytes + lines.bytes());
            }
            if let Some(key) = last_key {
                bytes += lines.bytes();
                self.cut(&mut lines, Some(key))?;
            }
        }
        meter.reached(rows, bytes + lines.bytes());
        self.cut(&mut lines, None)?;
        Ok(std::mem::take(&mut self.chunks))
    }

    fn file_name(&self, index: usize) -> String {
        let Name { schema, name } = &self.plan.relation.name;
        let extension = self.place.compressor.compression().extension();
        format!("{}/{}.{:05}.{extension}", names::file_name(schema), names::file_name(name), index + 1)
    }

    fn create_file(&self, index: usize) -> Result<FileWriter> {
        FileWriter::create(self.place.root.join(self.file_name(index)), self.place.compressor)
    }

    /// The row's key, if files are cut by one and the row is at hand.
    fn key_of(&self, row: &RawRow<'_>) -> Option<Vec<String>> {
        let (RawRow::Whole(payload), false) = (row, self.key_columns.is_empty()) else { return None };
        let (mut rest, mut fields) = (*payload, Vec::with_capacity(self.shape.columns));
        while let Some(field) = next_field(&mut rest) {
            fields.push(field);
        }
        let literal = |&column: &usize| {
            let value = fields.get(column)?.bytes()?;
            self.plan.columns[column].literal.as_ref()?.write(value)
        };
        self.key_columns.iter().map(literal).collect()
    }

    fn cut(&mut self, lines: &mut Lines<'_>, up_to: Option<Vec<String>>) -> Result<()> {
        let index = self.chunks.len();
        let next = up_to.as_ref().map(|_| self.create_file(index + 1)).transpose()?;
        let (sums, stored) = lines.cut(next)?;
        let stored = stored.ok_or_else(|| Error::found("a file was ended twice"))?;
        self.chunks.push(Chunk {
            file: self.file_name(index),
            rows: sums.rows,
            bytes: sums.bytes,
            stored_bytes: stored.bytes,
            checksum: stored.checksum,
            digest: sums.digest,
            generated: sums.generated,
            enum_errors: sums.enum_errors,
            retyped: sums.retyped,
            after: self.chunks.last().and_then(|chunk| chunk.up_to.clone()),
            up_to,
        });
        Ok(())
    }
}

/// A table's part in the work, in bytes; a small one still costs its statements.
pub(crate) fn weight(relation: &Relation) -> u64 {
    relation.bytes.max(64 << 10)
}

fn at_row(error: Error, name: &Name, row: u64) -> Error {
    match error {
        Error::Found { what, hint } => {
            Error::Found { what: format!("{name}, row {}: {what}", row + 1), hint }
        }
        Error::Server { source: drover_db::Error::Source(io), .. } => {
            let lost = drover_db::Error::Lost { to: "the server".into(), source: io };
            Error::Server { doing: format!("reading row {} of {name}", row + 1), source: lost }
        }
        other => other,
    }
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
        Table {
            name: "t".into(),
            script: Script::default(),
            engine: "InnoDB".into(),
            columns: vec![column("a", None), column("b", Some("CAST(`b` AS DOUBLE)"))],
            generated: vec![],
            computed: vec![],
            rows_elsewhere: false,
            with_history: false,
            key: key.iter().map(|&k| k.to_owned()).collect(),
            files: vec![],
        }
    }

    fn bounds(after: Option<&[&str]>, up_to: Option<&[&str]>) -> Chunk {
        let values = |v: Option<&[&str]>| v.map(|v| v.iter().map(|&v| v.to_owned()).collect());
        Chunk {
            file: String::new(),
            rows: 0,
            bytes: 0,
            stored_bytes: 0,
            checksum: Default::default(),
            digest: Default::default(),
            generated: Default::default(),
            enum_errors: 0,
            retyped: 0,
            after: values(after),
            up_to: values(up_to),
        }
    }

    #[test]
    fn statements_that_read_a_table() {
        let name = Name::new("s", "t");
        assert_eq!(select(&table(&[]), &name, None, &[]), "SELECT `a`, CAST(`b` AS DOUBLE) FROM `s`.`t`");
        let chunk = bounds(Some(&["1", "X'00'"]), Some(&["2", "X'01'"]));
        assert_eq!(
            select(&table(&["a", "b"]), &name, Some(&chunk), &[]),
            "SELECT `a`, CAST(`b` AS DOUBLE) FROM `s`.`t` FORCE INDEX (PRIMARY) \
             WHERE (`a` > 1 OR (`a` = 1 AND (`b` > X'00'))) AND NOT (`a` > 2 OR (`a` = 2 AND (`b` > X'01'))) \
             ORDER BY `a`, `b`"
        );
    }
}
