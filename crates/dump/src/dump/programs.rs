//! The text of views and stored programs: the statement as the server gives it, in the surroundings that it was made in,
//! with what the server itself gets wrong put right.

use drover_db::sql::{Dialect, Token, tokens};
use drover_db::wire::Rows;
use drover_db::{Connection, quote};

use super::catalog::Name;
use crate::error::Doing;
use crate::{Error, Result};

/// The statements that create an object in the surroundings that it was made in.
pub(crate) fn definition(
    connection: &mut Connection,
    kind: &str,
    name: &Name,
    schema_collation: &str,
) -> Result<Vec<Vec<u8>>> {
    let fields = Fields::of(kind);
    let rows = connection
        .query(format!("SHOW CREATE {kind} {name}"))
        .doing(|| format!("reading the definition of {} {name}", kind.to_lowercase()))?;
    let create = rows.column(fields.statement).and_then(|at| rows.first()?.bytes(at)).ok_or_else(|| {
        Error::with_hint(
            format!("the server does not show this account the text of {} {name}", kind.to_lowercase()),
            "grant it SHOW_ROUTINE (MySQL) or SHOW CREATE ROUTINE (MariaDB 11.3); SELECT on mysql.proc where the server has neither",
        )
    })?;
    let dialect = dialect(&rows);
    let create = if kind == "TRIGGER" { without_order(create, dialect) } else { create.to_vec() };
    let character_set = rows.first_text("character_set_client").unwrap_or_default();
    let create = mend(connection, kind, name, create, dialect, &character_set)?;
    let create = without_delimiter(&create).to_vec();
    // A stored program remembers the schema's collation of when it was made.
    let own = rows.first_text("Database Collation").filter(|collation| collation != schema_collation);
    let alter = |collation: &str| alter_collation(&name.schema, collation);
    let mut statements = surroundings(&rows, fields);
    statements.extend(own.as_deref().map(alter));
    statements.push(create);
    statements.extend(own.as_deref().map(|_| alter(schema_collation)));
    Ok(statements)
}

/// A definition without the `;` behind it, which MySQL keeps with a program that was made amid several statements of one packet. Where a
/// statement comes alone, the server itself cuts them off, so that what is restored has none.
pub(crate) fn without_delimiter(create: &[u8]) -> &[u8] {
    let end = create.iter().rposition(|&byte| byte != b';' && !byte.is_ascii_whitespace());
    &create[..end.map_or(0, |end| end + 1)]
}

/// The statement that gives a schema another default collation.
pub(crate) fn alter_collation(schema: &str, collation: &str) -> Vec<u8> {
    format!("ALTER DATABASE {} COLLATE = {collation}", quote::identifier(schema)).into_bytes()
}

/// The default collation of the schema in use.
pub(crate) fn schema_collation(connection: &mut Connection) -> Result<String> {
    let row = connection.first("SELECT @@collation_database").doing(|| "asking for a collation")?;
    Ok(row.map(|row| row.string(0)).unwrap_or_default())
}

/// Which columns of SHOW CREATE hold what.
#[derive(Clone, Copy)]
struct Fields {
    statement: &'static str,
    sql_mode: bool,
    time_zone: bool,
}

impl Fields {
    fn of(kind: &str) -> Self {
        let statement = match kind {
            "VIEW" => "Create View",
            "TRIGGER" => "SQL Original Statement",
            "EVENT" => "Create Event",
            "FUNCTION" => "Create Function",
            "PACKAGE" => "Create Package",
            "PACKAGE BODY" => "Create Package Body",
            "LIBRARY" => "Create Library",
            _ => "Create Procedure",
        };
        Self { statement, sql_mode: kind != "VIEW", time_zone: kind == "EVENT" }
    }
}

fn surroundings(rows: &Rows, fields: Fields) -> Vec<Vec<u8>> {
    let names = ["character_set_client", "collation_connection"];
    let mut settings: Vec<_> =
        names.iter().filter_map(|name| Some(format!("SET {name} = {}", rows.first_text(name)?))).collect();
    let text = |column: &str| rows.first_text(column).unwrap_or_default();
    let sql_mode = if fields.sql_mode { text("sql_mode") } else { String::new() };
    settings.push(format!("SET sql_mode = {}", quote::string(&sql_mode)));
    if fields.time_zone {
        settings.push(format!("SET time_zone = {}", quote::string(&text("time_zone"))));
    }
    settings.into_iter().map(String::into_bytes).collect()
}

fn dialect(rows: &Rows) -> Dialect {
    let text = |column: &str| rows.first_text(column).unwrap_or_default();
    Dialect::of(&text("sql_mode"), &text("character_set_client"))
}

/// A trigger's text without FOLLOWS or PRECEDES: the order is kept by creating them in it, and the trigger that is named
/// may not be there yet.
fn without_order(create: &[u8], dialect: Dialect) -> Vec<u8> {
    let all: Vec<_> = tokens(create, dialect).collect();
    let code: Vec<usize> = (0..all.len()).filter(|&index| all[index].is_code()).collect();
    let is = |at: usize, word: &str| code.get(at).is_some_and(|&index| all[index].is_word(word));
    let row = (0..code.len()).find(|&at| is(at, "FOR") && is(at + 1, "EACH") && is(at + 2, "ROW"));
    let Some(order) = row.map(|at| at + 3).filter(|&at| is(at, "FOLLOWS") || is(at, "PRECEDES")) else {
        return create.to_vec();
    };
    let (Some(&from), Some(&name)) = (code.get(order), code.get(order + 1)) else { return create.to_vec() };
    let kept =
        |(index, token): (usize, &Token<'_>)| (!(from..=name).contains(&index)).then(|| token.text.to_vec());
    all.iter().enumerate().filter_map(kept).flatten().collect()
}

/// The name and the comment in a program's text come in UTF-8 even where the rest of it is in another character set, and
/// the comment with backslashes doubled even where the sql_mode makes them ordinary characters.
fn mend(
    connection: &mut Connection,
    kind: &str,
    name: &Name,
    create: Vec<u8>,
    dialect: Dialect,
    character_set: &str,
) -> Result<Vec<u8>> {
    let mut text = create;
    // An empty library comes as an empty string between dollar quotes, which the server itself cannot read.
    if let (true, Some(before)) = (kind == "LIBRARY", text.strip_suffix(b"$$$$")) {
        text = [before, b"''"].concat();
    }
    let foreign = !character_set.is_empty() && !character_set.starts_with("utf8");
    if foreign && !name.name.is_ascii() {
        let shown = quote::identifier(&name.name);
        text = replace_first(text, shown.as_bytes(), &converted(connection, &shown, character_set)?);
    }
    let comment = comment(connection, kind, name)?;
    if !comment.is_empty() && (foreign && !comment.is_ascii() || dialect.no_backslash_escapes) {
        let shown = format!("COMMENT '{}'", escaped(&comment, true));
        let meant = format!("COMMENT '{}'", escaped(&comment, !dialect.no_backslash_escapes));
        let meant = if foreign { converted(connection, &meant, character_set)? } else { meant.into_bytes() };
        text = replace_first(text, shown.as_bytes(), &meant);
    }
    Ok(text)
}

/// The comment as the catalogue has it.
fn comment(connection: &mut Connection, kind: &str, name: &Name) -> Result<String> {
    let (table, prefix) = match kind {
        "EVENT" => ("EVENTS", "EVENT"),
        "PROCEDURE" | "FUNCTION" | "PACKAGE" | "PACKAGE BODY" => ("ROUTINES", "ROUTINE"),
        _ => return Ok(String::new()),
    };
    let of_kind = if prefix == "ROUTINE" {
        format!(" AND ROUTINE_TYPE = {}", quote::string(kind))
    } else {
        String::new()
    };
    let sql = format!(
        "SELECT {prefix}_COMMENT FROM information_schema.{table} WHERE {prefix}_SCHEMA = {} AND {prefix}_NAME = {}{of_kind}",
        quote::string(&name.schema),
        quote::string(&name.name)
    );
    let row = connection.first(sql).doing(|| format!("reading the comment of {name}"))?;
    Ok(row.map(|row| row.string(0)).unwrap_or_default())
}

/// As the servers write a comment: with backslashes before what is special, if they mean anything.
fn escaped(text: &str, backslashes: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\'' => out.push_str("''"),
            '\0' if backslashes => out.push_str("\\0"),
            '\n' if backslashes => out.push_str("\\n"),
            '\r' if backslashes => out.push_str("\\r"),
            '\\' if backslashes => out.push_str("\\\\"),
            other => out.push(other),
        }
    }
    out
}

/// The text in another character set; the server knows them all.
pub(super) fn converted(connection: &mut Connection, text: &str, character_set: &str) -> Result<Vec<u8>> {
    let sql = format!("SELECT CONVERT(_utf8mb4 {} USING {character_set})", quote::hex(text.as_bytes()));
    let row = connection.first(sql).doing(|| format!("converting a text to {character_set}"))?;
    Ok(row.and_then(|row| row.bytes(0).map(<[u8]>::to_vec)).unwrap_or_default())
}

fn replace_first(text: Vec<u8>, what: &[u8], with: &[u8]) -> Vec<u8> {
    match text.windows(what.len().max(1)).position(|window| window == what) {
        Some(at) => [&text[..at], with, &text[at + what.len()..]].concat(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_a_trigger_is_taken_out_of_its_text() {
        let text = "CREATE TRIGGER a BEFORE INSERT ON t FOR EACH ROW /* x */ FOLLOWS `b` SET @x = 'FOR EACH ROW FOLLOWS c'";
        let expected =
            "CREATE TRIGGER a BEFORE INSERT ON t FOR EACH ROW /* x */  SET @x = 'FOR EACH ROW FOLLOWS c'";
        let cut = without_order(text.as_bytes(), Dialect::default());
        assert_eq!(String::from_utf8(cut).unwrap(), expected);
    }

    #[test]
    fn delimiters_are_cut_off() {
        for (text, cut) in [("SELECT ';' ;\n; ", "SELECT ';'"), ("BEGIN; END", "BEGIN; END"), (" ;", "")] {
            assert_eq!(without_delimiter(text.as_bytes()), cut.as_bytes());
        }
    }

    #[test]
    fn comments_as_the_servers_write_them() {
        assert_eq!(escaped("it's \\ \n", true), "it''s \\\\ \\n");
        assert_eq!(escaped("it's \\ \n", false), "it''s \\ \n");
    }

    #[test]
    fn only_the_first_place_is_replaced() {
        assert_eq!(replace_first(b"abab".to_vec(), b"ab", b"x"), b"xab");
        assert_eq!(replace_first(b"abab".to_vec(), b"c", b"x"), b"abab");
    }
}
