//! What the server says of a table's columns and keys.

use super::Name;
use crate::wire::Rows;
use crate::{Connection, Result, Row, er};

/// A column as the catalogue describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnFacts {
    /// Its name in the server.
    pub name: String,
    /// Its type in lower case, such as `enum`.
    pub data_type: String,
    /// Such as `enum('a','b')`.
    pub column_type: String,
    /// Its character set; `None` if its values are no text.
    pub character_set: Option<String>,
    /// The expression of a generated column; `ROW START` and `ROW END` for those of a system-versioned table.
    pub generation: String,
    /// Whether the values of a generated column are stored.
    pub stored: bool,
}

impl ColumnFacts {
    /// Whether it tells the time until which a row is valid (system-versioned tables of MariaDB).
    pub fn is_row_end(&self) -> bool {
        self.generation.eq_ignore_ascii_case("ROW END") && self.data_type == "timestamp"
    }

    /// Whether it tells since when or until when a row is valid.
    pub fn is_row_time(&self) -> bool {
        matches!(self.generation.to_ascii_uppercase().as_str(), "ROW START" | "ROW END")
    }
}

/// What the columns are called that MariaDB adds to a system-versioned table by itself: since when and until when a row is valid.
pub const ROW_TIMES: [&str; 2] = ["row_start", "row_end"];

/// The columns that MariaDB adds by itself to a system-versioned table of these columns. They are in no list, but can be read and loaded by
/// their names.
pub fn implicit_row_times(columns: &[ColumnFacts]) -> Vec<ColumnFacts> {
    if columns.iter().any(ColumnFacts::is_row_time) {
        return Vec::new();
    }
    let row_time = |(name, generation): (&str, &str)| ColumnFacts {
        name: name.into(),
        data_type: "timestamp".into(),
        column_type: "timestamp(6)".into(),
        character_set: None,
        generation: generation.into(),
        stored: true,
    };
    ROW_TIMES.into_iter().zip(["ROW START", "ROW END"]).map(row_time).collect()
}

/// The columns of a table in their order; none if there is no such table, or if the account may see none.
///
/// # Errors
/// If the server refuses to tell them, or the connection is lost.
pub fn columns(connection: &mut Connection, table: &Name) -> Result<Vec<ColumnFacts>> {
    let sql = |expression: &str| {
        format!(
            "SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, CHARACTER_SET_NAME, \
             {expression}, EXTRA FROM information_schema.COLUMNS WHERE {} ORDER BY ORDINAL_POSITION",
            table.condition()
        )
    };
    let rows = match connection.query(sql("GENERATION_EXPRESSION")) {
        // MySQL before 5.7 has no generated columns, and MariaDB before 10.2 names them in EXTRA.
        Err(error) if error.code() == Some(er::BAD_FIELD) => connection.query(sql(OLD_GENERATION))?,
        rows => rows?,
    };
    Ok(rows.into_iter().filter(|row| table.begins(row)).map(|row| column(&row)).collect())
}

/// What stands for the expression where the catalogue has none.
const OLD_GENERATION: &str = "IF(EXTRA IN ('VIRTUAL', 'PERSISTENT'), EXTRA, '')";

fn column(row: &Row) -> ColumnFacts {
    ColumnFacts {
        name: row.string(2),
        data_type: row.string(3).to_ascii_lowercase(),
        column_type: row.string(4),
        character_set: row.text(5),
        generation: row.string(6),
        stored: ["STORED GENERATED", "PERSISTENT"]
            .iter()
            .any(|word| row.string(7).to_ascii_uppercase().contains(word)),
    }
}

/// An index that tells all rows apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UniqueKey {
    /// The index's name.
    pub index: String,
    /// Names, and whether the greatest value comes first.
    pub columns: Vec<(String, bool)>,
}

/// All indexes in whose order a table can be walked, whatever its engine: unique, without NULLs, of whole columns, in an
/// order (BTREE), and visible to the optimizer. They have the servers' order: the primary key first, if it is one of them.
///
/// # Errors
/// If there is no such table, if the server refuses to tell its indexes, or the connection is lost.
pub fn unique_keys(connection: &mut Connection, table: &Name) -> Result<Vec<UniqueKey>> {
    Ok(walkable(&indexes(connection, table)?))
}

/// The key in whose order InnoDB keeps the rows: the primary key, or else the first unique one without NULLs. `None` if
/// there is none, or if the table cannot be walked by it.
///
/// # Errors
/// As for [`unique_keys`].
pub fn clustering_key(connection: &mut Connection, table: &Name) -> Result<Option<UniqueKey>> {
    Ok(clustering(&indexes(connection, table)?))
}

fn indexes(connection: &mut Connection, table: &Name) -> Result<Rows> {
    connection.query(format!("SHOW INDEX FROM {table}"))
}

fn clustering(rows: &Rows) -> Option<UniqueKey> {
    let is_primary = |index: &str| index == "PRIMARY";
    let has_primary = rows.rows.iter().any(|row| is_primary(&text(rows, row, "Key_name")));
    walkable(rows).into_iter().find(|key| !has_primary || is_primary(&key.index))
}

/// The servers list an index's columns one after the other, and the indexes with the primary key first, then the unique ones
/// without NULLs.
fn walkable(rows: &Rows) -> Vec<UniqueKey> {
    let name = |row: &Row| text(rows, row, "Key_name");
    let indexes = rows.rows.chunk_by(|one, other| name(one) == name(other));
    let plain = indexes.filter(|columns| columns.iter().all(|column| is_plain(rows, column)));
    let key = |columns: &[Row]| UniqueKey {
        index: columns.first().map(name).unwrap_or_default(),
        columns: columns
            .iter()
            .map(|row| (text(rows, row, "Column_name"), text(rows, row, "Collation") == "D"))
            .collect(),
    };
    plain.map(key).collect()
}

/// Whether a row of SHOW INDEX is of an index to walk by. `Visible` is MySQL's, `Ignored` MariaDB's; an expression has no
/// column.
fn is_plain(rows: &Rows, row: &Row) -> bool {
    let is = |column: &str, value: &str| text(rows, row, column) == value;
    is("Non_unique", "0")
        && !is("Null", "YES")
        && !is("Column_name", "")
        && is("Sub_part", "")
        && is("Index_type", "BTREE")
        && !is("Visible", "NO")
        && !is("Ignored", "YES")
}

/// What a row has in a column; empty for NULL, and where there is no such column.
fn text(rows: &Rows, row: &Row, column: &str) -> String {
    rows.column(column).and_then(|at| row.text(at)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [&str; 8] =
        ["Non_unique", "Key_name", "Column_name", "Collation", "Sub_part", "Null", "Index_type", "Visible"];

    /// What SHOW INDEX gives, as far as it matters; fields with a space between, `-` for NULL.
    fn shown(rows: &[&str]) -> Rows {
        let value = |text: &str| (text != "-").then(|| text.as_bytes().to_vec());
        let row = |row: &&str| Row::new(row.split(' ').map(value).collect());
        Rows { columns: COLUMNS.map(Into::into).to_vec(), rows: rows.iter().map(row).collect() }
    }

    fn names(keys: impl IntoIterator<Item = UniqueKey>) -> Vec<String> {
        keys.into_iter().map(|key| key.index).collect()
    }

    #[test]
    fn keys_to_walk_by() {
        let rows = shown(&[
            "0 PRIMARY a A -  BTREE YES",
            "0 PRIMARY b D -  BTREE YES",
            "0 beginning c A 3  BTREE YES",
            "0 hidden d A -  BTREE NO",
            "0 good d A -  BTREE YES",
            "0 nulls e A - YES BTREE YES",
            "0 hash f - -  HASH YES",
            "0 expression a A -  BTREE YES",
            "0 expression - A -  BTREE YES",
            "1 again a A -  BTREE YES",
        ]);
        assert_eq!(names(walkable(&rows)), ["PRIMARY", "good"]);
        let columns = vec![("a".into(), false), ("b".into(), true)];
        assert_eq!(clustering(&rows), Some(UniqueKey { index: "PRIMARY".into(), columns }));
    }

    #[test]
    fn rows_have_no_other_order_than_the_primary_keys_if_there_is_one() {
        let beginning = "0 PRIMARY a A 3  BTREE YES";
        let others = ["0 u b A -  BTREE YES", "0 v c A -  BTREE YES"];
        let rows = shown(&[beginning, others[0], others[1]]);
        assert_eq!((names(walkable(&rows)), clustering(&rows)), (vec!["u".into(), "v".into()], None));
        assert_eq!(names(clustering(&shown(&others))), ["u"]);
        assert_eq!((walkable(&shown(&[])), clustering(&shown(&[]))), (vec![], None));
    }
}
