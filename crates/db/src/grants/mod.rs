//! What accounts may do, as `SHOW GRANTS` tells it: read, written again, and asked.

mod held;
mod parse;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::quote;

pub use held::Held;
pub use parse::{Line, parse};

/// The name of an account or role; roles of MariaDB have no host.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Who {
    /// The name without quotes; empty for an anonymous account.
    pub name: String,
    /// From where the account may come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

impl Who {
    /// An account, or a role of MySQL.
    pub fn new(name: &str, host: &str) -> Self {
        Self { name: name.into(), host: Some(host.into()) }
    }

    /// A role of MariaDB.
    pub fn role(name: &str) -> Self {
        Self { name: name.into(), host: None }
    }

    /// What MariaDB (from 10.11 on) grants to everybody.
    pub fn is_public(&self) -> bool {
        self.host.is_none() && self.name == "PUBLIC"
    }
}

/// As SQL and as messages name it.
impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            None if self.is_public() => f.write_str("PUBLIC"),
            None => f.write_str(&quote::identifier(&self.name)),
            Some(host) => write!(f, "{}@{}", quote::identifier(&self.name), quote::identifier(host)),
        }
    }
}

/// Privileges on one thing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Grant {
    /// What they are on.
    pub on: Scope,
    /// Whether it takes a schema out of a global grant (MySQL's partial revokes).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub revoked: bool,
    /// Whether they may be granted on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub grant_option: bool,
    /// Which ones, in the order they were read in.
    pub privileges: Vec<Privilege>,
}

impl Grant {
    /// The statement that gives it to an account, or takes it away.
    pub fn statement(&self, who: &Who) -> String {
        let privileges: Vec<_> = self.privileges.iter().map(Privilege::to_string).collect();
        let (privileges, on) = (privileges.join(", "), &self.on);
        match self.revoked {
            true => format!("REVOKE {privileges} ON {on} FROM {who}"),
            false => {
                let option = if self.grant_option { " WITH GRANT OPTION" } else { "" };
                format!("GRANT {privileges} ON {on} TO {who}{option}")
            }
        }
    }

    /// Whether it is about a privilege, on all of what it is on.
    fn is_about(&self, privilege: &str) -> bool {
        let is_whole = |one: &&Privilege| one.columns.is_empty();
        self.privileges.iter().filter(is_whole).any(|one| one.name == privilege || one.is_all())
    }
}

/// What privileges are on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// All schemas and the server itself.
    Global,
    /// The schemas that the pattern matches.
    Schema(String),
    /// A table or view, by its schema and name.
    Table(String, String),
    /// `PROCEDURE`, `FUNCTION` and their like, the schema and the name.
    Routine(String, String, String),
}

/// As SQL names it.
impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Global => f.write_str("*.*"),
            Self::Schema(pattern) => write!(f, "{}.*", quote::identifier(pattern)),
            Self::Table(schema, name) => f.write_str(&quote::qualified(schema, name)),
            Self::Routine(kind, schema, name) => write!(f, "{kind} {}", quote::qualified(schema, name)),
        }
    }
}

/// A privilege in capitals, such as `CREATE VIEW`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Privilege {
    /// Its name; `ALL PRIVILEGES` for all that there are.
    pub name: String,
    /// Empty for all columns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<String>,
}

impl Privilege {
    /// On all columns.
    pub fn new(name: &str) -> Self {
        Self { name: name.into(), columns: Vec::new() }
    }

    /// Whether it stands for all that there are.
    pub fn is_all(&self) -> bool {
        self.name == "ALL PRIVILEGES"
    }
}

/// As SQL names it.
impl fmt::Display for Privilege {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.columns.as_slice() {
            [] => f.write_str(&self.name),
            columns => {
                write!(f, "{} ({})", self.name, quote::identifiers(columns.iter().map(String::as_str)))
            }
        }
    }
}

/// Whether the pattern of a schema's name matches one: `%`, `_`, and `\` before one that is meant as itself.
pub fn like(pattern: &str, text: &str) -> bool {
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

    #[test]
    fn names() {
        assert_eq!(Who::new("a`b", "%").to_string(), "`a``b`@`%`");
        assert_eq!(Who::role("r").to_string(), "`r`");
        assert_eq!(Who::role("PUBLIC").to_string(), "PUBLIC");
    }

    #[test]
    fn patterns() {
        assert!(like("a%", "abc") && like("%", "") && like("a_c", "abc") && like("a\\_c", "a_c"));
        assert!(!like("a\\_c", "abc") && !like("a", "ab") && !like("", "a"));
    }
}
