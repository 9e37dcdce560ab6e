//! Rows that `mysqldump --tab` left in a file beside the script: lines as SELECT … INTO OUTFILE writes them if nothing else
//! is said, in the bytes of the columns' own character sets.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use drover_db::table::implicit_row_times;
use drover_db::{Connection, quote};

use super::history::RowEnd;
use super::input;
use super::script::Statement;
use crate::dump::catalog::{self, ColumnFacts, Name};
use crate::{Error, Result};
use drover_format::kind::{Kind, Qualified};

/// The statement that loads `path` into `table`, under its name on the target; `None` if the file is empty.
pub(super) fn statement(
    connection: &mut Connection,
    path: &Path,
    table: &Name,
    row_end: Option<&RowEnd>,
) -> Result<Option<Statement>> {
    let Some(fields) = fields(path)? else { return Ok(None) };
    let mut columns = catalog::columns(connection, table)?;
    let row_times = row_end.map(|_| implicit_row_times(&columns)).unwrap_or_default();
    if fields == columns.len() + row_times.len() {
        columns.extend(row_times);
    }
    let list = list(&columns, fields, row_end).ok_or_else(|| {
        Error::with_hint(
            format!(
                "{}: the first line has {fields} fields, {table} has {} columns",
                path.display(),
                columns.len()
            ),
            "only files with mysqldump's own separators (tab, newline, backslash) are read",
        )
    })?;
    let sql = format!(
        "LOAD DATA LOCAL INFILE {} INTO TABLE {table} CHARACTER SET binary FIELDS TERMINATED BY '\\t' ESCAPED BY '\\\\' \
         LINES TERMINATED BY '\\n' {list}",
        quote::string("rows")
    );
    let file: Arc<str> = path.display().to_string().into();
    let name = Qualified { schema: Some(table.schema.clone()), name: table.name.clone() };
    let kind = Kind::Load("rows".into(), name);
    Ok(Some(Statement {
        file,
        line: 1,
        text: sql.into_bytes(),
        kind,
        reads: Vec::new(),
        schema: None,
        dialect: Default::default(),
        sets_mode: false,
        dumped: None,
    }))
}

/// How many fields the first line has.
fn fields(path: &Path) -> Result<Option<usize>> {
    let mut input = input::open(path, None)?;
    let (mut byte, mut escaped, mut tabs, mut is_empty) = ([0], false, 0, true);
    while input.read(&mut byte).map_err(Error::file(path))? > 0 {
        is_empty = false;
        match byte[0] {
            b'\n' if !escaped => break,
            b'\t' if !escaped => tabs += 1,
            _ => {}
        }
        escaped = byte[0] == b'\\' && !escaped;
    }
    Ok((!is_empty).then_some(tabs + 1))
}

/// The columns and what makes their values, for a file with so many fields a line: MariaDB writes what generated columns
/// hold too, MySQL does not.
fn list(columns: &[ColumnFacts], fields: usize, row_end: Option<&RowEnd>) -> Option<String> {
    let plain = columns.iter().filter(|column| column.generation.is_empty()).count();
    if fields != columns.len() && fields != plain {
        return None;
    }
    let (mut names, mut values) = (Vec::new(), Vec::new());
    for (index, column) in columns.iter().enumerate() {
        let name = quote::identifier(&column.name);
        // Rows with their history; where the times are numbers of transactions, the server gives its own.
        if let (Some(row_end), true) = (row_end, column.is_row_time() && fields == columns.len()) {
            names.push(format!("@v{index}"));
            values.push(format!("{name} = {}", row_end.loaded(&format!("@v{index}"))));
            continue;
        }
        let convert = match column.data_type.as_str() {
            _ if !column.generation.is_empty() => {
                if fields == columns.len() {
                    names.push(format!("@v{index}"));
                }
                continue;
            }
            "json" => "utf8mb4",
            "uuid" | "inet4" | "inet6" => "ascii",
            _ => {
                names.push(name);
                continue;
            }
        };
        names.push(format!("@v{index}"));
        values.push(format!("{name} = CONVERT(@v{index} USING {convert})"));
    }
    let set = if values.is_empty() { String::new() } else { format!(" SET {}", values.join(", ")) };
    Some(format!("({}){set}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, data_type: &str, generation: &str) -> ColumnFacts {
        ColumnFacts {
            name: name.into(),
            data_type: data_type.into(),
            column_type: data_type.into(),
            character_set: None,
            generation: generation.into(),
            stored: false,
        }
    }

    #[test]
    fn generated_columns_are_passed_over_where_they_are_written() {
        let columns = [column("a", "int", ""), column("g", "int", "a + 1"), column("j", "json", "")];
        let expected = "SET `j` = CONVERT(@v2 USING utf8mb4)";
        assert_eq!(list(&columns, 3, None).unwrap(), format!("(`a`, @v1, @v2) {expected}"));
        assert_eq!(list(&columns, 2, None).unwrap(), format!("(`a`, @v2) {expected}"));
        assert_eq!(list(&columns, 4, None), None);
    }

    #[test]
    fn fields_of_the_first_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.txt");
        for (text, expected) in [("", None), ("a\tb\\\tc\\\n\t\\\\\nx\ty\tz\tu\n", Some(3)), ("1\n", Some(1))]
        {
            std::fs::write(&path, text).unwrap();
            assert_eq!(fields(&path).unwrap(), expected, "{text:?}");
        }
    }
}
