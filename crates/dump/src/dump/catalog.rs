//! What the server says it holds. Names are compared here, byte for byte: the catalogue's own comparisons take `Shop`
//! and `shop` for the same.

use drover_db::engines::has_rows_elsewhere;
use drover_db::table::{self, UniqueKey};
use drover_db::wire::Rows;
use drover_db::{Connection, Row, er, quote, server};

pub(crate) use drover_db::table::{ColumnFacts, Name};

use crate::error::Doing;
use crate::{Error, Result};

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

impl Relation {
    /// A table of which only the name is known.
    pub(crate) fn named(name: Name) -> Self {
        Self { name, kind: RelationKind::Table, engine: None, rows: 0, bytes: 0, partitioned: false }
    }

    /// Whether its rows are kept elsewhere: dumped here, they would come back twice.
    pub(crate) fn rows_elsewhere(&self) -> bool {
        self.engine.as_deref().is_some_and(has_rows_elsewhere)
    }

    /// Whether reading in the order of the primary key costs nothing.
    pub(crate) fn is_clustered(&self) -> bool {
        self.is_of(&CLUSTERED)
    }

    /// Whether it is one of InnoDB's.
    pub(crate) fn is_innodb(&self) -> bool {
        self.is_of(&["INNODB"])
    }

    fn is_of(&self, engines: &[&str]) -> bool {
        self.engine.as_ref().is_some_and(|engine| engines.contains(&engine.to_ascii_uppercase().as_str()))
    }
}

/// All schemas, the server's own too.
pub(crate) fn schemas(connection: &mut Connection) -> Result<Vec<String>> {
    let rows = connection
        .query_catalog("SELECT SCHEMA_NAME FROM information_schema.SCHEMATA ORDER BY SCHEMA_NAME")
        .doing(|| "listing the schemas")?;
    let mut schemas: Vec<_> = rows.into_iter().map(|row| row.string(0)).collect();
    // TiDB's own; elsewhere anybody may have a schema of that name.
    let is_metrics = |schema: &String| schema.eq_ignore_ascii_case("metrics_schema");
    if schemas.iter().any(is_metrics) && server::is_tidb(connection).doing(|| "listing the schemas")? {
        schemas.retain(|schema| !is_metrics(schema));
    }
    Ok(schemas)
}

/// Everything that has rows or looks like it, outside of the server's own schemas.
pub(crate) fn relations(connection: &mut Connection) -> Result<Vec<Relation>> {
    let system = drover_db::schemas::SYSTEM.map(quote::string).join(", ");
    let sql = format!(
        "SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, ENGINE, TABLE_ROWS, DATA_LENGTH, CREATE_OPTIONS FROM \
         information_schema.TABLES \
         WHERE TABLE_SCHEMA NOT IN ({system}) ORDER BY TABLE_SCHEMA, TABLE_NAME"
    );
    let rows = connection.query_catalog(sql).doing(|| "listing the tables")?;
    Ok(rows.into_iter().filter_map(|row| relation(&row)).collect())
}

/// Asks for the names of all that [`relations`] gives. The server opens no table for it: one that is being altered could have to be waited
/// for, and one that is gone when the server comes to it is left out.
pub(crate) fn names() -> String {
    let system = drover_db::schemas::SYSTEM.map(quote::string).join(", ");
    format!(
        "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA NOT IN ({system})"
    )
}

/// The system-versioned tables (MariaDB).
pub(crate) fn versioned(connection: &mut Connection) -> Result<Vec<Name>> {
    let sql = format!("{} AND TABLE_TYPE = 'SYSTEM VERSIONED'", names());
    Ok(named(&connection.query_catalog(sql).doing(|| "listing the system-versioned tables")?))
}

/// The answer to [`names`].
pub(crate) fn named(rows: &Rows) -> Vec<Name> {
    rows.rows.iter().map(|row| Name::new(&row.string(0), &row.string(1))).collect()
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

/// The engine of a table; `None` if there is no such table, for views, and for a table whose rows are kept elsewhere.
pub(crate) fn engine(connection: &mut Connection, table: &Name) -> Result<Option<String>> {
    let sql = format!(
        "SELECT TABLE_SCHEMA, TABLE_NAME, ENGINE FROM information_schema.TABLES WHERE {}",
        table.condition()
    );
    let rows = connection.query_catalog(sql).doing(|| format!("reading the engine of {table}"))?;
    let engine = rows.into_iter().find(|row| table.begins(row)).and_then(|row| row.text(2));
    Ok(engine.filter(|engine| !has_rows_elsewhere(engine)))
}

/// The engines whose tables a transaction sees as they were when it began.
pub(crate) fn transactional_engines(connection: &mut Connection) -> Result<Vec<String>> {
    let rows = connection
        .query_catalog("SELECT ENGINE FROM information_schema.ENGINES WHERE TRANSACTIONS = 'YES'")
        .doing(|| "listing the storage engines")?;
    Ok(rows.into_iter().map(|row| row.string(0)).collect())
}

/// The columns of a table in their order.
pub(crate) fn columns(connection: &mut Connection, table: &Name) -> Result<Vec<ColumnFacts>> {
    table::columns(connection, table).doing(|| format!("reading the columns of {table}"))
}

/// The key in whose order InnoDB keeps the rows, see [`table::clustering_key`].
pub(crate) fn clustering_key(connection: &mut Connection, table: &Name) -> Result<Option<UniqueKey>> {
    table::clustering_key(connection, table).doing(|| format!("reading the keys of {table}"))
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
        table.condition()
    );
    let rows = connection.query_catalog(sql).doing(|| format!("reading the partitions of {table}"))?;
    let partition = |row: Row| Partition {
        name: row.string(2),
        rows: row.parse(3).unwrap_or(0),
        bytes: row.parse(4).unwrap_or(0),
    };
    let parts: Vec<_> = rows.into_iter().filter(|row| table.begins(row)).map(partition).collect();
    let Some(first) = parts.first() else { return Ok(parts) };
    let probe = format!("SELECT 1 FROM {table} PARTITION ({}) LIMIT 0", quote::identifier(&first.name));
    match connection.query_catalog(probe) {
        // MySQL before 5.6 reads a table as a whole only.
        Err(error) if error.code() == Some(er::PARSE_ERROR) => Ok(Vec::new()),
        Err(error) => Err(error).doing(|| format!("reading a partition of {table}")),
        Ok(_) => Ok(parts),
    }
}

/// The statement that creates a table, as the server gives it.
pub(crate) fn create_table(connection: &mut Connection, table: &Name) -> Result<Vec<u8>> {
    let row = connection
        .first(format!("SHOW CREATE TABLE {table}"))
        .doing(|| format!("reading the definition of {table}"))?;
    row.and_then(|row| row.bytes(1).map(<[u8]>::to_vec))
        .ok_or_else(|| Error::found(format!("the server gives no definition of {table}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use drover_format::kind::Kind;

    #[test]
    fn rows_elsewhere_are_so_in_the_catalogue_and_in_definitions() {
        for engine in ["S3", "sphinx", "CASSANDRA", "FEDERATED"] {
            let relation = Relation { engine: Some(engine.into()), ..Relation::named(Name::new("a", "b")) };
            assert!(relation.rows_elsewhere(), "{engine}");
            let create = format!("CREATE TABLE t (a int) ENGINE={engine}");
            let kind = Kind::of(create.as_bytes(), Default::default());
            assert!(matches!(kind, Kind::CreateTableElsewhere(_)), "{create}: {kind:?}");
        }
        assert!(!has_rows_elsewhere("InnoDB") && !has_rows_elsewhere("MyISAM"));
    }
}
