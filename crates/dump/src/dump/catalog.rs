//! What the server says it holds. Names are compared here, byte for byte: the catalogue's own comparisons take `Shop`
//! and `shop` for the same.

use std::fmt;

use drover_db::{Connection, Row, quote};

use crate::error::Doing;
use crate::{Error, Result};

/// A schema's name and the name of something in it.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Name {
    pub(crate) schema: String,
    pub(crate) name: String,
}

impl Name {
    pub(crate) fn new(schema: &str, name: &str) -> Self {
        Self { schema: schema.into(), name: name.into() }
    }
}

/// In backticks, so that it serves in SQL and in messages.
impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&quote::qualified(&self.schema, &self.name))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RelationKind {
    Table,
    /// With rows of the past (MariaDB).
    VersionedTable,
    View,
    Sequence,
}

/// Whatever `information_schema.TABLES` lists.
#[derive(Debug, Clone)]
pub(crate) struct Relation {
    pub(crate) name: Name,
    pub(crate) kind: RelationKind,
    /// `None` for views, and for a table that the server cannot open.
    pub(crate) engine: Option<String>,
    /// The server's guess.
    pub(crate) rows: u64,
    /// The server's guess, in bytes, without secondary indexes.
    pub(crate) bytes: u64,
    pub(crate) partitioned: bool,
}

/// Engines that keep the rows in the order of the primary key.
const CLUSTERED: [&str; 2] = ["INNODB", "ROCKSDB"];

/// Engines whose tables show rows that are kept in other tables or servers.
const ROWS_ELSEWHERE: [&str; 6] = ["MRG_MYISAM", "FEDERATED", "CONNECT", "SPIDER", "OQGRAPH", "VP"];

impl Relation {
    /// Whether its rows are kept elsewhere: dumped here, they would come back twice.
    pub(crate) fn rows_elsewhere(&self) -> bool {
        self.is_of(&ROWS_ELSEWHERE)
    }

    /// Whether reading in the order of the primary key costs nothing.
    pub(crate) fn is_clustered(&self) -> bool {
        self.is_of(&CLUSTERED)
    }

    fn is_of(&self, engines: &[&str]) -> bool {
        self.engine.as_ref().is_some_and(|engine| engines.contains(&engine.to_ascii_uppercase().as_str()))
    }
}

/// All schemas, the server's own too.
pub(crate) fn schemas(connection: &mut Connection) -> Result<Vec<String>> {
    let rows = connection
        .query("SELECT SCHEMA_NAME FROM information_schema.SCHEMATA ORDER BY SCHEMA_NAME")
        .doing(|| "listing the schemas")?;
    Ok(rows.into_iter().map(|row| row.string(0)).collect())
}

/// Everything that has rows or looks like it, outside of the server's own schemas.
pub(crate) fn relations(connection: &mut Connection) -> Result<Vec<Relation>> {
    let system = super::select::SYSTEM_SCHEMAS.map(quote::string).join(", ");
    let sql = format!(
        "SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, ENGINE, TABLE_ROWS, DATA_LENGTH, CREATE_OPTIONS FROM \
         information_schema.TABLES \
         WHERE TABLE_SCHEMA NOT IN ({system}) ORDER BY TABLE_SCHEMA, TABLE_NAME"
    );
    let rows = connection.query(sql).doing(|| "listing the tables")?;
    Ok(rows.into_iter().filter_map(|row| relation(&row)).collect())
}

fn relation(row: &Row) -> Option<Relation> {
    let kind = match row.string(2).as_str() {
        "BASE TABLE" => RelationKind::Table,
        "SYSTEM VERSIONED" => RelationKind::VersionedTable,
        "VIEW" => RelationKind::View,
        "SEQUENCE" => RelationKind::Sequence,
        _ => return None, // TEMPORARY tables are the session's own
    };
    Some(Relation {
        name: Name::new(&row.string(0), &row.string(1)),
        kind,
        engine: row.text(3),
        rows: row.parse(4).unwrap_or(0),
        bytes: row.parse(5).unwrap_or(0),
        partitioned: row.string(6).contains("partitioned"),
    })
}

/// The engines whose tables a transaction sees as they were when it began.
pub(crate) fn transactional_engines(connection: &mut Connection) -> Result<Vec<String>> {
    let rows = connection
        .query("SELECT ENGINE FROM information_schema.ENGINES WHERE TRANSACTIONS = 'YES'")
        .doing(|| "listing the storage engines")?;
    Ok(rows.into_iter().map(|row| row.string(0)).collect())
}

/// A column as the catalogue describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ColumnFacts {
    pub(crate) name: String,
    /// Such as `enum`.
    pub(crate) data_type: String,
    /// Such as `enum('a','b')`.
    pub(crate) column_type: String,
    pub(crate) character_set: Option<String>,
    /// The expression of a generated column; `ROW START` and `ROW END` for those of a system-versioned table.
    pub(crate) generation: String,
    /// Whether the values of a generated column are stored.
    pub(crate) stored: bool,
}

/// The columns of a table in their order.
pub(crate) fn columns(connection: &mut Connection, table: &Name) -> Result<Vec<ColumnFacts>> {
    let sql = format!(
        "SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, CHARACTER_SET_NAME, \
         GENERATION_EXPRESSION, EXTRA FROM information_schema.COLUMNS WHERE {} ORDER BY ORDINAL_POSITION",
        is_table(table)
    );
    let rows = connection.query(sql).doing(|| format!("reading the columns of {table}"))?;
    Ok(rows.into_iter().filter(|row| is_exactly(row, table)).map(|row| column(&row)).collect())
}

fn column(row: &Row) -> ColumnFacts {
    ColumnFacts {
        name: row.string(2),
        data_type: row.string(3).to_ascii_lowercase(),
        column_type: row.string(4),
        character_set: row.text(5),
        generation: row.string(6),
        stored: row.string(7).to_ascii_uppercase().contains("STORED GENERATED"),
    }
}

/// An index that tells all rows apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UniqueKey {
    pub(crate) index: String,
    /// Names, and whether the greatest value comes first.
    pub(crate) columns: Vec<(String, bool)>,
}

/// The key in whose order InnoDB keeps the rows: the primary key, or else the first unique one without NULLs. `None` if
/// there is none, or if not all of it is plain columns.
pub(crate) fn clustering_key(connection: &mut Connection, table: &Name) -> Result<Option<UniqueKey>> {
    let what = || format!("reading the keys of {table}");
    let rows = connection.query(format!("SHOW INDEX FROM {table}")).doing(what)?;
    let text = |row: &Row, column: &str| rows.column(column).and_then(|at| row.text(at)).unwrap_or_default();
    let is_of = |row: &&Row, index: &str| text(row, "Key_name") == index;
    let is_plain = |row: &&Row| {
        text(row, "Non_unique") == "0"
            && text(row, "Null") != "YES"
            && !text(row, "Column_name").is_empty()
            && text(row, "Sub_part").is_empty()
            && text(row, "Index_type") == "BTREE"
            && text(row, "Visible") != "NO"
            && text(row, "Ignored") != "YES"
    };
    // The servers list them with the primary key first, then the unique ones without NULLs.
    let indexes: Vec<_> = rows.rows.iter().map(|row| text(row, "Key_name")).collect();
    let is_primary = |index: &&String| *index == "PRIMARY";
    let all_plain =
        |index: &&String| rows.rows.iter().filter(|row| is_of(row, index)).all(|row| is_plain(&row));
    let index = match indexes.iter().find(is_primary) {
        Some(primary) => Some(primary).filter(all_plain),
        None => indexes.iter().find(all_plain),
    };
    Ok(index.map(|index| UniqueKey {
        index: index.clone(),
        columns: rows
            .rows
            .iter()
            .filter(|row| is_of(row, index))
            .map(|row| (text(row, "Column_name"), text(row, "Collation") == "D"))
            .collect(),
    }))
}

/// A partition or subpartition, with the server's guesses.
#[derive(Debug, Clone)]
pub(crate) struct Partition {
    pub(crate) name: String,
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
}

/// The smallest parts that a table is partitioned in; none if it is not.
pub(crate) fn partitions(connection: &mut Connection, table: &Name) -> Result<Vec<Partition>> {
    let sql = format!(
        "SELECT TABLE_SCHEMA, TABLE_NAME, COALESCE(SUBPARTITION_NAME, PARTITION_NAME), TABLE_ROWS, DATA_LENGTH FROM \
         information_schema.PARTITIONS WHERE {} AND PARTITION_NAME IS NOT NULL ORDER BY PARTITION_ORDINAL_POSITION, \
         SUBPARTITION_ORDINAL_POSITION",
        is_table(table)
    );
    let rows = connection.query(sql).doing(|| format!("reading the partitions of {table}"))?;
    let partition = |row: Row| Partition {
        name: row.string(2),
        rows: row.parse(3).unwrap_or(0),
        bytes: row.parse(4).unwrap_or(0),
    };
    Ok(rows.into_iter().filter(|row| is_exactly(row, table)).map(partition).collect())
}

fn is_table(table: &Name) -> String {
    format!("TABLE_SCHEMA = {} AND TABLE_NAME = {}", quote::string(&table.schema), quote::string(&table.name))
}

fn is_exactly(row: &Row, table: &Name) -> bool {
    row.string(0) == table.schema && row.string(1) == table.name
}

/// The statement that creates a table, as the server gives it.
pub(crate) fn create_table(connection: &mut Connection, table: &Name) -> Result<Vec<u8>> {
    let row = connection
        .first(format!("SHOW CREATE TABLE {table}"))
        .doing(|| format!("reading the definition of {table}"))?;
    row.and_then(|row| row.bytes(1).map(<[u8]>::to_vec))
        .ok_or_else(|| Error::found(format!("the server gives no definition of {table}")))
}
