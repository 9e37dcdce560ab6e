//! The name of a sandbox, which is also the name of its directory.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Error;

/// A name that is safe as one directory name: 1 to 64 ASCII letters, digits, `-`, `_` and `.`, the first of them a
/// letter or a digit. `stop` removes the directory of this name, so nothing else may pass for one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SandboxName(String);

const MAX_LENGTH: usize = 64;

impl SandboxName {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The `n`-th name to try for a sandbox that was given none: `mysql`, then `mysql-2`, `mysql-3`…
    pub(crate) fn default_for(flavour: crate::Flavour, n: u32) -> Self {
        Self(if n == 1 { flavour.to_string() } else { format!("{flavour}-{n}") })
    }

    /// The same for a topology: `galera`, then `galera2`… Its nodes are `galera-1`, `galera-2`…
    pub(crate) fn default_for_topology(topology: crate::Topology, n: u32) -> Self {
        Self(if n == 1 { topology.to_string() } else { format!("{topology}{n}") })
    }

    /// The name of this topology's `n`-th node, from 1; an error if that is too long.
    pub(crate) fn of_node(&self, n: usize) -> Result<Self, Error> {
        format!("{self}-{n}").parse()
    }
}

impl FromStr for SandboxName {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let ordinary = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let good = text.len() <= MAX_LENGTH
            && text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && text.chars().all(ordinary);
        if good { Ok(Self(text.to_owned())) } else { Err(Error::BadName { text: text.to_owned() }) }
    }
}

impl TryFrom<String> for SandboxName {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        text.parse()
    }
}

impl From<SandboxName> for String {
    fn from(name: SandboxName) -> Self {
        name.0
    }
}

impl fmt::Display for SandboxName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_leave_their_directory_are_refused() {
        for bad in ["", ".", "..", "../x", "a/b", "-x", ".hidden", "a b", "é", &"x".repeat(65)] {
            assert!(bad.parse::<SandboxName>().is_err(), "{bad:?} passed");
            assert!(serde_json::from_value::<SandboxName>(bad.into()).is_err(), "{bad:?} passed");
        }
    }

    #[test]
    fn ordinary_names_pass() {
        for good in ["mysql", "mysql-2", "Shop_8.4", &"x".repeat(64)] {
            assert_eq!(good.parse::<SandboxName>().unwrap().as_str(), good);
        }
    }
}
