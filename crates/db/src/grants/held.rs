//! What the account of a session may do, by itself and by the roles that are active.

use serde::{Deserialize, Serialize};

use super::parse::{has_bare_columns, parse_rights};
use super::{Grant, Privilege, Scope, like};
use crate::{Connection, Result, Row, server};

/// What the account of a session may do. It holds no names of accounts and no passwords.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    grants: Vec<Grant>,
    /// MySQL's `partial_revokes`: `_` and `%` in the schemas' names stand for themselves.
    partial_revokes: bool,
}

impl Held {
    /// Asks the server.
    ///
    /// # Errors
    /// If the server does not tell, or the connection is lost.
    pub fn of(connection: &mut Connection) -> Result<Self> {
        let roles = connection.first("SELECT CURRENT_ROLE()").ok().flatten().and_then(|row| row.text(0));
        // MySQL shows what roles give only if they are named.
        let using = roles
            .filter(|roles| roles != "NONE")
            .map(|roles| format!("SHOW GRANTS FOR CURRENT_USER() USING {roles}"));
        let rows = match using.and_then(|sql| connection.query(sql).ok()) {
            Some(rows) => rows,
            None => connection.query("SHOW GRANTS")?,
        };
        let partial_revokes = server::variable(connection, "GLOBAL.partial_revokes")?.as_deref() == Some("1");
        let lines = || rows.rows.iter().filter_map(|row| row.bytes(0));
        let mut held = Self::told(lines(), partial_revokes);
        if lines().any(has_bare_columns) {
            held.grants.extend(on_tables(connection)?);
        }
        Ok(held)
    }

    /// As the lines of SHOW GRANTS have it. MariaDB lists what a role gives with the role's name.
    pub fn told<'a>(lines: impl IntoIterator<Item = &'a [u8]>, partial_revokes: bool) -> Self {
        let grants = lines.into_iter().filter_map(parse_rights).collect();
        Self { grants, partial_revokes }
    }

    /// Whether it has a privilege on a schema and so on everything in it.
    pub fn on_schema(&self, privilege: &str, schema: &str) -> bool {
        let names = |grant: &&Grant| match &grant.on {
            Scope::Schema(name) if self.partial_revokes => name == schema,
            Scope::Schema(pattern) => like(pattern, schema),
            _ => false,
        };
        let of_all = || self.on_all(privilege).is_some_and(|but| !but.contains(&schema));
        self.granted(privilege).any(|grant| names(&grant)) || of_all()
    }

    /// Whether it has a privilege on a table, by itself or by its schema.
    pub fn on_table(&self, privilege: &str, schema: &str, name: &str) -> bool {
        let names = |grant: &Grant| matches!(&grant.on, Scope::Table(s, n) if s == schema && n == name);
        self.granted(privilege).any(names) || self.on_schema(privilege, schema)
    }

    /// Whether it has a privilege on all schemas, and the names of those that are taken out of it; `None` if it does not have it.
    pub fn on_all(&self, privilege: &str) -> Option<Vec<&str>> {
        self.granted(privilege).find(|grant| grant.on == Scope::Global)?;
        let given = |schema: &str| {
            // Only where there are partial revokes is a schema taken out, and there names are no patterns.
            self.granted(privilege).any(|grant| matches!(&grant.on, Scope::Schema(name) if name == schema))
        };
        let taken = self.grants.iter().filter(|grant| grant.revoked && grant.is_about(privilege));
        let schemas = taken.filter_map(|grant| match &grant.on {
            Scope::Schema(name) => Some(name.as_str()),
            _ => None,
        });
        Some(schemas.filter(|schema| !given(schema)).collect())
    }

    /// Whether it may grant something on, and whether on all schemas.
    pub fn grant_options(&self) -> (bool, bool) {
        let mut options = self.grants.iter().filter(|grant| grant.grant_option && !grant.revoked);
        (options.clone().next().is_some(), options.any(|grant| grant.on == Scope::Global))
    }

    fn granted<'a>(&'a self, privilege: &'a str) -> impl Iterator<Item = &'a Grant> {
        self.grants.iter().filter(move |grant| !grant.revoked && grant.is_about(privilege))
    }
}

/// What the account itself may do on whole tables, as the catalogue has it.
fn on_tables(connection: &mut Connection) -> Result<Vec<Grant>> {
    let user = connection.first("SELECT CURRENT_USER()")?.map(|row| row.string(0)).unwrap_or_default();
    let (name, host) = user.rsplit_once('@').unwrap_or((&user, ""));
    let grantee = format!("'{name}'@'{host}'");
    let rows = connection.query(
        "SELECT GRANTEE, TABLE_SCHEMA, TABLE_NAME, PRIVILEGE_TYPE FROM information_schema.TABLE_PRIVILEGES",
    )?;
    let own = rows.into_iter().filter(|row| row.string(0) == grantee);
    let grant = |row: Row| Grant {
        on: Scope::Table(row.string(1), row.string(2)),
        revoked: false,
        grant_option: false,
        privileges: vec![Privilege::new(&row.string(3))],
    };
    Ok(own.map(grant).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(lines: &[&str], partial_revokes: bool) -> Held {
        Held::told(lines.iter().map(|line| line.as_bytes()), partial_revokes)
    }

    #[test]
    fn grants_on_schemas_count_and_those_on_tables_do_not() {
        let held = held(
            &[
                "GRANT USAGE ON *.* TO `u`@`%` IDENTIFIED BY PASSWORD '*0'",
                "GRANT SELECT, SHOW VIEW, TRIGGER ON `shop\\_a`.* TO `u`@`%`",
                "GRANT SELECT ON `crm`.`people` TO `u`@`%`",
                "GRANT SELECT (`a`, `b`), INSERT ON `x`.`t` TO `u`@`%`",
                "GRANT `role`@`%` TO `u`@`%`",
                "GRANT DELETE ON `y%`.* TO `role`",
                "GRANT PROXY ON ''@'' TO `u`@`%` WITH GRANT OPTION",
            ],
            false,
        );
        assert!(held.on_schema("SELECT", "shop_a") && held.on_schema("SHOW VIEW", "shop_a"));
        assert!(!held.on_schema("EVENT", "shop_a") && !held.on_schema("SELECT", "shopXa"));
        assert!(!held.on_schema("SELECT", "crm") && held.on_table("SELECT", "crm", "people"));
        assert!(!held.on_table("SELECT", "x", "t") && held.on_table("INSERT", "x", "t"));
        assert!(held.on_schema("DELETE", "y1"), "by a role");
        assert_eq!(held.on_all("SELECT"), None);
        assert!(!format!("{held:?}").contains("*0"), "passwords are left behind");
    }

    #[test]
    fn all_privileges_but_for_a_partial_revoke() {
        let mut lines =
            vec!["GRANT ALL PRIVILEGES ON *.* TO `u`@`%`", "REVOKE SELECT ON `s_1`.* FROM `u`@`%`"];
        let without = held(&lines, true);
        assert!(without.on_schema("SELECT", "shop") && without.on_schema("SELECT", "sX1"));
        assert!(!without.on_schema("SELECT", "s_1") && !without.on_table("SELECT", "s_1", "t"));
        assert!(without.on_schema("DELETE", "s_1"));
        assert_eq!(without.on_all("SELECT"), Some(vec!["s_1"]));
        assert_eq!(without.on_all("DELETE"), Some(vec![]));
        lines.push("GRANT SELECT ON `s_1`.* TO `u`@`%`");
        assert_eq!(held(&lines, true).on_all("SELECT"), Some(vec![]), "given back");
    }

    #[test]
    fn names_are_patterns_only_without_partial_revokes() {
        let lines = ["GRANT SELECT ON `shop_a`.* TO `u`@`%`"];
        assert!(held(&lines, false).on_schema("SELECT", "shopXa"));
        assert!(!held(&lines, true).on_schema("SELECT", "shopXa"));
        assert!(held(&lines, true).on_schema("SELECT", "shop_a"));
    }
}
