//! Statements that commit by themselves, such as those that change definitions: no position can be committed with them.
//!
//! Before one is run, what it may change is noted: the definitions of all that it names. A replay that goes on where another ended
//! compares: where these differ, the statement was run.

use std::collections::BTreeSet;

use drover_db::sql::{Dialect, Token, tokens_in_comments};
use drover_db::{Connection, er, quote};

/// Errors that say that what a statement would do was done: something exists that it makes, or does not that it drops.
#[rustfmt::skip]
pub(super) const ALREADY_SO: [u16; 27] = [
    er::DB_CREATE_EXISTS, er::DB_DROP_EXISTS,
    er::TABLE_EXISTS, er::BAD_TABLE, er::NO_SUCH_TABLE, er::DUP_FIELDNAME, er::DUP_KEYNAME, er::CANT_DROP_FIELD_OR_KEY,
    er::MULTIPLE_PRI_KEY, er::KEY_COLUMN_DOES_NOT_EXIST, er::DUP_CONSTRAINT_NAME, er::BAD_FIELD,
    er::SP_ALREADY_EXISTS, er::SP_DOES_NOT_EXIST, er::TRG_ALREADY_EXISTS, er::TRG_DOES_NOT_EXIST, er::EVENT_ALREADY_EXISTS,
    er::EVENT_DOES_NOT_EXIST,
    er::CANNOT_USER, er::NONEXISTING_GRANT, er::UDF_EXISTS, er::FUNCTION_NOT_DEFINED,
    er::SAME_NAME_PARTITION, er::DROP_PARTITION_NON_EXISTENT,
    er::XAER_NOTA, er::XAER_DUPID,
    er::UNKNOWN_SEQUENCES,
];

/// What a statement is, as far as it matters to who commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// It changes rows, or a temporary table.
    Rows,
    /// It changes definitions, and commits.
    Definition,
    /// It is neither: settings, accounts, maintenance.
    Other,
}

/// What a statement is, by its first words.
pub(super) fn classify(text: &[u8], dialect: Dialect) -> Class {
    let mut code = tokens_in_comments(text, dialect).filter(Token::is_code);
    let Some(first) = code.next() else { return Class::Other };
    let is = |words: &[&str]| words.iter().any(|word| first.is_word(word));
    if is(&["CREATE", "DROP", "ALTER", "RENAME", "TRUNCATE"]) {
        // CREATE OR REPLACE TEMPORARY TABLE, DROP TEMPORARY TABLE
        let is_temporary = code.take(3).any(|token| token.is_word("TEMPORARY"));
        return if is_temporary { Class::Rows } else { Class::Definition };
    }
    let rows = [
        "INSERT",
        "UPDATE",
        "DELETE",
        "REPLACE",
        "LOAD",
        "WITH",
        "CALL",
        "SELECT",
        "DO",
        "SAVEPOINT",
        "ROLLBACK",
        "RELEASE",
        "SET",
    ];
    if is(&rows) {
        // SET PASSWORD and others that a log may hold change accounts.
        let is_setting = first.is_word("SET") && !code.next().is_some_and(|token| token.is_symbol(b'@'));
        return if is_setting { Class::Other } else { Class::Rows };
    }
    Class::Other
}

/// So many things of each sort are looked at for one statement.
const MOST: usize = 64;

/// What a statement may change, told in 64 digits: the definitions of all tables, views, programs, events and schemas whose names
/// stand in it.
pub(super) fn fingerprint(
    connection: &mut Connection,
    schema: &[u8],
    text: &[u8],
) -> drover_db::Result<String> {
    let mut told = ring::digest::Context::new(&ring::digest::SHA256);
    let text = String::from_utf8_lossy(text).to_lowercase();
    let default = String::from_utf8_lossy(schema).into_owned();
    let is_named = |name: &str| stands_in(&text, name);
    for row in connection.query("SELECT * FROM information_schema.SCHEMATA ORDER BY SCHEMA_NAME")? {
        let name = row.string(1);
        if is_named(&name) {
            tell(&mut told, [name, row.string(2), row.string(3)]);
        }
    }
    let schemas = schemas(connection, &default, is_named)?;
    for schema in &schemas {
        for (table, kind) in tables(connection, schema, is_named)? {
            tell(&mut told, [schema.clone(), table.clone(), kind.clone()]);
            tell(&mut told, [shown(connection, schema, &table)?]);
        }
        for query in PROGRAMS {
            let query = query.replace("{}", &quote::string(schema));
            for row in connection.query(query)? {
                if is_named(&row.string(0)) {
                    tell(&mut told, (0..4).map(|index| row.string(index)));
                }
            }
        }
    }
    for row in numbers_of_tables(connection, &schemas)? {
        tell(&mut told, [row]);
    }
    Ok(told.finish().as_ref().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Whether a name stands in a text in lower case: as it is, or with the quotes in it doubled as in quotes.
pub(super) fn stands_in(text: &str, name: &str) -> bool {
    let name = name.to_lowercase();
    let is_quoted =
        |quote: &str| name.contains(quote) && text.contains(&name.replace(quote, &quote.repeat(2)));
    text.contains(&name) || is_quoted("`") || is_quoted("\"")
}

/// Names, and when they were changed last.
const PROGRAMS: [&str; 3] = [
    "SELECT ROUTINE_NAME, ROUTINE_TYPE, LAST_ALTERED, ROUTINE_DEFINITION FROM information_schema.ROUTINES \
     WHERE ROUTINE_SCHEMA = {} ORDER BY 1, 2",
    "SELECT TRIGGER_NAME, EVENT_OBJECT_TABLE, CREATED, ACTION_STATEMENT FROM information_schema.TRIGGERS \
     WHERE TRIGGER_SCHEMA = {} ORDER BY 1",
    "SELECT EVENT_NAME, STATUS, LAST_ALTERED, EVENT_DEFINITION FROM information_schema.EVENTS \
     WHERE EVENT_SCHEMA = {} ORDER BY 1",
];

fn tell(told: &mut ring::digest::Context, texts: impl IntoIterator<Item = String>) {
    for text in texts {
        told.update(text.as_bytes());
        told.update(b"\0");
    }
}

/// The statement's default schema, and those that it names.
fn schemas(
    connection: &mut Connection,
    default: &str,
    is_named: impl Fn(&str) -> bool,
) -> drover_db::Result<BTreeSet<String>> {
    let rows = connection.query("SELECT SCHEMA_NAME FROM information_schema.SCHEMATA")?;
    let names = rows.into_iter().map(|row| row.string(0));
    let own = ["information_schema", "performance_schema", "sys", "drover"];
    Ok(names
        .filter(|name| name == default || (is_named(name) && !own.contains(&name.as_str())))
        .take(MOST)
        .collect())
}

fn tables(
    connection: &mut Connection,
    schema: &str,
    is_named: impl Fn(&str) -> bool,
) -> drover_db::Result<Vec<(String, String)>> {
    let rows = connection.query(format!("SHOW FULL TABLES FROM {}", quote::identifier(schema)))?;
    let tables = rows.into_iter().map(|row| (row.string(0), row.string(1)));
    Ok(tables.filter(|(name, _)| is_named(name)).take(MOST).collect())
}

/// How the server would make a table or a view. One that it cannot tell of, such as a view on nothing, has its error in place of that.
fn shown(connection: &mut Connection, schema: &str, table: &str) -> drover_db::Result<String> {
    match connection.first(format!("SHOW CREATE TABLE {}", quote::qualified(schema, table))) {
        Ok(row) => Ok(row.map_or_else(String::new, |row| row.string(1))),
        Err(drover_db::Error::Server(error)) => Ok(error.message),
        Err(error) => Err(error),
    }
}

/// InnoDB's own numbers: what was made anew or renamed has another one under its name. Not every account may see them.
fn numbers_of_tables(
    connection: &mut Connection,
    schemas: &BTreeSet<String>,
) -> drover_db::Result<Vec<String>> {
    for view in ["INNODB_TABLES", "INNODB_SYS_TABLES"] {
        let mut numbers = Vec::new();
        for schema in schemas {
            let prefix = quote::string(&format!("{}/", schema.replace(['\\', '%', '_'], "_")));
            let rows = connection.query(format!(
                "SELECT NAME, TABLE_ID FROM information_schema.{view} WHERE NAME LIKE CONCAT({prefix}, '%') ORDER BY 1"
            ));
            match rows {
                Ok(rows) => {
                    numbers.extend(rows.into_iter().map(|row| format!("{} {}", row.string(0), row.string(1))))
                }
                Err(drover_db::Error::Server(_)) => break,
                Err(error) => return Err(error),
            }
        }
        if !numbers.is_empty() {
            return Ok(numbers);
        }
    }
    Ok(Vec::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_as_they_are_quoted() {
        let text = "create table `dq`.`q``q` (a int); create table \"x\"\"y\" (a int)";
        for name in ["q`q", "Q`Q", "x\"y", "dq"] {
            assert!(stands_in(text, name), "{name}");
        }
        for name in ["q`r", "x`y", "y\"x"] {
            assert!(!stands_in(text, name), "{name}");
        }
    }

    #[test]
    fn sorts_of_statements() {
        let of = |text: &str| classify(text.as_bytes(), Dialect::default());
        for text in [
            "CREATE TABLE t (a INT)",
            "/* x */ drop table t",
            "TRUNCATE t",
            "create or replace view v as select 1",
        ] {
            assert_eq!(of(text), Class::Definition, "{text}");
        }
        for text in [
            "INSERT INTO t VALUES (1)",
            "CREATE OR REPLACE TEMPORARY TABLE t (a INT)",
            "-- x\nWITH a AS (SELECT 1) DELETE FROM t",
            "set @a = 1",
        ] {
            assert_eq!(of(text), Class::Rows, "{text}");
        }
        for text in
            ["GRANT ALL ON *.* TO a", "SET PASSWORD FOR a = 'b'", "FLUSH TABLES", "", "ANALYZE TABLE t"]
        {
            assert_eq!(of(text), Class::Other, "{text}");
        }
    }
}
