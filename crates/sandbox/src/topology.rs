//! What several servers make together.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Error, Flavour, SandboxName};

/// How the servers of a sandbox replicate from one another.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Topology {
    /// One server
    #[default]
    Single,
    /// A source and a replica that follows it by GTID
    Replica,
    /// MySQL: three nodes, one of which takes writes
    GroupReplication,
    /// MariaDB: three nodes, all of which take writes
    Galera,
}

/// What a node does in its topology.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The replica follows it.
    Source,
    /// Follows the source, read-only.
    Replica,
    /// The one of the group that takes writes.
    Primary,
    /// Another of the group, read-only.
    Secondary,
    /// Takes writes as all others do.
    Node,
}

/// Which node of which topology a sandbox is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Membership {
    /// The kind of topology.
    pub topology: Topology,
    /// The topology's name.
    pub member_of: SandboxName,
}

impl Topology {
    /// The word used on the command line, in names and in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Replica => "replica",
            Self::GroupReplication => "group-replication",
            Self::Galera => "galera",
        }
    }

    /// How many servers it has.
    #[must_use]
    pub fn nodes(self) -> usize {
        match self {
            Self::Single => 1,
            Self::Replica => 2,
            Self::GroupReplication | Self::Galera => 3,
        }
    }

    /// The only vendor whose servers can do it; none if both can.
    pub(crate) fn only(self) -> Option<Flavour> {
        match self {
            Self::Single | Self::Replica => None,
            Self::GroupReplication => Some(Flavour::MySql),
            Self::Galera => Some(Flavour::MariaDb),
        }
    }

    /// The flavour to look for; an error if the one that is wanted has no such topology.
    pub(crate) fn flavour(self, wanted: Option<Flavour>) -> Result<Option<Flavour>, Error> {
        match (self.only(), wanted) {
            (Some(only), Some(wanted)) if only != wanted => {
                Err(Error::NoSuchTopology { topology: self, wanted, only })
            }
            (only, wanted) => Ok(wanted.or(only)),
        }
    }

    /// The role of the node of that index (from 0) right after the start.
    pub(crate) fn first_role(self, index: usize) -> Role {
        match (self, index) {
            (Self::Galera | Self::Single, _) => Role::Node,
            (Self::Replica, 0) => Role::Source,
            (Self::Replica, _) => Role::Replica,
            (Self::GroupReplication, 0) => Role::Primary,
            (Self::GroupReplication, _) => Role::Secondary,
        }
    }
}

impl Membership {
    /// Whether the node of that name is the topology's first.
    pub(crate) fn is_first(&self, node: &SandboxName) -> bool {
        self.member_of.of_node(1).is_ok_and(|first| first == *node)
    }
}

impl Role {
    /// The word used in lists and in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Replica => "replica",
            Self::Primary => "primary",
            Self::Secondary => "secondary",
            Self::Node => "node",
        }
    }
}

impl fmt::Display for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    #[test]
    fn the_command_line_and_json_use_the_same_words() {
        for topology in Topology::value_variants() {
            let word = topology.to_possible_value().unwrap().get_name().to_owned();
            assert_eq!(word, topology.as_str());
            assert_eq!(serde_json::to_value(topology).unwrap(), word);
        }
    }

    #[test]
    fn a_vendor_without_the_topology_is_refused_with_a_hint() {
        let error = Topology::Galera.flavour(Some(Flavour::MySql)).unwrap_err();
        assert_eq!(error.to_string(), "MySQL has no topology galera");
        assert!(error.hint().unwrap().contains("--flavour mariadb"));
        assert_eq!(Topology::GroupReplication.flavour(None).unwrap(), Some(Flavour::MySql));
        assert_eq!(Topology::Replica.flavour(None).unwrap(), None);
    }
}
