//! What is known of a table before its rows are read, and the statement that reads them.

use drover_db::table::{self, ColumnFacts, Literal, ReadColumn, ValueKind, keys};
use drover_db::wire::BUFFER;
use drover_db::{Connection, er, quote};

use super::catalog::{self, Name, Partition, Relation, RelationKind};
use super::{csv_columns, generated, members};
use crate::Result;
use crate::ddl::without_auto_increment;
use crate::error::Doing;
use crate::mask::{self, Masked, Masker, Rules};
use crate::rows::Shape;
use drover_format::manifest::{Chunk, Column, Key, RowFormat, Script, Table};

/// A table and how it is read.
#[derive(Debug)]
pub(crate) struct TablePlan {
    pub(crate) relation: Relation,
    /// As the server gave it when the dump began, without AUTO_INCREMENT's value.
    pub(crate) definition: Vec<u8>,
    /// What tells it from another table of the same definition.
    pub(crate) mark: Vec<u8>,
    pub(crate) columns: Vec<ReadColumn>,
    pub(crate) partitions: Vec<Partition>,
    /// Whether one session has it locked until its rows are read, since no transaction shows them as they were.
    pub(crate) is_locked: bool,
    /// Whether no row is a large one, whatever its values.
    pub(crate) has_short_rows: bool,
    /// Which rows are dumped; absent for all.
    pub(crate) condition: Option<String>,
    /// The text of its script, where that stands before the rows.
    pub(crate) script_text: Vec<u8>,
    masks: Vec<Masked>,
    generated: Vec<Column>,
    computed: Vec<String>,
    key: Option<Key>,
}

impl TablePlan {
    /// Looks at a table; also gives the statement that creates it.
    pub(crate) fn new(
        connection: &mut Connection,
        relation: Relation,
        format: RowFormat,
        rules: &Rules,
        warnings: &mut Vec<String>,
    ) -> Result<(Self, Vec<u8>)> {
        let name = &relation.name;
        let shown = catalog::create_table(connection, name)?;
        let versioned = relation.kind == RelationKind::VersionedTable;
        let facts = catalog::columns(connection, name)?;
        let masks = mask::of_table(connection, rules, name, &facts)?;
        let dependent = mask::dependent(&facts, &masks);
        let columns = match format {
            RowFormat::Csv => {
                warnings.extend(csv_columns::check_masks(name, &facts, &masks, &dependent)?);
                csv_columns::to_read(&facts, versioned, &dependent)
            }
            RowFormat::Tsv | RowFormat::Sql => table::to_read(&facts, versioned),
        };
        let mut columns: Vec<_> =
            columns.into_iter().map(|column| as_written(column, format, &masks)).collect();
        let has_documents = columns.iter().any(|column| column.is_document);
        if has_documents && breaks_base64(connection)? {
            columns.iter_mut().for_each(ReadColumn::escape_newlines);
        }
        if has_documents && hides_doubles(connection)? {
            columns.iter_mut().for_each(ReadColumn::tell_by_size);
        }
        let (key, partitions) = cuts(connection, &relation, format, &columns, &masks)?;
        let definition = without_auto_increment(&shown);
        let (create, warning) = members::mend(connection, name, &facts, shown)?;
        warnings.extend(warning);
        let is_free = |column: &Column| !dependent.contains(&column.name.to_lowercase());
        let is_proved = |column: &Column| format != RowFormat::Csv && is_free(column);
        let generated = generated::to_prove(&facts).into_iter().filter(is_proved).collect();
        let computed = generated::to_compute(&facts);
        let plan = Self {
            relation,
            definition,
            mark: Vec::new(),
            columns,
            partitions,
            is_locked: false,
            has_short_rows: format != RowFormat::Csv && are_short(&facts),
            condition: None,
            script_text: Vec::new(),
            masks,
            generated,
            computed,
            key,
        };
        Ok((plan, create))
    }

    /// Reads zeros without a sign, for a server that has none such. What takes the place of a value is no matter of this.
    pub(crate) fn without_negative_zeros(&mut self) {
        let is_masked = |name: &str| self.masks.iter().any(|masked| masked.column == name);
        let columns = self.columns.iter_mut().filter(|column| !is_masked(&column.column.name));
        columns.for_each(ReadColumn::without_negative_zero);
    }

    /// Reads documents as the text that the server prints, for a server that keeps them as text.
    pub(crate) fn with_documents_as_printed(&mut self) {
        self.columns.iter_mut().for_each(ReadColumn::as_printed);
    }

    /// Has the table read by one worker, from its beginning to its end.
    pub(crate) fn read_whole(&mut self) {
        self.key = None;
        self.partitions.clear();
    }

    /// Whether the partitions are too many and too small to be read each for itself: each statement and each look at the definition has the
    /// server go through all of them.
    pub(crate) fn has_small_partitions(&self, statement_bytes: u64) -> bool {
        /// So many are read each for itself, however small they are.
        const FEW: usize = 64;
        let bytes: u64 = self.partitions.iter().map(|partition| partition.bytes).sum();
        self.partitions.len() > FEW && bytes / (self.partitions.len() as u64) < statement_bytes
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
            condition: self.condition.clone(),
            masks: self.masks.iter().map(|masked| (masked.column.clone(), masked.mask)).collect(),
            files: Vec::new(),
        }
    }

    /// Where the columns of the key are among those that are read, and how their values are written.
    pub(crate) fn key_fields(&self) -> Vec<(usize, &Literal)> {
        self.key.as_ref().map(|key| keys::key_fields(key, &self.columns)).unwrap_or_default()
    }

    /// Whether the key begins with a whole number and has the order of those.
    pub(crate) fn key_begins_with_number(&self) -> bool {
        let is_number = self.key_fields().first().is_some_and(|(_, literal)| **literal == Literal::Whole);
        is_number && self.key.as_ref().is_some_and(|key| !key.columns[0].descending)
    }

    /// Whether the key's values are compared as numbers or bytes, so that there is nothing to understand about them.
    pub(crate) fn compares_as_bytes(&self) -> bool {
        let is_plain = |literal: &Literal| {
            matches!(literal, Literal::Whole | Literal::Bare | Literal::Quoted | Literal::Bytes)
        };
        self.key_fields().iter().all(|(_, literal)| is_plain(literal))
    }

    /// The shape of the rows that come with [`TablePlan::extra`] behind all columns.
    pub(crate) fn shape(&self, table: &Table) -> Shape {
        let mark = |(index, column): (usize, &ReadColumn)| {
            column.error_mark.as_ref().map(|mark| (index, mark.clone().into_bytes()))
        };
        Shape {
            keys: self.key_fields().into_iter().map(|(field, _)| field).collect(),
            error_marks: self.columns.iter().enumerate().filter_map(mark).collect(),
            masks: self.maskers(),
            twins: (0..self.columns.len()).filter(|&index| self.columns[index].stored.is_some()).collect(),
            losses: (0..self.columns.len()).filter(|&index| self.columns[index].loses.is_some()).collect(),
            documents: (0..self.columns.len()).filter(|&index| self.columns[index].is_document).collect(),
            ..shape(table)
        }
    }

    /// What takes the place of values on their way into the files.
    pub(crate) fn maskers(&self) -> Vec<(usize, Masker)> {
        let place = |masked: &Masked| {
            let at = self.columns.iter().position(|column| column.column.name == masked.column)?;
            Some((at, masked.masker.clone()))
        };
        let mut maskers: Vec<_> = self.masks.iter().filter_map(place).collect();
        maskers.sort_by_key(|(at, _)| *at);
        maskers
    }

    /// What shows values as they are stored, where loading makes others of them, and what tells that something of a value is lost.
    pub(crate) fn extra(&self) -> Vec<&str> {
        let stored = self.columns.iter().filter_map(|column| column.stored.as_deref());
        stored.chain(self.columns.iter().filter_map(|column| column.loses.as_deref())).collect()
    }

    /// What the columns' text is, in their order.
    pub(crate) fn kinds(&self) -> Vec<ValueKind> {
        self.columns.iter().map(|column| column.kind).collect()
    }
}

/// Whether the server prints a DOUBLE without a fraction in JSON as a whole number, as MySQL 5.7 does, and can tell the size of a document, as
/// it can from 5.7.22 on.
fn hides_doubles(connection: &mut Connection) -> Result<bool> {
    match connection.first("SELECT CAST(CAST(3e0 AS JSON) AS CHAR) = '3' AND JSON_STORAGE_SIZE('1') > 0") {
        Ok(row) => Ok(row.is_some_and(|row| row.string(0) == "1")),
        Err(error) if error.code().is_some() => Ok(false),
        Err(error) => Err(error).doing(|| "trying how JSON is printed"),
    }
}

/// Whether the server prints newlines in documents as they are, which is no JSON: MySQL 5.7 does, in the base64 of bytes.
fn breaks_base64(connection: &mut Connection) -> Result<bool> {
    const SQL: &str = "SELECT INSTR(CAST(JSON_ARRAY(CAST(REPEAT('a', 100) AS BINARY)) AS CHAR), '\\n') > 0";
    match connection.first(SQL) {
        Ok(row) => Ok(row.is_some_and(|row| row.string(0) == "1")),
        Err(error) if error.code().is_some() => Ok(false),
        Err(error) => Err(error).doing(|| "trying how JSON is printed"),
    }
}

/// Whether every row is sure to be handed out whole, whatever its values: see [`BUFFER`]. Text is read as it is.
fn are_short(facts: &[ColumnFacts]) -> bool {
    /// What CHAR, VARCHAR, BINARY and VARBINARY columns add up to at most (both servers' limit of a row's size).
    const OTHER_TEXT: usize = 65_535;
    /// What stands before a value.
    const LENGTH: usize = 9;
    let longest = |facts: &ColumnFacts| match facts.data_type.as_str() {
        "char" | "varchar" | "binary" | "varbinary" => Some(0),
        "tinytext" | "tinyblob" => Some(255),
        "text" | "blob" => Some(65_535),
        "enum" | "set" => Some(facts.column_type.len() * 4),
        "tinyint" | "smallint" | "mediumint" | "int" | "bigint" | "decimal" | "year" | "bit" | "uuid" => {
            Some(100)
        }
        "date" | "datetime" | "timestamp" | "time" | "inet4" | "inet6" => Some(100),
        // 308 digits before the point, and some behind; and once more as it is stored.
        "float" | "double" => Some(800),
        _ => None,
    };
    let all = facts.iter().try_fold(OTHER_TEXT, |all, facts| Some(all + longest(facts)? + 2 * LENGTH));
    all.is_some_and(|all| all < BUFFER)
}

/// A column without what does not matter to the form of the files, or to one that is masked.
fn as_written(mut column: ReadColumn, format: RowFormat, masks: &[Masked]) -> ReadColumn {
    let is_masked = masks.iter().any(|masked| masked.column == column.column.name);
    if is_masked || format == RowFormat::Tsv && !column.column.is_cast_to_json() {
        column.loses = None; // lines hold any bytes
    }
    if is_masked {
        (column.stored, column.error_mark, column.is_document) = (None, None, false);
    }
    if is_masked && column.kind == ValueKind::OtherText && format == RowFormat::Csv {
        column.column.read = None; // the same value has the same mask in all forms
    }
    column
}

/// The key that a table can be cut by, if each of its values can be written as a literal.
fn key(connection: &mut Connection, name: &Name, columns: &[ReadColumn]) -> Result<Option<Key>> {
    let found = catalog::clustering_key(connection, name)?;
    Ok(found.and_then(|found| table::key_of(found, columns)))
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
    /// The rows for which this holds, where not all are meant.
    pub(crate) condition: Option<&'a str>,
}

/// Has MySQL guess how many rows will come. With an index forced and no subquery it makes no guess, takes them for one, and
/// fetches each by itself instead of up to 128 KiB of them at once, which costs it a fifth more.
const GUESSING: &str = " /*!80000 AND EXISTS (SELECT 1) */";

impl<'a> Bounds<'a> {
    /// Those of a file: all rows that a table has there, also those for which the dump's condition does not hold.
    pub(crate) fn of(chunk: &'a Chunk) -> Self {
        Self {
            partition: chunk.partition.as_deref(),
            behind: chunk.after.as_deref(),
            up_to: chunk.up_to.as_deref(),
            condition: None,
        }
    }

    /// `FROM`, with the conditions. The index is forced: without that the servers may sort.
    pub(crate) fn from(self, table: &Table, name: &Name) -> String {
        self.hinted("FORCE", table, name)
    }

    /// The server's guess of how many rows there are; not more than half of the table's. MySQL makes none where it is forced.
    pub(crate) fn guess(self, connection: &mut Connection, table: &Table, name: &Name) -> Result<u64> {
        let select = format!("SELECT 1 {}", self.hinted("USE", table, name));
        let plan = match connection.query(format!("EXPLAIN FORMAT=TRADITIONAL {select}")) {
            // MySQL before 5.6 and MariaDB before 10.1 have one format only.
            Err(error) if error.code() == Some(er::PARSE_ERROR) => {
                connection.query(format!("EXPLAIN {select}"))
            }
            plan => plan,
        };
        let plan = plan.doing(|| format!("looking for a border in {name}"))?;
        let rows = plan.column("rows").and_then(|at| plan.first()?.parse(at));
        Ok(rows.unwrap_or(0))
    }

    fn hinted(self, hint: &str, table: &Table, name: &Name) -> String {
        let mut sql = format!("FROM {name}");
        if let Some(partition) = self.partition {
            sql.push_str(&format!(" PARTITION ({})", quote::identifier(partition)));
        }
        if table.with_history {
            sql.push_str(" FOR SYSTEM_TIME ALL");
        }
        let mut conditions = Vec::new();
        if let Some(key) = &table.key {
            sql.push_str(&format!(" {hint} INDEX ({})", quote::identifier(&key.index)));
            conditions.extend(self.behind.map(|values| keys::behind(key, values)));
            conditions.extend(self.up_to.map(|values| keys::up_to(key, values)));
        }
        let is_range = !conditions.is_empty();
        conditions.extend(self.condition.map(in_parentheses));
        if !conditions.is_empty() {
            sql.push_str(&format!(" WHERE {}", conditions.join(" AND ")));
        }
        if is_range {
            sql.push_str(GUESSING);
        }
        sql
    }
}

/// A condition of a person's beside others. It may end with a comment.
pub(crate) fn in_parentheses(condition: &str) -> String {
    format!("({condition}\n)")
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

/// What a table's rows can be cut by: a key, and partitions.
fn cuts(
    connection: &mut Connection,
    relation: &Relation,
    format: RowFormat,
    columns: &[ReadColumn],
    masks: &[Masked],
) -> Result<(Option<Key>, Vec<Partition>)> {
    // Rows of the past have the keys of living ones, and an engine that does not keep the rows in the order of a key is
    // slow to read in it.
    if relation.kind == RelationKind::VersionedTable || !relation.is_clustered() {
        return Ok((None, Vec::new()));
    }
    let key = key(connection, &relation.name, columns)?;
    // Borders would tell the values as they were, and lie elsewhere among those that take their place.
    let in_key = |masked: &Masked| key.iter().flat_map(|key| &key.columns).any(|c| c.name == masked.column);
    let is_masked = masks.iter().any(in_key);
    let key = key.filter(|_| !is_masked);
    let has_parts = !format.is_one_file() && relation.partitioned && (masks.is_empty() || key.is_some());
    let partitions = if has_parts { catalog::partitions(connection, &relation.name)? } else { Vec::new() };
    Ok((key, partitions))
}

#[cfg(test)]
mod tests {
    use drover_db::table::KeyColumn;

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
            condition: None,
            masks: Default::default(),
            files: vec![],
        }
    }

    fn facts(data_type: &str, column_type: &str, character_set: Option<&str>) -> ColumnFacts {
        ColumnFacts {
            name: "c".into(),
            data_type: data_type.into(),
            column_type: column_type.into(),
            character_set: character_set.map(Into::into),
            generation: String::new(),
            stored: false,
        }
    }

    #[test]
    fn rows_that_are_sure_to_be_short() {
        let short = |types: &[(&str, &str)]| {
            let facts: Vec<_> = types.iter().map(|(data_type, kind)| facts(data_type, kind, None)).collect();
            are_short(&facts)
        };
        assert!(short(&[
            ("int", "int"),
            ("varchar", "varchar(60000)"),
            ("text", "text"),
            ("set", "set('a','b')")
        ]));
        assert!(!short(&[("int", "int"), ("mediumtext", "mediumtext")]));
        assert!(
            !short(&[("json", "json")])
                && !short(&[("geometry", "geometry")])
                && !short(&[("vector", "vector(3)")])
        );
        assert!(short(&[("text", "text"); 6]) && !short(&[("text", "text"); 7]));
    }

    #[test]
    fn only_what_must_be_valid_text_is_looked_at() {
        let facts = facts("text", "text", Some("gbk"));
        let column = |format| {
            let column = table::to_read(std::slice::from_ref(&facts), false).remove(0);
            as_written(column, format, &[]).loses
        };
        assert_eq!(column(RowFormat::Tsv), None);
        let expected = "NOT (CAST(CONVERT(CAST(`c` AS BINARY) USING gbk) AS BINARY) <=> CAST(`c` AS BINARY))";
        assert_eq!(column(RowFormat::Sql).as_deref(), Some(expected));
    }

    #[test]
    fn statements_that_read_a_table() {
        let name = Name::new("s", "t");
        let all = Bounds::default();
        assert_eq!(select(&table(&[]), &name, all, &[]), "SELECT `a`, CAST(`b` AS DOUBLE) FROM `s`.`t`");
        let (behind, up_to) = (["1".to_owned()], ["2".to_owned()]);
        let bounds =
            Bounds { partition: Some("p"), behind: Some(&behind), up_to: Some(&up_to), condition: None };
        assert_eq!(
            select(&table(&["a"]), &name, bounds, &["`b`"]),
            "SELECT `a`, CAST(`b` AS DOUBLE), `b` FROM `s`.`t` PARTITION (`p`) FORCE INDEX (`PRIMARY`) \
             WHERE `a` > 1 AND `a` <= 2 /*!80000 AND EXISTS (SELECT 1) */"
        );
        let chosen = Bounds { condition: Some("x = 1 OR y -- z"), ..bounds };
        let sql = select(&table(&["a"]), &name, chosen, &[]);
        let end = " WHERE `a` > 1 AND `a` <= 2 AND (x = 1 OR y -- z\n) /*!80000 AND EXISTS (SELECT 1) */";
        assert!(sql.ends_with(end), "{sql}");
        let chosen = Bounds { condition: Some("x"), ..all };
        assert!(select(&table(&[]), &name, chosen, &[]).ends_with("FROM `s`.`t` WHERE (x\n)"));
    }
}
