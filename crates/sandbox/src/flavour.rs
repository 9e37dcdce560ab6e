//! Which vendor's server.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Error;

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

impl FromStr for Flavour {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text.to_ascii_lowercase().as_str() {
            "mariadb" => Ok(Self::MariaDb),
            "mysql" => Ok(Self::MySql),
            _ => Err(Error::BadFlavour { text: text.to_owned() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_round_trip() {
        for flavour in [Flavour::MariaDb, Flavour::MySql] {
            assert_eq!(flavour.as_str().parse::<Flavour>().unwrap(), flavour);
            assert_eq!(serde_json::to_string(&flavour).unwrap(), format!("\"{flavour}\""));
        }
        assert!("oracle".parse::<Flavour>().unwrap_err().to_string().contains("oracle"));
    }
}
