//! Whether the account can see everything in a schema. The servers show an account only what it has a privilege on, so a
//! table, trigger or event that it cannot see would be missing from the dump without a word.

use drover_db::Connection;
use drover_db::sql::{Dialect, Token, tokens};

use super::catalog::{Name, RelationKind};
use super::select::Selected;
use crate::error::Doing;
use crate::{Error, Result};

/// What it takes to see all of a schema's tables, triggers and events.
const NEEDED: [&str; 4] = ["SELECT", "SHOW VIEW", "TRIGGER", "EVENT"];
/// Each of these lets an account see that there are routines; whether it may read them shows when it does.
const SHOWS_ROUTINES: [&str; 5] =
    ["EXECUTE", "ALTER ROUTINE", "CREATE ROUTINE", "SHOW_ROUTINE", "SHOW CREATE ROUTINE"];

#[derive(Debug, PartialEq, Eq)]
struct Grant {
    revoked: bool,
    privileges: Vec<String>,
    /// A pattern as LIKE reads it; `None` for all schemas.
    schema: Option<String>,
    /// `None` for all tables.
    table: Option<String>,
}

/// Checks the schemas that are dumped whole, and the triggers of tables that are dumped by name.
pub(crate) fn check(connection: &mut Connection, selected: &Selected) -> Result<()> {
    let grants = read(connection)?;
    for schema in &selected.whole {
        let mut missing: Vec<_> =
            NEEDED.into_iter().filter(|privilege| !holds(&grants, privilege, schema)).collect();
        if !shows_routines(&grants, schema) {
            missing.push("EXECUTE");
        }
        if !missing.is_empty() {
            return Err(missing_privileges(connection, schema, &missing));
        }
    }
    let single = selected.relations.iter().filter(|relation| !selected.whole.contains(&relation.name.schema));
    let tables =
        single.filter(|relation| matches!(relation.kind, RelationKind::Table | RelationKind::VersionedTable));
    match tables.map(|table| &table.name).find(|name| !holds_on(&grants, "TRIGGER", name)) {
        Some(name) => Err(Error::with_hint(
            format!(
                "this account does not have TRIGGER on table {name}: its triggers would be missing from the dump"
            ),
            format!("GRANT TRIGGER ON {name} to the account"),
        )),
        None => Ok(()),
    }
}

/// Besides the privileges on routines, SELECT on all schemas (MySQL) or on `mysql.proc` (MariaDB) shows them.
fn shows_routines(grants: &[Grant], schema: &str) -> bool {
    SHOWS_ROUTINES.into_iter().any(|privilege| holds(grants, privilege, schema))
        || holds_on(grants, "SELECT", &Name::new("mysql", "proc"))
        || grants.iter().any(|grant| !grant.revoked && grant.schema.is_none() && grant.gives("SELECT"))
}

fn missing_privileges(connection: &mut Connection, schema: &str, missing: &[&str]) -> Error {
    let missing = missing.join(", ");
    let hidden = hidden_tables(connection, schema);
    let named =
        if hidden.is_empty() { String::new() } else { format!(" (hidden from it: {})", hidden.join(", ")) };
    Error::with_hint(
        format!(
            "this account does not have {missing} on the whole of schema '{schema}': what it cannot see would be \
             missing from the dump{named}"
        ),
        format!("GRANT {missing} ON `{schema}`.* to the account, or name the tables to dump one by one"),
    )
}

/// Tables that InnoDB has and the catalogue does not show, where the account may ask InnoDB.
fn hidden_tables(connection: &mut Connection, schema: &str) -> Vec<String> {
    let sources = ["information_schema.INNODB_TABLES", "information_schema.INNODB_SYS_TABLES"];
    let sql = |source| {
        let prefix = drover_db::quote::string(&format!("{schema}/"));
        format!(
            "SELECT SUBSTRING(i.NAME, CHAR_LENGTH({prefix}) + 1) FROM {source} i WHERE LEFT(i.NAME, \
             CHAR_LENGTH({prefix})) = {prefix} AND NOT EXISTS (SELECT 1 FROM information_schema.TABLES t WHERE \
             t.TABLE_SCHEMA = {} AND t.TABLE_NAME = SUBSTRING(i.NAME, CHAR_LENGTH({prefix}) + 1)) LIMIT 10",
            drover_db::quote::string(schema)
        )
    };
    let rows = sources.into_iter().find_map(|source| connection.query(sql(source)).ok());
    rows.map(|rows| rows.into_iter().map(|row| format!("`{schema}`.`{}`", row.string(0))).collect())
        .unwrap_or_default()
}

fn read(connection: &mut Connection) -> Result<Vec<Grant>> {
    let roles = connection.first("SELECT CURRENT_ROLE()").ok().flatten().and_then(|row| row.text(0));
    // MySQL shows what roles give only if they are named.
    let using = roles
        .filter(|roles| roles != "NONE")
        .map(|roles| format!("SHOW GRANTS FOR CURRENT_USER() USING {roles}"));
    let rows = match using.and_then(|sql| connection.query(sql).ok()) {
        Some(rows) => rows,
        None => connection.query("SHOW GRANTS").doing(|| "reading the account's privileges")?,
    };
    Ok(rows.into_iter().filter_map(|row| parse(row.bytes(0)?)).collect())
}

impl Grant {
    fn gives(&self, privilege: &str) -> bool {
        self.privileges.iter().any(|name| name == privilege || name == "ALL PRIVILEGES" || name == "ALL")
    }

    fn is_on_schema(&self, schema: &str) -> bool {
        self.table.is_none() && self.schema.as_ref().is_none_or(|pattern| like(pattern, schema))
    }
}

/// Whether the account has a privilege on a table, by itself or by its schema.
fn holds_on(grants: &[Grant], privilege: &str, table: &Name) -> bool {
    let named = |grant: &&Grant| {
        grant.table.as_ref() == Some(&table.name) && grant.schema.as_ref() == Some(&table.schema)
    };
    holds(grants, privilege, &table.schema) || grants.iter().filter(named).any(|grant| grant.gives(privilege))
}

fn holds(grants: &[Grant], privilege: &str, schema: &str) -> bool {
    let about = |grant: &&Grant| grant.gives(privilege) && grant.is_on_schema(schema);
    let (revoked, granted): (Vec<_>, Vec<_>) = grants.iter().filter(about).partition(|grant| grant.revoked);
    // A partial revoke takes one schema out of a global grant; a grant on the schema itself is not touched by it.
    granted.iter().any(|grant| revoked.is_empty() || grant.schema.is_some())
}

/// Reads `GRANT … ON schema.table TO …`; `None` for grants on routines, roles and proxies.
fn parse(line: &[u8]) -> Option<Grant> {
    let all: Vec<_> = tokens(line, Dialect::default()).filter(Token::is_code).collect();
    let (verb, rest) = all.split_first()?;
    let revoked = verb.is_word("REVOKE");
    let on = rest.iter().position(|token| token.is_word("ON"))?;
    let scope = &rest[on + 1..];
    if !scope.get(1)?.is_symbol(b'.') {
        return None; // PROCEDURE, FUNCTION and the like stand before the name
    }
    let schema = match scope.first()? {
        star if star.is_symbol(b'*') => None,
        name => Some(String::from_utf8(name.name()?).ok()?),
    };
    let table = match scope.get(2)? {
        star if star.is_symbol(b'*') => None,
        name => Some(String::from_utf8(name.name()?).ok()?),
    };
    Some(Grant { revoked, privileges: privileges(&rest[..on]), schema, table })
}

/// Privileges on single columns are left out: they show no table whole.
fn privileges(list: &[Token<'_>]) -> Vec<String> {
    list.split(|token| token.is_symbol(b','))
        .filter(|words| words.iter().all(|token| !token.is_symbol(b'(') && !token.is_symbol(b')')))
        .map(|words| {
            let words: Vec<_> =
                words.iter().map(|token| String::from_utf8_lossy(token.text).to_uppercase()).collect();
            words.join(" ")
        })
        .collect()
}

/// Schema names in grants are patterns: `%`, `_`, and `\` before one that is meant as itself.
pub(crate) fn like(pattern: &str, text: &str) -> bool {
    fn matches(pattern: &[char], text: &[char]) -> bool {
        match pattern {
            [] => text.is_empty(),
            ['%', rest @ ..] => (0..=text.len()).any(|at| matches(rest, &text[at..])),
            ['\\', c, rest @ ..] => text.first() == Some(c) && matches(rest, &text[1..]),
            ['_', rest @ ..] => !text.is_empty() && matches(rest, &text[1..]),
            [c, rest @ ..] => text.first() == Some(c) && matches(rest, &text[1..]),
        }
    }
    matches(&pattern.chars().collect::<Vec<_>>(), &text.chars().collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grants(lines: &[&str]) -> Vec<Grant> {
        lines.iter().filter_map(|line| parse(line.as_bytes())).collect()
    }

    #[test]
    fn grants_on_schemas_count_and_those_on_tables_do_not() {
        let grants = grants(&[
            "GRANT USAGE ON *.* TO `u`@`%`",
            "GRANT SELECT, SHOW VIEW, TRIGGER ON `shop\\_a`.* TO `u`@`%`",
            "GRANT SELECT ON `crm`.`people` TO `u`@`%`",
            "GRANT SELECT (`a`, `b`), INSERT ON `x`.* TO `u`@`%`",
            "GRANT `role`@`%` TO `u`@`%`",
            "GRANT PROXY ON ''@'' TO `u`@`%` WITH GRANT OPTION",
        ]);
        assert!(holds(&grants, "SELECT", "shop_a") && holds(&grants, "SHOW VIEW", "shop_a"));
        assert!(!holds(&grants, "EVENT", "shop_a") && !holds(&grants, "SELECT", "shopXa"));
        assert!(
            !holds(&grants, "SELECT", "crm")
                && !holds(&grants, "SELECT", "x")
                && holds(&grants, "INSERT", "x")
        );
    }

    #[test]
    fn grants_on_single_tables_count_for_those() {
        let grants = grants(&[
            "GRANT SELECT, TRIGGER ON `shop`.`orders` TO `u`@`%`",
            "GRANT SELECT ON `mysql`.`proc` TO `u`@`%`",
        ]);
        assert!(holds_on(&grants, "TRIGGER", &Name::new("shop", "orders")));
        assert!(
            !holds_on(&grants, "TRIGGER", &Name::new("shop", "people")) && !holds(&grants, "SELECT", "shop")
        );
        assert!(shows_routines(&grants, "shop"));
        assert!(!shows_routines(&[], "shop"));
    }

    #[test]
    fn all_privileges_but_for_a_partial_revoke() {
        let grants =
            grants(&["GRANT ALL PRIVILEGES ON *.* TO `u`@`%`", "REVOKE SELECT ON `secret`.* FROM `u`@`%`"]);
        assert!(holds(&grants, "SELECT", "shop") && !holds(&grants, "SELECT", "secret"));
    }

    #[test]
    fn patterns() {
        assert!(like("a%", "abc") && like("%", "") && like("a_c", "abc") && like("a\\_c", "a_c"));
        assert!(!like("a\\_c", "abc") && !like("a", "ab") && !like("", "a"));
    }
}
