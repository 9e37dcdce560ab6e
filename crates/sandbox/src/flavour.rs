//! Which vendor's server.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The vendor of a server. Forks that keep MySQL's version string (Percona Server) count as MySQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Flavour {
    /// MariaDB.
    #[value(name = "mariadb")]
    MariaDb,
    /// MySQL.
    #[value(name = "mysql")]
    MySql,
}

impl Flavour {
    /// The word used on the command line, in file names and in JSON: `mariadb` or `mysql`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MariaDb => "mariadb",
            Self::MySql => "mysql",
        }
    }

    /// The vendor's spelling: `MariaDB` or `MySQL`.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::MariaDb => "MariaDB",
            Self::MySql => "MySQL",
        }
    }
}

impl fmt::Display for Flavour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
