//! What a difference between rows is called, and why there may be one.

use drover_db::table::Column;
use drover_db::{Connection, Server, quote};

use crate::Result;
use crate::error::Doing;
use crate::restore::verified::Part;
use crate::rows::Sums;

/// What differs between the rows as they were dumped and as they are found.
pub(super) fn row_difference(
    part: &Part<'_>,
    expected: &Sums,
    found: &std::result::Result<Sums, String>,
) -> Option<String> {
    let found = match found {
        Ok(found) => found,
        Err(message) => return Some(message.clone()),
    };
    if found.rows != expected.rows {
        return Some(format!("{} rows, the dump has {}{}", found.rows, expected.rows, of_chosen(part)));
    }
    if found.digest != expected.digest {
        let (now, then) = (found.digest, expected.digest);
        let chosen = of_chosen(part);
        return Some(format!(
            "{} rows as in the dump, and not all of them the same: digest {now}, the dump has {then}{chosen}",
            found.rows
        ));
    }
    let columns = || quote::identifiers(part.table.generated.iter().map(|column| column.name.as_str()));
    (found.generated != expected.generated)
        .then(|| format!("the server computes other values than the dump has for {}", columns()))
}

/// Why documents may differ: by what the server prints, though it holds the same.
pub(super) fn of_documents(
    connection: &mut Connection,
    dumped: &Server,
    part: &Part<'_>,
) -> Result<&'static str> {
    const WHY: &str = " (this server prints a DOUBLE in JSON without its fraction, 3.0 as 3 and -0.0 as -0, and the dump's did not: such values \
                       are the same)";
    let has_documents = part.table.columns.iter().any(Column::is_cast_to_json);
    if !has_documents || dumped.numbers() < (8, 0, 0) {
        return Ok("");
    }
    match connection.first("SELECT CAST(CAST(3e0 AS JSON) AS CHAR) = '3'") {
        Err(error) if error.code().is_some() => Ok(""),
        row => {
            let row = row.doing(|| "trying how JSON is printed")?;
            Ok(if row.is_some_and(|row| row.string(0) == "1") { WHY } else { "" })
        }
    }
}

/// Why rows may differ: all were read where the dump has a part of them, or it has other values.
fn of_chosen(part: &Part<'_>) -> String {
    match (&part.table.condition, part.condition) {
        (Some(condition), None) => {
            format!(
                " (only those with {condition}; --source compares just these with the server that was dumped)"
            )
        }
        _ if !part.table.masks.is_empty() => {
            let masked = quote::identifiers(part.table.masks.keys().map(String::as_str));
            format!(" (with {masked} masked: only a copy that was restored can hold the same)")
        }
        _ => String::new(),
    }
}
