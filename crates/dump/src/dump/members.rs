//! Characters of four bytes in the members of ENUM and SET and in defaults. Both servers keep them right and print `?` for
//! each, in SHOW CREATE TABLE as in the catalogue, because these texts pass through their old three-byte UTF-8. The true
//! ones are had from a temporary table with the same columns, which takes a row for each member.

use drover_db::sql::{Kind, Token};
use drover_db::{Connection, er, quote};

use super::catalog::{ColumnFacts, Name};
use crate::Result;
use crate::ddl::CreateTable;
use crate::error::Doing;

const TEMPORARY: &str = "`drover_members`";

/// Character sets that have characters outside of three-byte UTF-8.
const FOUR_BYTES: [&str; 5] = ["utf8mb4", "utf16", "utf16le", "utf32", "gb18030"];

/// A CREATE TABLE statement with the true members and defaults, and what could not be made sure of.
pub(super) fn mend(
    connection: &mut Connection,
    table: &Name,
    facts: &[ColumnFacts],
    create: Vec<u8>,
) -> Result<(Vec<u8>, Option<String>)> {
    let Some(mut parts) = CreateTable::parse(&create) else { return Ok((create, None)) };
    let suspects: Vec<_> = facts.iter().filter(|facts| is_suspect(facts, &parts)).collect();
    if suspects.is_empty() {
        return Ok((create, None));
    }
    match look_up(connection, table, &suspects) {
        Ok(columns) => {
            for (facts, mut truth) in suspects.into_iter().zip(columns) {
                parts.change_column(&facts.name, |before, token| truth.replace(before, token));
            }
            Ok((parts.to_text(), None))
        }
        Err(error) if error.code().is_some() => {
            let warning = format!(
                "table {table}: the server prints ? for some characters of an ENUM, SET or default, and a temporary table \
                 to look at the true ones could not be made: {error}"
            );
            Ok((create, Some(warning)))
        }
        Err(error) => Err(error).doing(|| format!("looking at the members of {table}")),
    }
}

fn is_suspect(facts: &ColumnFacts, parts: &CreateTable) -> bool {
    let four_bytes = facts.character_set.as_deref().is_some_and(|set| FOUR_BYTES.contains(&set));
    let mark = |token: &Token<'_>| token.kind == Kind::String && token.text.contains(&b'?');
    four_bytes && facts.generation.is_empty() && parts.column_has(&facts.name, mark)
}

/// The true texts of one column.
struct Truth {
    members: std::vec::IntoIter<String>,
    default: Option<String>,
}

impl Truth {
    /// What belongs in the place of a string of the definition.
    fn replace(&mut self, before: Option<&Token<'_>>, token: &Token<'_>) -> Option<Vec<u8>> {
        let before = before.filter(|_| token.kind == Kind::String)?;
        let text = match before {
            word if word.is_word("DEFAULT") => self.default.clone(),
            mark if mark.is_symbol(b'(') || mark.is_symbol(b',') => self.members.next(),
            _ => None, // a comment holds no such characters
        };
        text.map(|text| quote::string(&text).into_bytes())
    }
}

fn look_up(
    connection: &mut Connection,
    table: &Name,
    columns: &[&ColumnFacts],
) -> drover_db::Result<Vec<Truth>> {
    let temporary = format!("{}.{TEMPORARY}", quote::identifier(&table.schema));
    let names = quote::identifiers(columns.iter().map(|facts| facts.name.as_str()));
    connection
        .execute(format!("CREATE TEMPORARY TABLE {temporary} AS SELECT {names} FROM {table} LIMIT 0"))?;
    let truths = columns.iter().map(|facts| truth(connection, &temporary, facts)).collect();
    connection.execute(format!("DROP TEMPORARY TABLE {temporary}"))?;
    truths
}

fn truth(connection: &mut Connection, temporary: &str, facts: &ColumnFacts) -> drover_db::Result<Truth> {
    let name = quote::identifier(&facts.name);
    let count = drover_db::table::column::members(&facts.column_type).len();
    let value = |index: usize| match facts.data_type.as_str() {
        "set" => 1u64 << index,
        _ => index as u64 + 1,
    };
    // One row at least, for the default; the session's sql_mode lets the other columns be what they may.
    let values: Vec<_> =
        (0..count.max(1)).map(|index| format!("({})", if count == 0 { 0 } else { value(index) })).collect();
    connection.execute(format!("DELETE FROM {temporary}"))?;
    connection.execute(format!("INSERT INTO {temporary} ({name}) VALUES {}", values.join(", ")))?;
    let default =
        connection.first(format!("SELECT CONVERT(DEFAULT({name}) USING utf8mb4) FROM {temporary} LIMIT 1"));
    let default = match default {
        Err(error) if error.code() == Some(er::NO_DEFAULT_FOR_FIELD) => None,
        other => other?.and_then(|row| row.text(0)),
    };
    if count == 0 {
        return Ok(Truth { members: Vec::new().into_iter(), default });
    }
    let rows = connection
        .query(format!("SELECT CONVERT({name} USING utf8mb4) FROM {temporary} ORDER BY {name} + 0"))?;
    let members: Vec<_> = rows.into_iter().map(|row| row.string(0)).collect();
    Ok(Truth { members: members.into_iter(), default })
}
