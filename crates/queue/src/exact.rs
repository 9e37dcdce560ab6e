//! Deleting exactly the rows that are meant, each found by its whole primary key. For a range or a long list the optimizer may read the table from
//! one end to the other (seen on MySQL 9.7 and MariaDB 10.11 with lists of a hundred keys), and also for a range InnoDB locks the row behind
//! it: then the statement waits for rows that somebody else has inserted and not committed yet. The keys come as the first table of a join
//! whose order is fixed, so that each row is read by its key and no other is locked.

use std::fmt::Write as _;

use drover_db::Connection;
use drover_db::er;

/// Where keys have to be written as one SELECT each, so many come in one statement.
const UNION: usize = 100;

/// Deletes the rows of these keys, `columns` being the whole primary key; how many there were.
pub(crate) fn delete<const N: usize>(
    connection: &mut Connection,
    table: &str,
    columns: [&str; N],
    keys: &[[u64; N]],
) -> drover_db::Result<u64> {
    if keys.is_empty() {
        return Ok(0);
    }
    let on: Vec<_> = columns.iter().map(|column| format!("t.{column} = k.{column}")).collect();
    let sql =
        |keys: &str| format!("DELETE t FROM {keys} AS k STRAIGHT_JOIN {table} AS t ON {}", on.join(" AND "));
    if drover_db::server::is_tidb(connection)? {
        return Ok(connection.execute(by_points(table, columns, keys))?.affected);
    }
    match connection.execute(sql(&json(columns, keys))) {
        Err(error) if is_unknown_syntax(&error) => {}
        other => return Ok(other?.affected),
    }
    let mut deleted = 0;
    for keys in keys.chunks(UNION) {
        deleted += connection.execute(sql(&union(columns, keys)))?.affected;
    }
    Ok(deleted)
}

/// For TiDB, which gets each row of such a list by its key (Batch_Point_Get), and locks no other.
fn by_points<const N: usize>(table: &str, columns: [&str; N], keys: &[[u64; N]]) -> String {
    let row = |key: &[u64; N]| key.map(|part| part.to_string()).join(",");
    let rows: Vec<_> = keys.iter().map(|key| format!("({})", row(key))).collect();
    format!("DELETE FROM {table} WHERE ({}) IN ({})", columns.join(","), rows.join(","))
}

/// Whether the server does not know the syntax (ER_PARSE_ERROR).
pub(crate) fn is_unknown_syntax(error: &drover_db::Error) -> bool {
    error.code() == Some(er::PARSE_ERROR)
}

/// Keys as a table, for servers that read JSON as one: MySQL 8.0 and MariaDB 10.6.
fn json<const N: usize>(columns: [&str; N], keys: &[[u64; N]]) -> String {
    let mut text = String::new();
    for key in keys {
        let comma = if text.is_empty() { "" } else { "," };
        let _ = write!(text, "{comma}{key:?}");
    }
    let paths = columns.iter().enumerate();
    let columns: Vec<_> =
        paths.map(|(at, column)| format!("{column} BIGINT UNSIGNED PATH '$[{at}]'")).collect();
    format!("JSON_TABLE('[{text}]', '$[*]' COLUMNS ({}))", columns.join(", "))
}

/// Keys as a table.
fn union<const N: usize>(columns: [&str; N], keys: &[[u64; N]]) -> String {
    let row = |key: &[u64; N]| {
        let fields: Vec<_> =
            key.iter().zip(columns).map(|(key, column)| format!("{key} AS {column}")).collect();
        format!("SELECT {}", fields.join(", "))
    };
    let rows: Vec<_> = keys.iter().map(row).collect();
    format!("({})", rows.join(" UNION ALL "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_a_table() {
        assert_eq!(
            json(["due_ms", "task"], &[[1, 2], [u64::MAX, 4]]),
            "JSON_TABLE('[[1, 2],[18446744073709551615, 4]]', '$[*]' COLUMNS (due_ms BIGINT UNSIGNED PATH '$[0]', task BIGINT UNSIGNED PATH '$[1]'))"
        );
        assert_eq!(
            by_points("t", ["due_ms", "task"], &[[1, 2], [3, 4]]),
            "DELETE FROM t WHERE (due_ms,task) IN ((1,2),(3,4))"
        );
        assert_eq!(union(["id"], &[[1], [7]]), "(SELECT 1 AS id UNION ALL SELECT 7 AS id)");
    }
}
