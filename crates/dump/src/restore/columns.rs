//! What the catalogue says of a table where another version prints definitions otherwise: its collations, and what a time gets by
//! itself. No row tells of them.

use drover_db::{Connection, Row, quote};

use super::objects::Scripts;
use crate::Result;
use crate::dump::catalog::Name;
use crate::error::Doing;
use crate::translate::defaults::full_name;
use crate::translate::{Described, describe};
use drover_format::manifest::Table;

/// What differs from the table's script, as that is written for this server.
pub(super) fn differences(
    connection: &mut Connection,
    scripts: &Scripts<'_>,
    table: &Table,
    name: &Name,
) -> Result<Vec<String>> {
    if table.script.is_absent() {
        return Ok(Vec::new());
    }
    let create = scripts.read(&table.script)?.pop().unwrap_or_default();
    let of_set = |set: &str, is_generated: bool| {
        scripts.translator.and_then(|translator| translator.default_collation(set, is_generated))
    };
    let (own, columns) = describe(&create, of_set);
    let place = format!(
        "TABLE_SCHEMA = {} AND TABLE_NAME = {}",
        quote::string(&name.schema),
        quote::string(&name.name)
    );
    let doing = || format!("reading the collations of {name}");
    let sql = format!("SELECT TABLE_COLLATION FROM information_schema.TABLES WHERE {place}");
    let found = connection.first(sql).doing(doing)?.and_then(|row| row.text(0));
    let mut what: Vec<_> = collation("it", own.as_deref(), found.as_deref()).into_iter().collect();
    let sql = format!(
        "SELECT COLUMN_NAME, COLLATION_NAME, COLUMN_DEFAULT, EXTRA FROM information_schema.COLUMNS WHERE {place}"
    );
    for row in connection.query(sql).doing(doing)? {
        let then = columns.iter().find(|column| column.name.to_lowercase() == row.string(0).to_lowercase());
        what.extend(then.into_iter().flat_map(|then| of_column(then, &row)));
    }
    Ok(what)
}

fn of_column(then: &Described, row: &Row) -> Vec<String> {
    let column = format!("column {}", quote::identifier(&then.name));
    let mut what: Vec<_> =
        collation(&column, then.collation.as_deref(), row.text(1).as_deref()).into_iter().collect();
    if let Some((default, on_update)) = then.time {
        // MariaDB says NULL in words where that is the default.
        let has_default = row.text(2).is_some_and(|value| value != "NULL");
        if has_default != default {
            what.push(format!("{column} has {} default", if has_default { "a" } else { "no" }));
        }
        let is_updated = row.string(3).to_ascii_lowercase().contains("on update");
        if is_updated != on_update {
            let word = if is_updated { "follows" } else { "does not follow" };
            what.push(format!("{column} {word} the clock when its row is changed"));
        }
    }
    what
}

/// A set's name alone stands for any of its collations.
fn collation(what: &str, then: Option<&str>, now: Option<&str>) -> Option<String> {
    let (Some(then), Some(now)) = (then, now) else { return None };
    let (wanted, found) = (full_name(then), full_name(now));
    let is_of_set = !wanted.contains('_') && found.split('_').next() == Some(&wanted);
    (found != wanted && !is_of_set).then(|| format!("{what} has the collation {now} instead of {then}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collations_by_whichever_name() {
        let differs = |then, now| collation("it", Some(then), Some(now)).is_some();
        assert!(differs("utf8mb4_general_ci", "utf8mb4_0900_ai_ci"));
        assert!(!differs("utf8_general_ci", "utf8mb3_general_ci"));
        assert!(!differs("latin1", "latin1_swedish_ci") && differs("latin1", "utf8mb4_bin"));
        assert!(!differs("binary", "binary"));
    }
}
