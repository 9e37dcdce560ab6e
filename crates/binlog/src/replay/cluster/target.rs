//! What the target has of a table before the logs come to it.

use drover_db::table::Name;
use drover_db::{Connection, Error, Row};

use super::shape::{Column, Key, Shape};

/// The engine of a table; none of a view, and of what is not there.
pub(super) fn engine(connection: &mut Connection, name: &Name) -> drover_db::Result<Option<String>> {
    let sql = format!(
        "SELECT TABLE_SCHEMA, TABLE_NAME, ENGINE FROM information_schema.TABLES WHERE {}",
        name.condition()
    );
    let rows = connection.query(sql)?;
    Ok(rows.into_iter().find(|row| name.begins(row)).and_then(|row| row.text(2)))
}

/// What a table is like.
pub(super) fn there(connection: &mut Connection, name: &Name) -> drover_db::Result<Option<Shape>> {
    let Some(engine) = engine(connection, name)? else { return Ok(None) };
    let Some(keys) = keys(connection, name)? else { return Ok(Some(Shape::uncertain())) };
    let sql = format!(
        "SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, IS_NULLABLE = 'YES' OR EXTRA LIKE '%VIRTUAL%' FROM information_schema.COLUMNS WHERE {}",
        name.condition()
    );
    let column = |row: Row| Column { name: row.string(2).to_lowercase(), takes_null: row.string(3) != "0" };
    let columns = connection.query(sql)?.into_iter().filter(|row| name.begins(row)).map(column).collect();
    Ok(Some(Shape { engine: Some(engine), columns, keys, is_uncertain: false }))
}

/// Its unique keys; `None` if the account may not see them.
fn keys(connection: &mut Connection, name: &Name) -> drover_db::Result<Option<Vec<Key>>> {
    let rows = match connection.query(format!("SHOW INDEX FROM {name}")) {
        Err(Error::Server(_)) => return Ok(None),
        rows => rows?,
    };
    let text = |row: &Row, column| rows.column(column).and_then(|at| row.text(at));
    let index = |row: &Row| text(row, "Key_name").unwrap_or_default().to_lowercase();
    let unique = rows.rows.iter().filter(|row| text(row, "Non_unique").as_deref() == Some("0"));
    let unique: Vec<_> = unique.collect();
    let key = |columns: &[&Row]| {
        let names = columns.iter().filter_map(|row| Some(text(row, "Column_name")?.to_lowercase()));
        let is_plain = |row: &&Row| text(row, "Column_name").is_some() && text(row, "Sub_part").is_none();
        Key {
            name: columns.first().map(|row| index(row)).unwrap_or_default(),
            columns: names.collect(),
            is_whole: columns.iter().all(is_plain),
            has_made_name: false,
        }
    };
    Ok(Some(unique.chunk_by(|one, other| index(one) == index(other)).map(key).collect()))
}
