//! The cluster that the server is a node of. Not a check.

use crate::facts::Facts;

/// What keeps the nodes alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cluster {
    GroupReplication,
    Galera,
}

impl Cluster {
    /// The one that the server is set up for; none if it is in none, or does not tell its variables.
    pub(super) fn of(facts: &Facts) -> Option<Self> {
        let has = |name| facts.variable(name).is_ok_and(|value| !value.is_empty());
        let provides = |value: String| !value.is_empty() && value != "none";
        // MySQL has the first variable as soon as the plugin is loaded, and MariaDB the others in any case.
        if has("group_replication_group_name") {
            Some(Self::GroupReplication)
        } else if facts.is_on("wsrep_on") == Ok(true) && facts.variable("wsrep_provider").is_ok_and(provides)
        {
            Some(Self::Galera)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::on_server;

    #[test]
    fn nodes_are_told_by_their_variables() {
        let of = |variables: &[(&str, &str)]| Cluster::of(&on_server(variables, &[]));
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[("group_replication_group_name", "")]), None);
        assert_eq!(of(&[("group_replication_group_name", "aaaa")]), Some(Cluster::GroupReplication));
        assert_eq!(of(&[("wsrep_on", "ON"), ("wsrep_provider", "none")]), None);
        assert_eq!(
            of(&[("wsrep_on", "ON"), ("wsrep_provider", "/usr/lib/libgalera_smm.so")]),
            Some(Cluster::Galera)
        );
    }
}
