//! Whether the account can see everything in a schema. The servers show an account only what it has a privilege on, so a
//! table, trigger or event that it cannot see would be missing from the dump without a word.

use drover_db::Connection;
use drover_db::grants::Held;

use super::catalog::RelationKind;
use super::select::Selected;
use crate::error::Doing;
use crate::{Error, Result};

/// What it takes to see all of a schema's tables, triggers and events.
const NEEDED: [&str; 4] = ["SELECT", "SHOW VIEW", "TRIGGER", "EVENT"];
/// Each of these lets an account see that there are routines; whether it may read them shows when it does.
const SHOWS_ROUTINES: [&str; 5] =
    ["EXECUTE", "ALTER ROUTINE", "CREATE ROUTINE", "SHOW_ROUTINE", "SHOW CREATE ROUTINE"];

/// What the account may do.
pub(crate) fn held(connection: &mut Connection) -> Result<Held> {
    Held::of(connection).doing(|| "reading the account's privileges")
}

/// A warning of schemas that may be there and that the account is not shown: those that it has no privilege on.
pub(crate) fn hidden_schemas(held: &Held) -> Option<String> {
    let is_on_all = |privilege| held.on_all(privilege).is_some_and(|but| but.is_empty());
    (!["SHOW DATABASES"].into_iter().chain(NEEDED).any(is_on_all)).then(|| {
        "schemas that this account has no privilege on, if there are any, are not in the dump: GRANT SHOW DATABASES, SELECT, \
         SHOW VIEW, TRIGGER, EVENT, EXECUTE ON *.* has it see them all"
            .to_owned()
    })
}

/// Checks the schemas that are dumped whole, and the triggers of tables that are dumped by name.
pub(crate) fn check(connection: &mut Connection, held: &Held, selected: &Selected) -> Result<()> {
    for schema in &selected.whole {
        let mut missing: Vec<_> =
            NEEDED.into_iter().filter(|privilege| !held.on_schema(privilege, schema)).collect();
        let mut grants = Vec::new();
        if !missing.is_empty() {
            grants.push(format!("GRANT {} ON `{schema}`.*", missing.join(", ")));
        }
        if !shows_routines(held, schema) {
            let (privilege, on) = shows_texts(connection, schema)?;
            missing.push(if privilege == "SELECT" { "what shows routines" } else { privilege });
            grants.push(format!("GRANT {privilege} ON {on}"));
        }
        if !missing.is_empty() {
            return Err(missing_privileges(connection, schema, &missing, &grants));
        }
    }
    let single = selected.relations.iter().filter(|relation| !selected.whole.contains(&relation.name.schema));
    let tables =
        single.filter(|relation| matches!(relation.kind, RelationKind::Table | RelationKind::VersionedTable));
    match tables.map(|table| &table.name).find(|name| !held.on_table("TRIGGER", &name.schema, &name.name)) {
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
fn shows_routines(held: &Held, schema: &str) -> bool {
    SHOWS_ROUTINES.into_iter().any(|privilege| held.on_schema(privilege, schema))
        || held.on_table("SELECT", "mysql", "proc")
        || held.on_all("SELECT").is_some()
}

/// What lets an account of this server see that there are routines, and their texts; and on what it is granted.
fn shows_texts(connection: &mut Connection, schema: &str) -> Result<(&'static str, String)> {
    let privileges = connection.query("SHOW PRIVILEGES").doing(|| "asking for the server's privileges")?;
    let has = |name: &str| privileges.rows.iter().any(|row| row.string(0).eq_ignore_ascii_case(name));
    Ok(match () {
        () if has("SHOW_ROUTINE") => ("SHOW_ROUTINE", "*.*".into()),
        () if has("SHOW CREATE ROUTINE") => ("SHOW CREATE ROUTINE", format!("`{schema}`.*")),
        // MySQL 8.0, which has no mysql.proc, before 8.0.20.
        () if has("BACKUP_ADMIN") => ("SELECT", "*.*".into()),
        () => ("SELECT", "mysql.proc".into()),
    })
}

fn missing_privileges(
    connection: &mut Connection,
    schema: &str,
    missing: &[&str],
    grants: &[String],
) -> Error {
    let missing = missing.join(", ");
    let hidden = hidden_tables(connection, schema);
    let named =
        if hidden.is_empty() { String::new() } else { format!(" (hidden from it: {})", hidden.join(", ")) };
    Error::with_hint(
        format!(
            "this account does not have {missing} on the whole of schema '{schema}': what it cannot see would be \
             missing from the dump{named}"
        ),
        format!("{} to the account, or name the tables to dump one by one", grants.join(" and ")),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_shows_routines() {
        let of = |line: &str| Held::told([line.as_bytes()], false);
        assert!(shows_routines(&of("GRANT SELECT ON `mysql`.`proc` TO `u`@`%`"), "shop"));
        assert!(shows_routines(&of("GRANT EXECUTE ON `shop`.* TO `u`@`%`"), "shop"));
        assert!(shows_routines(&of("GRANT SELECT ON *.* TO `u`@`%`"), "shop"));
        assert!(!shows_routines(&of("GRANT EXECUTE ON `crm`.* TO `u`@`%`"), "shop"));
        assert!(!shows_routines(&Held::default(), "shop"));
    }

    #[test]
    fn what_shows_all_schemas() {
        let are_hidden = |lines: &[&str]| {
            hidden_schemas(&Held::told(lines.iter().map(|line| line.as_bytes()), true)).is_some()
        };
        assert!(are_hidden(&[
            "GRANT ALL PRIVILEGES ON `shop`.* TO `u`@`%`",
            "GRANT PROCESS ON *.* TO `u`@`%`"
        ]));
        assert!(!are_hidden(&["GRANT SHOW DATABASES ON *.* TO `u`@`%`"]));
        let select = "GRANT SELECT ON *.* TO `u`@`%`";
        assert!(!are_hidden(&[select]));
        assert!(are_hidden(&[select, "REVOKE SELECT ON `secret`.* FROM `u`@`%`"]));
    }
}
